/* result.h - the file that a run writes, packed as its input is */
#ifndef BLOOMERY_CORPUS_RESULT_H
#define BLOOMERY_CORPUS_RESULT_H

#include "corpus.h"

#include <sys/types.h>

enum { COPY_BEHIND = 64 };

/* The escapes of 64 bytes of a text (escapes.c). */
struct escapes {
	uint64_t bits;		/* the lowest one for the first byte */
	size_t before;		/* in the text */
};

/*
 * A text that loses some pieces. `written` is that text in a string of JSON, without the quotes.
 * There are COPY_BEHIND more bytes behind the string.
 */
struct shortened {
	const char *text, *written;
	size_t length, written_length;
	/* where each piece begins and ends; in their order, with something between */
	const uint32_t *edges;
	size_t edge_count;
	struct escapes *map;	/* room for one for each 64 bytes, and for one more */
	size_t map_capacity;
};

struct result {
	const char *name;	/* of the finished file; NULL: standard output */
	char *part;		/* its name until then, in the same folder */
	int fd;
	char *bytes;		/* that are not written yet */
	size_t count, capacity;
	uint64_t written;	/* before it is packed */
	const struct packer *packer;
	void *state;
	uint8_t *packed;
	struct shortened shortened;	/* the space for it */
};

/* Return: an exit code, with a message where it is not DONE; for all of these. */
/* @packing: "gzip", "zstd" or NULL */
int result_begin(struct result *ret, const char *name, const char *packing);
int result_write(struct result *result, const void *bytes, size_t count);
int result_print(struct result *result, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* *ret_at: where to write up to so many bytes of the buffer. Then tell result_wrote() how many. */
int result_space(struct result *result, size_t count, char **ret_at);
void result_wrote(struct result *result, size_t count);
/* as the inside of a string of JSON */
int result_string(struct result *result, const char *text, size_t length);
int result_finish(struct result *result);	/* on the disk, under its name */
void result_drop(struct result *result);	/* after the others or instead of finishing */

/*
 * copy_pieces() - the pieces of a text as they are written in the string that it was read from
 *
 * Only if each escape there takes one byte more than its character, and no other character has an
 * escape. Then a byte of the text is as far behind the begin of the string as it has escapes before
 * it. Each character takes at least as many bytes as that, so where the lengths fit, all fit.
 * @to: has room for `written_length` and COPY_BEHIND bytes
 *
 * Return: how many bytes; SIZE_MAX: there are other escapes. In escapes.c.
 */
size_t copy_pieces(char *to, const struct shortened *shortened);

/* DIR/.NAME.SUFFIX for DIR/NAME. Return: NULL: out of memory */
char *beside(const char *name, const char *suffix);

/* A way to pack. One for each in pack.c. */
struct packer {
	const char *name;
	const char *(*need)(void);
	void *(*start)(void);
	/*
	 * Packs some of *bytes into room and moves on. Return: bytes of room; (size_t)-1: an error.
	 * @end: there are no more; then it is called until it gives 0
	 */
	size_t (*pack)(void *state, const char **bytes, size_t *count, bool end, uint8_t *buffer,
		       size_t buffer_bytes);
	void (*stop)(void *state);
};
const struct packer *find_packer(const char *name);

#endif
