/*
 * scarce.h - memory that has a limited number of pieces, for tests that are linked with
 * --wrap=malloc, calloc and realloc
 */
#ifndef BLM_TEST_FORMAT_SCARCE_H
#define BLM_TEST_FORMAT_SCARCE_H

#include "format/format.h"
#include "suite.h"

#include <errno.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static bool memory_is_scarce;
static int pieces_left;

static bool is_given(void)
{
	return !memory_is_scarce || --pieces_left >= 0;
}

void *__wrap_malloc(size_t bytes)
{
	return is_given() ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return is_given() ? __real_calloc(count, bytes) : NULL;
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return is_given() ? __real_realloc(old, bytes) : NULL;
}

/* A lack of memory for any piece is reported. Return: how many pieces it takes. */
static inline int each_piece_may_lack(int (*call)(void *context), void *context)
{
	for (int pieces = 0; pieces < 1000; pieces++) {
		int r;

		pieces_left = pieces;
		memory_is_scarce = true;
		r = call(context);
		memory_is_scarce = false;
		if (pieces_left >= 0) {
			ck_assert_msg(r == 0, "%d: %s", r, blm_error_message());
			return pieces;
		}
		ck_assert_msg(r == -ENOMEM && strstr(blm_error_message(), "a file: out of memory"),
			      "piece %d: %d, %s", pieces, r, blm_error_message());
	}
	ck_abort_msg("it takes memory for ever");
}

/* For formats whose files are inside others. */
struct lookup {
	int (*locate)(struct blm_piece *ret, const struct blm_bytes_at *file,
		      const struct blm_exchange *how, const char *display);
	struct blm_bytes_at file;
	struct blm_exchange how;
};

static inline int look_up(void *context)
{
	const struct lookup *l = context;
	struct blm_piece piece = { 0 };
	int r = l->locate(&piece, &l->file, &l->how, "a file");

	if (r < 0 && piece.unpacked)
		return -EUCLEAN;
	free(piece.unpacked);
	return r;
}

/* For formats that write their files themselves. */
struct writing {
	struct blm_writer writer;
	const char *format;
	const struct blm_outline *outline;
	const struct blm_part *part;
	size_t bytes;
};

static inline int count_written(struct blm_writer *writer, const void *bytes, size_t count)
{
	((struct writing *)(void *)writer)->bytes += count;
	return 0;
}

static inline int write_by_format(void *context)
{
	struct writing *w = context;
	int r;

	w->writer.write = count_written;
	w->bytes = 0;
	r = blm_format_by_name(w->format)->write(w->outline, w->part, &w->writer, "a file");
	return r < 0 && w->bytes ? -EUCLEAN : r;
}

#endif
