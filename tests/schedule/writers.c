/*
 * writers.c - writers without the lock against those with it, readers and replacements, under every
 * schedule
 *
 * usage: schedule-writers [all | SCHEDULES [FIRST_SEED]]	(report.h)
 *
 * The code under test is lib/file/writer_word.c, presence.c and ofd_lock.c, and
 * lib/durable/locks.c, compiled here by scheduler.h. What a writer does around these is in
 * writer(), as in lib/handle/write.c (begin_held(), become_writer()).
 *
 *	writer		changes the data: by the word, or by the lock if it must
 *	late writer	the same, but it takes the slot of writer 0 if that is free by then
 *	holder		changes the data by the lock: a sync, or a writer without a slot
 *	copier		reads them by the lock, and can write to the map
 *	reader		reads them by the lock, and cannot
 *	replacer	holds the lock of replacements exclusively
 *
 * In no schedule may a process be inside while one is that it must exclude. A state in which a
 * process still runs, and no move leads to another state, is a process that waits for ever. The
 * same schedules with a mistake must fail. Clocks of processes are shifted, as name spaces do it,
 * and go back by a nanosecond, as adjtimex(2) does it before Linux 6.15.
 */
#include <stdbool.h>
#include <stdint.h>

/* ---- The mistakes ---- */

enum mistake {
	NONE,
	LIVE_TAKEN,
	DEAD_WAITED_FOR,
	NO_GENERATION,
	NOT_INHERITED,
	WAKE_LOST,
	NOT_STOPPED,
	NOT_WAITED_FOR,
	NOT_EXCLUDED,
	COPIER_UNLOCKS,
	CLOCK_BEFORE,
	READER_NOT_ASKED_FOR,
	READER_IMPATIENT,
	MISTAKES
};

static enum mistake mistake;

/* ---- Words, locks, processes ---- */

enum { WRITERS = 3, OTHERS = 2, PROCESSES = WRITERS + OTHERS, STEPS = 44, BUFFER = 8 };

enum word { EXCLUDING, WRITER, CLOCK, SLOT, WORDS = SLOT + WRITERS, NO_WORD };

enum lock { GATE, REPLACE, WRITE, OWNER, LOCKS = OWNER + WRITERS };

enum { TICK_BITS = 21, LOOKS = 0, GOES_IN = true };

typedef uint16_t value_t;

enum role { NOBODY, HOLDER, COPIER, READER, REPLACER };

struct crew {
	unsigned writers;
	enum role other[OTHERS];
	uint8_t deaths, ticks;
	bool again;		/* writers change the data twice */
	bool late;		/* the last writer takes its slot late */
	bool locked;		/* a dead holder left the word locked */
};

static unsigned running, early, looks;
static long first_look;

/* The same in all processes, but for what name spaces of time add, and mistakes. */
static long shift_of_clock(long ticks);

#define SHIFT shift_of_clock(ticks)

#include "scheduler.h"

enum { DONE = TOLD };

#include "file/sigbus.h"
#define blm_sigbus_hit(map) ((void)(map), false)	/* no file is truncated here */
#include "file/ofd_lock.c"
static_assert(EXCLUSIVE_BYTE == (INT64_C(1) << 62) + BLM_LOCK_EXCLUSIVE,
	      "scheduler.h knows its byte");
#include "file/writer_word.c"
#define blm_writer_inherit(p, slot) \
	(mistake == NOT_INHERITED ? (void)0 : (blm_writer_inherit)(p, slot))
#include "file/presence.c"
#include "durable/locks.h"
#define blm_writer_lock(p, fd) \
	(mistake == NOT_STOPPED ? 0 \
	 : mistake == NOT_WAITED_FOR ? (lock_word(&(p)->live->writer), 0) \
				     : (blm_writer_lock)(p, fd))
#include "view/view.h"
#include "durable/locks.c"
#define ENCODES_WORDS
#include "stubs.h"
#include "report.h"

/* ---- The programs ---- */

static struct blm_header header;
static struct blm_view views[PROCESSES];
static const struct blm_kind kind = { .protocol = BLM_SINGLE_WRITER };

static unsigned word_at(const void *address)
{
	const struct blm_live *live = &header.live;

	return address == &live->excluding ? EXCLUDING
	     : address == &live->writer ? WRITER
	     : word_of_slot(live, address, WRITERS);
}

/* Owners are 2 to 4 here; of the low half of the word, which is waited on, it is the same. */
static unsigned encoded(unsigned word, uint64_t value)
{
	uint64_t count = mistake == NO_GENERATION ? 0 : value / BLM_WRITER_COUNT;

	return word != WRITER ? (unsigned)value
		: (unsigned)((value & 7) | (value / BLM_WRITER_WAITED & 3) << 3
			     | (count & 255) << 5);
}

static uint64_t decoded(unsigned word, unsigned value)
{
	return word != WRITER ? value
		: (value & 7) | (value >> 3 & 3) * (uint64_t)BLM_WRITER_WAITED
			| (value >> 5) * (uint64_t)BLM_WRITER_COUNT;
}

static unsigned lock_of(const struct flock *lock)
{
	switch (lock->l_start - (INT64_C(1) << 62)) {
	case BLM_LOCK_GATE:
		return GATE;
	case BLM_LOCK_REPLACE:
		return REPLACE;
	case BLM_LOCK_WRITE:
		return WRITE;
	}
	return (unsigned)(lock->l_start - BLM_SLOT_BYTES) - 1 + OWNER;
}

static unsigned loaded_by_mistake(unsigned i, unsigned word, unsigned value)
{
	return value;
}

/* After the first look: for writers always, for others until the next tick. */
static bool goes_back(long ticks)
{
	if (looks++ == 0) {
		first_look = ticks;
		return false;
	}
	return running < WRITERS || ticks == first_look;
}

static long shift_of_clock(long ticks)
{
	long shift = ((long)(1 + running % 2) << TICK_BITS) - goes_back(ticks);

	if (mistake == CLOCK_BEFORE && running < WRITERS)
		shift += ((long)early - ticks) * (1L << TICK_BITS);
	/* the second time that it looks */
	if (mistake == READER_IMPATIENT && running >= WRITERS && early++)
		shift += 3L << TICK_BITS;
	return shift;
}

static bool locked_by_mistake(unsigned lock, bool value)
{
	if (mistake == READER_NOT_ASKED_FOR && lock == WRITE)
		return false;
	if (lock < OWNER)
		return value;
	return mistake == LIVE_TAKEN ? false : value || mistake == DEAD_WAITED_FOR;
}

static bool is_left_out(unsigned i, unsigned operation)
{
	return operation == WAKE && mistake == WAKE_LOST;
}

/* Holders are not excluded by replacements: what they sync or read is the file, replaced or not. */
enum inside { WRITES = 1, HOLDS = 2, READS = 4, REPLACES = 8 };

static void be_inside(enum inside as)
{
	static const unsigned excludes[] = {
		[WRITES] = WRITES | HOLDS | READS | REPLACES,
		[HOLDS] = WRITES | HOLDS | READS,
		[READS] = WRITES | HOLDS,
		[REPLACES] = WRITES | REPLACES,
	};

	caught_all(GO_IN, 0, as, excludes[as]);
}

static bool has_replacer(const struct crew *c)
{
	return c->other[0] == REPLACER || c->other[1] == REPLACER;
}

static bool is_late(const struct crew *c, unsigned i)
{
	return c->late && i + 1 == c->writers;
}

/* Without replacements all writers are present, and no process checks that. */
static unsigned writer(unsigned i, const struct crew *c)
{
	struct blm_view *view = &views[i];
	struct blm_presence *p = &view->presence;
	bool present, fast;

	if (is_late(c, i))
		take_slot(p, (int)i);
	present = !has_replacer(c) || blm_presence_enter(p);
	if (!present)
		blm_lock_shared(&view->lock, (int)i);
	for (unsigned changes = 0; changes <= c->again; changes++) {
		if (mistake == CLOCK_BEFORE)
			early = caught(LOAD, CLOCK, 0);
		fast = present && blm_writer_take(p, (int)i);
		if (!fast)
			blm_lock_writing(view, true);
		be_inside(WRITES);
		if (fast)
			blm_writer_give(p);
		else
			blm_unlock_writing(view);
	}
	if (!present)
		blm_unlock_shared(&view->lock, (int)i);
	else if (has_replacer(c))
		blm_presence_leave(p);
	return DONE;
}

static unsigned holder(unsigned i, bool exclusive)
{
	struct blm_view *view = &views[i];

	blm_lock_writing(view, exclusive);
	be_inside(exclusive ? HOLDS : READS);
	blm_unlock_writing(view);
	if (mistake == COPIER_UNLOCKS && !exclusive && view->presence.live)
		blm_writer_unlock(&view->presence);
	return DONE;
}

static unsigned replacer(unsigned i)
{
	struct blm_presence nobody = views[i].presence;

	if (mistake == NOT_EXCLUDED) {
		nobody.live = NULL;
		views[i].lock.presence = &nobody;
	}
	blm_lock_exclusive(&views[i].lock, (int)i);
	be_inside(REPLACES);
	blm_unlock_exclusive(&views[i].lock, (int)i);
	return DONE;
}

/* Writer i's slot is i + 1; others have none. */
static void make_process(unsigned i, const struct crew *c)
{
	struct blm_view *view = &views[i];
	bool has_slot = i < WRITERS && !is_late(c, i);
	unsigned number = is_late(c, i) ? 1 : i + 1;

	running = i;
	early = looks = 0;
	blm_slot_idle = BLM_SLOT_FENCED;
	blm_here = (struct blm_here){ .number = (uint16_t)number };
	*view = (struct blm_view){ .root.kind = &kind };
	view->image.header = &header;
	view->image.map = (uint8_t *)&header;
	view->image.fd = (int)i;
	view->presence.live = i >= WRITERS && c->other[i - WRITERS] == READER ? NULL : &header.live;
	view->lock.presence = view->presence.live ? &view->presence : NULL;
	if (has_slot) {
		view->presence.word[number] = &header.live.slots[number].word[0];
		view->presence.taken[0] = UINT64_C(1) << number;
	}
}

static unsigned run(unsigned i, const struct crew *c)
{
	make_process(i, c);
	if (i < WRITERS)
		return writer(i, c);
	switch (c->other[i - WRITERS]) {
	case REPLACER:
		return replacer(i);
	case HOLDER:
		return holder(i, true);
	default:
		return holder(i, false);
	}
}

static void begin(struct state *s, const struct crew *c)
{
	memset(s, 0, sizeof(*s));
	s->word[WRITER] = (value_t)encoded(WRITER, c->locked ? BLM_WRITER_LOCKED : 0);
	for (unsigned i = 0; i < PROCESSES; i++) {
		bool runs = i < WRITERS ? i < c->writers : c->other[i - WRITERS] != NOBODY;

		s->process[i].status = runs ? RUNNING : DONE;
		if (i < WRITERS && i < c->writers && !is_late(c, i)) {
			s->word[SLOT + i] = BLM_SLOT_FENCED;
			s->exclusive[OWNER + i] = (uint8_t)(i + 1);
		}
	}
}

static const char *judge(const struct state *s, const struct crew *c)
{
	if (s->together)
		return "two were inside";
	for (unsigned i = 0; i < PROCESSES; i++)
		if (s->process[i].status == RUNNING)
			return "a process waits for ever";
	return NULL;
}

/* 3 writers and any 2 others. */
static const char *walk(uint64_t seed)
{
	uint64_t n = seed;
	const struct crew crew = {
		.writers = WRITERS,
		.other = { (enum role)(n % 5), (enum role)(n / 5 % 5) },
		/* a process that is not woken is seen where no process died */
		.deaths = n / 25 % 3,
		.ticks = 3,
		.late = n / 75 % 2,
		.locked = n / 150 % 2,
		.again = n / 300 % 2,
	};

	return walk_with(&crew, seed);
}

/* ---- The report ---- */

enum crew_of {
	REPLACED,
	TWO,
	HELD,
	ASKED,
	COPIED,
	HELD_AND_COPIED,
	STALE,
	/* those that take longer: of all schedules only where that is asked for */
	COPIED_AGAIN,
	ASKED_AND_COPIED,
	LATE,
	TWO_HELD,
	TWO_ASKED,
	CREWS,
	EVERYDAY = COPIED_AGAIN
};

static const struct named_crew crews[CREWS] = {
	[REPLACED] = { "2 writers and a replacer, with a death", { 2, { REPLACER }, 1 } },
	[TWO] = { "2 writers", { 2, { NOBODY }, .again = true } },
	[HELD] = { "a writer and a holder, with a death", { 1, { HOLDER }, 1, .again = true } },
	[ASKED] = { "a writer and a reader, with a death",
		    { 1, { READER }, 1, .ticks = 3, .again = true } },
	[COPIED] = { "a writer and 2 copiers", { 1, { COPIER, COPIER } } },
	[COPIED_AGAIN] = { "a writer that changes the data twice and 2 copiers",
			   { 1, { COPIER, COPIER }, .again = true } },
	[HELD_AND_COPIED] = { "a writer, a holder and a copier, with a death",
			      { 1, { HOLDER, COPIER }, 1 } },
	[ASKED_AND_COPIED] = { "a writer, a reader and a copier, with a death",
			       { 1, { READER, COPIER }, 1, .ticks = 3 } },
	[STALE] = { "2 writers and a copier, with a death, after a dead holder",
		    { 2, { COPIER }, 1, .locked = true } },
	[LATE] = { "3 writers, of which one takes its slot late, with a death",
		   { 3, { NOBODY }, 1, .late = true } },
	[TWO_HELD] = { "2 writers and a holder, with a death", { 2, { HOLDER }, 1 } },
	[TWO_ASKED] = { "2 writers and a reader, with a death", { 2, { READER }, 1, .ticks = 3 } },
};

static const struct planted mistakes[MISTAKES] = {
	[LIVE_TAKEN] = { "an owner that lives is taken for dead", TWO },
	[DEAD_WAITED_FOR] = { "the dead are waited for", HELD },
	[NO_GENERATION] = { "the count of owners is left out", LATE, .rare = true },
	[NOT_INHERITED] = { "a new owner of a slot leaves the word as it is", LATE },
	[WAKE_LOST] = { "the owner wakes nobody", TWO },
	[NOT_STOPPED] = { "a holder leaves the word alone", HELD },
	[NOT_WAITED_FOR] = { "a holder does not wait for the owner", HELD },
	[NOT_EXCLUDED] = { "the replacer does not wait for writers", REPLACED },
	[COPIER_UNLOCKS] = { "a copier unlocks the word", COPIED_AGAIN },
	[CLOCK_BEFORE] = { "a writer looks at the clock before it is the owner", ASKED,
			   .rare = true },
	[READER_NOT_ASKED_FOR] = { "a writer does not ask for the lock", ASKED },
	[READER_IMPATIENT] = { "a reader does not wait for the clock", ASKED },
};

int main(int argc, char **argv)
{
	const struct report report = {
		.program = "schedule-writers",
		.seeded = "in seeded schedules of 3 writers and 2 others all are inside in turn",
		.always = ", all are inside in turn",
		.schedules = 20000, .schedules_of_all = 100000,
		.crews = crews, .everyday = EVERYDAY, .all = CREWS,
		.mistakes = mistakes,
	};

	return report_on(&report, argc, argv);
}
