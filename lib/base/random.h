/* random.h - random numbers from the system, or an error with words */
#ifndef BLM_RANDOM_H
#define BLM_RANDOM_H

#include "base/base.h"

/*
 * By getrandom(2), else from /dev/urandom; it ends within a second. shown: what the numbers are
 * for, in the message. Nothing else asks for them: libsodium ends the process where there are none.
 */
int blm_random(void *ret, size_t bytes, const char *display);

#endif
