/*
 * fps.c - one fingerprint of chemfp's FPS files, in which chemists keep sets of them
 *
 *	#FPS1
 *	#num_bits=166
 *	#type=... and more lines of NAME=VALUE, in any order
 *	DIGITS	ID	anything more
 *
 * Lines end in LF or CRLF. DIGITS are those of the bytes, two each, in their order; bit i is bit i
 * % 8 of byte i / 8. A fingerprint is a set of numbers below num_bits, so it is a bitmap here.
 * The importer says which one of the file it is by its ID. The bytes before the first fingerprint
 * are kept, and then those that follow its digits.
 */
#include "format/format.h"
#include "format/fps.h"

#include <sodium.h>
#include <stdio.h>

static const char *const families[] = { "integer", NULL }, *const kinds[] = { "bitmap", NULL };
extern const struct blm_format blm_format_fps;

enum { MOST_BITS = 1 << 20 };

struct span {
	const char *at;
	size_t count;
};

struct fps {
	struct span header;		/* with its line breaks */
	uint64_t bits;			/* as it says; 0: it does not */
	/* of the fingerprint; the tail is all behind its tab, with the line break */
	struct span digits, tail;
};

/* The next line, without its line break, which *ret_whole has; false at the end. */
static bool next_line(struct span *left, struct span *ret, struct span *ret_whole)
{
	const char *end;

	if (!left->count)
		return false;
	end = memchr(left->at, '\n', left->count);
	*ret_whole = (struct span){ left->at, end ? (size_t)(end + 1 - left->at) : left->count };
	*ret = (struct span){ left->at, ret_whole->count - (end != NULL) };
	if (end && ret->count && ret->at[ret->count - 1] == '\r')
		ret->count--;
	left->at += ret_whole->count;
	left->count -= ret_whole->count;
	return true;
}

static bool begins_with(const struct span *line, const char *text)
{
	return line->count >= strlen(text) && !memcmp(line->at, text, strlen(text));
}

static int read_header(struct fps *ret, struct span *left, const char *display)
{
	struct span line, whole;

	ret->header = (struct span){ left->at, 0 };
	ret->bits = 0;
	while (left->count && *left->at == '#' && next_line(left, &line, &whole)) {
		ret->header.count += whole.count;
		if (!begins_with(&line, "#num_bits="))
			continue;
		for (const char *c = line.at + 10; c < line.at + line.count; c++) {
			if (*c < '0' || *c > '9' || ret->bits > MOST_BITS)
				return blm_fail(-EBADMSG, "%s: its num_bits is no number up to %d",
						display, MOST_BITS);
			ret->bits = 10 * ret->bits + (uint64_t)(*c - '0');
		}
		if (!ret->bits)
			return blm_fail(-EBADMSG, "%s: its num_bits is 0", display);
	}
	return 0;
}

/*
 * The next fingerprint, and the text after the tab of its line. number: from 1, for messages. 1, or
 * 0 at the end.
 */
static int next_print(struct fps *ret, struct span *ret_text, struct span *left, uint64_t number,
		      const char *display)
{
	struct span line, whole;
	const char *tab;
	size_t digits;

	if (!next_line(left, &line, &whole))
		return 0;
	tab = memchr(line.at, '\t', line.count);
	digits = tab ? (size_t)(tab - line.at) : 0;
	/* at least one byte of a line is kept */
	if (!digits || *line.at == '#' || whole.count == digits + 1)
		return blm_fail(-EBADMSG, "%s: fingerprint %llu is not digits, a tab and an id",
				display, (unsigned long long)number);
	ret->digits = (struct span){ line.at, digits };
	ret->tail = (struct span){ tab + 1, whole.count - digits - 1 };
	*ret_text = (struct span){ tab + 1, line.count - digits - 1 };
	return 1;
}

/* The fingerprint of that ID; for NULL the only one in the file. */
static int find(struct fps *ret, struct span *left, const char *id, const char *display)
{
	struct fps one = *ret;
	uint64_t all = 0, found = 0;
	struct span text = { 0 };
	int r;

	while ((r = next_print(&one, &text, left, all + 1, display)) > 0) {
		const char *more = memchr(text.at, '\t', text.count);
		size_t chars = more ? (size_t)(more - text.at) : text.count;

		all++;
		if (id && (strlen(id) != chars || memcmp(text.at, id, chars)))
			continue;
		*ret = one;
		found++;
	}
	if (r < 0)
		return r;
	if (!all)
		return blm_fail(-ENODATA, "%s: has no fingerprint", display);
	if (!id && all > 1)
		return blm_fail(-EINVAL, "%s: has %llu fingerprints: give the id of one of them "
				"(blm_exchange.record)", display,
				(unsigned long long)all);
	if (!found)
		return blm_fail(-ENOENT, "%s: none of its %llu fingerprints has the id \"%s\"",
				display, (unsigned long long)all, id);
	return found == 1 ? 0 : blm_fail(-ENOTUNIQ, "%s: %llu of its fingerprints have the id "
					 "\"%s\"", display, (unsigned long long)found, id);
}

/* A digit's value; 16: not a digit. */
static unsigned digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

	return at ? (unsigned)(at - digits) : 16;
}

static uint8_t byte_at(const struct fps *f, size_t i)
{
	return (uint8_t)(digit(f->digits.at[2 * i]) << 4 | digit(f->digits.at[2 * i + 1]));
}

static int check_digits(const struct fps *f, uint64_t cells, const char *display)
{
	if (f->digits.count != (cells + 7) / 8 * 2)
		return blm_fail(-EBADMSG, "%s: a fingerprint of %llu bits has %zu digits", display,
				(unsigned long long)cells, f->digits.count);
	for (size_t i = 0; i < f->digits.count; i++)
		if (digit(f->digits.at[i]) == 16)
			return blm_fail(-EBADMSG, "%s: character %zu of the fingerprint is no "
					"hexadecimal digit", display, i + 1);
	if (cells % 8 && byte_at(f, f->digits.count / 2 - 1) >> cells % 8)
		return blm_fail(-EBADMSG, "%s: the fingerprint has bits past its last", display);
	return 0;
}

static int parse(struct fps *ret, uint64_t *ret_cells, const uint8_t *bytes, size_t count,
		 const char *id, const char *display)
{
	struct span left = { (const char *)bytes, count };
	int r = read_header(ret, &left, display);

	if (r == 0)
		r = find(ret, &left, id, display);
	if (r < 0)
		return r;
	*ret_cells = ret->bits ? ret->bits : 4 * ret->digits.count;
	if (*ret_cells > MOST_BITS)
		return blm_fail(-EFBIG, "%s: a fingerprint of more than %d bits", display,
				MOST_BITS);
	return check_digits(ret, *ret_cells, display);
}

static int outline(struct blm_outline *ret, const uint8_t *bytes, size_t count,
		   const struct blm_exchange *how, const char *display)
{
	struct blm_array a = { .kind = kinds[0], .family = families[0], .probes = 1 };
	struct blm_constant *c = &ret->contents.constant;
	struct fps f;
	int r = parse(&f, &a.cells, bytes, count, how->record, display);

	if (r == 0 && f.header.count + f.tail.count > BLM_ORIGIN_BYTES)
		r = blm_fail(-EFBIG, "%s: more than %d bytes before the first fingerprint and "
			     "behind this one; take some off first", display, BLM_ORIGIN_BYTES);
	if (r < 0)
		return r;
	a.capacity = a.cells;
	r = blm_outline_set(ret, &blm_format_fps, &a, display);
	c->origin = htole32(blm_format_fps.id);
	c->origin_bytes = htole32((uint32_t)(f.header.count + f.tail.count));
	memcpy(c->origin_head, f.header.at, f.header.count);
	memcpy(c->origin_head + f.header.count, f.tail.at, f.tail.count);
	ret->end = count;
	return r;
}

static int fill(struct blm_part *part, const uint8_t *bytes, size_t count,
		const struct blm_exchange *how, const char *display)
{
	uint64_t cells;
	struct fps f;
	int r = parse(&f, &cells, bytes, count, how->record, display);

	for (size_t i = 0; r == 0 && i < f.digits.count / 2; i++)
		part->bytes[i] = byte_at(&f, i);
	return r;
}

/* ---- All of a file ---- */

int blm_fps_begin(struct blm_fps *ret, const void *bytes, size_t count, const char *display)
{
	struct span left = { bytes, count }, ahead, text;
	struct fps f;
	int r = read_header(&f, &left, display);

	if (r < 0)
		return r;
	ahead = left;
	r = next_print(&f, &text, &ahead, 1, display);
	if (r <= 0)
		return r < 0 ? r : blm_fail(-ENODATA, "%s: has no fingerprint", display);
	*ret = (struct blm_fps){ .header = f.header.at, .header_bytes = f.header.count,
				 .bits = f.bits ? f.bits : 4 * f.digits.count,
				 .left = left.at, .left_bytes = left.count };
	return ret->bits <= MOST_BITS ? 0
		: blm_fail(-EFBIG, "%s: a fingerprint of more than %d bits", display, MOST_BITS);
}

int blm_fps_next(struct blm_fps *set, uint8_t *ret_bits, const char **ret_text, size_t *ret_count,
		 const char *display)
{
	struct span left = { set->left, set->left_bytes }, text = { 0 };
	struct fps f;
	int r = next_print(&f, &text, &left, ++set->number, display);

	if (r <= 0)
		return r;
	r = check_digits(&f, set->bits, display);
	if (r < 0)
		return r;
	for (size_t i = 0; i < f.digits.count / 2; i++)
		ret_bits[i] = byte_at(&f, i);
	set->left = left.at;
	set->left_bytes = left.count;
	*ret_text = text.at;
	*ret_count = text.count;
	return 1;
}

/* ---- Writing ---- */

static int write_text(struct blm_writer *to, const char *text, size_t count)
{
	return to->write(to, text, count);
}

static int write_digits(const struct blm_part *part, struct blm_writer *to)
{
	char digits[512 + 1];
	uint64_t bytes = (part->shape.cells + 7) / 8;
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < bytes; at += 256) {
		size_t count = bytes - at < 256 ? (size_t)(bytes - at) : 256;

		sodium_bin2hex(digits, sizeof(digits), part->bytes + at, count);
		r = write_text(to, digits, 2 * count);
	}
	return r < 0 ? r : write_text(to, "\t", 1);
}

/* The stored line; otherwise the last part of the filter's name is the ID. */
static int write_file(const struct blm_outline *o, const struct blm_part *part,
		      struct blm_writer *to, const char *display)
{
	const struct blm_constant *c = &o->contents.constant;
	const char *kept = (const char *)c->origin_head, *slash = strrchr(display, '/'), *id = slash
		? slash + 1 : display;
	size_t bytes = le32toh(c->origin_bytes) < BLM_ORIGIN_BYTES ? le32toh(c->origin_bytes)
		: BLM_ORIGIN_BYTES, head = bytes;
	char header[64];
	int r;

	if (part->shape.cells > MOST_BITS)
		return blm_fail(-EOPNOTSUPP, "%s: m is %llu; a fingerprint is one of up to %d bits",
				display, (unsigned long long)part->shape.cells, MOST_BITS);
	if (le32toh(c->origin) == blm_format_fps.id) {
		while (head && (head == bytes || kept[head - 1] != '\n'))
			head--;
		r = write_text(to, kept, head);
		r = r < 0 ? r : write_digits(part, to);
		return r < 0 ? r : write_text(to, kept + head, bytes - head);
	}
	r = snprintf(header, sizeof(header), "#FPS1\n#num_bits=%llu\n",
		     (unsigned long long)part->shape.cells);
	r = write_text(to, header, (size_t)r);
	r = r < 0 ? r : write_digits(part, to);
	r = r < 0 ? r : write_text(to, id, strcspn(id, "\t\r\n"));
	return r < 0 ? r : write_text(to, "\n", 1);
}

/* ---- The format ---- */

static bool begins(const uint8_t *bytes, size_t count)
{
	return count >= 5 && !memcmp(bytes, "#FPS1", 5);
}

static const struct blm_layer text[] = { { &blm_stage_base64, 0 }, { 0 } };

const struct blm_format blm_format_fps = {
	.id = 25,
	.name = "fps",
	.summary = "one fingerprint, by its id, of a file of chemfp's FPS, as a bitmap",
	.limits = "m up to 2^20",
	.text_name = "base64(file)", .text = text,
	.kinds = kinds,
	.families = families, .states = true, .records = true,
	.begins = begins, .text_begins = begins,
	.outline = outline, .fill = fill, .write = write_file,
};
