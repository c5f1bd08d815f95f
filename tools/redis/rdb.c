/*
 * rdb.c - Bloom and cuckoo filters in RDB files, in DUMP and in the append-only file, in the
 * encodings of RedisBloom
 *
 * A Bloom filter is its keys, links, options and growth, then of each link entries, error, probes,
 * bits an entry, bits, n2, the data and its keys. A cuckoo filter is its tables, buckets, keys,
 * deletes, slots, iterations and expansion, then of each table buckets and data. A value that lacks
 * chunks has shorter data, which RedisBloom refuses. A Bloom filter that is a file has
 * no links, and after its growth come its capacity and the uuid.
 */
#include "filter.h"
#include "payload.h"
#include "persist.h"
#include "rdb.h"
#include "store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ENCODING = 4, METHODS_VERSION = 3 };

/* ---- Saving ---- */

/* The data of links or tables, put together of the pieces of a stream. */
struct saving {
	struct redis_io *io;
	enum sort sort;
	struct head h;
	unsigned piece;
	char *bytes;			/* of this piece */
	uint64_t have, capacity;
	bool whole;			/* all the data that the header promises come */
};

static void save_begin(struct saving *s)
{
	const struct cuckoo_tables *t = &s->h.tables;
	const uint64_t chain[] = { s->h.keys, s->h.links, s->h.options, s->h.growth },
		tables[] = { t->count, t->buckets, s->h.keys, t->deletes, t->slots, t->iterations,
			     t->expansion };

	for (size_t i = 0; s->sort == SORT_BLOOM && i < sizeof(chain) / sizeof(*chain); i++)
		redis_SaveUnsigned(s->io, chain[i]);
	for (size_t i = 0; s->sort == SORT_CUCKOO && i < sizeof(tables) / sizeof(*tables); i++)
		redis_SaveUnsigned(s->io, tables[i]);
}

static void save_piece(struct saving *s)
{
	struct link link;

	if (s->sort == SORT_CUCKOO) {
		redis_SaveUnsigned(s->io, head_piece(&s->h, s->sort, s->piece)
				   / s->h.tables.slots);
		redis_SaveStringBuffer(s->io, s->bytes, s->have);
	} else {
		link_get(&link, &s->h, s->piece);
		redis_SaveUnsigned(s->io, link.entries);
		redis_SaveDouble(s->io, link.error);
		redis_SaveUnsigned(s->io, link.probes);
		redis_SaveDouble(s->io, link.bits_each);
		redis_SaveUnsigned(s->io, link.bits);
		redis_SaveUnsigned(s->io, link.n2);
		redis_SaveStringBuffer(s->io, s->bytes, s->have);
		redis_SaveUnsigned(s->io, link.keys);
	}
	s->piece++;
	s->have = 0;
}

static int make_space(struct saving *s, size_t count)
{
	char *more;

	if (s->have + count <= s->capacity)
		return 0;
	more = realloc(s->bytes, s->have + count);
	if (!more)
		return -ENOMEM;
	s->bytes = more;
	s->capacity = s->have + count;
	return 0;
}

static int save(struct stream *stream, const void *bytes, size_t count)
{
	struct saving *s = stream->context;
	uint64_t left;
	int r;

	if (stream->head) {
		if (!head_read(&s->h, s->sort, bytes, count))
			return -EBADMSG;
		save_begin(s);
		return 0;
	}
	left = head_piece(&s->h, s->sort, s->piece) - s->have;
	if (count > left)
		return -EBADMSG;
	/* all at once, because a large buffer that grows is copied each time */
	r = make_space(s, s->whole ? left : count);
	if (r < 0)
		return r;
	memcpy(s->bytes + s->have, bytes, count);
	s->have += count;
	if (count == left)
		save_piece(s);
	return 0;
}

static bool save_file(struct redis_io *io, const struct value *v)
{
	uint8_t uuid[UUID];

	if (v->sort != SORT_BLOOM || !persist_refers(io, v, uuid))
		return false;
	redis_SaveUnsigned(io, 0);
	redis_SaveUnsigned(io, 0);
	redis_SaveUnsigned(io, v->fixed);
	redis_SaveUnsigned(io, v->expansion);
	redis_SaveUnsigned(io, v->capacity);
	redis_SaveStringBuffer(io, (const char *)uuid, UUID);
	return true;
}

/* Saving cannot fail: what could not be read is missing, as if its chunks had not come. */
static void rdb_save(struct redis_io *io, void *value)
{
	const struct value *v = value;
	struct saving s = { .io = io, .sort = v->sort, .whole = !v->pending };
	struct stream stream = { .put = save, .context = &s };
	int r;

	if (save_file(io, v))
		return;
	r = value_stream(v, &stream);
	if (r < 0)
		redis_LogIOError(io, "warning", "a filter was not saved whole: %s",
				 blm_strerror(r));
	if (!s.h.count) {
		head_blank(&s.h, v);
		save_begin(&s);
	}
	while (s.piece < head_pieces(&s.h, s.sort))
		save_piece(&s);
	free(s.bytes);
}

/* ---- Loading ---- */

struct loading {
	struct redis_io *io;
	struct head h;
	char *bytes[TABLES_MOST];
	size_t count[TABLES_MOST];
	unsigned pieces;
	bool failed;
	bool file;			/* its uuid is the only piece */
	uint64_t capacity;
};

static uint64_t load(struct loading *l)
{
	uint64_t number = l->failed ? 0 : redis_LoadUnsigned(l->io);

	l->failed = l->failed || redis_IsIOError(l->io);
	return l->failed ? 0 : number;
}

static double load_double(struct loading *l)
{
	double number = l->failed ? 0 : redis_LoadDouble(l->io);

	l->failed = l->failed || redis_IsIOError(l->io);
	return number;
}

/* A number that must fit into fewer bits than it is saved with. */
static unsigned load_small(struct loading *l, uint64_t most)
{
	uint64_t number = load(l);

	l->failed = l->failed || number > most;
	return l->failed ? 0 : (unsigned)number;
}

static void load_piece(struct loading *l)
{
	size_t count = 0;
	char *bytes = l->failed ? NULL : redis_LoadStringBuffer(l->io, &count);

	if (!bytes || redis_IsIOError(l->io)) {
		l->failed = true;
		return;
	}
	l->bytes[l->pieces] = bytes;
	l->count[l->pieces++] = count;
}

/* In the place of links: the capacity of a filter that is a file, and the uuid. */
static void load_file(struct loading *l)
{
	l->capacity = load(l);
	load_piece(l);
	l->failed = l->failed || *l->count != UUID;
	l->file = true;
}

static void load_chain(struct loading *l)
{
	struct head *h = &l->h;

	h->keys = load(l);
	h->links = load_small(l, LINKS_MOST);
	h->options = load_small(l, UINT32_MAX);
	h->growth = load_small(l, UINT32_MAX);
	if (!h->links)
		return load_file(l);
	chain_put(h);
	for (unsigned i = 0; i < h->links && !l->failed; i++) {
		struct link link = { 0 };

		link.entries = load(l);
		link.error = load_double(l);
		link.probes = load_small(l, UINT32_MAX);
		link.bits_each = load_double(l);
		link.bits = load(l);
		link.bytes = link.bits / 8;
		link.n2 = load_small(l, UINT8_MAX);
		load_piece(l);
		link.keys = load(l);
		link_put(h, i, &link);
	}
}

static void load_tables(struct loading *l)
{
	struct head *h = &l->h;
	struct cuckoo_tables *t = &h->tables;

	t->count = load_small(l, TABLES_MOST);
	t->buckets = load(l);
	h->keys = load(l);
	t->deletes = load(l);
	t->slots = load_small(l, UINT16_MAX);
	t->iterations = load_small(l, UINT16_MAX);
	t->expansion = load_small(l, UINT16_MAX);
	tables_put(h);
	l->failed = l->failed || !cuckoo_cells(t);
	for (unsigned i = 0; i < t->count && !l->failed; i++) {
		uint64_t buckets = load(l);

		l->failed = l->failed || buckets * t->slots != head_piece(h, SORT_CUCKOO, i);
		load_piece(l);
	}
}

/* Data that are shorter than the header says are those of a value that had not come whole. */
static struct value *load_pending(struct loading *l, enum sort sort, const struct spot *spot)
{
	struct value *v = pending_begin(sort, l->h.bytes, l->h.count);
	uint64_t end = 1;
	bool ended = false;
	int r = v && v->pending ? 0 : -EBADMSG;

	for (unsigned i = 0; i < l->pieces && r == 0; i++) {
		if (ended && l->count[i])
			r = -EBADMSG;
		else if (l->count[i])
			r = pending_take(v, end += l->count[i], l->bytes[i], l->count[i], spot);
		ended = ended || l->count[i] < head_piece(&l->h, sort, i);
	}
	return r < 0 ? value_free(v) : v;
}

static struct value *load_value(struct loading *l, enum sort sort, const struct spot *spot)
{
	struct piece pieces[TABLES_MOST];
	bool whole = true;
	struct head h;

	if (l->failed || !head_read(&h, sort, l->h.bytes, l->h.count)
	    || l->pieces != head_pieces(&h, sort))
		return NULL;
	l->h = h;
	for (unsigned i = 0; i < l->pieces; i++) {
		uint64_t must = head_piece(&h, sort, i);

		if (l->count[i] > must)
			return NULL;
		whole = whole && l->count[i] == must;
		pieces[i] = (struct piece){ l->bytes[i], l->count[i] };
	}
	return whole ? value_import(sort, &h, pieces, l->pieces, spot)
		: load_pending(l, sort, spot);
}

/* A file is that of this server only where the server loads what it saved. */
static struct value *open_file(struct loading *l, const struct spot *spot)
{
	struct value *v = l->failed || !spot->loading ? NULL : value_new(SORT_BLOOM);
	struct head h;

	if (!v)
		return NULL;
	v->fixed = l->h.options;
	v->expansion = l->h.growth;
	v->capacity = l->capacity;
	persist_open(l->io, v, (const uint8_t *)*l->bytes, spot);
	return v->f && head_of(&h, v) < 0 ? value_free(v) : v;
}

static struct value *rdb_load(struct redis_io *io, int version, enum sort sort)
{
	struct loading *l;
	struct spot spot = spot_of_io(io);
	struct value *v;

	if (version != ENCODING) {
		redis_LogIOError(io, "warning", "a filter has version %d of RedisBloom's encoding; "
				 "known is %d", version, ENCODING);
		return NULL;
	}
	if (!spot.loading && !value_has_space()) {
		redis_LogIOError(io, "warning", NO_DESCRIPTORS);
		return NULL;
	}
	l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->io = io;
	if (sort == SORT_BLOOM)
		load_chain(l);
	else
		load_tables(l);
	v = l->file ? open_file(l, &spot) : load_value(l, sort, &spot);
	if (!v)
		redis_LogIOError(io, "warning", "a filter cannot be loaded: its numbers contradict "
				 "each other, or there is no memory for it");
	for (unsigned i = 0; i < l->pieces; i++)
		redis_Free(l->bytes[i]);
	free(l);
	return v;
}

static void *load_bloom(struct redis_io *io, int version)
{
	return rdb_load(io, version, SORT_BLOOM);
}

static void *load_cuckoo(struct redis_io *io, int version)
{
	return rdb_load(io, version, SORT_CUCKOO);
}

/* ---- The append-only file, digests ---- */

struct emitting {
	struct redis_io *io;
	struct redis_string *key;
	const char *command;
	long long end;
};

static int emit(struct stream *s, const void *bytes, size_t count)
{
	struct emitting *e = s->context;

	e->end += s->head ? 1 : (long long)count;
	redis_EmitAOF(e->io, e->command, "slb", e->key, e->end, bytes, count);
	return 0;
}

static void aof_rewrite(struct redis_io *io, struct redis_string *key, void *value)
{
	const struct value *v = value;
	struct emitting e = { .io = io, .key = key, .command = v->sort == SORT_BLOOM
		? "BF.LOADCHUNK" : "CF.LOADCHUNK" };
	struct stream s = { .put = emit, .context = &e };
	int r = value_stream(v, &s);

	if (r < 0)
		redis_LogIOError(io, "warning", "a filter was not rewritten whole: %s",
				 blm_strerror(r));
}

static int digest_piece(struct stream *s, const void *bytes, size_t count)
{
	redis_DigestAddStringBuffer(s->context, bytes, count);
	return 0;
}

static void digest(struct redis_digest *d, void *value)
{
	struct stream s = { .put = digest_piece, .context = d };

	value_stream(value, &s);
	redis_DigestEndSequence(d);
}

/* ---- Types ---- */

static void *copy(struct redis_string *from, struct redis_string *to, const void *value)
{
	return value_copy(value, &(struct spot){ .key = to, .copied = true });
}

/*
 * Without free_effort() the server calls this in the main thread also for UNLINK, so that the name
 * of the file is free when the key is gone. discard() does what takes long.
 */
static void free_value(void *value)
{
	value_free(value);
}

static size_t mem_usage(const void *value)
{
	return value_bytes(value);
}

const char *const type_names[] = { "MBbloom--", "MBbloomCF", "bloomery1" };
const unsigned type_encodings[] = { ENCODING, ENCODING, FILTER_ENCODING };

bool types_create(struct redis_ctx *ctx)
{
	struct redis_type_methods bloom = {
		.version = METHODS_VERSION, .rdb_load = load_bloom, .rdb_save = rdb_save,
		.aof_rewrite = aof_rewrite, .mem_usage = mem_usage, .digest = digest,
		.free = free_value, .copy = copy,
	}, cuckoo = bloom, filter = bloom;
	struct redis_type_methods *const methods[] = { &bloom, &cuckoo, &filter };

	cuckoo.rdb_load = load_cuckoo;
	filter.rdb_load = filter_load;
	filter.rdb_save = filter_save;
	filter.aof_rewrite = filter_rewrite;
	filter.digest = filter_digest;
	for (unsigned i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		value_types[i] = redis_CreateDataType(ctx, type_names[i], (int)type_encodings[i],
						      methods[i]);
		if (!value_types[i])
			return false;
	}
	return true;
}
