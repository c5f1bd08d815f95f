/*
 * one_key_call.c - calls with one key: from the call to the bits, without the machinery of batches
 *
 * keys.c has the complete path of a change: allowlists, files that were replaced or are being
 * replaced, kinds whose writers take turns. Mostly none of these applies, and a few loads show
 * that. Then the add is done here; otherwise keys.c does it.
 *
 * Every promise of keys.c holds here, too:
 *   1. The handle may change the file, because the view has no add function otherwise (view.h), and
 *      the view belongs to this handle (struct blm_filter). A filter read from another program's
 *      file could be changed, but its handle is for reading.
 *   2. The state word equals the one at the last look-up of the name, and means LIVE.
 *   3. The catalog was asked for an allowlist under that word, and has none (allowlist.c).
 *   4. `written` equals the epoch (layout.h) before the first bit, and is checked again after the
 *      last bit.
 *   5. The key is counted after its bits.
 *   6. Then the state word is loaded again, after a full fence, and has not changed. So a process
 *      that replaces the file copies these bits (write.c), and no allowlist was made since.
 *   7. No page of the map was missing, before and after (sigbus.h).
 *   8. A filter that grows has all its parts in the view, and space in the last one. A claimer
 *      looks at the parts again while it is present.
 *
 * The fence of 6: if the add changed something, its last store is the count, an atomic addition
 * after the bits and their mark. If the add changed nothing it stored nothing: all its bits were
 * there, so the state word that it loads after them is not older than they are.
 */
#include "file/presence.h"
#include "keys/one_key_call.h"

static __attribute__((noinline)) bool contains_slowly(const struct blm_filter *f, const void *bytes,
						      size_t len)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view *view = current_view(f);
	const struct blm_key key = { bytes, len };
	struct blm_hashed hashed;

	hashed.key = &key;
	hashed.by = &view->hasher;
	hashed.when = NULL;
	if (!wants_keys(&view->hasher))
		view->hasher.family->hash(&view->hasher, &key, &hashed.hash);
	/* a part cannot deny a key of another part */
	return !blm_view_owns(view, &hashed.hash)
		|| view->root.kind->contains(&view->root, &hashed);
}

/* ---- Asking ---- */

/*
 * A core executes at most some hundreds of instructions past a cache miss. Each instruction saved
 * here lets the miss of the next question begin sooner (tests/bench/instructions counts them; in
 * tests/bench: "contains absent" of a filter larger than the cache).
 */
BLM_API bool blm_contains(const struct blm_filter *f, const void *bytes, size_t len)
{
	struct blm_view *view;
	bool known = blm_enter_quickly(), yes = false;

	if (__builtin_expect(!known, false))
		return contains_slowly(f, bytes, len);
	view = view_of(f);
	known = view->one.contains && is_seen(view, state_word(view));
	if (__builtin_expect(known, true))
		yes = view->one.contains(&view->one, bytes, len);
	blm_leave_quickly();
	return __builtin_expect(known, true) ? yes : contains_slowly(f, bytes, len);
}

BLM_API int blm_get(const struct blm_filter *f, const void *bytes, size_t len, uint64_t *ret)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view *view = current_view(f);
	const struct blm_key key = { bytes, len };
	struct blm_hashed hashed;

	if (!view->root.kind->get || view->split.parts)	/* which has words for it */
		return (int)blm_get_many(f, &key, 1, ret, NULL);
	hashed.key = &key;
	hashed.by = &view->hasher;
	hashed.when = NULL;
	if (!wants_keys(&view->hasher))
		view->hasher.family->hash(&view->hasher, &key, &hashed.hash);
	return view->root.kind->get(&view->root, &hashed, ret);
}

/* 1, 0, or a negative errno; blm_contains_hashes() then makes the message. */
BLM_API int blm_contains_hash(const struct blm_filter *f, uint64_t hash_id,
			      const struct blm_hash *hash)
{
	bool known = false, yes = false;

	if (__builtin_expect(blm_enter_quickly(), true)) {
		struct blm_view *view = view_of(f);

		known = view->one.contains_hash && view->hash_id == hash_id
			&& is_seen(view, state_word(view));
		if (__builtin_expect(known, true))
			yes = view->one.contains_hash(&view->one, hash);
		blm_leave_quickly();
	}
	return __builtin_expect(known, true) ? yes
		: (int)blm_contains_hashes(f, hash_id, hash, 1, NULL);
}

/* ---- Adding ---- */

/* The complete change, in keys.c, handles events in between. */
static __attribute__((noinline)) int end_slowly(struct blm_filter *f, struct blm_view *view,
						uint64_t state, int changed)
{
	int r = blm_change_end(f, view);

	if (r == 0 && blm_allow_is_stale(f, view, &(struct blm_asked){ .state = state }))
		r = -EAGAIN;
	if (r == 0 && changed)
		r = blm_sync_if_due(f, 1);
	return r < 0 ? r : changed;
}

static inline bool is_unchanged(struct blm_view *view, uint64_t state)
{
	return blm_is_marked_written(live_of(view)) && state_word(view) == state
		&& is_seen(view, state) && !blm_sigbus_hit_any();
}

/* changed: what the kind's add said */
static inline __attribute__((always_inline)) int end_add(struct blm_filter *f,
							 struct blm_view *view, uint64_t state,
							 int changed)
{
	if (__builtin_expect(changed < 0, false))
		return -EAGAIN;		/* and fails again, with a message */
	if (changed)
		blm_count_keys(view, 1);
	fence_after_atomics();
	if (__builtin_expect(!is_unchanged(view, state) || blm_syncs_by_itself(f), false))
		return end_slowly(f, view, state, changed);
	return changed;
}

/* A key, or its hash; the compiler inlines one of them as a constant. */
struct given {
	const void *bytes;
	size_t len;
	const struct blm_hash *hash;	/* NULL: a key */
	uint64_t hash_id;
};

static inline __attribute__((always_inline)) int give(struct blm_view *view,
						      const struct given *given)
{
	return given->hash ? view->one.add_hash(&view->one, given->hash)
		: view->one.add(&view->one, given->bytes, given->len);
}

static inline __attribute__((always_inline)) bool is_for(const struct blm_view *view,
							 const struct given *given)
{
	return given->hash ? view->one.add_hash && view->hash_id == given->hash_id
		: view->one.add != NULL;
}

/* -EAGAIN: keys.c must do the add, which may be done twice. */
static inline __attribute__((always_inline)) int add_plainly(struct blm_filter *f,
							     const struct given given)
{
	struct blm_view *view = view_of(f);
	uint64_t state = state_word(view);
	int changed;

	if (__builtin_expect(!is_for(view, &given) || !is_plain(f, view, state), false))
		return -EAGAIN;
	blm_mark_written(live_of(view));
	changed = give(view, &given);
	return end_add(f, view, state, changed);
}

/* ---- Claiming ---- */

static __attribute__((noinline)) int claim_by_kind(struct blm_view *view,
						   const struct blm_hash *hash)
{
	const struct blm_hashed hashed = { .hash = *hash, .by = &view->hasher };

	return view->root.kind->claim(&view->root, &hashed);
}

/*
 * Enters the file of the name as present (presence.h), which delays processes that replace the file
 * or make an allowlist. Until blm_presence_leave() steps 4, 5 and 7 of the list above apply; step 6
 * is not needed. False: keys.c must do the claim.
 */
static inline bool claim_present(struct blm_filter *f, struct blm_view *view, uint64_t state,
				 const struct blm_hash *hash, int *ret_won)
{
	bool known, exclusive = is_exclusive(view);

	if (__builtin_expect(!exclusive && !blm_presence_enter(&view->presence), false))
		return false;
	known = state_word(view) == state && is_seen(view, state)
		&& (!view->grows || has_all_parts(view));
	if (__builtin_expect(known, true)) {
		blm_mark_written(live_of(view));
		*ret_won = view->one.claim ? view->one.claim(&view->one, hash)
			: claim_by_kind(view, hash);
		if (__builtin_expect(*ret_won, true)) {
			blm_count_keys(view, 1);
			fence_after_atomics();
		} else {
			full_fence();	/* others completed it meanwhile */
		}
		blm_mark_written(live_of(view));
	}
	if (!exclusive)
		blm_presence_leave(&view->presence);
	return known;
}

static inline int claimed(struct blm_filter *f, struct blm_view *view, int won)
{
	if (__builtin_expect(blm_sigbus_hit_any(), false)) {
		int r = blm_check_sigbus(view, f->place.display);

		if (r < 0)
			return r;
	}
	if (__builtin_expect(won && blm_syncs_by_itself(f), false)) {
		int r = blm_sync_if_due(f, 1);

		return r < 0 ? r : won;
	}
	return won;
}

/*
 * A key that is present is not new, even if the file is replaced: it is asked as by blm_contains().
 * -EAGAIN: keys.c must do the claim.
 */
static inline __attribute__((always_inline)) int claim_plainly(struct blm_filter *f,
							       const struct given given)
{
	struct blm_view *view = view_of(f);
	uint64_t state = state_word(view);
	struct blm_hash hash;
	int won = 0;

	if (__builtin_expect(!view->one.ask || !is_plain(f, view, state), false))
		return -EAGAIN;
	if (given.hash && view->hash_id != given.hash_id)
		return -EAGAIN;
	if (given.hash)
		hash = *given.hash;
	if (!(given.hash ? view->one.contains_hash(&view->one, &hash)
	      : view->one.ask(&view->one, given.bytes, given.len, &hash))
	    && !claim_present(f, view, state, &hash, &won))
		return -EAGAIN;
	return claimed(f, view, won);
}

/* ---- Filters that grow ---- */

/*
 * A few keys at a time are added without a look at the count, as in a batch: space_in() in change.c
 * says why these few. Threads that take a key from `uncounted` at once may take the same one.
 */
static inline bool has_space(struct blm_view *view)
{
	uint32_t few = atomic_load_explicit(&view->uncounted, memory_order_relaxed);
	uint64_t space;

	if (!has_all_parts(view))
		return false;
	if (__builtin_expect(!few, false)) {
		space = view->root.kind->space(&view->root, blm_counted_keys(view));
		if (!space)
			return false;
		few = space / 256 < UINT32_MAX ? (uint32_t)(space / 256) + 1 : UINT32_MAX;
	}
	atomic_store_explicit(&view->uncounted, few - 1, memory_order_relaxed);
	return true;
}

static inline struct blm_hashed hashed_of(const struct blm_view *view, const struct blm_key *key)
{
	struct blm_hashed hashed = { .key = key, .by = &view->hasher };

	view->hasher.family->hash(&view->hasher, key, &hashed.hash);
	return hashed;
}

/*
 * As add_plainly(). If the filter grows meanwhile the key is in the part that was the last one, as
 * that of any other writer who was delayed.
 */
static int add_growing(struct blm_filter *f, struct blm_view *view, const struct blm_key *key)
{
	uint64_t state = state_word(view);
	struct blm_hashed hashed;
	int changed;

	if (!is_plain(f, view, state) || !has_space(view))
		return -EAGAIN;
	hashed = hashed_of(view, key);
	blm_mark_written(live_of(view));
	changed = view->root.kind->add(&view->root, &hashed);
	return end_add(f, view, state, changed);
}

/* As claim_plainly(). The thread is present, so all claimers of the key claim it in one part. */
static int claim_growing(struct blm_filter *f, struct blm_view *view, const struct blm_key *key)
{
	uint64_t state = state_word(view);
	struct blm_hashed hashed;
	int won = 0;

	if (!is_plain(f, view, state) || !has_space(view))
		return -EAGAIN;
	hashed = hashed_of(view, key);
	/* a claim in the only part asks for the key itself */
	if ((view->root.subs == 1 || !view->root.kind->contains(&view->root, &hashed))
	    && !claim_present(f, view, state, &hashed.hash, &won))
		return -EAGAIN;
	return claimed(f, view, won);
}

static __attribute__((noinline)) int change_growing(struct blm_filter *f, const struct blm_key *key,
						    enum blm_what what)
{
	int r = -EAGAIN;

	if (blm_enter_quickly()) {
		struct blm_view *view = view_of(f);

		if (view->grows)
			r = what == BLM_ADD ? add_growing(f, view, key)
				: claim_growing(f, view, key);
		blm_leave_quickly();
	}
	return r != -EAGAIN ? r : blm_change_one(f, key, what);
}

/* ---- The calls ---- */

BLM_API int blm_add(struct blm_filter *f, const void *bytes, size_t len)
{
	int r = -EAGAIN;

	if (__builtin_expect(blm_enter_quickly(), true)) {
		r = add_plainly(f, (struct given){ .bytes = bytes, .len = len });
		blm_leave_quickly();
	}
	return __builtin_expect(r != -EAGAIN, true) ? r
		: change_growing(f, &(struct blm_key){ bytes, len }, BLM_ADD);
}

BLM_API int blm_add_hash(struct blm_filter *f, uint64_t hash_id, const struct blm_hash *hash)
{
	int r = -EAGAIN;

	if (__builtin_expect(blm_enter_quickly(), true)) {
		r = add_plainly(f, (struct given){ .hash = hash, .hash_id = hash_id });
		blm_leave_quickly();
	}
	return __builtin_expect(r != -EAGAIN, true) ? r
		: (int)blm_add_hashes(f, hash_id, hash, 1, NULL);
}

BLM_API int blm_claim(struct blm_filter *f, const void *bytes, size_t len)
{
	int r = -EAGAIN;

	if (__builtin_expect(blm_enter_quickly(), true)) {
		r = claim_plainly(f, (struct given){ .bytes = bytes, .len = len });
		blm_leave_quickly();
	}
	return __builtin_expect(r != -EAGAIN, true) ? r
		: change_growing(f, &(struct blm_key){ bytes, len }, BLM_CLAIM);
}

BLM_API int blm_claim_hash(struct blm_filter *f, uint64_t hash_id, const struct blm_hash *hash)
{
	int r = -EAGAIN;

	if (__builtin_expect(blm_enter_quickly(), true)) {
		r = claim_plainly(f, (struct given){ .hash = hash, .hash_id = hash_id });
		blm_leave_quickly();
	}
	return __builtin_expect(r != -EAGAIN, true) ? r
		: (int)blm_claim_hashes(f, hash_id, hash, 1, NULL);
}
