/* split.c - the ranges of data that the parts of a split filter own */
#include "kind/common/split.h"

/* With fewer blocks the parts could differ much in size. format-spec.md has these numbers. */
enum { LINE = 64, BLOCK = 64 << 10, BLOCKS_OF_A_PART = 16 };

uint64_t blm_split_unit(uint64_t bytes, uint32_t parts)
{
	return bytes / (BLOCKS_OF_A_PART * BLOCK) >= parts ? BLOCK : LINE;
}

static uint64_t units_of(uint64_t bytes, uint32_t parts)
{
	uint64_t unit = blm_split_unit(bytes, parts);

	return (bytes + unit - 1) / unit;
}

/* The first unit of a part: the first u with u * parts / units >= part. */
static uint64_t begin_of(uint64_t bytes, uint32_t part, uint32_t parts)
{
	uint64_t units = units_of(bytes, parts);
	unsigned __int128 first = ((unsigned __int128)units * part + parts - 1) / parts;
	uint64_t at = (uint64_t)first * blm_split_unit(bytes, parts);

	return at < bytes ? at : bytes;
}

struct blm_split blm_split_of(const struct blm_part *root, uint32_t part, uint32_t parts)
{
	return (struct blm_split){ .part = part, .parts = parts,
				   .from = begin_of(root->shape.bytes, part, parts),
				   .to = begin_of(root->shape.bytes, part + 1, parts) };
}

uint64_t blm_split_share(uint64_t keys, uint32_t part, uint32_t parts)
{
	unsigned __int128 all = keys;

	return (uint64_t)(all * (part + 1) / parts - all * part / parts);
}

struct blm_owners blm_owners_of(const struct blm_part *root, uint32_t parts)
{
	uint64_t bytes = root->shape.bytes, units = units_of(bytes, parts);

	return (struct blm_owners){
		.root = root, .parts = parts, .units = units,
		.shift = (unsigned)__builtin_ctzll(blm_split_unit(bytes, parts)),
		.inverse = units ? UINT64_MAX / units : 0,
	};
}

/* Divides by multiplying: the product is the quotient, or one less. */
static inline uint32_t owner_of_place(const struct blm_owners *o, uint64_t place)
{
	/* units are less than 2^47, parts at most 2^16 */
	uint64_t n = (place >> o->shift) * o->parts,
		quotient = (uint64_t)((unsigned __int128)n * o->inverse >> 64);

	return place == UINT64_MAX ? BLM_EVERY_PART
		: (uint32_t)(quotient + (n - quotient * o->units >= o->units));
}

void blm_owners_find(const struct blm_owners *owners, const struct blm_hash *hashes, size_t count,
		     uint32_t *ret)
{
	const struct blm_owners o = *owners;
	uint64_t places[BLM_BATCH];

	for (size_t at = 0; at < count; at += BLM_BATCH) {
		size_t some = count - at < BLM_BATCH ? count - at : BLM_BATCH;

		o.root->kind->place(o.root, hashes + at, some, places);
		for (size_t i = 0; i < some; i++)
			ret[at + i] = owner_of_place(&o, places[i]);
	}
}

uint32_t blm_split_owner(const struct blm_part *root, uint32_t parts, const struct blm_hash *hash)
{
	struct blm_owners owners = blm_owners_of(root, parts);
	uint32_t owner;

	blm_owners_find(&owners, hash, 1, &owner);
	return owner;
}
