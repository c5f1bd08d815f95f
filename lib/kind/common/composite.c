/* composite.c - parts of a filter: planned, and asked one after the other */
#include "kind/common/composite.h"

#include <math.h>

int blm_component_plan(struct blm_component *ret, const char *kind, uint32_t role,
		       const struct blm_params *params)
{
	*ret = (struct blm_component){ .kind = blm_kind_by_name(kind), .role = role };
	return ret->kind->plan(&ret->shape, params);
}

double blm_rate_of_each(double rate, double parts)
{
	return -expm1(log1p(-rate) / parts);
}

double blm_rate_of_any(double rate, double parts)
{
	return -expm1(log1p(-rate) * parts);
}

double blm_keys_in(const struct blm_part *part, double *ret_rate)
{
	struct blm_tally tally = { 0 };
	double cells = (double)part->shape.cells, error;

	part->kind->tally(part, part->bytes, part->shape.bytes, &tally);
	*ret_rate = part->kind->rate_of(&part->shape, &tally);
	return part->kind->keys_of(&part->shape, fmin((double)tally.ones, cells - 1) / cells,
				   &error);
}

bool blm_in_any(const struct blm_part *part, unsigned parts, const struct blm_hashed *key)
{
	for (unsigned i = 0; i < parts; i++)
		if (part[i].kind->contains(&part[i], key))
			return true;
	return false;
}

void blm_pick(struct blm_picked *ret, const struct blm_batch *batch, const uint64_t *bits,
	      bool wanted)
{
	size_t count = 0;

	for (size_t i = 0; i < batch->count; i++) {
		if ((bits[i / 64] >> i % 64 & 1) != wanted)
			continue;
		if (batch->hashes)
			ret->hashes[count] = batch->hashes[i];
		else
			ret->keys[count] = batch->keys[i];
		ret->from[count++] = (uint16_t)i;
	}
	ret->batch = (struct blm_batch){ .by = batch->by,
					 .hashes = batch->hashes ? ret->hashes : NULL,
					 .keys = batch->hashes ? NULL : ret->keys, .count = count,
					 .next = batch->next, .next_count = batch->next_count };
}

void blm_put_back(const struct blm_picked *picked, const uint64_t *answers, uint64_t *ret_bits)
{
	for (size_t i = 0; i < picked->batch.count; i++) {
		uint64_t bit = UINT64_C(1) << picked->from[i] % 64,
			*word = &ret_bits[picked->from[i] / 64];

		*word = answers[i / 64] >> i % 64 & 1 ? *word | bit : *word & ~bit;
	}
}

void blm_any_contains(const struct blm_part *part, unsigned parts, const struct blm_batch *batch,
		      uint64_t *ret_bits)
{
	struct blm_picked left;
	uint64_t answers[BLM_BATCH_WORDS];

	if (!parts) {
		memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
		return;
	}
	blm_part_contains(part, batch, ret_bits);
	for (unsigned i = 1; i < parts; i++) {
		blm_pick(&left, batch, ret_bits, false);
		if (!left.batch.count)
			return;
		blm_part_contains(&part[i], &left.batch, answers);
		blm_put_back(&left, answers, ret_bits);
	}
}
