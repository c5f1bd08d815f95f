/* result.h - the file that a run writes, packed as its input is */
#ifndef BLOOMERY_CORPUS_RESULT_H
#define BLOOMERY_CORPUS_RESULT_H

#include "../command.h"

#include <sys/types.h>

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
/*
 * escapes.c: how many characters of it result_string() escapes. 16 bytes behind the text can be
 * read.
 */
size_t count_escapes(const char *text, size_t length);
int result_finish(struct result *result);	/* on the disk, under its name */
void result_drop(struct result *result);	/* after the others or instead of finishing */

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
