/*
 * recent_cells.h - the cells of a recent filter, the fingerprints in them, and what two buckets
 * have of a key
 */
#ifndef BLM_KIND_RECENT_CELLS_H
#define BLM_KIND_RECENT_CELLS_H

#include "kind/recent.h"
#include "kind/common/prefetch.h"

static inline uint64_t ones(unsigned bits)
{
	return (UINT64_C(1) << bits) - 1;
}

static inline uint64_t bit_of(const struct look *l, uint64_t cell)
{
	return LINE * 64 + cell * l->bits;
}

/*
 * Where in a cell its stamp is. A stamp never straddles two words: it is at the low end of the
 * cell, but at the high end if a word ends within the low bits. The other bits are the remainder.
 */
static inline unsigned stamp_shift(const struct look *l, uint64_t bit)
{
	return bit % 64 + l->time <= 64 ? 0 : l->bits - l->time;
}

static inline uint64_t stamp_in(const struct look *l, uint64_t cell)
{
	uint64_t bit = bit_of(l, cell);

	bit += stamp_shift(l, bit);
	return load_acquire(word_at(l->part, 0) + bit / 64) >> bit % 64 & ones(l->time);
}

static inline uint64_t get_bits(const struct blm_part *part, uint64_t bit, unsigned bits)
{
	const uint64_t *word = word_at(part, 0) + bit / 64;
	uint64_t value = load_acquire(word) >> bit % 64;

	if (bit % 64 + bits > 64)
		value |= load_acquire(word + 1) << (64 - bit % 64);
	return value & ones(bits);
}

static inline uint64_t remainder_in(const struct look *l, uint64_t cell)
{
	uint64_t bit = bit_of(l, cell);

	return get_bits(l->part, bit + (stamp_shift(l, bit) ? 0 : l->time), l->bits - l->time);
}

static inline void set_in_word(const struct blm_part *part, uint64_t *word, uint64_t mask,
			       uint64_t value)
{
	mark(part, word);
	store_release(word, (load_relaxed(word) & ~mask) | value);
}

static inline void set_bits(const struct blm_part *part, uint64_t bit, unsigned bits,
			    uint64_t value)
{
	uint64_t *word = word_at(part, 0) + bit / 64, mask = ones(bits);

	set_in_word(part, word, mask << bit % 64, value << bit % 64);
	if (bit % 64 + bits > 64)
		set_in_word(part, word + 1, mask >> (64 - bit % 64), value >> (64 - bit % 64));
}

static inline void set_stamp(const struct look *l, uint64_t cell, uint64_t stamp)
{
	uint64_t bit = bit_of(l, cell);

	set_bits(l->part, bit + stamp_shift(l, bit), l->time, stamp);
}

static inline void place(const struct look *l, uint64_t cell, uint64_t remainder, uint64_t stamp)
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

static inline struct print print_of(const struct look *l, const struct blm_hash *hash)
{
	unsigned __int128 product = (unsigned __int128)hash->hi * l->buckets;

	return (struct print){ (uint64_t)(product >> 64),
			       (uint64_t)product >> (64 - (l->bits - l->time)) };
}

/* How much further its bucket in the second half is. */
static inline uint64_t turn_of(const struct look *l, uint64_t remainder)
{
	return scale(unfold(remainder, 0, 1), l->buckets);
}

static inline uint64_t bucket_in(const struct look *l, unsigned half, const struct print *print)
{
	uint64_t bucket;

	if (!half)
		return print->bucket;
	bucket = print->bucket + turn_of(l, print->remainder);
	return l->buckets + (bucket < l->buckets ? bucket : bucket - l->buckets);
}

static inline struct print print_back(const struct look *l, uint64_t cell)
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

static inline uint64_t other_bucket(const struct look *l, uint64_t cell)
{
	struct print print = print_back(l, cell);

	return bucket_in(l, cell / SLOTS < l->buckets, &print);
}

static inline void fetch(const struct look *l, const struct blm_hash *hash,
			 uint64_t ret[BLM_PLACES])
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

/* ---- What two buckets have ---- */

/* A key's cells in its two buckets. */
struct found {
	uint64_t age;		/* of the newest; UINT64_MAX: there is none */
	uint64_t cell;		/* that one */
	uint64_t others[HALVES * SLOTS];
	unsigned count;		/* of others, which only a killed writer left */
};

static inline void note(const struct look *l, struct found *f, uint64_t cell, uint64_t stamp)
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
 * Is this remainder in the bucket, at any stamp? Compares two cells at a time; most buckets do not
 * have it.
 */
static inline bool may_have(const struct look *l, uint64_t bucket, uint64_t remainder)
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
 * The stamp of a cell if it has this remainder, otherwise 0. The stamp is loaded before the
 * remainder and after it: a cell that is refilled meanwhile has the stamp 0 in between.
 */
static inline uint64_t stamp_with(const struct look *l, uint64_t cell, uint64_t remainder)
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

static inline void find(const struct look *l, const uint64_t bucket[HALVES], uint64_t remainder,
			struct found *ret)
{
	ret->age = UINT64_MAX;
	ret->cell = 0;
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

#endif
