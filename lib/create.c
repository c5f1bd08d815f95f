/* create.c - from parameters to a new, empty filter */
#include "filter.h"

#include <float.h>
#include <math.h>
#include <sodium.h>

/* ---- Parameters ---- */

static int check_params(const struct blm_params *p)
{
	if (!p->capacity && !p->cells)
		return blm_fail(-EINVAL, "a capacity (or a number of bits) is needed");
	if (p->capacity > BLM_CAPACITY_MAX)
		return blm_fail(-EINVAL, "capacity %llu is more than 2^47 keys", (unsigned long long)p->capacity);
	if (p->rate && !(p->rate >= 1e-300 && p->rate < 1))
		return blm_fail(-EINVAL, "rate %g is not between 0 and 1", p->rate);
	if (p->cells > BLM_CELLS_MAX)
		return blm_fail(-EINVAL, "%llu bits is more than 2^47", (unsigned long long)p->cells);
	if (p->probes > BLM_PROBES_MAX)
		return blm_fail(-EINVAL, "%u probes is more than %d", p->probes, BLM_PROBES_MAX);
	if (p->seed_count > BLM_SEEDS_MAX)
		return blm_fail(-EINVAL, "%u seeds is more than %d", p->seed_count, BLM_SEEDS_MAX);
	if (p->mode & ~0777u)
		return blm_fail(-EINVAL, "mode %o has bits other than permissions", p->mode);
	return 0;
}

static int check_family(const struct blm_kind *kind, const struct blm_family *family, const struct blm_params *p,
			const struct blm_shape *shape)
{
	if (family->nth && !kind->every_family)
		return blm_fail(-EOPNOTSUPP, "the hash %s gives %u bits for each probe, which the kind %s cannot use; the kind classic can",
				family->name, family->bits, kind->name);
	if (family->bits < 64 && shape->cells > UINT64_C(1) << family->bits)
		return blm_fail(-EINVAL, "the hash %s reaches only 2^%u bits; %llu are asked for", family->name, family->bits,
				(unsigned long long)shape->cells);
	if (p->tweak && !family->tweaked)
		return blm_fail(-EINVAL, "the hash %s takes no tweak", family->name);
	if (family->tweaked && p->tweak > UINT32_MAX)
		return blm_fail(-EINVAL, "tweak %llu is more than 32 bits", (unsigned long long)p->tweak);
	if (p->seed_count && p->seed_count != family->seeds)
		return blm_fail(-EINVAL, "%u seeds given; the hash %s takes %u", p->seed_count, family->name, family->seeds);
	if (p->secret && !family->keyed)
		return blm_fail(-EINVAL, "the hash %s takes no secret key", family->name);
	return 0;
}

static int plan(const struct blm_params *p, const struct blm_kind **ret_kind, const struct blm_family **ret_family, struct blm_shape *ret)
{
	const struct blm_family *family = blm_family_by_name(p->hash ? p->hash : "xxh3");
	bool exact = p->cells || p->probes || (family && family->nth);
	const struct blm_kind *kind = blm_kind_by_name(p->kind ? p->kind : exact ? BLM_EXACT_KIND : BLM_DEFAULT_KIND);
	char names[256];
	int r;

	if (!kind)
		return blm_fail(-ENOENT, "there is no kind \"%s\"; there are: %s", p->kind, blm_kinds_that_can(0, names, sizeof(names)));
	if (!family)
		return blm_fail(-ENOENT, "there is no hash \"%s\"; see `bloomery hashes`", p->hash);
	r = check_params(p);
	if (r == 0)
		r = kind->plan(ret, p);
	if (r == 0)
		r = check_family(kind, family, p, ret);
	*ret_kind = kind;
	*ret_family = family;
	return r;
}

static uint64_t first_part_at(uint64_t bytes)
{
	return round_up(BLM_HEADER_BYTES, bytes > BLM_HUGE_PAGE ? BLM_HUGE_PAGE : BLM_PART_ALIGN);
}

BLM_API int blm_plan(struct blm_plan *ret, const struct blm_params *params)
{
	const struct blm_kind *kind;
	const struct blm_family *family;
	struct blm_shape shape;
	int r = plan(params, &kind, &family, &shape);

	if (r < 0)
		return r;
	*ret = (struct blm_plan){
		.kind = kind->name, .cells = shape.cells, .probes = shape.probes,
		.data_bytes = shape.bytes, .file_bytes = first_part_at(shape.bytes) + shape.bytes,
		.capacity = shape.capacity, .rate = shape.rate,
		.predicted_rate = kind->rate_at(&shape, shape.capacity),
		.bits_per_key = (double)shape.cells * shape.cell_bits / (double)shape.capacity,
	};
	return 0;
}

/* ---- Creating ---- */

static int set_family(struct blm_making *making, const struct blm_family *family, const struct blm_params *p, uint8_t secret[BLM_SECRET_BYTES])
{
	struct blm_template_fields *t = &making->template;

	if (sodium_init() < 0)
		return blm_fail(-EIO, "the system gives no random numbers");
	t->family = htole32(family->id);
	t->tweak = htole64(p->tweak);
	t->seed_count = htole32(family->seeds);
	randombytes_buf(t->seeds, 8 * family->seeds);
	for (uint32_t i = 0; i < p->seed_count; i++)
		t->seeds[i] = htole64(p->seeds[i]);
	if (!family->keyed)
		return 0;
	if (p->secret)
		memcpy(secret, p->secret, BLM_SECRET_BYTES);
	else
		randombytes_buf(secret, BLM_SECRET_BYTES);
	blm_key_id(secret, t->key_id);
	making->secret = secret;
	return 0;
}

static int leave_empty(struct blm_view *view, const struct blm_view *old, void *context)
{
	return 0;
}

/* Where there is one, its replacement; where there is none, a new one; and again, where others make and drop in between. */
static int make_or_replace(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_making *making)
{
	struct blm_place place;
	int r = blm_place_set(&place, store, name);

	if (r < 0)
		return r;
	r = -EEXIST;
	for (int tries = 0; r == -EEXIST && tries < 100; tries++) {
		r = blm_replace(&place, making, leave_empty, NULL);
		if (r == 0 && ret)
			r = blm_open(ret, store, name, true);
		else if (r == -ENOENT)
			r = blm_make(ret, store, name, making, NULL, NULL);
	}
	blm_place_clear(&place);
	return r;
}

BLM_API int blm_create(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_params *params)
{
	uint8_t secret[BLM_SECRET_BYTES];
	struct blm_making making = { .parts = 1, .mode = params->mode, .sparse = params->sparse };
	const struct blm_family *family;
	int r = plan(params, &making.kind[0], &family, &making.shape[0]);

	if (r == 0)
		r = set_family(&making, family, params, secret);
	if (r < 0)
		return r;
	making.capacity = making.shape[0].capacity;
	making.rate = making.shape[0].rate = fmax(making.shape[0].rate, DBL_MIN);	/* predicted, it can be too small for a double */
	r = params->replace ? make_or_replace(ret, store, name, &making) : blm_make(ret, store, name, &making, NULL, NULL);
	sodium_memzero(secret, sizeof(secret));
	return r;
}
