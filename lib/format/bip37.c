/*
 * bip37.c - the payload of Bitcoin's message `filterload` (BIP 37)
 *
 *	the number of bytes of bits, 1, 3 or 5 bytes as a CompactSize
 *	the bits: m is a multiple of 8
 *	k, 4 bytes; the tweak, 4 bytes; flags, 1 byte
 *
 * All is little-endian. The flags say what a node adds to the filter by itself (1, as in what is
 * made here: outputs that match); they are nothing to us, and kept. Bitcoin Core takes at most
 * 36000 bytes and 50 functions.
 */
#include "format/filterload.h"
#include "kind/common/sizing.h"

#include <math.h>

enum { UPDATE_ALL = 1 };

static const struct blm_wire_tail tail = { .probes = 4, .flags = true, .usual_flags = UPDATE_ALL };
extern const struct blm_format blm_format_bip37;

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	return blm_wire_parse(ret, &blm_format_bip37, &tail, head, count, display);
}

static int lay_out(struct blm_outline *o, uint8_t *head, const char *display)
{
	return blm_wire_lay_out(o, &tail, head, display);
}

/* By Bitcoin Core's own steps, which round down. */
static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	const double ln_2 = 0.6931471805599453094172321214581765680755001343602552;
	const double ln_2_squared = 0.4804530139182014246671025263266649717305529515945455;

	p->hash = blm_wire_families[0];
	if (!p->cells)
		p->cells = 8 * (uint64_t)(fmin(floor(-(double)p->capacity * log(p->rate)
						     / ln_2_squared),
					       8 * BLM_WIRE_BYTES) / 8);
	if (!p->probes && p->capacity)
		p->probes = (uint32_t)fmin((double)(uint64_t)((double)p->cells / (double)p->capacity
							      * ln_2),
					   BLM_WIRE_PROBES);
	if (!p->cells || (!p->probes && p->capacity))
		return blm_fail(-EINVAL, "for this number of keys and this rate BIP 37 has %llu "
				"bits and %u functions, which make no filter",
				(unsigned long long)p->cells, p->probes);
	p->rate = 0;
	return 0;
}

const struct blm_format blm_format_bip37 = {
	.id = 16,
	.name = "bip37",
	.summary = "Bitcoin's BIP 37 filterload payload",
	.limits = "m a multiple of 8 up to 288000, k up to 50",
	.text_name = "base64(file)", .text = blm_wire_text,
	.families = blm_wire_families,
	.head_bytes = BLM_WIRE_HEAD, .memo = true, .exact = true,
	.parse = parse, .lay_out = lay_out, .plan = plan,
};
