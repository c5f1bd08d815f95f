/*
 * simd.h - the loops worth writing once per instruction set
 *
 * scalar.c is the definition: it is always built, it is what the tests compare the others with, and a processor without
 * the others runs on it. A set may leave a loop NULL; pick.c fills it from the next simpler one. All give the same bits.
 *
 * Data is an array of little-endian 64-bit words, aligned to 64 bytes; lengths are multiples of 64 bytes. Others may set
 * bits in data that is being read: a loop sees each word as it was at some moment of the call.
 */
#ifndef BLM_SIMD_H
#define BLM_SIMD_H

#include "base.h"
#include "bloomery.h"

struct blm_simd {
	const char *name;
	bool (*runs_here)(void);

	/* dst |= src, dst &= src; dst is the caller's alone. */
	void (*or_words)(void *dst, const void *src, size_t bytes);
	void (*and_words)(void *dst, const void *src, size_t bytes);

	/* The first 64-byte line from `from` on in which src has a bit that dst lacks, as a byte offset; `bytes` if none. */
	size_t (*next_missing)(const void *dst, const void *src, size_t from, size_t bytes);

	/* How many bits are set. */
	uint64_t (*count_ones)(const void *data, size_t bytes);

	/* histogram[x] += how many of the 64-byte blocks have x of their 512 bits set. */
	void (*count_blocks)(const void *data, size_t bytes, uint64_t histogram[513]);

	/*
	 * Blocked filters (format-spec.md, "Kind 2: blocked"): for each hash, are its `probes` bits set in its block of
	 * `blocks`? Bit i % 64 of ret_bits[i / 64] for hash i; bits past count are written as 0.
	 */
	void (*blocks_contain)(const void *data, uint64_t blocks, unsigned probes,
			       const struct blm_hash *hashes, size_t count, uint64_t *ret_bits);
};

const struct blm_simd *blm_simd_best(void);	/* that this processor runs and $BLOOMERY_SIMD allows */
const struct blm_simd *blm_simd_at(size_t i);	/* simplest first; NULL past the last that runs here */

#endif
