/* cuckoo.c - cuckoo filters as chains of tables */
#include "cuckoo.h"
#include "discard.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * The mapping of a table is shared with a child of the server that saves the data, not copied on
 * write. A change that the child saves, and that comes again from the replication stream or from
 * the append-only file, would count twice. So the parent changes a copy while there is a child: the
 * old mapping is the child's snapshot.
 */
struct table {
	struct blm_filter *f;
	unsigned forks;			/* of the server, at the last change */
};

static unsigned forks;

static void count_fork(void)
{
	__atomic_fetch_add(&forks, 1, __ATOMIC_RELAXED);
}

unsigned forks_seen(void)
{
	return __atomic_load_n(&forks, __ATOMIC_RELAXED);
}

int cuckoo_watch_forks(void)
{
	return pthread_atfork(NULL, count_fork, NULL);
}

static int before_change(struct redis_ctx *ctx, struct table *t)
{
	unsigned now = forks_seen();
	struct blm_filter *copy;
	int r;

	if (t->forks == now)
		return 0;
	if (redis_GetContextFlags(ctx) & REDIS_ACTIVE_CHILD) {
		r = blm_copy(&copy, NULL, NULL, t->f, 0);
		if (r < 0)
			return r;
		discard(t->f);
		t->f = copy;
	}
	t->forks = now;
	return 0;
}

/* ---- Making ---- */

uint64_t cuckoo_cells(const struct cuckoo_tables *t)
{
	uint64_t sum = 0, here = t->buckets;

	if (!t->buckets || t->buckets & (t->buckets - 1) || t->buckets > UINT64_C(1) << 32
	    || t->slots < 1 || t->slots > 255 || t->iterations < 1 || t->count < 1
	    || t->count > TABLES_MOST || (!t->expansion && t->count > 1)
	    || (t->expansion & (t->expansion - 1)) || t->expansion > 32768)
		return 0;
	for (unsigned i = 0; i < t->count; i++, here *= t->expansion) {
		if (here > (UINT64_C(1) << 32) / t->slots)
			return 0;
		sum += here * t->slots;
	}
	return sum;
}

static uint64_t cells_of(const struct cuckoo_tables *t, unsigned i)
{
	return head_piece(&(struct head){ .tables = *t }, SORT_CUCKOO, i);
}

static int make_table(struct value *v, unsigned i)
{
	const struct cuckoo_tables *t = &v->tables;
	char options[64];
	struct blm_params p = BLM_PARAMS(.kind = "redis-cuckoo", .options = options,
		.cells = cells_of(t, i), .sparse = true, .no_checkpoint = true);

	snprintf(options, sizeof(options), "bucket-size=%u,iterations=%u", t->slots,
		 t->iterations);
	v->chain[i].forks = forks_seen();
	return blm_create(&v->chain[i].f, NULL, NULL, &p);
}

static struct value *begin(const struct cuckoo_tables *tables)
{
	struct value *v = cuckoo_cells(tables) ? value_new(SORT_CUCKOO) : NULL;

	if (!v)
		return NULL;
	v->tables = *tables;
	v->chain = calloc(TABLES_MOST, sizeof(*v->chain));
	return v->chain ? v : value_free(v);
}

struct value *cuckoo_new(const struct cuckoo_tables *tables)
{
	struct value *v = begin(tables);

	for (unsigned i = 0; v && i < tables->count; i++)
		if (make_table(v, i) < 0)
			v = value_free(v);
	return v;
}

void cuckoo_free(struct value *v)
{
	for (unsigned i = 0; v->chain && i < TABLES_MOST; i++)
		discard(v->chain[i].f);
	free(v->chain);
}

int cuckoo_copy(struct value *to, const struct value *from)
{
	int r = 0;

	to->chain = calloc(TABLES_MOST, sizeof(*to->chain));
	if (!to->chain)
		return -ENOMEM;
	for (unsigned i = 0; r == 0 && i < from->tables.count; i++) {
		to->chain[i].forks = forks_seen();
		r = blm_copy(&to->chain[i].f, NULL, NULL, from->chain[i].f, 0);
	}
	return r;
}

int cuckoo_grow(struct value *v)
{
	struct cuckoo_tables more = v->tables;
	int r;

	more.count++;
	if (!cuckoo_cells(&more))
		return -EFBIG;
	r = make_table(v, v->tables.count);
	if (r == 0)
		v->tables.count++;
	return r;
}

/* ---- Keys ---- */

/* True if every cell has a key, so that a search for room is in vain. */
static bool is_full(const struct value *v, unsigned i)
{
	uint64_t keys;

	return blm_count(v->chain[i].f, &keys, &(bool){ false }) == 0
		&& keys >= cells_of(&v->tables, i);
}

int cuckoo_add(struct redis_ctx *ctx, struct value *v, const void *bytes, size_t len)
{
	int r = -EXFULL;

	for (unsigned i = v->tables.count; r == -EXFULL && i--; ) {
		if (is_full(v, i))
			continue;
		r = before_change(ctx, &v->chain[i]);
		if (r == 0)
			r = blm_add(v->chain[i].f, bytes, len);
	}
	return r;
}

int cuckoo_remove(struct redis_ctx *ctx, struct value *v, const void *bytes, size_t len)
{
	int r = 0;

	for (unsigned i = v->tables.count; r == 0 && i--; ) {
		if (!blm_contains(v->chain[i].f, bytes, len))
			continue;
		r = before_change(ctx, &v->chain[i]);
		if (r == 0)
			r = blm_remove(v->chain[i].f, bytes, len);
	}
	v->tables.deletes += r > 0;
	return r;
}

bool cuckoo_contains(const struct value *v, const void *bytes, size_t len)
{
	for (unsigned i = v->tables.count; i--; )
		if (blm_contains(v->chain[i].f, bytes, len))
			return true;
	return false;
}

uint64_t cuckoo_count(const struct value *v, const void *bytes, size_t len)
{
	uint64_t sum = 0, here;

	for (unsigned i = 0; i < v->tables.count; i++)
		if (blm_get(v->chain[i].f, bytes, len, &here) > 0)
			sum += here;
	return sum;
}

uint64_t cuckoo_keys(const struct value *v)
{
	uint64_t sum = 0, here;

	for (unsigned i = 0; i < v->tables.count; i++)
		if (blm_count(v->chain[i].f, &here, &(bool){ false }) == 0)
			sum += here;
	return sum;
}

uint64_t cuckoo_bytes(const struct value *v)
{
	uint64_t sum = TABLES_MOST * sizeof(*v->chain);

	for (unsigned i = 0; i < v->tables.count; i++) {
		struct blm_info info = BLM_INFO;

		if (blm_info(v->chain[i].f, &info) == 0)
			sum += info.bytes;
	}
	return sum;
}

/* ---- Bytes ---- */

static int stream_table(const struct value *v, unsigned i, struct stream *s, uint64_t *at)
{
	uint64_t cells = cells_of(&v->tables, i);
	size_t bytes = cells < CHUNK_MOST ? cells : CHUNK_MOST;
	uint8_t *piece = malloc(bytes);
	int r = piece ? 0 : -ENOMEM;

	for (uint64_t done = 0; r == 0 && done < cells; done += bytes) {
		bytes = cells - done < bytes ? cells - done : bytes;
		*at += bytes;
		if (*at > s->from)
			r = blm_data_read(v->chain[i].f, done, piece, bytes);
		if (r == 0)
			r = s->put(s, piece, bytes);
	}
	free(piece);
	return r;
}

int cuckoo_stream(const struct value *v, struct stream *s)
{
	struct head h;
	uint64_t at = 0;
	int r = head_of(&h, v);

	s->head = true;
	if (r == 0)
		r = s->put(s, h.bytes, h.count);
	s->head = false;
	for (unsigned i = 0; r == 0 && i < v->tables.count; i++)
		r = stream_table(v, i, s, &at);
	return r;
}

static uint64_t full_cells(const uint8_t *bytes, size_t count)
{
	uint64_t full = 0;

	for (size_t i = 0; i < count; i++)
		full += bytes[i] != 0;
	return full;
}

/* Each table is imported by itself, so its header says how many keys it alone has. */
struct value *cuckoo_import(const struct head *h, const struct piece *pieces, unsigned count)
{
	struct value *v = begin(&h->tables);
	const uint8_t *from = pieces[0].bytes;
	int r = 0;

	for (unsigned i = 0; v && r == 0 && i < h->tables.count; i++) {
		struct head one = { .data = cells_of(&h->tables, i), .tables = h->tables };
		struct piece piece = { count > 1 ? pieces[i].bytes : from, one.data };

		one.tables.count = 1;
		one.tables.expansion = 1;
		one.tables.deletes = 0;
		one.tables.buckets = one.data / h->tables.slots;
		one.keys = full_cells(piece.bytes, one.data);
		tables_put(&one);
		v->chain[i].forks = forks_seen();
		r = payload_import(&v->chain[i].f, SORT_CUCKOO, &one, &piece);
		from += one.data;
	}
	return r < 0 ? value_free(v) : v;
}
