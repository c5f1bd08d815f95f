/* gzip.c - gzip files, of one member or many (RFC 1952) */
#include "base/lazylib.h"
#include "source.h"

#include <stdlib.h>

struct state {
	z_stream z;
	bool between;	/* members: the input may end here */
};

static bool begins(const uint8_t *bytes, size_t count)
{
	static const uint8_t magic[] = { 0x1f, 0x8b, 8 };

	for (size_t i = 0; i < count && i < sizeof(magic); i++)
		if (bytes[i] != magic[i])
			return false;
	return true;
}

static const char *need(void)
{
	return blm_need(BLM_ZLIB);
}

static void *start(void)
{
	struct state *s = calloc(1, sizeof(*s));

	if (s && blm_zlib.inflateInit2_(&s->z, 16 + MAX_WBITS, ZLIB_VERSION, (int)sizeof(s->z))
	    == Z_OK)
		return s;
	free(s);
	return NULL;
}

/* After a member comes another, or zeros that fill a tape's last block. */
static const char *next_member(struct state *s, struct bytes *in)
{
	while (in->count && !*in->at) {
		in->at++;
		in->count--;
	}
	if (!in->count)
		return NULL;
	if (!begins(in->at, 1))
		return "something else follows its end";
	s->between = false;
	return blm_zlib.inflateReset(&s->z) == Z_OK ? NULL : "out of memory";
}

static const char *unpack(void *state, struct bytes *in, struct bytes *out)
{
	struct state *s = state;
	const char *reason = s->between ? next_member(s, in) : NULL;
	int r;

	if (reason || s->between)
		return reason;
	s->z.next_in = in->at;
	s->z.avail_in = (uInt)in->count;
	s->z.next_out = out->at;
	s->z.avail_out = out->count > 1U << 30 ? 1U << 30 : (uInt)out->count;
	r = blm_zlib.inflate(&s->z, Z_NO_FLUSH);
	*in = (struct bytes){ in->at + (in->count - s->z.avail_in), s->z.avail_in };
	out->count -= (size_t)(s->z.next_out - out->at);
	out->at = s->z.next_out;
	s->between = r == Z_STREAM_END;
	if (r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR)
		return NULL;
	return s->z.msg ? s->z.msg : "the data are damaged";
}

static bool whole(void *state)
{
	return ((struct state *)state)->between;
}

static void *stop(void *state)
{
	blm_zlib.inflateEnd(&((struct state *)state)->z);
	free(state);
	return NULL;
}

const struct packing packing_gzip = {
	.name = "gzip", .begins = begins, .magic = 3, .need = need, .start = start,
	.unpack = unpack, .whole = whole, .stop = stop,
};
