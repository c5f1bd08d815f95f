/*
 * ordered_surt.c - no hash: a key is a URL, and its place is in the order of its host, reversed
 *
 * The place is the first 8 bytes of the Sort-friendly URI Reordering Transform, as web archives
 * have it: "https://www.example.org:8080/a" is "org,example,www)/a". The scheme, the part before an
 * '@', and the port are dropped; ASCII letters of the host become small. A host that is a number,
 * or in brackets, is not reversed; one with a comma is reversed already.
 */
#include "hash/ordered.h"

enum { PLACE_BYTES = 8 };

struct place {
	uint8_t bytes[PLACE_BYTES];
	unsigned used;
};

static void put(struct place *to, uint8_t byte)
{
	if (to->used < PLACE_BYTES)
		to->bytes[to->used++] = byte;
}

static void put_small(struct place *to, const uint8_t *from, const uint8_t *end)
{
	for (; from < end; from++)
		put(to, *from >= 'A' && *from <= 'Z' ? *from + 32 : *from);
}

/* Where one of these bytes is; the end: nowhere. */
static const uint8_t *find(const uint8_t *at, const uint8_t *end, const char *wanted)
{
	while (at < end && !(*at && strchr(wanted, *at)))
		at++;
	return at;
}

static const uint8_t *behind_scheme(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *colon = find(at, end, ":/?#");

	return end - colon >= 3 && !memcmp(colon, "://", 3) ? colon + 3 : at;
}

static bool is_reversed(const uint8_t *at, const uint8_t *end)
{
	bool number = true;

	for (const uint8_t *b = at; b < end; b++)
		number &= (*b >= '0' && *b <= '9') || *b == '.';
	return number || *at == '[' || find(at, end, ",") < end;
}

static void put_host(struct place *to, const uint8_t *at, const uint8_t *end)
{
	const uint8_t *label = end;

	if (at < end && end[-1] == '.')
		label = --end;
	if (at == end || is_reversed(at, end)) {
		put_small(to, at, end);
		return;
	}
	while (label > at) {
		const uint8_t *behind = label;

		while (label > at && label[-1] != '.')
			label--;
		put_small(to, label, behind);
		if (label > at) {
			put(to, ',');
			label--;
		}
	}
}

/* Without the port; brackets have colons of their own. */
static const uint8_t *host_end(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *colon = find(at < end && *at == '[' ? find(at, end, "]") : at, end, ":");

	return colon;
}

static void hash(const struct blm_hasher *by, const struct blm_key *key, struct blm_hash *ret)
{
	const uint8_t *at = key->bytes, *end = at + key->len, *path, *user;
	struct place place = { .used = 0 };
	uint64_t number;

	if (key->len) {
		at = behind_scheme(at, end);
		path = find(at, end, "/?#)");
		user = find(at, path, "@");
		put_host(&place, user < path ? user + 1 : at,
			 host_end(user < path ? user + 1 : at, path));
		if (path == end || *path != ')')
			put(&place, ')');
		for (; path < end; path++)
			put(&place, *path);
	}
	memcpy(&number, place.bytes, sizeof(number));
	*ret = ordered_place(by, be64toh(number), 0);
}

const struct blm_family blm_family_ordered_surt = {
	.id = 38,
	.name = "ordered-surt",
	.summary = "none: a key is a URL, by the first 8 bytes of its host, reversed, and its path",
	.bits = 64,
	.seeds = 1, .seed_bits = ORDERED_SEED_BITS,
	.ordered = true,
	.hash = hash,
};
