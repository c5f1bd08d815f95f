/*
 * work.h - what programs do with filters while their machine fails, and what must be true
 * afterwards
 *
 * A worker reports each step before it takes it and after it has returned. The reports before the
 * power cut say what must be there: the effect of every step that returned, and of the step under
 * way nothing or all.
 */
#ifndef BLM_WORK_H
#define BLM_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum work {
	/*
	 * one process in a store: create, publish, rename, drop, clear, rebuild, seal, label, add
	 * and sync, at random
	 */
	/* adders and claimers on one filter, and one who replaces its file under them */
	WORK_NAMES,
	WORK_PATHS,	/* the same without a store, as far as that goes */
	WORK_WRITERS,
	WORK_UNSYNCED,	/* adds that are never synced; to see that a cut is one */
	WORKS
};

enum op {
	OP_STORE,
	OP_CREATE,
	OP_ADD,
	OP_PUBLISH,
	OP_RENAME,
	OP_DROP,
	OP_CLEAR,
	OP_REBUILD,
	OP_SEAL,
	OP_LABEL,
	OP_SYNCED,
	OP_UNDONE,
	OP_FAILED
};

enum { SETTLED = 2 };

/* One write() each, so that those of several processes do not mix. */
struct report {
	uint8_t op, name, to;
	uint8_t done;		/* SETTLED: a cut came into the step, and the filters show it */
	/* which keys the filter holds from then on; or which process tells */
	uint32_t generation;
	uint32_t keys;		/* how many of them */
	uint32_t label;
};

struct tally {
	uint64_t cuts, twice, went_on, steps, keys, lost, findings, wrong;
	bool quiet;		/* it is meant to be wrong */
};

/*
 * Do it in a folder until it fails or `steps` are taken; reports go to fd. WORK_NAMES and
 * WORK_PATHS go on from earlier reports, after a cut that nothing was repaired after. Never
 * returns; run it in a process of its own.
 */
void work_do(enum work work, const char *folder, const struct report *earlier, size_t count,
	     uint64_t seed, unsigned steps, int fd) __attribute__((noreturn));

/*
 * Look at what is left, use it, repair it and look again; 0 if all is as it must be, else what is
 * not is printed. In a process of its own: what it crashes over is wrong too.
 */
int work_check(enum work work, const char *folder, const struct report *reports, size_t count,
	       struct tally *to);

/* Open, repair and go on, for a second cut in the middle of that. Never returns. */
void work_recover(const char *folder) __attribute__((noreturn));

/*
 * Set before a cut, and shared with the workers: from then on they report nothing. A file system
 * that was shut down is not a machine without power: a moment later an fsync() of a folder can
 * still return 0 although the data will never be on the disk.
 */
extern _Atomic int *work_power_goes;

/*
 * How often the machine was started anew: to be raised after each cut, so that who looks, or goes
 * on, has another boot number.
 */
extern unsigned work_boots;

/* Memory that this process and those it forks share. */
void *work_shared(size_t bytes);

#endif
