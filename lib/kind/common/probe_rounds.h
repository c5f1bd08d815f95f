/*
 * probe_rounds.h - questions for kinds with one cell for each probe, all of which must be set: a
 * batch of keys, round by round
 *
 * All keys' first probes, then the second probes of those whose first was set, and so on; each
 * round prefetches all its cells before it reads the first. Only necessary cells are read, except
 * for the first probes of the next batch, and no branch depends on a bit. Batches should be large,
 * because each round keeps half of the keys: the last ones of a small batch wait for memory one
 * after the other. (In tests/bench: "contains_many" of classic, compared with "contains".)
 */
#ifndef BLM_KIND_ROUNDS_H
#define BLM_KIND_ROUNDS_H

#include "kind/common/prefetch.h"

/* The place of a kind's cell, and whether it is set. Both are compiled into the loop. */
struct blm_cell_reader {
	const uint64_t *(*word)(const void *how, uint64_t cell);
	bool (*is_set)(const void *how, uint64_t cell);
	const void *how;		/* whatever they want to know */
	bool doubles;			/* cells by the rule `double-64`, not by our own */
};

static inline uint64_t blm_round_cell(const struct blm_hash *hash, unsigned probe, uint64_t cells,
				      bool doubles)
{
	return doubles ? (hash->lo + probe * hash->hi) % cells
		: scale(unfold(hash->lo, hash->hi, probe), cells);
}

BLM_INLINED void blm_ask_in_rounds(const struct blm_part *part, const struct blm_batch *batch,
				   uint64_t *ret_bits, struct blm_cell_reader by)
{
	const uint64_t cells = part->shape.cells;
	uint64_t cell[BLM_BATCH_LARGE];
	uint16_t left[BLM_BATCH_LARGE];
	size_t count = batch->count, kept = 0;

	if (batch->by->family->nth) {
		blm_part_contains_each(part, batch, ret_bits);
		return;
	}
	for (size_t i = 0; i < count || i < batch->next_count; i++) {
		if (i < batch->next_count)
			blm_fetch(by.word(by.how, blm_round_cell(&batch->next[i], 0, cells,
								 by.doubles)));
		if (i < count) {
			left[kept] = (uint16_t)i;
			kept += by.is_set(by.how, blm_round_cell(&batch->hashes[i], 0, cells,
								       by.doubles));
		}
	}
	for (unsigned probe = 1; probe < part->shape.probes && kept; probe++) {
		for (size_t i = 0; i < kept; i++) {
			cell[i] = blm_round_cell(&batch->hashes[left[i]], probe, cells, by.doubles);
			blm_fetch(by.word(by.how, cell[i]));
		}
		count = kept;
		kept = 0;
		for (size_t i = 0; i < count; i++) {
			left[kept] = left[i];
			kept += by.is_set(by.how, cell[i]);
		}
	}
	memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
	for (size_t i = 0; i < kept; i++)
		ret_bits[left[i] / 64] |= UINT64_C(1) << left[i] % 64;
}

#endif
