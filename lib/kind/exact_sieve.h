/*
 * exact_sieve.h - the others that the first level lets through, and these together with the keys,
 * in order
 *
 * The others stay in their place. A bit for each says whether it passes and is not a key; for every
 * block of them the numbers of earlier keys and of earlier others that pass are known. So any range
 * of the keys and of those that pass, in order, is read without having them in memory.
 */
#ifndef BLM_KIND_EXACT_SIEVE_H
#define BLM_KIND_EXACT_SIEVE_H

#include "kind/exact.h"

enum { SIEVE_BLOCK = 1024, SIEVE_WORDS = SIEVE_BLOCK / 64 };

struct sieve_block {
	uint64_t keys, passed;		/* before the first hash of the block */
};

struct sieve {
	/* its output for the second level: hashes of exact_second(), and 1 for the others */
	struct blm_sorted merged;
	bool plain;			/* no: hashes as they are */
	const struct blm_sorted *keys, *others;
	uint64_t *passes;		/* a bit for each of the others */
	struct sieve_block *block;	/* and one at the end: of all */
	uint64_t blocks, both;
};

/*
 * level: the first one; NULL: there is none, so all pass. Takes keys->threads. Pass it to
 * blm_sieve_end(), also on failure; a sieve of zeros is allowed there, too. Return: 0, or a
 * negative errno, with a message.
 */
int blm_sieve_make(struct sieve *ret, const struct blm_sorted *keys,
		   const struct blm_sorted *others, const struct blm_part *level);
void blm_sieve_end(struct sieve *s);

static inline uint64_t sieve_passed(const struct sieve *s)
{
	return s->block[s->blocks].passed;
}

#endif
