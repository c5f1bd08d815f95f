/* putting.h - keys with values, a batch of lines at a time */
#ifndef BLOOMERY_PUTTING_H
#define BLOOMERY_PUTTING_H

#include "lines.h"

/* All zeros but the filter at first; give it to putting_end(). */
struct putting {
	struct blm_filter *f;
	uint64_t *values;
	size_t capacity;
};

/*
 * Put each line's key with its value. Where one is wrong, those before it have been put. Return: an
 * exit code, with a message.
 */
int put_batch(struct putting *p, struct batch *batch, uint64_t *ret_changed);
void putting_end(struct putting *p);

#endif
