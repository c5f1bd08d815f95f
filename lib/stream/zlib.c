/*
 * zlib.c - DEFLATE in zlib's wrapping, with its checksum (RFC 1950), and to be read in gzip's (RFC
 * 1952)
 */
#include "base/lazylib.h"
#include "stream/stream.h"

#define MOST (1U << 30)		/* at a time: zlib counts in `unsigned` */

static void enter(z_stream *z, const struct blm_in *in, const struct blm_out *out)
{
	z->next_in = (Bytef *)(uintptr_t)in->at;	/* which it only reads */
	z->avail_in = in->count < MOST ? (uInt)in->count : MOST;
	z->next_out = out->at;
	z->avail_out = out->count < MOST ? (uInt)out->count : MOST;
}

static void leave(const z_stream *z, struct blm_in *in, struct blm_out *out)
{
	in->count -= (size_t)(z->next_in - in->at);
	in->at = z->next_in;
	out->count -= (size_t)(z->next_out - out->at);
	out->at = z->next_out;
}

/* ---- Decoding ---- */

static int start_decoding(void *state, int level)
{
	const char *reason = blm_need(BLM_ZLIB);

	if (reason)
		return blm_fail(-ELIBACC, "zlib: %s", reason);
	return blm_zlib.inflateInit_(state, ZLIB_VERSION, (int)sizeof(z_stream)) == Z_OK ? 0
		: blm_fail(-ENOMEM, "zlib: out of memory");
}

static int decode(void *state, struct blm_in *in, struct blm_out *out, bool last,
		  const char *display)
{
	z_stream *z = state;
	int r;

	enter(z, in, out);
	r = blm_zlib.inflate(z, Z_NO_FLUSH);
	leave(z, in, out);
	switch (r) {
	case Z_OK:
	case Z_BUF_ERROR:	/* nothing to be done with these: the caller sees it, too */
		return 0;
	case Z_STREAM_END:
		return BLM_STREAM_ENDED;
	case Z_NEED_DICT:
		return blm_fail(-EBADMSG, "%s: zlib data that needs a dictionary, which cannot be "
				"given", display);
	case Z_MEM_ERROR:
		return blm_fail(-ENOMEM, "%s: out of memory", display);
	default:
		return blm_fail(-EBADMSG, "%s: the zlib data is damaged: %s", display,
				z->msg ? z->msg : blm_zlib.zError(r));
	}
}

static void stop_decoding(void *state)
{
	if (!blm_need(BLM_ZLIB))
		blm_zlib.inflateEnd(state);
}

/* ---- Decoding gzip's, which is a member, or several ---- */

/*
 * Zeros, empty members and empty blocks are much input for no output, and no limit for them is
 * known.
 */
#define IDLE_MOST (UINT64_C(1) << 20)

struct gunzip {
	z_stream z;		/* first, as decode() and stop_decoding() have it */
	bool between;		/* members, where the input may end */
	uint64_t idle;		/* bytes that were read since the last one came out */
};

static int start_gunzip(void *state, int level)
{
	const char *reason = blm_need(BLM_ZLIB);

	if (reason)
		return blm_fail(-ELIBACC, "zlib: %s", reason);
	return blm_zlib.inflateInit2_(state, 15 + 16, ZLIB_VERSION, (int)sizeof(z_stream)) == Z_OK
		? 0 : blm_fail(-ENOMEM, "zlib: out of memory");
}

/* After a member comes another, or zeros that fill a tape's last block. 0: neither yet. */
static int next_member(struct gunzip *g, struct blm_in *in, bool last, const char *display)
{
	for (; in->count && !*in->at; in->count--)
		in->at++;
	if (!in->count)
		return last ? BLM_STREAM_ENDED : 0;
	if (*in->at != 0x1f)
		return blm_fail(-EBADMSG, "%s: something else follows the gzip data", display);
	g->between = false;
	blm_zlib.inflateReset(&g->z);	/* which is complete */
	return 0;
}

static int unpack(struct gunzip *g, struct blm_in *in, struct blm_out *out, bool last,
		  const char *display)
{
	int r = g->between ? next_member(g, in, last, display) : 0;

	if (r || g->between)
		return r;
	r = decode(&g->z, in, out, last, display);
	g->between = r == BLM_STREAM_ENDED;
	return g->between ? 0 : r;
}

static int gunzip(void *state, struct blm_in *in, struct blm_out *out, bool last,
		  const char *display)
{
	struct gunzip *g = state;
	size_t given = in->count, space = out->count;
	int r = unpack(g, in, out, last, display);

	g->idle = out->count < space ? 0 : g->idle + (given - in->count);
	return r >= 0 && g->idle > IDLE_MOST ? blm_fail(-EBADMSG, "%s: more than a MiB of the "
							"gzip data is empty", display) : r;
}

/* ---- Encoding ---- */

static int start_encoding(void *state, int level)
{
	const char *reason = blm_need(BLM_ZLIB);

	if (reason)
		return blm_fail(-ELIBACC, "zlib: %s", reason);
	switch (blm_zlib.deflateInit_(state, level, ZLIB_VERSION, (int)sizeof(z_stream))) {
	case Z_OK:
		return 0;
	case Z_STREAM_ERROR:
		return blm_fail(-EINVAL, "zlib has no level %d, only 0 to 9", level);
	default:
		return blm_fail(-ENOMEM, "zlib: out of memory");
	}
}

static int encode(void *state, struct blm_in *in, struct blm_out *out, bool last,
		  const char *display)
{
	z_stream *z = state;
	int r;

	enter(z, in, out);
	r = blm_zlib.deflate(z, last && in->count <= MOST ? Z_FINISH : Z_NO_FLUSH);
	leave(z, in, out);
	if (r == Z_STREAM_END)
		return BLM_STREAM_ENDED;
	return r == Z_OK || r == Z_BUF_ERROR ? 0
		: blm_fail(-EIO, "%s: %s", display, z->msg ? z->msg : blm_zlib.zError(r));
}

static void stop_encoding(void *state)
{
	if (!blm_need(BLM_ZLIB))
		blm_zlib.deflateEnd(state);
}

const struct blm_stage blm_stage_zlib = {
	.name = "zlib",
	.decode = { .bytes = sizeof(z_stream), .start = start_decoding, .step = decode,
		    .stop = stop_decoding },
	.encode = { .bytes = sizeof(z_stream), .start = start_encoding, .step = encode,
		    .stop = stop_encoding },
};

const struct blm_stage blm_stage_gzip = {
	.name = "gzip",
	.decode = { .bytes = sizeof(struct gunzip), .start = start_gunzip, .step = gunzip,
		    .stop = stop_decoding },
};
