/*
 * iblt.c - two tables list the keys that only one of them has. The size depends on how many keys
 * differ, not on how many a table holds
 *
 * M. T. Goodrich and M. Mitzenmacher, "Invertible Bloom Lookup Tables", Allerton 2011; D. Eppstein,
 * M. T. Goodrich, F. Uyeda and G. Varghese, "What's the Difference? Efficient Set Reconciliation
 * without Prior Context", SIGCOMM 2011. A key goes into four cells, one in each quarter of them; a
 * cell holds how many keys it has, the XOR of them, of their lengths and of a check of each. Two
 * tables are subtracted cell by cell: what both have is gone, and a cell with one key left says
 * which (iblt_peel.c).
 *
 * One writer at a time. A key changes four cells of several words, so before that it puts them into
 * the journal, which is in the data and so in every copy of them. A writer that dies in the middle
 * leaves it there. The next writer, or the reader that takes the table apart, puts the cells back:
 * the key whose add never returned is not in. Questions read no more of a cell than its first word,
 * which counts its keys: that changes in one store, and is never 0 while a key of the cell is in,
 * also when it is put back.
 */
#include "kind/iblt.h"
#include "kind/common/prefetch.h"
#include "kind/common/sizing.h"

#include <math.h>
#include <stdio.h>

static const struct blm_option options[] = {
	[IBLT_KEY_BYTES] = { "key-bytes", "the longest key that it takes; a cell is 16 bytes "
			     "larger", BLM_OPTION_COUNT, 1, IBLT_KEY_BYTES_MOST, 32, NULL },
	{ NULL }
};

/* ---- Sizes ---- */

/*
 * Keys are taken apart from one another as long as there are more than 1.3 cells for each that
 * differs, if these are many; of few it is a matter of chance whether two have the same cells. With
 * these, 1 in 1000 tables at capacity is not taken apart, or less.
 */
#define CELLS_A_KEY 1.4
enum { CELLS_MORE = 72 };

static uint64_t bytes_for(const struct blm_shape *s)
{
	return round_up(iblt_journal_bytes(s) + s->cells * iblt_words(s) * 8, 64);
}

static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	double quarter = (double)s->cells / IBLT_PROBES;

	return keys ? pow(-expm1((double)keys * log1p(-1 / quarter)), IBLT_PROBES) : 0;
}

/* In a quarter; of the rate only where one was asked for. */
static double quarter_for(uint64_t keys, double rate)
{
	double listed = ceil((CELLS_A_KEY * (double)keys + CELLS_MORE) / IBLT_PROBES);

	return rate ? fmax(listed, ceil(-1 / expm1(log1p(-pow(rate, 1.0 / IBLT_PROBES))
						   / (double)keys))) : listed;
}

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .cells = params->cells, .probes = IBLT_PROBES,
			       .capacity = params->capacity, .rate = params->rate };
	uint64_t most = (uint64_t)fmax(1, floor(((double)s.cells - CELLS_MORE) / CELLS_A_KEY));

	memcpy(s.args, ret->args, sizeof(s.args));
	s.cell_bits = (uint32_t)(64 * iblt_words(&s));
	if (params->probes && params->probes != IBLT_PROBES)
		return blm_fail(-EINVAL, "an iblt has %d cells for a key, not %u", IBLT_PROBES,
				params->probes);
	if (s.cells % IBLT_PROBES || (s.cells && s.cells < 2 * IBLT_PROBES))
		return blm_fail(-EINVAL, "an iblt has a multiple of %d cells, from %d on, not %llu",
				IBLT_PROBES, 2 * IBLT_PROBES, (unsigned long long)s.cells);
	if (s.cells > IBLT_CELLS_MOST)
		return blm_fail(-EFBIG, "an iblt has at most 2^32 cells, not %llu",
				(unsigned long long)s.cells);
	if (s.cells && s.capacity > most
	    && quarter_for(s.capacity, 0) > (double)(s.cells / IBLT_PROBES))
		return blm_fail(-EINVAL, "an iblt of %llu cells lists %llu keys that two of them "
				"differ by, not %llu", (unsigned long long)s.cells,
				(unsigned long long)most, (unsigned long long)s.capacity);
	if (!s.capacity)
		s.capacity = most;
	if (!s.cells) {
		double quarter = quarter_for(s.capacity, s.rate);

		if (quarter > (double)(IBLT_CELLS_MOST / IBLT_PROBES))
			return blm_fail(-EFBIG, "an iblt for %llu keys needs more than 2^32 cells",
					(unsigned long long)s.capacity);
		s.cells = (uint64_t)quarter * IBLT_PROBES;
	}
	if (!s.rate)
		s.rate = rate_at(&s, s.capacity);
	s.bytes = bytes_for(&s);
	*ret = s;
	return 0;
}

static bool valid(const struct blm_shape *s)
{
	return s->args[IBLT_KEY_BYTES] >= 1 && s->args[IBLT_KEY_BYTES] <= IBLT_KEY_BYTES_MOST
		&& s->cell_bits == 64 * iblt_words(s)
	    && s->probes == IBLT_PROBES && s->cells >= 2 * IBLT_PROBES
	    && s->cells <= IBLT_CELLS_MOST && s->cells % IBLT_PROBES == 0
	    && s->bytes == bytes_for(s);
}

static unsigned padding_bits(const struct blm_shape *s)
{
	return (unsigned)(8 * (s->bytes - iblt_journal_bytes(s) - s->cells * iblt_words(s) * 8));
}

/* ---- Questions ---- */

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	for (unsigned i = 0; i < IBLT_PROBES; i++)
		if (!(load_acquire(iblt_cell(part, iblt_spot(&part->shape, &key->hash, i)))
		      & IBLT_COUNT_MASK))
			return false;
	return true;
}

static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	for (unsigned i = 0; i < IBLT_PROBES; i++)
		blm_fetch(iblt_cell(part, iblt_spot(&part->shape, &key->hash, i)));
}

static const uint64_t *probe(const struct blm_part *part, const struct blm_hashed *key, unsigned i,
			     uint64_t *ret_mask)
{
	*ret_mask = 0;
	return i < IBLT_PROBES ? iblt_cell(part, iblt_spot(&part->shape, &key->hash, i)) : NULL;
}

/* ---- Changes ---- */

static void put_cell(struct blm_part *part, uint64_t cell, const uint64_t *words)
{
	uint64_t *to = iblt_cell(part, cell);
	size_t count = iblt_words(&part->shape);

	mark_range(part, to, 8 * count);
	for (size_t w = 0; w < count; w++)
		store_release(&to[w], words[w]);
}

/*
 * Journal first, then its announcement, then the change: all stores release, so none is visible
 * before those that precede it here.
 */
static void begin_change(struct blm_part *part, const uint64_t spots[IBLT_PROBES])
{
	uint64_t *journal = iblt_journal(part);
	size_t count = iblt_words(&part->shape);

	mark_range(part, journal, iblt_journal_bytes(&part->shape));
	for (unsigned i = 0; i < IBLT_PROBES; i++) {
		const uint64_t *cell = iblt_cell(part, spots[i]);

		store_release(&journal[IBLT_NUMBERS + i], spots[i]);
		for (size_t w = 0; w < count; w++)
			store_release(&journal[IBLT_BEFORE + i * count + w],
				      load_relaxed(&cell[w]));
	}
	store_release(&journal[IBLT_CHANGING], 1);
}

/* The journal is left empty, so that the data depend on the keys only. */
static void end_change(struct blm_part *part)
{
	uint64_t *journal = iblt_journal(part);

	store_release(&journal[IBLT_CHANGING], 0);
	for (size_t w = 1; w < iblt_journal_bytes(&part->shape) / 8; w++)
		store_release(&journal[w], 0);
}

static void recover(struct blm_part *part)
{
	const uint64_t *journal = iblt_journal(part);
	size_t count = iblt_words(&part->shape);
	uint64_t words[IBLT_WORDS_MOST];

	if (!load_acquire(&journal[IBLT_CHANGING]))
		return;
	mark_range(part, journal, iblt_journal_bytes(&part->shape));
	for (unsigned i = 0; i < IBLT_PROBES; i++) {
		uint64_t cell = load_relaxed(&journal[IBLT_NUMBERS + i]);

		for (size_t w = 0; w < count; w++)
			words[w] = load_relaxed(&journal[IBLT_BEFORE + i * count + w]);
		if (cell < part->shape.cells)
			put_cell(part, cell, words);
	}
	end_change(part);
}

/* One key more in its cells, or one less. */
static void change(struct blm_part *part, const struct blm_hashed *key, int64_t more)
{
	uint64_t bytes[IBLT_KEY_BYTES_MOST / 8] = { 0 }, spots[IBLT_PROBES], words[IBLT_WORDS_MOST];
	size_t count = iblt_words(&part->shape);

	if (key->key->len)
		memcpy(bytes, key->key->bytes, key->key->len);
	for (unsigned i = 0; i < IBLT_PROBES; i++)
		spots[i] = iblt_spot(&part->shape, &key->hash, i);
	if (!part->unshared)
		begin_change(part, spots);
	for (unsigned i = 0; i < IBLT_PROBES; i++) {
		const uint64_t *cell = iblt_cell(part, spots[i]);

		words[IBLT_COUNT] = iblt_counted(load_relaxed(&cell[IBLT_COUNT]), more,
						 key->key->len);
		words[IBLT_CHECK] = load_relaxed(&cell[IBLT_CHECK]) ^ iblt_check(&key->hash);
		for (size_t w = IBLT_KEY; w < count; w++)
			words[w] = load_relaxed(&cell[w]) ^ le64toh(bytes[w - IBLT_KEY]);
		put_cell(part, spots[i], words);
	}
	if (!part->unshared)
		end_change(part);
}

static int add(struct blm_part *part, const struct blm_hashed *key)
{
	if (key->key->len > part->shape.args[IBLT_KEY_BYTES])
		return blm_fail(-EMSGSIZE, "a key of %zu bytes: this iblt takes at most %llu; for "
				"longer keys make it with the option key-bytes=N, up to %d",
				key->key->len, (unsigned long long)part->shape.args[IBLT_KEY_BYTES],
				IBLT_KEY_BYTES_MOST);
	for (unsigned i = 0; i < IBLT_PROBES; i++)	/* or the next one would make it 0 */
		if ((load_relaxed(iblt_cell(part, iblt_spot(&part->shape, &key->hash, i)))
		     & IBLT_COUNT_MASK) == IBLT_COUNT_MASK)
			return blm_fail(-EXFULL, "a cell has 2^48 - 1 keys");
	change(part, key, 1);
	return 1;
}

static int take_out(struct blm_part *part, const struct blm_hashed *key)
{
	if (key->key->len > part->shape.args[IBLT_KEY_BYTES] || !contains(part, key))
		return 0;
	change(part, key, -1);
	return 1;
}

/* ---- Two of them ---- */

static void differ(const struct blm_part *a, const struct blm_part *b, uint64_t at, size_t bytes,
		   struct blm_tally *to)
{
	uint64_t first = iblt_journal_bytes(&a->shape), each = 8 * iblt_words(&a->shape);

	for (uint64_t cell = at > first ? (at - first + each - 1) / each : 0; cell < a->shape.cells
	     && first + cell * each < at + bytes; cell++) {
		double by = (double)iblt_count(load_relaxed(iblt_cell(a, cell))
					       - load_relaxed(iblt_cell(b, cell)));

		to->sum += by;
		to->squares += by * by;
	}
}

static double difference_of(const struct blm_shape *s, const struct blm_tally *c, double *ret_error)
{
	return blm_keys_that_differ((double)s->cells, IBLT_PROBES, c->sum, c->squares, ret_error);
}

/* ---- Facts ---- */

static bool foretell(const struct blm_shape *s, unsigned i, struct blm_fact *ret)
{
	double most = fmax(0, floor(((double)s->cells - CELLS_MORE) / CELLS_A_KEY));

	if (i > 0)
		return false;
	*ret = (struct blm_fact){ .name = "lists", .value = most };
	snprintf(ret->text, sizeof(ret->text), "up to %.0f keys, of up to %llu bytes, that two "
		 "such tables differ by; how many they have in common is all the same",
		 most, (unsigned long long)s->args[IBLT_KEY_BYTES]);
	return true;
}

static bool describe(const struct blm_part *part, unsigned i, struct blm_fact *ret)
{
	return foretell(&part->shape, i, ret);
}

const struct blm_kind blm_kind_iblt = {
	.id = 20,
	.name = "iblt",
	.protocol = BLM_SINGLE_WRITER_CHECKPOINT,
	.summary = "two of them list the keys that one has and the other has not; as large as what "
	"differs",
	.caveat = "add each key once: one that is added twice is not listed, and keeps others from "
	"being listed; remove only what was added",
	.options = options,
	.plan = plan, .valid = valid, .padding_bits = padding_bits, .contains = contains,
	.rate_at = rate_at,
	.add = add, .remove = take_out, .recover = recover,
	.differ = differ, .difference_of = difference_of, .differences = blm_iblt_differences,
	.describe = describe, .foretell = foretell,
	.prefetch = prefetch, .probe = probe,
	.holds_keys = true,
};
