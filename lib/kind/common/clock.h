/* clock.h - the time of day, for kinds that forget by it */
#ifndef BLM_KIND_CLOCK_H
#define BLM_KIND_CLOCK_H

#include <stdint.h>

/*
 * Nanoseconds since 1970, to some milliseconds. A pointer, so that tests can let the time pass, and
 * step back.
 */
extern uint64_t (*blm_clock)(void);

#endif
