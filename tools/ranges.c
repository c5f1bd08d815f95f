/* ranges.c - ranges of keys, as lines have them, and the types of keys that have ranges */
#include "ranges.h"
#include "terms.h"

#include <errno.h>

const char *hash_of_keys(const char *type)
{
	static const struct { const char *type, *hash; } types[] = {
		{ "uint", "ordered-uint" }, { "int", "ordered-int" }, { "time", "ordered-time" },
		{ "ip", "ordered-ip" }, { "cidr", "ordered-ip" }, { "string", "ordered-string" },
		{ "surt", "ordered-surt" },
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (!strcmp(types[i].type, type))
			return types[i].hash;
	return NULL;
}

void range_of(struct blm_key *first, struct blm_key *last, const struct blm_key *key)
{
	const char *from = key->len ? key->bytes : "", *end = from + key->len, *behind;
	const char *between = memchr(from, columns_end(), key->len);
	size_t gap = 1;

	*first = *last = *key;
	if (!between) {
		between = memmem(from, key->len, "..", 2);
		gap = 2;
	}
	if (!between)
		return;
	behind = between + gap;
	*first = (struct blm_key){ from, (size_t)(between - from) };
	*last = (struct blm_key){ behind, (size_t)(end - behind) };
	if (gap == 1 && (between = memchr(behind, columns_end(), last->len)))
		last->len = (size_t)(between - behind);
}

/* One of them is none: which line is it? The answers before it stay. */
static int64_t refuse_line(const struct blm_filter *f, struct batch *batch,
			   const struct blm_key *first, const struct blm_key *last)
{
	char reason[MESSAGE];
	int64_t yes = 0;

	for (size_t i = 0; i < batch->count; i++) {
		int r = blm_contains_range(f, first[i].bytes, first[i].len, last[i].bytes,
					   last[i].len);

		if (r < 0) {
			snprintf(reason, sizeof(reason), "is refused: %s",
				 own_terms(blm_error_message()));
			batch_refuse(batch, i, reason);
			return yes;
		}
		if (i % 64 == 0)
			batch->bits[i / 64] = 0;
		batch->bits[i / 64] |= (uint64_t)r << i % 64;
		yes += r;
	}
	return yes;
}

int64_t ask_ranges(const struct blm_filter *f, struct batch *batch)
{
	struct blm_key *keys = malloc((2 * batch->count + 1) * sizeof(*keys));
	struct blm_key *first = keys, *last = keys + batch->count;
	int64_t yes;

	if (!keys) {
		broken("out of memory");
		return -1;
	}
	for (size_t i = 0; i < batch->count; i++)
		range_of(&first[i], &last[i], &batch->keys[i]);
	yes = blm_contains_ranges(f, first, last, batch->count, batch->bits);
	if (yes == -EINVAL) {
		yes = refuse_line(f, batch, first, last);
	} else if (yes < 0) {
		fail(yes);
		yes = -1;
	}
	free(keys);
	return yes;
}
