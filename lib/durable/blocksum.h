/*
 * blocksum.h - the records of a part's blocks: made at sync, compared by verify (layout.h states
 * their promise)
 */
#ifndef BLM_BLOCKSUM_H
#define BLM_BLOCKSUM_H

#include "view/view.h"

/* One block that does not match its record. */
struct blm_damage {
	unsigned part;
	uint64_t block, from, to;	/* from and to in the file */
	uint64_t ones, recorded;	/* bits that are set, and were at least */
};

/* The state of blocks that was seen before a write-back; to be recorded after it. */
struct blm_seen {
	struct blm_seen_block *block;
	size_t count, capacity;
	/* blocks that lost bits, and keep the records that show it */
	int damaged;
	struct blm_damage first;	/* of them */
};

/*
 * Reads the marked blocks of a filter whose data only grows, and clears the marks; the caller holds
 * BLM_LOCK_SYNC. At most 64 GiB of data are read. The other blocks stay marked for the next time,
 * and so do damaged ones. -ENOMEM: some marks may be lost, nothing else.
 */
int blm_blocksum_look(struct blm_view *view, struct blm_seen *ret);

/* After the write-back: write their records. Return: have any been written? */
bool blm_blocksum_record(struct blm_view *view, const struct blm_seen *seen, uint64_t epoch);

/* The write-back failed: marks the blocks that were read, for the next time. */
void blm_blocksum_look_again(struct blm_view *view, const struct blm_seen *seen);

void blm_seen_free(struct blm_seen *seen);

/*
 * Writes bytes, in complete blocks except for the last, into a part of a new file that is not
 * shared yet, and records the blocks on the way. Not through its map, where each page would be
 * zeroed first, in a fault of its own.
 */
int blm_blocksum_put(struct blm_view *new, unsigned part, uint64_t at, const void *bytes,
		     size_t count);

/*
 * The first block that the file owns, and their number: the blocks of its range if it is a part of
 * a split filter, otherwise all blocks of its first part. A sealed file has records of these.
 */
uint64_t blm_blocksum_owned(const struct blm_view *view, uint64_t *ret_first);

/*
 * Look and record, for a file that no other process has: all marked blocks; all there are, if it
 * is sealed. Before it is synced.
 */
int blm_blocksum_new(struct blm_view *view);

/*
 * Compares every block that has a record, and calls tell() for the damaged ones. Others may add and
 * sync in the meantime: a record is read before its block, so more ones are no damage, unless the
 * file is sealed. Return: how many blocks have a good record, or a negative result of tell().
 */
int64_t blm_blocksum_check(const struct blm_view *view, int (*tell)(void *context,
	const struct blm_damage *damage), void *context);

/*
 * Checks these bytes, complete blocks except for the last, before they are put into another filter:
 * are they all there? By the same rule; -EUCLEAN, with a message. The holes of a filter, which no
 * pass reads, are checked once, for the complete part.
 */
int blm_blocksum_intact(const struct blm_view *view, unsigned part, uint64_t at, size_t bytes,
			const char *display);
int blm_blocksum_intact_holes(const struct blm_view *view, unsigned part, const char *display);

/*
 * Set all bits of a damaged block, so that no key in it is denied, and record that. Only filters
 * whose data only grows.
 */
void blm_blocksum_fill(struct blm_view *view, const struct blm_damage *damage);

#endif
