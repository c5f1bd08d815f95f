/* import_source.c - what is imported, as it comes in */
#include "exchange/import_source.h"

enum { SNIFF = 64 };	/* enough to tell every format */
#define MOST_UNTOLD (UINT64_C(1) << 30)	/* where neither the caller nor the size of a file says how much there may be */

/* ---- Layers ---- */

/* What stands at the beginning of the chain looks like base64, most likely, if it has nothing but letters and line breaks. */
static bool looks_like_text(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!(bytes[i] == '\n' || bytes[i] == '\r' || (bytes[i] >= '+' && bytes[i] <= 'z')))
			return false;
	return count >= 16;
}

/* A file in gzip is what is in it, where that is usual. How much comes is then open. */
static int gunzip(struct blm_incoming *in, const uint8_t **bytes, int64_t *n)
{
	const struct blm_format *named = in->how->format ? blm_format_by_name(in->how->format) : NULL;
	int r;

	if (in->how->base64 || (named && !named->gzipped) || !blm_looks_like_gzip(*bytes, (size_t)*n))
		return 0;
	in->known = 0;
	in->file = NULL;	/* what is packed is at hand, not this */
	in->most = in->how->max_bytes ? in->how->max_bytes : MOST_UNTOLD;
	in->below[in->layers++] = in->from;
	r = blm_reader_stage(&in->from, &blm_stage_gzip, in->shown);
	if (r == 0)
		r = blm_reader_peeking(&in->from);
	if (r < 0)
		return r;
	*n = blm_reader_peek(in->from, bytes, SNIFF);
	return *n < 0 ? (int)*n : 0;
}

static bool is_within(const struct blm_incoming *in, const uint8_t *bytes, size_t count)
{
	const struct blm_format *format = in->format;

	return (format->within && format->within(bytes, count)) || (format->within_by_end && in->file && format->within_by_end(in->file))
	    || (format->within_if_named && in->how->record);
}

/* A file of another sort, in which there are filters: then that one is the file from here on. */
static int go_within(struct blm_incoming *in, const uint8_t *bytes, size_t count)
{
	const struct blm_format *format = in->format;
	bool asked = in->how->column || in->how->row_group;
	int r;

	if (in->how->base64 && format->within_if_named && in->how->record)
		return blm_fail(-EINVAL, "%s: in base64 is one filter by itself, which is not named (blm_exchange.record)", in->shown);
	if (in->how->base64 || !is_within(in, bytes, count))
		return asked ? blm_fail(-EINVAL, "%s: no Parquet file, so it has no columns and row groups", in->shown) : 0;
	if (!in->file)
		return blm_fail(-ESPIPE, "%s: such a file is read from its end, so that it must be a file by its name, and no pipe", in->shown);
	r = format->locate(&in->piece, in->file, in->how, in->shown);
	if (r < 0)
		return r;
	in->known = in->piece.bytes;
	in->from = blm_reader_close(in->from);
	return blm_reader_piece(&in->from, &in->piece, in->file, in->shown);
}

/* Finds the format if it is not named, and stacks the layers of its text form. */
static int unpack(struct blm_incoming *in)
{
	const struct blm_layer *layer = blm_format_at(0)->text;	/* the outermost one is the same for all: base64 */
	const uint8_t *bytes = NULL;
	int64_t n = 0;
	int r = 0;

	if (in->how->base64)
		r = blm_reader_stage(&in->from, layer->stage, in->shown);
	if (r == 0)
		r = blm_reader_peeking(&in->from);
	if (r == 0 && (n = blm_reader_peek(in->from, &bytes, SNIFF)) < 0)
		r = (int)n;
	if (r == 0)
		r = gunzip(in, &bytes, &n);
	if (r == 0 && n == 0)
		return blm_fail(-ENODATA, "%s: empty", in->shown);
	if (r == 0 && !in->how->format && !in->how->base64 && looks_like_text(bytes, (size_t)n))
		return blm_fail(-EBADMSG, "%s: of no known format; it looks like base64: say so (blm_exchange.base64)", in->shown);
	if (r == 0)
		r = blm_find_format(&in->format, in->how->format, bytes, (size_t)n, in->how->base64, in->shown);
	if (r == 0)
		r = go_within(in, bytes, (size_t)n);
	for (layer = in->format ? in->format->text + 1 : layer; r == 0 && in->how->base64 && layer->stage; layer++) {
		in->below[in->layers++] = in->from;
		r = blm_reader_stage(&in->from, layer->stage, in->shown);
	}
	return r;
}

int blm_incoming_open(struct blm_incoming *in, const struct blm_exchange *how, struct blm_reader *from, const struct blm_bytes_at *file,
		      uint64_t known, const char *shown)
{
	*in = (struct blm_incoming){ .from = from, .file = file, .how = how, .shown = shown, .known = known,
				     .block = malloc(BLM_INCOMING_BLOCK) };
	in->most = how->max_bytes ? how->max_bytes : how->base64 || !known ? MOST_UNTOLD : UINT64_MAX;
	return in->block ? unpack(in) : blm_fail(-ENOMEM, "%s: out of memory", shown);
}

void blm_incoming_close(struct blm_incoming *in)
{
	blm_reader_close(in->from);
	free(in->piece.unpacked);
	free(in->block);
	free(in->head);
}

/* ---- The head, and what it says ---- */

int blm_incoming_head(struct blm_incoming *in)
{
	int64_t n;

	in->head = malloc(in->format->head_bytes + 1);
	n = in->head ? blm_read_full(in->from, in->head, in->format->head_bytes) : blm_fail(-ENOMEM, "%s: out of memory", in->shown);
	if (n < 0)
		return (int)n;
	in->head_count = (size_t)n;
	return 0;
}

int blm_incoming_expect(struct blm_incoming *in, uint64_t end)
{
	in->end = end;
	if (end > in->most)
		return blm_fail(-EFBIG, "%s: %llu bytes by its header; at most %llu are allowed (blm_exchange.max_bytes)", in->shown,
				(unsigned long long)end, (unsigned long long)in->most);
	if (in->known && !in->how->base64 && !in->format->cut && end > in->known)
		return blm_fail(-ENODATA, "%s: %llu bytes; by its header it has %llu: it was cut", in->shown,
				(unsigned long long)in->known, (unsigned long long)end);
	return 0;
}

/* ---- In order ---- */

/* Of those that were read as the head first. */
int64_t blm_incoming_some(struct blm_incoming *in, uint8_t *room, size_t bytes)
{
	size_t kept = in->at < in->head_count ? in->head_count - (size_t)in->at : 0;
	int64_t n = 0;

	kept = kept < bytes ? kept : bytes;
	if (kept)
		memcpy(room, in->head + in->at, kept);
	if (kept < bytes)
		n = blm_read_full(in->from, room + kept, bytes - kept);
	if (n < 0)
		return n;
	in->at += kept + (uint64_t)n;
	return (int64_t)kept + n;
}

int blm_incoming_take(struct blm_incoming *in, uint8_t *room, size_t bytes)
{
	int64_t n = blm_incoming_some(in, room, bytes);

	if (n < 0)
		return (int)n;
	if ((size_t)n < bytes && in->format->cut) {
		memset(room + n, 0, bytes - (size_t)n);
		return 0;
	}
	if ((size_t)n < bytes)
		return blm_fail(-ENODATA, "%s: ends after %llu bytes; by its header it has %llu: it was cut", in->shown,
				(unsigned long long)in->at, (unsigned long long)in->end);
	return 0;
}

int blm_incoming_skip_to(struct blm_incoming *in, uint64_t at)
{
	int r = 0;

	while (r == 0 && in->at < at)
		r = blm_incoming_take(in, in->block, at - in->at < BLM_INCOMING_BLOCK ? (size_t)(at - in->at) : BLM_INCOMING_BLOCK);
	return r;
}

int blm_incoming_whole(struct blm_incoming *in, uint8_t **ret)
{
	size_t room = 0;
	int64_t n;

	do {
		if (in->at + BLM_INCOMING_BLOCK > room) {
			uint8_t *more = realloc(*ret, room = 2 * room + BLM_INCOMING_BLOCK);

			if (!more)
				return blm_fail(-ENOMEM, "%s: out of memory", in->shown);
			*ret = more;
		}
		n = blm_read_full(in->from, *ret + in->at, BLM_INCOMING_BLOCK);
		in->at += n > 0 ? (uint64_t)n : 0;
	} while (n > 0 && in->at <= in->most);
	if (n >= 0 && in->at > in->most)
		return blm_fail(-EFBIG, "%s: has more than the %llu bytes that are allowed (blm_exchange.max_bytes)", in->shown, (unsigned long long)in->most);
	return n < 0 ? (int)n : 0;
}

static int read_to_end(struct blm_incoming *in, struct blm_reader *from)
{
	int64_t n = 1;

	while (n > 0 && in->at <= in->most) {
		if (from == in->from) {
			n = blm_incoming_some(in, in->block, BLM_INCOMING_BLOCK);
		} else {
			n = blm_read_full(from, in->block, BLM_INCOMING_BLOCK);
			in->at += n > 0 ? (uint64_t)n : 0;
		}
	}
	if (n >= 0 && in->at > in->most)
		return blm_fail(-EFBIG, "%s: unpacks to more than the %llu bytes that are allowed (blm_exchange.max_bytes)", in->shown,
				(unsigned long long)in->most);
	return n < 0 ? (int)n : 0;
}

int blm_incoming_rest(struct blm_incoming *in)
{
	int r = in->layers || in->how->base64 ? read_to_end(in, in->from) : 0;

	for (unsigned i = in->layers; r == 0 && i > 0; i--)
		r = read_to_end(in, in->below[i - 1]);
	return r;
}
