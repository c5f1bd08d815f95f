/* partition.c - sorting entries into buffers, and emptying these in the order of memory */
#include "kind/common/partition.h"
#include "kind/kind_registry.h"

#include <sys/mman.h>

enum { ENTRIES_AT_ONCE = 512, HUGE_BYTES = 2 << 20, LINE_BYTES = 64 };
enum { FEW_PIECES = 32, MANY_PIECES = 128 };
#define MEMORY_MAX ((uint64_t)1 << 30)

/* ---- How large ---- */

static uint64_t pieces_of(const struct blm_shape *s, unsigned shift)
{
	return (s->cells >> shift) + (s->cells << (64 - shift) != 0);
}

/* Entries that fit, with the memory for each piece and for each key. */
static size_t capacity_for(uint64_t memory, uint64_t pieces, const struct blm_fill *fill)
{
	uint64_t each = memory / pieces;

	return each > sizeof(uint32_t) ? (size_t)((each - sizeof(uint32_t)) * 8
						  / (8 * fill->entry_bytes + fill->by_probe)) : 0;
}

/*
 * Buffers that begin an even number of pages apart would all want the same places of the first
 * cache.
 */
static size_t odd_lines(size_t capacity, size_t entry_bytes)
{
	size_t a_line = LINE_BYTES / entry_bytes, lines = capacity / a_line;

	return (lines - !(lines % 2)) * a_line;
}

/*
 * Pieces that fit the second-level cache, as long as each has a buffer that is worth a visit.
 * Smaller pieces if there would be some dozens: successive keys then rarely have the same piece, so
 * that the core does not mispredict. With thousands of buffers it gets slower again: they no longer
 * fit a cache themselves. (In tests/bench: "build", of each size.)
 */
static void plan(struct blm_filling *f, uint64_t memory)
{
	const struct blm_shape *s = &f->part->shape;
	const struct blm_fill *fill = f->part->kind->fill;
	size_t least = 2 * ENTRIES_AT_ONCE + 2 * LINE_BYTES / fill->entry_bytes;
	uint64_t piece_cells = (uint64_t)FILL_PIECE_BYTES * 8 / s->cell_bits;

	f->shift = 63 - (unsigned)__builtin_clzll(piece_cells);
	while (pieces_of(s, f->shift) > FILL_PIECES_MAX)
		f->shift++;
	if (pieces_of(s, f->shift) > FEW_PIECES && pieces_of(s, f->shift) < MANY_PIECES)
		f->shift -= 3;
	while (pieces_of(s, f->shift) > 1
	       && capacity_for(memory, pieces_of(s, f->shift), fill) < 2 * least)
		f->shift++;
	f->pieces = pieces_of(s, f->shift);
	f->capacity = capacity_for(memory, f->pieces, fill);
	/* nothing to sort: a key goes to the part while it is in the cache */
	if (f->pieces == 1)
		f->capacity = least;
	f->capacity = odd_lines(f->capacity, fill->entry_bytes);
	f->nearly = f->capacity - ENTRIES_AT_ONCE;
	f->keys_at_once = fill->by_probe ? ENTRIES_AT_ONCE / s->probes : BLM_BATCH;
}
static_assert((int)BLM_PROBES_MAX <= ENTRIES_AT_ONCE && (int)BLM_BATCH <= ENTRIES_AT_ONCE,
	      "at least one key at once");

void blm_filling_begin(struct blm_filling *ret, struct blm_part *part, uint64_t memory_bytes)
{
	*ret = (struct blm_filling){ .part = part };
	for (int i = 0; i < FILL_LOCKS; i++)
		pthread_mutex_init(&ret->lock[i], NULL);
	if (part->kind->fill)
		plan(ret, memory_bytes < MEMORY_MAX ? memory_bytes : MEMORY_MAX);
}

void blm_filling_end(struct blm_filling *filling)
{
	for (int i = 0; i < FILL_LOCKS; i++)
		pthread_mutex_destroy(&filling->lock[i]);
}

/* ---- Lanes ---- */

/*
 * In pages of 2 MiB, if the system gives them, because all of it is written. The memory around it
 * is never touched.
 */
static bool make_entries(struct blm_buffers *buffers, size_t bytes)
{
	void *map = mmap(NULL, bytes + HUGE_BYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		return false;
	buffers->map = map;
	buffers->map_bytes = bytes + HUGE_BYTES;
	buffers->entries = (void *)round_up((uintptr_t)map, HUGE_BYTES);
	madvise(buffers->entries, bytes - bytes % HUGE_BYTES, MADV_HUGEPAGE);	/* a hint */
	return true;
}

static bool make_buffers(struct blm_buffers *buffers)
{
	const struct blm_filling *of = buffers->of;
	const struct blm_fill *fill = of->part->kind->fill;
	size_t entries = of->pieces * of->capacity;

	buffers->used = calloc(of->pieces, sizeof(*buffers->used));
	if (fill->by_probe)
		buffers->changed = calloc(entries / of->part->shape.probes / 64 + 1,
				       sizeof(*buffers->changed));
	return buffers->used && (buffers->changed || !fill->by_probe)
		&& make_entries(buffers, entries * fill->entry_bytes);
}

struct blm_buffers *blm_buffers_new(struct blm_filling *of, uint64_t first)
{
	struct blm_buffers *buffers = calloc(1, sizeof(*buffers));

	if (!buffers)
		return NULL;
	buffers->of = of;
	if (!of->pieces)
		return buffers;
	buffers->first = first % of->pieces;
	if (make_buffers(buffers))
		return buffers;
	blm_buffers_free(buffers);
	return NULL;
}

void blm_buffers_free(struct blm_buffers *buffers)
{
	if (!buffers)
		return;
	if (buffers->map)
		munmap(buffers->map, buffers->map_bytes);
	free(buffers->changed);
	free(buffers->used);
	free(buffers);
}

/* ---- Filling ---- */

static int add_one_by_one(struct blm_buffers *buffers, const struct blm_batch *batch)
{
	uint64_t bits[BLM_BATCH_WORDS];
	int r;

	pthread_mutex_lock(&buffers->of->lock[0]);
	r = blm_part_add(buffers->of->part, batch, bits);
	pthread_mutex_unlock(&buffers->of->lock[0]);
	for (size_t i = 0; r == 0 && i < (batch->count + 63) / 64; i++)
		buffers->counted += (uint64_t)__builtin_popcountll(bits[i]);
	return r;
}

int blm_buffers_add(struct blm_buffers *buffers, const struct blm_batch *batch)
{
	const struct blm_filling *of = buffers->of;

	if (!of->pieces)
		return add_one_by_one(buffers, batch);
	for (size_t at = 0; at < batch->count; at += of->keys_at_once) {
		struct blm_batch some = {
			.by = batch->by,
			.hashes = batch->hashes ? batch->hashes + at : NULL,
			.keys = batch->keys ? batch->keys + at : NULL,
			.count = batch->count - at < of->keys_at_once ? batch->count - at
			: of->keys_at_once,
		};
		bool full = of->part->kind->fill->sort(buffers, &some);

		buffers->keys += some.count;
		if (full)
			blm_buffers_empty(buffers);
	}
	return 0;
}

static void count_changed(struct blm_buffers *buffers)
{
	for (uint64_t i = 0; i < buffers->keys / 64 + 1; i++) {
		buffers->counted += (uint64_t)__builtin_popcountll(buffers->changed[i]);
		buffers->changed[i] = 0;
	}
}

void blm_buffers_empty(struct blm_buffers *buffers)
{
	struct blm_filling *of = buffers->of;

	for (uint64_t i = 0; i < of->pieces; i++) {
		uint64_t piece = buffers->first + i < of->pieces ? buffers->first + i
			: buffers->first + i - of->pieces;

		if (!buffers->used[piece])
			continue;
		pthread_mutex_lock(&of->lock[piece % FILL_LOCKS]);
		of->part->kind->fill->apply(buffers, piece);
		pthread_mutex_unlock(&of->lock[piece % FILL_LOCKS]);
		buffers->used[piece] = 0;
	}
	if (buffers->changed)
		count_changed(buffers);
	buffers->keys = 0;
}

bool blm_piece_is_marked(const struct blm_filling *of, uint64_t piece)
{
	const struct blm_part *part = of->part;
	uint64_t bytes = (UINT64_C(1) << of->shift) * part->shape.cell_bits / 8,
		from = piece * bytes;
	uint64_t to = from + bytes < part->shape.bytes ? from + bytes : part->shape.bytes;

	for (uint64_t at = from; part->marks && at < to; at += UINT64_C(1) << BLM_MARKED_SHIFT)
		if (!part->marks[at >> BLM_MARKED_SHIFT])
			return false;
	return true;
}
