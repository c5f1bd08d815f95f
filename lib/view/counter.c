/*
 * counter.c - how many keys a filter counts: stripes, so that writers do not wait for each other's
 * cache line
 */
#include "view/view.h"

#include <unistd.h>

/* Threads of all processes spread over the stripes, by their numbers. */
static unsigned my_stripe(void)
{
	static _Thread_local unsigned stripe;	/* number + 1 */

	if (!stripe)
		stripe = (unsigned)scale((uint64_t)gettid() * UINT64_C(0x9E3779B97F4A7C15),
					 BLM_STRIPES) + 1;
	return stripe - 1;
}

void blm_count_keys(struct blm_view *view, uint64_t n)
{
	if (n)
		add_relaxed(&view->image.header->stripe[my_stripe()].keys, n);
}

uint64_t blm_counted_keys(const struct blm_view *view)
{
	uint64_t sum = 0;

	if (view->shows_image)
		return view->synced_keys;
	for (int i = 0; i < BLM_STRIPES; i++)
		sum += load_relaxed(&view->image.header->stripe[i].keys);
	/* one thread may have counted out already what another is about to count in */
	return (int64_t)sum < 0 ? 0 : sum;
}
