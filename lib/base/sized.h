/*
 * sized.h - structs that callers allocate, and whose first member is their size
 *
 * A program may have been compiled with an older header, whose struct was shorter, or with a newer
 * one, whose struct is longer. Fields are only added at the end, and zero means the default. A new
 * field begins after the padding at the struct's end, so that the size shows whether it is there.
 */
#ifndef BLM_SIZED_H
#define BLM_SIZED_H

#include <stddef.h>

/*
 * Copies the caller's struct into `to`, our struct of `bytes` bytes; fields that the caller's
 * header lacks become 0. The size in `to` is ours. `name` is the struct's name, for messages.
 * Return: 0; -EINVAL: the size is less than `least`, far above ours, or no multiple of a word, so
 * it was not set; -E2BIG: a field that we do not know is not 0.
 */
int blm_sized_take(void *to, size_t bytes, size_t least, const void *from, const char *name);

/* The same check of a struct that is only written to. Return: 0, or -EINVAL. */
int blm_sized_check(const void *to, size_t bytes, size_t least, const char *name);

/*
 * Copies our struct of `bytes` bytes into the caller's, as far as it fits, and keeps the caller's
 * size.
 */
void blm_sized_give(void *to, const void *from, size_t bytes);

/* The size of the struct in the first release: up to the end of this member, and padding. */
#define BLM_FIRST_SIZE(type, last) \
	((offsetof(type, last) + sizeof(((type *)0)->last) + _Alignof(type) - 1) \
	 / _Alignof(type) * _Alignof(type))

#endif
