/*
 * hasher.h - a key as the kinds see it: already hashed
 *
 * A family turns bytes and its seeds into 128 bits, once for each question, and every kind works
 * from those. Families older than this library (BIP 37, pybloomfiltermmap) hash a key once for each
 * probe: they set `nth`, and key_cell() asks it. No kind knows their names.
 *
 * How cells are made of the hash is ours (unfold and scale), or another program's: then the hasher
 * has a rule (scheme.h).
 */
#ifndef BLM_HASH_KEY_H
#define BLM_HASH_KEY_H

#include "base/base.h"
#include "bloomery.h"

/* A family with what makes it this filter's own. Immutable once made. */
struct blm_hasher {
	const struct blm_family *family;
	/* NULL: our own, and cells are in their order; which is all that most kinds know of */
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
	/* how many a cell is chosen from; a kind refuses more than 2^bits cells */
	unsigned bits;
	unsigned seeds;			/* how many it takes */
	bool seeds_by_probe;		/* takes as many as the filter has probes; seeds is 0 */
	unsigned seed_bits;		/* the width of a seed; 0: 64 */
	bool keyed;
	/* no hash: the key is a number, which is `lo`; `hi` is 0, or says that it is none */
	bool number;
	/* no hash: a place in an order, and the seed (ordered.h) */
	bool ordered;
	/*
	 * keys begin with a column, whose number the hash has (column.h); a question without one
	 * is an error
	 */
	bool column;
	/*
	 * Where not all bytes are a key: NULL, or in words what the key with this hash is that no
	 * filter takes.
	 */
	const char *(*refuse)(const struct blm_hash *hash);
	bool tweaked;			/* takes a tweak; others refuse one */
	/* before the first key: make ready; returns the fault, or NULL. NULL: nothing to do */
	const char *(*need)(void);
	/* that goes with it unless another is asked for (scheme.h) */
	uint32_t scheme;
	/* Families of 128 bits: */
	void (*hash)(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret);
	/*
	 * Loops of their own over many keys, and over keys of `width` bytes that lie one after the
	 * other; NULL: hash() serves.
	 */
	void (*hash_many)(const struct blm_hasher *by, const struct blm_key *keys, size_t count,
			  struct blm_hash *ret);
	void (*hash_fixed)(const struct blm_hasher *by, const uint8_t *bytes, size_t width,
			   size_t count, struct blm_hash *ret);
	/*
	 * Those that can hash pieces as if they lay one behind the other: all of the digest, in the
	 * order that its bytes are printed in. For rules that take more of it than 128 bits, or the
	 * key with something added to it.
	 */
	unsigned digest_bytes;		/* at most BLM_DIGEST_MAX; 0: it cannot */
	void (*digest)(const struct blm_hasher *by, const struct blm_key *pieces, unsigned count,
		       uint8_t *ret);
	/* The others: the cell of the i-th probe, below `cells`. */
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
	struct blm_hash hash;		/* undefined where wants_keys(by) */
	const struct blm_key *key;	/* NULL where the caller gave a hash */
	const struct blm_hasher *by;
	const struct blm_when *when;	/* for kinds with `ages`; NULL: as all zeros */
};

/*
 * Many at once: hashes; or keys where wants_keys(by), and hashes is NULL. Keys may be there as well
 * as hashes, for messages. `next` are the hashes that come after these: the work on a batch asks
 * for their memory meanwhile, so that it is there when their turn comes.
 */
struct blm_batch {
	const struct blm_hasher *by;
	const struct blm_hash *hashes;
	const struct blm_key *keys;
	size_t count;
	const struct blm_hash *next;
	size_t next_count;		/* 0: these are the last */
	const struct blm_when *when;	/* of all of them */
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

/* The same for keys of one width, one behind the other. */
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
