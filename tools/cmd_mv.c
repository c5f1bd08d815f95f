/* cmd_mv.c - bloomery mv: another name for a filter of the store */
#include "place.h"

/* The catalog alone is changed, so the file can be gone without a sign of it. */
static void say_if_missing(struct blm_store *store, const char *name)
{
	struct blm_filter *f;
	int r = blm_open(&f, store, name, 0);

	if (r == 0)
		blm_close(f);
	else
		say("warning: %s: its file is missing or cannot be opened; 'bloomery verify' says "
		    "what to do", name);
}

static int run(int count, char **operands)
{
	struct blm_store *store;
	int code, r;

	for (int i = 0; i < 2; i++)
		if (is_path(operands[i]))
			return misuse("mv: '%s' has a '/', but only names in the store are "
				      "changed; for files there is mv(1)", operands[i]);
	code = find_store(&store, 0);
	if (code != DONE)
		return code;
	r = blm_store_rename(store, operands[0], operands[1]);
	if (r < 0)
		return fail(r);
	say_if_missing(store, operands[1]);
	return DONE;
}

static const struct opt *const options[] = { store_option, NULL };

const struct command cmd_mv = {
	.name = "mv",
	.group = ON_STORES,
	.summary = "give a filter of the store another name",
	.operands = "OLD NEW",
	.least = 2, .most = 2,
	.notes = "NEW must be free.",
	.example = "bloomery mv tonight yesterday",
	.options = options,
	.run = run,
};
