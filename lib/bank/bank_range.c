/*
 * bank_range.c - which range filters of a bank may have a key between two others
 *
 * Rows of range filters are codes of different lengths, so there are no slices of them: each row is
 * asked, as its filter would be.
 */
#include "bank/bank.h"
#include "file/sigbus.h"
#include "keys/contains_range.h"

/* What the file says of a row's length is looked at each time. A damaged row denies no key. */
static bool ask_row(const struct blm_bank *b, uint64_t row, const struct blm_hash *first,
		    const struct blm_hash *last)
{
	struct blm_part part = b->like->root;
	uint64_t yes;

	part.bytes = (uint8_t *)bank_row(b, row);
	part.shape.bytes = bank_ones(b, row);
	if (part.shape.bytes > b->row_bytes || part.shape.bytes % 64
	    || !part.kind->valid(&part.shape))
		return true;
	part.kind->contains_ranges(&part, first, last, 1, &yes);
	return yes & 1;
}

int64_t blm_bank_ask_range(const struct blm_bank *b, const struct blm_hash *first,
			   const struct blm_hash *last, uint64_t *ret_bits)
{
	int64_t found = 0;

	if (ret_bits)
		memset(ret_bits, 0, (b->rows + 63) / 64 * sizeof(*ret_bits));
	for (uint64_t row = 0; row < b->rows; row++) {
		bool yes = ask_row(b, row, first, last);

		found += yes;
		if (ret_bits)
			ret_bits[row / 64] |= (uint64_t)yes << row % 64;
	}
	return blm_sigbus_hit(b->image.map)
		? blm_fail(-EIO, "%s: truncated, or cannot be read", b->display) : found;
}

BLM_API int64_t blm_bank_which_range(const struct blm_bank *b, const void *first, size_t first_len,
				     const void *last, size_t last_len, uint64_t *ret_bits)
{
	const struct blm_key keys[2] = { { first, first_len }, { last, last_len } };
	const struct blm_hasher *by = &b->like->hasher;
	struct blm_hash hashes[2];
	int r;

	if (!b->like->root.kind->contains_ranges)
		return blm_fail(-EOPNOTSUPP, "%s: a bank of %s filters, which have no answer for a "
				"range; use a bank of range filters", b->display,
				b->like->root.kind->name);
	blm_hash_all(by, keys, 2, hashes);
	r = blm_check_range(b->display, by, keys, hashes);
	return r < 0 ? r : blm_bank_ask_range(b, &hashes[0], &hashes[1], ret_bits);
}
