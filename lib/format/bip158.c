/*
 * bip158.c - Bitcoin's block filters, as BIP 158 has them on the wire: Golomb-coded sets
 *
 *	N as a CompactSize, then the distances between the N numbers, in order, each as Golomb-Rice
 *	code with 19 bits: the quotient in unary, as ones and a zero, the remainder in 19 bits; the
 *	highest bit of each byte first, zeros behind the last.
 *
 * A number is floor(SipHash-2-4(item) / 2^64 * N * 784931), keyed by the first 16 bytes of the
 * block's hash, which the file does not have. Two items may come to one number, which then stands
 * there twice. For N numbers there is one such file, so nothing of it is kept but those: ours has
 * them in codes of its own, that can be entered anywhere.
 */
#include "format/format.h"
#include "kind/golomb.h"

enum { RICE_BITS = 19, MODULUS = 784931 };

static const char *const families[] = { "siphash64", NULL }, *const kinds[] = { "golomb", NULL };

/* ---- Reading ---- */

/* The length is that of the shortest form; 0: it is another, or cut. */
static size_t compact_size(const uint8_t *bytes, size_t count, uint64_t *ret)
{
	size_t wide = !count ? 0 : bytes[0] < 0xfd ? 1
		: (size_t)1 + ((size_t)2 << (bytes[0] - 0xfd));
	uint64_t value = 0;

	if (!wide || wide > count)
		return 0;
	for (size_t i = wide; i-- > (wide > 1); )
		value = value << 8 | bytes[i];
	*ret = value;
	return wide == 1 || value > (wide == 3 ? 0xfc : wide == 5 ? 0xffff : UINT32_MAX) ? wide : 0;
}

struct coded {
	struct golomb_numbers numbers;
	const uint8_t *bytes;
	/* of bytes: how many, the next one, where the codes begin */
	uint64_t bits, at, first;
	uint64_t count, done, last;
	const char *display;
};

static bool next_bit(struct coded *c)
{
	bool bit = c->bytes[c->at / 8] >> (7 - c->at % 8) & 1;

	c->at++;
	return bit;
}

static int begin(struct golomb_numbers *n)
{
	struct coded *c = (struct coded *)n;

	c->at = c->first;
	c->done = c->last = 0;
	return 0;
}

static int cut(const struct coded *c)
{
	return blm_fail(-ENODATA, "%s: ends in number %llu of %llu: it is truncated", c->display,
			(unsigned long long)c->done + 1, (unsigned long long)c->count);
}

static int end(const struct coded *c)
{
	struct coded rest = *c;

	while (rest.at < rest.bits)
		if (rest.bits - rest.at >= 8 || next_bit(&rest))
			return blm_fail(-EBADMSG, "%s: has more bytes after the last of its %llu "
					"numbers",
					c->display, (unsigned long long)c->count);
	return 0;
}

static int next(struct golomb_numbers *n, uint64_t *ret)
{
	struct coded *c = (struct coded *)n;
	uint64_t q = 0, r = 0;

	if (c->done == c->count)
		return end(c);
	while (c->at < c->bits && next_bit(c))
		q++;
	if (c->bits - c->at < RICE_BITS)
		return cut(c);
	for (int i = 0; i < RICE_BITS; i++)
		r = r << 1 | next_bit(c);
	c->last += q << RICE_BITS | r;
	if (c->last >= c->count * MODULUS)
		return blm_fail(-EBADMSG, "%s: number %llu is %llu, which is not below %llu * %d",
				c->display, (unsigned long long)c->done + 1,
				(unsigned long long)c->last, (unsigned long long)c->count, MODULUS);
	c->done++;
	*ret = c->last;
	return 1;
}

static int open_file(struct coded *ret, const uint8_t *bytes, size_t count, const char *display)
{
	struct coded c = { .numbers = { begin, next }, .bytes = bytes, .bits = 8 * (uint64_t)count,
			   .display = display };

	c.first = 8 * compact_size(bytes, count, &c.count);
	if (!c.first)
		return blm_fail(count ? -EBADMSG : -ENODATA, "%s: does not begin with the number "
				"of its items, in the shortest form", display);
	if (c.count > UINT32_MAX)
		return blm_fail(-EBADMSG, "%s: says that it has %llu items, more than 2^32 - 1",
				display, (unsigned long long)c.count);
	if (c.count > c.bits / (RICE_BITS + 1))
		return blm_fail(-ENODATA, "%s: says that it has %llu items, more than its bits "
				"can code: it is truncated", display, (unsigned long long)c.count);
	*ret = c;
	return 0;
}

static int outline(struct blm_outline *ret, const uint8_t *bytes, size_t count,
		   const struct blm_exchange *how, const char *display)
{
	struct blm_constant *c = &ret->contents.constant;
	struct blm_part_entry *part = &ret->contents.part[0];
	struct blm_shape shape = { .cells = MODULUS };
	struct coded coded;
	int r = open_file(&coded, bytes, count, display);

	if (r < 0)
		return r;
	if (how->seed_count != 2)
		return blm_fail(-EINVAL, "%s: its file does not have the key of its hash: give "
				"the first 16 bytes of the block's hash as two seeds "
				"(blm_exchange.seeds)", display);
	if (coded.count)
		shape.cells *= coded.count;
	r = blm_golomb_fit(&shape, &coded.numbers, coded.count);
	if (r < 0)
		return r;
	c->capacity = htole64(coded.count ? coded.count : 1);
	c->rate = htole64(blm_bits_of(1.0 / MODULUS));
	c->origin = htole32(blm_format_by_name("bip158")->id);
	c->template.kind = htole32(blm_kind_golomb.id);
	c->template.family = htole32(blm_family_by_name(families[0])->id);
	c->template.cells = htole64(shape.cells);
	c->template.probes = c->template.cell_bits = htole32(1);
	c->template.args[GOLOMB_MODULUS] = htole64(MODULUS);
	c->template.seed_count = htole32(2);
	for (int i = 0; i < 2; i++)
		c->template.seeds[i] = htole64(how->seeds[i]);
	*part = (struct blm_part_entry){
		.bytes = htole64(shape.bytes), .cells = c->template.cells,
		.probes = c->template.probes, .cell_bits = c->template.cell_bits,
		.kind = c->template.kind, .capacity = c->capacity, .rate = c->rate,
	};
	ret->contents.parts = 1;
	ret->counted = true;
	ret->keys = coded.count;
	ret->end = count;
	return 0;
}

static int fill(struct blm_part *part, const uint8_t *bytes, size_t count,
		const struct blm_exchange *how, const char *display)
{
	struct coded coded;
	int r = open_file(&coded, bytes, count, display);

	return r < 0 ? r : blm_golomb_write(part, &coded.numbers, coded.count);
}

/* ---- Writing ---- */

struct out {
	struct blm_writer *to;
	uint8_t bytes[4096];
	size_t bits;
};

static int flush(struct out *out)
{
	int r = out->to->write(out->to, out->bytes, (out->bits + 7) / 8);

	memset(out->bytes, 0, sizeof(out->bytes));
	out->bits = 0;
	return r;
}

static int put_bit(struct out *out, unsigned bit)
{
	out->bytes[out->bits / 8] |= (uint8_t)(bit << (7 - out->bits % 8));
	return ++out->bits == 8 * sizeof(out->bytes) ? flush(out) : 0;
}

static int put_code(struct out *out, uint64_t distance)
{
	int r = 0;

	for (uint64_t q = distance >> RICE_BITS; r == 0 && q; q--)
		r = put_bit(out, 1);
	if (r == 0)
		r = put_bit(out, 0);
	for (int i = RICE_BITS; r == 0 && i-- > 0; )
		r = put_bit(out, distance >> i & 1);
	return r;
}

static int put_count(struct out *out, uint64_t count)
{
	unsigned wide = count < 0xfd ? 0 : count <= 0xffff ? 2 : 4;
	uint8_t *to = out->bytes;

	*to++ = !wide ? (uint8_t)count : wide == 2 ? 0xfd : 0xfe;
	for (unsigned i = 0; i < wide; i++)
		*to++ = (uint8_t)(count >> 8 * i);
	out->bits = 8 * (size_t)(to - out->bytes);
	return 0;
}

/* What another maker, or a merge, made larger than its numbers has no such file. */
static int check(const struct blm_outline *o, const struct blm_part *part, const char *display)
{
	uint64_t count;

	if (part->kind != &blm_kind_golomb)
		return blm_fail(-EOPNOTSUPP, "%s: BIP 158 has only golomb filters", display);
	count = blm_golomb_count(part);
	if (count > UINT32_MAX || part->shape.cells != (count ? count : 1) * MODULUS)
		return blm_fail(-EOPNOTSUPP, "%s: BIP 158 has filters whose range is %d times "
				"their number of keys (option modulus=%d); this one has %llu keys "
				"and a range of %llu", display, MODULUS, MODULUS,
				(unsigned long long)count, (unsigned long long)part->shape.cells);
	return 0;
}

/* Only as many as the file states, so that a few wrong bytes do not create a file of any length. */
static int count_numbers(const struct blm_part *part, const char *display)
{
	uint64_t number, count = 0;
	struct golomb_cursor c;
	int r;

	blm_golomb_cursor(&c, part);
	while ((r = c.numbers.next(&c.numbers, &number)) == 1)
		count++;
	if (r == 0 && count != blm_golomb_count(part))
		return blm_fail(-EUCLEAN, "%s: has %llu numbers and says that it has %llu", display,
				(unsigned long long)count,
				(unsigned long long)blm_golomb_count(part));
	return r < 0 ? blm_fail(r, "%s: %s", display, strdupa(blm_error_message())) : 0;
}

static int write_file(const struct blm_outline *o, const struct blm_part *part,
		      struct blm_writer *to, const char *display)
{
	struct golomb_cursor c;
	struct out out = { .to = to };
	uint64_t number, last = 0, count;
	int r = check(o, part, display);

	if (r == 0)
		r = count_numbers(part, display);
	if (r < 0)
		return r;
	count = blm_golomb_count(part);
	blm_golomb_cursor(&c, part);
	r = put_count(&out, count);
	for (uint64_t i = 0; r == 0 && i < count; i++) {
		r = c.numbers.next(&c.numbers, &number);
		if (r == 0)
			return blm_fail(-EUCLEAN, "%s: has fewer numbers than its header says",
					display);
		r = r < 0 ? r : put_code(&out, number - last);
		last = number;
	}
	return r < 0 ? r : flush(&out);
}

/* ---- The format ---- */

/* By `build`, which knows how many keys there are. */
static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	if (p->options)
		return blm_fail(-EINVAL, "the format bip158 sets the options of its filters; leave "
				"out blm_params.options");
	p->hash = families[0];
	p->options = "modulus=784931";
	return 0;
}
static_assert(MODULUS == 784931, "as in the options");

static bool begins(const uint8_t *bytes, size_t count)
{
	return false;		/* no bytes distinguish it from other data */
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_bip158 = {
	.id = 3,
	.name = "bip158",
	.summary = "Bitcoin's block filters (BIP 158): golomb filters of siphash64",
	.text_name = "base64(file)",
	.text = text,
	.kinds = kinds,
	.families = families,
	.begins = begins, .text_begins = begins,
	.states = true, .seeded = true,
	.outline = outline, .fill = fill, .write = write_file, .plan = plan,
};
