/*
 * discard.h - closes large filters in a thread
 *
 * To give back the memory or the pages of a large filter takes long, so the server's main thread
 * hands the filter over.
 */
#ifndef BLOOMERY_REDIS_DISCARD_H
#define BLOOMERY_REDIS_DISCARD_H

#include <bloomery.h>

/* Closes the filter, at once or soon. NULL is allowed. Any thread. */
void discard(struct blm_filter *f);

#endif
