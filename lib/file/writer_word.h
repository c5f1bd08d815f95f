/*
 * writer_word.h - the one writer of a file, known without a system call
 *
 * A kind with one writer at a time is changed by a thread that holds BLM_LOCK_WRITE exclusively, or
 * whose slot (presence.h) the word `writer` names. Both exclude each other. The thread with the
 * word is a *fast* writer here; one that holds the lock, in either mode, is a *holder*. In kinds
 * that serialize removals a writer is a thread that removes or claims; adds need neither.
 *
 *   word `writer`   bits 0 to 8   the owner: its slot + 1; 0: none
 *                   bit 9         WAITED: a thread sleeps until the owner changes
 *                   bit 10        LOCKED: no thread becomes the owner
 *                   bits 16 to 63 how often the word got an owner or lost a dead one
 *
 * All changes are one compare-and-swap of the whole word, acquire and release:
 *
 *   take     a thread that is present in its slot: owner 0, not LOCKED -> its slot + 1; count + 1
 *   give     the owner: -> owner 0, not WAITED; then it wakes the sleepers if WAITED was set
 *   wait     any thread: owner not 0 -> WAITED
 *   lock     a holder, before it looks at the data: -> LOCKED; then it waits until the owner is 0,
 *            or dead. A fast writer that finds a holder does so, too
 *   unlock   a holder of the exclusive mode, before it gives the lock back: -> not LOCKED
 *   free     a thread that waits and found the owner's byte without a lock: -> owner 0, not WAITED;
 *            count + 1; wake. So does a thread that gets a slot which the word names
 *
 * A handle for reading cannot write the word. It holds BLM_LOCK_WRITE shared and needs the fast
 * writers to notice. So a writer asks for the lock once in each span of CLOCK_MONOTONIC_COARSE
 * (2^22 ns), by F_OFD_GETLK:
 *
 *   writer   1. take; full fence
 *            2. load the clock. In the span of `seen_free`: the word is its. Else 3
 *            3. ask for the lock. Free: seen_free := the span of 2. Held: lock the word; give; take
 *               BLM_LOCK_WRITE instead
 *   reader   1. take BLM_LOCK_WRITE shared; full fence
 *            2. load the word. LOCKED, or the count is 0: 4
 *            3. wait until the clock went on by a span and 2^20 ns; full fence
 *            4. wait until the owner is 0, or dead
 *
 * Why a fast writer and a holder never change or read the data at once:
 *   1. A holder that can write to the map: LOCKED and the owner are one word. No thread becomes the
 *      owner after `lock`, until `unlock`. Only a holder of the exclusive mode unlocks. It locks
 *      first, so no other holder is there. `lock` waited for the owner that it found.
 *   2. A reader that found LOCKED: as 1, because no thread can hold the exclusive mode.
 *   3. A reader that found the count 0: no thread has been the owner, so none has seen the lock
 *      free. The first one asks for the lock, and finds the reader's.
 *   4. Another reader: a writer that took the word before the reader's 4 is waited for there. One
 *      that took it later loads the clock after the reader's 3 (its fence, the reader's fence). So
 *      its span is later than any in which the lock was seen free before the reader had it. It asks
 *      and finds the reader's lock. The clock is one variable of the kernel that all processors
 *      share; time only decides how long 3 takes. Name spaces of time shift it by a constant.
 *      Before Linux 6.15 adjtimex(2) can set it back by some nanoseconds: the 2^20 are for that.
 *   5. Two fast writers: the owner is one. A waiter frees an owner only after it found the byte of
 *      its slot without a lock. Each time that a thread becomes the owner the count is another. So
 *      if the word is still the same, its owner is that one, and is dead.
 *
 * What an end of the process leaves at any instruction:
 *   fast writer     an owner that is dead. The next writer frees the word, and then undoes or ends
 *                   what the dead one did (recover() of the kind), as after a holder's death.
 *   slot reused     the kernel gives the slot's byte to another thread. That one frees the word
 *                   before its slot has an owner that others would wait for.
 *   after give      sleepers that are not woken. They look again after at most 10 ms.
 *   holder          LOCKED without a holder. The next writer takes the lock and unlocks.
 *   waiter, reader  nothing but bits that cost a call: WAITED, LOCKED.
 *
 * A copy of the file has the word and no locks, as after a death. A writer that is stopped while it
 * is the owner delays writers, syncs and copies without limit, as a stopped holder does. Read locks
 * of a process that may only read delay writers as long as lock_wait.h says, and are no owner's
 * locks. A forked child has no slot, so it is no owner and gives nothing. If a thread has none,
 * if the file is lent or LOCKED, or if an epoch must be announced, it takes BLM_LOCK_WRITE.
 */
#ifndef BLM_WRITER_WORD_H
#define BLM_WRITER_WORD_H

#include "file/presence.h"

enum {
	BLM_WRITER_OWNER = (1 << 9) - 1,
	BLM_WRITER_WAITED = 1 << 9,
	BLM_WRITER_LOCKED = 1 << 10,
	BLM_WRITER_COUNT = 1 << 16,	/* one of them */
};
static_assert((int)BLM_SLOTS < BLM_WRITER_OWNER, "each slot is an owner");

/* ---- Fast writers, which are present in their slots ---- */

/*
 * Become the owner. 1; or 0: take BLM_LOCK_WRITE instead. Waits for owners that live, however long.
 * Fails, with a message: -EINTR as blm_ofd_lock() does; -EIO if the file was truncated while it was
 * mapped.
 */
int blm_writer_take(struct blm_presence *p, int fd);
void blm_writer_give(struct blm_presence *p);

/* ---- Holders of BLM_LOCK_WRITE ---- */

/*
 * After the lock was taken: wait until there is no fast writer, and let none begin. A handle for
 * reading has no p->live, so it is given `live`. Fail as blm_writer_take() does.
 */
int blm_writer_lock(struct blm_presence *p, int fd);
int blm_writer_wait_as_reader(struct blm_presence *p, const struct blm_live *live, int fd);
/* Before the lock is given back, if it was held exclusively. */
void blm_writer_unlock(struct blm_presence *p);

/* ---- Owners of slots ---- */

/* The slot has just got an owner: if the word names it, the word's owner is dead. */
void blm_writer_inherit(struct blm_presence *p, unsigned slot);

#endif
