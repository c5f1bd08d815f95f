/*
 * dcso.c - the files of DCSO's bloom
 *
 *	0	flags; the lowest byte is the version, 1
 *	8	capacity; 16 the rate, a double; 24 k; 32 m; 40 the count of keys that changed a bit
 *	48	the bits, in words of 8 bytes
 *		data of its user, to the end
 *
 * All numbers have 8 bytes and are little-endian. Files are often packed with gzip, and nothing in
 * them says so.
 */
#include "format/format.h"
#include "kind/common/sizing.h"

#include <math.h>

enum { HEAD = 48, CAPACITY = 8, RATE = 16, PROBES = 24, CELLS = 32, KEYS = 40 };

static const char *const families[] = { "fnv1", NULL }, *const rules[] = { "dcso", NULL };
extern const struct blm_format blm_format_dcso;

/* m by the program's own steps: it rounds a negative number up. */
static double cells_for(double capacity, double rate)
{
	return fabs(ceil(capacity * log(rate) / pow(log(2), 2)));
}

/* There is no magic, but a capacity and a rate that explain m are no accident. */
static bool begins(const uint8_t *bytes, size_t count)
{
	double rate;

	if (count < HEAD || blm_get_little(bytes, 8) != 1)
		return false;
	rate = blm_double_of(blm_get_little(bytes + RATE, 8));
	return rate > 0 && rate < 1 && fabs(cells_for((double)blm_get_little(bytes + CAPACITY,
		8), rate) - (double)blm_get_little(bytes + CELLS, 8)) <= 1;
}

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	struct blm_array a = { .family = families[0], .scheme = rules[0], .offset = HEAD };
	int r = blm_outline_long_enough(count, HEAD, display);

	if (r < 0)
		return r;
	if (head[0] != 1)
		return blm_fail(-EPROTONOSUPPORT, "%s: version %u of DCSO's format; only 1 is "
				"known", display, head[0]);
	a.capacity = blm_get_little(head + CAPACITY, 8);
	a.rate = blm_double_of(blm_get_little(head + RATE, 8));
	a.probes = blm_get_little(head + PROBES, 8);
	a.cells = blm_get_little(head + CELLS, 8);
	a.bytes = a.cells / 64 * 8 + (a.cells % 64 ? 8 : 0);
	ret->counted = true;
	ret->keys = blm_get_little(head + KEYS, 8);
	if (ret->keys > BLM_CAPACITY_MAX)	/* nothing that anybody has counted */
		ret->counted = false;
	return blm_outline_set(ret, &blm_format_dcso, &a, display);
}

static void recount(uint8_t *head, uint64_t keys)
{
	blm_put_little(head + KEYS, keys, 8);
}

static int lay_out(struct blm_outline *o, uint8_t *head, const char *display)
{
	const struct blm_constant *c = &o->contents.constant;
	const struct blm_template_fields *t = &c->template;
	uint64_t cells = le64toh(t->cells);

	head[0] = 1;
	blm_put_little(head + CAPACITY, le64toh(c->capacity), 8);
	blm_put_little(head + RATE, le64toh(c->rate), 8);
	blm_put_little(head + PROBES, le32toh(t->probes), 8);
	blm_put_little(head + CELLS, cells, 8);
	recount(head, o->keys);
	blm_outline_place(o, HEAD, (cells + 63) / 64 * 8);
	return 0;
}

static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	p->hash = families[0];
	p->scheme = rules[0];
	if (!p->cells)
		p->cells = (uint64_t)fmax(1, cells_for((double)p->capacity, p->rate));
	if (!p->probes && p->capacity)
		p->probes = (uint32_t)fmin(fmax(1, ceil(log(2) * (double)p->cells
							/ (double)p->capacity)), BLM_PROBES_MAX);
	return 0;
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_dcso = {
	.id = 5,
	.name = "dcso",
	.summary = "DCSO's bloom, plain; read also from gzip",
	.limits = "k up to 256; up to 1728 bytes of other data behind the bits are kept",
	.text_name = "base64(file)", .text = text,
	.families = families, .rules = rules,
	.states = true, .head_bytes = HEAD, .gzipped = true, .rest = true,
	.begins = begins,
	.parse = parse, .lay_out = lay_out, .recount = recount, .plan = plan,
};
