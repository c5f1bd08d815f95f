/* cmd_verify.c - bloomery verify: check a filter, or a whole store, and mend the catalog */
#include "json.h"
#include "place.h"
#include "values.h"

static bool repair;
static const struct opt own_options[] = {
	{ 0, "repair", NULL, "rebuild the catalog from the files where it is wrong (whole store)", set_flag, &repair },
	{ 0 }
};

static void show(void *context, const struct blm_finding *found)
{
	char text[4096];

	if (json) {
		json_begin();
		json_text("file", found->file);
		json_text("what", found->what);
		json_bool("repaired", found->repaired);
		json_end();
		return;
	}
	snprintf(text, sizeof(text), "%s: %s%s", found->file, found->what, found->repaired ? " (repaired)" : "");
	clean(text);
	puts(text);
}

static int verify_one(const char *name, int64_t *ret)
{
	struct place place;
	int code = find_place(&place, name, BLM_STORE_READ);

	if (code == DONE)
		*ret = blm_verify(place.store, place.name, show, NULL);
	return code;
}

static int verify_store(int64_t *ret)
{
	const char *dir = store_dir();

	if (!dir)
		return FAILED;
	*ret = blm_store_verify(dir, repair, show, NULL);
	return DONE;
}

static int run(int count, char **operands)
{
	int64_t wrong = 0;
	int code;

	if (count && repair)
		return misuse("verify: --repair mends the store as a whole; leave out '%s'", operands[0]);
	code = count ? verify_one(operands[0], &wrong) : verify_store(&wrong);
	if (code != DONE)
		return code;
	if (wrong < 0)
		return fail(wrong);
	if (!quiet && wrong)
		say("%lld %s wrong%s", (long long)wrong, wrong == 1 ? "thing is" : "things are",
		    count || repair ? "" : "; 'bloomery verify --repair' mends what can be mended");
	return wrong ? NO : DONE;
}

static const struct opt *const options[] = { own_options, json_option, quiet_option, store_option, NULL };

const struct command cmd_verify = {
	.name = "verify",
	.group = ON_STORES,
	.summary = "check a filter, or the whole store; exit 1 if damage is found and remains",
	.operands = "[F]",
	.least = 0, .most = 1,
	.notes = "Prints what is wrong, a line each. Repairing never deletes a filter that holds keys.",
	.example = "bloomery verify --repair",
	.options = options,
	.run = run,
};
