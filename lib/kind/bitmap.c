/*
 * bitmap.c - numbers below m, one bit each: no false positives
 *
 * A Bloom filter whose keys are so few that each can have its own cell: one probe, no hash. Union,
 * intersection and the count of keys are exact.
 */
#include "kind/common/bits.h"
#include "kind/kind.h"

#include <math.h>

static uint64_t bytes_of(uint64_t cells)
{
	return round_up(cells, 512) / 8;
}

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .cells = params->cells ? params->cells : params->capacity,
			       .probes = 1, .cell_bits = 1 };

	if (params->probes > 1)
		return blm_fail(-EINVAL, "a bitmap has one probe, not %u", params->probes);
	if (params->capacity > s.cells)
		return blm_fail(-EINVAL, "a bitmap of %llu bits is for the %llu numbers below "
				"that, not for %llu", (unsigned long long)s.cells,
				(unsigned long long)s.cells, (unsigned long long)params->capacity);
	s.capacity = s.cells;
	s.bytes = bytes_of(s.cells);
	*ret = s;
	return 0;
}

static bool valid(const struct blm_shape *s)
{
	return s->cells >= 1 && s->cells <= BLM_CELLS_MAX && s->bytes == bytes_of(s->cells)
		&& s->probes == 1 && s->cell_bits == 1;
}

static unsigned padding_bits(const struct blm_shape *s)
{
	return (unsigned)(s->bytes * 8 - s->cells);
}

static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	return 0;
}

static bool is_cell(const struct blm_part *part, const struct blm_hash *hash)
{
	return !hash->hi && hash->lo < part->shape.cells;
}

static uint64_t *word_of(const struct blm_part *part, const struct blm_hash *hash)
{
	return (uint64_t *)part->bytes + hash->lo / 64;
}

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	return is_cell(part, &key->hash)
		&& load_relaxed(word_of(part, &key->hash)) >> key->hash.lo % 64 & 1;
}

static int refuse(const struct blm_part *part, const struct blm_hashed *key)
{
	const struct blm_key none = { "a key", 5 }, *k = key->key ? key->key : &none;
	int len = k->len < 40 ? (int)k->len : 40;

	if (key->hash.hi == 1)
		return blm_fail(-EINVAL, "\"%.*s\" is no number in decimal digits: a bitmap takes "
				"no other keys", len, k->len ? (const char *)k->bytes : "");
	return blm_fail(-ERANGE, "%.*s is not below %llu: the bitmap has no bit for it", len,
			(const char *)k->bytes,
			(unsigned long long)part->shape.cells);
}

/*
 * One atomic OR of one bit. Only one of all callers that set the bit finds it 0, so a claim is the
 * same.
 */
static int add(struct blm_part *part, const struct blm_hashed *key)
{
	uint64_t *word = word_of(part, &key->hash);

	if (!is_cell(part, &key->hash))
		return refuse(part, key);
	if (!bits_set(word, UINT64_C(1) << key->hash.lo % 64, part->unshared))
		return 0;
	mark(part, word);
	return 1;
}

static void place(const struct blm_part *part, const struct blm_hash *hashes, size_t count,
		  uint64_t *ret)
{
	for (size_t i = 0; i < count; i++)
		ret[i] = is_cell(part, &hashes[i]) ? hashes[i].lo / 8 : UINT64_MAX;
}

static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	if (is_cell(part, &key->hash))
		__builtin_prefetch(word_of(part, &key->hash), 0, 2);
}

static const uint64_t *probe(const struct blm_part *part, const struct blm_hashed *key, unsigned i,
			     uint64_t *ret_mask)
{
	*ret_mask = 0;
	return i == 0 && is_cell(part, &key->hash) ? word_of(part, &key->hash) : NULL;
}

static void tally(const struct blm_part *part, const void *data, size_t bytes, struct blm_tally *to)
{
	to->bytes += bytes;
	to->ones += part->simd->count_ones(data, bytes);
}

static double rate_of(const struct blm_shape *s, const struct blm_tally *c)
{
	return 0;
}

static double keys_of(const struct blm_shape *s, double fill, double *ret_error)
{
	*ret_error = 0;
	return round(fill * (double)s->cells);	/* which the fill is a share of */
}

const struct blm_kind blm_kind_bitmap = {
	.id = 4,
	.name = "bitmap",
	.protocol = BLM_SETS_BITS,
	.summary = "numbers below m, a bit for each: never wrong, counts and sets exact",
	.caveat = "its keys are numbers in decimal digits, from 0 to m - 1; it refuses all others",
	.family = "integer",
	.plan = plan, .valid = valid, .padding_bits = padding_bits, .contains = contains,
	.rate_at = rate_at,
	.add = add, .claim = add,
	.unite = blm_bits_unite, .intersect = blm_bits_intersect,
	.tally = tally, .rate_of = rate_of, .keys_of = keys_of,
	.prefetch = prefetch, .probe = probe, .splits = true, .place = place,
	.exact = true,
};
