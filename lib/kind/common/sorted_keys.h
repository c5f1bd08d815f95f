/*
 * sorted_keys.h - all keys of a filter, in order, for kinds that are built at once
 *
 * The hashes are all different (unless the kind counts keys) and ascend, as numbers of 128 bits
 * with `hi` as the upper half. The owner decides whether they are in memory or in a temporary file
 * (sort.c); a kind reads any range of them, and no more at once than it has memory for. So its data
 * depend on the set of keys only, not on their order or on the number of threads.
 */
#ifndef BLM_KIND_SORTED_H
#define BLM_KIND_SORTED_H

#include "base/base.h"
#include "bloomery.h"

struct blm_sorted;

/* A second list, of keys that are not in the filter, for kinds that count them. */
struct blm_others {
	const struct blm_sorted *list;	/* in order, as the keys; some may be keys */
	bool by_column;			/* the hashes have columns (hash/column.h) */
	bool any_rate;			/* none was asked for */
	/* what fit() found out for build(); free_work() frees it if it is not NULL */
	void *work;
	void (*free_work)(void *work);
};

struct blm_sorted {
	uint64_t count;
	unsigned threads;		/* that may work at once; at least 1 */
	uint64_t memory_bytes;		/* that all of them together may take, without the part */
	bool has_values;
	struct blm_others *others;	/* NULL: there are none */
	/*
	 * The keys number from .. from + count - 1, and their values unless ret_values is NULL; any
	 * number of threads at once. Return: 0, or a negative errno, with a message.
	 */
	int (*read)(const struct blm_sorted *keys, uint64_t from, struct blm_hash *ret,
		    uint64_t *ret_values, size_t count);
	/*
	 * This number of keys more is in the part: to show progress. Any thread. NULL: not wanted.
	 */
	void (*done)(const struct blm_sorted *keys, uint64_t count);
};

static inline int sorted_read(const struct blm_sorted *keys, uint64_t from, struct blm_hash *ret,
			      uint64_t *ret_values, size_t count)
{
	return keys->read(keys, from, ret, ret_values, count);
}

#endif
