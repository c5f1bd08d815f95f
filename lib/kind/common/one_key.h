/*
 * one_key.h - one key of a kind whose cells are bits, asked and added
 *
 * The kinds use these functions by way of the instruction set in use, and single.c compiles them
 * together with a hash, once for each instruction set. `contains` and `lacks` are a set's own, for
 * one block (simd.h), and are inlined where they are constants.
 */
#ifndef BLM_KIND_ONE_KEY_H
#define BLM_KIND_ONE_KEY_H

#include "kind/common/bits.h"
#include "kind/common/prefetch.h"
#include "simd/split_block.h"

typedef bool blm_contains_block(const uint64_t *block, unsigned probes,
				const struct blm_hash *hash);
typedef unsigned blm_block_lacks(const uint64_t *block, unsigned probes,
				 const struct blm_hash *hash, uint64_t ret_mask[8]);
/* bits_set_words(), or a set's own */
typedef void blm_set_words(uint64_t *words, const uint64_t *masks, unsigned lacks, bool unshared);
typedef unsigned blm_split_lacks(const uint64_t *block, uint64_t lo,
				 uint64_t ret_mask[SPLIT_WORDS]);

/* ---- blocked ---- */

BLM_INLINED bool blocked_contains(const void *data, uint64_t blocks, unsigned probes,
				  const struct blm_hash *hash, blm_contains_block *contains)
{
	return contains(block_of(data, blocks, hash), probes, hash);
}

BLM_INLINED bool blocked_add(struct blm_part *part, uint64_t blocks, const struct blm_hash *hash,
			     blm_block_lacks *lacks_of)
{
	uint64_t *block = (uint64_t *)block_of(part->bytes, blocks, hash), mask[8];
	unsigned lacks = lacks_of(block, part->shape.probes, hash, mask);

	if (!lacks)
		return false;
	if (part->unshared)
		bits_set_block(block, mask, 8);
	else
		bits_set_words(block, mask, lacks, false);
	mark(part, block);
	return true;
}

/*
 * Sets the bits of a key that is not there, and whose probes are all in the first word of its hash.
 * One OR for each probe: which words of the block lack a bit differs from key to key, so a loop
 * over them ends where no processor expects it. It then begins the next key only when it has seen
 * this key's line, which takes longer than the ORs that are saved.
 */
BLM_INLINED void block_set_few(uint64_t *block, unsigned probes, const struct blm_hash *hash,
			       bool unshared)
{
	uint64_t word = unfold(hash->lo, hash->hi, 0);

	for (unsigned i = 0; i < probes; i++, word >>= PROBE_BITS)
		bits_set_unseen(&block[word / 64 % 8], UINT64_C(1) << word % 64, unshared);
}

/* Is a probe's bit that of an earlier probe? */
BLM_INLINED bool is_repeated(uint64_t word, unsigned probe)
{
	for (unsigned i = 0; i < probe; i++)
		if (((word >> i * PROBE_BITS ^ word >> probe * PROBE_BITS) & (BLOCK_BITS - 1)) == 0)
			return true;
	return false;
}

/*
 * bits_claim() for such a key, each bit for itself, in the order of the probes. Bit i of `lacks`
 * says that probe i was seen to lack its bit. No OR depends on that, so none waits for it.
 *
 * A caller that wins has completed the key: it changed the last bit that was missing. So it is the
 * only winner, even if others claim by bits_claim_words(). But then, because the orders differ,
 * there may be no winner.
 */
BLM_INLINED bool block_claim_few(uint64_t *block, unsigned probes, uint64_t word, unsigned lacks)
{
	unsigned changed = 0;
	uint64_t left = word;

	if (!lacks)
		return false;
	for (unsigned i = 0; i < probes; i++, left >>= PROBE_BITS)
		changed |= (unsigned)bits_set_one(&block[left / 64 % 8], left % 64, false) << i;
	for (; lacks; lacks ^= UINT32_C(1) << (31 - __builtin_clz(lacks))) {
		unsigned decider = 31 - (unsigned)__builtin_clz(lacks);

		if (__builtin_expect(changed >> decider & 1, true))
			return true;
		if (!is_repeated(word, decider))
			return false;
	}
	return false;
}

/* ... the last one? All probes are compared at once. */
BLM_INLINED bool is_last_repeated(uint64_t word, unsigned probes)
{
	const uint64_t lowest = UINT64_C(0x0040201008040201), earlier = (UINT64_C(1)
		<< (probes - 1) * PROBE_BITS) - 1;
	uint64_t ones = lowest & earlier, last = word >> (probes - 1) * PROBE_BITS
		& (BLOCK_BITS - 1), differs = (word ^ last * lowest) & earlier;

	/* a borrow comes only from a probe that is equal */
	return (differs - ones) & ~differs & ones << (PROBE_BITS - 1);
}

/*
 * Which probes lack their bits, as far as block_claim_by_last() has to know: if the last one does,
 * the others make no difference, unless one of them has the same bit.
 */
BLM_INLINED unsigned block_lacks_last(const uint64_t *block, unsigned probes, uint64_t word)
{
	uint64_t last = word >> (probes - 1) * PROBE_BITS;

	if (load_acquire(&block[last / 64 % 8]) >> last % 64 & 1 || is_last_repeated(word, probes))
		return block_lacks_probes(block, probes, word);
	return 1u << (probes - 1);
}

/*
 * block_claim_few() in a batch. The decider is the last probe that is seen to lack its bit. In a
 * filter that is not full, that is most often the last of all. Then no other OR has to say what it
 * changed, which takes less time. In a full one, no processor predicts it, so a call with one key
 * does without (in tests/bench: "claim new").
 */
BLM_INLINED bool block_claim_by_last(uint64_t *block, unsigned probes, uint64_t word,
				     unsigned lacks)
{
	uint64_t left = word;

	if (!(lacks >> (probes - 1)) || is_last_repeated(word, probes))
		return block_claim_few(block, probes, word, lacks);
	for (unsigned i = 0; i < probes - 1; i++, left >>= PROBE_BITS)
		bits_set_unseen(&block[left / 64 % 8], UINT64_C(1) << left % 64, false);
	return bits_set_one(&block[left / 64 % 8], left % 64, false);
}

/* ---- split-block ---- */

BLM_INLINED bool split_block_contains(const void *data, uint64_t blocks,
				      const struct blm_hash *hash, blm_contains_block *contains)
{
	return contains(split_of(data, blocks, hash), SPLIT_LANES, hash);
}

BLM_INLINED bool split_block_add(struct blm_part *part, uint64_t blocks,
				 const struct blm_hash *hash, blm_split_lacks *lacks_of,
				 blm_set_words *set)
{
	uint64_t *block = (uint64_t *)split_of(part->bytes, blocks, hash), mask[SPLIT_WORDS];
	unsigned lacks = lacks_of(block, hash->lo, mask);

	if (!lacks)
		return false;
	if (part->unshared)
		bits_set_block(block, mask, SPLIT_WORDS);
	else
		set(block, mask, lacks, false);
	mark(part, block);
	return true;
}

/* ---- classic, by our own rule ---- */

BLM_INLINED bool classic_contains(const void *data, uint64_t cells, unsigned probes,
				  const struct blm_hash *hash)
{
	const uint64_t *words = data;

	for (unsigned i = 0; i < probes; i++) {
		uint64_t cell = scale(unfold(hash->lo, hash->hi, i), cells);

		if (!(load_relaxed(&words[cell / 64]) >> cell % 64 & 1))
			return false;
	}
	return true;
}

BLM_INLINED bool classic_add_cell(struct blm_part *part, uint64_t cell)
{
	uint64_t *word = (uint64_t *)part->bytes + cell / 64;

	if (!bits_set(word, UINT64_C(1) << cell % 64, part->unshared))
		return false;
	mark(part, word);
	return true;
}

BLM_INLINED bool classic_add(struct blm_part *part, const struct blm_hash *hash)
{
	bool changed = false;

	for (unsigned i = 0; i < part->shape.probes; i++)
		changed |= classic_add_cell(part, scale(unfold(hash->lo, hash->hi, i),
							part->shape.cells));
	return changed;
}

#endif
