/* exact_parts.c - questions to a first level in parts: the bytes are anyone's */
#include "kind/exact_parts.h"

static struct exact_part entry(const struct blm_part *level, unsigned i)
{
	const struct exact_part *e = (const struct exact_part *)level->bytes + i;

	return (struct exact_part){ load_relaxed(&e->keys), load_relaxed(&e->bytes) };
}

/* The part of a key: the entry of its column has it, or the column has no entry. */
static unsigned part_of(const struct blm_part *level, const struct blm_hash *hash)
{
	const uint8_t *columns = level->bytes
		+ level->shape.args[EXACT_LEVEL_PARTS] * sizeof(struct exact_part);
	uint64_t low = 0, high = level->shape.args[EXACT_LEVEL_COLUMNS];
	uint32_t column = column_of(hash), there;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		there = __atomic_load_n((const uint32_t *)columns + middle, __ATOMIC_RELAXED);
		there = le32toh(there);
		if (there >> EXACT_PART_BITS == column)
			return there & (EXACT_PARTS_MAX - 1);
		if (there >> EXACT_PART_BITS < column)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

enum answer { NO, YES, ASK };

/* The answer of a part; ASK: its ribbon answers. */
static enum answer open_part(const struct blm_part *level, unsigned number, struct blm_part *ret)
{
	const uint64_t *args = level->shape.args;
	uint64_t at = exact_table_bytes(args[EXACT_LEVEL_PARTS], args[EXACT_LEVEL_COLUMNS]);
	struct exact_part e;

	if (number >= args[EXACT_LEVEL_PARTS])
		return NO;
	for (unsigned i = 0; i < number; i++) {
		e = entry(level, i);
		if (at > level->shape.bytes || e.bytes > level->shape.bytes - at)
			return NO;
		at += e.bytes;
	}
	e = entry(level, number);
	if (at > level->shape.bytes || e.bytes > level->shape.bytes - at || !e.keys)
		return NO;
	*ret = (struct blm_part){ .kind = &blm_kind_ribbon, .simd = level->simd,
				  .bytes = level->bytes + at };
	ret->shape = exact_level(e.keys, 0.5);
	ret->shape.bytes = e.bytes;
	return !e.bytes ? YES : blm_shards_valid(&ret->shape) ? ASK : NO;
}

bool blm_exact_parts_valid(const struct blm_part *level)
{
	uint64_t parts = level->shape.args[EXACT_LEVEL_PARTS],
		at = exact_table_bytes(parts, level->shape.args[EXACT_LEVEL_COLUMNS]);

	if (at > level->shape.bytes)
		return false;
	for (unsigned i = 0; i < parts; i++) {
		struct exact_part e = entry(level, i);
		struct blm_shape ribbon = exact_level(e.keys, 0.5);

		ribbon.bytes = e.bytes;
		if (e.keys > BLM_CAPACITY_MAX || (!e.keys && e.bytes)
		    || (e.bytes && !blm_shards_valid(&ribbon))
		    || e.bytes > level->shape.bytes - at)
			return false;
		at += e.bytes;
	}
	return at == level->shape.bytes;
}

static bool contains(const struct blm_part *level, const struct blm_hashed *key)
{
	struct blm_part ribbon;
	enum answer a = open_part(level, part_of(level, &key->hash), &ribbon);

	return a == ASK ? blm_kind_ribbon.contains(&ribbon, key) : a == YES;
}

static void prefetch(const struct blm_part *level, const struct blm_hashed *key)
{
	struct blm_part ribbon;

	if (open_part(level, part_of(level, &key->hash), &ribbon) == ASK)
		blm_kind_ribbon.prefetch(&ribbon, key);
}

static const uint64_t *probe(const struct blm_part *level, const struct blm_hashed *key, unsigned i,
			     uint64_t *ret_mask)
{
	struct blm_part ribbon;

	*ret_mask = 0;
	return open_part(level, part_of(level, &key->hash), &ribbon) == ASK
		? blm_kind_ribbon.probe(&ribbon, key, i, ret_mask) : NULL;
}

/* The keys of a batch that one part has, together. */
static void ask_part(const struct blm_part *level, const struct blm_batch *batch,
		     const uint8_t *parts, unsigned number, uint64_t *ret_bits)
{
	struct blm_hash hashes[BLM_BATCH];
	uint64_t yes[BLM_BATCH_WORDS];
	uint16_t which[BLM_BATCH];
	struct blm_batch some = { .by = batch->by, .hashes = hashes };
	struct blm_part ribbon;
	enum answer a = open_part(level, number, &ribbon);

	for (size_t i = 0; i < batch->count; i++) {
		if (parts[i] != number)
			continue;
		hashes[some.count] = batch->hashes[i];
		which[some.count++] = (uint16_t)i;
	}
	memset(yes, a == YES ? 0xff : 0, sizeof(yes));
	if (a == ASK)
		blm_kind_ribbon.contains_many(&ribbon, &some, yes);
	for (size_t i = 0; i < some.count; i++)
		ret_bits[which[i] / 64] |= (yes[i / 64] >> i % 64 & 1) << which[i] % 64;
}

static void contains_many(const struct blm_part *level, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	uint8_t parts[BLM_BATCH];
	uint32_t there = 0;

	memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
	for (size_t i = 0; i < batch->count && i < BLM_BATCH; i++) {
		parts[i] = (uint8_t)part_of(level, &batch->hashes[i]);
		there |= UINT32_C(1) << parts[i];
	}
	for (; there; there &= there - 1)
		ask_part(level, batch, parts, (unsigned)__builtin_ctz(there), ret_bits);
}

const struct blm_kind blm_exact_parts = {
	.name = "exact's first level",
	.contains = contains, .contains_many = contains_many, .prefetch = prefetch, .probe = probe,
};
