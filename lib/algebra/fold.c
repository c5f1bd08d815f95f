/*
 * fold.c - a smaller filter from a larger one, without its keys
 *
 * In kinds whose keys have one block, floor(hash * blocks / 2^bits), a filter of blocks / N blocks
 * has the key in block floor(block / N). So the OR of each N neighbours is, bit for bit, the
 * smaller filter with the same keys.
 */
#include "durable/blocksum.h"
#include "make/new_filter.h"
#include "view/scan.h"
#include "base/phase.h"

struct folding {
	const struct blm_filter *f;
	const struct blm_view *from;
	uint64_t by;
};

/*
 * Blocks are whole words. `to` is zeros; the blocks from the first on, as many of them as there
 * are.
 */
static void fold_blocks(const struct folding *f, size_t block_words, uint64_t first,
			uint64_t blocks, uint64_t *to)
{
	const uint64_t *from = (const uint64_t *)f->from->part[0].bytes + first * f->by
		* block_words;

	for (uint64_t b = 0; b < blocks; b++, to += block_words)
		for (uint64_t i = 0; i < f->by; i++, from += block_words)
			for (size_t w = 0; w < block_words; w++)
				to[w] |= __atomic_load_n(&from[w], __ATOMIC_RELAXED);
}

/* Is there something in [at, at + bytes), or are all of them holes? */
static bool has_data(const struct blm_view *view, uint64_t at, uint64_t bytes)
{
	uint64_t from, to;

	return blm_next_data(view, 0, at, &from, &to) && from < at + bytes;
}

static int fill_with_fold(struct blm_view *new, void *context)
{
	const struct folding *f = context;
	const struct blm_shape *s = &new->part[0].shape;
	size_t block_bytes = new->root.kind->fold_bits / 8;
	uint64_t blocks = s->cells / new->root.kind->fold_bits, some = BLM_PIECE / block_bytes;
	uint64_t *buffer = aligned_alloc(64, BLM_PIECE);
	int r = buffer ? 0 : blm_fail(-ENOMEM, "out of memory");

	BLM_PHASE("folding", s->bytes);
	for (uint64_t first = 0; r == 0 && first < blocks; first += some) {
		uint64_t count = blocks - first < some ? blocks - first : some;

		blm_phase_at(first * block_bytes);
		if (!has_data(f->from, first * f->by * block_bytes, count * f->by * block_bytes))
			continue;
		memset(buffer, 0, BLM_PIECE);
		fold_blocks(f, block_bytes / 8, first, count, buffer);
		r = blm_blocksum_put(new, 0, first * block_bytes, buffer, count * block_bytes);
	}
	free(buffer);
	if (r == 0)
		blm_phase_at(s->bytes);
	new->image.header->stripe[0].keys = htole64(blm_counted_keys(f->from));
	live_of(new)->inexact.word = live_of(f->from)->inexact.word;
	return r < 0 ? r : blm_check_sigbus(f->from, f->f->place.display);
}

/* A filter with 1/by of the blocks, otherwise like `view`, and planned for as many keys a block. */
static int make_smaller(struct blm_spec *ret, const struct blm_view *view, uint64_t by,
			const char *display)
{
	const struct blm_kind *kind = view->root.kind;
	const struct blm_shape *old = &view->root.shape;
	uint64_t blocks = old->cells / kind->fold_bits;
	struct blm_params params = { .probes = old->probes, .rate = old->rate };
	int r;

	if (!by || blocks % by)
		return blm_fail(-EINVAL, "%s: has %llu blocks, which %llu does not divide; use "
				"another factor", display,
				(unsigned long long)blocks,
				(unsigned long long)by);
	params.cells = old->cells / by;
	params.capacity = old->capacity > by ? old->capacity / by : 1;
	blm_spec_like(ret, view);
	/* with the arguments that are there already */
	r = kind->plan(&ret->shape[0], &params);
	ret->root = ret->shape[0];
	ret->capacity = ret->root.capacity;
	ret->origin = ret->origin_bytes = 0;	/* no file of that program has these bits */
	memset(ret->origin_head, 0, sizeof(ret->origin_head));
	return r;
}

BLM_API int blm_fold(struct blm_filter **ret, struct blm_store *store, const char *name,
		     const struct blm_filter *from, uint64_t by, unsigned mode)
{
	BLM_CRITICAL_SECTION;
	struct folding folding = { .f = from, .from = current_view(from), .by = by };
	struct blm_spec *spec = malloc(sizeof(*spec));
	int r = spec ? 0 : blm_fail(-ENOMEM, "%s: out of memory", from->place.display);

	if (r == 0)
		r = blm_check_whole(folding.from, from->place.display);
	if (r == 0 && !folding.from->root.kind->fold_bits)
		r = blm_cannot(folding.from, from, "fold", BLM_CAN_FOLD);
	if (r == 0)
		r = make_smaller(spec, folding.from, by, from->place.display);
	if (r == 0) {
		spec->mode = mode;
		r = blm_make(ret, store, name, spec, fill_with_fold, &folding);
	}
	free(spec);
	return r;
}
