/* progress.h - how fast, how far, how long yet */
#ifndef BLOOMERY_PROGRESS_H
#define BLOOMERY_PROGRESS_H

#include "command.h"

extern const struct opt progress_option[];

void progress_begin(uint64_t total_bytes);	/* 0: nobody knows */
void progress_now(uint64_t keys, uint64_t bytes);
void progress_end(void);

#endif
