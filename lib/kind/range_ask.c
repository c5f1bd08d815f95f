/*
 * range_ask.c - questions to a range filter: the ranges of numbers that it asks for, and the walks
 * to them in golomb's blocks (range.c)
 */
#include "kind/golomb_search.h"
#include "kind/range.h"

enum { PIECES = 128 };

/* A level that the filter has: its places within a block are from `at` on, in `mask`. */
struct level {
	unsigned level;
	uint64_t at, mask;
};

/* The levels that the filter has of a group. */
struct group {
	const struct level *first;
	unsigned count, lowest;
	unsigned above;		/* low bits of a level-0 place: where it is in its block */
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
	uint64_t most = RANGE_BLOCKS_MOST;

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
				     range_block_numbers(shape->args, lowest) };
		levels ^= here;
		for (; here; here &= here - 1, g->count++) {
			unsigned of = (unsigned)__builtin_ctzll(here), own = bits - (of - lowest);

			a->level[found++] = (struct level){
				of, range_numbers_below(bits, own), (UINT64_C(1) << own) - 1 };
		}
	}
}

static bool begin(struct asking *a, const struct blm_part *part, uint64_t *bits)
{
	if (!read_layout(&a->l, part))
		return false;
	find_groups(a, &part->shape, a->l.blocks ? word_at(part->bytes + RANGE_LEVELS_AT) : 0);
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
void blm_range_contains_ranges(const struct blm_part *part, const struct blm_hash *first,
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

void blm_range_contains_many(const struct blm_part *part, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	blm_range_contains_ranges(part, batch->hashes, batch->hashes, batch->count, ret_bits);
}

bool blm_range_contains(const struct blm_part *part, const struct blm_hashed *key)
{
	uint64_t bits;

	blm_range_contains_ranges(part, &key->hash, &key->hash, 1, &bits);
	return bits;
}
