/*
 * js.c - a Bloom filter in JavaScript that an article made popular, as JSON.stringify({ size,
 * seeds, bits: { ...bits } }) writes it
 *
 *	{"size":SIZE,"seeds":[SEED,...],"bits":{"INDEX":WORD,...}}
 *
 * Bit b of the word of index i is bit 32 i + b, which is number `hash % size` there and may be
 * negative (hash/js_hash.c), as may be indices, and words, which are int32. An array would not do
 * for the bits: JSON leaves out what it has under negative indices. Words that are 0 are not there.
 */
#include "format/format.h"

#include <math.h>
#include <stdio.h>

enum { SIZE_MOST = 1 << 27 };		/* a file of a line must not ask for any amount of memory */

static const char *const families[] = { "js", NULL };
extern const struct blm_format blm_format_js;

/* ---- Reading ---- */

struct js {
	const char *at, *end;
	int64_t size;			/* 0: not there yet */
	unsigned count;			/* of seeds; 0: not there yet */
	uint64_t seeds[BLM_SEEDS_MAX];
	const char *words;		/* behind the bracket; NULL: not there yet */
};

/* The next character that is no space, if it is this one. */
static bool take(struct js *j, char c)
{
	while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n'
				  || *j->at == '\r'))
		j->at++;
	if (j->at == j->end || *j->at != c)
		return false;
	j->at++;
	return true;
}

/* A whole number from least to most. */
static bool take_number(struct js *j, int64_t least, int64_t most, int64_t *ret)
{
	bool negative = take(j, '-');
	const char *from;
	int64_t x = 0;

	for (from = j->at; j->at < j->end && *j->at >= '0' && *j->at <= '9' && j->at - from < 12;
	     j->at++)
		x = 10 * x + (*j->at - '0');
	*ret = negative ? -x : x;
	return j->at > from && *ret >= least && *ret <= most;
}

static bool take_seeds(struct js *j)
{
	int64_t seed;

	if (j->count || !take(j, '['))
		return false;
	do {
		if (j->count == BLM_PROBES_MAX
		    || !take_number(j, 0, (int64_t)family_seed_max(blm_family_by_name(families[0])),
				    &seed))
			return false;
		j->seeds[j->count++] = (uint64_t)seed;
	} while (take(j, ','));
	return take(j, ']');
}

static bool take_word(struct js *j, int64_t *ret_index, uint32_t *ret_word)
{
	int64_t word;

	if (!take(j, '"') || !take_number(j, -SIZE_MOST / 32, SIZE_MOST / 32, ret_index)
	    || !take(j, '"') || !take(j, ':') ||
	    !take_number(j, INT32_MIN, UINT32_MAX, &word))
		return false;
	*ret_word = (uint32_t)word;
	return true;
}

static bool pass_words(struct js *j)
{
	uint32_t word;
	int64_t index;

	if (j->words || !take(j, '{'))
		return false;
	j->words = j->at;
	if (take(j, '}'))
		return true;
	do {
		if (!take_word(j, &index, &word))
			return false;
	} while (take(j, ','));
	return take(j, '}');
}

static bool named(struct js *j, const char *name)
{
	size_t chars = strlen(name);

	if ((size_t)(j->end - j->at) < chars || memcmp(j->at, name, chars))
		return false;
	j->at += chars;
	return take(j, ':');
}

static bool take_member(struct js *j)
{
	if (!take(j, '"'))
		return false;
	if (named(j, "size\""))
		return !j->size && take_number(j, 1, SIZE_MOST, &j->size);
	return named(j, "seeds\"") ? take_seeds(j) : named(j, "bits\"") && pass_words(j);
}

static int parse(struct js *ret, const uint8_t *bytes, size_t count, const char *display)
{
	struct js j = { .at = (const char *)bytes, .end = (const char *)bytes + count };
	bool well = take(&j, '{') && take_member(&j) && take(&j, ',') && take_member(&j)
		&& take(&j, ',') && take_member(&j) && take(&j, '}');

	if (!well)
		return blm_fail(j.at == j.end ? -ENODATA : -EBADMSG, "%s: not an object of size "
				"(up to 2^27), seeds and an object of bits, from byte %zu on%s",
				display, (size_t)(j.at - (const char *)bytes), j.at == j.end
				? ": it is truncated" : "");
	take(&j, '}');
	if (j.at < j.end)
		return blm_fail(-EBADMSG, "%s: has more bytes after its object", display);
	*ret = j;
	return 0;
}

/* Each bit of a file that was parsed has its cell; with a part, sets them. */
static int each_bit(const struct js *parsed, struct blm_part *part, const char *display)
{
	struct js j = *parsed;
	int64_t index, bit;
	uint32_t word;

	for (j.at = parsed->words; take_word(&j, &index, &word); take(&j, ','))
		for (; word; word &= word - 1) {
			bit = 32 * index + __builtin_ctz(word);
			if (bit <= -j.size || bit >= j.size)
				return blm_fail(-EBADMSG, "%s: has bit %lld; with the size %lld "
						"its bits are %lld to %lld",
						display, (long long)bit,
						(long long)j.size, 1 - (long long)j.size,
						(long long)j.size - 1);
			bit += j.size - 1;
			if (part)
				part->bytes[bit / 8] |= (uint8_t)(1 << bit % 8);
		}
	return 0;
}

static int outline(struct blm_outline *ret, const uint8_t *bytes, size_t count,
		   const struct blm_exchange *how, const char *display)
{
	struct blm_array a = { .family = families[0] };
	struct blm_template_fields *t = &ret->contents.constant.template;
	struct js j;
	int r = parse(&j, bytes, count, display);

	if (r == 0)
		r = each_bit(&j, NULL, display);
	if (r < 0)
		return r;
	a.cells = 2 * (uint64_t)j.size - 1;
	a.probes = j.count;
	r = blm_outline_set(ret, &blm_format_js, &a, display);
	t->seed_count = htole32(j.count);
	for (unsigned i = 0; i < j.count; i++)
		t->seeds[i] = htole64(j.seeds[i]);
	ret->contents.constant.origin = htole32(blm_format_js.id);
	ret->end = count;
	return r;
}

static int fill(struct blm_part *part, const uint8_t *bytes, size_t count,
		const struct blm_exchange *how, const char *display)
{
	struct js j;
	int r = parse(&j, bytes, count, display);

	/* the file was another when its outline was taken */
	if (r == 0 && 2 * (uint64_t)j.size - 1 != part->shape.cells)
		r = blm_fail(-EBADMSG, "%s: changed while it was read: its size is now %lld",
			     display, (long long)j.size);
	return r < 0 ? r : each_bit(&j, part, display);
}

/* ---- Writing ---- */

struct text {
	struct blm_writer *to;
	size_t held;
	char piece[4096];
};

static int give(struct text *t)
{
	size_t held = t->held;

	t->held = 0;
	return t->to->write(t->to, t->piece, held);
}

/* Any that is as short as all of ours. */
#define SAY(t, ...) \
	((t)->held += (size_t)snprintf((t)->piece + (t)->held, sizeof((t)->piece) - (t)->held, \
				       __VA_ARGS__))

static uint32_t word_at(const struct blm_part *part, int64_t size, int64_t index)
{
	uint32_t word = 0;

	for (int64_t b = 0; b < 32; b++) {
		int64_t bit = 32 * index + b;

		if (bit > -size && bit < size)
			word |= (uint32_t)(part->bytes[(bit + size - 1) / 8] >> (bit + size - 1) % 8
					   & 1) << b;
	}
	return word;
}

/* Indices from 0 come first, as in all JavaScript. */
static int write_words(struct text *t, const struct blm_part *part, int64_t size)
{
	int64_t words = (size + 31) / 32;
	const char *comma = "";
	int r = 0;

	for (int64_t i = 0; r == 0 && i < 2 * words; i++) {
		int64_t index = i < words ? i : words - 1 - i;
		uint32_t word = word_at(part, size, index);

		if (!word)
			continue;
		SAY(t, "%s\"%lld\":%d", comma, (long long)index, (int32_t)word);
		comma = ",";
		if (t->held > sizeof(t->piece) - 64)
			r = give(t);
	}
	return r;
}

static int write_file(const struct blm_outline *o, const struct blm_part *part,
		      struct blm_writer *to, const char *display)
{
	const struct blm_template_fields *template = &o->contents.constant.template;
	uint64_t cells = part->shape.cells;
	struct text t = { .to = to };
	int r;

	if (cells % 2 == 0 || cells / 2 >= SIZE_MOST)
		return blm_fail(-EOPNOTSUPP, "%s: m is %llu; the format needs 2 size - 1, with a "
				"size up to 2^27", display, (unsigned long long)cells);
	SAY(&t, "{\"size\":%llu,\"seeds\":[", (unsigned long long)cells / 2 + 1);
	for (unsigned i = 0; i < part->shape.probes; i++)	/* 256 of up to 7 digits */
		SAY(&t, "%s%llu", i ? "," : "", (unsigned long long)le64toh(template->seeds[i]));
	SAY(&t, "],\"bits\":{");
	r = write_words(&t, part, (int64_t)(cells / 2 + 1));
	SAY(&t, "}}");
	return r < 0 ? r : give(&t);
}

/* ---- The format ---- */

static bool begins(const uint8_t *bytes, size_t count)
{
	return count >= 8 && !memcmp(bytes, "{\"size\":", 8);
}

/*
 * The sizes of its OptimalBloom(n, p). Its seeds are drawn from 32 to 63, and of 7 two are the same
 * every other time; here they are odd numbers, each another, so that filters of one size combine.
 */
static int plan(struct blm_params *p, uint64_t seeds[BLM_SEEDS_MAX])
{
	double bits = p->cells ? (double)(p->cells / 2 + 1)
		: round(blm_least_bits(p->capacity ? p->capacity : 1, p->rate));
	double probes = round(p->capacity ? bits / (double)p->capacity * log(2) : -log2(p->rate));

	p->hash = families[0];
	p->cells = p->cells ? p->cells | 1 : 2 * (uint64_t)fmin(fmax(bits, 1), SIZE_MOST) - 1;
	if (!p->probes)
		p->probes = (uint32_t)fmin(fmax(probes, 1), BLM_PROBES_MAX);
	if (!p->seed_count) {
		p->seed_count = p->probes;
		for (unsigned i = 0; i < p->probes && i < BLM_SEEDS_MAX; i++)
			seeds[i] = 33 + 2 * i;
	}
	p->rate = 0;
	return 0;
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_js = {
	.id = 27,
	.name = "js",
	.summary = "a JavaScript filter of a popular article, as JSON: its size, seeds and bits",
	.limits = "m is 2 size - 1, with a size up to 2^27",
	.text_name = "base64(file)", .text = text,
	.families = families,
	.begins = begins, .text_begins = begins,
	.outline = outline, .fill = fill, .write = write_file, .plan = plan,
};
