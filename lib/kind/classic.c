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
 * The cells of a key one after the other, by our own rule or, `walked`, by that of its hasher.
 * Which it is is asked once for each key or batch, not for each probe: `walked` is a constant
 * wherever this is inlined.
 */
struct cells {
	const struct blm_hashed *key;
	uint64_t cells;
	struct blm_probe_seq seq;
};

static inline void cells_begin(struct cells *of, const struct blm_part *part,
			       const struct blm_hashed *key, bool walked)
{
	of->key = key;
	of->cells = part->shape.cells;
	if (walked)
		blm_probes_begin(&of->seq, key, part->shape.cells, part->shape.probes);
}

static inline __attribute__((always_inline)) uint64_t cells_next(struct cells *of, unsigned i,
	bool walked)
{
	return walked ? blm_probes_next(&of->seq)
		: scale(unfold(of->key->hash.lo, of->key->hash.hi, i), of->cells);
}

static inline bool is_walked(const struct blm_hasher *by)
{
	return __builtin_expect(by->scheme != NULL, false);
}

static __attribute__((noinline)) bool contains_walked(const struct blm_part *part,
						      const struct blm_hashed *key)
{
	const uint64_t *words = (const uint64_t *)part->bytes;
	struct cells cells;

	cells_begin(&cells, part, key, true);
	for (unsigned i = 0; i < part->shape.probes; i++) {
		uint64_t cell = cells_next(&cells, i, true);

		if (!(load_relaxed(&words[cell / 64]) >> cell % 64 & 1))
			return false;
	}
	return true;
}

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	return is_walked(key->by) ? contains_walked(part, key)
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

static void contains_many(const struct blm_part *part, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	if (is_walked(batch->by))
		blm_part_contains_each(part, batch, ret_bits);
	else
		blm_ask_in_rounds(part, batch, ret_bits,
				  (struct blm_cell_reader){ cell_word, cell_is_set, part->bytes });
}

static __attribute__((noinline)) int add_walked(struct blm_part *part, const struct blm_hashed *key)
{
	uint64_t cell[BLM_PROBES_MAX];
	struct cells cells;
	bool changed = false;

	/* a cell that is set is a locked instruction, which waits for its line before the next */
	cells_begin(&cells, part, key, true);
	for (unsigned i = 0; i < part->shape.probes; i++) {
		cell[i] = cells_next(&cells, i, true);
		__builtin_prefetch(cell_word(part->bytes, cell[i]), 1);
	}
	for (unsigned i = 0; i < part->shape.probes; i++)
		changed |= classic_add_cell(part, cell[i]);
	return changed;
}

static int add(struct blm_part *part, const struct blm_hashed *key)
{
	return is_walked(key->by) ? add_walked(part, key) : classic_add(part, &key->hash);
}

/* Counted, roughly, where its first cell is. */
static int add_within(struct blm_part *part, const struct blm_hashed *key, uint64_t from,
		      uint64_t to)
{
	bool walked = is_walked(key->by), first = false, changed = false;
	struct cells cells;

	cells_begin(&cells, part, key, walked);
	for (unsigned i = 0; i < part->shape.probes; i++) {
		uint64_t cell = cells_next(&cells, i, walked);

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
static inline __attribute__((always_inline)) int claim_by(struct blm_part *part,
							  const struct blm_hashed *key, bool walked)
{
	uint64_t *words = (uint64_t *)part->bytes;
	struct blm_bits bits[BLM_PROBES_MAX];
	bool lacks[BLM_PROBES_MAX];
	struct cells cells;
	size_t count = 0, j;

	cells_begin(&cells, part, key, walked);
	for (unsigned i = 0; i < part->shape.probes; i++) {
		uint64_t cell = cells_next(&cells, i, walked), mask = UINT64_C(1) << cell % 64;

		for (j = 0; j < count && bits[j].word != &words[cell / 64]; j++)
			;
		if (j == count)
			bits[count++] = (struct blm_bits){ .word = &words[cell / 64] };
		bits[j].mask |= mask;
	}
	return blm_bits_claim(part, bits, lacks, count);
}

static __attribute__((noinline)) int claim_walked(struct blm_part *part,
						  const struct blm_hashed *key)
{
	return claim_by(part, key, true);
}

static int claim(struct blm_part *part, const struct blm_hashed *key)
{
	return is_walked(key->by) ? claim_walked(part, key) : claim_by(part, key, false);
}

static __attribute__((noinline)) void prefetch_walked(const struct blm_part *part,
						      const struct blm_hashed *key)
{
	struct cells cells;

	/* the hashing is the larger cost by far, and would be done twice */
	if (wants_keys(key->by))
		return;
	cells_begin(&cells, part, key, true);
	for (unsigned i = 0; i < part->shape.probes; i++)
		blm_fetch(cell_word(part->bytes, cells_next(&cells, i, true)));
}

static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	if (is_walked(key->by)) {
		prefetch_walked(part, key);
		return;
	}
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
static inline __attribute__((always_inline)) bool sort_by(struct blm_buffers *buffers,
							  const struct blm_batch *batch,
							  bool walked)
{
	const struct blm_filling *of = buffers->of;
	const struct blm_shape *s = &of->part->shape;
	uint64_t *entries = buffers->entries, in_piece = (UINT64_C(1) << of->shift) - 1;
	bool full = false;

	for (size_t i = 0; i < batch->count; i++) {
		struct blm_hashed key = batch_at(batch, i);
		uint64_t number = (buffers->keys + i) << of->shift;
		struct cells cells;

		cells_begin(&cells, of->part, &key, walked);
		for (unsigned p = 0; p < s->probes; p++) {
			uint64_t cell = cells_next(&cells, p, walked), piece = cell >> of->shift;
			uint32_t used = buffers->used[piece]++;

			entries[piece * of->capacity + used] = number | (cell & in_piece);
			full |= used >= of->nearly;
		}
	}
	return full;
}

static bool sort(struct blm_buffers *buffers, const struct blm_batch *batch)
{
	return is_walked(batch->by) ? sort_by(buffers, batch, true)
		: sort_by(buffers, batch, false);
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
	bool walked = is_walked(key->by);
	struct cells cells;
	uint64_t cell = 0;

	if (i == part->shape.probes)
		return NULL;
	cells_begin(&cells, part, key, walked);
	for (unsigned j = walked ? 0 : i; j <= i; j++)
		cell = cells_next(&cells, j, walked);
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
