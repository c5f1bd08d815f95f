/*
 * presence.h - threads that change a file and must not see it replaced meanwhile, known without a
 * system call
 *
 * A thread in a claim is *present*: the file stays the filter until the thread has left. That is
 * what holding BLM_LOCK_REPLACE shared means, too, and a thread without a slot does that instead.
 * The words are in the live page (layout.h), the locks on bytes far past the file's end:
 *
 *   slot       a word that belongs to one thread of one open file description. BLM_SLOT_FENCED or
 *              BLM_SLOT_FENCES while it has an owner, with BLM_SLOT_ANNOUNCED while that thread is
 *              present.
 *   byte       one byte for each slot, on which the owner's description holds a write lock. The
 *              kernel releases the lock when the owner dies. So a slot has an owner if and only if
 *              its byte has a write lock. A new owner first frees the word `writer` of a dead one
 *              (writer_word.h).
 *   excluding  not 0 while a process that holds BLM_LOCK_REPLACE exclusively excludes the present.
 *
 *   claimer    1. store slot := announced, plain. Only the compiler is kept from moving it, or a
 *                 full fence where membarrier(2) cannot be registered for (BLM_SLOT_FENCES)
 *              2. load excluding, acquire. Not 0: store slot := idle; take BLM_LOCK_REPLACE shared
 *              3. look at the state, change the data
 *              4. store slot := idle, release
 *   excluder   1. take BLM_LOCK_REPLACE exclusively
 *              2. store excluding := 1; full fence
 *              3. membarrier(2), global expedited: every running thread of every process that
 *                 registered passes a full fence. Not needed where no slot is BLM_SLOT_FENCED
 *              4. for each slot that is announced: wait until it is not, or its byte is free
 *              5. replace, drop, list, grow
 *              6. store excluding := 0, release; give the lock back
 *   sharer     holds BLM_LOCK_REPLACE shared, so excluding is a dead process's if it is not 0:
 *              stores 0
 *
 * Why a claimer and an excluder are never in steps 3 and 5 at once:
 *   1. If the claimer's step 1 comes before the fence that excluder's step 3 makes its processor
 *      pass, then the excluder sees the slot announced in its step 4, and waits.
 *   2. Else the claimer's step 2 comes after that fence, and so after excluding := 1: the claimer
 *      sees that and goes away.
 *   3. A claimer that loads 0 after step 6 sees, by acquire and release, the state that the
 *      excluder left.
 *   4. A thread that gets its slot after the excluder looked at it passes a full fence between the
 *      store of its slot's first value and its first claim. So either the excluder sees that value,
 *      or the thread sees excluding.
 *
 * What a kill -9 leaves: A killed claimer leaves a slot that is announced and has no owner; an
 * excluder skips it. A killed excluder leaves the word excluding; the next claimer sets it to 0
 * under the lock. A copy of the file has the words and no locks, like a file whose processes all
 * died. A claimer that is stopped while it is present delays excluders, as a holder of the lock
 * does, and an excluder that waits delays new claimers.
 *
 * A *looker* must know whether a thread changes the file, and waits for none. A copy of a kind that
 * may be torn (kind.h) looks before it reads and after it, and a sync after it raised the epoch:
 *
 *   looker     1. store what claimers load in their step 3 (a sync: the epoch), or load what the
 *                 changes before have stored (a copy: the count of keys); full fence
 *              2. as step 3 of the excluder. Where membarrier(2) is refused: a thread is present
 *              3. is a slot announced whose byte has a write lock? Else no thread is present
 *
 * If step 3 does not find a claimer announced, there are two cases. The claimer left before: then
 * the looker sees all its stores, also those of its count. Or the claimer's step 3 comes after the
 * looker's fence: then the claimer loads the looker's store, and what the looker read before has
 * none of the claimer's changes.
 *
 * Whether an owner lives is asked with F_OFD_GETLK for a read lock. A write lock alone conflicts
 * with that. So a process that may only read, which can hold read locks on all bytes, is not taken
 * for an owner. It can keep others from getting a slot; they take the lock instead.
 */
#ifndef BLM_PRESENCE_H
#define BLM_PRESENCE_H

#include "file/layout.h"

enum {
	BLM_SLOT_ANNOUNCED = 1,
	/* the owner relies on excluders for fences: it is registered with membarrier(2) */
	BLM_SLOT_FENCED = 2,
	BLM_SLOT_FENCES = 4,		/* the owner passes a full fence at each claim */
	BLM_PRESENCE_THREADS = 256,	/* threads of a process that have slots at one time */
};

/* A process's state of the slots of a file that it maps for writing. */
struct blm_presence {
	/* NULL: the file has no slots, or this process may not write to it. Set once */
	struct blm_live *live;
	/*
	 * by the thread's number; NULL: none yet. Each is used by its thread, and written by it, at
	 * its end, and in a forked child
	 */
	uint64_t *word[BLM_PRESENCE_THREADS];
	/* The rest is under the mutex of presence.c. */
	int fd;
	uint64_t taken[(BLM_SLOTS + 63) / 64];
	struct blm_presence *next, *previous;
	bool listed;
	unsigned passes;	/* calls that do not try, after none was free */
	/*
	 * The span of time (writer_word.c) in which BLM_LOCK_WRITE was last seen free. 0: never.
	 * Written and read, relaxed, by all threads
	 */
	uint64_t seen_free;
};

/* Where this thread is present. */
struct blm_here {
	/* the file in which it is present. Written by this thread, read by its signal handlers */
	struct blm_presence *at;
	/* locks of that file that it took since, in calls within that call (signal handlers) */
	uint32_t locks;
	/* 0: none yet, or none any more. Its slots are at this index of blm_presence.word */
	uint16_t number;
	bool gone;		/* its end has begun */
	bool writes;		/* the word `writer` of `at` names its slot (writer_word.h) */
};

extern __attribute__((visibility("hidden"),
		      tls_model("initial-exec")))
	_Thread_local struct blm_here blm_here;
/* BLM_SLOT_FENCED or BLM_SLOT_FENCES, for all threads. Written before the first slot is taken */
extern __attribute__((visibility("hidden"))) uint64_t blm_slot_idle;

/* ---- Claimers ---- */

/* Step 4. */
static inline void blm_presence_leave(struct blm_presence *p)
{
	uint64_t *word = p->word[blm_here.number];

	/* without a slot this is a child that was forked since: the slot belongs to its parent */
	if (word)
		store_release(word, blm_slot_idle);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	blm_here.at = NULL;
}

/*
 * Steps 1 and 2. False: this thread has no slot, is in a call already, or is excluded: it must hold
 * BLM_LOCK_REPLACE.
 */
static inline bool blm_presence_enter(struct blm_presence *p)
{
	uint64_t *word = p->word[blm_here.number];

	if (!word || blm_here.at)
		return false;
	blm_here.at = p;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(word, htole64(blm_slot_idle | BLM_SLOT_ANNOUNCED), __ATOMIC_RELAXED);
	if (__builtin_expect(blm_slot_idle == BLM_SLOT_FENCES, false))
		full_fence();
	else
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(load_acquire(&p->live->excluding) == 0, true))
		return true;
	blm_presence_leave(p);
	return false;
}

/* Get a slot for this thread. False: there is no free slot, or the thread has one already. */
bool blm_presence_take(struct blm_presence *p, int fd);
/*
 * Called before fd is closed, which gives back the slots. It does not write their words, because
 * the file may have been truncated.
 */
void blm_presence_end(struct blm_presence *p);

/* The slot of this thread, which has one. */
unsigned blm_presence_slot(const struct blm_presence *p);
/*
 * Has a slot an owner? fd: of this process, for the same file. True also where that cannot be
 * asked.
 */
bool blm_presence_has_owner(struct blm_presence *p, int fd, unsigned slot);
/* -EIO, with a message, if the file was truncated under the map: all words are ones then. */
int blm_live_check(const struct blm_live *live);

/* ---- Lookers, excluders and sharers ---- */

/*
 * Steps 2 and 3 of a looker: may a thread be present? A handle for reading has no p->live, so it is
 * given `live`. fd: of this process, for the same file.
 */
bool blm_presence_is_used(struct blm_presence *p, const struct blm_live *live, int fd);

/*
 * Steps 2 to 4, with BLM_LOCK_REPLACE held exclusively. Waits for owners that live, however long.
 * Fails, with a message: -EINTR as blm_ofd_lock() does; -EIO if the file was truncated while it was
 * mapped; -ENOSYS if membarrier(2) is refused and owners rely on it. After a failure `excluding` is
 * 0 again.
 */
int blm_presence_exclude(struct blm_presence *p, int fd);
/* Step 6. */
static inline void blm_presence_admit(struct blm_presence *p)
{
	if (p->live)
		store_release(&p->live->excluding, 0);
}

/* With BLM_LOCK_REPLACE held shared. */
static inline void blm_presence_clear_dead(struct blm_presence *p)
{
	if (p->live && load_acquire(&p->live->excluding))
		store_release(&p->live->excluding, 0);
}

#endif
