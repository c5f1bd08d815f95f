/*
 * bits.h - setting bits that many processes share, for the kinds whose cells are bits
 *
 * Bits only change from 0 to 1, and only by atomic OR on their 64-bit word; that is the complete
 * protocol. A word is loaded first and left alone if it lacks no bit, so that present keys dirty no
 * cache line. A process that is killed between two words leaves a key half-added, and its add has
 * not returned: the key is found or not, and adding it again completes it.
 */
#ifndef BLM_KIND_BITS_H
#define BLM_KIND_BITS_H

#include "kind/kind.h"

/* The bits of one key in one word. */
struct blm_bits {
	uint64_t *word;
	uint64_t mask;
};

/*
 * Sets these bits. Returns those that were 0 before. Acquire and release: a thread that sees the
 * bit also sees all earlier stores of its setter.
 */
static inline uint64_t bits_set(uint64_t *word, uint64_t mask, bool unshared)
{
	uint64_t missing = mask & ~load_acquire(word);

	if (!missing)
		return 0;
	if (unshared) {
		*word |= htole64(missing);
		return missing;
	}
	return missing & ~le64toh(__atomic_fetch_or(word, htole64(missing), __ATOMIC_ACQ_REL));
}

/* Sets these bits of a word that was not looked at. */
static inline void bits_set_unseen(uint64_t *word, uint64_t mask, bool unshared)
{
	if (unshared)
		*word |= htole64(mask);
	/* the old value is not used, or this would be a loop of compare-and-swap */
	else
		(void)__atomic_fetch_or(word, htole64(mask), __ATOMIC_ACQ_REL);
}

/*
 * bits_claim() - set the bits of one key, and learn whether this caller was the first
 *
 * @bits: the key's words in an order that is the same for all claimers of the key, no word twice
 *
 * @lacks: `count` flags; afterwards they say which words lacked a bit before
 *
 * The decider is the last word that is seen to lack a bit. All lacking words are completed in
 * order, and the claim is won if and only if this caller's OR on the decider changed it. At most
 * one caller wins: if A's decider is a, B's is b, and a comes before b in the order, then A saw b
 * complete before its step on a, so B had completed a before that, and A's step on a changes
 * nothing; if a is b, only one OR changes it. No caller wins only if another key's bits, or a
 * caller that died after its step on the decider, completed it.
 */
static inline bool bits_claim(const struct blm_bits *bits, bool *lacks, size_t count, bool unshared)
{
	size_t decider = count;
	bool won = false;

	for (size_t i = 0; i < count; i++) {
		lacks[i] = bits[i].mask & ~load_acquire(bits[i].word);
		if (lacks[i])
			decider = i;
	}
	for (size_t i = 0; i <= decider && i < count; i++)
		if (lacks[i])
			won = bits_set(bits[i].word, bits[i].mask, unshared);
	return won;
}

/*
 * The same for adjacent words, like those of a block, that were read before: bit i of `lacks` says
 * that words[i] lacked a bit of masks[i]. Their order is that of their addresses.
 */
static inline void bits_set_words(uint64_t *words, const uint64_t *masks, unsigned lacks,
				  bool unshared)
{
	for (; lacks; lacks &= lacks - 1) {
		unsigned i = (unsigned)__builtin_ctz(lacks);

		bits_set_unseen(&words[i], masks[i], unshared);
	}
}

/*
 * Sets the bits of all words of a block that no other thread changes. A store to each word takes
 * less time than to find the words that lack a bit.
 */
static inline void bits_set_block(uint64_t *words, const uint64_t *masks, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		words[i] |= htole64(masks[i]);
}

/* Set one bit. Was it 0 before? */
static inline bool bits_set_one(uint64_t *word, unsigned number, bool unshared)
{
	uint64_t bit = UINT64_C(1) << number;

	if (unshared) {
		bool missing = !(le64toh(*word) & bit);

		*word |= htole64(bit);
		return missing;
	}
	return !(le64toh(__atomic_fetch_or(word, htole64(bit), __ATOMIC_ACQ_REL)) & bit);
}

static inline bool bits_claim_words(uint64_t *words, const uint64_t *masks, unsigned lacks,
				    bool unshared)
{
	unsigned decider;

	if (!lacks)
		return false;
	decider = 31 - (unsigned)__builtin_clz(lacks);
	bits_set_words(words, masks, lacks & ~(1u << decider), unshared);
	return bits_set(&words[decider], masks[decider], unshared) != 0;
}

/* The rest of the shape, if the number of cells was given. */
void blm_bits_plan_given(struct blm_shape *shape,
			 double (*rate_at)(const struct blm_shape *shape, uint64_t keys));

/* bits_claim() for the words of a part, whose changes are marked. */
bool blm_bits_claim(struct blm_part *part, const struct blm_bits *bits, bool *lacks, size_t count);

/*
 * Changes the keys of a batch that are absent by `bits`, the answers about it, one by one; the bits
 * then say what `change` did.
 */
static inline void bits_change_absent(struct blm_part *part, const struct blm_batch *batch,
				      uint64_t *bits,
				      bool (*change)(struct blm_part *part,
						     const struct blm_hash *hash))
{
	for (size_t at = 0; at < batch->count; at += 64) {
		uint64_t absent = ~bits[at / 64], changed = 0;

		if (batch->count - at < 64)
			absent &= (UINT64_C(1) << (batch->count - at)) - 1;
		for (; absent; absent &= absent - 1) {
			unsigned i = (unsigned)__builtin_ctzll(absent);

			changed |= (uint64_t)change(part, &batch->hashes[at + i]) << i;
		}
		bits[at / 64] = changed;
	}
}

void blm_bits_unite(const struct blm_part *part, void *dst, const void *src, size_t bytes);
void blm_bits_intersect(const struct blm_part *part, void *dst, const void *src, size_t bytes);

#endif
