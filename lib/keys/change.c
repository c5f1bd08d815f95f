/*
 * change.c - adds, claims, removes and puts keys: in the current file, again if that was replaced
 * meanwhile, and as many at a time as there is space for
 */
#include "handle/allowlist.h"
#include "handle/allowlist_carry.h"
#include "keys/change.h"
#include "keys/extend.h"

/* Can the kind do this? The message says which kinds can. */
int blm_check_can(const struct blm_filter *f, const struct blm_view *view, enum blm_what what)
{
	static const struct { const char *does; unsigned can; } needs[] = {
		[BLM_ADD]    = { "take keys one by one", BLM_CAN_ADD },
		[BLM_CLAIM]  = { "tell who was first", BLM_CAN_CLAIM },
		[BLM_REMOVE] = { "take keys out", BLM_CAN_REMOVE },
		[BLM_PUT]    = { "take values for keys", BLM_CAN_PUT },
		[BLM_GET]    = { "hold values of keys", BLM_CAN_GET },
	};

	return view->can & needs[what].can ? 0
		: blm_cannot(view, f, needs[what].does, needs[what].can);
}

/*
 * Removing a key, and telling which caller was first, look at several words and then change them.
 * So one thread of one process does it at a time.
 */
static bool is_lone(const struct blm_view *view, enum blm_what what)
{
	return kind_serializes_removals(view->root.kind)
		&& (what == BLM_REMOVE || what == BLM_CLAIM);
}

static bool gives_keys(enum blm_what what)
{
	return what == BLM_ADD || what == BLM_CLAIM || what == BLM_PUT;
}

/* How many more are new: those on the allowlist (allowlist.h). */
static int64_t take_off(struct blm_filter *f, struct blm_view *view, const struct blm_input *in,
			enum blm_what what, uint64_t *ret_bits)
{
	struct blm_key buffer[BLM_BATCH];
	int64_t new = 0, r = 0;

	for (size_t at = 0, count; at < in->count && !in->hashes && r >= 0; at += BLM_BATCH) {
		count = in->count - at < BLM_BATCH ? in->count - at : BLM_BATCH;
		r = blm_allow_take_off(f, view, blm_input_keys(in, at, count, buffer), count,
				       ret_bits && what != BLM_PUT ? ret_bits + at / 64 : NULL);
		new += r;
	}
	new = r < 0 ? r : what == BLM_PUT ? 0 : new;
	blm_count_keys(view, new > 0 ? (uint64_t)new : 0);
	return new;
}

static void note_packed(const struct blm_filter *f, const struct blm_input *in)
{
	struct blm_key buffer[BLM_BATCH];

	for (size_t at = 0, count; at < in->count; at += count) {
		count = in->count - at < BLM_BATCH ? in->count - at : BLM_BATCH;
		blm_allowlist_carry_note(f->carry, blm_input_keys(in, at, count, buffer), count);
	}
}

/* To a file that is to take the place of another (allowlist_carry.h). */
static void note(const struct blm_filter *f, const struct blm_input *in)
{
	if (in->hashes)
		blm_allowlist_carry_note_unnamed(f->carry);
	else if (in->keys)
		blm_allowlist_carry_note(f->carry, in->keys, in->count);
	else if (in->offsets)
		note_packed(f, in);
	else
		blm_allowlist_carry_note_fixed(f->carry, in->fixed, in->width, in->count);
}

/* The message for an error of a kind. */
int blm_change_word(const struct blm_filter *f, const struct blm_view *view, int r, int64_t new)
{
	if (r == -EXFULL)
		r = blm_fail(r, "%s: is full: %llu keys are in it, and there is no room for this "
			     "one; %sblm_rebuild() makes a larger one from the keys",
			     f->place.display,
			     (unsigned long long)blm_counted_keys(view)
			     + (unsigned long long)new,
				view->root.kind->grow ? "blm_grow() doubles it, or " : "");
	/* for kinds that hold a key several times: there is space for other keys */
	if (r == -EMLINK)
		r = blm_fail(-EXFULL, "%s: this key is in it as often as a %s filter can hold one; "
			     "use claim for keys that come again", f->place.display,
			     view->root.kind->name);
	if (r == -EMSGSIZE || r == -EREMOTE || (r == -EINVAL && view->hasher.family->column))
		r = blm_fail(r, "%s: %s", f->place.display, strdupa(blm_error_message()));
	if (r == -EUCLEAN)
		r = blm_fail(r, "%s: removes no key, because a power cut, a copy or a union may "
			     "have left counts too low; blm_rebuild() makes it anew from its keys",
			     f->place.display);
	if (r == -EKEYREVOKED)
		r = blm_fail(r, "%s: a key was removed before, and a %s filter cannot add a "
			     "removed key again",
			     f->place.display, view->root.kind->name);
	return r;
}

struct blm_input blm_input_from(const struct blm_input *in, size_t at)
{
	struct blm_input rest = *in;

	rest.count -= at;
	rest.keys = in->keys ? in->keys + at : NULL;
	rest.fixed = in->fixed ? in->fixed + at * in->width : NULL;
	rest.offsets = in->offsets ? in->offsets + at * in->offset_bytes : NULL;
	rest.hashes = in->hashes ? in->hashes + at : NULL;
	rest.values = in->values ? in->values + at : NULL;
	rest.ret_values = in->ret_values ? in->ret_values + at : NULL;
	return rest;
}

/* A fingerprint could be another key's, which was moved. */
static int may_take_out(const struct blm_filter *f, const struct blm_view *view)
{
	if (!kind_has_checkpoint(view->root.kind) || !part_is_torn(&view->root))
		return 0;
	return blm_fail(-EUCLEAN, "%s: removes no key, because it was copied byte by byte during "
			"changes and may lack keys; blm_rebuild() makes it anew from its keys",
			f->place.display);
}

static int run(struct blm_filter *f, struct blm_view *view, const struct blm_input *in,
	       enum blm_what what, bool listed, uint64_t *ret_bits,
	       int64_t *ret_yes)
{
	bool lone = is_lone(view, what);
	int r = what == BLM_REMOVE ? may_take_out(f, view) : 0;

	if (r == 0 && lone)
		r = blm_lone_begin(f, view);
	if (r < 0)
		return r;
	if (listed && (what == BLM_CLAIM || what == BLM_REMOVE)) {
		r = blm_run_listed(f, view, in, what, ret_bits, ret_yes);
	} else {
		r = blm_input_run(view, in, what, ret_bits, ret_yes);
		r = blm_change_word(f, view, r, *ret_yes);
	}
	if (lone)
		blm_lone_end(view);
	return r;
}

/* The count follows the contents of the file, even if a call fails in the middle. */
static int64_t change(struct blm_filter *f, struct blm_view *view, const struct blm_input *in,
		      enum blm_what what, uint64_t *ret_bits,
		      struct blm_asked *ret_asked)
{
	int64_t changed = 0;
	int r = blm_input_check(f, view, in);

	if (r == 0)
		r = blm_check_can(f, view, what);
	if (r == 0 && in->hashes && view->root.kind->holds_keys)
		r = blm_fail(-EOPNOTSUPP, "%s: an %s holds keys, not hashes of them, so it takes "
			     "none", f->place.display, view->root.kind->name);
	if (r == 0)
		r = blm_allow_ask(f, view, ret_asked);
	if (r == 0 && gives_keys(what) && f->carry)
		note(f, in);
	if (r == 0 && in->hashes && ret_asked->listed)
		r = blm_fail(-EMEDIUMTYPE, "%s: has a list of false positives, so it takes keys, "
			     "but no hashes of keys", f->place.display);
	if (r == 0)
		r = run(f, view, in, what, ret_asked->listed, ret_bits, &changed);
	blm_count_keys(view, what == BLM_REMOVE ? -(uint64_t)changed : (uint64_t)changed);
	return r < 0 ? r : changed;
}

/*
 * How many keys fit, as a small part of the free space: a writer that found space may be delayed,
 * and add as many keys when others have filled it. (A filter that is a sixth too full is wrong
 * twice as often.) If a slot ends by the clock it is one batch, after which the clock is read
 * again: a change that takes longer than a slot would never end.
 */
static uint64_t space_in(const struct blm_view *view, enum blm_what what)
{
	const struct blm_kind *kind = view->root.kind;
	uint64_t space;

	if (!kind->space || (what != BLM_ADD && what != BLM_CLAIM))
		return UINT64_MAX;
	space = kind->space(&view->root, blm_counted_keys(view));
	return space == UINT64_MAX ? BLM_BATCH : space ? space / 256 + 1 : 0;
}

/*
 * Changes some keys. Setting a bit twice equals setting it once, so an add to a set of bits is
 * repeated if the file was replaced meanwhile. After three repetitions it delays replacements, or
 * it might never end. Changes that may not be done twice delay them from the beginning: kinds that
 * are no set of bits, and claims. After a failure the answer for keys that were not reached is no.
 * Return: how many of the first *count keys were changed; *count: as many as there was space for.
 */
static int64_t change_some(struct blm_filter *f, const struct blm_input *in, enum blm_what what,
			   uint64_t *ret_bits, size_t *count)
{
	bool only_once = what != BLM_ADD || !kind_may_add_again(current_view(f)->root.kind);

	if (f->write && !kind_takes_keys(current_view(f)->root.kind)
	    && blm_check_can(f, current_view(f), what) < 0)
		return -EOPNOTSUPP;	/* in the terms of the caller's request */
	for (int tries = 0;; tries++) {
		bool held = tries == 3 || only_once, again;
		struct blm_input some = *in;
		struct blm_view *view;
		uint64_t space;
		int64_t changed = 0, new = 0;
		struct blm_asked asked = { 0 };
		int r;

		if (ret_bits)
			memset(ret_bits, 0, (*count + 63) / 64 * sizeof(*ret_bits));
		r = held ? blm_change_begin_held(f, &view) : blm_change_begin(f, &view);
		if (r < 0)
			return r;
		/* a filter of another kind has replaced it */
		again = !held && !kind_may_add_again(view->root.kind);
		only_once |= again;
		space = *count ? space_in(view, what) : UINT64_MAX;
		some.count = space < *count ? (size_t)space : *count;
		if (space && !again)
			changed = change(f, view, &some, what, ret_bits, &asked);
		if (asked.listed && (what == BLM_ADD || what == BLM_PUT) && changed != -EAGAIN)
			new = take_off(f, view, &some, what, ret_bits);
		if (new > 0 && changed >= 0)
			changed = (size_t)(changed + new) < some.count ? changed + new
				: (int64_t)some.count;
		if (held)
			blm_change_end_held(f, view);
		r = held ? blm_check_sigbus(view, f->place.display) : blm_change_end(f, view);
		if (r == 0 && new < 0)
			r = (int)new;
		if (r == 0 && gives_keys(what) && space && !again && !held
		    && !kind_has_single_writer(view->root.kind) && changed >= 0
		    && blm_allow_is_stale(f, view, &asked))
			r = -EAGAIN;
		if (r == 0 && space == 0) {
			r = blm_filter_extend(f, view, BLM_EXTEND_IF_FULL);
			r = r < 0 ? r : 0;
			tries = 0;
			again = true;
		}
		if (r == 0 && changed > 0)
			r = blm_sync_if_due(f, (uint64_t)changed);
		if (r == -EAGAIN || (r == 0 && (again || changed == -EAGAIN)))
			continue;
		*count = some.count;
		return r < 0 ? r : changed;
	}
}

/*
 * All keys, as many at a time as there is space for. Answers are written as complete words, with
 * zeros after the last; so if the space ended within a word, the rest of that word comes next, and
 * by itself.
 */
int64_t blm_input_change(struct blm_filter *f, const struct blm_input *in, enum blm_what what,
			 uint64_t *ret_bits)
{
	BLM_CRITICAL_SECTION;
	int64_t all = 0;
	size_t at = 0;

	if (ret_bits)
		memset(ret_bits, 0, (in->count + 63) / 64 * sizeof(*ret_bits));
	do {
		struct blm_input rest = blm_input_from(in, at);
		uint64_t few = 0, *bits = ret_bits ? ret_bits + at / 64 : NULL;
		size_t within = at % 64, count = within
			&& 64 - within < rest.count ? 64 - within : rest.count;
		int64_t changed = change_some(f, &rest, what, bits && within ? &few : bits, &count);

		if (changed < 0)
			return changed;
		if (bits && within)
			*bits |= few << within;
		all += changed;
		at += count;
	} while (at < in->count);
	return all;
}
