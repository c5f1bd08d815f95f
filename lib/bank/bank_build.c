/*
 * bank_build.c - a bank put together: rows gathered in memory, put into order, written with their
 * slices, named in one step
 */
#include "bank/bank.h"
#include "file/os.h"
#include "base/phase.h"
#include "format/fps.h"
#include "kind/common/sizing.h"

#include <float.h>
#include <math.h>
#include <unistd.h>

/* An array that grows, in bytes. */
struct heap {
	uint8_t *at;
	size_t used, capacity;
};

struct row {
	uint64_t ones, order, text;
	uint64_t at, bytes;		/* in the heap of bits; less than the largest row's */
};

struct blm_bank_build {
	struct blm_place place;
	bool replace;
	unsigned mode;
	struct blm_constant constant;	/* of the first; its template is that of all */
	uint64_t row_bytes;		/* of the largest; 0: nothing is in it yet */
	bool slices;
	struct heap bits, text, rows;	/* of struct row */
};

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

static uint64_t rows_of(const struct blm_bank_build *b)
{
	return b->rows.used / sizeof(struct row);
}

/* ---- Gathering ---- */

/* Only another bank makes way for one: a filter may have writers, who would have to be told. */
static int check_replaced(const struct blm_bank_build *b)
{
	char magic[8] = "";
	int fd = blm_place_open(&b->place, false, NULL), r = 0;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (blm_read_at(fd, magic, sizeof(magic), 0) != (int64_t)sizeof(magic)
	    || memcmp(magic, BLM_BANK_MAGIC, 8))
		r = blm_fail(-EEXIST, "%s: exists already, and is no bank", b->place.display);
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
		blm_fail(-ENOMEM, "%s: out of memory: a bank is put together there",
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
		: blm_fail(-EINVAL, "\"%s\" is no id: that is one line without tabs, and not empty",
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

/* ---- Writing ---- */

/* The part of the file from the ones on, with the checksum of each block. */
struct out {
	struct blm_new_file *file;
	const char *display;
	uint64_t at, first;		/* in the file: of block[0]; and of all that is written */
	size_t used;
	uint64_t *checks, blocks;
	uint8_t block[BLM_BLOCK];
};

static int flush(struct out *o)
{
	int r = blm_write_at(o->file->fd, o->block, o->used, o->at);

	o->checks[o->blocks] = blm_check_bytes(o->block, o->used, o->blocks);
	o->blocks++;
	o->at += o->used;
	o->used = 0;
	blm_phase_at(o->at - o->first);
	return r < 0 ? blm_fail(r, "%s: cannot write: %s", o->display, strerror(-r)) : 0;
}

static int put(struct out *o, const void *bytes, size_t count)
{
	const uint8_t *from = bytes;
	int r = 0;

	while (r == 0 && count) {
		size_t here = BLM_BLOCK - o->used < count ? BLM_BLOCK - o->used : count;

		memcpy(o->block + o->used, from, here);
		o->used += here;
		from += here;
		count -= here;
		r = o->used == BLM_BLOCK ? flush(o) : 0;
	}
	return r;
}

static int put_word(struct out *o, uint64_t word)
{
	word = htole64(word);
	return put(o, &word, sizeof(word));
}

static int pad_to(struct out *o, uint64_t at)
{
	static const uint8_t zeros[BLM_PAGE];

	return put(o, zeros, at - (o->at + o->used));	/* less than a page */
}

static int by_ones(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->ones != y->ones)
		return x->ones < y->ones ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* A text ends where that of the next row added begins; rows are now in another order. */
static uint64_t *text_ends(const struct blm_bank_build *b)
{
	const struct row *rows = (const struct row *)b->rows.at;
	uint64_t n = rows_of(b), *ends = malloc(n * sizeof(*ends));

	for (uint64_t i = 0; ends && i < n; i++)
		if (rows[i].order)
			ends[rows[i].order - 1] = rows[i].text;
	if (ends)
		ends[n - 1] = b->text.used;
	return ends;
}

static int put_ids(struct out *o, const struct blm_bank_build *b, const struct blm_bank_layout *at,
		   const uint64_t *ends)
{
	const struct row *rows = (const struct row *)b->rows.at;
	uint64_t begin = 0;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < rows_of(b); i++) {
		r = put_word(o, begin);
		begin += ends[rows[i].order] - rows[i].text;
	}
	r = r < 0 ? r : put_word(o, begin);
	r = r < 0 ? r : pad_to(o, at->text);
	for (uint64_t i = 0; r == 0 && i < rows_of(b); i++)
		r = put(o, b->text.at + rows[i].text, ends[rows[i].order] - rows[i].text);
	return r;
}

static const uint8_t *bits_of(const struct blm_bank_build *b, uint64_t i)
{
	return b->bits.at + ((const struct row *)b->rows.at)[i].at;
}

/* And zeros, up to the bytes of the largest. */
static int put_row(struct out *o, const struct blm_bank_build *b, uint64_t i)
{
	static const uint8_t zeros[BLM_PAGE];
	uint64_t left = b->row_bytes - ((const struct row *)b->rows.at)[i].bytes, some;
	int r = put(o, bits_of(b, i), b->row_bytes - left);

	for (; r == 0 && left; left -= some) {
		some = left < sizeof(zeros) ? left : sizeof(zeros);
		r = put(o, zeros, some);
	}
	return r;
}

/* 64 slices at a time, which are one word of every row. */
static int put_slices(struct out *o, const struct blm_bank_build *b,
		      const struct blm_bank_layout *at)
{
	uint64_t words = at->slice_bytes / 8, *slices = malloc(64 * at->slice_bytes);
	int r = slices ? 0 : blm_fail(-ENOMEM, "%s: out of memory", o->display);

	for (uint64_t w = 0; r == 0 && w < b->row_bytes / 8; w++) {
		memset(slices, 0, 64 * at->slice_bytes);
		for (uint64_t i = 0; i < rows_of(b); i++) {
			uint64_t word;

			memcpy(&word, bits_of(b, i) + 8 * w, 8);
			for (word = le64toh(word); word; word &= word - 1)
				slices[(uint64_t)__builtin_ctzll(word) * words + i / 64] |=
					htole64(UINT64_C(1) << i % 64);
		}
		r = put(o, slices, 64 * at->slice_bytes);
	}
	free(slices);
	return r;
}

static int put_all(struct out *o, const struct blm_bank_build *b, const struct blm_bank_layout *at,
		   const uint64_t *ends)
{
	const struct row *rows = (const struct row *)b->rows.at;
	uint64_t n = rows_of(b);
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < n; i++)
		r = put_word(o, rows[i].ones);
	r = r < 0 ? r : pad_to(o, at->order);
	for (uint64_t i = 0; r == 0 && i < n; i++)
		r = put_word(o, rows[i].order);
	r = r < 0 ? r : pad_to(o, at->ids);
	r = r < 0 ? r : put_ids(o, b, at, ends);
	r = r < 0 ? r : pad_to(o, at->rows);
	for (uint64_t i = 0; r == 0 && i < n; i++)
		r = put_row(o, b, i);
	r = r < 0 ? r : pad_to(o, at->slices);
	r = r < 0 || !b->slices ? r : put_slices(o, b, at);
	return r < 0 || !o->used ? r : flush(o);
}

static int write_header(struct blm_bank_build *b, const struct blm_new_file *file)
{
	struct blm_bank_header h = { .constant = b->constant };
	int r = blm_constant_begin(&h.constant, b->place.display);

	if (r < 0)
		return r;
	memcpy(h.constant.magic, BLM_BANK_MAGIC, 8);
	h.constant.header_bytes = htole32(BLM_BANK_HEADER_BYTES);
	h.constant.check = blm_check_constant(&h.constant);
	h.sizes.rows = htole64(rows_of(b));
	h.sizes.row_bytes = htole64(b->row_bytes);
	h.sizes.text_bytes = htole64(b->text.used);
	h.sizes.check = blm_bank_check_sizes(&h);
	r = blm_write_at(file->fd, &h, sizeof(h), 0);
	return r < 0 ? blm_fail(r, "%s: cannot write: %s", b->place.display, strerror(-r)) : 0;
}

static int write_bank(struct blm_bank_build *b, struct blm_new_file *file,
		      const struct blm_bank_layout *at)
{
	uint64_t blocks = blocks_of_part(at->checks - at->ones), *ends = text_ends(b),
		*checks = malloc(8 * blocks);
	struct out *o = malloc(sizeof(*o));
	int r = ends && checks && o ? 0 : blm_fail(-ENOMEM, "%s: out of memory", b->place.display);

	if (r == 0) {
		BLM_PHASE("writing", at->checks - at->ones);
		*o = (struct out){ .file = file, .display = b->place.display, .at = at->ones,
				   .first = at->ones, .checks = checks };
		r = put_all(o, b, at, ends);
	}
	if (r == 0 && (r = blm_write_at(file->fd, checks, 8 * blocks, at->checks)) < 0)
		blm_fail(r, "%s: cannot write: %s", b->place.display, strerror(-r));
	free(o);
	free(checks);
	free(ends);
	return r < 0 ? r : write_header(b, file);
}

BLM_API int blm_bank_finish(struct blm_bank_build *b)
{
	const char *slash = strrchr(b->place.name, '/'), *last = slash ? slash + 1 : b->place.name;
	struct blm_bank_layout at;
	struct blm_new_file file;
	int r = 0;

	if (!rows_of(b))
		r = blm_fail(-ENODATA, "%s: nothing is to be in the bank", b->place.display);
	else if (!blm_bank_lay_out(&at, rows_of(b), b->row_bytes, b->text.used))
		r = blm_fail(-EFBIG, "%s: too much for a file", b->place.display);
	if (r == 0 && !b->slices)
		blm_bank_leave_out_slices(&at);
	if (r == 0 && b->replace)	/* a filter may have come there meanwhile */
		r = check_replaced(b);
	r = r < 0 ? r : blm_place_new(&b->place, b->mode, &file);
	if (r == 0) {
		qsort(b->rows.at, rows_of(b), sizeof(struct row), by_ones);
		r = blm_new_file_size(&file, at.end, false, b->place.display);
		r = r < 0 ? r : write_bank(b, &file, &at);
		r = r < 0 ? r : blm_new_file_publish(&file, last, b->replace ? BLM_OVER
						     : BLM_NOT_OVER, b->place.display);
		blm_new_file_end(&file);
	}
	blm_bank_cancel(b);
	return r;
}
