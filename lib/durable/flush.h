/* flush.h - the map is written back, and a failure is noted before anyone can miss it */
#ifndef BLM_FLUSH_H
#define BLM_FLUSH_H

#include "view/view.h"

/*
 * Write back some of the map; from NULL: all of the file, and its length. The caller holds
 * BLM_LOCK_SYNC. If that fails, here or because the system reports an old failure only now, all
 * pages are suspect (struct blm_live, failed). 0 or a negative errno, without words.
 */
int blm_flush(struct blm_view *view, void *from, uint64_t bytes);
/*
 * ... of a part of the map, for a sync: other writers may announce an epoch at the same time and
 * get our report of a failure.
 */
int blm_flush_among_others(struct blm_view *view, void *from, uint64_t bytes);
/* ... where the caller itself sees to it that a failure is noted. */
int blm_write_back(void *from, uint64_t bytes);

/*
 * ... for a caller that syncs and records a failure itself: also sees the failures of writers that
 * announce an epoch at the same time.
 */
int blm_write_among_others(struct blm_view *view, void *from, uint64_t bytes);

/*
 * Records a failed write-back of this epoch: in the view, and in the file, whose page of live words
 * is dirty afterwards. The system drops a dirty page only after another try to write it. If that
 * fails too, the system reports that to the next sync, even of a process that opens the file later.
 */
void blm_note_failure(struct blm_view *view, uint64_t epoch);

/*
 * Does the system have a report of a failure for the view's descriptor? It gives each report once.
 * Nothing is written. 0 or a negative errno; 0 also if the system cannot say, or without a
 * descriptor.
 */
int blm_take_report(const struct blm_view *view);

/*
 * The system calls a page clean that it failed to write, and would not write it again. A store of
 * the word that is there, aligned to 8, makes its page dirty; no writer's change is lost.
 */
void blm_touch(void *word);

/*
 * Every page of the file that may hold data becomes dirty, so that the next write-back writes all
 * of them.
 */
void blm_make_dirty(struct blm_view *view);

#endif
