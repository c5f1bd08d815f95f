/*
 * classic.c - Bloom's filter: `cells` bits, `probes` of them set for each key
 *
 * B. H. Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", CACM 13(7), 1970. Bit j is bit j % 64 of
 * little-endian word j / 64 (format-spec.md, "Kind 1: classic"). Estimates by Swamidass and Baldi, J. Chem. Inf. Model.
 * 47(3), 2007, their standard error from the variance of the number of empty cells.
 */
#include "kind/bits.h"
#include "kind/kind.h"
#include "sizing.h"

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
			return blm_fail(-EFBIG, "a classic filter for %llu keys at rate %g with %u probes needs more than 2^47 bits",
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

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	const uint64_t *words = (const uint64_t *)part->bytes;

	for (unsigned i = 0; i < part->shape.probes; i++) {
		uint64_t cell = key_cell(key, i, part->shape.cells);

		if (!(load_relaxed(&words[cell / 64]) >> cell % 64 & 1))
			return false;
	}
	return true;
}

static int add(struct blm_part *part, const struct blm_hashed *key)
{
	uint64_t *words = (uint64_t *)part->bytes, changed = 0;

	for (unsigned i = 0; i < part->shape.probes; i++) {
		uint64_t cell = key_cell(key, i, part->shape.cells);

		changed |= bits_set(&words[cell / 64], UINT64_C(1) << cell % 64, part->alone);
	}
	return changed != 0;
}

/* In the order of the probes, which is the same for all who claim a key; equal words merged into their first. */
static int claim(struct blm_part *part, const struct blm_hashed *key)
{
	uint64_t *words = (uint64_t *)part->bytes;
	struct blm_bits bits[BLM_PROBES_MAX];
	bool lacks[BLM_PROBES_MAX];
	size_t count = 0, j;

	for (unsigned i = 0; i < part->shape.probes; i++) {
		uint64_t cell = key_cell(key, i, part->shape.cells), mask = UINT64_C(1) << cell % 64;

		for (j = 0; j < count && bits[j].word != &words[cell / 64]; j++)
			;
		if (j == count)
			bits[count++] = (struct blm_bits){ .word = &words[cell / 64] };
		bits[j].mask |= mask;
	}
	return bits_claim(bits, lacks, count, part->alone);
}

static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	for (unsigned i = 0; i < part->shape.probes; i++)
		__builtin_prefetch(part->bytes + key_cell(key, i, part->shape.cells) / 8);
}

static void census(const struct blm_part *part, const void *data, size_t bytes, struct blm_census *to)
{
	to->bytes += bytes;
	to->ones += part->simd->count_ones(data, bytes);
}

static double rate_of(const struct blm_shape *s, const struct blm_census *c)
{
	double cells = fmin((double)c->bytes * 8, (double)s->cells);

	return pow((double)c->ones / cells, s->probes);
}

static double keys_of(const struct blm_shape *s, double fill, double *ret_error)
{
	double m = (double)s->cells, k = s->probes, load = -log1p(-fill);	/* nk/m */

	*ret_error = sqrt(m * (expm1(load) - load)) / k;
	return m / k * load;
}

const struct blm_kind blm_kind_classic = {
	.id = 1,
	.name = "classic",
	.summary = "Bloom's own: any number of bits and probes, every hash; the smallest of those that combine",
	.plan = plan, .valid = valid, .padding_bits = padding_bits, .contains = contains, .rate_at = rate_at,
	.add = add, .claim = claim,
	.unite = blm_bits_unite, .intersect = blm_bits_intersect,
	.census = census, .rate_of = rate_of, .keys_of = keys_of,
	.prefetch = prefetch,
	.every_family = true,
};
