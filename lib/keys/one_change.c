/*
 * one_change.c - a change by one key, in kinds that only one writer may change: without what
 * batches need
 *
 * one_key_call.c has the list of what must hold. Here points 4 to 6 of that list are other ones.
 * The thread is present (presence.h) under the state word of points 2 and 3, so the file is not
 * replaced, and no list comes. It owns the word `writer` (writer_word.h), so no sync begins an
 * epoch, and no other thread changes the file. The epoch was announced before. So nothing must be
 * looked at again after the change.
 */
#include "keys/one_key_call.h"

static int (*function_of(const struct blm_kind *kind, enum blm_what what))
	(struct blm_part *part, const struct blm_hashed *key)
{
	switch (what) {
	case BLM_ADD:
		return kind_has_single_writer(kind) ? kind->add : NULL;
	case BLM_CLAIM:
		return kind->claim;
	case BLM_REMOVE:
		return kind->remove;
	default:
		return NULL;
	}
}

/* Is the whole change no more than to call this function, as the only writer? */
static bool is_call(const struct blm_view *view, enum blm_what what)
{
	const struct blm_kind *kind = view->root.kind;

	if (!kind_has_single_writer(kind) && !kind_serializes_removals(kind))
		return false;
	/* change.c explains why a torn file refuses to remove a fingerprint */
	if (what == BLM_REMOVE && kind_has_checkpoint(kind) && part_is_torn(&view->root))
		return false;
	return !kind->space && !kind->holds_keys && !view->checks_keys
	    && !wants_keys(&view->hasher)
	    && !(le64toh(view->constant.flags) & BLM_FLAG_SEALED);
}

/* -EAGAIN: blm_input_change() must do it, also if the kind failed, for the message. */
static int change_alone(struct blm_filter *f, const struct blm_key *key, enum blm_what what)
{
	struct blm_view *view = view_of(f);
	int (*change)(struct blm_part *, const struct blm_hashed *) =
		function_of(view->root.kind, what);
	struct blm_hashed hashed = { .key = key, .by = &view->hasher };
	uint64_t state = state_word(view);
	int r;

	if (!change || !is_call(view, what) || !is_plain(f, view, state)
	    || blm_syncs_by_itself(f))
		return -EAGAIN;
	view->hasher.family->hash(&view->hasher, key, &hashed.hash);
	if (!blm_change_begin_alone(f, view, state))
		return -EAGAIN;
	r = change(&view->root, &hashed);
	if (r > 0)
		blm_count_keys(view, what == BLM_REMOVE ? -UINT64_C(1) : 1);
	blm_change_end_alone(view);
	if (r < 0)
		return -EAGAIN;
	if (__builtin_expect(blm_sigbus_hit_any(), false)) {
		int hit = blm_check_sigbus(view, f->place.display);

		if (hit < 0)
			return hit;
	}
	return r;
}

int blm_change_one(struct blm_filter *f, const struct blm_key *key, enum blm_what what)
{
	int r = -EAGAIN;

	if (__builtin_expect(blm_enter_quickly(), true)) {
		r = change_alone(f, key, what);
		blm_leave_quickly();
	}
	return __builtin_expect(r != -EAGAIN, true) ? r
		: (int)blm_input_change(f, &(struct blm_input){ .keys = key, .count = 1 }, what,
					NULL);
}
