/*
 * random.h - random numbers from the system, or an error with a message
 */
#ifndef BLM_RANDOM_H
#define BLM_RANDOM_H

#include "base/base.h"

/*
 * By getrandom(2), otherwise from /dev/urandom; it ends within a second. display: the purpose of
 * the numbers, for the message. All random numbers come from here, because libsodium ends the
 * process if the system has none.
 */
int blm_random(void *ret, size_t bytes, const char *display);

#endif
