/*
 * hasher.h - a key as the kinds see it: already hashed
 *
 * A family hashes bytes and its seeds to 128 bits, once for each question, and every kind uses
 * these bits. Families older than this library (BIP 37, pybloomfiltermmap) hash a key once for each
 * probe: they set `nth`, and key_cell() calls it. No kind knows the names of families.
 *
 * The rule from the hash to cells is ours (unfold and scale), or another program's: then the hasher
 * has a scheme (scheme.h).
 */
#ifndef BLM_HASH_KEY_H
#define BLM_HASH_KEY_H

#include "base/base.h"
#include "bloomery.h"

/* A family with the seeds, tweak and secret of one filter. Immutable after its creation. */
struct blm_hasher {
	const struct blm_family *family;
	/* NULL: our own, and cells are in order; most kinds support only this */
	const struct blm_scheme *scheme;
	/*
	 * cell c is bit c ^ order_xor, counted as ours are (scheme.h, orders of bits); with a
	 * rule only
	 */
	uint64_t order_xor;
	const uint64_t *seeds;
	uint32_t seed_count;
	uint64_t tweak;
	const uint8_t *secret;		/* keyed families: BLM_SECRET_BYTES */
};

struct blm_family {
	/* in the file; never reused, and a new one for a family one bit different */
	uint32_t id;
	const char *name, *summary;
	/* the bits that choose a cell; a kind refuses more than 2^bits cells */
	unsigned bits;
	unsigned seeds;			/* how many it needs */
	bool seeds_by_probe;		/* takes as many as the filter has probes; seeds is 0 */
	unsigned seed_bits;		/* the width of a seed; 0: 64 */
	bool keyed;
	/* no hash: the key is a number, in `lo`; `hi` is 0, or marks an invalid key */
	bool number;
	/* no hash: a place in an order, and the seed (ordered.h) */
	bool ordered;
	/*
	 * keys begin with a column, whose number the hash has (column.h); a question without one
	 * is an error
	 */
	bool column;
	/*
	 * For families that do not accept all bytes: NULL, or a text for messages that says why no
	 * filter accepts the key with this hash.
	 */
	const char *(*refuse)(const struct blm_hash *hash);
	bool tweaked;			/* takes a tweak; others refuse one */
	/* prepares for the first key; returns an error text, or NULL. NULL: not needed */
	const char *(*need)(void);
	/* the default scheme (scheme.h) */
	uint32_t scheme;
	/* Families of 128 bits: */
	void (*hash)(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret);
	/*
	 * Loops over many keys, and over keys of `width` bytes that follow each other; NULL: the
	 * caller calls hash() for each key.
	 */
	void (*hash_many)(const struct blm_hasher *by, const struct blm_key *keys, size_t count,
			  struct blm_hash *ret);
	void (*hash_fixed)(const struct blm_hasher *by, const uint8_t *bytes, size_t width,
			   size_t count, struct blm_hash *ret);
	/*
	 * For families that can hash several pieces as one key: the complete digest, in the order
	 * in which its bytes are printed. For schemes that use more than 128 bits of it, or the key
	 * with additional bytes.
	 */
	unsigned digest_bytes;		/* at most BLM_DIGEST_MAX; 0: not possible */
	void (*digest)(const struct blm_hasher *by, const struct blm_key *pieces, unsigned count,
		       uint8_t *ret);
	/* Families that hash each probe: the cell of the i-th probe, below `cells`. */
	uint64_t (*nth)(const struct blm_hasher *by, const struct blm_key *key, unsigned i,
			uint64_t cells);
};

enum { BLM_DIGEST_MAX = 64 };

static_assert(BLM_SEEDS_MAX >= BLM_PROBES_MAX, "a seed for each probe");

static inline uint32_t family_seeds(const struct blm_family *family, uint32_t probes)
{
	return family->seeds_by_probe ? probes : family->seeds;
}

static inline uint64_t family_seed_max(const struct blm_family *family)
{
	return family->seed_bits ? (UINT64_C(1) << family->seed_bits) - 1 : UINT64_MAX;
}

struct blm_hashed {
	struct blm_hash hash;		/* undefined if wants_keys(by) */
	const struct blm_key *key;	/* NULL if the caller gave a hash */
	const struct blm_hasher *by;
	const struct blm_when *when;	/* for kinds with `ages`; NULL: as all zeros */
};

/*
 * Many keys in one call: hashes; or keys if wants_keys(by), and then hashes is NULL. Keys may be
 * there in addition to hashes, for messages. `next` are the hashes of the next batch: the work on a
 * batch prefetches their memory.
 */
struct blm_batch {
	const struct blm_hasher *by;
	const struct blm_hash *hashes;
	const struct blm_key *keys;
	size_t count;
	const struct blm_hash *next;
	size_t next_count;		/* 0: these are the last */
	const struct blm_when *when;	/* for all keys */
};

static inline struct blm_hashed batch_at(const struct blm_batch *batch, size_t i)
{
	return (struct blm_hashed){
		.hash = batch->hashes ? batch->hashes[i] : (struct blm_hash){ 0 },
		.key = batch->keys ? &batch->keys[i] : NULL,
		.by = batch->by,
		.when = batch->when,
	};
}

/*
 * The cell of the i-th probe, of `cells`, for hashers without a rule or with `nth` (format-spec.md,
 * "Cells of a key").
 */
static inline uint64_t key_cell(const struct blm_hashed *key, unsigned i, uint64_t cells)
{
	if (__builtin_expect(key->by->family->nth != NULL, false))
		return key->by->family->nth(key->by, key->key, i, cells);
	return scale(unfold(key->hash.lo, key->hash.hi, i), cells);
}

/* Hash many by a family of 128 bits: by its own loop, or one by one. */
static inline void blm_hash_all(const struct blm_hasher *by, const struct blm_key *keys,
				size_t count, struct blm_hash *ret)
{
	if (by->family->hash_many) {
		by->family->hash_many(by, keys, count, ret);
		return;
	}
	for (size_t i = 0; i < count; i++)
		by->family->hash(by, &keys[i], &ret[i]);
}

/* The same for keys of one width that follow each other. */
static inline void blm_hash_all_fixed(const struct blm_hasher *by, const uint8_t *bytes,
				      size_t width, size_t count, struct blm_hash *ret)
{
	if (by->family->hash_fixed) {
		by->family->hash_fixed(by, bytes, width, count, ret);
		return;
	}
	for (size_t i = 0; i < count; i++)
		by->family->hash(by, &(struct blm_key){ width ? bytes + i * width : NULL, width },
				 &ret[i]);
}

const struct blm_family *blm_family_by_name(const char *name);
const struct blm_family *blm_family_by_id(uint32_t id);
const struct blm_family *blm_family_at(size_t i);	/* NULL past the last */

#endif
