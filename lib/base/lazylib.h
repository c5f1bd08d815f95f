/*
 * lazylib.h - optional libraries, loaded on first use if the program was not linked with them
 *
 * Each linked library makes the start of a program slower, which matters for a program with one
 * question (in tests/bench: "nothing, with zlib, zstd, libmd", and "nothing"). So the shared
 * library and the program load these on first use (BLM_LAZYLIB_LOADED); the static library is
 * linked with them. Call their functions through the table, blm_zlib.inflate(...), after a
 * successful blm_need(). The libraries' own headers describe the functions.
 */
#ifndef BLM_LAZYLIB_H
#define BLM_LAZYLIB_H

#include <md5.h>
#include <sha1.h>
#include <sha2.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define BLM_ZLIB_CALLS(F) \
	F(inflateInit_) F(inflateInit2_) F(inflate) F(inflateReset) F(inflateEnd) \
	F(deflateInit_) F(deflateInit2_) F(deflate) F(deflateEnd) F(zError) F(crc32_z)
#define BLM_ZSTD_CALLS(F) \
	F(ZSTD_createDCtx) F(ZSTD_DCtx_setParameter) F(ZSTD_decompressStream) F(ZSTD_freeDCtx) \
	F(ZSTD_createCCtx) F(ZSTD_CCtx_setParameter) F(ZSTD_compressStream2) F(ZSTD_freeCCtx) \
	F(ZSTD_minCLevel) F(ZSTD_maxCLevel) F(ZSTD_isError) F(ZSTD_getErrorCode) \
	F(ZSTD_getErrorName)
#define BLM_MD_CALLS(F) \
	F(MD5Init) F(MD5Update) F(MD5Final) F(SHA1Init) F(SHA1Update) F(SHA1Final) \
	F(SHA256Init) F(SHA256Update) F(SHA256Final) \
	F(SHA384Init) F(SHA384Update) F(SHA384Final) F(SHA512Init) F(SHA512Update) F(SHA512Final)

#define BLM_LAZYLIB_CALL(f) __typeof__(f) *f;
extern struct blm_zlib { BLM_ZLIB_CALLS(BLM_LAZYLIB_CALL) } blm_zlib;
extern struct blm_zstd { BLM_ZSTD_CALLS(BLM_LAZYLIB_CALL) } blm_zstd;
extern struct blm_md { BLM_MD_CALLS(BLM_LAZYLIB_CALL) } blm_md;

/*
 * Makes a library ready. Any number of threads may call it. Return: NULL, or the reason of the
 * failure, a text that is valid until the thread's next call.
 */
enum blm_rare { BLM_ZLIB, BLM_ZSTD, BLM_MD };
const char *blm_need(enum blm_rare library);

#endif
