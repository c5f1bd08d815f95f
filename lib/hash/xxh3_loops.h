/*
 * xxh3_loops.h - XXH3 of many keys, for its families of 128 and of 64 bits
 *
 * `of` is how such a family hashes a key. It is inlined, so a length that is known makes it short.
 * `any` is the same as a call, for keys of any length.
 */
#ifndef BLM_HASH_XXH3_LOOPS_H
#define BLM_HASH_XXH3_LOOPS_H

#include "hash/one_hash.h"
#include "simd/simd.h"

#define BLM_HASHES_MANY static inline __attribute__((always_inline)) void

/* For up to 16 bytes the code is short, and fits into a loop (one_hash.h). */
BLM_HASHES_MANY xxh3_key(xxh3_of *of, xxh3_of *any, const void *bytes, size_t len, uint64_t seed,
			 struct blm_hash *ret)
{
	*ret = len && len <= 16 ? of(bytes, len, seed) : any(bytes, len, seed);
}

BLM_HASHES_MANY xxh3_each(xxh3_of *of, xxh3_of *any, const struct blm_key *keys, size_t count,
			  uint64_t seed, struct blm_hash *ret)
{
	for (size_t i = 0; i < count; i++)
		xxh3_key(of, any, keys[i].bytes, keys[i].len, seed, &ret[i]);
}

BLM_HASHES_MANY xxh3_width(xxh3_of *of, const uint8_t *bytes, size_t width, size_t count,
			   uint64_t seed, struct blm_hash *ret)
{
	for (size_t i = 0; i < count; i++)
		ret[i] = of(bytes + i * width, width, seed);
}

/* simd: how an instruction set hashes some of them, or NULL */
BLM_HASHES_MANY xxh3_all_fixed(xxh3_of *of, xxh3_of *any, blm_xxh3_fixed *simd,
			       const uint8_t *bytes, size_t width, size_t count, uint64_t seed,
			       struct blm_hash *ret)
{
	size_t done = simd ? simd(bytes, width, count, seed, ret) : 0;

	if (done) {
		bytes += done * width;
		ret += done;
		count -= done;
	}
	if (width == 4)
		xxh3_width(of, bytes, 4, count, seed, ret);
	else if (width == 8)
		xxh3_width(of, bytes, 8, count, seed, ret);
	else if (width == 16)
		xxh3_width(of, bytes, 16, count, seed, ret);
	else if (width == 32)
		xxh3_width(of, bytes, 32, count, seed, ret);
	else
		for (size_t i = 0; i < count; i++)
			xxh3_key(of, any, width ? bytes + i * width : NULL, width, seed, &ret[i]);
}

/* Keys of this length, which is known where this is inlined. */
BLM_HASHES_MANY xxh3_length(xxh3_of *of, const struct blm_key *keys, size_t count, size_t len,
			    uint64_t seed, struct blm_hash *ret)
{
	for (size_t i = 0; i < count; i++)
		ret[i] = of(keys[i].bytes, len, seed);
}

typedef void xxh3_each_of(const struct blm_key *keys, size_t count, uint64_t seed,
			  struct blm_hash *ret);

/*
 * The length of all keys, or SIZE_MAX. Keys that are numbers have one length; where lengths differ,
 * looking takes little time compared with hashing.
 */
static inline size_t xxh3_one_length(const struct blm_key *keys, size_t count)
{
	size_t len = count ? keys[0].len : SIZE_MAX, others = 0;

	for (size_t i = 0; i < count; i++)
		others |= keys[i].len ^ len;
	return others ? SIZE_MAX : len;
}

BLM_HASHES_MANY xxh3_alike(xxh3_of *of, xxh3_each_of *each, const struct blm_key *keys,
			   size_t count, uint64_t seed, struct blm_hash *ret)
{
	size_t len = xxh3_one_length(keys, count);

	if (len == 8)
		xxh3_length(of, keys, count, 8, seed, ret);
	else if (len == 16)
		xxh3_length(of, keys, count, 16, seed, ret);
	else
		each(keys, count, seed, ret);
}

/*
 * Where an instruction set stops, keys may be long, or of all lengths, and so most of those behind:
 * each time it comes no further, it is made to skip more.
 */
BLM_HASHES_MANY xxh3_all(xxh3_of *of, xxh3_each_of *each, blm_xxh3_many *simd,
			 const struct blm_key *keys, size_t count, uint64_t seed,
			 struct blm_hash *ret)
{
	enum { LEAST = 8 };

	if (!simd || count < LEAST) {
		xxh3_alike(of, each, keys, count, seed, ret);
		return;
	}
	for (size_t at = 0, skip = LEAST / 2, done; at < count; at += skip) {
		done = simd(keys + at, count - at, seed, ret + at);
		at += done;
		skip = done ? LEAST : 2 * skip;
		if (skip > count - at)
			skip = count - at;
		each(keys + at, skip, seed, ret + at);
	}
}

#endif
