/*
 * leveldb_table.c - where a filter is in the filter block of a LevelDB table, or in the table
 *
 *	0	the filters, one after the other
 *		where each begins, 4 bytes; where these numbers begin, 4 bytes; a byte b: filter i
 *		is of the data blocks that begin in the i-th 2^b bytes of the table, 2^11 as LevelDB
 *		has it
 *
 * A table (.ldb, .sst) ends with a footer of 48 bytes: the handles (offset and length, 7 bits a
 * byte, the lowest first) of the metaindex and the index, zeros, 8 bytes of magic. The metaindex is
 * a block of entries, by whose names that of the policy leads to the filter block. Behind each
 * block is a byte, how it is packed, and the CRC-32C of the block and that byte, rotated and added
 * to. All is little-endian.
 */
#include "format/leveldb.h"

enum {
	BLOCK_TAIL = 5,			/* of a filter block: where its numbers begin, and b */
	TRAILER = 5,			/* behind each block of a table */
	FOOTER = 48, MAGIC = 8,
	METAINDEX_MOST = 64 << 10,
	BASE_MOST = 30,
	SOME = 1024,			/* numbers that are read at a time */
};

static const uint8_t magic[MAGIC] = { 0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb };
static const char policy[] = "filter.leveldb.BuiltinBloomFilter2";

static int read_all(const struct blm_bytes_at *file, void *buffer, size_t bytes, uint64_t at,
		    const char *display)
{
	int64_t n = file->read(file, buffer, bytes, at);

	if (n < 0)
		return blm_fail((int)n, "%s: cannot be read: %s", display, strerror((int)-n));
	return (size_t)n == bytes ? 0 : blm_fail(-ENODATA, "%s: was truncated while it was read",
						 display);
}

bool blm_leveldb_is_table(const struct blm_bytes_at *file)
{
	uint8_t end[MAGIC];

	return file->count >= FOOTER && file->read(file, end, MAGIC, file->count - MAGIC) == MAGIC
		&& !memcmp(end, magic, MAGIC);
}

/* ---- The table ---- */

/* 7 bits a byte; NULL: it does not end. */
static const uint8_t *get_varint(const uint8_t *at, const uint8_t *end, uint64_t *ret)
{
	*ret = 0;
	for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
		*ret |= (uint64_t)(*at & 0x7f) << shift;
		if (!(*at++ & 0x80))
			return at;
	}
	return NULL;
}

/* A handle whose target, with its trailer, is before the footer. */
static int get_handle(const uint8_t *at, const uint8_t *end, const struct blm_bytes_at *file,
		      struct blm_piece *ret, const char *display)
{
	uint64_t most = file->count - FOOTER;

	at = get_varint(at, end, &ret->at);
	at = at ? get_varint(at, end, &ret->bytes) : NULL;
	if (!at || ret->at > most || most - ret->at < TRAILER
	    || ret->bytes > most - ret->at - TRAILER)
		return blm_fail(-EBADMSG, "%s: a LevelDB table that refers to blocks outside the "
				"file", display);
	return 0;
}

/* ---- CRC-32C by Castagnoli, the lowest bit first ---- */

static void make_crc_table(uint32_t ret[256])
{
	for (uint32_t i = 0; i < 256; i++) {
		ret[i] = i;
		for (int bit = 0; bit < 8; bit++)
			ret[i] = ret[i] >> 1 ^ (ret[i] & 1 ? 0x82f63b78 : 0);
	}
}

/* Is a block of a table as it was written? It may be large: it is read a piece at a time. */
static int check_block(const struct blm_bytes_at *file, const struct blm_piece *block,
		       const char *what, const char *display)
{
	uint64_t left = block->bytes + 1, at = block->at;	/* and how it is packed */
	uint32_t table[256], crc = UINT32_MAX;
	uint8_t some[4096], trailer[TRAILER];
	int r = 0;

	make_crc_table(table);
	for (size_t n; r == 0 && left; at += n, left -= n) {
		n = left < sizeof(some) ? (size_t)left : sizeof(some);
		r = read_all(file, some, n, at, display);
		for (size_t i = 0; r == 0 && i < n; i++)
			crc = table[(uint8_t)crc ^ some[i]] ^ crc >> 8;
	}
	if (r == 0)
		r = read_all(file, trailer, TRAILER, block->at + block->bytes, display);
	if (r < 0)
		return r;
	crc = ~crc;
	if (blm_get_little(trailer + 1, 4) != (uint32_t)((crc >> 15 | crc << 17) + 0xa282ead8))
		return blm_fail(-EBADMSG, "%s: a LevelDB table whose %s is damaged: it has another "
				"checksum", display, what);
	if (trailer[0])
		return blm_fail(-EPROTONOSUPPORT, "%s: a LevelDB table whose %s is compressed; "
				"only plain blocks are read", display, what);
	return 0;
}

/* ---- The metaindex ---- */

/*
 * A name lacks the beginning that it shares with the one before, so each is put together of both.
 */
static int find_policy(const uint8_t *block, size_t count, const struct blm_bytes_at *file,
		       struct blm_piece *ret, const char *display)
{
	uint64_t restarts = count >= 4 ? blm_get_little(block + count - 4, 4)
		: UINT64_MAX, shared, rest, value;
	const uint8_t *at = block, *end;
	/* as far as it fits: a longer name is another one */
	char name[sizeof(policy)] = "";

	if (restarts > (count - 4) / 4)
		return blm_fail(-EBADMSG, "%s: a LevelDB table whose metaindex is damaged",
				display);
	end = block + count - 4 - 4 * restarts;
	while (at < end) {
		at = get_varint(at, end, &shared);
		at = at ? get_varint(at, end, &rest) : NULL;
		at = at ? get_varint(at, end, &value) : NULL;
		if (!at || rest > (size_t)(end - at) || value > (size_t)(end - at) - rest)
			return blm_fail(-EBADMSG, "%s: a LevelDB table whose metaindex is damaged",
					display);
		for (uint64_t i = 0; shared + i < sizeof(name) && i <= rest; i++)
			name[shared + i] = i < rest ? (char)at[i] : '\0';
		at += rest;
		if (shared + rest == sizeof(policy) - 1
		    && !memcmp(name, policy, sizeof(policy) - 1))
			return get_handle(at, at + value, file, ret, display);
		at += value;
	}
	return blm_fail(-ENOENT, "%s: a LevelDB table without Bloom filters of LevelDB's own "
			"policy", display);
}

static int find_block(struct blm_piece *ret, const struct blm_bytes_at *file, const char *display)
{
	uint8_t footer[FOOTER], *block;
	struct blm_piece meta;
	int r = read_all(file, footer, FOOTER, file->count - FOOTER, display);

	if (r == 0)
		r = get_handle(footer, footer + FOOTER - MAGIC, file, &meta, display);
	if (r == 0 && meta.bytes > METAINDEX_MOST)
		r = blm_fail(-EFBIG, "%s: a LevelDB table whose metaindex has %llu bytes, which is "
			     "too many", display, (unsigned long long)meta.bytes);
	if (r == 0)
		r = check_block(file, &meta, "metaindex", display);
	if (r < 0)
		return r;
	block = malloc((size_t)meta.bytes + 1);
	if (!block)
		return blm_fail(-ENOMEM, "%s: out of memory", display);
	r = read_all(file, block, (size_t)meta.bytes, meta.at, display);
	if (r == 0)
		r = find_policy(block, (size_t)meta.bytes, file, ret, display);
	free(block);
	return r < 0 ? r : check_block(file, ret, "filter block", display);
}

/* ---- The filter block ---- */

struct filters {
	const struct blm_bytes_at *file;
	const char *display;
	uint64_t at;			/* of the block */
	uint64_t numbers;		/* where these begin in it: the filters end there */
	uint64_t count;
	unsigned base;			/* b */
};

static int open_block(struct filters *ret, const struct blm_piece *block)
{
	uint8_t tail[BLOCK_TAIL];
	int r;

	if (block->bytes < BLOCK_TAIL)
		return blm_fail(-ENODATA, "%s: a filter block of %llu bytes, which has at least %d",
				ret->display, (unsigned long long)block->bytes,
				BLOCK_TAIL);
	r = read_all(ret->file, tail, BLOCK_TAIL, block->at + block->bytes - BLOCK_TAIL,
		     ret->display);
	if (r < 0)
		return r;
	ret->at = block->at;
	ret->numbers = blm_get_little(tail, 4);
	ret->base = tail[4];
	if (ret->numbers > block->bytes - BLOCK_TAIL
	    || (block->bytes - BLOCK_TAIL - ret->numbers) % 4 || ret->base > BASE_MOST)
		return blm_fail(-EBADMSG, "%s: not a LevelDB filter block, or damaged: its last "
				"bytes contradict its size",
				ret->display);
	ret->count = (block->bytes - BLOCK_TAIL - ret->numbers) / 4;
	return 0;
}

/* The number after those of the filters is the end of the last filter. */
static int check_range(const struct filters *f, uint64_t i, const uint8_t *numbers,
		       struct blm_piece *ret)
{
	uint64_t from = blm_get_little(numbers, 4), to = blm_get_little(numbers + 4, 4);

	if (from > to || to > f->numbers)
		return blm_fail(-EBADMSG, "%s: damaged: filter %llu is from byte %llu to %llu of "
				"%llu",
				f->display, (unsigned long long)i, (unsigned long long)from,
				(unsigned long long)to, (unsigned long long)f->numbers);
	ret->at = f->at + from;
	ret->bytes = to - from;
	return 0;
}

static int take(const struct filters *f, uint64_t i, struct blm_piece *ret)
{
	uint8_t numbers[8];
	int r;

	if (i >= f->count)
		return blm_fail(-ENOENT, "%s: has no filter %llu; it has %llu, from 0, each for "
				"%llu bytes of data blocks", f->display, (unsigned long long)i,
				(unsigned long long)f->count, 1ULL << f->base);
	r = read_all(f->file, numbers, sizeof(numbers), f->at + f->numbers + 4 * i, f->display);
	if (r == 0)
		r = check_range(f, i, numbers, ret);
	if (r == 0 && !ret->bytes)
		r = blm_fail(-ENOENT, "%s: filter %llu is empty: no data block begins in the %llu "
			     "bytes that it is for", f->display, (unsigned long long)i,
			     1ULL << f->base);
	return r;
}

/* Without a request the only filter that is not empty, if there is one. */
static int take_only(const struct filters *f, struct blm_piece *ret)
{
	uint8_t numbers[4 * (SOME + 1)];
	struct blm_piece one = { 0 };
	uint64_t full = 0;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < f->count; i += SOME) {
		size_t some = f->count - i < SOME ? (size_t)(f->count - i) : SOME;

		r = read_all(f->file, numbers, 4 * (some + 1), f->at + f->numbers + 4 * i,
			     f->display);
		for (size_t j = 0; r == 0 && j < some; j++) {
			r = check_range(f, i + j, numbers + 4 * j, &one);
			if (r == 0 && one.bytes && !full++)
				*ret = one;
		}
	}
	if (r == 0 && !full)
		return blm_fail(-ENOENT, "%s: a LevelDB table without keys in its filters",
				f->display);
	if (r == 0 && full > 1)
		return blm_fail(-ENOTUNIQ, "%s: has %llu filters, 0 to %llu, each for %llu bytes "
				"of data blocks: name one (blm_exchange.record N, or @OFFSET of a "
				"data block)",
				f->display, (unsigned long long)full,
				(unsigned long long)f->count - 1,
				1ULL << f->base);
	return r;
}

/* N, or @OFFSET: the number of a filter. */
static int number_of(const struct filters *f, const char *record, uint64_t *ret)
{
	const char *digits = record + (*record == '@');
	uint64_t number = 0;
	size_t len = strspn(digits, "0123456789");

	if (!len || digits[len] || len > 18)
		return blm_fail(-EINVAL, "%s: \"%s\" names no filter of a LevelDB table; use a "
				"number from 0, or @ and the first byte of a data block",
				f->display, record);
	for (; len--; digits++)
		number = 10 * number + (uint64_t)(*digits - '0');
	*ret = *record == '@' ? number >> f->base : number;
	return 0;
}

int blm_leveldb_locate(struct blm_piece *ret, const struct blm_bytes_at *file,
		       const struct blm_exchange *how, const char *display)
{
	struct blm_piece block = { .bytes = file->count };
	struct filters f = { .file = file, .display = display };
	uint64_t number = 0;
	int r = blm_leveldb_is_table(file) ? find_block(&block, file, display) : 0;

	if (r == 0)
		r = open_block(&f, &block);
	if (r == 0 && how->record)
		r = number_of(&f, how->record, &number);
	if (r < 0)
		return r;
	return how->record ? take(&f, number, ret) : take_only(&f, ret);
}
