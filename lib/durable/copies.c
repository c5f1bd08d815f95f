/*
 * copies.c - the checkpoint image in a file that was copied
 *
 * A plain `cp` of a live file is not atomic, and takes no lock. It can combine an old sync record
 * and old marks with newer data, a newer image, and a journal that syncs have emptied since. So the
 * word `original` stores the number of the file to which the image belongs. If that is another
 * file, the first sync makes the complete image again, whatever the marks say. (A copy that was
 * written over its original's bytes has the original's number, and cannot be recognised.)
 *
 * Until then the sync record of a copy may be clean although the copy has later data: the first
 * change came after page 1 was copied. Then the image has every key that was added before the copy
 * began, if the image is of one moment, and the data may lack keys that were moved. So such a copy
 * is compared with its image when it is opened. If they differ it returns to the image as after a
 * power cut.
 *
 * After a power cut the image is the only good data if the cut came before the copy, but it is
 * mixed if syncs ran during the copy. The bytes that are copied last decide which case it is.
 * `ones` of a journal record stores, for good, the last epoch whose sync began to copy this block
 * to the image, its home. It is stored before the image changes, when the sync record of that epoch
 * is on the disk. No power cut leaves a home that is later than the last sync record. Nor does it
 * leave a home later than the block's record in the image if the block is no longer in the journal.
 *
 * Let s be the epoch of the copied sync record, and let a block of the copied image be older than
 * as of s. Then s is the last epoch that changed the block, because a sync begins after the blocks
 * of earlier syncs are home; and the block went home after the image was copied. The journal's
 * record was copied after that. So either it has a home of s or later, and the block is in the
 * journal or its home is later than the image's record. Or the record was copied before the home
 * was stored; then the block is in the journal, or was made a hole since, and neither record
 * matches. A block that is newer than as of s has a record that says so, or a record of another
 * block. So if none of these signs is found the image is as of s.
 *
 * Otherwise the copied data are used. They have all keys except those that were moved at that
 * moment from a place not yet copied to a place copied before. The own word `torn` records this for
 * good, and no key is removed any more, because it could be another key.
 */
#include "file/os.h"
#include "durable/checkpoint_blocks.h"
#include "durable/flush.h"

bool blm_is_copy(const struct blm_view *view)
{
	uint64_t number = blm_file_number(view->image.fd);

	return !number || load_acquire(&live_of(view)->original.word) != number;
}

int blm_checkpoint_is_whole(struct blm_view *view, const char *display, bool flush)
{
	struct blm_live *live = live_of(view);
	int r = 0;

	if (blm_is_copy(view)) {
		store_release(&live->original.word, blm_file_number(view->image.fd));
		/* otherwise it would be torn again after a power cut */
		r = flush ? blm_flush_among_others(view, live, BLM_PAGE) : 0;
	}
	return r < 0 ? blm_fail(r, "%s: noting that its checkpoint image is its own failed: %s",
				display, strerror(-r)) : 0;
}

/* The epoch of the block in the image; 0: it never changed, or the epoch is unknown. */
static uint32_t image_epoch(const struct blm_checkpoint *s, uint64_t block)
{
	struct blm_block_record r;

	return blm_checkpoint_record(s, BLM_IMAGE, block, &r) ? le32toh(r.epoch) : 0;
}

/*
 * The latest epoch in the records, as a complete number; at least that of the last sync. Records
 * have the low half: a distance of more than a few million means an old epoch.
 */
static uint64_t latest_epoch(const struct blm_checkpoint *s)
{
	enum { LATER = 1 << 24 };
	uint64_t latest = s->epoch;

	for (uint64_t b = 0; b < s->count; b++) {
		uint32_t told[2] = { blm_checkpoint_home(s, b), image_epoch(s, b) };

		for (int i = 0; i < 2; i++)
			if (told[i] && (uint32_t)(told[i] - (uint32_t)latest) < LATER)
				latest += (uint32_t)(told[i] - (uint32_t)latest);
	}
	return latest;
}

bool blm_is_stale(const struct blm_checkpoint *s, uint64_t block)
{
	uint32_t home = blm_checkpoint_home(s, block);
	struct blm_block_record r;

	if (!home || blm_in_journal(s, block))
		return false;
	if (blm_checkpoint_is_none(s, BLM_IMAGE, block))
		return true;
	return blm_checkpoint_record(s, BLM_IMAGE, block, &r) && is_later(home, le32toh(r.epoch));
}

/* The journal's record was being written during the copy: it could have had a home. */
static bool is_half_read(const struct blm_checkpoint *s, uint64_t block)
{
	struct blm_block_record r;

	return !blm_checkpoint_is_none(s, BLM_JOURNAL, block)
		&& !blm_checkpoint_record(s, BLM_JOURNAL, block, &r);
}

static bool is_torn(const struct blm_view *view, const struct blm_checkpoint *s)
{
	if (load_acquire(&live_of(view)->original.word) == BLM_TORN || latest_epoch(s) > s->epoch)
		return true;
	for (uint64_t b = 0; b < s->count; b++)
		if (blm_is_stale(s, b) || is_half_read(s, b) || !blm_synced_block(s, b))
			return true;
	return false;
}

bool blm_copy_was_changed(const struct blm_view *view)
{
	uint64_t original = load_acquire(&live_of(view)->original.word);
	struct blm_checkpoint s;

	/* 0: in memory, or before it has its first image */
	if (!original || original == BLM_TORN || !blm_is_copy(view))
		return false;
	s = blm_checkpoint_of(view);
	for (uint64_t b = 0; b < s.count && !view->shows_image; b++) {
		const uint8_t *synced = blm_synced_block(&s, b);

		if (synced && memcmp(synced, s.part->bytes + b * BLM_BLOCK,
				     blm_checkpoint_bytes(&s, b)))
			return true;
	}
	return view->shows_image;	/* until a writer has returned to it, and continues */
}

void blm_look_at_epochs(const struct blm_view *view, struct blm_checkpoint *s)
{
	if (!blm_is_copy(view))
		s->epoch = latest_epoch(s);
}

void blm_say_torn(struct blm_view *view)
{
	store_release(&live_of(view)->own[BLM_OWN_TORN].word, 1);
	store_release(&live_of(view)->original.word, BLM_TORN);
}

bool blm_look_for_copy(const struct blm_view *view, struct blm_checkpoint *s)
{
	if (blm_is_copy(view))
		return is_torn(view, s);
	blm_look_at_epochs(view, s);
	return false;
}

int blm_checkpoint_mend_copy(struct blm_view *view, const char *display)
{
	struct blm_live *live = live_of(view);
	struct blm_checkpoint s;
	uint64_t latest;
	int r = 0;

	if (!blm_is_copy(view))
		return 0;
	s = blm_checkpoint_of(view);
	latest = latest_epoch(&s);
	for (uint64_t b = 0; b < s.count; b++)
		if (!blm_was_never_used(&s, b))
			mark(s.part, s.part->bytes + b * BLM_BLOCK);
	if (load_acquire(&live->epoch.word) <= latest)
		store_release(&live->epoch.word, blm_epoch_after(latest));
	if (is_torn(view, &s)) {	/* on the disk, before the records that show their change */
		r = blm_check_sigbus(view, display);
		if (r < 0)
			return r;
		blm_say_torn(view);
		r = blm_flush_among_others(view, live, BLM_PAGE);
	}
	return r < 0 ? blm_fail(r, "%s: noting that it is a copy failed: %s", display, strerror(-r))
		: 0;
}
