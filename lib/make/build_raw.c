/*
 * build_raw.c - raw data of other filters as input of a build
 */
#include "make/build.h"
#include "kind/common/raw_data.h"
#include "stats/tally.h"

static int check_raw(const struct blm_build *b, uint64_t at, const void *data, size_t bytes)
{
	const struct blm_view *view = b->staged.view;
	const struct blm_part *part;

	if (b->gathers)
		return blm_fail(-EOPNOTSUPP, "%s: takes no raw data, because its keys are "
				"gathered: give blm_params.capacity, and a kind that takes keys "
				"one by one",
				b->place.display);
	if (view->parts > 1 || b->growing || !view->part[0].kind->unite)
		return blm_fail(-EOPNOTSUPP, "%s: a %s filter takes no raw data while it is built",
				b->place.display, b->spec.of->name);
	part = &view->part[0];
	if (at > part->shape.bytes || bytes > part->shape.bytes - at)
		return blm_fail(-EINVAL, "%s: bytes %llu + %zu are past the end of its data, which "
				"have %llu bytes",
				b->place.display, (unsigned long long)at, bytes,
				(unsigned long long)part->shape.bytes);
	if (view->split.parts && bytes && (at < view->split.from || at + bytes > view->split.to))
		return blm_fail(-EREMOTE, "%s: part %u of %u of a filter takes raw data of its "
				"own range only", b->place.display, view->split.part + 1,
				view->split.parts);
	return blm_raw_check(part, at, data, bytes, b->place.display);
}

BLM_API int blm_build_unite(struct blm_build *b, uint64_t at, const void *data, size_t bytes,
			    uint64_t keys)
{
	int r = check_raw(b, at, data, bytes);

	if (r < 0)
		return r;
	blm_allowlist_carry_note_unnamed(b->carry);
	blm_raw_unite(&b->staged.view->part[0], at, data, bytes);
	if (keys == BLM_KEYS_UNKNOWN)
		live_of(b->staged.view)->inexact.word = htole64(1);
	else
		blm_count_keys(b->staged.view, keys);
	return 0;
}

/* If raw data came without a count of keys: the estimate by the bits, if that is greater. */
int blm_build_count_raw(struct blm_build *b)
{
	struct blm_view *view = b->staged.view;
	uint64_t counted = blm_counted_keys(view), keys = 0;
	int r = live_of(view)->inexact.word ? blm_keys_of_bits(view, &keys) : 0;

	if (r == 0 && keys > counted)
		blm_count_keys(view, keys - counted);
	return r == -EOPNOTSUPP ? 0 : r;
}
