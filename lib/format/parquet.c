/*
 * parquet.c - Parquet's Bloom filters: split blocks, with a header before them
 *
 *	0	a BloomFilterHeader in Thrift's compact protocol: the number of bytes of bits, and
 *		that they are split blocks of XXH64, not packed the bits
 *
 * So it is stored in a Parquet file, at the bloom_filter_offset of a column chunk (parquet_file.c),
 * and so programs keep it by itself. A key is a value in Parquet's plain encoding without its
 * length: strings as they are, numbers of 4 or 8 bytes, little-endian.
 */
#include "format/parquet.h"
#include "format/thrift.h"
#include "kind/common/sizing.h"

#define BLOCK_BITS UINT64_C(256)
#define BYTES_MOST (INT32_MAX / 32 * 32)
#define PLANNED_BYTES_MOST (UINT64_C(128) << 20)	/* the most that every reader takes */

static const char *const families[] = { "xxh64", NULL }, *const kinds[] = { "split-block", NULL };
extern const struct blm_format blm_format_parquet;

/* ---- The header ---- */

/* A union: which of its fields it has. Each of those is a struct without fields, so far. */
static int chosen(struct blm_thrift *t)
{
	struct blm_thrift_field field = { 0 };
	int id = 0;

	while (blm_thrift_next(t, &field)) {
		id = field.id;
		blm_thrift_pass(t, field.type);
	}
	return id;
}

int blm_parquet_header(const uint8_t *bytes, size_t count, const char *display, size_t *ret_header,
		       uint64_t *ret_bits)
{
	struct blm_thrift_field field = { 0 };
	int64_t size = INT64_MIN;		/* not said */
	int choice[5] = { 0 };
	struct blm_thrift t;

	blm_thrift_memory(&t, bytes, count < PARQUET_HEADER_MOST ? count : PARQUET_HEADER_MOST,
			  display);
	while (blm_thrift_next(&t, &field)) {
		if (blm_thrift_is(&field, 1, BLM_THRIFT_I32))
			size = blm_thrift_number(&t);
		else if (field.id >= 2 && field.id <= 4 && field.type == BLM_THRIFT_STRUCT)
			choice[field.id] = chosen(&t);
		else
			blm_thrift_pass(&t, field.type);
	}
	if (t.failed)
		return t.failed;
	if (size == INT64_MIN)
		return blm_fail(-EBADMSG, "%s: damaged header: its first field, numBytes, is "
				"missing", display);
	if (size < 32 || size % 32 || size > BYTES_MOST)
		return blm_fail(-EBADMSG, "%s: damaged header: numBytes is %lld; it must be a "
				"multiple of 32, from 32 to below 2^31", display,
				(long long)size);
	for (int i = 2; i <= 4; i++)
		if (choice[i] != 1)
			return blm_fail(-EPROTONOSUPPORT,
					"%s: its %s is number %d; only 1 (%s) is known", display,
					i == 2 ? "algorithm" : i == 3 ? "hash"
					: "compression", choice[i],
					i == 2 ? "split blocks" : i == 3 ? "XXH64" : "none");
	*ret_header = (size_t)(t.next - bytes);
	*ret_bits = (uint64_t)size;
	return 0;
}

static size_t put_header(uint8_t *to, uint64_t bits)
{
	static const uint8_t rest[] = { 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0 };
	size_t at = 0;

	to[at++] = 0x15;
	for (bits *= 2; bits > 0x7f; bits >>= 7)
		to[at++] = (uint8_t)(0x80 | bits);
	to[at++] = (uint8_t)bits;
	memcpy(to + at, rest, sizeof(rest));
	return at + sizeof(rest);
}

/* The header as everybody writes it, or a whole Parquet file. */
static bool begins(const uint8_t *bytes, size_t count)
{
	uint8_t usual[PARQUET_HEADER_MOST];
	uint64_t number = 0;

	if (blm_parquet_within(bytes, count))
		return true;
	for (size_t i = 1; i < count && i <= 5; i++) {
		number |= (uint64_t)(bytes[i] & 0x7f) << 7 * (i - 1);
		if (!(bytes[i] & 0x80))
			break;
	}
	return number && count >= put_header(usual, number / 2)
		&& !memcmp(bytes, usual, put_header(usual, number / 2));
}

/* ---- The format ---- */

/* The file does not state a capacity: it is the kind's capacity for this size. */
static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	struct blm_array a = { .kind = kinds[0], .family = families[0], .probes = 8 };
	const struct blm_kind *kind = blm_kind_by_name(a.kind);
	struct blm_shape shape = { 0 };
	size_t header;
	int r = blm_parquet_header(head, count, display, &header, &a.bytes);

	if (r < 0)
		return r;
	a.offset = header;
	a.cells = 8 * a.bytes;
	r = kind->plan(&shape, &(struct blm_params){ .cells = a.cells });
	if (r < 0)
		return r;
	a.capacity = shape.capacity;
	a.rate = shape.rate;
	memcpy(ret->memo, head, header);
	ret->memo_bytes = header;
	return blm_outline_set(ret, &blm_format_parquet, &a, display);
}

static int lay_out(struct blm_outline *o, uint8_t *head, const char *display)
{
	uint64_t cells = le64toh(o->contents.constant.template.cells), blocks = cells / BLOCK_BITS,
		bits;
	size_t header;

	if (cells / 8 > BYTES_MOST)
		return blm_fail(-EOPNOTSUPP, "%s: has %llu bytes of bits; Parquet has fewer than "
				"2^31", display, (unsigned long long)cells / 8);
	if (o->asked_power_of_two && blocks & (blocks - 1))
		return blm_fail(-EOPNOTSUPP, "%s: has %llu blocks, which is no power of two; make "
				"it with blm_params.format, or divide it by %llu with blm_fold()",
				display, (unsigned long long)blocks,
				(unsigned long long)(blocks >> __builtin_ctzll(blocks)));
	if (blm_parquet_header(o->memo, o->memo_bytes, display, &header, &bits) == 0
	    && header == o->memo_bytes && 8 * bits == cells)
		memcpy(head, o->memo, header);
	else
		header = put_header(head, cells / 8);
	o->head_bytes = header;
	blm_outline_place(o, header, cells / 8);
	return 0;
}

/* A power of two, because many programs read no other number of blocks. */
static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	uint64_t blocks = 1, least = p->cells ? 0 : blm_split_blocks_for(p->capacity, p->rate);

	p->hash = families[0];
	if (p->cells)
		return 0;
	while (blocks < least && blocks * BLOCK_BITS / 8 < PLANNED_BYTES_MOST)
		blocks *= 2;
	if (!least || blocks < least)
		return blm_fail(-EFBIG, "Parquet's readers take up to 128 MiB of bits; %llu keys "
				"at the rate %g take more", (unsigned long long)p->capacity,
				p->rate);
	p->cells = blocks * BLOCK_BITS;
	return 0;
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_parquet = {
	.id = 17,
	.name = "parquet",
	.summary = "a Bloom filter of Parquet, by itself or of a column and row group of a Parquet "
	"file",
	.limits = "below 2 GiB; made with a power of two of blocks, up to 128 MiB; Parquet files "
	"are only read, and not from a pipe",
	.text_name = "base64(file)", .text = text,
	.kinds = kinds, .families = families,
	.head_bytes = PARQUET_HEADER_MOST, .memo = true, .exact = true, .columns = true,
	.power_of_two = true,
	.begins = begins, .within = blm_parquet_within,
	.parse = parse, .locate = blm_parquet_locate, .lay_out = lay_out, .plan = plan,
};
