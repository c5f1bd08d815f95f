/*
 * os.h - questions to the system: the time, the boot, the number of a file; complete reads and
 * writes; and signals that wait
 */
#ifndef BLM_FILE_SYSTEM_H
#define BLM_FILE_SYSTEM_H

#include "base/base.h"

#include <signal.h>

uint64_t blm_now(void);			/* nanoseconds since 1970, UTC */

/*
 * A number for this boot of the machine, odd. BLM_NO_BOOT if the system has none: then a crash of
 * the machine goes unnoticed. Older programs used 1 instead, so their dirty files belong to another
 * boot than any.
 */
#define BLM_NO_BOOT 2
uint64_t blm_boot_number(void);
/*
 * Fails, without a message, if the system has a boot number but could not return it at this moment,
 * for lack of a descriptor or of memory. After a success the number stays known. Call this before
 * opening a file: a boot that is unknown for a moment is not another boot.
 */
int blm_know_boot(void);

/*
 * A number for the file, from its inode number and the creation time of the inode. A copy has
 * another number. Under another name and in another boot the number is the same, except on file
 * systems that renumber their files at each mount. Even; 0: the system does not return it.
 */
uint64_t blm_file_number(int fd);

/*
 * The use of the disk by this thread: page faults that waited for it, and bytes read (also by
 * read-ahead for other threads).
 */
struct blm_disk_use {
	uint64_t waits, bytes_read;
};
void blm_disk_use(struct blm_disk_use *ret);

/*
 * As pread(2) and pwrite(2), but continued after interrupts and short counts. blm_read_at()
 * returns the number of bytes, fewer only at the end of the file.
 */
int64_t blm_read_at(int fd, void *buffer, size_t bytes, uint64_t at);
int blm_write_at(int fd, const void *from, size_t bytes, uint64_t at);

/*
 * Zeros to write, in complete cache lines. No code changes them. They are not const, because an
 * array of const zeros takes its size in the file of the library.
 */
enum { BLM_ZEROS = 64 << 10 };
extern uint8_t blm_zeros[BLM_ZEROS];

/*
 * A write past the limit of file sizes (RLIMIT_FSIZE) fails with EFBIG and raises SIGXFSZ, which
 * kills. Between hold and let this thread blocks the signal; a signal raised in between is
 * discarded.
 */
struct blm_held_signal {
	sigset_t before;
	bool was_pending;
};
void blm_hold_size_signal(struct blm_held_signal *ret);
void blm_let_size_signal(const struct blm_held_signal *held);

/*
 * Between hold and let this thread blocks the signals that end the program, for a step that must
 * not be interrupted halfway. Signals with a handler, and ignored ones, are delivered. A handler
 * for one time (SA_RESETHAND) counts as an end: it tidies up, and the program then dies of the
 * signal. So does a handler with SA_NOCLDWAIT, a flag without another meaning for these signals: a
 * second signal before the first line of a handler for one time would kill at once. The step must
 * be short: a wait inside it asks blm_end_came().
 */
void blm_hold_end(sigset_t *ret_before);
void blm_let_end(const sigset_t *before);
bool blm_end_came(void);

#endif
