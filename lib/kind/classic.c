/*
 * classic.c - Bloom's filter: `cells` bits, `probes` of them set for each key
 *
 * B. H. Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", CACM 13(7), 1970. Bit
 * j is bit j % 64 of little-endian word j / 64 (format-spec.md, "Kind 1: classic"). Estimates by
 * Swamidass and Baldi, J. Chem. Inf. Model. 47(3), 2007, their standard error from the variance of
 * the number of empty cells.
 */
#include "kind/common/one_key.h"
#include "kind/common/partition.h"
#include "kind/common/probe_rounds.h"
#include "kind/common/sizing.h"
#include "kind/kind_registry.h"

#include <math.h>

static uint64_t bytes_of(uint64_t cells)
{
	return round_up(cells, 512) / 8;
}

static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	return blm_rate_bound(s->cells, s->probes, keys);
}

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .cells = params->cells, .probes = params->probes, .cell_bits = 1,
			       .capacity = params->capacity, .rate = params->rate };

	if (!s.cells) {
		double rate = s.rate ? s.rate : BLM_DEFAULT_RATE;

		if (!s.probes)
			s.probes = blm_best_probes(rate);
		s.cells = blm_classic_cells(s.capacity, rate, s.probes);
		if (!s.cells || s.cells > BLM_CELLS_MAX)
			return blm_fail(-EFBIG, "a classic filter for %llu keys at rate %g with %u "
					"probes needs more than 2^47 bits",
					(unsigned long long)s.capacity, rate, s.probes);
		s.rate = rate;
	} else {
		blm_bits_plan_given(&s, rate_at);
	}
	s.bytes = bytes_of(s.cells);
	*ret = s;
	return 0;
}

static bool valid(const struct blm_shape *s)
{
	return s->cells >= 1 && s->cells <= BLM_CELLS_MAX && s->bytes == bytes_of(s->cells)
	    && s->probes >= 1 && s->probes <= BLM_PROBES_MAX && s->cell_bits == 1;
}

static unsigned padding_bits(const struct blm_shape *s)
{
	return (unsigned)(s->bytes * 8 - s->cells);
}

/*
 * The rule that makes the cells of a key: our own, double hashing, or that of the key's hasher,
 * which is called for each cell. The rule is asked once for each key or batch, not for each probe:
 * it is a constant wherever it is compiled into a loop.
 */
enum rule { OWN, DOUBLE, WALKED };

static inline enum rule rule_of(const struct blm_hasher *by)
{
	return __builtin_expect(by->scheme == NULL, true) ? OWN
		: by->scheme->doubles && !by->order_xor ? DOUBLE : WALKED;
}

/* The cells of a key one after the other. */
struct cells {
	const struct blm_hashed *key;
	uint64_t cells;
	struct blm_probe_seq seq;
};

BLM_INLINED void cells_begin(struct cells *of, const struct blm_part *part,
			     const struct blm_hashed *key, enum rule rule)
{
	of->key = key;
	of->cells = part->shape.cells;
	if (rule == WALKED)
		blm_probes_begin(&of->seq, key, part->shape.cells, part->shape.probes);
}

BLM_INLINED uint64_t cells_next(struct cells *of, unsigned i, enum rule rule)
{
	const struct blm_hash *hash = &of->key->hash;

	return rule == WALKED ? blm_probes_next(&of->seq)
		: rule == DOUBLE ? (hash->lo + i * hash->hi) % of->cells
		: scale(unfold(hash->lo, hash->hi, i), of->cells);
}

BLM_INLINED bool contains_by(const struct blm_part *part, const struct blm_hashed *key,
			     enum rule rule)
{
	const uint64_t *words = (const uint64_t *)part->bytes;
	struct cells cells;

	cells_begin(&cells, part, key, rule);
	for (unsigned i = 0; i < part->shape.probes; i++) {
		uint64_t cell = cells_next(&cells, i, rule);

		if (!(load_relaxed(&words[cell / 64]) >> cell % 64 & 1))
			return false;
	}
	return true;
}

static __attribute__((noinline)) bool contains_double(const struct blm_part *part,
						      const struct blm_hashed *key)
{
	return contains_by(part, key, DOUBLE);
}

static __attribute__((noinline)) bool contains_walked(const struct blm_part *part,
						      const struct blm_hashed *key)
{
	return contains_by(part, key, WALKED);
}

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	enum rule rule = rule_of(key->by);

	return rule == WALKED ? contains_walked(part, key)
		: rule == DOUBLE ? contains_double(part, key)
		: classic_contains(part->bytes, part->shape.cells, part->shape.probes, &key->hash);
}

static const uint64_t *cell_word(const void *words, uint64_t cell)
{
	return (const uint64_t *)words + cell / 64;
}

static bool cell_is_set(const void *words, uint64_t cell)
{
	return load_relaxed(cell_word(words, cell)) >> cell % 64 & 1;
}

static __attribute__((noinline)) void ask_double(const struct blm_part *part,
						 const struct blm_batch *batch, uint64_t *ret_bits)
{
	blm_ask_in_rounds(part, batch, ret_bits, (struct blm_cell_reader){ cell_word, cell_is_set,
			  part->bytes, true });
}

static void contains_many(const struct blm_part *part, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	struct blm_cell_reader reader = { cell_word, cell_is_set, part->bytes };
	enum rule rule = rule_of(batch->by);

	if (rule == WALKED)
		blm_part_contains_each(part, batch, ret_bits);
	else if (rule == DOUBLE)
		ask_double(part, batch, ret_bits);
	else
		blm_ask_in_rounds(part, batch, ret_bits, reader);
}

BLM_INLINED int add_by(struct blm_part *part, const struct blm_hashed *key, enum rule rule)
{
	uint64_t cell[BLM_PROBES_MAX];
	struct cells cells;
	bool changed = false;

	/* a cell that is set is a locked instruction, which waits for its line before the next */
	cells_begin(&cells, part, key, rule);
	for (unsigned i = 0; i < part->shape.probes; i++) {
		cell[i] = cells_next(&cells, i, rule);
		__builtin_prefetch(cell_word(part->bytes, cell[i]), 1);
	}
	for (unsigned i = 0; i < part->shape.probes; i++)
		changed |= classic_add_cell(part, cell[i]);
	return changed;
}

static __attribute__((noinline)) int add_double(struct blm_part *part, const struct blm_hashed *key)
{
	return add_by(part, key, DOUBLE);
}

static __attribute__((noinline)) int add_walked(struct blm_part *part, const struct blm_hashed *key)
{
	return add_by(part, key, WALKED);
}

static int add(struct blm_part *part, const struct blm_hashed *key)
{
	enum rule rule = rule_of(key->by);

	return rule == WALKED ? add_walked(part, key) : rule == DOUBLE ? add_double(part, key)
		: classic_add(part, &key->hash);
}

/* Counted, roughly, where its first cell is. */
static int add_within(struct blm_part *part, const struct blm_hashed *key, uint64_t from,
		      uint64_t to)
{
	enum rule rule = rule_of(key->by);
	bool first = false, changed = false;
	struct cells cells;

	cells_begin(&cells, part, key, rule);
	for (unsigned i = 0; i < part->shape.probes; i++) {
		uint64_t cell = cells_next(&cells, i, rule);

		if (cell / 8 < from || cell / 8 >= to)
			continue;
		first |= i == 0;
		changed |= classic_add_cell(part, cell);
	}
	return first && changed;
}

/*
 * In the order of the probes, which is the same for all claimers of a key; equal words are merged
 * into the first.
 */
BLM_INLINED int claim_by(struct blm_part *part, const struct blm_hashed *key, enum rule rule)
{
	uint64_t *words = (uint64_t *)part->bytes;
	struct blm_bits bits[BLM_PROBES_MAX];
	bool lacks[BLM_PROBES_MAX];
	struct cells cells;
	size_t count = 0, j;
	uint64_t had = 0;		/* the lowest six bits of the words' numbers */

	cells_begin(&cells, part, key, rule);
	for (unsigned i = 0; i < part->shape.probes; i++) {
		uint64_t cell = cells_next(&cells, i, rule), mask = UINT64_C(1) << cell % 64;
		uint64_t here = UINT64_C(1) << cell / 64 % 64;

		for (j = had & here ? 0 : count; j < count && bits[j].word != &words[cell / 64];
		     j++)
			;
		had |= here;
		if (j == count)
			bits[count++] = (struct blm_bits){ .word = &words[cell / 64] };
		bits[j].mask |= mask;
	}
	return blm_bits_claim(part, bits, lacks, count);
}

static __attribute__((noinline)) int claim_double(struct blm_part *part,
						  const struct blm_hashed *key)
{
	return claim_by(part, key, DOUBLE);
}

static __attribute__((noinline)) int claim_walked(struct blm_part *part,
						  const struct blm_hashed *key)
{
	return claim_by(part, key, WALKED);
}

static int claim(struct blm_part *part, const struct blm_hashed *key)
{
	enum rule rule = rule_of(key->by);

	return rule == WALKED ? claim_walked(part, key) : rule == DOUBLE ? claim_double(part, key)
		: claim_by(part, key, OWN);
}

BLM_INLINED void prefetch_by(const struct blm_part *part, const struct blm_hashed *key,
			     enum rule rule)
{
	struct cells cells;

	cells_begin(&cells, part, key, rule);
	for (unsigned i = 0; i < part->shape.probes; i++)
		blm_fetch(cell_word(part->bytes, cells_next(&cells, i, rule)));
}

static __attribute__((noinline)) void prefetch_walked(const struct blm_part *part,
						      const struct blm_hashed *key)
{
	/* the hashing is the larger cost by far, and would be done twice */
	if (!wants_keys(key->by))
		prefetch_by(part, key, WALKED);
}

static __attribute__((noinline)) void prefetch_double(const struct blm_part *part,
						      const struct blm_hashed *key)
{
	prefetch_by(part, key, DOUBLE);
}

static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	enum rule rule = rule_of(key->by);

	if (rule == WALKED)
		prefetch_walked(part, key);
	else if (rule == DOUBLE)
		prefetch_double(part, key);
	else
		for (unsigned i = 0; i < part->shape.probes; i++)
			blm_fetch(cell_word(part->bytes, key_cell(key, i, part->shape.cells)));
}

/*
 * Asks for all keys first, at the cost of the question for present ones; for the absent ones, cells
 * are prefetched a few keys ahead.
 */
static int change_many(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits,
		       int (*change)(struct blm_part *part, const struct blm_hashed *key))
{
	enum { AHEAD = 8 };
	uint16_t absent[BLM_BATCH_LARGE];
	size_t count = 0;

	blm_part_contains(part, batch, ret_bits);
	for (size_t i = 0; i < batch->count; i++) {
		absent[count] = (uint16_t)i;
		count += ~ret_bits[i / 64] >> i % 64 & 1;
	}
	memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
	for (size_t i = 0; i < count + AHEAD; i++) {
		struct blm_hashed key;

		if (i < count) {
			key = batch_at(batch, absent[i]);
			prefetch(part, &key);
		}
		if (i >= AHEAD) {
			size_t at = absent[i - AHEAD];

			key = batch_at(batch, at);
			ret_bits[at / 64] |= (uint64_t)change(part, &key) << at % 64;
		}
	}
	return 0;
}

static int add_many(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits)
{
	return change_many(part, batch, ret_bits, add);
}

static int claim_many(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits)
{
	return change_many(part, batch, ret_bits, claim);
}

/* An entry is a probe: below, its cell in the piece; above, the number of its key. */
BLM_INLINED bool sort_by(struct blm_buffers *buffers, const struct blm_batch *batch, enum rule rule)
{
	const struct blm_filling *of = buffers->of;
	const struct blm_shape *s = &of->part->shape;
	uint64_t *entries = buffers->entries, in_piece = (UINT64_C(1) << of->shift) - 1;
	bool full = false;

	for (size_t i = 0; i < batch->count; i++) {
		struct blm_hashed key = batch_at(batch, i);
		uint64_t number = (buffers->keys + i) << of->shift;
		struct cells cells;

		cells_begin(&cells, of->part, &key, rule);
		for (unsigned p = 0; p < s->probes; p++) {
			uint64_t cell = cells_next(&cells, p, rule), piece = cell >> of->shift;
			uint32_t used = buffers->used[piece]++;

			entries[piece * of->capacity + used] = number | (cell & in_piece);
			full |= used >= of->nearly;
		}
	}
	return full;
}

static bool sort(struct blm_buffers *buffers, const struct blm_batch *batch)
{
	enum rule rule = rule_of(batch->by);

	return rule == WALKED ? sort_by(buffers, batch, WALKED)
		: rule == DOUBLE ? sort_by(buffers, batch, DOUBLE) : sort_by(buffers, batch, OWN);
}

static void apply(struct blm_buffers *buffers, uint64_t piece)
{
	enum { AHEAD = 16 };
	const struct blm_filling *of = buffers->of;
	const uint64_t *entries = (const uint64_t *)buffers->entries + piece * of->capacity,
		in_piece = (UINT64_C(1) << of->shift) - 1;
	uint64_t *words = (uint64_t *)of->part->bytes + (piece << of->shift) / 64;
	bool marked = blm_piece_is_marked(of, piece);

	for (size_t i = 0, used = buffers->used[piece]; i < used; i++) {
		uint64_t cell = entries[i] & in_piece, key = entries[i] >> of->shift,
			*word = &words[cell / 64];
		uint64_t bit = UINT64_C(1) << cell % 64, old = le64toh(*word);

		if (i + AHEAD < used)
			__builtin_prefetch(&words[(entries[i + AHEAD] & in_piece) / 64], 1);
		*word = htole64(old | bit);
		buffers->changed[key / 64] |= (uint64_t)!(old & bit) << key % 64;
		if (!marked && !(old & bit)) {
			mark(of->part, word);
			marked = i % 1024 == 0 && blm_piece_is_marked(of, piece);
		}
	}
}

static const struct blm_fill filling = { .entry_bytes = sizeof(uint64_t), .by_probe = true,
					 .sort = sort, .apply = apply };

static void tally(const struct blm_part *part, const void *data, size_t bytes, struct blm_tally *to)
{
	to->bytes += bytes;
	to->ones += part->simd->count_ones(data, bytes);
}

static double rate_of(const struct blm_shape *s, const struct blm_tally *c)
{
	double cells = fmin((double)c->bytes * 8, (double)s->cells);

	return pow((double)c->ones / cells, s->probes);
}

static double keys_of(const struct blm_shape *s, double fill, double *ret_error)
{
	return blm_classic_keys(s->cells, s->probes, fill, ret_error);
}

static const uint64_t *probe(const struct blm_part *part, const struct blm_hashed *key, unsigned i,
			     uint64_t *ret_mask)
{
	enum rule rule = rule_of(key->by);
	struct cells cells;
	uint64_t cell = 0;

	if (i == part->shape.probes)
		return NULL;
	cells_begin(&cells, part, key, rule);
	for (unsigned j = rule == WALKED ? 0 : i; j <= i; j++)
		cell = cells_next(&cells, j, rule);
	*ret_mask = UINT64_C(1) << cell % 64;
	return (const uint64_t *)part->bytes + cell / 64;
}

const struct blm_kind blm_kind_classic = {
	.id = 1,
	.name = "classic",
	.protocol = BLM_SETS_BITS,
	.summary = "Bloom's own: any number of bits and probes, every hash; the smallest of those "
	"that combine",
	.plan = plan, .valid = valid, .padding_bits = padding_bits, .contains = contains,
	.rate_at = rate_at,
	.add = add, .claim = claim,
	.unite = blm_bits_unite, .intersect = blm_bits_intersect,
	.tally = tally, .rate_of = rate_of, .keys_of = keys_of,
	.prefetch = prefetch, .probe = probe, .contains_many = contains_many, .add_many = add_many,
	.claim_many = claim_many,
	.fill = &filling, .splits = true, .add_within = add_within,
	.batch = BLM_BATCH_LARGE,
	.every_family = true, .every_scheme = true,
};
