/* extend.h - a filter made ready for more keys: it grows, or turns to its next slot */
#ifndef BLM_EXTEND_H
#define BLM_EXTEND_H

#include "handle/handle.h"

enum blm_extend_when {
	/* if its kind reports a lack of space; another caller may have made some in the meantime */
	BLM_EXTEND_IF_FULL,
	BLM_EXTEND_ALWAYS,
};

/*
 * blm_filter_extend() - appends one part, or begins one slot, of a view whose kind has space()
 *
 * The caller holds no lock of the filter, and is not between blm_change_begin() and end(). It then
 * starts its change again, because the view may be an old one by then. 1: done; 0: there was
 * nothing to do, or the file is no longer the filter.
 */
int blm_filter_extend(struct blm_filter *f, struct blm_view *view, enum blm_extend_when what);

#endif
