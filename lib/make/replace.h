/* replace.h - what replace.c needs of template.c, and drop.c of replace.c */
#ifndef BLM_REPLACE_H
#define BLM_REPLACE_H

#include "make/new_filter.h"

/*
 * Copies all data, the count, and whether the count is exact. display: the source, for messages.
 * -EUCLEAN if the source is damaged.
 */
int blm_copy_into(struct blm_view *new, const struct blm_view *from, const char *display);

/*
 * Sets YIELDING or DROPPED; if a catalog decides, it is on the disk when this returns, with the
 * right name. Fails with a message, and LIVE.
 */
int blm_announce(const struct blm_place *place, struct blm_view *view, enum blm_state state);

/* fill() for a new file: a copy of a filter that others may be changing. */
struct blm_source {
	const struct blm_filter *f;
	struct blm_view *view;		/* that the new one is made like */
	/* was it replaced meanwhile, so that the copy must be made again? */
	bool moved;
};
int blm_fill_with_copy(struct blm_view *new, void *source);

#endif
