/*
 * bank.h - a bank from the inside: one file of many filters or fingerprints of one template
 *
 * A bank holds each filter's data twice: as a row, to be compared with, and as one bit of every
 * slice, to be asked. Row i of all has the i-th place in everything below; rows are in the order of
 * their numbers of ones, then of the order they came in, so that of those with about as many ones
 * as a question has there is one run (bank/similar.c). Slice j holds bit j of every row: a key
 * whose bits are j1 ... jk may be in the rows whose bits are set in all of those k slices (bank.c).
 * It is made whole and named in one step (bank/bank_build.c), is never changed afterwards, and is
 * mapped by any number of processes.
 *
 * Rows of range filters have no slices, and each is asked (bank/bank_range.c).
 *
 *	page 0	struct blm_constant	the template and its origin, as in a filter, with another
 *					magic
 *	page 1	struct blm_bank_sizes	the sizes, which give all offsets below
 *	ones	a word for each row	the number of its bits that are 1; of a range filter, the
 *					bytes of its data, behind which the row is zeros
 *	order	a word for each row	its number in the order of insertion, from 0
 *	ids	a word for each row, and one	the offset of its text; the last: the end of all
 *	text	the id of each row, then a tab and the rest of its line in a file of fingerprints
 *	rows, slices			each begins at a multiple of a page
 *	checks	a word for each 64 KiB from `ones` to the end of the slices (the last piece may be
 *		shorter): its XXH3-64
 *
 * All but rows, slices and checks are at multiples of 64. Numbers are little-endian.
 * format-spec.md, "Banks".
 */
#ifndef BLM_BANK_H
#define BLM_BANK_H

#include "handle/handle.h"

enum { BLM_BANK_HEADER_BYTES = 2 * BLM_PAGE };

struct blm_bank_sizes {
	uint64_t rows;			/* from 1 */
	uint64_t row_bytes;		/* a multiple of 64 */
	uint64_t text_bytes;
	uint8_t reserved[BLM_PAGE - 32];
	/* XXH3-64 of all before it, seeded with the uuid's first 8 bytes */
	uint64_t check;
};
static_assert(sizeof(struct blm_bank_sizes) == BLM_PAGE, "format-spec.md, Banks");

struct blm_bank_header {
	struct blm_constant constant;
	struct blm_bank_sizes sizes;
};
static_assert(sizeof(struct blm_bank_header) == BLM_BANK_HEADER_BYTES, "format-spec.md, Banks");

struct blm_bank;

/* Offsets in the file. */
struct blm_bank_layout {
	uint64_t ones, order, ids, text, rows, slices, slice_bytes, checks, end;
};

/* False: no file is as large as that. */
bool blm_bank_lay_out(struct blm_bank_layout *ret, uint64_t rows, uint64_t row_bytes,
		      uint64_t text_bytes);
uint64_t blm_bank_check_sizes(const struct blm_bank_header *header);

/* Rows of range filters have no slices: what is behind the rows, then. */
void blm_bank_leave_out_slices(struct blm_bank_layout *at);
static inline bool bank_has_slices(const struct blm_kind *kind)
{
	return !kind->contains_ranges;
}

/* Are the rows bits that can be compared? 0, or -EOPNOTSUPP with words. */
int blm_bank_check_bits(const struct blm_bank *b);

/* Can filters of this template be in a bank? 0, or it fails with words. */
int blm_bank_takes(const struct blm_kind *kind, const struct blm_template_fields *t,
		   const char *display);

struct blm_bank {
	struct blm_image image;		/* header NULL: it is not a filter's */
	char *display;
	/* an empty filter of the template: what a key's bits are is found by adding it to that */
	struct blm_view *like;
	pthread_mutex_t adding;		/* to `like`, which is then made empty again */
	uint64_t rows, row_bytes, text_bytes;
	struct blm_bank_layout at;
};

static inline const uint64_t *bank_words(const struct blm_bank *b, uint64_t at)
{
	return (const uint64_t *)(b->image.map + at);
}

static inline const uint8_t *bank_row(const struct blm_bank *b, uint64_t row)
{
	return b->image.map + b->at.rows + row * b->row_bytes;
}

static inline uint64_t bank_ones(const struct blm_bank *b, uint64_t row)
{
	return le64toh(bank_words(b, b->at.ones)[row]);
}

static inline uint64_t bank_order(const struct blm_bank *b, uint64_t row)
{
	return le64toh(bank_words(b, b->at.order)[row]);
}

/* A filter's data, as they are just now: others may be setting bits. */
static inline void bank_copy(uint8_t *to, const struct blm_part *part)
{
	for (uint64_t i = 0; i < part->shape.bytes; i += 8) {
		uint64_t word = __atomic_load_n((const uint64_t *)(part->bytes + i),
						__ATOMIC_RELAXED);

		memcpy(to + i, &word, 8);
	}
}

/*
 * What blm_bank_which() does, and how many lines of 64 bytes of the slices it read; of
 * blm_bank_similar(), how many rows.
 */
int64_t blm_bank_ask(struct blm_bank *b, const struct blm_key *key, uint64_t *ret_bits,
		     uint64_t *ret_lines);
/* The same of range filters: is any key from the one place to the other in it? */
int64_t blm_bank_ask_range(const struct blm_bank *b, const struct blm_hash *first,
			   const struct blm_hash *last, uint64_t *ret_bits);
int64_t blm_bank_rank(const struct blm_bank *b, const void *bits, const struct blm_likeness *how,
		      struct blm_bank_hit *ret, size_t capacity,
		      uint64_t *ret_rows);

#endif
