/* residency.c - how a filter is in memory: which pages, read beforehand, locked there */
#include "file/paging.h"
#include "bloomery.h"
#include "view/view.h"

void blm_view_choose_pages(struct blm_view *view, bool huge)
{
	if (atomic_exchange(&view->huge, huge) == huge)
		return;
	for (unsigned i = 0; i < view->parts; i++)
		if (view->part[i].shape.bytes > BLM_HUGE_PAGE)
			blm_pages_choose(view->part[i].bytes, view->part[i].shape.bytes, huge);
}

/* The file, without what only syncs look at. */
static struct blm_image image_of(const struct blm_view *view)
{
	struct blm_image image = view->image;

	if (has_checkpoint(view))
		image.bytes = view->checkpoint.data_end;
	return image;
}

/*
 * Small pages where large ones would fetch too much for what is asked: of a file that is larger
 * than the memory, 2 MiB for each question; of one that is mostly holes, 2 MiB of zeros, which a
 * change makes data.
 */
static bool huge_pages(const struct blm_view *view, unsigned flags)
{
	const struct blm_image image = image_of(view);

	if (flags & (BLM_HUGE_PAGES | BLM_SMALL_PAGES))
		return flags & BLM_HUGE_PAGES;
	return !(le64toh(view->constant.flags) & BLM_FLAG_SPARSE) && !blm_pages_too_many(&image);
}

/* The bytes before the first part have small pages in any case. */
static int bring(const struct blm_view *view, const char *display)
{
	const struct blm_image image = image_of(view);
	uint64_t small = view->huge && !view->shows_image
		? (uint64_t)(view->part[0].bytes - image.map) : image.bytes;
	int r = blm_pages_bring(image.map, small, true, display);

	return r < 0 ? r : blm_pages_bring(image.map + small, image.bytes - small, false, display);
}

int blm_view_load(struct blm_view *view, unsigned flags, const char *display)
{
	const struct blm_image image = image_of(view);
	bool locked = view->load & BLM_LOCK;
	int r = 0;

	blm_view_choose_pages(view, huge_pages(view, flags));
	if (locked && !(flags & BLM_LOCK))
		blm_pages_unlock(&image);
	if (flags & (BLM_PREFAULT | BLM_LOCK))
		r = bring(view, display);
	if (r == 0 && flags & BLM_LOCK && !locked)
		r = blm_pages_lock(&image, display);
	view->load = r == 0 ? flags : flags & ~(unsigned)BLM_LOCK;
	return r;
}
