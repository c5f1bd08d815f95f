/*
 * claims.c - claims in slots against replacements, under every schedule: the code of lib/, whose
 *operations are caught here
 *
 * usage: schedule-claims [SCHEDULES [FIRST_SEED]]	seeded schedules of 3 claimers and 2
 *replacers; without arguments as many as a suite has time for
 *
 * The code under test is lib/file/presence.c and presence.h, lib/file/ofd_lock.c and bits_claim()
 *of lib/kind/common/bits.h, compiled here with atomic operations, fences, membarrier(2), fcntl(2)
 *and pauses that this file defines. What a claimer and a replacer do around these is in claimer()
 *and replacer(), as in lib/handle/write.c (begin_held()) and lib/make/replace.c.
 *
 * A process is the list of answers that its operations got so far. To learn what it does next, its
 *program runs again from the start, is given those answers, and stops at the first operation that
 *has none. So a state of the whole is a value: the words, the locks, and each process's answers and
 *store buffer. A schedule is a sequence of moves:
 *
 *	step	a process does its next operation. A store goes into its buffer. What the processor
 *orders after all stores before it (an atomic OR, a fence, a system call) waits until the buffer is
 *empty, by emptying it flush	the oldest store of a buffer gets into memory (the total store order
 *of x86; membarrier(2) empties all buffers) death	a process is killed: its buffer empties, its
 *locks are free. At most one in the schedules that are all run
 *
 * Each end of each schedule must have at most one process that was told "new", and one if nobody
 *died. A state in which a process still runs, and no move leads to another state, is a process that
 *waits for ever. The same schedules with a mistake must fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- The mistakes ---- */

enum mistake {
	NONE,
	NO_FENCE,
	CLEARED_EARLY,
	DEAD_NOT_SKIPPED,
	WRONG_DECIDER,
	NOT_LOOKED,
	NOT_EXCLUDED,
	TAKEN_WITHOUT_FENCE,
	STALE_FOR_EVER,
	MISTAKES
};

static const char *const mistakes[MISTAKES] = {
	[NO_FENCE] = "membarrier is left out",
	[CLEARED_EARLY] = "the slot is cleared before the claim is over",
	[DEAD_NOT_SKIPPED] = "the dead are waited for",
	[WRONG_DECIDER] = "the decider is the first word that lacks a bit",
	[TAKEN_WITHOUT_FENCE] = "a slot is taken without a fence",
	[STALE_FOR_EVER] = "a claimer waits until the word of a dead replacer is 0",
	[NOT_LOOKED] = "the claimer does not look at `excluding`",
	[NOT_EXCLUDED] = "the replacer waits for nobody",
};

static enum mistake mistake;

/* ---- Words, operations, processes ---- */

enum {
	CLAIMERS = 3,
	REPLACERS = 2,
	PROCESSES = CLAIMERS + REPLACERS,
	KEY_WORDS = 2,
	STEPS = 56,
	BUFFER = 8
};

enum word {
	EXCLUDING,
	STATE,
	NAME,
	SLOT,
	DATA = SLOT + CLAIMERS,
	WORDS = DATA + 2 * KEY_WORDS,
	NO_WORD
};

enum operation {
	LOAD,
	STORE,
	RMW_OR,
	RMW_STORE,
	FENCE,
	BARRIER,
	LOCK,
	UNLOCK,
	ASK_LOCK,
	PAUSE,
	END
};

enum status { RUNNING, TOLD_OLD, TOLD_NEW, DONE, DEAD };

static struct {
	const uint8_t *answers;
	unsigned count, next;
	/* the first operation without an answer */
	enum operation operation;
	unsigned word, value;	/* of a lock: which, and its type */
	/* the last two that got answers, for pauses */
	struct {
		enum operation operation;
		unsigned word, value;
	} last[2];
	jmp_buf out;
} replay;

static unsigned caught(enum operation operation, unsigned word, unsigned value)
{
	if (replay.next < replay.count) {
		replay.last[0] = replay.last[1];
		replay.last[1].operation = operation;
		replay.last[1].word = word;
		replay.last[1].value = value;
		return replay.answers[replay.next++];
	}
	replay.operation = operation;
	replay.word = word;
	replay.value = value;
	longjmp(replay.out, 1);
}

static unsigned word_at(const void *address);

static uint64_t caught_load(const void *address, size_t bytes)
{
	unsigned word = word_at(address);
	uint64_t value = 0;

	/* of this process alone, or no word of this test's */
	memcpy(&value, address, bytes);
	return word == NO_WORD ? value : caught(LOAD, word, 0);
}

static void caught_store(const void *address, uint64_t value)
{
	caught(STORE, word_at(address), (unsigned)value);
}

static uint64_t caught_or(const void *address, uint64_t mask)
{
	return caught(RMW_OR, word_at(address), (unsigned)mask);
}

static long caught_syscall(long number, ...)
{
	if (number == SYS_membarrier)
		caught(BARRIER, 0, 0);
	return 0;
}

static int caught_fcntl(int fd, int command, struct flock *lock);

#define __atomic_load_n(address, order) \
	((__typeof__(*(address)))caught_load((const void *)(address), sizeof(*(address))))
#define __atomic_store_n(address, value, order) caught_store((const void *)(address), value)
#define __atomic_fetch_or(address, mask, order) caught_or((const void *)(address), mask)
#define __atomic_thread_fence(order) ((void)caught(FENCE, 0, 0))
#define syscall caught_syscall
#define fcntl(fd, command, lock) caught_fcntl(fd, command, lock)
#define nanosleep(time, rest) ((void)caught(PAUSE, 0, 0))
#define getpid() 0		/* so that claimer i finds slot i + 1 first */
#define SPINS 1
/* each process has a handle of its own, so none of these is ever waited for */
#define pthread_mutex_lock(m) ((void)(m))
#define pthread_mutex_unlock(m) ((void)(m))
#define pthread_rwlock_rdlock(m) ((void)(m))
#define pthread_rwlock_wrlock(m) ((void)(m))
#define pthread_rwlock_unlock(m) ((void)(m))
#define pthread_cond_broadcast(m) ((void)(m))

#include "kind/common/bits.h"
#include "file/ofd_lock.c"
#include "file/presence.c"

/* What they need of the rest of lib/. */
int blm_fail(int err, const char *format, ...)
{
	return err;
}

int blm_lock_holder(int fd, enum blm_lock_of what, bool *ret_writer)
{
	return 0;
}

bool blm_sigbus_hit(const void *map)
{
	return false;
}

/* ---- The programs ---- */

static struct blm_live live;
static uint64_t name, data[2][KEY_WORDS];
static struct blm_lock locks[PROCESSES];
static struct blm_presence presences[PROCESSES];

static unsigned word_at(const void *address)
{
	const uint64_t *a = address;
	size_t from_slots = (size_t)((const char *)address - (const char *)live.slots);
	size_t from_data = (size_t)((const char *)address - (const char *)data);

	if (from_slots < sizeof(live.slots))
		return from_slots % sizeof(live.slots[0]) == 0
				    && from_slots / sizeof(live.slots[0]) - 1 < CLAIMERS
			     ? SLOT + (unsigned)(from_slots / sizeof(live.slots[0]) - 1)
			     : NO_WORD;
	if (from_data < sizeof(data))
		return DATA + (unsigned)(from_data / sizeof(uint64_t));
	return a == &live.excluding.word ? EXCLUDING
	     : a == &live.state.word	 ? STATE
	     : a == &name		 ? NAME
					 : NO_WORD;
}

/* Claimer i's slot is i + 1; replacers have none, and who comes late has none yet. */
static void make_process(unsigned i, bool late)
{
	blm_slot_idle = BLM_SLOT_FENCED;
	blm_here = (struct blm_here){ .number = (uint16_t)(i + 1) };
	presences[i].live = &live;
	presences[i].word[i + 1] = i < CLAIMERS && !late ? &live.slots[i + 1].word[0] : NULL;
	presences[i].taken[0] = i < CLAIMERS && !late ? UINT64_C(2) << i : 0;
	locks[i].presence = &presences[i];
	locks[i].shared = locks[i].joined = 0;
	locks[i].yields = false;
}

static bool claim_wrongly(const struct blm_bits *bits, size_t count)
{
	bool decided = false, won = false;

	for (size_t i = 0; i < count; i++) {
		uint64_t set = bits_set(bits[i].word, bits[i].mask, false);

		won = decided ? won : set != 0;
		decided |= set != 0;
	}
	return won;
}

static enum status claimer(unsigned i, bool late)
{
	struct blm_presence *p = &presences[i];
	struct blm_bits bits[KEY_WORDS];
	bool lacks[KEY_WORDS], won, present;
	unsigned file = 0;

	if (late)
		take_slot(p, (int)i);
	present = blm_presence_enter(p);
	while (mistake == STALE_FOR_EVER && !present) {
		blm_ofd_held((int)i, BLM_LOCK_REPLACE);
		caught(PAUSE, 0, 0);
		present = blm_presence_enter(p);
	}
	if (present && load_acquire(&live.state.word) != BLM_LIVE) {	/* is_current() */
		blm_presence_leave(p);
		present = false;
	}
	if (!present) {
		blm_lock_shared(&locks[i], (int)i);
		file = (unsigned)load_acquire(&name);			/* look_up() */
	}
	for (unsigned w = 0; w < KEY_WORDS; w++)
		bits[w] = (struct blm_bits){ &data[file][w], 1 };
	if (present && mistake == CLEARED_EARLY)
		blm_presence_leave(p);
	won = mistake == WRONG_DECIDER ? claim_wrongly(bits, KEY_WORDS)
				       : bits_claim(bits, lacks, KEY_WORDS, false);
	if (!present)
		blm_unlock_shared(&locks[i], (int)i);
	else if (mistake != CLEARED_EARLY)
		blm_presence_leave(p);
	return won ? TOLD_NEW : TOLD_OLD;
}

static void say_state(enum blm_state state)
{
	store_release(&live.state.word, state);
	full_fence();
}

static enum status replacer(unsigned i, bool lists)
{
	struct blm_presence nobody = presences[i];

	if (mistake == NOT_EXCLUDED) {
		nobody.live = NULL;
		locks[i].presence = &nobody;
	}
	blm_lock_exclusive(&locks[i], (int)i);
	if (load_acquire(&name) == 0 && lists) {
		say_state(BLM_REPLACING);
		say_state(BLM_LIVE);
	} else if (load_acquire(&name) == 0) {
		say_state(BLM_REPLACING);
		for (unsigned w = 0; w < KEY_WORDS; w++)
			store_release(&data[1][w], load_acquire(&data[0][w]));
		caught(RMW_STORE, NAME, 1);		/* rename(2) */
		say_state(BLM_REPLACED);
	}
	blm_unlock_exclusive(&locks[i], (int)i);
	return DONE;
}

/* ---- Locks ---- */

enum lock { GATE, REPLACE, OWNER, LOCKS = OWNER + CLAIMERS };

static int caught_fcntl(int fd, int command, struct flock *lock)
{
	int64_t at = lock->l_start - (INT64_C(1) << 62);
	unsigned which = at == BLM_LOCK_GATE ? GATE : at == BLM_LOCK_REPLACE ? REPLACE
		: (unsigned)(lock->l_start - BLM_SLOT_BYTES) - 1 + OWNER, held;

	if (command != F_OFD_GETLK) {
		caught(lock->l_type == F_UNLCK ? UNLOCK : LOCK, which, lock->l_type == F_WRLCK);
		return 0;
	}
	held = caught(ASK_LOCK, which, lock->l_type == F_WRLCK);
	lock->l_type = held ? F_WRLCK : F_UNLCK;
	return 0;
}

/* ---- States ---- */

struct store {
	uint8_t word, value;
};

struct process {
	uint8_t status, count, buffered, answers[STEPS];
	struct store buffer[BUFFER];
};

struct state {
	uint8_t word[WORDS];
	uint8_t exclusive[LOCKS];	/* the process + 1 */
	uint8_t shared[LOCKS];		/* a bit for each */
	uint8_t deaths;
	struct process process[PROCESSES];
};

struct crew {
	unsigned claimers, replacers;
	uint8_t deaths;
	uint8_t late;		/* a bit for each claimer that has no slot yet */
	bool stale;		/* a dead replacer left `excluding` */
	/* the first replacer leaves the file in its place (lib/keys/allow.c) */
	bool lister;
};

static bool takes_part(const struct crew *c, unsigned i)
{
	return i < CLAIMERS ? i < c->claimers : i - CLAIMERS < c->replacers;
}

static void begin(struct state *s, const struct crew *c)
{
	memset(s, 0, sizeof(*s));
	s->word[EXCLUDING] = c->stale;
	for (unsigned i = 0; i < PROCESSES; i++) {
		s->process[i].status = takes_part(c, i) ? RUNNING : DONE;
		if (i < CLAIMERS && !(c->late >> i & 1)) {
			s->word[SLOT + i] = takes_part(c, i) ? BLM_SLOT_FENCED : 0;
			s->exclusive[OWNER + i] = takes_part(c, i) ? (uint8_t)(i + 1) : 0;
		}
	}
}

/* The next operation of a process, into `replay`; END: its value is what it is told. */
static void next_operation(const struct process *p, unsigned i, const struct crew *c)
{
	bool late = c->late >> i & 1;

	replay.answers = p->answers;
	replay.count = p->count;
	replay.next = 0;
	make_process(i, late);
	if (setjmp(replay.out) == 0) {
		enum status told = i < CLAIMERS ? claimer(i, late)
						: replacer(i, c->lister && i == CLAIMERS);

		replay.operation = END;
		replay.value = told;
	}
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
	p->answers[p->count++] = (uint8_t)value;
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

static unsigned loaded(const struct state *s, const struct process *p, unsigned word)
{
	unsigned value = s->word[word];

	for (unsigned b = 0; b < p->buffered; b++)
		if (p->buffer[b].word == word)
			value = p->buffer[b].value;
	if (word == EXCLUDING && mistake == NOT_LOOKED)
		return 0;
	return value;
}

static unsigned asked(const struct state *s, unsigned i, unsigned lock, bool exclusive)
{
	return conflicts(s, i, lock, exclusive) || (mistake == DEAD_NOT_SKIPPED && lock >= OWNER);
}

/* An operation on locks. Can it be done now? Who waits is asked again after each move. */
static bool step_lock(struct state *s, unsigned i)
{
	struct process *p = &s->process[i];
	unsigned lock = replay.word;

	drain(s, i);
	switch (replay.operation) {
	case LOCK:
		if (conflicts(s, i, lock, replay.value))
			return false;
		if (replay.value)
			s->exclusive[lock] = (uint8_t)(i + 1);
		else
			s->shared[lock] |= (uint8_t)(1u << i);
		answer(p, 0);
		break;
	case UNLOCK:
		s->exclusive[lock] = s->exclusive[lock] == i + 1 ? 0 : s->exclusive[lock];
		s->shared[lock] &= (uint8_t)~(1u << i);
		answer(p, 0);
		break;
	default:
		answer(p, asked(s, i, lock, replay.value));
	}
	return true;
}

/*
 * The process forgets what it asked in this turn of its loop, and asks again: its state is as
 * before that. Where it would get the same answers it waits: no move leads out of a loop in which
 * nothing changes.
 */
static bool step_pause(struct state *s, unsigned i)
{
	struct process *p = &s->process[i];
	bool changed = false;

	for (unsigned turn = 2; turn-- && replay.last[turn].operation <= ASK_LOCK; ) {
		unsigned word = replay.last[turn].word;

		/* it asks for locks alone */
		if (turn == 0 && replay.last[0].operation != LOAD)
			break;
		changed |= p->answers[--p->count]
			!= (replay.last[turn].operation == LOAD
				    ? loaded(s, p, word)
				    : asked(s, i, word, replay.last[turn].value));
		if (replay.last[turn].operation == LOAD)
			break;
	}
	memset(p->answers + p->count, 0, sizeof(p->answers) - p->count);
	return changed;
}

static bool step(struct state *s, unsigned i, const struct crew *c)
{
	struct process *p = &s->process[i];
	unsigned word, value;

	next_operation(p, i, c);
	word = replay.word;
	value = replay.value;
	switch (replay.operation) {
	case LOAD:
		answer(p, loaded(s, p, word));
		return true;
	case STORE:
		if (p->buffered == BUFFER)
			flush(s, i);
		p->buffer[p->buffered++] = (struct store){ (uint8_t)word, (uint8_t)value };
		answer(p, 0);
		return true;
	case RMW_OR:
	case RMW_STORE:
		drain(s, i);
		answer(p, s->word[word]);
		s->word[word] = (uint8_t)(replay.operation == RMW_OR ? s->word[word] | value
								     : value);
		return true;
	case BARRIER:
		for (unsigned other = 0; other < PROCESSES && mistake != NO_FENCE; other++)
			drain(s, other);
		/* fall through */
	case FENCE:
		if (mistake != TAKEN_WITHOUT_FENCE || i >= CLAIMERS)
			drain(s, i);
		answer(p, 0);
		return true;
	case PAUSE:
		return step_pause(s, i);
	case END:
		drain(s, i);
		*p = (struct process){ .status = (uint8_t)value };
		for (unsigned l = OWNER; l < LOCKS; l++)	/* it closes its handle */
			s->exclusive[l] = s->exclusive[l] == i + 1 ? 0 : s->exclusive[l];
		return true;
	default:
		return step_lock(s, i);
	}
}

/* ---- Moves ---- */

enum { MOVES = 3 * PROCESSES };		/* step, flush, death, for each */

static bool move(const struct crew *c, const struct state *from, unsigned which, struct state *to)
{
	unsigned i = which / 3;

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

/* What is wrong with a state that no move leads out of; NULL: nothing. */
static const char *judge(const struct state *s)
{
	unsigned new = 0;

	for (unsigned i = 0; i < PROCESSES; i++) {
		if (s->process[i].status == RUNNING)
			return "a process waits for ever";
		new += s->process[i].status == TOLD_NEW;
	}
	return new > 1		      ? "two were told \"new\""
	     : new == 0 && !s->deaths ? "none was told \"new\""
				      : NULL;
}

/* ---- Every schedule ---- */

static uint64_t (*visited)[2];
static size_t visited_room, visited_count;

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
	size_t at = (h[0] ^ h[1] >> 7) % visited_room;

	for (; visited[at][0]; at = (at + 1) % visited_room)
		if (visited[at][0] == h[0] && visited[at][1] == h[1])
			return false;
	visited[at][0] = h[0];
	visited[at][1] = h[1];
	return true;
}

static void note(const struct state *s)
{
	uint64_t h[2];

	if (visited_count * 2 >= visited_room) {
		uint64_t (*old)[2] = visited;
		size_t room = visited_room;

		visited_room = room ? room * 4 : 1 << 16;
		visited = calloc(visited_room, sizeof(*visited));
		for (size_t i = 0; i < room; i++)
			if (old[i][0])
				enter_hash(old[i]);
		free(old);
	}
	hash_state(s, h);
	visited_count += enter_hash(h) ? 1 : 0;
}

static struct state *todo;
static size_t todo_count, todo_room;

static void reach(const struct state *s)
{
	size_t before = visited_count;

	note(s);
	if (visited_count == before)
		return;
	if (todo_count == todo_room)
		todo = realloc(todo,
			       (todo_room = todo_room ? todo_room * 2 : 1024) * sizeof(*todo));
	todo[todo_count++] = *s;
}

/* All states that any order of moves can reach, each once. What is wrong with an end, or NULL. */
static const char *explore(const struct crew *c, uint64_t *ret_ends)
{
	const char *wrong = NULL;
	struct state s, next;

	free(visited);
	visited = NULL;
	visited_room = visited_count = todo_count = 0;
	*ret_ends = 0;
	begin(&s, c);
	reach(&s);
	while (todo_count && !wrong) {
		bool moved = false;

		s = todo[--todo_count];
		for (unsigned m = 0; m < MOVES; m++)
			if (move(c, &s, m, &next)) {
				moved |= m % 3 != 2;
				reach(&next);
			}
		if (!moved) {
			wrong = judge(&s);
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

/*
 * 3 claimers, of which one or all take their slots, and 2 replacers, of which one may list. Deaths
 * are rare among moves, and not the way out of a wait.
 */
static const char *walk(uint64_t seed)
{
	const struct crew crew = { 3, 2, 2, .late = seed / 2 % 2 ? 7 : 1, .stale = seed % 2,
				   .lister = seed / 4 % 2 }, *c = &crew;
	uint64_t random = seed;
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
			if (m % 3 != 2 || may_die)
				moved = move(c, &s, m, &next);
		}
		if (!moved)
			return judge(&s);
		last = m / 3;
		s = next;
	}
}

/* ---- The report ---- */

static unsigned tests, failed;

static void tell(bool ok, const char *what)
{
	tests++;
	failed += !ok;
	printf("%s %u - %s\n", ok ? "ok" : "not ok", tests, what);
}

static const struct {
	const char *name;
	struct crew crew;
} crews[] = {
	{ "a claimer, a lister and a replacer, with a death", { 1, 2, 1, .lister = true } },
	{ "2 claimers and a replacer, with a death", { 2, 1, 1 } },
	{ "2 claimers, of which one takes its slot, and a replacer, with a death",
	  { 2, 1, 1, .late = 1 } },
	{ "2 claimers that take their slots and a replacer, with a death", { 2, 1, 1, .late = 3 } },
	{ "2 claimers and a replacer, with a death, after a dead replacer",
	  { 2, 1, 1, .stale = true } },
	{ "2 claimers, a lister and a replacer", { 2, 2, 0, .lister = true } },
};

/* The first thing that is wrong in any of them. */
static const char *explore_all(bool aloud)
{
	const char *wrong = NULL;

	for (unsigned i = 0; i < ARRAY_LEN(crews) && !wrong; i++) {
		char what[200];
		uint64_t ends;

		wrong = explore(&crews[i].crew, &ends);
		if (!aloud)
			continue;
		printf("# %zu states, %llu ends%s%s\n", visited_count, (unsigned long long)ends,
		       wrong ? ": " : "", wrong ? wrong : "");
		snprintf(what, sizeof(what), "in every schedule of %s, one claim wins",
			 crews[i].name);
		tell(!wrong, what);
	}
	return wrong;
}

static void walk_all(uint64_t schedules, uint64_t first)
{
	const char *wrong = NULL;
	uint64_t seed;

	for (seed = first; seed < first + schedules && !wrong; seed++)
		wrong = walk(seed);
	if (wrong)
		printf("# seed %llu: %s; again by: schedule-claims 1 %llu\n",
		       (unsigned long long)seed - 1, wrong, (unsigned long long)seed - 1);
	tell(!wrong, "in seeded schedules of 3 claimers and 2 replacers one claim wins");
}

enum { FEW = 10000 };	/* schedules in which a mistake must be found */

static void plant_all(void)
{
	for (mistake = NONE + 1; mistake < MISTAKES; mistake++) {
		const char *wrong = NULL, *everywhere;
		uint64_t seed;
		char what[200];

		for (seed = 1; seed <= FEW && !wrong; seed++)
			wrong = walk(seed);
		everywhere = explore_all(false);
		printf("# %s: %s, in schedule %llu; of all: %s\n", mistakes[mistake],
		       wrong ? wrong : "-", (unsigned long long)seed - 1,
		       everywhere ? everywhere : "-");
		snprintf(what, sizeof(what), "a schedule shows that %s", mistakes[mistake]);
		tell(wrong && everywhere, what);
	}
	mistake = NONE;
}

int main(int argc, char **argv)
{
	uint64_t schedules = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000,
		 first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

	walk_all(schedules, first);
	if (argc < 2) {
		explore_all(true);
		plant_all();
	}
	printf("1..%u\n", tests);
	return failed != 0;
}
