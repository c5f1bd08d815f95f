/* filter.c - filters of any kind as values */
#include "cuckoo.h"
#include "discard.h"
#include "filter.h"
#include "persist.h"
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SAVED_BLOOM: the parameters of BF.INSERT; one of the others follows them */
enum { SAVED_ATTACHED, SAVED_OWNED, SAVED_FILE, SAVED_BLOOM };

/* 0 for no kind. */
static unsigned can_of(const char *kind)
{
	struct blm_kind_info info;

	for (size_t i = 0; blm_kind_list(i, &info) == 0; i++)
		if (!strcmp(info.name, kind))
			return info.can;
	return 0;
}

bool filter_sets_bits(const char *kind)
{
	return can_of(kind) & BLM_ONLY_SETS;
}

bool filter_is_both_ways(const char *kind)
{
	unsigned can = can_of(kind);

	return can & (BLM_CAN_ADD | BLM_CAN_PUT) && !(can & (BLM_ONLY_SETS | BLM_FORGETS));
}

int filter_before_change(struct redis_ctx *ctx, struct value *v)
{
	unsigned now = forks_seen();
	struct blm_filter *copy;
	int r;

	if (!v->both_ways || v->forks == now)
		return 0;
	if (redis_GetContextFlags(ctx) & REDIS_ACTIVE_CHILD) {
		r = blm_copy(&copy, NULL, NULL, v->f, 0);
		if (r < 0)
			return r;
		discard(v->f);
		v->f = copy;
	}
	v->forks = now;
	return 0;
}

/* Local processes could change a file while a child saves it, so it is in memory. */
static struct value *make_both_ways(store_maker *make, const void *context)
{
	struct value *v = value_new(SORT_FILTER);

	if (!v)
		return NULL;
	v->both_ways = true;
	v->forks = forks_seen();
	return store_make(v, &(struct spot){ 0 }, make, context) < 0 ? value_free(v) : v;
}

int filter_attach(struct value *v, const char *name)
{
	v->owned = false;
	v->name = strdup(name);
	return v->name ? filter_open(v) : -ENOMEM;
}

int filter_open(struct value *v)
{
	int r = store ? blm_open(&v->f, store, v->name, BLM_OPEN_WRITE) : -ENOENT;

	return r == -EROFS ? blm_open(&v->f, store, v->name, 0) : r;
}

static int create(struct blm_filter **ret, struct blm_store *to, const char *name,
		  const void *context)
{
	return blm_create(ret, to, name, context);
}

struct value *filter_new(const struct blm_params *params, const struct spot *spot)
{
	struct value *v;

	if (params->kind && filter_is_both_ways(params->kind))
		return make_both_ways(create, params);
	v = value_new(SORT_FILTER);
	if (!v)
		return NULL;
	return store_make(v, spot, create, params) < 0 ? value_free(v) : v;
}

static int make_like(struct blm_filter **ret, struct blm_store *to, const char *name,
		     const void *context)
{
	return blm_template(ret, to, name, context, 0);
}

struct value *filter_like(const struct value *from, const struct spot *spot)
{
	struct value *v = value_new(SORT_FILTER);

	if (!v)
		return NULL;
	return store_make(v, spot, make_like, from->f) < 0 ? value_free(v) : v;
}

/* ---- Saving and loading ---- */

#define OWN "bloomery"

struct bytes {
	const char *format;
	const void *bytes;
	size_t count;
};

static int import(struct blm_filter **ret, struct blm_store *to, const char *name,
		  const void *context)
{
	const struct bytes *b = context;
	struct blm_exchange how = BLM_EXCHANGE(.format = b->format);

	return blm_import_bytes(ret, to, name, &how, b->bytes, b->count);
}

struct value *filter_import(const char *format, const void *bytes, size_t count,
			    const struct spot *spot)
{
	struct bytes b = { format, bytes, count };
	struct blm_info info = BLM_INFO;
	struct value *v = value_new(SORT_FILTER);

	if (!v)
		return NULL;
	if (store_make(v, spot, import, &b) < 0 || blm_info(v->f, &info) < 0)
		return value_free(v);
	if (filter_sets_bits(info.kind))
		return v;
	store_unmake(v);
	value_free(v);
	return filter_is_both_ways(info.kind) ? make_both_ways(import, &b) : NULL;
}

static int export(const struct value *v, void **ret, size_t *ret_count)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = OWN);
	struct blm_info info = BLM_INFO;
	int r = v->f ? blm_info(v->f, &info) : -ENOENT;

	if (r == 0 && !v->both_ways && !filter_sets_bits(info.kind))
		r = -ENOTSUP;		/* a local process replaced it; it could not be loaded */
	return r < 0 ? r : blm_export_bytes(v->f, &how, ret, ret_count);
}

void filter_save(struct redis_io *io, void *value)
{
	const struct value *v = value;
	uint8_t uuid[UUID];
	void *bytes = NULL;
	size_t count = 0;
	int r;

	if (v->capacity) {
		redis_SaveUnsigned(io, SAVED_BLOOM);
		redis_SaveUnsigned(io, v->fixed);
		redis_SaveUnsigned(io, v->capacity);
		redis_SaveUnsigned(io, v->expansion);
		redis_SaveDouble(io, v->rate);
		redis_SaveDouble(io, v->tightening);
	}
	if (persist_refers(io, v, uuid)) {
		redis_SaveUnsigned(io, SAVED_FILE);
		redis_SaveStringBuffer(io, (const char *)uuid, UUID);
		return;
	}
	redis_SaveUnsigned(io, v->owned ? SAVED_OWNED : SAVED_ATTACHED);
	if (!v->owned) {
		redis_SaveStringBuffer(io, v->name, strlen(v->name));
		return;
	}
	r = export(v, &bytes, &count);
	if (r < 0)
		redis_LogIOError(io, "warning", "a filter was not saved: %s", blm_strerror(r));
	redis_SaveStringBuffer(io, bytes ? bytes : "", count);
	blm_free(bytes);
}

bool filter_made_is_good(const struct filter_made *m)
{
	return m->capacity >= 1 && m->capacity <= BLM_CAPACITY_MAX && m->rate > 0 && m->rate < 1
		&& m->tightening > 0 && m->tightening < 1;
}

void filter_set_made(struct value *v, const struct filter_made *made)
{
	v->fixed = made->fixed;
	v->capacity = made->capacity;
	v->expansion = made->expansion;
	v->rate = made->rate;
	v->tightening = made->tightening;
}

/* A file is that of this server only where the server loads what it saved. */
static struct value *load_file(struct redis_io *io, const char *bytes, size_t count)
{
	struct spot spot = spot_of_io(io);
	struct value *v = count == UUID && spot.loading ? value_new(SORT_FILTER) : NULL;

	if (v)
		persist_open(io, v, (const uint8_t *)bytes, &spot);
	return v;
}

static struct value *load(struct redis_io *io, bool owned, const char *bytes, size_t count)
{
	struct spot spot = spot_of_io(io);
	char name[BLM_NAME_MAX + 1];
	struct value *v;

	if (!spot.loading && !value_has_space()) {
		redis_LogIOError(io, "warning", NO_DESCRIPTORS);
		return NULL;
	}
	if (owned && !count) {
		redis_LogIOError(io, "warning", "a filter had not been saved: its key answers with "
				 "errors");
		return value_new(SORT_FILTER);
	}
	if (owned)
		return filter_import(OWN, bytes, count, &spot);
	if (!count || count > BLM_NAME_MAX || memchr(bytes, 0, count))
		return NULL;
	memcpy(name, bytes, count);
	name[count] = '\0';
	if (store_owns(name))
		return NULL;
	v = value_new(SORT_FILTER);
	if (v && filter_attach(v, name) < 0)
		redis_LogIOError(io, "warning", "%s: the store has no such filter: its key answers "
				 "with errors", name);
	return v && v->name ? v : value_free(v);
}

static bool load_made(struct redis_io *io, struct filter_made *ret)
{
	uint64_t fixed = redis_LoadUnsigned(io);
	uint64_t capacity = redis_IsIOError(io) ? 0 : redis_LoadUnsigned(io),
		expansion = redis_IsIOError(io) ? 0 : redis_LoadUnsigned(io);
	double rate = redis_IsIOError(io) ? 0 : redis_LoadDouble(io),
		tightening = redis_IsIOError(io) ? 0 : redis_LoadDouble(io);

	*ret = (struct filter_made){ .fixed = fixed, .capacity = capacity,
		.expansion = (unsigned)expansion, .rate = rate, .tightening = tightening };
	return !redis_IsIOError(io) && fixed <= 1 && expansion <= UINT32_MAX 
		&& filter_made_is_good(ret);
}

void *filter_load(struct redis_io *io, int version)
{
	uint64_t saved = version == FILTER_ENCODING ? redis_LoadUnsigned(io) : UINT64_MAX;
	struct filter_made made = { 0 };
	struct value *v = NULL;
	size_t count;
	char *bytes;

	if (saved == SAVED_BLOOM && !redis_IsIOError(io))
		saved = load_made(io, &made) ? redis_LoadUnsigned(io) : UINT64_MAX;
	if (saved > SAVED_FILE || redis_IsIOError(io))
		return NULL;
	bytes = redis_LoadStringBuffer(io, &count);
	if (bytes && !redis_IsIOError(io))
		v = saved == SAVED_FILE ? load_file(io, bytes, count)
			: load(io, saved == SAVED_OWNED, bytes, count);
	if (bytes)
		redis_Free(bytes);
	if (v && made.capacity)
		filter_set_made(v, &made);
	return v;
}

void filter_rewrite(struct redis_io *io, struct redis_string *key, void *value)
{
	const struct value *v = value;
	char rate[32], tightening[32];
	void *bytes;
	size_t count;
	int r;

	if (!v->owned) {
		redis_EmitAOF(io, "BLM.ATTACH", "sc", key, v->name);
		return;
	}
	r = export(v, &bytes, &count);
	if (r < 0) {
		redis_LogIOError(io, "warning", "a filter was not rewritten: %s", blm_strerror(r));
		return;
	}
	if (v->capacity) {
		snprintf(rate, sizeof(rate), "%.17g", v->rate);
		snprintf(tightening, sizeof(tightening), "%.17g", v->tightening);
		redis_EmitAOF(io, "BLM.LOAD", "sbcllcc", key, bytes, count,
			      v->fixed ? "NONSCALING" : "SCALING", (long long)v->capacity,
			      (long long)v->expansion, rate, tightening);
	} else {
		redis_EmitAOF(io, "BLM.LOAD", "sb", key, bytes, count);
	}
	blm_free(bytes);
}

void filter_digest(struct redis_digest *d, void *value)
{
	const struct value *v = value;
	uint8_t piece[4096];
	struct blm_info info = BLM_INFO;

	if (v->f && blm_info(v->f, &info) == 0)
		for (uint64_t at = 0, n; at < info.data_bytes; at += n) {
			n = info.data_bytes - at;
			n = n < sizeof(piece) ? n : sizeof(piece);
			if (blm_data_read(v->f, at, piece, n) < 0)
				break;
			redis_DigestAddStringBuffer(d, (const char *)piece, n);
		}
	redis_DigestEndSequence(d);
}
