/*
 * value.h - the value of a key: a filter of the library
 *
 * All three types of keys have this value. Bloom and cuckoo filters have the encodings of
 * RedisBloom. A `filter` is one of any kind, which BLM.CREATE made or BLM.ATTACH found.
 *
 * The filter is in memory, or it is a file of the module's store. An owned file is dropped when its
 * value is freed; an attached one never is. Only the server's main thread changes a value;
 * value_free() may run in any thread.
 */
#ifndef BLOOMERY_REDIS_VALUE_H
#define BLOOMERY_REDIS_VALUE_H

#include "redis_api.h"

#include <bloomery.h>

#include <stdbool.h>

enum sort { SORT_BLOOM, SORT_CUCKOO, SORT_FILTER };

enum {
	LINKS_MOST = 64,		/* filters of a Bloom filter: the library's limit */
	TABLES_MOST = 128,		/* of a cuckoo filter */
	CHUNK_MOST = 16 << 20,
};

#define NO_DESCRIPTORS "ERR the server has too few file descriptors for another filter: a filter " \
	"in memory takes 2, and a quarter of them is left to the server; delete keys, or start " \
	"the server with a higher limit (ulimit -n)"

#define TIGHTENING 0.5			/* the rate of each link, as a share of that before */
enum { BLOOM_SEEDS = 4 };

/* The parameters of BF.RESERVE, and of BF.INSERT as valkey-bloom has it. */
struct bloom_wish {
	double rate;
	uint64_t capacity;
	unsigned expansion;
	bool fixed;			/* NONSCALING */
	double tightening;		/* 0: TIGHTENING */
	bool seeded;			/* by these seeds, which are the two keys of SipHash */
	uint64_t seeds[BLOOM_SEEDS];
};

/* The parameters of CF.RESERVE, and the state of the tables that CF.INFO reports. */
struct cuckoo_tables {
	uint64_t buckets;		/* of the first table, a power of 2 */
	unsigned slots, iterations, expansion;
	unsigned count;
	uint64_t deletes;
};

struct pending;
struct table;

struct value {
	enum sort sort;
	/* NULL: some chunks of it are missing (pending), or its file is (SORT_FILTER) */
	struct blm_filter *f;
	struct pending *pending;
	char *name;			/* in the store; NULL: in memory */
	bool owned;			/* its file is dropped with the value */
	bool unannounced;		/* attached while nothing could be replicated */
	/* SORT_BLOOM, and a SORT_FILTER that BF.INSERT or BF.LOAD made: there capacity is not 0 */
	bool fixed;			/* full at its capacity */
	uint64_t capacity;		/* then */
	unsigned expansion;		/* as it was asked for */
	double rate, tightening;	/* SORT_FILTER only */
	/* SORT_FILTER */
	bool both_ways;			/* its cells change both ways; in memory */
	unsigned forks;			/* of the server, at the last change of such a filter */
	/* SORT_CUCKOO */
	struct cuckoo_tables tables;
	struct table *chain;		/* of TABLES_MOST; NULL: as f */
	unsigned holders;		/* the server, and threads that use the filter; atomic */
};

/* False while chunks or the file of the value are missing. */
static inline bool value_is_whole(const struct value *v)
{
	return v->f || v->chain;
}

extern struct redis_type *value_types[3];
extern const char *const type_names[3];
extern const unsigned type_encodings[3];

/* Where a new value is: the key that it is for, or NULL, and its database. */
struct spot {
	const struct redis_string *key;
	int db;
	bool loading;			/* a file of an earlier run of the server may be taken up */
	bool copied;			/* by COPY, which does not tell the database */
};

struct spot spot_of(struct redis_ctx *ctx, const struct redis_string *key);
struct spot spot_of_io(struct redis_io *io);

/*
 * False where another filter would leave fewer than a quarter of the file descriptors to the
 * server. A filter in memory takes 2, one in a file 1.
 */
bool value_has_space(void);

struct value *value_new(enum sort sort);
/* Another holder. Each one calls value_free(); the last one frees it. Return: v */
struct value *value_hold(struct value *v);
struct value *value_free(struct value *v);
/* A value with the parameters of the other, without its data. */
struct value *value_like(const struct value *from);
struct value *value_copy(const struct value *from, const struct spot *spot);
/* The bytes of memory or of the file, with those that are not allocated yet. */
size_t value_bytes(const struct value *v);

/* The factor by which a chain grows in the place of the one that was asked for. */
unsigned bloom_growth(unsigned expansion);
/*
 * The encoding of RedisBloom has neither seeds nor a tightening, so a filter that has one of them
 * is a SORT_FILTER. NULL: blm_error_message()
 */
struct value *bloom_new(const struct bloom_wish *wish, const struct spot *spot);
/* The number of cells of all tables; 0: one of the numbers is out of its range. */
uint64_t cuckoo_cells(const struct cuckoo_tables *t);

#endif
