/* stream.c - a value as its header and its data, and a value made of them */
#include "cuckoo.h"
#include "payload.h"
#include "store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const formats[] = { "redisbloom", "redisbloom-cf" };

/* ---- Out ---- */

/* The library's header has the expansion that it uses, not the one that was asked for. */
static bool correct(struct head *ret, const struct value *v, const void *bytes, size_t count)
{
	if (!head_read(ret, SORT_BLOOM, bytes, count))
		return false;
	ret->growth = v->expansion;
	chain_put(ret);
	return true;
}

struct out {
	const struct value *v;
	struct stream *to;
	bool begun;
};

static int put(void *context, const void *bytes, size_t count)
{
	struct out *out = context;
	struct head h;
	int r;

	if (out->begun)
		return out->to->put(out->to, bytes, count);
	if (!correct(&h, out->v, bytes, count))
		return -EBADMSG;
	out->begun = true;
	out->to->head = true;
	r = out->to->put(out->to, h.bytes, h.count);
	out->to->head = false;
	return r;
}

int value_stream(const struct value *v, struct stream *s)
{
	struct out out = { .v = v, .to = s };
	struct blm_exchange how = BLM_EXCHANGE(.format = formats[SORT_BLOOM]);

	if (v->pending)
		return pending_stream(v->pending, v->sort, s);
	if (v->sort == SORT_CUCKOO)
		return cuckoo_stream(v, s);
	if (!v->f)
		return -ENOENT;
	return blm_export(v->f, &how, put, &out);
}

static int keep_head(struct stream *s, const void *bytes, size_t count)
{
	struct head *h = s->context;

	memcpy(h->bytes, bytes, count);
	h->count = count;
	return -ECANCELED;
}

int head_of(struct head *ret, const struct value *v)
{
	struct head came = { 0 };
	struct stream s = { .put = keep_head, .context = &came };
	int r;

	if (v->sort == SORT_CUCKOO) {
		*ret = (struct head){ .tables = v->tables, .data = cuckoo_cells(&v->tables),
				      .keys = cuckoo_keys(v) };
		tables_put(ret);
		return 0;
	}
	r = value_stream(v, &s);
	if (r != -ECANCELED)
		return r < 0 ? r : -EBADMSG;
	return head_read(ret, v->sort, came.bytes, came.count) ? 0 : -EBADMSG;
}

/* ---- In ---- */

struct in {
	enum sort sort;
	const struct head *h;
	const struct piece *pieces;	/* one after the other; zeros after the last */
	unsigned count, piece;
	uint64_t at;			/* in the header, then in the piece */
	uint64_t given;			/* of the header and of all pieces */
	bool begun;
};

static int64_t read_in(void *context, void *buffer, size_t bytes)
{
	struct in *in = context;
	uint64_t all = in->h->count + in->h->data, left = all - in->given;
	const uint8_t *from = in->begun ? NULL : in->h->bytes;
	uint64_t here = in->begun ? left : in->h->count;

	for (; in->begun && in->piece < in->count; in->piece++, in->at = 0) {
		from = in->pieces[in->piece].bytes;
		here = in->pieces[in->piece].count;
		if (in->at < here)
			break;
		from = NULL;
		here = left;
	}
	here -= from ? in->at : 0;
	here = here < left ? here : left;
	here = here < bytes ? here : bytes;
	if (from)
		memcpy(buffer, from + in->at, here);
	else
		memset(buffer, 0, here);
	in->at += from ? here : 0;
	in->given += here;
	if (!in->begun && in->at == in->h->count) {
		in->begun = true;
		in->at = 0;
	}
	return (int64_t)here;
}

static int import(struct blm_filter **ret, struct blm_store *to, const char *name,
		  const void *context)
{
	struct in in = *(const struct in *)context;
	struct blm_exchange how = BLM_EXCHANGE(.format = formats[in.sort]);

	return blm_import(ret, to, name, &how, read_in, &in);
}

int payload_import(struct blm_filter **ret, enum sort sort, const struct head *h,
		   const struct piece *piece)
{
	return import(ret, NULL, NULL, &(struct in){ .sort = sort, .h = h, .pieces = piece,
						     .count = 1 });
}

struct value *value_import(enum sort sort, const struct head *h, const struct piece *pieces,
			   unsigned count, const struct spot *spot)
{
	struct in in = { .sort = sort, .h = h, .pieces = pieces, .count = count };
	struct value *v = sort == SORT_CUCKOO ? NULL : value_new(sort);
	struct link first;

	if (sort == SORT_CUCKOO)
		return cuckoo_import(h, pieces, count);
	if (!v)
		return NULL;
	link_get(&first, h, 0);
	v->fixed = head_is_fixed(h);
	v->capacity = first.entries;
	v->expansion = h->growth;
	return store_make(v, spot, import, &in) < 0 ? value_free(v) : v;
}
