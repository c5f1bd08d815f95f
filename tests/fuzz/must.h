/*
 * must.h - what is always true, whatever the input; where it is not the program ends, and says what
 * and why the library failed last
 */
#ifndef BLM_FUZZ_MUST_H
#define BLM_FUZZ_MUST_H

#include "bloomery.h"

#include <stdio.h>

static inline void untrue(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: not true: %s; last failure: %s\n", file, line, what,
		blm_error_message());
	__builtin_trap();
}

#define must(right) ((right) ? (void)0 : untrue(#right, __FILE__, __LINE__))

#endif
