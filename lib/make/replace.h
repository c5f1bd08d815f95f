/* replace.h - what replace.c needs of template.c, and drop.c of replace.c */
#ifndef BLM_REPLACE_H
#define BLM_REPLACE_H

#include "make/new_filter.h"

/*
 * All data, the count, and whether that is exact. shown: of what is copied. -EUCLEAN if that is
 * damaged.
 */
int blm_copy_into(struct blm_view *new, const struct blm_view *from, const char *display);

/*
 * Then: YIELDING or DROPPED; where a catalog decides it is on the disk when this returns, with the
 * right name. Fails with words, and LIVE.
 */
int blm_announce(const struct blm_place *place, struct blm_view *view, enum blm_state state);

/* fill() of a new file: a copy of what others may be changing. */
struct blm_source {
	const struct blm_filter *f;
	struct blm_view *view;		/* that the new one is made like */
	/* was it found replaced, so that the new one must be made anew? */
	bool moved;
};
int blm_fill_with_copy(struct blm_view *new, void *source);

#endif
