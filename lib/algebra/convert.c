/*
 * convert.c - blm_convert(): a filter of another kind, if that needs no keys
 */
#include "durable/blocksum.h"
#include "make/new_filter.h"
#include "view/scan.h"
#include "base/phase.h"

#include <stdio.h>

/* "counting becomes classic, ..." */
static const char *what_becomes_what(char *to, size_t bytes)
{
	size_t at = 0;

	to[0] = '\0';
	for (size_t i = 0; blm_kind_at(i) && at < bytes; i++)
		if (blm_kind_at(i)->becomes)
			at += (size_t)snprintf(to + at, bytes - at, "%s%s becomes %s", at ? ", "
					       : "", blm_kind_at(i)->name, blm_kind_at(i)->becomes);
	return to;
}

static int can_become(const struct blm_filter *from, const struct blm_view *view, const char *kind)
{
	const char *becomes = view->root.kind->becomes;
	char names[256], possible[512];

	if (kind && !blm_kind_by_name(kind))
		return blm_fail(-ENOENT, "there is no kind \"%s\"; there are: %s", kind,
				blm_kinds_that_can(0, names, sizeof(names)));
	if (!becomes || (kind && strcmp(becomes, kind)))
		return blm_fail(-EOPNOTSUPP, "%s: a %s filter cannot become %s without its keys "
				"(%s); blm_rebuild() and blm_build_begin() make any kind from "
				"the keys",
				from->place.display, view->root.kind->name,
				kind ? kind : "another kind",
				what_becomes_what(possible, sizeof(possible)));
	return 0;
}

/* The sizes of the new kind for the same m and k. Only the width of a cell differs. */
static int shape_of(struct blm_shape *ret, const struct blm_kind *kind,
		    const struct blm_shape *from)
{
	*ret = (struct blm_shape){ 0 };
	return kind->plan(ret, &(struct blm_params){ .cells = from->cells, .probes = from->probes,
						     .capacity = from->capacity,
						     .rate = from->rate });
}

struct converting {
	const struct blm_filter *f;
	const struct blm_view *from;
};

static int fill(struct blm_view *new, void *context)
{
	const struct converting *c = context;
	const struct blm_view *from = c->from;
	const struct blm_part *part = &from->part[0];
	uint64_t bytes = new->part[0].shape.bytes;
	uint64_t *words = malloc(BLM_BLOCK);
	int r = words ? 0 : blm_fail(-ENOMEM, "out of memory");

	BLM_PHASE("converting", bytes);
	for (uint64_t at = 0; r == 0 && at < bytes; at += BLM_BLOCK) {
		size_t count = bytes - at < BLM_BLOCK ? (size_t)(bytes - at) : BLM_BLOCK;

		part->kind->become(part, at / 8, words, count / 8);
		r = blm_blocksum_put(new, 0, at, words, count);
		blm_phase_at(at + count);
	}
	free(words);
	if (r == 0) {
		new->image.header->stripe[0].keys = htole64(blm_counted_keys(from));
		live_of(new)->inexact.word = live_of(from)->inexact.word;
	}
	return r < 0 ? r : blm_check_sigbus(from, c->f->place.display);
}

BLM_API int blm_convert(struct blm_filter **ret, struct blm_store *store, const char *name,
			const struct blm_filter *from, const char *kind,
			unsigned mode)
{
	BLM_CRITICAL_SECTION;
	struct blm_spec *spec = malloc(sizeof(*spec));
	struct blm_view *view = current_view(from);
	int r = spec ? can_become(from, view, kind)
		: blm_fail(-ENOMEM, "%s: out of memory", from->place.display);

	if (r == 0)
		r = blm_check_whole(view, from->place.display);
	if (r == 0) {
		blm_spec_like(spec, view);
		spec->mode = mode;
		spec->of = spec->kind[0] = blm_kind_by_name(view->root.kind->becomes);
		r = shape_of(&spec->shape[0], spec->of, &view->part[0].shape);
		spec->root = spec->shape[0];
	}
	if (r == 0)
		r = blm_make(ret, store, name, spec, fill, &(struct converting){ from, view });
	free(spec);
	return r;
}
