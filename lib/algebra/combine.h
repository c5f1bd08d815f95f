/* combine.h - what is compared and counted in filters, for template.c, combine.c, tally.c and estimate.c */
#ifndef BLM_COMBINE_H
#define BLM_COMBINE_H

#include "view/scan.h"

/* template.c: do these combine? -EMEDIUMTYPE with the first field that differs. */
int blm_check_template(const struct blm_view *a, const struct blm_filter *fa, const struct blm_view *b, const struct blm_filter *fb);

/*
 * A filter that is made of one that changed meanwhile, or was cut, is as after a power cut, if its kind minds that (kind.h, BLM_OWN_CUT).
 * So is what others are united with, from before the first cell changes until all is done: who dies in the middle leaves it so. Was it torn
 * before? Of kinds that do not mind nothing happens.
 */
static inline bool blm_tear(struct blm_view *view)
{
	uint64_t *cut = &live_of(view)->own[BLM_OWN_CUT].word;
	bool was = view->whole.kind->minds_cuts && load_acquire(cut);

	if (view->whole.kind->minds_cuts) {
		store_release(cut, 1);
		full_fence();
	}
	return was;
}

static inline void blm_mend(struct blm_view *view)
{
	if (view->whole.kind->minds_cuts)
		store_release(&live_of(view)->own[BLM_OWN_CUT].word, 0);
}

/*
 * Between these two it is torn and mended, by nobody else: who takes keys out waits, and so does who reads it whole, to whom a union that
 * began and ended meanwhile would show in nothing.
 */
static inline int blm_lock_torn(const struct blm_filter *f, struct blm_view *view)
{
	return view->whole.kind->minds_cuts ? blm_lock_writing((struct blm_filter *)f, view, true) : 0;
}

static inline void blm_unlock_torn(struct blm_view *view)
{
	if (view->whole.kind->minds_cuts)
		blm_unlock_writing(view);
}

/* The OR of these bytes of part i of all views, or their AND, somewhere of one's own. */
void blm_combine_bytes(enum blm_op op, const struct blm_view *const *views, size_t count, unsigned i, uint64_t at, size_t bytes, uint8_t *to);

/* Count the cells of the OR of some views' part i, all of one template, without making it; one alone as it is. */
int blm_union_census(const struct blm_view *const *views, size_t count, unsigned i, struct blm_census *to);

/* The same of one, of the other, and of their OR, in one pass. */
int blm_pair_census(const struct blm_view *const views[2], unsigned i, struct blm_census to[3]);

/* The rate of a filter whose parts have these: a question asks every part. */
double blm_rate_of_parts(const struct blm_view *view, const struct blm_census *census);

/* What one census says of the number of keys. */
struct blm_value blm_keys_of_census(const struct blm_part *part, const struct blm_census *census, bool *ret_saturated);

/* How many distinct keys these of all its parts tell of, rounded; of a full filter the least that there can be. */
uint64_t blm_keys_of_parts(const struct blm_view *view, const struct blm_census *census);

/* The same, of its bits as they are; reads all data. -EOPNOTSUPP: this kind's do not. */
int blm_keys_of_bits(const struct blm_view *view, uint64_t *ret);

#endif
