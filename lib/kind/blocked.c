/*
 * blocked.c - Bloom filters of one cache line: a key has one block of 512 bits and all its probes in it
 *
 * Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", WEA 2007 / JEA 14, 2009. One miss a
 * question. The blocks fill unevenly, so the rate is the mixture over their loads and the filter is sized by that
 * (sizing.c); it costs 3 to 14 % more bits than classic from p = 0.01 to 0.0001. The bits of a key: simd/block.h.
 */
#include "kind/bits.h"
#include "kind/kind.h"
#include "simd/block.h"
#include "sizing.h"

#include <math.h>

static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	return blm_blocked_rate(s->cells / BLOCK_BITS, s->probes, keys);
}

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .cells = params->cells, .probes = params->probes, .cell_bits = 1,
			       .capacity = params->capacity, .rate = params->rate };

	if (s.cells % BLOCK_BITS)
		return blm_fail(-EINVAL, "a blocked filter has a multiple of %d bits, not %llu; the kind classic takes any number",
				BLOCK_BITS, (unsigned long long)s.cells);
	if (!s.cells) {
		uint64_t blocks;

		if (!s.rate)
			s.rate = BLM_DEFAULT_RATE;
		blocks = blm_blocks_for(s.capacity, s.rate, &s.probes);
		if (!blocks)
			return blm_fail(-EFBIG, "a blocked filter for %llu keys cannot keep the rate %g within 2^47 bits; the kind classic may",
					(unsigned long long)s.capacity, s.rate);
		s.cells = blocks * BLOCK_BITS;
	} else {
		blm_bits_plan_given(&s, rate_at);
	}
	s.bytes = s.cells / 8;
	*ret = s;
	return 0;
}

static bool valid(const struct blm_shape *s)
{
	return s->cells >= BLOCK_BITS && s->cells <= BLM_CELLS_MAX && s->cells % BLOCK_BITS == 0 && s->bytes == s->cells / 8
	    && s->probes >= 1 && s->probes <= BLM_PROBES_MAX && s->cell_bits == 1;
}

static uint64_t blocks_of(const struct blm_part *part)
{
	return part->shape.cells / BLOCK_BITS;
}

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	return block_contains(block_of(part->bytes, blocks_of(part), &key->hash), part->shape.probes, &key->hash);
}

static int add(struct blm_part *part, const struct blm_hashed *key)
{
	uint64_t *block = (uint64_t *)block_of(part->bytes, blocks_of(part), &key->hash), mask[8], changed = 0;

	block_mask(mask, part->shape.probes, &key->hash);
	for (unsigned i = 0; i < 8; i++)
		if (mask[i])
			changed |= bits_set(&block[i], mask[i], part->alone);
	return changed != 0;
}

static int claim(struct blm_part *part, const struct blm_hashed *key)
{
	uint64_t *block = (uint64_t *)block_of(part->bytes, blocks_of(part), &key->hash), mask[8];
	struct blm_bits bits[8];
	bool lacks[8];
	size_t count = 0;

	block_mask(mask, part->shape.probes, &key->hash);
	for (unsigned i = 0; i < 8; i++)
		if (mask[i])
			bits[count++] = (struct blm_bits){ .word = &block[i], .mask = mask[i] };
	return bits_claim(bits, lacks, count, part->alone);
}

static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	__builtin_prefetch(block_of(part->bytes, blocks_of(part), &key->hash));
}

static void contains_many(const struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits)
{
	for (size_t i = 0; i < batch->count; i++)
		__builtin_prefetch(block_of(part->bytes, blocks_of(part), &batch->hashes[i]));
	part->simd->blocks_contain(part->bytes, blocks_of(part), part->shape.probes, batch->hashes, batch->count, ret_bits);
}

static void census(const struct blm_part *part, const void *data, size_t bytes, struct blm_census *to)
{
	uint64_t histogram[BLOCK_BITS + 1] = { 0 };

	part->simd->count_blocks(data, bytes, histogram);
	to->bytes += bytes;
	for (unsigned x = 0; x <= BLOCK_BITS; x++) {
		to->blocks[x] += histogram[x];
		to->ones += histogram[x] * x;
	}
}

static double rate_of(const struct blm_shape *s, const struct blm_census *c)
{
	double sum = 0;

	for (unsigned x = 1; x <= BLOCK_BITS; x++)
		sum += (double)c->blocks[x] * pow((double)x / BLOCK_BITS, s->probes);
	return sum / ((double)c->bytes / BLOCK_BYTES);
}

/*
 * An empty bit stays empty with probability q = (1 - 1/512)^k for each key of its block, so with n keys over b blocks, about
 * Poisson, a share e^(-(n/b)(1-q)) stays empty. The error is that of the number of empty bits, given n.
 */
static double keys_of(const struct blm_shape *s, double fill, double *ret_error)
{
	double blocks = (double)s->cells / BLOCK_BITS, k = s->probes;
	double a = -expm1(k * log1p(-1.0 / BLOCK_BITS)), a2 = -expm1(k * log1p(-2.0 / BLOCK_BITS));
	double load = -log1p(-fill) / a;	/* keys a block */
	double empty = BLOCK_BITS * exp(-load * a);
	double variance = BLOCK_BITS * (BLOCK_BITS - 1.0) * exp(-load * a2) + empty - empty * empty * (1 + load * a * a);

	*ret_error = sqrt(blocks * fmax(variance, 0)) / (a * empty);
	return blocks * load;
}

const struct blm_kind blm_kind_blocked = {
	.id = 2,
	.name = "blocked",
	.summary = "one cache line a key: the fastest to ask, for 3 to 14 % more bits than classic",
	.plan = plan, .valid = valid, .contains = contains, .rate_at = rate_at,
	.add = add, .claim = claim,
	.unite = blm_bits_unite, .intersect = blm_bits_intersect,
	.census = census, .rate_of = rate_of, .keys_of = keys_of,
	.prefetch = prefetch, .contains_many = contains_many,
};
