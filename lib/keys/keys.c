/* keys.c - ask, add, claim, remove, put, get: one key, many keys, keys hashed already */
#include "keys/change.h"
#include "keys/one_key_call.h"
#include "view/readahead.h"

/* No key is denied. */
static void say_maybe(uint64_t *ret_bits, size_t count)
{
	memset(ret_bits, 0xff, (count + 63) / 64 * sizeof(*ret_bits));
	if (count % 64)
		ret_bits[count / 64] = (UINT64_C(1) << count % 64) - 1;
}

/*
 * Yes-or-no questions fail only if a part of a split filter is asked for another part's keys. A
 * caller that ignores the error gets yes, the answer that is never wrong about an added key.
 */
static int64_t ask_all(const struct blm_filter *f, const struct blm_view *view,
		       const struct blm_input *in, uint64_t *ret_bits)
{
	int64_t yes;
	int r = blm_input_run((struct blm_view *)view, in, BLM_ASK, ret_bits, &yes);

	if (r >= 0)
		return yes;
	if (ret_bits)
		say_maybe(ret_bits, in->count);
	return blm_change_word(f, view, r, 0);
}

int64_t blm_input_ask(const struct blm_filter *f, const struct blm_input *in, uint64_t *ret_bits)
{
	BLM_CRITICAL_SECTION;

	return ask_all(f, current_view(f), in, ret_bits);
}

/* ---- Keys ---- */

BLM_API int64_t blm_contains_many(const struct blm_filter *f, const struct blm_key *keys,
				  size_t count, uint64_t *ret_bits)
{
	BLM_CRITICAL_SECTION;

	return ask_all(f, current_view(f), &(struct blm_input){ .keys = keys, .count = count },
		       ret_bits);
}

BLM_API int64_t blm_add_many(struct blm_filter *f, const struct blm_key *keys, size_t count,
			     uint64_t *ret_bits)
{
	return blm_input_change(f, &(struct blm_input){ .keys = keys, .count = count }, BLM_ADD,
				ret_bits);
}

BLM_API int64_t blm_claim_many(struct blm_filter *f, const struct blm_key *keys, size_t count,
			       uint64_t *ret_bits)
{
	return blm_input_change(f, &(struct blm_input){ .keys = keys, .count = count }, BLM_CLAIM,
				ret_bits);
}

static struct blm_input fixed_input(const void *keys, size_t width, size_t count)
{
	/* of no bytes there may be no pointer */
	return (struct blm_input){ .fixed = width ? keys : "", .width = width, .count = count };
}

/*
 * Data of at most this size are usually in a core's own caches, or near. There one loop that hashes
 * and asks is faster than hashing a batch, and asking for its lines, while another batch is looked
 * at (in tests/bench: "contains_fixed" of 1m keys and of 10m).
 */
enum { NEAR_BYTES = 2 << 20 };

static int64_t ask_near(const struct blm_view *view, const struct blm_input *in, uint64_t *ret_bits)
{
	uint64_t buffer[BLM_BATCH_WORDS];
	int64_t yes = 0;

	for (size_t at = 0, count; at < in->count; at += count) {
		uint64_t *bits = ret_bits ? ret_bits + at / 64 : buffer;

		count = in->count - at < BLM_BATCH ? in->count - at : BLM_BATCH;
		view->one.contains_fixed(&view->one, in->fixed + at * in->width, in->width, count,
					 bits);
		for (size_t i = 0; i < (count + 63) / 64; i++)
			yes += __builtin_popcountll(bits[i]);
	}
	return yes;
}

BLM_API int64_t blm_contains_fixed(const struct blm_filter *f, const void *keys, size_t width,
				   size_t count, uint64_t *ret_bits)
{
	BLM_CRITICAL_SECTION;
	const struct blm_input fixed = fixed_input(keys, width, count);
	struct blm_view *view = current_view(f);

	if (view->one.contains_fixed && (width == 8 || width == 16) && count > 1
	    && view->root.shape.bytes <= NEAR_BYTES
	    && !blm_waits_for_disk(view, count < BLM_AHEAD ? count : BLM_AHEAD))
		return ask_near(view, &fixed, ret_bits);
	return ask_all(f, view, &fixed, ret_bits);
}

BLM_API int64_t blm_add_fixed(struct blm_filter *f, const void *keys, size_t width, size_t count,
			      uint64_t *ret_bits)
{
	const struct blm_input fixed = fixed_input(keys, width, count);

	return blm_input_change(f, &fixed, BLM_ADD, ret_bits);
}

BLM_API int64_t blm_claim_fixed(struct blm_filter *f, const void *keys, size_t width, size_t count,
				uint64_t *ret_bits)
{
	const struct blm_input fixed = fixed_input(keys, width, count);

	return blm_input_change(f, &fixed, BLM_CLAIM, ret_bits);
}

BLM_API int64_t blm_remove_many(struct blm_filter *f, const struct blm_key *keys, size_t count,
				uint64_t *ret_bits)
{
	return blm_input_change(f, &(struct blm_input){ .keys = keys, .count = count }, BLM_REMOVE,
				ret_bits);
}

BLM_API int64_t blm_put_many(struct blm_filter *f, const struct blm_key *keys,
			     const uint64_t *values, size_t count, uint64_t *ret_bits)
{
	return blm_input_change(f, &(struct blm_input){ .keys = keys, .values = values,
				.count = count }, BLM_PUT, ret_bits);
}

BLM_API int64_t blm_get_many(const struct blm_filter *f, const struct blm_key *keys, size_t count,
			     uint64_t *ret_values, uint64_t *ret_bits)
{
	BLM_CRITICAL_SECTION;
	const struct blm_input in = { .keys = keys, .ret_values = ret_values, .count = count };
	struct blm_view *view = current_view(f);
	int64_t found;
	int r = blm_check_can(f, view, BLM_GET);

	if (r == 0)
		r = blm_change_word(f, view, blm_input_run(view, &in, BLM_GET, ret_bits, &found),
				    0);
	return r < 0 ? r : found;
}

BLM_API int blm_remove(struct blm_filter *f, const void *bytes, size_t len)
{
	return blm_change_one(f, &(struct blm_key){ bytes, len }, BLM_REMOVE);
}

BLM_API int blm_put(struct blm_filter *f, const void *bytes, size_t len, uint64_t value)
{
	return (int)blm_put_many(f, &(struct blm_key){ bytes, len }, &value, 1, NULL);
}

/* ---- Hashes ---- */

BLM_API int64_t blm_contains_hashes(const struct blm_filter *f, uint64_t hash_id,
				    const struct blm_hash *hashes, size_t count, uint64_t *ret_bits)
{
	BLM_CRITICAL_SECTION;
	struct blm_input in = { .hashes = hashes, .hash_id = hash_id, .count = count };
	struct blm_view *view = current_view(f);
	int r = blm_input_check(f, view, &in);

	return r < 0 ? r : ask_all(f, view, &in, ret_bits);
}

BLM_API int64_t blm_add_hashes(struct blm_filter *f, uint64_t hash_id,
			       const struct blm_hash *hashes, size_t count, uint64_t *ret_bits)
{
	return blm_input_change(f, &(struct blm_input){ .hashes = hashes, .hash_id = hash_id,
				.count = count }, BLM_ADD, ret_bits);
}

BLM_API int64_t blm_claim_hashes(struct blm_filter *f, uint64_t hash_id,
				 const struct blm_hash *hashes, size_t count, uint64_t *ret_bits)
{
	return blm_input_change(f, &(struct blm_input){ .hashes = hashes, .hash_id = hash_id,
				.count = count }, BLM_CLAIM, ret_bits);
}
