/* packed.c - keys one after the other in one buffer, and where each begins: Arrow's layout */
#include "keys/key_batch.h"

/*
 * Arrow's offsets are signed, and each is at least the one before it. If all are in order, the last
 * one is the largest, so only the last one is compared with the largest signed number.
 */
static int check_offsets(const struct blm_input *in, bool has_data)
{
	const uint64_t most = in->offset_bytes == 4 ? INT32_MAX : INT64_MAX;
	uint64_t last = blm_offset_at(in, 0);

	for (size_t i = 1; i <= in->count; i++) {
		uint64_t next = blm_offset_at(in, i);

		if (next < last)
			return blm_fail(-EINVAL, "offsets: number %zu is %llu, and the one before "
					"it is %llu; no offset may be less than the one before it",
					i, (unsigned long long)next, (unsigned long long)last);
		last = next;
	}
	if (last > most)
		return blm_fail(-EINVAL, "offsets: number %zu is %llu, but offsets are signed: at "
				"most %llu", in->count, (unsigned long long)last,
				(unsigned long long)most);
	return has_data || !last ? 0
		: blm_fail(-EINVAL, "data: is NULL, but offset number %zu is %llu; give the bytes "
			   "of the keys", in->count, (unsigned long long)last);
}

/* 0, or -EINVAL with words: then no key was looked at. */
static int pack(struct blm_input *ret, const void *data, const void *offsets, size_t offset_bytes,
		size_t count)
{
	size_t all;

	/* of no bytes there may be no pointer */
	*ret = (struct blm_input){ .packed = data ? data : "", .offsets = offsets,
				   .offset_bytes = offset_bytes, .count = count };
	if (offset_bytes != 4 && offset_bytes != 8)
		return blm_fail(-EINVAL, "offsets: each must have 4 or 8 bytes, not %zu",
				offset_bytes);
	if (!count)
		return 0;
	if (!offsets)
		return blm_fail(-EINVAL, "offsets: is NULL; %zu keys need one more offset than "
				"there are keys", count);
	if (__builtin_mul_overflow(count, offset_bytes, &all)
	    || __builtin_add_overflow(all, offset_bytes, &all) || all > PTRDIFF_MAX)
		return blm_fail(-EINVAL, "offsets: %zu keys have more offsets than memory can "
				"hold", count);
	return check_offsets(ret, data != NULL);
}

static int64_t change_packed(struct blm_filter *f, const void *data, const void *offsets,
			     size_t offset_bytes, size_t count, uint64_t *ret_bits,
			     enum blm_what what)
{
	struct blm_input in;
	int r = pack(&in, data, offsets, offset_bytes, count);

	return r < 0 ? r : blm_input_change(f, &in, what, ret_bits);
}

BLM_API int64_t blm_contains_packed(const struct blm_filter *f, const void *data,
				    const void *offsets, size_t offset_bytes, size_t count,
				    uint64_t *ret_bits)
{
	struct blm_input in;
	int r = pack(&in, data, offsets, offset_bytes, count);

	return r < 0 ? r : blm_input_ask(f, &in, ret_bits);
}

BLM_API int64_t blm_add_packed(struct blm_filter *f, const void *data, const void *offsets,
			       size_t offset_bytes, size_t count, uint64_t *ret_bits)
{
	return change_packed(f, data, offsets, offset_bytes, count, ret_bits, BLM_ADD);
}

BLM_API int64_t blm_claim_packed(struct blm_filter *f, const void *data, const void *offsets,
				 size_t offset_bytes, size_t count, uint64_t *ret_bits)
{
	return change_packed(f, data, offsets, offset_bytes, count, ret_bits, BLM_CLAIM);
}

BLM_API int64_t blm_remove_packed(struct blm_filter *f, const void *data, const void *offsets,
				  size_t offset_bytes, size_t count, uint64_t *ret_bits)
{
	return change_packed(f, data, offsets, offset_bytes, count, ret_bits, BLM_REMOVE);
}
