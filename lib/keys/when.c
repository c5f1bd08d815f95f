/* when.c - keys and the times they are seen at, for kinds that keep those */
#include "base/sized.h"
#include "keys/key_batch.h"

/* The caller's times, checked; fails with a message. */
static int take(struct blm_when *ret, const struct blm_filter *f, const struct blm_view *view,
		const struct blm_when *given)
{
	const struct blm_shape *shape = &view->root.shape;
	int r = 0;

	*ret = (struct blm_when){ .size = sizeof(*ret) };
	if (!view->root.kind->ages)
		return blm_cannot(view, f, "keep when keys were seen", BLM_CAN_AGE);
	if (given)
		r = blm_sized_take(ret, sizeof(*ret), BLM_FIRST_SIZE(struct blm_when, now), given,
				   "blm_when");
	if (r == 0 && ret->within > shape->args[0])
		return blm_fail(-EINVAL, "%s: remembers keys for %g seconds, not %g; ask for "
				"less, or make it with a longer span", f->place.display,
				(double)shape->args[0] / 1e9,
				(double)ret->within / 1e9);
	return r;
}

/* The same for a call that uses the view of this moment no further. */
static int take_now(struct blm_when *ret, const struct blm_filter *f, const struct blm_when *given)
{
	BLM_CRITICAL_SECTION;

	return take(ret, f, current_view(f), given);
}

BLM_API int64_t blm_contains_within(const struct blm_filter *f, const struct blm_key *keys,
				    size_t count, const struct blm_when *when, uint64_t *ret_bits)
{
	BLM_CRITICAL_SECTION;
	struct blm_when ours;
	int r = take(&ours, f, current_view(f), when);

	return r < 0 ? r : blm_input_ask(f, &(struct blm_input){ .keys = keys, .count = count,
								 .when = &ours }, ret_bits);
}

BLM_API int64_t blm_ages(const struct blm_filter *f, const struct blm_key *keys, size_t count,
			 const struct blm_when *when, uint64_t *ret_ages, uint64_t *ret_bits)
{
	BLM_CRITICAL_SECTION;
	struct blm_view *view = current_view(f);
	struct blm_when ours;
	int64_t found;
	int r = take(&ours, f, view, when);

	if (r == 0)
		r = blm_input_run(view, &(struct blm_input){ .keys = keys, .count = count,
							     .ret_values = ret_ages,
							     .when = &ours }, BLM_GET, ret_bits,
				  &found);
	return r < 0 ? r : found;
}

BLM_API int64_t blm_add_at(struct blm_filter *f, const struct blm_key *keys, size_t count,
			   const struct blm_when *when, uint64_t *ret_bits)
{
	struct blm_when ours;
	int r = take_now(&ours, f, when);

	return r < 0 ? r : blm_input_change(f, &(struct blm_input){ .keys = keys, .count = count,
								    .when = &ours }, BLM_ADD,
					    ret_bits);
}

/*
 * Up to BLM_BATCH keys. Most keys that a crawler claims were seen a short time ago, which a
 * question finds out without a lock. The others are claimed in their order, under the lock, which
 * looks at each again.
 */
static int64_t claim_some(struct blm_filter *f, const struct blm_key *keys, size_t count,
			  const struct blm_when *when, uint64_t bits[BLM_BATCH_WORDS])
{
	struct blm_input in = { .keys = keys, .count = count, .when = when };
	uint64_t seen[BLM_BATCH_WORDS] = { 0 }, won[BLM_BATCH_WORDS] = { 0 };
	struct blm_key rest[BLM_BATCH];
	uint16_t index[BLM_BATCH];
	int64_t r;

	if (blm_input_ask(f, &in, seen) > 0) {
		r = blm_allowlist_filter(f, keys, count, seen);
		if (r < 0)
			return r;
	}
	in.keys = rest;
	in.count = 0;
	for (size_t i = 0; i < count; i++)
		if (!(seen[i / 64] >> i % 64 & 1)) {
			index[in.count] = (uint16_t)i;
			rest[in.count++] = keys[i];
		}
	r = in.count ? blm_input_change(f, &in, BLM_CLAIM, won) : 0;
	memset(bits, 0, BLM_BATCH_WORDS * sizeof(*bits));
	for (size_t i = 0; i < in.count; i++)
		bits[index[i] / 64] |= (won[i / 64] >> i % 64 & 1) << index[i] % 64;
	return r;
}

BLM_API int64_t blm_claim_again(struct blm_filter *f, const struct blm_key *keys, size_t count,
				const struct blm_when *when, uint64_t *ret_bits)
{
	uint64_t bits[BLM_BATCH_WORDS];
	struct blm_when ours;
	int64_t all = 0, r = take_now(&ours, f, when);

	if (r == 0)
		r = blm_may_change(f);
	if (ret_bits)
		memset(ret_bits, 0, (count + 63) / 64 * sizeof(*ret_bits));
	for (size_t at = 0, some; r >= 0 && at < count; at += some) {
		some = count - at < BLM_BATCH ? count - at : BLM_BATCH;
		r = claim_some(f, keys + at, some, &ours, bits);
		if (ret_bits)
			memcpy(ret_bits + at / 64, bits, (some + 63) / 64 * sizeof(*bits));
		all += r;
	}
	return r < 0 ? r : all;
}
