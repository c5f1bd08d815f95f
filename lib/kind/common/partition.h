/*
 * partition.h - adds many keys to a part that no other thread sees yet, in the order of its memory
 *
 * Keys have random places in a part, so in a part larger than the cache each key costs a miss, or
 * one a probe. Here they are first sorted by pieces of the part, into buffers. When a buffer is
 * full all buffers are emptied, piece after piece, and each piece stays in the cache while it is
 * changed. The data of a key in a buffer are an entry. Each thread has its own buffers, and a piece
 * is locked while its entries are added. So no change needs an atomic operation, and the bytes are
 * the same for any number of threads, and any order of keys. Within each piece the keys of a thread
 * stay in order. So with one thread a key changed the part exactly if a single add would have.
 *
 * A kind's way of filling is a constant in its file. A kind without one is filled one key at a
 * time.
 */
#ifndef BLM_PARTITION_H
#define BLM_PARTITION_H

#include "kind/kind.h"

#include <pthread.h>

struct blm_buffers;

struct blm_fill {
	size_t entry_bytes;	/* 8 or 16 */
	bool by_probe;		/* a key has an entry for each of its probes; otherwise one */
	/*
	 * Put entries of these keys into the buffers, which have space. Returns: is a buffer nearly
	 * full?
	 */
	bool (*sort)(struct blm_buffers *buffers, const struct blm_batch *batch);
	/*
	 * The entries of a piece into the part; counts the keys that changed it: in buffers->
	 * counted, or if by_probe in buffers->changed.
	 */
	void (*apply)(struct blm_buffers *buffers, uint64_t piece);
};

enum {
	FILL_PIECES_MAX = 4096,
	FILL_PIECE_BYTES = 256 << 10,	/* of part; more where that would be too many pieces */
	FILL_LOCKS = 64,
};

/* A part that is filled; for all threads. */
struct blm_filling {
	struct blm_part *part;
	uint64_t pieces;		/* 0: its kind takes keys one by one only */
	unsigned shift;			/* a piece has 2^shift cells: at most 2^36 */
	size_t capacity;			/* entries in a buffer */
	size_t nearly;			/* at this number no more keys before it is emptied */
	size_t keys_at_once;		/* to sort() */
	/* piece i: of i % FILL_LOCKS; without pieces: the first, for the whole part */
	pthread_mutex_t lock[FILL_LOCKS];
};

struct blm_buffers {
	struct blm_buffers *next;	/* the owner's */
	struct blm_filling *of;
	void *entries;			/* those of piece i begin at number i * capacity */
	void *map;			/* which has them */
	size_t map_bytes;
	uint32_t *used;			/* how many there are, of each piece */
	/* if by_probe: a bit for each key since all was emptied, in the order they came */
	uint64_t *changed;
	uint64_t keys;			/* how many those are: less than 2^28 */
	/* the piece to begin with, so that threads do not wait for each other */
	uint64_t first;
	uint64_t counted;		/* keys that changed the part, of those added so far */
	/* the owner's: is it emptied by this thread, which was started for it? */
	bool apart;
	pthread_t thread;
};

/*
 * memory_bytes: for the buffers of each thread, which take no less than 32 KiB, and use at most
 * 1 GiB.
 */
void blm_filling_begin(struct blm_filling *ret, struct blm_part *part, uint64_t memory_bytes);
void blm_filling_end(struct blm_filling *filling);

/* NULL: out of memory */
struct blm_buffers *blm_buffers_new(struct blm_filling *of, uint64_t first);
void blm_buffers_free(struct blm_buffers *buffers);

/* Up to BLM_BATCH keys. They are in the part when the buffers are emptied. */
int blm_buffers_add(struct blm_buffers *buffers, const struct blm_batch *batch);
void blm_buffers_empty(struct blm_buffers *buffers);

/* For a kind's apply(): are all marks of a piece set? Then nothing in it needs marking. */
bool blm_piece_is_marked(const struct blm_filling *of, uint64_t piece);

#endif
