/*
 * exact_sieve.h - which of the others the first level lets through, and these together with the
 * keys, in order
 *
 * The others stay where they are. A bit for each says whether it passes and is not a key; for every
 * block of them it is known how many keys and how many that pass come before. So any range of the
 * keys and of those that pass, in order, is read without having them in memory.
 */
#ifndef BLM_KIND_EXACT_SIEVE_H
#define BLM_KIND_EXACT_SIEVE_H

#include "kind/exact.h"

enum { SIEVE_BLOCK = 1024, SIEVE_WORDS = SIEVE_BLOCK / 64 };

struct sieve_block {
	uint64_t keys, passed;		/* before the first hash of the block */
};

struct sieve {
	/* what it shows to the second level: hashes of exact_second(), and 1 for the others */
	struct blm_sorted merged;
	bool plain;			/* no: hashes as they are */
	const struct blm_sorted *keys, *others;
	uint64_t *passes;		/* a bit for each of the others */
	struct sieve_block *block;	/* and one at the end: of all */
	uint64_t blocks, both;
};

/*
 * level: the first one; NULL: there is none, so all pass. Takes keys->threads. Give it to
 * blm_sieve_end(), also on failure; a sieve of zeros may be, too.
 * Return: 0, or a negative errno, with words.
 */
int blm_sieve_make(struct sieve *ret, const struct blm_sorted *keys,
		   const struct blm_sorted *others, const struct blm_part *level);
void blm_sieve_end(struct sieve *s);

static inline uint64_t sieve_passed(const struct sieve *s)
{
	return s->block[s->blocks].passed;
}

#endif
