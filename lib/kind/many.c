/* many.c - batches, by whichever way a kind has */
#include "kind/kind.h"

static void prefetch_all(const struct blm_part *part, const struct blm_batch *batch)
{
	if (!part->kind->prefetch)
		return;
	for (size_t i = 0; i < batch->count; i++) {
		struct blm_hashed key = batch_at(batch, i);

		part->kind->prefetch(part, &key);
	}
}

uint64_t blm_part_contains(const struct blm_part *part, const struct blm_batch *batch)
{
	uint64_t bits = 0;

	if (part->kind->contains_many) {
		part->kind->contains_many(part, batch, &bits);
		return bits;
	}
	prefetch_all(part, batch);
	for (size_t i = 0; i < batch->count; i++) {
		struct blm_hashed key = batch_at(batch, i);

		bits |= (uint64_t)part->kind->contains(part, &key) << i;
	}
	return bits;
}

static int change_each(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits,
		       int (*change)(struct blm_part *, const struct blm_hashed *))
{
	*ret_bits = 0;
	prefetch_all(part, batch);
	for (size_t i = 0; i < batch->count; i++) {
		struct blm_hashed key = batch_at(batch, i);
		int r = change(part, &key);

		if (r < 0)
			return r;
		*ret_bits |= (uint64_t)r << i;
	}
	return 0;
}

int blm_part_add(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits)
{
	if (part->kind->add_many)
		return part->kind->add_many(part, batch, ret_bits);
	return change_each(part, batch, ret_bits, part->kind->add);
}

int blm_part_claim(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits)
{
	return change_each(part, batch, ret_bits, part->kind->claim);
}
