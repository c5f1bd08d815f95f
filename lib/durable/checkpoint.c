/*
 * checkpoint.c - an image of the data, so that after a power cut a filter is what its last sync
 * found
 *
 * The data are written back by the system page by page, whenever it likes. Where keys move from one
 * page to another that can lose some that were synced long ago. So these files have an image of the
 * data, and a journal (format.h has the bytes), that only a sync writes:
 *
 *   1. under the writers' lock: copies the blocks that changed to the journal, each with a record
 *      of this sync's epoch; new epoch;
 *   2. writes back all of the file; then the sync record of that epoch: from now on the journal's
 *      blocks count;
 *   3. copies them to the image, writes that back, and takes their records away, then their space.
 *
 * A sync that stopped before 2 was done left records of an epoch that was never reached; one that
 * stopped in 3 is ended by the next one, once it is sure that the sync record is on the disk. The
 * first change after a sync is announced on the disk (write.c), so a file that was changed after
 * its last sync shows it: opened under the same boot number its data are as processes left them.
 * Under another one they are unknown, and they are made again from image and journal. Marks are set
 * before a change here, under the writers' lock, so they are exact, but in a copy.
 *
 * checkpoint_blocks.c has the blocks and records of both, recovery.c the steps after a power cut,
 * copies.c the rules for a file that was copied meanwhile.
 */
#include "durable/checkpoint_blocks.h"
#include "durable/dirty.h"
#include "durable/extents.h"
#include "durable/flush.h"
#include "file/two_slots.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

int blm_checkpoint_new(struct blm_view *view)
{
	struct blm_checkpoint s = blm_checkpoint_of(view);
	struct blm_sync_record record = { .keys = htole64(blm_counted_keys(view)) };

	for (uint64_t b = 0; b < s.count; b++)
		if (s.part->marks[b]) {
			s.part->marks[b] = 0;
			blm_checkpoint_copy(&s, BLM_IMAGE, b, s.part->bytes + b * BLM_BLOCK, 0);
		}
	blm_checkpoint_is_whole(view, "", false);
	blm_next_sync(live_of(view), view->constant.uuid, &record);
	return 0;
}

/* ---- Syncing ---- */

/* Does the record say that the journal has something of the block, or nothing that can be read? */
static bool is_noted(const struct blm_checkpoint *s, uint64_t block)
{
	struct blm_block_record r;

	return !blm_checkpoint_is_none(s, BLM_JOURNAL, block)
		&& (!blm_checkpoint_record(s, BLM_JOURNAL, block, &r) || r.epoch);
}

static bool is_of(const struct blm_checkpoint *s, int which, uint64_t block, uint64_t epoch)
{
	struct blm_block_record r;

	return blm_checkpoint_record(s, which, block, &r) && le32toh(r.epoch) == (uint32_t)epoch;
}

static bool is_old(uint32_t home, uint64_t epoch)
{
	return home && is_later((uint32_t)epoch - (1 << 20), home);
}

/*
 * A sync that was killed before its record was written took away the marks of its blocks, so these
 * are noted again; its epoch is to come. Damaged records are noted again, too. Until then no record
 * says that the image has a block that it does not have.
 */
static bool forget_block(const struct blm_checkpoint *s, uint64_t b)
{
	struct blm_block_record r;
	bool other = blm_checkpoint_record(s, BLM_JOURNAL, b, &r)
		&& !is_of(s, BLM_JOURNAL, b, s->epoch);
	bool home = is_of(s, BLM_JOURNAL, b, s->epoch) && is_of(s, BLM_IMAGE, b, s->epoch);

	if (!home)
		mark(s->part, s->part->bytes + b * BLM_BLOCK);
	if (home || other)
		blm_checkpoint_empty(s, BLM_JOURNAL, b, blm_checkpoint_home(s, b));
	return home || other;
}

/*
 * The image has it all. A sparse file gives the journal's space back; any other file keeps it for
 * the next sync.
 */
static void forget_journal(const struct blm_view *view, const struct blm_checkpoint *s)
{
	bool any = false, all = true;

	for (uint64_t b = 0; b < s->count; b++)
		if (is_noted(s, b)) {
			all &= forget_block(s, b);
			any = true;
		} else if (is_old(blm_checkpoint_home(s, b), s->epoch)) {
			blm_checkpoint_empty(s, BLM_JOURNAL, b, 0);
		}
	if (any && all && le64toh(view->constant.flags) & BLM_FLAG_SPARSE)
		fallocate(view->image.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  s->blocks[BLM_JOURNAL] - view->image.map,
			  (off_t)round_up(s->part->shape.bytes, BLM_PAGE));
}

static int bring_block_home(const struct blm_view *view, const struct blm_checkpoint *s, uint64_t b,
			    const char *display)
{
	uint64_t at = (uint64_t)(s->blocks[BLM_IMAGE] + b * BLM_BLOCK - view->image.map);
	/* a copy can have some, and sparse files */
	off_t hole = lseek(view->image.fd, (off_t)at, SEEK_HOLE);
	int r = hole >= (off_t)(at + blm_checkpoint_bytes(s, b)) ? 0
		: blm_allocate(view->image.fd, at, blm_checkpoint_bytes(s, b), display);

	if (r < 0)
		return r;
	__atomic_store_n(&s->records[BLM_JOURNAL][b].ones, htole32((uint32_t)s->epoch),
			 __ATOMIC_SEQ_CST);
	blm_checkpoint_copy(s, BLM_IMAGE, b, s->blocks[BLM_JOURNAL] + b * BLM_BLOCK, s->epoch);
	return 0;
}

/*
 * A page that the guard put in the place of an unreadable page (file/sigbus.c) is no page of the
 * file, and no flush reports that.
 */
static int flush_image(struct blm_view *view, const struct blm_checkpoint *s, const char *display)
{
	uint64_t bytes = (uint64_t)(s->records[BLM_JOURNAL] - s->records[BLM_IMAGE])
		* sizeof(*s->records[0]);
	int r = blm_flush_among_others(view, s->records[BLM_IMAGE], bytes);

	return r < 0 ? blm_fail(r, "%s: writing its checkpoint image failed (%s): the next sync "
				"does it again", display, strerror(-r)) : 0;
}

/*
 * The image that a failed flush left may be one that the file system does not keep (extents.c). The
 * journal then has the only copy of these blocks on the disk.
 */
static int keep_image(const struct blm_view *view, const char *display)
{
	int r = blm_check_extents(view);

	if (r > 0)
		return blm_fail_unkept(display);
	return r < 0 ? blm_fail(r, "%s: writing its checkpoint image failed (%s): the next sync "
				"does it again", display, strerror(-r)) : 0;
}

int blm_checkpoint_finish(struct blm_view *view, const char *display)
{
	struct blm_checkpoint s = blm_checkpoint_of(view);
	bool any = false, suspect = atomic_load(&view->failed) || blm_is_unwritten(view, s.epoch);
	int r = 0;

	blm_look_at_epochs(view, &s);
	for (uint64_t b = 0; r == 0 && b < s.count; b++)
		if (blm_in_journal(&s, b)) {
			r = bring_block_home(view, &s, b, display);
			any = true;
		}
	if (r == 0 && any)
		r = flush_image(view, &s, display);
	if (r == 0 && any && suspect)
		r = keep_image(view, display);
	if (r == 0)
		r = blm_check_sigbus(view, display);
	if (r == 0)
		forget_journal(view, &s);
	return r;
}

bool blm_checkpoint_next_noted(const struct blm_view *view, uint64_t at, uint64_t *ret_from,
			       uint64_t *ret_to)
{
	struct blm_checkpoint s = blm_checkpoint_of(view);
	uint64_t first = (uint64_t)(s.blocks[BLM_JOURNAL] - view->image.map);

	for (uint64_t b = at > first ? (at - first + BLM_BLOCK - 1) / BLM_BLOCK : 0; b < s.count;
	     b++)
		if (is_noted(&s, b)) {
			*ret_from = first + b * BLM_BLOCK;
			*ret_to = *ret_from + blm_checkpoint_bytes(&s, b);
			return true;
		}
	return false;
}

int blm_checkpoint_finish_killed(struct blm_view *view, const char *display)
{
	uint64_t from, to;
	int r = 0;

	if (!blm_checkpoint_next_noted(view, 0, &from, &to))
		return 0;
	r = blm_flush_among_others(view, live_of(view), BLM_PAGE);
	if (r < 0)
		return blm_fail(r, "%s: writing back the record of its last sync failed: %s",
				display, strerror(-r));
	return blm_checkpoint_finish(view, display);
}

static int take_block(const struct blm_view *view, const struct blm_checkpoint *s, uint64_t block,
		      uint64_t epoch, const char *display)
{
	uint8_t *to = s->blocks[BLM_JOURNAL] + block * BLM_BLOCK;
	int r = blm_allocate(view->image.fd, (uint64_t)(to - view->image.map),
			     blm_checkpoint_bytes(s, block), display);

	if (r < 0)
		return r;
	blm_checkpoint_copy(s, BLM_JOURNAL, block, s->part->bytes + block * BLM_BLOCK, epoch);
	__atomic_store_n(&s->part->marks[block], 0, __ATOMIC_RELAXED);
	return 0;
}

int blm_checkpoint_take(struct blm_view *view, uint64_t epoch, const char *display)
{
	struct blm_checkpoint s = blm_checkpoint_of(view);
	int r = 0;

	for (uint64_t b = 0; r == 0 && b < s.count; b++)
		if (s.part->marks[b])
			r = take_block(view, &s, b, epoch, display);
	if (r == 0)
		/* the copied bytes are not those of the file */
		r = blm_check_sigbus(view, display);
	if (r < 0)
		blm_checkpoint_again(view, epoch);
	return r;
}

void blm_checkpoint_again(struct blm_view *view, uint64_t epoch)
{
	struct blm_checkpoint s = blm_checkpoint_of(view);
	struct blm_block_record r;

	for (uint64_t b = 0; s.epoch < epoch && b < s.count; b++)
		if (blm_checkpoint_record(&s, BLM_JOURNAL, b, &r)
		    && le32toh(r.epoch) == (uint32_t)epoch)
			mark(s.part, s.part->bytes + b * BLM_BLOCK);
}

/* ---- Comparing ---- */

/* A record that is being written is not one for long, and the journal has the block as long. */
static bool stays_bad(const struct blm_view *view, uint64_t block)
{
	const struct timespec moment = { .tv_nsec = 2000000 };
	struct blm_checkpoint s = blm_checkpoint_of(view);
	struct blm_block_record before = s.records[BLM_IMAGE][block], r;

	nanosleep(&moment, NULL);
	s = blm_checkpoint_of(view);
	return !blm_checkpoint_record(&s, BLM_IMAGE, block, &r) && !memcmp(&r, &before, sizeof(r))
		&& !blm_in_journal(&s, block);
}

int blm_checkpoint_check(const struct blm_view *view,
			 int (*tell)(void *context, const struct blm_damage *damage), void *context)
{
	struct blm_checkpoint s = blm_checkpoint_of(view);
	int r = 0;

	for (uint64_t b = 0; r >= 0 && b < s.count && !view->shows_image; b++) {
		const uint8_t *block = s.blocks[BLM_IMAGE] + b * BLM_BLOCK;
		struct blm_block_record before, after;
		uint64_t at = (uint64_t)(block - view->image.map);
		uint32_t hash;

		if (blm_in_journal(&s, b) || blm_checkpoint_is_none(&s, BLM_IMAGE, b)
		    || is_later(blm_checkpoint_home(&s, b), (uint32_t)s.epoch)
		    || blm_is_stale(&s, b))	/* of a copy, or synced at this moment */
			continue;
		if (!blm_checkpoint_record(&s, BLM_IMAGE, b, &before)) {
			if (stays_bad(view, b))
				r = tell(context, &(struct blm_damage){ .block = b, .from = at,
					.to = at + blm_checkpoint_bytes(&s, b) });
			continue;
		}
		hash = blm_checkpoint_hash(&s, block, b);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (hash == le32toh(before.hash) || !blm_checkpoint_record(&s, BLM_IMAGE, b, &after)
		    || memcmp(&before, &after, sizeof(after)))
			continue;
		r = tell(context, &(struct blm_damage){ .block = b, .from = at,
							.to = at + blm_checkpoint_bytes(&s, b) });
	}
	return r;
}
