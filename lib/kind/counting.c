/*
 * counting.c - a small counter instead of each bit, so that keys can be removed
 *
 * L. Fan, P. Cao, J. Almeida and A. Broder, "Summary Cache: A Scalable Wide-Area Web Cache Sharing
 * Protocol", SIGCOMM 1998 / IEEE/ACM ToN 8(3), 2000. An add raises each cell of the key by one
 * (once, even if two probes share it), and a remove lowers each by one; the key is present if none
 * of them is 0. With as many counters as classic has bits, the counters that are not 0 are
 * classic's ones. A full counter may stand for more than it can hold, so it is never lowered again:
 * it can keep a removed key, but never loses a present one. At half full (nk/m = ln 2) a counter of
 * 4 bits overflows (more than 15) with probability 7.07e-17, one of 3 bits (more than 7) with
 * 7.2e-7.
 *
 * add() takes no lock: it raises cell by cell, by compare-and-swap. remove() must read all cells
 * before it changes one, and no other remove may run between the two. Otherwise two removers of one
 * key would lower its cells twice, and remove another key; so one thread removes at a time
 * (BLM_SERIAL_REMOVALS). The same holds for claim(): the test whether a key was there and its add
 * are one step among claimers. A process that dies in the middle leaves cells too high, never too
 * low: some cells of a half-added key, or the rest of a half-removed one.
 */
#include "kind/common/packed_cells.h"
#include "kind/common/sizing.h"

#include <math.h>
#include <stdio.h>

static const struct blm_option options[] = {
	{ "bits", "bits of a counter, 3 or 4", BLM_OPTION_COUNT, 3, 4, 4, NULL },
	{ 0 }
};
enum { BITS };		/* of args */

const struct blm_kind blm_kind_counting;

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	return blm_cells_plan(&blm_kind_counting, ret, params, (unsigned)ret->args[BITS]);
}

static bool valid(const struct blm_shape *s)
{
	return (s->args[BITS] == 3 || s->args[BITS] == 4)
		&& blm_cells_valid(s, (unsigned)s->args[BITS]);
}

/* Up or down by one; a full counter stays, and so does 0 on the way down. Did it change? */
static bool step(struct blm_part *part, struct blm_cell c, int by)
{
	uint64_t seen = load_acquire(c.word), full = cell_most(part->shape.cell_bits), value;

	do {
		value = seen >> c.shift & full;
		if (value == full || (by < 0 && !value))
			return false;
	} while (!word_swap(c.word, &seen, word_with(seen, part, c, value + (uint64_t)by),
			    part->unshared));
	mark(part, c.word);
	return true;
}

static bool step_all(struct blm_part *part, const struct blm_cell *cells, size_t count, int by)
{
	bool changed = false;

	for (size_t i = 0; i < count; i++)
		changed |= step(part, cells[i], by);
	return changed;
}

static uint64_t least(const struct blm_part *part, const struct blm_cell *cells, size_t count)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < count && least; i++) {
		uint64_t value = cell_get(part, cells[i]);

		least = value < least ? value : least;
	}
	return least;
}

/* 0: all its counters are full already. */
static int add(struct blm_part *part, const struct blm_hashed *key)
{
	struct blm_cell cells[BLM_PROBES_MAX];

	return step_all(part, cells, blm_cells_of(part, key, cells), 1);
}

/* Counted where its first cell is, unless that is full. */
static int add_within(struct blm_part *part, const struct blm_hashed *key, uint64_t from,
		      uint64_t to)
{
	struct blm_cell cells[BLM_PROBES_MAX];
	size_t count = blm_cells_of(part, key, cells);
	bool first = false;

	for (size_t i = 0; i < count; i++) {
		uint64_t at = (uint64_t)((const uint8_t *)cells[i].word - part->bytes);

		if (at >= from && at < to && step(part, cells[i], 1) && i == 0)
			first = true;
	}
	return first;
}

static int claim(struct blm_part *part, const struct blm_hashed *key)
{
	struct blm_cell cells[BLM_PROBES_MAX];
	size_t count = blm_cells_of(part, key, cells);

	return least(part, cells, count) ? 0 : step_all(part, cells, count, 1);
}

/* 0 also for a key whose counters are all full: it cannot be taken out. */
static int take_out(struct blm_part *part, const struct blm_hashed *key)
{
	struct blm_cell cells[BLM_PROBES_MAX];
	size_t count = blm_cells_of(part, key, cells);

	if (part_is_torn(part))
		return -EUCLEAN;
	return least(part, cells, count) ? step_all(part, cells, count, -1) : 0;
}

/* How often it was added, or more: up to the maximum of a counter. */
static int get(const struct blm_part *part, const struct blm_hashed *key, uint64_t *ret)
{
	struct blm_cell cells[BLM_PROBES_MAX];
	uint64_t value = least(part, cells, blm_cells_of(part, key, cells));

	if (value)
		*ret = value;
	return value != 0;
}

/*
 * Sums of every other cell, so that each has space to overflow; those that do are full. even: these
 * cells; over: the bit above each.
 */
static uint64_t sums(uint64_t a, uint64_t b, uint64_t even, uint64_t over, unsigned bits)
{
	uint64_t sum = (a & even) + (b & even), too_much = sum & over;

	return (sum | (too_much - (too_much >> bits))) & even;
}

static uint64_t join(const struct blm_part *part, uint64_t a, uint64_t b)
{
	static const uint64_t even[] = { [3] = UINT64_C(0x71c71c71c71c71c7),
					 [4] = UINT64_C(0x0f0f0f0f0f0f0f0f) };
	static const uint64_t odd[] = { [3] = UINT64_C(0x01c71c71c71c71c7),
					[4] = UINT64_C(0x0f0f0f0f0f0f0f0f) };
	unsigned bits = part->shape.cell_bits;

	return sums(a, b, even[bits], (even[bits] << 1) & ~even[bits], bits)
	     | sums(a >> bits, b >> bits, odd[bits], (odd[bits] << 1) & ~odd[bits], bits) << bits;
}

static void unite(const struct blm_part *part, void *dst, const void *src, size_t bytes)
{
	blm_cells_unite(part, dst, src, bytes, join);
}

/* ---- Two of them ---- */

static void differ(const struct blm_part *a, const struct blm_part *b, uint64_t at, size_t bytes,
		   struct blm_tally *to)
{
	const uint64_t *x = (const uint64_t *)(a->bytes + at),
		*y = (const uint64_t *)(b->bytes + at);
	unsigned bits = a->shape.cell_bits;
	uint64_t most = cell_most(bits);

	for (size_t i = 0; i < bytes / 8; i++) {
		uint64_t p = load_relaxed(&x[i]), q = load_relaxed(&y[i]);

		for (; p != q; p >>= bits, q >>= bits) {
			double by = (double)(p & most) - (double)(q & most);

			to->sum += by;
			to->squares += by * by;
		}
	}
}

static double difference_of(const struct blm_shape *s, const struct blm_tally *c, double *ret_error)
{
	double cells = (double)s->cells;

	return blm_keys_that_differ(cells, -cells * expm1(s->probes * log1p(-1 / cells)), c->sum,
				    c->squares, ret_error);
}

/* ---- Facts ---- */

static void count_full(const struct blm_part *part, uint64_t *ret_full, uint64_t *ret_highest)
{
	const uint64_t *words = (const uint64_t *)part->bytes;
	unsigned bits = part->shape.cell_bits;
	uint64_t full = cell_most(bits);

	*ret_full = *ret_highest = 0;
	for (uint64_t i = 0; i < part->shape.bytes / 8; i++)
		for (uint64_t word = load_relaxed(&words[i]); word; word >>= bits) {
			uint64_t value = word & full;

			*ret_highest = value > *ret_highest ? value : *ret_highest;
			*ret_full += value == full;
		}
}

static bool describe(const struct blm_part *part, unsigned i, struct blm_fact *ret)
{
	uint64_t full, highest, most = cell_most(part->shape.cell_bits);

	if (i == 2 && part_is_torn(part)) {
		*ret = (struct blm_fact){ .name = "removal", .value = 0 };
		snprintf(ret->text, sizeof(ret->text),
			 "refused until it is rebuilt from its keys: a power cut, a copy while it "
			 "was changed, or a union cut short left it torn");
		return true;
	}
	if (i > 1)
		return false;
	count_full(part, &full, &highest);
	*ret = (struct blm_fact){ .name = i ? "highest" : "saturated",
				  .value = (double)(i ? highest : full) };
	if (i)
		snprintf(ret->text, sizeof(ret->text), "%llu, of the %llu that a counter holds",
			 (unsigned long long)highest, (unsigned long long)most);
	else
		snprintf(ret->text, sizeof(ret->text), "%llu of %llu counters are full: they never "
			 "go down again", (unsigned long long)full,
			 (unsigned long long)part->shape.cells);
	return true;
}

/* The share of counters that are asked for `least` or more: the load of each is about Poisson. */
static double tail(double load, unsigned least)
{
	double term = exp(-load), below = 0, sum = 0;

	for (unsigned x = 1; x <= least; x++) {
		below += term;
		term *= load / x;
	}
	if (load > least)
		return 1 - below;
	for (unsigned x = least; term > sum * 1e-17; x++) {
		sum += term;
		term *= load / (x + 1);
	}
	return sum;
}

static bool foretell(const struct blm_shape *s, unsigned i, struct blm_fact *ret)
{
	unsigned most = (unsigned)cell_most(s->cell_bits);
	double load = (double)s->capacity * s->probes / (double)s->cells,
		each = tail(load, most + 1), any = -expm1((double)s->cells * log1p(-each));

	if (i > 0)
		return false;
	*ret = (struct blm_fact){ .name = "overflow", .value = each };
	snprintf(ret->text, sizeof(ret->text), "a counter is asked for more than %u with "
		 "probability %.3g, at least one of them with %.3g", most, each, any);
	return true;
}

const struct blm_kind blm_kind_counting = {
	.id = 6,
	.name = "counting",
	.protocol = BLM_SERIAL_REMOVALS,
	.summary = "classic with counters for bits: keys can be taken out; 3 or 4 times the space",
	.caveat = "remove only what was added: a key that is found by mistake cannot be told from "
	"one that is there, and taking it out can hide others; full counters never go down again; "
	"after a power cut no key is taken out until it is rebuilt",
	.options = options,
	.plan = plan, .valid = valid, .padding_bits = blm_cells_padding_bits,
	.contains = blm_cells_contain, .rate_at = blm_cells_rate_at,
	.add = add, .remove = take_out, .claim = claim, .get = get,
	.unite = unite, .differ = differ, .difference_of = difference_of,
	.tally = blm_cells_tally, .rate_of = blm_cells_rate_of, .keys_of = blm_cells_keys_of,
	.becomes = "classic", .become = blm_cells_become_bits,
	.describe = describe, .foretell = foretell,
	.prefetch = blm_cells_prefetch, .probe = blm_cells_probe,
	.contains_many = blm_cells_contain_many,
	.batch = BLM_BATCH_LARGE,
	.splits = true, .add_within = add_within,
	.cells_in_words = true,
	.every_family = true,
};
