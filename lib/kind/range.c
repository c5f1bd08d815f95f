/*
 * range.c - is any key between two others? An order-preserving hash in front of golomb's coder
 *
 * M. Costa, P. Ferragina and G. Vinciguerra, "Grafite: Taming Adversarial Queries with Optimal
 * Range Filters", Proc. ACM Manag. Data 2(1) (SIGMOD 2024). Keys are places in an order of 64 bits
 * (hash/ordered.h). The order is cut into blocks; a block goes as a whole to a random number below
 * the range F = capacity * width / rate, and a key to that number plus its place in the block,
 * modulo F. The numbers are coded as golomb.c codes them. A range of places is one range of numbers
 * for each block that it touches. It is wrong if a key of another block is there: with probability
 * at most its places times keys / F, wherever the range and the keys are. Ranges close to keys are
 * no exception: within a block distances are kept, so there nothing is ever wrong.
 *
 * Two differences to the paper. Blocks are of 8 to 16 widths, where the paper has blocks of F: so
 * keys that are close together are spread over F all the same, and the coder's blocks that a
 * question looks through stay few. Where a block begins is found by multiplying and mixing
 * (range_block_at), which needs no prime and is random for blocks in a row, too.
 *
 * A key can be an interval of 2^level places, as a network is. Then its number is made of the
 * interval's place among those of its level, and a question asks each level that the filter has: in
 * every level the intervals that meet the range are a range. Some levels in a row are a group: in
 * one block are the places of all of them that are in the same part of the order. So one look-up
 * mostly answers for a group, where each level would take one. The rate is the same, because a
 * question asks for as many numbers.
 */
#include "kind/golomb_search.h"
#include "kind/range.h"
#include "kind/common/sizing.h"

#include <math.h>
#include <stdio.h>

enum { NEST_USUAL = 6 };
#define WIDTH_MOST (UINT64_C(1) << 40)

static const struct blm_option options[] = {
	[RANGE_WIDTH] = { "width", "the rate holds for ranges of at most this many places: "
			  "numbers, seconds, addresses", BLM_OPTION_COUNT, 1, 0x1p40, 1024 },
	[RANGE_NEST] = { "nest", "so many lengths of networks are stored together, and a question "
			 "looks for them at once; 0: each by itself", BLM_OPTION_COUNT, 0,
			 RANGE_NEST_MOST, NEST_USUAL },
	{ NULL }
};

/* ---- Sizes ---- */

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .probes = 1, .cell_bits = 1, .capacity = params->capacity };
	uint64_t least;
	struct code code;

	memcpy(s.args, ret->args, sizeof(s.args));
	if (params->cells || params->probes > 1)
		return blm_fail(-EINVAL, "a range filter is sized by its rate and its width; leave "
				"out blm_params.cells and blm_params.probes");
	s.rate = params->rate ? params->rate : BLM_DEFAULT_RATE;
	if ((double)s.capacity * (double)s.args[RANGE_WIDTH] / s.rate
	    > (double)GOLOMB_RANGE_MOST)
		return blm_fail(-EFBIG, "%llu keys, a width of %llu and a rate of %g: keys times "
				"width over rate is at most 2^62 in a range filter",
				(unsigned long long)s.capacity,
				(unsigned long long)s.args[RANGE_WIDTH], s.rate);
	s.cells = blm_golomb_range(s.capacity, s.rate / (double)s.args[RANGE_WIDTH], 0);
	if (!params->hash || strcmp(params->hash, "ordered-ip"))
		s.args[RANGE_NEST] = 0;		/* all keys are of one length */
	if (s.args[RANGE_NEST] == 1)
		return blm_fail(-EINVAL, "the option nest of range filters is 0, or 2 to %d",
				RANGE_NEST_MOST);
	least = range_block_numbers(s.args, 0);
	s.cells = s.cells > least ? s.cells : least;
	code = blm_golomb_code(s.cells, s.capacity);
	s.bytes = round_up((uint64_t)bytes_for(&code, highs_of(s.cells, code.low_bits),
			(uint64_t)blm_golomb_blocks(s.cells, s.capacity)) + 4, 64);
	*ret = s;
	return 0;
}

static bool valid(const struct blm_shape *s)
{
	uint64_t width = s->args[RANGE_WIDTH];

	return width >= 1 && width <= WIDTH_MOST && s->cells <= GOLOMB_RANGE_MOST
		&& s->args[RANGE_NEST] <= RANGE_NEST_MOST && s->args[RANGE_NEST] != 1
		&& s->cells >= range_block_numbers(s->args, 0)
		&& s->bytes >= HEAD_BYTES
		&& s->probes == 1 && s->cell_bits == 1;
}

/*
 * The rate of a question for `places` places, if the filter has these levels. At most 100 widths:
 * thousands of them would touch too many blocks to be looked up (range_ask.c).
 */
static double rate_for(const struct blm_shape *s, uint64_t keys, double places, uint64_t levels)
{
	double asked = 0;

	for (; levels; levels &= levels - 1)
		asked += 1 + (places - 1) / ldexp(1, __builtin_ctzll(levels));
	return asked < (double)s->cells
		? -expm1((double)keys * log1p(-asked / (double)s->cells)) : keys > 0;
}

static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	return rate_for(s, keys, (double)s->args[RANGE_WIDTH], 1);
}

static double rate_in(const struct blm_part *part, uint64_t keys)
{
	return rate_for(&part->shape, keys, (double)part->shape.args[RANGE_WIDTH],
			word_at(part->bytes + RANGE_LEVELS_AT));
}

static bool describe(const struct blm_part *part, unsigned i, struct blm_fact *ret)
{
	static const struct { const char *name; double widths; } rates[] = {
		{ "rate of one key", 0 }, { "rate of one width", 1 }, { "rate of 10 widths", 10 },
		{ "rate of 100 widths", 100 },
	};
	uint64_t levels = word_at(part->bytes + RANGE_LEVELS_AT);
	struct layout l;

	if (!read_layout(&l, part) || i > ARRAY_LEN(rates))
		return false;
	if (i == ARRAY_LEN(rates)) {
		*ret = (struct blm_fact){ .name = "lengths of keys",
					  .value = (double)__builtin_popcountll(levels) };
		snprintf(ret->text, sizeof(ret->text), "%.0f; a question asks each",
			 ret->value);
		return levels & (levels - 1);
	}
	*ret = (struct blm_fact){ .name = rates[i].name };
	ret->value = rate_for(&part->shape, l.count, fmax(1, rates[i].widths
			      * (double)part->shape.args[RANGE_WIDTH]), levels);
	snprintf(ret->text, sizeof(ret->text), "%.4g", ret->value);
	return true;
}

/* ---- Making ---- */

static int fit(struct blm_shape *shape, const struct blm_sorted *keys)
{
	struct range_keys k;
	int r = blm_range_keys_open(&k, keys, shape, false);

	if (r == 0) {
		r = blm_golomb_fit(shape, &k.numbers, keys->count);
		blm_range_keys_close(&k);
	}
	return r;
}

static void put_levels(struct blm_part *part, uint64_t levels)
{
	levels = htole64(levels);
	memcpy(part->bytes + RANGE_LEVELS_AT, &levels, sizeof(levels));
}

static int build(struct blm_part *part, const struct blm_sorted *keys)
{
	struct range_keys k;
	int r = blm_range_keys_open(&k, keys, &part->shape, true);

	if (r < 0)
		return r;
	r = blm_golomb_write(part, &k.numbers, keys->count);
	if (r == 0)
		put_levels(part, k.levels);
	blm_range_keys_close(&k);
	return r;
}

static int open_keys(struct golomb_numbers **ret, const struct blm_sorted *keys,
		     const struct blm_shape *shape)
{
	struct range_keys *k = malloc(sizeof(*k));
	int r = k ? blm_range_keys_open(k, keys, shape, false)
		: blm_fail(-ENOMEM, "no memory to merge range filters");

	if (r < 0) {
		free(k);
		return r;
	}
	*ret = &k->numbers;
	return 0;
}

static void close_keys(struct golomb_numbers *n)
{
	blm_range_keys_close((struct range_keys *)n);
	free(n);
}

static const struct golomb_source source = { open_keys, close_keys };

static int merged(struct blm_shape *shape, const struct blm_merging *of, uint64_t *ret_keys)
{
	return blm_golomb_merged(&source, shape, of, false, ret_keys);
}

/* The levels of keys that come. */
static int levels_of(const struct blm_sorted *keys, uint64_t *ret)
{
	struct blm_hash hashes[256];
	int r = 0;

	for (uint64_t at = 0, some; r == 0 && at < keys->count; at += some) {
		some = keys->count - at < ARRAY_LEN(hashes) ? keys->count - at : ARRAY_LEN(hashes);
		r = sorted_read(keys, at, hashes, NULL, (size_t)some);
		for (size_t i = 0; r == 0 && i < some; i++)
			*ret |= UINT64_C(1) << ordered_level(&hashes[i]);
	}
	return r;
}

static int merge(struct blm_part *part, const struct blm_merging *of)
{
	uint64_t levels = 0;
	int r = blm_golomb_merge(&source, part, of, false);

	for (size_t i = 0; i < of->count; i++)
		levels |= word_at(of->from[i]->bytes + RANGE_LEVELS_AT);
	if (r == 0 && of->add)
		r = levels_of(of->add, &levels);
	if (r == 0)
		put_levels(part, levels);
	return r;
}

const struct blm_kind blm_kind_range = {
	.id = 23,
	.name = "range",
	.protocol = BLM_ATOMIC_WORDS,
	.summary = "is any key from A to B in it? numbers, times, addresses, strings; built from "
	"all keys at once",
	.caveat = "its rate is that of ranges of up to `width` places; ranges 10 times as wide, or "
	"networks of 10 lengths, make up to 10 times that rate",
	.family = "ordered-string",
	.options = options,
	.plan = plan, .valid = valid, .contains = blm_range_contains, .rate_at = rate_at,
	.rate_in = rate_in,
	.fit = fit, .build = build, .roomy = true,
	.merged = merged, .merge = merge,
	.contains_many = blm_range_contains_many, .contains_ranges = blm_range_contains_ranges,
	.describe = describe,
	.hash_bits = 64,
};
