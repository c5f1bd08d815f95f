/* cmd_drop.c - bloomery drop: delete filters of the store */
#include "place.h"

static int run(int count, char **operands)
{
	struct blm_store *store;
	int code;

	for (int i = 0; i < count; i++)
		if (is_path(operands[i]))
			return misuse("drop: '%s' has a '/', but only names in the store are "
				      "dropped; for files there is rm(1)", operands[i]);
	code = find_store(&store, 0);
	for (int i = 0; i < count && code == DONE; i++) {
		int r = blm_store_drop(store, operands[i]);

		if (r < 0)
			code = fail(r);
	}
	return code;
}

static const struct opt *const options[] = { store_option, NULL };

const struct command cmd_drop = {
	.name = "drop",
	.group = ON_STORES,
	.summary = "delete filters of the store",
	.operands = "NAME...",
	.least = 1, .most = -1,
	.notes = "A process that has the filter open can still read it, but its changes fail. "
	"The secret of a keyed filter is deleted with the\n"
	"last filter of the store that has it: keep a copy of keys/ID in the store for files "
	"that were exported from it. A\n"
	"filter whose file is lost or damaged is dropped, too. If its record in the catalog is "
	"damaged, run 'bloomery verify\n"
	"--repair' first, because the file is not known before that.",
	.example = "bloomery drop yesterday",
	.options = options,
	.run = run,
};
