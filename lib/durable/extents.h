/* extents.h - after a failed write-back: has the file what the memory has? */
#ifndef BLM_EXTENTS_H
#define BLM_EXTENTS_H

#include "view/view.h"

/*
 * The caller has made all pages dirty (flush.h), and has written them back without an error.
 * Returns 0; 1 if the file system does not keep some of them, so that they are zeros after a power
 * cut; or a negative errno if a page could not be written, without a message. Other processes may
 * add at the same time.
 */
int blm_check_extents(const struct blm_view *view);

/* What a caller says where it returns 1. Return: -EIO */
int blm_fail_unkept(const char *display);

#endif
