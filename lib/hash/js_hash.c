/*
 * js_hash.c - r = seed r + character from 1, in int32, once for each probe with a seed of its own
 *
 * The family of a Bloom filter in JavaScript that an article made popular. There a cell is `hash %
 * size`, which has the sign of the hash, so the filter has cells from 1 - size to size - 1: here
 * `cells` is 2 size - 1, and cell 0 is the lowest of them. (Of an even number the last is never
 * used.) A key is UTF-8, its characters are the UTF-16 units that a browser has of it; a byte that
 * begins no character is one by itself. Weak: an even seed forgets all but the end of a key.
 */
#include "hash/hasher.h"

/* The next character. There is at least one byte. Return: how many bytes it takes. */
static size_t character(const uint8_t *bytes, size_t left, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint8_t first = bytes[0];
	size_t count = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf8 ? 4
		: 1;
	uint32_t c = count == 1 ? first : first & (0x7f >> count);

	for (size_t i = 1; i < count; i++) {
		if (i == left || bytes[i] >> 6 != 2)
			goto alone;
		c = c << 6 | (bytes[i] & 0x3f);
	}
	if (c >= least[count] && c < 0x110000 && c >> 11 != 0x1b) {	/* nor half of a pair */
		*ret = c;
		return count;
	}
alone:
	*ret = first;
	return 1;
}

/*
 * A seed has 21 bits: so far the product is exact in JavaScript's numbers, and it is as if it
 * wrapped at 2^32.
 */
static int32_t hash(uint32_t seed, const struct blm_key *key)
{
	const uint8_t *bytes = key->bytes;
	uint32_t r = 1, c;

	for (size_t at = 0; at < key->len; ) {
		at += character(bytes + at, key->len - at, &c);
		if (c >= 0x10000) {
			r = seed * r + (0xd800 + ((c - 0x10000) >> 10));
			c = 0xdc00 + (c & 0x3ff);
		}
		r = seed * r + c;
	}
	return (int32_t)r;
}

static uint64_t nth(const struct blm_hasher *by, const struct blm_key *key, unsigned i,
		    uint64_t cells)
{
	int64_t size = (int64_t)(cells / 2 + cells % 2);

	return (uint64_t)(hash((uint32_t)by->seeds[i], key) % size + size - 1);
}

const struct blm_family blm_family_js_hash = {
	.id = 31,
	.name = "js",
	.summary = "r = seed r + character in int32, weak, a seed a probe, m is 2 size - 1: "
	"a JavaScript filter; classic, counting, approximator",
	.bits = 32,
	.seeds_by_probe = true,
	.seed_bits = 21,
	.nth = nth,
};
