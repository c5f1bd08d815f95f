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

/* ---- Keys of many lengths ---- */

enum { XXH3_DEALT = 128, XXH3_DEALT_LEAST = 32 };

enum xxh3_class { XXH3_TO_3, XXH3_TO_8, XXH3_TO_16, XXH3_TO_32, XXH3_TO_64, XXH3_TO_96,
		  XXH3_TO_128, XXH3_OTHERS, XXH3_CLASSES };

/* The numbers of keys, by the code that their lengths take. */
struct xxh3_dealt {
	uint8_t numbers[XXH3_CLASSES][XXH3_DEALT];
	uint32_t count[XXH3_CLASSES];
};

static inline enum xxh3_class xxh3_class_of(size_t len)
{
#define FOUR(class) class, class, class, class
#define SIXTEEN(class) FOUR(class), FOUR(class), FOUR(class), FOUR(class)
	/* by the length - 1, so that no key of 0 bytes is in a class */
	static const uint8_t classes[129] = {
		XXH3_TO_3, XXH3_TO_3, XXH3_TO_3, FOUR(XXH3_TO_8), XXH3_TO_8, FOUR(XXH3_TO_16),
		FOUR(XXH3_TO_16), SIXTEEN(XXH3_TO_32), SIXTEEN(XXH3_TO_64), SIXTEEN(XXH3_TO_64),
		SIXTEEN(XXH3_TO_96), SIXTEEN(XXH3_TO_96), SIXTEEN(XXH3_TO_128),
		SIXTEEN(XXH3_TO_128), XXH3_OTHERS,
	};
#undef SIXTEEN
#undef FOUR

	return classes[len - 1 < 128 ? len - 1 : 128];
}

/*
 * The counts are bytes of one number, in a register: in memory each would have to be stored before
 * the next key of its class could read it.
 */
static inline void xxh3_deal(const struct blm_key *keys, size_t count, struct xxh3_dealt *ret)
{
	uint64_t counts = 0;

	for (size_t i = 0; i < count; i++) {
		enum xxh3_class class = xxh3_class_of(keys[i].len);

		ret->numbers[class][counts >> 8 * class & 255] = (uint8_t)i;
		counts += UINT64_C(1) << 8 * class;
	}
	for (unsigned class = 0; class < XXH3_CLASSES; class++)
		ret->count[class] = counts >> 8 * class & 255;
}

static_assert((int)XXH3_CLASSES <= 8 && (int)XXH3_DEALT < 256, "a byte of 64 bits for each count");

/* Those of a class, whose lengths are from `least` to `most`: with these known, `of` is short. */
BLM_HASHES_MANY xxh3_class(xxh3_of *of, const struct blm_key *keys, const uint8_t *numbers,
			   size_t count, size_t least, size_t most, uint64_t seed,
			   struct blm_hash *ret)
{
	for (size_t i = 0; i < count; i++) {
		const struct blm_key *key = &keys[numbers[i]];

		if (key->len < least || key->len > most)
			__builtin_unreachable();
		ret[numbers[i]] = of(key->bytes, key->len, seed);
	}
}

/*
 * Where lengths follow no pattern, no processor predicts the branches on them. So the keys are
 * dealt to classes without a branch, and each class has a loop of its own. The caller has all
 * functions inlined (flatten), since those of xxHash are not where it is long.
 */
BLM_HASHES_MANY xxh3_by_class(xxh3_of *of, xxh3_of *any, const struct blm_key *keys, size_t count,
			      uint64_t seed, struct blm_hash *ret)
{
	struct xxh3_dealt d;

	xxh3_deal(keys, count, &d);
#define CLASS(class, least, most) \
	xxh3_class(of, keys, d.numbers[class], d.count[class], least, most, seed, ret)
	CLASS(XXH3_TO_3, 1, 3);
	CLASS(XXH3_TO_8, 4, 8);
	CLASS(XXH3_TO_16, 9, 16);
	CLASS(XXH3_TO_32, 17, 32);
	CLASS(XXH3_TO_64, 33, 64);
	CLASS(XXH3_TO_96, 65, 96);
	CLASS(XXH3_TO_128, 97, 128);
#undef CLASS
	for (size_t i = 0; i < d.count[XXH3_OTHERS]; i++) {
		unsigned n = d.numbers[XXH3_OTHERS][i];

		ret[n] = any(keys[n].bytes, keys[n].len, seed);
	}
}

BLM_HASHES_MANY xxh3_each(xxh3_of *of, xxh3_of *any, const struct blm_key *keys, size_t count,
			  uint64_t seed, struct blm_hash *ret)
{
	while (count >= XXH3_DEALT_LEAST) {
		size_t many = count < XXH3_DEALT ? count : XXH3_DEALT;

		xxh3_by_class(of, any, keys, many, seed, ret);
		keys += many;
		ret += many;
		count -= many;
	}
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
