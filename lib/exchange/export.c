/*
 * export.c - filters as other programs write them, and as text: as a stream
 *
 * An imported filter gets the beginning of its file back, so that the exported bytes are the
 * imported ones.
 */
#include "view/scan.h"
#include "exchange/exchange.h"
#include "file/os.h"
#include "durable/blocksum.h"
#include "make/replace.h"
#include "base/phase.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { BLOCK = 256 << 10 };

/* Where the bytes of a file go; `at` is how many came. */
struct exporting {
	const struct blm_filter *f;
	const struct blm_view *view;
	/* the data to read: the view's, or a copy that never changes */
	const struct blm_view *data;
	const struct blm_exchange *how;
	const struct blm_format *format;
	struct blm_outline *outline;
	uint8_t *head;			/* head_bytes of the format */
	struct blm_writer *to;
	uint64_t at;
};

static const struct blm_format *format_to_write(const struct blm_view *view, const char *name)
{
	const struct blm_format *origin = blm_format_by_id(le32toh(view->constant.origin));

	return name ? blm_format_by_name(name) : origin ? origin : blm_format_at(0);
}

/* The filter's own terms, as a format's lay_out() wants them. */
static void set_outline(struct exporting *out)
{
	const struct blm_view *view = out->view;
	struct blm_contents *c = &out->outline->contents;

	memset(out->outline, 0, sizeof(*out->outline));
	c->constant = view->constant;
	c->parts = view->parts;
	memcpy(c->part, view->image.header->part, view->parts * sizeof(*c->part));
	/* as they were checked, whatever the map says now */
	for (unsigned i = 0; i < view->parts; i++)
		c->part[i].bytes = htole64(view->part[i].shape.bytes);
	out->outline->keys = blm_counted_keys(out->data);
	out->outline->keys_estimated = load_acquire(&live_of(out->data)->inexact.word) != 0;
	blm_own_words(out->data, out->outline->own);
	out->outline->counted = true;
}

/* Could the family have made the file, by the file's numbers? */
static bool is_possible(const struct blm_outline *file, const struct blm_family *family)
{
	bool possible = !file->candidates;

	for (unsigned i = 0; i < file->candidates && !possible; i++)
		possible = file->candidate[i].family == family
			|| (file->candidate[i].also
			    && !strcmp(file->candidate[i].also, family->name));
	return possible;
}

/*
 * The stored beginning of the filter's file, if it has this format and still describes the filter.
 */
static bool take_origin(struct exporting *out)
{
	const struct blm_constant *c = &out->view->constant;
	struct blm_template_fields *t;
	struct blm_outline *came;
	bool same;

	if (out->how->fresh || out->format->memo || le32toh(c->origin) != out->format->id
	    || le32toh(c->origin_bytes) < out->format->head_bytes)
		return false;
	came = calloc(1, sizeof(*came));
	if (!came)
		return false;
	same = blm_outline_of(came, out->format, c->origin_head, out->format->head_bytes,
			      out->f->place.display) == 0
	    && came->contents.parts == out->view->parts
	    && is_possible(came, out->view->hasher.family);
	t = &came->contents.constant.template;
	t->family = c->template.family;
	t->seed_count = c->template.seed_count;
	if (same && !memcmp(t, &c->template, sizeof(*t))) {
		memcpy(out->head, c->origin_head, out->format->head_bytes);
		memcpy(out->outline->contents.part, came->contents.part,
		       sizeof(came->contents.part));
		out->outline->end = came->end;
		if (out->format->recount && !out->outline->keys_estimated && !is_foreign(out->view))
			out->format->recount(out->head, out->outline->keys);
	} else {
		same = false;
	}
	free(came);
	return same;
}

/*
 * Does the format know such a filter? Its own part in this is lay_out(), which looks at kind and
 * sizes.
 */
static int check_scheme(const struct exporting *out)
{
	const struct blm_format *format = out->format;
	const struct blm_template_fields *t = &out->view->constant.template;
	const struct blm_family *family = out->view->hasher.family;
	const struct blm_scheme *scheme = blm_scheme_by_id(le32toh(t->index_rule));
	const char *make = format->plan ? "; blm_params.format makes filters for it" : "";
	char names[256];

	if (!format->lay_out && !format->write)
		return blm_fail(-EOPNOTSUPP, "%s: cannot be exported: the format %s is for import "
				"only", out->f->place.display, format->name);
	if (out->how->redis_key && !format->redis_commands)
		return blm_fail(-EINVAL, "%s: Redis has no commands that load the format %s; leave "
				"out blm_exchange.redis_key", out->f->place.display, format->name);
	if (out->how->power_of_two && !format->power_of_two)
		return blm_fail(-EINVAL, "%s: the format %s has no blocks to be a power of two; "
				"leave out blm_exchange.power_of_two", out->f->place.display,
				format->name);
	if (!blm_format_takes(format, family))
		return blm_fail(-EOPNOTSUPP, "%s: its hash is %s, which the format %s does not "
				"have; it has: %s%s", out->f->place.display, family->name,
				format->name, blm_format_families(format, names, sizeof(names)),
				make);
	if (!blm_format_takes_kind(format, out->view->root.kind))
		return blm_fail(-EOPNOTSUPP, "%s: the format %s has only %s filters%s",
				out->f->place.display,
				format->name,
				format->kinds ? format->kinds[0] : BLM_EXACT_KIND, make);
	if (!blm_format_takes_scheme(format, scheme))
		return blm_fail(-EOPNOTSUPP, "%s: its scheme is %s, which the format %s does not "
				"have%s",
				out->f->place.display, scheme->name, format->name, make);
	for (uint32_t i = 0; format->no_seed && i < le32toh(t->seed_count); i++)
		if (t->seeds[i])
			return blm_fail(-EOPNOTSUPP, "%s: its hash has a seed, but files of %s "
					"have none%s",
					out->f->place.display, format->name, make);
	if (format->families && le32toh(t->bit_order) != format->bit_order)
		return blm_fail(-EOPNOTSUPP, "%s: its order of bits is \"%s\"; the format %s has "
				"\"%s\"%s",
				out->f->place.display, blm_order_name(le32toh(t->bit_order)),
				format->name, blm_order_name(format->bit_order), make);
	return 0;
}

static int lay_out(struct exporting *out)
{
	const struct blm_constant *c = &out->view->constant;
	int r = check_scheme(out);

	if (r < 0)
		return r;
	set_outline(out);
	out->outline->head_bytes = out->format->head_bytes;
	out->outline->asked_power_of_two = out->how->power_of_two;
	out->outline->asked_key = out->how->redis_key;
	if (out->format->memo && le32toh(c->origin) == out->format->id && !out->how->fresh) {
		out->outline->memo_bytes = le32toh(c->origin_bytes) < BLM_MEMO_BYTES
			? le32toh(c->origin_bytes) : BLM_MEMO_BYTES;
		memcpy(out->outline->memo, c->origin_head, out->outline->memo_bytes);
	}
	if (out->format->write)
		return 0;
	return take_origin(out) ? 0 : out->format->lay_out(out->outline, out->head,
							   out->f->place.display);
}

/* The user's bytes after the bits. */
static size_t rest_bytes(const struct exporting *out)
{
	const struct blm_constant *c = &out->view->constant;
	size_t bytes = le32toh(c->origin_bytes) < BLM_ORIGIN_BYTES ? le32toh(c->origin_bytes)
		: BLM_ORIGIN_BYTES;

	return out->format->rest && le32toh(c->origin) == out->format->id
		&& bytes > out->format->head_bytes ? bytes - out->format->head_bytes : 0;
}

static int give(struct exporting *out, const void *bytes, size_t count)
{
	out->at += count;
	blm_phase_at(out->at);
	return out->to->write(out->to, bytes, count);
}

static int give_zeros(struct exporting *out, uint64_t to)
{
	int r = 0;

	while (r == 0 && out->at < to)
		r = give(out, blm_zeros,
			 to - out->at < BLM_ZEROS ? (size_t)(to - out->at) : BLM_ZEROS);
	return r;
}

/* An exported file has new records that would agree with the damage. */
static int give_intact(struct exporting *out, unsigned i, uint64_t at, size_t bytes)
{
	int r = blm_blocksum_intact(out->data, i, at, bytes, out->f->place.display);

	return r < 0 ? r : give(out, out->data->part[i].bytes + at, bytes);
}

static int give_part(struct exporting *out, unsigned i)
{
	const struct blm_part *part = &out->data->part[i];
	uint64_t offset = le64toh(out->outline->contents.part[i].offset),
		bytes = out->outline->end - offset, at = 0, from, to;
	int r = blm_blocksum_intact_holes(out->data, i, out->f->place.display);

	if (r == 0)
		r = give_zeros(out, offset);
	bytes = bytes < part->shape.bytes ? bytes : part->shape.bytes;
	for (; r == 0 && at < bytes && blm_next_data(out->data, i, at, &from, &to); at = to) {
		r = give_zeros(out, offset + (from < bytes ? from : bytes));
		for (uint64_t end = to < bytes ? to : bytes; r == 0 && from < end; from += BLOCK)
			r = give_intact(out, i, from,
					end - from < BLOCK ? (size_t)(end - from) : BLOCK);
	}
	return r < 0 ? r : give_zeros(out, offset + bytes);
}

/* The layers are stacked from the outermost, which the chain's end is under, to the file. */
static int pack(struct exporting *out)
{
	int r = 0;

	for (const struct blm_layer *layer = out->format->text; r == 0 && out->how->base64
	     && layer->stage; layer++)
		r = blm_writer_stage(&out->to, layer->stage, layer->level);
	return r;
}

static int give_file(struct exporting *out)
{
	int r;

	BLM_PHASE("exporting", out->outline->end);
	r = give(out, out->head, out->outline->head_bytes);
	for (unsigned i = 0; r == 0 && i < out->view->parts; i++)
		r = give_part(out, i);
	if (r == 0)
		r = give(out, out->outline->tail, out->outline->tail_bytes);
	if (r == 0 && rest_bytes(out))
		r = give(out, out->view->constant.origin_head + out->format->head_bytes,
			 rest_bytes(out));
	return r;
}

/* A writer that reports what passes through it. */
struct watched {
	struct blm_writer writer;
	struct blm_writer *to;
	uint64_t at;
};

static int watched_write(struct blm_writer *writer, const void *bytes, size_t count)
{
	struct watched *w = (struct watched *)writer;

	w->at += count;
	blm_phase_at(w->at);
	return w->to->write(w->to, bytes, count);
}

/* For a format that makes its own bytes of the data; how many is not known before. */
static int write_file(struct exporting *out)
{
	const char *name = blm_place_name(&out->f->place);
	struct watched watched = { .writer = { .write = watched_write }, .to = out->to };
	int r = 0;

	BLM_PHASE("exporting", 0);

	for (unsigned i = 0; r == 0 && i < out->data->parts; i++)
		r = blm_blocksum_intact(out->data, i, 0, out->data->part[i].shape.bytes,
					out->f->place.display);
	return r < 0 ? r : out->format->write(out->outline, &out->data->root, &watched.writer,
					      name ? name : out->f->place.display);
}

static int export(struct exporting *out)
{
	int r = lay_out(out);

	if (r == 0)
		r = pack(out);
	if (r == 0)
		r = out->format->write ? write_file(out) : give_file(out);
	if (r == 0)
		r = blm_check_sigbus(out->view, out->f->place.display);
	return r < 0 ? r : out->to->finish(out->to);
}

/*
 * If a kind moves keys, or takes them away, a copy is exported. The data must not change while they
 * are read, and the receiver of the bytes may be slow, or wait for a change to this very filter.
 * ret NULL: no copy is needed.
 */
static int make_copy(struct blm_filter **ret, const struct blm_filter *f, struct blm_view *view)
{
	const struct blm_kind *kind = view->root.kind;
	struct blm_spec *spec;
	int r;

	*ret = NULL;
	if (!(kind_has_single_writer(kind) || kind_serializes_removals(kind))
	    || le64toh(view->constant.flags) & BLM_FLAG_SEALED)
		return 0;
	spec = malloc(sizeof(*spec));
	if (!spec)
		return blm_fail(-ENOMEM, "%s: out of memory", f->place.display);
	blm_spec_like(spec, view);
	r = blm_make(ret, NULL, NULL, spec, blm_fill_with_copy, &(struct blm_source){ f, view });
	free(spec);
	return r;
}

/* The writer then belongs to us. */
static int export_to(const struct blm_filter *f, const struct blm_exchange *how,
		     struct blm_writer *to)
{
	struct blm_view *view = current_view(f);
	struct exporting out = { .f = f, .view = view, .data = view, .how = how, .to = to,
				 .outline = malloc(sizeof(*out.outline)) };
	struct blm_filter *copy = NULL;
	int r;

	out.format = format_to_write(out.view, how->format);
	out.head = out.format ? calloc(1, out.format->head_bytes + 1) : NULL;
	if (!out.format)
		r = blm_fail(-ENOENT, "there is no format \"%s\"; see blm_format_list()",
			     how->format);
	else if (view->split.parts)
		r = blm_check_whole(view, f->place.display);
	else
		r = out.head && out.outline ? make_copy(&copy, f, view)
			: blm_fail(-ENOMEM, "%s: out of memory", f->place.display);
	if (copy)
		out.data = current_view(copy);
	if (r == 0)
		r = export(&out);
	blm_close(copy);
	blm_writer_close(out.to);
	free(out.head);
	free(out.outline);
	return r;
}

/* ---- Destinations ---- */

BLM_API int blm_export(const struct blm_filter *f, const struct blm_exchange *how,
		       int (*write)(void *context, const void *bytes, size_t count), void *context)
{
	BLM_CRITICAL_SECTION;
	struct blm_exchange ours;
	struct blm_writer *to;
	int r = blm_must_have(write, "write");

	if (r == 0)
		r = blm_exchange_take(&ours, how);
	if (r == 0)
		r = blm_writer_calls(&to, write, context, "the output");
	return r < 0 ? r : export_to(f, &ours, to);
}

BLM_API int blm_export_bytes(const struct blm_filter *f, const struct blm_exchange *how, void **ret,
			     size_t *ret_len)
{
	BLM_CRITICAL_SECTION;
	struct blm_buffer into = { 0 };
	struct blm_exchange ours;
	struct blm_writer *to;
	int r = blm_exchange_take(&ours, how);

	if (r == 0)
		r = blm_writer_memory(&to, &into);
	if (r == 0)
		r = export_to(f, &ours, to);
	if (r < 0) {
		free(into.bytes);
		return r;
	}
	*ret = into.bytes;
	*ret_len = into.count;
	return 0;
}

BLM_API void blm_free(void *bytes)
{
	free(bytes);
}

/* A file that is being written: holes where there are zeros. */
struct target {
	int fd;
	uint64_t at;
	const char *path;
};

static int write_fd(void *context, const void *bytes, size_t count)
{
	struct target *to = context;
	struct blm_pages pages = { 0 };
	int r = blm_write_pages(to->fd, bytes, count, to->at, &pages, to->path);

	to->at += count;
	return r;
}

static bool is_filter(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint8_t head[8] = { 0 };
	bool yes = fd >= 0 && blm_read_at(fd, head, sizeof(head), 0) == sizeof(head)
		&& blm_format_at(0)->begins(head, sizeof(head));

	if (fd >= 0)
		close(fd);
	return yes;
}

BLM_API int blm_export_file(const struct blm_filter *f, const struct blm_exchange *how,
			    const char *path)
{
	BLM_CRITICAL_SECTION;
	struct blm_new_file file;
	struct blm_writer *to;
	struct target target;
	struct blm_exchange ours;
	const char *last;
	int folder, r = blm_must_have(path, "path");

	if (r == 0)
		r = blm_exchange_take(&ours, how);
	if (r < 0)
		return r;
	folder = blm_folder_of(path, &last);
	if (folder < 0)
		return folder;
	if (!ours.replace && is_filter(folder, last)) {
		close(folder);
		return blm_fail(-EEXIST, "%s: is a filter, which is overwritten with "
				"blm_exchange.replace only", path);
	}
	r = blm_new_file(&file, folder, path, ours.mode);
	if (r < 0)
		return r;
	target = (struct target){ .fd = file.fd, .path = path };
	r = blm_writer_calls(&to, write_fd, &target, path);
	if (r == 0)
		r = export_to(f, &ours, to);
	if (r == 0)
		/* zeros at the end were not written */
		r = blm_new_file_size(&file, target.at, true, path);
	if (r == 0)
		r = blm_new_file_publish(&file, last, BLM_OVER, path);
	blm_new_file_end(&file);
	return r;
}
