/* clock.c - the time of day */
#include "kind/common/clock.h"

#include <time.h>

static uint64_t system_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME_COARSE, &t);
	return t.tv_sec < 0 ? 0 : (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t (*blm_clock)(void) = system_clock;
