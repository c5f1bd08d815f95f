/* bank_build.h - the rows of a bank that is put together, and how they are written */
#ifndef BLM_BANK_BUILD_H
#define BLM_BANK_BUILD_H

#include "bank/bank.h"

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

static inline uint64_t rows_of(const struct blm_bank_build *b)
{
	return b->rows.used / sizeof(struct row);
}

/* Puts the rows into order, and writes the file, which has its size. */
int blm_bank_write(struct blm_bank_build *b, struct blm_new_file *file,
		   const struct blm_bank_layout *at);

#endif
