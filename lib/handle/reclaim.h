/*
 * reclaim.h - epoch-based reclamation: a replaced view is freed when no thread can be using it
 *
 * A call works on the view that its handle had when the call began, or on a later one (handle.h). A
 * call is a critical section. Each thread announces the epoch in which it entered the section, and
 * takes that back when it leaves. The epoch advances when a view is replaced. If all announced
 * epochs are later than the replacement of a view, no thread uses that view. (The epoch of a file's
 * syncs, in layout.h, is another one.)
 *
 *   thread     announces the epoch, then loads the handle's view. It uses a plain store: only the
 *              compiler is kept from swapping the two.
 *   reclaimer  puts the new view into the handle; advances the epoch; calls membarrier(2), which
 *              makes every running thread pass a full fence; then looks at the announced epochs. A
 *              thread that it does not see there had not loaded the view before the fence, so that
 *              thread loads the new view.
 *
 * Where the system has no such barrier, old views are kept until the handle is closed.
 */
#ifndef BLM_RECLAIM_H
#define BLM_RECLAIM_H

#include "base/base.h"

#define BLM_NO_EPOCH UINT64_MAX

struct blm_thread {
	/*
	 * the epoch; BLM_NO_EPOCH; 0: the thread never made a call. Written by the thread, read by
	 * reclaimers
	 */
	uint64_t entered;
	bool gone;			/* its end has begun */
	struct blm_thread *next, *previous;
};

extern __attribute__((visibility("hidden"),
		      tls_model("initial-exec"))) _Thread_local struct blm_thread blm_thread;
extern __attribute__((visibility("hidden"))) uint64_t blm_reclaim_epoch;

/* Return: the value that blm_leave() restores. */
uint64_t blm_enter_slowly(void);

static inline uint64_t blm_enter(void)
{
	if (__builtin_expect(blm_thread.entered != BLM_NO_EPOCH, false))
		return blm_enter_slowly();
	__atomic_store_n(&blm_thread.entered, __atomic_load_n(&blm_reclaim_epoch, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return BLM_NO_EPOCH;
}

static inline void blm_leave(const uint64_t *before)
{
	__atomic_store_n(&blm_thread.entered, *before, __ATOMIC_RELEASE);
}

/*
 * The same for a call of some nanoseconds, which keeps no register for the value to restore. False:
 * nothing was done, and the caller uses blm_enter().
 */
static inline bool blm_enter_quickly(void)
{
	if (__builtin_expect(blm_thread.entered != BLM_NO_EPOCH, false))
		return false;
	blm_enter();
	return true;
}

static inline void blm_leave_quickly(void)
{
	__atomic_store_n(&blm_thread.entered, BLM_NO_EPOCH, __ATOMIC_RELEASE);
}

/* At the beginning of each call that touches a view: a critical section to the end of the block. */
#define BLM_CRITICAL_SECTION \
	__attribute__((cleanup(blm_leave), unused)) const uint64_t inside_ = blm_enter()

static inline bool blm_in_critical_section(void)
{
	return blm_thread.entered != BLM_NO_EPOCH;
}

/* Advances the epoch. Return: the epoch that ended. */
uint64_t blm_advance_reclaim_epoch(void);

/* Views that were replaced before this epoch may be freed. 0: none may be. */
uint64_t blm_oldest_reclaim_epoch(void);

#endif
