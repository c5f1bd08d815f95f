/* create.c - from parameters to a new, empty filter */
#include "base/sized.h"
#include "format/format.h"
#include "make/new_filter.h"
#include "hash/scheme.h"
#include "base/secret_memory.h"
#include "kind/common/options.h"
#include "base/random.h"
#include "kind/common/sizing.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>

/* ---- Parameters ---- */

static int check_params(const struct blm_params *p)
{
	if (!p->capacity && !p->cells)
		return blm_fail(-EINVAL, "a capacity (or a number of bits) is needed");
	if (p->capacity > BLM_CAPACITY_MAX)
		return blm_fail(-EINVAL, "capacity %llu is more than 2^47 keys",
				(unsigned long long)p->capacity);
	if (p->rate && !(p->rate >= 1e-300 && p->rate < 1))
		return blm_fail(-EINVAL, "rate %g is not between 0 and 1", p->rate);
	if (p->cells > BLM_CELLS_MAX)
		return blm_fail(-EINVAL, "%llu bits is more than 2^47",
				(unsigned long long)p->cells);
	if (p->probes > BLM_PROBES_MAX)
		return blm_fail(-EINVAL, "%u probes is more than %d", p->probes, BLM_PROBES_MAX);
	if (p->seed_count > BLM_SEEDS_MAX)
		return blm_fail(-EINVAL, "%u seeds is more than %d", p->seed_count, BLM_SEEDS_MAX);
	if (p->mode & ~0777u)
		return blm_fail(-EINVAL, "mode %o has bits other than permissions", p->mode);
	if (p->split_parts > BLM_SPLIT_MAX || p->split_part > p->split_parts
	    || (p->split_parts && p->split_part == p->split_parts))
		return blm_fail(-EINVAL, "part %u of %u: there are 1 to %d parts "
				"(blm_params.split_part)", p->split_part + 1, p->split_parts,
				BLM_SPLIT_MAX);
	return 0;
}

/* The families that go with a rule, this kind and shape, for messages. */
static const char *families_for(const struct blm_choice *choice, const struct blm_shape *shape,
				char *buffer, size_t bytes)
{
	size_t len = 0;

	buffer[0] = 0;
	for (size_t i = 0; blm_family_at(i) && len < bytes; i++) {
		const struct blm_family *family = blm_family_at(i);

		if (kind_takes(choice->kind, family)
		    && !(family->bits < 64 && shape->cells > UINT64_C(1) << family->bits)
		    && !kind_misfit(choice->kind, choice->scheme, 0, family, shape->cells,
				    shape->probes))
			len += (size_t)snprintf(buffer + len, bytes - len, "%s%s", len ? ", " : "",
						family->name);
	}
	return buffer;
}

static int check_rule(const struct blm_choice *choice, const struct blm_shape *shape)
{
	const struct blm_scheme *scheme = choice->scheme;
	const char *why, *others;
	char names[512];

	if (!choice->kind->every_scheme && !choice->kind->some_schemes)
		return !scheme->id ? 0 : blm_fail(-EOPNOTSUPP,
						  "a %s filter has no scheme but its own; %s "
						  "filters can have any", choice->kind->name,
						BLM_EXACT_KIND);
	why = kind_misfit(choice->kind, scheme, 0, choice->family, shape->cells, shape->probes);
	if (!why)
		return 0;
	others = families_for(choice, shape, names, sizeof(names));
	return blm_fail(-EINVAL, "the scheme %s, m=%llu and k=%u do not go with the hash %s: "
			"%s%s%s", scheme->name, (unsigned long long)shape->cells,
			shape->probes, choice->family->name, why, *others
			? "; these hashes go with them: " : "", others);
}

static int check_family(const struct blm_choice *choice, const struct blm_shape *shape)
{
	const struct blm_family *family = choice->family;
	const struct blm_params *p = &choice->params;
	const struct blm_kind *kind = choice->kind;
	char names[256];

	if (!kind_takes(kind, family))
		return blm_fail(-EOPNOTSUPP, "%s filters cannot use the hash %s; these kinds can: "
				"%s", kind->name, family->name,
				blm_kinds_that_take(family, names, sizeof(names)));
	if (family->bits < 64 && shape->cells > UINT64_C(1) << family->bits)
		return blm_fail(-EINVAL, "the hash %s reaches only 2^%u bits; %llu are asked for",
				family->name, family->bits,
				(unsigned long long)shape->cells);
	if (p->tweak && !family->tweaked)
		return blm_fail(-EINVAL, "the hash %s takes no tweak", family->name);
	if (family->tweaked && p->tweak > UINT32_MAX)
		return blm_fail(-EINVAL, "tweak %llu is more than 32 bits",
				(unsigned long long)p->tweak);
	if (p->seed_count && p->seed_count != family_seeds(family, shape->probes))
		return blm_fail(-EINVAL, "%u seeds given; the hash %s takes %u%s", p->seed_count,
				family->name,
				family_seeds(family, shape->probes), family->seeds_by_probe
				? ", one for each probe" : "");
	for (uint32_t i = 0; i < p->seed_count; i++)
		if (p->seeds[i] > family_seed_max(family))
			return blm_fail(-EINVAL, "seed %llu is more than %u bits, which the seeds "
					"of the hash %s have",
					(unsigned long long)p->seeds[i], family->seed_bits,
					family->name);
	if (p->secret && !family->keyed)
		return blm_fail(-EINVAL, "the hash %s takes no secret key", family->name);
	return check_rule(choice, shape);
}

/*
 * Where none is named: the default, but for numbers that are to be exact; and then the first that
 * takes the hash.
 */
static const struct blm_kind *usual_kind(const struct blm_params *p,
					 const struct blm_family *family)
{
	const struct blm_kind *kind = blm_kind_by_name(p->cells || p->probes || p->scheme
						       ? BLM_EXACT_KIND : BLM_DEFAULT_KIND);

	for (size_t i = 0; family && !kind_takes(kind, family) && blm_kind_at(i); i++)
		if (kind_takes(blm_kind_at(i), family))
			kind = blm_kind_at(i);
	return kind;
}

/*
 * What a filter that is made for another program's format is to be, in our own terms. Cells that do
 * not do for the rule are rounded up.
 */
static int take_format(struct blm_choice *ret, const struct blm_params *p)
{
	const struct blm_format *format = p->format ? blm_format_by_name(p->format) : NULL;
	int r = 0;

	ret->params = *p;
	if (p->format && !format)
		return blm_fail(-ENOENT, "there is no format \"%s\"; see blm_format_list()",
				p->format);
	if (!format || !format->families)
		return 0;
	if (!format->plan)
		return blm_fail(-EOPNOTSUPP, "no filter is planned for %s: name a kind and a hash "
				"that it takes (blm_format_list()), and blm_export() writes it so",
				format->name);
	if (p->hash || p->scheme || p->kind || (p->seed_count && format->no_seed))
		return blm_fail(-EINVAL, "the format %s says itself which kind, hash and scheme "
				"its filters have", format->name);
	r = check_params(p);
	if (r == 0 && !p->rate)
		ret->params.rate = BLM_DEFAULT_RATE;
	ret->params.kind = format->kinds ? format->kinds[0] : BLM_EXACT_KIND;
	if (r == 0)
		r = format->plan(&ret->params, ret->seeds);
	if (ret->params.seed_count && !p->seed_count)
		ret->params.seeds = ret->seeds;
	ret->format = format;
	return r;
}

static int choose(struct blm_choice *ret, const struct blm_params *params)
{
	const struct blm_params *p = &ret->params;
	const struct blm_family *family;
	const struct blm_kind *kind;
	char names[256];
	int r;

	*ret = (struct blm_choice){ 0 };
	r = take_format(ret, params);
	if (r < 0)
		return r;
	family = blm_family_by_name(p->hash ? p->hash : BLM_DEFAULT_HASH);
	kind = p->kind ? blm_kind_by_name(p->kind) : usual_kind(p, family);

	if (!kind)
		return blm_fail(-ENOENT, "there is no kind \"%s\"; there are: %s", p->kind,
				blm_kinds_that_can(0, names, sizeof(names)));
	if (!p->hash && kind->family)
		family = blm_family_by_name(kind->family);
	if (!family)
		return blm_fail(-ENOENT, "there is no hash \"%s\"; see blm_hash_list()", p->hash);
	ret->kind = kind;
	ret->family = family;
	ret->scheme = p->scheme ? blm_scheme_by_name(p->scheme)
		: blm_scheme_by_id(kind->every_scheme ? family->scheme : 0);
	if (!ret->scheme)
		return blm_fail(-ENOENT, "there is no scheme \"%s\"; see blm_scheme_list()",
				p->scheme);
	return blm_options_parse(kind, p->options, ret->args);
}

static int plan(const struct blm_choice *choice, struct blm_shape *ret)
{
	const struct blm_family *family = choice->family;
	struct blm_params p = choice->params;
	int r = check_params(&p);

	*ret = (struct blm_shape){ 0 };
	memcpy(ret->args, choice->args, sizeof(ret->args));
	if (family->seeds_by_probe && !p.probes)
		p.probes = p.seed_count;
	if (r == 0)
		r = choice->kind->plan(ret, &p);
	if (r == 0 && !p.cells && (choice->kind->every_scheme || choice->kind->some_schemes)
	    && blm_scheme_cells(choice->scheme, ret->cells, ret->probes) != ret->cells) {
		p = (struct blm_params){ .capacity = ret->capacity, .rate = ret->rate,
					 .probes = ret->probes,
					 .cells = blm_scheme_cells(choice->scheme, ret->cells,
						 ret->probes) };
		r = choice->kind->plan(ret, &p);
	}
	return r < 0 ? r : check_family(choice, ret);
}

int blm_params_take(struct blm_params *ret, const struct blm_params *given)
{
	int r = blm_must_have(given, "params");

	return r < 0 ? r : blm_sized_take(ret, sizeof(*ret),
					  BLM_FIRST_SIZE(struct blm_params, no_checkpoint), given,
					  "blm_params");
}

static int plan_from(const struct blm_params *params, struct blm_choice *ret_choice,
		     struct blm_shape *ret)
{
	struct blm_params p;
	int r = blm_params_take(&p, params);

	if (r == 0)
		r = choose(ret_choice, &p);

	return r < 0 ? r : plan(ret_choice, ret);
}

static uint64_t file_bytes(const struct blm_kind *kind, const struct blm_params *p,
			   const struct blm_shape *whole)
{
	struct blm_component part = { .shape = *whole };
	uint64_t end = BLM_HEADER_BYTES;

	for (unsigned i = 0; i < (kind->parts ? kind->parts(whole) : 1); i++)
		if (!kind->compose || kind->compose(whole, i, &part))
			end = blm_part_at(end, part.shape.bytes) + part.shape.bytes;
	return kind_has_checkpoint(kind) && !p->no_checkpoint
		? checkpoint_layout(end - whole->bytes, whole->bytes).end : end;
}

BLM_API int blm_plan(struct blm_plan *ret, const struct blm_params *params)
{
	struct blm_choice choice;
	struct blm_shape shape;
	const struct blm_kind *kind;
	int r = plan_from(params, &choice, &shape);

	if (r < 0)
		return r;
	kind = choice.kind;
	*ret = (struct blm_plan){
		.kind = kind->name, .cells = shape.cells, .probes = shape.probes,
		.data_bytes = shape.bytes, .file_bytes = file_bytes(kind, &choice.params, &shape),
		.capacity = shape.capacity, .rate = shape.rate,
		.predicted_rate = kind->rate_at(&shape, shape.capacity),
		.bits_per_key = (kind->compose || !kind_takes_keys(kind) ? 8.0 * (double)shape.bytes
				 : (double)shape.cells * shape.cell_bits) / (double)shape.capacity,
	};
	return 0;
}

BLM_API int blm_plan_fact(const struct blm_params *params, size_t i, struct blm_fact *ret)
{
	struct blm_choice choice;
	struct blm_shape shape;
	const struct blm_kind *kind;
	int r = plan_from(params, &choice, &shape);

	if (r < 0)
		return r;
	kind = choice.kind;
	if (!kind->foretell || i > UINT_MAX || !kind->foretell(&shape, (unsigned)i, ret))
		return blm_fail(-ENOENT, "there are no more facts of such a %s filter", kind->name);
	return 0;
}

/* ---- Creating ---- */

/* Parts are made one by one, so what is random for each would keep them apart. */
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
	r = set_seeds(t, family, p, family_seeds(family, spec->whole.probes));
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
 * Where there is one, its replacement; where there is none, a new one; and again, where others make
 * and drop in between.
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
	struct blm_component part = { .kind = kind, .shape = spec->whole };

	spec->parts = kind->parts ? kind->parts(&spec->whole) : 1;
	for (unsigned i = 0; i < spec->parts; i++) {
		if (kind->compose && !kind->compose(&spec->whole, i, &part))
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
		: blm_fail(-EOPNOTSUPP, "%s: %s filters are made from all their keys at once, by "
			   "blm_build_begin(), and are never empty at first", display, kind->name);
}

int blm_spec_size(struct blm_spec *spec, const struct blm_choice *choice)
{
	struct blm_shape *shape = &spec->whole;
	int r = plan(choice, shape);

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
	int r = spec->of->fit ? spec->of->fit(&spec->whole, keys) : 0;

	return r < 0 ? r : set_parts(spec);
}

int blm_check_splits(const struct blm_kind *kind)
{
	char names[256];

	return kind->splits ? 0
		: blm_fail(-EOPNOTSUPP, "%s filters are not split into parts; these kinds are: %s",
			   kind->name, blm_kinds_that_can(BLM_CAN_SPLIT, names, sizeof(names)));
}

/*
 * A part has no second image: where it takes keys its kind has none, and where it takes none no
 * power cut harms it.
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
	int r = choose(ret_choice, params);

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
			: blm_make(ret, store, name, &spec, NULL, NULL);
	blm_hidden_free(secret);
	return r;
}
