/* bank_write.c - writes the file of a bank: header, rows in order, slices, checksums */
#include "bank/bank_build.h"
#include "file/os.h"
#include "base/phase.h"

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
	return put(o, blm_zeros, at - (o->at + o->used));	/* less than a page */
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
	uint64_t left = b->row_bytes - ((const struct row *)b->rows.at)[i].bytes, some;
	int r = put(o, bits_of(b, i), b->row_bytes - left);

	for (; r == 0 && left; left -= some) {
		some = left < BLM_ZEROS ? left : BLM_ZEROS;
		r = put(o, blm_zeros, some);
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

int blm_bank_write(struct blm_bank_build *b, struct blm_new_file *file,
		   const struct blm_bank_layout *at)
{
	uint64_t blocks = blocks_of_part(at->checks - at->ones);
	uint64_t *checks = malloc(8 * blocks), *ends;
	struct out *o = malloc(sizeof(*o));
	int r;

	qsort(b->rows.at, rows_of(b), sizeof(struct row), by_ones);
	ends = text_ends(b);
	r = ends && checks && o ? 0 : blm_fail(-ENOMEM, "%s: out of memory", b->place.display);
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
