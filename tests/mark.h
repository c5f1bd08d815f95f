/*
 * mark.h - assertions that hold are cheap
 *
 * Check writes the place of each assertion that holds into a file, so as to tell of a crash behind
 * which one it came: a system call, and the parent goes through all of them when the test ends,
 * which takes longer than most tests do themselves. Here a test writes each place once, when it
 * first comes there; where an assertion fails is told as ever.
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
