/*
 * parquet.h - the two layers of Parquet's Bloom filters: the filter with its header, and the file
 * in whose middle it lies
 */
#ifndef BLM_FORMAT_PARQUET_H
#define BLM_FORMAT_PARQUET_H

#include "format/format.h"

enum { PARQUET_HEADER_MOST = 64 };

/*
 * The header that stands before a filter's bits: how long it is, and how many bytes of bits follow.
 */
int blm_parquet_header(const uint8_t *bytes, size_t count, const char *display, size_t *ret_header,
		       uint64_t *ret_bits);

/*
 * Is it a Parquet file? Where is the filter of that column and row group, header and bits?
 */
bool blm_parquet_within(const uint8_t *bytes, size_t count);
int blm_parquet_locate(struct blm_piece *ret, const struct blm_bytes_at *file,
		       const struct blm_exchange *how, const char *display);

#endif
