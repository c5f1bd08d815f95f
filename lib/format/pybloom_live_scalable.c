/*
 * pybloom_live_scalable.c - what ScalableBloomFilter.tofile() of pybloom_live 2 to 4 writes
 *
 *	0	growth, a 4-byte number; 4 ratio, a double; 12 capacity of the first filter; 20
 *		error_rate, a double; 28 filters, 4 bytes
 *	32	the bytes of each filter, 8 each
 *		the filters, each a file of pybloom_live.c
 *
 * All is little-endian. The filters are the stages of a scalable filter here, the ratio its
 * tightening. Each has the digest that is wide enough for it (the rule pybloom-chain); the family
 * is the one of 128 bits, MD5 or XXH3, which the file does not name.
 */
#include "format/format.h"
#include "kind/scalable.h"

#include <math.h>

enum {
	GROWTH = 0, RATIO = 4, CAPACITY = 12, ERROR = 20, FILTERS = 28, HEAD = 32, SIZE = 8,
	STAGE_PROBES = 8, STAGE_RANGE = 16, STAGE_CAPACITY = 24, STAGE_KEYS = 32, STAGE_HEAD = 40,
	/* bytes of the digests that the file does not name */
	NARROW = 16,
};

static const char *const families[] = { "md5-digest", "xxh3", NULL },
	*const rules[] = { "pybloom-chain", NULL };
static const char *const kinds[] = { "scalable", NULL };
extern const struct blm_format blm_format_pybloom_live_scalable;

static double get_double(const uint8_t *bytes)
{
	return blm_double_of(blm_get_little(bytes, 8));
}

/* ---- Reading ---- */

/* There is no magic, but five numbers that are all in their range are no accident. */
static bool begins(const uint8_t *bytes, size_t count)
{
	uint64_t growth = blm_get_little(bytes, count < HEAD ? 0 : 4);

	return count >= HEAD && growth >= SCALABLE_GROWTH_LEAST && growth <= SCALABLE_GROWTH_MOST
		&& get_double(bytes + RATIO) > 0.01
	    && get_double(bytes + RATIO) < 1 && get_double(bytes + ERROR) > 1e-100
	    && get_double(bytes + ERROR) < 100
	    && blm_get_little(bytes + CAPACITY, 8) - 1 < BLM_CAPACITY_MAX
	    && blm_get_little(bytes + FILTERS, 4) - 1 < BLM_PARTS_MAX;
}

static int check_head(const uint8_t *bytes, size_t count, const char *display)
{
	uint64_t growth, filters;
	double ratio;
	int r = blm_outline_long_enough(count, HEAD, display);

	if (r < 0)
		return r;
	growth = blm_get_little(bytes + GROWTH, 4);
	ratio = get_double(bytes + RATIO);
	filters = blm_get_little(bytes + FILTERS, 4);
	if (growth < 1 || growth > INT32_MAX || !(ratio > 0 && ratio < 1))
		return blm_fail(-EBADMSG, "%s: damaged header: it states a growth of %llu and a "
				"ratio of %g", display,
				(unsigned long long)growth, ratio);
	if (!filters)
		return blm_fail(-EBADMSG, "%s: has no filters yet, because no key was added; make "
				"an empty one: blm_params.format %s", display,
				blm_format_pybloom_live_scalable.name);
	if (filters > BLM_PARTS_MAX)
		return blm_fail(-EBADMSG, "%s: has %llu filters by its header, not 1 to %d",
				display, (unsigned long long)filters, BLM_PARTS_MAX);
	return blm_outline_long_enough(count, HEAD + SIZE * (size_t)filters, display);
}

static uint64_t size_of(const uint8_t *bytes, unsigned i)
{
	return blm_get_little(bytes + HEAD + SIZE * i, SIZE);
}

/* The header of one filter. All of the header is among the bytes. */
static int check_stage(const uint8_t *bytes, size_t count, uint64_t at, unsigned i,
		       const char *display)
{
	uint64_t size = size_of(bytes, i), probes, range;

	if (count - at < STAGE_HEAD || size > count - at)
		return blm_fail(-ENODATA, "%s: ends after %zu bytes; filter %u of it has %llu "
				"from byte %llu on: it is truncated", display, count, i,
				(unsigned long long)size, (unsigned long long)at);
	probes = blm_get_little(bytes + at + STAGE_PROBES, 8);
	range = blm_get_little(bytes + at + STAGE_RANGE, 8);
	if (probes < 1 || probes > BLM_PROBES_MAX || range < 1 || range > BLM_CELLS_MAX / probes)
		return blm_fail(-EBADMSG, "%s: damaged header: its filter %u has %llu slices of "
				"%llu bits",
				display, i, (unsigned long long)probes,
				(unsigned long long)range);
	return size == STAGE_HEAD + (probes * range + 7) / 8 ? 0
	     : blm_fail(-EBADMSG, "%s: damaged header: its filter %u has %llu slices of %llu bits "
			"in %llu bytes",
			display, i, (unsigned long long)probes,
			(unsigned long long)range, (unsigned long long)size);
}

static bool is_narrow(uint64_t probes, uint64_t range)
{
	return probes * (range >= UINT64_C(1) << 31 ? 8 : range >= 1 << 15 ? 4 : 2) <= NARROW;
}

/*
 * What our kind has for its growth and its tightening is brought into the range that it has: it is
 * for stages to come here.
 */
static void make_scalable(struct blm_outline *o, const uint8_t *bytes, unsigned stages)
{
	struct blm_constant *c = &o->contents.constant;
	uint64_t growth = blm_get_little(bytes + GROWTH, 4);
	double ratio = fmin(fmax(get_double(bytes + RATIO), SCALABLE_TIGHTENING_LEAST),
			    SCALABLE_TIGHTENING_MOST);

	growth = growth < SCALABLE_GROWTH_LEAST ? SCALABLE_GROWTH_LEAST
		: growth > SCALABLE_GROWTH_MOST ? SCALABLE_GROWTH_MOST : growth;
	c->template.kind = htole32(blm_kind_scalable.id);
	c->template.args[SCALABLE_GROWTH] = htole64(growth);
	c->template.args[SCALABLE_TIGHTENING] = htole64(blm_bits_of(ratio));
	c->rate = htole64(blm_bits_of(fmin(blm_double_of(le64toh(c->rate)) / (1 - ratio), 1)));
	for (unsigned i = 0; i < stages; i++)
		o->contents.part[i].role = htole32(SCALABLE_ROLE);
	o->contents.parts = stages;
}

/* The first filter says how large the others are, and which rates they have. */
static int check_stages(const struct blm_outline *o, const uint8_t *bytes, const char *display)
{
	unsigned stages = blm_outline_stages(o);

	return stages == o->contents.parts ? 0
	     : blm_fail(-EBADMSG, "%s: damaged header: filter 0 is for %llu keys at the error %g, "
			"which leaves no filter %u with a growth of %llu and a ratio of %g",
			display,
			(unsigned long long)le64toh(o->contents.constant.capacity),
			blm_double_of(le64toh(o->contents.part[0].rate)), stages,
			(unsigned long long)blm_get_little(bytes + GROWTH, 4),
			get_double(bytes + RATIO));
}

/* The heads, without the bits: how often a filter is written again, it says the same of itself. */
static void keep_heads(struct blm_outline *o, const uint8_t *bytes, unsigned stages)
{
	struct blm_constant *c = &o->contents.constant;
	size_t kept = HEAD;

	memcpy(c->origin_head, bytes, HEAD);
	for (unsigned i = 0; i < stages && kept + STAGE_HEAD <= BLM_ORIGIN_BYTES;
	     i++, kept += STAGE_HEAD)
		memcpy(c->origin_head + kept,
		       bytes + le64toh(o->contents.part[i].offset) - STAGE_HEAD, STAGE_HEAD);
	c->origin = htole32(blm_format_pybloom_live_scalable.id);
	c->origin_bytes = htole32((uint32_t)kept);
}

static int outline(struct blm_outline *ret, const uint8_t *bytes, size_t count,
		   const struct blm_exchange *how, const char *display)
{
	struct blm_array a = { .scheme = rules[0] };
	uint64_t at = HEAD;
	unsigned stages;
	bool narrow = false;
	int r = check_head(bytes, count, display);

	if (r < 0)
		return r;
	stages = (unsigned)blm_get_little(bytes + FILTERS, 4);
	ret->counted = true;
	at += SIZE * stages;
	for (unsigned i = 0; r == 0 && i < stages; i++) {
		uint64_t keys;

		r = check_stage(bytes, count, at, i, display);
		if (r < 0)
			return r;
		keys = blm_get_little(bytes + at + STAGE_KEYS, 8);
		ret->counted &= keys <= BLM_CAPACITY_MAX;
		ret->keys += keys;
		at += size_of(bytes, i);
	}
	ret->counted &= ret->keys <= BLM_CAPACITY_MAX;
	if (at < count)
		return blm_fail(-EBADMSG, "%s: has more bytes than the %llu of its header", display,
				(unsigned long long)at);
	/* the first one last: the template is its */
	for (unsigned i = stages; r == 0 && i-- > 0; ) {
		const uint8_t *stage = bytes + (at -= size_of(bytes, i));

		a.probes = blm_get_little(stage + STAGE_PROBES, 8);
		a.cells = a.probes * blm_get_little(stage + STAGE_RANGE, 8);
		a.capacity = blm_get_little(stage + STAGE_CAPACITY, 8);
		a.rate = get_double(stage);
		a.offset = at + STAGE_HEAD;
		a.bytes = (a.cells + 7) / 8;
		narrow |= is_narrow(a.probes, a.cells / a.probes);
		a.family = narrow ? NULL : families[1];
		a.seed_count = narrow ? 0 : 1;
		r = blm_outline_set(ret, &blm_format_pybloom_live_scalable, &a, display);
		ret->contents.part[i] = ret->contents.part[0];
	}
	if (r < 0)
		return r;
	if (narrow) {
		ret->candidate[0] = (struct blm_candidate){ blm_family_by_name(families[0]),
							    "pybloom_live 2 and 3" };
		ret->candidate[1] = (struct blm_candidate){ blm_family_by_name(families[1]),
							    "pybloom_live 4" };
		ret->candidates = 2;
	}
	make_scalable(ret, bytes, stages);
	keep_heads(ret, bytes, stages);
	ret->end = count;
	return check_stages(ret, bytes, display);
}

static int fill(struct blm_part *part, const uint8_t *bytes, size_t count,
		const struct blm_exchange *how, const char *display)
{
	unsigned stages = (unsigned)blm_get_little(bytes + FILTERS, 4);
	uint64_t at = HEAD + SIZE * stages;

	for (unsigned i = 0; i < stages; at += size_of(bytes, i++))
		memcpy(part[i].bytes, bytes + at + STAGE_HEAD, (part[i].shape.cells + 7) / 8);
	return 0;
}

/* ---- Writing ---- */

static uint64_t range_of(const struct blm_shape *s)
{
	return s->cells / s->probes;
}

static uint64_t bytes_of(const struct blm_shape *s)
{
	return (s->probes * range_of(s) + 7) / 8;
}

static void make_head(uint8_t *head, const struct blm_outline *o, const struct blm_part *root)
{
	const struct blm_template_fields *t = &o->contents.constant.template;
	double ratio = blm_double_of(le64toh(t->args[SCALABLE_TIGHTENING]));

	blm_put_little(head + GROWTH, le64toh(t->args[SCALABLE_GROWTH]), 4);
	blm_put_little(head + RATIO, blm_bits_of(ratio), 8);
	blm_put_little(head + CAPACITY, root->sub[0].shape.capacity, 8);
	blm_put_little(head + ERROR, blm_bits_of(root->sub[0].shape.rate / ratio), 8);
	if (o->memo_bytes >= HEAD)
		memcpy(head, o->memo, FILTERS);
	blm_put_little(head + FILTERS, root->subs, 4);
	for (unsigned i = 0; i < root->subs; i++)
		blm_put_little(head + HEAD + SIZE * i, STAGE_HEAD + bytes_of(&root->sub[i].shape),
			       SIZE);
}

/* The number of its keys is left open. */
static void make_stage(uint8_t *head, const struct blm_shape *s)
{
	blm_put_little(head, blm_bits_of(s->rate), 8);
	blm_put_little(head + STAGE_PROBES, s->probes, 8);
	blm_put_little(head + STAGE_RANGE, range_of(s), 8);
	blm_put_little(head + STAGE_CAPACITY, s->capacity, 8);
}

struct heads {
	uint8_t file[HEAD + SIZE * BLM_PARTS_MAX];
	uint8_t stage[BLM_PARTS_MAX][STAGE_HEAD];
};

/*
 * The imported values stay while they are still true. If that is unknown, all stages but the last
 * are full.
 */
static void make_heads(struct heads *h, const struct blm_outline *o, const struct blm_part *root)
{
	unsigned came = o->memo_bytes > HEAD ? (unsigned)((o->memo_bytes - HEAD) / STAGE_HEAD)
		: 0, kept = 0;
	uint64_t keys = 0, left = o->keys;

	memset(h, 0, sizeof(*h));
	make_head(h->file, o, root);
	for (unsigned i = 0; i < root->subs; i++) {
		const struct blm_shape *s = &root->sub[i].shape;
		const uint8_t *old = o->memo + HEAD + i * STAGE_HEAD;

		make_stage(h->stage[i], s);
		if (i < came && !memcmp(old + STAGE_PROBES, h->stage[i] + STAGE_PROBES,
					STAGE_CAPACITY - STAGE_PROBES)) {
			memcpy(h->stage[i], old, STAGE_HEAD);
			kept++;
		}
		keys += blm_get_little(h->stage[i] + STAGE_KEYS, 8);
	}
	if (kept == root->subs && (keys == o->keys || o->keys_estimated))
		return;
	for (unsigned i = 0; i < root->subs; i++) {
		uint64_t capacity = root->sub[i].shape.capacity, here = i + 1 < root->subs
			&& capacity < left ? capacity : left;

		blm_put_little(h->stage[i] + STAGE_KEYS, here, 8);
		left -= here;
	}
}

static int check_ranges(const struct blm_part *root, const char *display)
{
	for (unsigned i = 0; i < root->subs; i++)
		if (root->sub[i].shape.cells % root->sub[i].shape.probes)
			return blm_fail(-EOPNOTSUPP, "%s: m is %llu and k %u; in pybloom_live m is "
					"a multiple of k", display,
					(unsigned long long)root->sub[i].shape.cells,
					root->sub[i].shape.probes);
	return 0;
}

static int write_file(const struct blm_outline *o, const struct blm_part *root,
		      struct blm_writer *to, const char *display)
{
	struct heads *h;
	int r = check_ranges(root, display);

	if (r < 0)
		return r;
	h = malloc(sizeof(*h));
	if (!h)
		return blm_fail(-ENOMEM, "%s: out of memory", display);
	make_heads(h, o, root);
	r = to->write(to, h->file, HEAD + SIZE * root->subs);
	for (unsigned i = 0; r == 0 && i < root->subs; i++) {
		r = to->write(to, h->stage[i], STAGE_HEAD);
		if (r == 0)
			r = to->write(to, root->sub[i].bytes, bytes_of(&root->sub[i].shape));
	}
	free(h);
	return r;
}

/*
 * The first filter as version 4 makes it for this rate. It has 0.9 for the ratio, with which all
 * filters together are wrong up to nine times as often as they were asked to be; with ours, which
 * it takes as well, they keep the rate.
 */
static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	double rate = p->rate / 2, k = p->probes ? p->probes
		: fmin(ceil(log2(1 / rate)), BLM_PROBES_MAX);

	p->hash = families[1];
	p->scheme = rules[0];
	p->probes = (uint32_t)k;
	if (!p->cells)
		p->cells = p->probes * (uint64_t)fmax(1, ceil((double)p->capacity * fabs(log(rate))
							      / (k * (log(2) * log(2)))));
	p->cells = round_up(p->cells, p->probes);
	p->seed_count = 1;
	seeds[0] = 0;
	return 0;
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_pybloom_live_scalable = {
	.id = 26,
	.name = "pybloom-live-scalable",
	.summary = "ScalableBloomFilter.tofile() of pybloom_live 2 to 4; made for 4",
	.limits = "1 to 64 filters, m a multiple of k, k up to 256; read as a whole into memory",
	.text_name = "base64(file)", .text = text,
	.kinds = kinds, .families = families, .rules = rules, .no_seed = true,
	.memo = true, .states = true,
	.begins = begins,
	.outline = outline, .fill = fill, .write = write_file, .plan = plan,
};
