/*
 * blocked.c - Bloom filters of one cache line: a key has one block of 512 bits and all its probes
 * in it
 *
 * Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", WEA 2007 / JEA 14,
 * 2009. One miss a question. The blocks fill unevenly, so the rate is the mixture over their loads,
 * and the filter is sized by that (sizing.c). It costs 3 to 15 % more bits than classic from
 * p = 0.01 to 0.0001 (`bloomery plan`).
 * The bits of a key: simd/block.h.
 */
#include "kind/common/one_key.h"
#include "kind/common/partition.h"
#include "kind/common/sizing.h"

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
		return blm_fail(-EINVAL, "a blocked filter has a multiple of %d bits, not %llu; "
				"the kind classic takes any number",
				BLOCK_BITS, (unsigned long long)s.cells);
	if (!s.cells) {
		uint64_t blocks;

		if (!s.rate)
			s.rate = BLM_DEFAULT_RATE;
		blocks = blm_blocks_for(s.capacity, s.rate, &s.probes);
		if (!blocks)
			return blm_fail(-EFBIG, "a blocked filter for %llu keys cannot keep the "
					"rate %g within 2^47 bits%s",
					(unsigned long long)s.capacity, s.rate,
					blm_classic_cells(s.capacity, s.rate,
							  s.probes ? s.probes
							  : blm_best_probes(s.rate))
							  ? "; the kind classic can" : "");
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
	return s->cells >= BLOCK_BITS && s->cells <= BLM_CELLS_MAX && s->cells % BLOCK_BITS == 0
		&& s->bytes == s->cells / 8
	    && s->probes >= 1 && s->probes <= BLM_PROBES_MAX && s->cell_bits == 1;
}

static uint64_t blocks_of(const struct blm_part *part)
{
	return part->shape.cells / BLOCK_BITS;
}

static uint64_t *block_for(const struct blm_part *part, const struct blm_hash *hash)
{
	return (uint64_t *)block_of(part->bytes, blocks_of(part), hash);
}

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	return blocked_contains(part->bytes, blocks_of(part), part->shape.probes, &key->hash,
				part->simd->block_contains);
}

static int add(struct blm_part *part, const struct blm_hashed *key)
{
	return blocked_add(part, blocks_of(part), &key->hash, part->simd->block_lacks);
}

/* All claimers of a key take its bits in one order, also kind/single.c: probes, or words. */
static bool claim_hash(struct blm_part *part, const struct blm_hash *hash)
{
	uint64_t *block = block_for(part, hash), mask[8];
	unsigned probes = part->shape.probes, lacks;
	bool won;

	if (probes <= PROBES_A_WORD && !part->unshared) {
		uint64_t word = unfold(hash->lo, hash->hi, 0);

		lacks = block_lacks_last(block, probes, word);
		won = block_claim_by_last(block, probes, word, lacks);
	} else {
		lacks = part->simd->block_lacks(block, probes, hash, mask);
		won = bits_claim_words(block, mask, lacks, part->unshared);
	}
	if (lacks)
		mark(part, block);
	return won;
}

static int claim(struct blm_part *part, const struct blm_hashed *key)
{
	return claim_hash(part, &key->hash);
}

static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	__builtin_prefetch(block_for(part, &key->hash), 0, 2);
}

static struct blm_block_keys keys_of_batch(const struct blm_part *part,
					   const struct blm_batch *batch)
{
	return (struct blm_block_keys){
		.data = part->bytes, .blocks = blocks_of(part), .probes = part->shape.probes,
		.hashes = batch->hashes, .count = batch->count, .next = batch->next,
		.next_count = batch->next_count,
	};
}

static const uint64_t *probe(const struct blm_part *part, const struct blm_hashed *key, unsigned i,
			     uint64_t *ret_mask)
{
	*ret_mask = 0;
	return i == 0 ? (const uint64_t *)block_of(part->bytes, blocks_of(part), &key->hash) : NULL;
}

static void contains_many(const struct blm_part *part, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	const struct blm_block_keys keys = keys_of_batch(part, batch);

	part->simd->blocks_contain(&keys, ret_bits);
}

/*
 * Lists the missing bits of up to 64 keys first, then sets them. An atomic OR waits for all loads
 * before it and delays those after it, so one key at a time is slower, even with the bits of a word
 * merged into one OR. A bit that is listed for two keys is new for the first one. Marks come after
 * the data. (In tests/bench: "add_many new", compared with "add new" and "atomic OR".)
 */
static uint64_t set_missing(struct blm_part *part, const struct blm_missing *missing)
{
	uint64_t changed = 0;

	for (size_t i = 0; i < missing->count; i++) {
		uint64_t which = missing->which[i];

		changed |= (uint64_t)bits_set_one(missing->word[i], which % 64, part->unshared)
			<< which / 64;
	}
	return changed;
}

static int add_many(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits)
{
	const struct blm_block_keys keys = keys_of_batch(part, batch);
	struct blm_missing missing;

	size_t at = 0;

	memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
	do {	/* also once for an empty batch, to prefetch the next */
		size_t to = part->simd->blocks_missing(&keys, at, &missing);
		uint64_t changed = set_missing(part, &missing);

		if (changed)
			ret_bits[at / 64] |= changed << at % 64;
		for (; changed; changed &= changed - 1)
			mark(part, block_for(part, &batch->hashes[at
				+ (unsigned)__builtin_ctzll(changed)]));
		at = to;
	} while (at < batch->count);
	return 0;
}

/*
 * Asks for all keys first, with the fastest loop, and then claims the absent ones one by one, each
 * with its own loads. Most claimed keys are present, and these cost little more than the question.
 */
static int claim_many(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits)
{
	contains_many(part, batch, ret_bits);
	bits_change_absent(part, batch, ret_bits, claim_hash);
	return 0;
}

/* An entry is a key's hash. */
static bool sort(struct blm_buffers *buffers, const struct blm_batch *batch)
{
	const struct blm_hash *hashes = batch->hashes;
	struct blm_hash *entries = buffers->entries;
	uint64_t blocks = blocks_of(buffers->of->part);
	unsigned shift = buffers->of->shift - BLOCK_SHIFT;
	size_t count = batch->count, capacity = buffers->of->capacity;
	uint32_t *used = buffers->used, most = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t piece = scale(hashes[i].hi, blocks) >> shift;
		uint32_t at = used[piece]++;

		entries[piece * capacity + at] = hashes[i];
		most = at > most ? at : most;
	}
	return most >= buffers->of->nearly;
}

static void mark_changed(struct blm_part *part, const struct blm_hash *hashes, uint64_t changed)
{
	for (; changed; changed &= changed - 1)
		mark(part, block_of(part->bytes, blocks_of(part),
				    &hashes[__builtin_ctzll(changed)]));
}

static void apply(struct blm_buffers *buffers, uint64_t piece)
{
	enum { TOGETHER = 1024 };
	struct blm_part *part = buffers->of->part;
	const struct blm_hash *hashes = (const struct blm_hash *)buffers->entries + piece
		* buffers->of->capacity;
	uint64_t changed[TOGETHER / 64];
	bool marked = blm_piece_is_marked(buffers->of, piece);

	for (size_t at = 0, used = buffers->used[piece]; at < used; at += TOGETHER) {
		size_t count = used - at < TOGETHER ? used - at : TOGETHER;

		part->simd->blocks_set(part->bytes, blocks_of(part), part->shape.probes,
				       hashes + at, count, changed);
		for (size_t i = 0; i < (count + 63) / 64; i++) {
			buffers->counted += (uint64_t)__builtin_popcountll(changed[i]);
			if (!marked)
				mark_changed(part, hashes + at + 64 * i, changed[i]);
		}
		marked = marked || blm_piece_is_marked(buffers->of, piece);
	}
}

static const struct blm_fill filling = { .entry_bytes = sizeof(struct blm_hash), .sort = sort,
					 .apply = apply };

static void tally(const struct blm_part *part, const void *data, size_t bytes, struct blm_tally *to)
{
	uint64_t histogram[BLOCK_BITS + 1] = { 0 };

	part->simd->count_blocks(data, bytes, histogram);
	to->bytes += bytes;
	for (unsigned x = 0; x <= BLOCK_BITS; x++) {
		to->blocks[x] += histogram[x];
		to->ones += histogram[x] * x;
	}
}

static double rate_of(const struct blm_shape *s, const struct blm_tally *c)
{
	double sum = 0;

	for (unsigned x = 1; x <= BLOCK_BITS; x++)
		sum += (double)c->blocks[x] * pow((double)x / BLOCK_BITS, s->probes);
	return sum / ((double)c->bytes / BLOCK_BYTES);
}

/*
 * An empty bit stays empty with probability q = (1 - 1/512)^k for each key of its block, so with n
 * keys over b blocks, about Poisson, a share e^(-(n/b)(1-q)) stays empty. The error is that of the
 * number of empty bits, given n.
 */
static double keys_of(const struct blm_shape *s, double fill, double *ret_error)
{
	double blocks = (double)s->cells / BLOCK_BITS, k = s->probes;
	double a = -expm1(k * log1p(-1.0 / BLOCK_BITS)), a2 = -expm1(k * log1p(-2.0 / BLOCK_BITS));
	double load = -log1p(-fill) / a;	/* keys a block */
	double empty = BLOCK_BITS * exp(-load * a);
	double variance = BLOCK_BITS * (BLOCK_BITS - 1.0) * exp(-load * a2) + empty - empty * empty
		* (1 + load * a * a);

	*ret_error = sqrt(blocks * fmax(variance, 0)) / (a * empty);
	return blocks * load;
}

static void place(const struct blm_part *part, const struct blm_hash *hashes, size_t count,
		  uint64_t *ret)
{
	for (size_t i = 0; i < count; i++)
		ret[i] = (uint64_t)((const uint8_t *)block_for(part, &hashes[i]) - part->bytes);
}

const struct blm_kind blm_kind_blocked = {
	.id = 2,
	.name = "blocked",
	.protocol = BLM_SETS_BITS,
	.summary = "one cache line a key: the fastest to ask, for 3 to 15 % more bits than classic",
	.plan = plan, .valid = valid, .contains = contains, .rate_at = rate_at,
	.add = add, .claim = claim,
	.unite = blm_bits_unite, .intersect = blm_bits_intersect,
	.fold_bits = BLOCK_BITS, .splits = true, .place = place,
	.tally = tally, .rate_of = rate_of, .keys_of = keys_of,
	.prefetch = prefetch, .probe = probe, .contains_many = contains_many, .add_many = add_many,
	.claim_many = claim_many,
	.fill = &filling,
	.batch = 128,
	.short_family = "xxh3-64", .hash_bits = 64,
};
