/* interpose.h - failures on order: which call of which kind fails, and how */
#ifndef BLM_INTERPOSE_H
#define BLM_INTERPOSE_H

#include <stdbool.h>
#include <stdint.h>

/* Kinds of calls that may fail; each is counted by itself. */
enum fault_call {
	FAULT_ALLOCATE,
	FAULT_OPEN,
	FAULT_READ,
	FAULT_WRITE,
	FAULT_STAT,
	FAULT_SIZE,
	FAULT_MAP,
	FAULT_UNMAP,
	FAULT_SYNC,
	FAULT_DUP,
	FAULT_LOCK,
	FAULT_FLOCK,
	FAULT_NAME,
	FAULT_RIGHTS,
	FAULT_UNLINK,
	FAULT_SEEK,
	FAULT_FOLDER,
	FAULT_HOLE,
	FAULT_PATH,
	FAULT_RANDOM,
	FAULT_THREAD,
	FAULT_WAIT,
	FAULT_MACHINE,
	FAULT_CALLS
};

enum fault_mode { FAULT_NEVER, FAULT_ONCE, FAULT_FROM_THEN_ON, FAULT_NOW_AND_THEN };

/* for an errno value: half of the bytes are read or written, and no more is said */
enum { FAULT_SHORT = -1 };

extern struct fault {
	enum fault_mode mode;
	enum fault_call call;		/* that fails; NOW_AND_THEN: any */
	long nth;			/* from 1 on; NOW_AND_THEN: one of this many calls fails */
	int err;			/* errno, or FAULT_SHORT */
	unsigned long random;		/* NOW_AND_THEN: the state of its dice */

	bool armed;			/* only then is anything counted or failed */
	long calls[FAULT_CALLS];
	long failed[FAULT_CALLS];
	long allocated, mapped;		/* how many there are now, whether armed or not */
} fault;

/*
 * Where calls come from, while nothing fails: the n-th of a kind from fault_sites[kind][n - 1], a
 * number for the functions that it was made through. Of later ones nothing is kept. NULL: of none.
 */
enum { FAULT_SITES = 4096 };
extern uint32_t (*fault_sites)[FAULT_SITES];

/* The C library loads what it needs to tell callers; to be called before anything is counted. */
void fault_begin_sites(void);

/* Its name, and the i-th errno value that fits it (FAULT_SHORT too); 0: no more. */
const char *fault_name(enum fault_call call);
int fault_errno(enum fault_call call, unsigned i);

/* For all kinds. */
long fault_all_failed(void);
long fault_all_calls(void);

#endif
