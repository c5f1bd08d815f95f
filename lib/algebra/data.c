/* data.c - the raw data of a filter, out and in */
#include "handle/torn.h"
#include "kind/common/raw_data.h"
#include "stats/tally.h"

static int check_range(const struct blm_filter *f, const struct blm_view *view, uint64_t at,
		       size_t bytes)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < view->parts; i++)
		all += view->part[i].shape.bytes;
	if (at > all || bytes > all - at)
		return blm_fail(-EINVAL, "%s: bytes %llu + %zu are past the end of its data, which "
				"have %llu bytes",
				f->place.display, (unsigned long long)at, bytes,
				(unsigned long long)all);
	return 0;
}

/* Words, so that a writer's OR is seen whole or not at all; the ends byte by byte. */
static void copy_out(uint8_t *to, const uint8_t *from, size_t bytes)
{
	uint64_t word;
	size_t at = 0;

	for (; at < bytes && (uintptr_t)(from + at) % 8; at++)
		to[at] = __atomic_load_n(from + at, __ATOMIC_RELAXED);
	for (; at + 8 <= bytes; at += 8) {
		word = __atomic_load_n((const uint64_t *)(from + at), __ATOMIC_RELAXED);
		memcpy(to + at, &word, 8);
	}
	for (; at < bytes; at++)
		to[at] = __atomic_load_n(from + at, __ATOMIC_RELAXED);
}

BLM_API int blm_data_read(const struct blm_filter *f, uint64_t at, void *ret, size_t bytes)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view *view = current_view(f);
	int r = check_range(f, view, at, bytes);

	for (unsigned i = 0; r == 0 && bytes; i++) {
		const struct blm_part *part = &view->part[i];
		size_t here = at < part->shape.bytes ? (size_t)(part->shape.bytes - at) : 0;

		here = here < bytes ? here : bytes;
		copy_out(ret, part->bytes + at, here);
		ret = (uint8_t *)ret + here;
		bytes -= here;
		at = here ? 0 : at - part->shape.bytes;
	}
	return r;
}

/* Other threads may replace the view until the lock is held, so it is looked up under the lock. */
BLM_API int blm_data_map(struct blm_filter *f, const void **ret, size_t *ret_bytes)
{
	BLM_CRITICAL_SECTION;
	struct blm_view *view;
	int r = 0;

	current_view(f);
	pthread_mutex_lock(&f->renewing);
	view = atomic_load(&f->view);
	if (view->parts == 1) {
		view->pins++;
		*ret = view->part[0].bytes;
		*ret_bytes = (size_t)view->part[0].shape.bytes;
	} else {
		r = blm_fail(-EOPNOTSUPP, "%s: its data are in %u parts, which have no common map; "
			     "read them in pieces", f->place.display, view->parts);
	}
	pthread_mutex_unlock(&f->renewing);
	return r;
}

BLM_API void blm_data_unmap(struct blm_filter *f, const void *data)
{
	struct blm_view *view;

	pthread_mutex_lock(&f->renewing);
	view = atomic_load(&f->view);
	while (view && !(view->pins && view->part[0].bytes == data))
		view = view->older;
	if (view)
		view->pins--;
	pthread_mutex_unlock(&f->renewing);
}

static int check_data(const struct blm_filter *f, const struct blm_view *view, uint64_t at,
		      const void *data, size_t bytes)
{
	const struct blm_part *part = &view->part[0];
	int r = check_range(f, view, at, bytes);

	if (r < 0)
		return r;
	if (view->parts > 1 || !part->kind->unite)
		return blm_cannot(view, f, "take raw data", BLM_CAN_UNION);
	if (view->split.parts && bytes && (at < view->split.from
					   || at + bytes > view->split.to))
		return blm_fail(-EREMOTE, "%s: part %u of %u of a filter takes bytes %llu to %llu "
				"of the data only; give others to their part", f->place.display,
				view->split.part + 1, view->split.parts,
				(unsigned long long)view->split.from,
				(unsigned long long)view->split.to);
	return blm_raw_check(part, at, data, bytes, f->place.display);
}

static int unite(struct blm_filter *f, struct blm_view *view, uint64_t at, const void *data,
		 size_t bytes)
{
	int r = blm_lock_torn(f, view);
	bool was_torn;

	if (r < 0)
		return r;
	store_release(&live_of(view)->inexact.word, 1);
	was_torn = blm_tear(view);
	blm_raw_unite(&view->part[0], at, data, bytes);
	if (!was_torn)
		blm_mend(view);
	blm_unlock_torn(view);
	return 0;
}

/*
 * The last piece of data brings a count: the estimate from the bits, if that is more than was
 * counted.
 */
static int count_at_end(struct blm_view *view, uint64_t at, size_t bytes)
{
	uint64_t counted = blm_counted_keys(view), keys = 0;
	const struct blm_part *part = &view->part[0];
	int r = 0;

	if ((at + bytes) * 8 >= cells_end(part))
		r = blm_keys_of_bits(view, &keys);
	if (r == 0 && keys > counted)
		blm_count_keys(view, keys - counted);
	return r == -EOPNOTSUPP ? 0 : r;
}

BLM_API int blm_data_unite(struct blm_filter *f, uint64_t at, const void *data, size_t bytes)
{
	BLM_CRITICAL_SECTION;
	struct blm_view *view;
	int counted = 0, r, end;

	do {
		bool held;

		r = blm_change_begin_as_kind(f, &view, &held);
		if (r < 0)
			return r;
		r = check_data(f, view, at, data, bytes);
		if (r == 0)
			r = unite(f, view, at, data, bytes);
		if (r == 0)
			counted = count_at_end(view, at, bytes);
		end = blm_change_end_unnamed(f, view, held);
		if (r == 0)
			r = end;
	} while (r == -EAGAIN);
	return r < 0 ? r : counted;
}
