/*
 * redis_cuckoo.h - the sizes and words of a cuckoo filter of RedisBloom, for code that reads or
 * writes files of that program
 */
#ifndef BLM_KIND_REDIS_CUCKOO_H
#define BLM_KIND_REDIS_CUCKOO_H

#include "kind/kind.h"

extern const struct blm_kind blm_kind_redis_cuckoo;

/* which of its arguments is what */
enum { REDIS_CUCKOO_BUCKET, REDIS_CUCKOO_EXPANSION, REDIS_CUCKOO_ITERATIONS };
/* own word: how many keys were removed, as the program that made it counted */
enum { REDIS_CUCKOO_DELETES = 2 };
enum {
	REDIS_CUCKOO_BUCKET_MOST = 255, REDIS_CUCKOO_EXPANSION_MOST = 32768,
		REDIS_CUCKOO_ITERATIONS_MOST = 65535,
	REDIS_CUCKOO_TABLES_MOST = BLM_PROBES_MAX / 2,
};

/* The buckets of the first table. */
uint64_t blm_redis_cuckoo_buckets(const struct blm_shape *s);

/*
 * The cells of all tables, of untrusted numbers; 0: there are too many, or a number is out of its
 * range.
 */
uint64_t blm_redis_cuckoo_cells(uint64_t buckets, uint64_t slots, uint64_t tables,
				uint64_t expansion);

#endif
