/* fault.h - what the programs of this folder share: TAP, options, keys */
#ifndef BLM_FAULT_H
#define BLM_FAULT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned tap_count, tap_failed;

/* One line of TAP: "ok 3 - a true sentence: figures". */
static inline __attribute__((format(printf, 2, 3))) void tap(bool ok, const char *format, ...)
{
	va_list ap;

	printf("%sok %u - ", ok ? "" : "not ", ++tap_count);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	tap_failed += !ok;
}

static inline int tap_end(void)
{
	printf("1..%u\n", tap_count);
	return tap_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static inline int tap_skip(const char *reason)
{
	printf("1..0 # SKIP %s\n", reason);
	return EXIT_SUCCESS;
}

static inline uint64_t mixed(uint64_t x)	/* splitmix64's finaliser */
{
	x += UINT64_C(0x9E3779B97F4A7C15);
	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

static inline uint64_t next_random(uint64_t *state)
{
	return mixed(*state += UINT64_C(0x9E3779B97F4A7C15));
}

/* 0 to n - 1 */
static inline unsigned one_of(uint64_t *state, unsigned n)
{
	return (unsigned)(next_random(state) % n);
}

/* The number after `--name` on the command line; else what is there by default. */
static inline unsigned long number_of(int argc, char **argv, const char *name,
				      unsigned long otherwise)
{
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], name))
			return strtoul(argv[i + 1], NULL, 0);
	return otherwise;
}

#endif
