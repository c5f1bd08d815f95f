/*
 * guava.c - what Guava's BloomFilter.writeTo() writes
 *
 *	0	strategy: 0 MURMUR128_MITZ_32, 1 MURMUR128_MITZ_64
 *	1	k
 *	2	L, 4 bytes
 *	6	the bits: L words of 8 bytes; m is 64 L
 *
 * All is big-endian. Which bytes an object is hashed as is its funnel's to say, which is not in the
 * file: byte arrays and strings in UTF-8 as they are, numbers little-endian. The capacity is not in
 * it either.
 */
#include "format/format.h"
#include "kind/common/sizing.h"

#include <math.h>

enum { HEAD = 6 };

static const char *const families[] = { "murmur3-x64-128", NULL },
	*const rules[] = { "guava-32", "guava-64", NULL };
extern const struct blm_format blm_format_guava;

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	struct blm_array a = { .family = families[0], .seed_count = 1, .offset = HEAD };
	int r = blm_outline_long_enough(count, HEAD, display);

	if (r < 0)
		return r;
	if (head[0] > 1)
		return blm_fail(-EPROTONOSUPPORT, "%s: its strategy is %u; known are 0 "
				"(MURMUR128_MITZ_32) and 1 (MURMUR128_MITZ_64)", display, head[0]);
	if (head[2] > 0x7f)
		return blm_fail(-EBADMSG, "%s: damaged header: it states %lld words", display,
				(long long)(int32_t)blm_get_big(head + 2, 4));
	a.scheme = rules[head[0]];
	a.probes = head[1];
	a.bytes = 8 * blm_get_big(head + 2, 4);
	a.cells = 8 * a.bytes;
	return blm_outline_set(ret, &blm_format_guava, &a, display);
}

static int lay_out(struct blm_outline *o, uint8_t *head, const char *display)
{
	const struct blm_template_fields *t = &o->contents.constant.template;
	uint64_t cells = le64toh(t->cells);

	if (cells % 64 || cells / 64 > INT32_MAX || le32toh(t->probes) > 255)
		return blm_fail(-EOPNOTSUPP, "%s: m is %llu and k %u; Guava has whole words of 64 "
				"bits, at most 2^31 - 1, and k up to 255", display,
				(unsigned long long)cells, le32toh(t->probes));
	head[0] = le32toh(t->index_rule) == blm_scheme_by_name(rules[1])->id;
	head[1] = (uint8_t)le32toh(t->probes);
	blm_put_big(head + 2, cells / 64, 4);
	blm_outline_place(o, HEAD, cells / 8);
	return 0;
}

static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	double bits = floor(blm_least_bits(p->capacity, p->rate));

	p->hash = families[0];
	p->scheme = rules[1];
	p->seed_count = 1;
	seeds[0] = 0;
	if (!p->probes && p->capacity)
		p->probes = (uint32_t)fmin(fmax(1, round(bits / (double)p->capacity * log(2))),
					   255);
	if (!p->cells)
		p->cells = 64 * (uint64_t)fmax(1, ceil(bits / 64));
	p->rate = 0;
	return 0;
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_guava = {
	.id = 6,
	.name = "guava",
	.summary = "Guava's BloomFilter.writeTo(), both strategies",
	.limits = "m a multiple of 64, up to 2^37 - 64; k up to 255",
	.text_name = "base64(file)", .text = text,
	.families = families, .rules = rules, .bit_order = BLM_ORDER_BIG_WORDS, .no_seed = true,
	.head_bytes = HEAD, .exact = true,
	.parse = parse, .lay_out = lay_out, .plan = plan,
};
