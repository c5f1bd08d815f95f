/*
 * import.c - filters out of other programs' files, and out of text: in a stream
 *
 * A format (format/format.h) says how a file begins and where its bits lie; here they are moved. The bits pass unchanged, so
 * an imported filter answers as its maker would, and the beginning of its file is kept with it (the origin), so that export.c
 * writes the same bytes again.
 */
#include "combine.h"
#include "exchange.h"
#include "file/system.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	BLOCK = 256 << 10,
	SNIFF = 64,		/* enough to tell every format */
	LAYERS = 8,
};
#define MOST_UNTOLD (UINT64_C(1) << 30)	/* where neither the caller nor the size of a file says how much there may be */

static const struct blm_exchange by_default;

/* ---- Layers and limits ---- */

struct importing {
	struct blm_reader *from;	/* the file, unpacked */
	const struct blm_bytes_at *file;	/* the same, where all of it is at hand; else NULL */
	struct blm_piece piece;		/* what is left to be read of that, where a format found its filter in the middle of it */
	struct blm_reader *below[LAYERS];	/* what it is unpacked from, for which that answers */
	unsigned layers;
	const struct blm_exchange *how;
	const struct blm_format *format;
	struct blm_outline *outline;
	uint8_t *head;			/* the first bytes of the file, head_bytes of the format or all there are */
	size_t head_count;
	const char *shown, *made;	/* the source; what is made of it: for messages */
	uint64_t most;			/* bytes that may come */
	uint64_t known;			/* how many do, where that is plain; else 0 */
	uint64_t at;			/* in the file: how much of it was taken */
	uint8_t *block;
	uint8_t *whole;			/* all of it, of a format that wants it so */
	struct blm_pages pages;		/* of data */
};

/* What stands at the beginning of the chain looks like base64, most likely, if it has nothing but letters and line breaks. */
static bool looks_like_text(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!(bytes[i] == '\n' || bytes[i] == '\r' || (bytes[i] >= '+' && bytes[i] <= 'z')))
			return false;
	return count >= 16;
}

/* A file in gzip is what is in it, where that is usual. How much comes is then open. */
static int gunzip(struct importing *in, const uint8_t **bytes, int64_t *n)
{
	const struct blm_format *named = in->how->format ? blm_format_by_name(in->how->format) : NULL;
	int r;

	if (in->how->base64 || (named && !named->gzipped) || !blm_looks_like_gzip(*bytes, (size_t)*n))
		return 0;
	in->known = 0;
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

static bool is_within(const struct importing *in, const uint8_t *bytes, size_t count)
{
	const struct blm_format *format = in->format;

	return (format->within && format->within(bytes, count)) || (format->within_by_end && in->file && format->within_by_end(in->file))
	    || (format->within_if_named && in->how->record);
}

/* A file of another sort, in which there are filters: then that one is the file from here on. */
static int go_within(struct importing *in, const uint8_t *bytes, size_t count)
{
	const struct blm_format *format = in->format;
	bool asked = in->how->column || in->how->row_group;
	int r;

	if (in->how->base64 && format->within_if_named && in->how->record)
		return blm_fail(-EINVAL, "%s: in base64 is one filter by itself, which is not named (--record)", in->shown);
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
static int unpack(struct importing *in)
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
		return blm_fail(-EBADMSG, "%s: of no known format; it looks like base64: say so (--base64)", in->shown);
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

/* Of what a file has by its header. */
static uint64_t end_of(const struct blm_outline *o)
{
	return o->behind > o->end ? o->behind : o->end;
}

/* The beginning, and what it says; nothing is made before that is checked against what may come. */
static int read_outline(struct importing *in)
{
	struct blm_outline *o = in->outline;
	int64_t n;
	int r;

	in->head = malloc(in->format->head_bytes + 1);
	n = in->head ? blm_read_full(in->from, in->head, in->format->head_bytes) : blm_fail(-ENOMEM, "%s: out of memory", in->shown);
	if (n < 0)
		return (int)n;
	in->head_count = (size_t)n;
	o->asked_cells = in->how->cells;
	o->asked_probes = in->how->probes;
	o->asked_everything = in->how->everything;
	r = blm_outline_of(o, in->format, in->head, in->head_count, in->shown);
	if (r == 0 && end_of(o) > in->most)
		r = blm_fail(-EFBIG, "%s: %llu bytes by its header; at most %llu are allowed (--max-size)", in->shown,
			     (unsigned long long)end_of(o), (unsigned long long)in->most);
	if (r == 0 && in->known && !in->how->base64 && !in->format->cut && end_of(o) > in->known)
		r = blm_fail(-ENODATA, "%s: %llu bytes; by its header it has %llu: it was cut", in->shown,
			     (unsigned long long)in->known, (unsigned long long)end_of(o));
	return r;
}

/* ---- Bits ---- */

/* Up to so many, of those that were read for the outline first. */
static int64_t take_some(struct importing *in, uint8_t *room, size_t bytes)
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

/* The next bytes of the file, all of them. */
static int take(struct importing *in, uint8_t *room, size_t bytes)
{
	int64_t n = take_some(in, room, bytes);

	if (n < 0)
		return (int)n;
	if ((size_t)n < bytes && in->format->cut) {
		memset(room + n, 0, bytes - (size_t)n);
		return 0;
	}
	if ((size_t)n < bytes)
		return blm_fail(-ENODATA, "%s: ends after %llu bytes; by its header it has %llu: it was cut", in->shown,
				(unsigned long long)in->at, (unsigned long long)end_of(in->outline));
	return 0;
}

static int skip_to(struct importing *in, uint64_t at)
{
	int r = 0;

	while (r == 0 && in->at < at)
		r = take(in, in->block, at - in->at < BLOCK ? (size_t)(at - in->at) : BLOCK);
	return r;
}

/* Pages that are zero stay holes. By write(2), not through the map: a full disk is then an error and no signal. */
static int put(struct importing *in, const struct blm_view *view, const struct blm_part *part, uint64_t done, size_t count)
{
	uint64_t to = (uint64_t)(part->bytes - view->image.map) + done, full = in->pages.full;
	int r = blm_write_pages(view->image.fd, in->block, count, to, &in->pages, in->made);

	if (r == 0 && in->pages.full > full)
		mark_range(part, part->bytes + done, count);
	return r;
}

static int fill_part(struct importing *in, const struct blm_view *view, unsigned i)
{
	const struct blm_part *part = &view->part[i];
	const struct blm_part_entry *entry = &in->outline->contents.part[i];
	uint64_t offset = le64toh(entry->offset), end = i + 1 < view->parts ? le64toh(entry[1].offset) : in->outline->end, bytes, done = 0;
	bool everything = in->outline->everything;
	int r = skip_to(in, everything ? in->outline->end : offset);

	bytes = everything || end - offset > part->shape.bytes ? part->shape.bytes : end - offset;
	while (r == 0 && done < bytes) {
		size_t count = bytes - done < BLOCK ? (size_t)(bytes - done) : BLOCK;

		if (everything)
			memset(in->block, 0xff, count);
		else
			r = take(in, in->block, count);
		if (r == 0)
			r = put(in, view, part, done, count);
		done += count;
	}
	if (r == 0)
		blm_clear_padding(part);
	return r;
}

static int read_to_end(struct importing *in, struct blm_reader *from)
{
	int64_t n = 0;

	while (in->at <= in->most && (n = from == in->from ? take_some(in, in->block, BLOCK) : blm_read_full(from, in->block, BLOCK)) > 0)
		in->at += from == in->from ? 0 : (uint64_t)n;
	if (n >= 0 && in->at > in->most)
		return blm_fail(-EFBIG, "%s: unpacks to more than the %llu bytes that are allowed (--max-size)", in->shown,
				(unsigned long long)in->most);
	return n < 0 ? (int)n : 0;
}

/*
 * The layers of a text form end with checksums, so each is read to its end, the innermost first. What follows the filter in the
 * file is nobody's, and is left out; it is no reason to refuse, since pybloomfiltermmap itself left the tails of older files
 * behind its own.
 */
static int read_rest(struct importing *in)
{
	int r = in->layers || in->how->base64 ? read_to_end(in, in->from) : 0;

	for (unsigned i = in->layers; r == 0 && i > 0; i--)
		r = read_to_end(in, in->below[i - 1]);
	return r;
}

static bool is_zero(const uint8_t *bytes, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		if (bytes[i])
			return false;
	return true;
}

/* Space that was taken for a part which then did not come, at most; another file is not, nor what was written over a longer one. */
static int take_zeros(struct importing *in)
{
	int64_t n = skip_to(in, in->outline->behind);

	if (n == 0)
		n = take_some(in, in->block, BLOCK);
	if (n <= 0 || is_zero(in->block, n))
		return n < 0 ? (int)n : 0;
	return blm_fail(-EBADMSG, "%s: goes on after the %llu bytes that it has by its header", in->shown, (unsigned long long)(in->at - (uint64_t)n));
}

/* What some formats' files have behind the bits: the tail, which was looked at; nothing; what its user put there, which is kept. */
static int take_end(struct importing *in, struct blm_view *view)
{
	size_t head = in->format->head_bytes;
	struct blm_constant *constant;
	int64_t n = in->outline->tail_bytes ? take(in, in->block, in->outline->tail_bytes) : 0;

	if (n == 0 && in->format->zeros)
		return take_zeros(in);
	if (n == 0 && (in->format->exact || in->format->rest))
		n = take_some(in, in->block, in->format->exact ? 1 : BLM_ORIGIN_BYTES - head + 1);
	if (n <= 0)
		return (int)n;
	if (in->format->exact)
		return blm_fail(-EBADMSG, "%s: goes on after the %llu bytes that it has by its header", in->shown,
				(unsigned long long)in->outline->end + in->outline->tail_bytes);
	if ((size_t)n > BLM_ORIGIN_BYTES - head)
		return blm_fail(-EFBIG, "%s: has more than %zu bytes of other data behind its bits; take them off first", in->shown,
				BLM_ORIGIN_BYTES - head);
	constant = malloc(sizeof(*constant));
	if (!constant)
		return blm_fail(-ENOMEM, "%s: out of memory", in->made);
	*constant = view->constant;
	memcpy(constant->origin_head + head, in->block, (size_t)n);
	constant->origin_bytes = htole32((uint32_t)(head + (size_t)n));
	n = blm_view_set_constant(view, constant, in->made);
	free(constant);
	return (int)n;
}

/* A filter that is mostly empty stays a file of holes; for others the space is taken now, so that none is missing later. */
static int settle_space(const struct importing *in, struct blm_view *view)
{
	struct blm_constant *constant;
	int r;

	if (in->pages.empty > in->pages.full && !in->how->allocate)
		return 0;
	constant = malloc(sizeof(*constant));
	if (!constant)
		return blm_fail(-ENOMEM, "%s: out of memory", in->made);
	*constant = view->constant;
	constant->flags &= ~htole64(BLM_FLAG_SPARSE);
	r = blm_allocate(view->image.fd, 0, view->image.bytes, in->made);
	if (r == 0)
		r = blm_view_set_constant(view, constant, in->made);
	free(constant);
	return r;
}

/* How many keys there are: what the file says, or what its bits say. A number that cannot be is not ours to put right: it stays in the file. */
static int count_keys(const struct importing *in, struct blm_view *view)
{
	uint64_t keys = in->outline->keys;
	bool estimated = in->outline->counted ? in->outline->keys_estimated : in->format->fill || in->format->recount || in->pages.full > 0;
	int r = 0;

	if (!in->outline->counted && estimated)
		r = blm_keys_of_bits(view, &keys);
	view->image.header->stripe[0].keys = htole64(keys);
	live_of(view)->inexact.word = htole64(estimated);
	return r == -EOPNOTSUPP ? 0 : r;
}

/* What is written through the map must have its space, or a full disk would kill. It is little, beside the data that come. */
static int take_guard(const struct importing *in, const struct blm_view *view, unsigned i)
{
	uint64_t bytes = guard_bytes(view->part[i].shape.bytes);

	return blm_allocate(view->image.fd, (uint64_t)(view->part[i].bytes - view->image.map) - bytes, bytes, in->made);
}

static int fill(struct blm_view *view, void *context)
{
	struct importing *in = context;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < view->parts; i++) {
		r = take_guard(in, view, i);
		if (r == 0)
			r = fill_part(in, view, i);
	}
	for (int i = 0; i < BLM_OWN; i++)
		store_release(&live_of(view)->own[i].word, in->outline->own[i]);
	if (r == 0)
		r = take_end(in, view);
	if (r == 0)
		r = read_rest(in);
	if (r == 0)
		r = blm_settle_family(view, in->outline, in->format, in->how, in->shown);
	if (r == 0)
		r = count_keys(in, view);
	return r < 0 ? r : settle_space(in, view);
}

/* ---- Files that are turned into data of ours ---- */

/* All of it, as far as it may come. */
static int read_whole(struct importing *in)
{
	size_t room = 0;
	int64_t n;

	do {
		if (in->at + BLOCK > room) {
			uint8_t *more = realloc(in->whole, room = 2 * room + BLOCK);

			if (!more)
				return blm_fail(-ENOMEM, "%s: out of memory", in->shown);
			in->whole = more;
		}
		n = blm_read_full(in->from, in->whole + in->at, BLOCK);
		in->at += n > 0 ? (uint64_t)n : 0;
	} while (n > 0 && in->at <= in->most);
	if (n >= 0 && in->at > in->most)
		return blm_fail(-EFBIG, "%s: has more than the %llu bytes that are allowed (--max-size)", in->shown, (unsigned long long)in->most);
	return n < 0 ? (int)n : 0;
}

static int outline_of_whole(struct importing *in)
{
	int r = read_whole(in);

	memset(in->outline, 0, sizeof(*in->outline));
	if (r == 0)
		r = in->format->outline(in->outline, in->whole, (size_t)in->at, in->how, in->shown);
	if (r == 0)
		blm_outline_open_family(in->outline, in->format);
	return r;
}

static int fill_of_whole(struct blm_view *view, void *context)
{
	struct importing *in = context;
	int r = in->format->fill(&view->part[0], in->whole, (size_t)in->at, in->how, in->shown);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < view->parts; i++) {
		blm_clear_padding(&view->part[i]);
		mark_range(&view->part[i], view->part[i].bytes, view->part[i].shape.bytes);
	}
	r = blm_settle_family(view, in->outline, in->format, in->how, in->shown);
	if (r == 0)
		r = count_keys(in, view);
	return r < 0 ? r : read_rest(in);
}

static int import(struct blm_filter **ret, struct blm_store *store, const char *name, struct importing *in)
{
	struct blm_making *making = malloc(sizeof(*making));
	int r = making ? unpack(in) : blm_fail(-ENOMEM, "%s: out of memory", in->shown);

	if (r == 0)
		r = blm_format_check_given(in->format, in->how, in->shown);
	if (r == 0)
		r = in->format->outline ? outline_of_whole(in) : read_outline(in);
	if (r == 0) {
		blm_making_of(making, &in->outline->contents);
		making->sparse = !in->format->fill;
		making->mode = in->how->mode;
		making->secret = in->how->secret;
		r = blm_make(ret, store, name, making, in->format->fill ? fill_of_whole : fill, in);
	}
	free(making);
	return r;
}

/* known: how much comes, by the nature of the source; 0: that is open. */
static int import_from(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_exchange *how,
		       struct blm_reader *from, const struct blm_bytes_at *file, uint64_t known, const char *shown)
{
	struct importing in = { .from = from, .file = file, .how = how, .shown = shown, .made = name ? name : "(memory)", .known = known,
				.outline = calloc(1, sizeof(*in.outline)), .block = malloc(BLOCK) };
	int r;

	in.most = how->max_bytes ? how->max_bytes : how->base64 || !known ? MOST_UNTOLD : UINT64_MAX;
	r = in.outline && in.block ? import(ret, store, name, &in) : blm_fail(-ENOMEM, "%s: out of memory", shown);
	blm_reader_close(in.from);
	free(in.piece.unpacked);
	free(in.outline);
	free(in.whole);
	free(in.block);
	free(in.head);
	return r;
}
static_assert((int)BLOCK >= (int)BLM_ORIGIN_BYTES, "what is kept of a file is read into the block");

/* ---- Sources ---- */

BLM_API int blm_import(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_exchange *how,
		       int64_t (*read)(void *context, void *room, size_t bytes), void *context)
{
	struct blm_reader *from;
	int r = blm_reader_calls(&from, read, context, "the input");

	return r < 0 ? r : import_from(ret, store, name, how ? how : &by_default, from, NULL, 0, "the input");
}

BLM_API int blm_import_bytes(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_exchange *how,
			     const void *bytes, size_t len)
{
	struct blm_bytes_at file = blm_bytes_of_memory(bytes, len);
	struct blm_reader *from;
	int r = blm_reader_memory(&from, bytes, len);

	return r < 0 ? r : import_from(ret, store, name, how ? how : &by_default, from, &file, len, "the input");
}

static int64_t read_fd(void *context, void *room, size_t bytes)
{
	ssize_t n;

	do
		n = read(*(int *)context, room, bytes);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

BLM_API int blm_import_file(struct blm_filter **ret, struct blm_store *store, const char *name, const struct blm_exchange *how,
			    const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), r;
	struct blm_bytes_at file;
	struct blm_reader *from;
	struct stat st;

	if (fd < 0)
		return blm_fail(-errno, "%s: %s", path, strerror(errno));
	r = fstat(fd, &st) < 0 ? blm_fail(-errno, "%s: %s", path, strerror(errno)) : blm_reader_calls(&from, read_fd, &fd, path);
	if (r == 0) {
		file = blm_bytes_of_fd(fd, S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0);
		r = import_from(ret, store, name, how ? how : &by_default, from, S_ISREG(st.st_mode) ? &file : NULL, file.count, path);
	}
	close(fd);
	return r;
}
