/*
 * redisbloom_cf.c - the cuckoo filters of RedisBloom: what CF.SCANDUMP gives and CF.LOADCHUNK
 * takes, one chunk after the other
 *
 *	0	the header, the first chunk: numbers, little-endian, as below
 *	38	the buckets of each table of the chain, a byte each cell: the data of the kind
 *		redis-cuckoo
 *
 * All of the header is in the filter's own terms, so none of it is kept as it came. What DUMP gives
 * is read, too (redis_dump.c). For a server the commands that load a filter are written, ready for
 * redis-cli --pipe.
 */
#include "format/redisbloom.h"
#include "kind/redis_cuckoo.h"

#include <stdio.h>

enum { CHUNK = 16 << 20 };

/* A count is no measure of anything there: any that is no accident will do. */
#define DELETES_MOST (UINT64_C(1) << 48)

static const char *const families[] = { "murmur64a-64", NULL };
static const char *const kinds[] = { "redis-cuckoo", NULL };
extern const struct blm_format blm_format_redisbloom_cf;

struct header {
	uint64_t keys, buckets, deletes, tables, slots, iterations, expansion;
	uint64_t cells;			/* of all tables; 0: it is no header */
};

/* ---- Reading ---- */

static struct header read_header(const uint8_t *head)
{
	struct header h = {
		.keys = blm_get_little(head + REDISBLOOM_CF_KEYS, 8),
		.buckets = blm_get_little(head + REDISBLOOM_CF_BUCKETS, 8),
		.deletes = blm_get_little(head + REDISBLOOM_CF_DELETES, 8),
		.tables = blm_get_little(head + REDISBLOOM_CF_TABLES, 8),
		.slots = blm_get_little(head + REDISBLOOM_CF_SLOTS, 2),
		.iterations = blm_get_little(head + REDISBLOOM_CF_ITERATIONS, 2),
		.expansion = blm_get_little(head + REDISBLOOM_CF_EXPANSION, 2),
	};

	h.cells = blm_redis_cuckoo_cells(h.buckets, h.slots, h.tables, h.expansion);
	return h;
}

static struct blm_shape shape_of(const struct header *h)
{
	return (struct blm_shape){
		.cells = h->cells, .bytes = round_up(h->cells, 64),
		.probes = 2 * (uint32_t)h->tables, .cell_bits = 8, .capacity = h->cells,
		.args = { [REDIS_CUCKOO_BUCKET] = h->slots, [REDIS_CUCKOO_EXPANSION] = h->expansion,
			  [REDIS_CUCKOO_ITERATIONS] = h->iterations },
	};
}

static bool is_header(const struct header *h)
{
	const struct blm_shape shape = shape_of(h);

	return h->cells && h->iterations && h->keys <= h->cells && h->deletes <= DELETES_MOST
		&& blm_kind_redis_cuckoo.valid(&shape);
}

/* There is no magic; but few other files begin with numbers that go together like these. */
static bool begins(const uint8_t *bytes, size_t count)
{
	struct header h;

	if (blm_redis_dump_begins_cf(bytes, count))
		return true;
	if (count < REDISBLOOM_CF_HEAD)
		return false;
	h = read_header(bytes);
	return is_header(&h);
}

static int refuse(const struct header *h, const char *display)
{
	if (h->tables < 1 || h->tables > REDIS_CUCKOO_TABLES_MOST)
		return blm_fail(-EBADMSG, "%s: a chain of %llu tables by its header, not 1 to %d",
				display, (unsigned long long)h->tables,
				REDIS_CUCKOO_TABLES_MOST);
	if (h->slots < 1 || h->slots > REDIS_CUCKOO_BUCKET_MOST || !h->iterations)
		return blm_fail(-EBADMSG, "%s: by its header a bucket has %llu cells, not 1 to %d, "
				"or a key moves up to %llu fingerprints, not 1 to %d",
				display, (unsigned long long)h->slots, REDIS_CUCKOO_BUCKET_MOST,
				(unsigned long long)h->iterations,
				REDIS_CUCKOO_ITERATIONS_MOST);
	if (!h->cells || h->keys <= h->cells)
		return blm_fail(-EBADMSG, "%s: by its header %llu tables of %llu buckets of "
				"%llu cells, each %llu times as large: no powers of 2, or above "
				"2^32 cells", display, (unsigned long long)h->tables,
				(unsigned long long)h->buckets, (unsigned long long)h->slots,
				(unsigned long long)h->expansion);
	return blm_fail(-EBADMSG, "%s: %llu keys by its header, in %llu cells", display,
			(unsigned long long)h->keys, (unsigned long long)h->cells);
}

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	struct blm_constant *c = &ret->contents.constant;
	struct blm_template_fields *t = &c->template;
	struct blm_array a = { .kind = kinds[0], .family = families[0],
			       .offset = REDISBLOOM_CF_HEAD };
	struct blm_shape shape;
	struct header h;
	int r;

	if (count < REDISBLOOM_CF_HEAD)
		return blm_outline_long_enough(count, REDISBLOOM_CF_HEAD, display);
	h = read_header(head);
	if (h.deletes > DELETES_MOST)
		return blm_fail(-EBADMSG, "%s: %llu keys were removed by its header, which is "
				"not possible", display, (unsigned long long)h.deletes);
	if (!is_header(&h))
		return refuse(&h, display);
	shape = shape_of(&h);
	a.bytes = a.cells = a.capacity = h.cells;
	a.probes = shape.probes;
	a.rate = blm_kind_redis_cuckoo.rate_at(&shape, h.cells);
	r = blm_outline_set(ret, &blm_format_redisbloom_cf, &a, display);
	if (r < 0)
		return r;
	t->cell_bits = htole32(8);
	for (int i = 0; i < BLM_KIND_ARGS; i++)
		t->args[i] = htole64(shape.args[i]);
	blm_outline_place(ret, a.offset, a.bytes);
	ret->contents.part[0].bytes = htole64(shape.bytes);
	ret->counted = true;
	ret->keys = h.keys;
	ret->own[REDIS_CUCKOO_DELETES] = h.deletes;
	return 0;
}

/* ---- Writing ---- */

static void write_header(uint8_t *to, const struct blm_outline *o, const struct blm_shape *s)
{
	uint64_t deletes = o->own[REDIS_CUCKOO_DELETES];

	blm_put_little(to + REDISBLOOM_CF_KEYS, o->keys < s->cells ? o->keys : s->cells, 8);
	blm_put_little(to + REDISBLOOM_CF_BUCKETS, blm_redis_cuckoo_buckets(s), 8);
	blm_put_little(to + REDISBLOOM_CF_DELETES, deletes < DELETES_MOST ? deletes : DELETES_MOST,
		       8);
	blm_put_little(to + REDISBLOOM_CF_TABLES, s->probes / 2, 8);
	blm_put_little(to + REDISBLOOM_CF_SLOTS, s->args[REDIS_CUCKOO_BUCKET], 2);
	blm_put_little(to + REDISBLOOM_CF_ITERATIONS, s->args[REDIS_CUCKOO_ITERATIONS], 2);
	blm_put_little(to + REDISBLOOM_CF_EXPANSION, s->args[REDIS_CUCKOO_EXPANSION], 2);
}

/* No chunk crosses the end of a table. */
static int write_file(const struct blm_outline *o, const struct blm_part *part,
		      struct blm_writer *to, const char *display)
{
	const struct blm_shape *s = &part->shape;
	uint64_t iter = 1, table = blm_redis_cuckoo_buckets(s) * s->args[REDIS_CUCKOO_BUCKET],
		end = table, at = 0;
	uint8_t head[REDISBLOOM_CF_HEAD] = { 0 };
	int r;

	write_header(head, o, s);
	r = blm_redis_chunk(to, "CF.LOADCHUNK", o->asked_key, iter, head, sizeof(head));
	while (r == 0 && at < s->cells) {
		size_t count = end - at < CHUNK ? (size_t)(end - at) : CHUNK;

		r = blm_redis_chunk(to, "CF.LOADCHUNK", o->asked_key, iter += count,
				    part->bytes + at, count);
		at += count;
		if (at == end)
			end += table *= s->args[REDIS_CUCKOO_EXPANSION];
	}
	return r;
}

/* The kind plans the size for all keys: no table is added when it is full. */
static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	p->hash = families[0];
	if (p->cells)
		p->rate = 0;	/* the file states them */
	return 0;
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_redisbloom_cf = {
	.id = 28,
	.name = "redisbloom-cf",
	.summary = "RedisBloom's CF.SCANDUMP, chunk after chunk; read also from DUMP; written also "
	"as the commands that load it into a key",
	.limits = "up to 128 tables in a chain, each of up to 2^32 cells; what DUMP gave is not "
	"read from a pipe",
	.text_name = "base64(file)", .text = text,
	.kinds = kinds, .families = families,
	.head_bytes = REDISBLOOM_CF_HEAD, .memo = true, .states = true, .exact = true,
	.redis_commands = true,
	.begins = begins, .within = blm_redis_dump_begins_cf,
	.parse = parse, .locate = blm_redis_dump_unpack_cf, .write = write_file, .plan = plan,
};
