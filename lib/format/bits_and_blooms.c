/*
 * bits_and_blooms.c - what BloomFilter.WriteTo() of Go's bits-and-blooms/bloom 3 writes
 *
 *	0	m; 8 k; 16 m once more, the length of the set of bits; 8 bytes each
 *	24	the bits, in words of 8 bytes
 *
 * All is big-endian, unless a program told the package otherwise.
 */
#include "format/format.h"
#include "kind/common/sizing.h"

#include <math.h>

enum { HEAD = 24 };

static const char *const families[] = { "murmur3-x64-128", NULL },
	*const rules[] = { "four-words", NULL };
extern const struct blm_format blm_format_bits_and_blooms;

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	struct blm_array a = { .family = families[0], .scheme = rules[0], .seed_count = 1,
			       .offset = HEAD };
	int r = blm_outline_long_enough(count, HEAD, display);

	if (r < 0)
		return r;
	a.cells = blm_get_big(head, 8);
	a.probes = blm_get_big(head + 8, 8);
	a.bytes = a.cells / 64 * 8 + (a.cells % 64 ? 8 : 0);
	if (blm_get_big(head + 16, 8) != a.cells)
		return blm_fail(-EBADMSG, "%s: damaged: m is %llu, but its set has %llu bits",
				display,
				(unsigned long long)a.cells,
				(unsigned long long)blm_get_big(head + 16, 8));
	return blm_outline_set(ret, &blm_format_bits_and_blooms, &a, display);
}

static int lay_out(struct blm_outline *o, uint8_t *head, const char *display)
{
	const struct blm_template_fields *t = &o->contents.constant.template;
	uint64_t cells = le64toh(t->cells);

	blm_put_big(head, cells, 8);
	blm_put_big(head + 8, le32toh(t->probes), 8);
	blm_put_big(head + 16, cells, 8);
	blm_outline_place(o, HEAD, (cells + 63) / 64 * 8);
	return 0;
}

static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	p->hash = families[0];
	p->scheme = rules[0];
	p->seed_count = 1;
	seeds[0] = 0;
	if (!p->cells)
		p->cells = (uint64_t)fmax(1, ceil(blm_least_bits(p->capacity, p->rate)));
	if (!p->probes && p->capacity)
		p->probes = (uint32_t)fmin(fmax(1, ceil(log(2) * (double)p->cells
							/ (double)p->capacity)), BLM_PROBES_MAX);
	p->rate = 0;
	return 0;
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_bits_and_blooms = {
	.id = 10,
	.name = "bits-and-blooms",
	.summary = "Go's bits-and-blooms/bloom 3, WriteTo()",
	.limits = "k up to 256",
	.text_name = "base64(file)", .text = text,
	.families = families, .rules = rules, .bit_order = BLM_ORDER_BIG_WORDS, .no_seed = true,
	.head_bytes = HEAD, .exact = true,
	.parse = parse, .lay_out = lay_out, .plan = plan,
};
