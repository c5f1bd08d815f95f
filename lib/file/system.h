/* system.h - what the system tells: the time, and which boot this is */
#ifndef BLM_FILE_SYSTEM_H
#define BLM_FILE_SYSTEM_H

#include "base.h"

uint64_t blm_now(void);			/* nanoseconds since 1970, UTC */

/* A number for this boot of the machine, not 0. Where the system tells none, 1: then a crash of the machine goes unnoticed. */
uint64_t blm_boot_number(void);

#endif
