/* json_line.c - simdjson checks a line and says where its parts are */
#include "json_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The parser ---- */

struct module {
	__typeof__(bloomery_json_new) *new;
	__typeof__(bloomery_json_free) *free;
	__typeof__(bloomery_json_parse) *parse;
};

#if defined(JSON_LINKED)

static struct module module = { bloomery_json_new, bloomery_json_free, bloomery_json_parse };

const char *json_need(void)
{
	return NULL;
}

#elif defined(JSON_MODULES)

#include <dlfcn.h>

typedef void *address __attribute__((may_alias));	/* of a function: POSIX has them fit */

static struct module module;

/* Without a lock, as blm_need() is: several threads that come here at once do the same. */
const char *json_need(void)
{
	static const char *const files[] = { JSON_MODULES }, *const names[] = {
		"bloomery_json_new", "bloomery_json_free", "bloomery_json_parse" };
	static _Thread_local char reason[256];
	static bool ready;
	void *handle = NULL;

	if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
		return NULL;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !handle; i++)
		handle = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);	/* it stays open */
	if (!handle) {
		snprintf(reason, sizeof(reason), "%s; build it with 'ninja -C build', or install "
			 "libsimdjson", dlerror());
		return reason;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		address call = dlsym(handle, names[i]);

		if (!call)
			return dlerror();
		__atomic_store_n((address *)&module + i, call, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	return NULL;
}

#else

static struct module module;

const char *json_need(void)
{
	return "this build has no parser of JSON; build it with libsimdjson-dev and g++";
}

#endif

/* ---- Parsing ---- */

const char *json_fault_words(enum json_fault fault)
{
	static const char *const words[] = {
		[JSON_BROKEN] = "is not JSON: braces, commas, quotes or words are wrong",
		[JSON_BAD_NUMBER] = "is not JSON: a number is wrong",
		[JSON_BAD_STRING] = "is not JSON: an escape in a string is wrong, or a surrogate "
				    "lacks its other half",
		[JSON_BAD_UTF8] = "is not JSON: it is not UTF-8",
		[JSON_CONTROL] = "is not JSON: a string has a control character without an escape",
		[JSON_UNCLOSED] = "is not JSON: a string does not end",
		[JSON_EMPTY] = "is empty, which is not JSON",
		[JSON_DEEP] = "is nested more than 1024 levels deep",
		[JSON_LONG] = "is longer than 256 MiB, the most for a line of JSON",
		[JSON_NO_MEMORY] = "is too long for the memory there is",
	};

	return words[fault];
}

size_t json_part_end(const struct json_line *l, size_t i)
{
	size_t end = i + 1 < l->parts.count ? l->parts.at[i + 1] : l->length;

	while (memchr(" \t\r\n", l->text[end - 1], 4))
		end--;
	return end;
}

static size_t digits(const char *at, const char *end)
{
	size_t n = 0;

	while (at + n < end && at[n] >= '0' && at[n] <= '9')
		n++;
	return n;
}

static bool is_number(const char *at, const char *end)
{
	size_t n;

	at += at < end && *at == '-';
	n = digits(at, end);
	if (!n || (n > 1 && *at == '0'))
		return false;
	at += n;
	if (at < end && *at == '.') {
		n = digits(at + 1, end);
		if (!n)
			return false;
		at += 1 + n;
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		at++;
		at += at < end && (*at == '+' || *at == '-');
		n = digits(at, end);
		if (!n)
			return false;
		at += n;
	}
	return at == end;
}

/*
 * simdjson refuses numbers that neither 64 bits nor a double can hold. They are JSON, so they
 * become 0 in the copy, and the copy is parsed again. Values are given as they are in the line.
 */
static enum json_fault without_numbers(struct json_line *l)
{
	for (size_t i = 0; i < l->parts.count; i++) {
		size_t begin = l->parts.at[i], end;

		if (!memchr("-0123456789", l->text[begin], 11))
			continue;
		end = json_part_end(l, i);
		if (!is_number(l->text + begin, l->text + end))
			return JSON_BAD_NUMBER;
		memset(l->copy + begin, ' ', end - begin);
		l->copy[begin] = '0';
	}
	return module.parse(l->parser, l->copy, l->length, &l->parts);
}

enum json_fault json_line_parse(struct json_line *l, const char *text, size_t length)
{
	size_t capacity = length + JSON_PADDING;
	enum json_fault fault;

	l->text = text;
	l->length = length;
	if (l->length > JSON_TEXT_MOST)
		return JSON_LONG;
	if (capacity > l->capacity || (l->capacity > 16 << 20 && capacity < 1 << 20)) {
		free(l->copy);
		l->capacity = 0;
		l->copy = malloc(capacity + capacity / 4);
		if (!l->copy)
			return JSON_NO_MEMORY;
		l->capacity = capacity + capacity / 4;
	}
	memset(mempcpy(l->copy, l->text, l->length), 0, JSON_PADDING);
	fault = module.parse(l->parser, l->copy, l->length, &l->parts);
	return fault == JSON_BAD_NUMBER ? without_numbers(l) : fault;
}

bool json_line_open(struct json_line *ret)
{
	*ret = (struct json_line){ .parser = module.new() };
	return ret->parser;
}

void json_line_close(struct json_line *l)
{
	if (l->parser)
		module.free(l->parser);
	free(l->copy);
}
