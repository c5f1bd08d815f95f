/*
 * leveldb.c - one filter of LevelDB's built-in policy (leveldb.BuiltinBloomFilter2), as
 * CreateFilter() gives it: the bits, then a byte, k
 *
 * A table's filter block is many of them, one for each 2 KiB of data, with their offsets behind
 * (leveldb_table.c).
 */
#include "format/leveldb.h"

#include <math.h>

enum { MOST_PROBES = 30 };

static const char *const families[] = { "leveldb", NULL }, *const rules[] = { "double-32", NULL };
extern const struct blm_format blm_format_leveldb;

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	struct blm_array a = { .family = families[0], .scheme = rules[0] };

	if (count < 2)
		return blm_fail(-ENODATA, "%s: %zu bytes; a filter has at least two", display,
				count);
	if (count == BLM_HEAD_MOST)
		return blm_fail(-EFBIG, "%s: more than %d bytes, which no filter of a table has",
				display, BLM_HEAD_MOST - 1);
	a.bytes = count - 1;
	a.cells = 8 * a.bytes;
	a.probes = head[count - 1];
	if (a.probes > MOST_PROBES)
		return blm_fail(-EPROTONOSUPPORT, "%s: its last byte, k, is %u; LevelDB reserves "
				"numbers above %d for later filters", display,
				head[count - 1], MOST_PROBES);
	ret->tail_bytes = 1;
	return blm_outline_set(ret, &blm_format_leveldb, &a, display);
}

static int lay_out(struct blm_outline *o, uint8_t *head, const char *display)
{
	const struct blm_template_fields *t = &o->contents.constant.template;
	uint64_t cells = le64toh(t->cells);

	if (cells % 8 || cells / 8 > BLM_HEAD_MOST - 2 || le32toh(t->probes) > MOST_PROBES)
		return blm_fail(-EOPNOTSUPP, "%s: m is %llu and k %u; LevelDB has whole bytes, "
				"here at most %d, and k up to %d", display,
				(unsigned long long)cells, le32toh(t->probes), BLM_HEAD_MOST - 2,
				MOST_PROBES);
	o->head_bytes = 0;
	o->tail[0] = (uint8_t)le32toh(t->probes);
	o->tail_bytes = 1;
	blm_outline_place(o, 0, cells / 8);
	return 0;
}

/* LevelDB takes whole bits a key. */
static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	double each = p->capacity ? ceil(blm_least_bits(p->capacity, p->rate) / (double)p->capacity)
		: 0;

	p->hash = families[0];
	p->scheme = rules[0];
	if (!p->cells)
		p->cells = 8 * (uint64_t)ceil(fmax(64, (double)p->capacity * each) / 8);
	if (!p->probes)
		p->probes = (uint32_t)fmin(fmax(1, floor(each * 0.69)), MOST_PROBES);
	p->rate = 0;
	return 0;
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_leveldb = {
	.id = 12,
	.name = "leveldb",
	.summary = "one filter of LevelDB, leveldb.BuiltinBloomFilter2, by itself or of a table or "
	"a filter block (record N or @OFFSET)",
	.limits = "up to 256 KiB; k up to 30; tables are only read, and not from a pipe",
	.text_name = "base64(file)", .text = text,
	.families = families, .rules = rules,
	.head_bytes = BLM_HEAD_MOST, .memo = true, .exact = true,
	.within_by_end = blm_leveldb_is_table, .within_if_named = true, .records = true,
	.parse = parse, .locate = blm_leveldb_locate, .lay_out = lay_out, .plan = plan,
};
