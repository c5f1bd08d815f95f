/*
 * fuse_query.c - questions to tables of cells (fuse_table.h): of one key, and of many whose memory
 * is asked for in advance
 */
#include "kind/common/fuse_table.h"

/* The first bit of a key's cells in its table; words NULL: it has none. */
struct place {
	const uint64_t *words;
	uint64_t bit[BLM_PEEL_PROBES];
};

static inline void find_in(const struct blm_table *table, const struct blm_part *part,
			   unsigned probes, const struct blm_hash *hash, uint64_t rest,
			   struct place *ret)
{
	table_cells_of(table, probes, hash, rest, ret->bit);
	for (unsigned i = 0; i < probes; i++)
		ret->bit[i] *= part->shape.cell_bits;
	ret->words = table->words;
}

static inline bool find(const struct blm_part *part, unsigned probes, const struct blm_hash *hash,
			struct place *ret)
{
	struct blm_table table;
	uint64_t rest, number = shard_number(&part->shape, hash, &rest);

	if (table_at(part, number, &table))
		find_in(&table, part, probes, hash, rest, ret);
	else
		ret->words = NULL;
	return ret->words;
}

/* The XOR of some bits of all its cells: `count` of them, `skip` from the lowest. */
static inline uint64_t sum(const struct place *place, unsigned probes, unsigned skip,
			   unsigned count)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < probes; i++)
		bits ^= table_bits(place->words, place->bit[i] + skip, count);
	return bits & lowest_bits(count);
}

static unsigned check_bits(const struct blm_part *part)
{
	return (unsigned)part->shape.args[BLM_PEEL_CHECK];
}

bool blm_peel_contains(const struct blm_part *part, const struct blm_hashed *key)
{
	unsigned bits = check_bits(part), probes = part->shape.probes;
	struct place place;

	return find(part, probes, &key->hash, &place)
		&& sum(&place, probes, 0, bits) == check_of(&key->hash, bits);
}

int blm_peel_get(const struct blm_part *part, const struct blm_hashed *key, uint64_t *ret)
{
	unsigned bits = check_bits(part), probes = part->shape.probes;
	struct place place;

	if (!find(part, probes, &key->hash, &place)
	    || sum(&place, probes, 0, bits) != check_of(&key->hash, bits))
		return 0;
	*ret = sum(&place, probes, bits, part->shape.cell_bits - bits);
	return 1;
}

/* ---- Their memory ---- */

static inline void ask_memory(const struct place *place, unsigned probes)
{
	for (unsigned i = 0; i < probes; i++)
		__builtin_prefetch(&place->words[place->bit[i] / 64], 0, 2);
}

void blm_peel_prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	struct place place;

	if (find(part, part->shape.probes, &key->hash, &place))
		ask_memory(&place, part->shape.probes);
}

const uint64_t *blm_peel_probe(const struct blm_part *part, const struct blm_hashed *key,
			       unsigned i, uint64_t *ret_mask)
{
	struct place place;

	*ret_mask = 0;
	return i < part->shape.probes && find(part, part->shape.probes, &key->hash, &place)
		? &place.words[place.bit[i] / 64] : NULL;
}

/* ---- Many: the memory of each is asked for some keys before it is looked at ---- */

enum { AHEAD = 16 };

/* lone: the table, if there is only one; otherwise NULL. */
static inline void ask_many(const struct blm_part *part, const struct blm_table *lone,
			    unsigned probes, const struct blm_batch *batch, uint64_t *ret_bits)
{
	unsigned bits = check_bits(part);
	struct place ahead[AHEAD];

	for (size_t i = 0; i < batch->count + AHEAD; i++) {
		struct place *place = &ahead[i % AHEAD];
		size_t then = i - AHEAD;

		if (i >= AHEAD && place->words)
			ret_bits[then / 64] |= (uint64_t)(sum(place, probes, 0, bits)
							  == check_of(&batch->hashes[then], bits))
							  << then % 64;
		if (i >= batch->count)
			continue;
		if (lone)
			find_in(lone, part, probes, &batch->hashes[i], batch->hashes[i].hi, place);
		if (lone || find(part, probes, &batch->hashes[i], place))
			ask_memory(place, probes);
	}
}

void blm_peel_contains_many(const struct blm_part *part, const struct blm_batch *batch,
			    uint64_t *ret_bits)
{
	struct blm_table table, *lone = NULL;

	memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
	if (shards_of(&part->shape) == 1) {
		if (!table_at(part, 0, &table))
			return;
		lone = &table;
	}
	if (part->shape.probes == 3)
		ask_many(part, lone, 3, batch, ret_bits);
	else
		ask_many(part, lone, 4, batch, ret_bits);
}
