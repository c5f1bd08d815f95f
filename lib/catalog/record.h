/* record.h - a catalog's record as bytes (format-spec.md, "The catalog") */
#ifndef BLM_CATALOG_RECORD_H
#define BLM_CATALOG_RECORD_H

#include "catalog/catalog.h"

enum { BLM_RECORD_BYTES_MAX = 64 + BLM_PAGE + BLM_FORMAT_LABELS + 8 };

/* The record of that name; returns how many bytes were written. */
size_t blm_record_encode(const char *name, const struct blm_entry *entry,
			 uint8_t ret[BLM_RECORD_BYTES_MAX]);

/* Any bytes whatever; false if they are no record of this version and this name. */
bool blm_record_decode(const char *name, const void *bytes, size_t count, struct blm_entry *ret);

#endif
