/* cmd_sync.c - bloomery sync: make what was added durable */
#include "place.h"

static int run(int count, char **operands)
{
	return each_filter(operands, count, blm_sync);
}

static const struct opt *const options[] = { key_option, store_option, NULL };

const struct command cmd_sync = {
	.name = "sync",
	.group = ON_FILTERS,
	.summary = "make all keys added so far survive a power cut",
	.operands = "F...",
	.least = 1, .most = -1,
	.notes = "Keys survive the death of any process without it. A sync that finds a block of "
	"data that has lost bits does its work, says\nwhich, and exits with 2; verify --repair "
	"mends it. Of several filters those after one that fails are synced, too.",
	.example = "bloomery sync seen",
	.options = options,
	.run = run,
};
