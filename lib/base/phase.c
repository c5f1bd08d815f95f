/* phase.c - how far a long call is: blm_use_progress() */
#include "base/phase.h"
#include "bloomery.h"

const char blm_writing[] = "writing to the disk";

static _Thread_local struct {
	void (*tell)(void *context, const char *phase, uint64_t done, uint64_t total);
	void *context;
	struct blm_phase *phase;
} mine;

BLM_API void blm_use_progress(void (*tell)(void *context, const char *phase, uint64_t done,
					   uint64_t total), void *context)
{
	mine.tell = tell;
	mine.context = context;
}

static void tell(void)
{
	if (mine.tell && !mine.phase->hidden)
		mine.tell(mine.context, mine.phase->name, mine.phase->done, mine.phase->total);
}

void blm_phase_begin(struct blm_phase *phase, const char *name, uint64_t done, uint64_t total)
{
	const struct blm_phase *outer = mine.phase;

	*phase = (struct blm_phase){ .name = name, .done = done, .total = total,
				     .hidden = outer && (outer->whole || outer->hidden),
				     .outer = mine.phase };
	mine.phase = phase;
	tell();
}

void blm_phase_end(struct blm_phase *phase)
{
	mine.phase = phase->outer;
}

void blm_phase_at(uint64_t done)
{
	struct blm_phase *phase = mine.phase;

	if (!phase || done <= phase->done)
		return;
	phase->done = phase->total && done > phase->total ? phase->total : done;
	tell();
}

bool blm_phase_is_writing(void)
{
	return mine.tell && mine.phase && mine.phase->name == blm_writing && !mine.phase->hidden;
}

uint64_t blm_phase_done(void)
{
	return mine.phase ? mine.phase->done : 0;
}
