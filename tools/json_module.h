/*
 * json_module.h - simdjson behind three calls of C
 *
 * json_module.cc is a shared object of its own, because the program is C and starts faster without
 * the library of C++. json_line.c loads the object on first use.
 */
#ifndef BLOOMERY_JSON_MODULE_H
#define BLOOMERY_JSON_MODULE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct json_parser;

enum {
	JSON_PADDING = 64,		/* bytes that can be read behind a text */
	JSON_DEPTH = 1024,		/* levels of arrays and objects */
	JSON_TEXT_MOST = 256 << 20,	/* bytes of a text */
};

/* What a text is made of. It is good until the parser parses again. */
struct json_parts {
	/* where a brace, bracket, colon, comma, string or other scalar begins, in order */
	const uint32_t *at;
	size_t count;
	/* strings and names in order: 4 bytes of length in the processor's order, bytes, a NUL */
	const uint8_t *strings;
};

enum json_fault {
	JSON_GOOD, JSON_BROKEN, JSON_BAD_NUMBER, JSON_BAD_STRING, JSON_BAD_UTF8, JSON_CONTROL,
	JSON_UNCLOSED, JSON_EMPTY, JSON_DEEP, JSON_LONG, JSON_NO_MEMORY
};

/* NULL: out of memory. */
struct json_parser *bloomery_json_new(void);
void bloomery_json_free(struct json_parser *parser);

/*
 * Check all of a text and find its parts. JSON_PADDING bytes behind it must be readable. After
 * JSON_BAD_NUMBER the parts are there, without the strings.
 */
enum json_fault bloomery_json_parse(struct json_parser *parser, const char *text, size_t length,
				    struct json_parts *ret);

#ifdef __cplusplus
}
#endif

#endif
