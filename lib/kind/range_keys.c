/*
 * range_keys.c - the numbers of a range filter's keys, in order
 *
 * Keys come in the order of their places, which is not that of their numbers: so they are sorted
 * once more. Where the numbers of all keys are more than memory holds, the range is cut into
 * slices. The keys are read once for each slice, and the numbers in the slice are sorted.
 */
#include "kind/golomb_layout.h"
#include "kind/range.h"

enum { AT_ONCE = 1024, CAPACITY_LEAST = 4096, DIGIT_BITS = 11 };

/* ---- Sorting ---- */

/* By digits of 11 bits, the lowest first; the result is in k->number. */
static void sort(struct range_keys *k)
{
	unsigned bits = bits_below(k->shape.cells);

	for (unsigned shift = 0; shift < bits; shift += DIGIT_BITS) {
		size_t begin[(1 << DIGIT_BITS) + 1] = { 0 };
		uint64_t *other = k->spare;

		for (size_t i = 0; i < k->used; i++)
			begin[(k->number[i] >> shift & ((1 << DIGIT_BITS) - 1)) + 1]++;
		for (size_t d = 1; d <= 1 << DIGIT_BITS; d++)
			begin[d] += begin[d - 1];
		for (size_t i = 0; i < k->used; i++)
			other[begin[k->number[i] >> shift & ((1 << DIGIT_BITS) - 1)]++]
				= k->number[i];
		k->spare = k->number;
		k->number = other;
	}
}

/* ---- A slice ---- */

static int double_capacity(struct range_keys *k)
{
	uint64_t *number = realloc(k->number, 2 * k->capacity * sizeof(*number)), *spare;

	if (number)
		k->number = number;
	spare = number ? realloc(k->spare, 2 * k->capacity * sizeof(*spare)) : NULL;
	if (!spare)
		return blm_fail(-ENOMEM, "no memory to sort the keys of a range filter in");
	k->spare = spare;
	k->capacity *= 2;
	return 0;
}

static uint64_t slice_from(const struct range_keys *k, uint64_t slice)
{
	return (uint64_t)((unsigned __int128)k->shape.cells * slice / k->slices);
}

/* Those of some keys that are in the slice. */
static int take(struct range_keys *k, struct range_orders *orders, const struct blm_hash *hashes,
		size_t count)
{
	uint64_t from = slice_from(k, k->slice), to = slice_from(k, k->slice + 1);
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		unsigned level = ordered_level(&hashes[i]);
		uint64_t number = range_number(range_order_for(orders, &hashes[i]), level,
					       hashes[i].hi);

		k->levels |= UINT64_C(1) << level;
		if (number < from || number >= to)
			continue;
		if (k->used == k->capacity)
			r = double_capacity(k);
		if (r == 0)
			k->number[k->used++] = number;
	}
	return r;
}

static int read_slice(struct range_keys *k)
{
	struct blm_hash hashes[AT_ONCE];
	struct range_orders orders;
	int r = 0;

	orders.shape = &k->shape;
	orders.made = 0;
	k->used = k->at = 0;
	for (uint64_t at = 0, some; r == 0 && at < k->keys->count; at += some) {
		some = k->keys->count - at < AT_ONCE ? k->keys->count - at : AT_ONCE;
		r = sorted_read(k->keys, at, hashes, NULL, (size_t)some);
		if (r == 0)
			r = take(k, &orders, hashes, (size_t)some);
	}
	if (r < 0)
		return r;
	sort(k);
	k->slice++;
	if (k->tell && k->keys->done)
		k->keys->done(k->keys, k->used);
	return 0;
}

/* ---- All of them ---- */

static int begin(struct golomb_numbers *n)
{
	struct range_keys *k = (struct range_keys *)n;

	k->slice = k->used = k->at = 0;
	return 0;
}

static int next(struct golomb_numbers *n, uint64_t *ret)
{
	struct range_keys *k = (struct range_keys *)n;

	while (k->at == k->used) {
		int r = k->slice < k->slices ? read_slice(k) : 0;

		if (r < 0)
			return r;
		if (k->at == k->used && k->slice == k->slices)
			return 0;
	}
	*ret = k->number[k->at++];
	return 1;
}

int blm_range_keys_open(struct range_keys *ret, const struct blm_sorted *keys,
			const struct blm_shape *shape, bool tell)
{
	uint64_t capacity = keys->memory_bytes / (2 * sizeof(uint64_t));

	capacity = capacity < CAPACITY_LEAST ? CAPACITY_LEAST
		 : capacity < keys->count ? capacity : keys->count;
	*ret = (struct range_keys){ .numbers = { begin, next }, .keys = keys, .shape = *shape,
				    .tell = tell, .capacity = (size_t)capacity };
	/* a slice has more than its share by chance */
	ret->slices = keys->count <= capacity ? 1 : keys->count / (capacity - capacity / 8) + 1;
	ret->number = malloc(capacity * sizeof(*ret->number));
	ret->spare = malloc(capacity * sizeof(*ret->spare));
	if (ret->number && ret->spare)
		return 0;
	blm_range_keys_close(ret);
	return blm_fail(-ENOMEM, "no memory to sort the keys of a range filter in");
}

void blm_range_keys_close(struct range_keys *k)
{
	free(k->number);
	free(k->spare);
	k->number = k->spare = NULL;
}
