/* create.c - from a plan to a new, empty filter */
#include "base/random.h"
#include "base/secret_memory.h"
#include "format/format.h"
#include "hash/scheme.h"
#include "make/new_filter.h"

#include <float.h>
#include <math.h>

/* Parts are made one by one, so random parameters would differ between them. */
static int check_shared(const struct blm_params *p, bool random, const char *what)
{
	return random && p->split_parts
		? blm_fail(-EINVAL, "part %u of %u: all parts of a filter have the same %s: give "
			   "one", p->split_part + 1, p->split_parts, what) : 0;
}

static int set_seeds(struct blm_template_fields *t, const struct blm_family *family,
		     const struct blm_params *p, uint32_t count)
{
	int r = check_shared(p, count && !p->seed_count, "seed (blm_params.seeds)");

	if (r < 0)
		return r;
	r = count && !p->seed_count ? blm_random(t->seeds, 8 * count,
						     "the seeds of a new filter") : 0;

	if (r < 0)
		return r;
	t->seed_count = htole32(count);
	for (uint32_t i = 0; i < count; i++)
		t->seeds[i] = htole64(p->seed_count ? p->seeds[i]
				      : t->seeds[i] & family_seed_max(family));
	return 0;
}

static int set_family(struct blm_spec *spec, const struct blm_family *family,
		      const struct blm_params *p, uint8_t secret[BLM_SECRET_BYTES])
{
	struct blm_template_fields *t = &spec->template;
	int r;

	t->family = htole32(family->id);
	t->tweak = htole64(p->tweak);
	r = set_seeds(t, family, p, family_seeds(family, spec->root.probes));
	if (r < 0 || !family->keyed)
		return r;
	r = check_shared(p, !p->secret, "secret (blm_params.secret)");
	if (p->secret)
		blm_secret_copy(secret, p->secret);
	else if (r == 0)
		r = blm_random(secret, BLM_SECRET_BYTES, "the secret of a new filter");
	if (r < 0)
		return r;
	blm_key_id(secret, t->key_id);
	spec->secret = secret;
	return 0;
}

static int leave_empty(struct blm_view *view, const struct blm_view *old, void *context)
{
	return 0;
}

/*
 * If there is a filter, its replacement; if there is none, a new one; and again, if others make and
 * drop in between.
 */
static int make_or_replace(struct blm_filter **ret, struct blm_store *store, const char *name,
			   const struct blm_spec *spec)
{
	struct blm_place place;
	int r = blm_place_set(&place, store, name);

	if (r < 0)
		return r;
	r = -EEXIST;
	for (int tries = 0; r == -EEXIST && tries < 100; tries++) {
		r = blm_replace(&place, NULL, spec, NULL, leave_empty, NULL);
		if (r == 0 && ret)
			r = blm_filter_open_at(ret, store, name, true, NULL);
		else if (r == -ENOENT)
			r = blm_make(ret, store, name, spec, NULL, NULL);
	}
	blm_place_clear(&place);
	return r;
}

static int set_parts(struct blm_spec *spec)
{
	const struct blm_kind *kind = spec->of;
	struct blm_component part = { .kind = kind, .shape = spec->root };

	spec->parts = kind->parts ? kind->parts(&spec->root) : 1;
	for (unsigned i = 0; i < spec->parts; i++) {
		if (kind->compose && !kind->compose(&spec->root, i, &part))
			return blm_fail(-EFBIG, "a %s filter of that size has parts that are too "
					"large", kind->name);
		spec->kind[i] = part.kind;
		spec->role[i] = part.role;
		spec->shape[i] = part.shape;
		spec->shape[i].rate = fmax(part.shape.rate, DBL_MIN);
	}
	return 0;
}

int blm_check_empty(const struct blm_kind *kind, const char *display)
{
	return kind_takes_keys(kind) ? 0
		: blm_fail(-EOPNOTSUPP, "%s: %s filters are made from all their keys at once, "
			   "never empty; use blm_build_begin()", display, kind->name);
}

int blm_spec_size(struct blm_spec *spec, const struct blm_choice *choice)
{
	struct blm_shape *shape = &spec->root;
	int r = blm_choice_size(shape, choice);

	if (r < 0)
		return r;
	/* predicted, it can be too small for a double */
	shape->rate = fmax(shape->rate, DBL_MIN);
	spec->template.cells = htole64(shape->cells);
	spec->capacity = shape->capacity;
	spec->rate = shape->rate;
	return set_parts(spec);
}

int blm_spec_fit(struct blm_spec *spec, const struct blm_sorted *keys)
{
	int r = spec->of->fit ? spec->of->fit(&spec->root, keys) : 0;

	spec->rate = fmax(spec->root.rate, DBL_MIN);	/* that can follow from the keys, too */
	return r < 0 ? r : set_parts(spec);
}

int blm_check_splits(const struct blm_kind *kind)
{
	char names[256];

	return kind->splits ? 0
		: blm_fail(-EOPNOTSUPP, "%s filters cannot be split into parts; these kinds can: "
			   "%s",
			   kind->name, blm_kinds_that_can(BLM_CAN_SPLIT, names, sizeof(names)));
}

/*
 * A part has no checkpoint image: kinds that take keys have none, and the others are not harmed by
 * power cuts.
 */
static int take_part(struct blm_spec *ret, const struct blm_params *p)
{
	if (!p->split_parts)
		return 0;
	ret->split_part = p->split_part;
	ret->split_parts = p->split_parts;
	ret->sparse = ret->no_checkpoint = true;
	return blm_check_splits(ret->of);
}

int blm_spec_choose(struct blm_spec *ret, struct blm_choice *ret_choice,
		    const struct blm_params *params, uint8_t *secret)
{
	int r = blm_choice_make(ret_choice, params);

	if (r < 0)
		return r;
	*ret = (struct blm_spec){ .of = ret_choice->kind, .mode = params->mode, .sparse =
				  params->sparse, .no_checkpoint = params->no_checkpoint };
	r = blm_spec_size(ret, ret_choice);
	if (r == 0)
		r = take_part(ret, params);
	if (r == 0)
		r = set_family(ret, ret_choice->family, &ret_choice->params, secret);
	ret->template.index_rule = htole32(ret_choice->scheme->id);
	ret->template.bit_order = htole32(ret_choice->format ? ret_choice->format->bit_order : 0);
	ret_choice->params.kind = ret_choice->params.options = ret_choice->params.hash = NULL;
	ret_choice->params.scheme = ret_choice->params.format = NULL;
	ret_choice->params.seed_count = 0;
	ret_choice->params.secret = NULL;
	return r;
}

int blm_spec_from(struct blm_spec *ret, const struct blm_params *params, uint8_t *secret)
{
	struct blm_choice choice;

	return blm_spec_choose(ret, &choice, params, secret);
}

BLM_API int blm_create(struct blm_filter **ret, struct blm_store *store, const char *name,
		       const struct blm_params *params)
{
	struct blm_params p;
	struct blm_spec spec;
	uint8_t *secret;
	int r = blm_params_take(&p, params);

	if (r < 0)
		return r;
	secret = blm_hidden_new(BLM_SECRET_BYTES);
	r = secret ? blm_spec_from(&spec, &p, secret)
		: blm_fail(-ENOMEM, "no memory for a secret key");
	if (r == 0)
		r = blm_check_empty(spec.of, name ? name : "(memory)");
	if (r == 0 && spec.split_parts && !spec.of->place)
		r = blm_fail(-EOPNOTSUPP, "%s: a key of a %s filter has cells in several parts, so "
			     "no part takes keys: %s", name ? name : "(memory)", spec.of->name,
			     spec.of->add_within ? "build each part from all keys "
			     "(blm_build_begin()), then join them" : "split a whole filter "
			     "(blm_split())");
	if (r == 0)
		r = p.replace ? make_or_replace(ret, store, name, &spec)
			: blm_say_replaceable(blm_make(ret, store, name, &spec, NULL, NULL));
	blm_hidden_free(secret);
	return r;
}
