/*
 * prefixes.h - the prefixes of a key up to each delimiter, in the filter of the key
 *
 * The prefixes of "https://example.org/a/b?c" are "", "https:", "https://example.org",
 * "https://example.org/a" and "https://example.org/a/b". In the filter a zero byte stands behind
 * each of them: no URL has one, so that a prefix is never taken for a page.
 */
#ifndef BLOOMERY_PREFIXES_H
#define BLOOMERY_PREFIXES_H

#include "command.h"

enum { PREFIXES_MOST = 4096 };	/* of one key: they take the square of its length to hash */

/* Some prefixes of some keys, each with its zero byte. */
struct prefixes {
	struct blm_key *keys;
	size_t count;
	char *bytes;
};

/* The longest prefix of each key. Return: false: no memory. */
bool longest_prefixes(struct prefixes *ret, const struct blm_key *keys, size_t count,
		      char delimiter);
void prefixes_free(struct prefixes *p);

/*
 * Give all prefixes of some keys, some at a time. Return: 0; the first negative number that `give`
 * returned; -ENOMEM; or -E2BIG: the key *ret_key has more than PREFIXES_MOST, and those of the keys
 * before it were given.
 */
int64_t each_prefix(const struct blm_key *keys, size_t count, char delimiter,
		    int64_t (*give)(const void *context, const struct prefixes *some),
		    const void *context, size_t *ret_key);

#endif
