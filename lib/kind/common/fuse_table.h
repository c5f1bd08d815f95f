/*
 * fuse_table.h - tables in which the XOR of a few cells is the value given to their key: the base
 * of fuse and bloomier
 *
 * Binary fuse filters: T. M. Graf and D. Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor
 * Filters", ACM Journal of Experimental Algorithmics 27, 2022. A key has one cell in each of
 * `probes` (3 or 4) segments, which follow each other. A table is filled by peeling: a key that has
 * a cell to itself is removed, and so on until no key is left. Then, in the reverse order, each
 * key's own cell is set so that the XOR is right. If the peeling fails, the cells are chosen by
 * another seed.
 *
 * A cell has cell_bits bits; the lowest args[BLM_PEEL_CHECK] of them are from the key's hash, and
 * those above are its value. The data are in shards, each a table with a seed of its own
 * (format-spec.md, "Tables of cells"). fuse_table.c fills them, fuse_query.c asks.
 */
#ifndef BLM_KIND_PEEL_H
#define BLM_KIND_PEEL_H

#include "kind/common/shards.h"

/* of args: bits of a cell; kinds without values have no second */
enum { BLM_PEEL_CHECK, BLM_PEEL_VALUE };
enum { BLM_PEEL_PROBES = 4 };			/* at most */
enum { BLM_SEGMENT_SHIFT_MAX = 16 };

/*
 * plan() of a kind with `least` to `most` check bits: as its argument says, or as few as keep the
 * rate.
 */
int blm_peel_plan(const struct blm_kind *kind, struct blm_shape *ret,
		  const struct blm_params *params, unsigned least, unsigned most,
		  unsigned value_bits);
bool blm_peel_valid(const struct blm_shape *shape);
int blm_peel_fit(struct blm_shape *shape, const struct blm_sorted *keys);
int blm_peel_build(struct blm_part *part, const struct blm_sorted *keys);
int blm_peel_build_within(struct blm_part *part, const struct blm_sorted *keys, uint64_t from,
			  uint64_t to);
double blm_peel_rate_at(const struct blm_shape *shape, uint64_t keys);

bool blm_peel_contains(const struct blm_part *part, const struct blm_hashed *key);
void blm_peel_contains_many(const struct blm_part *part, const struct blm_batch *batch,
			    uint64_t *ret_bits);
int blm_peel_get(const struct blm_part *part, const struct blm_hashed *key, uint64_t *ret);
void blm_peel_prefetch(const struct blm_part *part, const struct blm_hashed *key);
const uint64_t *blm_peel_probe(const struct blm_part *part, const struct blm_hashed *key,
			       unsigned i, uint64_t *ret_mask);

/* The resulting rate; for values: the space against the bits of check and value. */
bool blm_peel_foretell(const struct blm_shape *shape, unsigned i, struct blm_fact *ret);
bool blm_peel_describe(const struct blm_part *part, unsigned i, struct blm_fact *ret);

/* ---- Where the cells of a key lie ---- */

/* A shard, by numbers that were checked: all its cells are within its words. */
struct blm_table {
	uint64_t *words;
	uint64_t seed;
	/* for the first cell of a key; there are probes - 1 more */
	uint64_t segments;
	unsigned shift;			/* a segment has 2^shift cells */
};

static inline uint64_t table_cells(const struct blm_table *table, unsigned probes)
{
	return (table->segments + probes - 1) << table->shift;
}

/* In a shard's entry: the seed; the number of segments, and in the lowest byte the shift. */
static inline bool table_at(const struct blm_part *part, uint64_t number, struct blm_table *ret)
{
	const struct blm_shape *s = &part->shape;
	struct blm_shard shard;

	if (!shard_at(part, number, &shard))
		return false;
	*ret = (struct blm_table){ .words = shard.words, .seed = shard.own[0],
				   .segments = shard.own[1] >> 8, .shift = shard.own[1] & 0xff };
	return ret->segments - 1 < UINT32_MAX && ret->shift <= BLM_SEGMENT_SHIFT_MAX
	    && table_cells(ret, s->probes) * s->cell_bits <= shard.bytes * 8;
}

/* The mix at the end of MurmurHash3, of A. Appleby. */
static inline uint64_t murmur_mix(uint64_t x)
{
	x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
	x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

/*
 * The seed 0 is tried first: keys in the order of their hashes are then in the order of their
 * segments. Under any other seed all bits of the hash matter, so that some seed distinguishes any
 * set of different hashes.
 */
static inline void table_cells_of(const struct blm_table *table, unsigned probes,
				  const struct blm_hash *hash, uint64_t rest,
				  uint64_t ret[BLM_PEEL_PROBES])
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15), mask = (UINT64_C(1) << table->shift) - 1;
	uint64_t place = rest, within = hash->lo, first;

	if (__builtin_expect(table->seed != 0, false)) {
		place = murmur_mix(murmur_mix(hash->lo + table->seed * odd) ^ hash->hi);
		within = murmur_mix(place + odd);
	}
	first = scale(place, table->segments);
	for (unsigned i = 0; i < probes; i++)
		ret[i] = ((first + i) << table->shift) + (within >> i * table->shift & mask);
}

/* ---- The contents of cells ---- */

static inline uint64_t lowest_bits(unsigned count)	/* 1 to 64 */
{
	return UINT64_MAX >> (64 - count);
}

/*
 * The `count` bits of a table from `bit` on, and above them others. Reads no word that has none of
 * them.
 */
static inline uint64_t table_bits(const uint64_t *words, uint64_t bit, unsigned count)
{
	unsigned skip = bit % 64;

	return load_relaxed(&words[bit / 64]) >> skip | load_relaxed(&words[(bit + count - 1) / 64])
		<< 1 << (63 - skip);
}

/* The check bits of a key. */
static inline uint64_t check_of(const struct blm_hash *hash, unsigned bits)
{
	return unfold(hash->lo, hash->hi, 0) & lowest_bits(bits);
}

#endif
