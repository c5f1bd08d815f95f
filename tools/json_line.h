/* json_line.h - one line of JSON, checked, and where its parts are */
#ifndef BLOOMERY_JSON_LINE_H
#define BLOOMERY_JSON_LINE_H

#include "json_module.h"

#include <stdbool.h>

struct json_line {
	struct json_parser *parser;
	char *copy;		/* of the text, with the padding of the parser */
	size_t capacity;
	const char *text;
	size_t length;
	struct json_parts parts;
};

/* Any number of threads may ask. Return: NULL, or why there is no parser of JSON. */
const char *json_need(void);

/* For one thread, after json_need(). Return: false: out of memory; then close it, too. */
bool json_line_open(struct json_line *ret);
void json_line_close(struct json_line *line);

/* The text and the parts stay until the next call. */
enum json_fault json_line_parse(struct json_line *line, const char *text, size_t length);
const char *json_fault_words(enum json_fault fault);

/* Where the i-th part ends: no part is between it and the next one, only white space. */
size_t json_part_end(const struct json_line *line, size_t i);

#endif
