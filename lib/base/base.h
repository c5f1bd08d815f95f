/*
 * base.h - the basis of every file: words in little-endian order, a few macros, errors with
 * messages
 */
#ifndef BLM_BASE_H
#define BLM_BASE_H

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Maps the range of a 64-bit number to 0 .. n - 1: floor(x * n / 2^64). */
static inline uint64_t scale(uint64_t x, uint64_t n)
{
	return (uint64_t)((unsigned __int128)x * n >> 64);
}

/*
 * The i-th word of 64 bits that a hash of 128 unfolds to (format-spec.md, "Words of a key"): one
 * 64x64 multiply, its halves folded. The words of a key are as good as independent, also for small
 * filters with many probes, where the classical h1 + i h2 misses its rate by far (`bloomery measure
 * -n 1000 -m 32000 -k 22 --scheme double`).
 */
#define UNFOLD_FLIP UINT64_C(0xA0761D6478BD642F)
static inline uint64_t unfold(uint64_t lo, uint64_t hi, uint64_t i)
{
	unsigned __int128 p = (unsigned __int128)(lo + i * UINT64_C(0xD1B54A32D192ED03))
		* (hi ^ UNFOLD_FLIP);

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline uint64_t round_up(uint64_t x, uint64_t unit)	/* the caller knows that it fits */
{
	return (x + unit - 1) / unit * unit;
}

static inline bool is_zero(const uint8_t *bytes, size_t count)
{
	return !count || (!bytes[0] && !memcmp(bytes, bytes + 1, count - 1));
}

/* A double and its 64 bits. */
static inline double blm_double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, 8);
	return value;
}

static inline uint64_t blm_bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, 8);
	return bits;
}

/*
 * Words that several processes share are little-endian 64-bit words, aligned to 8. These are the
 * only ways to touch one; each declaration says which of them its readers and writers use and why
 * that is enough.
 */
static inline uint64_t load_relaxed(const uint64_t *word)
{
	return le64toh(__atomic_load_n(word, __ATOMIC_RELAXED));
}

static inline uint64_t load_acquire(const uint64_t *word)
{
	return le64toh(__atomic_load_n(word, __ATOMIC_ACQUIRE));
}

static inline void store_release(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, htole64(value), __ATOMIC_RELEASE);
}

/*
 * The same for several words, aligned to 8, that others may load or change at the same time. A copy
 * may have some old and some new words: a checksum or the protocol shows that.
 */
static inline void copy_from_shared(void *to, const void *from, size_t bytes)
{
	uint64_t *own = (uint64_t *)to;
	const uint64_t *words = (const uint64_t *)from;

	for (size_t i = 0; i < bytes / 8; i++)
		own[i] = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
}

static inline void copy_to_shared(void *to, const void *from, size_t bytes)
{
	uint64_t *words = (uint64_t *)to;
	const uint64_t *own = (const uint64_t *)from;

	for (size_t i = 0; i < bytes / 8; i++)
		__atomic_store_n(&words[i], own[i], __ATOMIC_RELAXED);
}

/* Acquire and release. False: *old is the current word. */
static inline bool compare_and_swap(uint64_t *word, uint64_t *old, uint64_t new)
{
	uint64_t stored = htole64(*old);
	bool done = __atomic_compare_exchange_n(word, &stored, htole64(new), false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);

	*old = le64toh(stored);
	return done;
}

static inline void full_fence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/*
 * A full fence for a thread whose last store into shared words was an atomic read-modify-write, or
 * which stored nothing. On x86 a locked instruction is a full fence, and loads stay in order. So
 * there only the compiler is kept from moving anything.
 */
static inline void fence_after_atomics(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
#else
	full_fence();
#endif
}

static inline void add_relaxed(uint64_t *word, uint64_t n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	__atomic_fetch_add(word, n, __ATOMIC_RELAXED);
#else
	uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(word, &old, htole64(le64toh(old) + n), true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
#endif
}

/*
 * blm_fail() - fail with a message
 *
 * Sets this thread's blm_error_message() (one line: the file, field or value; what is wrong; what
 * to do) and returns `err`, a negative errno value, so that `return blm_fail(-EINVAL, ...)` is the
 * complete report.
 */
int blm_fail(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A required argument, like "name". Return: 0, or -EINVAL if it is NULL. */
int blm_must_have(bool given, const char *what);
/* The same, with a text after the message of the reported failure. */
int blm_fail_more(int err, const char *more);

#endif
