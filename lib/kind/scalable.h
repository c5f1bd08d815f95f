/*
 * scalable.h - the stages of a scalable filter, for code that reads or writes the files of another
 * program
 */
#ifndef BLM_KIND_SCALABLE_H
#define BLM_KIND_SCALABLE_H

#include "kind/kind.h"

extern const struct blm_kind blm_kind_scalable;

/* which of its arguments is what */
enum { SCALABLE_GROWTH, SCALABLE_TIGHTENING, SCALABLE_BLOCKED };
enum { SCALABLE_ROLE = 1 };				/* of each stage */
enum { SCALABLE_GROWTH_LEAST = 2, SCALABLE_GROWTH_MOST = 16 };
#define SCALABLE_TIGHTENING_LEAST 0.1
#define SCALABLE_TIGHTENING_MOST 0.95

#endif
