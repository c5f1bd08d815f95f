/*
 * contains_range.h - messages about the two ends of a range
 */
#ifndef BLM_CONTAINS_RANGE_H
#define BLM_CONTAINS_RANGE_H

#include "handle/handle.h"

/*
 * Both ends of it, and their hashes. Return: 0, or -EINVAL with a message that begins with
 * `display`.
 */
int blm_check_range(const char *display, const struct blm_hasher *by, const struct blm_key keys[2],
		    const struct blm_hash hashes[2]);

#endif
