/* label.c - the labels of files */
#include "label.h"
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL "redis"
#define FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

enum { LABEL_KEY = 256 };

void name_escape(char *to, size_t capacity, const char *key, size_t len)
{
	for (size_t i = 0; i < len && capacity > 4; i++) {
		uint8_t c = (uint8_t)key[i];
		bool plain = c > ' ' && c < 0x7f && c != '/' && c != '%' && c != '~' && c != '*'
			&& c != '?' && c != '[' && c != '\\';
		int n = snprintf(to, capacity, plain ? "%c" : "%%%02X", c);

		to += n;
		capacity -= (size_t)n;
	}
}

/* It holds all keys of at most LABEL_KEY bytes apart, and longer ones by their hash. */
void label_of(char ret[LABEL_MOST], const struct spot *spot)
{
	size_t len;
	const char *key = redis_StringPtrLen(spot->key, &len);
	uint64_t hash = FNV_BASIS;
	int n;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)key[i]) * FNV_PRIME;
	n = snprintf(ret, LABEL_MOST, "%d:%zu:%016llx:", spot->db, len, (unsigned long long)hash);
	name_escape(ret + n, LABEL_MOST - (size_t)n, key, len < LABEL_KEY ? len : LABEL_KEY);
}

bool label_read(char ret[LABEL_MOST], const struct blm_info *info)
{
	size_t begun = strlen(LABEL "="), len;

	for (const char *line = info->labels, *end; (end = strchr(line, '\n')); line = end + 1) {
		len = (size_t)(end - line);
		if (len < begun || strncmp(line, LABEL "=", begun) || len - begun >= LABEL_MOST)
			continue;
		memcpy(ret, line + begun, len - begun);
		ret[len - begun] = '\0';
		return true;
	}
	return false;
}

void label_set(const char *name, const char *label)
{
	if (blm_store_label(store, name, LABEL, label) < 0)
		blm_store_label(store, name, LABEL, NULL);
}

bool label_swap(char ret[LABEL_MOST], const char *label, int one, int other)
{
	char *rest;
	int db = (int)strtol(label, &rest, 10);

	if (db != one && db != other)
		return false;
	return snprintf(ret, LABEL_MOST, "%d%s", db == one ? other : one, rest) < LABEL_MOST;
}
