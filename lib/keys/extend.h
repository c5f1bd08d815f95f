/* extend.h - a filter made ready for more keys: it grows, or turns to its next slot */
#ifndef BLM_EXTEND_H
#define BLM_EXTEND_H

#include "handle/handle.h"

enum blm_extend_when {
	/*
	 * where its kind says that there is no room; another caller may have made some in the
	 * meantime
	 */
	BLM_EXTEND_IF_FULL,
	BLM_EXTEND_ALWAYS,
};

/*
 * blm_filter_extend() - one part, or slot, more for a view whose kind has space()
 *
 * Between blm_change_begin() and nothing: the caller holds no lock of the filter, and begins anew
 * afterwards, since the view may be an old one by then. 1: done; 0: there was nothing to do, or the
 * file is no longer the filter.
 */
int blm_filter_extend(struct blm_filter *f, struct blm_view *view, enum blm_extend_when what);

#endif
