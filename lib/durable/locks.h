/*
 * locks.h - BLM_LOCK_WRITE and BLM_LOCK_SYNC of a view: among processes by its file, among threads
 * by its mutexes
 */
#ifndef BLM_LOCKS_H
#define BLM_LOCKS_H

#include "view/view.h"

/*
 * BLM_LOCK_WRITE: for kinds with a single writer the two begin() take it, exclusively, and the two
 * end() give it back; a change that is not idempotent must not be done again, so for them begin()
 * holds replacements off, too. It is also taken to remove from a kind that serializes removals,
 * where others are united with one that may be torn, and where an epoch of that begins or is
 * announced. Who reads such a filter whole takes it shared (blm_quiesce_begin()), which a read-only
 * handle can. The descriptor is there (blm_view_fd()). Who takes it of several files does so in the
 * order of their device and inode numbers.
 */
int blm_lock_writing(struct blm_view *view, bool exclusive);
void blm_unlock_writing(struct blm_view *view);

/* BLM_LOCK_SYNC. The descriptor is there (blm_view_fd()). */
int blm_lock_syncing(struct blm_view *view);
void blm_unlock_syncing(struct blm_view *view);

#endif
