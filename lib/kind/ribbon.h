/*
 * ribbon.h - the layout of a ribbon (format-spec.md, "Kind 17: ribbon"), for questions and for
 * building
 *
 * A shard (shards.h) is a sequence of layers: a key that found no place in a layer is bumped to the
 * next one, and the last has room for all that come there. A layer is a row of slots; a key starts
 * at one of them, and the sum of the slots from there, where the key's 128 coefficients are 1, is
 * the key's value. What layers there are follows from the number of keys, so the file need not say
 * it.
 *
 * A slot holds some bits and maybe a digit, a number of 0..2 or of 0..4. Whole bits alone have
 * rates of 1/2, 1/4, 1/8 ... and all between them would cost up to 0.086 bits a key more than need
 * be. With 1/3, 1/6, 1/12 ... it is at most 0.03, and 0.01 with 1/5, 1/10 and 1/20 as well, where
 * keys take so few bits that it is more than a hundredth of them.
 */
#ifndef BLM_KIND_RIBBON_H
#define BLM_KIND_RIBBON_H

#include "kind/ribbon_pack.h"
#include "kind/common/shards.h"

enum {
	RIBBON_WIDTH = 128,		/* slots that a key's value depends on */
	RIBBON_BUCKET = 512,		/* slots with one threshold */
	RIBBON_BLOCK_KEYS = 66,		/* keys of a layer for which it has 64 slots */
	RIBBON_FEW = 3072,		/* up to this number keys have one layer only, the last */
	/*
	 * the least buckets of a layer with two sections: each section has an end, where slots stay
	 * empty
	 */
	RIBBON_DIVIDED = 32,
	RIBBON_BITS_MAX = 32,
};

/* The contents of a slot. */
struct ribbon_code {
	unsigned bits;			/* 0 to 32 */
	unsigned values;		/* of its digit: 3 or 5; 0: it has no digit */
};

/* How the layers of a shard are divided, as its entry says. */
struct ribbon {
	/* of a layer, in 2^-32: this share has the first code, the rest the second */
	uint32_t share;
	/* each in 16 bits: its bits, and above them the values of its digit */
	uint32_t codes;
};

static inline struct ribbon_code ribbon_code(const struct ribbon *r, unsigned i)
{
	uint32_t code = r->codes >> 16 * i;

	return (struct ribbon_code){ code & 0xff, code >> 8 & 0xff };
}

static inline bool ribbon_code_valid(struct ribbon_code code)
{
	return code.bits <= RIBBON_BITS_MAX
		&& (code.values == 0 || code.values == 3 || code.values == 5);
}

/*
 * A layer has two sections of slots, by their code; no key has slots of both. The first can be
 * empty.
 */
struct ribbon_layer {
	uint64_t keys;			/* that it is laid out for: about as many come */
	uint64_t at;			/* the word of the shard where it begins */
	uint64_t slots[2];
	unsigned number;		/* from 0 */
	bool last;			/* its keys are never bumped: it has no thresholds */
};

static inline uint64_t ribbon_slots(const struct ribbon_layer *l)
{
	return l->slots[0] + l->slots[1];
}

enum { RIBBON_THRESHOLDS = 3, RIBBON_THRESHOLDS_A_BYTE = 5 };

static inline uint64_t ribbon_threshold_words(const struct ribbon_layer *l)
{
	/* the last can have fewer slots */
	uint64_t buckets = (ribbon_slots(l) + RIBBON_BUCKET - 1) / RIBBON_BUCKET;

	return l->last ? 0 : (buckets + 8 * RIBBON_THRESHOLDS_A_BYTE - 1)
		/ (8 * RIBBON_THRESHOLDS_A_BYTE);
}

static inline uint64_t ribbon_section_words(uint64_t slots, struct ribbon_code code)
{
	return slots / 64 * code.bits + (code.values ? ribbon_digit_words(slots, code.values) : 0);
}

/* Where the slots of section i begin. */
static inline uint64_t ribbon_section_at(const struct ribbon *r, const struct ribbon_layer *l,
					 unsigned i)
{
	return l->at + ribbon_threshold_words(l)
		+ (i ? ribbon_section_words(l->slots[0], ribbon_code(r, 0)) : 0);
}

static inline uint64_t ribbon_layer_end(const struct ribbon *r, const struct ribbon_layer *l)
{
	return ribbon_section_at(r, l, 1) + ribbon_section_words(l->slots[1], ribbon_code(r, 1));
}

/* The most sections that a layer of `slots` slots can have. */
static inline unsigned ribbon_sections(uint64_t slots)
{
	return slots / RIBBON_BUCKET < RIBBON_DIVIDED ? 1 : 2;
}

/*
 * A layer that bumps has 64 slots for 66 keys: more keys than slots, so that hardly a slot stays
 * empty, but no bucket of a few has so many that its threshold could not say which are bumped. The
 * last has more slots than keys, so that its equations can nearly always be solved; where not, the
 * shard is built again with other coefficients.
 */
static inline void ribbon_lay_out(const struct ribbon *r, struct ribbon_layer *l)
{
	uint64_t slots = l->keys / RIBBON_BLOCK_KEYS * 64;

	l->last = l->keys <= RIBBON_FEW;
	if (l->last) {
		l->slots[0] = 0;
		l->slots[1] = l->keys ? round_up(l->keys + l->keys / 16 + RIBBON_WIDTH / 2, 64) : 0;
		return;
	}
	l->slots[0] = ribbon_sections(slots) == 1 ? 0
		: ((slots / RIBBON_BUCKET - 1) * r->share >> 32) * RIBBON_BUCKET;
	l->slots[1] = slots - l->slots[0];
}

static inline void ribbon_first(const struct ribbon *r, uint64_t keys, struct ribbon_layer *ret)
{
	ret->keys = keys;
	ret->at = 0;
	ret->number = 0;
	ribbon_lay_out(r, ret);
}

/*
 * For the keys that are more than its slots, and for the slots that stay empty: one of 8192, and
 * some at the end of each section.
 */
static inline void ribbon_next(const struct ribbon *r, struct ribbon_layer *l)
{
	uint64_t slots = ribbon_slots(l);

	l->at = ribbon_layer_end(r, l);
	l->keys = l->keys - slots + slots / 8192 + 64 * (ribbon_sections(slots) + 1);
	l->number++;
	ribbon_lay_out(r, l);
}

/* The words of a shard of `keys` keys. */
static inline uint64_t ribbon_shard_words(const struct ribbon *r, uint64_t keys)
{
	struct ribbon_layer l;

	ribbon_first(r, keys, &l);
	while (!l.last)
		ribbon_next(r, &l);
	return ribbon_layer_end(r, &l);
}

/* ---- A key in a shard ---- */

static inline uint64_t ribbon_word(const struct blm_hash *hash, uint32_t seed, unsigned i)
{
	return unfold(hash->lo, hash->hi, ((uint64_t)seed << 4) + i);
}

/* Bit i is for the slot i behind its start. */
static inline unsigned __int128 ribbon_coefficients(const struct blm_hash *hash, uint32_t seed)
{
	return (unsigned __int128)ribbon_word(hash, seed, 1) << 64 | ribbon_word(hash, seed, 0) | 1;
}

/*
 * The low bits are those of the value; the rest, scaled to the number of the digit's values, is its
 * digit.
 */
static inline uint64_t ribbon_value(const struct blm_hash *hash, uint32_t seed)
{
	return ribbon_word(hash, seed, 2);
}

/*
 * In the first layer, and unless that failed with the seed 0, keys start in the order of their
 * hashes, which is the order of the input.
 */
static inline bool ribbon_in_order(const struct ribbon_layer *l, uint32_t seed)
{
	return l->number == 0 && seed == 0;
}

/*
 * The slot where a key starts; rest: of shard_number(). The last 127 slots of a section are no
 * starts.
 */
static inline uint64_t ribbon_start(const struct ribbon_layer *l, const struct blm_hash *hash,
				    uint32_t seed, uint64_t rest)
{
	uint64_t first = l->slots[0] ? l->slots[0] - RIBBON_WIDTH + 1
		: 0, second = l->slots[1] - RIBBON_WIDTH + 1;
	uint64_t i = scale(ribbon_in_order(l, seed) ? rest : ribbon_word(hash, seed, 3 + l->number),
			   first + second);

	return i < first ? i : i - first + l->slots[0];
}

/* The keys that start before this slot of a bucket are in the next layer. */
extern const uint8_t blm_ribbon_thresholds[RIBBON_THRESHOLDS];

/* ribbon_rates.c */
struct ribbon blm_ribbon_for(const struct blm_shape *shape, uint64_t keys);	/* of a shard */
/* that results: the rate asked for, or less if keys are few and codes cannot be mixed */
double blm_ribbon_rate(const struct blm_shape *shape);

/* ribbon.c */
extern const struct blm_kind blm_kind_ribbon;

/* ribbon_build.c */
int blm_ribbon_fit(struct blm_shape *shape, const struct blm_sorted *keys);
/*
 * A value that comes with a key is XORed with the key's value in the ribbon. So a key that comes
 * with 1 is answered with no, if all codes have a bit.
 */
int blm_ribbon_build(struct blm_part *part, const struct blm_sorted *keys);
int blm_ribbon_build_within(struct blm_part *part, const struct blm_sorted *keys, uint64_t from,
			    uint64_t to);
/* on paper, before the keys are known */
uint64_t blm_ribbon_bytes(const struct blm_shape *shape);

#endif
