/*
 * redis_bitmap.c - a string of Redis with the bits that crawlers SETBIT, as GET gives it
 * (scrapy-redis-bloomfilter and others like it)
 *
 * m is a power of 2, 2^30 unless the caller says another, and k is 6; the string ends with the last
 * byte that was set. Keys are fingerprints of requests, 40 hexadecimal digits as a rule.
 */
#include "format/format.h"

static const char *const families[] = { "scrapy-redis", NULL };
extern const struct blm_format blm_format_redis_bitmap;

enum { USUAL_CELLS = 1 << 30, USUAL_PROBES = 6 };

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	struct blm_array a = { .family = families[0],
			       .cells = ret->asked_cells ? ret->asked_cells : USUAL_CELLS,
			       .probes = ret->asked_probes ? ret->asked_probes : USUAL_PROBES };

	if (a.cells < 8 || a.cells & (a.cells - 1))
		return blm_fail(-EINVAL, "%s: m is %llu; a Redis bitmap needs a power of 2, at "
				"least 8",
				display, (unsigned long long)a.cells);
	a.bytes = a.cells / 8;
	return blm_outline_set(ret, &blm_format_redis_bitmap, &a, display);
}

static int lay_out(struct blm_outline *o, uint8_t *head, const char *display)
{
	uint64_t cells = le64toh(o->contents.constant.template.cells);

	if (cells < 8 || cells & (cells - 1) || cells > UINT64_C(1) << 32)
		return blm_fail(-EOPNOTSUPP, "%s: m is %llu; a Redis bitmap needs a power of 2, at "
				"least 8, up to 2^32",
				display, (unsigned long long)cells);
	blm_outline_place(o, 0, cells / 8);
	return 0;
}

static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	double least = p->capacity ? blm_least_bits(p->capacity, p->rate) : 0;

	p->hash = families[0];
	for (uint64_t m = USUAL_CELLS; !p->cells; m *= 2)
		p->cells = (double)m >= least || m >= UINT64_C(1) << 32 ? m : 0;
	if (!p->probes)
		p->probes = USUAL_PROBES;
	p->rate = 0;
	return 0;
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_redis_bitmap = {
	.id = 14,
	.name = "redis-bitmap",
	.summary = "the bitmap that crawlers keep in Redis (scrapy-redis-bloomfilter); m and k are "
	"2^30 and 6 if they are not given",
	.limits = "m a power of 2 up to 2^32; zeros at the end may be missing",
	.text_name = "base64(file)", .text = text,
	.families = families, .bit_order = BLM_ORDER_HIGH_FIRST,
	.head_bytes = 0, .exact = true, .cut = true, .unsized = true,
	.parse = parse, .lay_out = lay_out, .plan = plan,
};
