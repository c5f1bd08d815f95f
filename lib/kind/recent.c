/*
 * recent.c - when each key was last seen: fingerprints with a time stamp, each in one of two
 * buckets of four cells
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
 *             AHEAD ages are stamps that are ahead of NOW, as a copy by bytes can have them, and
 *             count as 0.
 *   PREVIOUS  every cell has been swept at this tick or later
 *   BEGUN     the cells before AT have been swept at this tick or later
 *   AT        the next cell that the present pass sweeps
 *
 * To sweep a cell is to clear it if it is older than the span. What holds always: no cell is
 * CYCLE - AHEAD ticks old at NOW, so no old stamp is taken for a new one. After a sweep a cell is
 * at most SPAN ticks old, so it holds as long as NOW - PREVIOUS <= guard_of(). The writer that
 * advances NOW has swept enough before (advance()), mostly a few cells; after a long pause all of
 * them. A reader needs no sweep: it adds to the age what the clock is ahead of NOW.
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
 *             cells, the newest of which counts; the next change of the key takes the others away.
 *   power cut the data are those of the last sync, NOW among them (checkpoint.c): stamps and NOW
 *             are always of one moment.
 */
#include "kind/common/clock.h"
#include "kind/common/prefetch.h"
#include "kind/common/sizing.h"
#include "kind/common/swar.h"

#include <math.h>
#include <stdio.h>

enum { SPAN, TICK, SPARE };			/* options */
enum { NOW, PREVIOUS, BEGUN, AT, LINE = 8 };	/* words of the data */
enum { MOVES };					/* own word */

enum {
	HALVES = 2, SLOTS = 4,
	TIME_LEAST = 8, TIME_MOST = 16,		/* bits of a stamp */
	BITS_LEAST = 4, BITS_MOST = 40,		/* of a remainder */
	AHEAD = 4,				/* ticks */
	/* with fewer the other buckets are too few to fill a large table */
	BITS_PLANNED = 8,
	SEARCHED = 4096,		/* buckets, for an empty cell: then it is full */
};
#define BUCKETS_MOST (UINT64_C(1) << 32)	/* in a half */
#define TICK_LEAST UINT64_C(1000000)		/* nanoseconds */

static const struct blm_option options[] = {
	[SPAN] = { "span", "how long a key is remembered after it was last seen", BLM_OPTION_SPAN,
		   0.001, 3e9, 90 * 86400 },
	[TICK] = { "tick", "how exact times are; 0: the span divided by as many as 8 bits can tell "
		   "apart", BLM_OPTION_SPAN, 0, 3e8, 0 },
	[SPARE] = { "spare", "how often it can double and keep its rate: a bit a cell each",
		    BLM_OPTION_COUNT, 0, 16, 0 },
	{ NULL }
};

/* ---- Time ---- */

static uint64_t ticks_of(const struct blm_shape *s, uint64_t ns)
{
	return ns / s->args[TICK] + (ns % s->args[TICK] != 0);
}

/* The least stamp that has room for the span and a guard of an eighth; more than TIME_MOST: none */
static unsigned time_bits(const struct blm_shape *s)
{
	uint64_t span = ticks_of(s, s->args[SPAN]), guard = span / 8 > 16 ? span / 8 : 16;
	unsigned bits = 64 - (unsigned)__builtin_clzll(span + guard + 1);

	return bits > TIME_LEAST ? bits : TIME_LEAST;
}

static uint64_t default_tick(uint64_t span)
{
	uint64_t most = ((UINT64_C(1) << TIME_LEAST) - 2) * 8 / 9, tick = (span + most - 1) / most;

	return tick < TICK_LEAST ? TICK_LEAST : tick;
}

static uint64_t *word_at(const struct blm_part *part, unsigned i)
{
	return (uint64_t *)part->bytes + i;
}

static uint64_t now_word(const struct blm_part *part)
{
	return load_acquire(word_at(part, NOW));
}

/* What the caller says that the time is, in ticks; else the clock. */
static uint64_t told(const struct blm_part *part, const struct blm_when *when)
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
	/* of two cells, if they are no more than a word; else 0 */
	struct blm_lanes lanes;
	uint64_t low_remainders, high_remainders;	/* their bits, if stamps are high, or low */
};

static void set_now(struct look *l, uint64_t word, uint64_t now)
{
	l->word = word;
	l->base = word % l->cycle + 1;
	l->late = now > word ? now - word : 0;
}

static struct look look_at(const struct blm_part *part, uint64_t word, uint64_t now)
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

/* Of a stamp that is not 0, at the reader's time, in ticks. */
static uint64_t age_of(const struct look *l, uint64_t stamp)
{
	uint64_t age = l->base >= stamp ? l->base - stamp : l->base + l->cycle - stamp;

	return (age < l->cycle - AHEAD ? age : 0) + l->late;
}

/* How many ticks after PREVIOUS NOW may be. */
static uint64_t guard_of(const struct look *l)
{
	return l->cycle - 1 - AHEAD - l->span;
}

static uint64_t stamp_for(const struct look *l, uint64_t age)
{
	return l->base > age ? l->base - age : l->base + l->cycle - age;
}

static bool is_live(const struct look *l, uint64_t stamp)
{
	return stamp && age_of(l, stamp) <= l->span;
}

/* How old it may be for a yes. */
static uint64_t asked_age(const struct look *l, const struct blm_when *when)
{
	uint64_t age = when && when->within ? ticks_of(&l->part->shape, when->within) : l->span;

	return age < l->span ? age : l->span;
}

/* ---- Sizes ---- */

static unsigned remainder_bits(const struct blm_shape *s)
{
	return s->cell_bits - time_bits(s);
}

static uint64_t buckets_of(const struct blm_shape *s)
{
	return s->cells / (HALVES * SLOTS);
}

static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	double load = fmin((double)keys / (double)s->cells, 1);

	return -expm1(HALVES * SLOTS * load * log1p(-ldexp(1, -(int)remainder_bits(s))));
}

/* As in cuckoo.c. */
static uint64_t cells_for(uint64_t keys)
{
	return round_up((uint64_t)ceil((double)keys / 0.955 + 3 * sqrt((double)keys) + 48),
			HALVES * SLOTS);
}

static uint64_t bytes_for(const struct blm_shape *s)
{
	return round_up(LINE * 8 + (s->cells * s->cell_bits + 7) / 8, 64);
}

/* So that a stamp fits in before a word ends, or after that. */
static unsigned least_bits(unsigned time)
{
	return time - 1 > BITS_LEAST ? time - 1 : BITS_LEAST;
}

static int plan_times(struct blm_shape *s)
{
	if (!s->args[TICK])
		s->args[TICK] = default_tick(s->args[SPAN]);
	if (s->args[TICK] < TICK_LEAST)
		return blm_fail(-EINVAL, "tick: a tick of a recent filter lasts at least 0.001 "
				"seconds, not %g", (double)s->args[TICK] / 1e9);
	if (s->args[TICK] > s->args[SPAN])
		return blm_fail(-EINVAL, "tick: %g seconds is more than the span of %g seconds",
				(double)s->args[TICK] / 1e9, (double)s->args[SPAN] / 1e9);
	if (time_bits(s) > TIME_MOST)
		return blm_fail(-EINVAL, "tick: a span of %g seconds has too many ticks of %g "
				"seconds; use a tick of at least %g", (double)s->args[SPAN] / 1e9,
				(double)s->args[TICK] / 1e9, (double)s->args[SPAN] / 58e12);
	return 0;
}

static int plan_bits(struct blm_shape *s, bool exactly)
{
	unsigned time = time_bits(s), bits = exactly ? BITS_LEAST : BITS_PLANNED;

	if (bits < least_bits(time))
		bits = least_bits(time);
	for (s->cell_bits = time + bits; bits < BITS_MOST && rate_at(s, s->capacity) > s->rate;
	     s->cell_bits = time + ++bits)
		;
	s->cell_bits += (uint32_t)s->args[SPARE];
	if (rate_at(s, s->capacity) > s->rate || remainder_bits(s) > BITS_MOST)
		return blm_fail(-EFBIG, "a recent filter has remainders of up to %d bits, which a "
				"rate of %g with %llu spare ones does not do with", BITS_MOST,
				s->rate, (unsigned long long)s->args[SPARE]);
	return 0;
}

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .cells = params->cells, .probes = 2, .capacity = params->capacity,
			       .rate = params->rate ? params->rate : BLM_DEFAULT_RATE };
	uint64_t most = (uint64_t)fmax(1, floor(0.95 * (double)s.cells));
	int r;

	memcpy(s.args, ret->args, sizeof(s.args));
	if (params->probes && params->probes != 2)
		return blm_fail(-EINVAL, "a recent filter looks into 2 buckets, not %u",
				params->probes);
	if (s.cells % (HALVES * SLOTS))
		return blm_fail(-EINVAL, "a recent filter has a multiple of %d cells, not %llu",
				HALVES * SLOTS, (unsigned long long)s.cells);
	if (s.cells && s.capacity > most)
		return blm_fail(-EINVAL, "a recent filter of %llu cells holds %llu keys, not %llu",
				(unsigned long long)s.cells, (unsigned long long)most,
				(unsigned long long)s.capacity);
	if (!s.capacity)
		s.capacity = most;
	if (!s.cells)
		s.cells = cells_for(s.capacity);
	if (buckets_of(&s) > BUCKETS_MOST)
		return blm_fail(-EFBIG, "a recent filter has at most 2^35 cells, too few for %llu "
				"keys", (unsigned long long)s.capacity);
	r = plan_times(&s);
	if (r == 0)
		r = plan_bits(&s, params->cells);
	s.bytes = r == 0 ? bytes_for(&s) : 0;
	if (r == 0)
		*ret = s;
	return r;
}

static bool valid(const struct blm_shape *s)
{
	unsigned time;

	if (!s->args[SPAN] || s->args[SPAN] > UINT64_MAX / 4 || s->args[TICK] < TICK_LEAST
	    || s->args[TICK] > s->args[SPAN])
		return false;
	time = time_bits(s);
	return time <= TIME_MOST && s->cells && s->cells % (HALVES * SLOTS) == 0
		&& buckets_of(s) <= BUCKETS_MOST && s->probes == 2
		&& s->cell_bits >= time + least_bits(time) && s->cell_bits <= time + BITS_MOST
		&& s->bytes == bytes_for(s);
}

static unsigned padding_bits(const struct blm_shape *s)
{
	return (unsigned)(s->bytes * 8 - LINE * 64 - s->cells * s->cell_bits);
}

/* ---- Cells ---- */

static uint64_t ones(unsigned bits)
{
	return (UINT64_C(1) << bits) - 1;
}

static uint64_t bit_of(const struct look *l, uint64_t cell)
{
	return LINE * 64 + cell * l->bits;
}

/*
 * Where in a cell its stamp is, of which no word has only a part: at its low end; or where a word
 * ends within those bits, at its high end. The remainder is the other bits.
 */
static unsigned stamp_shift(const struct look *l, uint64_t bit)
{
	return bit % 64 + l->time <= 64 ? 0 : l->bits - l->time;
}

static uint64_t stamp_in(const struct look *l, uint64_t cell)
{
	uint64_t bit = bit_of(l, cell);

	bit += stamp_shift(l, bit);
	return load_acquire(word_at(l->part, 0) + bit / 64) >> bit % 64 & ones(l->time);
}

static uint64_t get_bits(const struct blm_part *part, uint64_t bit, unsigned bits)
{
	const uint64_t *word = word_at(part, 0) + bit / 64;
	uint64_t value = load_acquire(word) >> bit % 64;

	if (bit % 64 + bits > 64)
		value |= load_acquire(word + 1) << (64 - bit % 64);
	return value & ones(bits);
}

static uint64_t remainder_in(const struct look *l, uint64_t cell)
{
	uint64_t bit = bit_of(l, cell);

	return get_bits(l->part, bit + (stamp_shift(l, bit) ? 0 : l->time), l->bits - l->time);
}

static void set_in_word(const struct blm_part *part, uint64_t *word, uint64_t mask, uint64_t value)
{
	mark(part, word);
	store_release(word, (load_relaxed(word) & ~mask) | value);
}

static void set_bits(const struct blm_part *part, uint64_t bit, unsigned bits, uint64_t value)
{
	uint64_t *word = word_at(part, 0) + bit / 64, mask = ones(bits);

	set_in_word(part, word, mask << bit % 64, value << bit % 64);
	if (bit % 64 + bits > 64)
		set_in_word(part, word + 1, mask >> (64 - bit % 64), value >> (64 - bit % 64));
}

static void set_stamp(const struct look *l, uint64_t cell, uint64_t stamp)
{
	uint64_t bit = bit_of(l, cell);

	set_bits(l->part, bit + stamp_shift(l, bit), l->time, stamp);
}

static void place(const struct look *l, uint64_t cell, uint64_t remainder, uint64_t stamp)
{
	uint64_t bit = bit_of(l, cell);

	if (stamp_in(l, cell))
		set_stamp(l, cell, 0);
	set_bits(l->part, bit + (stamp_shift(l, bit) ? 0 : l->time), l->bits - l->time, remainder);
	set_stamp(l, cell, stamp);
}

/* ---- Fingerprints ---- */

struct print {
	uint64_t bucket, remainder;
};

static struct print print_of(const struct look *l, const struct blm_hash *hash)
{
	unsigned __int128 product = (unsigned __int128)hash->hi * l->buckets;

	return (struct print){ (uint64_t)(product >> 64),
			       (uint64_t)product >> (64 - (l->bits - l->time)) };
}

/* How much further its bucket in the second half is. */
static uint64_t turn_of(const struct look *l, uint64_t remainder)
{
	return scale(unfold(remainder, 0, 1), l->buckets);
}

static uint64_t bucket_in(const struct look *l, unsigned half, const struct print *print)
{
	uint64_t bucket;

	if (!half)
		return print->bucket;
	bucket = print->bucket + turn_of(l, print->remainder);
	return l->buckets + (bucket < l->buckets ? bucket : bucket - l->buckets);
}

static struct print print_back(const struct look *l, uint64_t cell)
{
	struct print print = { cell / SLOTS, remainder_in(l, cell) };
	uint64_t turn;

	if (print.bucket < l->buckets)
		return print;
	turn = turn_of(l, print.remainder);
	print.bucket -= l->buckets;
	print.bucket = print.bucket >= turn ? print.bucket - turn
		: print.bucket + l->buckets - turn;
	return print;
}

static uint64_t other_bucket(const struct look *l, uint64_t cell)
{
	struct print print = print_back(l, cell);

	return bucket_in(l, cell / SLOTS < l->buckets, &print);
}

/* ---- Questions ---- */

/* What a key's two buckets have of it. */
struct found {
	uint64_t age;		/* of the newest; UINT64_MAX: there is none */
	uint64_t cell;		/* that one */
	uint64_t others[HALVES * SLOTS];
	unsigned count;		/* of others, which only a killed writer left */
};

static void note(const struct look *l, struct found *f, uint64_t cell, uint64_t stamp)
{
	uint64_t age = age_of(l, stamp);

	if (f->age != UINT64_MAX)
		f->others[f->count++] = age < f->age ? f->cell : cell;
	if (age >= f->age)
		return;
	f->age = age;
	f->cell = cell;
}

/*
 * Is there a remainder like this one, wherever the stamps of the cells are, and whatever they are?
 * Two cells at a time; most buckets have none.
 */
static bool may_have(const struct look *l, uint64_t bucket, uint64_t remainder)
{
	uint64_t bit = bit_of(l, SLOTS * bucket), in_all = remainder * l->lanes.low, any = 0;

	if (!l->lanes.low)
		return true;
	for (unsigned i = 0; i < SLOTS; i += 2, bit += 2 * l->bits) {
		uint64_t cells = lanes_load(word_at(l->part, 0), bit, 2 * l->bits);

		any |= lanes_any_zero((cells ^ in_all) & l->low_remainders, l->lanes)
			| lanes_any_zero((cells ^ in_all << l->time) & l->high_remainders,
					 l->lanes);
	}
	return any;
}

/*
 * The stamp of a cell if it has this remainder, else 0. It is loaded before the remainder and after
 * it: a cell that is refilled meanwhile has the stamp 0 in between.
 */
static uint64_t stamp_with(const struct look *l, uint64_t cell, uint64_t remainder)
{
	uint64_t stamp, again = stamp_in(l, cell);

	do {
		stamp = again;
		if (!stamp || remainder_in(l, cell) != remainder)
			return 0;
		again = stamp_in(l, cell);
	} while (again != stamp);
	return stamp;
}

static void find(const struct look *l, const uint64_t bucket[HALVES], uint64_t remainder,
		 struct found *ret)
{
	ret->age = UINT64_MAX;
	ret->count = 0;
	for (unsigned half = 0; half < HALVES; half++) {
		unsigned slots = may_have(l, bucket[half], remainder) ? SLOTS : 0;

		for (unsigned i = 0; i < slots; i++) {
			uint64_t cell = SLOTS * bucket[half] + i;
			uint64_t stamp = stamp_with(l, cell, remainder);

			if (stamp)
				note(l, ret, cell, stamp);
		}
	}
}

/*
 * The age of a key, UINT64_MAX: none, at the time that is given. If keys moved meanwhile, an age
 * above `enough` may be that of a cell that a killed writer left, while the newer one moved.
 */
static uint64_t age_in(struct look *l, const uint64_t bucket[HALVES], uint64_t remainder,
		       uint64_t now, uint64_t enough)
{
	static const uint64_t never;
	const uint64_t *moves = l->part->own ? own_word(l->part, MOVES) : &never;
	uint64_t word, moved;
	struct found found;

	do {
		word = now_word(l->part);
		moved = load_acquire(moves);
		if (word != l->word)
			set_now(l, word, now);
		find(l, bucket, remainder, &found);
	} while (now_word(l->part) != word
		 || (found.age > enough && load_acquire(moves) != moved));
	return found.age;
}

static uint64_t age_now(struct look *l, const struct blm_hash *hash, uint64_t now, uint64_t enough)
{
	struct print print = print_of(l, hash);
	const uint64_t bucket[HALVES] = { print.bucket, bucket_in(l, 1, &print) };

	return age_in(l, bucket, print.remainder, now, enough);
}

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	uint64_t now = told(part, key->when);
	struct look l = look_at(part, now_word(part), now);
	uint64_t asked = asked_age(&l, key->when);

	return age_now(&l, &key->hash, now, asked) <= asked;
}

/* The age in nanoseconds, as of the beginning of a tick. */
static int get(const struct blm_part *part, const struct blm_hashed *key, uint64_t *ret)
{
	uint64_t now = told(part, key->when);
	struct look l = look_at(part, now_word(part), now);
	uint64_t age = age_now(&l, &key->hash, now, 0);

	if (age > asked_age(&l, key->when))
		return 0;
	*ret = age * part->shape.args[TICK] / (key->when ? 1 : 1000000000);
	return 1;
}

static void fetch(const struct look *l, const struct blm_hash *hash, uint64_t ret[BLM_PLACES])
{
	struct print print = print_of(l, hash);

	ret[0] = print.bucket;
	ret[1] = bucket_in(l, 1, &print);
	ret[2] = print.remainder;
	for (unsigned half = 0; half < HALVES; half++) {
		uint64_t bit = bit_of(l, SLOTS * ret[half]);

		blm_fetch(word_at(l->part, 0) + bit / 64);
		blm_fetch(word_at(l->part, 0) + (bit + SLOTS * l->bits - 1) / 64);
	}
}

static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	struct look l = look_at(part, 0, 0);
	uint64_t places[BLM_PLACES];

	fetch(&l, &key->hash, places);
}

/* A batch of questions, which looks at the clock once. */
struct asking {
	struct look look;
	uint64_t now, age;
};

static void locate(const void *how, const struct blm_hash *hash, uint64_t ret[BLM_PLACES])
{
	fetch(&((const struct asking *)how)->look, hash, ret);
}

/*
 * Most keys are in neither bucket. If a key moved meanwhile, all that were not found are asked for
 * again.
 */
static bool ask(const void *how, const struct blm_hash *hash, const uint64_t places[BLM_PLACES])
{
	const struct asking *asking = how;
	struct look l;

	if (!may_have(&asking->look, places[0], places[2])
	    && !may_have(&asking->look, places[1], places[2]))
		return false;
	l = asking->look;
	return age_in(&l, places, places[2], asking->now, asking->age)
		<= asking->age;
}

static void contains_many(const struct blm_part *part, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	uint64_t now = told(part, batch->when);
	struct asking asking = { look_at(part, now_word(part), now), now, 0 };
	uint64_t moves = part->own ? load_acquire(own_word(part, MOVES)) : 0;

	asking.age = asked_age(&asking.look, batch->when);
	blm_ask_all(batch, ret_bits, (struct blm_question){ locate, ask, &asking });
	if (!part->own || load_acquire(own_word(part, MOVES)) == moves)
		return;
	for (size_t i = 0; i < batch->count; i++)
		if (!(ret_bits[i / 64] >> i % 64 & 1)
		    && age_now(&asking.look, &batch->hashes[i], now, asking.age) <= asking.age)
			ret_bits[i / 64] |= UINT64_C(1) << i % 64;
}

static const uint64_t *probe(const struct blm_part *part, const struct blm_hashed *key, unsigned i,
			     uint64_t *ret_mask)
{
	struct look l = look_at(part, 0, 0);
	struct print print = print_of(&l, &key->hash);

	*ret_mask = 0;
	return i < HALVES ? word_at(part, 0) + bit_of(&l, SLOTS * bucket_in(&l, i, &print)) / 64
		: NULL;
}

/* ---- Sweeping ---- */

static void sweep(const struct look *l, uint64_t from, uint64_t to)
{
	for (uint64_t cell = from; cell < to; cell++) {
		uint64_t stamp = stamp_in(l, cell);

		if (stamp && !is_live(l, stamp))
			set_stamp(l, cell, 0);
	}
}

static void set_word(const struct blm_part *part, unsigned i, uint64_t value)
{
	mark(part, word_at(part, i));
	store_release(word_at(part, i), value);
}

/*
 * NOW is to be later. Each pass is spread over half the ticks of the guard. Each word is true when
 * it is stored, also if the writer dies before the next one; NOW comes last.
 */
static void sweep_for(const struct look *l, uint64_t now)
{
	const struct blm_part *part = l->part;
	uint64_t cells = part->shape.cells, guard = guard_of(l), half = guard / 2;
	uint64_t begun = load_relaxed(word_at(part, BEGUN)), at = load_relaxed(word_at(part, AT));

	if (at > cells)
		at = cells;
	if (now - load_relaxed(word_at(part, PREVIOUS)) > guard || now - begun > guard) {
		sweep(l, 0, cells);
		begun = now;
	} else if (now - begun < half) {
		uint64_t to = (uint64_t)((unsigned __int128)cells * (now - begun) / half);

		sweep(l, at, to);
		if (to > at)
			set_word(part, AT, to);
		return;
	} else {
		sweep(l, at, cells);
	}
	set_word(part, PREVIOUS, begun);
	set_word(part, AT, 0);
	set_word(part, BEGUN, now);
}

/* The tick that a change is at: told by the caller or the clock, but never before another. */
static struct look advance(struct blm_part *part, const struct blm_when *when)
{
	uint64_t word = now_word(part), now = told(part, when),
		begun = load_relaxed(word_at(part, BEGUN));
	struct look l;

	/* by a writer that died before it stored NOW */
	if (word && begun > word && begun > now)
		now = begun;
	l = look_at(part, word, now);
	if (now <= word)
		return l;
	if (word) {
		sweep_for(&l, now);
	} else {
		set_word(part, PREVIOUS, now);
		set_word(part, BEGUN, now);
	}
	set_word(part, NOW, now);
	set_now(&l, now, now);
	return l;
}

/* ---- Changes ---- */

/* The first cell of a bucket that is empty, or whose key is forgotten; SLOTS: none. */
static unsigned free_in(const struct look *l, uint64_t bucket)
{
	unsigned i;

	for (i = 0; i < SLOTS && is_live(l, stamp_in(l, SLOTS * bucket + i)); i++)
		;
	return i;
}

static void move(const struct look *l, uint64_t from, uint64_t to)
{
	uint64_t *moves = own_word(l->part, MOVES);

	place(l, to, remainder_in(l, from), stamp_in(l, from));
	store_release(moves, load_relaxed(moves) + 1);
	set_stamp(l, from, 0);
}

/* Of steps that cuckoo.c describes: whose key can go to steps[s]. */
static uint64_t cell_before(const uint64_t *steps, unsigned s)
{
	return SLOTS * steps[(s - 2) / SLOTS] + (s - 2) % SLOTS;
}

static int search(const struct look *l, uint64_t *steps, uint64_t *ret_free)
{
	unsigned count = 2;

	for (unsigned s = 0; s < count; s++) {
		unsigned slot = free_in(l, steps[s]);

		if (slot < SLOTS) {
			*ret_free = SLOTS * steps[s] + slot;
			return (int)s;
		}
		for (unsigned i = 0; i < SLOTS && count < SEARCHED; i++, count++)
			steps[count] = other_bucket(l, cell_before(steps, count));
	}
	return -EXFULL;
}

static int insert(const struct look *l, const struct print *print, uint64_t stamp)
{
	uint64_t steps[SEARCHED], to = 0;
	int s;

	steps[0] = print->bucket;
	steps[1] = bucket_in(l, 1, print);
	s = search(l, steps, &to);
	if (s < 0)
		return blm_fail(s, "the filter is full");
	for (; s >= 2; s = (s - 2) / SLOTS) {
		uint64_t from = cell_before(steps, (unsigned)s);

		move(l, from, to);
		to = from;
	}
	place(l, to, print->remainder, stamp);
	return 1;
}

/* Give a key the stamp of an age, unless it has a later one. 1: it was not remembered; 0: it was */
static int see(const struct look *l, const struct print *print, uint64_t age)
{
	const uint64_t bucket[HALVES] = { print->bucket, bucket_in(l, 1, print) };
	uint64_t stamp = stamp_for(l, age);
	struct found found;
	bool live;

	find(l, bucket, print->remainder, &found);
	if (found.age == UINT64_MAX)
		return insert(l, print, stamp);
	live = found.age <= l->span;
	if (found.age > age)
		set_stamp(l, found.cell, stamp);
	for (unsigned i = 0; i < found.count; i++)
		set_stamp(l, found.others[i], 0);
	return !live;
}

/* How long ago it was seen, by what the caller says, in ticks before NOW. */
static uint64_t sight(const struct look *l, const struct blm_when *when)
{
	uint64_t at = when && when->at ? when->at / l->part->shape.args[TICK] : l->word;

	return at < l->word ? l->word - at : 0;
}

static int add_at(const struct look *l, const struct blm_hash *hash, const struct blm_when *when)
{
	struct print print = print_of(l, hash);
	uint64_t age = sight(l, when);

	return age > l->span ? 0 : see(l, &print, age);
}

static int claim_at(const struct look *l, const struct blm_hash *hash, const struct blm_when *when)
{
	struct print print = print_of(l, hash);
	const uint64_t bucket[HALVES] = { print.bucket, bucket_in(l, 1, &print) };
	struct found found;
	int r;

	find(l, bucket, print.remainder, &found);
	if (found.age <= asked_age(l, when))
		return 0;
	r = see(l, &print, 0);
	return r < 0 ? r : 1;
}

static int add(struct blm_part *part, const struct blm_hashed *key)
{
	struct look l = advance(part, key->when);

	return add_at(&l, &key->hash, key->when);
}

static int claim(struct blm_part *part, const struct blm_hashed *key)
{
	struct look l = advance(part, key->when);

	return claim_at(&l, &key->hash, key->when);
}

/* At one time, which the clock says once. */
static int change_many(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits,
		       int (*change)(const struct look *, const struct blm_hash *,
				     const struct blm_when *))
{
	/* the first batch of all is empty */
	const struct look l = batch->count ? advance(part, batch->when) : look_at(part, 0, 0);
	uint64_t places[BLM_PLACES];
	int r = 0;

	memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
	for (size_t i = 0; r >= 0 && (i < batch->count || i < batch->next_count); i++) {
		if (i < batch->next_count)
			fetch(&l, &batch->next[i], places);
		if (i >= batch->count)
			continue;
		r = change(&l, &batch->hashes[i], batch->when);
		ret_bits[i / 64] |= (uint64_t)(r > 0) << i % 64;
	}
	return r < 0 ? r : 0;
}

static int add_many(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits)
{
	return change_many(part, batch, ret_bits, add_at);
}

static int claim_many(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits)
{
	return change_many(part, batch, ret_bits, claim_at);
}

static int remove_key(struct blm_part *part, const struct blm_hashed *key)
{
	struct look l = look_at(part, now_word(part), told(part, key->when));
	struct print print = print_of(&l, &key->hash);
	const uint64_t bucket[HALVES] = { print.bucket, bucket_in(&l, 1, &print) };
	struct found found;

	find(&l, bucket, print.remainder, &found);
	if (found.age > l.span)
		return 0;
	for (unsigned i = 0; i < found.count; i++)
		set_stamp(&l, found.others[i], 0);
	set_stamp(&l, found.cell, 0);
	return 1;
}

/* ---- Growing ---- */

static int grown(struct blm_shape *ret, const struct blm_shape *from)
{
	struct blm_shape s = *from;

	if (remainder_bits(from) <= least_bits(time_bits(from)) || buckets_of(from)
	    > BUCKETS_MOST / 2 || from->capacity > BLM_CAPACITY_MAX / 2)
		return blm_fail(-EFBIG, "it cannot be doubled any more: it has %llu cells with "
				"remainders of %u bits", (unsigned long long)from->cells,
				remainder_bits(from));
	s.cells *= 2;
	s.capacity *= 2;
	s.cell_bits--;
	s.bytes = bytes_for(&s);
	*ret = s;
	return 0;
}

static int grow(struct blm_part *to, const struct blm_part *from)
{
	uint64_t now = now_word(from);
	const struct look old = look_at(from, now, now), new = look_at(to, now, now);
	unsigned bits = new.bits - new.time;
	int r = 0;

	set_word(to, PREVIOUS, now);
	set_word(to, BEGUN, now);
	set_word(to, NOW, now);
	for (uint64_t cell = 0; r >= 0 && cell < from->shape.cells; cell++) {
		uint64_t stamp = stamp_in(&old, cell);
		struct print print;

		if (!is_live(&old, stamp))
			continue;
		print = print_back(&old, cell);
		print = (struct print){ print.bucket << 1 | print.remainder >> bits,
					print.remainder & ones(bits) };
		r = see(&new, &print, age_of(&old, stamp));
	}
	return r < 0 ? r : 0;
}

/* ---- What it says of itself ---- */

/* The share of cells whose keys are remembered. Keys are anywhere, so a part is a sample of all. */
static double load_now(const struct blm_part *part)
{
	uint64_t some = part->shape.cells < 8 << 20 ? part->shape.cells : 8 << 20, live = 0;
	const struct look l = look_at(part, now_word(part), blm_clock() / part->shape.args[TICK]);

	for (uint64_t cell = 0; cell < some; cell++)
		live += is_live(&l, stamp_in(&l, cell));
	return (double)live / (double)some;
}

static void describe_clock(const struct blm_part *part, struct blm_fact *ret)
{
	double tick = (double)part->shape.args[TICK] / 1e9,
		ahead = (double)now_word(part) - floor((double)blm_clock() / 1e9 / tick);

	*ret = (struct blm_fact){ .name = "clock ahead", .value = ahead > 0 ? ahead * tick : 0 };
	if (ahead > 0)
		snprintf(ret->text, sizeof(ret->text), "by %.0f s: times stand still until the "
			 "machine's clock has caught up; if a wrong clock made it so, clear it",
			 ret->value);
	else
		snprintf(ret->text, sizeof(ret->text), "no");
}

/* The times, which follow from the shape alone. */
static bool foretell(const struct blm_shape *s, unsigned i, struct blm_fact *ret)
{
	if (i > 0)
		return false;
	*ret = (struct blm_fact){ .name = "time bits", .value = time_bits(s) };
	snprintf(ret->text, sizeof(ret->text), "%u of the %u bits of a cell; a tick is %g s, the "
		 "span %g s", time_bits(s), s->cell_bits, (double)s->args[TICK] / 1e9,
		 (double)s->args[SPAN] / 1e9);
	return true;
}

static bool describe(const struct blm_part *part, unsigned i, struct blm_fact *ret)
{
	const struct blm_shape *s = &part->shape;
	double keys = i < 2 ? load_now(part) * (double)s->cells : 0;

	if (i == 0) {
		*ret = (struct blm_fact){ .name = "remembered", .value = keys };
		snprintf(ret->text, sizeof(ret->text), "about %.0f keys, in %.4g of the cells",
			 keys, keys / (double)s->cells);
	} else if (i == 1) {
		*ret = (struct blm_fact){ .name = "rate now",
					  .value = rate_at(s, (uint64_t)llround(keys)) };
		snprintf(ret->text, sizeof(ret->text), "%.3g, by the load", ret->value);
	} else if (i == 2) {
		foretell(s, 0, ret);
	} else if (i == 3) {
		describe_clock(part, ret);
	}
	return i < 4;
}

const struct blm_kind blm_kind_recent = {
	.id = 22,
	.name = "recent",
	.protocol = BLM_SINGLE_WRITER_CHECKPOINT,
	.summary = "when each key was last seen: claims a key again after an age, asks and tells "
	"how old a sight is, and can double without its keys",
	.caveat = "keys not seen for its span are forgotten, by the clock of the machine; when it "
	"is full it refuses keys, and loses none; to remove a key also removes a key with the same "
	"fingerprint",
	.options = options,
	.plan = plan, .valid = valid, .padding_bits = padding_bits, .contains = contains,
	.rate_at = rate_at,
	.add = add, .remove = remove_key, .claim = claim, .get = get,
	.grown = grown, .grow = grow, .describe = describe, .foretell = foretell,
	.prefetch = prefetch, .probe = probe, .contains_many = contains_many,
	.add_many = add_many, .claim_many = claim_many,
	.forgets = true, .fills = true, .ages = true,
};
