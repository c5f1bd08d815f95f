/*
 * libbloom1.c - the bits of a filter of libbloom 1, `bf` of its struct bloom, as a program may have
 * written them
 *
 * libbloom 1 has no files. Its memory is m bits; the file does not state m and k, so its reader
 * must (`bits` and `hashes` of the struct). The arithmetic is that of libbloom 2 in 32 bits, which
 * gives other bits.
 */
#include "format/libbloom.h"

static const char *const families[] = { "murmur2", NULL }, *const rules[] = { "double-32", NULL };
extern const struct blm_format blm_format_libbloom1;

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	struct blm_array a = { .family = families[0], .scheme = rules[0], .cells = ret->asked_cells,
			       .probes = ret->asked_probes,
			       .bytes = ret->asked_cells / 8 + !!(ret->asked_cells % 8) };

	if (!a.cells || !a.probes)
		return blm_fail(-EINVAL, "%s: does not say how many bits and hash functions it "
				"has; say so (blm_exchange.cells, blm_exchange.probes)", display);
	return blm_outline_set(ret, &blm_format_libbloom1, &a, display);
}

static int lay_out(struct blm_outline *o, uint8_t *head, const char *display)
{
	blm_outline_place(o, 0, (le64toh(o->contents.constant.template.cells) + 7) / 8);
	return 0;
}

static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	return libbloom_plan(p, rules[0]);
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_libbloom1 = {
	.id = 7,
	.name = "libbloom1",
	.summary = "the bits of a filter of libbloom 1, as in memory; give m and k",
	.limits = "m and k are not in the file",
	.text_name = "base64(file)", .text = text,
	.families = families, .rules = rules,
	.head_bytes = 0, .exact = true, .unsized = true,
	.parse = parse, .lay_out = lay_out, .plan = plan,
};
