/*
 * bits_and_blooms_json.c - what BloomFilter.MarshalJSON() of Go's bits-and-blooms/bloom 3 writes
 *
 *	{"m":M,"k":K,"b":"BITS"}
 *
 * BITS is the base64, in the alphabet for URLs, of M in 8 bytes and the words of 8 bytes that
 * bits_and_blooms.c has: big-endian.
 */
#include "format/format.h"

#include <sodium.h>
#include <stdio.h>

enum { LENGTH = 8 };

static const char *const families[] = { "murmur3-x64-128", NULL },
	*const rules[] = { "four-words", NULL };
extern const struct blm_format blm_format_bits_and_blooms, blm_format_bits_and_blooms_json;

/* ---- Reading ---- */

struct json {
	const char *at, *end;
	bool has_m, has_k;
	uint64_t m, k;
	/* in the file, up to its quotation mark; NULL: not there yet */
	const char *b;
	size_t chars;
};

static void pass_space(struct json *j)
{
	while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n'
				  || *j->at == '\r'))
		j->at++;
}

/* The next character that is no space, if it is this one. */
static bool take(struct json *j, char c)
{
	pass_space(j);
	if (j->at == j->end || *j->at != c)
		return false;
	j->at++;
	return true;
}

static bool take_number(struct json *j, bool *ret_has, uint64_t *ret)
{
	const char *from;
	uint64_t x = 0;

	pass_space(j);
	for (from = j->at; j->at < j->end && *j->at >= '0' && *j->at <= '9' && j->at - from < 19;
	     j->at++)
		x = 10 * x + (uint64_t)(*j->at - '0');
	*ret = x;
	return !*ret_has && (*ret_has = j->at > from);
}

/* Nothing in ours is escaped. */
static bool take_text(struct json *j, const char **ret, size_t *ret_chars)
{
	const char *quote;

	if (!take(j, '"'))
		return false;
	quote = memchr(j->at, '"', (size_t)(j->end - j->at));
	if (!quote) {
		j->at = j->end;
		return false;
	}
	*ret = j->at;
	*ret_chars = (size_t)(quote - j->at);
	j->at = quote + 1;
	return true;
}

static bool take_member(struct json *j)
{
	const char *name;
	size_t chars;

	if (!take_text(j, &name, &chars) || chars != 1 || !take(j, ':'))
		return false;
	return *name == 'm' ? take_number(j, &j->has_m, &j->m) : *name == 'k'
		? take_number(j, &j->has_k, &j->k)
	     : *name == 'b' && !j->b && take_text(j, &j->b, &j->chars);
}

static int parse(struct json *ret, const uint8_t *bytes, size_t count, const char *display)
{
	struct json j = { .at = (const char *)bytes, .end = (const char *)bytes + count };
	bool well = take(&j, '{') && take_member(&j) && take(&j, ',') && take_member(&j)
		&& take(&j, ',') && take_member(&j) && take(&j, '}');

	if (!well)
		return blm_fail(j.at == j.end ? -ENODATA : -EBADMSG,
				"%s: not an object of m, k and b, from byte %zu on%s", display,
				(size_t)(j.at - (const char *)bytes), j.at == j.end ? ": it is "
				"truncated"
				: "");
	pass_space(&j);
	if (j.at < j.end)
		return blm_fail(-EBADMSG, "%s: has more bytes after its object", display);
	*ret = j;
	return 0;
}

static uint64_t bytes_of_words(uint64_t cells)
{
	return cells / 64 * 8 + (cells % 64 ? 8 : 0);
}

static int outline(struct blm_outline *ret, const uint8_t *bytes, size_t count,
		   const struct blm_exchange *how, const char *display)
{
	struct blm_array a = { .family = families[0], .scheme = rules[0], .seed_count = 1 };
	struct json j;
	int r = parse(&j, bytes, count, display);

	if (r < 0)
		return r;
	a.cells = j.m;
	a.probes = j.k;
	r = blm_outline_set(ret, &blm_format_bits_and_blooms_json, &a, display);
	if (r == 0 && j.chars != (LENGTH + bytes_of_words(j.m) + 2) / 3 * 4)
		r = blm_fail(-EBADMSG, "%s: b has %zu characters; %llu bits need %llu",
			     display, j.chars, (unsigned long long)j.m,
			     (unsigned long long)((LENGTH + bytes_of_words(j.m) + 2) / 3 * 4));
	ret->contents.constant.origin = htole32(blm_format_bits_and_blooms_json.id);
	ret->end = count;
	return r;
}

static int fill(struct blm_part *part, const uint8_t *bytes, size_t count,
		const struct blm_exchange *how, const char *display)
{
	size_t words = (size_t)bytes_of_words(part->shape.cells), n = 0;
	uint8_t *b;
	struct json j;
	int r = parse(&j, bytes, count, display);

	if (r < 0)
		return r;
	b = malloc(LENGTH + words);
	if (!b)
		return blm_fail(-ENOMEM, "%s: out of memory", display);
	if (sodium_base642bin(b, LENGTH + words, j.b, j.chars, NULL, &n, NULL,
			      sodium_base64_VARIANT_URLSAFE) != 0 || n != LENGTH + words)
		r = blm_fail(-EBADMSG, "%s: b is not base64 with the alphabet for URLs",
			     display);
	else if (blm_get_big(b, LENGTH) != part->shape.cells)
		r = blm_fail(-EBADMSG, "%s: damaged: m is %llu, but its set has %llu bits", display,
			     (unsigned long long)part->shape.cells,
			     (unsigned long long)blm_get_big(b, LENGTH));
	else
		memcpy(part->bytes, b + LENGTH, words);
	free(b);
	return r;
}

/* ---- Writing ---- */

enum { PIECE = 3072, CHARS = PIECE / 3 * 4 };	/* whole groups, so that only the last is padded */

static int write_text(struct blm_writer *to, const uint8_t *bytes, size_t count)
{
	char text[CHARS + 1];

	sodium_bin2base64(text, sizeof(text), bytes, count, sodium_base64_VARIANT_URLSAFE);
	return to->write(to, text, strlen(text));
}

/* The length and the words, as one. */
static int write_bits(const struct blm_part *part, struct blm_writer *to)
{
	uint64_t words = bytes_of_words(part->shape.cells);
	uint8_t piece[PIECE];
	size_t held = LENGTH;
	int r = 0;

	blm_put_big(piece, part->shape.cells, LENGTH);
	for (uint64_t at = 0; r == 0 && at < words; held = 0) {
		size_t count = words - at < PIECE - held ? (size_t)(words - at) : PIECE - held;

		memcpy(piece + held, part->bytes + at, count);
		r = write_text(to, piece, held + count);
		at += count;
	}
	return r;
}

static int write_file(const struct blm_outline *o, const struct blm_part *part,
		      struct blm_writer *to, const char *display)
{
	char begin[64];
	int n = snprintf(begin, sizeof(begin), "{\"m\":%llu,\"k\":%u,\"b\":\"",
			 (unsigned long long)part->shape.cells, part->shape.probes);
	int r = to->write(to, begin, (size_t)n);

	if (r == 0)
		r = write_bits(part, to);
	return r < 0 ? r : to->write(to, "\"}", 2);
}

/* ---- The format ---- */

static bool begins(const uint8_t *bytes, size_t count)
{
	return count >= 5 && !memcmp(bytes, "{\"m\":", 5);
}

static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	return blm_format_bits_and_blooms.plan(p, seeds);
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_bits_and_blooms_json = {
	.id = 24,
	.name = "bits-and-blooms-json",
	.summary = "Go's bits-and-blooms/bloom 3, MarshalJSON()",
	.limits = "k up to 256",
	.text_name = "base64(file)", .text = text,
	.families = families, .rules = rules, .bit_order = BLM_ORDER_BIG_WORDS, .no_seed = true,
	.begins = begins, .text_begins = begins,
	.outline = outline, .fill = fill, .write = write_file, .plan = plan,
};
