/*
 * golomb.c - all keys' hashes, in order, as the codes of their distances: the smallest filter that
 * needs no solving of equations
 *
 * F. Putze, P. Sanders and J. Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", WEA 2007;
 * S. W. Golomb, "Run-Length Encodings", IEEE Trans. Inform. Theory 12(3), 1966. A key is the number
 * floor(hash / 2^64 * F) below the range F = capacity / rate. Distances between neighbours are as
 * good as geometric, for which Golomb's code is the best of all codes of whole bits: 1.47 bits a
 * key above log2(1/rate).
 *
 * The codes are in blocks of one size, each with room for about 31. A block begins with a number
 * itself. It has the low bits of the number; the high bits are in unary in a vector of their own,
 * as in P. Elias (JACM 21(2), 1974). The blocks of a number are found there by counting. What a
 * block has of its first number it saves in codes, so entering anywhere costs a third of a bit a
 * key. A question reads a few words of that vector, which is small, and one block: at most
 * GOLOMB_CODES codes of it.
 */
#include "kind/golomb_search.h"
#include "kind/common/sizing.h"

#include <math.h>
#include <stdio.h>

static const struct blm_option options[] = {
	[GOLOMB_MODULUS] = { "modulus", "the rate is exactly 1/modulus, and the range modulus "
			     "times the capacity; 0: as the rate says",
			     BLM_OPTION_COUNT, 0, 0x1p47, 0 },
	[GOLOMB_COUNTED] = { "counted", "1: has a key as often as it was given, so that keys can "
			     "go again", BLM_OPTION_COUNT, 0, 1, 0 },
	{ NULL }
};

/* ---- Questions ---- */

/*
 * The last block whose first number is not above the value. False: none is, or it is too far away.
 */
static inline bool find_block(const struct layout *l, uint64_t value, uint64_t block, uint64_t at,
			      uint64_t *ret_block, uint64_t *ret_first)
{
	uint64_t high = value >> l->code.low_bits, first = 0;
	uint64_t begin = block;

	for (; block < l->blocks && vector_bit(l, at); block++, at++) {
		uint64_t number = high << l->code.low_bits | low_of(l, block);

		if (number > value)
			break;
		first = number;
	}
	*ret_first = first;
	*ret_block = block - 1;
	if (block > begin)
		return true;
	if (!begin || begin > l->blocks)
		return false;
	/* back over a zero for each high half */
	for (uint64_t far = reach(l); at && far; far--) {
		at--;
		if (vector_bit(l, at)) {
			*ret_first = high << l->code.low_bits | low_of(l, *ret_block);
			return true;
		}
		if (!high--)
			return false;
	}
	return false;
}

static inline bool block_has(const struct layout *l, uint64_t block, uint64_t number,
			     uint64_t value)
{
	const uint8_t *bytes = l->block + block * l->code.block_bytes;
	unsigned bit = l->code.low_bits;
	uint64_t distance;

	while (number < value && next_distance(l, bytes, &bit, &distance))
		number += distance;
	return number == value;
}

/* What can be seen to be damaged denies no key. */
static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	uint64_t value = scale(key->hash.hi, part->shape.cells), block, first, at;
	struct layout l;

	if (!read_layout(&l, part))
		return true;
	if (!l.blocks)
		return false;
	block = first_block(&l, value >> l.code.low_bits, &at);
	return find_block(&l, value, block, at, &block, &first)
		&& block_has(&l, block, first, value);
}

/* All are found in the vector before the blocks of any are looked at. */
static void contains_many(const struct blm_part *part, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	struct { uint64_t value, block, at; } found[BLM_BATCH];
	struct layout l;

	memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
	if (!read_layout(&l, part)) {
		for (size_t i = 0; i < batch->count; i++)
			ret_bits[i / 64] |= UINT64_C(1) << i % 64;
		return;
	}
	for (size_t i = 0; l.blocks && i < batch->count; i++) {
		found[i].value = scale(batch->hashes[i].hi, l.range);
		found[i].block = first_block(&l, found[i].value >> l.code.low_bits, &found[i].at);
		prefetch_block(&l, found[i].block);
	}
	for (size_t at = 0; l.blocks && at < batch->count; at += 2) {
		/* at their end, which is no answer */
		struct walk walk[2] = { { .number = 1 }, { .number = 1 } };

		for (size_t i = 0; i < 2 && at + i < batch->count; i++) {
			uint64_t block, first;

			if (find_block(&l, found[at + i].value, found[at + i].block,
				       found[at + i].at, &block, &first))
				walk[i] = (struct walk){ l.block + block * l.code.block_bytes,
							 first, found[at + i].value,
							 l.code.low_bits };
		}
		walk_both(&l, &walk[0], &walk[1]);
		for (size_t i = 0; i < 2; i++)
			ret_bits[(at + i) / 64] |= (uint64_t)(walk[i].number == walk[i].value)
				<< (at + i) % 64;
	}
}

/* ---- The kind ---- */

uint64_t blm_golomb_range(uint64_t capacity, double rate, uint64_t modulus)
{
	double each = modulus ? (double)modulus : 1 / rate, whole = round(each);
	unsigned __int128 exact = (unsigned __int128)(uint64_t)fmin(whole, 0x1p62) * capacity;
	long double range = ceill((long double)capacity * each);

	/* 1/1000 is no double, and 1000 is meant */
	if (fabs(each - whole) < each * 1e-12 && whole < 0x1p62)
		range = (long double)exact;
	if (range > (long double)GOLOMB_RANGE_MOST) {
		blm_fail(-EFBIG, "%llu keys at a rate of %g: a golomb filter's range is at most "
			 "2^62", (unsigned long long)capacity, 1 / each);
		return 0;
	}
	return (uint64_t)range;
}

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .probes = 1, .cell_bits = 1, .capacity = params->capacity };
	struct code code;
	uint64_t blocks;

	memcpy(s.args, ret->args, sizeof(s.args));
	if (params->cells || params->probes > 1)
		return blm_fail(-EINVAL, "a golomb filter is sized by its rate; leave out "
				"blm_params.cells and blm_params.probes");
	s.rate = s.args[GOLOMB_MODULUS] > 1 ? 1 / (double)s.args[GOLOMB_MODULUS] : params->rate
		? params->rate : BLM_DEFAULT_RATE;
	if (s.args[GOLOMB_MODULUS] == 1)
		return blm_fail(-EINVAL, "modulus 1 is a rate of 1: every answer would be yes");
	s.cells = blm_golomb_range(s.capacity, s.rate, s.args[GOLOMB_MODULUS]);
	if (!s.cells)
		return -EFBIG;
	code = blm_golomb_code(s.cells, s.capacity);
	blocks = (uint64_t)blm_golomb_blocks(s.cells, s.capacity);
	s.bytes = round_up((uint64_t)bytes_for(&code, highs_of(s.cells, code.low_bits), blocks) + 4,
			   64);
	*ret = s;
	return 0;
}

static bool valid(const struct blm_shape *s)
{
	return s->cells >= 1 && s->cells <= GOLOMB_RANGE_MOST && s->bytes >= HEAD_BYTES
		&& s->probes == 1 && s->cell_bits == 1;
}

static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	/* of distinct numbers there are fewer than keys */
	return s->cells > 1 ? -expm1((double)keys * log1p(-1 / (double)s->cells)) : keys > 0;
}

static int fit(struct blm_shape *shape, const struct blm_sorted *keys)
{
	struct golomb_keys k;

	blm_golomb_keys(&k, keys, shape->cells, false);
	return blm_golomb_fit(shape, &k.numbers, keys->count);
}

static int build(struct blm_part *part, const struct blm_sorted *keys)
{
	struct golomb_keys k;

	blm_golomb_keys(&k, keys, part->shape.cells, true);
	return blm_golomb_write(part, &k.numbers, keys->count);
}

static int build_within(struct blm_part *part, const struct blm_sorted *keys, uint64_t from,
			uint64_t to)
{
	struct golomb_keys k;

	blm_golomb_keys(&k, keys, part->shape.cells, true);
	return blm_golomb_write_within(part, &k.numbers, keys->count, from, to);
}

static int open_keys(struct golomb_numbers **ret, const struct blm_sorted *keys,
		     const struct blm_shape *shape)
{
	struct golomb_keys *k = malloc(sizeof(*k));

	if (!k)
		return blm_fail(-ENOMEM, "no memory to merge golomb filters");
	blm_golomb_keys(k, keys, shape->cells, false);
	*ret = &k->numbers;
	return 0;
}

static void close_keys(struct golomb_numbers *n)
{
	free(n);
}

static const struct golomb_source source = { open_keys, close_keys };

static int merged(struct blm_shape *shape, const struct blm_merging *of, uint64_t *ret_keys)
{
	return blm_golomb_merged(&source, shape, of, shape->args[GOLOMB_COUNTED], ret_keys);
}

static int merge(struct blm_part *part, const struct blm_merging *of)
{
	return blm_golomb_merge(&source, part, of, part->shape.args[GOLOMB_COUNTED]);
}

static bool counts_keys(const uint64_t args[BLM_KIND_ARGS])
{
	return args[GOLOMB_COUNTED];
}

static bool describe(const struct blm_part *part, unsigned i, struct blm_fact *ret)
{
	struct layout l;

	if (i > 1 || !read_layout(&l, part))
		return false;
	if (i == 1) {		/* a merge or an update can have more than its capacity */
		*ret = (struct blm_fact){ .name = "rate now",
					  .value = rate_at(&part->shape, l.count) };
		snprintf(ret->text, sizeof(ret->text), "%.4g, by the numbers in it", ret->value);
		return true;
	}
	ret->name = "code";
	ret->value = (double)l.code.divisor;
	snprintf(ret->text, sizeof(ret->text), "Golomb's, m %llu, in %llu blocks of %u bytes",
		 (unsigned long long)l.code.divisor,
		 (unsigned long long)l.blocks, l.code.block_bytes);
	return true;
}

const struct blm_kind blm_kind_golomb = {
	.id = 15,
	.name = "golomb",
	.protocol = BLM_ATOMIC_WORDS,
	.summary = "coded distances of hashes: small at any rate, built from all keys at once",
	.options = options,
	.plan = plan, .valid = valid, .contains = contains, .rate_at = rate_at,
	.splits = true, .build_within = build_within,
	.fit = fit, .build = build, .roomy = true,
	.counts_keys = counts_keys, .merged = merged, .merge = merge,
	.contains_many = contains_many, .describe = describe,
	.hash_bits = 64,
};
