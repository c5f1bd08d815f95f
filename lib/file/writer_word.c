/* writer_word.c - taking and giving the word of the one writer (see writer_word.h) */
#include "file/writer_word.h"
#include "file/lock_wait.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- The word ---- */

static unsigned owner_of(uint64_t word)
{
	return (unsigned)(word & BLM_WRITER_OWNER);
}

static uint64_t without_owner(uint64_t word)
{
	return word & ~(uint64_t)(BLM_WRITER_OWNER | BLM_WRITER_WAITED);
}

static void wake(uint64_t *word, uint64_t left)
{
	if (left & BLM_WRITER_WAITED)
		syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The owner is dead. If the word has changed since, another thread did so. */
static void free_dead(uint64_t *word, uint64_t dead)
{
	uint64_t now = dead;

	if (compare_and_swap(word, &now, without_owner(dead) + BLM_WRITER_COUNT))
		wake(word, dead);
}

void blm_writer_inherit(struct blm_presence *p, unsigned slot)
{
	uint64_t *word = &p->live->writer, now = load_acquire(word);

	while (owner_of(now) == slot + 1) {
		free_dead(word, now);
		now = load_acquire(word);
	}
}

/* ---- Waiting for an owner ---- */

#ifndef SPINS
#define SPINS 200		/* looks before the owner is asked for; tests/schedule has less */
#endif

struct waiting {
	unsigned looks;
	struct blm_pause pause;
};

/* A damaged word may name no slot at all. */
static bool is_alive(struct blm_presence *p, int fd, uint64_t word)
{
	return owner_of(word) <= BLM_SLOTS && blm_presence_has_owner(p, fd, owner_of(word) - 1);
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

/* Wait a moment for the owner that the word had. Then the caller looks at the word again. */
static int wait_for_owner(struct blm_presence *p, int fd, uint64_t seen, struct waiting *w)
{
	uint64_t *word = &p->live->writer, waited = seen | BLM_WRITER_WAITED;
	uint64_t stored = htole64(waited);
	uint32_t half;
	int r;

	if (w->looks++ < SPINS) {
		relax();
		return 0;
	}
	r = blm_live_check(p->live);
	if (r < 0)
		return r;
	if (!is_alive(p, fd, seen)) {
		free_dead(word, seen);
		return 0;
	}
	if (seen != waited && !compare_and_swap(word, &seen, waited))
		return 0;
	memcpy(&half, &stored, sizeof(half));
	return blm_pause_on(&w->pause, word, half);
}

/* ---- Noticing readers ---- */

/* Nanoseconds. A span is some ticks of the kernel's; BACK is far more than the clock goes back. */
enum { SPAN_BITS = 22, BACK = 1 << 20 };

static uint64_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Steps 2 and 3. Not 0 is the mark of a span, since `seen_free` is 0 at first. */
static bool is_unlocked(struct blm_presence *p, int fd)
{
	uint64_t span = (clock_now() >> SPAN_BITS) + 1;

	if (__builtin_expect(__atomic_load_n(&p->seen_free, __ATOMIC_RELAXED) == span, true))
		return true;
	if (!blm_ofd_is_free(fd, BLM_LOCK_WRITE))
		return false;
	__atomic_store_n(&p->seen_free, span, __ATOMIC_RELAXED);
	return true;
}

static uint64_t lock_word(uint64_t *word)
{
	uint64_t now = load_acquire(word);

	while (!(now & BLM_WRITER_LOCKED)
	       && !compare_and_swap(word, &now, now | BLM_WRITER_LOCKED))
		;
	return now | BLM_WRITER_LOCKED;
}

/* ---- Fast writers ---- */

int blm_writer_take(struct blm_presence *p, int fd)
{
	uint64_t *word = &p->live->writer, now = load_acquire(word);
	unsigned slot = blm_presence_slot(p);
	struct waiting w = { 0 };
	int r = 0;

	for (; r == 0; now = load_acquire(word)) {
		if (now & BLM_WRITER_LOCKED)
			return 0;
		if (owner_of(now))
			r = wait_for_owner(p, fd, now, &w);
		else if (compare_and_swap(word, &now, now + BLM_WRITER_COUNT + slot + 1))
			break;
	}
	if (r < 0)
		return r;
	fence_after_atomics();
	if (__builtin_expect(is_unlocked(p, fd), true))
		return 1;
	lock_word(word);
	blm_writer_give(p);
	return 0;
}

void blm_writer_give(struct blm_presence *p)
{
	uint64_t *word = &p->live->writer, now;
	unsigned owner;

	/* without a slot this is a child that was forked since: the word belongs to its parent */
	if (!p->word[blm_here.number])
		return;
	owner = blm_presence_slot(p) + 1;
	now = load_relaxed(word);
	/* that of a file that was truncated is all ones */
	while (owner_of(now) == owner)
		if (compare_and_swap(word, &now, without_owner(now))) {
			wake(word, now);
			break;
		}
}

/* ---- Holders ---- */

int blm_writer_lock(struct blm_presence *p, int fd)
{
	uint64_t *word = &p->live->writer, now = lock_word(word);
	struct waiting w = { 0 };
	int r = 0;

	for (; r == 0 && owner_of(now); now = load_acquire(word))
		r = wait_for_owner(p, fd, now, &w);
	return r;
}

void blm_writer_unlock(struct blm_presence *p)
{
	uint64_t *word = &p->live->writer, now = load_relaxed(word);

	while (now & BLM_WRITER_LOCKED
	       && !compare_and_swap(word, &now, now & ~(uint64_t)BLM_WRITER_LOCKED))
		;
}

/* Must fast writers be given time to notice the lock? */
static bool may_be_unnoticed(uint64_t word)
{
	return !(word & BLM_WRITER_LOCKED) && word >= BLM_WRITER_COUNT;
}

int blm_writer_wait_as_reader(struct blm_presence *p, const struct blm_live *live, int fd)
{
	const uint64_t *word = &live->writer;
	uint64_t begun = clock_now(), now;
	struct blm_pause pause = { 0 };
	int r = 0;

	full_fence();
	now = load_acquire(word);
	while (r == 0 && may_be_unnoticed(now)
	       && (int64_t)(clock_now() - begun) < (1 << SPAN_BITS) + BACK) {
		r = blm_pause(&pause);
		now = load_acquire(word);
	}
	full_fence();
	now = load_acquire(word);
	while (r == 0 && owner_of(now) && is_alive(p, fd, now)) {
		r = blm_live_check(live);
		if (r == 0)
			r = blm_pause(&pause);
		now = load_acquire(word);
	}
	return r;
}
