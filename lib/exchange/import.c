/*
 * import.c - filters from other programs' files, and from text: as a stream
 *
 * A format (format/format.h) parses the beginning of a file and locates its bits; the functions
 * here move them. The bits stay unchanged, so an imported filter answers as its maker would. The
 * beginning of its file is stored with it (the origin), so that export.c can write the same bytes
 * again.
 */
#include "stats/tally.h"
#include "make/new_filter.h"
#include "file/os.h"
#include "base/phase.h"
#include "exchange/import_source.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct importing {
	struct blm_import_source from;
	struct blm_outline *outline;	/* its outline */
	const char *made;		/* the filter made of it: for messages */
	uint8_t *whole;			/* the complete file, for a format that needs it */
	struct blm_pages pages;		/* of data */
};

/*
 * The beginning of the file, and its outline; nothing is created before the outline is checked
 * against the possible size.
 */
static int read_outline(struct importing *in)
{
	const struct blm_import_source *from = &in->from;
	struct blm_outline *o = in->outline;
	int r = blm_import_source_head(&in->from);

	o->asked_cells = from->how->cells;
	o->asked_probes = from->how->probes;
	o->asked_everything = from->how->everything;
	if (r == 0)
		r = blm_outline_of(o, from->format, from->head, from->head_count, from->display);
	return r < 0 ? r : blm_import_source_expect(&in->from,
						    o->behind > o->end ? o->behind : o->end);
}

/* ---- Bits ---- */

/*
 * Pages of zeros stay holes. By write(2), not through the map: a full disk is then an error and no
 * signal.
 */
static int put(struct importing *in, const struct blm_view *view, const struct blm_part *part,
	       uint64_t done, size_t count)
{
	uint64_t to = (uint64_t)(part->bytes - view->image.map) + done, full = in->pages.full;
	int r = blm_write_pages(view->image.fd, in->from.block, count, to, &in->pages, in->made);

	if (r == 0 && in->pages.full > full)
		mark_range(part, part->bytes + done, count);
	return r;
}

static int fill_part(struct importing *in, const struct blm_view *view, unsigned i)
{
	const struct blm_part *part = &view->part[i];
	const struct blm_part_entry *entry = &in->outline->contents.part[i];
	uint64_t offset = le64toh(entry->offset), end = i + 1 < view->parts
		? le64toh(entry[1].offset) : in->outline->end, bytes, done = 0;
	bool everything = in->outline->everything;
	int r = blm_import_source_skip_to(&in->from, everything ? in->outline->end : offset);

	bytes = everything || end - offset > part->shape.bytes ? part->shape.bytes : end - offset;
	while (r == 0 && done < bytes) {
		size_t count = bytes - done < BLM_INCOMING_BLOCK ? (size_t)(bytes - done)
			: BLM_INCOMING_BLOCK;

		if (everything)
			memset(in->from.block, 0xff, count);
		else
			r = blm_import_source_take(&in->from, in->from.block, count);
		if (r == 0)
			r = put(in, view, part, done, count);
		done += count;
		blm_phase_at(in->from.at);
	}
	if (r == 0)
		blm_clear_padding(part);
	return r;
}

/*
 * Bytes after the data may only be the space of an absent part: no other file, and no rest of a
 * longer file that was overwritten. One block shows that, and a hole of any length takes no time.
 * After a filter that grows there may be the next part as a killed writer left it.
 */
static int take_zeros(struct importing *in, const struct blm_view *view)
{
	int64_t n = blm_import_source_skip_to(&in->from, in->outline->behind);

	if (n == 0 && !view->root.kind->next)
		n = blm_import_source_some(&in->from, in->from.block, BLM_INCOMING_BLOCK);
	if (n <= 0 || is_zero(in->from.block, (size_t)n))
		return n < 0 ? (int)n : 0;
	return blm_fail(-EBADMSG, "%s: has more bytes than the %llu of its header",
			in->from.display, (unsigned long long)in->from.end);
}

/*
 * The bytes after the bits, which some formats have: the tail, which was parsed; unused bytes; or
 * the user's bytes, which are stored.
 */
static int take_end(struct importing *in, struct blm_view *view)
{
	size_t head = in->from.format->head_bytes;
	struct blm_constant *constant;
	int64_t n = in->outline->tail_bytes
		? blm_import_source_take(&in->from, in->from.block, in->outline->tail_bytes) : 0;

	if (n == 0 && in->from.format->zeros)
		return take_zeros(in, view);
	if (n == 0 && (in->from.format->exact || in->from.format->rest))
		n = blm_import_source_some(&in->from, in->from.block, in->from.format->exact ? 1
					   : BLM_ORIGIN_BYTES - head + 1);
	if (n <= 0)
		return (int)n;
	if (in->from.format->exact)
		return blm_fail(-EBADMSG, "%s: has more bytes than the %llu of its header",
				in->from.display,
				(unsigned long long)in->from.end + in->outline->tail_bytes);
	if ((size_t)n > BLM_ORIGIN_BYTES - head)
		return blm_fail(-EFBIG, "%s: has more than %zu bytes of other data behind its "
				"bits; take them off first", in->from.display,
				BLM_ORIGIN_BYTES - head);
	constant = malloc(sizeof(*constant));
	if (!constant)
		return blm_fail(-ENOMEM, "%s: out of memory", in->made);
	*constant = view->constant;
	memcpy(constant->origin_head + head, in->from.block, (size_t)n);
	constant->origin_bytes = htole32((uint32_t)(head + (size_t)n));
	n = blm_view_set_constant(view, constant, in->made);
	free(constant);
	return (int)n;
}

/*
 * A filter that is mostly empty stays a sparse file. For others the space is allocated now, so that
 * none is missing later.
 */
static int settle_space(const struct importing *in, struct blm_view *view)
{
	struct blm_constant *constant;
	int r;

	if (in->pages.empty > in->pages.full && !in->from.how->allocate)
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

/*
 * The number of keys: as the file states, or estimated from its bits. An impossible number is not
 * corrected: it stays in the file.
 */
static int count_keys(const struct importing *in, struct blm_view *view)
{
	uint64_t keys = in->outline->keys;
	bool unsure = in->from.format->fill || in->from.format->recount || in->pages.full > 0;
	bool estimated = in->outline->counted ? in->outline->keys_estimated : unsure;
	int r = 0;

	if (!in->outline->counted && estimated)
		r = blm_keys_of_bits(view, &keys);
	view->image.header->stripe[0].keys = htole64(keys);
	live_of(view)->inexact.word = htole64(estimated);
	return r == -EOPNOTSUPP ? 0 : r;
}

/*
 * Pages that are written through the map must have their space, or a full disk would kill the
 * process. They are few compared with the data.
 */
static int take_block_records(const struct importing *in, const struct blm_view *view, unsigned i)
{
	uint64_t bytes = blocksum_bytes(view->part[i].shape.bytes);

	return blm_allocate(view->image.fd, (uint64_t)(view->part[i].bytes - view->image.map)
			    - bytes, bytes, in->made);
}

static int fill_parts(struct importing *in, const struct blm_view *view)
{
	int r = 0;

	BLM_PHASE("importing", in->outline->end);
	for (unsigned i = 0; r == 0 && i < view->parts; i++) {
		r = take_block_records(in, view, i);
		if (r == 0)
			r = fill_part(in, view, i);
	}
	return r;
}

static int fill(struct blm_view *view, void *context)
{
	struct importing *in = context;
	int r = fill_parts(in, view);

	for (int i = 0; i < BLM_OWN; i++)
		store_release(&live_of(view)->own[i].word, in->outline->own[i]);
	/* the unfinished change of a dead writer is imported as it is */
	if (r == 0 && view->root.kind->recover)
		view->root.kind->recover(&view->root);
	if (r == 0)
		r = take_end(in, view);
	if (r == 0)
		r = blm_import_source_rest(&in->from);
	if (r == 0)
		r = blm_resolve_family(view, in->outline, in->from.format, in->from.how,
				      in->from.display);
	if (r == 0)
		r = count_keys(in, view);
	return r < 0 ? r : settle_space(in, view);
}

/* ---- Files that are translated into our data ---- */

static int outline_of_whole(struct importing *in)
{
	int r = blm_import_source_whole(&in->from, &in->whole);

	memset(in->outline, 0, sizeof(*in->outline));
	if (r == 0)
		r = in->from.format->outline(in->outline, in->whole, (size_t)in->from.at,
					     in->from.how, in->from.display);
	if (r == 0)
		blm_outline_open_family(in->outline, in->from.format);
	return r;
}

static int fill_of_whole(struct blm_view *view, void *context)
{
	struct importing *in = context;
	int r;

	BLM_PHASE("importing", 0);
	r = in->from.format->fill(&view->part[0], in->whole, (size_t)in->from.at, in->from.how,
				  in->from.display);
	if (r < 0)
		return r;
	for (unsigned i = 0; i < view->parts; i++) {
		blm_clear_padding(&view->part[i]);
		mark_range(&view->part[i], view->part[i].bytes, view->part[i].shape.bytes);
	}
	r = blm_resolve_family(view, in->outline, in->from.format, in->from.how, in->from.display);
	if (r == 0)
		r = count_keys(in, view);
	return r < 0 ? r : blm_import_source_rest(&in->from);
}

static int import(struct blm_filter **ret, struct blm_store *store, const char *name,
		  struct importing *in)
{
	struct blm_spec *spec = malloc(sizeof(*spec));
	int r = spec ? blm_format_check_given(in->from.format, in->from.how, in->from.display)
		: blm_fail(-ENOMEM, "%s: out of memory", in->from.display);

	if (r == 0)
		r = in->from.format->outline ? outline_of_whole(in) : read_outline(in);
	if (r == 0) {
		blm_spec_of(spec, &in->outline->contents);
		spec->sparse = !in->from.format->fill;
		spec->mode = in->from.how->mode;
		spec->secret = in->from.how->secret;
		r = blm_make(ret, store, name, spec, in->from.format->fill ? fill_of_whole : fill,
			     in);
	}
	free(spec);
	return r;
}

/* known: the number of bytes, if the source has a size; 0: unknown. */
static int import_from(struct blm_filter **ret, struct blm_store *store, const char *name,
		       const struct blm_exchange *how,
		       struct blm_reader *from, const struct blm_bytes_at *file, uint64_t known,
		       const char *display)
{
	struct importing in = { .outline = calloc(1, sizeof(*in.outline)),
				.made = name ? name : "(memory)" };
	int r = blm_import_source_open(&in.from, how, from, file, known, display);

	if (r == 0 && !in.outline)
		r = blm_fail(-ENOMEM, "%s: out of memory", display);
	if (r == 0)
		r = import(ret, store, name, &in);
	blm_import_source_close(&in.from);
	free(in.outline);
	free(in.whole);
	return r;
}
static_assert((int)BLM_INCOMING_BLOCK >= (int)BLM_ORIGIN_BYTES,
	      "the part of a file that is kept is read into the block");

/* ---- Sources ---- */

BLM_API int blm_import(struct blm_filter **ret, struct blm_store *store, const char *name,
		       const struct blm_exchange *how,
		       int64_t (*read)(void *context, void *buffer, size_t bytes), void *context)
{
	struct blm_exchange ours;
	struct blm_reader *from;
	int r = blm_must_have(read, "read");

	if (r == 0)
		r = blm_exchange_take(&ours, how);
	if (r == 0)
		r = blm_reader_calls(&from, read, context, "the input");
	return r < 0 ? r : import_from(ret, store, name, &ours, from, NULL, 0, "the input");
}

BLM_API int blm_import_bytes(struct blm_filter **ret, struct blm_store *store, const char *name,
			     const struct blm_exchange *how,
			     const void *bytes, size_t len)
{
	struct blm_bytes_at file = blm_bytes_of_memory(bytes, len);
	struct blm_exchange ours;
	struct blm_reader *from;
	int r = blm_must_have(bytes || !len, "bytes");

	if (r == 0)
		r = blm_exchange_take(&ours, how);
	if (r == 0)
		r = blm_reader_memory(&from, bytes, len);
	return r < 0 ? r : import_from(ret, store, name, &ours, from, &file, len, "the input");
}

static int64_t read_fd(void *context, void *buffer, size_t bytes)
{
	ssize_t n;

	do
		n = read(*(int *)context, buffer, bytes);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

BLM_API int blm_import_file(struct blm_filter **ret, struct blm_store *store, const char *name,
			    const struct blm_exchange *how,
			    const char *path)
{
	int fd, r = blm_must_have(path, "path");
	struct blm_exchange ours;
	struct blm_bytes_at file;
	struct blm_reader *from;
	struct stat st;

	if (r == 0)
		r = blm_exchange_take(&ours, how);
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return blm_fail(-errno, "%s: %s", path, strerror(errno));
	r = fstat(fd, &st) < 0 ? blm_fail(-errno, "%s: %s", path, strerror(errno))
		: blm_reader_calls(&from, read_fd, &fd, path);
	if (r == 0) {
		file = blm_bytes_of_fd(fd, S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0);
		r = import_from(ret, store, name, &ours, from, S_ISREG(st.st_mode) ? &file : NULL,
				file.count, path);
	}
	close(fd);
	return r;
}
