/*
 * records.h - hashes, with values or without, put into order in memory
 *
 * A record is a hash as struct blm_hash has it, 2 words of 64 bits, and where there are values a
 * third. The order is that of the hashes as numbers of 128 bits; `hi` is the upper half. Values do
 * not count in the order.
 */
#ifndef BLM_RECORDS_H
#define BLM_RECORDS_H

#include "base/base.h"

enum { BLM_RECORD_WORDS = 3 };		/* at most */

static inline int compare_records(const uint64_t *a, const uint64_t *b)
{
	if (a[1] != b[1])
		return a[1] < b[1] ? -1 : 1;
	return a[0] < b[0] ? -1 : a[0] > b[0];
}

/* In place, by at most `threads` threads, the caller's among them. words: of a record, 2 or 3. */
void blm_records_sort(uint64_t *records, size_t count, unsigned words, unsigned threads);

/*
 * Two records of one key become one. Return: how many are left, or -ENOTUNIQ, with a message, if a
 * key has two values.
 */
int64_t blm_records_unite(uint64_t *records, size_t count, unsigned words);

/* The same for one more record after the last one kept: 1: it is another key; 0: it is not. */
int blm_record_is_new(const uint64_t *last, const uint64_t *record, unsigned words);

#endif
