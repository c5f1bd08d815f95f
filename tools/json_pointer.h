/*
 * json_pointer.h - the values that JSON Pointers (RFC 6901) name in one line of JSON
 *
 * All of the line is checked: its grammar (RFC 8259), its UTF-8 and its escapes, also of values
 * that no pointer names. A line is refused if
 *  - it is not one JSON text, or has bytes behind it,
 *  - it has a surrogate without its other half, or a control character in a string,
 *  - it is nested more than 1024 levels deep or longer than 256 MiB,
 *  - a pointer leads to a name that its object has twice.
 * \u0000 in a string is a character, and its NUL is a byte of the decoded string. The memory that a
 * reader takes is at most 20 times the longest of the last lines.
 */
#ifndef BLOOMERY_JSON_POINTER_H
#define BLOOMERY_JSON_POINTER_H

#include "json_line.h"	/* json_need() */

#include <stddef.h>

struct json_pointer;
struct json_reader;

enum json_type {
	JSON_ABSENT,		/* the line has no such value */
	JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT
};

struct json_value {
	size_t begin, end;	/* bytes in the line, quotes and brackets included */
	int type;
	/*
	 * of a string, its decoded bytes, which last until the reader reads again; of every other
	 * value, its bytes in the line
	 */
	const char *text;
	size_t length;
};

/* "" is the whole line. Return: 0; -EINVAL: this is no JSON Pointer; -ENOMEM. */
int pointer_compile(const char *text, struct json_pointer **ret);
void pointer_free(struct json_pointer *pointer);

/* what the message is to say of a text that pointer_compile() refuses */
#define POINTER_FORM "it is empty or begins with '/', and '~' is written ~0, '/' in a name ~1"

/*
 * For one thread. Ask json_need() first. The pointers must stay until the reader is freed.
 * Return: NULL: out of memory.
 */
struct json_reader *json_reader_new(const struct json_pointer *const *pointers, size_t count);
void json_reader_free(struct json_reader *r);

/*
 * The value of each pointer in a line, in the order of the pointers. The line may have white space
 * around its value, but not its own end.
 * Return: 0, or -1: json_reader_error() says what is wrong with the line.
 */
int json_reader_find(struct json_reader *r, const char *line, size_t length,
		     struct json_value *values);
const char *json_reader_error(const struct json_reader *r);

#endif
