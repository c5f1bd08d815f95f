/*
 * shadow.c - a second image of the data, so that after a power cut a filter is what its last sync found
 *
 * The data are written back by the system page by page, whenever it likes. Where keys move from one page to another that can lose some
 * that were synced long ago. So these files have an image of the data, and a journal (format.h has the bytes), that only a sync writes:
 *
 *   1. under the writers' lock: copies the blocks that changed to the journal, each with a record of this sync's epoch; new epoch;
 *   2. writes back all of the file; then the sync record of that epoch: from now on the journal's blocks count;
 *   3. copies them to the image, writes that back, and takes their records away, then their space.
 *
 * A sync that stopped before 2 was done left records of an epoch that was never reached; one that stopped in 3 is ended by the next one,
 * once it is sure that the sync record is on the disk.
 * The first change after a sync is announced on the disk (change.c), so a file that was changed after its last sync shows it: opened
 * under the same boot number its data are what processes left there, under another one nobody knows, and they are made again
 * from image and journal. Marks are set before a change here, under the writers' lock, so they are exact.
 *
 * Who copies the file byte by byte, from its beginning to its end, while others sync has the sync record of when he began, then data,
 * then an image that syncs changed meanwhile, then a journal that they emptied. Nothing keeps him from that: he takes no lock. But what is
 * copied last can tell. So a record of the journal has in `ones`, for good, the last epoch whose sync began to bring this block to the
 * image, its home: written before the image changes, when the sync record of that epoch is on the disk. No power cut leaves one that is
 * later than the last sync record, nor one that is later than the block's record in the image, if the journal has the block no more. A copy
 * can have both:
 *
 *   - If all blocks are good, and none is older than its home, none was brought to the image from when it was copied until its record in
 *     the journal was. All of those are copied after all of the image, so these are the data at one moment between: as of the latest
 *     home, though the sync record is of one before. Homes are forgotten when they served for that.
 *   - Else the image is of several syncs. Then the data serve that were copied: they have all keys but those that were moved at that
 *     moment from where the copy was not yet to where it had been. Own word `cut` says so for good, and nothing is removed any more: a key
 *     could be another's. The next sync makes the image anew.
 *
 * A sync record that is damaged leaves the one before it, and homes that are later, too: then there is a slot that is neither good nor
 * empty. The image is as good as it was, and its data are those of the latest home, or it is damaged as well; the file is no copy.
 *
 * Homes are forgotten after 2^20 epochs, longer than a copy takes, since they are compared by their low halves.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "file/system.h"
#include "shadow.h"

#include <fcntl.h>
#include <sys/mman.h>

struct shadow {
	const struct blm_part *part;
	struct blm_block_record *records[2];
	uint8_t *blocks[2];
	uint64_t count, epoch;		/* of blocks; of the last sync record, or of a copy the latest home */
	bool misses_record;		/* a sync record is damaged */
	const uint8_t *uuid;
};

static bool is_later(uint32_t a, uint32_t b)	/* of epochs, of which records have the low half */
{
	return (int32_t)(a - b) > 0;
}

static struct shadow shadow_of(const struct blm_view *view)
{
	const struct blm_part *part = &view->part[0];
	struct blm_sync_record last = { 0 };
	struct shadow s = { .part = part, .count = blocks_of_part(part->shape.bytes), .uuid = view->constant.uuid };

	for (int i = 0; i < 2; i++) {
		s.records[i] = (struct blm_block_record *)(view->image.map + view->shadow.records[i]);
		s.blocks[i] = view->image.map + view->shadow.blocks[i];
	}
	blm_last_sync(live_of(view), view->constant.uuid, &last);
	s.epoch = le64toh(last.epoch);
	s.misses_record = blm_misses_sync(live_of(view), view->constant.uuid);
	return s;
}

static size_t bytes_of(const struct shadow *s, uint64_t block)
{
	uint64_t left = s->part->shape.bytes - block * BLM_BLOCK;

	return left < BLM_BLOCK ? (size_t)left : BLM_BLOCK;
}

static uint32_t hash_of(const struct shadow *s, const uint8_t *block, uint64_t number)
{
	return (uint32_t)XXH3_64bits(block, bytes_of(s, number));
}

/* The seeds of the checks are those of parts that no file has. A home is not checked: it changes alone, while the journal is needed. */
static uint32_t check_of(const struct shadow *s, int which, uint64_t block, const struct blm_block_record *r)
{
	struct blm_block_record checked = *r;

	if (which == BLM_JOURNAL)
		checked.ones = 0;
	return blm_check_block(&checked, BLM_PARTS_MAX + (unsigned)which, block, s->uuid);
}

static bool good_record(const struct shadow *s, int which, uint64_t block, struct blm_block_record *ret)
{
	memcpy(ret, &s->records[which][block], sizeof(*ret));
	return ret->check == check_of(s, which, block, ret);
}

static void write_record(const struct shadow *s, int which, uint64_t block, uint32_t hash, uint32_t home, uint64_t epoch)
{
	struct blm_block_record r = { .hash = htole32(hash), .ones = htole32(home), .epoch = htole32((uint32_t)epoch) };

	r.check = check_of(s, which, block, &r);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	s->records[which][block] = r;
}

/* The last epoch whose sync began to bring the block to the image; 0: none is known. */
static uint32_t home_of(const struct shadow *s, uint64_t block)
{
	struct blm_block_record r;

	if (!s->records[BLM_JOURNAL][block].ones)
		return 0;
	return good_record(s, BLM_JOURNAL, block, &r) ? le32toh(r.ones) : 0;
}

/* It has nothing of the block any more. */
static void empty_record(const struct shadow *s, int which, uint64_t block, uint32_t home)
{
	if (home)
		write_record(s, which, block, 0, home, 0);
	else
		s->records[which][block] = (struct blm_block_record){ 0 };
}

/* In three steps, of which one who compares sees at least one. */
static void copy_block(const struct shadow *s, int which, uint64_t block, const uint8_t *from, uint64_t epoch)
{
	uint8_t *to = s->blocks[which] + block * BLM_BLOCK;
	uint32_t home = which == BLM_JOURNAL ? home_of(s, block) : 0;

	empty_record(s, which, block, home);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(to, from, bytes_of(s, block));
	write_record(s, which, block, hash_of(s, to, block), home, epoch);
}

int blm_shadow_new(struct blm_view *view)
{
	struct shadow s = shadow_of(view);
	struct blm_sync_record record = { .keys = htole64(blm_counted_keys(view)) };

	for (uint64_t b = 0; b < s.count; b++)
		if (s.part->marks[b]) {
			s.part->marks[b] = 0;
			copy_block(&s, BLM_IMAGE, b, s.part->bytes + b * BLM_BLOCK, 0);
		}
	blm_next_sync(live_of(view), view->constant.uuid, &record);
	return 0;
}

/* ---- Syncing ---- */

/* Does the journal have this block as of the last sync? One that was in the image already can be gone in part. */
static bool in_journal(const struct shadow *s, uint64_t block)
{
	struct blm_block_record r;

	return s->epoch && good_record(s, BLM_JOURNAL, block, &r) && le32toh(r.epoch) == (uint32_t)s->epoch
	    && hash_of(s, s->blocks[BLM_JOURNAL] + block * BLM_BLOCK, block) == le32toh(r.hash);
}

/* Does the record say that the journal has something of the block, or nothing that can be read? */
static bool is_noted(const struct shadow *s, uint64_t block)
{
	static const struct blm_block_record none;
	struct blm_block_record r;

	return memcmp(&s->records[BLM_JOURNAL][block], &none, sizeof(none)) && (!good_record(s, BLM_JOURNAL, block, &r) || r.epoch);
}

static bool is_old(uint32_t home, uint64_t epoch)
{
	return home && (uint32_t)epoch - home > 1 << 20;
}

/*
 * The image has it all: forget the journal. What a sync noted that was killed before its record was written is still to be noted: it took
 * away the mark. The hole is for the space only; where there can be none, it stays.
 */
static void forget_journal(const struct blm_view *view, const struct shadow *s)
{
	struct blm_block_record r;
	bool any = false;

	for (uint64_t b = 0; b < s->count; b++)
		if (is_noted(s, b)) {
			if (good_record(s, BLM_JOURNAL, b, &r) && le32toh(r.epoch) != (uint32_t)s->epoch)
				mark(s->part, s->part->bytes + b * BLM_BLOCK);
			empty_record(s, BLM_JOURNAL, b, home_of(s, b));
			any = true;
		} else if (is_old(home_of(s, b), s->epoch)) {
			empty_record(s, BLM_JOURNAL, b, 0);
		}
	if (any)
		fallocate(view->image.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, s->blocks[BLM_JOURNAL] - view->image.map,
			  (off_t)round_up(s->part->shape.bytes, BLM_PAGE));
}

/*
 * f: others may announce meanwhile; NULL: the caller holds them off. A flush that fails here may have been told of a page of the data, so
 * that is noted as everywhere.
 */
static int bring_home(struct blm_filter *f, struct blm_view *view, const struct shadow *s)
{
	uint64_t bytes = (uint64_t)(s->records[BLM_JOURNAL] - s->records[BLM_IMAGE]) * sizeof(*s->records[0]);
	bool any = false;
	int r = 0;

	for (uint64_t b = 0; b < s->count; b++)
		if (in_journal(s, b)) {
			uint8_t *block = s->blocks[BLM_JOURNAL] + b * BLM_BLOCK;

			__atomic_store_n(&s->records[BLM_JOURNAL][b].ones, htole32((uint32_t)s->epoch), __ATOMIC_SEQ_CST);
			copy_block(s, BLM_IMAGE, b, block, s->epoch);
			any = true;
		}
	if (any)
		r = f ? blm_flush_among_others(f, view, s->records[BLM_IMAGE], bytes) : blm_flush(view, s->records[BLM_IMAGE], bytes);
	if (r == 0)
		forget_journal(view, s);
	return r;
}

int blm_shadow_finish(struct blm_filter *f, struct blm_view *view)
{
	struct shadow s = shadow_of(view);
	int r = bring_home(f, view, &s);

	return r < 0 ? blm_fail(r, "%s: writing its second image failed (%s): the next sync does it again", f->place.shown, strerror(-r)) : 0;
}

bool blm_shadow_next_noted(const struct blm_view *view, uint64_t at, uint64_t *ret_from, uint64_t *ret_to)
{
	struct shadow s = shadow_of(view);
	uint64_t first = (uint64_t)(s.blocks[BLM_JOURNAL] - view->image.map);

	for (uint64_t b = at > first ? (at - first + BLM_BLOCK - 1) / BLM_BLOCK : 0; b < s.count; b++)
		if (is_noted(&s, b)) {
			*ret_from = first + b * BLM_BLOCK;
			*ret_to = *ret_from + bytes_of(&s, b);
			return true;
		}
	return false;
}

/* The latest home, in full; where there is none later, the epoch of the last sync. */
static uint64_t latest_home(const struct shadow *s)
{
	uint64_t latest = s->epoch;

	for (uint64_t b = 0; b < s->count; b++) {
		uint32_t home = home_of(s, b);

		if (home && is_later(home, (uint32_t)latest))
			latest += (uint32_t)(home - (uint32_t)latest);
	}
	return latest;
}

/* Is the image's block of before its home, and the journal's gone? */
static bool is_stale(const struct shadow *s, uint64_t block)
{
	static const struct blm_block_record none;
	uint32_t home = home_of(s, block);
	struct blm_block_record r;

	if (!home || in_journal(s, block))
		return false;
	if (!memcmp(&s->records[BLM_IMAGE][block], &none, sizeof(none)))
		return true;
	return good_record(s, BLM_IMAGE, block, &r) && is_later(home, le32toh(r.epoch));
}

static bool any_is_stale(const struct shadow *s)
{
	for (uint64_t b = 0; b < s->count; b++)
		if (is_stale(s, b))
			return true;
	return false;
}

/*
 * All of the image is to be made anew, by a sync that is later than all that it is of; of a copy there may be keys missing. The caller holds
 * BLM_LOCK_SYNC.
 */
static void make_anew(struct blm_view *view, const struct shadow *s, uint64_t latest)
{
	struct blm_live *live = live_of(view);

	for (uint64_t b = 0; b < s->count; b++)
		mark(s->part, s->part->bytes + b * BLM_BLOCK);
	if (load_acquire(&live->epoch.word) <= latest)
		store_release(&live->epoch.word, blm_epoch_after(latest));
	if (!s->misses_record)
		store_release(&live->own[BLM_OWN_CUT].word, 1);
}

void blm_shadow_mend_copy(struct blm_view *view)
{
	struct shadow s = shadow_of(view);
	uint64_t latest = latest_home(&s);

	if (latest > s.epoch || any_is_stale(&s))
		make_anew(view, &s, latest);
}

int blm_shadow_finish_killed(struct blm_filter *f, struct blm_view *view)
{
	uint64_t from, to;
	int r = 0;

	if (!blm_shadow_next_noted(view, 0, &from, &to))
		return 0;
	r = blm_flush_among_others(f, view, live_of(view), BLM_PAGE);
	if (r < 0)
		return blm_fail(r, "%s: writing back the record of its last sync failed: %s", f->place.shown, strerror(-r));
	return blm_shadow_finish(f, view);
}

static int take_block(const struct blm_view *view, const struct shadow *s, uint64_t block, uint64_t epoch, const char *shown)
{
	uint8_t *to = s->blocks[BLM_JOURNAL] + block * BLM_BLOCK;
	int r = blm_allocate(view->image.fd, (uint64_t)(to - view->image.map), bytes_of(s, block), shown);

	if (r < 0)
		return r;
	copy_block(s, BLM_JOURNAL, block, s->part->bytes + block * BLM_BLOCK, epoch);
	__atomic_store_n(&s->part->marks[block], 0, __ATOMIC_RELAXED);
	return 0;
}

int blm_shadow_take(struct blm_view *view, uint64_t epoch, const char *shown)
{
	struct shadow s = shadow_of(view);
	int r = 0;

	for (uint64_t b = 0; r == 0 && b < s.count; b++)
		if (s.part->marks[b])
			r = take_block(view, &s, b, epoch, shown);
	if (r < 0)
		blm_shadow_again(view, epoch);
	return r;
}

void blm_shadow_again(struct blm_view *view, uint64_t epoch)
{
	struct shadow s = shadow_of(view);
	struct blm_block_record r;

	for (uint64_t b = 0; s.epoch < epoch && b < s.count; b++)
		if (good_record(&s, BLM_JOURNAL, b, &r) && le32toh(r.epoch) == (uint32_t)epoch)
			mark(s.part, s.part->bytes + b * BLM_BLOCK);
}

/* ---- After a power cut ---- */

bool blm_shadow_is_needed(const struct blm_view *view)
{
	struct blm_live *live = live_of(view);
	struct blm_sync_record last = { 0 };

	if (!view->whole.kind->shadow || le64toh(view->constant.flags) & BLM_FLAG_SEALED)
		return false;
	if (load_acquire(&live->boot.word) == blm_boot_number())
		return false;
	blm_last_sync(live, view->constant.uuid, &last);
	return load_acquire(&live->written.word) > le64toh(last.epoch);
}

static int damaged(const char *shown, uint64_t block)
{
	return blm_fail(-EUCLEAN, "%s: after a power cut its second image is to be used, and block %llu of that is damaged: drop it, "
			"or remove the file, and make it anew from its keys; if it is a copy, make that with `bloomery copy`",
			shown, (unsigned long long)block);
}

/* Where block b is as of the last sync; NULL: damaged. */
static const uint8_t *synced_block(const struct shadow *s, uint64_t b)
{
	const uint8_t *block = s->blocks[BLM_IMAGE] + b * BLM_BLOCK;
	struct blm_block_record image, journal;
	static const struct blm_block_record none;

	if (in_journal(s, b))
		return s->blocks[BLM_JOURNAL] + b * BLM_BLOCK;
	memcpy(&image, &s->records[BLM_IMAGE][b], sizeof(image));
	if (!memcmp(&image, &none, sizeof(none)))	/* never changed, unless the journal was to have it */
		image.epoch = 0;
	else if (!good_record(s, BLM_IMAGE, b, &image) || hash_of(s, block, b) != le32toh(image.hash))
		return NULL;
	if (s->epoch && good_record(s, BLM_JOURNAL, b, &journal) && le32toh(journal.epoch) == (uint32_t)s->epoch
	    && le32toh(image.epoch) != (uint32_t)s->epoch)
		return NULL;
	return block;
}

/*
 * A copy that was made while others synced? Then s is of its data as of the latest home if they are whole; *ret_torn, if not. Where a sync
 * record is damaged what is not whole is damaged, too.
 */
static void look_for_copy(struct shadow *s, bool *ret_torn)
{
	uint64_t latest = latest_home(s);
	bool later = latest > s->epoch;

	*ret_torn = false;
	s->epoch = latest;
	for (uint64_t b = 0; b < s->count && !s->misses_record && !*ret_torn; b++)
		*ret_torn = is_stale(s, b) || (later && !synced_block(s, b));
}

static int no_image(const char *shown)
{
	return blm_fail(-EUCLEAN, "%s: was changed after its last sync when the power failed, and has no second image to go back to: "
			"drop it, or remove the file, and make it anew from its keys", shown);
}

static void restore_words(struct blm_view *view)
{
	struct blm_header *header = view->image.header;
	struct blm_sync_record last = { 0 };

	blm_last_sync(&header->live, view->constant.uuid, &last);
	for (int i = 0; i < BLM_STRIPES; i++)
		store_release(&header->stripe[i].keys, i ? 0 : le64toh(last.keys));
	for (int i = 0; i < BLM_OWN; i++)
		if (i != BLM_OWN_CUT)
			store_release(&header->live.own[i].word, 0);
	store_release(&header->live.boot.word, blm_boot_number());
}

int blm_shadow_restore(struct blm_view *view, const char *shown)
{
	struct shadow s;
	uint64_t epoch;
	bool torn;
	int r;

	if (!has_shadow(view))
		return no_image(shown);
	s = shadow_of(view);
	epoch = s.epoch;
	look_for_copy(&s, &torn);
	if (torn) {
		make_anew(view, &s, s.epoch);
		store_release(&live_of(view)->boot.word, blm_boot_number());
		return 0;
	}
	if (load_acquire(&live_of(view)->epoch.word) <= s.epoch)
		store_release(&live_of(view)->epoch.word, blm_epoch_after(s.epoch));
	for (uint64_t b = 0; b < s.count; b++) {
		const uint8_t *from = synced_block(&s, b);
		uint8_t *to = s.part->bytes + b * BLM_BLOCK;

		if (!from)
			return damaged(shown, b);
		if (memcmp(to, from, bytes_of(&s, b)))
			memcpy(to, from, bytes_of(&s, b));
		s.part->marks[b] = 0;
	}
	r = bring_home(NULL, view, &s);
	for (uint64_t b = 0; r == 0 && s.epoch > epoch && b < s.count; b++)
		if (s.records[BLM_JOURNAL][b].ones)
			empty_record(&s, BLM_JOURNAL, b, 0);	/* no copy any more */
	if (r == 0)	/* records of an epoch that was never reached, which is to come now */
		r = blm_flush(view, s.records[BLM_JOURNAL], (uint64_t)(s.blocks[BLM_JOURNAL] - (uint8_t *)s.records[BLM_JOURNAL]));
	if (r < 0)
		return blm_fail(r, "%s: going back to its second image failed: %s", shown, strerror(-r));
	restore_words(view);
	return 0;
}

/* The image in the place of the data, and over it, for this process only, what the journal has. The kind's own words are of later data. */
int blm_shadow_show(struct blm_view *view, const char *shown)
{
	static struct blm_line none[BLM_OWN];		/* nobody changes what is only shown */
	struct blm_sync_record last = { 0 };
	struct shadow s;
	bool own_pages = false, torn;

	if (!has_shadow(view))
		return no_image(shown);
	s = shadow_of(view);
	look_for_copy(&s, &torn);
	if (torn) {		/* or a writer did meanwhile what the caller looks for */
		view->part[0].cut = view->whole.cut = true;
		return blm_shadow_is_needed(view) ? 0 : -EUCLEAN;
	}
	for (uint64_t b = 0; b < s.count; b++) {
		const uint8_t *from = synced_block(&s, b);
		uint8_t *to = s.blocks[BLM_IMAGE] + b * BLM_BLOCK;

		if (!from)
			return damaged(shown, b);
		if (from == to)
			continue;
		if (!own_pages && mmap(s.blocks[BLM_IMAGE], round_up(s.part->shape.bytes, BLM_PAGE), PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_FIXED, view->image.fd, s.blocks[BLM_IMAGE] - view->image.map) == MAP_FAILED)
			return blm_fail(-errno, "%s: cannot map its second image: %s", shown, strerror(errno));
		own_pages = true;
		memcpy(to, from, bytes_of(&s, b));
	}
	blm_last_sync(live_of(view), view->constant.uuid, &last);
	view->part[0].bytes = s.blocks[BLM_IMAGE];
	view->whole.bytes = s.blocks[BLM_IMAGE];
	view->part[0].own = &none[0].word;
	view->whole.own = &none[0].word;
	view->synced_keys = le64toh(last.keys);
	view->part[0].cut = view->whole.cut = load_acquire(&live_of(view)->own[BLM_OWN_CUT].word);
	view->shows_image = true;
	return 0;
}

/* ---- Comparing ---- */

int blm_shadow_check(const struct blm_view *view, int (*tell)(void *context, const struct blm_damage *damage), void *context)
{
	struct shadow s = shadow_of(view);
	int r = 0;

	for (uint64_t b = 0; r >= 0 && b < s.count && !view->shows_image; b++) {
		const uint8_t *block = s.blocks[BLM_IMAGE] + b * BLM_BLOCK;
		struct blm_block_record before, after;
		uint64_t at = (uint64_t)(block - view->image.map);
		uint32_t hash;

		if (in_journal(&s, b) || !good_record(&s, BLM_IMAGE, b, &before) || is_later(home_of(&s, b), (uint32_t)s.epoch)
		    || is_stale(&s, b))	/* of a copy, or synced at this moment */
			continue;
		hash = hash_of(&s, block, b);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (hash == le32toh(before.hash) || !good_record(&s, BLM_IMAGE, b, &after) || memcmp(&before, &after, sizeof(after)))
			continue;
		r = tell(context, &(struct blm_damage){ .block = b, .from = at, .to = at + bytes_of(&s, b) });
	}
	return r;
}
