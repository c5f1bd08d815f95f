/*
 * redis_dump.c - what Redis' DUMP gives of a filter of RedisBloom, turned into what BF.SCANDUMP or
 * CF.SCANDUMP gives
 *
 *	0	7: the value of a module; its type, 0x81 and 8 bytes, big-endian: nine letters of 6
 *		bits, "MBbloom--" or "MBbloomCF", and 10 bits of version, 4
 *	10	the value: pieces, each after the number of its sort, and 0 at the end
 *	-10	the version of the file format, 2 bytes; CRC64 of all before it, 8 bytes,
 *		little-endian
 *
 * The pieces are keys, filters, options, growth, then of each filter entries, error, k, bits an
 * entry, bits, n2, the bits, keys; of a cuckoo filter tables, buckets, keys, deletes, cells of a
 * bucket, iterations, expansion, then of each table buckets and cells. Strings can be packed by
 * LZF. A line break at the end is redis-cli's.
 */
#include "format/redisbloom.h"
#include "kind/redis_cuckoo.h"

enum { TYPE = 7, HEAD = 10, TAIL = 10, UNSIGNED = 2, DOUBLE = 4, STRING = 5, PACKED_MOST = 90 };
#define MODULE UINT64_C(0x3016e5a289bef804)
#define MODULE_CF UINT64_C(0x3016e5a289821404)
#define FILE_MOST (UINT64_C(4) << 30)
/* at most this multiple of the file's bytes, for packed data, unless the caller sets a limit */
#define MORE_MOST (UINT64_C(1) << 30)

struct dump {
	const uint8_t *at;
	size_t left;
	const char *display;
	int failed;
	uint8_t *out;			/* header and bits */
	size_t count, capacity;
	uint64_t most;			/* that they may be */
};

static bool is_of(const uint8_t *bytes, size_t count, uint64_t module)
{
	return count >= HEAD && bytes[0] == TYPE && bytes[1] == 0x81
		&& blm_get_big(bytes + 2, 8) >> 10 == module >> 10;
}

bool blm_redis_dump_begins(const uint8_t *bytes, size_t count)
{
	return is_of(bytes, count, MODULE);
}

bool blm_redis_dump_begins_cf(const uint8_t *bytes, size_t count)
{
	return is_of(bytes, count, MODULE_CF);
}

/* ---- CRC64 by Jones, the lowest bit first ---- */

static uint64_t crc64(const uint8_t *bytes, size_t count)
{
	uint64_t table[256], crc = 0;

	for (unsigned i = 0; i < 256; i++) {
		table[i] = i;
		for (int b = 0; b < 8; b++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? UINT64_C(0x95ac9329ac4bc9b5)
						    : 0);
	}
	for (size_t i = 0; i < count; i++)
		crc = table[(uint8_t)crc ^ bytes[i]] ^ crc >> 8;
	return crc;
}

/* ---- Pieces ---- */

static uint64_t fail(struct dump *d, const char *reason)
{
	if (!d->failed)
		d->failed = blm_fail(-EBADMSG, "%s: a damaged dump of Redis: %s",
				     d->display, reason);
	d->left = 0;
	return 0;
}

/* The next bytes; at the end zeros, which must be enough for a number. */
static const uint8_t *take(struct dump *d, size_t count)
{
	static const uint8_t none[8];
	const uint8_t *at = d->at;

	if (count > d->left) {
		fail(d, "it ends too early");
		return none;
	}
	d->at += count;
	d->left -= count;
	return at;
}

/* *ret_special: it is no length, but says how a string is packed. */
static uint64_t length(struct dump *d, bool *ret_special)
{
	uint8_t first = *take(d, 1);

	*ret_special = first >> 6 == 3;
	if (first >> 6 == 1)
		return (uint64_t)(first & 0x3f) << 8 | *take(d, 1);
	if (first >> 6 != 2)
		return first & 0x3f;
	if (first == 0x80)
		return blm_get_big(take(d, 4), 4);
	if (first == 0x81)
		return blm_get_big(take(d, 8), 8);
	return fail(d, "it has a length in an unknown form");
}

static uint64_t get_plain(struct dump *d)
{
	bool special;
	uint64_t value = length(d, &special);

	return special ? fail(d, "it has a number in an unknown form") : value;
}

static void expect(struct dump *d, unsigned sort)
{
	if (!d->failed && get_plain(d) != sort)
		fail(d, "its fields are not the fields of a filter");
}

static uint64_t get_number(struct dump *d)
{
	expect(d, UNSIGNED);
	return d->failed ? 0 : get_plain(d);
}

static uint64_t get_double_bits(struct dump *d)
{
	expect(d, DOUBLE);
	return d->failed ? 0 : blm_get_little(take(d, 8), 8);
}

/* ---- Strings ---- */

static uint8_t *make_space(struct dump *d, uint64_t count)
{
	if (count > d->capacity - d->count) {
		size_t capacity = d->count + (size_t)count;
		uint8_t *more = realloc(d->out, capacity);

		if (!more) {
			d->failed = blm_fail(-ENOMEM, "%s: out of memory", d->display);
			return NULL;
		}
		d->out = more;
		d->capacity = capacity;
	}
	d->count += (size_t)count;
	return d->out + d->count - count;
}

/* LZF: literals, 1 to 32 of them; or a number of bytes again from a distance back. */
static bool unpack(uint8_t *to, size_t capacity, const uint8_t *from, size_t count)
{
	const uint8_t *end = from + count;
	size_t at = 0;

	while (from < end) {
		size_t n = *from >> 5, back = (size_t)(*from & 31) << 8;

		if (!n) {
			n = (size_t)*from++ + 1;
			if (n > (size_t)(end - from) || n > capacity - at)
				return false;
			memcpy(to + at, from, n);
			from += n;
			at += n;
			continue;
		}
		from++;
		if (n == 7)
			n += from < end ? *from++ : 0;
		if (from == end)
			return false;
		back += (size_t)*from++ + 1;
		n += 2;
		if (back > at || n > capacity - at)
			return false;
		for (; n; n--, at++)
			to[at] = to[at - back];
	}
	return at == capacity;
}

/* Passes over a string, which must have this many bytes. */
static void get_string(struct dump *d, uint64_t bytes)
{
	bool special;
	uint64_t count, whole;
	uint8_t *to;

	expect(d, STRING);
	count = d->failed ? 0 : length(d, &special);
	if (d->failed)
		return;
	if (special && count != 3) {
		fail(d, "it has a string in an unknown form");
		return;
	}
	whole = count;
	if (special) {
		count = get_plain(d);
		whole = get_plain(d);
	}
	/* no packing is so good */
	if (whole != bytes || count > d->left || whole / PACKED_MOST > count) {
		fail(d, "a filter has another number of bits than it states");
		return;
	}
	if (whole > d->most || d->count > d->most - whole) {
		d->failed = blm_fail(-EFBIG, "%s: unpacks to more than the %llu bytes that are "
				     "allowed (blm_exchange.max_bytes)", d->display,
				     (unsigned long long)d->most);
		return;
	}
	to = make_space(d, whole);
	if (!to)
		return;
	if (!special)
		memcpy(to, take(d, (size_t)count), (size_t)count);
	else if (!unpack(to, (size_t)whole, take(d, (size_t)count), (size_t)count))
		fail(d, "a string that is packed by LZF is damaged");
}

/* ---- The whole ---- */

static void put(uint8_t *head, size_t at, uint64_t value, unsigned count)
{
	blm_put_little(head + at, value, count);
}

static void convert_link(struct dump *d, unsigned i)
{
	size_t at = REDISBLOOM_HEAD + i * REDISBLOOM_LINK;
	uint8_t link[REDISBLOOM_LINK] = { 0 };
	uint64_t bits;

	put(link, REDISBLOOM_LINK_ENTRIES, get_number(d), 8);
	put(link, REDISBLOOM_LINK_ERROR, get_double_bits(d), 8);
	put(link, REDISBLOOM_LINK_HASHES, get_number(d), 4);
	put(link, REDISBLOOM_LINK_BPE, get_double_bits(d), 8);
	bits = get_number(d);
	put(link, REDISBLOOM_LINK_BITS, bits, 8);
	put(link, REDISBLOOM_LINK_N2, get_number(d), 1);
	if (!d->failed && (bits % 8 || bits > BLM_CELLS_MAX))
		fail(d, "a filter has a number of bits that is no multiple of 8, or more than "
		     "2^47");
	put(link, REDISBLOOM_LINK_BYTES, bits / 8, 8);
	get_string(d, bits / 8);
	put(link, REDISBLOOM_LINK_SIZE, get_number(d), 8);
	if (!d->failed)
		memcpy(d->out + at, link, sizeof(link));
}

static void convert(struct dump *d)
{
	uint8_t head[REDISBLOOM_HEAD];
	uint64_t links;

	put(head, REDISBLOOM_SIZE, get_number(d), 8);
	links = get_number(d);
	put(head, REDISBLOOM_LINKS, links, 4);
	put(head, REDISBLOOM_OPTIONS, get_number(d), 4);
	put(head, REDISBLOOM_GROWTH, get_number(d), 4);
	if (!d->failed && (links < 1 || links > REDISBLOOM_LINKS_MOST))
		fail(d, "it has a chain of no filters, or of more than 64");
	if (d->failed || !make_space(d, REDISBLOOM_HEAD + links * REDISBLOOM_LINK))
		return;
	memcpy(d->out, head, sizeof(head));
	for (unsigned i = 0; i < links && !d->failed; i++)
		convert_link(d, i);
	expect(d, 0);
	if (!d->failed && d->left)
		fail(d, "it has more bytes after its filter");
}

/* The tables must have the sizes in the header, because the rest of the structure is lost. */
static void convert_cf(struct dump *d)
{
	uint64_t tables = get_number(d), buckets = get_number(d), keys = get_number(d),
		deletes = get_number(d), slots = get_number(d);
	uint64_t iterations = get_number(d), expansion = get_number(d);
	uint8_t head[REDISBLOOM_CF_HEAD] = { 0 }, *to;

	put(head, REDISBLOOM_CF_KEYS, keys, 8);
	put(head, REDISBLOOM_CF_BUCKETS, buckets, 8);
	put(head, REDISBLOOM_CF_DELETES, deletes, 8);
	put(head, REDISBLOOM_CF_TABLES, tables, 8);
	put(head, REDISBLOOM_CF_SLOTS, slots, 2);
	put(head, REDISBLOOM_CF_ITERATIONS, iterations, 2);
	put(head, REDISBLOOM_CF_EXPANSION, expansion, 2);
	if (!d->failed && (iterations > REDIS_CUCKOO_ITERATIONS_MOST
			   || !blm_redis_cuckoo_cells(buckets, slots, tables, expansion)))
		fail(d, "the sizes of its tables contradict each other");
	to = d->failed ? NULL : make_space(d, sizeof(head));
	if (!to)
		return;
	memcpy(to, head, sizeof(head));
	for (uint64_t i = 0; i < tables && !d->failed; i++, buckets *= expansion) {
		if (get_number(d) != buckets)
			fail(d, "a table has the wrong size");
		get_string(d, buckets * slots);
	}
	expect(d, 0);
	if (!d->failed && d->left)
		fail(d, "it has more bytes after its filter");
}

/* The contents of one sort of dump. */
struct content {
	uint64_t module;
	void (*convert)(struct dump *d);
};

static int check(const uint8_t *bytes, size_t *count, uint64_t module, const char *display)
{
	size_t n = *count;

	if (n < HEAD + TAIL)
		return blm_fail(-ENODATA, "%s: %zu bytes of a dump of Redis: it is truncated",
				display,
				n);
	if (blm_get_big(bytes + 2, 8) != module)
		return blm_fail(-EPROTONOSUPPORT, "%s: a dump of Redis of version %u of "
				"RedisBloom's encoding; only 4 is known", display,
				(unsigned)blm_get_big(bytes + 2, 8) & 1023);
	if (bytes[n - 1] == '\n' && crc64(bytes, n - 9) == blm_get_little(bytes + n - 9, 8))
		n--;
	else if (crc64(bytes, n - 8) != blm_get_little(bytes + n - 8, 8))
		return blm_fail(-EBADMSG, "%s: the checksum of this dump of Redis is wrong: it "
				"is truncated or damaged", display);
	*count = n - TAIL;
	return 0;
}

static int unpack_all(struct dump *d, const struct content *content, uint8_t *bytes, size_t count)
{
	int r = check(bytes, &count, content->module, d->display);

	if (r < 0)
		return r;
	d->at = bytes + HEAD;
	d->left = count - HEAD;
	content->convert(d);
	return d->failed;
}

static int unpack_file(struct blm_piece *ret, const struct content *content,
		       const struct blm_bytes_at *file, const struct blm_exchange *how,
		       const char *display)
{
	uint64_t most = how->max_bytes && how->max_bytes < FILE_MOST ? how->max_bytes : FILE_MOST;
	struct dump d = { .display = display,
			  .most = how->max_bytes ? how->max_bytes : file->count + MORE_MOST };
	uint8_t *bytes;
	int64_t n;
	int r;

	if (file->count > most)
		return blm_fail(-EFBIG, "%s: a dump of Redis of %llu bytes, more than the %llu "
				"that are allowed", display, (unsigned long long)file->count,
				(unsigned long long)most);
	bytes = malloc((size_t)file->count + 1);
	if (!bytes)
		return blm_fail(-ENOMEM, "%s: out of memory", display);
	n = file->read(file, bytes, (size_t)file->count, 0);
	r = n < 0 ? blm_fail((int)n, "%s: cannot be read: %s", display, strerror((int)-n))
		: unpack_all(&d, content, bytes, (size_t)n);
	free(bytes);
	if (r < 0) {
		free(d.out);
		return r;
	}
	*ret = (struct blm_piece){ .bytes = d.count, .unpacked = d.out };
	return 0;
}

int blm_redis_dump_unpack(struct blm_piece *ret, const struct blm_bytes_at *file,
			  const struct blm_exchange *how, const char *display)
{
	return unpack_file(ret, &(struct content){ MODULE, convert }, file, how, display);
}

int blm_redis_dump_unpack_cf(struct blm_piece *ret, const struct blm_bytes_at *file,
			     const struct blm_exchange *how, const char *display)
{
	return unpack_file(ret, &(struct content){ MODULE_CF, convert_cf }, file, how, display);
}
