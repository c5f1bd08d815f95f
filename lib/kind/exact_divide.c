/*
 * exact_divide.c - which columns share a part of the first level, and the level made so
 *
 * A part of n keys and o others is smallest at the rate n / (o ln 2), as exact.c says of a level.
 * So columns of about the same share belong together: their rates are rounded to powers of 2, and
 * the columns of one power are a part. An entry costs a column 32 bits. A column that would save
 * less stays in part 0, which has no entries. Parts next to each other become one where that saves
 * bytes.
 */
#include "kind/exact_parts.h"
#include "kind/exact_sieve.h"

#include <math.h>

/* Rates 2^-0 to 2^-30; then the columns without keys, whose rate is 0. */
enum { POWERS = 31, EMPTY = POWERS, CLASSES };
static_assert((int)CLASSES <= (int)EXACT_PARTS_MAX, "a part each");

/* The most columns that are counted, in 48 MiB of memory. With more, entries hardly save bytes. */
enum { ENTRY_BITS = 32, AT_ONCE = 1024, COLUMNS_MOST = 1 << 20 };

struct tally {
	uint32_t column;
	uint64_t keys, others;
};

struct tallies {
	struct tally *at;		/* a hash table while keys are counted; then in order */
	uint64_t count, capacity;		/* capacity: a power of 2 */
};

/* ---- Counting ---- */

static struct tally *find(const struct tallies *t, uint32_t column)
{
	uint64_t i = column * UINT64_C(0x9E3779B97F4A7C15) >> 20;

	while (t->at[i & (t->capacity - 1)].column != column
	       && (t->at[i & (t->capacity - 1)].keys || t->at[i & (t->capacity - 1)].others))
		i++;
	return &t->at[i & (t->capacity - 1)];
}

static int make_space(struct tallies *t)
{
	struct tallies more = { .count = t->count,
				.capacity = t->capacity ? 2 * t->capacity : 1024 };

	if (t->count < t->capacity / 2)
		return 0;
	more.at = calloc(more.capacity, sizeof(*more.at));
	if (!more.at)
		return blm_fail(-ENOMEM, "no memory to count the keys of %llu columns",
				(unsigned long long)t->count);
	for (uint64_t i = 0; i < t->capacity; i++)
		if (t->at[i].keys || t->at[i].others)
			*find(&more, t->at[i].column) = t->at[i];
	free(t->at);
	*t = more;
	return 0;
}

static int count_list(struct tallies *t, const struct blm_sorted *list, bool others)
{
	struct blm_hash hashes[AT_ONCE];
	int r = 0;

	for (uint64_t at = 0, some; r == 0 && at < list->count && t->count <= COLUMNS_MOST;
	     at += some) {
		some = list->count - at < AT_ONCE ? list->count - at : AT_ONCE;
		r = sorted_read(list, at, hashes, NULL, (size_t)some);
		for (size_t i = 0; r == 0 && i < some && t->count <= COLUMNS_MOST; i++) {
			struct tally *column;

			r = make_space(t);
			if (r < 0)
				break;
			column = find(t, column_of(&hashes[i]));
			t->count += !column->keys && !column->others;
			column->column = column_of(&hashes[i]);
			column->keys += !others;
			column->others += others;
		}
	}
	return r;
}

static int by_column(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return x->column < y->column ? -1 : x->column > y->column;
}

static void put_in_order(struct tallies *t)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < t->capacity; i++)
		if (t->at[i].keys || t->at[i].others)
			t->at[count++] = t->at[i];
	if (count)
		qsort(t->at, count, sizeof(*t->at), by_column);
}

/* ---- Choosing ---- */

/* Some columns together; the entries that name them. */
struct class {
	uint64_t keys, others, entries;
	bool there;
};

struct choice {
	const struct tallies *columns;
	double most;			/* rate */
	uint8_t merged[CLASSES];	/* into which class a class went; itself: none */
	struct class of[CLASSES];
	unsigned usual;			/* the class that is part 0 */
};

static double class_rate(double keys, double others, double most)
{
	double rate = keys ? fmin(most, keys / (others * M_LN2)) : 0;

	/* as in exact.c: a ribbon has no rate between 1/2 and 1 */
	return rate >= 1 ? 1 : fmax(fmin(rate, 0.5), keys ? 0x1p-32 : 0);
}

static unsigned class_of(const struct tally *t, double most)
{
	double rate = class_rate((double)t->keys, (double)t->others, most);
	unsigned power = rate ? (unsigned)lround(-log2(rate)) : EMPTY;

	power += power < EMPTY && ldexp(1, -(int)power) > most;
	return rate && power >= POWERS ? POWERS - 1 : power;
}

/* The bits of a column in a class. */
static double column_bits(const struct tally *t, unsigned class)
{
	return class == EMPTY ? 0 : (double)t->keys * class + ldexp((double)t->others, -(int)class);
}

/* Does the column have an entry, rather than be in the usual class? */
static bool is_entered(const struct tally *t, unsigned own, unsigned usual)
{
	return own != usual && column_bits(t, usual) > column_bits(t, own) + ENTRY_BITS;
}

static unsigned usual_class(const struct choice *c)
{
	double least = INFINITY;
	unsigned ret = 0;

	for (unsigned usual = 0; usual < POWERS; usual++) {
		double bits = 0;

		if (ldexp(1, -(int)usual) > c->most)
			continue;
		for (uint64_t i = 0; i < c->columns->count; i++) {
			const struct tally *t = &c->columns->at[i];

			bits += fmin(column_bits(t, usual), ENTRY_BITS
				     + column_bits(t, class_of(t, c->most)));
		}
		if (bits < least) {
			least = bits;
			ret = usual;
		}
	}
	return ret;
}

static void add_columns(struct choice *c)
{
	for (uint64_t i = 0; i < c->columns->count; i++) {
		const struct tally *t = &c->columns->at[i];
		unsigned own = class_of(t, c->most);
		bool entered = is_entered(t, own, c->usual);
		struct class *in = &c->of[entered ? own : c->usual];

		in->there = true;
		in->keys += t->keys;
		in->others += t->others;
		in->entries += entered;
	}
	c->of[c->usual].there = true;
	for (unsigned i = 0; i < CLASSES; i++)
		c->merged[i] = (uint8_t)i;
}

static struct blm_shape ribbon_of(const struct class *of, double most)
{
	return exact_level(of->keys, class_rate((double)of->keys, (double)of->others, most));
}

/*
 * The bits of a class: its ribbon, its entries, and the second level's bits for the others that
 * pass.
 */
static double class_bytes(const struct class *of, double most, uint64_t *ret_passed)
{
	struct blm_shape ribbon = ribbon_of(of, most);
	bool ribbons = ribbon.rate > 0 && ribbon.rate < 1;
	double passed = (double)of->others * (ribbons ? blm_ribbon_rate(&ribbon) : ribbon.rate),
		entries = (double)of->entries * ENTRY_BITS / 8 + sizeof(struct exact_part);

	*ret_passed = (uint64_t)ceil(passed);
	return entries + passed / 8 + (double)(ribbons ? blm_ribbon_bytes(&ribbon) : 0);
}

/* One of two classes, next to each other, if that saves bytes. */
static bool merge_some(struct choice *c)
{
	double best = 0;
	unsigned from = 0, into = 0;

	for (unsigned i = 0, last = POWERS; i < POWERS; i++) {
		struct class both = c->of[i];
		uint64_t ignored;
		double saved;

		if (!c->of[i].there)
			continue;
		if (last < POWERS) {
			both.keys += c->of[last].keys;
			both.others += c->of[last].others;
			both.entries += c->of[last].entries;
			if (i == c->usual || last == c->usual)
				both.entries = 0;
			saved = class_bytes(&c->of[i], c->most, &ignored)
				+ class_bytes(&c->of[last], c->most, &ignored)
				- class_bytes(&both, c->most, &ignored);
			if (saved > best) {
				best = saved;
				into = i == c->usual ? i : last;
				from = i == c->usual ? last : i;
			}
		}
		last = i;
	}
	if (best <= 0)
		return false;
	c->of[into].keys += c->of[from].keys;
	c->of[into].others += c->of[from].others;
	c->of[into].entries = into == c->usual ? 0 : c->of[into].entries + c->of[from].entries;
	c->of[from] = (struct class){ .there = false };
	for (unsigned i = 0; i < CLASSES; i++)
		if (c->merged[i] == from)
			c->merged[i] = (uint8_t)into;
	return true;
}

/* Both levels. */
static double all_bytes(const struct class *of, unsigned count, double most)
{
	uint64_t keys = 0, passed = 0, here;
	struct blm_shape second;
	double bytes = 0;

	for (unsigned i = 0; i < count; i++) {
		if (!of[i].there)
			continue;
		bytes += class_bytes(&of[i], most, &here) - (double)here / 8;
		passed += here;
		keys += of[i].keys;
	}
	second = exact_level(keys + passed, 0.5);
	return bytes + (double)blm_ribbon_bytes(&second);
}

/* ---- The result ---- */

static int list_columns(struct exact_division *ret, const struct choice *c,
			const uint8_t number[CLASSES])
{
	const struct tallies *t = c->columns;

	for (int pass = 0; pass < 2; pass++) {
		uint64_t count = 0;

		for (uint64_t i = 0; i < t->count; i++) {
			unsigned own = class_of(&t->at[i], c->most), in = c->merged[own];

			if (!is_entered(&t->at[i], own, c->usual) || in == c->usual)
				continue;
			if (pass)
				ret->columns[count] = t->at[i].column << EXACT_PART_BITS
					| number[in];
			count++;
		}
		ret->count = count;
		if (!pass && !(ret->columns = malloc((count + 1) * sizeof(*ret->columns))))
			return blm_fail(-ENOMEM, "no memory for %llu columns",
					(unsigned long long)count);
	}
	return 0;
}

static int take_choice(struct exact_division *ret, const struct choice *c)
{
	uint8_t number[CLASSES] = { 0 };

	ret->parts = 1;			/* the usual one is the first */
	for (unsigned i = 0; i < CLASSES; i++) {
		unsigned part = i == c->usual ? 0 : ret->parts;

		if (!c->of[i].there)
			continue;
		number[i] = (uint8_t)part;
		ret->keys[part] = c->of[i].keys;
		ret->rate[part] = ribbon_of(&c->of[i], c->most).rate;
		ret->parts += i != c->usual;
	}
	return list_columns(ret, c, number);
}

static int choose(struct exact_division *ret, const struct tallies *columns, double most)
{
	struct choice c = { .columns = columns, .most = most };
	struct class all = { .there = true };
	double before, after;

	c.usual = usual_class(&c);
	add_columns(&c);
	while (merge_some(&c))
		;
	for (uint64_t i = 0; i < columns->count; i++) {
		all.keys += columns->at[i].keys;
		all.others += columns->at[i].others;
	}
	before = all_bytes(&all, 1, most) - sizeof(struct exact_part);
	after = all_bytes(c.of, CLASSES, most);
	if (after + BLM_SHARD_ALIGN >= before)
		return 0;
	ret->saved = (uint64_t)(before - after);
	return take_choice(ret, &c);
}

int blm_exact_divide(struct exact_division *ret, const struct blm_sorted *keys, double most)
{
	struct tallies columns = { .at = NULL };
	int r = count_list(&columns, keys, false);

	*ret = (struct exact_division){ .parts = 0 };
	if (r == 0)
		r = count_list(&columns, keys->others->list, true);
	if (r == 0 && columns.count <= COLUMNS_MOST) {
		put_in_order(&columns);
		r = choose(ret, &columns, most);
	}
	free(columns.at);
	return r;
}

/* ---- Building ---- */

/* A kind that no file has, for a sieve: it answers whether a key is of one part. */
struct part_only {
	const struct exact_division *by;
	unsigned number;
};

static int by_entry(const void *column, const void *entry)
{
	uint32_t a = *(const uint32_t *)column, b = *(const uint32_t *)entry >> EXACT_PART_BITS;

	return a < b ? -1 : a > b;
}

static void is_of_part(const struct blm_part *part, const struct blm_batch *batch,
		       uint64_t *ret_bits)
{
	const struct part_only *only = (const struct part_only *)part->bytes;

	memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
	for (size_t i = 0; i < batch->count; i++) {
		uint32_t column = column_of(&batch->hashes[i]);
		const uint32_t *entry = bsearch(&column, only->by->columns, only->by->count,
						sizeof(*entry), by_entry);
		unsigned number = entry ? *entry & (EXACT_PARTS_MAX - 1) : 0;

		ret_bits[i / 64] |= (uint64_t)(number == only->number) << i % 64;
	}
}

static int read_none(const struct blm_sorted *keys, uint64_t from, struct blm_hash *ret,
		     uint64_t *ret_values, size_t count)
{
	return 0;
}

/* The keys of a part alone, in order: a sieve lets them through. */
static int keys_of_part(struct sieve *ret, const struct exact_division *by, unsigned number,
			const struct blm_sorted *keys, const struct blm_sorted *none)
{
	static const struct blm_kind kind = { .contains_many = is_of_part };
	struct part_only only = { by, number };
	struct blm_part part = { .kind = &kind, .bytes = (uint8_t *)&only };
	int r = blm_sieve_make(ret, none, keys, &part);

	ret->plain = true;
	ret->merged.has_values = false;
	return r;
}

static int grow_level(struct blm_part *level, uint64_t bytes)
{
	uint8_t *all = aligned_alloc(BLM_SHARD_ALIGN, level->shape.bytes + bytes);

	if (!all)
		return blm_fail(-ENOMEM, "no memory for a first level of %llu bytes",
				(unsigned long long)(level->shape.bytes + bytes));
	if (level->bytes)
		memcpy(all, level->bytes, level->shape.bytes);
	memset(all + level->shape.bytes, 0, bytes);
	free(level->bytes);
	level->bytes = all;
	level->shape.bytes += bytes;
	return 0;
}

/* Adds the ribbon of a part at the end. */
static int add_part(struct blm_part *level, const struct exact_division *by, unsigned number,
		    const struct blm_sorted *keys)
{
	struct blm_sorted none = { .threads = keys->threads, .memory_bytes = keys->memory_bytes,
				   .read = read_none };
	struct exact_part *entry;
	struct blm_part ribbon = { .kind = &blm_kind_ribbon, .unshared = true };
	uint64_t at = level->shape.bytes;
	struct sieve sieve;
	int r = 0;

	if (by->rate[number] > 0 && by->rate[number] < 1) {
		ribbon.shape = exact_level(by->keys[number], by->rate[number]);
		r = keys_of_part(&sieve, by, number, keys, &none);
		if (r == 0)
			r = blm_ribbon_fit(&ribbon.shape, &sieve.merged);
		if (r == 0)
			r = grow_level(level, ribbon.shape.bytes);
		ribbon.bytes = level->bytes + at;
		if (r == 0)
			r = blm_ribbon_build(&ribbon, &sieve.merged);
		blm_sieve_end(&sieve);
	}
	entry = (struct exact_part *)level->bytes + number;
	*entry = (struct exact_part){ htole64(by->keys[number]), htole64(ribbon.shape.bytes) };
	return r;
}

int blm_exact_build_parts(struct blm_part *ret_level, const struct exact_division *by,
			  const struct blm_sorted *keys)
{
	uint32_t *columns;
	int r;

	*ret_level = (struct blm_part){ .kind = &blm_exact_parts };
	ret_level->shape.args[EXACT_LEVEL_PARTS] = by->parts;
	ret_level->shape.args[EXACT_LEVEL_COLUMNS] = by->count;
	r = grow_level(ret_level, exact_table_bytes(by->parts, by->count));
	if (r < 0)
		return r;
	columns = (uint32_t *)(ret_level->bytes + by->parts * sizeof(struct exact_part));
	for (uint64_t i = 0; i < by->count; i++)
		columns[i] = htole32(by->columns[i]);
	for (unsigned i = 0; r == 0 && i < by->parts; i++)
		r = add_part(ret_level, by, i, keys);
	return r;
}
