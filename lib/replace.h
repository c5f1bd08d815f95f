/* replace.h - what replace.c needs of others */
#ifndef BLM_REPLACE_H
#define BLM_REPLACE_H

#include "filter.h"

/* combine.c: all data, the count, and whether that is exact. */
int blm_copy_into(struct blm_view *new, const struct blm_view *from);

#endif
