/*
 * record.h - the words and records of a journal, and the checksums of ledger.h's files; for
 * ledger.c and journal.c
 *
 * A checksum covers the mark of the journal and the place, so bytes of another journal or of
 * another place are not taken either.
 */
#ifndef BLOOMERY_CORPUS_RECORD_H
#define BLOOMERY_CORPUS_RECORD_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "ledger.h"

#include <stdatomic.h>

enum { HEAD = MAPPED_LEAST, BOOT = 40 };

enum { WORD_BITS = 40 };	/* of a word's value; the others are its checksum */

/* The places of words. A record has the number of its unit. */
#define COMMIT_WORD UINT64_MAX
#define SYNCED_WORD (UINT64_MAX - 1)

struct record {
	uint32_t answer;	/* 1 + the keys that were seen; 0, with its checksum: no record */
	uint32_t check;
};

static inline uint64_t check_of(const uint8_t mark[MARK], uint64_t place, uint64_t value)
{
	const uint64_t both[] = { place, value };
	uint64_t seed;

	memcpy(&seed, mark, sizeof(seed));
	return XXH3_64bits_withSeed(both, sizeof(both), seed);
}

static inline uint64_t word_of(const uint8_t mark[MARK], uint64_t place, uint64_t value)
{
	return value | check_of(mark, place, value) << WORD_BITS;
}

/* Return: is it what word_of() made? */
static inline bool read_word(const uint8_t mark[MARK], uint64_t place, uint64_t word,
			     uint64_t *ret_value)
{
	*ret_value = word & ((UINT64_C(1) << WORD_BITS) - 1);
	return word == word_of(mark, place, *ret_value);
}

static inline struct record record_of(const uint8_t mark[MARK], uint64_t unit, uint32_t seen)
{
	uint32_t answer = seen + 1;

	return (struct record){ answer, (uint32_t)check_of(mark, unit, answer) };
}

static inline bool is_no_record(const struct record *r)
{
	return !r->answer && !r->check;
}

static inline bool is_whole_record(const struct record *r, const uint8_t mark[MARK], uint64_t unit)
{
	return r->answer && r->check == (uint32_t)check_of(mark, unit, r->answer);
}

/* Of the intent. */
static inline uint64_t check_bytes(const void *bytes, size_t count, uint64_t seed)
{
	return XXH3_64bits_withSeed(bytes, count, seed);
}

/* ---- The journal ---- */

extern const char journal_magic[8];

struct journal_head {
	char magic[8];
	_Atomic uint64_t commit;	/* a word */
	uint8_t mark[MARK];
	char boot[BOOT];
	_Atomic uint64_t synced;	/* a word */
};

static inline struct journal_head *head_of(const struct journal *j)
{
	return (struct journal_head *)j->file.at;
}

static inline struct record *records_of(const struct journal *j)
{
	return (struct record *)(void *)(j->file.at + HEAD);
}

static inline uint64_t capacity_of(const struct journal *j)
{
	return (j->file.bytes - HEAD) / sizeof(struct record);
}

/* ---- journal.c ---- */

/* Says what is wrong. Return: FAILED */
int damaged(const char *path, const char *what);
int check_magic(const char *path, const char magic[8], const char want[8]);
void set_commit(struct journal *j, uint64_t value);
void set_synced(struct journal *j, uint64_t value);
int read_commit(const struct journal *j, uint64_t *ret);
/* Checks the answers and sets `units`. @l: NULL: `other_boot` is set */
int read_units(struct journal *j, const struct ledger *l);

void read_boot(char ret[BOOT]);	/* with zeros behind it */
bool is_this_boot(const char boot[BOOT]);

/* The journal, and its name if it is fresh. */
int put_on_disk(struct journal *j);

#endif
