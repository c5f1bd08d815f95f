/* build_add.c - keys, hashes and values on their way into a filter that is built */
#include "make/build.h"

struct blm_batch blm_build_batch(const struct blm_build *b, const struct blm_build_input *in,
				 size_t at, struct blm_key *keys, struct blm_hash *hashes)
{
	const struct blm_hasher *by = &b->hasher;
	bool hashed = in->hashes != NULL;
	struct blm_batch batch = {
		.by = by,
		.keys = in->keys ? in->keys + at : NULL,
		.hashes = in->hashes ? in->hashes + at : NULL,
		.count = in->count - at < BLM_BATCH ? in->count - at : BLM_BATCH,
	};

	if (!hashed && !wants_keys(by)) {
		if (in->fixed)
			blm_hash_all_fixed(by, in->fixed + at * in->width, in->width, batch.count,
					   hashes);
		else
			blm_hash_all(by, batch.keys, batch.count, hashes);
		batch.hashes = hashes;
		hashed = true;
	}
	if (in->fixed && (!hashed || b->spec.of->holds_keys)) {
		for (size_t i = 0; i < batch.count; i++)
			keys[i] = (struct blm_key){ in->fixed + (at + i) * in->width, in->width };
		batch.keys = keys;
	}
	return batch;
}

/* One by one, as others are added to. */
static int add_growing(struct blm_build *b, const struct blm_build_input *in)
{
	int64_t r;

	if (in->hashes)
		r = blm_add_hashes(b->growing, blm_hash_id(b->growing), in->hashes, in->count,
				   NULL);
	else if (in->fixed)
		r = blm_add_fixed(b->growing, in->fixed, in->width, in->count, NULL);
	else
		r = blm_add_many(b->growing, in->keys, in->count, NULL);
	return r < 0 ? (int)r : 0;
}

/* sort: the builder's list that they are added to. */
static int add_to_order(struct blm_build *b, struct blm_sort *sort,
			const struct blm_build_input *in)
{
	struct blm_hash hashes[BLM_BATCH];
	struct blm_key keys[BLM_BATCH];
	int r = 0;

	for (size_t at = 0; r == 0 && at < in->count; at += BLM_BATCH) {
		struct blm_batch batch = blm_build_batch(b, in, at, keys, hashes);

		r = blm_check_keys(&batch, b->spec.of);
		if (r == 0)
			r = blm_sort_add(sort, batch.hashes,
					 in->values ? in->values + at : NULL, batch.count);
	}
	return r;
}

int blm_build_word(const struct blm_build *b, int r)
{
	if (r == -EXFULL)
		return blm_fail(r, "%s: %s; give a larger blm_params.capacity",
				b->place.display, strdupa(blm_error_message()));
	if (r == -EMLINK)
		return blm_fail(-EXFULL, "%s: a key comes more often than a %s filter can hold "
				"one; leave blm_params.capacity and blm_params.cells out, and "
				"each key counts once", b->place.display, b->spec.of->name);
	return r;
}

static int add_to_file(struct blm_build *b, const struct blm_build_input *in)
{
	struct blm_buffers *buffers;
	struct blm_hash hashes[BLM_BATCH], owned[BLM_BATCH];
	struct blm_key keys[BLM_BATCH];
	int r = 0;

	if (b->growing)
		return add_growing(b, in);
	if (builds_cells(b))
		return blm_build_add_cells(b, in);
	buffers = blm_buffer_pool_take(&b->pool);
	if (!buffers)
		return -ENOMEM;
	for (size_t at = 0; r == 0 && at < in->count; at += BLM_BATCH) {
		struct blm_batch batch = blm_build_batch(b, in, at, keys, hashes);

		if (b->spec.split_parts)
			batch = blm_build_owned(b, batch, owned);
		r = blm_buffers_add(buffers, &batch);
	}
	blm_buffer_pool_give_back(&b->pool, buffers);
	return blm_build_word(b, r);
}

static int add(struct blm_build *b, const struct blm_build_input *in)
{
	char names[256];

	if (b->wants_values && !in->values)
		return blm_fail(-EINVAL, "%s: a %s filter holds a value for each key: give a value "
				"with each key", b->place.display, b->spec.of->name);
	if (in->values && !b->wants_values)
		return blm_fail(-EOPNOTSUPP, "%s: %s filters are not built with values; these "
				"kinds are: %s", b->place.display, b->spec.of->name,
				blm_kinds_that_can(BLM_CAN_BUILD | BLM_CAN_GET, names,
						   sizeof(names)));
	if (in->values) {
		int r = b->spec.of->check_values(b->choice.args, in->values, in->count);

		if (r < 0)
			return r;
	}
	if (in->hashes || b->hasher.family->ordered)
		blm_allowlist_carry_note_unnamed(b->carry);
	else if (in->keys)
		blm_allowlist_carry_note(b->carry, in->keys, in->count);
	else
		blm_allowlist_carry_note_fixed(b->carry, in->fixed, in->width, in->count);
	return b->gathers ? add_to_order(b, &b->sort, in) : add_to_file(b, in);
}

BLM_API int blm_build_add_many(struct blm_build *b, const struct blm_key *keys, size_t count)
{
	return add(b, &(struct blm_build_input){ .keys = keys, .count = count });
}

BLM_API int blm_build_add_fixed(struct blm_build *b, const void *keys, size_t width, size_t count)
{
	static const uint8_t nothing[1];

	return add(b, &(struct blm_build_input){ .fixed = width ? keys : nothing, .width = width,
				       .count = count });
}

BLM_API int blm_build_put_many(struct blm_build *b, const struct blm_key *keys,
			       const uint64_t *values, size_t count)
{
	return add(b, &(struct blm_build_input){ .keys = keys, .values = values, .count = count });
}

/*
 * The keys are not noted for the list of the replaced filter, which is of keys that were not added.
 */
BLM_API int blm_build_exclude_many(struct blm_build *b, const struct blm_key *keys, size_t count)
{
	char names[256];

	if (!b->excludes)
		return blm_fail(-EOPNOTSUPP, "%s: %s filters cannot be told which keys to deny; "
				"these kinds can: %s", b->place.display, b->spec.of->name,
				blm_kinds_that_can(BLM_CAN_EXCLUDE, names, sizeof(names)));
	return add_to_order(b, &b->excluded,
			    &(struct blm_build_input){ .keys = keys, .count = count });
}

BLM_API uint64_t blm_build_hash_id(const struct blm_build *b)
{
	return b->hash_id;
}

BLM_API int blm_build_add_hashes(struct blm_build *b, uint64_t hash_id,
				 const struct blm_hash *hashes, size_t count)
{
	if (wants_keys(&b->hasher))
		return blm_cannot_hash(&b->hasher, b->place.display);
	if (b->spec.of->holds_keys)
		return blm_fail(-EOPNOTSUPP, "%s: an %s holds keys, not hashes of them, so it "
				"takes none", b->place.display, b->spec.of->name);
	if (hash_id != b->hash_id)
		return blm_fail(-EMEDIUMTYPE, "%s: the hashes were made for filters with another "
				"hash, seed or key", b->place.display);
	return add(b, &(struct blm_build_input){ .hashes = hashes, .count = count });
}
