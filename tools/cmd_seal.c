/* cmd_seal.c - bloomery seal: make a filter read-only, with checksums */
#include "place.h"
#include "progress.h"

static int run(int count, char **operands)
{
	return each_filter(operands, count, blm_seal);
}

static const struct opt *const options[] = { progress_option, quiet_option, key_option,
					     store_option, NULL };

const struct command cmd_seal = {
	.name = "seal",
	.group = ON_FILTERS,
	.summary = "make a filter read-only for good, with a checksum for each 64 KiB",
	.operands = "F...",
	.least = 1, .most = -1,
	.notes = "Adding to it is refused from then on. A copy of it can be changed again. If one "
	"of several filters fails, those after it are sealed, too; the exit status is 2 then.",
	.example = "bloomery seal blacklist",
	.options = options,
	.run = run,
};
