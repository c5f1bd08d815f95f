/*
 * reclaim.h - which threads are inside a call, so that nothing is freed that one of them may be
 * using
 *
 * A call works on the view that its handle had when it began, or a later one (handle.h). Each
 * thread notes the moment at which it entered the library, and takes the note back when it leaves;
 * a moment passes when a view is replaced. So a view that was replaced at a moment before all those
 * that are noted is in nobody's hands.
 *
 *   a thread   notes the moment, then loads the handle's view. A plain store: nothing but the
 *              compiler is kept from swapping the two.
 *   a freer    puts the new view into the handle; lets a moment pass; membarrier(2), which makes
 *              every running thread pass a full fence; then looks at the notes. A thread whose note
 *              it does not see had not loaded the view before the fence, so it gets the new one.
 *
 * Where the system has no such barrier, nothing is freed before the handle is closed.
 */
#ifndef BLM_INSIDE_H
#define BLM_INSIDE_H

#include "base/base.h"

#define BLM_OUTSIDE UINT64_MAX

struct blm_thread {
	/*
	 * the moment; BLM_OUTSIDE; 0: a thread that was never here. Written by the thread, read by
	 * freers
	 */
	uint64_t entered;
	bool gone;			/* its end has begun */
	struct blm_thread *next, *previous;
};

extern __attribute__((visibility("hidden"),
		      tls_model("initial-exec"))) _Thread_local struct blm_thread blm_thread;
extern __attribute__((visibility("hidden"))) uint64_t blm_moment;

/* Return: what to note when the call is over. */
uint64_t blm_enter_slowly(void);

static inline uint64_t blm_enter(void)
{
	if (__builtin_expect(blm_thread.entered != BLM_OUTSIDE, false))
		return blm_enter_slowly();
	__atomic_store_n(&blm_thread.entered, __atomic_load_n(&blm_moment, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return BLM_OUTSIDE;
}

static inline void blm_leave(const uint64_t *before)
{
	__atomic_store_n(&blm_thread.entered, *before, __ATOMIC_RELEASE);
}

/*
 * The same for a call of some nanoseconds, which keeps no register for what to note at its end.
 * False: nothing is done, and blm_enter() knows what to do.
 */
static inline bool blm_enter_quickly(void)
{
	if (__builtin_expect(blm_thread.entered != BLM_OUTSIDE, false))
		return false;
	blm_enter();
	return true;
}

static inline void blm_leave_quickly(void)
{
	__atomic_store_n(&blm_thread.entered, BLM_OUTSIDE, __ATOMIC_RELEASE);
}

/* At the beginning of each call that touches a view: inside from here to the end of the block. */
#define BLM_INSIDE __attribute__((cleanup(blm_leave), unused)) const uint64_t inside_ = blm_enter()

static inline bool blm_is_inside(void)
{
	return blm_thread.entered != BLM_OUTSIDE;
}

/* Let a moment pass; the one that did. */
uint64_t blm_pass_moment(void);

/* What was replaced before this moment may be freed. 0: nothing may. */
uint64_t blm_oldest_moment(void);

#endif
