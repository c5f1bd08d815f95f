/* pending.c - values that arrive by LOADCHUNK: the header, then the data piece after piece */
#include "cuckoo.h"
#include "payload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The most cells that CF.RESERVE makes. Larger filters come with their data. */
enum { EMPTY_MOST = INT32_MAX };

struct pending {
	struct head h;
	uint8_t *data;			/* as much of it as has come */
	uint64_t have, capacity;
};

uint64_t pending_bytes(const struct pending *p)
{
	return sizeof(*p) + p->capacity;
}

void pending_free(struct pending *p)
{
	if (!p)
		return;
	free(p->data);
	free(p);
}

struct pending *pending_copy(const struct pending *p)
{
	struct pending *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *p;
	copy->capacity = p->have;
	copy->data = malloc(p->have + 1);
	if (!copy->data) {
		free(copy);
		return NULL;
	}
	if (p->have)
		memcpy(copy->data, p->data, p->have);
	return copy;
}

struct value *pending_begin(enum sort sort, const void *head, size_t count)
{
	struct head h;
	struct value *v;

	if (!head_read(&h, sort, head, count))
		return NULL;
	/* SCANDUMP of an empty cuckoo filter has no chunks */
	if (sort == SORT_CUCKOO && !h.keys)
		return h.data <= EMPTY_MOST ? cuckoo_new(&h.tables) : NULL;
	v = value_new(sort);
	if (!v)
		return NULL;
	v->pending = calloc(1, sizeof(*v->pending));
	if (!v->pending)
		return value_free(v);
	v->pending->h = h;
	return v;
}

/* Room grows with what comes, not with what the header promises. */
static int make_space(struct pending *p, uint64_t bytes)
{
	uint64_t capacity = p->capacity * 2 < p->h.data ? p->capacity * 2 : p->h.data;
	uint8_t *more;

	if (bytes <= p->capacity)
		return 0;
	capacity = capacity < bytes ? bytes : capacity;
	more = realloc(p->data, capacity);
	if (!more)
		return -ENOMEM;
	p->data = more;
	p->capacity = capacity;
	return 0;
}

static int finish(struct value *v, const struct spot *spot)
{
	const struct pending *p = v->pending;
	struct piece whole = { p->data, p->h.data };
	struct value *done = value_import(v->sort, &p->h, &whole, 1, spot);

	if (!done)
		return -EBADMSG;
	pending_free(v->pending);
	*v = *done;
	free(done);
	return 0;
}

int pending_take(struct value *v, uint64_t end, const void *bytes, size_t count,
		 const struct spot *spot)
{
	struct pending *p = v->pending;
	uint64_t at = end - 1 - count;
	int r;

	if (end < 1 || count > end - 1 || at > p->have)
		return -ERANGE;
	if (count > p->h.data - at)
		return -EFBIG;
	r = make_space(p, at + count);
	if (r < 0)
		return r;
	if (count)
		memcpy(p->data + at, bytes, count);
	p->have = at + count > p->have ? at + count : p->have;
	return p->have == p->h.data ? finish(v, spot) : 0;
}

/* What has come so far, in the same order. */
int pending_stream(const struct pending *p, enum sort sort, struct stream *s)
{
	uint64_t at = 0, end = 0;
	int r;

	s->head = true;
	r = s->put(s, p->h.bytes, p->h.count);
	s->head = false;
	for (unsigned i = 0; r == 0 && at < p->have; i++) {
		end += head_piece(&p->h, sort, i);
		while (r == 0 && at < end && at < p->have) {
			uint64_t count = (end < p->have ? end : p->have) - at;

			count = count < CHUNK_MOST ? count : CHUNK_MOST;
			r = s->put(s, p->data + at, count);
			at += count;
		}
	}
	return r;
}
