/*
 * cuckoo.h - where the fingerprints of a cuckoo filter are
 *
 * A key has two places, and a place is a few cells in a row. Argument CUCKOO_LAYOUT of the shape
 * says what a place is:
 *
 *   layout   cells   next place  a cell
 *   -------  ------  ----------  ---------------------------------------------------------------
 *   buckets  4       4 cells on  the fingerprint, from 1 on
 *   windows  2       1 cell on   the fingerprint, from 1 on, times 2, plus the cell's number in its
 *                                window
 *
 * Windows overlap, so a cell belongs to two of them, and its lowest bit says whose it is now. An
 * empty cell is 0 in both layouts.
 */
#ifndef BLM_KIND_CUCKOO_H
#define BLM_KIND_CUCKOO_H

#include "kind/kind.h"

/* argument; files that were made before there was a choice have 0 there */
enum { CUCKOO_LAYOUT };
enum cuckoo_layout { CUCKOO_BUCKETS, CUCKOO_WINDOWS };

struct cuckoo_places {
	unsigned slots;			/* cells of a place */
	unsigned step;			/* cells from one place to the next */
	unsigned tag;			/* bits of a cell: which of the place's cells it is */
};

static inline struct cuckoo_places cuckoo_places_of(const struct blm_shape *s)
{
	return s->args[CUCKOO_LAYOUT] == CUCKOO_BUCKETS ? (struct cuckoo_places){ 4, 4, 0 }
							: (struct cuckoo_places){ 2, 1, 1 };
}

/* How many places there are. */
static inline uint64_t cuckoo_place_count(const struct blm_shape *s)
{
	return s->args[CUCKOO_LAYOUT] == CUCKOO_BUCKETS ? s->cells / 4 : s->cells - 1;
}

/* Fingerprints are 1 to this. */
static inline uint64_t cuckoo_prints(const struct blm_shape *s)
{
	return ((UINT64_C(1) << s->cell_bits) - 1) >> cuckoo_places_of(s).tag;
}

/* cuckoo_plan.c */
int blm_cuckoo_plan(struct blm_shape *ret, const struct blm_params *params);
bool blm_cuckoo_valid(const struct blm_shape *s);
double blm_cuckoo_rate_at(const struct blm_shape *s, uint64_t keys);

#endif
