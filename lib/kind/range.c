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

enum { PIECES = 128, BLOCKS_MOST = 1 << 16, LEVELS_AT = 40, NEST_USUAL = 6 };
#define WIDTH_MOST (UINT64_C(1) << 40)

static const struct blm_option options[] = {
	[RANGE_WIDTH] = { "width", "the rate holds for ranges of at most this many places: "
			  "numbers, seconds, addresses", BLM_OPTION_COUNT, 1, 0x1p40, 1024 },
	[RANGE_NEST] = { "nest", "so many lengths of networks are stored together, and a question "
			 "looks for them at once; 0: each by itself", BLM_OPTION_COUNT, 0,
			 RANGE_NEST_MOST, NEST_USUAL },
	{ NULL }
};

/* ---- Questions ---- */

/* A level that the filter has: its places within a block are from `at` on, in `mask`. */
struct level {
	unsigned level;
	uint64_t at, mask;
};

/* The levels that the filter has of a group. */
struct group {
	const struct level *first;
	unsigned count, lowest;
	unsigned above;		/* so many bits of a place of level 0 are within its block */
	uint64_t numbers;	/* of a block */
};

struct asking {
	struct layout l;
	struct level level[RANGE_LEVELS];
	struct group group[RANGE_LEVELS];
	unsigned groups;
	struct range_orders orders;
	uint64_t *bits;
	size_t count, begun;		/* begun: the first of the pieces that the last one joins */
	struct piece piece[PIECES];
};

static inline bool is_answered(const struct asking *a, size_t index)
{
	return a->bits[index / 64] >> index % 64 & 1;
}

static inline void answer(struct asking *a, size_t index)
{
	a->bits[index / 64] |= UINT64_C(1) << index % 64;
}

/* The pieces of one question in one block, and the walk to them. */
struct visit {
	struct piece *p;
	struct walk w;
};

/*
 * The next pieces whose question has no answer yet, from *i on. False: there are none, and its walk
 * is at its end.
 */
static inline bool begin_visit(struct asking *a, struct visit *v, size_t *i)
{
	while (*i < a->count) {
		v->p = &a->piece[*i];
		while (a->piece[(*i)++].more)
			;
		if (!is_answered(a, v->p->index)) {
			v->w = walk_to(&a->l, v->p);
			return true;
		}
	}
	v->w = (struct walk){ .number = 1 };
	return false;
}

static inline void end_visit(struct asking *a, const struct visit *v)
{
	if (any_of(&a->l, v->p, v->w))
		answer(a, v->p->index);
}

/*
 * The memory of all pieces was asked for before any of them is looked at. Two visits at a time; the
 * next one takes the place of the one that ends.
 */
static void look(struct asking *a)
{
	struct visit x, y;
	size_t i = 0;
	bool has_x = begin_visit(a, &x, &i), has_y = begin_visit(a, &y, &i);

	while (has_x && has_y) {
		bool goes_x, goes_y;

		walk_while_both(&a->l, &x.w, &y.w, &goes_x, &goes_y);
		if (!goes_x) {
			end_visit(a, &x);
			has_x = begin_visit(a, &x, &i);
		}
		if (!goes_y) {
			end_visit(a, &y);
			has_y = begin_visit(a, &y, &i);
		}
	}
	if (has_x)
		end_visit(a, &x);
	if (has_y)
		end_visit(a, &y);
	a->count = 0;
}

/* joins: it is for the same question and block as the piece before it. */
static inline void add_piece(struct asking *a, uint64_t first, uint64_t last, size_t index,
			     bool joins)
{
	struct piece *p;

	if (a->count == PIECES)
		look(a);
	p = &a->piece[a->count++];
	p->first = first;
	p->last = last;
	p->more = false;
	if (joins && a->count > 1 && p[-1].last < first) {
		p[-1].more = true;
		a->piece[a->begun].end = last;
		return;
	}
	a->begun = a->count - 1;
	p->end = last;
	p->index = (uint32_t)index;
	find_piece(&a->l, p);
	prefetch_block(&a->l, p->block);
}

/* Numbers of one block: at the end of the range they go on at its beginning. */
static inline void add_numbers(struct asking *a, uint64_t from, uint64_t count, size_t index,
			       bool joins)
{
	uint64_t range = a->l.range, to;

	from = from < range ? from : from - range;
	to = from + (count - 1);
	add_piece(a, from, to < range ? to : range - 1, index, joins);
	if (to >= range)
		add_piece(a, 0, to - range, index, false);
}

/* The places from first to last that a block has, of the levels of a group. */
static void add_block(struct asking *a, const struct range_order *order, const struct group *g,
		      uint64_t block, const uint64_t ends[2], size_t index)
{
	uint64_t at = range_block_at(order, block);

	for (unsigned i = 0; i < g->count; i++) {
		unsigned level = g->first[i].level, bits = range_level_bits(order, level);
		uint64_t first = ends[0] >> level, last = ends[1] >> level;

		first = first >> bits == block ? first : block << bits;
		last = last >> bits == block ? last : (block << bits) + ((UINT64_C(1) << bits) - 1);
		add_numbers(a, at + range_within(order, level, first), last - first + 1, index,
			    i > 0);
	}
}

/*
 * The same of a range that is in one block, as most are. False: its numbers are at the end of the
 * range and at its beginning, which add_block() knows.
 */
static inline bool add_within_block(struct asking *a, const struct range_order *order,
				    const struct group *g, uint64_t block, const uint64_t ends[2],
				    size_t index)
{
	uint64_t at = range_block_at(order, block);
	struct piece *p;

	if (at + g->numbers > a->l.range)
		return false;
	if (a->count + g->count > PIECES)
		look(a);
	a->begun = a->count;
	p = &a->piece[a->count];
	a->count += g->count;
	for (unsigned i = 0; i < g->count; i++) {
		const struct level *l = &g->first[i];
		uint64_t first = ends[0] >> l->level, last = ends[1] >> l->level;

		p[i].first = at + l->at + (first & l->mask);
		p[i].last = p[i].first + (last - first);
		p[i].more = i + 1 < g->count;
	}
	p->end = p[g->count - 1].last;
	p->index = (uint32_t)index;
	find_piece(&a->l, p);
	prefetch_block(&a->l, p->block);
	return true;
}

static inline uint64_t block_of(const struct group *g, uint64_t place)
{
	return g->above < 64 ? place >> g->above : 0;
}

/* A range that touches too many blocks is answered yes without a look at the data. */
static bool is_too_wide(const struct asking *a, const uint64_t ends[2])
{
	uint64_t most = BLOCKS_MOST;

	for (unsigned i = 0; i < a->groups; i++) {
		const struct group *g = &a->group[i];
		uint64_t more = block_of(g, ends[1]) - block_of(g, ends[0]);

		if (more >= most / g->count)
			return true;
		most -= (more + 1) * g->count;
	}
	return false;
}

static inline void ask(struct asking *a, const struct group *g, const struct blm_hash *from,
		       const struct blm_hash *to, size_t index)
{
	uint64_t ends[2] = { ordered_first(from), ordered_last(to) };
	uint64_t key = from->lo & ~(uint64_t)(ORDERED_NONE | ORDERED_LEVEL),
		 block = block_of(g, ends[0]), end = block_of(g, ends[1]);
	const struct range_order *order;

	if (is_answered(a, index) || ordered_is_none(from) || ordered_is_none(to)
	    || ends[0] > ends[1])
		return;
	if (end > block && is_too_wide(a, ends)) {
		answer(a, index);
		return;
	}
	order = range_order_at(&a->orders, key, g->lowest);
	if (block == end && add_within_block(a, order, g, block, ends, index))
		return;
	for (; block <= end && !is_answered(a, index); block++)
		add_block(a, order, g, block, ends, index);
}

static void find_groups(struct asking *a, const struct blm_shape *shape, uint64_t levels)
{
	unsigned nest = range_nest(shape->args), found = 0;

	for (a->groups = 0; levels; a->groups++) {
		struct group *g = &a->group[a->groups];
		unsigned level = (unsigned)__builtin_ctzll(levels),
			 lowest = level - level % nest,
			 bits = range_block_bits(shape->args, lowest);
		uint64_t here = levels & ((UINT64_C(1) << nest) - 1) << lowest;

		*g = (struct group){ &a->level[found], 0, lowest, lowest + bits,
				     nest > 1 ? UINT64_C(2) << bits : UINT64_C(1) << bits };
		levels ^= here;
		for (; here; here &= here - 1, g->count++) {
			unsigned of = (unsigned)__builtin_ctzll(here), own = bits - (of - lowest);

			a->level[found++] = (struct level){
				of, (UINT64_C(2) << bits) - (UINT64_C(2) << own),
				(UINT64_C(1) << own) - 1 };
		}
	}
}

static bool begin(struct asking *a, const struct blm_part *part, uint64_t *bits)
{
	if (!read_layout(&a->l, part))
		return false;
	find_groups(a, &part->shape, a->l.blocks ? word_at(part->bytes + LEVELS_AT) : 0);
	a->orders.shape = &part->shape;
	a->orders.made = 0;
	a->bits = bits;
	a->count = 0;
	return true;
}

/*
 * What can be seen to be damaged denies no key. The highest group comes first: its networks cover
 * most addresses, and an address that it answers is not looked for in the other groups. A single
 * question is looked for in all groups at once, because no other question fills its waits.
 */
static void contains_ranges(const struct blm_part *part, const struct blm_hash *first,
			    const struct blm_hash *last, size_t count, uint64_t *ret_bits)
{
	struct asking a;

	memset(ret_bits, 0, (count + 63) / 64 * sizeof(*ret_bits));
	if (!begin(&a, part, ret_bits)) {
		for (size_t i = 0; i < count; i++)
			ret_bits[i / 64] |= UINT64_C(1) << i % 64;
		return;
	}
	for (unsigned i = a.groups; i--; ) {
		for (size_t at = 0; at < count; at++)
			ask(&a, &a.group[i], &first[at], &last[at], at);
		if (count > 1 || !i)
			look(&a);
	}
}

static void contains_many(const struct blm_part *part, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	contains_ranges(part, batch->hashes, batch->hashes, batch->count, ret_bits);
}

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	uint64_t bits;

	contains_ranges(part, &key->hash, &key->hash, 1, &bits);
	return bits;
}

/* ---- Sizes ---- */

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .probes = 1, .cell_bits = 1, .capacity = params->capacity };
	uint64_t least;
	struct code code;

	memcpy(s.args, ret->args, sizeof(s.args));
	if (params->cells || params->probes > 1)
		return blm_fail(-EINVAL, "a range filter takes neither a number of bits nor of "
				"probes: its rate and its width say all");
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
	least = range_block_most(s.args);
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
		&& s->cells >= range_block_most(s->args)
		&& s->bytes >= HEAD_BYTES
		&& s->probes == 1 && s->cell_bits == 1;
}

/* The rate of a question for `places` places, if the filter has these levels. */
static double rate_for(const struct blm_shape *s, uint64_t keys, double places, uint64_t levels)
{
	double asked = 0;

	if (places * __builtin_popcountll(levels)
	    > ldexp(BLOCKS_MOST, (int)range_block_bits(s->args, 0)))
		return keys > 0;
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
			word_at(part->bytes + LEVELS_AT));
}

static bool describe(const struct blm_part *part, unsigned i, struct blm_fact *ret)
{
	static const struct { const char *name; double widths; } rates[] = {
		{ "rate of one key", 0 }, { "rate of one width", 1 }, { "rate of 10 widths", 10 },
		{ "rate of 100 widths", 100 },
	};
	uint64_t levels = word_at(part->bytes + LEVELS_AT);
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
	memcpy(part->bytes + LEVELS_AT, &levels, sizeof(levels));
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
		levels |= word_at(of->from[i]->bytes + LEVELS_AT);
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
	.plan = plan, .valid = valid, .contains = contains, .rate_at = rate_at,
	.rate_in = rate_in,
	.fit = fit, .build = build, .roomy = true,
	.merged = merged, .merge = merge,
	.contains_many = contains_many, .contains_ranges = contains_ranges, .describe = describe,
	.hash_bits = 64,
};
