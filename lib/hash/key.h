/*
 * key.h - a key as the kinds see it: already hashed
 *
 * A family turns bytes and its seeds into 128 bits, once for each question, and every kind works from those. Families
 * older than this library (BIP 37) hash a key once for each probe: they set `nth`, and key_cell() asks it. No kind knows
 * their names.
 */
#ifndef BLM_HASH_KEY_H
#define BLM_HASH_KEY_H

#include "base.h"
#include "bloomery.h"

/* A family with what makes it this filter's own. Immutable once made. */
struct blm_hasher {
	const struct blm_family *family;
	const uint64_t *seeds;
	uint32_t seed_count;
	uint64_t tweak;
	const uint8_t *secret;		/* keyed families: BLM_SECRET_BYTES */
};

struct blm_family {
	uint32_t id;			/* in the file; never reused, and a new one for a family one bit different */
	const char *name, *summary;
	unsigned bits;			/* how many a cell is chosen from; a kind refuses more than 2^bits cells */
	unsigned seeds;			/* how many random ones a new filter gets */
	bool keyed;
	bool tweaked;			/* takes a tweak; others refuse one */
	/* Families of 128 bits: */
	void (*hash)(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret);
	/* The others: the cell of the i-th probe, below `cells`. */
	uint64_t (*nth)(const struct blm_hasher *by, const struct blm_key *key, unsigned i, uint64_t cells);
};

struct blm_hashed {
	struct blm_hash hash;		/* undefined where by->family->nth */
	const struct blm_key *key;	/* NULL where the caller gave a hash */
	const struct blm_hasher *by;
};

/* Many at once: hashes, or keys for a family with `nth`, in which case hashes is NULL. */
struct blm_batch {
	const struct blm_hasher *by;
	const struct blm_hash *hashes;
	const struct blm_key *keys;
	size_t count;
};

static inline struct blm_hashed batch_at(const struct blm_batch *batch, size_t i)
{
	return (struct blm_hashed){
		.hash = batch->hashes ? batch->hashes[i] : (struct blm_hash){ 0 },
		.key = batch->keys ? &batch->keys[i] : NULL,
		.by = batch->by,
	};
}

/* The cell of the i-th probe, of `cells` (format-spec.md, "Cells of a key"). */
static inline uint64_t key_cell(const struct blm_hashed *key, unsigned i, uint64_t cells)
{
	if (__builtin_expect(key->by->family->nth != NULL, false))
		return key->by->family->nth(key->by, key->key, i, cells);
	return scale(unfold(key->hash.lo, key->hash.hi, i), cells);
}

const struct blm_family *blm_family_by_name(const char *name);
const struct blm_family *blm_family_by_id(uint32_t id);
const struct blm_family *blm_family_at(size_t i);	/* NULL past the last */

#endif
