/*
 * ranks_model.h - what N ranks cost that build one filter (bloomery-cluster(7))
 *
 * The bytes are those that bloomery-mpi sends. The time is a model: keys a second of a rank are
 * measured, the machines are assumed. tools/examples/cluster.py has the same model.
 */
#ifndef BLOOMERY_RANKS_MODEL_H
#define BLOOMERY_RANKS_MODEL_H

#include "bloomery.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RANKS_ROUND = 256 << 10,	/* hashes that a rank sends at once */
	RANKS_BUFFERS = 64 << 20,	/* of a builder, for keys that are not in its data yet */
	RANKS_COLLECT = 16 << 20,	/* for data that go to rank 0 */
	RANKS_SORT = 1 << 30,		/* of rank 0 with WAY_GATHER, for hashes */
	RANKS_PROGRAM = 64 << 20,	/* the program, its libraries, MPI */
	RANKS_OF_A_MACHINE = 16,
};

enum ranks_way { WAY_OWNERS, WAY_REDUCE, WAY_SUM, WAY_GATHER, WAYS };
extern const char *const ranks_way_names[WAYS];

/* Can ranks build a filter of the kind? NULL: the default kind. */
bool ranks_build(const char *kind);
/* Is it a way for the kind? What the kind can do decides. */
bool ranks_way_fits(enum ranks_way way, const char *kind);
/* The names of the kinds that the way is for, with commas; WAYS: that any way is for. */
const char *ranks_kinds(enum ranks_way way);

struct ranks_cost {
	double moved;			/* bytes, by all ranks */
	uint64_t memory;		/* bytes, of a rank other than rank 0 */
	double seconds;
};

struct ranks_cost ranks_cost_of(enum ranks_way way, uint64_t data_bytes, double keys,
				uint32_t ranks);
/* The one that sends fewer bytes, where the kind has two. */
enum ranks_way ranks_best_way(const char *kind, uint64_t data_bytes, double keys, uint32_t ranks);

/* Hashes from one rank to one rank in one round. */
size_t ranks_quota(size_t round, uint32_t ranks);

#endif
