/*
 * phase.h - how far a long call is, for the function that the caller's thread chose with
 * blm_use_progress()
 *
 * A call opens a phase for a block of code, and says how much of it is done. A phase that is opened
 * within another one hides it until its own block ends. Helper threads have no function, so a loop
 * that they share with the caller's thread reports in that thread alone.
 */
#ifndef BLM_PHASE_H
#define BLM_PHASE_H

#include "base/base.h"

struct blm_phase {
	const char *name;		/* static */
	uint64_t done, total;		/* bytes; total 0: not known */
	bool whole, hidden;		/* whole: hides the phases within it */
	struct blm_phase *outer;
};

/* The phase in which the system writes to the disk. Its name is compared by its address. */
extern const char blm_writing[];

void blm_phase_begin(struct blm_phase *phase, const char *name, uint64_t done, uint64_t total);
void blm_phase_end(struct blm_phase *phase);

/*
 * A phase until the end of the block. done: the start value, for a phase that continues after an
 * earlier call.
 */
#define BLM_PHASE_FROM(name, done, total) \
	__attribute__((cleanup(blm_phase_end))) struct blm_phase phase_; \
	blm_phase_begin(&phase_, name, done, total)
#define BLM_PHASE(name, total) BLM_PHASE_FROM(name, 0, total)
/* ... and the phases that are opened within it are not reported. */
#define BLM_PHASE_WHOLE(name, total) \
	BLM_PHASE(name, total); \
	phase_.whole = true

/*
 * Reports that this much of the thread's innermost phase is done; a smaller number than before
 * changes nothing. Without a phase or a callback this does nothing.
 */
void blm_phase_at(uint64_t done);
/* The last reported number; 0: no phase. */
uint64_t blm_phase_done(void);
/*
 * Is there a function that hears how far the phase blm_writing is? Then what is written is divided
 * into pieces of BLM_WRITTEN_AT_ONCE, which cost one sync each.
 */
bool blm_phase_is_writing(void);
#define BLM_WRITTEN_AT_ONCE (UINT64_C(64) << 20)

#endif
