/*
 * fuse_table.c - tables of cells (fuse_table.h): their sizes, and how to fill them
 */
#include "kind/common/fuse_table.h"
#include "kind/common/sizing.h"

#include <math.h>
#include <stdio.h>

/* ---- Sizes ---- */

/*
 * From experiments of Graf and Lemire: smaller tables need relatively more cells, and segments that
 * fit their size.
 */
static unsigned segment_shift(unsigned probes, uint64_t keys)
{
	double shift = probes == 3 ? log((double)keys) / log(3.33) + 2.25
		: log((double)keys) / log(2.91) - 0.5;

	return (unsigned)fmin(fmax(shift, 2), BLM_SEGMENT_SHIFT_MAX);
}

static double cells_a_key(unsigned probes, uint64_t keys)
{
	double n = (double)(keys < 2 ? 2 : keys);

	return probes == 3 ? fmax(1.125, 0.875 + 0.25 * log(1e6) / log(n))
		: fmax(1.075, 0.77 + 0.305 * log(6e5) / log(n));
}

static struct blm_table table_for(const struct blm_shape *shape, uint64_t keys)
{
	unsigned shift = segment_shift(shape->probes, keys);
	double segments = ceil((double)keys * cells_a_key(shape->probes, keys)
			       / ldexp(1, (int)shift));

	return (struct blm_table){ .shift = shift, .segments = segments > shape->probes
				   ? (uint64_t)segments - shape->probes + 1 : 1 };
}

static uint64_t bytes(const struct blm_shape *shape, uint64_t keys)
{
	struct blm_table table = table_for(shape, keys);

	return (table_cells(&table, shape->probes) * shape->cell_bits + 7) / 8;
}

/* ---- Filling ---- */

/*
 * While the table is peeled, a cell holds three values: the XOR of the numbers of its keys, the XOR
 * of the ranks that this cell has among their cells, and the number of its keys. So a cell with one
 * key identifies the key and the rank. A cell enters the queue at most once: when only one of its
 * keys is left.
 */
enum { WHICH_SHIFT = 32, COUNT_SHIFT = 34 };
#define ONE_KEY (UINT64_C(1) << COUNT_SHIFT)

struct peeling {
	const struct blm_part *part;
	struct blm_table table;
	const struct blm_hash *hashes;
	uint64_t count, cells;
	uint64_t *cell;
	/* of cells; its beginning has the cells that own a key, in the order of peeling */
	uint32_t *queue;
};

static inline void cells_of(const struct peeling *p, unsigned probes, uint64_t key,
			    uint64_t ret[BLM_PEEL_PROBES])
{
	uint64_t rest;

	shard_number(&p->part->shape, &p->hashes[key], &rest);
	table_cells_of(&p->table, probes, &p->hashes[key], rest, ret);
}

static inline uint64_t key_in(uint64_t cell)
{
	return cell & UINT32_MAX;
}

static inline unsigned which_in(uint64_t cell)
{
	return cell >> WHICH_SHIFT & 3;
}

static inline bool has_one(uint64_t cell)
{
	return cell >> COUNT_SHIFT == 1;
}

static inline void throw_in(struct peeling *p, unsigned probes)
{
	uint64_t at[BLM_PEEL_PROBES];

	memset(p->cell, 0, p->cells * sizeof(*p->cell));
	for (uint64_t key = 0; key < p->count; key++) {
		cells_of(p, probes, key, at);
		for (uint64_t i = 0; i < probes; i++)
			p->cell[at[i]] = (p->cell[at[i]] + ONE_KEY) ^ (key | i << WHICH_SHIFT);
	}
}

/*
 * Prefetches what a later key needs while earlier keys are removed: first the cell, then its key's
 * hash, then the key's cells.
 */
enum { AHEAD = 12 };

static inline void ask_ahead(struct peeling *p, unsigned probes, const uint32_t *next)
{
	uint64_t at[BLM_PEEL_PROBES], cell = p->cell[next[2 * AHEAD]];

	__builtin_prefetch(&p->cell[next[3 * AHEAD]], 1, 2);
	if (has_one(cell))
		__builtin_prefetch(&p->hashes[key_in(cell)], 0, 2);
	cell = p->cell[next[AHEAD]];
	if (!has_one(cell))
		return;
	cells_of(p, probes, key_in(cell), at);
	for (unsigned i = 0; i < probes; i++)
		__builtin_prefetch(&p->cell[at[i]], 1, 2);
}

/*
 * Return: were all keys removed? The cells are visited in waves, from the first to the last, so
 * that the memory of the next cells can be prefetched. Following a removed key at once to its other
 * cells is much slower, although these are near. (bench-built: "build".)
 */
static inline bool take_out(struct peeling *p, unsigned probes)
{
	uint64_t at[BLM_PEEL_PROBES], tail = 0, done = 0;

	for (uint64_t c = 0; c < p->cells; c++) {
		p->queue[tail] = (uint32_t)c;
		tail += has_one(p->cell[c]);
	}
	for (uint64_t head = 0; head < tail; head++) {
		uint64_t own = p->cell[p->queue[head]], key = key_in(own);

		if (head + 3 * AHEAD < tail)
			ask_ahead(p, probes, &p->queue[head]);
		if (!has_one(own))
			continue;
		p->queue[done++] = p->queue[head];
		cells_of(p, probes, key, at);
		for (uint64_t i = 0; i < probes; i++) {
			if (i == which_in(own))
				continue;
			p->cell[at[i]] = (p->cell[at[i]] - ONE_KEY) ^ (key | i << WHICH_SHIFT);
			p->queue[tail] = (uint32_t)at[i];
			tail += has_one(p->cell[at[i]]);
		}
	}
	return done == p->count;
}

static bool peel(struct peeling *p)
{
	if (p->part->shape.probes == 3) {
		throw_in(p, 3);
		return take_out(p, 3);
	}
	throw_in(p, 4);
	return take_out(p, 4);
}

static inline void set_bits(uint64_t *words, uint64_t bit, unsigned count, uint64_t value)
{
	unsigned skip = bit % 64;

	words[bit / 64] |= htole64(value << skip);
	if (skip + count > 64)
		words[bit / 64 + 1] |= htole64(value >> (64 - skip));
}

/*
 * Sets some bits of a key's own cell, so that all its cells together give `value`. These bits are 0
 * so far.
 */
static inline void settle(const struct peeling *p, unsigned probes,
			  const uint64_t at[BLM_PEEL_PROBES], unsigned own, unsigned skip,
			  unsigned count,
			  uint64_t value)
{
	unsigned width = p->part->shape.cell_bits;

	for (unsigned i = 0; i < probes; i++)
		value ^= table_bits(p->table.words, at[i] * width + skip, count);
	set_bits(p->table.words, at[own] * width + skip, count, value & lowest_bits(count));
}

/*
 * The same in the other direction. The finished cells take less memory, so prefetching them would
 * cost more than it saves.
 */
static inline void ask_back(const struct peeling *p, const uint64_t *values, const uint32_t *last)
{
	uint64_t key = key_in(p->cell[last[-AHEAD]]);

	__builtin_prefetch(&p->cell[last[-2 * AHEAD]], 0, 2);
	__builtin_prefetch(&p->hashes[key], 0, 2);
	if (values)
		__builtin_prefetch(&values[key], 0, 2);
}

static inline void fill(const struct peeling *p, const uint64_t *values, unsigned probes)
{
	unsigned checks = (unsigned)p->part->shape.args[BLM_PEEL_CHECK],
		rest = p->part->shape.cell_bits - checks;
	uint64_t at[BLM_PEEL_PROBES];

	for (uint64_t i = p->count; i-- > 0; ) {
		uint64_t own = p->cell[p->queue[i]], key = key_in(own);

		if (i >= 2 * AHEAD)
			ask_back(p, values, &p->queue[i]);
		cells_of(p, probes, key, at);
		settle(p, probes, at, which_in(own), 0, checks, check_of(&p->hashes[key], checks));
		if (rest)
			settle(p, probes, at, which_in(own), checks, rest, values[key]);
	}
}

static uint64_t work_bytes(const struct blm_shape *shape, uint64_t keys)
{
	struct blm_table table = table_for(shape, keys);

	/* the queue: one more, for entries that are written and dropped */
	return table_cells(&table, shape->probes) * (sizeof(uint64_t) + sizeof(uint32_t))
		+ sizeof(uint32_t);
}

/*
 * For many keys the first seed nearly always works. For few keys most seeds work. Seeds are
 * independent, so one of them will work.
 */
static int make(const struct blm_part *part, struct blm_shard *shard, const struct blm_hash *hashes,
		const uint64_t *values, uint64_t count,
		void *space)
{
	struct peeling p = { .part = part, .table = table_for(&part->shape, count),
			     .hashes = hashes, .count = count };
	int r;

	p.cells = table_cells(&p.table, part->shape.probes);
	p.table.words = shard->words;
	p.cell = space;
	p.queue = (uint32_t *)(p.cell + p.cells);
	/* of forged hashes: otherwise a shard has at most 2^21 */
	if (count >> (64 - COUNT_SHIFT))
		return blm_fail(-EFBIG, "%llu keys have hashes that begin alike, too many for one "
				"shard; build with another seed or a keyed hash",
				(unsigned long long)count);
	r = part->kind->check_values ? part->kind->check_values(part->shape.args, values, count)
		: 0;
	if (r < 0)
		return r;
	for (; !peel(&p); p.table.seed++)
		;
	if (part->shape.probes == 3)
		fill(&p, values, 3);
	else
		fill(&p, values, 4);
	shard->own[0] = p.table.seed;
	shard->own[1] = p.table.segments << 8 | p.table.shift;
	return 0;
}

static const struct blm_shard_maker maker = { .bytes = bytes, .work_bytes = work_bytes,
					     .make = make };

/* ---- What kinds say of themselves ---- */

static uint64_t cells_in(const struct blm_shape *shape)
{
	return (shape->bytes - shard_index_bytes(shape)) * 8 / shape->cell_bits;
}

int blm_peel_plan(const struct blm_kind *kind, struct blm_shape *ret,
		  const struct blm_params *params, unsigned least, unsigned most,
		  unsigned value_bits)
{
	struct blm_shape s = *ret;
	uint64_t bits = s.args[BLM_PEEL_CHECK];

	if (params->cells)
		return blm_fail(-EINVAL, "a %s filter has as many cells as its keys need; leave "
				"out blm_params.cells", kind->name);
	if (bits && bits < least)
		return blm_fail(-EINVAL, "%s is %u to %u, not %llu",
				kind->options[BLM_PEEL_CHECK].name, least, most,
				(unsigned long long)bits);
	s.capacity = params->capacity;
	s.probes = params->probes ? params->probes : 3;
	s.rate = params->rate ? params->rate : bits ? ldexp(1, -(int)bits) : BLM_DEFAULT_RATE;
	if (!bits)
		bits = (uint64_t)fmax(least, ceil(-log2(s.rate)));
	if (bits > most || ldexp(1, -(int)bits) > s.rate)
		return blm_fail(-EFBIG, "with %s=%u a %s filter has a rate of 2^-%u, above the "
				"rate %g",
				kind->options[BLM_PEEL_CHECK].name,
				(unsigned)fmin((double)bits, most), kind->name,
				(unsigned)fmin((double)bits, most), s.rate);
	if (s.probes < 3 || s.probes > BLM_PEEL_PROBES)
		return blm_fail(-EINVAL, "a key of a %s filter has 3 or 4 cells, not %u",
				kind->name, s.probes);
	s.args[BLM_PEEL_CHECK] = bits;
	s.cell_bits = (uint32_t)bits + value_bits;
	s.bytes = blm_shards_bytes(&s, &maker);
	s.cells = cells_in(&s);
	if (!blm_shards_valid(&s))
		return blm_fail(-EFBIG, "a %s filter for %llu keys is larger than 2^48 bytes",
				kind->name, (unsigned long long)s.capacity);
	*ret = s;
	return 0;
}

bool blm_peel_valid(const struct blm_shape *s)
{
	return s->probes >= 3 && s->probes <= BLM_PEEL_PROBES && s->args[BLM_PEEL_CHECK] >= 1
		&& s->args[BLM_PEEL_CHECK] <= s->cell_bits
	    && blm_shards_valid(s) && s->cells == cells_in(s);
}

int blm_peel_fit(struct blm_shape *shape, const struct blm_sorted *keys)
{
	int r = blm_shards_fit(shape, keys, &maker);

	if (r == 0)
		shape->cells = cells_in(shape);
	return r;
}

int blm_peel_build(struct blm_part *part, const struct blm_sorted *keys)
{
	return blm_shards_build(part, keys, &maker);
}

int blm_peel_build_within(struct blm_part *part, const struct blm_sorted *keys, uint64_t from,
			  uint64_t to)
{
	return blm_shards_build_within(part, keys, &maker, from, to);
}

double blm_peel_rate_at(const struct blm_shape *shape, uint64_t keys)
{
	return keys ? ldexp(1, -(int)shape->args[BLM_PEEL_CHECK]) : 0;
}

/* ---- Facts ---- */

bool blm_peel_foretell(const struct blm_shape *shape, unsigned i, struct blm_fact *ret)
{
	unsigned bits = (unsigned)shape->args[BLM_PEEL_CHECK];
	double least = (double)shape->capacity * shape->cell_bits;

	if (i > (shape->cell_bits > bits))
		return false;
	if (i == 0) {
		*ret = (struct blm_fact){ .name = "resulting rate", .value = ldexp(1, -(int)bits) };
		snprintf(ret->text, sizeof(ret->text), "%.4g: 1 in 2^%u, however many keys",
			 ret->value, bits);
	} else {
		*ret = (struct blm_fact){ .name = "values",
					  .value = (double)shape->bytes * 8 / least };
		snprintf(ret->text, sizeof(ret->text), "%u bits each, and %u to tell strangers; it "
			 "takes %.4g times as many bits as both", shape->cell_bits - bits,
			 bits, ret->value);
	}
	return true;
}

bool blm_peel_describe(const struct blm_part *part, unsigned i, struct blm_fact *ret)
{
	return blm_peel_foretell(&part->shape, i, ret);
}
