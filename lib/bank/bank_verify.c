/*
 * bank_verify.c - is a bank what its maker wrote, and does it agree with itself?
 *
 * Checksums find later damage. They say nothing about a forged file, or about a maker that was
 * wrong. So all values that follow from the rows are computed again, and compared.
 */
#include "bank/bank.h"
#include "file/sigbus.h"
#include "base/phase.h"

#include <stdarg.h>
#include <stdio.h>

struct report {
	const struct blm_bank *bank;
	void (*finding)(void *context, const struct blm_finding *found);
	void *context;
	int64_t wrong;
};

static __attribute__((format(printf, 2, 3))) void found(struct report *r, const char *format, ...)
{
	char what[128];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	r->wrong++;
	if (r->finding)
		r->finding(r->context, &(struct blm_finding){ .file = r->bank->display,
							      .what = what });
}

static void check_blocks(struct report *r)
{
	const struct blm_bank *b = r->bank;
	uint64_t bytes = b->at.checks - b->at.ones;

	for (uint64_t i = 0; i < blocks_of_part(bytes); i++) {
		uint64_t at = i * BLM_BLOCK, count = bytes - at < BLM_BLOCK ? bytes - at
			: BLM_BLOCK;

		blm_phase_at(at);
		if (blm_check_bytes(b->image.map + b->at.ones + at, count, i)
		    != bank_words(b, b->at.checks)[i])
			found(r, "block %llu (64 KiB at %llu) is damaged: its checksum is wrong",
			      (unsigned long long)i,
			      (unsigned long long)(b->at.ones + at));
	}
	blm_phase_at(bytes);
}

/* The first damaged row, and how many there are. */
struct bad {
	uint64_t first, count;
};

static void note(struct bad *bad, uint64_t row)
{
	if (!bad->count++)
		bad->first = row;
}

static void tell(struct report *r, const struct bad *bad, const char *what)
{
	if (bad->count)
		found(r, "%s: row %llu%s", what, (unsigned long long)bad->first,
		      bad->count > 1 ? " and others" : "");
}

/* Of a range filter: its data are as long as that, and zeros follow. */
static bool is_length(const struct blm_bank *b, uint64_t row)
{
	struct blm_part part = b->like->root;

	part.bytes = (uint8_t *)bank_row(b, row);
	part.shape.bytes = bank_ones(b, row);
	if (part.shape.bytes > b->row_bytes || part.shape.bytes % 64
	    || !part.kind->valid(&part.shape))
		return false;
	for (uint64_t i = part.shape.bytes; i < b->row_bytes; i++)
		if (part.bytes[i])
			return false;
	return true;
}

static void check_ones(struct report *r)
{
	const struct blm_bank *b = r->bank;
	const struct blm_simd *simd = b->like->part[0].simd;
	struct bad ones = { 0 }, order = { 0 };

	for (uint64_t row = 0; row < b->rows; row++) {
		bool good = bank_has_slices(b->like->root.kind)
			? simd->count_ones(bank_row(b, row), b->row_bytes) == bank_ones(b, row)
			: is_length(b, row);

		if (!good)
			note(&ones, row);
		if (row && (bank_ones(b, row - 1) > bank_ones(b, row)
			    || (bank_ones(b, row - 1) == bank_ones(b, row)
				&& bank_order(b, row - 1) > bank_order(b, row))))
			note(&order, row);
	}
	tell(r, &ones, "its number of ones, or of bytes, is not that of its data");
	tell(r, &order, "its place is not that of its number of ones");
}

/* Each number below their number once, so none of them is another's. */
static int check_order(struct report *r)
{
	const struct blm_bank *b = r->bank;
	uint64_t *seen = calloc((b->rows + 63) / 64, sizeof(*seen));
	struct bad bad = { 0 };

	if (!seen)
		return -ENOMEM;
	for (uint64_t row = 0; row < b->rows; row++) {
		uint64_t order = bank_order(b, row);

		if (order >= b->rows || seen[order / 64] >> order % 64 & 1)
			note(&bad, row);
		else
			seen[order / 64] |= UINT64_C(1) << order % 64;
	}
	free(seen);
	tell(r, &bad, "when it came in is another's, or none");
	return 0;
}

static void check_ids(struct report *r)
{
	const struct blm_bank *b = r->bank;
	const uint64_t *ids = bank_words(b, b->at.ids);
	struct bad bad = { 0 };

	for (uint64_t row = 0; row < b->rows; row++) {
		const char *text;
		size_t id_bytes, bytes;

		if (blm_bank_text(b, row, &text, &id_bytes, &bytes) < 0
		    || memchr(text, '\n', bytes))
			note(&bad, row);
	}
	tell(r, &bad, "not a valid id");
	if (ids[0] || le64toh(ids[b->rows]) != b->text_bytes)
		found(r, "the ids do not end where their text ends");
}

/* 64 slices at a time, as they are written (bank/bank_build.c). */
static int check_slices(struct report *r)
{
	const struct blm_bank *b = r->bank;
	uint64_t words = b->at.slice_bytes / 8, bytes = 64 * b->at.slice_bytes,
		*slices = malloc(bytes);
	struct bad bad = { 0 };

	if (!slices)
		return -ENOMEM;
	for (uint64_t w = 0; w < b->row_bytes / 8; w++) {
		const uint8_t *there = b->image.map + b->at.slices + w * bytes;

		memset(slices, 0, bytes);
		for (uint64_t row = 0; row < b->rows; row++)
			for (uint64_t word = le64toh(((const uint64_t *)bank_row(b, row))[w]); word;
			     word &= word - 1)
				slices[(uint64_t)__builtin_ctzll(word) * words + row / 64] |=
					htole64(UINT64_C(1) << row % 64);
		for (uint64_t i = 0; i < 64 && memcmp(slices, there, bytes); i++)
			if (memcmp(slices + i * words, there + i * b->at.slice_bytes,
				   b->at.slice_bytes))
				note(&bad, 64 * w + i);
	}
	free(slices);
	if (bad.count)
		found(r, "slice %llu%s not equal to the bits of the rows",
		      (unsigned long long)bad.first,
		      bad.count > 1 ? " and others are" : " is");
	return 0;
}

BLM_API int64_t blm_bank_verify(const struct blm_bank *b, void (*finding)(void *context,
	const struct blm_finding *found), void *context)
{
	struct report report = { b, finding, context, 0 };
	int r;

	BLM_PHASE("checking", b->at.checks - b->at.ones);
	check_blocks(&report);
	check_ones(&report);
	check_ids(&report);
	r = check_order(&report);
	if (r == 0 && bank_has_slices(b->like->root.kind))
		r = check_slices(&report);
	if (r < 0)
		return blm_fail(r, "%s: out of memory", b->display);
	return blm_sigbus_hit(b->image.map)
		? blm_fail(-EIO, "%s: truncated, or cannot be read", b->display) : report.wrong;
}
