/*
 * rust_bloomfilter.c - what Bloom::to_bytes() of Rust's crate bloomfilter 3 gives, for keys that
 * are slices of bytes
 *
 *	0	1, the version
 *	1	the number of bytes of bits, 8 bytes
 *	9	k, 4 bytes
 *	13	the two keys of SipHash, 16 bytes each
 *	45	the bits
 *
 * All is little-endian.
 */
#include "format/format.h"

#include <math.h>

enum { HEAD = 45, PROBES = 9, SEEDS = 13 };

static const char *const families[] = { "siphash13", NULL },
	*const rules[] = { "rust-bloomfilter", NULL };
extern const struct blm_format blm_format_rust_bloomfilter;

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	struct blm_array a = { .family = families[0], .scheme = rules[0], .seed_count = 4,
			       .offset = HEAD };
	int r = blm_outline_long_enough(count, HEAD, display);

	if (r < 0)
		return r;
	if (head[0] != 1)
		return blm_fail(-EPROTONOSUPPORT, "%s: version %u; only 1 is known", display,
				head[0]);
	a.bytes = blm_get_little(head + 1, 8);
	if (a.bytes > BLM_CELLS_MAX / 8)
		return blm_fail(-EBADMSG, "%s: %llu bytes of bits by its header, more than 2^44",
				display, (unsigned long long)a.bytes);
	a.cells = 8 * a.bytes;
	a.probes = blm_get_little(head + PROBES, 4);
	for (unsigned i = 0; i < 4; i++)
		a.seeds[i] = blm_get_little(head + SEEDS + 8 * i, 8);
	return blm_outline_set(ret, &blm_format_rust_bloomfilter, &a, display);
}

static int lay_out(struct blm_outline *o, uint8_t *head, const char *display)
{
	const struct blm_template_fields *t = &o->contents.constant.template;
	uint64_t cells = le64toh(t->cells);

	if (cells % 8)
		return blm_fail(-EOPNOTSUPP, "%s: m is %llu; the format needs a multiple of 8",
				display,
				(unsigned long long)cells);
	head[0] = 1;
	blm_put_little(head + 1, cells / 8, 8);
	blm_put_little(head + PROBES, le32toh(t->probes), 4);
	for (unsigned i = 0; i < 4; i++)
		blm_put_little(head + SEEDS + 8 * i, le64toh(t->seeds[i]), 8);
	blm_outline_place(o, HEAD, cells / 8);
	return 0;
}

static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	p->hash = families[0];
	p->scheme = rules[0];
	if (!p->cells)
		p->cells = 8 * (uint64_t)fmax(1, ceil(blm_least_bits(p->capacity, p->rate) / 8));
	if (!p->probes && p->capacity)
		p->probes = (uint32_t)fmin(fmax(1, round((double)p->cells / (double)p->capacity
							 * log(2))), BLM_PROBES_MAX);
	p->rate = 0;
	return 0;
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_rust_bloomfilter = {
	.id = 11,
	.name = "rust-bloomfilter",
	.summary = "Rust's crate bloomfilter 3, to_bytes(), for slices of bytes",
	.limits = "m a multiple of 8; k up to 256",
	.text_name = "base64(file)", .text = text,
	.families = families, .rules = rules,
	.head_bytes = HEAD, .exact = true,
	.parse = parse, .lay_out = lay_out, .plan = plan,
};
