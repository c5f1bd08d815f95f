/*
 * secret_memory.h - secrets are in memory that is not dumped, and what hashing leaves of them
 * elsewhere is wiped
 */
#ifndef BLM_HIDDEN_H
#define BLM_HIDDEN_H

#include "base/base.h"

/*
 * Pages between two guard pages. They are locked in memory, left out of core dumps, and zeroed
 * before they are unmapped.
 */
void *blm_hidden_new(size_t bytes);	/* zeros; NULL: no memory */
void blm_hidden_free(void *hidden);	/* takes NULL */

/* BLM_SECRET_BYTES, and none of them stays in a register */
void blm_secret_copy(uint8_t *to, const uint8_t *from);

/*
 * If a secret passes through registers, a compiler may keep a copy in its stack frame, and the
 * dynamic linker saves all registers on the stack at the first call of each function. So:
 *   1. A function that works on a secret is BLM_CLEARS_REGISTERS, is not inlined, and calls nothing
 *      outside of the library, except where that is inevitable, as for reading a key's file.
 *   2. Its caller then wipes the stack below its own frame, where the frames of those functions
 *      were.
 */
#if defined(__has_attribute) && __has_attribute(zero_call_used_regs)
#define BLM_CLEARS_REGISTERS __attribute__((noinline, zero_call_used_regs("used")))
#define BLM_CLEARS_ALL_REGISTERS __attribute__((noinline, zero_call_used_regs("all")))
#else
#define BLM_CLEARS_REGISTERS __attribute__((noinline))
#define BLM_CLEARS_ALL_REGISTERS __attribute__((noinline))
#endif

/*
 * Zeros over a piece of the stack from here on. It does not call memset(): the call could go
 * through the dynamic linker, which would save the registers beyond the wiped range.
 */
typedef uint64_t blm_two_words __attribute__((vector_size(16)));

#define BLM_WIPE(bytes) \
	do { \
		blm_two_words buffer[(bytes) / sizeof(blm_two_words)]; \
		\
		for (size_t i = 0; i < ARRAY_LEN(buffer); i++) { \
			buffer[i] = (blm_two_words){ 0 }; \
			__asm__ volatile("" : : "r"(&buffer[i]) : "memory"); \
		} \
	} while (0)

/* everything that a call into a library may have left, and the registers */
void blm_wipe_stack(void);

#endif
