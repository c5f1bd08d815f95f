/* batch.c - the keys of a batch one by one, for kinds without a loop of their own */
#include "kind/kind.h"

static void prefetch_next(const struct blm_part *part, const struct blm_batch *batch, size_t i)
{
	if (part->kind->prefetch)
		part->kind->prefetch(part, &(struct blm_hashed){ .hash = batch->next[i],
			.by = batch->by });
}

/*
 * The memory of the next batch's keys is asked for one by one while this one's are taken: many at
 * once would get lost.
 */
static void prefetch_one(const struct blm_part *part, const struct blm_batch *batch, size_t i)
{
	if (i < batch->next_count)
		prefetch_next(part, batch, i);
}

static void prefetch_rest(const struct blm_part *part, const struct blm_batch *batch)
{
	for (size_t i = batch->count; i < batch->next_count; i++)
		prefetch_next(part, batch, i);
}

static void clear(const struct blm_batch *batch, uint64_t *ret_bits)
{
	memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
}

void blm_part_contains_each(const struct blm_part *part, const struct blm_batch *batch,
			    uint64_t *ret_bits)
{
	clear(batch, ret_bits);
	for (size_t i = 0; i < batch->count; i++) {
		struct blm_hashed key = batch_at(batch, i);

		prefetch_one(part, batch, i);
		ret_bits[i / 64] |= (uint64_t)part->kind->contains(part, &key) << i % 64;
	}
	prefetch_rest(part, batch);
}

int blm_part_change_each(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits,
			 int (*change)(struct blm_part *, const struct blm_hashed *))
{
	clear(batch, ret_bits);
	for (size_t i = 0; i < batch->count; i++) {
		struct blm_hashed key = batch_at(batch, i);
		int r;

		prefetch_one(part, batch, i);
		r = change(part, &key);
		if (r < 0)
			return r;
		ret_bits[i / 64] |= (uint64_t)r << i % 64;
	}
	prefetch_rest(part, batch);
	return 0;
}

int blm_part_put(struct blm_part *part, const struct blm_batch *batch, const uint64_t *values,
		 uint64_t *ret_bits)
{
	clear(batch, ret_bits);
	for (size_t i = 0; i < batch->count; i++) {
		struct blm_hashed key = batch_at(batch, i);
		int r;

		prefetch_one(part, batch, i);
		r = part->kind->put(part, &key, values[i]);
		if (r < 0)
			return r;
		ret_bits[i / 64] |= (uint64_t)r << i % 64;
	}
	prefetch_rest(part, batch);
	return 0;
}

int blm_part_get(const struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_values,
		 uint64_t *ret_bits)
{
	clear(batch, ret_bits);
	for (size_t i = 0; i < batch->count; i++) {
		struct blm_hashed key = batch_at(batch, i);
		int r;

		prefetch_one(part, batch, i);
		r = part->kind->get(part, &key, &ret_values[i]);
		if (r < 0)
			return r;
		ret_bits[i / 64] |= (uint64_t)r << i % 64;
	}
	prefetch_rest(part, batch);
	return 0;
}
