/*
 * squid_digest.c - Squid's cache digest, version 5: http://.../squid-internal-periodic/store_digest
 *
 *	0	version (2 bytes), the least version that reads it (2); 4 capacity (4), count (4),
 *		deletions (4), bytes of bits (4), bits an entry (1), k (1): all big-endian; then
 *		zeros
 *	128	the bits
 *
 * A key is the URL of an object that was got with GET.
 */
#include "format/format.h"

#include <math.h>

enum { HEAD = 128, VERSION = 5, REQUIRED = 3, PROBES = 4, CAPACITY = 4, KEYS = 8, BYTES = 16,
       BITS_EACH = 20, AT_PROBES = 21 };

static const char *const families[] = { "squid", NULL }, *const rules[] = { "slices", NULL };
extern const struct blm_format blm_format_squid_digest;

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	struct blm_array a = { .family = families[0], .scheme = rules[0], .offset = HEAD };
	int r = blm_outline_long_enough(count, HEAD, display);

	if (r < 0)
		return r;
	if (blm_get_big(head + 2, 2) > VERSION)
		return blm_fail(-EPROTONOSUPPORT, "%s: only version %u and later can read it; this "
				"program knows version %d",
				display, (unsigned)blm_get_big(head + 2, 2), VERSION);
	a.capacity = blm_get_big(head + CAPACITY, 4);
	a.bytes = blm_get_big(head + BYTES, 4);
	a.cells = 8 * a.bytes;
	a.probes = head[AT_PROBES];
	if (a.probes != PROBES)
		return blm_fail(-EBADMSG, "%s: has %u hash functions by its header; a cache digest "
				"has %d", display, head[AT_PROBES], PROBES);
	if (a.bytes != (a.capacity * head[BITS_EACH] + 7) / 8 || a.bytes > INT32_MAX)
		return blm_fail(-EBADMSG, "%s: damaged header: %llu bytes of bits for %llu entries "
				"of %u bits each",
				display, (unsigned long long)a.bytes,
				(unsigned long long)a.capacity, head[BITS_EACH]);
	ret->keys = blm_get_big(head + KEYS, 4);
	if (ret->keys > INT32_MAX)
		return blm_fail(-EBADMSG, "%s: has %llu keys by its header, more than Squid counts",
				display, (unsigned long long)ret->keys);
	ret->counted = true;
	return blm_outline_set(ret, &blm_format_squid_digest, &a, display);
}

static void recount(uint8_t *head, uint64_t keys)
{
	blm_put_big(head + KEYS, keys < INT32_MAX ? keys : INT32_MAX, 4);
}

static int lay_out(struct blm_outline *o, uint8_t *head, const char *display)
{
	const struct blm_constant *c = &o->contents.constant;
	const struct blm_template_fields *t = &c->template;
	uint64_t cells = le64toh(t->cells), capacity = le64toh(c->capacity),
		each = cells / capacity;

	if (cells % 8 || capacity > INT32_MAX || !each || each > 255
	    || (capacity * each + 7) / 8 * 8 != cells || le32toh(t->probes) != PROBES)
		return blm_fail(-EOPNOTSUPP, "%s: m is %llu for %llu keys and k is %u; Squid needs "
				"whole bits for each key, rounded up to bytes, and k=%d", display,
				(unsigned long long)cells, (unsigned long long)capacity,
				le32toh(t->probes), PROBES);
	blm_put_big(head, VERSION, 2);
	blm_put_big(head + 2, REQUIRED, 2);
	blm_put_big(head + CAPACITY, capacity, 4);
	recount(head, o->keys);
	blm_put_big(head + BYTES, cells / 8, 4);
	head[BITS_EACH] = (uint8_t)each;
	head[AT_PROBES] = PROBES;
	blm_outline_place(o, HEAD, cells / 8);
	return 0;
}

/* Whole bits for each entry, as many as keep the rate with 4 probes; Squid's own default is 5. */
static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	double each = ceil(-PROBES / log(1 - pow(p->rate, 1.0 / PROBES)));

	p->hash = families[0];
	p->scheme = rules[0];
	if (!p->cells)
		p->cells = (p->capacity * (uint64_t)fmin(each, 255) + 7) / 8 * 8;
	if (!p->probes)
		p->probes = PROBES;
	p->rate = 0;
	return 0;
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_squid_digest = {
	.id = 13,
	.name = "squid-digest",
	.summary = "Squid's cache digest, version 5; keys are the URLs of objects got with GET",
	.limits = "k is 4; whole bits for each key, up to 255; m up to 2^32",
	.text_name = "base64(file)", .text = text,
	.families = families, .rules = rules,
	.states = true, .head_bytes = HEAD, .in_place = true, .exact = true,
	.parse = parse, .lay_out = lay_out, .recount = recount, .plan = plan,
};
