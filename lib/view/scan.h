/*
 * scan.h - going over the data of filters once, piece by piece, with several threads
 *
 * All that reads or makes whole filters goes through here: counting, copying, OR and AND. A piece
 * is small enough for the second cache, so that what is done to it one after the other reads memory
 * once.
 */
#ifndef BLM_SCAN_H
#define BLM_SCAN_H

#include "view/view.h"

enum {
	BLM_PIECE = 128 << 10,		/* of what is read */
	/* of what is written: the page cache then gets huge pages where it has them */
	BLM_WRITTEN_PIECE = 2 << 20,
};

/* What one thread has to itself. */
struct blm_worker {
	/* blm_scan.tallies of them, zero at first; added up over the threads at the end */
	struct blm_tally *tally;
	uint8_t *buffer;			/* blm_scan.most bytes, aligned to 64 */
};

struct blm_scan {
	/*
	 * Where none of these has data, all is holes, which read as zeros and would fill the memory
	 * if they were read: no piece, and counted as zeros. All of one template.
	 */
	const struct blm_view *const *views;
	size_t count;
	unsigned part;			/* which of their parts */
	unsigned tallies;
	size_t most;			/* bytes of a piece: BLM_PIECE or BLM_WRITTEN_PIECE */
	/*
	 * Do the work of [at, at + bytes): whole blocks of BLM_BLOCK bytes, but the last. Several
	 * threads at once, never of the same piece. 0, or a negative errno with words, which ends
	 * the pass.
	 */
	int (*piece)(const struct blm_scan *scan, struct blm_worker *worker, uint64_t at,
		     size_t bytes);
	void *context;
};

/*
 * Go over all of the part; adds to to[0 .. tallies - 1]. At most blm_use_threads() threads, and
 * fewer where the data is small or the system gives none. 0, -ENOMEM, or what piece() failed with.
 */
int blm_scan(const struct blm_scan *scan, struct blm_tally *to);

/* The bytes that passes over all parts of the view go over: for BLM_PHASE(). */
uint64_t blm_scan_bytes(const struct blm_view *view);

/*
 * Where part i of a view has data that is not a hole, from `at` on: [*ret_from, *ret_to), multiples
 * of 64. False: none.
 */
bool blm_next_data(const struct blm_view *view, unsigned i, uint64_t at, uint64_t *ret_from,
		   uint64_t *ret_to);

#endif
