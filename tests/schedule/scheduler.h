/*
 * scheduler.h - runs code of lib/ under a scheduler that chooses interleavings and deaths
 *
 * A test compiles code of lib/ with atomic operations, fences, system calls and pauses that this
 * file defines. A process is the list of answers that its operations got so far. To learn what it
 * does next, its program runs again from the start, is given those answers, and stops at the first
 * operation that has none. So a state of the whole is a value: the words, the locks, and each
 * process's answers and store buffer. A schedule is a sequence of moves:
 *
 *	step	a process does its next operation. A store goes into its buffer. What the processor
 *		orders after all stores before it (an atomic read-modify-write, a fence, a system
 *		call) waits until the buffer is empty, by emptying it
 *	flush	the oldest store of a buffer gets into memory (the total store order of x86;
 *		membarrier(2) empties all buffers)
 *	death	a process is killed: its buffer empties, its locks are free. At most as many as the
 *		crew says
 *	tick	the word CLOCK goes on
 *
 * A test defines, before it includes this file: the enumerations `word` (with WORDS, NO_WORD and
 * CLOCK, or CLOCK as NO_WORD) and `lock` (with OWNER, the first of the slots' bytes, and LOCKS);
 * PROCESSES, STEPS, BUFFER and GOES_IN (does it use GO_IN?); value_t, the type of a word; and
 * struct crew with `deaths` and `ticks`. Then it defines the functions that are declared below.
 */
#ifndef SCHEDULER_H
#define SCHEDULER_H

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- What the test defines ---- */

static unsigned word_at(const void *address);		/* NO_WORD: none that is shared */
static unsigned encoded(unsigned word, uint64_t value);	/* as a value_t */
static uint64_t decoded(unsigned word, unsigned value);
static unsigned lock_of(const struct flock *lock);
struct state;
struct crew;
static void begin(struct state *s, const struct crew *c);
/* Run the program of process i. Return: its result. */
static unsigned run(unsigned i, const struct crew *c);
/* The error of a state of that crew without a move that leaves it; NULL: none. */
static const char *judge(const struct state *s, const struct crew *c);
/*
 * Planted mistakes: the value that a load returns, or the state of a lock, instead of `value`; is
 * an operation left out?
 */
static unsigned loaded_by_mistake(unsigned i, unsigned word, unsigned value);
static bool locked_by_mistake(unsigned lock, bool value);
static bool is_left_out(unsigned i, unsigned operation);

/* ---- Operations that are caught ---- */

enum operation {
	LOAD,
	STORE,
	RMW_OR,
	RMW_STORE,
	CAS,
	FENCE,
	BARRIER,
	LOCK,
	TRY_LOCK,
	UNLOCK,
	ASK_LOCK,
	PAUSE,
	WAIT,		/* for a wake, if the word has the value */
	WAKE,
	GO_IN,		/* the test's own: inside what excludes others, until the next operation */
	END
};

enum { RUNNING, DEAD, TOLD };	/* TOLD and more are results that the tests define */

struct made {
	enum operation operation;
	unsigned word, value, new;	/* of a lock: which, and its type */
};

static struct {
	const value_t *answers;
	unsigned count, next;
	struct made now;		/* the first operation without an answer */
	struct made trace[STEPS];	/* those before */
	jmp_buf out;
} replay;

static unsigned caught_all(enum operation operation, unsigned word, unsigned value, unsigned new)
{
	struct made made = { operation, word, value, new };

	if (replay.next < replay.count) {
		replay.trace[replay.next] = made;
		return replay.answers[replay.next++];
	}
	replay.now = made;
	longjmp(replay.out, 1);
}

static unsigned caught(enum operation operation, unsigned word, unsigned value)
{
	return caught_all(operation, word, value, 0);
}

static uint64_t caught_load(const void *address, size_t bytes)
{
	unsigned word = word_at(address);
	uint64_t value = 0;

	/* of this process alone, or no word of this test's */
	memcpy(&value, address, bytes);
	return word == NO_WORD ? value : decoded(word, caught(LOAD, word, 0));
}

static void caught_store(void *address, uint64_t value, size_t bytes)
{
	unsigned word = word_at(address);

	if (word == NO_WORD)
		memcpy(address, &value, bytes);
	else
		caught(STORE, word, encoded(word, value));
}

static uint64_t caught_or(const void *address, uint64_t mask)
{
	return caught(RMW_OR, word_at(address), (unsigned)mask);
}

static bool caught_swap(const void *address, uint64_t *expected, uint64_t new)
{
	unsigned word = word_at(address), old;

	old = caught_all(CAS, word, encoded(word, *expected), encoded(word, new));
	if (old == encoded(word, *expected))
		return true;
	*expected = decoded(word, old);
	return false;
}

static long caught_syscall(long number, ...)
{
	const void *address;
	unsigned what, value, word;
	va_list ap;

	if (number == SYS_membarrier)
		caught(BARRIER, 0, 0);
	if (number != SYS_futex)
		return 0;
	va_start(ap, number);
	address = va_arg(ap, const void *);
	what = va_arg(ap, unsigned);
	value = va_arg(ap, unsigned);
	va_end(ap);
	word = word_at(address);
	caught(what == FUTEX_WAIT ? WAIT : WAKE, word, encoded(word, value));
	return 0;
}

/* The byte of BLM_LOCK_EXCLUSIVE, which no process holds in these tests. */
#define EXCLUSIVE_BYTE ((INT64_C(1) << 62) + 6)

static int caught_fcntl(int command, struct flock *lock)
{
	unsigned which = lock->l_start == EXCLUSIVE_BYTE ? 0 : lock_of(lock);
	bool exclusive = lock->l_type == F_WRLCK;

	if (lock->l_start == EXCLUSIVE_BYTE) {
		lock->l_type = F_UNLCK;
		return 0;
	}
	if (command == F_OFD_GETLK) {
		lock->l_type = caught(ASK_LOCK, which, exclusive) ? F_WRLCK : F_UNLCK;
		return 0;
	}
	if (lock->l_type == F_UNLCK) {
		caught(UNLOCK, which, 0);
		return 0;
	}
	/* another slot is tried */
	if (which < OWNER || caught(TRY_LOCK, which, exclusive)) {
		if (which < OWNER)
			caught(LOCK, which, exclusive);
		return 0;
	}
	errno = EAGAIN;
	return -1;
}

static int caught_clock(clockid_t clock, struct timespec *ret)
{
	long ticks = clock == CLOCK_MONOTONIC_COARSE ? (long)caught(LOAD, CLOCK, 0) : 0;

	*ret = (struct timespec){ .tv_nsec = (ticks << TICK_BITS) + SHIFT };
	return 0;
}

#define __atomic_load_n(address, order) \
	((__typeof__(*(address)))caught_load((const void *)(address), sizeof(*(address))))
#define __atomic_store_n(address, value, order) \
	caught_store((void *)(address), value, sizeof(*(address)))
#define __atomic_fetch_or(address, mask, order) caught_or((const void *)(address), mask)
#define __atomic_compare_exchange_n(address, expected, new, weak, order, failed) \
	caught_swap((const void *)(address), expected, new)
#define __atomic_thread_fence(order) ((void)caught(FENCE, 0, 0))
#define syscall caught_syscall
#define fcntl(fd, command, lock) caught_fcntl(command, lock)
#define clock_gettime(clock, ret) caught_clock(clock, ret)
#define nanosleep(time, rest) ((void)caught(PAUSE, 0, 0))
#define getpid() 0		/* so that the thread of number i finds slot i first */
#define realpath(link, ret) NULL	/* a message that is not printed needs no path */
#define SPINS LOOKS
/* each process has a handle of its own, so none of these is ever waited for */
#define pthread_mutex_lock(m) ((void)(m))
#define pthread_mutex_unlock(m) ((void)(m))
#define pthread_rwlock_rdlock(m) ((void)(m))
#define pthread_rwlock_wrlock(m) ((void)(m))
#define pthread_rwlock_unlock(m) ((void)(m))
#define pthread_cond_broadcast(m) ((void)(m))

/* ---- States ---- */

struct store {
	uint8_t word;
	value_t value;
};

struct process {
	uint8_t status, count, buffered;
	uint8_t asleep;			/* until it is woken, or its time has passed */
	uint8_t inside, excludes;	/* as which, a bit; the bits of those that must not be */
	value_t answers[STEPS];
	struct store buffer[BUFFER];
};

struct state {
	value_t word[WORDS];
	uint8_t exclusive[LOCKS];	/* the process + 1 */
	uint8_t shared[LOCKS];		/* a bit for each */
	uint8_t deaths;
	uint8_t together;		/* one was inside that must not */
	struct process process[PROCESSES];
};

/* The next operation of a process, into `replay`; END: its value is the result. */
static void next_operation(const struct process *p, unsigned i, const struct crew *c)
{
	replay.answers = p->answers;
	replay.count = p->count;
	replay.next = 0;
	if (setjmp(replay.out) == 0)
		replay.now = (struct made){ END, 0, run(i, c), 0 };
}

static void flush(struct state *s, unsigned i)
{
	struct process *p = &s->process[i];

	s->word[p->buffer[0].word] = p->buffer[0].value;
	p->buffered--;
	memmove(p->buffer, p->buffer + 1, p->buffered * sizeof(p->buffer[0]));
	p->buffer[p->buffered] = (struct store){ 0 };
}

static void drain(struct state *s, unsigned i)
{
	while (s->process[i].buffered)
		flush(s, i);
}

static void answer(struct process *p, unsigned value)
{
	if (p->count == STEPS) {
		fprintf(stderr, "more than %d steps\n", STEPS);
		abort();
	}
	p->answers[p->count++] = (value_t)value;
}

static void die(struct state *s, unsigned i)
{
	drain(s, i);
	s->process[i] = (struct process){ .status = DEAD };
	s->deaths++;
	for (unsigned l = 0; l < LOCKS; l++) {
		s->exclusive[l] = s->exclusive[l] == i + 1 ? 0 : s->exclusive[l];
		s->shared[l] &= (uint8_t)~(1u << i);
	}
}

static bool conflicts(const struct state *s, unsigned i, unsigned lock, bool exclusive)
{
	return (s->exclusive[lock] && s->exclusive[lock] != i + 1)
	    || (exclusive && s->shared[lock] & ~(1u << i));
}

static unsigned loaded(const struct state *s, unsigned i, unsigned word)
{
	const struct process *p = &s->process[i];
	unsigned value = s->word[word];

	for (unsigned b = 0; b < p->buffered; b++)
		if (p->buffer[b].word == word)
			value = p->buffer[b].value;
	return loaded_by_mistake(i, word, value);
}

static unsigned found_locked(const struct state *s, unsigned i, unsigned lock, bool exclusive)
{
	return locked_by_mistake(lock, conflicts(s, i, lock, exclusive));
}

static void hold(struct state *s, unsigned i, unsigned lock, bool exclusive)
{
	if (exclusive)
		s->exclusive[lock] = (uint8_t)(i + 1);
	else
		s->shared[lock] |= (uint8_t)(1u << i);
}

/* An operation on locks. Can it be done now? Who waits is asked again after each move. */
static bool step_lock(struct state *s, unsigned i)
{
	struct process *p = &s->process[i];
	unsigned lock = replay.now.word;
	bool taken = false;

	drain(s, i);
	switch (replay.now.operation) {
	case LOCK:
		if (conflicts(s, i, lock, replay.now.value))
			return false;
		hold(s, i, lock, replay.now.value);
		answer(p, 0);
		break;
	case TRY_LOCK:
		taken = !conflicts(s, i, lock, replay.now.value);
		if (taken)
			hold(s, i, lock, replay.now.value);
		answer(p, taken);
		break;
	case UNLOCK:
		s->exclusive[lock] = s->exclusive[lock] == i + 1 ? 0 : s->exclusive[lock];
		s->shared[lock] &= (uint8_t)~(1u << i);
		answer(p, 0);
		break;
	default:
		answer(p, found_locked(s, i, lock, replay.now.value));
	}
	return true;
}

/*
 * The process forgets what it asked in this turn of its loop, and asks again: its state is as
 * before that. The turn begins with the last load of a word, or where locks alone are asked for.
 * Would it get another answer? A process that would not waits: no move leads out of a loop in which
 * nothing changes.
 */
static bool forget_turn(struct state *s, unsigned i)
{
	struct process *p = &s->process[i];
	bool changed = false, at_load = false;

	while (p->count && !at_load) {
		const struct made *m = &replay.trace[p->count - 1];

		if (m->operation == CAS)
			changed |= s->word[m->word] != m->new;
		else if (m->operation == ASK_LOCK)
			changed |= p->answers[p->count - 1]
				!= found_locked(s, i, m->word, m->value);
		else if (m->operation == LOAD)
			changed |= p->answers[p->count - 1] != loaded(s, i, m->word);
		else
			break;
		at_load = m->operation == LOAD && m->word != CLOCK;
		p->count--;
	}
	memset(p->answers + p->count, 0, sizeof(p->answers) - p->count * sizeof(p->answers[0]));
	return changed;
}

static void wake_up(struct state *s, const struct crew *c)
{
	for (unsigned i = 0; i < PROCESSES; i++) {
		if (!s->process[i].asleep)
			continue;
		next_operation(&s->process[i], i, c);
		s->process[i].asleep = 0;
		forget_turn(s, i);
	}
}

/*
 * A sleeper's time passes only where a process died: else it is a mistake that it was not woken.
 */
static bool step_asleep(struct state *s, unsigned i)
{
	s->process[i].asleep = 0;
	return s->deaths && forget_turn(s, i);
}

static bool step_wait(struct state *s, unsigned i)
{
	drain(s, i);
	if (s->word[replay.now.word] == replay.now.value)
		s->process[i].asleep = 1;
	else
		forget_turn(s, i);
	return true;
}

static void go_in(struct state *s, unsigned i, unsigned as, unsigned excludes)
{
	for (unsigned other = 0; other < PROCESSES; other++)
		if (other != i && (s->process[other].inside & excludes
				   || s->process[other].excludes & as))
			s->together = 1;
	s->process[i].inside = (uint8_t)as;
	s->process[i].excludes = (uint8_t)excludes;
	answer(&s->process[i], 0);
}

static void end(struct state *s, unsigned i)
{
	drain(s, i);
	s->process[i] = (struct process){ .status = (uint8_t)replay.now.value };
	for (unsigned l = OWNER; l < LOCKS; l++)	/* it closes its handle */
		s->exclusive[l] = s->exclusive[l] == i + 1 ? 0 : s->exclusive[l];
}

static void step_swap(struct state *s, unsigned i)
{
	value_t *word = &s->word[replay.now.word];

	drain(s, i);
	answer(&s->process[i], *word);
	if (replay.now.operation == RMW_OR)
		*word |= (value_t)replay.now.value;
	else if (replay.now.operation == RMW_STORE)
		*word = (value_t)replay.now.value;
	else if (*word == replay.now.value)
		*word = (value_t)replay.now.new;
}

static bool do_next(struct state *s, unsigned i, const struct crew *c)
{
	struct process *p = &s->process[i];

	p->inside = p->excludes = 0;
	if (p->asleep)
		return step_asleep(s, i);
	switch (replay.now.operation) {
	case LOAD:
		answer(p, loaded(s, i, replay.now.word));
		return true;
	case STORE:
		if (p->buffered == BUFFER)
			flush(s, i);
		p->buffer[p->buffered++] = (struct store){ (uint8_t)replay.now.word,
							   (value_t)replay.now.value };
		answer(p, 0);
		return true;
	case RMW_OR:
	case RMW_STORE:
	case CAS:
		step_swap(s, i);
		return true;
	case BARRIER:
		for (unsigned o = 0; o < PROCESSES && !is_left_out(i, BARRIER); o++)
			drain(s, o);
		/* fall through */
	case FENCE:
		if (!is_left_out(i, FENCE))
			drain(s, i);
		answer(p, 0);
		return true;
	case PAUSE:
		return forget_turn(s, i);
	case WAIT:
		return step_wait(s, i);
	case WAKE:
		drain(s, i);
		answer(p, 0);
		if (!is_left_out(i, WAKE))
			wake_up(s, c);
		return true;
	case END:
		end(s, i);
		return true;
	default:
		return step_lock(s, i);
	}
}

/* It goes in together with the operation before: others see nothing of that. */
static bool step(struct state *s, unsigned i, const struct crew *c)
{
	bool done;

	next_operation(&s->process[i], i, c);
	done = do_next(s, i, c);
	if (!GOES_IN || s->process[i].status != RUNNING)
		return done;
	next_operation(&s->process[i], i, c);
	if (replay.now.operation == GO_IN)
		go_in(s, i, replay.now.value, replay.now.new);
	return done;
}

/* ---- Moves ---- */

enum { TICK = 3 * PROCESSES, MOVES };	/* step, flush, death, for each */

/* late: no other move is left. */
static bool tick(const struct crew *c, const struct state *from, bool late, struct state *to)
{
	if (CLOCK >= WORDS || from->word[CLOCK % WORDS] >= (late ? 4 * PROCESSES : c->ticks))
		return false;
	*to = *from;
	to->word[CLOCK % WORDS]++;
	return true;
}

static bool move(const struct crew *c, const struct state *from, unsigned which, struct state *to)
{
	unsigned i = which / 3;

	if (which == TICK)
		return tick(c, from, false, to);
	if (from->process[i].status != RUNNING)
		return false;
	switch (which % 3) {
	case 0:
		*to = *from;
		return step(to, i, c) && memcmp(to, from, sizeof(*to));
	case 1:
		if (!from->process[i].buffered)
			return false;
		*to = *from;
		flush(to, i);
		return true;
	default:
		if (from->deaths == c->deaths)
			return false;
		*to = *from;
		die(to, i);
		return true;
	}
}

/* ---- Every schedule ---- */

static uint64_t (*visited)[2];
static size_t visited_capacity, visited_count;

static void hash_state(const struct state *s, uint64_t h[2])
{
	const uint8_t *bytes = (const uint8_t *)s;

	h[0] = UINT64_C(0x9E3779B97F4A7C15);
	h[1] = UINT64_C(0xD1B54A32D192ED03);
	for (size_t i = 0; i < sizeof(*s); i += 8) {
		uint64_t word = 0;

		memcpy(&word, bytes + i, sizeof(*s) - i < 8 ? sizeof(*s) - i : 8);
		h[0] = (h[0] ^ word) * UINT64_C(0xE7037ED1A0B428DB);
		h[0] ^= h[0] >> 32;
		h[1] = (h[1] + word + 1) * UINT64_C(0xA0761D6478BD642F);
		h[1] ^= h[1] >> 29;
	}
	h[0] |= h[0] == 0;
}

static bool enter_hash(const uint64_t h[2])
{
	size_t at = (h[0] ^ h[1] >> 7) % visited_capacity;

	for (; visited[at][0]; at = (at + 1) % visited_capacity)
		if (visited[at][0] == h[0] && visited[at][1] == h[1])
			return false;
	visited[at][0] = h[0];
	visited[at][1] = h[1];
	return true;
}

static void note(const struct state *s)
{
	uint64_t h[2];

	if (visited_count * 2 >= visited_capacity) {
		uint64_t (*old)[2] = visited;
		size_t capacity = visited_capacity;

		visited_capacity = capacity ? capacity * 4 : 1 << 16;
		visited = calloc(visited_capacity, sizeof(*visited));
		for (size_t i = 0; i < capacity; i++)
			if (old[i][0])
				enter_hash(old[i]);
		free(old);
	}
	hash_state(s, h);
	visited_count += enter_hash(h) ? 1 : 0;
}

static struct state *todo;
static size_t todo_count, todo_capacity;

static void reach(const struct state *s)
{
	size_t before = visited_count;

	note(s);
	if (visited_count == before)
		return;
	if (todo_count == todo_capacity) {
		todo_capacity = todo_capacity ? todo_capacity * 2 : 1024;
		todo = realloc(todo, todo_capacity * sizeof(*todo));
	}
	todo[todo_count++] = *s;
}

/*
 * All states that any order of moves can reach, each once. Return: the error of one, or NULL.
 */
static const char *explore(const struct crew *c, uint64_t *ret_ends)
{
	const char *wrong = NULL;
	struct state s, next;

	free(visited);
	visited = NULL;
	visited_capacity = visited_count = todo_count = 0;
	*ret_ends = 0;
	begin(&s, c);
	reach(&s);
	while (todo_count && !wrong) {
		bool moved = false;

		s = todo[--todo_count];
		for (unsigned m = 0; m < MOVES; m++)
			if (move(c, &s, m, &next)) {
				moved |= m == TICK || m % 3 != 2;
				reach(&next);
			}
		if (!moved && tick(c, &s, true, &next)) {
			moved = true;
			reach(&next);
		}
		if (!moved || s.together) {
			wrong = judge(&s, c);
			++*ret_ends;
		}
	}
	return wrong;
}

/* ---- Seeded schedules ---- */

static uint64_t next_random(uint64_t *seed)
{
	uint64_t x = *seed += UINT64_C(0x9E3779B97F4A7C15);

	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

/* One schedule. Deaths are rare among moves, and not the way out of a wait. */
static const char *walk_with(const struct crew *c, uint64_t random)
{
	struct state s, next;
	unsigned last = 0;

	begin(&s, c);
	for (;;) {
		/* a process goes on for a while, mostly */
		unsigned from = next_random(&random) % 8 ? last * 3
							 : (unsigned)(next_random(&random) % MOVES),
			 m;
		bool may_die = next_random(&random) % 32 == 0, moved = false;

		for (unsigned i = 0; i < MOVES && !moved; i++) {
			m = (from + i) % MOVES;
			if (m == TICK || m % 3 != 2 || may_die)
				moved = move(c, &s, m, &next);
		}
		if (!moved)
			moved = tick(c, &s, true, &next);
		if (!moved || s.together)
			return judge(&s, c);
		last = m / 3 % PROCESSES;
		s = next;
	}
}

#endif
