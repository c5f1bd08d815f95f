/*
 * split_block.c - Parquet's split-block Bloom filter: a key has one block of 256 bits, and one bit
 * in each of its eight lanes
 *
 * Apache Parquet's specification of its Bloom filters; after Putze, Sanders and Singler, "Cache-,
 * Hash- and Space-Efficient Bloom Filters", JEA 14, 2009, and Polychroniou and Ross, "Vectorized
 * Bloom Filters for Advanced SIMD Processors", DaMoN 2014. With the hash xxh64 the data are the
 * bitset of a Parquet file, bit for bit. The bits of a key: simd/split_block.h.
 */
#include "kind/common/one_key.h"
#include "kind/common/partition.h"
#include "kind/common/sizing.h"

#include <math.h>

enum { POWER_OF_TWO };

static const struct blm_option options[] = {
	[POWER_OF_TWO] = { "power-of-two", "1: as many blocks as a power of two, for readers that "
			   "take no other number", BLM_OPTION_COUNT, 0, 1, 0 },
	{ NULL }
};

static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	return blm_split_rate(s->cells / SPLIT_BITS, keys);
}

/* whole lines: behind an odd number of blocks comes padding */
static uint64_t bytes_of(uint64_t cells)
{
	return round_up(cells, 512) / 8;
}

static bool is_power_of_two(uint64_t x)
{
	return (x & (x - 1)) == 0;
}

static uint64_t power_of_two_from(uint64_t x)
{
	return x > 1 ? UINT64_C(1) << (64 - __builtin_clzll(x - 1)) : 1;
}

static int plan_for_rate(struct blm_shape *s)
{
	uint64_t blocks;

	if (!s->rate)
		s->rate = BLM_DEFAULT_RATE;
	blocks = blm_split_blocks_for(s->capacity, s->rate);
	if (s->args[POWER_OF_TWO])
		blocks = power_of_two_from(blocks);
	if (!blocks || blocks > SPLIT_BLOCKS_MAX)
		return blm_fail(-EFBIG, "a split-block filter for %llu keys cannot keep the rate "
				"%g with fewer than 2^31 blocks; the kind blocked may",
				(unsigned long long)s->capacity, s->rate);
	s->cells = blocks * SPLIT_BITS;
	return 0;
}

static int check_given(const struct blm_shape *s)
{
	uint64_t blocks = s->cells / SPLIT_BITS;

	if (s->cells % SPLIT_BITS || blocks > SPLIT_BLOCKS_MAX)
		return blm_fail(-EINVAL, "a split-block filter has a multiple of %d bits, fewer "
				"than 2^39, not %llu; the kind classic takes any number",
				SPLIT_BITS, (unsigned long long)s->cells);
	if (s->args[POWER_OF_TWO] && !is_power_of_two(blocks))
		return blm_fail(-EINVAL, "%llu bits are %llu blocks, which is no power of two; use "
				"a power of two",
				(unsigned long long)s->cells, (unsigned long long)blocks);
	return 0;
}

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .cells = params->cells, .probes = SPLIT_LANES, .cell_bits = 1,
			       .capacity = params->capacity, .rate = params->rate };
	int r;

	if (params->probes && params->probes != SPLIT_LANES)
		return blm_fail(-EINVAL, "a split-block filter has %d probes, one in each lane of "
				"a block, not %u", SPLIT_LANES, params->probes);
	memcpy(s.args, ret->args, sizeof(s.args));
	r = s.cells ? check_given(&s) : plan_for_rate(&s);
	if (r < 0)
		return r;
	if (params->cells)
		blm_bits_plan_given(&s, rate_at);
	s.bytes = bytes_of(s.cells);
	*ret = s;
	return 0;
}

static bool valid(const struct blm_shape *s)
{
	return s->cells >= SPLIT_BITS && s->cells / SPLIT_BITS <= SPLIT_BLOCKS_MAX
		&& s->cells % SPLIT_BITS == 0
	    && s->bytes == bytes_of(s->cells) && s->probes == SPLIT_LANES && s->cell_bits == 1
	    && (!s->args[POWER_OF_TWO] || is_power_of_two(s->cells / SPLIT_BITS));
}

static unsigned padding_bits(const struct blm_shape *s)
{
	return (unsigned)(s->bytes * 8 - s->cells);
}

static uint64_t blocks_of(const struct blm_part *part)
{
	return part->shape.cells / SPLIT_BITS;
}

static uint64_t *block_for(const struct blm_part *part, const struct blm_hash *hash)
{
	return (uint64_t *)split_of(part->bytes, blocks_of(part), hash);
}

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	return split_block_contains(part->bytes, blocks_of(part), &key->hash,
				    part->simd->split_block_contains);
}

static bool add_hash(struct blm_part *part, const struct blm_hash *hash)
{
	return split_block_add(part, blocks_of(part), hash, part->simd->split_block_lacks,
			       bits_set_words);
}

/* In the order of the block's words, which is the same for all claimers of a key. */
static bool claim_hash(struct blm_part *part, const struct blm_hash *hash)
{
	uint64_t *block = block_for(part, hash), mask[SPLIT_WORDS];
	unsigned lacks = part->simd->split_block_lacks(block, hash->lo, mask);
	bool won;

	if (!lacks)
		return false;
	won = bits_claim_words(block, mask, lacks, part->unshared);
	mark(part, block);
	return won;
}

static int add(struct blm_part *part, const struct blm_hashed *key)
{
	return add_hash(part, &key->hash);
}

static int claim(struct blm_part *part, const struct blm_hashed *key)
{
	return claim_hash(part, &key->hash);
}

static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	__builtin_prefetch(block_for(part, &key->hash), 0, 2);
}

static const uint64_t *probe(const struct blm_part *part, const struct blm_hashed *key, unsigned i,
			     uint64_t *ret_mask)
{
	*ret_mask = 0;
	return i == 0 ? block_for(part, &key->hash) : NULL;
}

static void contains_many(const struct blm_part *part, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	const struct blm_block_keys keys = {
		.data = part->bytes, .blocks = blocks_of(part), .hashes = batch->hashes,
		.count = batch->count,
		.next = batch->next, .next_count = batch->next_count,
	};

	part->simd->split_blocks_contain(&keys, ret_bits);
}

static int add_many(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits)
{
	contains_many(part, batch, ret_bits);
	bits_change_absent(part, batch, ret_bits, add_hash);
	return 0;
}

static int claim_many(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits)
{
	contains_many(part, batch, ret_bits);
	bits_change_absent(part, batch, ret_bits, claim_hash);
	return 0;
}

/* An entry is the half of a key's hash that is used. */
static bool sort(struct blm_buffers *buffers, const struct blm_batch *batch)
{
	uint64_t *entries = buffers->entries, blocks = blocks_of(buffers->of->part);
	unsigned shift = buffers->of->shift - 8;	/* of blocks of 2^8 bits */
	size_t capacity = buffers->of->capacity;
	uint32_t most = 0;

	for (size_t i = 0; i < batch->count; i++) {
		uint64_t lo = batch->hashes[i].lo, piece = split_number(lo, blocks) >> shift;
		uint32_t at = buffers->used[piece]++;

		entries[piece * capacity + at] = lo;
		most = at > most ? at : most;
	}
	return most >= buffers->of->nearly;
}

static void mark_changed(struct blm_part *part, const uint64_t *los, uint64_t changed)
{
	for (; changed; changed &= changed - 1)
		mark(part, part->bytes + split_number(los[__builtin_ctzll(changed)],
						      blocks_of(part)) * SPLIT_BYTES);
}

static void apply(struct blm_buffers *buffers, uint64_t piece)
{
	enum { TOGETHER = 1024 };
	struct blm_part *part = buffers->of->part;
	const uint64_t *los = (const uint64_t *)buffers->entries + piece * buffers->of->capacity;
	uint64_t changed[TOGETHER / 64];
	bool marked = blm_piece_is_marked(buffers->of, piece);

	for (size_t at = 0, used = buffers->used[piece]; at < used; at += TOGETHER) {
		size_t count = used - at < TOGETHER ? used - at : TOGETHER;

		part->simd->split_blocks_set(part->bytes, blocks_of(part), los + at, count,
					     changed);
		for (size_t i = 0; i < (count + 63) / 64; i++) {
			buffers->counted += (uint64_t)__builtin_popcountll(changed[i]);
			if (!marked)
				mark_changed(part, los + at + 64 * i, changed[i]);
		}
		marked = marked || blm_piece_is_marked(buffers->of, piece);
	}
}

static const struct blm_fill filling = { .entry_bytes = sizeof(uint64_t), .sort = sort,
					 .apply = apply };

static void tally(const struct blm_part *part, const void *data, size_t bytes, struct blm_tally *to)
{
	to->bytes += bytes;
	to->ones += part->simd->count_ones(data, bytes);
	to->lanes += part->simd->count_split_blocks(data, bytes, to->blocks);
}

/*
 * The mean, over the blocks, of the product of their lanes' shares. Padding, which counts as an
 * empty block, is left out.
 */
static double rate_of(const struct blm_shape *s, const struct blm_tally *c)
{
	double blocks = fmin((double)c->bytes / SPLIT_BYTES, (double)(s->cells / SPLIT_BITS));

	return (double)c->lanes / 0x1p40 / blocks;
}

/*
 * As in blocked.c. A bit stays empty with probability 31/32 for each key of its block; two bits of
 * one lane both stay empty with 30/32, two bits of different lanes with (31/32)^2.
 */
static double keys_of(const struct blm_shape *s, double fill, double *ret_error)
{
	double blocks = (double)s->cells / SPLIT_BITS, a = 1.0 / LANE_BITS;
	double load = -log1p(-fill) / a;	/* keys a block */
	double empty = SPLIT_BITS * exp(-load * a);
	double pairs = SPLIT_BITS * (LANE_BITS - 1.0) * exp(-load * 2 * a)
		     + SPLIT_BITS * (SPLIT_BITS - LANE_BITS) * exp(-load * (2 * a - a * a));
	double variance = pairs + empty - empty * empty * (1 + load * a * a);

	*ret_error = sqrt(blocks * fmax(variance, 0)) / (a * empty);
	return blocks * load;
}

static void place(const struct blm_part *part, const struct blm_hash *hashes, size_t count,
		  uint64_t *ret)
{
	for (size_t i = 0; i < count; i++)
		ret[i] = (uint64_t)((const uint8_t *)block_for(part, &hashes[i]) - part->bytes);
}

const struct blm_kind blm_kind_split_block = {
	.id = 3,
	.name = "split-block",
	.protocol = BLM_SETS_BITS,
	.summary = "Parquet's: blocks of 256 bits, a bit in each of 8 lanes; folds to a smaller "
	"one",
	.family = "xxh64",
	.options = options,
	.plan = plan, .valid = valid, .padding_bits = padding_bits, .contains = contains,
	.rate_at = rate_at,
	.add = add, .claim = claim,
	.unite = blm_bits_unite, .intersect = blm_bits_intersect,
	.fold_bits = SPLIT_BITS, .splits = true, .place = place,
	.tally = tally, .rate_of = rate_of, .keys_of = keys_of,
	.prefetch = prefetch, .probe = probe, .contains_many = contains_many, .add_many = add_many,
	.claim_many = claim_many,
	.fill = &filling,
	.hash_bits = 64,
};
