/* keys.c - ask, add, claim: one key, many keys, keys hashed already */
#include "filter.h"

/* ---- Batches ---- */

enum what { ASK, ADD, CLAIM };

/* A caller's keys, or hashes; the other is NULL. */
struct input {
	const struct blm_key *keys;
	const struct blm_hash *hashes;
	uint64_t hash_id;		/* of the filter that made the hashes */
	size_t count;
};

static int cannot_hash(const struct blm_filter *f, const struct blm_view *view)
{
	return blm_fail(-EOPNOTSUPP, "%s: its hash %s is made anew for each probe, so a key cannot be hashed beforehand",
			f->place.shown, view->hasher.family->name);
}

/* Hashes are good for filters of one family, seed and key only; the file may have been replaced since they were made. */
static int check_input(const struct blm_filter *f, const struct blm_view *view, const struct input *in)
{
	if (!in->hashes)
		return 0;
	if (view->hasher.family->nth)
		return cannot_hash(f, view);
	if (in->hash_id != view->hash_id)
		return blm_fail(-EMEDIUMTYPE, "%s: the hashes were made for filters with another hash, seed or key", f->place.shown);
	return 0;
}

static void hash_all(const struct blm_hasher *by, const struct blm_key *keys, size_t count, struct blm_hash *ret)
{
	for (size_t i = 0; i < count; i++)
		by->family->hash(by, &keys[i], &ret[i]);
}

/*
 * The parts of a view that a question goes to: it is "yes" if one of them says so. Changes go to the last part, which is the
 * one that grows.
 */
static uint64_t ask(const struct blm_view *view, const struct blm_batch *batch)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < view->parts; i++)
		bits |= blm_part_contains(&view->part[i], batch);
	return bits;
}

static int change(struct blm_view *view, const struct blm_batch *batch, enum what what, uint64_t *ret_bits)
{
	struct blm_part *part = &view->part[view->parts - 1];

	return what == CLAIM ? blm_part_claim(part, batch, ret_bits) : blm_part_add(part, batch, ret_bits);
}

/* Run a whole input through a view, BLM_BATCH keys at a time. Returns how many bits of the answer are set. */
static int64_t run(struct blm_view *view, const struct input *in, enum what what, uint64_t *ret_bits)
{
	const struct blm_family *family = view->hasher.family;
	struct blm_hash hashes[BLM_BATCH];
	int64_t yes = 0;

	for (size_t at = 0; at < in->count; at += BLM_BATCH) {
		struct blm_batch batch = {
			.by = &view->hasher,
			.hashes = in->hashes ? in->hashes + at : family->nth ? NULL : hashes,
			.keys = in->keys ? in->keys + at : NULL,
			.count = in->count - at < BLM_BATCH ? in->count - at : BLM_BATCH,
		};
		uint64_t bits = 0;
		int r = 0;

		if (batch.hashes == hashes)
			hash_all(&view->hasher, batch.keys, batch.count, hashes);
		if (what == ASK)
			bits = ask(view, &batch);
		else
			r = change(view, &batch, what, &bits);
		if (r < 0)
			return r;
		if (ret_bits)
			ret_bits[at / BLM_BATCH] = bits;
		yes += __builtin_popcountll(bits);
	}
	return yes;
}
static_assert(BLM_BATCH == 64, "a batch's answers are one word of the bitmap");

static int64_t add_all(struct blm_filter *f, const struct input *in, uint64_t *ret_bits)
{
	for (;;) {
		struct blm_view *view;
		int64_t changed;
		int r = blm_change_begin(f, &view);

		if (r == 0)
			r = check_input(f, view, in);
		if (r == 0 && !view->part[0].kind->add)
			r = blm_cannot(view, f, "take keys one by one", BLM_CAN_ADD);
		if (r < 0)
			return r;
		changed = run(view, in, ADD, ret_bits);
		if (changed >= 0)
			blm_count_keys(view, (uint64_t)changed);
		r = blm_change_end(f, view);
		if (r != -EAGAIN)
			return r < 0 ? r : changed;
	}
}

static int64_t claim_all(struct blm_filter *f, const struct input *in, uint64_t *ret_bits)
{
	struct blm_view *view;
	int64_t won;
	int r = blm_change_begin_held(f, &view);

	if (r < 0)
		return r;
	won = check_input(f, view, in);
	if (won == 0)
		won = view->part[0].kind->claim ? run(view, in, CLAIM, ret_bits)
						: blm_cannot(view, f, "tell who was first", BLM_CAN_CLAIM);
	if (won > 0)
		blm_count_keys(view, (uint64_t)won);
	blm_change_end_held(f, view);
	return won;
}

/* ---- Keys ---- */

BLM_API int64_t blm_contains_many(const struct blm_filter *f, const struct blm_key *keys, size_t count, uint64_t *ret_bits)
{
	return run(current_view(f), &(struct input){ .keys = keys, .count = count }, ASK, ret_bits);
}

BLM_API int64_t blm_add_many(struct blm_filter *f, const struct blm_key *keys, size_t count, uint64_t *ret_bits)
{
	return add_all(f, &(struct input){ .keys = keys, .count = count }, ret_bits);
}

BLM_API int64_t blm_claim_many(struct blm_filter *f, const struct blm_key *keys, size_t count, uint64_t *ret_bits)
{
	return claim_all(f, &(struct input){ .keys = keys, .count = count }, ret_bits);
}

BLM_API bool blm_contains(const struct blm_filter *f, const void *bytes, size_t len)
{
	const struct blm_view *view = current_view(f);
	struct blm_key key = { bytes, len };
	struct blm_hashed hashed = { .key = &key, .by = &view->hasher };

	if (!view->hasher.family->nth)
		view->hasher.family->hash(&view->hasher, &key, &hashed.hash);
	for (unsigned i = 0; i < view->parts; i++)
		if (view->part[i].kind->contains(&view->part[i], &hashed))
			return true;
	return false;
}

BLM_API int blm_add(struct blm_filter *f, const void *bytes, size_t len)
{
	return (int)blm_add_many(f, &(struct blm_key){ bytes, len }, 1, NULL);
}

BLM_API int blm_claim(struct blm_filter *f, const void *bytes, size_t len)
{
	return (int)blm_claim_many(f, &(struct blm_key){ bytes, len }, 1, NULL);
}

/* ---- Hashes ---- */

BLM_API uint64_t blm_hash_id(const struct blm_filter *f)
{
	return current_view(f)->hash_id;
}

BLM_API int blm_hash_many(const struct blm_filter *f, const struct blm_key *keys, size_t count, struct blm_hash *ret)
{
	const struct blm_view *view = current_view(f);

	if (view->hasher.family->nth)
		return cannot_hash(f, view);
	hash_all(&view->hasher, keys, count, ret);
	return 0;
}

BLM_API int64_t blm_contains_hashes(const struct blm_filter *f, uint64_t hash_id, const struct blm_hash *hashes, size_t count, uint64_t *ret_bits)
{
	struct input in = { .hashes = hashes, .hash_id = hash_id, .count = count };
	struct blm_view *view = current_view(f);
	int r = check_input(f, view, &in);

	return r < 0 ? r : run(view, &in, ASK, ret_bits);
}

BLM_API int64_t blm_add_hashes(struct blm_filter *f, uint64_t hash_id, const struct blm_hash *hashes, size_t count, uint64_t *ret_bits)
{
	return add_all(f, &(struct input){ .hashes = hashes, .hash_id = hash_id, .count = count }, ret_bits);
}

BLM_API int64_t blm_claim_hashes(struct blm_filter *f, uint64_t hash_id, const struct blm_hash *hashes, size_t count, uint64_t *ret_bits)
{
	return claim_all(f, &(struct input){ .hashes = hashes, .hash_id = hash_id, .count = count }, ret_bits);
}
