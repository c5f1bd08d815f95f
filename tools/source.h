/* source.h - bytes from a file or stdin, unpacked where they are packed */
#ifndef BLOOMERY_SOURCE_H
#define BLOOMERY_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bytes {
	uint8_t *at;
	size_t count;
};

/* A way of packing, recognised by how it begins. One file each: gzip.c, zstd.c. */
struct packing {
	const char *name;
	/* could be: it says no as soon as it knows */
	bool (*begins)(const uint8_t *bytes, size_t count);
	size_t magic;		/* how many bytes it takes to be sure */
	const char *(*need)(void);	/* before it starts: NULL, or what is lacking */
	void *(*start)(void);	/* NULL: out of memory */
	/* Unpacks from `in` into `out` and moves both on. Return: NULL, or what is wrong. */
	const char *(*unpack)(void *state, struct bytes *in, struct bytes *out);
	bool (*whole)(void *state);	/* may the input end here? */
	void *(*stop)(void *state);
};

struct source {
	int fd;
	const char *name;
	uint64_t taken;		/* bytes read so far, packed as they are */
	struct bytes in;	/* read, not yet given out */
	uint8_t *block;
	bool ended;
	const struct packing *packing;	/* NULL: plain */
	void *state;
	/* of a part: where the next byte is, where the part ends, and how long the file was */
	uint64_t at, to, whole;		/* to 0: it is the whole file */
	char line_end;
};

/*
 * Return: an exit code, with a message where it is not DONE. "-" is stdin.
 * @option: what gives the program such a name as a key, for the message where there is no such
 * file; NULL: nothing does
 */
int source_open(struct source *ret, const char *name, const char *option);
/*
 * For a plain file: only the lines that begin at bytes [from, to). `end` ends a line.
 * @whole: how long the file was when the ranks got their parts; a shorter file is an error
 */
int source_open_part(struct source *ret, const char *name, uint64_t from, uint64_t to,
		     uint64_t whole, char end);
void source_close(struct source *source);

/*
 * Do both names lead to one stream, so that who reads the second one finds nothing? A FIFO under
 * two names does, and "-" where it is given twice.
 */
bool is_same_stream(const char *a, const char *b);

/* Up to `bytes` of them; 0 at the end and when asked to stop; -1 after a message. */
ssize_t source_read(struct source *source, void *buffer, size_t bytes);

/* What a file is packed with that begins so; NULL: it is plain. */
const char *packed_with(const uint8_t *begin, size_t bytes);

/* How many bytes there are to read in all of these; 0: not known. */
uint64_t source_total(char **names, size_t count);

#endif
