/*
 * pybloom_live.c - what BloomFilter.tofile() of pybloom_live 2 to 4 writes
 *
 *	0	error_rate, a double; 8 k; 16 bits in each of k slices; 24 capacity; 32 count; 8
 *		bytes each, little-endian
 *	40	the bits, slice by slice
 *
 * The hash is the smallest digest from which enough bits can be cut for k words of 2, 4 or 8 bytes;
 * where 128 do, that is MD5 up to version 3 and XXH3 from 4 on, and the file does not say which.
 */
#include "format/format.h"

#include <math.h>

enum { HEAD = 40, PROBES = 8, RANGE = 16, CAPACITY = 24, KEYS = 32 };

static const char *const families[] = { "sha512-digest", "sha384-digest", "sha256-digest",
					"sha1-digest", "md5-digest", "xxh3", NULL };
static const char *const rules[] = { "pybloom", NULL };
extern const struct blm_format blm_format_pybloom_live;

/* NULL: MD5 or XXH3. */
static const char *wide_family(uint64_t probes, uint64_t range)
{
	uint64_t bits = 8 * probes * (range >= UINT64_C(1) << 31 ? 8 : range >= 1 << 15 ? 4 : 2);

	return bits > 384 ? families[0] : bits > 256 ? families[1] : bits > 160 ? families[2]
		: bits > 128 ? families[3] : NULL;
}

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	struct blm_array a = { .scheme = rules[0], .offset = HEAD };
	uint64_t range;
	int r = blm_outline_long_enough(count, HEAD, display);

	if (r < 0)
		return r;
	a.rate = blm_double_of(blm_get_little(head, 8));
	a.probes = blm_get_little(head + PROBES, 8);
	range = blm_get_little(head + RANGE, 8);
	a.capacity = blm_get_little(head + CAPACITY, 8);
	if (a.probes < 1 || a.probes > BLM_PROBES_MAX || range < 1
	    || range > BLM_CELLS_MAX / a.probes)
		return blm_fail(-EBADMSG, "%s: damaged header: %llu slices of %llu bits", display,
				(unsigned long long)a.probes, (unsigned long long)range);
	a.cells = a.probes * range;
	a.bytes = (a.cells + 7) / 8;
	a.family = wide_family(a.probes, range);
	if (!a.family) {
		ret->candidate[0] = (struct blm_candidate){ blm_family_by_name("md5-digest"),
							    "pybloom_live 2 and 3" };
		ret->candidate[1] = (struct blm_candidate){ blm_family_by_name("xxh3"),
							    "pybloom_live 4" };
		ret->candidates = 2;
	}
	ret->keys = blm_get_little(head + KEYS, 8);
	ret->counted = ret->keys <= BLM_CAPACITY_MAX;
	return blm_outline_set(ret, &blm_format_pybloom_live, &a, display);
}

static void recount(uint8_t *head, uint64_t keys)
{
	blm_put_little(head + KEYS, keys, 8);
}

static int lay_out(struct blm_outline *o, uint8_t *head, const char *display)
{
	const struct blm_constant *c = &o->contents.constant;
	const struct blm_template_fields *t = &c->template;
	uint64_t cells = le64toh(t->cells), range = cells / le32toh(t->probes);
	const char *family = blm_family_by_id(le32toh(t->family))->name,
		*wanted = wide_family(le32toh(t->probes), range);

	if (wanted ? strcmp(family, wanted) : strcmp(family, "md5-digest")
	    && strcmp(family, "xxh3"))
		return blm_fail(-EOPNOTSUPP, "%s: its hash is %s; for m=%llu and k=%u pybloom_live "
				"takes %s", display, family,
				(unsigned long long)cells, le32toh(t->probes), wanted ? wanted
				: "md5-digest (2 and 3) or xxh3 (4)");
	blm_put_little(head, le64toh(c->rate), 8);
	blm_put_little(head + PROBES, le32toh(t->probes), 8);
	blm_put_little(head + RANGE, range, 8);
	blm_put_little(head + CAPACITY, le64toh(c->capacity), 8);
	recount(head, o->keys);
	blm_outline_place(o, HEAD, (cells + 7) / 8);
	return 0;
}

/* As version 4 does. */
static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	double k = p->probes ? p->probes : fmin(ceil(log2(1 / p->rate)), BLM_PROBES_MAX);

	p->probes = (uint32_t)k;
	if (!p->cells)
		p->cells = p->probes * (uint64_t)fmax(1,
						      ceil((double)p->capacity * fabs(log(p->rate))
							   / (k * (log(2) * log(2)))));
	p->hash = wide_family(p->probes, p->cells / p->probes);
	p->hash = p->hash ? p->hash : "xxh3";
	p->scheme = rules[0];
	p->seed_count = blm_family_by_name(p->hash)->seeds;
	seeds[0] = 0;
	return 0;
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_pybloom_live = {
	.id = 9,
	.name = "pybloom-live",
	.summary = "BloomFilter.tofile() of pybloom_live 2 to 4; made for 4",
	.limits = "m a multiple of k; k up to 256",
	.text_name = "base64(file)", .text = text,
	.families = families, .rules = rules, .no_seed = true,
	.states = true, .head_bytes = HEAD, .exact = true,
	.parse = parse, .lay_out = lay_out, .recount = recount, .plan = plan,
};
