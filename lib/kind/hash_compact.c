/*
 * hash_compact.c - a table of signatures: a few bits of each key's hash, at the place in an
 * open-addressing table that others say
 *
 * U. Stern and D. L. Dill, "Improved Probabilistic Verification by Hash Compaction", CHARME 1995;
 * here with linear probing. At 16 and more bits a key it is wrong less often than Bloom's filter of
 * the same size; in return it can be full.
 *
 * A cell is 0, or the signature of a key, and never changes again. A key is in the first cell
 * from its home on that was free when it came. So an adder walks from the home until it finds the
 * signature or a free cell, and takes that by compare-and-swap of its word. All adders of one key
 * walk the same way, and one takes the cell. A process killed at any
 * instant has taken it or not; and any state on the way to another is a table of its own, with some
 * of the keys.
 */
#include "kind/kind.h"
#include "kind/common/swar.h"
#include "kind/common/sizing.h"

#include <math.h>
#include <stdio.h>

enum { SIGNATURE_BITS, LOAD };

/*
 * The maximum distance of a key from its home: more than any key has below a load of 0.95, in
 * tables of up to 10^10 cells.
 */
enum { FARTHEST = 1 << 15 };

static const struct blm_option options[] = {
	[SIGNATURE_BITS] = { "signature-bits", "8 to 64; 0: those that take the least space at "
			     "this rate", BLM_OPTION_COUNT, 0, 64, 0,
			     .by_rate = true },
	[LOAD] = { "load", "the share of cells that is taken at capacity, at most",
		   BLM_OPTION_SHARE, 0.05, 0.95, 0.9 },
	{ NULL }
};

static double share_of(uint64_t argument)
{
	double share;

	memcpy(&share, &argument, sizeof(share));
	return share;
}

/* ---- Sizes ---- */

/* A cell does not straddle two words, so a word has two cells of 24 bits, as of 32. */
static unsigned cells_a_word(unsigned bits)
{
	return 64 / bits;
}

static uint64_t words_of(uint64_t cells, unsigned bits)
{
	return (cells + cells_a_word(bits) - 1) / cells_a_word(bits);
}

static uint64_t bytes_of(uint64_t cells, unsigned bits)
{
	return round_up(words_of(cells, bits) * 8, 64);
}

static uint64_t farthest(const struct blm_shape *s)
{
	return s->cells < FARTHEST ? s->cells : FARTHEST;
}

static double likeness(unsigned bits)	/* that two signatures are equal */
{
	return 1 / (ldexp(1, (int)bits) - 1);
}

/*
 * At a load of a, a question about an absent key compares (1 / (1 - a)^2 - 1) / 2 signatures on
 * average in a large table, and fewer in a small one (Knuth, The Art of Computer Programming,
 * volume 3, 6.4, theorem K).
 */
static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	double load = (double)keys / (double)s->cells, most = (double)farthest(s), looked_at = most;

	if (load < 1)
		looked_at = fmin(most, (1 / ((1 - load) * (1 - load)) - 1) / 2);
	return -expm1(looked_at * log1p(-likeness(s->cell_bits)));
}

/* The other way round: the greatest load with this rate. */
static double load_for(double rate, unsigned bits)
{
	double looked_at = log1p(-rate) / log1p(-likeness(bits));

	return 1 - 1 / sqrt(1 + 2 * looked_at);
}

/* Cells of `bits` bits for these keys; 0: they need another number of bits. */
static uint64_t cells_for(const struct blm_shape *s, unsigned bits)
{
	double load = share_of(s->args[LOAD]), cells;

	if (s->rate)
		load = fmin(load, load_for(s->rate, bits));
	cells = ceil((double)s->capacity / load);
	if (!(cells / cells_a_word(bits) < (double)(BLM_CELLS_MAX / 64)))
		return 0;
	return (uint64_t)cells;
}

/* All that divide a word without more waste than the next one has. */
static void choose_size(struct blm_shape *s)
{
	static const unsigned widths[] = { 8, 9, 10, 12, 16, 21, 32, 64 };

	if (s->cell_bits) {
		s->cells = cells_for(s, s->cell_bits);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
		uint64_t cells = cells_for(s, widths[i]);

		if (!cells || (s->cells && words_of(cells, widths[i])
			       >= words_of(s->cells, s->cell_bits)))
			continue;
		s->cells = cells;
		s->cell_bits = widths[i];
	}
}

/* If the number of cells was given: the capacity, and the signatures that keep the rate. */
static void choose_bits(struct blm_shape *s)
{
	if (!s->capacity)
		s->capacity = (uint64_t)fmax(1, (double)s->cells * share_of(s->args[LOAD]));
	if (s->cell_bits)
		return;
	for (s->cell_bits = 8; s->cell_bits < 64 && rate_at(s, s->capacity) > s->rate;
	     s->cell_bits++)
		;
}

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .cells = params->cells, .probes = 1,
			       .cell_bits = (uint32_t)ret->args[SIGNATURE_BITS],
			       .capacity = params->capacity, .rate = params->rate };

	memcpy(s.args, ret->args, sizeof(s.args));
	if (params->probes > 1)
		return blm_fail(-EINVAL, "a hash-compact filter has one home for a key, not %u",
				params->probes);
	if (s.cell_bits && s.cell_bits < 8)
		return blm_fail(-EINVAL, "a signature has 8 to 64 bits, not %u", s.cell_bits);
	if (!s.rate && !s.cell_bits)
		s.rate = BLM_DEFAULT_RATE;
	if (s.cells)
		choose_bits(&s);
	else
		choose_size(&s);
	if (!s.cells || words_of(s.cells, s.cell_bits) > BLM_CELLS_MAX / 64)
		return blm_fail(-EFBIG, "a hash-compact filter for %llu keys cannot keep the rate "
				"%g within 2^47 bits", (unsigned long long)s.capacity, s.rate);
	if (s.cells < s.capacity)
		return blm_fail(-EINVAL, "a hash-compact filter of %llu cells has no room for %llu "
				"keys", (unsigned long long)s.cells,
				(unsigned long long)s.capacity);
	if (!s.rate)
		s.rate = rate_at(&s, s.capacity);
	s.args[SIGNATURE_BITS] = s.cell_bits;
	s.bytes = bytes_of(s.cells, s.cell_bits);
	*ret = s;
	return 0;
}

static bool valid(const struct blm_shape *s)
{
	return s->cell_bits >= 8 && s->cell_bits <= 64 && s->args[SIGNATURE_BITS] == s->cell_bits
	    && s->cells >= 1 && s->cells <= BLM_CELLS_MAX
	    && words_of(s->cells, s->cell_bits) <= BLM_CELLS_MAX / 64
	    && s->bytes == bytes_of(s->cells, s->cell_bits) && s->probes == 1;
}

static unsigned padding_bits(const struct blm_shape *s)
{
	uint64_t words = words_of(s->cells, s->cell_bits),
		last = s->cells - (words - 1) * cells_a_word(s->cell_bits);

	return (unsigned)(s->bytes * 8 - (words - 1) * 64 - last * s->cell_bits);
}

/* ---- Walking ---- */

/*
 * From a key's home on, until the key or a free cell is found, or the maximum distance is reached.
 */
struct walk {
	uint64_t *word;
	unsigned shift;			/* of the cell in its word */
	uint64_t signature, mask;
	uint64_t *first, *last;		/* words of the table */
	unsigned last_shift;		/* of the last cell of the last word */
	unsigned bits, end;		/* of a cell, of the last cell in a full word */
	uint64_t left;			/* cells that may be looked at */
};

static uint64_t home_of(const struct blm_part *part, const struct blm_hash *hash)
{
	return scale(hash->hi, part->shape.cells);
}

static uint64_t *word_of(const struct blm_part *part, uint64_t cell)
{
	return (uint64_t *)part->bytes + cell / cells_a_word(part->shape.cell_bits);
}

static struct walk walk_from_home(const struct blm_part *part, const struct blm_hash *hash)
{
	const struct blm_shape *s = &part->shape;
	unsigned each = cells_a_word(s->cell_bits);
	uint64_t home = home_of(part, hash), mask = UINT64_MAX >> (64 - s->cell_bits);

	return (struct walk){
		.word = word_of(part, home), .shift = (unsigned)(home % each) * s->cell_bits,
		.signature = 1 + scale(hash->lo, mask), .mask = mask,
		.first = (uint64_t *)part->bytes, .last = word_of(part, s->cells - 1),
		.last_shift = (unsigned)((s->cells - 1) % each) * s->cell_bits,
		.bits = s->cell_bits, .end = (each - 1) * s->cell_bits, .left = farthest(s),
	};
}

static void next_cell(struct walk *w)
{
	w->left--;
	if (w->word == w->last && w->shift == w->last_shift) {
		w->word = w->first;
		w->shift = 0;
	} else if (w->shift == w->end) {
		w->word++;
		w->shift = 0;
	} else {
		w->shift += w->bits;
	}
}

/* Cell by cell; the same as contains() below. */
static bool walk_to(const struct blm_part *part, const struct blm_hash *hash)
{
	struct walk w = walk_from_home(part, hash);

	for (; w.left; next_cell(&w)) {
		uint64_t cell = load_acquire(w.word) >> w.shift & w.mask;

		if (cell == w.signature || !cell)
			return cell;
	}
	return false;
}

/*
 * If the word has not changed since it was read it gets the signature; otherwise *seen is its
 * current value.
 */
static bool take_cell(const struct walk *w, uint64_t *seen, bool unshared)
{
	uint64_t old = htole64(*seen), new = htole64(*seen | w->signature << w->shift);
	bool taken = true;

	if (unshared)
		*w->word = new;
	else
		taken = __atomic_compare_exchange_n(w->word, &old, new, false, __ATOMIC_ACQ_REL,
						    __ATOMIC_ACQUIRE);
	*seen = le64toh(old);
	return taken;
}

/* One of all adders of a key takes its cell, so a claim is the same. */
static int add(struct blm_part *part, const struct blm_hashed *key)
{
	struct walk w = walk_from_home(part, &key->hash);

	for (; w.left; next_cell(&w)) {
		uint64_t word = load_acquire(w.word), cell;

		while (!(cell = word >> w.shift & w.mask))
			if (take_cell(&w, &word, part->unshared)) {
				mark(part, w.word);
				return 1;
			}
		if (cell == w.signature)
			return 0;
	}
	return blm_fail(-EXFULL, "the table of %llu cells is full; no key that is in it is lost",
			(unsigned long long)part->shape.cells);
}

/* ---- Questions, which look at all cells of a word at once ---- */

enum { ROUNDS = 16 };		/* words that are looked at so: hardly a walk is longer */

struct reader {
	const uint64_t *words;
	uint64_t cells, mask, last;	/* the number of the last word */
	uint64_t inverse;		/* of the cells of a word */
	unsigned bits, each;
	struct blm_lanes lanes;
};

static struct reader reader_of(const struct blm_part *part)
{
	uint64_t cells = part->shape.cells;
	unsigned bits = part->shape.cell_bits, each = cells_a_word(bits);

	return (struct reader){ (const uint64_t *)part->bytes, cells, UINT64_MAX >> (64 - bits),
				words_of(cells, bits) - 1,
				lanes_inverse(each), bits, each, lanes_of(each, bits) };
}

/*
 * The state of a key's walk: its word, and the first of its lanes. And its signature, in every
 * lane.
 */
struct place {
	uint64_t word, from, signature;
};

static struct place home_in(const struct reader *r, const struct blm_hash *hash)
{
	uint64_t home = scale(hash->hi, r->cells), word = lanes_divide(home, r->inverse);

	return (struct place){ word, UINT64_MAX << (home - word * r->each) * r->bits,
			       (1 + scale(hash->lo, r->mask)) * r->lanes.low };
}

/*
 * Look at the cells of a word all at once, and go on to the next. Does the walk end here? Then *ret
 * says how.
 */
static bool step(const struct reader *r, struct place *at, bool *ret)
{
	uint64_t word = load_acquire(r->words + at->word),
		same = lanes_zero(word ^ at->signature, r->lanes);
	uint64_t end = (same | lanes_zero(word, r->lanes)) & at->from;

	at->word++;
	at->from = UINT64_MAX;
	*ret = same & end & -end;	/* the first of them */
	return end;
}

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	const struct reader r = reader_of(part);
	struct place at = home_in(&r, &key->hash);
	bool found;

	for (int round = 0; round < ROUNDS && at.word < r.last; round++)
		if (step(&r, &at, &found))
			return found;
	return walk_to(part, &key->hash);
}

/*
 * In rounds, a word each; no branch depends on its contents. A key that reaches the last word,
 * which is followed by the first, or walks farther than nearly all others, walks by itself.
 */
static void contains_many(const struct blm_part *part, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	const struct reader r = reader_of(part);
	struct place place[BLM_BATCH];
	uint16_t left[BLM_BATCH];
	size_t count = batch->count;

	memset(ret_bits, 0, (count + 63) / 64 * sizeof(*ret_bits));
	for (size_t i = 0; i < count || i < batch->next_count; i++) {
		if (i < batch->next_count)
			__builtin_prefetch(r.words + lanes_divide(scale(batch->next[i].hi, r.cells),
				r.inverse), 0, 2);
		if (i < count) {
			place[i] = home_in(&r, &batch->hashes[i]);
			left[i] = (uint16_t)i;
		}
	}
	for (int round = 0; round < ROUNDS && count; round++) {
		size_t kept = 0;

		for (size_t i = 0; i < count; i++) {
			unsigned key = left[i];
			bool found = false, end = false;

			if (__builtin_expect(place[key].word < r.last, true))
				end = step(&r, &place[key], &found);
			ret_bits[key / 64] |= (uint64_t)found << key % 64;
			left[kept] = (uint16_t)key;
			kept += !end;
		}
		count = kept;
	}
	for (size_t i = 0; i < count; i++)
		ret_bits[left[i] / 64] |= (uint64_t)walk_to(part, &batch->hashes[left[i]])
			<< left[i] % 64;
}

static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	__builtin_prefetch(word_of(part, home_of(part, &key->hash)), 0, 2);
}

static const uint64_t *probe(const struct blm_part *part, const struct blm_hashed *key, unsigned i,
			     uint64_t *ret_mask)
{
	*ret_mask = 0;
	return i == 0 ? word_of(part, home_of(part, &key->hash)) : NULL;
}

/* ---- Facts ---- */

/* The share of cells that are taken. Keys are anywhere, so the first 16 MiB are a sample of all. */
static double load_now(const struct blm_part *part)
{
	unsigned bits = part->shape.cell_bits, each = cells_a_word(bits);
	uint64_t words = words_of(part->shape.cells, bits), some = words < 2 << 20 ? words
		: 2 << 20, taken = 0;

	for (uint64_t i = 0; i < some; i++) {
		uint64_t word = load_relaxed((const uint64_t *)part->bytes + i);

		for (unsigned j = 0; j < each; j++)
			taken += (word >> j * bits & UINT64_MAX >> (64 - bits)) != 0;
	}
	return (double)taken / fmin((double)(some * each), (double)part->shape.cells);
}

static bool describe(const struct blm_part *part, unsigned i, struct blm_fact *ret)
{
	double load = i < 2 ? load_now(part) : 0;

	if (i == 0) {
		*ret = (struct blm_fact){ .name = "load", .value = load };
		snprintf(ret->text, sizeof(ret->text),
			 "%.4g of the cells are taken; full, it refuses keys", load);
	} else if (i == 1) {
		*ret = (struct blm_fact){ .name = "rate now", .value = rate_at(&part->shape,
			(uint64_t)llround(load * (double)part->shape.cells)) };
		snprintf(ret->text, sizeof(ret->text), "%.3g, by the load", ret->value);
	}
	return i < 2;
}

const struct blm_kind blm_kind_hash_compact = {
	.id = 5,
	.name = "hash-compact",
	.protocol = BLM_ATOMIC_WORDS,
	.summary = "a table of signatures of 8 to 64 bits: few errors at 16 bits a key and more; "
	"can be full",
	.caveat = "when it is full it refuses keys, and loses none; it makes no unions",
	.options = options,
	.plan = plan, .valid = valid, .padding_bits = padding_bits, .contains = contains,
	.rate_at = rate_at,
	.add = add, .claim = add,
	.describe = describe, .prefetch = prefetch, .probe = probe, .contains_many = contains_many,
	.cells_in_words = true,
};
