/*
 * locks.h - BLM_LOCK_WRITE and BLM_LOCK_SYNC of a view: among processes by its file, among threads
 * by its mutexes
 */
#ifndef BLM_LOCKS_H
#define BLM_LOCKS_H

#include "view/view.h"

/*
 * BLM_LOCK_WRITE.
 *   exclusively   by each change of a kind with a single writer, from begin() to end(). Such a
 *                 change is not idempotent and must not be repeated, so begin() also holds
 *                 replacements off. By a removal from a kind that serializes removals, and by a
 *                 claim in it. These changes may be made by the word `writer` instead
 *                 (writer_word.h). By a union into a filter that may be torn, and where an epoch of
 *                 such a filter begins or is announced.
 *   shared        by a reader of all the data of such a filter (blm_quiesce_begin()). A read-only
 *                 handle can take it, too.
 * Either mode waits until no thread changes the filter by that word, and lets none begin.
 * The view must have its descriptor (blm_view_fd()). A caller that locks several files takes them
 * in the order of their device and inode numbers.
 */
int blm_lock_writing(struct blm_view *view, bool exclusive);
void blm_unlock_writing(struct blm_view *view);

/*
 * May a thread change the filter at this moment? True if one is present in a slot, or holds
 * BLM_LOCK_REPLACE. Does not wait. The caller is a looker (presence.h), whose step 1 is before.
 */
bool blm_is_changing(struct blm_view *view);

/* BLM_LOCK_SYNC. The view must have its descriptor (blm_view_fd()). */
int blm_lock_syncing(struct blm_view *view);
void blm_unlock_syncing(struct blm_view *view);

#endif
