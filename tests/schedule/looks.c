/*
 * looks.c - copies and syncs that look which threads are present, against writers in slots, under
 * every schedule
 *
 * usage: schedule-looks [SCHEDULES [FIRST_SEED]]	(report.h)
 *
 * The code under test is lib/file/presence.c, compiled here by scheduler.h. What its callers do is
 * in the programs below, as in lib/handle/write.c and lib/handle/sync.c.
 *
 *	writer	an add to a kind that may be torn (kind.h): loads the epoch, raises two cells,
 *		counts the key
 *	copy	of a handle for reading: blm_quiesce_begin(), reads the cells, blm_quiesce_stands()
 *	sync	announce_epoch(), then writes back: reads the cells
 *
 * A copy that stands must have both cells of a key or neither. After a sync that found no thread
 * present, each change that it did not write back must have seen the new epoch. A death leaves a
 * key half added, which a copy may have, because that key was never counted. (Writers load the
 * epoch again at their end, and copies look before they read, too: neither is needed here.)
 */
#include <stdbool.h>
#include <stdint.h>

enum mistake {
	NONE,
	NO_BARRIER,
	COUNT_READ_FIRST,
	LEFT_EARLY,
	NOT_LOOKED_AFTER,
	EPOCH_LOADED_FIRST,
	DEAD_SEEN,
	MISTAKES
};

static enum mistake mistake;

enum { WRITERS = 2, COPY = WRITERS, SYNC, PROCESSES, STEPS = 40, BUFFER = 8 };

/* A cell has a bit for each writer; so have what the copy, and the sync, read in both cells. */
enum word { EXCLUDING, CELL_A, CELL_B, COUNT, EPOCH, SLOT, WORDS = SLOT + WRITERS, NO_WORD,
	    CLOCK = NO_WORD };

enum { TICK_BITS = 0, SHIFT = 0, LOOKS = 0, GOES_IN = false };

enum lock { REPLACE, OWNER, LOCKS = OWNER + WRITERS };

typedef uint8_t value_t;

struct crew {
	unsigned writers;
	bool copies, syncs;
	uint8_t deaths, ticks;
};

#include "scheduler.h"

/*
 * The results of programs: the half of a key that a copy has, or a sync; one bit for each cell of
 * each writer, behind FACTS.
 */
enum { DONE = TOLD, SAW_EPOCH, DOUBTS, FACTS = 16 };

#include "file/sigbus.h"
#define blm_sigbus_hit(map) ((void)(map), false)	/* no file is truncated here */
#include "file/presence.c"
#include "stubs.h"
#include "report.h"

int blm_pause(struct blm_pause *pause)
{
	return caught(PAUSE, 0, 0), 0;
}

void blm_writer_inherit(struct blm_presence *p, unsigned slot)
{
}

/* ---- Words ---- */

static struct blm_header header;
static uint64_t cell[2];
static struct blm_presence presence;

static unsigned word_at(const void *address)
{
	const struct blm_live *live = &header.live;

	return address == &live->excluding ? EXCLUDING
	     : address == &live->epoch.word ? EPOCH
	     : address == &cell[0] ? CELL_A
	     : address == &cell[1] ? CELL_B
	     : address == &header.stripe[0].keys ? COUNT
	     : word_of_slot(live, address, WRITERS);
}

static unsigned lock_of(const struct flock *lock)
{
	return (unsigned)(lock->l_start - BLM_SLOT_BYTES) - 1 + OWNER;
}

static unsigned loaded_by_mistake(unsigned i, unsigned word, unsigned value)
{
	return value;
}

static bool locked_by_mistake(unsigned lock, bool value)
{
	return value || (mistake == DEAD_SEEN && lock >= OWNER);
}

static bool is_left_out(unsigned i, unsigned operation)
{
	return operation == BARRIER && mistake == NO_BARRIER;
}

/* ---- Programs ---- */

static unsigned writer(unsigned i)
{
	uint64_t epoch = 0, *count = &header.stripe[0].keys;

	if (mistake == EPOCH_LOADED_FIRST)
		epoch = load_acquire(&header.live.epoch.word);
	if (!blm_presence_enter(&presence))
		return DONE;
	if (mistake != EPOCH_LOADED_FIRST)
		epoch = load_acquire(&header.live.epoch.word);
	caught_or(&cell[0], 1u << i);
	caught_or(&cell[1], 1u << i);
	if (mistake == LEFT_EARLY)
		blm_presence_leave(&presence);
	/* stands for an atomic addition */
	caught_or(count, 1u << i);
	if (mistake != LEFT_EARLY)
		blm_presence_leave(&presence);
	return epoch ? SAW_EPOCH : DONE;
}

static unsigned cells(void)
{
	unsigned a = (unsigned)load_acquire(&cell[0]), b = (unsigned)load_acquire(&cell[1]);

	return FACTS + a + (b << WRITERS);
}

static bool is_used(void)
{
	struct blm_presence none = { 0 };

	return blm_presence_is_used(&none, &header.live, 0);
}

static unsigned copy(void)
{
	const uint64_t *count = &header.stripe[0].keys;
	uint64_t before = load_relaxed(count), after = 0;
	unsigned read;
	bool changes = false;

	full_fence();
	read = cells();
	full_fence();
	if (mistake == COUNT_READ_FIRST)
		after = load_relaxed(count);
	if (mistake != NOT_LOOKED_AFTER)
		changes |= is_used();
	if (mistake != COUNT_READ_FIRST)
		after = load_relaxed(count);
	return changes || after != before ? DOUBTS : read;
}

static unsigned sync_it(void)
{
	store_release(&header.live.epoch.word, 1);
	full_fence();
	return is_used() ? DOUBTS : cells();
}

static unsigned run(unsigned i, const struct crew *c)
{
	bool writes = i < WRITERS;

	blm_slot_idle = BLM_SLOT_FENCED;
	blm_here = (struct blm_here){ .number = (uint16_t)(writes ? i + 1 : 0) };
	presence = (struct blm_presence){ .live = &header.live };
	if (writes)
		presence.word[i + 1] = &header.live.slots[i + 1].word[0];
	return writes ? writer(i) : i == COPY ? copy() : sync_it();
}

static void begin(struct state *s, const struct crew *c)
{
	memset(s, 0, sizeof(*s));
	for (unsigned i = 0; i < PROCESSES; i++) {
		bool runs = i < WRITERS ? i < c->writers : i == COPY ? c->copies : c->syncs;

		s->process[i].status = runs ? RUNNING : DONE;
		if (i < WRITERS && runs) {
			s->word[SLOT + i] = BLM_SLOT_FENCED;
			s->exclusive[OWNER + i] = (uint8_t)(i + 1);
		}
	}
}

static const char *judge(const struct state *s, const struct crew *c)
{
	unsigned copied = s->process[COPY].status, synced = s->process[SYNC].status;

	for (unsigned i = 0; i < WRITERS; i++) {
		unsigned status = s->process[i].status, a, b;

		a = copied >> i & 1;
		b = copied >> WRITERS >> i & 1;
		if (copied >= FACTS && a != b && status != DEAD)
			return "a copy that stands has half a key";
		a = synced >> i & 1;
		b = synced >> WRITERS >> i & 1;
		if (synced >= FACTS && status == DONE && s->word[COUNT] >> i & 1 && !(a && b))
			return "a sync neither wrote a change nor was seen by it";
		/* what the dead have announced is no change that goes on */
		if (synced == DOUBTS && s->deaths && status == DEAD && s->word[SLOT + i] & 1
		    && !(s->word[CELL_A] & ~(1u << i)) && s->process[!i].status == DONE
		    && !(s->word[COUNT] >> !i & 1) && mistake == DEAD_SEEN)
			return "a dead writer was seen as present";
	}
	return NULL;
}

/* ---- The report ---- */

static const struct named_crew crews[] = {
	{ "a writer and a copy, with a death", { 1, true, false, 1 } },
	{ "a writer and a sync, with a death", { 1, false, true, 1 } },
	{ "2 writers and a copy", { 2, true, false, 0 } },
	{ "2 writers and a sync", { 2, false, true, 0 } },
};

enum { CREWS = sizeof(crews) / sizeof(crews[0]) };

static const struct planted mistakes[MISTAKES] = {
	[NO_BARRIER] = { "membarrier(2) is left out", 1 },
	[COUNT_READ_FIRST] = { "the count is read before the slots", 0 },
	[LEFT_EARLY] = { "a slot is cleared before the key is counted", 0 },
	[NOT_LOOKED_AFTER] = { "a copy does not look after it read", 0 },
	[EPOCH_LOADED_FIRST] = { "a writer loads the epoch before it is present", 1 },
	[DEAD_SEEN] = { "a dead owner is seen as present", 1 },
};

static const char *walk(uint64_t seed)
{
	static const struct crew everyone = { WRITERS, true, true, 1 };

	return walk_with(&everyone, seed);
}

int main(int argc, char **argv)
{
	const struct report report = {
		.program = "schedule-looks",
		.seeded = "in seeded schedules of 2 writers copies and syncs see each change",
		.always = " each change is seen",
		.schedules = 10000, .schedules_of_all = 10000,
		.crews = crews, .everyday = CREWS, .all = CREWS,
		.mistakes = mistakes,
	};

	return report_on(&report, argc, argv);
}
