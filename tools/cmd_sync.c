/* cmd_sync.c - bloomery sync: make what was added durable */
#include "place.h"

static int run(int count, char **operands)
{
	int code = DONE, r;

	for (int i = 0; i < count && code == DONE; i++) {
		struct blm_filter *f;

		code = open_filter(&f, operands[i], true, 0);
		if (code != DONE)
			break;
		r = blm_sync(f);
		if (r < 0)
			code = fail(r);
		blm_close(f);
	}
	return code;
}

static const struct opt *const options[] = { key_option, store_option, NULL };

const struct command cmd_sync = {
	.name = "sync",
	.group = ON_FILTERS,
	.summary = "make all keys added so far survive a power cut",
	.operands = "F...",
	.least = 1, .most = -1,
	.notes = "Keys survive the death of any process without it.",
	.example = "bloomery sync seen",
	.options = options,
	.run = run,
};
