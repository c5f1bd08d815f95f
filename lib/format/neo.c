/*
 * neo.c - the payload of Neo's message `filterload`
 *
 *	the number of bytes of bits, 1, 3 or 5 bytes as a CompactSize
 *	the bits: m is a multiple of 8
 *	k, 1 byte; the tweak, 4 bytes
 *
 * All is little-endian. Neo's own filters have any m; only those of whole bytes can be sent.
 */
#include "format/filterload.h"
#include "kind/common/sizing.h"

#include <math.h>

static const struct blm_wire_tail tail = { .probes = 1 };
extern const struct blm_format blm_format_neo;

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	return blm_wire_parse(ret, &blm_format_neo, &tail, head, count, display);
}

static int lay_out(struct blm_outline *o, uint8_t *head, const char *display)
{
	return blm_wire_lay_out(o, &tail, head, display);
}

static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	p->hash = blm_wire_families[0];
	if (!p->probes)
		p->probes = (uint32_t)fmin(blm_best_probes(p->rate), BLM_WIRE_PROBES);
	if (!p->cells)
		p->cells = (uint64_t)fmin((double)round_up(blm_classic_cells(p->capacity, p->rate,
			p->probes), 8), 8 * BLM_WIRE_BYTES);
	p->rate = 0;
	return 0;
}

const struct blm_format blm_format_neo = {
	.id = 4,
	.name = "neo",
	.summary = "Neo's filterload payload",
	.limits = "m a multiple of 8 up to 288000, k up to 50",
	.text_name = "base64(file)", .text = blm_wire_text,
	.families = blm_wire_families,
	.head_bytes = BLM_WIRE_HEAD, .memo = true, .exact = true,
	.parse = parse, .lay_out = lay_out, .plan = plan,
};
