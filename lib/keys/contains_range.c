/* contains_range.c - is any key between two others? One range, or many */
#include "hash/ordered.h"
#include "keys/contains_range.h"
#include "keys/key_batch.h"

static int refuse_key(const char *display, const struct blm_hasher *by, const struct blm_key *key,
		      const struct blm_hash *hash)
{
	return blm_fail(-EINVAL, "%s: \"%.*s\" is %s", display,
			key->len < 40 ? (int)key->len : 40, key->len ? (const char *)key->bytes
			: "", by->family->refuse(hash));
}

int blm_check_range(const char *display, const struct blm_hasher *by, const struct blm_key keys[2],
		    const struct blm_hash hashes[2])
{
	const struct blm_key *first = &keys[0], *last = &keys[1];

	for (int i = 0; i < 2; i++)
		if (ordered_is_none(&hashes[i]))
			return refuse_key(display, by, &keys[i], &hashes[i]);
	if (ordered_first(&hashes[0]) > ordered_last(&hashes[1]))
		return blm_fail(-EINVAL, "%s: the range from \"%.*s\" to \"%.*s\" ends before it "
				"begins; give the smaller key first", display,
				first->len < 40 ? (int)first->len : 40,
				first->len ? (const char *)first->bytes : "",
				last->len < 40 ? (int)last->len : 40,
				last->len ? (const char *)last->bytes : "");
	return 0;
}

static int check(const struct blm_filter *f, const struct blm_hasher *by,
		 const struct blm_key *first, const struct blm_hash *from,
		 const struct blm_key *last, const struct blm_hash *to)
{
	return blm_check_range(f->place.display, by, (const struct blm_key[]){ *first, *last },
			       (const struct blm_hash[]){ *from, *to });
}

BLM_API int64_t blm_contains_ranges(const struct blm_filter *f, const struct blm_key *first,
				    const struct blm_key *last, size_t count, uint64_t *ret_bits)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view *view = current_view(f);
	struct blm_hash from[BLM_BATCH], to[BLM_BATCH];
	uint64_t bits[BLM_BATCH_WORDS];
	int64_t yes = 0;

	if (!view->root.kind->contains_ranges)
		return blm_cannot(view, f, "answer for ranges", BLM_CAN_RANGE);
	for (size_t at = 0, some; at < count; at += some) {
		int r = 0;

		some = count - at < BLM_BATCH ? count - at : BLM_BATCH;
		blm_hash_all(&view->hasher, first + at, some, from);
		blm_hash_all(&view->hasher, last + at, some, to);
		for (size_t i = 0; r == 0 && i < some; i++)
			r = check(f, &view->hasher, &first[at + i], &from[i], &last[at + i],
				  &to[i]);
		if (r < 0)
			return r;
		view->root.kind->contains_ranges(&view->root, from, to, some, bits);
		for (size_t i = 0; i < (some + 63) / 64; i++) {
			if (ret_bits)
				ret_bits[at / 64 + i] = bits[i];
			yes += __builtin_popcountll(bits[i]);
		}
	}
	return yes;
}

BLM_API int blm_contains_range(const struct blm_filter *f, const void *first, size_t first_len,
			       const void *last, size_t last_len)
{
	const struct blm_key from = { first, first_len }, to = { last, last_len };

	return (int)blm_contains_ranges(f, &from, &to, 1, NULL);
}
