/*
 * endpoints.c - where chains begin: memory, a caller's functions; and the reader that looks ahead
 */
#include "stream/stream.h"
#include "stream/sticky_error.h"

#define ERRNO_MOST 4095

static void *make(size_t bytes)
{
	void *made = calloc(1, bytes);

	if (!made)
		blm_fail(-ENOMEM, "out of memory");
	return made;
}

/* ---- Memory ---- */

struct memory_reader {
	struct blm_reader reader;
	struct blm_in left;
};

static int64_t memory_read(struct blm_reader *reader, void *buffer, size_t bytes)
{
	struct blm_out out = { buffer, bytes };

	blm_give(&out, &((struct memory_reader *)reader)->left);
	return (int64_t)(bytes - out.count);
}

static void memory_reader_close(struct blm_reader *reader)
{
	free(reader);
}

int blm_reader_memory(struct blm_reader **ret, const void *bytes, size_t count)
{
	struct memory_reader *m = make(sizeof(*m));

	*ret = NULL;
	if (!m)
		return -ENOMEM;
	m->reader = (struct blm_reader){ memory_read, memory_reader_close };
	m->left = (struct blm_in){ bytes, count };
	*ret = &m->reader;
	return 0;
}

struct memory_writer {
	struct blm_writer writer;
	struct blm_buffer *into;
};

static int memory_write(struct blm_writer *writer, const void *bytes, size_t count)
{
	struct blm_buffer *into = ((struct memory_writer *)writer)->into;
	size_t capacity = into->capacity ? into->capacity : 4096;
	uint8_t *grown;

	while (capacity - into->count < count && capacity <= SIZE_MAX / 2)
		capacity *= 2;
	if (capacity - into->count < count)
		return blm_fail(-ENOMEM, "out of memory");
	if (capacity > into->capacity) {
		grown = realloc(into->bytes, capacity);
		if (!grown)
			return blm_fail(-ENOMEM, "out of memory: no %zu bytes", capacity);
		into->bytes = grown;
		into->capacity = capacity;
	}
	if (count)
		memcpy(into->bytes + into->count, bytes, count);
	into->count += count;
	return 0;
}

static int memory_finish(struct blm_writer *writer)
{
	return 0;
}

static void memory_writer_close(struct blm_writer *writer)
{
	free(writer);
}

int blm_writer_memory(struct blm_writer **ret, struct blm_buffer *into)
{
	struct memory_writer *m = make(sizeof(*m));

	*ret = NULL;
	if (!m)
		return -ENOMEM;
	m->writer = (struct blm_writer){ memory_write, memory_finish, memory_writer_close };
	m->into = into;
	*ret = &m->writer;
	return 0;
}

/* ---- A caller's functions ---- */

struct calls_reader {
	struct blm_reader reader;
	int64_t (*call)(void *context, void *buffer, size_t bytes);
	void *context;
	char *display;
	struct blm_trouble trouble;
	bool ended;
};

static int64_t calls_read(struct blm_reader *reader, void *buffer, size_t bytes)
{
	struct calls_reader *c = (struct calls_reader *)reader;
	int64_t r;

	if (c->trouble.err)
		return blm_trouble_again(&c->trouble);
	if (c->ended || !bytes)
		return 0;
	r = c->call(c->context, buffer, bytes);
	c->ended = r == 0;
	if (r >= 0 && (uint64_t)r <= bytes)
		return r;
	r = r < 0 && r >= -ERRNO_MOST ? r : -EIO;
	return blm_trouble(&c->trouble, blm_fail((int)r, "%s: cannot read: %s", c->display,
						 strerror((int)-r)));
}

static void calls_reader_close(struct blm_reader *reader)
{
	struct calls_reader *c = (struct calls_reader *)reader;

	free(c->trouble.words);
	free(c->display);
	free(c);
}

int blm_reader_calls(struct blm_reader **ret,
		     int64_t (*read)(void *context, void *buffer, size_t bytes), void *context,
		     const char *display)
{
	struct calls_reader *c = make(sizeof(*c));

	*ret = NULL;
	if (!c)
		return -ENOMEM;
	*c = (struct calls_reader){ { calls_read, calls_reader_close }, read, context,
				    strdup(display) };
	if (!c->display) {
		calls_reader_close(&c->reader);
		return blm_fail(-ENOMEM, "%s: out of memory", display);
	}
	*ret = &c->reader;
	return 0;
}

struct calls_writer {
	struct blm_writer writer;
	int (*call)(void *context, const void *bytes, size_t count);
	void *context;
	char *display;
	struct blm_trouble trouble;
};

static int calls_write(struct blm_writer *writer, const void *bytes, size_t count)
{
	struct calls_writer *c = (struct calls_writer *)writer;
	int r;

	if (c->trouble.err)
		return blm_trouble_again(&c->trouble);
	r = count ? c->call(c->context, bytes, count) : 0;
	if (r >= 0)
		return 0;
	r = r >= -ERRNO_MOST ? r : -EIO;
	return blm_trouble(&c->trouble, blm_fail(r, "%s: cannot write: %s", c->display,
						 strerror(-r)));
}

static int calls_finish(struct blm_writer *writer)
{
	struct calls_writer *c = (struct calls_writer *)writer;

	return c->trouble.err ? blm_trouble_again(&c->trouble) : 0;
}

static void calls_writer_close(struct blm_writer *writer)
{
	struct calls_writer *c = (struct calls_writer *)writer;

	free(c->trouble.words);
	free(c->display);
	free(c);
}

int blm_writer_calls(struct blm_writer **ret,
		     int (*write)(void *context, const void *bytes, size_t count), void *context,
		     const char *display)
{
	struct calls_writer *c = make(sizeof(*c));

	*ret = NULL;
	if (!c)
		return -ENOMEM;
	*c = (struct calls_writer){ { calls_write, calls_finish, calls_writer_close }, write,
				    context, strdup(display) };
	if (!c->display) {
		calls_writer_close(&c->writer);
		return blm_fail(-ENOMEM, "%s: out of memory", display);
	}
	*ret = &c->writer;
	return 0;
}

/* ---- Looking ahead ---- */

struct peeking {
	struct blm_reader reader;
	struct blm_reader *from;
	struct blm_in seen;	/* in `block`: shown and not yet taken */
	uint8_t block[BLM_PEEK_MOST];
};

static int64_t peeking_read(struct blm_reader *reader, void *buffer, size_t bytes)
{
	struct peeking *p = (struct peeking *)reader;
	struct blm_out out = { buffer, bytes };

	if (!p->seen.count)
		return p->from->read(p->from, buffer, bytes);
	blm_give(&out, &p->seen);
	return (int64_t)(bytes - out.count);
}

int64_t blm_reader_peek(struct blm_reader *peeking, const uint8_t **ret, size_t bytes)
{
	struct peeking *p = (struct peeking *)peeking;
	int64_t r = 1;

	assert(peeking->read == peeking_read && bytes <= BLM_PEEK_MOST);
	if (p->seen.count && p->seen.at != p->block)
		memmove(p->block, p->seen.at, p->seen.count);
	p->seen.at = p->block;
	while (p->seen.count < bytes && r > 0) {
		r = p->from->read(p->from, p->block + p->seen.count, bytes - p->seen.count);
		if (r < 0)
			return r;
		p->seen.count += (size_t)r;
	}
	*ret = p->block;
	return (int64_t)(p->seen.count < bytes ? p->seen.count : bytes);
}

static void peeking_close(struct blm_reader *reader)
{
	blm_reader_close(((struct peeking *)reader)->from);
	free(reader);
}

int blm_reader_peeking(struct blm_reader **top)
{
	struct peeking *p = make(sizeof(*p));

	if (!p) {
		*top = blm_reader_close(*top);
		return -ENOMEM;
	}
	p->reader = (struct blm_reader){ peeking_read, peeking_close };
	p->from = *top;
	*top = &p->reader;
	return 0;
}
