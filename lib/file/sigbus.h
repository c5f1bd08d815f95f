/*
 * sigbus.h - what becomes of a process whose mapped file is cut, or cannot be read: the opt-in
 * guard of bloomery.h
 */
#ifndef BLM_FILE_SIGBUS_H
#define BLM_FILE_SIGBUS_H

#include "base/base.h"

/*
 * Every map is noted, so that the handler knows whose a page is. Return: 0 or -ENOMEM, for a map
 * that would go unguarded.
 */
int blm_sigbus_note(const void *map, uint64_t bytes, const char *path);
void blm_sigbus_forget(const void *map);

/* Has a page of any map been missing? */
extern __attribute__((visibility("hidden"))) bool blm_any_sigbus_hit;

static inline bool blm_sigbus_hit_any(void)
{
	return __atomic_load_n(&blm_any_sigbus_hit, __ATOMIC_RELAXED);
}

/* Has a page of this map been missing? The table is searched only after a page was missing. */
bool blm_sigbus_find_hit(const void *map);

static inline bool blm_sigbus_hit(const void *map)
{
	return __builtin_expect(blm_sigbus_hit_any(), false) && blm_sigbus_find_hit(map);
}

/*
 * Run a step that reads a map without an entry here, and cannot use ones: LMDB's. With the guard
 * on, a missing page ends the step immediately: its resources are lost, so it must take no locks.
 * Return: true and the step's result; false: it was ended.
 */
bool blm_sigbus_step(int (*step)(void *context), void *context, int *ret);
/*
 * From within the step, guard on or off: ends the step of this thread. Outside of a step this
 * returns.
 */
void blm_sigbus_end_step(void);

#endif
