/* extents.h - after a failed write-back: has the file what the memory has? */
#ifndef BLM_EXTENTS_H
#define BLM_EXTENTS_H

#include "view/view.h"

/*
 * The caller has made all pages dirty (flush.h), and has written them back without an error. 1: the
 * file system does not keep some of them: after a power cut they are zeros. 0, or a negative errno
 * if a page could not be written, without words. Other processes may add at the same time.
 */
int blm_check_extents(const struct blm_view *view);

#endif
