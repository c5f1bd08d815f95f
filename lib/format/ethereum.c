/*
 * ethereum.c - the 256 bytes of Ethereum's logsBloom: one big-endian number of 2048 bits; each
 * address and topic sets three of them
 */
#include "format/format.h"

enum { BYTES = 256, PROBES = 3 };

static const char *const families[] = { "keccak256", NULL }, *const rules[] = { "slices-16", NULL };
extern const struct blm_format blm_format_ethereum;

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	return blm_outline_set(ret, &blm_format_ethereum, &(struct blm_array){ .family =
		families[0], .scheme = rules[0], .cells = 8 * BYTES,
									       .probes = PROBES,
									       .bytes = BYTES },
									       display);
}

static int lay_out(struct blm_outline *o, uint8_t *head, const char *display)
{
	const struct blm_template_fields *t = &o->contents.constant.template;

	if (le64toh(t->cells) != 8 * BYTES || le32toh(t->probes) != PROBES)
		return blm_fail(-EOPNOTSUPP, "%s: m is %llu and k is %u; Ethereum needs m=%d and "
				"k=%d",
				display, (unsigned long long)le64toh(t->cells),
				le32toh(t->probes), 8 * BYTES, PROBES);
	blm_outline_place(o, 0, BYTES);
	return 0;
}

static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	p->hash = families[0];
	p->scheme = rules[0];
	if (!p->cells)
		p->cells = 8 * BYTES;
	if (!p->probes)
		p->probes = PROBES;
	p->rate = 0;
	return 0;
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_ethereum = {
	.id = 15,
	.name = "ethereum",
	.summary = "Ethereum's logsBloom; keys are addresses and topics, as bytes",
	.limits = "m is 2048 and k 3",
	.text_name = "base64(file)", .text = text,
	.families = families, .rules = rules, .bit_order = BLM_ORDER_BACKWARDS,
	.head_bytes = 0, .exact = true,
	.parse = parse, .lay_out = lay_out, .plan = plan,
};
