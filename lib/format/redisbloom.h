/*
 * redisbloom.h - the common parts of RedisBloom's formats: the headers of BF.SCANDUMP and
 * CF.SCANDUMP, chunks, dumps
 */
#ifndef BLM_FORMAT_REDISBLOOM_H
#define BLM_FORMAT_REDISBLOOM_H

#include "format/format.h"

/* The header: numbers of the whole, then of each link of the chain; all little-endian. */
enum {
	REDISBLOOM_SIZE = 0,		/* keys, 8 bytes */
	REDISBLOOM_LINKS = 8,		/* 4 */
	REDISBLOOM_OPTIONS = 12,	/* 4 */
	REDISBLOOM_GROWTH = 16,		/* 4 */
	REDISBLOOM_HEAD = 20,

	REDISBLOOM_LINK_BYTES = 0,	/* 8 each, up to bpe */
	REDISBLOOM_LINK_BITS = 8,
	REDISBLOOM_LINK_SIZE = 16,
	REDISBLOOM_LINK_ERROR = 24,	/* a double */
	REDISBLOOM_LINK_BPE = 32,	/* a double: bits an entry */
	REDISBLOOM_LINK_HASHES = 40,	/* 4 */
	REDISBLOOM_LINK_ENTRIES = 44,	/* 8 */
	REDISBLOOM_LINK_N2 = 52,	/* 1 */
	REDISBLOOM_LINK = 53,
};

/* The header of a cuckoo filter; little-endian, too. */
enum {
	REDISBLOOM_CF_KEYS = 0,		/* 8 bytes each, up to slots */
	REDISBLOOM_CF_BUCKETS = 8,	/* of the first table */
	REDISBLOOM_CF_DELETES = 16,
	REDISBLOOM_CF_TABLES = 24,
	REDISBLOOM_CF_SLOTS = 32,	/* 2 each: cells of a bucket */
	REDISBLOOM_CF_ITERATIONS = 34,
	REDISBLOOM_CF_EXPANSION = 36,
	REDISBLOOM_CF_HEAD = 38,
};

enum { REDISBLOOM_LINKS_MOST = BLM_PARTS_MAX };

/*
 * One chunk: its bytes, or, with a key, a command of Redis' protocol. `iter` is its iterator there.
 */
int blm_redis_chunk(struct blm_writer *to, const char *command, const char *key, uint64_t iter,
		    const uint8_t *bytes, size_t count);

/*
 * Is it what DUMP gives of such a key? That as what BF.SCANDUMP gives of it; and the same of a
 * cuckoo filter.
 */
bool blm_redis_dump_begins(const uint8_t *bytes, size_t count);
int blm_redis_dump_unpack(struct blm_piece *ret, const struct blm_bytes_at *file,
			  const struct blm_exchange *how, const char *display);
bool blm_redis_dump_begins_cf(const uint8_t *bytes, size_t count);
int blm_redis_dump_unpack_cf(struct blm_piece *ret, const struct blm_bytes_at *file,
			     const struct blm_exchange *how, const char *display);

#endif
