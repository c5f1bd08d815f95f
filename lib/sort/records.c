/*
 * records.c - hashes, with or without values, sorted in memory
 *
 * American flag sort (McIlroy, Bostic and McIlroy, Computing Systems 6(1), 1993) by bytes, the
 * highest first, and insertion sort for few records. Hashes are random, so after three or four
 * bytes few records are left. For other input, the bytes that all records share are found in one
 * pass and skipped, so that no choice of keys makes it slow.
 */
#include "sort/records.h"
#include "base/thread.h"

#include <stdatomic.h>

enum { BYTES = 16, FEW = 40, ALONE = 1 << 16 };

/* Byte 0 is the highest of a hash. */
static inline unsigned byte_of(const uint64_t *record, unsigned byte)
{
	return (unsigned)(record[byte < 8] >> (56 - 8 * (byte % 8)) & 0xff);
}

static inline void copy(uint64_t *to, const uint64_t *from, unsigned words)
{
	to[0] = from[0];
	to[1] = from[1];
	if (words > 2)
		to[2] = from[2];
}

static inline void insertion_sort(uint64_t *r, size_t count, unsigned words)
{
	uint64_t moving[BLM_RECORD_WORDS];

	for (size_t i = 1; i < count; i++) {
		size_t at = i;

		if (compare_records(&r[(i - 1) * words], &r[i * words]) <= 0)
			continue;
		copy(moving, &r[i * words], words);
		do
			copy(&r[at * words], &r[(at - 1) * words], words);
		while (--at && compare_records(&r[(at - 1) * words], moving) > 0);
		copy(&r[at * words], moving, words);
	}
}

/* The first byte, from this one on, in which the records differ; BYTES: there is none. */
static unsigned first_difference(const uint64_t *r, size_t count, unsigned words, unsigned byte)
{
	uint64_t differ[2] = { 0, 0 };

	for (size_t i = 1; i < count; i++) {
		differ[0] |= r[i * words] ^ r[0];
		differ[1] |= r[i * words + 1] ^ r[1];
	}
	while (byte < BYTES && !byte_of(differ, byte))
		byte++;
	return byte;
}

/*
 * By one byte; starts: where those with each of its values then begin, and the end. False, and
 * nothing done: all are alike in it.
 */
static inline __attribute__((always_inline)) bool divide(uint64_t *r, size_t count, unsigned words,
							 unsigned byte, size_t starts[257])
{
	size_t next[256];
	uint64_t moving[BLM_RECORD_WORDS], other[BLM_RECORD_WORDS];

	memset(starts, 0, 257 * sizeof(*starts));
	for (size_t i = 0; i < count; i++)
		starts[byte_of(&r[i * words], byte) + 1]++;
	if (starts[byte_of(r, byte) + 1] == count)
		return false;
	for (unsigned v = 0; v < 256; v++) {
		starts[v + 1] += starts[v];
		next[v] = starts[v];
	}
	for (unsigned v = 0; v < 256; v++)
		while (next[v] < starts[v + 1]) {
			unsigned to;

			copy(moving, &r[next[v] * words], words);
			while ((to = byte_of(moving, byte)) != v) {
				uint64_t *place = &r[next[to]++ * words];

				copy(other, place, words);
				copy(place, moving, words);
				copy(moving, other, words);
			}
			copy(&r[next[v]++ * words], moving, words);
		}
	return true;
}

/* words is a constant where this is inlined, so that copying is a few moves. */
static inline __attribute__((always_inline)) bool sort_step(uint64_t *r, size_t count,
							    unsigned words, unsigned *byte,
							    size_t starts[257])
{
	if (count <= FEW) {
		insertion_sort(r, count, words);
		return false;
	}
	if (*byte >= BYTES)
		return false;
	if (divide(r, count, words, *byte, starts))
		return true;
	*byte = first_difference(r, count, words, *byte + 1);
	return *byte < BYTES && divide(r, count, words, *byte, starts);
}

static void sort_pairs(uint64_t *r, size_t count, unsigned byte)
{
	size_t starts[257];

	if (sort_step(r, count, 2, &byte, starts))
		for (unsigned v = 0; v < 256; v++)
			sort_pairs(&r[starts[v] * 2], starts[v + 1] - starts[v], byte + 1);
}

static void sort_triples(uint64_t *r, size_t count, unsigned byte)
{
	size_t starts[257];

	if (sort_step(r, count, 3, &byte, starts))
		for (unsigned v = 0; v < 256; v++)
			sort_triples(&r[starts[v] * 3], starts[v + 1] - starts[v], byte + 1);
}

/* ---- Several threads ---- */

struct job {
	uint64_t *records;
	unsigned words, byte;
	size_t starts[257];
	_Atomic unsigned next;		/* of the 256 */
};

static void *work(void *context)
{
	struct job *job = context;
	unsigned v;

	while ((v = atomic_fetch_add(&job->next, 1)) < 256) {
		uint64_t *from = job->records + job->starts[v] * job->words;
		size_t count = job->starts[v + 1] - job->starts[v];

		(job->words == 2 ? sort_pairs : sort_triples)(from, count, job->byte + 1);
	}
	return NULL;
}

static void work_together(struct job *job, unsigned threads)
{
	pthread_t thread[64];
	unsigned started = 0;

	while (started + 1 < threads && started < ARRAY_LEN(thread)
	       && blm_thread_start(&thread[started], work, job) == 0)
		started++;
	work(job);
	while (started)
		pthread_join(thread[--started], NULL);
}

void blm_records_sort(uint64_t *records, size_t count, unsigned words, unsigned threads)
{
	struct job job = { .records = records, .words = words };

	if (threads < 2 || count < ALONE) {
		(words == 2 ? sort_pairs : sort_triples)(records, count, 0);
		return;
	}
	if (words == 2 ? sort_step(records, count, 2, &job.byte, job.starts)
	    : sort_step(records, count, 3, &job.byte, job.starts))
		work_together(&job, threads);
}

/* ---- One key, once ---- */

int blm_record_is_new(const uint64_t *last, const uint64_t *record, unsigned words)
{
	if (compare_records(last, record))
		return 1;
	if (words == 2 || last[2] == record[2])
		return 0;
	return blm_fail(-ENOTUNIQ, "a key has two values, %llu and %llu",
			(unsigned long long)last[2], (unsigned long long)record[2]);
}

int64_t blm_records_unite(uint64_t *records, size_t count, unsigned words)
{
	size_t kept = count > 0;

	for (size_t i = 1; i < count; i++) {
		int r = blm_record_is_new(&records[(kept - 1) * words], &records[i * words], words);

		if (r < 0)
			return r;
		if (r && kept != i)
			copy(&records[kept * words], &records[i * words], words);
		kept += (size_t)r;
	}
	return (int64_t)kept;
}
