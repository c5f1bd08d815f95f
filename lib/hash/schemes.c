/*
 * schemes.c - the ways of other programs, and of the literature, to make cells of a hash
 *
 * Kirsch and Mitzenmacher, "Less Hashing, Same Performance", ESA 2006, for double hashing;
 * Dillinger and Manolios, "Bloom Filters in Probabilistic Verification", FMCAD 2004, for enhanced
 * double and triple hashing. To add one: write its functions, and an entry of the table.
 */
#include "hash/scheme.h"

extern const struct blm_family blm_family_sha1_digest, blm_family_sha256_digest,
	blm_family_sha384_digest, blm_family_sha512_digest;

/* ---- Our own ---- */

static uint64_t own_next(struct blm_probe_seq *w)
{
	return key_cell(w->key, w->at, w->cells);
}

const struct blm_scheme blm_scheme_own = { .name = "own", .next = own_next };

static void take_hash(struct blm_probe_seq *w)
{
	w->a = w->key->hash.lo;
	w->b = w->key->hash.hi;
}

/* Each probe has m / k cells to itself. */
static uint64_t partitioned_next(struct blm_probe_seq *w)
{
	uint64_t range = w->cells / w->probes;

	return w->at * range + scale(unfold(w->key->hash.lo, w->key->hash.hi, w->at), range);
}

/* ---- The literature's: all numbers modulo m, nothing wraps elsewhere ---- */

static void take_remainders(struct blm_probe_seq *w)
{
	w->a = w->key->hash.lo % w->cells;
	w->b = w->key->hash.hi % w->cells;
	w->c = unfold(w->key->hash.lo, w->key->hash.hi, 0) % w->cells;
}

/* both below cells, which is far below 2^63 */
static uint64_t sum(uint64_t a, uint64_t b, uint64_t cells)
{
	return a + b < cells ? a + b : a + b - cells;
}

static uint64_t double_next(struct blm_probe_seq *w)
{
	uint64_t cell = w->a;

	w->a = sum(w->a, w->b, w->cells);
	return cell;
}

static uint64_t enhanced_next(struct blm_probe_seq *w)
{
	uint64_t cell = w->a;

	w->a = sum(w->a, w->b, w->cells);
	w->b = sum(w->b, (w->at + 1) % w->cells, w->cells);
	return cell;
}

static uint64_t triple_next(struct blm_probe_seq *w)
{
	uint64_t cell = w->a;

	w->a = sum(w->a, w->b, w->cells);
	w->b = sum(w->b, w->c, w->cells);
	return cell;
}

/* ---- Of the digest ---- */

static uint64_t little(const uint8_t *bytes, unsigned count)
{
	uint64_t x = 0;

	for (unsigned i = count; i-- > 0; )
		x = x << 8 | bytes[i];
	return x;
}

static uint64_t big(const uint8_t *bytes, unsigned count)
{
	uint64_t x = 0;

	for (unsigned i = 0; i < count; i++)
		x = x << 8 | bytes[i];
	return x;
}

static void digest_of(struct blm_probe_seq *w, const void *before, size_t bytes, const void *after,
		      size_t bytes_after)
{
	const struct blm_hasher *by = w->key->by;
	struct blm_key pieces[3] = { { before, bytes }, *w->key->key, { after, bytes_after } };

	by->family->digest(by, pieces, 3, w->digest);
}

static uint64_t salted_next(struct blm_probe_seq *w)
{
	uint32_t salt = htole32(w->at);

	digest_of(w, &salt, sizeof(salt), NULL, 0);
	return little(w->digest, 8) % w->cells;
}

static void take_digest(struct blm_probe_seq *w)
{
	digest_of(w, NULL, 0, NULL, 0);
}

static uint64_t slices_next(struct blm_probe_seq *w)
{
	return big(w->digest + 4 * w->at, 4) % w->cells;
}

static uint64_t slices_16_next(struct blm_probe_seq *w)
{
	return big(w->digest + 2 * w->at, 2) % w->cells;
}

/* ---- Programs ---- */

static uint64_t double_64_next(struct blm_probe_seq *w)
{
	uint64_t cell = w->a % w->cells;

	w->a += w->b;
	return cell;
}

static uint64_t double_32_next(struct blm_probe_seq *w)
{
	uint64_t cell = (uint32_t)w->a % w->cells;

	w->a += w->b;
	return cell;
}

static uint64_t guava_64_next(struct blm_probe_seq *w)
{
	uint64_t cell = (w->a & INT64_MAX) % w->cells;

	w->a += w->b;
	return cell;
}

static void guava_32_begin(struct blm_probe_seq *w)
{
	w->a = w->key->hash.lo;
	w->b = w->key->hash.lo >> 32;
}

static uint64_t guava_32_next(struct blm_probe_seq *w)
{
	uint32_t x = (uint32_t)(w->a += w->b);

	return (x >> 31 ? ~x : x) % w->cells;
}

#define DCSO_PRIME (UINT64_MAX - 58)		/* 2^64 - 59 */
#define DCSO_GENERATOR (UINT64_MAX - 1468)	/* 2^64 - 1469 */

static void dcso_begin(struct blm_probe_seq *w)
{
	w->a = w->key->hash.lo % DCSO_PRIME;
}

static uint64_t dcso_next(struct blm_probe_seq *w)
{
	w->a = w->a * DCSO_GENERATOR % DCSO_PRIME;
	return w->a % w->cells;
}

static uint64_t rust_next(struct blm_probe_seq *w)
{
	/* by chance the same prime */
	uint64_t h = w->at == 0 ? w->a : w->at == 1 ? w->b : (w->a + w->at * w->b) % DCSO_PRIME;

	return h % w->cells;
}

static void four_words_begin(struct blm_probe_seq *w)
{
	static const uint8_t one = 1;

	digest_of(w, NULL, 0, NULL, 0);
	w->a = little(w->digest, 8);
	w->b = little(w->digest + 8, 8);
	digest_of(w, NULL, 0, &one, 1);
	w->c = little(w->digest, 8);
	w->d = little(w->digest + 8, 8);
}

static uint64_t four_words_next(struct blm_probe_seq *w)
{
	unsigned i = w->at;

	return ((i % 2 ? w->b : w->a) + i * ((i + i % 2) % 4 / 2 ? w->d : w->c)) % w->cells;
}

/*
 * A range of m / k cells for each probe; words of 2, 4 or 8 bytes are cut off digests of the key,
 * each after a salt that is the digest of its number.
 */
static unsigned pybloom_width(uint64_t range)
{
	return range >= UINT64_C(1) << 31 ? 8 : range >= 1 << 15 ? 4 : 2;
}

static uint64_t pybloom_word(struct blm_probe_seq *w, const struct blm_family *family,
			     uint64_t range)
{
	const struct blm_hasher *by = w->key->by;
	unsigned width = pybloom_width(range), words = family->digest_bytes / width;

	if (w->at % words == 0) {
		uint32_t number = htole32(w->at / words);
		uint8_t salt[BLM_DIGEST_MAX];

		family->digest(by, &(struct blm_key){ &number, sizeof(number) }, 1, salt);
		family->digest(by, (struct blm_key[]){ { salt, family->digest_bytes },
						       *w->key->key }, 2, w->digest);
	}
	return little(w->digest + w->at % words * width, width) % range;
}

static uint64_t pybloom_next(struct blm_probe_seq *w)
{
	uint64_t range = w->cells / w->probes;

	return w->at * range + pybloom_word(w, w->key->by->family, range);
}

/*
 * The family's own where a key's words fit into it. All of these take no seed, so that they do for
 * any hasher.
 */
static const struct blm_family *wide_enough(const struct blm_family *own, unsigned bytes)
{
	static const struct blm_family *const wider[] =
		{ &blm_family_sha1_digest, &blm_family_sha256_digest, &blm_family_sha384_digest,
							  &blm_family_sha512_digest };
	size_t i = 0;

	if (bytes <= own->digest_bytes)
		return own;
	while (i + 1 < ARRAY_LEN(wider) && bytes > wider[i]->digest_bytes)
		i++;
	return wider[i];
}

/*
 * The stages of a chain have an m and a k each, and a file can have any values there: the remainder
 * of m / k is not used, and k may be above m.
 */
static uint64_t pybloom_chain_next(struct blm_probe_seq *w)
{
	uint64_t range = w->cells < w->probes ? 1 : w->cells / w->probes;
	const struct blm_family *family = wide_enough(w->key->by->family,
						      w->probes * pybloom_width(range));

	return (w->at * range + pybloom_word(w, family, range)) % w->cells;
}

static const char *pybloom_chain_need(void)
{
	return blm_family_sha1_digest.need();
}

static const struct blm_scheme rules[] = {
	{ .id = 1, .name = "double", .summary = "h1 + i h2 mod m, by Kirsch and Mitzenmacher",
	  .caveat = "wrong more often than m and k promise where the filter is small and k is "
	  "large: 184 times with 1000 keys, 32 bits a key, k = 22",
	  .bits = 128, .begin = take_remainders, .next = double_next },
	{ .id = 2, .name = "enhanced", .summary = "h1 + i h2 + (i^3 - i) / 6 mod m, enhanced "
	  "double hashing by Dillinger and Manolios",
	  .caveat = "wrong more often than m and k promise where the filter is small and k is "
	  "large: 5 times with 1000 keys, 32 bits a key, k = 22",
	  .bits = 128, .begin = take_remainders, .next = enhanced_next },
	{ .id = 3, .name = "triple", .summary = "h1 + i h2 + i (i - 1) / 2 h3 mod m, triple "
	  "hashing by Dillinger and Manolios",
	  .caveat = "wrong up to twice as often as m and k promise where the filter is small and k "
	  "is large",
	  .bits = 128, .begin = take_remainders, .next = triple_next },
	{ .id = 4, .name = "salted", .summary = "the key hashed anew for each probe, after the "
	  "number of the probe; mod m",
	  .by_key = true, .next = salted_next },
	{ .id = 5, .name = "slices", .summary = "32 bits a probe cut off one wide digest, the most "
	  "significant byte first; mod m",
	  .slice = 32, .by_key = true, .begin = take_digest, .next = slices_next },
	{ .id = 6, .name = "partitioned", .summary = "our own words, each probe in a range of m / "
	  "k cells of its own", .bits = 128, .ranges = true,
	  .next = partitioned_next },
	{ .id = 7, .name = "double-64", .summary = "h1 + i h2 mod 2^64 mod m: RedisBloom, libbloom "
	  "2",
	  .bits = 32, .doubles = true, .begin = take_hash, .next = double_64_next },
	{ .id = 8, .name = "double-32", .summary = "h1 + i h2 mod 2^32 mod m: libbloom 1, LevelDB",
	  .caveat = "wrong more often than m and k promise where there are many keys: all of a key "
	  "is in 32 or 64 bits",
	  .bits = 32, .begin = take_hash, .next = double_32_next },
	{ .id = 9, .name = "guava-32", .summary = "Guava's MURMUR128_MITZ_32", .bits = 128,
	  .begin = guava_32_begin, .next = guava_32_next,
	  .caveat = "cells past the first 2^31 are never used, and it is wrong more often than m "
	  "and k promise long before" },
	{ .id = 10, .name = "guava-64", .summary = "Guava's MURMUR128_MITZ_64", .bits = 128,
	  .begin = take_hash, .next = guava_64_next },
	{ .id = 11, .name = "dcso", .summary = "h g^i by 64-bit arithmetic mod 2^64 - 59, mod m: "
	  "DCSO bloom", .bits = 64,
	  .begin = dcso_begin, .next = dcso_next },
	{ .id = 12, .name = "rust-bloomfilter",
	  .summary = "h1 + i h2 mod 2^64 mod 2^64 - 59 mod m: Rust's crate bloomfilter, Valkey",
	  .bits = 128, .begin = take_hash, .next = rust_next },
	{ .id = 13, .name = "slices-16", .summary = "16 bits a probe cut off one wide digest, the "
	  "most significant byte first; mod m: Ethereum",
	  .caveat = "reaches no more than 65536 cells", .slice = 16, .by_key = true,
	  .begin = take_digest, .next = slices_16_next },
	{ .id = 14, .name = "pybloom", .summary = "words cut off salted digests, each probe in a "
	  "range of m / k cells of its own: pybloom_live",
	  .by_key = true, .ranges = true, .next = pybloom_next },
	{ .id = 15, .name = "four-words",
	  .summary = "h[i % 2] + i h[2 + (i + i % 2) % 4 / 2] mod 2^64 mod m: Go bits-and-blooms",
	  .by_key = true, .begin = four_words_begin, .next = four_words_next },
	{ .id = 16, .name = "pybloom-chain", .summary = "as pybloom, by SHA-1 to SHA-512 where a "
	  "key's words are more than the hash has: pybloom_live",
	  .by_key = true, .stages = true, .need = pybloom_chain_need, .next = pybloom_chain_next },
};

const struct blm_scheme *blm_scheme_at(size_t i)
{
	return i < ARRAY_LEN(rules) ? &rules[i] : NULL;
}

const struct blm_scheme *blm_scheme_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (!strcmp(rules[i].name, name))
			return &rules[i];
	return strcmp(blm_scheme_own.name, name) ? NULL : &blm_scheme_own;
}

const struct blm_scheme *blm_scheme_by_id(uint32_t id)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (rules[i].id == id)
			return &rules[i];
	return id ? NULL : &blm_scheme_own;
}

const char *blm_scheme_misfit(const struct blm_scheme *scheme, const struct blm_family *family,
			      uint64_t cells, uint32_t probes)
{
	if (scheme == &blm_scheme_own)
		return family->nth || family->number || family->bits >= 64 ? NULL
			: "it has too few bits to make cells of in our own way";
	if (family->nth || family->number)
		return "it has its own rule";
	if (scheme->bits > family->bits)
		return "it has too few bits";
	if (!scheme->bits && !family->digest)
		return "it has no digest, which the scheme needs";
	if (scheme->slice && probes > family->digest_bytes * 8 / scheme->slice)
		return "its digest has fewer slices than probes";
	if (scheme->slice && scheme->slice < 64 && cells > UINT64_C(1) << scheme->slice)
		return "a slice has too few bits for m";
	if (scheme->ranges && cells % probes)
		return "each probe has a range of its own, so the number of bits must be a "
			"multiple of the number of probes";
	return NULL;
}

BLM_API int blm_scheme_list(size_t i, struct blm_scheme_info *ret)
{
	const struct blm_scheme *r = blm_scheme_at(i);

	if (!r)
		return blm_fail(-ENOENT, "there are %zu schemes", ARRAY_LEN(rules));
	*ret = (struct blm_scheme_info){ .name = r->name, .summary = r->summary,
					 .caveat = r->caveat, .id = r->id, .bits = r->bits,
					 .slice_bits = r->slice, .by_key = r->by_key,
					 .ranges = r->ranges };
	return 0;
}

/* ---- Orders of bits ---- */

const char *blm_order_name(uint32_t order)
{
	static const char *const names[BLM_ORDERS] =
		{ "low bit first", "high bit first", "big-endian words", "one big-endian number" };

	return order < BLM_ORDERS ? names[order] : NULL;
}

bool blm_order_xor(uint32_t order, uint64_t cells, uint64_t *ret)
{
	*ret = order == BLM_ORDER_HIGH_FIRST ? 7 : order == BLM_ORDER_BIG_WORDS ? 56
		: order == BLM_ORDER_BACKWARDS ? cells - 8 : 0;
	return order < BLM_ORDERS && (order != BLM_ORDER_BACKWARDS
				      || (cells >= 8 && !(cells & (cells - 1))));
}

void blm_hasher_use_scheme(struct blm_hasher *by, const struct blm_scheme *scheme,
			   uint64_t order_xor)
{
	by->scheme = scheme == &blm_scheme_own && !by->family->nth && !order_xor ? NULL : scheme;
	by->order_xor = order_xor;
}
