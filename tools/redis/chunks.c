/*
 * chunks.c - SCANDUMP and LOADCHUNK: a filter in pieces that a client carries from server to server
 *
 * The iterator of the header is 1, that of a piece of data 1 more than the bytes of data up to its
 * end. A key whose data have not all come answers other commands with an error.
 */
#include "chunks.h"
#include "command.h"
#include "cuckoo.h"

#include <errno.h>

/* ---- Out ---- */

struct scan {
	struct redis_ctx *ctx;
	uint64_t iter, at;		/* of the next piece of the stream */
	bool found;
};

/* The piece with that iterator, from there to its end. */
static int scan(struct stream *s, const void *bytes, size_t count)
{
	struct scan *scan = s->context;
	uint64_t skip = scan->iter - scan->at;

	if (s->head && scan->iter)
		count = 0;
	if (s->head)
		scan->at = 1;
	if (skip >= count || (!s->head && !scan->iter)) {
		scan->at += s->head ? 0 : count;
		return 0;
	}
	redis_ReplyWithArray(scan->ctx, 2);
	redis_ReplyWithLongLong(scan->ctx, s->head ? 1 : (long long)(scan->at + count));
	redis_ReplyWithStringBuffer(scan->ctx, (const char *)bytes + skip, count - skip);
	scan->found = true;
	return -ECANCELED;
}

static int scan_end(struct redis_ctx *ctx, enum sort sort)
{
	redis_ReplyWithArray(ctx, 2);
	redis_ReplyWithLongLong(ctx, 0);
	return sort == SORT_BLOOM ? redis_ReplyWithStringBuffer(ctx, "", 0)
		: redis_ReplyWithNull(ctx);
}

static int scandump(struct redis_ctx *ctx, struct redis_string **argv, int argc, enum sort sort)
{
	struct scan scanning = { .ctx = ctx };
	struct stream s = { .put = scan, .context = &scanning };
	struct value *v;
	long long iter;
	int r;

	if (argc != 3)
		return redis_WrongArity(ctx);
	if (redis_StringToLongLong(argv[2], &iter) != REDIS_OK
	    || (sort == SORT_CUCKOO && iter < 0))
		return reply_error(ctx, sort == SORT_BLOOM ? "Second argument must be numeric"
				   : "Invalid position");
	if (!key_get(ctx, argv[1], REDIS_READ, 1U << sort, &v))
		return REDIS_OK;
	if (iter < 0 || (sort == SORT_CUCKOO && !cuckoo_keys(v)))
		return scan_end(ctx, sort);
	scanning.iter = (uint64_t)iter;
	s.from = iter ? (uint64_t)iter - 1 : 0;
	r = value_stream(v, &s);
	if (scanning.found)
		return REDIS_OK;
	return r < 0 ? reply_failure(ctx, r) : scan_end(ctx, sort);
}

int bf_scandump(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	return scandump(ctx, argv, argc, SORT_BLOOM);
}

int cf_scandump(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	return scandump(ctx, argv, argc, SORT_CUCKOO);
}

/* ---- In ---- */

/* A chunk of data. Return: NULL, or the error to reply. */
static const char *take(struct redis_ctx *ctx, struct redis_string **argv, struct opened *o,
			uint64_t iter)
{
	bool bloom = o->v->sort == SORT_BLOOM;
	struct spot spot = spot_of(ctx, argv[1]);
	size_t count;
	const char *bytes = redis_StringPtrLen(argv[3], &count);
	int r = o->v->pending ? pending_take(o->v, iter, bytes, count, &spot) : -ERANGE;

	if (r == -ERANGE)
		return bloom ? "ERR invalid offset - no link found" : "Couldn't load chunk!";
	if (r == -EFBIG)
		return bloom ? "ERR invalid chunk - Too big for current filter"
			: "Couldn't load chunk!";
	if (r == -EBADMSG) {		/* all of it is here, and it is no filter */
		redis_DeleteKey(o->key);
		redis_ReplicateVerbatim(ctx);
		return bloom ? "ERR received bad data" : "Couldn't load chunk!";
	}
	return r < 0 ? "ERR out of memory" : NULL;
}

static const char *begin(struct redis_string **argv, struct opened *o, enum sort sort)
{
	size_t count;
	const char *bytes = redis_StringPtrLen(argv[3], &count);
	struct value *v = pending_begin(sort, bytes, count);

	if (!v && sort == SORT_BLOOM)
		return "ERR received bad data";
	if (!v)
		return count == CUCKOO_HEAD ? "Couldn't create filter!" : "Invalid header";
	redis_ModuleTypeSetValue(o->key, value_types[sort], v);
	return NULL;
}

static int loadchunk(struct redis_ctx *ctx, struct redis_string **argv, int argc, enum sort sort)
{
	const char *error = no_space(ctx);
	struct opened o;
	long long iter;

	if (argc != 4)
		return redis_WrongArity(ctx);
	if (redis_StringToLongLong(argv[2], &iter) != REDIS_OK
	    || (sort == SORT_CUCKOO && iter <= 0))
		return reply_error(ctx, sort == SORT_BLOOM ? "ERR Second argument must be numeric"
				   : "Invalid position");
	if (error)
		return reply_error(ctx, error);
	o = key_open(ctx, argv[1], REDIS_READ | REDIS_WRITE, 1U << sort);
	if (o.found == FOUND_OTHER)
		reply_wrong_type(ctx);
	else if (o.found == FOUND_NONE)
		error = iter == 1 ? begin(argv, &o, sort) : "ERR not found";
	else if (sort == SORT_CUCKOO && iter == 1)
		error = "ERR item exists";
	else
		error = take(ctx, argv, &o, iter < 0 ? 0 : (uint64_t)iter);
	key_close(&o);
	if (o.found == FOUND_OTHER)
		return REDIS_OK;
	if (error)
		return reply_error(ctx, error);
	redis_ReplicateVerbatim(ctx);
	return redis_ReplyWithSimpleString(ctx, "OK");
}

int bf_loadchunk(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	return loadchunk(ctx, argv, argc, SORT_BLOOM);
}

int cf_loadchunk(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	return loadchunk(ctx, argv, argc, SORT_CUCKOO);
}
