/*
 * import_source.h - what is imported, as it comes in: its format found out, unpacked, and taken in
 * order up to its end
 *
 * Out of a file, memory or a caller's function; here nothing is known of what is made of it. Each
 * call: 0 (or a count), or a negative errno with words that begin with `shown`.
 */
#ifndef BLM_INCOMING_H
#define BLM_INCOMING_H

#include "exchange/exchange.h"

enum {
	BLM_INCOMING_BLOCK = 256 << 10,	/* bytes that are taken at once */
	BLM_INCOMING_LAYERS = 8,
};

struct blm_import_source {
	struct blm_reader *from;	/* unpacked */
	/* the same, where all of it is at hand; else NULL */
	const struct blm_bytes_at *file;
	/* the rest of it to read, where a format found its filter in the middle of the file */
	struct blm_piece piece;
	/* what it is unpacked from, for which that answers */
	struct blm_reader *below[BLM_INCOMING_LAYERS];
	unsigned layers;
	const struct blm_exchange *how;
	const struct blm_format *format;
	const char *display;
	/* its first bytes, head_bytes of the format or all there are */
	uint8_t *head;
	size_t head_count;
	uint64_t most;			/* bytes that may come */
	uint64_t known;			/* how many do, where that is plain; else 0 */
	/* how many there are by its header, from blm_import_source_expect() on */
	uint64_t end;
	uint64_t at;			/* how many were taken */
	uint8_t *block;			/* room for what is taken */
};

/*
 * Finds the format, unless it is named, and stacks the layers of gzip, of a text form, of a file
 * with filters in it. `from` and `in` are to be closed by blm_import_source_close() even where this
 * fails; `file` is NULL, or stays there as long. known: how much comes, by the nature of the
 * source; 0: that is open.
 */
int blm_import_source_open(struct blm_import_source *in, const struct blm_exchange *how,
			   struct blm_reader *from, const struct blm_bytes_at *file,
		      uint64_t known, const char *display);
void blm_import_source_close(struct blm_import_source *in);

/* Reads the head. */
int blm_import_source_head(struct blm_import_source *in);

/*
 * The head says this number of bytes. -EFBIG: more than may come; -ENODATA: more than there are.
 */
int blm_import_source_expect(struct blm_import_source *in, uint64_t end);

/* Up to `bytes` bytes: fewer only where it ends. */
int64_t blm_import_source_some(struct blm_import_source *in, uint8_t *buffer, size_t bytes);

/*
 * All of these bytes. -ENODATA: it ends before; but where a format leaves zeros out at the end,
 * those are taken.
 */
int blm_import_source_take(struct blm_import_source *in, uint8_t *buffer, size_t bytes);

/* On, to this byte of it. */
int blm_import_source_skip_to(struct blm_import_source *in, uint64_t at);

/*
 * All that is left, as *ret, which the caller frees in any case; in->at is its length then. -EFBIG:
 * more than may come.
 */
int blm_import_source_whole(struct blm_import_source *in, uint8_t **ret);

/*
 * The layers of a text form end with checksums, so each is read to its end, the innermost first.
 * Bytes after the filter mean nothing, and are left out. They are no reason to refuse, since
 * pybloomfiltermmap itself left the tails of older files behind its own.
 */
int blm_import_source_rest(struct blm_import_source *in);

#endif
