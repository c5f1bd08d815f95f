/*
 * bits.c - shared by the kinds whose cells are bits: exact sizes, OR and AND
 */
#include "kind/common/bits.h"
#include "kind/kind.h"
#include "kind/common/sizing.h"

void blm_bits_plan_given(struct blm_shape *s,
			 double (*rate_at)(const struct blm_shape *shape, uint64_t keys))
{
	if (!s->probes)
		s->probes = s->capacity ? blm_probes_for((double)s->cells / (double)s->capacity)
					: blm_best_probes(s->rate ? s->rate : BLM_DEFAULT_RATE);
	if (!s->capacity)
		s->capacity = blm_half_full((double)s->cells, s->probes);
	if (!s->rate)
		s->rate = rate_at(s, s->capacity);
}

bool blm_bits_claim(struct blm_part *part, const struct blm_bits *bits, bool *lacks, size_t count)
{
	bool won = bits_claim(bits, lacks, count, part->unshared);

	for (size_t i = 0; i < count; i++)
		if (lacks[i])
			mark(part, bits[i].word);
	return won;
}

/*
 * Into data that others write to: the lines that lack nothing, most of them in a union done before,
 * are only read; in the others each lacking word takes one atomic OR.
 */
static void unite_shared(const struct blm_part *part, uint8_t *dst, const uint8_t *src,
			 size_t bytes)
{
	size_t at = 0;

	while ((at = part->simd->next_missing(dst, src, at, bytes)) < bytes) {
		for (size_t i = at; i < at + 64; i += 8)
			bits_set((uint64_t *)(dst + i), load_acquire((const uint64_t *)(src + i)),
				 false);
		mark(part, dst + at);
		at += 64;
	}
}

void blm_bits_unite(const struct blm_part *part, void *dst, const void *src, size_t bytes)
{
	if (!part->unshared) {
		unite_shared(part, dst, src, bytes);
		return;
	}
	part->simd->or_words(dst, src, bytes);
	mark_range(part, dst, bytes);
}

void blm_bits_intersect(const struct blm_part *part, void *dst, const void *src, size_t bytes)
{
	part->simd->and_words(dst, src, bytes);
	mark_range(part, dst, bytes);
}
