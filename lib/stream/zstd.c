/* zstd.c - Zstandard, one frame or several, skippable ones included (RFC 8878) */
#include "base/lazylib.h"
#include "stream/stream.h"

#define WINDOW_LOG_READ 23	/* 8 MiB: what `zstd -19` needs */
#define WINDOW_LOG_WRITTEN 19	/* a filter's bits repeat nothing from further back */
#define TABLE_LOG_WRITTEN 18	/* or the highest levels would take hundreds of MiB */
#define LARGE_TABLES_FROM 4	/* the levels below have small ones */

/* ---- Decoding ---- */

struct decoder {
	ZSTD_DCtx *ctx;
	bool between, later;	/* frames, where the input may end; after the first frame */
	uint8_t magic[4];	/* of the frame that is read */
	size_t known;		/* bytes of the magic */
};

static int start_decoding(void *state, int level)
{
	const char *reason = blm_need(BLM_ZSTD);
	struct decoder *d = state;

	if (reason)
		return blm_fail(-ELIBACC, "zstd: %s", reason);
	d->ctx = blm_zstd.ZSTD_createDCtx();
	if (!d->ctx)
		return blm_fail(-ENOMEM, "zstd: out of memory");
	return blm_zstd.ZSTD_isError(blm_zstd.ZSTD_DCtx_setParameter(d->ctx, ZSTD_d_windowLogMax,
		WINDOW_LOG_READ)) ? blm_fail(-EIO, "zstd: no limit to its window") : 0;
}

/*
 * Could it be a frame, by as much as is known of its magic? Formats older than RFC 8878 have
 * others, and limits of their own.
 */
static bool is_frame(const struct decoder *d)
{
	static const uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd },
		skippable[] = { 0x50, 0x2a, 0x4d, 0x18 };
	uint8_t first = d->known ? d->magic[0] & 0xf0 : 0;
	bool more = d->known > 1;

	return !memcmp(d->magic, frame, d->known) ||
		(first == skippable[0] && (!more
					   || !memcmp(d->magic + 1, skippable + 1, d->known - 1)));
}

static int check_magic(struct decoder *d, const struct blm_in *in, const char *display)
{
	for (size_t i = 0; i < in->count && d->known < sizeof(d->magic); i++)
		d->magic[d->known++] = in->at[i];
	if (is_frame(d))
		return 0;
	return blm_fail(-EBADMSG, d->later ? "%s: something else follows the zstd data"
			: "%s: not zstd data", display);
}

static int failure(size_t r, const char *display)
{
	switch (blm_zstd.ZSTD_getErrorCode(r)) {
	case ZSTD_error_memory_allocation:
		return blm_fail(-ENOMEM, "%s: out of memory", display);
	case ZSTD_error_frameParameter_windowTooLarge:
		return blm_fail(-EBADMSG, "%s: the zstd data needs a window of more than 8 MiB",
				display);
	default:
		return blm_fail(-EBADMSG, "%s: the zstd data is damaged: %s", display,
				blm_zstd.ZSTD_getErrorName(r));
	}
}

static int decode(void *state, struct blm_in *in, struct blm_out *out, bool last,
		  const char *display)
{
	struct decoder *d = state;
	ZSTD_inBuffer from = { in->at, in->count, 0 };
	ZSTD_outBuffer to = { out->at, out->count, 0 };
	size_t r;

	if (d->between && !in->count)
		return last ? BLM_STREAM_ENDED : 0;
	if (check_magic(d, in, display) < 0)
		return -EBADMSG;
	r = blm_zstd.ZSTD_decompressStream(d->ctx, &to, &from);
	*in = (struct blm_in){ in->at + from.pos, in->count - from.pos };
	*out = (struct blm_out){ out->at + to.pos, out->count - to.pos };
	if (blm_zstd.ZSTD_isError(r))
		return failure(r, display);
	d->between = r == 0;
	if (d->between) {
		d->later = true;
		d->known = 0;
	}
	return 0;
}

static void stop_decoding(void *state)
{
	if (((struct decoder *)state)->ctx)
		blm_zstd.ZSTD_freeDCtx(((struct decoder *)state)->ctx);
}

/* ---- Encoding ---- */

struct encoder {
	ZSTD_CCtx *ctx;
};

static bool set(ZSTD_CCtx *ctx, ZSTD_cParameter parameter, int value)
{
	return !blm_zstd.ZSTD_isError(blm_zstd.ZSTD_CCtx_setParameter(ctx, parameter, value));
}

static int start_encoding(void *state, int level)
{
	const char *reason = blm_need(BLM_ZSTD);
	struct encoder *e = state;

	if (reason)
		return blm_fail(-ELIBACC, "zstd: %s", reason);
	if (level < blm_zstd.ZSTD_minCLevel() || level > blm_zstd.ZSTD_maxCLevel())
		return blm_fail(-EINVAL, "zstd has no level %d, only up to %d", level,
				blm_zstd.ZSTD_maxCLevel());
	e->ctx = blm_zstd.ZSTD_createCCtx();
	if (!e->ctx)
		return blm_fail(-ENOMEM, "zstd: out of memory");
	if (!set(e->ctx, ZSTD_c_compressionLevel, level) || !set(e->ctx, ZSTD_c_checksumFlag, 1) ||
	    !set(e->ctx, ZSTD_c_windowLog, WINDOW_LOG_WRITTEN) ||
	    (level >= LARGE_TABLES_FROM && (!set(e->ctx, ZSTD_c_hashLog, TABLE_LOG_WRITTEN)
					    || !set(e->ctx, ZSTD_c_chainLog, TABLE_LOG_WRITTEN))))
		return blm_fail(-EINVAL, "zstd does not take level %d", level);
	return 0;
}

static int encode(void *state, struct blm_in *in, struct blm_out *out, bool last,
		  const char *display)
{
	struct encoder *e = state;
	ZSTD_inBuffer from = { in->at, in->count, 0 };
	ZSTD_outBuffer to = { out->at, out->count, 0 };
	size_t r = blm_zstd.ZSTD_compressStream2(e->ctx, &to, &from,
						 last ? ZSTD_e_end : ZSTD_e_continue);

	*in = (struct blm_in){ in->at + from.pos, in->count - from.pos };
	*out = (struct blm_out){ out->at + to.pos, out->count - to.pos };
	if (blm_zstd.ZSTD_isError(r))
		return blm_fail(blm_zstd.ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation
				? -ENOMEM : -EIO, "%s: %s", display, blm_zstd.ZSTD_getErrorName(r));
	return last && r == 0 ? BLM_STREAM_ENDED : 0;
}

static void stop_encoding(void *state)
{
	if (((struct encoder *)state)->ctx)
		blm_zstd.ZSTD_freeCCtx(((struct encoder *)state)->ctx);
}

const struct blm_stage blm_stage_zstd = {
	.name = "zstd",
	.decode = { .bytes = sizeof(struct decoder), .start = start_decoding, .step = decode,
		    .stop = stop_decoding },
	.encode = { .bytes = sizeof(struct encoder), .start = start_encoding, .step = encode,
		    .stop = stop_encoding },
};
