/*
 * xxh3.c - XXH3, 128 bits, with a 64-bit seed: the default
 *
 * Fast and of good quality, and no protection: an attacker who knows or can find the seed can make
 * keys that collide. Keys that an adversary may choose need siphash.
 */
#include "hash/one_hash.h"
#include "simd/simd.h"

__attribute__((noinline)) struct blm_hash blm_xxh3_any(const void *bytes, size_t len,
						       uint64_t seed)
{
	/* of an empty key the pointer may be NULL */
	return xxh3_bytes(len ? bytes : "", len, seed);
}

/* For up to 16 bytes the code is short, and fits into a loop (one_hash.h). */
static inline void hash_key(const struct blm_key *key, uint64_t seed, struct blm_hash *ret)
{
	if (key->len && key->len <= 16)
		*ret = xxh3_bytes(key->bytes, key->len, seed);
	else
		*ret = blm_xxh3_any(key->bytes, key->len, seed);
}

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	hash_key(key, by->seeds[0], ret);
}

static __attribute__((noinline)) void hash_each(const struct blm_key *keys, size_t count,
						uint64_t seed, struct blm_hash *ret)
{
	for (size_t i = 0; i < count; i++)
		hash_key(&keys[i], seed, &ret[i]);
}

/* Keys of this length, which is known where this is inlined. */
static inline __attribute__((always_inline)) void hash_length(const struct blm_key *keys,
							      size_t count, size_t len,
							      uint64_t seed, struct blm_hash *ret)
{
	for (size_t i = 0; i < count; i++)
		ret[i] = xxh3_bytes(keys[i].bytes, len, seed);
}

/*
 * The length of all keys, or SIZE_MAX. Keys that are numbers have one length; where lengths differ,
 * looking takes little time compared with hashing.
 */
static size_t one_length(const struct blm_key *keys, size_t count)
{
	size_t len = count ? keys[0].len : SIZE_MAX, others = 0;

	for (size_t i = 0; i < count; i++)
		others |= keys[i].len ^ len;
	return others ? SIZE_MAX : len;
}

static void hash_alike(const struct blm_key *keys, size_t count, uint64_t seed,
		       struct blm_hash *ret)
{
	size_t len = one_length(keys, count);

	if (len == 8)
		hash_length(keys, count, 8, seed, ret);
	else if (len == 16)
		hash_length(keys, count, 16, seed, ret);
	else
		hash_each(keys, count, seed, ret);
}

/*
 * Where an instruction set stops, keys may be long, or of all lengths, and so most of those behind:
 * each time it comes no further, it is made to skip more.
 */
static void hash_many(const struct blm_hasher *by, const struct blm_key *keys, size_t count,
		      struct blm_hash *ret)
{
	enum { LEAST = 8 };
	const struct blm_simd *simd = blm_simd_best();
	uint64_t seed = by->seeds[0];

	if (!simd->xxh3_many || count < LEAST) {
		hash_alike(keys, count, seed, ret);
		return;
	}
	for (size_t at = 0, skip = LEAST / 2, done; at < count; at += skip) {
		done = simd->xxh3_many(keys + at, count - at, seed, ret + at);
		at += done;
		skip = done ? LEAST : 2 * skip;
		if (skip > count - at)
			skip = count - at;
		hash_each(keys + at, skip, seed, ret + at);
	}
}

static inline __attribute__((always_inline)) void hash_width(const uint8_t *bytes, size_t width,
							     size_t count, uint64_t seed,
							     struct blm_hash *ret)
{
	for (size_t i = 0; i < count; i++)
		ret[i] = xxh3_bytes(bytes + i * width, width, seed);
}

static void hash_fixed(const struct blm_hasher *by, const uint8_t *bytes, size_t width,
		       size_t count, struct blm_hash *ret)
{
	const struct blm_simd *simd = blm_simd_best();
	uint64_t seed = by->seeds[0];
	size_t done = simd->xxh3_fixed ? simd->xxh3_fixed(bytes, width, count, seed, ret) : 0;

	if (done) {
		bytes += done * width;
		ret += done;
		count -= done;
	}
	if (width == 4)
		hash_width(bytes, 4, count, seed, ret);
	else if (width == 8)
		hash_width(bytes, 8, count, seed, ret);
	else if (width == 16)
		hash_width(bytes, 16, count, seed, ret);
	else if (width == 32)
		hash_width(bytes, 32, count, seed, ret);
	else
		for (size_t i = 0; i < count; i++)
			hash_key(&(struct blm_key){ width ? bytes + i * width : NULL, width }, seed,
				 &ret[i]);
}

/* In the order of xxHash's canonical form. */
static void digest(const struct blm_hasher *by, const struct blm_key *pieces, unsigned count,
		   uint8_t *ret)
{
	XXH3_state_t state;
	XXH128_canonical_t canonical;

	XXH3_INITSTATE(&state);
	XXH3_128bits_reset_withSeed(&state, by->seeds[0]);
	for (unsigned i = 0; i < count; i++)
		if (pieces[i].len)
			XXH3_128bits_update(&state, pieces[i].bytes, pieces[i].len);
	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
	memcpy(ret, canonical.digest, sizeof(canonical.digest));
}

const struct blm_family blm_family_xxh3 = {
	.id = 1,
	.name = "xxh3",
	.summary = "XXH3-128 with a random seed; the default, for keys that no attacker "
	"chooses",
	.bits = 128,
	.seeds = 1,
	.hash = hash, .hash_many = hash_many, .hash_fixed = hash_fixed,
	.digest_bytes = 16, .digest = digest,
};
