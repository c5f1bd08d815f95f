/*
 * mark.h - assertions that hold are cheap
 *
 * Check writes the place of each assertion that holds into a file, so that it can report the last
 * one before a crash: a system call each, and the parent reads all of them when the test ends,
 * which takes longer than most tests. Here a test writes each place once, when it first reaches it.
 * A failed assertion is reported as usual.
 */
#ifndef BLM_MARK_H
#define BLM_MARK_H

#include <check.h>

static inline void mark_once(const char *file, int line)
{
	static char marked[4096];	/* of this process: each test is one of its own */

	if (line < (int)sizeof(marked)) {
		if (__atomic_load_n(&marked[line], __ATOMIC_RELAXED))	/* threads assert, too */
			return;
		__atomic_store_n(&marked[line], 1, __ATOMIC_RELAXED);
	}
	_mark_point(file, line);
}
#define _mark_point(file, line) mark_once(file, line)

#endif
