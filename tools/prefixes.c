/* prefixes.c - the prefixes of a key up to each delimiter, in a filter beside the key */
#include "prefixes.h"

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

/* What the prefixes of all keys take. Return: false: more than there can be. */
static bool measure(const struct blm_key *keys, size_t count, char delimiter, size_t *ret_count,
		    size_t *ret_bytes)
{
	*ret_count = *ret_bytes = 0;
	for (size_t k = 0; k < count; k++) {
		struct path p = path_of(&keys[k], delimiter);

		for (size_t i = 1; i <= p.len; i++)
			if (ends_at(&p, i, delimiter)) {
				++*ret_count;
				if (__builtin_add_overflow(*ret_bytes, i + 1, ret_bytes))
					return false;
			}
	}
	return true;
}

bool prefixes_of(struct prefixes *ret, const struct blm_key *keys, size_t count, char delimiter,
		 bool only_longest)
{
	size_t most, bytes;
	char *at;

	*ret = (struct prefixes){ 0 };
	if (!measure(keys, count, delimiter, &most, &bytes))
		return false;
	/* a key of delimiters alone has none, and the longest is then the empty one */
	ret->keys = malloc((most + count + 1) * sizeof(*ret->keys));
	at = ret->bytes = malloc(bytes + count + 1);
	if (!ret->keys || !at) {
		prefixes_free(ret);
		return false;
	}
	for (size_t k = 0; k < count; k++) {
		struct path p = path_of(&keys[k], delimiter);
		size_t longest = 0;

		for (size_t i = 1; i <= p.len; i++)
			if (ends_at(&p, i, delimiter)) {
				longest = i;
				if (!only_longest)
					put(ret, &at, &p, i);
			}
		if (only_longest)
			put(ret, &at, &p, longest);
	}
	return true;
}

void prefixes_free(struct prefixes *p)
{
	free(p->keys);
	free(p->bytes);
	*p = (struct prefixes){ 0 };
}
