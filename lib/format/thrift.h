/*
 * thrift.h - Thrift's compact protocol, read piece by piece: as much of it as Parquet needs
 *
 * A message is read once, forwards, in a window of a few KiB: its memory does not depend on it.
 * Every element takes at least a byte of the message, every length is checked against the rest of
 * it, and structs are nested to a bounded depth: so reading ends with the message
 * at the latest. The first failure sticks: from then on numbers are 0 and there is nothing more in
 * any list.
 */
#ifndef BLM_FORMAT_THRIFT_H
#define BLM_FORMAT_THRIFT_H

#include "format/format.h"

enum { BLM_THRIFT_WINDOW = 4096 };

enum blm_thrift_type {
	BLM_THRIFT_TRUE = 1, BLM_THRIFT_FALSE, BLM_THRIFT_I8, BLM_THRIFT_I16, BLM_THRIFT_I32,
		BLM_THRIFT_I64, BLM_THRIFT_DOUBLE,
	BLM_THRIFT_BINARY, BLM_THRIFT_LIST, BLM_THRIFT_SET, BLM_THRIFT_MAP, BLM_THRIFT_STRUCT,
	BLM_THRIFT_UUID,
};

struct blm_thrift {
	const struct blm_bytes_at *file;	/* NULL: the message is in memory, all of it */
	/* of the message, in the file: the bytes that are not in the window yet */
	uint64_t at, end;
	const uint8_t *next;			/* in the window */
	size_t left;
	const char *display;
	int failed;				/* a negative errno, with a message */
	uint8_t window[BLM_THRIFT_WINDOW];
};

/* A field of a struct; zeros before the first. */
struct blm_thrift_field {
	int id;
	unsigned type;
};

void blm_thrift_memory(struct blm_thrift *t, const uint8_t *bytes, size_t count,
		       const char *display);
void blm_thrift_file(struct blm_thrift *t, const struct blm_bytes_at *file, uint64_t at,
		     uint64_t bytes, const char *display);

/*
 * The next field of a struct; false at its end. Its contents must be read or passed over before the
 * next call.
 */
bool blm_thrift_next(struct blm_thrift *t, struct blm_thrift_field *field);
/*
 * Is it this one, of this type? Another type than is expected is passed over like a field that is
 * not known.
 */
static inline bool blm_thrift_is(const struct blm_thrift_field *field, int id, unsigned type)
{
	return field->id == id && field->type == type;
}

int64_t blm_thrift_number(struct blm_thrift *t);
/* The number of elements of a list whose elements are of this type. */
uint64_t blm_thrift_list(struct blm_thrift *t, unsigned type);
/* A string's length; the string as far as it fits. */
uint64_t blm_thrift_binary(struct blm_thrift *t, void *buffer, size_t bytes);
void blm_thrift_pass(struct blm_thrift *t, unsigned type);

#endif
