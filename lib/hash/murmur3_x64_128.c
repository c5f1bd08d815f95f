/*
 * murmur3_x64_128.c - MurmurHash3 (x64, 128 bits) with a seed of 32 bits, all of it
 *
 * The family of Guava (seed 0) and of Go's bits-and-blooms (seed 0).
 */
#include "hash/hasher.h"
#include "hash/murmur3_x64.h"

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	*ret = murmur3_x64_128(key->bytes, key->len, (uint32_t)by->seeds[0]);
}

static void digest(const struct blm_hasher *by, const struct blm_key *pieces, unsigned count,
		   uint8_t *ret)
{
	struct blm_hash h = { by->seeds[0], by->seeds[0] };
	uint8_t block[16];
	uint64_t len = 0;

	for (unsigned i = 0; i < count; i++)
		for (size_t at = 0; at < pieces[i].len; at++) {
			block[len++ % 16] = ((const uint8_t *)pieces[i].bytes)[at];
			if (len % 16 == 0)
				murmur3_block(&h, block);
		}
	h = murmur3_end(h, block, len % 16, len);
	h.lo = htole64(h.lo);
	h.hi = htole64(h.hi);
	memcpy(ret, &h, sizeof(h));
}

const struct blm_family blm_family_murmur3_x64_128 = {
	.id = 16,
	.name = "murmur3-x64-128",
	.summary = "MurmurHash3-128 for 64-bit machines: Guava and Go's bits-and-blooms, with seed "
	"0",
	.bits = 128,
	.seeds = 1,
	.seed_bits = 32,
	.hash = hash,
	.digest_bytes = 16, .digest = digest,
};
