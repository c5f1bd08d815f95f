/* load.c - how a filter is in memory, for its view and those to come */
#include "handle/handle.h"

BLM_API int blm_load(struct blm_filter *f, unsigned flags)
{
	BLM_CRITICAL_SECTION;
	int r;

	if (flags & ~(unsigned)(BLM_PREFAULT | BLM_LOCK | BLM_HUGE_PAGES | BLM_SMALL_PAGES))
		return blm_fail(-EINVAL, "%s: flags %#x: some are not in enum blm_load_flags",
				f->place.display, flags);
	if (flags & BLM_HUGE_PAGES && flags & BLM_SMALL_PAGES)
		return blm_fail(-EINVAL, "%s: both huge and small pages are asked for",
				f->place.display);
	current_view(f);
	pthread_mutex_lock(&f->renewing);
	r = blm_view_load(atomic_load(&f->view), flags, f->place.display);
	if (r == 0)
		f->load = flags;
	pthread_mutex_unlock(&f->renewing);
	return r;
}
