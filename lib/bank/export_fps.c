/*
 * export_fps.c - a bank as a file of fingerprints: a line for each of its filters, in the order
 * they came in
 */
#include "bank/bank.h"
#include "file/sigbus.h"
#include "format/fps.h"

#include <sodium.h>
#include <stdio.h>

/* As it came, or the least that there must be. */
static int write_head(const struct blm_bank *b,
		      int (*write)(void *context, const void *bytes, size_t count), void *context)
{
	const struct blm_constant *c = &b->like->constant;
	char head[64];
	int count;

	if (le32toh(c->origin) == BLM_FPS_FORMAT && c->origin_bytes)
		return write(context, c->origin_head, le32toh(c->origin_bytes));
	count = snprintf(head, sizeof(head), "#FPS1\n#num_bits=%llu\n",
			 (unsigned long long)b->like->root.shape.cells);
	return write(context, head, (size_t)count);
}

/* Which row came as the i-th. */
static int find_rows(const struct blm_bank *b, uint64_t *ret)
{
	memset(ret, 0xff, b->rows * sizeof(*ret));
	for (uint64_t row = 0; row < b->rows; row++) {
		uint64_t order = bank_order(b, row);

		if (order >= b->rows || ret[order] != UINT64_MAX)
			return blm_fail(-EBADMSG, "%s: the order of its rows is damaged",
					b->display);
		ret[order] = row;
	}
	return 0;
}

static int write_row(const struct blm_bank *b, uint64_t row,
		     int (*write)(void *context, const void *bytes, size_t count), void *context)
{
	const uint8_t *data = bank_row(b, row);
	uint64_t bytes = (b->like->root.shape.cells + 7) / 8;
	char digits[512 + 1];
	const char *text;
	size_t id_bytes, count;
	int r = blm_bank_text(b, row, &text, &id_bytes, &count);

	for (uint64_t at = 0; r == 0 && at < bytes; at += 256) {
		size_t here = bytes - at < 256 ? (size_t)(bytes - at) : 256;

		sodium_bin2hex(digits, sizeof(digits), data + at, here);
		r = write(context, digits, 2 * here);
	}
	r = r < 0 ? r : write(context, "\t", 1);
	r = r < 0 ? r : write(context, text, count);
	return r < 0 ? r : write(context, "\n", 1);
}

BLM_API int blm_bank_export_fps(const struct blm_bank *b, int (*write)(void *context,
	const void *bytes, size_t count), void *context)
{
	uint64_t *rows;
	int r;

	if (!write)
		return blm_must_have(write, "write");
	r = blm_bank_check_bits(b);
	if (r < 0)
		return r;
	rows = malloc(b->rows * sizeof(*rows));
	r = rows ? find_rows(b, rows) : blm_fail(-ENOMEM, "%s: out of memory", b->display);
	r = r < 0 ? r : write_head(b, write, context);
	for (uint64_t i = 0; r == 0 && i < b->rows; i++)
		r = write_row(b, rows[i], write, context);
	free(rows);
	if (r == 0 && blm_sigbus_hit(b->image.map))
		r = blm_fail(-EIO, "%s: truncated, or cannot be read", b->display);
	return r;
}
