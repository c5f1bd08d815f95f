/*
 * stable.c - a filter for streams without end: with each key some cells fade, so that it never gets
 * full and forgets old keys
 *
 * Deng and Rafiei, "Approximately Detecting Duplicates for Streaming Data using Stable Bloom
 * Filters", SIGMOD 2006. A key sets its K cells, of d bits, to Max = 2^d - 1; before that P cells
 * in a row, from a random one on, are lowered by 1 unless they are 0. The share of zeros approaches
 * (1 + 1 / (P (1/K - 1/m)))^-Max and stays there; P follows from the rate. The random cell follows
 * from the number of earlier keys (own word CAME) and the key, so the same keys in the same order
 * make the same filter.
 *
 * One writer at a time; a cell is in one word, and each change of a word is one store. So a writer
 * that dies has done a part of its change, and readers need no lock. The filter forgets in any
 * case, so a mix of older and newer pages is not worse than either.
 */
#include "kind/common/packed_cells.h"
#include "kind/common/swar.h"
#include "kind/common/prefetch.h"
#include "kind/common/sizing.h"

#include <math.h>
#include <stdio.h>

enum { CAME };			/* own words */
enum { BITS, FADE };		/* options, and arguments: d and P */
enum { USUAL_PROBES = 3, FADE_MOST = 65535 };

#define FORGOTTEN 0.01		/* the most of the keys that came `capacity` keys ago */

static const struct blm_option options[] = {
	[BITS] = { "bits", "bits of a cell: with more it forgets later and then faster",
		   BLM_OPTION_COUNT, 1, 8, 3 },
	[FADE] = { "fade", "cells that fade with each key; 0: as the rate asks", BLM_OPTION_COUNT,
		   0, FADE_MOST, 0, .by_rate = true },
	{ NULL }
};

static unsigned max_of(const struct blm_shape *s)
{
	return (1u << s->cell_bits) - 1;
}

static unsigned cells_in_word(const struct blm_shape *s)
{
	return 64 / s->cell_bits;
}

/* ---- Sizes ---- */

/*
 * The share of the cells that are 0 after `keys` keys. The values of a cell are a Markov chain: per
 * key it is set with probability K/m, and lowered with P/m. Its equations are computed in time
 * steps in which a cell is lowered once in 50 cases, and set in at most half of them if that is
 * frequent.
 */
static double zeros_after(const struct blm_shape *s, double keys)
{
	double share[256] = { 1 }, fade = (double)s->args[FADE], set = s->probes / fade,
		step = fmin(0.02, 0.5 / set);
	double left = keys * fade / (double)s->cells;
	unsigned max = max_of(s);

	for (left = fmin(left, 8.0 * max + 50); left > 0; left -= step) {
		double h = fmin(step, left), before = share[max];

		for (unsigned v = 0; v < max; v++) {
			double from_above = v + 1 == max ? before : share[v + 1];

			share[v] += h * (from_above - (v ? share[v] : 0) - set * share[v]);
		}
		share[max] += h * (set * (1 - before) - before);
	}
	return share[0];
}

static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	return pow(1 - zeros_after(s, (double)keys), s->probes);
}

/* P for the rate, rounded up. */
static double fade_for(const struct blm_shape *s)
{
	double zeros = 1 - pow(s->rate, 1.0 / s->probes);

	return ceil(1 / ((pow(zeros, -1.0 / max_of(s)) - 1)
			 * (1.0 / s->probes - 1.0 / (double)s->cells)));
}

/*
 * How often a cell can fade on average so that of K cells that were set all but FORGOTTEN are not
 * 0.
 */
static double fades_survived(const struct blm_shape *s)
{
	double low = 0, high = 2 * max_of(s) + 10;

	for (int i = 0; i < 60; i++) {
		double mean = (low + high) / 2, term = exp(-mean), below = 0;

		for (unsigned v = 0; v < max_of(s); v++, term *= mean / v)
			below += term;
		if (1 - pow(below, s->probes) > FORGOTTEN)
			high = mean;
		else
			low = mean;
	}
	return low;
}

static uint64_t bytes_for(const struct blm_shape *s)
{
	return round_up((s->cells + cells_in_word(s) - 1) / cells_in_word(s) * 8, 64);
}

/* The final share of zeros. */
static double zeros_stable(const struct blm_shape *s)
{
	return pow(1 + 1 / ((double)s->args[FADE] * (1.0 / s->probes - 1.0 / (double)s->cells)),
		   -(double)max_of(s));
}

static double rate_stable(const struct blm_shape *s)
{
	return pow(1 - zeros_stable(s), s->probes);
}

/*
 * Enough that of the keys that came `capacity` keys ago few are forgotten, and as many as fade at
 * once; 0: too many.
 */
static uint64_t cells_for(const struct blm_shape *shape)
{
	struct blm_shape s = *shape;
	double fade, cells;

	s.cells = UINT64_C(1) << 40;
	fade = s.args[FADE] ? (double)s.args[FADE] : fade_for(&s) + 1;
	cells = fmax(ceil((double)s.capacity * fade / fades_survived(&s)), fmax(64, 2 * s.probes));
	if (cells > (double)BLM_CELLS_MAX)
		return 0;
	s.cells = (uint64_t)cells;
	/* which is more the fewer the cells are */
	fade = s.args[FADE] ? (double)s.args[FADE] : fade_for(&s);
	return fade <= FADE_MOST ? (uint64_t)fmax(cells, fade) : s.cells;
}

/* P, as it was given or as the rate asks. */
static int choose_fade(struct blm_shape *s, bool rate_given)
{
	double fade = fade_for(s);

	if (s->args[FADE] && !rate_given) {
		s->rate = rate_stable(s);
		fade = (double)s->args[FADE];
	} else if (s->args[FADE] && rate_stable(s) > 1.02 * s->rate) {
		return blm_fail(-EINVAL, "fade=%llu gives a false-positive rate of %.3g; for %g "
				"use fade=%.0f (fade=0 chooses it)",
				(unsigned long long)s->args[FADE], rate_stable(s), s->rate, fade);
	}
	fade = fmax(fade, (double)s->args[FADE]);
	if (fade > FADE_MOST)
		return blm_fail(-EFBIG, "a stable filter of %u-bit cells and %u probes does not "
				"keep the rate %g: more probes do, or fewer bits",
				s->cell_bits, s->probes, s->rate);
	if (fade > (double)s->cells)
		return blm_fail(-EINVAL, "%llu cells are too few for a stable filter at the rate "
				"%g: %.0f fade with each key",
				(unsigned long long)s->cells, s->rate, fade);
	s->args[FADE] = (uint64_t)fade;
	return 0;
}

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .cells = params->cells,
			       .probes = params->probes ? params->probes : USUAL_PROBES,
			       .capacity = params->capacity, .rate = params->rate ? params->rate
			       : BLM_DEFAULT_RATE };
	int r;

	memcpy(s.args, ret->args, sizeof(s.args));
	s.cell_bits = (uint32_t)s.args[BITS];
	if (!s.cells)
		s.cells = cells_for(&s);
	if (!s.cells)
		return blm_fail(-EFBIG, "a stable filter that remembers %llu keys at the rate %g "
				"takes more than 2^47 cells",
				(unsigned long long)s.capacity, s.rate);
	if (s.cells <= s.probes)
		return blm_fail(-EINVAL, "a stable filter has more cells than probes: %llu and %u",
				(unsigned long long)s.cells, s.probes);
	r = choose_fade(&s, params->rate > 0);
	if (r < 0)
		return r;
	if (!s.capacity)
		s.capacity = (uint64_t)fmax(1, fades_survived(&s) * (double)s.cells
					    / (double)s.args[FADE]);
	s.bytes = bytes_for(&s);
	*ret = s;
	return 0;
}

static bool valid(const struct blm_shape *s)
{
	return s->cell_bits >= 1 && s->cell_bits <= 8 && s->args[BITS] == s->cell_bits
		&& s->probes >= 1 && s->probes <= BLM_PROBES_MAX
	    && s->cells > s->probes && s->cells <= BLM_CELLS_MAX && s->args[FADE] >= 1
	    && s->args[FADE] <= 65535 && s->args[FADE] <= s->cells
	    && s->bytes == bytes_for(s);
}

/* ---- Questions ---- */

static uint64_t *word_of(const struct blm_part *part, uint64_t cell)
{
	return (uint64_t *)part->bytes + cell / cells_in_word(&part->shape);
}

static unsigned shift_of(const struct blm_part *part, uint64_t cell)
{
	return (unsigned)(cell % cells_in_word(&part->shape)) * part->shape.cell_bits;
}

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	for (unsigned i = 0; i < part->shape.probes; i++) {
		uint64_t cell = key_cell(key, i, part->shape.cells);

		if (!(load_acquire(word_of(part, cell)) >> shift_of(part, cell)
		      & max_of(&part->shape)))
			return false;
	}
	return true;
}

static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	for (unsigned i = 0; i < part->shape.probes; i++)
		blm_fetch(word_of(part, key_cell(key, i, part->shape.cells)));
}

static const uint64_t *probe(const struct blm_part *part, const struct blm_hashed *key, unsigned i,
			     uint64_t *ret_mask)
{
	uint64_t cell = i < part->shape.probes ? key_cell(key, i, part->shape.cells) : 0;

	*ret_mask = 0;
	return i < part->shape.probes ? word_of(part, cell) : NULL;
}

static double zeros_now(const struct blm_part *part)
{
	uint64_t zeros = 0;

	for (uint64_t cell = 0; cell < part->shape.cells; cell++)
		zeros += !(load_relaxed(word_of(part, cell)) >> shift_of(part, cell)
			   & max_of(&part->shape));
	return (double)zeros / (double)part->shape.cells;
}

/* With its capacity of keys it is far from stable yet. */
static bool foretell(const struct blm_shape *s, unsigned i, struct blm_fact *ret)
{
	double zeros = zeros_stable(s);

	if (i > 0)
		return false;
	*ret = (struct blm_fact){ .name = "stable rate", .value = rate_stable(s) };
	snprintf(ret->text, sizeof(ret->text), "%.3g, where it stays however many keys come; %.4g "
		 "of the cells are 0 then", ret->value, zeros);
	return true;
}

static bool describe(const struct blm_part *part, unsigned i, struct blm_fact *ret)
{
	const struct blm_shape *s = &part->shape;
	double fade = (double)s->args[FADE], zeros = zeros_stable(s);

	switch (i) {
	case 0:
		ret->name = "zero cells";
		ret->value = zeros_now(part);
		snprintf(ret->text, sizeof(ret->text), "%.4f of all, %.4f when it is stable",
			 ret->value, zeros);
		return true;
	case 1:
		ret->name = "false-positive rate";
		ret->value = pow(1 - zeros_now(part), s->probes);
		snprintf(ret->text, sizeof(ret->text), "%.3g now, %.3g when it is stable",
			 ret->value, rate_stable(s));
		return true;
	case 2:
		ret->name = "fading";
		ret->value = fade;
		snprintf(ret->text, sizeof(ret->text), "%.0f cells with each key: of those of %.0f "
			 "keys ago 1 %% is forgotten", fade,
			 fades_survived(s) * (double)s->cells / fade);
		return true;
	}
	return false;
}

/* ---- Changes ---- */

static void fade(struct blm_part *part, uint64_t cell)
{
	const struct blm_shape *s = &part->shape;
	unsigned many = cells_in_word(s), bits = s->cell_bits;
	const struct blm_lanes lanes = lanes_of(many, bits);
	uint64_t left = s->args[FADE], from = cell % many, *word = word_of(part, cell), count;

	for (; left; left -= count, from = 0) {
		uint64_t old = load_relaxed(word),
			set = (lanes.high & ~lanes_zero(old, lanes)) >> (bits - 1);

		count = left < many - from ? left : many - from;
		count = count < s->cells - cell ? count : s->cells - cell;
		/* 1 in each cell that fades */
		set &= UINT64_MAX >> (64 - count * bits) << from * bits;
		if (set) {
			store_release(word, old - set);
			mark(part, word);
		}
		cell += count;
		word++;
		if (cell == s->cells) {
			cell = 0;
			word = word_of(part, 0);
		}
	}
}

/* The cell that fades first when a key comes after `came` keys. */
static uint64_t fades_first(const struct blm_part *part, uint64_t came, const struct blm_hash *hash)
{
	return scale(unfold(came, hash->lo, 0), part->shape.cells);
}

static int add(struct blm_part *part, const struct blm_hashed *key)
{
	uint64_t came = load_relaxed(own_word(part, CAME)), max = max_of(&part->shape);
	bool new = !contains(part, key);

	store_release(own_word(part, CAME), came + 1);
	fade(part, fades_first(part, came, &key->hash));
	for (unsigned i = 0; i < part->shape.probes; i++) {
		uint64_t cell = key_cell(key, i, part->shape.cells), *word = word_of(part, cell),
			old = load_relaxed(word);

		store_release(word, old | max << shift_of(part, cell));
		mark(part, word);
	}
	return new;
}

/* Cells to set are prefetched a batch ahead, cells to fade a few keys ahead. */
static int add_many(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits)
{
	enum { AHEAD = 8 };
	uint64_t came = load_relaxed(own_word(part, CAME));

	memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
	for (size_t i = 0; i < batch->count || i < batch->next_count; i++) {
		if (i < batch->next_count)
			prefetch(part, &(struct blm_hashed){ .hash = batch->next[i],
							     .by = batch->by });
		if (i + AHEAD < batch->count)
			blm_fetch(word_of(part, fades_first(part, came + i + AHEAD,
							    &batch->hashes[i + AHEAD])));
		if (i < batch->count) {
			struct blm_hashed key = batch_at(batch, i);

			ret_bits[i / 64] |= (uint64_t)add(part, &key) << i % 64;
		}
	}
	return 0;
}

const struct blm_kind blm_kind_stable = {
	.id = 10,
	.name = "stable",
	.protocol = BLM_SINGLE_WRITER,
	.summary = "for streams without end: never full, its rate stays, and it forgets old "
	"keys",
	.caveat = "it forgets: 1 % of the keys that came as many keys ago as its capacity, and "
	"soon all that are older",
	.options = options,
	.plan = plan, .valid = valid, .padding_bits = blm_cells_padding_bits, .contains = contains,
	.rate_at = rate_at,
	.add = add, .claim = add, .describe = describe, .foretell = foretell,
	.prefetch = prefetch, .probe = probe, .contains_many = blm_cells_contain_many,
	.add_many = add_many, .claim_many = add_many,
	.cells_in_words = true,
	.forgets = true,
};
