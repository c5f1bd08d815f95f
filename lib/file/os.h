/*
 * os.h - what the system tells: the time, and which boot this is; and reading and writing to the
 * end
 */
#ifndef BLM_FILE_SYSTEM_H
#define BLM_FILE_SYSTEM_H

#include "base/base.h"

#include <signal.h>

uint64_t blm_now(void);			/* nanoseconds since 1970, UTC */

/*
 * A number for this boot of the machine, odd. Where the system tells none, BLM_NO_BOOT: then a
 * crash of the machine goes unnoticed. Older programs took 1 for that, so what they left dirty is
 * of another boot than any.
 */
#define BLM_NO_BOOT 2
uint64_t blm_boot_number(void);
/*
 * Fails, without words, where the system tells one, and could not at this moment: for want of a
 * descriptor or of memory. Once it has not, the number is known for good, so who opens a file asks
 * this first: a boot that is unknown for a moment is not another one.
 */
int blm_know_boot(void);

/*
 * A number for the file, from its inode and the time when that was made: a copy in a file of its
 * own has another one; under another name and in another boot it is the same, but on file systems
 * that number their files anew each time. An even one; 0: the system does not tell.
 */
uint64_t blm_file_number(int fd);

/*
 * What this thread has had of the disk: page faults that waited for it, and bytes read, for others'
 * use as well.
 */
struct blm_disk_use {
	uint64_t waits, bytes_read;
};
void blm_disk_use(struct blm_disk_use *ret);

/*
 * As pread(2) and pwrite(2), whatever interrupts them or cuts them short. read: how many bytes,
 * fewer only at the file's end.
 */
int64_t blm_read_at(int fd, void *buffer, size_t bytes, uint64_t at);
int blm_write_at(int fd, const void *from, size_t bytes, uint64_t at);

/*
 * A write past the limit of file sizes (RLIMIT_FSIZE) fails with EFBIG and raises SIGXFSZ, which
 * kills. Between hold and let the signal waits in this thread; one that was raised in between is
 * taken away.
 */
struct blm_held_signal {
	sigset_t before;
	bool was_pending;
};
void blm_hold_size_signal(struct blm_held_signal *ret);
void blm_let_size_signal(const struct blm_held_signal *held);

/*
 * Signals that end the program wait for this thread from one to the other, for a step that would
 * leave something behind if it were cut. Those with a handler, and those that are ignored, are let
 * through. A handler for one time (SA_RESETHAND) counts as the end: it tidies up, and the program
 * dies of the signal. It must not last long: a wait in it asks whether one came.
 */
void blm_hold_end(sigset_t *ret_before);
void blm_let_end(const sigset_t *before);
bool blm_end_came(void);

#endif
