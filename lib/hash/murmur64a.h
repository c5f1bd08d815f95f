/* murmur64a.h - MurmurHash64A, by A. Appleby, 2009 */
#ifndef BLM_HASH_MURMUR64A_H
#define BLM_HASH_MURMUR64A_H

#include "hash/hasher.h"

#define MURMUR64A_MULTIPLIER UINT64_C(0xc6a4a7935bd1e995)

static inline uint64_t murmur64a(const uint8_t *bytes, size_t len, uint64_t seed)
{
	uint64_t h = seed ^ len * MURMUR64A_MULTIPLIER, k;

	for (; len >= 8; bytes += 8, len -= 8) {
		memcpy(&k, bytes, 8);
		k = le64toh(k) * MURMUR64A_MULTIPLIER;
		h = (h ^ (k ^ k >> 47) * MURMUR64A_MULTIPLIER) * MURMUR64A_MULTIPLIER;
	}
	if (len) {
		k = 0;
		memcpy(&k, bytes, len);
		h = (h ^ le64toh(k)) * MURMUR64A_MULTIPLIER;
	}
	h = (h ^ h >> 47) * MURMUR64A_MULTIPLIER;
	return h ^ h >> 47;
}

#endif
