/*
 * prefixes.h - the prefixes of a key up to each delimiter, in a filter beside the key
 *
 * The prefixes of "https://example.org/a/b?c" are "https://example.org", "https://example.org/a"
 * and "https://example.org/a/b". In the filter a zero byte stands behind each of them: no URL has
 * one, so that a prefix is never taken for a page.
 */
#ifndef BLOOMERY_PREFIXES_H
#define BLOOMERY_PREFIXES_H

#include "command.h"

/* All prefixes of some keys, each with its zero byte. */
struct prefixes {
	struct blm_key *keys;
	size_t count;
	char *bytes;
};

/* Of each key all of them, or only the longest. Return: false: no memory. */
bool prefixes_of(struct prefixes *ret, const struct blm_key *keys, size_t count, char delimiter,
		 bool only_longest);
void prefixes_free(struct prefixes *p);

#endif
