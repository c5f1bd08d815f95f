/*
 * owners.c - handles that are the only ones to change a filter, against all others that change it,
 * under every schedule
 *
 * usage: schedule-owners [all | SCHEDULES [FIRST_SEED]]	(report.h)
 *
 * The code under test is exclusive.c, lock_current.c, write.c, renew.c and standing.c of
 * lib/handle, with lib/file/ofd_lock.c, presence.c and lib/durable/locks.c, compiled here by
 * handle_code.h. The programs call that code.
 *
 *	owner	opens the filter exclusively, sets a bit by a plain store, closes its handle
 *	writer	opens it for writing, sets a bit by an atomic OR; refused, it waits and tries again
 *	claimer	the same, within a change that is done once. It is present in a slot
 *	syncer	syncs the file, as sync_view() of lib/handle/sync.c
 *	lister	says REPLACING and LIVE under the lock of replacements, as lib/keys/allow.c
 *
 * If a call told its process that a bit is set, the bit must be set at the end. While an owner is
 * inside, no other owner, claimer, syncer or lister may be. Writers may be, and then make their
 * changes again. A state in which a process still runs, and no move leads to another state, is a
 * process that waits for ever. The same schedules with a mistake must fail.
 *
 * Two writers of a crew can be threads of one handle. Then they share its view and its status.
 */
#include <stdbool.h>
#include <stdint.h>

/* ---- The mistakes ---- */

enum mistake {
	NONE,
	NOT_COUNTED,
	COUNTED_AS_REPLACEMENT,
	LOCKED_LATE,
	COUNTED_LATE,
	CLAIMERS_FORGOTTEN,
	SYNC_FORGOTTEN,
	NOT_ASKED,
	ASKED_FIRST,
	SYNC_NOT_ASKED,
	LOOKED_EARLY,
	TAKEN_OVER,
	REFUSED_FOR_EVER,
	MISTAKES
};

static enum mistake mistake;

/* A process with the mistake COUNTED_LATE has waited for syncs. */
static bool counts;

/* ---- Words, locks, processes ---- */

enum { PROCESSES = 4, VIEWS = 4, STEPS = 120, BUFFER = 4 };

/* VIEW, STATUS and SEEN are of the handle that threads share. */
enum word { EXCLUDING, STATE, DATA, VIEW, STATUS, SEEN, SLOT = SEEN + VIEWS,
	    WORDS = SLOT + PROCESSES, NO_WORD, CLOCK = NO_WORD };

enum lock { GATE, REPLACE, SYNC, RENEWING, OWNER, EXCLUSIVE = OWNER + PROCESSES, LOCKS };

enum { TICK_BITS = 0, SHIFT = 0, LOOKS = 0, GOES_IN = true };

typedef uint8_t value_t;

enum role { NOBODY, ONLY_WRITER, WRITER, CLAIMER, SYNCER, LISTER, ROLES };

struct crew {
	enum role role[PROCESSES];
	uint8_t deaths, ticks;
	bool threads;		/* processes 0 and 1 are threads of one handle */
};

static bool shares;		/* the running process is such a thread */

#define ENCODES_WORDS
#include "scheduler.h"
#include "handle_code.h"
#include "report.h"

enum { REFUSED = TOLD, ENDLESS, DONE };

/* ---- Files ---- */

static struct blm_header header;
static uint64_t data;
static struct blm_filter handles[PROCESSES];
static struct blm_view views[PROCESSES][VIEWS];
static struct blm_presence nobody;

static int add_bit(struct blm_part *part, const struct blm_hashed *key)
{
	return 0;
}

static const struct blm_kind kind = { .name = "blocked", .add = add_bit };

/* The running process, the index of its handle, and the answer that ASKED_FIRST keeps. */
static unsigned running, handle;
static int early;

static unsigned index_of(const struct blm_view *view)
{
	return (unsigned)(view - views[handle]);
}

static struct blm_view *make_view(unsigned number)
{
	struct blm_view *view = &views[handle][number];

	memset(view, 0, sizeof(*view));
	view->root.kind = &kind;
	view->parts = 1;
	view->image.header = &header;
	view->image.map = (uint8_t *)&header;
	view->image.fd = (int)running;
	view->presence.live = &header.live;
	view->lock.presence = mistake == CLAIMERS_FORGOTTEN ? &nobody : &view->presence;
	return view;
}

static void see_file(const struct blm_filter *f, struct blm_view *view)
{
	uint64_t state;

	if (mistake == ASKED_FIRST)
		early = blm_ask_admission(f, view);
	state = load_acquire(&header.live.state.word);
	view->owners = owners_of(state);
	set_seen(view, state);
}

/* A thread renews under the lock of its handle, so no other thread takes this number. */
int blm_view_open(struct blm_view **ret, struct blm_filter *f)
{
	unsigned number = index_of(atomic_load(&f->view)) + 1;

	if (number == VIEWS)
		abort();
	*ret = make_view(number);
	see_file(f, *ret);
	return 0;
}

static int ask_or_recall(const struct blm_filter *f, const struct blm_view *view)
{
	return mistake == ASKED_FIRST ? early : blm_ask_admission(f, view);
}

static bool try_alone(int fd)
{
	return mistake == LOCKED_LATE || blm_ofd_try(fd, BLM_LOCK_EXCLUSIVE);
}

static void be_alone(struct blm_presence *p)
{
	if (mistake == LOCKED_LATE)
		blm_ofd_try((int)running, BLM_LOCK_EXCLUSIVE);
	blm_presence_end(p);
}

static void lock_renewing(const pthread_mutex_t *which, enum operation operation)
{
	if (shares && which == &handles[0].renewing)
		caught(operation, RENEWING, true);
}

/* ---- Words ---- */

static unsigned word_at(const void *address)
{
	const struct blm_live *live = &header.live;

	for (unsigned i = 0; shares && i < VIEWS; i++)
		if (address == &views[0][i].seen_state)
			return SEEN + i;
	return address == &live->excluding ? EXCLUDING
	     : address == &live->state.word ? STATE
	     : address == &data ? DATA
	     : shares && address == &handles[0].view ? VIEW
	     : shares && address == &handles[0].status ? STATUS
	     : word_of_slot(live, address, PROCESSES);
}

static bool is_state(unsigned word)
{
	return word == STATE || (word >= SEEN && word < SLOT);
}

/* The state in 3 bits, how often it was set in 2, how many owners there were in 3. */
static unsigned encoded(unsigned word, uint64_t value)
{
	unsigned count = value >> 8 & 3, owners = owners_of(value) & 7;

	if (word == VIEW) {
		const struct blm_view *view = (const struct blm_view *)(uintptr_t)value;

		return index_of(view) | (unsigned)view->owners << 2;
	}
	if (word == STATUS)
		return value != 0;
	if (!is_state(word))
		return (unsigned)value;
	if (mistake == COUNTED_AS_REPLACEMENT)
		count = (count + owners) & 3;
	if (mistake == COUNTED_AS_REPLACEMENT || mistake == NOT_COUNTED)
		owners = 0;
	return (unsigned)state_of(value) | count << 3 | owners << 5;
}

/* The word VIEW brings what the other thread put into the view. */
static uint64_t decoded(unsigned word, unsigned value)
{
	if (word == VIEW) {
		struct blm_view *view = &views[0][value & 3];

		if ((value & 3) && view->image.header != &header)
			make_view(value & 3);
		view->owners = value >> 2;
		return (uintptr_t)view;
	}
	if (word == STATUS)
		return value ? (uint32_t)-EBUSY : 0;
	if (!is_state(word))
		return value;
	return (value & 7) | (value >> 3 & 3) << 8
		| (uint64_t)(value >> 5) << BLM_OWNERS_SHIFT;
}

static unsigned lock_of(const struct flock *lock)
{
	switch (lock->l_start - (INT64_C(1) << 62)) {
	case BLM_LOCK_GATE:
		return GATE;
	case BLM_LOCK_REPLACE:
		return REPLACE;
	case BLM_LOCK_SYNC:
		return SYNC;
	}
	return (unsigned)(lock->l_start - BLM_SLOT_BYTES) - 1 + OWNER;
}

static unsigned loaded_by_mistake(unsigned i, unsigned word, unsigned value)
{
	return value;
}

static bool locked_by_mistake(unsigned lock, bool value)
{
	return lock == EXCLUSIVE && mistake == NOT_ASKED ? false : value;
}

static bool is_left_out(unsigned i, unsigned operation)
{
	return false;
}

/* ---- Programs ---- */

/* Who an owner excludes. Writers may set bits meanwhile, and set them again later. */
enum inside { OWNS = 1, CLAIMS = 2, SYNCS = 4, LISTS = 8 };

static void be_inside(enum inside as)
{
	caught_all(GO_IN, 0, as, as == OWNS ? OWNS | CLAIMS | SYNCS | LISTS : OWNS);
}

static uint64_t bit_of(unsigned i)
{
	return UINT64_C(1) << i;
}

/* Two loads and a store stand for the plain ones of bits_set(), which the scheduler cannot see. */
static void set_unshared_bit(unsigned i)
{
	be_inside(OWNS);
	if (bit_of(i) & ~load_acquire(&data)) {
		uint64_t whole = load_acquire(&data);

		be_inside(OWNS);
		store_release(&data, whole | bit_of(i));
	}
	be_inside(OWNS);
}

static unsigned owner(unsigned i, struct blm_filter *f)
{
	struct blm_view *view;
	int r = blm_own_exclusively(f);

	if (r == 0)
		do {
			r = blm_change_begin(f, &view);
			if (r == 0)
				set_unshared_bit(i);
			if (r == 0)
				r = blm_change_end(f, view);
		} while (r == -EAGAIN);
	return r < 0 ? REFUSED : DONE;
}

/* -EAGAIN: it was made again more often than owners and listers can come. */
static int add(unsigned i, struct blm_filter *f)
{
	struct blm_view *view;
	int r, tries = 0;

	do {
		r = blm_change_begin(f, &view);
		if (r == 0 && mistake == LOOKED_EARLY)
			r = blm_change_end(f, view);
		if (r == 0)
			bits_set(&data, bit_of(i), false);
		if (r == 0 && mistake != LOOKED_EARLY)
			r = blm_change_end(f, view);
	} while (r == -EAGAIN && ++tries < PROCESSES);
	return r;
}

static int claim(unsigned i, struct blm_filter *f)
{
	struct blm_view *view;
	int r = blm_change_begin_held(f, &view);

	if (r < 0)
		return r;
	be_inside(CLAIMS);
	bits_set(&data, bit_of(i), false);
	be_inside(CLAIMS);
	blm_change_end_held(f, view);
	return 0;
}

/*
 * A process that is refused waits until no owner is left. Each owner of the crew can refuse it
 * twice: at opening, and at a change.
 */
static unsigned change(unsigned i, struct blm_filter *f, enum role role)
{
	for (unsigned tries = 0; tries <= 2 * PROCESSES; tries++) {
		int r = role == WRITER ? add(i, f) : claim(i, f);

		if (r == 0)
			return DONE;
		if (r == -EAGAIN)
			return ENDLESS;
		if (r != -EBUSY)
			abort();
		while (blm_ofd_held((int)i, BLM_LOCK_EXCLUSIVE))
			caught(PAUSE, 0, 0);
	}
	return REFUSED;
}

static unsigned syncer(struct blm_filter *f)
{
	struct blm_view *view = current_view(f);
	int r = blm_lock_syncing(view);

	if (r == 0 && mistake != SYNC_NOT_ASKED)
		r = blm_ask_admission(f, view);
	if (r == 0)
		be_inside(SYNCS);
	blm_unlock_syncing(view);
	return r < 0 ? REFUSED : DONE;
}

static unsigned lister(struct blm_filter *f)
{
	struct blm_view *view;

	if (blm_lock_current(f, &view) < 0)
		return REFUSED;
	set_state(view, BLM_REPLACING);
	be_inside(LISTS);
	set_state(view, BLM_LIVE);
	blm_unlock_exclusive(&view->lock, view->image.fd);
	return DONE;
}

static bool is_thread(const struct crew *c, unsigned i)
{
	return c->threads && i < 2;
}

/* Process i's slot is i + 1. Threads have opened their handle before. */
static struct blm_filter *open_handle(unsigned i, const struct crew *c)
{
	struct blm_filter *f = &handles[handle];
	struct blm_view *view;

	for (unsigned n = 0; n < VIEWS; n++)
		views[handle][n].image.header = NULL;
	header.live.parts.word = htole64(1);
	*f = (struct blm_filter){ .write = true };
	view = make_view(0);
	atomic_init(&f->view, view);
	if (c->role[i] == CLAIMER) {
		view->presence.word[i + 1] = &header.live.slots[i + 1].word[0];
		view->presence.taken[0] = UINT64_C(2) << i;
	}
	if (!shares) {
		see_file(f, view);
		atomic_store(&f->status, ask_or_recall(f, view));
	}
	return f;
}

static unsigned run(unsigned i, const struct crew *c)
{
	enum role role = c->role[i];
	struct blm_filter *f;

	running = i;
	counts = false;
	shares = is_thread(c, i);
	handle = shares ? 0 : i;
	blm_slot_idle = BLM_SLOT_FENCED;
	blm_here = (struct blm_here){ .number = (uint16_t)(i + 1) };
	f = open_handle(i, c);
	return role == ONLY_WRITER ? owner(i, f) : role == SYNCER ? syncer(f)
	     : role == LISTER ? lister(f) : change(i, f, role);
}

static void begin(struct state *s, const struct crew *c)
{
	memset(s, 0, sizeof(*s));
	for (unsigned i = 0; i < PROCESSES; i++) {
		s->process[i].status = c->role[i] == NOBODY ? DONE : RUNNING;
		if (c->role[i] == CLAIMER) {
			s->word[SLOT + i] = BLM_SLOT_FENCED;
			s->exclusive[OWNER + i] = (uint8_t)(i + 1);
		}
	}
}

static const char *judge(const struct state *s, const struct crew *c)
{
	if (s->together)
		return "an owner was not alone";
	for (unsigned i = 0; i < PROCESSES; i++) {
		enum role role = c->role[i];
		bool changes = role == ONLY_WRITER || role == WRITER || role == CLAIMER;

		if (s->process[i].status == RUNNING)
			return "a process waits for ever";
		if (s->process[i].status == DONE && changes && !(s->word[DATA] & bit_of(i)))
			return "a bit that a process was told to be set is lost";
		if (s->process[i].status == REFUSED && (role == WRITER || role == CLAIMER))
			return "a process is refused and no owner is left";
		if (s->process[i].status == ENDLESS)
			return "a change never ends";
	}
	return NULL;
}

/* ---- The report ---- */

enum crew_of {
	WRITTEN,
	CLAIMED,
	SYNCED,
	LISTED,
	/* those that take longer: of all schedules only where that is asked for */
	WRITTEN_TWICE,
	COMES_AND_GOES,
	LISTED_BESIDE,
	CLAIMED_BESIDE,
	THREADS,
	CREWS,
	EVERYDAY = WRITTEN_TWICE
};

static const struct named_crew crews[CREWS] = {
	[WRITTEN] = { "an owner and a writer, with a death", { { ONLY_WRITER, WRITER }, 1 } },
	[CLAIMED] = { "an owner and a claimer, with a death", { { ONLY_WRITER, CLAIMER }, 1 } },
	[SYNCED] = { "an owner and a syncer, with a death", { { ONLY_WRITER, SYNCER }, 1 } },
	[LISTED] = { "an owner and a lister, with a death", { { ONLY_WRITER, LISTER }, 1 } },
	[WRITTEN_TWICE] = { "an owner and 2 writers, with a death",
			    { { ONLY_WRITER, WRITER, WRITER }, 1 } },
	[COMES_AND_GOES] = { "2 owners and a writer", { { ONLY_WRITER, WRITER, ONLY_WRITER } } },
	[LISTED_BESIDE] = { "an owner, a writer and a lister",
			    { { ONLY_WRITER, WRITER, LISTER } } },
	[CLAIMED_BESIDE] = { "an owner, a writer and a claimer",
			     { { ONLY_WRITER, WRITER, CLAIMER } } },
	[THREADS] = { "an owner and 2 threads of one handle",
		      { { WRITER, WRITER, ONLY_WRITER }, .threads = true } },
};

/* The first is an owner or a thread, the others anything. */
static const char *walk(uint64_t seed)
{
	bool threads = seed % 4 == 0;
	uint64_t n = seed / 4;

	const struct crew crew = {
		.role = { threads ? WRITER : ONLY_WRITER,
			  threads ? WRITER : (enum role)(1 + n % (ROLES - 1)),
			  threads ? ONLY_WRITER : (enum role)(1 + n / 5 % (ROLES - 1)),
			  (enum role)(n / 25 % ROLES) },
		.deaths = threads ? 0 : n / 150 % 2,
		.threads = threads,
	};
	return walk_with(&crew, seed);
}

static const struct planted mistakes[MISTAKES] = {
	[NOT_COUNTED] = { "an owner leaves the state word as it is", WRITTEN },
	[COUNTED_AS_REPLACEMENT] = { "an owner counts itself as a replacement", WRITTEN },
	[LOCKED_LATE] = { "an owner takes its lock after it counted itself", WRITTEN },
	[COUNTED_LATE] = { "an owner counts itself after it waited for syncs", SYNCED },
	[CLAIMERS_FORGOTTEN] = { "an owner waits for no thread in a slot", CLAIMED },
	[SYNC_FORGOTTEN] = { "an owner waits for no sync", SYNCED },
	[NOT_ASKED] = { "no process asks for the owner's lock", WRITTEN },
	[ASKED_FIRST] = { "a writer asks before it loads the state word", WRITTEN },
	[SYNC_NOT_ASKED] = { "a sync does not ask", SYNCED },
	[LOOKED_EARLY] = { "a writer loads the state word before its change", WRITTEN },
	[TAKEN_OVER] = { "a view takes over the word of another owner", THREADS },
	[REFUSED_FOR_EVER] = { "a refused handle never asks again", WRITTEN },
};

int main(int argc, char **argv)
{
	const struct report report = {
		.program = "schedule-owners",
		.seeded = "in seeded schedules of 4 processes no bit is lost beside owners",
		.always = " no bit is lost",
		.schedules = 10000, .schedules_of_all = 30000,
		.crews = crews, .everyday = EVERYDAY, .all = CREWS,
		.mistakes = mistakes,
	};

	return report_on(&report, argc, argv);
}
