/*
 * keys.c - the key in a line: all of it, a column of it, a value of its JSON, or what its
 * hexadecimal digits say
 */
#include "keys.h"
#include "json_pointer.h"
#include "numbers.h"
#include "values.h"

#include <ctype.h>
#include <errno.h>

static struct {
	bool null, hex, crlf, ranges, skip_bad;
	uint64_t field, partition;
	struct json_pointer *json;	/* NULL: lines are not JSON */
	char no_value[160], no_key[160];	/* messages about a line that lacks such a key */
	char delimiter;
	uint64_t value_field;
} o = { .delimiter = '\t' };

struct given given_keys = { .option = "--key" };
const struct given no_keys = { 0 };

static int set_json_key(const struct opt *opt, const char *text);

#define JSON_ROWS \
	{ 0, "json-key", "POINTER", "lines are JSON, and the key is the value that a JSON " \
	  "Pointer names, like /metadata/url; lines are printed whole", set_json_key, NULL }, \
	{ 0, "skip-bad", NULL, "skip lines that have no key; a message counts them at the end", \
	  set_flag, &o.skip_bad }

#define LINE_ROWS \
	{ '0', "null", NULL, "lines end in NUL, not in newline", set_flag, &o.null }, \
	{ 0, "hex", NULL, "keys are written in hexadecimal digits", set_flag, &o.hex }, \
	{ 0, "field", "N", "the key is the N-th column; lines are printed whole", \
	  set_number, &o.field, 1, 1 << 20 }, \
	{ 0, "delimiter", "C", "the character between columns (default: tab; ',' reads CSV " \
	  "with quotes)", set_byte, &o.delimiter }, \
	{ 0, "crlf", NULL, "lines end in CR LF: the CR is not part of the key", set_flag, \
	  &o.crlf }, \
	JSON_ROWS

const struct opt key_options[] = {
	{ 0, "key", "KEY", "a key, used before those of FILEs (repeatable); --hex applies to it, "
	  "--field and --json-key do not; with --crlf it keeps a CR, and is printed with CR LF",
	  set_given, &given_keys },
	LINE_ROWS,
	{ 0 }
};

const struct opt line_options[] = {
	LINE_ROWS,
	{ 0 }
};

const struct opt row_options[] = {
	{ '0', "null", NULL, "rows end in NUL, not in newline", set_flag, &o.null },
	{ 0, "on", "N", "the key is the N-th column (default: 1)", set_number, &o.field, 1,
	  1 << 20 },
	{ 0, "delimiter", "C", "the character between columns (default: tab; ',' reads CSV with "
	  "quotes)", set_byte, &o.delimiter },
	{ 0, "crlf", NULL, "rows end in CR LF: the CR is not part of the last column", set_flag,
	  &o.crlf },
	JSON_ROWS,
	{ 0 }
};

const struct opt partition_option[] = {
	{ 0, "partition-field", "N", "the N-th column divides an exact filter into parts; the key "
	  "is another one (--field)", set_number, &o.partition, 1, 1 << 20 },
	{ 0 }
};

static int set_value(const struct opt *opt, const char *text);
const struct opt value_options[] = {
	{ 0, "value-field", "N", "the value is the N-th column (default: 2)", set_number,
	  &o.value_field, 1, 1 << 20 },
	{ 0, "value", "V", "the value of the --key before it", set_value, NULL },
	{ 0 }
};

int set_given(const struct opt *opt, const char *text)
{
	struct given *given = opt->target;
	struct given_key *keys = realloc(given->keys, (given->count + 1) * sizeof(*keys));

	if (!keys)
		return broken("out of memory");
	given->keys = keys;
	keys[given->count++] = (struct given_key){ .text = text };
	return DONE;
}

static int set_json_key(const struct opt *opt, const char *text)
{
	int r;

	pointer_free(o.json);
	o.json = NULL;
	r = pointer_compile(text, &o.json);
	if (r == -EINVAL)
		return misuse("--%s %s: is not a JSON Pointer; " POINTER_FORM, opt->name, text);
	if (r < 0)
		return broken("out of memory");
	snprintf(o.no_value, sizeof(o.no_value), "has no value at %.100s, or null", text);
	snprintf(o.no_key, sizeof(o.no_key), "has an array or an object at %.60s; a key is a "
		 "string, a number, true or false", text);
	return DONE;
}

/* Each value stands behind its key: two lists would not show which value belongs to which key. */
static int set_value(const struct opt *opt, const char *text)
{
	struct given_key *last = given_keys.count ? &given_keys.keys[given_keys.count - 1] : NULL;

	if (!last || last->value)
		return misuse("--%s %s: follows no --key that lacks a value; write --key KEY --%s "
			      "%s", opt->name, text,
			      opt->name, text);
	last->value = text;
	return DONE;
}

static const struct given_key *given_that(bool has_value)
{
	for (size_t i = 0; i < given_keys.count; i++)
		if (!given_keys.keys[i].value == !has_value)
			return &given_keys.keys[i];
	return NULL;
}

int given_with_values(const char *command)
{
	const struct given_key *key = given_that(false);

	if (o.json)
		return misuse("%s: --json-key: JSON lines give keys without values; write columns, "
			      "and use --field and --value-field", command);
	return key ? misuse("%s: --key %s has no value; write --key %s --value V", command,
			    key->text, key->text) : DONE;
}

int given_without_values(const char *command)
{
	const struct given_key *key = given_that(true);

	return key ? misuse("%s: --value %s: this kind of filter takes keys without values; leave "
			    "it out", command, key->value)
		   : DONE;
}

bool values_given(void)
{
	return o.value_field || given_that(true);
}

void keys_in_first_column(void)
{
	if (!o.field && !o.json)
		o.field = 1;
}

bool keys_have_columns(void)
{
	return o.partition;
}

int check_columns(const struct blm_info *info, const char *name)
{
	return !o.partition || !strcmp(info->hash, HASH_OF_COLUMNS) ? DONE
		: misuse("--partition-field: the keys of %s have no column; leave the option out",
			 name);
}

void keys_are_ranges(void)
{
	o.ranges = true;
}

char columns_end(void)
{
	return o.delimiter;
}

char line_end(void)
{
	return o.null ? '\0' : '\n';
}

bool keys_are_lines(void)
{
	return !o.hex && !o.crlf && !o.field && !o.ranges && !o.json;
}

bool bad_lines_are_skipped(void)
{
	return o.skip_bad;
}

bool keys_are_hex(void)
{
	return o.hex;
}

bool keys_need_buffer(void)
{
	return o.hex || o.json || o.partition || ((o.field || o.ranges) && o.delimiter == ',');
}

int keys_check(void)
{
	if (o.null && o.crlf)
		return misuse("-0 and --crlf exclude each other: lines end in NUL or in CR LF");
	if (o.json && (o.field || o.value_field))
		return misuse("--json-key and the number of a column exclude each other: a line is "
			      "JSON or has columns");
	if (o.partition && (!o.field || o.field == o.partition))
		return misuse("--partition-field %llu: the key is another column; say which with "
			      "--field", (unsigned long long)o.partition);
	if (o.json && json_need())
		return broken("--json-key: %s", json_need());
	return DONE;
}

/*
 * A column in quotes, as in RFC 4180; two quotes are one. No buffer: only its end is wanted.
 * Return: behind its end, or NULL.
 */
static const char *quoted(struct blm_key *ret, const char *at, const char *end, uint8_t *buffer)
{
	uint8_t *to = buffer;

	for (at++; at < end; at++) {
		if (*at == '"' && (at + 1 == end || at[1] != '"')) {
			*ret = (struct blm_key){ buffer, buffer ? (size_t)(to - buffer) : 0 };
			return at + 1;
		}
		at += *at == '"';
		if (to)
			*to++ = (uint8_t)*at;
	}
	return NULL;
}

/*
 * One column from `at`. Return: behind its end, where a delimiter stands or the line ends; NULL:
 * its quotes do not end.
 */
static const char *column(struct blm_key *ret, const char *at, const char *end, uint8_t *buffer)
{
	const char *next;

	if (o.delimiter == ',' && at < end && *at == '"')
		return quoted(ret, at, end, buffer);
	next = memchr(at, o.delimiter, (size_t)(end - at));
	if (!next)
		next = end;
	*ret = (struct blm_key){ at, (size_t)(next - at) };
	return next;
}

/* The n-th column of a line, which then takes the line's place. */
static const char *field_of(struct blm_key *key, uint64_t n, uint8_t *buffer)
{
	const char *at = key->bytes, *end = at + key->len;

	for (uint64_t i = 1;; i++) {
		at = column(key, at, end, buffer);
		if (!at || (at < end && *at != o.delimiter))
			return "has quotes that do not end";
		if (i == n)
			return NULL;
		if (at == end)
			return "has too few columns";
		at++;
	}
}

bool rows_end_in_cr(void)
{
	return o.crlf;
}

void row_parts_of(struct row_parts *ret, const struct blm_key *line)
{
	const char *start = line->bytes, *end = start + line->len, *at = start, *behind;
	struct blm_key ignored;

	if (o.crlf && end > start && end[-1] == '\r')
		end--;
	if (o.json) {
		*ret = (struct row_parts){ .first = true, .whole = true,
					   .column = { start, (size_t)(end - start) } };
		return;
	}
	for (uint64_t i = 1; i < o.field; i++)
		at = column(&ignored, at, end, NULL) + 1;
	behind = column(&ignored, at, end, NULL);
	*ret = (struct row_parts){
		.first = at == start,
		.before = { start, at == start ? 0 : (size_t)(at - 1 - start) },
		.column = { at, (size_t)(behind - at) },
		.after = { behind, (size_t)(end - behind) },
	};
}

/* Decimal, or hexadecimal behind 0x: 010 is ten. */
static bool parse_value(uint64_t *ret, const char *text)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = hex ? text + 2 : text;
	char *end;

	errno = 0;
	*ret = strtoull(digits, &end, hex ? 16 : 10);
	return (hex ? isxdigit((unsigned char)*digits)
		&& digits[strspn(digits, "0123456789abcdefABCDEF")] == '\0'
		    : isdigit((unsigned char)*digits) != 0) && !*end && !errno;
}

static const char *no_value(char reason[WHY], const struct blm_key *field)
{
	static const char wanted[] = "a whole number from 0 to 2^64 - 1, decimal or 0x...";
	int shown = field->len < 40 ? (int)field->len : 40;

	if (field->len)
		snprintf(reason, WHY, "has \"%.*s\"%s where its value is to be: %s", shown,
			 (const char *)field->bytes, field->len > 40 ? "..." : "", wanted);
	else
		snprintf(reason, WHY, "has no value: %s", wanted);
	return reason;
}

static const char *value_in(uint64_t *ret, const struct blm_key *field, char buffer[WHY])
{
	char text[24] = "";

	if (field->len < sizeof(text))
		memcpy(text, field->bytes, field->len);
	return strlen(text) == field->len && parse_value(ret, text) ? NULL
	     : no_value(buffer, field);
}

const char *given_value_of(uint64_t *ret, const struct given_key *key, char buffer[WHY])
{
	return value_in(ret, &(struct blm_key){ key->value, strlen(key->value) }, buffer);
}

const char *value_of(uint64_t *ret, const struct blm_key *line, char buffer[WHY])
{
	struct blm_key field = *line;
	uint8_t *unquoted = malloc(line->len + 1);
	const char *reason;

	if (!unquoted)
		return "is too long for the memory there is";
	if (o.crlf && field.len && ((const char *)field.bytes)[field.len - 1] == '\r')
		field.len--;
	reason = field_of(&field, o.value_field ? o.value_field : 2, unquoted);
	if (!reason)
		reason = value_in(ret, &field, buffer);
	free(unquoted);
	return reason;
}

static const char *from_hex(struct blm_key *key, uint8_t *buffer)
{
	if (!parse_hex(key->bytes, key->len, buffer))
		return "is not a key in hexadecimal digits, two for each byte";
	*key = (struct blm_key){ buffer, key->len / 2 };
	return NULL;
}

/* The column that divides, a tab, and the key: both are in the line, so there is room. */
static const char *divided_key_in(struct blm_key *ret, uint64_t field, uint8_t *buffer)
{
	struct blm_key column = *ret;
	const char *reason = field_of(&column, o.partition, buffer);
	uint8_t *behind;

	if (reason)
		return reason;
	if (column.len && memchr(column.bytes, '\t', column.len))
		return "has a tab in the column that divides the keys; write it without one";
	if (column.len)
		memmove(buffer, column.bytes, column.len);
	behind = buffer + column.len + 1;
	behind[-1] = '\t';
	reason = field_of(ret, field, behind);
	if (!reason && o.hex)
		reason = from_hex(ret, behind);
	if (reason)
		return reason;
	if (ret->len)
		memmove(behind, ret->bytes, ret->len);
	*ret = (struct blm_key){ buffer, column.len + 1 + ret->len };
	return NULL;
}

static const char *key_in(struct blm_key *ret, const struct blm_key *line, uint64_t field,
			  uint8_t *buffer)
{
	const char *reason;

	*ret = *line;
	if (o.crlf && ret->len && ((const char *)ret->bytes)[ret->len - 1] == '\r')
		ret->len--;
	if (field && o.partition)
		return divided_key_in(ret, field, buffer);
	if (field && (reason = field_of(ret, field, buffer)))
		return reason;
	return o.hex ? from_hex(ret, buffer) : NULL;
}

/*
 * A string is decoded, which makes it no longer. Every other value is a key as it is written: 1 and
 * 1.0 are two keys, and "1" and 1 are one.
 */
static const char *json_key_in(struct blm_key *ret, const struct blm_key *line, uint8_t *buffer,
			       struct json_reader **reader)
{
	const struct json_pointer *pointer = o.json;
	struct json_value v;

	if (!*reader)
		*reader = json_reader_new(&pointer, 1);
	if (!*reader)
		return "is too long for the memory there is";
	if (json_reader_find(*reader, line->bytes, line->len, &v))
		return json_reader_error(*reader);
	if (v.type == JSON_ABSENT || v.type == JSON_NULL)
		return o.no_value;
	if (v.type == JSON_ARRAY || v.type == JSON_OBJECT)
		return o.no_key;
	*ret = (struct blm_key){ v.text, v.length };
	if (o.hex)
		return from_hex(ret, buffer);
	if (v.type == JSON_STRING)
		ret->bytes = memcpy(buffer, v.text, v.length);
	return NULL;
}

void key_reader_free(struct json_reader *reader)
{
	json_reader_free(reader);
}

static bool is_quoted(const char *at, const char *end)
{
	return o.delimiter == ',' && at < end && *at == '"';
}

/*
 * A range: the n-th column and the one behind it, as they stand there, or the n-th alone where it
 * is the last one. With --field it is also alone where it is A..B.
 */
static const char *range_in(struct blm_key *ret, uint64_t n, uint8_t *buffer)
{
	const char *at = ret->bytes, *end = at + ret->len, *behind, *last;
	const char *reason = field_of(ret, n, buffer);
	struct blm_key ignored;

	if (reason)
		return reason;
	for (uint64_t i = 1; i < n; i++)
		at = column(&ignored, at, end, NULL) + 1;
	behind = column(&ignored, at, end, NULL);
	if (behind == end || (o.field && memmem(ret->bytes, ret->len, "..", 2)))
		return is_quoted(at, end) && memchr(ret->bytes, o.delimiter, ret->len)
			? "has a delimiter in the quotes of a range; write A..B instead" : NULL;
	last = column(&ignored, behind + 1, end, NULL);
	if (is_quoted(at, end) || is_quoted(behind + 1, end))
		return "has a range in columns with quotes; leave the quotes out, or write A..B in "
			"one column";
	*ret = (struct blm_key){ at, (size_t)(last - at) };
	return NULL;
}

const char *key_of(struct blm_key *ret, const struct blm_key *line, uint8_t *buffer,
		   struct json_reader **reader)
{
	if (o.json)
		return json_key_in(ret, line, buffer, reader);
	if (o.ranges) {
		*ret = *line;
		if (o.crlf && ret->len && ((const char *)ret->bytes)[ret->len - 1] == '\r')
			ret->len--;
		return range_in(ret, o.field ? o.field : 1, buffer);
	}
	return key_in(ret, line, o.field, buffer);
}

const char *given_key_of(struct blm_key *ret, const struct blm_key *line, uint8_t *buffer)
{
	return key_in(ret, line, 0, buffer);
}
