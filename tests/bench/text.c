/*
 * text.c - parsers of JSON and finders of word boundaries, timed on one file of JSON lines
 *
 * usage: bench-text FILE [ROUNDS]
 *
 * Each line must be an object with a string "text". A row gives the fastest of the rounds, in
 * millions of bytes of the file (parsers) or of the texts (boundaries) per second of one thread.
 */
#include "text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unicode/ubrk.h>
#include <uniwbrk.h>
#include <yajl/yajl_parse.h>

struct text {
	const char *bytes;
	size_t length;
};

static struct text *lines, *texts;
static size_t count, line_bytes, text_bytes;

/* ---- Parsers: the bytes of "text" of one line ---- */

static size_t by_jansson(const char *line, size_t length)
{
	json_t *root = json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	size_t n = json_string_length(json_object_get(root, "text"));

	json_decref(root);
	return n;
}

struct events {
	int depth;
	int wanted;
	size_t length;
};

static int on_key(void *context, const unsigned char *key, size_t length)
{
	struct events *e = context;

	e->wanted = e->depth == 1 && length == 4 && !memcmp(key, "text", 4);
	return 1;
}

static int on_string(void *context, const unsigned char *text, size_t length)
{
	struct events *e = context;

	if (e->wanted)
		e->length = length;
	e->wanted = 0;
	return 1;
}

static int on_start(void *context)
{
	((struct events *)context)->depth++;
	return 1;
}

static int on_end(void *context)
{
	((struct events *)context)->depth--;
	return 1;
}

static size_t by_yajl(const char *line, size_t length)
{
	static const yajl_callbacks calls = { .yajl_string = on_string, .yajl_map_key = on_key,
		.yajl_start_map = on_start, .yajl_end_map = on_end, .yajl_start_array = on_start,
		.yajl_end_array = on_end };
	struct events e = { 0 };
	yajl_handle y = yajl_alloc(&calls, NULL, &e);

	if (yajl_parse(y, (const unsigned char *)line, length) != yajl_status_ok ||
	    yajl_complete_parse(y) != yajl_status_ok)
		e.length = 0;
	yajl_free(y);
	return e.length;
}

/* ---- Boundaries: how many there are in one text ---- */

static size_t by_unistring(const char *text, size_t length)
{
	static char *breaks;
	static size_t capacity;
	size_t n = 0;

	if (length > capacity) {
		capacity = length;
		breaks = realloc(breaks, capacity);
	}
	u8_wordbreaks((const uint8_t *)text, length, breaks);
	for (size_t i = 0; i < length; i++)
		n += breaks[i] != 0;
	return n + (length != 0);
}

static size_t by_icu(const char *text, size_t length)
{
	static UBreakIterator *words;
	static UText *at;
	UErrorCode e = U_ZERO_ERROR;
	size_t n = 0;

	if (!words)
		words = ubrk_open(UBRK_WORD, "en", NULL, 0, &e);
	at = utext_openUTF8(at, text, (int64_t)length, &e);
	ubrk_setUText(words, at, &e);
	while (ubrk_next(words) != UBRK_DONE)
		n++;
	return n;
}

/* ---- Timing ---- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void row(const char *name, size_t (*call)(const char *, size_t), const struct text *of,
		size_t bytes, int rounds)
{
	double best = 1e9, start, took;
	size_t found = 0;

	for (int round = 0; round < rounds; round++) {
		found = 0;
		start = now();
		for (size_t i = 0; i < count; i++)
			found += call(of[i].bytes, of[i].length);
		took = now() - start;
		best = took < best ? took : best;
	}
	printf("%-12s %8.0f MB/s   %zu\n", name, (double)bytes / 1e6 / best, found);
}

static void keep(char *line, size_t length)
{
	json_t *root = json_loadb(line, length, JSON_ALLOW_NUL, NULL);
	json_t *text = json_object_get(root, "text");
	size_t n = json_string_length(text);
	char *bytes = malloc(n + 1);

	if (!json_is_string(text) || !bytes) {
		fprintf(stderr, "bench-text: line %zu: no string /text\n", count + 1);
		exit(1);
	}
	memcpy(bytes, json_string_value(text), n);
	json_decref(root);
	lines = realloc(lines, (count + 1) * sizeof(*lines));
	texts = realloc(texts, (count + 1) * sizeof(*texts));
	lines[count] = (struct text){ line, length };
	texts[count++] = (struct text){ bytes, n };
	line_bytes += length + 1;
	text_bytes += n;
}

int main(int argc, char **argv)
{
	FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
	int rounds = argc > 2 ? atoi(argv[2]) : 5;
	char *line = NULL;
	size_t capacity = 0;
	ssize_t n;

	if (!file) {
		fprintf(stderr, "usage: bench-text FILE [ROUNDS]\n");
		return 2;
	}
	while ((n = getline(&line, &capacity, file)) > 0) {
		keep(line, (size_t)n - (line[n - 1] == '\n'));
		line = NULL;
	}
	printf("%zu lines, %zu bytes, %zu bytes of text\n", count, line_bytes, text_bytes);
	row("jansson", by_jansson, lines, line_bytes, rounds);
	row("json-c", by_json_c, lines, line_bytes, rounds);
	row("yajl", by_yajl, lines, line_bytes, rounds);
	row("simdjson", by_simdjson, lines, line_bytes, rounds);
	row("libunistring", by_unistring, texts, text_bytes, rounds);
	row("ICU", by_icu, texts, text_bytes, rounds);
	return 0;
}
