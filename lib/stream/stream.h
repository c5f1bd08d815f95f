/*
 * stream.h - bytes that pass through stages, pulled through a chain of readers or pushed through a
 * chain of writers
 *
 * A chain begins with an end (memory, a caller's functions) and grows by stages, each put on top of
 * what is there:
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
 * A writer's chain grows the same way: the stage put on top is the one that the bytes come to
 * first.
 *
 * Whatever puts something on top of *top: 0, with *top now the new one, which owns the one below
 * and closes it with itself; or a negative errno, and then what was there is closed and *top is
 * NULL, so that there is nothing to clean up. A chain's memory does not depend on how much passes
 * through it, nor on numbers found in what does (but zstd's window, at most 8 MiB). One thread at a
 * time.
 */
#ifndef BLM_STREAM_H
#define BLM_STREAM_H

#include "base/base.h"

/* Bytes to be read. */
struct blm_reader {
	/*
	 * Up to `bytes` bytes (at least 1 is asked for). 0 at the end. A negative errno with words
	 * on failure, and then again whenever it is asked; the bytes before the failure are given
	 * first.
	 */
	int64_t (*read)(struct blm_reader *reader, void *buffer, size_t bytes);
	void (*close)(struct blm_reader *reader);	/* also what it reads from; at any time */
};

/* Bytes to be written. */
struct blm_writer {
	/* all of them, or a negative errno for good */
	int (*write)(struct blm_writer *writer, const void *bytes, size_t count);
	/* no more comes: writes what is still held, here and below */
	int (*finish)(struct blm_writer *writer);
	/* also what it writes to; at any time, and finishes nothing */
	void (*close)(struct blm_writer *writer);
};

/* takes NULL, returns NULL; the next ones, too: */
struct blm_reader *blm_reader_close(struct blm_reader *reader);
struct blm_writer *blm_writer_close(struct blm_writer *writer);

/* As many bytes as asked for, less only at the end, or a negative errno. */
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
	size_t bytes;		/* of its state, zeros at first */
	int (*start)(void *state, int level);	/* NULL: zeros will do */
	/*
	 * Takes of `in` and gives to `out` what it can, and moves both on; `last`: nothing comes
	 * after `in`. It must not take the beginning of what follows its own end. 0: go on.
	 * BLM_STREAM_ENDED: all is given. A negative errno with words, which begin with `shown`. To
	 * do nothing while there is input, or after the last of it, means failure.
	 */
	int (*step)(void *state, struct blm_in *in, struct blm_out *out, bool last,
		    const char *display);
	void (*stop)(void *state);	/* also after a start that failed; NULL: nothing to do */
};

/* One file each. */
struct blm_stage {
	const char *name;	/* "base64" */
	struct blm_codec decode, encode;	/* for readers, for writers */
};

extern const struct blm_stage blm_stage_base64, blm_stage_zlib, blm_stage_zstd;
extern const struct blm_stage blm_stage_gzip;	/* only to be read */

/*
 * Decodes what *top reads; `shown` is the file's name in messages. -EBADMSG: damaged or cut. Ends
 * where the stage's data does: what follows is not asked for (a block of it may have been read),
 * except for zstd and gzip, which are many frames, or members, up to the end.
 */
int blm_reader_stage(struct blm_reader **top, const struct blm_stage *stage, const char *display);

/*
 * Encodes for *top. The level is the library's own (zlib: 0 to 9, -1 its default; zstd: 1 to 22, 0
 * its default, or less than 0); base64 has none. The same bytes and level give the same output,
 * however the bytes arrive.
 */
int blm_writer_stage(struct blm_writer **top, const struct blm_stage *stage, int level);

/* Gives `out` what of `from` it has room for, and moves both on. */
void blm_give(struct blm_out *out, struct blm_in *from);

/* ---- Ends: where chains begin ---- */

/* Bytes in memory, which must stay. */
int blm_reader_memory(struct blm_reader **ret, const void *bytes, size_t count);

/*
 * A caller's function, asked as blm_reader.read is (it fails with a negative errno and need not
 * have words). After a failure or the end it is not called again.
 */
int blm_reader_calls(struct blm_reader **ret,
		     int64_t (*read)(void *context, void *buffer, size_t bytes), void *context,
		     const char *display);

/*
 * Memory that doubles when it is full; also after closing the writer, the caller's to free. It
 * begins as zeros.
 */
struct blm_buffer {
	uint8_t *bytes;
	size_t count, capacity;
};

int blm_writer_memory(struct blm_writer **ret, struct blm_buffer *into);

/*
 * A caller's function: 0 when it took all the bytes, or a negative errno, after which it is not
 * called again.
 */
int blm_writer_calls(struct blm_writer **ret,
		     int (*write)(void *context, const void *bytes, size_t count), void *context,
		     const char *display);

/* ---- Looking ahead ---- */

#define BLM_PEEK_MOST 4096

/* A reader of what *top reads, that can look ahead. */
int blm_reader_peeking(struct blm_reader **top);

/*
 * Shows the next `bytes` bytes (at most BLM_PEEK_MOST) without taking them; `*ret` is good until
 * the next call. Only for what blm_reader_peeking() made. Return: how many, less only at the end,
 * or a negative errno: it fails before as many.
 */
int64_t blm_reader_peek(struct blm_reader *peeking, const uint8_t **ret, size_t bytes);

#endif
