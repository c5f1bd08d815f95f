/*
 * recovery.c - back to the checkpoint image, after a power cut: for everyone, or in one view
 * (checkpoint.c)
 */
#include "file/sigbus.h"
#include "file/os.h"
#include "file/two_slots.h"
#include "durable/checkpoint_blocks.h"
#include "durable/dirty.h"

#include <sys/mman.h>
#include <unistd.h>

bool blm_checkpoint_was_cut(const struct blm_view *view)
{
	struct blm_live *live = live_of(view);
	struct blm_sync_record last = { 0 };

	blm_last_sync(live, view->constant.uuid, &last);
	if (load_acquire(&live->written.word) > le64toh(last.epoch))
		return load_acquire(&live->boot.word) != blm_boot_number();
	return has_checkpoint(view) && blm_copy_was_changed(view);
}

static int damaged(const char *display, uint64_t block)
{
	return blm_fail(-EUCLEAN, "%s: lost its data in a power cut, and block %llu of its "
			"checkpoint image is damaged: delete the file, and make it again from "
			"its keys",
			display, (unsigned long long)block);
}

static int no_image(const char *display)
{
	if (blm_boot_number() == BLM_NO_BOOT)
		return blm_fail(-ENOSYS, "%s: is in use, or was when the power failed; "
				"/proc/sys/kernel/random/boot_id, which decides that, cannot be "
				"read: mount /proc", display);
	return blm_fail(-EUCLEAN, "%s: was changed after its last sync when the power failed, "
			"and has no checkpoint image: delete the file, and make it again from "
			"its keys",
			display);
}

static void restore_words(struct blm_view *view)
{
	struct blm_header *header = view->image.header;
	struct blm_sync_record last = { 0 };

	blm_last_sync(&header->live, view->constant.uuid, &last);
	for (int i = 0; i < BLM_STRIPES; i++)
		store_release(&header->stripe[i].keys, i ? 0 : le64toh(last.keys));
	for (int i = 0; i < BLM_OWN; i++)
		if (i != BLM_OWN_TORN)
			store_release(&header->live.own[i].word, 0);
	store_release(&header->live.boot.word, blm_boot_number());
}

static int cannot_read(const char *display)
{
	return blm_fail(-EIO, "%s: restoring its checkpoint image failed: the file is truncated "
			"or unreadable, or the disk is full", display);
}

/* Image and journal stay as they are: the next sync completes a killed one. */
static int take_back(struct blm_view *view, const struct blm_checkpoint *s, const char *display)
{
	for (uint64_t b = 0; b < s->count; b++) {
		const uint8_t *from = blm_synced_block(s, b);
		uint8_t *to = s->part->bytes + b * BLM_BLOCK;

		if (!from)
			return damaged(display, b);
		if (memcmp(to, from, blm_checkpoint_bytes(s, b)))
			memcpy(to, from, blm_checkpoint_bytes(s, b));
		s->part->marks[b] = 0;
	}
	return blm_sigbus_hit(view->image.map) ? cannot_read(display) : 0;
}

int blm_checkpoint_restore(struct blm_view *view, const char *display)
{
	struct blm_checkpoint s;
	int r;

	if (!has_checkpoint(view))
		return no_image(display);
	s = blm_checkpoint_of(view);
	if (blm_look_for_copy(view, &s)) {
		if (blm_sigbus_hit(view->image.map))
			return cannot_read(display);
		blm_say_torn(view);
		store_release(&live_of(view)->boot.word, blm_boot_number());
		return 0;
	}
	r = take_back(view, &s, display);
	if (r < 0)
		return r;
	restore_words(view);
	/* in a copy that said that nothing was: the data that were put back are on no disk yet */
	blm_mark_written(live_of(view));
	return 0;
}

/*
 * For this process only, a block of the journal in the place of the image's. -EAGAIN: a writer went
 * back, and syncs at this moment.
 */
static int show_block(const struct blm_view *view, const struct blm_checkpoint *s, uint64_t b,
		      const uint8_t *from)
{
	uint8_t *to = s->blocks[BLM_IMAGE] + b * BLM_BLOCK;

	memcpy(to, from, blm_checkpoint_bytes(s, b));
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return blm_in_journal(s, b) && !memcmp(to, from, blm_checkpoint_bytes(s, b)) ? 0 : -EAGAIN;
}

static int own_pages(const struct blm_view *view, const struct blm_checkpoint *s,
		     const char *display)
{
	/* of the system's pages, which can be larger than ours */
	size_t above = (uintptr_t)s->blocks[BLM_IMAGE] % (size_t)getpagesize();
	uint8_t *from = s->blocks[BLM_IMAGE] - above;

	/* whose words are to be seen */
	if ((uint64_t)(from - view->image.map) < BLM_HEADER_BYTES)
		return blm_fail(-EOPNOTSUPP, "%s: its checkpoint image is restored when it is "
				"opened for writing; until then it cannot be read on this "
				"machine, which has larger pages", display);
	if (mmap(from, above + round_up(s->part->shape.bytes, BLM_PAGE), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_FIXED, view->image.fd,
		 from - view->image.map) == MAP_FAILED)
		return blm_fail(errno == EAGAIN ? -ENOMEM : -errno,
				"%s: cannot map its checkpoint image: %s", display,
				strerror(errno));
	return 0;
}

static int show_blocks(const struct blm_view *view, const struct blm_checkpoint *s,
		       const char *display)
{
	bool own = false;
	int r = 0;

	for (uint64_t b = 0; r == 0 && b < s->count; b++) {
		const uint8_t *from = blm_synced_block(s, b);

		if (!from)
			return damaged(display, b);
		if (from == s->blocks[BLM_IMAGE] + b * BLM_BLOCK)
			continue;
		if (!own)
			r = own_pages(view, s, display);
		own = true;
		if (r == 0)
			r = show_block(view, s, b, from);
	}
	return r;
}

/*
 * Shows the image instead of the data, updated by the journal. The kind's own words belong to later
 * data. -EAGAIN: it is not needed any more.
 */
int blm_checkpoint_show(struct blm_view *view, const char *display)
{
	static struct blm_line none[BLM_OWN];		/* never changed, only shown */
	struct blm_sync_record last = { 0 };
	struct blm_checkpoint s;
	int r;

	if (!has_checkpoint(view))
		return no_image(display);
	s = blm_checkpoint_of(view);
	/* or a writer has already done it */
	if (blm_look_for_copy(view, &s)) {
		if (blm_sigbus_hit(view->image.map))
			return cannot_read(display);
		view->part[0].torn = view->root.torn = true;
		return blm_checkpoint_is_needed(view) ? 0 : -EUCLEAN;
	}
	r = show_blocks(view, &s, display);
	if (r < 0)
		return r;
	blm_last_sync(live_of(view), view->constant.uuid, &last);
	view->part[0].bytes = s.blocks[BLM_IMAGE];
	view->root.bytes = s.blocks[BLM_IMAGE];
	view->part[0].own = &none[0].word;
	view->root.own = &none[0].word;
	view->synced_keys = le64toh(last.keys);
	view->part[0].torn = view->root.torn = load_acquire(&live_of(view)->own[BLM_OWN_TORN].word);
	view->shows_image = true;
	/*
	 * A copy's data can differ because a writer adds to them at this moment. It has raised
	 * `written` before, and the image is no longer needed.
	 */
	full_fence();
	return blm_checkpoint_is_needed(view) ? 0 : -EAGAIN;
}
