/*
 * ribbon.c - the smallest filter of a fixed set of keys: each key is a linear equation over the
 * slots, and all equations are solved
 *
 * P. C. Dillinger and S. Walzer, "Ribbon filter: practically smaller than Bloom and Xor", 2021; P.
 * C. Dillinger, L. Huebschle-Schneider, P. Sanders and S. Walzer, "Fast Succinct Retrieval and
 * Approximate Membership Using Ribbon", SEA 2022: with bumping, in buckets with thresholds,
 * interleaved. Digits, which give every rate its fair price, are ours (ribbon.h).
 */
#include "kind/common/prefetch.h"
#include "kind/ribbon.h"
#include "kind/common/sizing.h"

/* ---- Sizes ---- */

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .probes = RIBBON_WIDTH, .cell_bits = 1, .capacity = params->capacity,
			       .rate = params->rate };

	if (params->cells || params->probes)
		return blm_fail(-EINVAL, "a ribbon filter is sized by its keys and its rate; leave "
				"out blm_params.cells and blm_params.probes");
	if (!s.rate)
		s.rate = BLM_DEFAULT_RATE;
	if (s.rate < 0x1p-32)
		return blm_fail(-EFBIG, "a ribbon filter has a rate of at least 2^-32, above the "
				"rate %g", s.rate);
	s.bytes = blm_ribbon_bytes(&s);
	s.cells = s.bytes * 8;
	if (!blm_shards_valid(&s))
		return blm_fail(-EFBIG, "a ribbon filter for %llu keys is larger than 2^48 bytes",
				(unsigned long long)s.capacity);
	*ret = s;
	return 0;
}

static bool valid(const struct blm_shape *s)
{
	return s->probes == RIBBON_WIDTH && s->cell_bits == 1 && blm_shards_valid(s)
		&& s->cells == s->bytes * 8;
}

static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	return keys ? blm_ribbon_rate(s) : 0;
}

/*
 * ---- Questions: the bytes are anyone's, so each number is checked before it leads anywhere ----
 */

/* The place of a key's value, and the expected value. */
struct place {
	const uint64_t *words;		/* of the section */
	uint64_t slots, start;		/* of it, in it */
	struct ribbon_code code;
	unsigned __int128 coefficients;
	uint64_t value;
};

/* A shard, by numbers that were copied and checked: what all its keys begin with. */
struct opened {
	struct blm_shard shard;
	uint64_t count;			/* of its words */
	struct ribbon ribbon;
	struct ribbon_layer first;
	uint32_t seed;
};

/* False: it has no keys, or is damaged. */
static inline bool open_shard(const struct blm_part *part, uint64_t number, struct opened *ret)
{
	uint32_t keys;

	if (!shard_at(part, number, &ret->shard))
		return false;
	ret->count = ret->shard.bytes / 8;
	ret->seed = (uint32_t)(ret->shard.own[0] >> 32);
	ret->ribbon.share = (uint32_t)ret->shard.own[1];
	ret->ribbon.codes = (uint32_t)(ret->shard.own[1] >> 32);
	keys = (uint32_t)ret->shard.own[0];
	if (!keys || !ribbon_code_valid(ribbon_code(&ret->ribbon, 0))
	    || !ribbon_code_valid(ribbon_code(&ret->ribbon, 1)))
		return false;
	ribbon_first(&ret->ribbon, keys, &ret->first);
	return true;
}

static inline bool is_bumped(const struct opened *o, const struct ribbon_layer *l, uint64_t start)
{
	uint64_t bucket = start / RIBBON_BUCKET, byte = bucket / RIBBON_THRESHOLDS_A_BYTE,
		word = l->at + byte / 8, five;
	unsigned number = bucket % RIBBON_THRESHOLDS_A_BYTE;

	if (l->last || word >= o->count)
		return false;
	five = load_relaxed(&o->shard.words[word]) >> byte % 8 * 8 & 0xff;
	return start % RIBBON_BUCKET < blm_ribbon_thresholds[blm_ribbon_sums_of_trits[five << 5 | 1U
		<< number]];
}

static inline bool place_in(const struct opened *o, const struct ribbon_layer *l, uint64_t start,
			    const struct blm_hash *hash, struct place *ret)
{
	bool second = start >= l->slots[0];
	uint64_t section = ribbon_section_at(&o->ribbon, l, second);

	ret->words = o->shard.words + section;
	ret->slots = l->slots[second];
	ret->start = start - (second ? l->slots[0] : 0);
	ret->code = ribbon_code(&o->ribbon, second);
	ret->coefficients = ribbon_coefficients(hash, o->seed);
	ret->value = ribbon_value(hash, o->seed);
	return section <= o->count && ribbon_section_words(ret->slots, ret->code) <= o->count
		- section;
}

static bool find_bumped(const struct opened *o, const struct blm_hash *hash, struct place *ret)
{
	struct ribbon_layer l = o->first;
	uint64_t start;

	do {
		ribbon_next(&o->ribbon, &l);
		start = ribbon_start(&l, hash, o->seed, 0);
	} while (is_bumped(o, &l, start));
	return place_in(o, &l, start, hash, ret);
}

/* False: that leads out of the shard, which is damaged. */
static inline bool find(const struct opened *o, const struct blm_hash *hash, uint64_t rest,
			struct place *ret)
{
	uint64_t start = ribbon_start(&o->first, hash, o->seed, rest);

	return is_bumped(o, &o->first, start) ? find_bumped(o, hash, ret)
		: place_in(o, &o->first, start, hash, ret);
}

static inline bool find_one(const struct blm_part *part, const struct blm_hash *hash,
			    struct place *ret)
{
	uint64_t rest, number = shard_number(&part->shape, hash, &rest);
	struct opened o;

	return open_shard(part, number, &o) && find(&o, hash, rest, ret);
}

/*
 * A block of 64 slots has one word for each bit; a value is made of the end of one block, the next
 * one, and the beginning of a third.
 */
struct window {
	const uint64_t *first, *second, *third;
	uint64_t of_first, of_second, of_third, value;
};

static inline unsigned differs(const struct window *w, unsigned bit)
{
	uint64_t looked_at = (load_relaxed(&w->first[bit])
			      & w->of_first) ^ (load_relaxed(&w->second[bit]) & w->of_second)
			   ^ (load_relaxed(&w->third[bit]) & w->of_third);

	return ((unsigned)__builtin_parityll(looked_at) ^ (unsigned)(w->value >> bit)) & 1;
}

/* Without a third block of_third is 0, and the second block is read again. */
static inline struct window window_of(const struct place *p)
{
	unsigned shift = p->start % 64, bits = p->code.bits;
	uint64_t low = (uint64_t)p->coefficients, high = (uint64_t)(p->coefficients >> 64);
	const uint64_t *first = p->words + p->start / 64 * bits;

	if (!shift)
		return (struct window){ first, first + bits, first + bits, low, high, 0, p->value };
	return (struct window){ first, first + bits, first + 2 * bits, low << shift, high << shift
				| low >> (64 - shift), high >> (64 - shift), p->value };
}

/* Four are looked at together: to stop before costs more than it saves. */
static bool bits_match(const struct place *p)
{
	const struct window w = window_of(p);
	unsigned bits = p->code.bits, j = 0;

	for (; j + 4 <= bits; j += 4)
		if (differs(&w, j) | differs(&w, j + 1) | differs(&w, j + 2) | differs(&w, j + 3))
			return false;
	for (; j < bits; j++)
		if (differs(&w, j))
			return false;
	return true;
}

static inline const uint64_t *digit_words(const struct place *p)
{
	return p->words + p->slots / 64 * p->code.bits;
}

static bool digit_matches(const struct place *p)
{
	return blm_ribbon_digit_sum(ribbon_packing(p->code.values), digit_words(p), p->start,
				    p->coefficients) == scale(p->value, p->code.values);
}

static bool holds(const struct place *p)
{
	return bits_match(p) && (!p->code.values || digit_matches(p));
}

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	struct place p;

	return find_one(part, &key->hash, &p) && holds(&p);
}

static void ask_for_words(const uint64_t *first, uint64_t count)
{
	const char *at = (const char *)first, *end = (const char *)(first + count);

	for (; at < end; at += 64)
		blm_fetch(at);
	blm_fetch(end - 1);
}

/* The bits of three blocks; and the digits, which only keys need that the bits let through. */
static void ask_for(const struct place *p)
{
	if (p->code.bits)
		ask_for_words(p->words + p->start / 64 * p->code.bits, 3 * p->code.bits);
	if (p->code.values)
		ask_for_words(digit_words(p) + ribbon_digit_word(p->code.values, p->start), 7);
}

static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	struct place p;

	if (find_one(part, &key->hash, &p))
		ask_for(&p);
}

/* The first and the last word of bits, and of digits. */
static const uint64_t *probe(const struct blm_part *part, const struct blm_hashed *key, unsigned i,
			     uint64_t *ret_mask)
{
	const uint64_t *places[4], *low;
	unsigned count = 0;
	struct place p;

	*ret_mask = 0;
	if (!find_one(part, &key->hash, &p))
		return NULL;
	low = p.words + p.start / 64 * p.code.bits;
	if (p.code.bits) {
		places[count++] = low;
		places[count++] = low + (p.start % 64 ? 3 : 2) * p.code.bits - 1;
	}
	if (p.code.values) {
		places[count++] = digit_words(&p) + ribbon_digit_word(p.code.values, p.start);
		places[count++] = digit_words(&p)
			+ ribbon_digit_word(p.code.values, p.start + RIBBON_WIDTH - 1);
	}
	return i < count ? places[i] : NULL;
}

/* A key in preparation: found some keys before its turn, so that its memory arrives in time. */
enum { AHEAD = 32 };

static void contains_many(const struct blm_part *part, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	uint64_t rest, number, last = UINT64_MAX;
	struct place place[AHEAD];
	bool there[AHEAD] = { false }, good = false;
	struct opened o;

	memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
	for (size_t i = 0; i < batch->count + AHEAD; i++) {
		size_t at = i % AHEAD;

		if (there[at])
			ret_bits[(i - AHEAD) / 64] |= (uint64_t)holds(&place[at])
				<< (i - AHEAD) % 64;
		there[at] = false;
		if (i >= batch->count)
			continue;
		number = shard_number(&part->shape, &batch->hashes[i], &rest);
		if (number != last)	/* small filters have but one */
			good = open_shard(part, last = number, &o);
		there[at] = good && find(&o, &batch->hashes[i], rest, &place[at]);
		if (there[at])
			ask_for(&place[at]);
	}
}

const struct blm_kind blm_kind_ribbon = {
	.id = 17,
	.name = "ribbon",
	.protocol = BLM_ATOMIC_WORDS,
	.summary = "linear equations, solved: for a million keys a hundredth more than the least "
	"space that there can be; made from all keys at once",
	.caveat = "made once from all its keys; none can be added or taken out",
	.plan = plan, .valid = valid, .contains = contains, .rate_at = rate_at,
	.fit = blm_ribbon_fit, .build = blm_ribbon_build,
	.splits = true, .build_within = blm_ribbon_build_within,
	.prefetch = prefetch, .probe = probe, .contains_many = contains_many,
};
