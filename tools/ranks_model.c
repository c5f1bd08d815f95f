/* ranks_model.c - what N ranks cost that build one filter */
#include "ranks_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Fewer hashes in a message cost more for the message than for the hashes. */
enum { LEAST_QUOTA = 1024 };

enum { HASH = sizeof(struct blm_hash), LINE = 10 };	/* bytes */

/* Measured: keys in a second of a rank's processor. */
static const double keys_a_second[WAYS] = {
	[WAY_OWNERS] = 29e6, [WAY_REDUCE] = 37e6, [WAY_SUM] = 37e6, [WAY_GATHER] = 29e6
};
/* Measured: the same of rank 0 where it builds alone, for cuckoo, which is the slowest kind. */
static const double keys_a_second_alone = 4e6;
/* Assumed: bytes a second. */
static const double network = 1.25e9, storage = 1e9, disk = 1e9;

const char *const ranks_way_names[WAYS] = { "owners", "reduce", "sum", "gather" };

/* enum blm_can of the kind; NULL: the usual one. 0: there is no such kind. */
static unsigned can_of(const char *kind)
{
	struct blm_kind_info info;

	for (size_t i = 0; blm_kind_list(i, &info) == 0; i++)
		if (!strcmp(info.name, kind ? kind : "blocked"))
			return info.can;
	return 0;
}

bool ranks_way_fits(enum ranks_way way, const char *kind)
{
	unsigned can = can_of(kind);
	/* a builder takes these with their values, and ranks send hashes only */
	bool values = can & BLM_CAN_BUILD && can & BLM_CAN_GET;

	if (!(can & BLM_CAN_SPLIT))
		return false;
	switch (way) {
	case WAY_OWNERS:
		return can & BLM_KEY_IN_PART;
	case WAY_REDUCE:
		return can & BLM_ONLY_SETS;
	case WAY_SUM:
		return can & BLM_CAN_UNION && !(can & BLM_ONLY_SETS);
	default:
		return !(can & BLM_CAN_UNION) && !values;
	}
}

bool ranks_build(const char *kind)
{
	bool any = false;

	for (enum ranks_way way = 0; way < WAYS; way++)
		any |= ranks_way_fits(way, kind);
	return any;
}

const char *ranks_kinds(enum ranks_way way)
{
	static char names[512];
	struct blm_kind_info kind;
	size_t at = 0;

	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++)
		if ((way == WAYS ? ranks_build(kind.name) : ranks_way_fits(way, kind.name))
		    && at + strlen(kind.name) + sizeof(", ") < sizeof(names))
			at += (size_t)sprintf(names + at, "%s%s", at ? ", " : "", kind.name);
	return names;
}

size_t ranks_quota(size_t round, uint32_t ranks)
{
	size_t quota = round / ranks;

	return quota < LEAST_QUOTA ? LEAST_QUOTA : quota;
}

/* Rank 0 gets the data and writes them. */
static double seconds_of(enum ranks_way way, double m, double keys, uint32_t ranks)
{
	double on_machine = fmin(ranks, RANKS_OF_A_MACHINE),
		machines = ceil((double)ranks / RANKS_OF_A_MACHINE),
		work = fmax(keys / ranks / keys_a_second[way], LINE * keys / machines / storage);

	switch (way) {
	case WAY_OWNERS:
		work = fmax(work, HASH * keys / machines * (machines - 1) / machines / network);
		return work + m * (machines - 1) / machines / network + m / disk;
	case WAY_GATHER:
		work = fmax(work, HASH * keys * (machines - 1) / machines / network);
		return fmax(work, keys / keys_a_second_alone) + m / disk;
	case WAY_REDUCE:
		return work + ceil(log2(machines)) * m / network + m / disk;
	default:
		return work + m * (ranks - on_machine) / network + m / disk;
	}
}

struct ranks_cost ranks_cost_of(enum ranks_way way, uint64_t data_bytes, double keys,
				uint32_t ranks)
{
	double m = (double)data_bytes, r = ranks;
	struct ranks_cost c = { .memory = RANKS_PROGRAM };
	/* two rounds, each with what goes out and what comes in */
	uint64_t rounds = 2 * 2 * HASH * ranks * (uint64_t)ranks_quota(RANKS_ROUND, ranks);

	switch (way) {
	case WAY_GATHER:
		c.moved = HASH * keys * (r - 1) / r;
		c.memory += rounds;
		break;
	case WAY_OWNERS:
		c.moved = (HASH * keys + m) * (r - 1) / r;
		c.memory += RANKS_BUFFERS + RANKS_COLLECT + data_bytes / ranks + rounds;
		break;
	default:
		c.moved = m * (r - 1);
		c.memory += RANKS_BUFFERS + RANKS_COLLECT + data_bytes;
	}
	c.seconds = seconds_of(way, m, keys, ranks);
	return c;
}

enum ranks_way ranks_best_way(const char *kind, uint64_t data_bytes, double keys, uint32_t ranks)
{
	if (ranks_way_fits(WAY_SUM, kind))
		return WAY_SUM;
	if (ranks_way_fits(WAY_GATHER, kind))
		return WAY_GATHER;
	return ranks_way_fits(WAY_OWNERS, kind)
		&& ranks_cost_of(WAY_OWNERS, data_bytes, keys, ranks).moved
		< ranks_cost_of(WAY_REDUCE, data_bytes, keys, ranks).moved
		? WAY_OWNERS : WAY_REDUCE;
}
