/*
 * dirty.h - the words of a file about changes and write-backs that may not be on the disk (layout.h
 * has the words)
 */
#ifndef BLM_DIRTY_H
#define BLM_DIRTY_H

#include "file/os.h"
#include "view/view.h"

/* Is `written` at the current epoch already? Then blm_mark_written() does nothing. */
static inline bool blm_is_marked_written(const struct blm_live *live)
{
	uint64_t epoch = load_acquire(&live->epoch.word);

	return load_relaxed(&live->written.word) >= epoch;
}

/* Raise `written` to the current epoch (layout.h has the protocol). */
void blm_raise_written(struct blm_live *live);

/* The same for every change: only the first one of an epoch raises it. */
static inline void blm_mark_written(struct blm_live *live)
{
	if (__builtin_expect(!blm_is_marked_written(live), false))
		blm_raise_written(live);
}

/*
 * True if an announcement failed, or if the process that made it died. Another process may be
 * announcing now. `announcing` then is the boot's number with bit 0 cleared.
 */
static inline uint64_t blm_failed_number(void)
{
	return blm_boot_number() & ~UINT64_C(1);
}

static inline bool blm_failed_to_announce(const struct blm_live *live)
{
	return load_acquire(&live->announcing.word) == blm_failed_number();
}

/*
 * May the system call a page clean that it did not write? The first function reads the words of
 * flushes under BLM_LOCK_SYNC, including those of syncs, and what this handle remembers of them;
 * the second one the word of flushes that announce an epoch, under BLM_LOCK_WRITE. Both are true
 * during each such flush as well: a caller that only reports asks whether another process has that
 * lock. synced_epoch: of the last sync record. A sync also repeats whatever the epochs say if this
 * handle remembers a failure: the system may have read an older header from the disk, and another
 * handle may have synced with it.
 */
static inline bool blm_is_unwritten(const struct blm_view *view, uint64_t synced_epoch)
{
	const struct blm_live *live = live_of(view);

	return load_acquire(&live->failed.word) > synced_epoch
		|| atomic_load(&view->failed) > synced_epoch
		|| load_acquire(&live->flushing.word) == blm_boot_number();
}

static inline bool blm_is_unannounced(const struct blm_live *live)
{
	return load_acquire(&live->announcing.word) == blm_boot_number()
		|| blm_failed_to_announce(live);
}

#endif
