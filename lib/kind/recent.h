/*
 * recent.h - the data of a filter that knows when each key was last seen: the words at their
 * beginning, and times
 *
 * A cuckoo table (cuckoo.c) of two halves. A fingerprint is a bucket number and a remainder, as in
 * dleft.c: the first half has the key in that bucket, the second half in the bucket that is as many
 * further as the remainder says. So the place of a fingerprint tells all of it, and a table can be
 * made twice as large without the keys.
 *
 * A cell has a stamp and a remainder. Stamp 0 is an empty cell. The others count the ticks since
 * 1970 modulo CYCLE = 2^bits - 1, plus 1. The data begin with a line of words:
 *
 *   NOW       the tick of the last change. It only grows, so a clock that goes back is not believed
 *             until it has caught up. The age of a cell is (NOW - stamp) modulo CYCLE; the last
 *             TICKS_AHEAD ages are stamps that are ahead of NOW, as a copy by bytes can have
 *             them, and count as 0.
 *   PREVIOUS  every cell has been swept at this tick or later
 *   BEGUN     the cells before AT have been swept at this tick or later
 *   AT        the next cell that the present pass sweeps
 *
 * To sweep a cell is to clear it if it is older than the span. What holds always: no cell is
 * CYCLE - TICKS_AHEAD ticks old at NOW, so no old stamp is taken for a new one. After a sweep a
 * cell is at most SPAN ticks old, so it holds as long as NOW - PREVIOUS <= guard_of(). The writer
 * that advances NOW has swept enough before (recent_sweep.c), mostly a few cells; after a long
 * pause all of them. A reader needs no sweep: it adds to the age what the clock is ahead of NOW.
 *
 * One writer at a time; readers take no lock. A claim asks first (keys/when.c), so only a claim
 * that has a key to give waits for the writers' lock, once for a batch of keys. Claims without that
 * lock would need each cell in one word, where one of 18 bits takes 21.3 and one of 33 takes 64,
 * and a way to keep claims from keys that move. Each store is of one word:
 *
 *   refresh   the stamp, which never straddles two words (stamp_shift())
 *   place     the remainder of a cell whose stamp is 0, then the stamp
 *   move      places it in the other bucket; own word MOVES + 1; takes the first stamp away
 *   reader    loads NOW and MOVES; of each cell the stamp, then the remainder, then the stamp
 *             again, until both are the same; loads NOW and MOVES again. Another NOW: the ages
 *             were wrong, so it looks again; another MOVES: it looks again, unless a yes is
 *             certain.
 *   killed    between the two steps of a place: the cell is empty. In a move: the key is in two
 *             cells. The newest cell counts; the next change of the key clears the others.
 *   power cut the data are those of the last sync, NOW among them (checkpoint.c): stamps and NOW
 *             are always of one moment.
 */
#ifndef BLM_KIND_RECENT_H
#define BLM_KIND_RECENT_H

#include "kind/kind.h"
#include "kind/common/clock.h"
#include "kind/common/sizing.h"
#include "kind/common/swar.h"

enum { SPAN, TICK, SPARE };			/* options */
enum { NOW, PREVIOUS, BEGUN, AT, LINE = 8 };	/* words of the data */
enum { MOVES };					/* own word */

enum {
	HALVES = 2, SLOTS = 4,
	TIME_LEAST = 8, TIME_MOST = 16,		/* bits of a stamp */
	BITS_MOST = 40,				/* of a remainder */
	TICKS_AHEAD = 4,			/* ticks */
	/* with fewer the other buckets are too few to fill a large table */
	BITS_PLANNED = 8,
	SEARCHED = 4096,		/* buckets, for an empty cell: then it is full */
};
#define BUCKETS_MOST (UINT64_C(1) << 32)	/* in a half */
#define TICK_LEAST UINT64_C(1000000)		/* nanoseconds */

static inline uint64_t ticks_of(const struct blm_shape *s, uint64_t ns)
{
	return ns / s->args[TICK] + (ns % s->args[TICK] != 0);
}

/*
 * The least number of stamps that holds the span and a guard of an eighth; more than TIME_MOST:
 * none
 */
static inline unsigned time_bits(const struct blm_shape *s)
{
	uint64_t span = ticks_of(s, s->args[SPAN]), guard = span / 8 > 16 ? span / 8 : 16;
	unsigned bits = 64 - (unsigned)__builtin_clzll(span + guard + 1);

	return bits > TIME_LEAST ? bits : TIME_LEAST;
}

static inline unsigned remainder_bits(const struct blm_shape *s)
{
	return s->cell_bits - time_bits(s);
}

static inline uint64_t buckets_of(const struct blm_shape *s)
{
	return s->cells / (HALVES * SLOTS);
}

/* Of a remainder: so that a stamp fits before the end of a word, or after it. */
static inline unsigned least_bits(unsigned time)
{
	return time - 1;
}

static inline uint64_t *word_at(const struct blm_part *part, unsigned i)
{
	return (uint64_t *)part->bytes + i;
}

static inline uint64_t now_word(const struct blm_part *part)
{
	return load_acquire(word_at(part, NOW));
}

static inline void set_word(const struct blm_part *part, unsigned i, uint64_t value)
{
	mark(part, word_at(part, i));
	store_release(word_at(part, i), value);
}

/* ---- Time ---- */

/* The caller's time, in ticks; otherwise the clock. */
static inline uint64_t told(const struct blm_part *part, const struct blm_when *when)
{
	uint64_t now = when && when->now ? when->now : blm_clock();

	now /= part->shape.args[TICK];
	return now ? now : 1;	/* NOW is 0 only before the first change */
}

/* All that a look at cells needs to know. */
struct look {
	const struct blm_part *part;
	unsigned bits, time;		/* of a cell; of its stamp */
	uint64_t buckets, cycle, span;	/* in a half; ticks */
	uint64_t word, base;		/* NOW; that modulo CYCLE, plus 1: the stamp of NOW */
	uint64_t late;			/* ticks that the reader's time is ahead of NOW */
	/* of two cells, if they fit into a word; otherwise 0 */
	struct blm_lanes lanes;
	uint64_t low_remainders, high_remainders;	/* their bits, if stamps are high, or low */
};

static inline void set_now(struct look *l, uint64_t word, uint64_t now)
{
	l->word = word;
	l->base = word % l->cycle + 1;
	l->late = now > word ? now - word : 0;
}

static inline struct look look_at(const struct blm_part *part, uint64_t word, uint64_t now)
{
	const struct blm_shape *s = &part->shape;
	struct look l = { .part = part, .bits = s->cell_bits, .time = time_bits(s),
			  .buckets = s->cells / (HALVES * SLOTS),
			  .span = ticks_of(s, s->args[SPAN]) };

	l.cycle = (UINT64_C(1) << l.time) - 1;
	set_now(&l, word, now);
	if (l.bits > 32)
		return l;
	l.lanes.low = 1 | UINT64_C(1) << l.bits;
	l.lanes.high = l.lanes.low << (l.bits - 1);
	l.low_remainders = ((UINT64_C(1) << (l.bits - l.time)) - 1) * l.lanes.low;
	l.high_remainders = l.low_remainders << l.time;
	return l;
}

/* The age of a stamp that is not 0, at the reader's time, in ticks. */
static inline uint64_t age_of(const struct look *l, uint64_t stamp)
{
	uint64_t age = l->base >= stamp ? l->base - stamp : l->base + l->cycle - stamp;

	return (age < l->cycle - TICKS_AHEAD ? age : 0) + l->late;
}

/* How many ticks after PREVIOUS NOW may be. */
static inline uint64_t guard_of(const struct look *l)
{
	return l->cycle - 1 - TICKS_AHEAD - l->span;
}

static inline uint64_t stamp_for(const struct look *l, uint64_t age)
{
	return l->base > age ? l->base - age : l->base + l->cycle - age;
}

static inline bool is_live(const struct look *l, uint64_t stamp)
{
	return stamp && age_of(l, stamp) <= l->span;
}

/* How old it may be for a yes. */
static inline uint64_t asked_age(const struct look *l, const struct blm_when *when)
{
	uint64_t age = when && when->within ? ticks_of(&l->part->shape, when->within) : l->span;

	return age < l->span ? age : l->span;
}

/* recent_plan.c */
int blm_recent_plan(struct blm_shape *ret, const struct blm_params *params);
bool blm_recent_valid(const struct blm_shape *s);
unsigned blm_recent_padding_bits(const struct blm_shape *s);
double blm_recent_rate_at(const struct blm_shape *s, uint64_t keys);
int blm_recent_grown(struct blm_shape *ret, const struct blm_shape *from);

/* recent_sweep.c */
/* The tick of a change: from the caller or the clock, but never before an earlier change. */
struct look blm_recent_advance(struct blm_part *part, const struct blm_when *when);

/* recent_change.c */
int blm_recent_add(struct blm_part *part, const struct blm_hashed *key);
int blm_recent_claim(struct blm_part *part, const struct blm_hashed *key);
int blm_recent_add_many(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits);
int blm_recent_claim_many(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits);
int blm_recent_remove(struct blm_part *part, const struct blm_hashed *key);
int blm_recent_grow(struct blm_part *to, const struct blm_part *from);

#endif
