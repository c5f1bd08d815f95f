/*
 * composite.h - shared by the kinds that are made of parts of other kinds
 */
#ifndef BLM_KIND_COMPOSITE_H
#define BLM_KIND_COMPOSITE_H

#include "kind/kind_registry.h"

/* A part as its kind plans it; fails with that kind's words. */
int blm_component_plan(struct blm_component *ret, const char *kind, uint32_t role,
		       const struct blm_params *params);

/* The rate that each of `parts` may have so that their OR has `rate`, and the other way round. */
double blm_rate_of_each(double rate, double parts);
double blm_rate_of_any(double rate, double parts);

/* The names of facts of each part: "level 0", "level 1" and so on, as many as there can be. */
#define NUMBERED(w) { \
	w " 0", w " 1", w " 2", w " 3", w " 4", w " 5", w " 6", w " 7", \
	w " 8", w " 9", w " 10", w " 11", w " 12", w " 13", w " 14", w " 15", \
	w " 16", w " 17", w " 18", w " 19", w " 20", w " 21", w " 22", w " 23", \
	w " 24", w " 25", w " 26", w " 27", w " 28", w " 29", w " 30", w " 31", \
	w " 32", w " 33", w " 34", w " 35", w " 36", w " 37", w " 38", w " 39", \
	w " 40", w " 41", w " 42", w " 43", w " 44", w " 45", w " 46", w " 47", \
	w " 48", w " 49", w " 50", w " 51", w " 52", w " 53", w " 54", w " 55", \
	w " 56", w " 57", w " 58", w " 59", w " 60", w " 61", w " 62", w " 63", \
	w " 64", \
}

/* About how many keys a part of bits has, and its rate with these bits. Reads all of it. */
double blm_keys_in(const struct blm_part *part, double *ret_rate);

/* Is a key in one of these parts? */
bool blm_in_any(const struct blm_part *part, unsigned parts, const struct blm_hashed *key);

/*
 * A part of a batch: the keys whose bit is as wanted, in their order; before all of the next one.
 */
struct blm_picked {
	struct blm_batch batch;
	struct blm_hash hashes[BLM_BATCH];
	struct blm_key keys[BLM_BATCH];
	uint16_t from[BLM_BATCH];	/* where each stood */
};
static_assert((int)BLM_BATCH <= UINT16_MAX, "from");

void blm_pick(struct blm_picked *ret, const struct blm_batch *batch, const uint64_t *bits,
	      bool wanted);
/* The answers for those, where their keys stood; the others' bits stay as they are. */
void blm_put_back(const struct blm_picked *picked, const uint64_t *answers, uint64_t *ret_bits);

/* Ask part after part, each for the keys that none before it has. */
void blm_any_contains(const struct blm_part *part, unsigned parts, const struct blm_batch *batch,
		      uint64_t *ret_bits);

#endif
