/*
 * tokens.c - word boundaries by libunistring, and the segments between them that have more than
 * white space
 */
#include "tokens.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- The library ---- */

static void (*find_breaks)(const uint8_t *text, size_t length, char *breaks);
static const uint8_t *(*find_bad)(const uint8_t *text, size_t length);

#if defined(TOKENS_LINKED)

#include <unistr.h>
#include <uniwbrk.h>

const char *tokens_need(void)
{
	find_breaks = u8_wordbreaks;
	find_bad = u8_check;
	return NULL;
}

#elif defined(TOKENS_SONAME)

#include "dlnote.h"

#include <dlfcn.h>

DLNOTE(unistring_note, "words", "the words of texts", TOKENS_SONAME);

typedef void *address __attribute__((may_alias));	/* of a function: POSIX has them fit */

/* Without a lock, as blm_need() is: several threads that come here at once do the same. */
const char *tokens_need(void)
{
	static bool ready;
	address breaks, bad;
	void *handle;

	if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
		return NULL;
	handle = dlopen(TOKENS_SONAME, RTLD_NOW | RTLD_LOCAL);	/* it stays open */
	if (!handle)
		return dlerror();
	breaks = dlsym(handle, "u8_wordbreaks");
	bad = breaks ? dlsym(handle, "u8_check") : NULL;
	if (!bad)
		return dlerror();
	__atomic_store_n((address *)&find_breaks, breaks, __ATOMIC_RELAXED);
	__atomic_store_n((address *)&find_bad, bad, __ATOMIC_RELAXED);
	__atomic_store_n(&ready, true, __ATOMIC_RELEASE);
	return NULL;
}

#else

const char *tokens_need(void)
{
	return "this build cannot find words; build it with libunistring-dev";
}

#endif

/* ---- Segments ---- */

/*
 * How many bytes at `at` are one character of white space (White_Space in Unicode, unchanged since
 * version 6.3); 0: it is another character. The text is UTF-8.
 */
static size_t space_at(const char *at)
{
	const uint8_t *b = (const uint8_t *)at;

	if (b[0] < 0x80)
		return b[0] == ' ' || (b[0] >= '\t' && b[0] <= '\r');
	if (b[0] == 0xc2)
		return b[1] == 0x85 || b[1] == 0xa0 ? 2 : 0;
	if (b[0] == 0xe1)
		return b[1] == 0x9a && b[2] == 0x80 ? 3 : 0;
	if (b[0] == 0xe2 && b[1] == 0x80)
		return b[2] <= 0x8a || b[2] == 0xa8 || b[2] == 0xa9 || b[2] == 0xaf ? 3 : 0;
	if (b[0] == 0xe2)
		return b[1] == 0x81 && b[2] == 0x9f ? 3 : 0;
	return b[0] == 0xe3 && b[1] == 0x80 && b[2] == 0x80 ? 3 : 0;
}

static bool is_space(const char *at, const char *end)
{
	while (at < end) {
		size_t n = space_at(at);

		if (!n)
			return false;
		at += n;
	}
	return true;
}

static bool more_space(struct tokens *t)
{
	size_t capacity = t->capacity ? 2 * t->capacity : 256;
	size_t *begin = realloc(t->begin, capacity * sizeof(*begin)), *end;

	if (begin)
		t->begin = begin;
	end = begin ? realloc(t->end, capacity * sizeof(*end)) : NULL;
	if (!end)
		return false;
	t->end = end;
	t->capacity = capacity;
	return true;
}

static int add(struct tokens *t, const char *text, size_t begin, size_t end)
{
	if (is_space(text + begin, text + end))
		return 0;
	if (t->count == t->capacity && !more_space(t))
		return -ENOMEM;
	t->begin[t->count] = begin;
	t->end[t->count++] = end;
	return 0;
}

/* Room that one long text took is given back at the next short one. */
static bool breaks_capacity(struct tokens *t, size_t length)
{
	enum { LARGE = 16 << 20 };

	if (t->break_capacity > LARGE && length < LARGE / 16)
		tokens_free(t);
	if (length > t->break_capacity) {
		free(t->breaks);
		t->break_capacity = 0;
		t->breaks = malloc(length + length / 4);
		if (!t->breaks)
			return false;
		t->break_capacity = length + length / 4;
	}
	return true;
}

int tokens_of(struct tokens *t, const char *text, size_t length)
{
	size_t begin = 0;
	int r = 0;

	t->count = 0;
	if (!length)
		return 0;
	if (find_bad((const uint8_t *)text, length))
		return -EILSEQ;
	if (!breaks_capacity(t, length))
		return -ENOMEM;
	find_breaks((const uint8_t *)text, length, t->breaks);
	for (size_t i = 1; i < length && !r; i++)
		if (t->breaks[i]) {
			r = add(t, text, begin, i);
			begin = i;
		}
	return r ? r : add(t, text, begin, length);
}

void tokens_free(struct tokens *t)
{
	free(t->begin);
	free(t->end);
	free(t->breaks);
	*t = (struct tokens){ 0 };
}
