/* cmd_sync.c - bloomery sync: make what was added durable */
#include "place.h"
#include "progress.h"

static int run(int count, char **operands)
{
	return each_filter(operands, count, blm_sync);
}

static const struct opt *const options[] = { progress_option, quiet_option, key_option,
					     store_option, NULL };

const struct command cmd_sync = {
	.name = "sync",
	.group = ON_FILTERS,
	.summary = "make all keys added so far survive a power cut",
	.operands = "F...",
	.least = 1, .most = -1,
	.notes = "Without a sync, keys survive the death of any process, but not a power cut. A "
	"sync that finds a block with lost bits\nfinishes its work, names the block, and exits "
	"with 2; 'verify --repair' repairs the block. If one of several filters\nfails, those "
	"after it are synced, too.",
	.example = "bloomery sync seen",
	.options = options,
	.run = run,
};
