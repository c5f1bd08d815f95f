/*
 * stream.h - bytes that pass through stages, pulled through a chain of readers or pushed through a
 * chain of writers
 *
 * A chain begins with an end (memory, a caller's functions) and grows by stages, each put on top of
 * the chain so far:
 *
 *	struct blm_reader *top;
 *	int r = blm_reader_calls(&top, from_a_file, file, "old.b64");
 *
 *	if (r < 0 || (r = blm_reader_stage(&top, &blm_stage_base64, "old.b64")) < 0 ||
 *	    (r = blm_reader_stage(&top, &blm_stage_zlib, "old.b64")) < 0)
 *		return r;
 *	... blm_read_full(top, room, bytes) ...
 *	blm_reader_close(top);
 *
 * A writer's chain grows the same way: the stage on top gets the bytes first.
 *
 * A function that puts a stage on top of *top returns 0, and *top is then the new stage, which owns
 * the one below and closes it with itself. Or it returns a negative errno; then the chain is closed
 * and *top is NULL, so that there is nothing to clean up. A chain's memory does not depend on the
 * number of bytes that pass through it, nor on numbers found in them (except for zstd's window, at
 * most 8 MiB). One thread at a time.
 */
#ifndef BLM_STREAM_H
#define BLM_STREAM_H

#include "base/base.h"

/* Bytes to be read. */
struct blm_reader {
	/*
	 * Reads up to `bytes` bytes (at least 1). 0 at the end. A negative errno with a message on
	 * failure, and again in every later call; the bytes before the failure are returned first.
	 */
	int64_t (*read)(struct blm_reader *reader, void *buffer, size_t bytes);
	void (*close)(struct blm_reader *reader);	/* and its source; at any time */
};

/* Bytes to be written. */
struct blm_writer {
	/* writes all bytes, or returns a negative errno, in later calls, too */
	int (*write)(struct blm_writer *writer, const void *bytes, size_t count);
	/* the end of the data: writes the bytes held back, here and below */
	int (*finish)(struct blm_writer *writer);
	/* and its destination; at any time, without finishing */
	void (*close)(struct blm_writer *writer);
};

/* takes NULL, returns NULL; the next ones, too: */
struct blm_reader *blm_reader_close(struct blm_reader *reader);
struct blm_writer *blm_writer_close(struct blm_writer *writer);

/* Reads `bytes` bytes, fewer only at the end; or returns a negative errno. */
int64_t blm_read_full(struct blm_reader *reader, void *buffer, size_t bytes);

/* ---- Stages ---- */

struct blm_in {
	const uint8_t *at;
	size_t count;
};

struct blm_out {
	uint8_t *at;
	size_t count;
};

#define BLM_STREAM_ENDED 1

/* One direction of a stage. */
struct blm_codec {
	size_t bytes;		/* of its state, which begins as zeros */
	int (*start)(void *state, int level);	/* NULL: zeros are the start */
	/*
	 * Reads from `in` and writes to `out` as much as it can, and advances both; `last`: no
	 * bytes follow `in`. It must not read bytes after its own end. 0: continue.
	 * BLM_STREAM_ENDED: all output is written. A negative errno with a message that begins with
	 * `display`. A step without progress, while there is input or after the last input, is a
	 * failure.
	 */
	int (*step)(void *state, struct blm_in *in, struct blm_out *out, bool last,
		    const char *display);
	void (*stop)(void *state);	/* also after a failed start; NULL: not needed */
};

/* One file each. */
struct blm_stage {
	const char *name;	/* "base64" */
	struct blm_codec decode, encode;	/* for readers, for writers */
};

extern const struct blm_stage blm_stage_base64, blm_stage_zlib, blm_stage_zstd;
extern const struct blm_stage blm_stage_gzip;	/* for reading only */

/*
 * Decodes the output of *top; `display` is the file's name in messages. -EBADMSG: damaged or
 * truncated. Ends with the stage's data: later bytes are not decoded (a block of them may have been
 * read), except for zstd and gzip, which may have several frames, or members, up to the end.
 */
int blm_reader_stage(struct blm_reader **top, const struct blm_stage *stage, const char *display);

/*
 * Encodes for *top. The level is the library's own (zlib: 0 to 9, -1 its default; zstd: 1 to 22, 0
 * its default, or less than 0); base64 has none. The same bytes and level give the same output,
 * for any sequence of writes.
 */
int blm_writer_stage(struct blm_writer **top, const struct blm_stage *stage, int level);

/* Copies as many bytes of `from` as `out` has space for, and advances both. */
void blm_give(struct blm_out *out, struct blm_in *from);

/* ---- Ends: where chains begin ---- */

/* Bytes in memory, which must outlive the reader. */
int blm_reader_memory(struct blm_reader **ret, const void *bytes, size_t count);

/*
 * A caller's function, called as blm_reader.read (on failure it returns a negative errno, and needs
 * no message). After a failure or the end it is not called again.
 */
int blm_reader_calls(struct blm_reader **ret,
		     int64_t (*read)(void *context, void *buffer, size_t bytes), void *context,
		     const char *display);

/*
 * Memory that doubles when it is full. The struct begins as zeros. The caller frees `bytes`, also
 * after closing the writer.
 */
struct blm_buffer {
	uint8_t *bytes;
	size_t count, capacity;
};

int blm_writer_memory(struct blm_writer **ret, struct blm_buffer *into);

/*
 * A caller's function: 0 if it accepted all bytes, or a negative errno, after which it is not
 * called again.
 */
int blm_writer_calls(struct blm_writer **ret,
		     int (*write)(void *context, const void *bytes, size_t count), void *context,
		     const char *display);

/* ---- Looking ahead ---- */

#define BLM_PEEK_MOST 4096

/* Puts a reader on top that can look ahead. */
int blm_reader_peeking(struct blm_reader **top);

/*
 * Returns the next `bytes` bytes (at most BLM_PEEK_MOST) without consuming them; `*ret` is valid
 * until the next call. Only for readers of blm_reader_peeking(). Return: the number of bytes, fewer
 * only at the end; or a negative errno if the chain fails before that many.
 */
int64_t blm_reader_peek(struct blm_reader *peeking, const uint8_t **ret, size_t bytes);

#endif
