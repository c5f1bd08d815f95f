/*
 * dleft.c - fingerprints with small counters in four subtables, each key in the emptiest of its
 * four buckets
 *
 * Bonomi, Mitzenmacher, Panigrahy, Singh and Varghese, "An Improved Construction for Counting Bloom
 * Filters", ESA 2006. A fingerprint is a bucket number and a remainder, and each subtable permutes
 * fingerprints: it adds a number made from the remainder to the bucket. So two different
 * fingerprints are different in every subtable, and a removed key takes out its own fingerprint.
 *
 * The fingerprint is the beginning of one number that the key's hash gives: the bucket is the
 * integer part of buckets * hash / 2^64, the remainder the first bits of the fraction. With twice
 * the buckets the first of these bits belongs to the bucket, so a filter can be doubled from its
 * fingerprints only.
 *
 * One writer at a time; readers take no lock, and need none, because a fingerprint stays in its
 * cell. A cell is empty if its counter is 0, so the counter is stored last, with release; a writer
 * that dies before that has changed nothing. For the same reason any mix of older and newer pages
 * has all keys that are in both states.
 */
#include "kind/dleft_buckets.h"
#include "kind/common/swar.h"
#include "kind/common/prefetch.h"
#include "kind/common/sizing.h"
#include "base/phase.h"

#include <math.h>
#include <stdio.h>

enum { SPARE };		/* options */

static const struct blm_option options[] = {
	[SPARE] = { "spare", "how often it can double and keep its rate: a bit a cell each",
		    BLM_OPTION_COUNT, 0, 16, 0 },
	{ NULL }
};

/* ---- Sizes ---- */

/* A false positive is a key with the fingerprint of another. */
static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	return -expm1(-(double)keys / ldexp((double)buckets_of(s), (int)remainder_bits(s)));
}

static uint64_t bytes_for(const struct blm_shape *s)
{
	return round_up(TABLES * buckets_of(s) * (COUNTS + remainder_bits(s)), 64);
}

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .cells = params->cells, .probes = TABLES,
			       .capacity = params->capacity, .rate = params->rate };
	unsigned bits = BITS_LEAST;

	memcpy(s.args, ret->args, sizeof(s.args));
	if (params->probes && params->probes != TABLES)
		return blm_fail(-EINVAL, "a d-left filter looks into %d buckets, not %u", TABLES,
				params->probes);
	if (s.cells % (TABLES * CELLS))
		return blm_fail(-EINVAL, "a d-left filter has a multiple of %d cells, not %llu",
				TABLES * CELLS, (unsigned long long)s.cells);
	if (s.cells && s.capacity > s.cells / CELLS * LOAD)
		return blm_fail(-EINVAL, "a d-left filter of %llu cells holds %llu keys, not %llu",
				(unsigned long long)s.cells,
				(unsigned long long)(s.cells / CELLS * LOAD),
				(unsigned long long)s.capacity);
	if (!s.capacity)
		s.capacity = s.cells / CELLS * LOAD;
	if (!s.cells)
		s.cells = TABLES * CELLS * (uint64_t)ceil((double)s.capacity / (TABLES * LOAD));
	if (!s.rate)
		s.rate = BLM_DEFAULT_RATE;
	for (s.cell_bits = bits + COUNT_BITS; bits < BITS_MOST && rate_at(&s, s.capacity) > s.rate;
	     s.cell_bits = ++bits + COUNT_BITS)
		;
	s.cell_bits += (unsigned)s.args[SPARE];
	if (rate_at(&s, s.capacity) > s.rate || remainder_bits(&s) > BITS_MOST)
		return blm_fail(-EFBIG, "a d-left filter has remainders of up to %d bits, too "
				"few for a rate of %g with %llu spare bits; the kind classic has "
				"any rate", BITS_MOST, s.rate,
				(unsigned long long)s.args[SPARE]);
	if (buckets_of(&s) > BUCKETS_MOST)
		return blm_fail(-EFBIG, "a d-left filter has at most 2^37 cells, too few for %llu "
				"keys", (unsigned long long)s.capacity);
	s.bytes = bytes_for(&s);
	*ret = s;
	return 0;
}

static bool valid(const struct blm_shape *s)
{
	return s->cells && s->cells % (TABLES * CELLS) == 0 && buckets_of(s) <= BUCKETS_MOST
		&& s->probes == TABLES
	    && s->cell_bits >= COUNT_BITS + BITS_LEAST && s->cell_bits <= COUNT_BITS + BITS_MOST
	    && s->bytes == bytes_for(s);
}

static unsigned padding_bits(const struct blm_shape *s)
{
	return (unsigned)(s->bytes * 8 - s->cells * s->cell_bits);
}

/* ---- Questions ---- */

/*
 * The values that are the same for all questions. With remainders of up to 16 bits half of a
 * bucket's are no more than a word.
 */
enum { HALF = CELLS / 2 };

struct reader {
	const struct blm_part *part;
	struct blm_lanes cells;		/* of half a bucket */
	unsigned bits, half, bucket;	/* of a remainder, of half of them, of a bucket */
};

static struct reader reader_of(const struct blm_part *part)
{
	unsigned bits = remainder_bits(&part->shape);

	return (struct reader){ part, HALF * bits <= 64 ? lanes_of(HALF, bits)
				: (struct blm_lanes){ 0 }, bits, HALF * bits, (COUNTS + bits) * 8 };
}

/* The cells whose counters are not 0: a bit at the place of each of these. */
#define IN_USE UINT64_C(0x5555)

static uint64_t in_use(const struct reader *r, uint64_t bucket)
{
	uint64_t counts = lanes_load((const uint64_t *)r->part->bytes, bucket * r->bucket,
				     COUNTS * 8);

	return (counts | counts >> 1) & IN_USE;
}

/*
 * The half of a bucket's remainders that are compared; a lane is 0 if it equals this remainder,
 * which is in every lane of `in_all`.
 */
static uint64_t unlike(const struct reader *r, uint64_t bucket, unsigned half, uint64_t in_all)
{
	return lanes_load((const uint64_t *)r->part->bytes,
			  bucket * r->bucket + COUNTS * 8 + half * r->half, r->half) ^ in_all;
}

/* Is it in one of the cells, be it in use or not? */
static bool may_have(const struct reader *r, uint64_t bucket, uint64_t in_all)
{
	return lanes_any_zero(unlike(r, bucket, 0, in_all), r->cells)
		| lanes_any_zero(unlike(r, bucket, 1, in_all), r->cells);
}

/* ... in a used cell? Its counter is loaded first. */
static bool has(const struct reader *r, uint64_t bucket, uint64_t in_all)
{
	uint64_t used = in_use(r, bucket), found = 0;

	for (unsigned half = 0; half < 2; half++) {
		uint64_t like = lanes_zero(unlike(r, bucket, half, in_all), r->cells)
			>> (r->bits - 1);

		for (unsigned cell = 0; cell < HALF; cell++, like >>= r->bits, used >>= COUNT_BITS)
			found |= like & used;
	}
	return found & 1;
}

static bool any_has(const struct reader *r, const struct blm_hash *hash,
		    const uint64_t buckets[TABLES])
{
	uint64_t in_all = print_of(&r->part->shape, hash).remainder * r->cells.low;

	for (unsigned i = 0; i < TABLES; i++)
		if (may_have(r, buckets[i], in_all) && has(r, buckets[i], in_all))
			return true;
	return false;
}

static void buckets_for(const struct blm_part *part, const struct blm_hash *hash,
			uint64_t ret[TABLES])
{
	struct print print = print_of(&part->shape, hash);

	for (unsigned i = 0; i < TABLES; i++)
		ret[i] = bucket_in(&part->shape, i, &print);
}

static bool ask_plainly(const struct blm_part *part, const struct blm_hash *hash)
{
	struct print print = print_of(&part->shape, hash);
	struct bucket b;

	for (unsigned i = 0; i < TABLES; i++) {
		load_bucket(part, bucket_in(&part->shape, i, &print), &b);
		if (find(part, &b, print.remainder, COUNT_MAX) < CELLS)
			return true;
	}
	return false;
}

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	const struct reader r = reader_of(part);
	uint64_t buckets[TABLES];

	if (r.half > 64)
		return ask_plainly(part, &key->hash);
	buckets_for(part, &key->hash, buckets);
	return any_has(&r, &key->hash, buckets);
}

static void fetch(const struct blm_part *part, const struct blm_hash *hash, uint64_t ret[TABLES])
{
	buckets_for(part, hash, ret);
	for (unsigned i = 0; i < TABLES; i++) {
		const uint8_t *at = bucket_at(part, ret[i]);

		blm_fetch(at);
		blm_fetch(at + COUNTS + remainder_bits(&part->shape) - 1);
	}
}

static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	uint64_t buckets[TABLES];

	fetch(part, &key->hash, buckets);
}

static_assert((int)TABLES <= (int)BLM_PLACES, "a bucket in each");

static void locate(const void *how, const struct blm_hash *hash, uint64_t ret[BLM_PLACES])
{
	fetch(((const struct reader *)how)->part, hash, ret);
}

static bool ask(const void *how, const struct blm_hash *hash, const uint64_t places[BLM_PLACES])
{
	return any_has(how, hash, places);
}

static void contains_many(const struct blm_part *part, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	const struct reader r = reader_of(part);

	if (r.half > 64)
		blm_part_contains_each(part, batch, ret_bits);
	else
		blm_ask_all(batch, ret_bits, (struct blm_question){ locate, ask, &r });
}

static const uint64_t *probe(const struct blm_part *part, const struct blm_hashed *key, unsigned i,
			     uint64_t *ret_mask)
{
	struct print print = print_of(&part->shape, &key->hash);

	*ret_mask = 0;
	return i < TABLES ? (const uint64_t *)((uintptr_t)bucket_at(part,
		bucket_in(&part->shape, i, &print)) & ~(uintptr_t)7) : NULL;
}

static bool describe(const struct blm_part *part, unsigned i, struct blm_fact *ret)
{
	uint64_t used = 0, full = 0, stuck = 0;
	struct bucket b;

	if (i > 3)
		return false;
	for (uint64_t at = 0; at < TABLES * buckets_of(&part->shape); at++) {
		unsigned here = 0;

		load_bucket(part, at, &b);
		for (unsigned cell = 0; cell < CELLS; cell++) {
			here += count_in(&b, cell) > 0;
			stuck += count_in(&b, cell) == COUNT_MAX;
		}
		used += here;
		full += here == CELLS;
	}
	if (i == 3) {
		*ret = (struct blm_fact){ .name = "rate now",
					  .value = rate_at(&part->shape, used) };
		snprintf(ret->text, sizeof(ret->text), "%.4g, by the cells in use", ret->value);
		return true;
	}
	ret->name = i == 0 ? "cells in use" : i == 1 ? "full buckets" : "full counters";
	ret->value = i == 0 ? (double)used : i == 1 ? (double)full : (double)stuck;
	snprintf(ret->text, sizeof(ret->text), "%.0f of %llu", ret->value,
		 (unsigned long long)(i == 1 ? TABLES * buckets_of(&part->shape)
				      : part->shape.cells));
	return true;
}

/* ---- Changes ---- */

/* Has each cell of the key's four buckets its fingerprint, as often as a cell can count? */
static bool is_full_of(const struct blm_part *part, const struct print *print)
{
	struct bucket b;

	for (unsigned i = 0; i < TABLES; i++) {
		load_bucket(part, bucket_in(&part->shape, i, print), &b);
		for (unsigned cell = 0; cell < CELLS; cell++)
			if (count_in(&b, cell) != COUNT_MAX
			    || remainder_in(&part->shape, &b, cell) != print->remainder)
				return false;
	}
	return true;
}

static int add_print(struct blm_part *part, const struct print *print)
{
	const struct reader r = reader_of(part);
	uint64_t bucket = 0, in_all = print->remainder * r.cells.low;
	unsigned least = CELLS, empty = 0;
	struct bucket b;

	for (unsigned i = 0; i < TABLES; i++) {
		uint64_t at = bucket_in(&part->shape, i, print), used = in_use(&r, at);
		unsigned count = (unsigned)__builtin_popcountll(used);

		if (r.half > 64 || may_have(&r, at, in_all)) {
			unsigned cell;

			load_bucket(part, at, &b);
			cell = find(part, &b, print->remainder, COUNT_MAX - 1);
			if (cell < CELLS) {
				set_count(part, at, cell, count_in(&b, cell) + 1);
				return 1;
			}
		}
		if (count < least) {
			least = count;
			bucket = at;
			empty = (unsigned)__builtin_ctzll(~used & IN_USE) / COUNT_BITS;
		}
	}
	if (least == CELLS && is_full_of(part, print))
		return blm_fail(-EMLINK, "the four buckets of a key are full of it");
	if (least == CELLS)
		return blm_fail(-EXFULL, "the four buckets of a key are full");
	set_remainder(part, bucket, empty, print->remainder);
	set_count(part, bucket, empty, 1);
	return 1;
}

static int add(struct blm_part *part, const struct blm_hashed *key)
{
	struct print print = print_of(&part->shape, &key->hash);

	return add_print(part, &print);
}

static int claim(struct blm_part *part, const struct blm_hashed *key)
{
	return contains(part, key) ? 0 : add(part, key);
}

static int remove_key(struct blm_part *part, const struct blm_hashed *key)
{
	struct print print = print_of(&part->shape, &key->hash);
	struct bucket b;

	for (unsigned i = 0; i < TABLES; i++) {
		uint64_t at = bucket_in(&part->shape, i, &print);
		unsigned cell;

		load_bucket(part, at, &b);
		cell = find(part, &b, print.remainder, COUNT_MAX);
		if (cell < CELLS) {
			set_count(part, at, cell, count_in(&b, cell) - 1);
			return 1;
		}
	}
	return 0;
}

/* ---- Growing ---- */

static int grown(struct blm_shape *ret, const struct blm_shape *from)
{
	struct blm_shape s = *from;

	if (remainder_bits(from) <= BITS_LEAST || buckets_of(from) > BUCKETS_MOST / 2
	    || from->capacity > BLM_CAPACITY_MAX / 2)
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
	const uint64_t buckets = TABLES * buckets_of(&from->shape);
	struct bucket b;
	int r = 0;

	for (uint64_t at = 0; at < buckets; at++) {
		load_bucket(from, at, &b);
		if (at % 4096 == 0)
			blm_phase_at(from->shape.bytes / buckets * at);
		for (unsigned cell = 0; r >= 0 && cell < CELLS; cell++) {
			struct print old = print_back(&from->shape, at, remainder_in(&from->shape,
				&b, cell)), new = print_doubled(&to->shape, &old);

			for (unsigned count = count_in(&b, cell); r >= 0 && count; count--)
				r = add_print(to, &new);
		}
	}
	return r < 0 ? r : 0;
}

const struct blm_kind blm_kind_dleft = {
	.id = 9,
	.name = "d-left",
	.protocol = BLM_SINGLE_WRITER,
	.summary = "fingerprints with counters: removes as counting, below a rate of 0.01 in less "
	"than half the space, and can double without its keys",
	.caveat = "removing a key that was never added can take out another: it seems to be there "
	"with the false-positive rate",
	.options = options,
	.plan = plan, .valid = valid, .contains = contains, .rate_at = rate_at,
	.add = add, .remove = remove_key, .claim = claim,
	.grown = grown, .grow = grow, .describe = describe,
	.prefetch = prefetch, .probe = probe, .padding_bits = padding_bits,
	.contains_many = contains_many,
	.fills = true,
};
