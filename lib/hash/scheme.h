/*
 * scheme.h - how the cells of a key are made of its hash, where that is not our own way
 *
 * A scheme is all that decides which bits of a classic filter a key has: the family with its seeds
 * or tweak, the rule, m, k, and the order of bits. A rule makes a key's cells one after the other,
 * each from the state that the one before left, since so the old programs do it:
 *
 *	struct blm_probe_seq seq;
 *
 *	blm_probes_begin(&seq, key, cells, probes);
 *	for (unsigned i = 0; i < probes; i++)
 *		... blm_probes_next(&seq) ...
 *
 * Rules are one table, in schemes.c. Only kinds with `every_scheme` walk; all others refuse a
 * template that has a rule.
 */
#ifndef BLM_HASH_SCHEME_H
#define BLM_HASH_SCHEME_H

#include "hash/hasher.h"

struct blm_probe_seq {
	const struct blm_hashed *key;
	const struct blm_scheme *scheme;
	uint64_t cells, order_xor;
	unsigned probes, at;
	uint64_t a, b, c, d;		/* the rule's own, as all below */
	uint8_t digest[BLM_DIGEST_MAX];
};

struct blm_scheme {
	uint32_t id;			/* in the file; never reused */
	const char *name, *summary;
	/* what one must know before relying on it, in one line; NULL: nothing */
	const char *caveat;
	unsigned bits;			/* a family must have as many; 0: any that has a digest */
	/*
	 * bits of the digest that go into one cell, which limits the number of probes; 0: it takes
	 * none
	 */
	unsigned slice;
	bool by_key;			/* works from the key itself: `hash` is undefined */
	/* each probe has a range of its own, so m is a multiple of k */
	bool ranges;
	/* the same, but for any m and k, so that the parts of a filter can have theirs */
	bool stages;
	const char *(*need)(void);	/* before the first key, as a family's; NULL: nothing */
	void (*begin)(struct blm_probe_seq *seq);		/* NULL: nothing to do */
	/* the cell of probe i is (h1 + i h2) mod 2^64 mod m: a loop can make it without next() */
	bool doubles;
	/* the cell of probe seq->at, below seq->cells */
	uint64_t (*next)(struct blm_probe_seq *seq);
};

extern const struct blm_scheme blm_scheme_own;	/* id 0: the family's own `nth`, or ours */

const struct blm_scheme *blm_scheme_by_name(const char *name);
const struct blm_scheme *blm_scheme_by_id(uint32_t id);
/* NULL past the last; the own one is not among them */
const struct blm_scheme *blm_scheme_at(size_t i);

/*
 * m of a filter that is made for the rule: where each probe has a range of its own, a multiple of
 * k.
 */
static inline uint64_t blm_scheme_cells(const struct blm_scheme *scheme, uint64_t cells,
					uint32_t probes)
{
	return scheme->ranges || scheme->stages ? round_up(cells, probes) : cells;
}

/* Why a family cannot be used by a rule for these cells and probes, in words; NULL: it can. */
const char *blm_scheme_misfit(const struct blm_scheme *scheme, const struct blm_family *family,
			      uint64_t cells, uint32_t probes);

/*
 * ---- Orders of bits ----
 * The place of a foreign filter's bits in its bytes, as the difference of their number from ours
 * (bit j is bit j % 8 of byte j / 8).
 */
enum blm_order {
	BLM_ORDER_OURS = 0,
	BLM_ORDER_HIGH_FIRST = 1,	/* bit j is bit 7 - j % 8 of byte j / 8 */
	BLM_ORDER_BIG_WORDS = 2,	/* bit j is bit j % 64 of the big-endian word j / 64 */
	/* bit j is bit j of one big-endian number of m bits, a power of 2 from 8 on */
	BLM_ORDER_BACKWARDS = 3,
	BLM_ORDERS
};

const char *blm_order_name(uint32_t order);	/* NULL: there is none */

/* Is there such an order for `cells` cells? If so, the bits in which numbers differ. */
bool blm_order_xor(uint32_t order, uint64_t cells, uint64_t *ret);

/* Set scheme and order_xor of a hasher by the template's numbers, which were checked. */
void blm_hasher_use_scheme(struct blm_hasher *by, const struct blm_scheme *scheme,
			   uint64_t order_xor);

/* Must keys be at hand for each question? Else their hashes are enough. */
static inline bool wants_keys(const struct blm_hasher *by)
{
	return by->family->nth || (by->scheme && by->scheme->by_key);
}

static inline void blm_probes_begin(struct blm_probe_seq *seq, const struct blm_hashed *key,
				  uint64_t cells, unsigned probes)
{
	seq->key = key;
	seq->scheme = key->by->scheme;
	seq->cells = cells;
	seq->order_xor = key->by->order_xor;
	seq->probes = probes;
	seq->at = 0;
	if (seq->scheme->begin)
		seq->scheme->begin(seq);
}

static inline uint64_t blm_probes_next(struct blm_probe_seq *seq)
{
	uint64_t cell = seq->scheme->next(seq);

	seq->at++;
	return cell ^ seq->order_xor;
}

#endif
