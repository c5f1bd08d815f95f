/*
 * pybloomfiltermmap.c - the files of pybloomfiltermmap 0.1 to 0.3 and pybloomfiltermmap3
 *
 *	0	"MBITARRAY"
 *	9	m, 8 bytes
 *	17	header_len, 4 bytes: the size of the C struct that follows, which shows which of
 *		five layouts it has
 *	21	the struct: capacity (8), error_rate (8), k (4), 256 seeds (4 each), a pointer (4 or
 *		8) and, in the longer ones, version (1), count_correct (1), elem_count (8), 32
 *		reserved words; aligned as on the machine that wrote it
 *	1280	the bits: bit i is bit i % 8 of byte i / 8
 *
 * All is little-endian. What a reader needs has one place in all layouts; the rest, gaps and seeds
 * past the k-th among it, may hold anything, since early writers left it uninitialised.
 *
 * The program had six hashes in the course of time, and its files do not name theirs. They do say
 * n, p, k and m, which a formula of each time computed, so those numbers rule out most hashes. A
 * file of ours whose numbers do not fit its own hash names that hash in the reserved words, which
 * the program never looks at. A file of ours whose numbers do fit is written as the program would
 * have written it.
 */
#include "format/format.h"

#include <math.h>
#include <stdio.h>

enum {
	AT_BITS = 9, AT_LENGTH = 17, AT_STRUCT = 21,
	AT_CAPACITY = AT_STRUCT, AT_RATE = AT_STRUCT + 8, AT_PROBES = AT_STRUCT + 16,
	AT_SEEDS = AT_STRUCT + 20,
	DATA = 1280, SEEDS = 256,
	/* of the struct that is written: that of today's program on 64-bit machines */
	LENGTH = 1200,
	AT_VERSION = AT_STRUCT + 1056, AT_COUNT_CORRECT = AT_VERSION + 1,
	AT_RESERVED = AT_STRUCT + 1072,	/* 32 words of the layout of 1200 bytes */
	NAME_BYTES = 16,		/* of a hash that a file names, zeros behind the name */
};
static const char magic[] = "MBITARRAY";
static const char names_hash[] = "bloomery";	/* at AT_RESERVED: the name of the hash follows */

/*
 * From header_len: the place of the version, if there is one. The two versions without one ended
 * before the second hash appeared.
 */
static const struct layout { uint32_t length, version_at; } layouts[] = {
	{ 1048, 0 },				/* 0.1.2 to 0.1.10, 32-bit machines */
	{ 1056, 0 },				/* the same, 64-bit */
	{ 1188, AT_STRUCT + 1048 },		/* from 0.1.12 on, 32-bit with 4-byte alignment */
	{ 1192, AT_STRUCT + 1048 },		/* the same, 8-byte alignment */
	{ LENGTH, AT_VERSION },			/* the same, 64-bit */
};

/* ---- The hashes, by the arithmetic of their time ---- */

struct numbers {
	double n, p;
	uint64_t k, m;
};

/* -n ln p / (ln 2)^2, by the program's own steps. */
static double least_bits(const struct numbers *x)
{
	return ceil(x->n * log(x->p) / log(1 / pow(2, log(2))));
}

static bool djb_probes(const struct numbers *x)
{
	/* as doubles: they can be infinite */
	return (double)x->k == ceil(log(2) * (double)x->m / x->n);
}

static uint64_t power_mod(uint64_t base, uint64_t exponent, uint64_t modulus)
{
	unsigned __int128 result = 1, square = base % modulus;

	for (; exponent; exponent >>= 1, square = square * square % modulus)
		if (exponent & 1)
			result = result * square % modulus;
	return (uint64_t)result;
}

/* Does the base show that n is composite? n - 1 = odd * 2^twos. */
static bool is_witness(uint64_t base, uint64_t n, uint64_t odd, unsigned twos)
{
	uint64_t x = power_mod(base, odd, n);

	if (x == 1 || x == n - 1)
		return false;
	while (--twos > 0) {
		x = power_mod(x, 2, n);
		if (x == n - 1)
			return false;
	}
	return true;
}

/* Miller-Rabin; these bases decide every n below 3.3 * 10^24 (Sorenson and Webster 2017). */
static bool is_prime(uint64_t n)
{
	static const uint8_t primes[] = { 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41 };
	unsigned twos;

	for (size_t i = 0; i < ARRAY_LEN(primes); i++)
		if (n % primes[i] == 0)
			return n == primes[i];
	if (n < 2)
		return false;
	twos = (unsigned)__builtin_ctzll(n - 1);
	for (size_t i = 0; i < ARRAY_LEN(primes); i++)
		if (is_witness(primes[i], n, (n - 1) >> twos, twos))
			return false;
	return true;
}

/* Is m the first prime from there on? No gap between primes below 2^64 is longer than 1550. */
static bool is_next_prime(const struct numbers *x, double from)
{
	if (!((double)x->m >= from && (double)x->m < from + 1600 && djb_probes(x))
	    || !is_prime(x->m))
		return false;
	for (uint64_t below = x->m - 1; (double)below >= from; below--)
		if (is_prime(below))
			return false;
	return true;
}

static bool fits_djb(const struct numbers *x)
{
	double doubled = 89;		/* 0.1.20 and 0.2.0: 90 * 2^i - 1 */

	if (is_next_prime(x, least_bits(x)) || is_next_prime(x, 5 * least_bits(x)))
		return true;
	while (doubled < 5 * least_bits(x) && doubled < 0x1p62)
		doubled = 2 * doubled + 1;
	return (double)x->m == doubled && djb_probes(x);
}

/* m of the later ones, a multiple of k; the program computed it twice as large for some years. */
static double multiple(const struct numbers *x, double times)
{
	return (double)x->k * ceil(times * x->n * fabs(log(x->p))
				   / ((double)x->k * pow(log(2), 2)));
}

static bool fits_doubled(const struct numbers *x)	/* md5, superfast, sha512 */
{
	return (double)x->k == ceil(log(1 / x->p) / log(2)) && (double)x->m == multiple(x, 2);
}

static bool fits_mm3_32(const struct numbers *x)
{
	return (double)x->k == floor(log(1 / x->p) / log(2)) && (double)x->m == multiple(x, 1);
}

/* Here k can be anything, since seeds could be given. From 0.6.2 on m is a multiple of 8. */
static bool fits_mm3_64(const struct numbers *x)
{
	double m = multiple(x, 1);

	return (double)x->m == fmax(m, 128) || (double)x->m == fmax(ceil(m / 8) * 8, 128);
}

static const struct era {
	const char *family, *who;
	bool (*fits)(const struct numbers *x);
	bool early;			/* can have a layout without version */
	const char *also;
} eras[] = {
	{ "djb", "0.1.2 to 0.2.0", fits_djb, true, "djb_int" },
	{ "md5", "0.2.2", fits_doubled, false },
	{ "superfast", "0.3.1 and 0.3.2", fits_doubled, false },
	{ "sha512", "0.3.4 to 0.3.11", fits_doubled, false },
	{ "mm3_32", "0.3.12 to 0.3.14", fits_mm3_32, false },
	{ "mm3_64", "pybloomfiltermmap3", fits_mm3_64, false },
};

/* djb_int is for those keys of djb's time that were numbers: only its user can know. */
static const char *const families[] = { "djb", "djb_int", "md5", "superfast", "sha512", "mm3_32",
					"mm3_64", NULL };

static bool fits(const struct era *era, const struct numbers *x, const struct layout *layout)
{
	return layout->version_at ? era->fits(x) : era->early;
}

/*
 * The hashes that the numbers fit. If they fit none, the file was made in some other way, and every
 * hash is possible.
 */
static void find_candidates(struct blm_outline *o, const struct numbers *x,
			    const struct layout *layout)
{
	bool any = false;

	for (size_t i = 0; i < ARRAY_LEN(eras); i++)
		any |= fits(&eras[i], x, layout);
	for (size_t i = 0; i < ARRAY_LEN(eras); i++)
		if (!any || fits(&eras[i], x, layout))
			o->candidate[o->candidates++] = (struct blm_candidate){
				blm_family_by_name(eras[i].family), eras[i].who, eras[i].also };
}

/* ---- Reading ---- */

static uint32_t u32(const uint8_t *bytes)
{
	uint32_t x;

	memcpy(&x, bytes, 4);
	return le32toh(x);
}

static uint64_t u64(const uint8_t *bytes)
{
	uint64_t x;

	memcpy(&x, bytes, 8);
	return le64toh(x);
}

static bool begins(const uint8_t *bytes, size_t count)
{
	return count >= sizeof(magic) - 1 && !memcmp(bytes, magic, sizeof(magic) - 1);
}

static bool text_begins(const uint8_t *bytes, size_t count)	/* RFC 1950 */
{
	return count >= 2 && (bytes[0] & 0x0f) == 8 && (bytes[0] << 8 | bytes[1]) % 31 == 0;
}

static const struct layout *layout_of(uint32_t length)
{
	for (size_t i = 0; i < ARRAY_LEN(layouts); i++)
		if (layouts[i].length == length)
			return &layouts[i];
	return NULL;
}

static int check_fields(const struct numbers *x, const uint8_t *head, const struct layout *layout,
			const char *display)
{
	if (x->m < 1 || x->m > BLM_CELLS_MAX)
		return blm_fail(-EBADMSG, "%s: num_bits is %llu, not 1 to 2^47", display,
				(unsigned long long)x->m);
	if (x->k < 1 || x->k > SEEDS)
		return blm_fail(-EBADMSG, "%s: num_hashes is %d, not 1 to %d", display,
				(int32_t)x->k, SEEDS);
	if (!(x->p > 0 && x->p < 1))
		return blm_fail(-EBADMSG, "%s: error_rate is %g, not between 0 and 1", display,
				x->p);
	if (layout->version_at && head[layout->version_at] != 1)
		return blm_fail(-EPROTONOSUPPORT, "%s: bf_version is %u; only 1 was ever written",
				display, head[layout->version_at]);
	return 0;
}

/* Sets the family that a file of ours names; 1: the file names none. */
static int read_hash_name(struct blm_outline *o, const uint8_t *head, const struct layout *layout,
			  const char *display)
{
	const uint8_t *at = head + AT_RESERVED;
	char name[NAME_BYTES + 1] = { 0 };

	if (layout->length != LENGTH || memcmp(at, names_hash, sizeof(names_hash) - 1) != 0)
		return 1;
	memcpy(name, at + sizeof(names_hash) - 1, NAME_BYTES);
	for (size_t i = 0; families[i]; i++)
		if (!strcmp(name, families[i])) {
			o->contents.constant.template.family =
				htole32(blm_family_by_name(name)->id);
			return 0;
		}
	return blm_fail(-EPROTONOSUPPORT, "%s: names a hash that pybloomfiltermmap does not have",
			display);
}

static void set_part(struct blm_part_entry *e, const struct blm_constant *c)
{
	*e = (struct blm_part_entry){
		.offset = htole64(DATA), .bytes =
		htole64(round_up(le64toh(c->template.cells), 512) / 8),
		.cells = c->template.cells, .probes = c->template.probes,
		.cell_bits = c->template.cell_bits,
		.kind = c->template.kind, .capacity = c->capacity, .rate = c->rate,
	};
}

static int parse(struct blm_outline *ret, const uint8_t *head, size_t count, const char *display)
{
	struct blm_constant *c = &ret->contents.constant;
	const struct layout *layout;
	uint64_t capacity;
	struct numbers x;
	int r;

	if (!begins(head, count))
		return blm_fail(-EBADMSG, "%s: not a file of pybloomfiltermmap: it does not begin "
				"with \"%s\"", display, magic);
	layout = count >= AT_STRUCT ? layout_of(u32(head + AT_LENGTH)) : NULL;
	if (count >= AT_STRUCT && !layout)
		return blm_fail(-EBADMSG, "%s: header_len is %d; it can be 1048, 1056, 1188, 1192, "
				"1200", display, (int32_t)u32(head + AT_LENGTH));
	if (count < DATA)
		return blm_fail(-ENODATA, "%s: ends after %zu bytes, in its header of %d: it is "
				"truncated", display, count, DATA);
	capacity = u64(head + AT_CAPACITY);
	x = (struct numbers){ (double)capacity, blm_double_of(u64(head + AT_RATE)),
			      u32(head + AT_PROBES), u64(head + AT_BITS) };
	r = check_fields(&x, head, layout, display);
	if (r == 0)
		r = read_hash_name(ret, head, layout, display);
	if (r < 0)
		return r;
	if (r > 0)
		find_candidates(ret, &x, layout);
	/*
	 * a capacity of 0, or beyond counting, was never checked by anybody and changes no answer
	 */
	c->capacity = htole64(capacity < 1 ? 1 : capacity > BLM_CAPACITY_MAX ? BLM_CAPACITY_MAX
			      : capacity);
	c->rate = htole64(blm_bits_of(x.p));
	c->template.kind = htole32(blm_kind_by_name(BLM_EXACT_KIND)->id);
	c->template.cells = htole64(x.m);
	c->template.probes = htole32((uint32_t)x.k);
	c->template.cell_bits = htole32(1);
	c->template.seed_count = htole32((uint32_t)x.k);
	for (uint64_t i = 0; i < x.k; i++)
		c->template.seeds[i] = htole64(u32(head + AT_SEEDS + 4 * i));
	ret->contents.parts = 1;
	set_part(&ret->contents.part[0], c);
	ret->end = DATA + (x.m + 7) / 8;
	return 0;
}

/* ---- Writing ---- */

static void put(uint8_t *to, uint64_t value, size_t bytes)
{
	value = htole64(value);
	memcpy(to, &value, bytes);
}

/* Would a reader choose this family, or ask for it, by the numbers alone? */
static bool numbers_fit(const struct blm_constant *c)
{
	const struct numbers x = {
		(double)le64toh(c->capacity), blm_double_of(le64toh(c->rate)),
			le32toh(c->template.probes), le64toh(c->template.cells) };
	const struct blm_family *family = blm_family_by_id(le32toh(c->template.family));

	for (size_t i = 0; i < ARRAY_LEN(eras); i++)
		if (!strcmp(eras[i].family, family->name))
			return eras[i].fits(&x);
	return false;
}

static void write_hash_name(uint8_t *head, const struct blm_family *family)
{
	memcpy(head + AT_RESERVED, names_hash, sizeof(names_hash) - 1);
	memcpy(head + AT_RESERVED + sizeof(names_hash) - 1, family->name,
	       strnlen(family->name, NAME_BYTES));
}

static int lay_out(struct blm_outline *o, uint8_t *head, const char *display)
{
	const struct blm_constant *c = &o->contents.constant;
	const struct blm_template_fields *t = &c->template;
	uint32_t k = le32toh(t->probes);

	if (le32toh(t->kind) != blm_kind_by_name(BLM_EXACT_KIND)->id)
		return blm_fail(-EOPNOTSUPP, "%s: pybloomfiltermmap has only %s filters", display,
				BLM_EXACT_KIND);
	memcpy(head, magic, sizeof(magic) - 1);
	put(head + AT_BITS, le64toh(t->cells), 8);
	put(head + AT_LENGTH, LENGTH, 4);
	put(head + AT_CAPACITY, le64toh(c->capacity), 8);
	put(head + AT_RATE, le64toh(c->rate), 8);
	put(head + AT_PROBES, k, 4);
	for (uint32_t i = 0; i < k; i++)
		put(head + AT_SEEDS + 4 * i, le64toh(t->seeds[i]), 4);
	head[AT_VERSION] = 1;
	head[AT_COUNT_CORRECT] = 1;
	if (!numbers_fit(c))
		write_hash_name(head, blm_family_by_id(le32toh(t->family)));
	set_part(&o->contents.part[0], c);
	o->end = DATA + (le64toh(t->cells) + 7) / 8;
	return 0;
}

static const struct blm_layer text[] = {
	{ &blm_stage_base64, 0 }, { &blm_stage_zlib, 6 }, { &blm_stage_base64, 0 },
		{ &blm_stage_zlib, 9 }, { 0 }
};

const struct blm_format blm_format_pybloomfiltermmap = {
	.id = 2,
	.name = "pybloomfiltermmap",
	.summary = "pybloomfiltermmap 0.1 to 0.3 and pybloomfiltermmap3: classic filters",
	.text_name = "base64(zlib(base64(zlib(file))))",
	.text = text,
	.families = families,
	.states = true, .head_bytes = DATA,
	.in_place = true,
	.begins = begins, .text_begins = text_begins,
	.parse = parse, .lay_out = lay_out,
};
