/*
 * memory.h - the place of a filter in memory, which exists as long as a handle is open
 *
 * It is a file without a name (memfd_create(2)), so that all functions for files work on it, locks
 * and replacements included. The place holds a descriptor that stands for the name: its target is
 * the filter. Forked children share the filter; a child that replaces it (clears it, intersects it
 * in place) continues with a filter of its own.
 */
#ifndef BLM_MEMORY_H
#define BLM_MEMORY_H

#include "file/new_file.h"

#include <stdatomic.h>
#include <sys/types.h>

struct blm_memory {
	_Atomic unsigned references;
	/* -1: nothing there yet. Never locked, so that a child may keep it */
	int fd;
	uint8_t *secret;	/* of a keyed filter; NULL: none was kept */
};

struct blm_memory *blm_memory_new(void);	/* NULL: out of memory */
struct blm_memory *blm_memory_hold(struct blm_memory *memory);
void blm_memory_release(struct blm_memory *memory);

/* As blm_place_...() in place.h. */
int blm_memory_open(const struct blm_memory *memory, bool write);
int blm_memory_is(const struct blm_memory *memory, dev_t device, ino_t inode);
int blm_memory_begin(struct blm_new_file *ret);
int blm_memory_publish(struct blm_memory *memory, const struct blm_new_file *file);
int blm_memory_secret(const struct blm_memory *memory, uint8_t *ret);
int blm_memory_keep_secret(struct blm_memory *memory, const uint8_t *secret);

#endif
