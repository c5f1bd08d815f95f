/* advance.c - a step farther: the levels of neighbours into the next levels of a filter */
#include "handle/torn.h"
#include "make/new_filter.h"
#include "stats/tally.h"
#include "base/phase.h"

struct advancing {
	const struct blm_filter *f;	/* whose levels go on */
	struct blm_view *into;
	unsigned to;
};

static int unite_piece(const struct blm_scan *scan, struct blm_worker *worker, uint64_t at,
		       size_t bytes)
{
	const struct advancing *a = scan->context;
	const struct blm_part *dst = &a->into->part[a->to];
	int r;

	copy_from_shared(worker->buffer, scan->views[0]->part[scan->part].bytes + at, bytes);
	/* before it is set, as nothing takes it out again */
	r = blm_check_sigbus(scan->views[0], a->f->place.display);
	if (r == 0)
		dst->kind->unite(dst, dst->bytes + at, worker->buffer, bytes);
	return r;
}

/*
 * The farthest level first: a filter that is its own neighbour then goes one step, not all of them.
 */
static int advance(struct blm_view *into, const struct blm_view *from, const struct blm_filter *f)
{
	struct advancing a = { .f = f, .into = into };
	int r = 0;

	for (unsigned i = from->parts; r == 0 && i--; )
		if (into->root.kind->advance(&into->root, i, &a.to))
			r = blm_scan(&(struct blm_scan){ .views = &from, .count = 1, .part = i,
							 .most = BLM_PIECE,
							 .piece = unite_piece, .context = &a },
							 NULL);
	return r;
}

/* The last level goes nowhere. */
static uint64_t bytes_that_advance(const struct blm_view *view)
{
	uint64_t bytes = 0;
	unsigned to;

	for (unsigned i = 0; i < view->parts; i++)
		if (view->root.kind->advance(&view->root, i, &to))
			bytes += view->part[i].shape.bytes;
	return bytes;
}

static int advance_views(struct blm_view *into, const struct blm_view *const *view,
			 const struct blm_filter *const *from, size_t count)
{
	int r = 0;

	BLM_PHASE("combining", count * bytes_that_advance(into));
	for (size_t i = 0; r == 0 && i < count; i++)
		r = advance(into, view[i], from[i]);
	return r;
}

static int advance_all(struct blm_filter *into, struct blm_view *view,
		       const struct blm_filter *const *from, size_t count)
{
	uint64_t counted = blm_counted_keys(view), keys = 0;
	const struct blm_view **of;
	int r = 0;

	if (!view->root.kind->advance)
		return blm_cannot(view, into, "take in their neighbours' levels", BLM_CAN_ADVANCE);
	of = calloc(count + 1, sizeof(*of));
	if (!of)
		return blm_fail(-ENOMEM, "%s: out of memory", into->place.display);
	/* once: later replacements may be of any kind */
	r = blm_views_at_once(of, from, count);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = blm_check_template(view, into->place.display, of[i], from[i]->place.display);
	if (r == 0) {
		store_release(&live_of(view)->inexact.word, 1);
		r = advance_views(view, of, from, count);
	}
	free(of);
	if (r == 0)
		r = blm_keys_of_bits(view, &keys);
	if (r == 0)
		blm_count_keys(view, keys > counted ? keys - counted : 0);
	return r;
}

BLM_API int blm_advance(struct blm_filter *into, const struct blm_filter *const *from, size_t count)
{
	BLM_CRITICAL_SECTION;
	struct blm_view *view;
	int r, end;

	do {
		r = blm_change_begin(into, &view);
		if (r < 0)
			return r;
		r = advance_all(into, view, from, count);
		end = blm_change_end_unnamed(into, view, false);
		if (r == 0)
			r = end;
	} while (r == -EAGAIN);
	return r;
}
