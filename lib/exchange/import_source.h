/*
 * import_source.h - the input of an import: its format recognised, unpacked, and read in order up
 * to its end
 *
 * From a file, memory or a caller's function; the use of the bytes is unknown here. Each call: 0
 * (or a count), or a negative errno with a message that begins with `display`.
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
	/* the same, if the complete input is in memory; otherwise NULL */
	const struct blm_bytes_at *file;
	/* the rest of it to read, where a format found its filter in the middle of the file */
	struct blm_piece piece;
	/* the packed source, which `file` belongs to */
	struct blm_reader *below[BLM_INCOMING_LAYERS];
	unsigned layers;
	const struct blm_exchange *how;
	const struct blm_format *format;
	const char *display;
	/* its first bytes, head_bytes of the format or all there are */
	uint8_t *head;
	size_t head_count;
	uint64_t most;			/* bytes that may come */
	uint64_t known;			/* the number of bytes, if it is obvious; otherwise 0 */
	/* how many there are by its header, from blm_import_source_expect() on */
	uint64_t end;
	uint64_t at;			/* how many were taken */
	uint8_t *block;			/* buffer for the bytes read */
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
 * Reads all of these bytes. -ENODATA: the input ends before; but zeros that a format omits at its
 * end are added.
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
