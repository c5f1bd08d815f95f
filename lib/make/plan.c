/* plan.c - from parameters to kind, hash, scheme and sizes */
#include "base/sized.h"
#include "format/format.h"
#include "hash/scheme.h"
#include "kind/common/options.h"
#include "kind/common/sizing.h"
#include "make/plan.h"

#include <limits.h>
#include <stdio.h>

/* ---- Checks ---- */

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
		    && !kind_misfit(choice->kind, choice->scheme, 0, family, shape))
			len += (size_t)snprintf(buffer + len, bytes - len, "%s%s", len ? ", " : "",
						family->name);
	}
	return buffer;
}

static int check_rule(const struct blm_choice *choice, const struct blm_shape *shape)
{
	const struct blm_scheme *scheme = choice->scheme;
	const char *reason, *others;
	char names[512];

	if (!choice->kind->every_scheme && !choice->kind->takes_schemes)
		return !scheme->id ? 0 : blm_fail(-EOPNOTSUPP,
						  "a %s filter has no scheme but its own; %s "
						  "filters can have any", choice->kind->name,
						BLM_EXACT_KIND);
	reason = kind_misfit(choice->kind, scheme, 0, choice->family, shape);
	if (!reason)
		return 0;
	others = families_for(choice, shape, names, sizeof(names));
	return blm_fail(-EINVAL, "the scheme %s, m=%llu and k=%u do not go with the hash %s: "
			"%s%s%s", scheme->name, (unsigned long long)shape->cells,
			shape->probes, choice->family->name, reason, *others
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

/* ---- The choice ---- */

/*
 * The kind if the caller names none: BLM_EXACT_KIND if cells, probes or a rule are given, otherwise
 * BLM_DEFAULT_KIND. If it cannot use the hash: the first kind that can.
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
 * An absent key has the 64 bits of one of n keys with a probability of n / 2^64, and then it is
 * found whatever the size of the filter. Up to a hundredth of the rate the sizes allow for that:
 * they are rounded up. Above it, and where cells are given, so that the rate follows from them, 128
 * bits are taken.
 */
bool blm_short_hash_keeps(double rate, uint64_t keys)
{
	return (double)keys * 0x1p-64 <= (rate > 0 ? rate : BLM_DEFAULT_RATE) / 100;
}

/* keys: how many the filter is for; 0: its size is given in another way */
static const char *usual_hash(const struct blm_kind *kind, const struct blm_params *p,
			      uint64_t keys)
{
	if (kind->short_family && keys && !p->cells && blm_short_hash_keeps(p->rate, keys))
		return kind->short_family;
	return kind->family ? kind->family : BLM_DEFAULT_HASH;
}

const char *blm_hash_for_unknown(const struct blm_params *p)
{
	const struct blm_kind *kind = p->kind ? blm_kind_by_name(p->kind)
		: usual_kind(p, blm_family_by_name(BLM_DEFAULT_HASH));

	return p->hash || p->format || !kind ? p->hash : usual_hash(kind, p, UINT64_C(1) << 40);
}

/*
 * The parameters of a filter for another program's format, in our own terms. A number of cells that
 * the rule does not allow is rounded up.
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
		return blm_fail(-EOPNOTSUPP, "no filters can be made for the format %s "
				"(blm_params.format); use a kind and a hash that it has "
				"(blm_format_list()), then blm_export()",
				format->name);
	if (p->hash || p->scheme || p->kind)
		return blm_fail(-EINVAL, "the format %s sets kind, hash and scheme of its filters; "
				"leave them out", format->name);
	if (p->seed_count && format->no_seed)
		return blm_fail(-EINVAL, "the hash of the format %s has no seed; leave it out",
				format->name);
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

int blm_choice_make(struct blm_choice *ret, const struct blm_params *params)
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
	if (!p->hash)
		family = blm_family_by_name(usual_hash(kind, p, p->capacity));
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

/* ---- Sizes ---- */

int blm_choice_size(struct blm_shape *ret, const struct blm_choice *choice)
{
	const struct blm_family *family = choice->family;
	struct blm_params p = choice->params;
	int r = check_params(&p);

	*ret = (struct blm_shape){ 0 };
	memcpy(ret->args, choice->args, sizeof(ret->args));
	p.hash = family->name;
	if (family->seeds_by_probe && !p.probes)
		p.probes = p.seed_count;
	if (r == 0)
		r = choice->kind->plan(ret, &p);
	if (r == 0 && !p.cells && (choice->kind->every_scheme || choice->kind->takes_schemes)
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
		r = blm_choice_make(ret_choice, &p);
	return r < 0 ? r : blm_choice_size(ret, ret_choice);
}

static uint64_t file_bytes(const struct blm_kind *kind, const struct blm_params *p,
			   const struct blm_shape *root)
{
	struct blm_component part = { .shape = *root };
	uint64_t end = BLM_HEADER_BYTES;

	for (unsigned i = 0; i < (kind->parts ? kind->parts(root) : 1); i++)
		if (!kind->compose || kind->compose(root, i, &part))
			end = blm_part_at(end, part.shape.bytes) + part.shape.bytes;
	return kind_has_checkpoint(kind) && !p->no_checkpoint
		? checkpoint_layout(end - root->bytes, root->bytes).end : end;
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
		return blm_fail(-ENOENT, "there are no more facts about such a %s filter",
				kind->name);
	return 0;
}
