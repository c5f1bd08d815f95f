/*
 * fps.h - all fingerprints of an FPS file, one after the other (fps.c describes its lines)
 */
#ifndef BLM_FORMAT_FPS_H
#define BLM_FORMAT_FPS_H

#include "base/base.h"

enum { BLM_FPS_FORMAT = 25 };		/* the format's id */

struct blm_fps {
	/* all lines before the first fingerprint, with their line breaks */
	const char *header;
	size_t header_bytes;
	uint64_t bits;			/* of each fingerprint: up to 2^20 */
	const char *left;
	size_t left_bytes;
	uint64_t number;
};

/*
 * bytes: the whole file, which stays the caller's and must outlive `ret`. Fails with words:
 * -EBADMSG, -EFBIG, -ENODATA (no fingerprint).
 */
int blm_fps_begin(struct blm_fps *ret, const void *bytes, size_t count, const char *display);

/*
 * ret_bits: (bits + 7) / 8 bytes. ret_text: the text after the tab, its id first; in `bytes`.
 * Return: 1, 0 at the end, or a negative errno.
 */
int blm_fps_next(struct blm_fps *set, uint8_t *ret_bits, const char **ret_text, size_t *ret_count,
		 const char *display);

#endif
