/*
 * vectors.h - reading what other programs' filters are listed in: JSON by its names, rows of keys,
 * folders of files
 */
#ifndef BLM_VECTORS_H
#define BLM_VECTORS_H

#include "suite.h"

#include <ctype.h>
#include <endian.h>
#include <stdbool.h>

/* All of a file, with a NUL behind it. NULL: there is none. */
static inline char *file_of(const char *path, size_t *ret_bytes)
{
	FILE *file = fopen(path, "re");
	size_t capacity = 1 << 16, bytes = 0, n;
	char *all = malloc(capacity);

	if (ret_bytes)
		*ret_bytes = 0;
	if (!file) {
		free(all);
		return NULL;
	}
	while ((n = fread(all + bytes, 1, capacity - 1 - bytes, file)) > 0) {
		bytes += n;
		if (bytes == capacity - 1)
			all = realloc(all, capacity *= 2);
	}
	fclose(file);
	all[bytes] = '\0';
	if (ret_bytes)
		*ret_bytes = bytes;
	return all;
}

static inline size_t from_hex(const char *hex, uint8_t *ret, size_t capacity)
{
	size_t n = 0;
	unsigned byte;

	for (; n < capacity && isxdigit((unsigned char)hex[2 * n])
	       && sscanf(hex + 2 * n, "%2x", &byte) == 1;
	     n++)
		ret[n] = (uint8_t)byte;
	return n;
}

/*
 * The value of a field between here and `end`: its first character, past a quotation mark; NULL if
 * there is none.
 */
static inline const char *field(const char *from, const char *end, const char *name)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\"", name);
	at = strstr(from, quoted);
	if (!at || at >= end)
		return NULL;
	at += strlen(quoted);
	return at + strspn(at, ": \"[\n");
}

static inline uint64_t number(const char *from, const char *end, const char *name)
{
	const char *value = field(from, end, name);

	ck_assert_msg(value != NULL, "%s", name);
	return strtoull(value, NULL, 10);
}

/* The text of a field, up to its quotation mark. */
static inline char *text_field(const char *from, const char *end, const char *name, char *ret,
			       size_t bytes)
{
	const char *value = field(from, end, name);

	ck_assert_msg(value != NULL, "%s", name);
	snprintf(ret, bytes, "%.*s", (int)strcspn(value, "\""), value);
	return ret;
}

/* A list of numbers: how many there are. */
static inline uint32_t numbers_of(const char *from, const char *end, const char *name,
				  uint64_t *ret, uint32_t capacity)
{
	const char *value = field(from, end, name);
	uint32_t count = 0;

	for (; value && isdigit((unsigned char)*value) && count < capacity;
	     value += strspn(value, ", \n"))
		ret[count++] = strtoull(value, (char **)&value, 10);
	return count;
}

/* Case by case: its text, from its name up to the next one's. */
static inline const char *next_case(const char **at, char name[32])
{
	const char *here = strstr(*at, "\"name\""), *end;

	if (!here)
		return NULL;
	end = strstr(here + 6, "\"name\"");
	*at = end ? end : here + strlen(here);
	text_field(here, *at, "name", name, 32);
	return here;
}

/* CPython's hash of an integer: its value modulo 2^61 - 1, with its sign, and -2 for -1. */
static inline uint64_t hash_of_integer(const char *digits)
{
	const uint64_t modulus = (UINT64_C(1) << 61) - 1;
	bool minus = *digits == '-';
	uint64_t h = 0;

	for (digits += minus; isdigit((unsigned char)*digits); digits++)
		h = (uint64_t)(((unsigned __int128)h * 10 + (unsigned)(*digits - '0')) % modulus);
	if (minus && h == 1)
		h = 2;
	return htole64(minus ? -h : h);
}

/* A row of NAME.tsv: the kind of its key, the key, its role, what add() returned, answers. */
struct row {
	bool integer;
	uint8_t key[256];
	size_t len;
	const char *role;
	bool was_there;		/* what add() returned */
	/* in the filter after all adds; or: in A, in B, in A | B, in A & B */
	bool in[4];
};

/* The next row from *at on; false at the end. */
static inline bool next_row(const char **at, struct row *ret)
{
	const char *here = *at;

	while (*here == '#')
		here += strcspn(here, "\n") + 1;
	if (!*here)
		return false;
	*at = here + strcspn(here, "\n");
	*at += **at == '\n';
	*ret = (struct row){ .integer = *here == 'i' };
	here += 2;
	if (ret->integer) {
		uint64_t h = hash_of_integer(here);

		memcpy(ret->key, &h, ret->len = 8);
	} else {
		ret->len = from_hex(here, ret->key, sizeof(ret->key));
	}
	ret->role = here + strcspn(here, "\t") + 1;
	here = ret->role + strcspn(ret->role, "\t") + 1;
	ret->was_there = *here == '1';
	for (int i = 0; i < 4 && here[1] == '\t'; i++) {
		here += 2;
		ret->in[i] = *here == '1';
	}
	return true;
}

#endif
