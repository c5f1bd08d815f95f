/*
 * sized.h - structs that callers allocate, and whose first member is their size
 *
 * A program may have been compiled with an older header, whose struct was shorter, or with a newer
 * one, whose struct is longer. Fields are only ever added at the end, and zero means default. A
 * field that is added begins behind the padding at the struct's end, so that the size tells whether
 * it is there.
 */
#ifndef BLM_SIZED_H
#define BLM_SIZED_H

#include <stddef.h>

/*
 * Copies what the caller gave into `to`, our struct of `bytes` bytes; fields that the caller's
 * header did not have become 0. The size in `to` is ours. `name` is the struct's, for messages.
 * Return: 0; -EINVAL: the size is less than `least`, or far above ours, or no multiple of a word,
 * so it was not set; -E2BIG: a field that we do not know is not 0.
 */
int blm_sized_take(void *to, size_t bytes, size_t least, const void *from, const char *name);

/* The same check of a struct that is only written to. Return: 0, or -EINVAL. */
int blm_sized_check(const void *to, size_t bytes, size_t least, const char *name);

/*
 * Copies our struct of `bytes` bytes into the caller's, as much of it as that has room for, and
 * leaves its size as it is.
 */
void blm_sized_give(void *to, const void *from, size_t bytes);

/* The size of the struct in the first release: up to the end of this member, and padding. */
#define BLM_FIRST_SIZE(type, last) \
	((offsetof(type, last) + sizeof(((type *)0)->last) + _Alignof(type) - 1) \
	 / _Alignof(type) * _Alignof(type))

#endif
