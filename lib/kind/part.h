/*
 * part.h - a part of a filter, the object of a kind's functions: its sizes, its bytes in the map,
 * the kind's own words in the file, and the marks of changed blocks
 */
#ifndef BLM_PART_H
#define BLM_PART_H

#include "base/base.h"
#include "bloomery.h"
#include "hash/hasher.h"
#include "simd/simd.h"

struct blm_kind;

enum { BLM_KIND_ARGS = 8 };

/* Sizes, as in the header. Each kind defines its cells and probes. */
struct blm_shape {
	uint64_t cells;
	uint64_t bytes;			/* of data: a multiple of 64 */
	uint32_t probes;
	uint32_t cell_bits;
	uint64_t capacity;
	double rate;
	uint64_t args[BLM_KIND_ARGS];	/* the kind's own; otherwise 0 */
};

struct blm_part {
	const struct blm_kind *kind;
	const struct blm_simd *simd;
	/* in the map, aligned to 64; writable only where the filter was opened so */
	uint8_t *bytes;
	/* the filter's own words, see own_word(); NULL: another program's file */
	uint64_t *own;
	/*
	 * one for each 64 KiB of bytes: set when those changed (file/layout.h); NULL: marks are
	 * not needed
	 */
	uint8_t *marks;
	struct blm_shape shape;
	/* as in the hasher: cell c is bit c ^ order_xor; 0 except for kinds with every_scheme */
	uint64_t order_xor;
	/* the parts of a composite kind, which has no bytes of its own */
	struct blm_part *sub;
	unsigned subs;
	/* no other thread sees these bytes yet: changes need not be atomic */
	bool unshared;
	/* the own word BLM_OWN_TORN should be set, but this view cannot write it */
	bool torn;
};

/*
 * The kind's own words in the file, for state that is neither data nor a parameter: the newest
 * slot, the number of moves. Each word has its own cache line; 0 in a new filter. Copies of a
 * filter have them too. Each kind documents their writers and protocols.
 */
enum { BLM_OWN_WORDS = 8 };

/*
 * The kinds of BLM_SERIAL_REMOVALS and BLM_SINGLE_WRITER_CHECKPOINT share one of them:
 *   torn       not 0: a power cut came between changes and their sync, so the data may have pages
 *              of different times. A process that opens such a file for writing sets it, under the
 *              sync lock, before the first change. It is never cleared. Copies and unions of torn
 *              filters are torn, and so are those of filters that changed while they were read. A
 *              union into a filter sets the word first, holding the writers' lock exclusively, and
 *              clears it when all data are there.
 */
enum { BLM_OWN_TORN = 6 };

static inline uint64_t *own_word(const struct blm_part *part, unsigned i)
{
	return part->own + 8 * i;
}

/* Was it torn? */
static inline bool part_is_torn(const struct blm_part *part)
{
	return part->torn || (part->own && load_acquire(own_word(part, BLM_OWN_TORN)));
}

enum { BLM_MARKED_SHIFT = 16 };	/* the bytes of a mark, as a power of 2 */

/* Marks the block at `at`, after a change of its data. */
static inline void mark(const struct blm_part *part, const void *at)
{
	if (part->marks) {
		uint8_t *m = &part->marks[(uint64_t)((const uint8_t *)at - part->bytes)
					  >> BLM_MARKED_SHIFT];

		if (!__atomic_load_n(m, __ATOMIC_RELAXED))
			__atomic_store_n(m, 1, __ATOMIC_RELAXED);
	}
}

/* Marks the blocks of all these bytes; at least one byte. */
static inline void mark_range(const struct blm_part *part, const void *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += (size_t)1 << BLM_MARKED_SHIFT)
		mark(part, (const uint8_t *)at + i);
	mark(part, (const uint8_t *)at + bytes - 1);
}

/* The counts of a pass over (some of) the data. Kinds add to it; zero it first. */
struct blm_tally {
	uint64_t bytes;			/* read */
	uint64_t ones;			/* cells that are set: not 0 */
	/* blocked kinds: blocks[i]: how many blocks have i ones of 512 */
	uint64_t blocks[513];
	/* split-block: the sum, over all blocks, of the product of their lanes' ones */
	unsigned __int128 lanes;
	/*
	 * The differences between the cells of two filters with counters: their sum, and the sum of
	 * their squares.
	 */
	double sum, squares;
};

#endif
