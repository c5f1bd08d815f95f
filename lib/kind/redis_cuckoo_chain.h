/*
 * redis_cuckoo_chain.h - the tables of a cuckoo filter of RedisBloom: each has 2^shift times the
 * buckets of the one before
 */
#ifndef BLM_KIND_REDIS_CUCKOO_CHAIN_H
#define BLM_KIND_REDIS_CUCKOO_CHAIN_H

#include "kind/redis_cuckoo.h"

struct chain {
	uint64_t buckets;		/* of the first table */
	unsigned slots;			/* of a bucket */
	unsigned tables;
	/* each table has 2^shift times the buckets of the one before */
	unsigned shift;
};

static inline uint64_t buckets_of(const struct chain *c, unsigned table)
{
	return c->buckets << c->shift * table;
}

static inline uint64_t cells_of(const struct chain *c, unsigned table)
{
	return buckets_of(c, table) * c->slots;
}

/* redis_cuckoo_plan.c: of a shape that is valid */
struct chain blm_redis_cuckoo_chain(const struct blm_shape *s);
bool blm_redis_cuckoo_valid(const struct blm_shape *s);
int blm_redis_cuckoo_plan(struct blm_shape *ret, const struct blm_params *params);
double blm_redis_cuckoo_rate(const struct blm_shape *s, uint64_t keys);
/* The rate if a question meets this number of fingerprints. */
double blm_redis_cuckoo_rate_with(double met);

#endif
