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
	.notes = "Those who have one open go on reading; their changes fail. A keyed filter's "
	"secret goes with the\nlast filter of the store that has it; for files that were exported "
	"from it keep a copy, keys/ID in the store.\nOne whose file is lost or damaged is dropped, "
	"too; one whose record in the catalog is damaged not before\n'bloomery verify --repair' "
	"has mended that, for nobody knows which file goes with it.",
	.example = "bloomery drop yesterday",
	.options = options,
	.run = run,
};
