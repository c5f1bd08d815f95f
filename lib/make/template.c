/* template.c - what makes two filters combine: the same template, and filters made from one */
#include "handle/torn.h"
#include "view/scan.h"
#include "durable/blocksum.h"
#include "make/replace.h"
#include "base/phase.h"

#include <time.h>

BLM_API int blm_same_template(const struct blm_filter *a, const struct blm_filter *b)
{
	BLM_CRITICAL_SECTION;
	return blm_check_template(current_view(a), a->place.display, current_view(b),
				  b->place.display);
}

/* ---- Empty twins ---- */

BLM_API int blm_template(struct blm_filter **ret, struct blm_store *store, const char *name,
			 const struct blm_filter *from, unsigned mode)
{
	BLM_CRITICAL_SECTION;
	struct blm_spec *spec = malloc(sizeof(*spec));
	int r;

	if (!spec)
		return blm_fail(-ENOMEM, "%s: out of memory", from->place.display);
	blm_spec_anew(spec, current_view(from));
	spec->mode = mode;
	r = blm_check_empty(spec->of, from->place.display);
	if (r == 0)
		r = blm_make(ret, store, name, spec, NULL, NULL);
	free(spec);
	return r;
}

/* ---- Copies ---- */

struct copying {
	struct blm_view *new;
	const char *display;		/* of the source */
};

/*
 * Bytes that others may change are copied first: the kernel, too, must find them the same when it
 * looks twice.
 */
static int copy_piece(const struct blm_scan *scan, struct blm_worker *worker, uint64_t at,
		      size_t bytes)
{
	const struct copying *copying = scan->context;
	const struct blm_view *from = scan->views[0];
	int r = 0;

	for (size_t done = 0; r == 0 && done < bytes; done += BLM_BLOCK) {
		size_t some = bytes - done < BLM_BLOCK ? bytes - done : BLM_BLOCK;

		r = blm_blocksum_intact(from, scan->part, at + done, some, copying->display);
		copy_from_shared(worker->buffer + done, from->part[scan->part].bytes + at + done,
				 some);
	}
	return r < 0 ? r : blm_blocksum_put(copying->new, scan->part, at, worker->buffer, bytes);
}

/* The kind's own words first: they then hold for data that are copied after them (window.c). */
int blm_copy_into(struct blm_view *new, const struct blm_view *from, const char *display)
{
	struct copying copying = { .new = new, .display = display };
	uint64_t own[BLM_OWN];
	int r = 0;

	BLM_PHASE("copying", blm_scan_bytes(from));
	blm_own_words(from, own);
	for (int i = 0; i < BLM_OWN; i++)
		store_release(&live_of(new)->own[i].word, own[i]);
	for (unsigned i = 0; r == 0 && i < new->parts; i++) {
		r = blm_blocksum_intact_holes(from, i, display);
		if (r == 0)
			r = blm_scan(&(struct blm_scan){ .views = &from, .count = 1, .part = i,
							 .most = BLM_WRITTEN_PIECE,
							 .piece = copy_piece, .context = &copying },
							 NULL);
	}
	if (r < 0)
		return r;
	/*
	 * finish the change of a writer that died: a reader of the copy, or a program that sends it
	 * on, changes nothing
	 */
	if (new->root.kind->recover)
		new->root.kind->recover(&new->root);
	new->image.header->stripe[0].keys = htole64(blm_counted_keys(from));
	store_release(&live_of(new)->inexact.word, load_relaxed(&live_of(from)->inexact.word));
	return 0;
}

enum { MOMENTS = 200 };		/* of a millisecond */

/*
 * A writer that changes it now lets go in a moment, as does one whose union has just ended: wait
 * for that, without a lock for which they may wait in turn. If keys come into a filter all the time
 * there is no such moment, and the copy is known to be of several moments.
 */
static int begin_quiesced(struct blm_quiesced *ret, const struct blm_source *from)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	int r = blm_quiesce_begin(ret, from->f, from->view);

	for (int i = 0; r == 0 && ret->changes && i < MOMENTS; i++) {
		blm_quiesce_end(ret);
		nanosleep(&moment, NULL);
		r = blm_quiesce_begin(ret, from->f, from->view);
	}
	return r;
}

int blm_fill_with_copy(struct blm_view *new, void *context)
{
	const struct blm_source *from = context;
	struct blm_quiesced quiesced;
	int r = begin_quiesced(&quiesced, from);

	if (r < 0)
		return r;
	r = blm_copy_into(new, from->view, from->f->place.display);
	if (!blm_quiesce_end(&quiesced))
		blm_tear(new);
	return r < 0 ? r : blm_check_sigbus(from->view, from->f->place.display);
}

BLM_API int blm_copy(struct blm_filter **ret, struct blm_store *store, const char *name,
		     const struct blm_filter *from, unsigned mode)
{
	BLM_CRITICAL_SECTION;
	struct blm_spec *spec = malloc(sizeof(*spec));
	struct blm_source source = { .f = from, .view = current_view(from) };
	int r;

	if (!spec)
		return blm_fail(-ENOMEM, "%s: out of memory", from->place.display);
	blm_spec_like(spec, source.view);
	spec->mode = mode;
	r = blm_make(ret, store, name, spec, blm_fill_with_copy, &source);
	free(spec);
	return r;
}
