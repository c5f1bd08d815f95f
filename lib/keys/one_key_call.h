/*
 * one_key_call.h - what calls with one key look at first: is there anything that only keys.c copes
 * with?
 */
#ifndef BLM_ONE_KEY_CALL_H
#define BLM_ONE_KEY_CALL_H

#include "file/sigbus.h"
#include "handle/allowlist.h"
#include "keys/key_batch.h"

static inline struct blm_view *view_of(const struct blm_filter *f)
{
	return atomic_load_explicit(&((struct blm_filter *)f)->view, memory_order_acquire);
}

static inline uint64_t state_word(const struct blm_view *view)
{
	return load_acquire(&live_of(view)->state.word);
}

static inline bool is_seen(struct blm_view *view, uint64_t state)
{
	return state == atomic_load_explicit(&view->seen_state, memory_order_relaxed);
}

/* 1, 2, 3 and 7 of the list in one_key_call.c. */
static inline bool is_plain(struct blm_filter *f, struct blm_view *view, uint64_t state)
{
	return is_seen(view, state) && state_of(state) == BLM_LIVE
		&& f->write && !f->lent
		&& !atomic_load_explicit(&f->status, memory_order_relaxed)
		&& blm_allow_has_none(f, view, state) && !blm_sigbus_hit_any();
}

/*
 * one_change.c: add, claim or remove one key, in kinds that only one writer may change, and in all
 * others as blm_input_change() does.
 */
int blm_change_one(struct blm_filter *f, const struct blm_key *key, enum blm_what what);

#endif
