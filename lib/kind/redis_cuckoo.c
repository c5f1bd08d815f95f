/*
 * redis_cuckoo.c - the cuckoo filter of RedisBloom: fingerprints of a byte in buckets of 1 to 255,
 * in a chain of tables
 *
 * Bit for bit the result of CF.ADD, until something moves. With h the low half of the hash, a
 * fingerprint is h mod 255 + 1; its buckets in each table are h and h ^ fingerprint * 0x5bd1e995,
 * both modulo the table's buckets, a power of 2. The tables follow each other; each has `expansion`
 * times the buckets of the one before. A question reads two buckets of each, and `probes` counts
 * these. A key goes into the same cell as in RedisBloom: the first empty cell of its buckets, the
 * newest table first. If there is none RedisBloom moves fingerprints and, if that does not help,
 * begins another table. Here they move as in cuckoo.c (and relocation.h), and then the filter is
 * full: only a server adds tables.
 */
#include "kind/common/swar.h"
#include "kind/common/relocation.h"
#include "kind/common/prefetch.h"
#include "kind/redis_cuckoo_chain.h"

#include <stdio.h>

enum {
	SEARCHED = 4096,		/* buckets, for an empty cell: then it is full */
	SAMPLE = 8 << 20,		/* cells, from which a load is known */
	TRIES = 8,			/* to count while no writer changes a cell */
};

#define MIXER UINT64_C(0x5bd1e995)
#define NO_CELL UINT64_MAX

/* ---- Where a key is ---- */

/* The cells from `first` on, of a bucket; in a word, eight of them at a time. */
static uint64_t matches(const struct blm_part *part, uint64_t first, unsigned count, unsigned print)
{
	const struct blm_lanes bytes = { UINT64_C(0x0101010101010101),
					 UINT64_C(0x8080808080808080) };
	uint64_t word = lanes_load((const uint64_t *)part->bytes, 8 * first, 8 * count);

	return lanes_zero(word ^ print * bytes.low, bytes) & UINT64_MAX >> (64 - 8 * count);
}

/* How many cells of a bucket hold it, apart from the cell `except`? *ret_cell: the first one. */
static unsigned count_but(const struct blm_part *part, uint64_t bucket, unsigned slots,
			  unsigned print, uint64_t except, uint64_t *ret_cell)
{
	unsigned found = 0;

	for (unsigned i = 0; i < slots; i += 8) {
		uint64_t here = matches(part, bucket + i, slots - i < 8 ? slots - i : 8, print);

		if (except - (bucket + i) < 8)
			here &= ~(UINT64_C(0x80) << 8 * (except - (bucket + i)));
		if (here && !found)
			*ret_cell = bucket + i + (unsigned)__builtin_ctzll(here) / 8;
		found += (unsigned)__builtin_popcountll(here);
	}
	return found;
}

static unsigned count_in(const struct blm_part *part, uint64_t bucket, unsigned slots,
			 unsigned print, uint64_t *ret_cell)
{
	return count_but(part, bucket, slots, print, NO_CELL, ret_cell);
}

struct table {
	uint64_t first;			/* cell */
	uint64_t mask;			/* buckets - 1 */
	unsigned slots;
};

/* The tables from the newest on: before the first one, then each from the one after. */
static void next_table(struct table *t, const struct chain *c, const struct blm_shape *s,
		       unsigned table)
{
	t->first = (table + 1 == c->tables ? s->cells : t->first) - cells_of(c, table);
	t->mask = buckets_of(c, table) - 1;
	t->slots = c->slots;
}

static unsigned print_of(uint64_t h)
{
	return (unsigned)(h % 255) + 1;
}

static uint64_t other(uint64_t h, unsigned print)
{
	return h ^ print * MIXER;
}

static uint64_t bucket_at(const struct table *t, uint64_t h)
{
	return t->first + (h & t->mask) * t->slots;
}

/*
 * How many cells hold it, apart from `except`? A key whose two buckets are the same counts twice,
 * as in RedisBloom. Stops at `enough`.
 */
static uint64_t count(const struct blm_part *part, uint64_t h, uint64_t enough, uint64_t except)
{
	struct chain c = blm_redis_cuckoo_chain(&part->shape);
	unsigned print = print_of(h);
	uint64_t cell, found = 0;
	struct table t = { 0 };

	for (unsigned i = c.tables; i-- && found < enough; ) {
		next_table(&t, &c, &part->shape, i);
		found += count_but(part, bucket_at(&t, h), t.slots, print, except, &cell);
		found += count_but(part, bucket_at(&t, other(h, print)), t.slots, print, except,
				   &cell);
	}
	return found;
}

static uint64_t count_still(const struct blm_part *part, uint64_t h, uint64_t enough)
{
	uint64_t before, found, moves = load_acquire(own_word(part, MOVES));

	do {
		before = moves;
		found = count(part, h, enough, NO_CELL);
		moves = load_acquire(own_word(part, MOVES));
	} while (found < enough && moves != before);
	return found;
}

/*
 * Without the cell in flight: a writer that died in the middle of a move left a fingerprint in two
 * cells. It must be the same cell before and after the count; otherwise a later writer cleared the
 * other one. During constant changes a fingerprint that is there twice counts twice.
 */
static uint64_t count_settled(const struct blm_part *part, uint64_t h)
{
	for (int i = 0; i < TRIES; i++) {
		uint64_t moves = load_acquire(own_word(part, MOVES)),
			in_flight = load_acquire(own_word(part, IN_FLIGHT));
		uint64_t found = count(part, h, UINT64_MAX, in_flight - 1);

		if (load_acquire(own_word(part, IN_FLIGHT)) == in_flight
		    && load_acquire(own_word(part, MOVES)) == moves)
			return found;
	}
	return count_still(part, h, UINT64_MAX);
}

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	return count_still(part, key->hash.lo, 1);
}

/*
 * A writer that died while it added or removed a fingerprint left that in the cell in flight alone.
 * contains() finds it there, so it counts until the next writer clears the cell.
 */
static int get(const struct blm_part *part, const struct blm_hashed *key, uint64_t *ret)
{
	uint64_t found = count_settled(part, key->hash.lo);

	if (!found)
		found = count_still(part, key->hash.lo, 1);
	if (found)
		*ret = found;
	return found != 0;
}

static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	struct chain c = blm_redis_cuckoo_chain(&part->shape);
	struct table t = { 0 };

	next_table(&t, &c, &part->shape, c.tables - 1);
	blm_fetch(part->bytes + bucket_at(&t, key->hash.lo));
	blm_fetch(part->bytes + bucket_at(&t, other(key->hash.lo, print_of(key->hash.lo))));
}

static const uint64_t *probe(const struct blm_part *part, const struct blm_hashed *key, unsigned i,
			     uint64_t *ret_mask)
{
	struct chain c = blm_redis_cuckoo_chain(&part->shape);
	uint64_t h = key->hash.lo;
	struct table t = { 0 };

	*ret_mask = 0;
	if (i >= 2 * c.tables)
		return NULL;
	for (unsigned table = c.tables; table-- > c.tables - 1 - i / 2; )
		next_table(&t, &c, &part->shape, table);
	return (const uint64_t *)part->bytes + bucket_at(&t, i % 2 ? other(h, print_of(h)) : h) / 8;
}

/* ---- Facts ---- */

static unsigned padding_bits(const struct blm_shape *s)
{
	return (unsigned)(s->bytes - s->cells) * 8;
}

static double load_in(const struct blm_part *part, uint64_t first, uint64_t cells)
{
	uint64_t some = cells < SAMPLE ? cells : SAMPLE, taken = 0;

	for (uint64_t cell = first; cell < first + some; cell++)
		taken += get_cell(part, cell) != 0;
	return (double)taken / (double)some;
}

/* The share of cells that are taken, and how many fingerprints a question meets. */
static double load_now(const struct blm_part *part, const struct chain *c, double *ret_met)
{
	struct table t = { 0 };
	double taken = 0;

	*ret_met = 0;
	for (unsigned i = c->tables; i--; ) {
		double load;

		next_table(&t, c, &part->shape, i);
		load = load_in(part, t.first, cells_of(c, i));
		taken += load * (double)cells_of(c, i);
		*ret_met += 2 * c->slots * load;
	}
	return taken / (double)part->shape.cells;
}

static bool describe(const struct blm_part *part, unsigned i, struct blm_fact *ret)
{
	static const char *const names[] = { "tables", "buckets", "deletes", "load", "rate now" };
	struct chain c = blm_redis_cuckoo_chain(&part->shape);
	double met = 0, load = i == 3 || i == 4 ? load_now(part, &c, &met) : 0;
	uint64_t deletes = load_acquire(own_word(part, REDIS_CUCKOO_DELETES));
	const double values[] = { c.tables, (double)c.buckets, (double)deletes, load,
				  blm_redis_cuckoo_rate_with(met) };

	if (i >= ARRAY_LEN(names))
		return false;
	*ret = (struct blm_fact){ .name = names[i], .value = values[i] };
	if (i == 1)
		snprintf(ret->text, sizeof(ret->text), "%.0f of %u cells in the first table",
			 values[i], c.slots);
	else
		snprintf(ret->text, sizeof(ret->text), "%.4g%s", values[i],
			 i == 3 ? " of the cells are taken; full, it refuses keys" :
			 i == 4 ? ", by the load" : "");
	if (i == 2)
		snprintf(ret->text, sizeof(ret->text), "%.0f keys were removed, by its own count",
			 values[i]);
	return true;
}

/* ---- Changes ---- */

/* The first cell of a bucket that holds this, if one does: then it holds that. */
static bool change_in(struct blm_part *part, const struct table *t, uint64_t h, unsigned from,
		      unsigned to)
{
	uint64_t cell;

	if (!count_in(part, bucket_at(t, h), t->slots, from, &cell))
		return false;
	place(part, cell, to);
	return true;
}

/*
 * Buckets that can be reached, by the number of moves: the first two, then the buckets that the
 * fingerprints of steps[0] can move to, then those of steps[1], and so on. A bucket is its number
 * in the table.
 */
struct search {
	const struct blm_part *part;
	const struct table *table;
	uint64_t steps[SEARCHED];
};

/* whose fingerprint can move to steps[step]; the first two have none */
static uint64_t cell_before(const struct search *s, unsigned step)
{
	unsigned slots = s->table->slots;

	return bucket_at(s->table, s->steps[(step - 2) / slots]) + (step - 2) % slots;
}

/*
 * The first of the shortest paths to an empty cell, so no bucket is on it twice. Returns its last
 * step; -EXFULL: none.
 */
static int search(struct search *s, uint64_t h, unsigned print, uint64_t *ret_empty)
{
	unsigned count = 2, slots = s->table->slots;

	s->steps[0] = h & s->table->mask;
	s->steps[1] = other(h, print) & s->table->mask;
	for (unsigned step = 0; step < count; step++) {
		if (count_in(s->part, bucket_at(s->table, s->steps[step]), slots, 0, ret_empty))
			return (int)step;
		for (unsigned i = 0; i < slots && count < SEARCHED; i++, count++) {
			s->steps[count] = other(s->steps[step], (unsigned)get_cell(s->part,
				cell_before(s, count))) & s->table->mask;
			blm_fetch(s->part->bytes + bucket_at(s->table, s->steps[count]));
		}
	}
	return -EXFULL;
}

static bool is_full_of(const struct blm_part *part, const struct table *t, uint64_t h,
		       unsigned print)
{
	uint64_t first = bucket_at(t, h);

	for (unsigned i = 0; i < t->slots; i++)
		if (get_cell(part, first + i) != print)
			return false;
	return true;
}

static int make_space_for(struct blm_part *part, const struct table *t, uint64_t h, unsigned print)
{
	struct search s = { .part = part, .table = t };
	uint64_t empty = 0;
	int step = search(&s, h, print, &empty);

	for (; step >= 2; step = (step - 2) / (int)t->slots) {
		uint64_t from = cell_before(&s, (unsigned)step);

		move(part, from, empty);
		empty = from;
	}
	if (step < 0)
		return blm_fail(step, "the filter is full; on a server it would begin another "
				"table");
	place(part, empty, print);
	return 1;
}

static int add(struct blm_part *part, const struct blm_hashed *key)
{
	struct chain c = blm_redis_cuckoo_chain(&part->shape);
	uint64_t h = key->hash.lo;
	unsigned print = print_of(h);
	struct table t = { 0 };

	for (unsigned i = c.tables; i--; ) {
		next_table(&t, &c, &part->shape, i);
		if (change_in(part, &t, h, 0, print)
		    || change_in(part, &t, other(h, print), 0, print))
			return 1;
	}
	next_table(&t, &c, &part->shape, c.tables - 1);
	/*
	 * a fingerprint moves only between the two buckets that both are full of it, so no path
	 * leads to an empty cell
	 */
	if (is_full_of(part, &t, h, print) && is_full_of(part, &t, other(h, print), print))
		return blm_fail(-EMLINK, "the two buckets of a key are full of it");
	return make_space_for(part, &t, h, print);
}

static int claim(struct blm_part *part, const struct blm_hashed *key)
{
	return contains(part, key) ? 0 : add(part, key);
}

/* The newest copy of it. */
static int remove_key(struct blm_part *part, const struct blm_hashed *key)
{
	struct chain c = blm_redis_cuckoo_chain(&part->shape);
	uint64_t h = key->hash.lo, *deletes = own_word(part, REDIS_CUCKOO_DELETES);
	unsigned print = print_of(h);
	struct table t = { 0 };

	for (unsigned i = c.tables; i--; ) {
		next_table(&t, &c, &part->shape, i);
		if (change_in(part, &t, h, print, 0)
		    || change_in(part, &t, other(h, print), print, 0)) {
			store_release(deletes, load_relaxed(deletes) + 1);
			return 1;
		}
	}
	return 0;
}

static const struct blm_option options[] = {
	{ "bucket-size", "cells of a bucket", BLM_OPTION_COUNT, 1, REDIS_CUCKOO_BUCKET_MOST, 2 },
	{ "expansion", "on a server: how many times as many buckets each table has as the one "
	  "before, a power of 2; 0: there is one", BLM_OPTION_COUNT,
	  0, REDIS_CUCKOO_EXPANSION_MOST, 1 },
	{ "iterations", "on a server: how many fingerprints may move for one key", BLM_OPTION_COUNT,
	  1, REDIS_CUCKOO_ITERATIONS_MOST, 20 },
	{ 0 }
};

const struct blm_kind blm_kind_redis_cuckoo = {
	.id = 19,
	.name = "redis-cuckoo",
	.protocol = BLM_SINGLE_WRITER_CHECKPOINT,
	.summary = "RedisBloom's cuckoo filter: fingerprints of 8 bits, which can be removed and "
	"counted",
	.caveat = "removing a key that was never added can take out another: it seems to be there "
	"with the false-positive rate; each add is one more copy of the key, so add what may come "
	"more often by claim; here it does not grow; a copy by `cp` while it is changed can lack "
	"keys that are moved: use blm_copy()",
	.family = "murmur64a-64",
	.options = options,
	.plan = blm_redis_cuckoo_plan, .valid = blm_redis_cuckoo_valid, .contains = contains,
	.rate_at = blm_redis_cuckoo_rate,
	.add = add, .remove = remove_key, .claim = claim, .recover = recover, .get = get,
	.prefetch = prefetch, .probe = probe, .padding_bits = padding_bits, .describe = describe,
	.hash_bits = 64, .fills = true,
};
