/* lock_wait.h - how long a change waits for a lock that no writer holds */
#ifndef BLM_FILE_PATIENCE_H
#define BLM_FILE_PATIENCE_H

#include "file/ofd_lock.h"

/*
 * Read access to a file is enough for a shared lock on it, so a process that may not change the
 * filter can delay processes that may. A wait for a writer has no limit: a sync of a large filter
 * takes minutes. A wait for a lock that is only shared has one, in milliseconds. It ends with
 * -EBUSY, and blm_error_message() names the process.
 */
enum {
	/* the lock is never shared by the library, or its holder is known not to be a writer */
	BLM_PATIENCE_READER = 5000,
	BLM_PATIENCE_UNKNOWN = 30000,	/* its holder is unknown, or may be copying the filter */
	/* of a file that may be copied: bytes for one millisecond more, as from a slow disk */
	BLM_PATIENCE_BYTES = 50000,
};

/* Tests make these shorter. */
extern int blm_patience_reader, blm_patience_unknown;

/*
 * A pause between two checks for a step of another thread or process: some 20 microseconds at
 * first, 1 millisecond after a moment, 10 after a second. -EINTR, with a message, if the program
 * was asked to stop (blm_stop_waiting_if()). Zeros before the first.
 */
struct blm_pause {
	int64_t begun;		/* 0: not yet */
	long nanoseconds;
};
int blm_pause(struct blm_pause *pause);
/*
 * The same pause, but it ends early when another process wakes the word (futex(2)), and at once if
 * the word is not `value`. `value` has the byte order of the stored word.
 */
int blm_pause_on(struct blm_pause *pause, const void *word, uint32_t value);

/*
 * The process that shares the lock, or 0: none that this process may look at. *ret_writer: has it
 * the file open for writing?
 */
int blm_lock_holder(int fd, enum blm_lock_of what, bool *ret_writer);

#endif
