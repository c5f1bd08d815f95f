/* pack.c - gzip and Zstandard, written */
#include "../../lib/base/lazylib.h"
#include "result.h"

#include <limits.h>

/* ---- gzip ---- */

struct gzip {
	z_stream z;
	bool ended;
};

static const char *gzip_need(void)
{
	return blm_need(BLM_ZLIB);
}

static void *gzip_start(void)
{
	struct gzip *g = calloc(1, sizeof(*g));

	if (g && blm_zlib.deflateInit2_(&g->z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8,
					Z_DEFAULT_STRATEGY, ZLIB_VERSION, (int)sizeof(g->z))
	    == Z_OK)
		return g;
	free(g);
	return NULL;
}

static size_t gzip_pack(void *state, const char **bytes, size_t *count, bool end, uint8_t *buffer,
			size_t buffer_bytes)
{
	struct gzip *g = state;
	int r;

	if (g->ended)
		return 0;
	g->z.next_in = (Bytef *)(uintptr_t)*bytes;
	g->z.avail_in = *count > UINT_MAX / 2 ? UINT_MAX / 2 : (uInt)*count;
	*count -= g->z.avail_in;
	g->z.next_out = buffer;
	g->z.avail_out = (uInt)buffer_bytes;
	r = blm_zlib.deflate(&g->z, end && !*count ? Z_FINISH : Z_NO_FLUSH);
	*count += g->z.avail_in;
	*bytes = (const char *)g->z.next_in;
	g->ended = r == Z_STREAM_END;
	return r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR ? buffer_bytes - g->z.avail_out
		: (size_t)-1;
}

static void gzip_stop(void *state)
{
	blm_zlib.deflateEnd(&((struct gzip *)state)->z);
	free(state);
}

/* ---- zstd ---- */

struct frame {
	ZSTD_CCtx *stream;
	bool ended;
};

static const char *zstd_need(void)
{
	return blm_need(BLM_ZSTD);
}

static void *zstd_start(void)
{
	struct frame *f = calloc(1, sizeof(*f));

	if (f && (f->stream = blm_zstd.ZSTD_createCCtx())) {
		blm_zstd.ZSTD_CCtx_setParameter(f->stream, ZSTD_c_checksumFlag, 1);
		return f;
	}
	free(f);
	return NULL;
}

static size_t zstd_pack(void *state, const char **bytes, size_t *count, bool end, uint8_t *buffer,
			size_t buffer_bytes)
{
	struct frame *f = state;
	ZSTD_inBuffer in = { *bytes, *count, 0 };
	ZSTD_outBuffer out = { buffer, buffer_bytes, 0 };
	size_t r;

	if (f->ended)
		return 0;
	r = blm_zstd.ZSTD_compressStream2(f->stream, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
	*bytes += in.pos;
	*count -= in.pos;
	if (blm_zstd.ZSTD_isError(r))
		return (size_t)-1;
	f->ended = end && r == 0;
	return out.pos;
}

static void zstd_stop(void *state)
{
	blm_zstd.ZSTD_freeCCtx(((struct frame *)state)->stream);
	free(state);
}

static const struct packer packers[] = {
	{ "gzip", gzip_need, gzip_start, gzip_pack, gzip_stop },
	{ "zstd", zstd_need, zstd_start, zstd_pack, zstd_stop },
};

const struct packer *find_packer(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(packers); i++)
		if (!strcmp(packers[i].name, name))
			return &packers[i];
	return NULL;
}
