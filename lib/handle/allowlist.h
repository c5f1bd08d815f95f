/*
 * allowlist.h - what write.c and keys.c need of allowlist.c: keys that come into a filter go off
 * its list
 */
#ifndef BLM_ALLOW_H
#define BLM_ALLOW_H

#include "handle/handle.h"

/*
 * Does the filter have a list, and under which state word was that true? Each change has an answer
 * of its own: of two threads that share a view, one may ask before a list comes, and the other
 * after.
 */
struct blm_asked {
	uint64_t state;
	bool listed;
};

/* In a word of view->asked: the catalog was asked under this state; it said that there is one. */
enum { BLM_ALLOW_ASKED = 0x80, BLM_ALLOW_LISTED = 0x40 };

/* Is it known that the filter has no list under this state word, which says LIVE? */
static inline bool blm_allow_has_none(const struct blm_filter *f, struct blm_view *view,
				      uint64_t state)
{
	return !f->place.store
		|| atomic_load_explicit(&view->asked, memory_order_relaxed)
			== (state | BLM_ALLOW_ASKED);
}

/* Can the filter have a list? Only a named filter of a store can. */
static inline bool blm_allow_may_have(const struct blm_filter *f)
{
	return f->place.store && !f->lent;
}

/* In a store: ask the view, or otherwise the catalog. 0 or a negative errno, with a message. */
int blm_allow_look_up(const struct blm_place *place, struct blm_view *view, struct blm_asked *ret);

/*
 * The name of the view is known: look its list up now, so that the first change need not. If this
 * fails, the first change does it.
 */
static inline void blm_allow_learn(const struct blm_place *place, struct blm_view *view)
{
	struct blm_asked asked;

	if (place->store)
		blm_allow_look_up(place, view, &asked);
}

/* Ask, within a change that will give keys or take some out. Fails as blm_allow_look_up(). */
static inline int blm_allow_ask(struct blm_filter *f, struct blm_view *view, struct blm_asked *ret)
{
	*ret = (struct blm_asked){ 0 };
	return blm_allow_may_have(f) ? blm_allow_look_up(&f->place, view, ret) : 0;
}

/*
 * After the end of a change that blocked no replacement: could a list have come since? Then do it
 * again.
 */
static inline bool blm_allow_is_stale(const struct blm_filter *f, const struct blm_view *view,
				      const struct blm_asked *asked)
{
	uint64_t state = load_acquire(&live_of(view)->state.word);

	return blm_allow_may_have(f) && (state != asked->state || state_of(state) != BLM_LIVE);
}

/*
 * These keys were given to the filter: removes them from its allowlist. The bits of listed keys are
 * set, too. Return: how many listed keys had no bit before, or a negative errno, with a message:
 * then the call that gave them must fail. bits NULL: none had.
 */
int64_t blm_allow_take_off(struct blm_filter *f, struct blm_view *view, const struct blm_key *keys,
			   size_t count, uint64_t *bits);
/*
 * Within a change that holds the file, for at most BLM_BATCH keys. The first function: which keys
 * are listed? Return: their number, or a negative errno, with a message. The second one removes the
 * keys that are to be claimed, each after give() has added it to the filter; give() may be called
 * more than once for a key, and fails with a message. *bits: set for the keys that this call
 * removed. Return: 0 or a negative errno: then no key is removed.
 */
int64_t blm_allow_find(struct blm_filter *f, struct blm_view *view, const struct blm_key *keys,
		       size_t count, uint64_t *ret_bits);
int blm_allow_claim(struct blm_filter *f, struct blm_view *view, const struct blm_key *keys,
		    size_t count, const uint64_t *listed, uint64_t *bits,
		    int (*give)(void *context, size_t i), void *context);
/* Any keys may have been given to it: ask, and take all off. */
int blm_allow_take_off_all(struct blm_filter *f, struct blm_view *view, struct blm_asked *ret);

#endif
