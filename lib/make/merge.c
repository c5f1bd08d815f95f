/*
 * merge.c - filters made from built filters without their keys: several merged into one, and one
 * updated by some keys
 *
 * Both make a new file from the existing ones. An update makes it under the lock of replacements,
 * from the current file of the name; so two updates at the same time lose nothing.
 */
#include "handle/allowlist_carry.h"
#include "make/new_filter.h"
#include "view/scan.h"
#include "durable/blocksum.h"
#include "base/phase.h"
#include "base/secret_memory.h"
#include "sort/sort.h"


/* ---- Several into one ---- */

static int cannot_merge(const struct blm_view *view, const char *display)
{
	const struct blm_kind *kind = view->root.kind;
	const char *instead = kind->unite
		? "blm_combine_into() joins them, and blm_add_many() takes more keys"
			    : kind->add   ? "blm_add_many() takes more keys"
					  : "they do not say which keys they have, so "
					  "blm_build_begin() makes one from all of those";
	char names[256];

	return blm_fail(-EOPNOTSUPP, "%s: %s filters cannot be merged or updated: %s; these kinds "
			"can: %s", display, kind->name, instead,
			blm_kinds_that_can(BLM_CAN_MERGE, names, sizeof(names)));
}

static int check_all(const struct blm_view *const *view, const struct blm_filter *const *from,
		     size_t count)
{
	int r = count ? 0 : blm_fail(-EINVAL, "no filters to merge");

	for (size_t i = 0; r == 0 && i < count; i++) {
		if (!view[i]->root.kind->merge)
			r = cannot_merge(view[i], from[i]->place.display);
		else if (view[i]->split.parts)
			r = blm_check_whole(view[i], from[i]->place.display);
		else
			r = blm_check_template(view[0], from[0]->place.display, view[i],
					       from[i]->place.display);
	}
	return r;
}

/* A filter made from a damaged one would deny its keys, and not show the damage. */
static int check_intact(const struct blm_view *view, const char *display)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < view->parts; i++) {
		r = blm_blocksum_intact(view, i, 0, view->part[i].shape.bytes, display);
		blm_phase_at(blm_phase_done() + view->part[i].shape.bytes);
	}
	return r;
}

struct merged {
	struct blm_merging of;
	uint64_t keys;
};

static int fill(struct blm_view *new, void *context)
{
	const struct merged *m = context;
	int r = new->root.kind->merge(&new->root, &m->of);

	blm_count_keys(new, r == 0 ? m->keys : 0);
	return r;
}

static int size(struct blm_spec *spec, struct merged *m, const char *display)
{
	int r = spec->of->merged(&spec->root, &m->of, &m->keys);

	spec->shape[0] = spec->root;
	return r < 0 ? blm_fail(r, "%s: %s", display, strdupa(blm_error_message())) : 0;
}

static int check_sources(const struct blm_view *const *view, const struct blm_filter *const *from,
			 size_t count)
{
	uint64_t bytes = 0;
	int r = 0;

	for (size_t i = 0; i < count; i++)
		bytes += blm_scan_bytes(view[i]);
	BLM_PHASE("checking", bytes);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = check_intact(view[i], from[i]->place.display);
	return r;
}

/* Filters that may be replaced at any time: their files are looked up once. */
static int begin_merge(struct merged *m, const struct blm_view **view, const struct blm_part **part,
		       const struct blm_filter *const *from,
		       size_t count)
{
	int r = blm_views_at_once(view, from, count);

	if (r == 0)
		r = check_all(view, from, count);
	for (size_t i = 0; r == 0 && i < count; i++)
		part[i] = &view[i]->root;
	if (r == 0)
		r = check_sources(view, from, count);
	m->of = (struct blm_merging){ .from = part, .count = count };
	return r;
}

struct sources {
	struct merged *merged;
	const struct blm_view *const *view;
	const struct blm_filter *const *from;
};

static int fill_and_check(struct blm_view *new, void *context)
{
	const struct sources *s = context;
	int r = fill(new, s->merged);

	for (size_t i = 0; r == 0 && i < s->merged->of.count; i++)
		r = blm_check_sigbus(s->view[i], s->from[i]->place.display);
	return r;
}

BLM_API int blm_merge(struct blm_filter **ret, struct blm_store *store, const char *name,
		      const struct blm_filter *const *from, size_t count,
		      unsigned mode)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view **view = calloc(count + 1, sizeof(struct blm_view *));
	const struct blm_part **part = calloc(count + 1, sizeof(struct blm_part *));
	struct blm_spec *spec = malloc(sizeof(*spec));
	struct merged m;
	int r = view && part && spec ? begin_merge(&m, view, part, from, count)
				       : blm_fail(-ENOMEM, "%s: out of memory",
						  name ? name : "(memory)");

	if (r == 0) {
		blm_spec_like(spec, view[0]);
		spec->mode = mode;
		r = size(spec, &m, from[0]->place.display);
	}
	if (r == 0)
		r = blm_make(ret, store, name, spec, fill_and_check,
			     &(struct sources){ &m, view, from });
	free(spec);
	free(part);
	free(view);
	return r;
}

/* ---- Some keys more and less ---- */

struct blm_update {
	struct blm_place place;
	const struct blm_kind *kind;
	struct blm_hasher hasher;	/* of the filter that was there when this began */
	uint64_t seeds[BLM_SEEDS_MAX], hash_id;
	/* in memory that is not dumped; NULL: its family is not keyed */
	uint8_t *secret;
	struct blm_sort add, remove;
	bool sorts[2];
	struct merged merged;
	struct blm_others denied;	/* of kinds that are updated by both lists */
	struct blm_allowlist_carry *carry;	/* for its list of false positives */
};

static int take_hasher(struct blm_update *u, const struct blm_view *view)
{
	if (view->secret) {
		u->secret = blm_hidden_new(BLM_SECRET_BYTES);
		if (!u->secret)
			return blm_fail(-ENOMEM, "%s: no memory for its secret key",
					u->place.display);
		blm_secret_copy(u->secret, view->secret);
	}
	u->kind = view->root.kind;
	u->hash_id = view->hash_id;
	return blm_hasher_set(&u->hasher, u->seeds, &view->constant.template, u->secret,
			      u->place.display);
}

static bool counts_keys(const struct blm_view *view)
{
	return view->root.kind->counts_keys
		&& view->root.kind->counts_keys(view->root.shape.args);
}

static int begin_sort(struct blm_update *u, struct blm_sort *sort, bool *ret_began,
		      const struct blm_view *view, const struct blm_build_options *o)
{
	uint64_t memory = o->memory_bytes ? o->memory_bytes : BLM_SORT_MEMORY;
	const struct blm_sort_options options = {
		.keep_all = counts_keys(view),
		/* of 1 not 0, which is the default */
		.threads = o->threads ? o->threads : 1, .memory_bytes = memory - memory / 2,
		.progress = { o->progress, o->context },
	};
	int r = blm_sort_begin(sort, &u->place, &options);

	*ret_began = r == 0;
	return r;
}

static bool is_updated(const struct blm_view *view)
{
	return view->root.kind->merge || view->root.kind->revise;
}

static int begin(struct blm_update *u, const struct blm_filter *f,
		 const struct blm_build_options *options)
{
	BLM_CRITICAL_SECTION;
	static const struct blm_build_options by_default;
	const struct blm_view *view = current_view(f);
	int r = is_updated(view) ? blm_check_whole(view, f->place.display)
		: cannot_merge(view, f->place.display);

	if (r == 0)
		r = blm_place_follow(&u->place, &f->place);
	if (r == 0)
		r = blm_allowlist_carry_begin(&u->carry, &u->place);
	if (r == 0)
		r = take_hasher(u, view);
	if (r == 0)
		r = begin_sort(u, &u->add, &u->sorts[0], view, options ? options : &by_default);
	return r < 0 ? r : begin_sort(u, &u->remove, &u->sorts[1], view,
				      options ? options : &by_default);
}

BLM_API int blm_update_begin(struct blm_update **ret, struct blm_store *store, const char *name,
			     const uint8_t *secret,
			     const struct blm_build_options *options)
{
	struct blm_update *u = calloc(1, sizeof(*u));
	struct blm_filter *f;
	int r = u ? blm_filter_open_at(&f, store, name, false, secret)
		: blm_fail(-ENOMEM, "%s: out of memory", name);

	if (r == 0) {
		r = begin(u, f, options);
		blm_close(f);
	}
	if (r < 0)
		blm_update_cancel(u);
	else
		*ret = u;
	return r;
}

BLM_API struct blm_update *blm_update_cancel(struct blm_update *u)
{
	if (!u)
		return NULL;
	if (u->denied.work)
		u->denied.free_work(u->denied.work);
	if (u->sorts[0])
		blm_sort_end(&u->add);
	if (u->sorts[1])
		blm_sort_end(&u->remove);
	blm_hidden_free(u->secret);
	blm_allowlist_carry_end(u->carry);
	blm_place_clear(&u->place);
	free(u);
	return NULL;
}

static int gather(struct blm_update *u, struct blm_sort *sort, const struct blm_key *keys,
		  size_t count)
{
	struct blm_hash hashes[BLM_BATCH];
	int r = 0;

	for (size_t at = 0; r == 0 && at < count; at += BLM_BATCH) {
		size_t some = count - at < BLM_BATCH ? count - at : BLM_BATCH;

		blm_hash_all(&u->hasher, keys + at, some, hashes);
		r = blm_check_keys(&(struct blm_batch){ .by = &u->hasher, .hashes = hashes,
						        .keys = keys + at, .count = some },
				   u->kind);
		if (r == 0)
			r = blm_sort_add(sort, hashes, NULL, some);
	}
	return r;
}

BLM_API int blm_update_add_many(struct blm_update *u, const struct blm_key *keys, size_t count)
{
	if (u->hasher.family->ordered)
		blm_allowlist_carry_note_unnamed(u->carry);
	else
		blm_allowlist_carry_note(u->carry, keys, count);
	return gather(u, &u->add, keys, count);
}

BLM_API int blm_update_remove_many(struct blm_update *u, const struct blm_key *keys, size_t count)
{
	return gather(u, &u->remove, keys, count);
}

/* All keys that the filter now has, and all that it denies. */
static int revise_size(struct blm_update *u, struct blm_spec *spec, const struct blm_view *old)
{
	/* a filter without keys is made for one */
	uint64_t most = old->root.shape.capacity, counted = blm_counted_keys(old);
	int r;

	if (u->denied.work)		/* of a filter that was replaced meanwhile */
		u->denied.free_work(u->denied.work);
	u->denied = (struct blm_others){ .list = &u->remove.sorted };
	u->add.sorted.others = &u->denied;
	r = spec->of->revised(&spec->root, &old->root, counted < most ? counted : most,
			      &u->add.sorted);
	spec->shape[0] = spec->root;
	spec->capacity = spec->root.capacity;
	spec->rate = spec->root.rate;
	return r < 0 ? blm_fail(r, "%s: %s", u->place.display, strdupa(blm_error_message())) : 0;
}

static int check_old(const struct blm_view *old, const char *display)
{
	BLM_PHASE("checking", blm_scan_bytes(old));
	return check_intact(old, display);
}

static int change(struct blm_spec *spec, const struct blm_view *old, void *context)
{
	struct blm_update *u = context;
	const struct blm_part *from = &old->root;
	int r;

	if (!is_updated(old) || old->hash_id != u->hash_id
	    || counts_keys(old) != u->add.keep_all)
		return blm_fail(-ESTALE, "%s: a filter of another hash or kind took its place "
				"meanwhile; try again", u->place.display);
	u->merged.of = (struct blm_merging){ .from = &from, .count = 1, .add = &u->add.sorted,
					     .remove = &u->remove.sorted };
	r = check_old(old, u->place.display);
	if (r == 0 && old->root.kind->revise)
		return revise_size(u, spec, old);
	return r < 0 ? r : size(spec, &u->merged, u->place.display);
}

static int fill_changed(struct blm_view *new, const struct blm_view *old, void *context)
{
	struct blm_update *u = context;
	const struct blm_part *from = &old->root;

	u->merged.of.from = &from;
	if (new->root.kind->revise) {
		int r = new->root.kind->revise(&new->root, from, &u->add.sorted);

		blm_count_keys(new, r == 0 ? u->add.sorted.count : 0);
		return r;
	}
	return fill(new, &u->merged);
}

BLM_API int blm_update_finish(struct blm_update *u)
{
	int r = blm_sort_finish(&u->add);

	if (r == 0)
		r = blm_sort_finish(&u->remove);
	if (r == 0)
		r = blm_replace_changed(&u->place, u->secret, u->carry, change, fill_changed, u);
	blm_update_cancel(u);
	return r;
}
