/* keys.c - the key in a line: all of it, a column of it, or what its hexadecimal digits say */
#include "keys.h"
#include "numbers.h"
#include "values.h"

static struct {
	bool null, hex, crlf;
	uint64_t field;
	char delimiter;
} o = { .delimiter = '\t' };

const struct opt key_options[] = {
	{ '0', "null", NULL, "lines end in NUL, not in newline", set_flag, &o.null },
	{ 0, "hex", NULL, "keys are written in hexadecimal digits", set_flag, &o.hex },
	{ 0, "field", "N", "the key is the N-th column; lines are printed whole", set_number, &o.field, 1, 1 << 20 },
	{ 0, "delimiter", "C", "what stands between columns (default: tab; ',' reads CSV with quotes)", set_byte, &o.delimiter },
	{ 0, "crlf", NULL, "lines end in CR LF: the CR is not part of the key", set_flag, &o.crlf },
	{ 0 }
};

char line_end(void)
{
	return o.null ? '\0' : '\n';
}

bool keys_need_room(void)
{
	return o.hex || (o.field && o.delimiter == ',');
}

int keys_check(void)
{
	if (o.null && o.crlf)
		return misuse("-0 and --crlf exclude each other: lines end in NUL or in CR LF");
	return DONE;
}

/* A column in quotes, as in RFC 4180; two quotes are one. Return: behind its end, or NULL. */
static const char *quoted(struct blm_key *ret, const char *at, const char *end, uint8_t *room)
{
	uint8_t *to = room;

	for (at++; at < end; at++) {
		if (*at == '"' && (at + 1 == end || at[1] != '"')) {
			*ret = (struct blm_key){ room, (size_t)(to - room) };
			return at + 1;
		}
		at += *at == '"';
		*to++ = (uint8_t)*at;
	}
	return NULL;
}

/* One column from `at`. Return: behind its end, where a delimiter stands or the line ends; NULL: its quotes do not end. */
static const char *column(struct blm_key *ret, const char *at, const char *end, uint8_t *room)
{
	const char *next;

	if (o.delimiter == ',' && at < end && *at == '"')
		return quoted(ret, at, end, room);
	next = memchr(at, o.delimiter, (size_t)(end - at));
	if (!next)
		next = end;
	*ret = (struct blm_key){ at, (size_t)(next - at) };
	return next;
}

static const char *field_of(struct blm_key *key, uint8_t *room)
{
	const char *at = key->bytes, *end = at + key->len;

	for (uint64_t i = 1;; i++) {
		at = column(key, at, end, room);
		if (!at || (at < end && *at != o.delimiter))
			return "has quotes that do not end";
		if (i == o.field)
			return NULL;
		if (at == end)
			return "has too few columns";
		at++;
	}
}

const char *key_of(struct blm_key *ret, const struct blm_key *line, uint8_t *room)
{
	const char *why;

	*ret = *line;
	if (o.crlf && ret->len && ((const char *)ret->bytes)[ret->len - 1] == '\r')
		ret->len--;
	if (o.field && (why = field_of(ret, room)))
		return why;
	if (!o.hex)
		return NULL;
	if (!parse_hex(ret->bytes, ret->len, room))
		return "is not a key in hexadecimal digits, two for each byte";
	*ret = (struct blm_key){ room, ret->len / 2 };
	return NULL;
}
