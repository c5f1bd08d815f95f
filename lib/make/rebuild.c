/*
 * rebuild.c - a filter built again from its keys, which replaces the old one
 */
#include "handle/allowlist_carry.h"
#include "format/format.h"
#include "base/secret_memory.h"
#include "make/replace.h"

#include <math.h>

/*
 * The parameters that the new filter takes over from the old one, unless the caller gives others.
 */
struct old {
	struct blm_info info;
	uint8_t *secret;
	char *options;		/* all given options; the last one of a name counts */
	bool no_checkpoint;		/* though its kind has one */
};

/* Theirs, in memory that is not dumped. */
struct secrets {
	uint8_t old[BLM_SECRET_BYTES], new[BLM_SECRET_BYTES];
};

static int look_at(struct old *ret, struct blm_store *store, const char *name)
{
	const struct blm_view *view;
	struct blm_filter *f;
	int r = blm_filter_open_at(&f, store, name, false, NULL);

	if (r == -EBADMSG || r == -ENODATA)
		return blm_fail_more(r, "; its parameters are not known, so it is not rebuilt: "
				     "drop it, or remove the file, and make it with blm_create() "
				     "or blm_build_begin()");
	if (r < 0)
		return r;
	ret->info = BLM_INFO;
	r = blm_info(f, &ret->info);
	view = current_view(f);
	if (view->secret)
		blm_secret_copy(ret->secret, view->secret);
	if (r == 0)
		r = blm_check_whole(view, name);
	ret->no_checkpoint = kind_has_checkpoint(view->root.kind)
		&& !(le64toh(view->constant.flags) & (BLM_FLAG_CHECKPOINT | BLM_FLAG_SEALED));
	blm_close(f);
	return r;
}

/* The old filter's options, except those that follow from changed ones, and the given options. */
static int join_options(struct old *old, const struct blm_params *p)
{
	const struct blm_option *o = blm_kind_by_name(old->info.kind)->options;
	size_t bytes = strlen(old->info.options) + (p->options ? strlen(p->options) : 0) + 2;
	char *at;

	if (!o)
		return 0;
	for (int i = 0; o[i].name; i++)
		bytes += strlen(o[i].name) + 3;
	old->options = malloc(bytes);
	if (!old->options)
		return blm_fail(-ENOMEM, "out of memory");
	at = stpcpy(old->options, old->info.options);
	for (; (p->rate > 0 || p->options) && o->name; o++)
		if (o->by_rate)
			at = stpcpy(stpcpy(stpcpy(at, ","), o->name), "=0");
	if (p->options)
		stpcpy(stpcpy(at, ","), p->options);
	return 0;
}

/*
 * A filter that grew gets one stage that is large enough, also for keys that were false positives
 * when they were added, and so were not counted.
 */
static uint64_t capacity_of(const struct blm_info *info)
{
	double keys = (double)info->keys;

	if (!(info->can & BLM_GROWS) || info->keys <= info->capacity)
		return info->capacity;
	return (uint64_t)ceil((keys + 5 * sqrt(keys * info->rate)) / (1 - info->rate));
}

/*
 * The rate of an iblt follows from the number of keys that it lists, unless the caller gave a lower
 * rate: then it follows from the new number of keys.
 */
static double rate_of(const struct old *old)
{
	const struct blm_info *info = &old->info;
	const struct blm_params same = BLM_PARAMS(.kind = info->kind, .capacity = info->capacity,
						  .options = old->options);
	struct blm_plan plan;

	return info->can & BLM_CAN_LIST && blm_plan(&plan, &same) == 0
		&& plan.rate == info->rate ? 0 : info->rate;
}

/* Does the format determine its filters' parameters? Our own format does not. */
static bool is_planned_whole(const char *name)
{
	const struct blm_format *format = name ? blm_format_by_name(name) : NULL;

	return format && format->families;
}

/*
 * Does the new filter keep the old one's hash? A hash of 64 bits that is the default of the old
 * kind stays only in that kind, and while it keeps the rate: other kinds may need 128 bits.
 */
static bool keeps_hash(const struct blm_params *p, const struct blm_info *info)
{
	const struct blm_kind *kind = blm_kind_by_name(info->kind);

	if (!kind || !kind->short_family || strcmp(kind->short_family, info->hash))
		return true;
	return (!p->kind || !strcmp(p->kind, info->kind))
		&& (p->cells || blm_short_hash_keeps(p->rate, p->capacity));
}

/*
 * A new seed is as good as the old one. If the caller gives another hash that the old kind does not
 * accept, the kind follows the hash.
 */
static void with_old(struct blm_params *p, const struct old *old)
{
	bool as_it_is = !p->hash && !p->kind && !p->scheme && !p->format && !p->options
		&& !p->seed_count;
	const struct blm_info *info = &old->info;
	bool other_hash = p->hash != NULL;
	struct blm_plan plan;

	if (!p->capacity && !p->cells)
		p->capacity = capacity_of(info);
	if (!(p->rate > 0) && !p->cells)
		p->rate = rate_of(old);
	p->sparse |= info->sparse;
	p->no_checkpoint |= old->no_checkpoint;
	if (is_planned_whole(p->format))
		return;
	/* so that the other program accepts the new filter, too; with its options, if possible */
	for (int i = 0; i < 2 && as_it_is && old->info.origin; i++) {
		struct blm_params theirs = *p;

		theirs.format = old->info.origin;
		theirs.options = i ? NULL : old->options;
		if (blm_plan(&plan, &theirs) == 0) {
			*p = theirs;
			return;
		}
	}
	if (!other_hash) {
		p->hash = keeps_hash(p, info) ? info->hash : NULL;
		p->tweak = p->tweak ? p->tweak : info->tweak;
		p->secret = info->keyed && !p->secret ? old->secret : p->secret;
	}
	if (!p->scheme && !other_hash && !p->kind)
		p->scheme = info->scheme;
	if (old->options && (!p->kind || !strcmp(p->kind, info->kind)))
		p->options = old->options;
	if (!p->kind) {
		p->kind = info->kind;
		if (other_hash && blm_plan(&plan, p) == -EOPNOTSUPP)
			p->kind = p->options = NULL;
	}
}

static int fill_and_swap(struct blm_place *place, const struct blm_spec *spec,
			 int (*fill)(struct blm_filter *new, void *context), void *context)
{
	struct blm_staged staged;
	struct blm_allowlist_carry *carry;
	struct blm_filter *lent;
	int r = blm_allowlist_carry_begin(&carry, place);

	if (r < 0)
		return r;
	r = blm_staged_make(&staged, place, spec);
	if (r < 0) {
		blm_allowlist_carry_end(carry);
		return r;
	}
	r = blm_staged_lend(&lent, &staged, place);
	if (r == 0) {
		lent->carry = carry;
		r = fill(lent, context);
		blm_staged_take_back(&staged, lent);
	}
	if (r >= 0)
		r = blm_replace_by(place, &staged, carry);
	blm_staged_end(&staged);
	blm_allowlist_carry_end(carry);
	return r;
}

static int rebuild(struct blm_store *store, const char *name, const struct blm_params *params,
		   int (*fill)(struct blm_filter *new, void *context), void *context)
{
	struct blm_spec *spec = malloc(sizeof(*spec));
	struct old *old = calloc(1, sizeof(*old));
	struct secrets *secrets = blm_hidden_new(sizeof(*secrets));
	struct blm_params p = *params;
	struct blm_place named, place;
	int r = spec && old && secrets ? 0 : blm_fail(-ENOMEM, "out of memory");

	if (r == 0) {
		old->secret = secrets->old;
		r = look_at(old, store, name);
	}
	if (r == 0)
		r = join_options(old, &p);
	if (r == 0) {
		with_old(&p, old);
		r = blm_spec_from(spec, &p, secrets->new);
	}
	if (r == 0)
		r = blm_check_empty(spec->of, name);
	if (r == 0)
		r = blm_place_set(&named, store, name);
	/* the new file is made in the folder of a link's target, where it will be published */
	if (r == 0) {
		r = blm_place_follow(&place, &named);
		blm_place_clear(&named);
	}
	if (r == 0) {
		r = fill_and_swap(&place, spec, fill, context);
		blm_place_clear(&place);
	}
	blm_hidden_free(secrets);
	free(spec);
	if (old)
		free(old->options);
	free(old);
	return r;
}

BLM_API int blm_rebuild(struct blm_store *store, const char *name, const struct blm_params *params,
			int (*fill)(struct blm_filter *new, void *context), void *context)
{
	BLM_CRITICAL_SECTION;
	struct blm_params p;
	int r = blm_params_take(&p, params);

	if (r == 0)
		r = blm_must_have(fill, "fill");
	if (r == 0 && p.split_parts)
		r = blm_fail(-EINVAL, "%s: a part of a split filter is not rebuilt: build it "
			     "again (blm_build_begin() with replace)", name);
	return r < 0 ? r : rebuild(store, name, &p, fill, context);
}
