/*
 * claims.c - claims in slots against replacements, under every schedule
 *
 * usage: schedule-claims [SCHEDULES [FIRST_SEED]]	(report.h)
 *
 * The code under test is lib/file/presence.c and presence.h, lib/file/ofd_lock.c and bits_claim()
 * of lib/kind/common/bits.h, compiled here by scheduler.h. What a claimer and a replacer do around
 * these is in claimer() and replacer(), as in lib/handle/write.c (begin_held()) and
 * lib/make/replace.c.
 *
 * Each end of each schedule must have at most one process that won the key, and one if no process
 * died. A state in which a process still runs, and no move leads to another state, is a process
 * that waits for ever. The same schedules with a planted mistake must fail.
 */
#include <stdbool.h>
#include <stdint.h>

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

static enum mistake mistake;

/* ---- Words, locks, processes ---- */

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
	NO_WORD,
	CLOCK = NO_WORD		/* nothing here looks at it */
};

enum lock { GATE, REPLACE, OWNER, LOCKS = OWNER + CLAIMERS };

enum { TICK_BITS = 0, SHIFT = 0, LOOKS = 1, GOES_IN = false };

typedef uint8_t value_t;

struct crew {
	unsigned claimers, replacers;
	uint8_t deaths, ticks;
	uint8_t late;		/* a bit for each claimer that has no slot yet */
	bool stale;		/* a dead replacer left `excluding` */
	/* the first replacer leaves the file in its place (lib/keys/allow.c) */
	bool lister;
};

#include "scheduler.h"

enum { TOLD_OLD = TOLD, TOLD_NEW, DONE };

#include "kind/common/bits.h"
#include "file/sigbus.h"
#define blm_sigbus_hit(map) ((void)(map), false)	/* no file is truncated here */
#include "file/ofd_lock.c"
static_assert(EXCLUSIVE_BYTE == (INT64_C(1) << 62) + BLM_LOCK_EXCLUSIVE,
	      "scheduler.h knows its byte");
#include "file/presence.c"
#include "stubs.h"
#include "report.h"

/* No process here is the only writer (writers.c). */
void blm_writer_inherit(struct blm_presence *p, unsigned slot)
{
}

/* ---- The programs ---- */

static struct blm_live live;
static uint64_t name, data[2][KEY_WORDS];
static struct blm_lock locks[PROCESSES];
static struct blm_presence presences[PROCESSES];

static unsigned word_at(const void *address)
{
	const uint64_t *a = address;
	size_t from_data = (size_t)((const char *)address - (const char *)data);

	if (from_data < sizeof(data))
		return DATA + (unsigned)(from_data / sizeof(uint64_t));
	return a == &live.excluding ? EXCLUDING
	     : a == &live.state.word ? STATE
	     : a == &name ? NAME
	     : word_of_slot(&live, address, CLAIMERS);
}

static unsigned lock_of(const struct flock *lock)
{
	int64_t at = lock->l_start - (INT64_C(1) << 62);

	return at == BLM_LOCK_GATE ? GATE : at == BLM_LOCK_REPLACE ? REPLACE
		: (unsigned)(lock->l_start - BLM_SLOT_BYTES) - 1 + OWNER;
}

static unsigned loaded_by_mistake(unsigned i, unsigned word, unsigned value)
{
	return word == EXCLUDING && mistake == NOT_LOOKED ? 0 : value;
}

static bool locked_by_mistake(unsigned lock, bool value)
{
	return value || (mistake == DEAD_NOT_SKIPPED && lock >= OWNER);
}

static bool is_left_out(unsigned i, unsigned operation)
{
	return operation == BARRIER ? mistake == NO_FENCE
		: operation == FENCE && mistake == TAKEN_WITHOUT_FENCE && i < CLAIMERS;
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

static unsigned claimer(unsigned i, bool late)
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

static unsigned replacer(unsigned i, bool lists)
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

static unsigned run(unsigned i, const struct crew *c)
{
	bool late = c->late >> i & 1;

	make_process(i, late);
	return i < CLAIMERS ? claimer(i, late) : replacer(i, c->lister && i == CLAIMERS);
}

static const char *judge(const struct state *s, const struct crew *c)
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

/* 3 claimers, of which one or all take their slots, and 2 replacers, of which one may list. */
static const char *walk(uint64_t seed)
{
	const struct crew crew = { 3, 2, 2, .late = seed / 2 % 2 ? 7 : 1, .stale = seed % 2,
				   .lister = seed / 4 % 2 };

	return walk_with(&crew, seed);
}

/* ---- The report ---- */

static const struct named_crew crews[] = {
	{ "a claimer, a lister and a replacer, with a death", { 1, 2, 1, .lister = true } },
	{ "2 claimers and a replacer, with a death", { 2, 1, 1 } },
	{ "2 claimers, of which one takes its slot, and a replacer, with a death",
	  { 2, 1, 1, .late = 1 } },
	{ "2 claimers that take their slots and a replacer, with a death", { 2, 1, 1, .late = 3 } },
	{ "2 claimers and a replacer, with a death, after a dead replacer",
	  { 2, 1, 1, .stale = true } },
	{ "2 claimers, a lister and a replacer", { 2, 2, 0, .lister = true } },
};

static const struct planted mistakes[MISTAKES] = {
	[NO_FENCE] = { "membarrier is left out", ANY_CREW },
	[CLEARED_EARLY] = { "the slot is cleared before the claim is over", ANY_CREW },
	[DEAD_NOT_SKIPPED] = { "the dead are waited for", ANY_CREW },
	[WRONG_DECIDER] = { "the decider is the first word that lacks a bit", ANY_CREW },
	[TAKEN_WITHOUT_FENCE] = { "a slot is taken without a fence", ANY_CREW },
	[STALE_FOR_EVER] = { "a claimer waits until the word of a dead replacer is 0", ANY_CREW },
	[NOT_LOOKED] = { "the claimer does not look at `excluding`", ANY_CREW },
	[NOT_EXCLUDED] = { "the replacer does not wait for claimers", ANY_CREW },
};

int main(int argc, char **argv)
{
	const struct report report = {
		.program = "schedule-claims",
		.seeded = "in seeded schedules of 3 claimers and 2 replacers one claim wins",
		.always = ", one claim wins",
		.schedules = 20000, .schedules_of_all = 20000,
		.crews = crews, .everyday = ARRAY_LEN(crews) - 1, .all = ARRAY_LEN(crews),
		.mistakes = mistakes,
	};

	return report_on(&report, argc, argv);
}
