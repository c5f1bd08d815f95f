/* checksum.c - XXH3 of bytes, by the code of xxhash.h */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/checksum.h"

uint64_t blm_checksum(const void *bytes, size_t count)
{
	return XXH3_64bits(bytes, count);
}

uint64_t blm_checksum_seeded(const void *bytes, size_t count, uint64_t seed)
{
	return XXH3_64bits_withSeed(bytes, count, seed);
}

void blm_checksum_128(const void *bytes, size_t count, uint64_t ret[2])
{
	XXH128_hash_t h = XXH3_128bits(bytes, count);

	ret[0] = h.low64;
	ret[1] = h.high64;
}
