/* key_batch.c - keys as callers give them, run through a view of a filter in batches */
#include "keys/key_batch.h"
#include "view/readahead.h"

/*
 * Hashes are good for filters of one family, seed and key only; the file may have been replaced
 * since they were made.
 */
int blm_input_check(const struct blm_filter *f, const struct blm_view *view,
		    const struct blm_input *in)
{
	if (!in->hashes)
		return 0;
	if (wants_keys(&view->hasher))
		return blm_cannot_hash(&view->hasher, f->place.display);
	if (in->hash_id != view->hash_id)
		return blm_fail(-EMEDIUMTYPE, "%s: the hashes were made for filters with another "
				"hash, seed or key", f->place.display);
	return 0;
}

/* The hashes and keys of a batch, if the caller did not give them: for this batch and the next. */
struct batch_buffers {
	size_t batch;
	struct blm_hash *hashes[2];
	struct blm_key *keys[2];
};

static void unpack(const struct blm_input *in, size_t at, size_t count, struct blm_key *buffer)
{
	uint64_t begin = count ? blm_offset_at(in, at) : 0, end;

	for (size_t i = 0; i < count; i++, begin = end) {
		end = blm_offset_at(in, at + i + 1);
		buffer[i] = (struct blm_key){ in->packed + begin, (size_t)(end - begin) };
	}
}

const struct blm_key *blm_input_keys(const struct blm_input *in, size_t at, size_t count,
				     struct blm_key *buffer)
{
	if (in->keys)
		return in->keys + at;
	if (in->offsets)
		unpack(in, at, count, buffer);
	for (size_t i = 0; i < count && !in->offsets; i++)
		buffer[i] = (struct blm_key){ in->fixed + (at + i) * in->width, in->width };
	return buffer;
}

static struct blm_batch batch_from(const struct blm_view *view, const struct blm_input *in,
				   size_t at, size_t most, struct blm_hash *hashes,
				   struct blm_key *keys)
{
	const struct blm_hasher *by = &view->hasher;
	size_t left = in->count - at;
	struct blm_batch batch = { .by = by, .count = left < most ? left : most, .when = in->when,
				   .keys = in->keys ? in->keys + at : NULL };

	if (in->hashes) {
		batch.hashes = in->hashes + at;
	} else if (wants_keys(by)) {
		batch.keys = blm_input_keys(in, at, batch.count, keys);
	} else {
		if (in->offsets)
			batch.keys = blm_input_keys(in, at, batch.count, keys);
		if (batch.keys)
			blm_hash_all(by, batch.keys, batch.count, hashes);
		else
			blm_hash_all_fixed(by, in->fixed + at * in->width, in->width, batch.count,
					   hashes);
		batch.hashes = hashes;
		if (view->root.kind->holds_keys)
			batch.keys = blm_input_keys(in, at, batch.count, keys);
	}
	return batch;
}

/* No answer of the batch is yes, since it failed with r. */
static int none(const struct blm_batch *batch, uint64_t *ret_bits, int r)
{
	memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
	return r;
}

/* The keys of a batch, which begin at the at-th of the input. */
static int work(struct blm_view *view, const struct blm_batch *batch, const struct blm_input *in,
		size_t at, enum blm_what what, uint64_t *ret_bits)
{
	struct blm_part *root = &view->root;

	if (view->checks_keys && batch->count) {
		int r = blm_check_owned(view, batch->hashes, batch->count);

		if (r < 0)
			return none(batch, ret_bits, r);
	}
	switch (what) {
	case BLM_ADD:    return blm_part_add(root, batch, ret_bits);
	case BLM_CLAIM:  return blm_part_claim(root, batch, ret_bits);
	case BLM_REMOVE: return blm_part_remove(root, batch, ret_bits);
	case BLM_PUT:    return blm_part_put(root, batch, in->values + at, ret_bits);
	case BLM_GET:    return blm_part_get(root, batch, in->ret_values + at, ret_bits);
	case BLM_ASK:    break;
	}
	blm_part_contains(root, batch, ret_bits);
	return 0;
}

/* A lone key, for which a batch is not worth it. */
static int run_one(struct blm_view *view, const struct blm_input *in, enum blm_what what)
{
	struct blm_part *root = &view->root;
	struct blm_key one;
	const struct blm_key key = in->hashes ? (struct blm_key){ NULL, 0 }
		: *blm_input_keys(in, 0, 1, &one);
	struct blm_hashed hashed = { .key = &key, .by = &view->hasher, .when = in->when };

	if (in->hashes)
		hashed.hash = *in->hashes;
	else if (!wants_keys(&view->hasher))
		view->hasher.family->hash(&view->hasher, &key, &hashed.hash);
	if (view->checks_keys) {
		int r = blm_check_owned(view, &hashed.hash, 1);

		if (r < 0)
			return r;
	}
	switch (what) {
	case BLM_ADD:    return root->kind->add(root, &hashed);
	case BLM_CLAIM:  return root->kind->claim(root, &hashed);
	case BLM_REMOVE: return root->kind->remove(root, &hashed);
	case BLM_PUT:    return root->kind->put(root, &hashed, *in->values);
	case BLM_GET:    return root->kind->get(root, &hashed, in->ret_values);
	case BLM_ASK:    break;
	}
	return root->kind->contains(root, &hashed);
}

/* If the filter is not in memory: has the pages of the next keys read, all at the same time. */
static __attribute__((noinline)) void ask_ahead(struct blm_view *view, const struct blm_input *in,
						size_t at, enum blm_what what)
{
	struct blm_batch batch = { .by = &view->hasher, .count = in->count - at < BLM_AHEAD
				   ? in->count - at : BLM_AHEAD };
	struct blm_key keys[BLM_AHEAD];

	if (in->hashes)
		batch.hashes = in->hashes + at;
	else
		batch.keys = blm_input_keys(in, at, batch.count, keys);
	blm_ask_ahead(view, &batch, what != BLM_ASK);
}

/*
 * Each batch is hashed before the previous one is processed, which prefetches its memory. The first
 * has an empty one before it.
 */
static int run_batches(struct blm_view *view, const struct blm_input *in, enum blm_what what,
		       uint64_t *ret_bits, int64_t *ret_yes,
		       const struct batch_buffers *buffers)
{
	struct blm_batch batch = { .by = &view->hasher };
	int r = 0, refused = 0;

	for (size_t at = 0, turn = 0; r == 0 && (at < in->count || batch.count); turn ^= 1) {
		struct blm_batch next = batch_from(view, in, at, buffers->batch,
						   buffers->hashes[turn], buffers->keys[turn]);
		uint64_t bits[BLM_BATCH_LARGE / 64];

		batch.next = next.hashes;
		batch.next_count = next.hashes ? next.count : 0;
		r = work(view, &batch, in, at - batch.count, what, bits);
		/* for some keys only: the others are answered */
		if (r == -EKEYREVOKED) {
			refused = r;
			r = 0;
		}
		for (size_t i = 0; i < (batch.count + 63) / 64; i++) {
			if (ret_bits)
				*ret_bits++ = bits[i];
			*ret_yes += __builtin_popcountll(bits[i]);
		}
		/* now that the batch before may have had to wait for the disk */
		if (r == 0 && at % BLM_AHEAD == 0 && at < in->count
		    && blm_waits_for_disk(view,
					  in->count - at < BLM_AHEAD ? in->count - at : BLM_AHEAD))
			ask_ahead(view, in, at, what);
		at += next.count;
		batch = next;
	}
	return r < 0 ? r : refused;
}

/*
 * Room for a batch is on the stack, which threads and fibers may have little of: no more than is
 * used.
 */
static __attribute__((noinline)) int run_many(struct blm_view *view, const struct blm_input *in,
					      enum blm_what what, uint64_t *ret_bits,
					      int64_t *ret_yes)
{
	struct blm_hash hashes[2][BLM_BATCH];
	struct blm_key keys[2][BLM_BATCH];
	size_t batch = kind_batch(view->root.kind);
	const struct batch_buffers buffers = { batch < BLM_BATCH ? batch : BLM_BATCH,
					       { hashes[0], hashes[1] },
				   { keys[0], keys[1] } };

	return run_batches(view, in, what, ret_bits, ret_yes, &buffers);
}

static __attribute__((noinline)) int run_very_many(struct blm_view *view,
						   const struct blm_input *in, enum blm_what what,
						   uint64_t *ret_bits,
						   int64_t *ret_yes)
{
	struct blm_hash hashes[2][BLM_BATCH_LARGE];
	struct blm_key keys[2][BLM_BATCH_LARGE];
	const struct batch_buffers buffers = { BLM_BATCH_LARGE, { hashes[0], hashes[1] },
				   { keys[0], keys[1] } };

	return run_batches(view, in, what, ret_bits, ret_yes, &buffers);
}

/* *ret_yes: how many bits of the answer are set, also where it fails in the middle. */
int blm_input_run(struct blm_view *view, const struct blm_input *in, enum blm_what what,
		  uint64_t *ret_bits, int64_t *ret_yes)
{
	int r;

	*ret_yes = 0;
	if (in->count != 1)
		return (in->count > BLM_BATCH && kind_batch(view->root.kind) > BLM_BATCH
			? run_very_many : run_many)(view, in, what, ret_bits, ret_yes);
	r = run_one(view, in, what);
	*ret_yes = r > 0;
	if (ret_bits && r >= 0)
		*ret_bits = (uint64_t)r;
	return r < 0 ? r : 0;
}
