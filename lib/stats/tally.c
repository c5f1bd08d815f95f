/*
 * tally.c - how many cells are set in filters, and in their union, and the keys that follow
 */
#include "stats/tally.h"
#include "base/phase.h"
#include "file/os.h"

#include <math.h>

enum { STEP = 4 << 10 };	/* bytes that are combined at once: they stay in the first cache */

static int count_one(const struct blm_scan *scan, struct blm_worker *worker, uint64_t at,
		     size_t bytes)
{
	const struct blm_part *part = &scan->views[0]->part[scan->part];

	part->kind->tally(part, part->bytes + at, bytes, &worker->tally[0]);
	return 0;
}

/*
 * As copy_from_shared(), which takes four instructions a word. The vectors of a union may read
 * words that others change, and their OR with zeros is a copy.
 */
static void copy_lines(const struct blm_simd *simd, uint8_t *to, const uint8_t *from,
		       size_t bytes)
{
	size_t lines = bytes - bytes % 64;

	memset(to, 0, lines);
	simd->or_words(to, from, lines);
	copy_from_shared(to + lines, from + lines, bytes - lines);
}

void blm_combine_bytes(enum blm_op op, const struct blm_view *const *views, size_t count,
		       unsigned i, uint64_t at, size_t bytes, uint8_t *to)
{
	struct blm_part part = views[0]->part[i];

	part.unshared = true;
	part.marks = NULL;
	for (size_t done = 0; done < bytes; done += STEP) {
		size_t some = bytes - done < STEP ? bytes - done : STEP;

		copy_lines(part.simd, to + done, part.bytes + at + done, some);
		for (size_t v = 1; v < count; v++)
			(op == BLM_UNION ? part.kind->unite : part.kind->intersect)(&part,
				to + done, views[v]->part[i].bytes + at + done, some);
	}
}

static int count_or(const struct blm_scan *scan, struct blm_worker *worker, uint64_t at,
		    size_t bytes)
{
	const struct blm_part *part = &scan->views[0]->part[scan->part];

	blm_combine_bytes(BLM_UNION, scan->views, scan->count, scan->part, at, bytes,
			  worker->buffer);
	part->kind->tally(part, worker->buffer, bytes, &worker->tally[0]);
	return 0;
}

/* Blocks outside of the range were counted as zeros. */
void blm_tally_narrow(const struct blm_view *view, struct blm_tally *tally, unsigned count)
{
	uint64_t outside = view->part[0].shape.bytes - (view->split.to - view->split.from);
	struct blm_tally line = { 0 };

	if (!view->split.parts)
		return;
	view->root.kind->tally(&view->root, blm_zeros, 64, &line);
	for (unsigned i = 0; i < count; i++) {
		tally[i].bytes -= outside;
		tally[i].blocks[0] -= outside / 64 * line.blocks[0];
	}
}

int blm_union_tally(const struct blm_view *const *views, size_t count, unsigned i,
		    struct blm_tally *to)
{
	int r = blm_scan(&(struct blm_scan){ .views = views, .count = count, .part = i,
					     .tallies = 1, .most = BLM_PIECE,
					     .piece = count == 1 ? count_one : count_or }, to);

	blm_tally_narrow(views[0], to, r == 0);
	return r;
}

static int count_both(const struct blm_scan *scan, struct blm_worker *worker, uint64_t at,
		      size_t bytes)
{
	const struct blm_part *a = &scan->views[0]->part[scan->part],
		*b = &scan->views[1]->part[scan->part];

	a->kind->tally(a, a->bytes + at, bytes, &worker->tally[0]);
	b->kind->tally(b, b->bytes + at, bytes, &worker->tally[1]);
	if (a->kind->differ)
		a->kind->differ(a, b, at, bytes, &worker->tally[2]);
	blm_combine_bytes(BLM_UNION, scan->views, scan->count, scan->part, at, bytes,
			  worker->buffer);
	a->kind->tally(a, worker->buffer, bytes, &worker->tally[2]);
	return 0;
}

int blm_pair_tally(const struct blm_view *const views[2], unsigned i, struct blm_tally to[3])
{
	int r = blm_scan(&(struct blm_scan){ .views = views, .count = 2, .part = i, .tallies = 3,
					     .most = BLM_PIECE, .piece = count_both }, to);

	blm_tally_narrow(views[0], to, r == 0 ? 3 : 0);
	return r;
}

uint64_t blm_keys_of_parts(const struct blm_view *view, const struct blm_tally *tally)
{
	double keys = 0;
	bool saturated;

	for (unsigned i = 0; i < view->parts; i++) {
		const struct blm_part part = blm_owned_part(view, i);

		keys += blm_part_counts(view, i)
			* blm_keys_of_tally(&part, &tally[i], &saturated).value;
	}
	return (uint64_t)llround(fmax(keys, 0));
}

int blm_keys_of_bits(const struct blm_view *view, uint64_t *ret)
{
	struct blm_tally *tally;
	int r = 0;

	if (!view->part[0].kind->tally)
		return -EOPNOTSUPP;
	tally = calloc(view->parts, sizeof(*tally));
	if (!tally)
		return blm_fail(-ENOMEM, "out of memory");
	BLM_PHASE("counting", blm_scan_bytes(view));
	for (unsigned i = 0; r == 0 && i < view->parts; i++)
		r = blm_union_tally(&view, 1, i, &tally[i]);
	if (r == 0)
		*ret = blm_keys_of_parts(view, tally);
	free(tally);
	return r;
}
