/*
 * import_source.c - the input of an import
 */
#include "exchange/import_source.h"
#include "base/phase.h"

enum { SNIFF = 64 };	/* enough to recognise every format */
/* where neither the caller nor the size of a file says how much there may be */
#define MOST_UNTOLD (UINT64_C(1) << 30)

/* ---- Layers ---- */

static bool is_digit_of_base64(uint8_t c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')
		|| strchr("+/-_=", c);
}

/*
 * Its lines have whole groups of four digits, and a short first line is the only one. Lists of
 * words and of URLs differ in that.
 */
static bool looks_like_base64(const uint8_t *bytes, size_t count)
{
	size_t len = 0, digits = 0;

	while (len < count && bytes[len] != '\n' && bytes[len] != '\r')
		len++;
	for (size_t i = 0; i < count; i++) {
		bool ends = bytes[i] == '\n' || bytes[i] == '\r';

		if (!ends && (!bytes[i] || !is_digit_of_base64(bytes[i])))
			return false;
		digits += !ends;
	}
	return len >= 16 && (len == count || (len % 4 == 0 && (digits == len || len >= 60)));
}

static bool looks_like_text(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((bytes[i] < ' ' && !strchr("\t\n\r", bytes[i] ? bytes[i] : 'x'))
		    || bytes[i] == 0x7f)
			return false;
	return count > 0;
}

/*
 * Files with these beginnings are no filters, but are often stored near filters. Return: the type
 * of the file, and what to do; NULL: not known.
 */
static const char *something_else(const uint8_t *bytes, size_t count)
{
	static const struct { size_t count; const char *begin, *words; } others[] = {
		{ 3, "\x1f\x8b\x08", "packed with gzip; unpack it first with gunzip" },
		{ 4, "\x28\xb5\x2f\xfd", "packed with zstd; unpack it first with unzstd" },
		{ 6, "\xfd" "7zXZ", "packed with xz; unpack it first with unxz" },
		{ 4, "\x04\x22\x4d\x18", "packed with lz4; unpack it first with unlz4" },
		{ 3, "BZh", "packed with bzip2; unpack it first with bunzip2" },
		{ 4, "PK\3\4", "a ZIP archive; take the filter's file out of it first" },
		{ 6, "7z\xbc\xaf\x27\x1c", "a 7z archive; take the filter's file out of it first" },
		{ 16, "SQLite format 3", "a database of SQLite, not a filter" },
	};

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (count >= others[i].count && !memcmp(bytes, others[i].begin, others[i].count))
			return others[i].words;
	if (count && (*bytes == '{' || *bytes == '[') && looks_like_text(bytes, count))
		return "JSON of no known format; name the format (blm_exchange.format)";
	return looks_like_text(bytes, count)
		? "text, not a filter; blm_add_many() adds its keys to a filter" : NULL;
}

/* No format begins so: the words for it. */
static int no_format(const struct blm_import_source *in, const uint8_t *bytes, size_t count,
		     int err)
{
	const char *words = in->how->format
		|| in->how->base64 ? NULL : something_else(bytes, count);

	return err == -EBADMSG && words ? blm_fail(err, "%s: %s%s", in->display,
						   in->layers ? "in gzip: " : "", words) : err;
}

/*
 * A gzip file counts as its contents, for formats often in gzip. The number of bytes is then
 * unknown.
 */
static int gunzip(struct blm_import_source *in, const uint8_t **bytes, int64_t *n)
{
	const struct blm_format *named = in->how->format ? blm_format_by_name(in->how->format)
		: NULL;
	int r;

	if (in->how->base64 || (named && !named->gzipped)
	    || !blm_looks_like_gzip(*bytes, (size_t)*n))
		return 0;
	in->known = 0;
	in->file = NULL;	/* the packed bytes are at hand, not these */
	in->most = in->how->max_bytes ? in->how->max_bytes : MOST_UNTOLD;
	in->below[in->layers++] = in->from;
	r = blm_reader_stage(&in->from, &blm_stage_gzip, in->display);
	if (r == 0)
		r = blm_reader_peeking(&in->from);
	if (r < 0)
		return r;
	*n = blm_reader_peek(in->from, bytes, SNIFF);
	return *n < 0 ? (int)*n : 0;
}

static bool is_within(const struct blm_import_source *in, const uint8_t *bytes, size_t count)
{
	const struct blm_format *format = in->format;

	return (format->within && format->within(bytes, count))
		|| (format->within_by_end && in->file && format->within_by_end(in->file))
	    || (format->within_if_named && in->how->record);
}

/* A file of another type that contains filters: one of these is the input from here on. */
static int go_within(struct blm_import_source *in, const uint8_t *bytes, size_t count)
{
	const struct blm_format *format = in->format;
	bool asked = in->how->column || in->how->row_group;
	int r;

	if (in->how->base64 && format->within_if_named && in->how->record)
		return blm_fail(-EINVAL, "%s: base64 has one filter only: leave out "
				"blm_exchange.record", in->display);
	if (in->how->base64 || !is_within(in, bytes, count))
		return asked ? blm_fail(-EINVAL, "%s: no Parquet file, so it has no columns and "
					"row groups", in->display) : 0;
	if (!in->file)
		return blm_fail(-ESPIPE, "%s: such a file is read from its end: give the name of "
				"a file, not a pipe", in->display);
	r = format->locate(&in->piece, in->file, in->how, in->display);
	if (r < 0)
		return r;
	in->known = in->piece.bytes;
	in->from = blm_reader_close(in->from);
	return blm_reader_piece(&in->from, &in->piece, in->file, in->display);
}

/* Does the base64 hold the file as it is, as base64(1) makes it, and not the format's text form? */
static bool is_file_itself(const struct blm_format *format, const uint8_t *bytes, size_t count)
{
	return format && format->begins && format->begins(bytes, count)
		&& !(format->text_begins && format->text_begins(bytes, count));
}

/* Finds the format if it is not named, and stacks the layers of its text form. */
static int unpack(struct blm_import_source *in)
{
	/* the outermost one is the same for all: base64 */
	const struct blm_layer *layer = blm_format_at(0)->text;
	const uint8_t *bytes = NULL;
	int64_t n = 0;
	int r = 0;

	if (in->how->base64)
		r = blm_reader_stage(&in->from, layer->stage, in->display);
	if (r == 0)
		r = blm_reader_peeking(&in->from);
	if (r == 0 && (n = blm_reader_peek(in->from, &bytes, SNIFF)) < 0)
		r = (int)n;
	if (r == 0)
		r = gunzip(in, &bytes, &n);
	if (r == 0 && n == 0)
		return blm_fail(-ENODATA, "%s: empty", in->display);
	if (r == 0 && !in->how->format && !in->how->base64 && looks_like_base64(bytes, (size_t)n))
		return blm_fail(-EBADMSG, "%s: of no known format; it looks like base64: say so "
				"(blm_exchange.base64)", in->display);
	if (r == 0)
		r = no_format(in, bytes, (size_t)n,
			      blm_find_format(&in->format, in->how->format, bytes, (size_t)n,
					      in->how->base64, in->display));
	if (r == 0)
		r = go_within(in, bytes, (size_t)n);
	if (r == 0 && in->how->base64 && is_file_itself(in->format, bytes, (size_t)n))
		return 0;
	for (layer = in->format ? in->format->text + 1 : layer; r == 0 && in->how->base64
	     && layer->stage; layer++) {
		in->below[in->layers++] = in->from;
		r = blm_reader_stage(&in->from, layer->stage, in->display);
	}
	return r;
}

int blm_import_source_open(struct blm_import_source *in, const struct blm_exchange *how,
			   struct blm_reader *from, const struct blm_bytes_at *file,
		      uint64_t known, const char *display)
{
	*in = (struct blm_import_source){ .from = from, .file = file, .how = how,
					  .display = display, .known = known,
				     .block = malloc(BLM_INCOMING_BLOCK) };
	in->most = how->max_bytes ? how->max_bytes : how->base64
		|| !known ? MOST_UNTOLD : UINT64_MAX;
	return in->block ? unpack(in) : blm_fail(-ENOMEM, "%s: out of memory", display);
}

void blm_import_source_close(struct blm_import_source *in)
{
	blm_reader_close(in->from);
	free(in->piece.unpacked);
	free(in->block);
	free(in->head);
}

/* ---- The beginning, and its outline ---- */

int blm_import_source_head(struct blm_import_source *in)
{
	int64_t n;

	in->head = malloc(in->format->head_bytes + 1);
	n = in->head ? blm_read_full(in->from, in->head, in->format->head_bytes)
		: blm_fail(-ENOMEM, "%s: out of memory", in->display);
	if (n < 0)
		return (int)n;
	in->head_count = (size_t)n;
	return 0;
}

int blm_import_source_expect(struct blm_import_source *in, uint64_t end)
{
	in->end = end;
	if (end > in->most)
		return blm_fail(-EFBIG, "%s: %llu bytes by its header; at most %llu are allowed "
				"(blm_exchange.max_bytes)", in->display,
				(unsigned long long)end, (unsigned long long)in->most);
	if (in->known && !in->how->base64 && !in->format->cut && end > in->known)
		return blm_fail(-ENODATA, "%s: has %llu bytes, but %llu by its header: it is "
				"truncated",
				in->display,
				(unsigned long long)in->known, (unsigned long long)end);
	return 0;
}

/* ---- In order ---- */

/* First the bytes that were read as the head. */
int64_t blm_import_source_some(struct blm_import_source *in, uint8_t *buffer, size_t bytes)
{
	size_t kept = in->at < in->head_count ? in->head_count - (size_t)in->at : 0;
	int64_t n = 0;

	kept = kept < bytes ? kept : bytes;
	if (kept)
		memcpy(buffer, in->head + in->at, kept);
	if (kept < bytes)
		n = blm_read_full(in->from, buffer + kept, bytes - kept);
	if (n < 0)
		return n;
	in->at += kept + (uint64_t)n;
	return (int64_t)kept + n;
}

int blm_import_source_take(struct blm_import_source *in, uint8_t *buffer, size_t bytes)
{
	int64_t n = blm_import_source_some(in, buffer, bytes);

	if (n < 0)
		return (int)n;
	if ((size_t)n < bytes && in->format->cut) {
		memset(buffer + n, 0, bytes - (size_t)n);
		return 0;
	}
	if ((size_t)n < bytes)
		return blm_fail(-ENODATA, "%s: ends after %llu bytes, but has %llu by its "
				"header: it is truncated", in->display,
				(unsigned long long)in->at, (unsigned long long)in->end);
	return 0;
}

int blm_import_source_skip_to(struct blm_import_source *in, uint64_t at)
{
	int r = 0;

	while (r == 0 && in->at < at)
		r = blm_import_source_take(in, in->block, at - in->at < BLM_INCOMING_BLOCK
					   ? (size_t)(at - in->at) : BLM_INCOMING_BLOCK);
	return r;
}

int blm_import_source_whole(struct blm_import_source *in, uint8_t **ret)
{
	size_t capacity = 0;
	int64_t n;

	/* base64 is larger than its contents */
	BLM_PHASE("reading", in->how->base64 ? 0 : in->known);
	do {
		if (in->at + BLM_INCOMING_BLOCK > capacity) {
			uint8_t *more = realloc(*ret, capacity = 2 * capacity + BLM_INCOMING_BLOCK);

			if (!more)
				return blm_fail(-ENOMEM, "%s: out of memory", in->display);
			*ret = more;
		}
		n = blm_read_full(in->from, *ret + in->at, BLM_INCOMING_BLOCK);
		in->at += n > 0 ? (uint64_t)n : 0;
		blm_phase_at(in->at);
	} while (n > 0 && in->at <= in->most);
	if (n >= 0 && in->at > in->most)
		return blm_fail(-EFBIG, "%s: has more than the %llu bytes that are allowed "
				"(blm_exchange.max_bytes)", in->display,
				(unsigned long long)in->most);
	return n < 0 ? (int)n : 0;
}

static int read_to_end(struct blm_import_source *in, struct blm_reader *from)
{
	int64_t n = 1;

	while (n > 0 && in->at <= in->most) {
		if (from == in->from) {
			n = blm_import_source_some(in, in->block, BLM_INCOMING_BLOCK);
		} else {
			n = blm_read_full(from, in->block, BLM_INCOMING_BLOCK);
			in->at += n > 0 ? (uint64_t)n : 0;
		}
	}
	if (n >= 0 && in->at > in->most)
		return blm_fail(-EFBIG, "%s: unpacks to more than the %llu bytes that are allowed "
				"(blm_exchange.max_bytes)", in->display,
				(unsigned long long)in->most);
	return n < 0 ? (int)n : 0;
}

int blm_import_source_rest(struct blm_import_source *in)
{
	int r = in->layers || in->how->base64 ? read_to_end(in, in->from) : 0;

	for (unsigned i = in->layers; r == 0 && i > 0; i--)
		r = read_to_end(in, in->below[i - 1]);
	return r;
}
