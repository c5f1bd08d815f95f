/* fresh.c - the keys of a round that no filter has, each once */
#include "fresh.h"

void fresh_begin(struct fresh *ret, size_t most)
{
	*ret = (struct fresh){ .most = most, .bits = 4 };
	while (UINT64_C(1) << ret->bits < 2 * most)
		ret->bits++;
	ret->hashes = must_alloc(most, sizeof(*ret->hashes));
	ret->slots = must_alloc((size_t)1 << ret->bits, sizeof(*ret->slots));
}

void fresh_end(struct fresh *f)
{
	free(f->hashes);
	free(f->slots);
}

void fresh_clear(struct fresh *f)
{
	f->count = 0;
	memset(f->slots, 0, sizeof(*f->slots) << f->bits);
}

/* The hashes of one part have some bits in common, so all bits decide the slot. */
static size_t slot_of(const struct fresh *f, const struct blm_hash *hash)
{
	return (size_t)((hash->lo ^ hash->hi) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - f->bits));
}

bool fresh_has_or_adds(struct fresh *f, const struct blm_hash *hash)
{
	size_t at = slot_of(f, hash), mask = ((size_t)1 << f->bits) - 1;

	for (; f->slots[at]; at = (at + 1) & mask) {
		const struct blm_hash *other = &f->hashes[f->slots[at] - 1];

		if (other->lo == hash->lo && other->hi == hash->hi)
			return true;
	}
	f->hashes[f->count++] = *hash;
	f->slots[at] = (uint32_t)f->count;
	return false;
}
