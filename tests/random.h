/*
 * random.h - a test program draws the same random numbers in every run
 *
 * The library draws seeds, secrets and temporary names from getrandom(2), which this replaces in
 * the program and in the libraries that it loads. Each test is a process of its own and begins with
 * the same numbers, so that a test of a rate has one answer. Commands that a test starts draw from
 * the system, or by tools/same_random.c.
 *
 * The definition is not weak: a sanitizer's own, which is, would take its place.
 */
#ifndef BLM_RANDOM_OF_TESTS_H
#define BLM_RANDOM_OF_TESTS_H

#include "draw.h"

#include <sys/random.h>

ssize_t getrandom(void *to, size_t bytes, unsigned flags)
{
	(void)flags;
	draw(to, bytes);
	return (ssize_t)bytes;
}

#endif
