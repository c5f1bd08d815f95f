/* progress.h - how fast, how far, how long yet */
#ifndef BLOOMERY_PROGRESS_H
#define BLOOMERY_PROGRESS_H

#include "command.h"

extern const struct opt progress_option[];

void progress_begin(uint64_t total_bytes);	/* 0: not known */
void progress_count_in(const char *unit);	/* instead of "keys", after progress_begin() */
void progress_now(uint64_t keys, uint64_t bytes);
/* For work in phases that is not reading: after progress_begin(), by any thread. */
void progress_of(const char *phase, uint64_t done, uint64_t total);
/* For the library's long calls of this thread, which report bytes: instead of progress_begin(). */
void progress_of_calls(void);
/* ... or after it, where both report: the last line stays that of what progress_of() counts. */
void progress_of_calls_too(void);
void progress_made(uint64_t bytes);	/* how large is the new file? For the last line. */
/* The next one of several calls begins: the line at the end is about all of them. */
void progress_of_next_call(void);
/* Before something else is printed: takes the line off the terminal until it is next shown. */
void progress_hide(void);
void progress_end(void);
/* ... of a call that gave r: if it failed, the line goes, and no line says what was done. */
void progress_end_of_call(int64_t r);
bool progress_wanted(void);	/* is it asked for? */

#endif
