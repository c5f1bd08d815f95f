/* zstd.c - Zstandard files, of one frame or many, skippable ones included (RFC 8878) */
#include "base/lazylib.h"
#include "source.h"

#include <stdlib.h>

struct state {
	ZSTD_DCtx *stream;
	bool between;	/* frames: the input may end here */
};

static bool begins(const uint8_t *bytes, size_t count)
{
	static const uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd },
		skippable[] = { 0x50, 0x2a, 0x4d, 0x18 };
	bool is_frame = true, is_skippable = true;

	for (size_t i = 0; i < count && i < sizeof(frame); i++) {
		is_frame = is_frame && bytes[i] == frame[i];
		is_skippable = is_skippable && (i ? bytes[i] : bytes[i] & 0xf0) == skippable[i];
	}
	return is_frame || is_skippable;
}

static const char *need(void)
{
	return blm_need(BLM_ZSTD);
}

static void *start(void)
{
	struct state *s = calloc(1, sizeof(*s));

	if (s && (s->stream = blm_zstd.ZSTD_createDCtx()))
		return s;
	free(s);
	return NULL;
}

static const char *unpack(void *state, struct bytes *in, struct bytes *out)
{
	struct state *s = state;
	ZSTD_inBuffer from = { in->at, in->count, 0 };
	ZSTD_outBuffer to = { out->at, out->count, 0 };
	size_t r;

	if (s->between && !in->count)
		return NULL;
	r = blm_zstd.ZSTD_decompressStream(s->stream, &to, &from);
	*in = (struct bytes){ in->at + from.pos, in->count - from.pos };
	*out = (struct bytes){ out->at + to.pos, out->count - to.pos };
	if (blm_zstd.ZSTD_isError(r))
		return blm_zstd.ZSTD_getErrorName(r);
	s->between = r == 0;
	return NULL;
}

static bool whole(void *state)
{
	return ((struct state *)state)->between;
}

static void *stop(void *state)
{
	blm_zstd.ZSTD_freeDCtx(((struct state *)state)->stream);
	free(state);
	return NULL;
}

const struct packing packing_zstd = {
	.name = "zstd", .begins = begins, .magic = 4, .need = need, .start = start,
	.unpack = unpack, .whole = whole, .stop = stop,
};
