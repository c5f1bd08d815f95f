/* exclusive.h - the only handle that changes a filter; exclusive.c has the protocol */
#ifndef BLM_EXCLUSIVE_H
#define BLM_EXCLUSIVE_H

#include "handle/handle.h"

/*
 * Become the owner. -EBUSY, with a message, if another handle is; otherwise as blm_lock_current().
 */
int blm_own_exclusively(struct blm_filter *f);
/*
 * May this handle change the file of this view, as far as other owners go? 0 or -EBUSY. Asked after
 * the state word was loaded that the view has seen. Most files have never had an owner, and their
 * state word says so. For the others ask_owner() asks the system.
 */
int blm_ask_owner(const struct blm_filter *f, const struct blm_view *view);
static inline int blm_ask_admission(const struct blm_filter *f, const struct blm_view *view)
{
	return f->exclusive || owners_of(load_acquire(&live_of(view)->state.word))
		? blm_ask_owner(f, view) : 0;
}

/*
 * May this handle replace the file of this view, for example to clear the filter? -EBUSY, with a
 * message, if the handle itself is the owner: its own lock prevents the replacement.
 */
int blm_ask_replacement(const struct blm_filter *f, const struct blm_view *view);
/* Of a handle whose status is -EBUSY, before its next change. An owner becomes one again. */
int blm_ask_admission_again(struct blm_filter *f);

/*
 * Is the next view of an owner of the same file, which has grown? Then both views share the
 * description, which holds the lock.
 */
static inline bool blm_shares_description(const struct blm_filter *f)
{
	const struct blm_view *view = atomic_load(&((struct blm_filter *)f)->view);

	return view && is_exclusive(view) && blm_is_at_place(f, view) == 1;
}

void blm_inherit_exclusive(struct blm_view *view, const struct blm_view *from);
/* In a forked child, which has no descriptor, and so no lock. */
void blm_lose_exclusive(struct blm_filter *f, struct blm_view *view);

#endif
