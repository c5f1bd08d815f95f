/*
 * simd.h - the loops that each instruction set may implement
 *
 * scalar.c is the definition: it is always built, the tests compare the others with it, and a
 * processor without the others runs it. A set may leave a loop NULL; dispatch.c fills it from the
 * next simpler set. All give the same bits. (For hashes xxHash itself is the definition.)
 *
 * Data is an array of little-endian 64-bit words, aligned to 64 bytes; lengths are multiples of 64
 * bytes. Others may set bits in data that is being read: a loop sees each word as it was at some
 * moment of the call.
 */
#ifndef BLM_SIMD_H
#define BLM_SIMD_H

#include "base/base.h"
#include "bloomery.h"

/* Keys of a blocked filter, hashed, and the keys after them, to prefetch. */
struct blm_block_keys {
	uint8_t *data;
	uint64_t blocks;
	unsigned probes;
	const struct blm_hash *hashes;
	size_t count;
	const struct blm_hash *next;
	size_t next_count;
};

/* Bits of keys that their blocks lack: bit which % 64 of a word, for key `from` + which / 64. */
enum { BLM_MISSING_MAX = 512 };
struct blm_missing {
	/* 8 may be written at once, whatever their number */
	uint64_t *word[BLM_MISSING_MAX + 8];
	uint64_t which[BLM_MISSING_MAX + 8];
	size_t count;
};
static_assert((int)BLM_MISSING_MAX >= (int)BLM_PROBES_MAX, "room for one key");

typedef size_t blm_xxh3_many(const struct blm_key *keys, size_t count, uint64_t seed,
			     struct blm_hash *ret);
typedef size_t blm_xxh3_fixed(const uint8_t *bytes, size_t width, size_t count, uint64_t seed,
			      struct blm_hash *ret);

struct blm_simd {
	const char *name;
	bool (*runs_here)(void);

	/* dst |= src, dst &= src; dst is the caller's alone. */
	void (*or_words)(void *dst, const void *src, size_t bytes);
	void (*and_words)(void *dst, const void *src, size_t bytes);

	/*
	 * The first 64-byte line from `from` on in which src has a bit that dst lacks, as a byte
	 * offset; `bytes` if there is none.
	 */
	size_t (*next_missing)(const void *dst, const void *src, size_t from, size_t bytes);

	/*
	 * How many bits are set; how many bits of `a` are also set in `b`, which has the same
	 * length.
	 */
	uint64_t (*count_ones)(const void *data, size_t bytes);
	uint64_t (*count_common)(const void *a, const void *b, size_t bytes);

	/* histogram[x] += how many of the 64-byte blocks have x of their 512 bits set. */
	void (*count_blocks)(const void *data, size_t bytes, uint64_t histogram[513]);

	/*
	 * Blocked filters (format-spec.md, "Kind 2: blocked"): for each hash, are its `probes` bits
	 * set in its block of `blocks`? Bit i % 64 of ret_bits[i / 64] for hash i; bits past count,
	 * up to a multiple of 64, are written as 0. The memory of the next keys is prefetched.
	 */
	void (*blocks_contain)(const struct blm_block_keys *keys, uint64_t *ret_bits);

	/*
	 * The bits that keys lack in their blocks, from key `from` on: up to the next multiple of
	 * 64, or as many keys as fit. Returns the first key that was not examined, where the next
	 * call begins; the first call begins at 0. Reports and changes nothing.
	 */
	size_t (*blocks_missing)(const struct blm_block_keys *keys, size_t from,
				 struct blm_missing *ret);

	/*
	 * For one key: are its bits set? And its bits as words of the block, with a set of the
	 * words that lack some of them.
	 */
	bool (*block_contains)(const uint64_t *block, unsigned probes, const struct blm_hash *hash);
	unsigned (*block_lacks)(const uint64_t *block, unsigned probes, const struct blm_hash *hash,
				uint64_t ret_mask[8]);

	/*
	 * Set them, in data that is the caller's alone; the bit of a hash says whether one was
	 * missing when its turn came. Best hundreds at once.
	 */
	void (*blocks_set)(void *data, uint64_t blocks, unsigned probes,
			   const struct blm_hash *hashes, size_t count, uint64_t *ret_bits);

	/*
	 * Split blocks (format-spec.md, "Kind 3: split-block"), the same for them: a key is its
	 * `lo`, and has always 8 probes. A block's bits are 4 words; split_set() takes the `lo`
	 * alone. count_split_blocks(): histogram[2 x] += how many blocks have x of their 256 bits
	 * set; returns the sum, over the blocks, of the product of the numbers of bits in their 8
	 * lanes. At most 2^24 blocks.
	 */
	void (*split_blocks_contain)(const struct blm_block_keys *keys, uint64_t *ret_bits);
	bool (*split_block_contains)(const uint64_t *block, unsigned probes,
				     const struct blm_hash *hash);
	unsigned (*split_block_lacks)(const uint64_t *block, uint64_t lo, uint64_t ret_mask[4]);
	void (*split_blocks_set)(void *data, uint64_t blocks, const uint64_t *los, size_t count,
				 uint64_t *ret_bits);
	uint64_t (*count_split_blocks)(const void *data, size_t bytes, uint64_t histogram[513]);

	/*
	 * XXH3-128 of keys, from the first on, for as long as the next eight of them all have 4 to
	 * 8 bytes, or all 9 to 16; returns how many that were, a multiple of 8. xxh3_fixed(): of
	 * keys of `width` bytes, one after the other; none if that is not 4 to 16. xxh3_64_many()
	 * and xxh3_64_fixed(): XXH3-64, which is stored in both halves. By AVX-512; NULL for a set
	 * that is no faster than xxHash.
	 */
	blm_xxh3_many *xxh3_many, *xxh3_64_many;
	blm_xxh3_fixed *xxh3_fixed, *xxh3_64_fixed;
};

/* The functions that every set has, under the same names in its file. */
#define BLM_SIMD_LOOPS \
	.runs_here = runs_here, \
	.or_words = or_words, .and_words = and_words, .next_missing = next_missing, \
	.count_ones = count_ones, .count_common = count_common, .count_blocks = count_blocks, \
	.blocks_contain = blocks_contain

/* that this processor runs and $BLOOMERY_SIMD allows */
const struct blm_simd *blm_simd_best(void);
/* simplest first; NULL past the last that runs here */
const struct blm_simd *blm_simd_at(size_t i);

#endif
