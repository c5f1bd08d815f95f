/* prefixes.c - the prefixes of a key up to each delimiter, in the filter of the key */
#include "prefixes.h"

#include <errno.h>

/*
 * What of a key its prefixes are made of. With '/' as the delimiter a key is a URL: the slashes
 * behind its scheme end no prefix, and what follows '?' or '#' is no path.
 */
struct path {
	const char *bytes;
	size_t from, len;	/* prefixes end from here on; there is no more of them */
};

static struct path path_of(const struct blm_key *key, char delimiter)
{
	struct path p = { .bytes = key->len ? key->bytes : "", .len = key->len };

	if (delimiter != '/')
		return p;
	for (size_t i = 0; i < p.len; i++)
		if (p.bytes[i] == '?' || p.bytes[i] == '#')
			p.len = i;
	for (size_t i = 0; i + 2 < p.len && p.bytes[i] != '/'; i++)
		if (!memcmp(p.bytes + i, "://", 3)) {
			p.from = i + 3;
			break;
		}
	return p;
}

/* Delimiters in a row are one. */
static bool ends_at(const struct path *p, size_t i, char delimiter)
{
	return i > p->from && p->bytes[i - 1] != delimiter
		&& (i == p->len || p->bytes[i] == delimiter);
}

static void put(struct prefixes *to, char **at, const struct path *p, size_t len)
{
	memcpy(*at, p->bytes, len);
	(*at)[len] = '\0';
	to->keys[to->count++] = (struct blm_key){ *at, len + 1 };
	*at += len + 1;
}

static bool make_space(struct prefixes *p, size_t keys, size_t bytes)
{
	*p = (struct prefixes){ .keys = malloc(keys * sizeof(*p->keys)), .bytes = malloc(bytes) };
	if (p->keys && p->bytes)
		return true;
	prefixes_free(p);
	return false;
}

void prefixes_free(struct prefixes *p)
{
	free(p->keys);
	free(p->bytes);
	*p = (struct prefixes){ 0 };
}

/* "https:" of "https://"; a key without a scheme begins below the empty prefix. */
static size_t root_of(const struct path *p)
{
	return p->from ? p->from - 2 : 0;
}

bool longest_prefixes(struct prefixes *ret, const struct blm_key *keys, size_t count,
		      char delimiter)
{
	size_t bytes = 1;
	char *at;

	for (size_t k = 0; k < count; k++)
		bytes += keys[k].len + 1;
	if (!make_space(ret, count + 1, bytes))
		return false;
	at = ret->bytes;
	for (size_t k = 0; k < count; k++) {
		struct path p = path_of(&keys[k], delimiter);
		size_t longest = p.len;

		while (longest && !ends_at(&p, longest, delimiter))
			longest--;
		put(ret, &at, &p, longest ? longest : root_of(&p));
	}
	return true;
}

/* ---- All of them ---- */

enum { AT_ONCE = 2048, BYTES_AT_ONCE = 1 << 20 };

struct giving {
	struct prefixes some;
	char *at;
	size_t capacity;
	int64_t (*give)(const void *context, const struct prefixes *some);
	const void *context;
};

static int64_t give_some(struct giving *g)
{
	int64_t r = g->some.count ? g->give(g->context, &g->some) : 0;

	g->some.count = 0;
	g->at = g->some.bytes;
	return r < 0 ? r : 0;
}

static int64_t give_one(struct giving *g, const struct path *p, size_t len)
{
	int64_t r = 0;

	if (g->some.count == AT_ONCE || g->at + len + 1 > g->some.bytes + g->capacity)
		r = give_some(g);
	if (r == 0)
		put(&g->some, &g->at, p, len);
	return r;
}

static int64_t give_all(struct giving *g, const struct path *p, char delimiter)
{
	size_t root = root_of(p), count = 1;
	int64_t r;

	for (size_t i = 1; i <= p->len; i++)
		count += ends_at(p, i, delimiter);
	if (count > PREFIXES_MOST)
		return -E2BIG;
	r = give_one(g, p, 0);
	if (r == 0 && root)
		r = give_one(g, p, root);
	for (size_t i = 1; r == 0 && i <= p->len; i++)
		if (ends_at(p, i, delimiter))
			r = give_one(g, p, i);
	return r;
}

int64_t each_prefix(const struct blm_key *keys, size_t count, char delimiter,
		    int64_t (*give)(const void *context, const struct prefixes *some),
		    const void *context, size_t *ret_key)
{
	struct giving g = { .capacity = BYTES_AT_ONCE, .give = give, .context = context };
	int64_t r = 0;

	for (size_t k = 0; k < count; k++)
		if (keys[k].len >= g.capacity)
			g.capacity = keys[k].len + 1;
	if (!make_space(&g.some, AT_ONCE, g.capacity))
		return -ENOMEM;
	g.at = g.some.bytes;
	for (*ret_key = 0; *ret_key < count; ++*ret_key) {
		struct path p = path_of(&keys[*ret_key], delimiter);

		r = give_all(&g, &p, delimiter);
		if (r < 0)
			break;
	}
	if (r == 0 || r == -E2BIG) {
		int64_t last = give_some(&g);

		r = last < 0 ? last : r;
	}
	prefixes_free(&g.some);
	return r;
}
