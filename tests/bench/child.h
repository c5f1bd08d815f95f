/* child.h - other programs, run to their end or held for a look */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct run {
	double ms;		/* from start to end, by the wall's clock */
	double mib;		/* the most memory it had, file-backed pages included */
	int code;
};

/*
 * Input from that file, NULL: nothing; output to nowhere. Environment as ours, LC_ALL=C. Negative
 * errno.
 */
int run_program(const char *const *argv, const char *input, struct run *ret);

/*
 * Start it with a pipe as its input, give it these bytes, wait until it waits for more: its
 * anonymous memory.
 */
int private_memory(const char *const *argv, const char *bytes, double *ret_mib);

bool have_program(const char *name);

#endif
