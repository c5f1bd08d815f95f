/*
 * checkpoint.h - the checkpoint image of a filter's data, for kinds whose changes must reach the
 * disk all or not at all (checkpoint.c)
 */
#ifndef BLM_CHECKPOINT_H
#define BLM_CHECKPOINT_H

#include "durable/blocksum.h"

/* For a file that no other process has, before it is synced: the image of its data. */
int blm_checkpoint_new(struct blm_view *view);

/*
 * sync.c, with BLM_LOCK_SYNC: take() writes the changed blocks to the journal, which is empty; the
 * caller holds BLM_LOCK_WRITE, too. When the sync record of that epoch is on the disk, finish()
 * copies the journal to the image. If the sync fails, again() makes the next sync write these
 * blocks again. finish_killed() comes before all that: the record of a killed sync may be in memory
 * only, or undone in memory only, so it is written back before journal and image change. They fail
 * with a message.
 */
int blm_checkpoint_take(struct blm_view *view, uint64_t epoch, const char *display);
int blm_checkpoint_finish(struct blm_view *view, const char *display);
int blm_checkpoint_finish_killed(struct blm_view *view, const char *display);
void blm_checkpoint_again(struct blm_view *view, uint64_t epoch);
/*
 * copies.c: before all of these, if this is a copy: makes the next sync write the complete image,
 * in an epoch after all epochs in the file; afterwards the image belongs to this file.
 */
int blm_checkpoint_mend_copy(struct blm_view *view, const char *display);
/* flush: not of a new file, which is flushed later */
int blm_checkpoint_is_whole(struct blm_view *view, const char *display, bool flush);

/*
 * The first block that the journal has, from the offset `at` of the file on: from where to where it
 * lies.
 */
bool blm_checkpoint_next_noted(const struct blm_view *view, uint64_t at, uint64_t *ret_from,
			       uint64_t *ret_to);

/*
 * recovery.c: was there a power cut after the last sync, so that the data cannot be trusted? This
 * concerns only unsealed files of kinds with a checkpoint.
 */
bool blm_checkpoint_was_cut(const struct blm_view *view);

static inline bool blm_checkpoint_is_needed(const struct blm_view *view)
{
	return kind_has_checkpoint(view->root.kind)
		&& !(le64toh(view->constant.flags) & BLM_FLAG_SEALED)
		&& blm_checkpoint_was_cut(view);
}

/*
 * Then: shows the data as of the last sync, to every process; the caller holds all locks. Or only
 * in this view, which cannot write. They fail with a message.
 */
int blm_checkpoint_restore(struct blm_view *view, const char *display);
int blm_checkpoint_show(struct blm_view *view, const char *display);

/* Compare the image with its records; as blm_blocksum_check(). */
int blm_checkpoint_check(const struct blm_view *view, int (*tell)(void *context,
	const struct blm_damage *damage), void *context);

#endif
