/*
 * double.c - a filter of twice the size, made from its contents, which replaces it
 */
#include "handle/allowlist_carry.h"
#include "handle/exclusive.h"
#include "make/new_filter.h"
#include "view/scan.h"
#include "base/phase.h"

struct growing {
	const char *display;
	bool force;
	double rate;		/* of the result */
};

/*
 * Twice the capacity, at the old rate if the fingerprints are long enough; otherwise at the
 * resulting rate.
 */
static int make_double(struct blm_spec *spec, const struct blm_view *old, void *context)
{
	struct growing *g = context;
	struct blm_shape *shape = &spec->shape[0];
	int r;

	if (!old->root.kind->grown)
		return -EOPNOTSUPP;
	r = old->root.kind->grown(shape, &old->root.shape);
	if (r < 0)
		return r;
	g->rate = old->root.kind->rate_at(shape, shape->capacity);
	if (g->rate > spec->rate && !g->force)
		return blm_fail(-ERANGE, "%s: with twice the keys its false-positive rate would be "
				"%.3g, above %.3g; force it, or rebuild it from its keys",
				g->display, g->rate, spec->rate);
	if (g->rate > spec->rate)
		spec->rate = g->rate;
	shape->rate = spec->rate;
	spec->capacity = shape->capacity;
	spec->root = *shape;
	return 0;
}

static int fill(struct blm_view *new, const struct blm_view *old, void *context)
{
	struct growing *g = context;
	int r;

	BLM_PHASE("doubling", blm_scan_bytes(old));
	r = old->root.kind->grow(&new->root, &old->root);
	if (r == 0)
		blm_phase_at(blm_scan_bytes(old));
	if (r == -EXFULL)
		r = blm_fail(r, "%s: by chance its keys do not fit into twice its size: rebuild it "
			     "from its keys", g->display);
	new->image.header->stripe[0].keys = htole64(blm_counted_keys(old));
	live_of(new)->inexact.word = live_of(old)->inexact.word;
	return r;
}

BLM_API int blm_grow(struct blm_filter *f, unsigned flags)
{
	BLM_CRITICAL_SECTION;
	struct growing g = { .display = f->place.display, .force = flags & BLM_GROW_FORCE };
	struct blm_view *view;
	int r;

	if (flags & ~(unsigned)BLM_GROW_FORCE)
		return blm_fail(-EINVAL, "%s: flags %#x: some are not in enum blm_grow_flags",
				f->place.display, flags);
	r = blm_change_begin(f, &view);		/* may it be changed at all? */
	if (r == 0) {
		if (!view->root.kind->grown)
			r = blm_cannot(view, f, "double without their keys", BLM_CAN_GROW);
		else
			r = blm_ask_replacement(f, view);
		blm_change_end(f, view);
	}
	return r < 0 && r != -EAGAIN ? r
		: blm_replace_changed(&f->place, f->secret, &blm_allowlist_carry_all, make_double,
				      fill, &g);
}
