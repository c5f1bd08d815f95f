/*
 * libbloom2.c - what libbloom 2's bloom_save() writes on 64-bit little-endian machines
 *
 *	0	"libbloom2"
 *	9	64, 2 bytes: the size of the struct that follows
 *	11	the struct: entries u32 at 0, bits u64 at 8, bytes u64 at 16, hashes u8 at 24, error
 *		f64 at 32, ready u8 at 40, major and minor version u8 at 41 and 42, bits an entry
 *		f64 at 48, a pointer at 56
 *	75	the bits
 *
 * The gaps may hold anything, and the pointer does. The program writes over a file without cutting
 * it, so old bytes may follow.
 */
#include "format/libbloom.h"

enum { STRUCT = 11, STRUCT_BYTES = 64, HEAD = STRUCT + STRUCT_BYTES,
       ENTRIES = STRUCT, CELLS = STRUCT + 8, BYTES = STRUCT + 16, PROBES = STRUCT + 24,
       ERROR = STRUCT + 32, READY = STRUCT + 40,
       MAJOR = STRUCT + 41, BITS_EACH = STRUCT + 48 };

static const char magic[] = "libbloom2";
static const char *const families[] = { "murmur2", NULL }, *const rules[] = { "double-64", NULL };
extern const struct blm_format blm_format_libbloom2;

static bool begins(const uint8_t *bytes, size_t count)
{
	return count >= sizeof(magic) - 1 && !memcmp(bytes, magic, sizeof(magic) - 1);
}

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	struct blm_array a = { .family = families[0], .scheme = rules[0], .offset = HEAD };
	int r;

	if (!begins(head, count))
		return blm_fail(-EBADMSG, "%s: not a file of libbloom: it does not begin with "
				"\"%s\"", display, magic);
	r = blm_outline_long_enough(count, HEAD, display);
	if (r < 0)
		return r;
	if (blm_get_little(head + 9, 2) != STRUCT_BYTES || head[MAJOR] != 2)
		return blm_fail(-EPROTONOSUPPORT, "%s: its struct has %u bytes, version %u; only "
				"version 2 with %d bytes, as on 64-bit machines, is known", display,
				(unsigned)blm_get_little(head + 9, 2), head[MAJOR], STRUCT_BYTES);
	a.capacity = blm_get_little(head + ENTRIES, 4);
	a.rate = blm_double_of(blm_get_little(head + ERROR, 8));
	a.cells = blm_get_little(head + CELLS, 8);
	a.probes = head[PROBES];
	a.bytes = blm_get_little(head + BYTES, 8);
	if (a.bytes != a.cells / 8 + !!(a.cells % 8))
		return blm_fail(-EBADMSG, "%s: damaged header: %llu bytes for %llu bits", display,
				(unsigned long long)a.bytes, (unsigned long long)a.cells);
	return blm_outline_set(ret, &blm_format_libbloom2, &a, display);
}

static int lay_out(struct blm_outline *o, uint8_t *head, const char *display)
{
	const struct blm_constant *c = &o->contents.constant;
	const struct blm_template_fields *t = &c->template;
	uint64_t capacity = le64toh(c->capacity), cells = le64toh(t->cells);

	if (capacity > UINT32_MAX || le32toh(t->probes) > 255)
		return blm_fail(-EOPNOTSUPP, "%s: made for %llu keys with k=%u; libbloom has at "
				"most 2^32 - 1 keys, and k up to 255", display,
				(unsigned long long)capacity, le32toh(t->probes));
	memcpy(head, magic, sizeof(magic) - 1);
	blm_put_little(head + 9, STRUCT_BYTES, 2);
	blm_put_little(head + ENTRIES, capacity, 4);
	blm_put_little(head + CELLS, cells, 8);
	blm_put_little(head + BYTES, (cells + 7) / 8, 8);
	head[PROBES] = (uint8_t)le32toh(t->probes);
	blm_put_little(head + ERROR, le64toh(c->rate), 8);
	head[READY] = 1;
	head[MAJOR] = 2;
	blm_put_little(head + BITS_EACH, blm_bits_of((double)cells / (double)capacity), 8);
	blm_outline_place(o, HEAD, (cells + 7) / 8);
	return 0;
}

static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	return libbloom_plan(p, rules[0]);
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_libbloom2 = {
	.id = 8,
	.name = "libbloom2",
	.summary = "libbloom 2's bloom_save(), of 64-bit little-endian machines",
	.limits = "capacity up to 2^32 - 1, k up to 255",
	.text_name = "base64(file)", .text = text,
	.families = families, .rules = rules,
	.states = true, .head_bytes = HEAD,
	.begins = begins,
	.parse = parse, .lay_out = lay_out, .plan = plan,
};
