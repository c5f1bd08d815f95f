/*
 * bank_build.c - a bank put together: rows gathered in memory, and named in one step when they are
 * written (bank_write.c)
 */
#include "bank/bank_build.h"
#include "file/os.h"
#include "format/fps.h"
#include "kind/common/sizing.h"

#include <float.h>
#include <math.h>
#include <unistd.h>

/* Room for `bytes` bytes more, which are then in use. NULL: there is none. */
static void *more(struct heap *h, size_t bytes)
{
	if (bytes > h->capacity - h->used) {
		size_t capacity = h->capacity + h->capacity / 2 + bytes + 4096;
		uint8_t *at = realloc(h->at, capacity);

		if (!at)
			return NULL;
		h->at = at;
		h->capacity = capacity;
	}
	h->used += bytes;
	return h->at + h->used - bytes;
}

/* Only another bank makes way for one: a filter may have writers, who would have to be told. */
static int check_replaced(const struct blm_bank_build *b)
{
	char magic[8] = "";
	int fd = blm_place_open(&b->place, false, NULL), r = 0;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (blm_read_at(fd, magic, sizeof(magic), 0) != (int64_t)sizeof(magic)
	    || memcmp(magic, BLM_BANK_MAGIC, 8))
		r = blm_fail(-EEXIST, "%s: exists already, and is not a bank; choose another name",
			     b->place.display);
	close(fd);
	return r;
}

BLM_API int blm_bank_begin(struct blm_bank_build **ret, const char *path, bool replace,
			   unsigned mode)
{
	int r = blm_must_have(path, "path");
	struct blm_bank_build *b = r == 0 ? calloc(1, sizeof(*b)) : NULL;
	struct blm_place place;

	if (r < 0)
		return r;
	if (!b)
		return blm_fail(-ENOMEM, "%s: out of memory", path);
	b->replace = replace;
	b->mode = mode;
	r = blm_place_set(&place, NULL, path);
	if (r == 0) {
		r = replace ? blm_place_follow(&b->place, &place)
			: blm_place_set(&b->place, NULL, path);
		blm_place_clear(&place);
	}
	if (r == 0)
		r = replace ? check_replaced(b) : blm_place_is_taken(&b->place);
	if (r < 0) {
		blm_bank_cancel(b);
		return r;
	}
	*ret = b;
	return 0;
}

BLM_API struct blm_bank_build *blm_bank_cancel(struct blm_bank_build *b)
{
	if (!b)
		return NULL;
	blm_place_clear(&b->place);
	free(b->bits.at);
	free(b->text.at);
	free(b->rows.at);
	free(b);
	return NULL;
}

/*
 * Room for a row, of zeros, with this text. The caller writes the data, and then says so
 * (end_row()). NULL: no memory.
 */
static uint8_t *begin_row(struct blm_bank_build *b, uint64_t bytes, const char *text, size_t count)
{
	struct row *row = more(&b->rows, sizeof(*row));
	char *own = row ? more(&b->text, count) : NULL;
	uint8_t *bits = own ? more(&b->bits, bytes) : NULL;

	if (!bits) {
		if (own)
			b->text.used -= count;
		if (row)
			b->rows.used -= sizeof(*row);
		blm_fail(-ENOMEM, "%s: out of memory for the new bank",
			 b->place.display);
		return NULL;
	}
	memcpy(own, text, count);
	memset(bits, 0, bytes);
	*row = (struct row){ .order = rows_of(b) - 1, .text = b->text.used - count,
			     .at = b->bits.used - bytes, .bytes = bytes };
	return bits;
}

static void end_row(struct blm_bank_build *b, const uint8_t *bits)
{
	struct row *row = (struct row *)(b->rows.at + b->rows.used) - 1;

	for (size_t i = 0; b->slices && i < row->bytes; i += 8) {
		uint64_t word;

		memcpy(&word, bits + i, 8);
		row->ones += (uint64_t)__builtin_popcountll(word);
	}
	if (!b->slices)
		row->ones = row->bytes;
	if (row->bytes > b->row_bytes)
		b->row_bytes = row->bytes;
}

static void drop_row(struct blm_bank_build *b)
{
	const struct row *row;

	b->rows.used -= sizeof(*row);
	row = (const struct row *)(b->rows.at + b->rows.used);
	b->text.used = row->text;
	b->bits.used = row->at;
}

/* The first row sets the template of all. Has another row the same one? */
static int set_template(struct blm_bank_build *b, const struct blm_constant *c, uint64_t row_bytes,
			const char *display)
{
	if (b->row_bytes)
		return memcmp(b->constant.template_id, c->template_id, 16)
			|| (b->slices && b->row_bytes != row_bytes)
			? blm_fail(-EMEDIUMTYPE, "%s: not of the template of the bank; %s", display,
				   b->slices ? "blm_template() makes filters of one template"
				   : "range filters of one hash, seed, width, rate and capacity "
				   "have one template") : 0;
	b->constant = *c;
	b->row_bytes = row_bytes;
	b->slices = bank_has_slices(blm_kind_by_id(le32toh(c->template.kind)));
	return 0;
}

static int check_id(const char *id)
{
	return *id && !id[strcspn(id, "\t\r\n")] ? 0
		: blm_fail(-EINVAL, "\"%s\" is not an id: an id is one line without tabs, and not "
			   "empty",
			   id);
}

BLM_API int blm_bank_add(struct blm_bank_build *b, const struct blm_filter *f, const char *id)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view *view = current_view(f);
	struct blm_constant c = { .capacity = view->constant.capacity, .rate = view->constant.rate,
				  .template = view->constant.template };
	uint8_t *bits;
	int r = id ? check_id(id) : blm_must_have(id, "id");

	r = r < 0 ? r : blm_check_whole(view, f->place.display);
	r = r < 0 ? r : blm_bank_takes(view->root.kind, &c.template, f->place.display);
	blm_template_id(&c.template, c.template_id);
	r = r < 0 ? r : set_template(b, &c, view->root.shape.bytes, f->place.display);
	if (r < 0)
		return r;
	bits = begin_row(b, view->root.shape.bytes, id, strlen(id));
	if (!bits)
		return -ENOMEM;
	bank_copy(bits, &view->root);
	r = blm_check_sigbus(view, f->place.display);
	if (r < 0)
		drop_row(b);
	else
		end_row(b, bits);
	return r;
}

/*
 * As format/fps.c has one of them: a bitmap of that many bits. What of the header goes into the
 * bank's is kept, in whole lines.
 */
static void constant_of(struct blm_constant *ret, const struct blm_fps *set)
{
	struct blm_template_fields *t = &ret->template;
	size_t kept = set->header_bytes < BLM_ORIGIN_BYTES ? set->header_bytes : BLM_ORIGIN_BYTES;

	while (kept && set->header[kept - 1] != '\n')
		kept--;
	*ret = (struct blm_constant){
		.capacity = htole64(set->bits), .rate =
		htole64(blm_bits_of(fmax(blm_rate_bound(set->bits, 1, set->bits), DBL_MIN))),
		.origin = htole32(BLM_FPS_FORMAT), .origin_bytes = htole32((uint32_t)kept),
	};
	memcpy(ret->origin_head, set->header, kept);
	t->kind = htole32(blm_kind_by_name("bitmap")->id);
	t->family = htole32(blm_family_by_name("integer")->id);
	t->cells = htole64(set->bits);
	t->probes = htole32(1);
	t->cell_bits = htole32(1);
	blm_template_id(t, ret->template_id);
}

BLM_API int64_t blm_bank_add_fps(struct blm_bank_build *b, const void *bytes, size_t count,
				 const char *display)
{
	const uint64_t before = rows_of(b);
	struct blm_constant c;
	struct blm_fps set;
	const char *text = NULL;
	size_t chars = 0;
	uint8_t *bits, *buffer = NULL;
	int r = blm_must_have(display, "display");

	if (r == 0)
		r = blm_must_have(bytes || !count, "bytes");
	if (r == 0)
		r = blm_fps_begin(&set, bytes, count, display);
	if (r < 0)
		return r;
	constant_of(&c, &set);
	r = set_template(b, &c, round_up(set.bits, 512) / 8, display);
	if (r == 0 && !(buffer = calloc(1, b->row_bytes)))
		r = blm_fail(-ENOMEM, "%s: out of memory", display);
	while (r == 0 && (r = blm_fps_next(&set, buffer, &text, &chars, display)) > 0) {
		bits = begin_row(b, b->row_bytes, text, chars);
		r = bits ? 0 : -ENOMEM;
		if (r == 0) {
			memcpy(bits, buffer, b->row_bytes);
			end_row(b, bits);
		}
	}
	free(buffer);
	while (r < 0 && rows_of(b) > before)	/* all of a file or nothing */
		drop_row(b);
	return r < 0 ? r : (int64_t)(rows_of(b) - before);
}

/* ---- The end ---- */

BLM_API int blm_bank_finish(struct blm_bank_build *b)
{
	const char *slash = strrchr(b->place.name, '/'), *last = slash ? slash + 1 : b->place.name;
	struct blm_bank_layout at;
	struct blm_new_file file;
	int r = 0;

	if (!rows_of(b))
		r = blm_fail(-ENODATA, "%s: no filters for the bank; give at least one",
			     b->place.display);
	else if (!blm_bank_lay_out(&at, rows_of(b), b->row_bytes, b->text.used))
		r = blm_fail(-EFBIG, "%s: the bank would be too large for a file; make several "
			     "banks", b->place.display);
	if (r == 0 && !b->slices)
		blm_bank_leave_out_slices(&at);
	if (r == 0 && b->replace)	/* a filter may have come there meanwhile */
		r = check_replaced(b);
	r = r < 0 ? r : blm_place_new(&b->place, b->mode, &file);
	if (r == 0) {
		r = blm_new_file_size(&file, at.end, false, b->place.display);
		r = r < 0 ? r : blm_bank_write(b, &file, &at);
		r = r < 0 ? r : blm_new_file_publish(&file, last, b->replace ? BLM_OVER
						     : BLM_NOT_OVER, b->place.display);
		blm_new_file_end(&file);
	}
	blm_bank_cancel(b);
	return r;
}
