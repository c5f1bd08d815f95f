/* reads.h - a file whose reads fail from some moment on, or which is cut then */
#ifndef BLM_TEST_FORMAT_READS_H
#define BLM_TEST_FORMAT_READS_H

#include "format/format.h"
#include "suite.h"

#include <errno.h>

static int reads_left;		/* that work */
static int64_t reads_end;	/* the results of the others */

static inline int64_t read_while_it_works(const struct blm_bytes_at *file, void *buffer,
					  size_t bytes, uint64_t at)
{
	uint64_t rest = at < file->count ? file->count - at : 0;
	size_t count = bytes < rest ? bytes : (size_t)rest;

	if (--reads_left < 0)
		return reads_end;
	memcpy(buffer, file->memory + at, count);
	return (int64_t)count;
}

/*
 * The first read that fails is reported, whichever it is, and nothing is found. Return: how many
 * reads there are.
 */
static inline int each_read_may_fail(
	int (*locate)(struct blm_piece *ret, const struct blm_bytes_at *file,
		      const struct blm_exchange *how, const char *display),
	const uint8_t *bytes, size_t count, const struct blm_exchange *how)
{
	const struct blm_bytes_at file = { .read = read_while_it_works,
					   .memory = bytes,
					   .count = count };
	struct blm_piece piece = { 0 };

	for (int works = 0; works < 1000; works++)
		for (int cut = 0; cut < 2; cut++) {
			int r;

			reads_left = works;
			reads_end = cut ? 0 : -EIO;
			r = locate(&piece, &file, how, "a file");
			if (reads_left >= 0) {
				ck_assert_msg(r == 0 && piece.bytes, "%d: %s", r,
					      blm_error_message());
				free(piece.unpacked);
				return works;
			}
			ck_assert_msg(r == (cut ? -ENODATA : -EIO), "read %d: %d, %s", works, r,
				      blm_error_message());
			ck_assert_msg(strstr(blm_error_message(),
					     cut ? "truncated"
						 : "a file: cannot be read: Input/output error"),
				      "read %d: %s", works, blm_error_message());
			ck_assert_ptr_null(piece.unpacked);
		}
	ck_abort_msg("it reads for ever");
}

#endif
