/*
 * counter.c - how many keys a filter counts: stripes, so that writers do not wait for each other's
 * cache line
 */
#include "view/view.h"

#include <unistd.h>

/* number + 1; 0: it was not chosen yet */
static _Thread_local unsigned stripe __attribute__((tls_model("initial-exec")));

/* Threads of all processes spread over the stripes, by their numbers. */
static __attribute__((noinline)) void choose_stripe(struct blm_view *view, uint64_t n)
{
	stripe = (unsigned)scale((uint64_t)gettid() * UINT64_C(0x9E3779B97F4A7C15),
				 BLM_STRIPES) + 1;
	blm_count_keys(view, n);
}

static inline void add(const struct blm_view *view, uint64_t *keys, uint64_t n)
{
	if (is_exclusive(view))
		store_release(keys, load_relaxed(keys) + n);
	else
		add_relaxed(keys, n);
}

void blm_count_keys(struct blm_view *view, uint64_t n)
{
	unsigned mine = stripe;

	if (!n)
		return;
	if (__builtin_expect(mine != 0, true))
		add(view, &view->image.header->stripe[mine - 1].keys, n);
	else
		choose_stripe(view, n);
}

uint64_t blm_counted_keys(const struct blm_view *view)
{
	uint64_t sum = 0;

	if (view->shows_image)
		return view->synced_keys;
#pragma GCC unroll 16			/* each add to a filter that grows comes here */
	for (int i = 0; i < BLM_STRIPES; i++)
		sum += load_relaxed(&view->image.header->stripe[i].keys);
	/* one thread may have counted out already what another is about to count in */
	return (int64_t)sum < 0 ? 0 : sum;
}
