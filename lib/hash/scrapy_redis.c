/*
 * scrapy_redis.c - r = (1 + i) r + byte from 0, for probe i from 0, modulo the cells, a power of 2
 *
 * The family of the filters that crawlers keep as a bitmap in Redis (scrapy-redis-bloomfilter and
 * others like it), whose keys are fingerprints of requests, 40 hexadecimal digits. The first probe
 * is the sum of the bytes: a few thousand values, whatever m is.
 */
#include "hash/hasher.h"

static uint64_t nth(const struct blm_hasher *by, const struct blm_key *key, unsigned i,
		    uint64_t cells)
{
	const uint8_t *bytes = key->bytes;
	uint64_t r = 0;

	for (size_t at = 0; at < key->len; at++)
		r = (i + UINT64_C(1)) * r + bytes[at];
	return r % cells;	/* what wraps at 2^64 makes no difference to a power of 2 */
}

const struct blm_family blm_family_scrapy_redis = {
	.id = 29,
	.name = "scrapy-redis",
	.summary = "r = (1 + i) r + byte, weak: crawlers' bitmaps in Redis, whose m is a "
	"power of 2; classic, counting, approximator",
	.bits = 64,
	.nth = nth,
};
