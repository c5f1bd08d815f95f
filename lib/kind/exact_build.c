/*
 * exact_build.c - both levels, from the keys and the others
 *
 * The others that pass the first level are known only when that exists. So if there are others
 * fit() makes the first level, and build() only the second.
 */
#include "kind/exact_parts.h"
#include "kind/exact_sieve.h"

#include <math.h>
#include <stdio.h>

/* What fit() leaves for build(). */
struct found {
	struct blm_part first;		/* in memory; bytes NULL: left out */
	struct exact_division by;	/* the first level's parts */
	struct blm_shape second;	/* its size */
	struct sieve sieve;
};

static void free_found(void *work)
{
	struct found *f = work;

	if (!f)
		return;
	free(f->first.bytes);
	free(f->by.columns);
	blm_sieve_end(&f->sieve);
	free(f);
}

static bool has_others(const struct blm_sorted *keys)
{
	return keys->others && keys->others->list->count && keys->count;
}

/* Into memory. The bytes of a level are a multiple of 64. */
static int make_first(struct found *f, const struct blm_shape *shape, const struct blm_sorted *keys)
{
	int r;

	f->first = (struct blm_part){ .kind = &blm_kind_ribbon, .unshared = true };
	f->first.shape = exact_level(keys->count, blm_exact_first_rate(shape));
	if (f->first.shape.rate >= 1)
		return 0;
	r = blm_ribbon_fit(&f->first.shape, keys);
	if (r < 0)
		return r;
	f->first.bytes = aligned_alloc(BLM_SHARD_ALIGN, f->first.shape.bytes);
	if (!f->first.bytes)
		return blm_fail(-ENOMEM, "no memory for a first level of %llu bytes",
				(unsigned long long)f->first.shape.bytes);
	memset(f->first.bytes, 0, f->first.shape.bytes);
	return blm_ribbon_build(&f->first, keys);
}

/* The same by the columns of the keys, if that is smaller: then f->by has parts. */
static int make_parts(struct found *f, struct blm_shape *shape, const struct blm_sorted *keys)
{
	double most = keys->others->any_rate ? 1 : fmin(2 * shape->rate, 1), rate = 0;
	int r = blm_exact_divide(&f->by, keys, most);

	if (r < 0 || !f->by.parts)
		return r;
	for (unsigned i = 0; i < f->by.parts; i++)
		rate = fmax(rate, f->by.rate[i]);
	if (keys->others->any_rate)
		shape->rate = rate / 2;
	return blm_exact_build_parts(&f->first, &f->by, keys);
}

static int find(struct found *f, struct blm_shape *shape, const struct blm_sorted *keys)
{
	int r = keys->others->by_column ? make_parts(f, shape, keys) : 0;

	if (r == 0 && !f->by.parts)
		r = make_first(f, shape, keys);
	if (r == 0)
		r = blm_sieve_make(&f->sieve, keys, keys->others->list,
				   f->first.bytes ? &f->first : NULL);
	if (r < 0)
		return r;
	f->second = exact_level(f->sieve.merged.count, 0.5);
	return blm_ribbon_fit(&f->second, &f->sieve.merged);
}

static int set_bytes(struct blm_shape *shape, uint64_t levels)
{
	shape->bytes = sizeof(struct exact_head) + levels;
	shape->cells = shape->bytes * 8;
	return shape->bytes <= BLM_CELLS_MAX * 2 ? 0
		: blm_fail(-EFBIG, "both levels together have %llu bytes of data, more than 2^48",
			   (unsigned long long)levels);
}

int blm_exact_fit(struct blm_shape *shape, const struct blm_sorted *keys)
{
	struct found *f;
	int r;

	if (!has_others(keys)) {
		struct blm_shape first = exact_level(shape->capacity, shape->rate);

		r = keys->count ? blm_ribbon_fit(&first, keys) : 0;
		return r < 0 ? r : set_bytes(shape, keys->count ? first.bytes : 0);
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return blm_fail(-ENOMEM, "out of memory");
	keys->others->work = f;
	keys->others->free_work = free_found;
	r = find(f, shape, keys);
	return r < 0 ? r : set_bytes(shape, f->first.shape.bytes + f->second.bytes);
}

static struct blm_part level_at(const struct blm_part *part, uint64_t at,
				const struct blm_shape *shape)
{
	return (struct blm_part){ .kind = &blm_kind_ribbon, .simd = part->simd, .shape = *shape,
				  .bytes = part->bytes + sizeof(struct exact_head) + at,
				  .unshared = true };
}

/* The first level from memory, and the second. */
static int build_both(struct blm_part *part, const struct found *f, struct exact_head *head)
{
	struct blm_part second = level_at(part, f->first.shape.bytes, &f->second);

	if (f->first.bytes)
		memcpy(part->bytes + sizeof(*head), f->first.bytes, f->first.shape.bytes);
	head->both = htole64(f->sieve.both);
	head->passed = htole64(sieve_passed(&f->sieve));
	head->parts = htole32(f->by.parts);
	head->columns = htole32((uint32_t)f->by.count);
	head->saved = htole64(f->by.saved);
	head->bytes[0] = htole64(f->first.shape.bytes);
	head->bytes[1] = htole64(f->second.bytes);
	return blm_ribbon_build(&second, &f->sieve.merged);
}

static int build_first(struct blm_part *part, const struct blm_sorted *keys,
		       struct exact_head *head)
{
	struct blm_shape shape = exact_level(keys->count, part->shape.rate);
	struct blm_part first;

	shape.bytes = part->shape.bytes - sizeof(*head);
	first = level_at(part, 0, &shape);
	head->bytes[0] = htole64(shape.bytes);
	return blm_ribbon_build(&first, keys);
}

int blm_exact_build(struct blm_part *part, const struct blm_sorted *keys)
{
	struct exact_head head = { .keys = htole64(keys->count) };
	int r = 0;

	if (keys->count)
		head.rate = htole64(blm_bits_of(blm_exact_layer_rate(&part->shape)));
	if (has_others(keys))
		r = build_both(part, keys->others->work, &head);
	else if (keys->count)
		r = build_first(part, keys, &head);
	if (r < 0)
		return r;
	if (head.parts)
		head.rate = htole64(blm_bits_of(part->shape.rate));
	memcpy(part->bytes, &head, sizeof(head));
	mark_range(part, part->bytes, part->shape.bytes);
	return 0;
}
