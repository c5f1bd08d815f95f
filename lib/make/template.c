/* template.c - what makes two filters combine: the same template, and filters made from one */
#include "algebra/combine.h"
#include "handle/handle.h"
#include "durable/blocksum.h"
#include "kind/common/options.h"
#include "make/replace.h"

#include <stdio.h>
#include <time.h>

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

static const char *name_of_rule(uint32_t id)
{
	const struct blm_rule *rule = blm_rule_by_id(le32toh(id));

	return rule ? rule->name : "?";
}

static const char *name_of_order(uint32_t order)
{
	const char *name = blm_order_name(le32toh(order));

	return name ? name : "?";
}

/* As what the option is that it comes from, if it does. */
static void name_argument(char *ret, size_t bytes, int i, const struct blm_template_fields *a, const struct blm_template_fields *b)
{
	const struct blm_kind *kind = blm_kind_by_id(le32toh(a->kind));
	const struct blm_option *o = kind ? kind->options : NULL;
	char of_a[32], of_b[32];

	for (int j = 0; o && o->name && j < i; j++)
		o++;
	if (o && o->name)
		snprintf(ret, bytes, "%s: %s and %s", o->name, blm_option_value_text(o, le64toh(a->args[i]), of_a),
			 blm_option_value_text(o, le64toh(b->args[i]), of_b));
	else
		snprintf(ret, bytes, "argument %d of the kind: %llu and %llu", i, (unsigned long long)le64toh(a->args[i]),
			 (unsigned long long)le64toh(b->args[i]));
}

/* The first field that differs, with both values, as a sentence; false if none does. */
static bool difference(const struct blm_template_fields *a, const struct blm_template_fields *b, char *ret, size_t bytes)
{
	const struct { const char *name; uint64_t a, b; bool hex; } numbers[] = {
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
	if (a->index_rule != b->index_rule)
		return snprintf(ret, bytes, "index rule: %s and %s", name_of_rule(a->index_rule), name_of_rule(b->index_rule)), true;
	if (a->bit_order != b->bit_order)
		return snprintf(ret, bytes, "bit order: %s and %s", name_of_order(a->bit_order), name_of_order(b->bit_order)), true;
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
			return name_argument(ret, bytes, i, a, b), true;
	return false;
}

int blm_check_template(const struct blm_view *a, const struct blm_filter *fa, const struct blm_view *b, const struct blm_filter *fb)
{
	char why[192];

	if (difference(&a->constant.template, &b->constant.template, why, sizeof(why)))
		return blm_fail(-EMEDIUMTYPE, "%s and %s do not combine, they differ in %s; %s", fa->place.shown,
				fb->place.shown, why, kind_takes_keys(a->whole.kind) ? "`bloomery template` makes filters that combine"
				: "what is to be merged is built with the same -n, -p, --with and --seed");
	for (unsigned i = 0; i < a->parts && i < b->parts; i++)
		if (a->part[i].shape.cells != b->part[i].shape.cells || a->part[i].shape.probes != b->part[i].shape.probes)
			return blm_fail(-EMEDIUMTYPE, "%s and %s do not combine: their parts %u differ in size", fa->place.shown,
					fb->place.shown, i);
	return 0;
}

BLM_API int blm_same_template(const struct blm_filter *a, const struct blm_filter *b)
{
	BLM_INSIDE;
	return blm_check_template(current_view(a), a, current_view(b), b);
}

/* ---- Empty twins ---- */

BLM_API int blm_template(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_filter *from, unsigned mode)
{
	BLM_INSIDE;
	struct blm_making *making = malloc(sizeof(*making));
	int r;

	if (!making)
		return blm_fail(-ENOMEM, "%s: out of memory", from->place.shown);
	blm_making_anew(making, current_view(from));
	making->mode = mode;
	r = blm_check_empty(making->of, from->place.shown);
	if (r == 0)
		r = blm_make(ret, store, name, making, NULL, NULL);
	free(making);
	return r;
}

/* ---- Copies ---- */

struct copying {
	struct blm_view *new;
	const char *shown;		/* of what is copied */
};

/* Of what others may change a copy is taken first: the kernel, too, must find it the same when it looks twice. */
static int copy_piece(const struct blm_pass *pass, struct blm_worker *worker, uint64_t at, size_t bytes)
{
	const struct copying *copying = pass->context;
	const struct blm_view *from = pass->views[0];
	int r = 0;

	for (size_t done = 0; r == 0 && done < bytes; done += BLM_BLOCK) {
		size_t some = bytes - done < BLM_BLOCK ? bytes - done : BLM_BLOCK;

		r = blm_guard_intact(from, pass->part, at + done, some, copying->shown);
		memcpy(worker->room + done, from->part[pass->part].bytes + at + done, some);
	}
	return r < 0 ? r : blm_guard_put(copying->new, pass->part, at, worker->room, bytes);
}

/* The kind's own words first: what they say of the data is true of what is copied after them (window.c). */
int blm_copy_into(struct blm_view *new, const struct blm_view *from, const char *shown)
{
	struct copying copying = { .new = new, .shown = shown };
	uint64_t own[BLM_OWN];
	int r = 0;

	blm_own_words(from, own);
	for (int i = 0; i < BLM_OWN; i++)
		store_release(&live_of(new)->own[i].word, own[i]);
	for (unsigned i = 0; r == 0 && i < new->parts; i++) {
		r = blm_guard_intact_holes(from, i, shown);
		if (r == 0)
			r = blm_pass(&(struct blm_pass){ .views = &from, .count = 1, .part = i, .most = BLM_WRITTEN_PIECE,
							 .piece = copy_piece, .context = &copying }, NULL);
	}
	if (r < 0)
		return r;
	if (new->whole.kind->settle)		/* what a writer that died was doing: whoever reads the copy, or sends it on, changes nothing */
		new->whole.kind->settle(&new->whole);
	new->image.header->stripe[0].keys = htole64(blm_counted_keys(from));
	live_of(new)->inexact.word = live_of(from)->inexact.word;
	return 0;
}

enum { MOMENTS = 200 };		/* of a millisecond */

/*
 * Who changes it now lets go in a moment, as does one whose union has just ended: wait for that, without a lock for which they may wait in
 * turn. Of a filter that keys come into all the time there is no such moment, and the copy is known to be of several.
 */
static int begin_still(struct blm_still *ret, const struct blm_source *from)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	int r = blm_still_begin(ret, from->f, from->view);

	for (int i = 0; r == 0 && ret->changes && i < MOMENTS; i++) {
		blm_still_end(ret);
		nanosleep(&moment, NULL);
		r = blm_still_begin(ret, from->f, from->view);
	}
	return r;
}

int blm_fill_with_copy(struct blm_view *new, void *context)
{
	const struct blm_source *from = context;
	struct blm_still still;
	int r = begin_still(&still, from);

	if (r < 0)
		return r;
	r = blm_copy_into(new, from->view, from->f->place.shown);
	if (!blm_still_end(&still))
		blm_tear(new);
	return r < 0 ? r : blm_check_struck(from->f, from->view);
}

BLM_API int blm_copy(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_filter *from, unsigned mode)
{
	BLM_INSIDE;
	struct blm_making *making = malloc(sizeof(*making));
	struct blm_source source = { .f = from, .view = current_view(from) };
	int r;

	if (!making)
		return blm_fail(-ENOMEM, "%s: out of memory", from->place.shown);
	blm_making_like(making, source.view);
	making->mode = mode;
	r = blm_make(ret, store, name, making, blm_fill_with_copy, &source);
	free(making);
	return r;
}
