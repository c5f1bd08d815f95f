/*
 * shards.h - data in shards, for kinds that are built from all their keys at once: a shard has the
 * keys whose hashes have the same beginning
 *
 * A shard has 2^20 keys and more, so that many shards can be made at the same time, each in at most
 * some 220 MiB of memory, for any number of keys; fewer keys are one shard. The data begin with an
 * index with an entry for each shard (format-spec.md, "Shards"). The shards follow, each at a
 * multiple of 64 bytes. The kind defines the contents of a shard, which depend on its keys only.
 * The number of shards depends on the number of keys only. So the data do not depend on threads or
 * memory.
 */
#ifndef BLM_KIND_SHARDS_H
#define BLM_KIND_SHARDS_H

#include "kind/kind.h"

enum { BLM_SHARD_KEYS_SHIFT = 20, BLM_SHARD_ALIGN = 64 };

/* In the file, little-endian. */
struct blm_shard_entry {
	uint64_t offset;		/* from the beginning of the data */
	uint64_t bytes;			/* a multiple of 64; 0: it has no keys */
	uint64_t own[2];		/* the kind's */
};
static_assert(sizeof(struct blm_shard_entry) == 32, "format-spec.md, Shards");

/*
 * A shard as it was found, by numbers that were copied from the map and checked: words[0 .. bytes /
 * 8 - 1] are in it.
 */
struct blm_shard {
	uint64_t *words;
	uint64_t bytes;
	uint64_t own[2];
};

static inline uint64_t shards_of(const struct blm_shape *shape)
{
	uint64_t shards = shape->capacity >> BLM_SHARD_KEYS_SHIFT;

	return shards ? shards : 1;
}

static inline uint64_t shard_index_bytes(const struct blm_shape *shape)
{
	return round_up(shards_of(shape) * sizeof(struct blm_shard_entry), BLM_SHARD_ALIGN);
}

/*
 * Which shard a hash belongs to; *ret_rest: its place there, as a share of 2^64 that ascends with
 * the hash.
 */
static inline uint64_t shard_number(const struct blm_shape *shape, const struct blm_hash *hash,
				    uint64_t *ret_rest)
{
	unsigned __int128 at = (unsigned __int128)hash->hi * shards_of(shape);

	*ret_rest = (uint64_t)at;
	return (uint64_t)(at >> 64);
}

/*
 * False: it has no keys, or the index is damaged. Others may write to the map: look at the entry no
 * more.
 */
static inline bool shard_at(const struct blm_part *part, uint64_t number, struct blm_shard *ret)
{
	const struct blm_shard_entry *e = (const struct blm_shard_entry *)part->bytes + number;
	uint64_t offset = load_relaxed(&e->offset), all = part->shape.bytes;
	bool good;

	ret->bytes = load_relaxed(&e->bytes);
	ret->own[0] = load_relaxed(&e->own[0]);
	ret->own[1] = load_relaxed(&e->own[1]);
	good = ret->bytes && offset % BLM_SHARD_ALIGN == 0 && offset <= all
		&& ret->bytes <= all - offset;
	ret->words = (uint64_t *)(part->bytes + (good ? offset : 0));
	return good;
}

/* The functions of a kind with shards. All depend on the arguments only. */
struct blm_shard_maker {
	/* The bytes of a shard of `keys` keys, not 0. */
	uint64_t (*bytes)(const struct blm_shape *shape, uint64_t keys);
	/* The memory that make() takes for `keys` keys, without hashes and values; not 0. */
	uint64_t (*work_bytes)(const struct blm_shape *shape, uint64_t keys);
	/*
	 * Make a shard, which is all zeros and has bytes() bytes, from its keys: at least one,
	 * ascending. values: NULL if the keys have none. buffer: aligned to 64, not cleared. Sets
	 * shard->own. Fails with a message.
	 */
	int (*make)(const struct blm_part *part, struct blm_shard *shard,
		    const struct blm_hash *hashes, const uint64_t *values, uint64_t count,
		    void *buffer);
};

/* On paper, before the keys are known: the bytes of data if all shards have as many keys. */
uint64_t blm_shards_bytes(const struct blm_shape *shape, const struct blm_shard_maker *maker);
/* Is the index within the data? For valid(). */
bool blm_shards_valid(const struct blm_shape *shape);
/*
 * fit() and build() of a kind. fit() sets shape->capacity to the number of keys, and shape->bytes.
 * build() makes as many shards at once as there are threads and as memory allows, but one, however
 * little that is.
 */
int blm_shards_fit(struct blm_shape *shape, const struct blm_sorted *keys,
		   const struct blm_shard_maker *maker);
int blm_shards_build(struct blm_part *part, const struct blm_sorted *keys,
		     const struct blm_shard_maker *maker);
/*
 * build_within() of a kind. It makes the shards in the range, and all shards if the range has the
 * index: the entry of a shard is known only when the shard is made.
 */
int blm_shards_build_within(struct blm_part *part, const struct blm_sorted *keys,
			    const struct blm_shard_maker *maker, uint64_t from, uint64_t to);

#endif
