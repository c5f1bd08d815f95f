/* combine.c - templates and algebra: empty twins, copies, OR and AND */
#include "combine.h"
#include "replace.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* ---- The same template? ---- */

static const char *name_of_kind(uint32_t id)
{
	const struct blm_kind *kind = blm_kind_by_id(le32toh(id));

	return kind ? kind->name : "?";
}

static const char *name_of_family(uint32_t id)
{
	const struct blm_family *family = blm_family_by_id(le32toh(id));

	return family ? family->name : "?";
}

/* The first field that differs, with both values, as a sentence; false if none does. */
static bool difference(const struct blm_template_fields *a, const struct blm_template_fields *b, char *ret, size_t bytes)
{
	const struct { const char *name; uint64_t a, b; bool hex; } numbers[] = {
		{ "index rule", le32toh(a->index_rule), le32toh(b->index_rule), false },
		{ "bit order", le32toh(a->bit_order), le32toh(b->bit_order), false },
		{ "m", le64toh(a->cells), le64toh(b->cells), false },
		{ "k", le32toh(a->probes), le32toh(b->probes), false },
		{ "cell width", le32toh(a->cell_bits), le32toh(b->cell_bits), false },
		{ "tweak", le64toh(a->tweak), le64toh(b->tweak), false },
		{ "number of seeds", le32toh(a->seed_count), le32toh(b->seed_count), false },
	};

	if (a->kind != b->kind)
		return snprintf(ret, bytes, "kind: %s and %s", name_of_kind(a->kind), name_of_kind(b->kind)), true;
	if (a->family != b->family)
		return snprintf(ret, bytes, "hash: %s and %s", name_of_family(a->family), name_of_family(b->family)), true;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i].a != numbers[i].b)
			return snprintf(ret, bytes, "%s: %llu and %llu", numbers[i].name, (unsigned long long)numbers[i].a,
					(unsigned long long)numbers[i].b), true;
	if (memcmp(a->key_id, b->key_id, 8))
		return snprintf(ret, bytes, "key id: %016llx and %016llx", (unsigned long long)be64toh(*(const uint64_t *)a->key_id),
				(unsigned long long)be64toh(*(const uint64_t *)b->key_id)), true;
	for (uint32_t i = 0; i < le32toh(a->seed_count); i++)
		if (a->seeds[i] != b->seeds[i])
			return snprintf(ret, bytes, "seed: %llu and %llu", (unsigned long long)le64toh(a->seeds[i]),
					(unsigned long long)le64toh(b->seeds[i])), true;
	for (int i = 0; i < BLM_ARGS; i++)
		if (a->args[i] != b->args[i])
			return snprintf(ret, bytes, "argument %d of the kind: %llu and %llu", i, (unsigned long long)le64toh(a->args[i]),
					(unsigned long long)le64toh(b->args[i])), true;
	return false;
}

static int same_template(const struct blm_view *a, const struct blm_filter *fa, const struct blm_view *b, const struct blm_filter *fb)
{
	char why[128];

	if (difference(&a->constant.template, &b->constant.template, why, sizeof(why)))
		return blm_fail(-EMEDIUMTYPE, "%s and %s do not combine, they differ in %s; `bloomery template` makes filters that combine",
				fa->place.shown, fb->place.shown, why);
	if (a->parts != b->parts)
		return blm_fail(-EMEDIUMTYPE, "%s and %s do not combine: they have %u and %u parts", fa->place.shown, fb->place.shown,
				a->parts, b->parts);
	return 0;
}

BLM_API int blm_same_template(const struct blm_filter *a, const struct blm_filter *b)
{
	return same_template(current_view(a), a, current_view(b), b);
}

/* ---- Data, piece by piece ---- */

/*
 * A sparse file may have terabytes of holes, which read as zeros and would fill the memory if they were read; the system
 * tells where they are. Where it cannot, all is data.
 */
bool blm_next_data(const struct blm_view *view, unsigned i, uint64_t at, uint64_t *ret_from, uint64_t *ret_to)
{
	const struct blm_part *part = &view->part[i];
	uint64_t base = (uint64_t)(part->bytes - (const uint8_t *)view->image.header);
	off_t data, hole;

	if (at >= part->shape.bytes)
		return false;
	*ret_from = at;
	*ret_to = part->shape.bytes;
	if (!(le64toh(view->constant.flags) & BLM_FLAG_SPARSE) || view->image.fd < 0)
		return true;
	data = lseek(view->image.fd, (off_t)(base + at), SEEK_DATA);
	if (data < 0)
		return errno != ENXIO;		/* ENXIO: only holes from here on */
	if ((uint64_t)data >= base + part->shape.bytes)
		return false;
	hole = lseek(view->image.fd, data, SEEK_HOLE);
	*ret_from = ((uint64_t)data - base) / 64 * 64;
	if (hole > 0 && (uint64_t)hole < base + part->shape.bytes)
		*ret_to = round_up((uint64_t)hole - base, 64);
	return true;
}

static size_t piece_at(uint64_t at, uint64_t to)
{
	return to - at < BLM_PIECE ? (size_t)(to - at) : BLM_PIECE;
}

static void count_zeros(const struct blm_part *part, uint64_t bytes, struct blm_census *to)
{
	to->bytes += bytes;
	to->blocks[0] += bytes / 64;
}

static int census_of_one(const struct blm_view *view, unsigned i, struct blm_census *to)
{
	const struct blm_part *part = &view->part[i];
	uint64_t at = 0, from, end;

	while (blm_next_data(view, i, at, &from, &end)) {
		count_zeros(part, from - at, to);
		for (at = from; at < end; at += piece_at(at, end))
			part->kind->census(part, part->bytes + at, piece_at(at, end), to);
	}
	count_zeros(part, part->shape.bytes - at, to);
	return 0;
}

/* Where any of the views has data, from `at` on; the end of the part if none has. */
static uint64_t next_data_of_any(const struct blm_view *const *views, size_t count, unsigned i, uint64_t at)
{
	uint64_t first = views[0]->part[i].shape.bytes, from, end;

	for (size_t v = 0; v < count; v++)
		if (blm_next_data(views[v], i, at, &from, &end) && from < first)
			first = from;
	return first;
}

int blm_union_census(const struct blm_view *const *views, size_t count, unsigned i, struct blm_census *to)
{
	struct blm_part part = views[0]->part[i];
	uint64_t at = 0, from;
	uint8_t *piece;

	if (count == 1)
		return census_of_one(views[0], i, to);
	piece = aligned_alloc(64, BLM_PIECE);
	if (!piece)
		return blm_fail(-ENOMEM, "out of memory");
	part.alone = true;
	while ((from = next_data_of_any(views, count, i, at)) < part.shape.bytes) {
		size_t bytes = piece_at(from, part.shape.bytes);

		count_zeros(&part, from - at, to);
		memcpy(piece, part.bytes + from, bytes);
		for (size_t v = 1; v < count; v++)
			part.kind->unite(&part, piece, views[v]->part[i].bytes + from, bytes);
		part.kind->census(&part, piece, bytes, to);
		at = from + bytes;
	}
	count_zeros(&part, part.shape.bytes - at, to);
	free(piece);
	return 0;
}

/* dst := src where src has data; dst is new, so the rest is zero already. */
static void copy_part(struct blm_view *dst, const struct blm_view *src, unsigned i)
{
	uint64_t at = 0, from, end;

	while (blm_next_data(src, i, at, &from, &end)) {
		memcpy(dst->part[i].bytes + from, src->part[i].bytes + from, end - from);
		at = end;
	}
}

/* dst |= src. */
static void unite_part(struct blm_view *dst, const struct blm_view *src, unsigned i)
{
	const struct blm_part *part = &dst->part[i];
	uint64_t at = 0, from, end;

	for (; blm_next_data(src, i, at, &from, &end); at = end)
		part->kind->unite(part, part->bytes + from, src->part[i].bytes + from, end - from);
}

/* dst &= src. Where dst has no data there is nothing to take away. */
static void intersect_part(struct blm_view *dst, const struct blm_view *src, unsigned i)
{
	const struct blm_part *part = &dst->part[i];
	uint64_t at = 0, from, end;

	for (; blm_next_data(dst, i, at, &from, &end); at = end)
		part->kind->intersect(part, part->bytes + from, src->part[i].bytes + from, end - from);
}

/* ---- Twins and copies ---- */

BLM_API int blm_template(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_filter *from, unsigned mode)
{
	struct blm_making *making = malloc(sizeof(*making));
	int r;

	if (!making)
		return blm_fail(-ENOMEM, "%s: out of memory", name);
	blm_making_like(making, current_view(from));
	making->mode = mode;
	r = blm_make(ret, store, name, making, NULL, NULL);
	free(making);
	return r;
}

int blm_copy_into(struct blm_view *new, const struct blm_view *from)
{
	for (unsigned i = 0; i < new->parts; i++)
		copy_part(new, from, i);
	new->image.header->stripe[0].keys = htole64(blm_counted_keys(from));
	live_of(new)->inexact.word = live_of(from)->inexact.word;
	return 0;
}

static int fill_with_copy(struct blm_view *new, void *context)
{
	return blm_copy_into(new, context);
}

BLM_API int blm_copy(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_filter *from, unsigned mode)
{
	struct blm_making *making = malloc(sizeof(*making));
	struct blm_view *view = current_view(from);
	int r;

	if (!making)
		return blm_fail(-ENOMEM, "%s: out of memory", name);
	blm_making_like(making, view);
	making->mode = mode;
	r = blm_make(ret, store, name, making, fill_with_copy, view);
	free(making);
	return r;
}

/* ---- OR and AND ---- */

struct combining {
	enum blm_op op;
	const struct blm_filter *const *from;
	const struct blm_view **view;		/* of each */
	size_t count;
	const char *shown;			/* of the result */
	double max_rate, *ret_rate;
};

static bool can(const struct blm_view *view, enum blm_op op)
{
	return op == BLM_UNION ? view->part[0].kind->unite != NULL : view->part[0].kind->intersect != NULL;
}

static int begin(struct combining *c)
{
	int r = 0;

	if (!c->count)
		return blm_fail(-EINVAL, "nothing to combine");
	if (c->max_rate && !(c->max_rate > 0 && c->max_rate < 1))
		return blm_fail(-EINVAL, "the highest rate %g is not between 0 and 1", c->max_rate);
	c->view = calloc(c->count, sizeof(*c->view));
	if (!c->view)
		return blm_fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < c->count; i++)
		c->view[i] = current_view(c->from[i]);
	if (!can(c->view[0], c->op))
		r = blm_cannot(c->view[0], c->from[0], c->op == BLM_UNION ? "make a union" : "make an intersection",
			       c->op == BLM_UNION ? BLM_CAN_UNION : BLM_CAN_INTERSECT);
	for (size_t i = 1; r == 0 && i < c->count; i++)
		r = same_template(c->view[0], c->from[0], c->view[i], c->from[i]);
	return r;
}

/* The rate of the result; -ERANGE if it is above what the caller wants. */
static int judge(const struct combining *c, const struct blm_view *parts_of, const struct blm_census *census)
{
	double rate = blm_rate_of_parts(parts_of, census);

	if (c->ret_rate)
		*c->ret_rate = rate;
	if (c->max_rate && rate > c->max_rate)
		return blm_fail(-ERANGE, "%s: the result would have a false-positive rate of %.3g, above %.3g", c->shown, rate, c->max_rate);
	return 0;
}

/* Distinct keys, rounded; a full filter's is the least that it can be. */
static uint64_t estimated_keys(const struct blm_view *view, const struct blm_census *census)
{
	double keys = 0;
	bool saturated;

	for (unsigned i = 0; i < view->parts; i++)
		keys += blm_keys_of_census(&view->part[i], &census[i], &saturated).value;
	return (uint64_t)llround(keys);
}

/* Into a new file: the first copied, the others on top of it, judged before anybody sees it. */
static int fill_with_result(struct blm_view *new, void *context)
{
	const struct combining *c = context;
	struct blm_census *census = calloc(new->parts, sizeof(*census));
	int r = 0;

	if (!census)
		return blm_fail(-ENOMEM, "%s: out of memory", c->shown);
	for (unsigned i = 0; r == 0 && i < new->parts; i++) {
		copy_part(new, c->view[0], i);
		for (size_t v = 1; v < c->count; v++)
			(c->op == BLM_UNION ? unite_part : intersect_part)(new, c->view[v], i);
		r = blm_union_census((const struct blm_view *const *)&new, 1, i, &census[i]);
	}
	if (r == 0)
		r = judge(c, new, census);
	if (r == 0) {
		new->image.header->stripe[0].keys = htole64(estimated_keys(new, census));
		live_of(new)->inexact.word = htole64(1);
	}
	free(census);
	return r;
}

BLM_API int blm_combine(struct blm_filter **ret, struct blm_store *store, const char *name, enum blm_op op,
			const struct blm_filter *const *from, size_t count, double max_rate, double *ret_rate)
{
	struct combining c = { .op = op, .from = from, .count = count, .shown = name, .max_rate = max_rate, .ret_rate = ret_rate };
	struct blm_making *making = malloc(sizeof(*making));
	int r = making ? begin(&c) : blm_fail(-ENOMEM, "%s: out of memory", name);

	if (r == 0) {
		blm_making_like(making, c.view[0]);
		r = blm_make(ret, store, name, making, fill_with_result, &c);
	}
	free(c.view);
	free(making);
	return r;
}

/* What the OR will be is judged first; the bits that others set in the meantime are not in that. */
static int judge_union(const struct combining *c, uint64_t *ret_keys)
{
	const struct blm_view *first = c->view[0];
	struct blm_census *census = calloc(first->parts, sizeof(*census));
	int r = census ? 0 : blm_fail(-ENOMEM, "%s: out of memory", c->shown);

	for (unsigned i = 0; r == 0 && i < first->parts; i++)
		r = blm_union_census(c->view, c->count, i, &census[i]);
	if (r == 0)
		r = judge(c, first, census);
	if (r == 0)
		*ret_keys = estimated_keys(first, census);
	free(census);
	return r;
}

static int union_into(struct blm_filter *into, struct combining *c)
{
	uint64_t keys, counted;
	struct blm_view *view;
	int r, end;

	do {
		r = blm_change_begin(into, &view);
		if (r < 0)
			return r;
		c->view[0] = view;
		for (size_t v = 1; r == 0 && v < c->count; v++)
			r = same_template(view, into, c->view[v], c->from[v]);
		if (r == 0)
			r = judge_union(c, &keys);
		if (r == 0) {
			store_release(&live_of(view)->inexact.word, 1);
			for (unsigned i = 0; i < view->parts; i++)
				for (size_t v = 1; v < c->count; v++)
					unite_part(view, c->view[v], i);
			counted = blm_counted_keys(view);
			blm_count_keys(view, keys > counted ? keys - counted : 0);
		}
		end = blm_change_end(into, view);
		if (r == 0)
			r = end;
	} while (r == -EAGAIN);
	return r;
}

static int fill_with_intersection(struct blm_view *new, const struct blm_view *old, void *context)
{
	struct combining *c = context;
	int r = 0;

	c->view[0] = old;
	for (size_t v = 1; r == 0 && v < c->count; v++)
		r = same_template(old, c->from[0], c->view[v], c->from[v]);
	return r < 0 ? r : fill_with_result(new, c);
}

BLM_API int blm_combine_into(struct blm_filter *into, enum blm_op op, const struct blm_filter *const *from, size_t count,
			     double max_rate, double *ret_rate)
{
	const struct blm_filter **all = calloc(count + 1, sizeof(*all));
	struct combining c = { .op = op, .from = all, .count = count + 1, .shown = into->place.shown,
			       .max_rate = max_rate, .ret_rate = ret_rate };
	struct blm_view *view;
	int r;

	if (!all)
		return blm_fail(-ENOMEM, "%s: out of memory", into->place.shown);
	all[0] = into;
	memcpy(all + 1, from, count * sizeof(*all));
	r = blm_change_begin(into, &view);	/* may it be changed at all? */
	if (r == 0)
		r = blm_change_end(into, view);
	if (r == -EAGAIN)
		r = 0;
	if (r == 0)
		r = begin(&c);
	if (r == 0)
		r = op == BLM_UNION ? union_into(into, &c) : blm_replace(&into->place, NULL, fill_with_intersection, &c);
	free(c.view);
	free(all);
	return r;
}
