/*
 * cuckoo.c - fingerprints in places of a few cells, each in one of two places that follow from its
 * bits
 *
 * Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom", CoNEXT
 * 2014. The second place is a number that the fingerprint gives minus the first place, modulo the
 * places: its own inverse, like the paper's exclusive or, but for any number of places (Lang,
 * Neumann, Kemper and Boncz, "Performance-Optimal Filtering", PVLDB 12(5), 2019). Places are
 * windows of two cells that overlap (Zentgraf, Schmitz and Rahmann, "Smaller and More Flexible
 * Cuckoo Filters", 2025), which take a bit less for the same rate. In older files they are buckets
 * of four; cuckoo.h has both layouts. One writer at a time; readers take no lock (relocation.h). If
 * both places of a key are full, a path of moves makes space; it is found beforehand and executed
 * from its end.
 */
#include "kind/common/swar.h"
#include "kind/common/relocation.h"
#include "kind/common/prefetch.h"
#include "kind/common/sizing.h"
#include "kind/cuckoo.h"

#include <math.h>
#include <stdio.h>

enum {
	SLOTS_MOST = 4,			/* in a place */
	SEARCHED = 8192,		/* places, for an empty cell: then it is full */
};

static const char *const layouts[] = { [CUCKOO_BUCKETS] = "buckets", [CUCKOO_WINDOWS] = "windows" };

static const struct blm_option options[] = {
	[CUCKOO_LAYOUT] = { "layout", "where fingerprints are; buckets take a bit more per key, "
			    "and hold a key 8 times, windows 4 times", BLM_OPTION_NAME, 0,
			    CUCKOO_WINDOWS, CUCKOO_WINDOWS, layouts },
	{ NULL }
};

static unsigned padding_bits(const struct blm_shape *s)
{
	return (unsigned)(s->bytes * 8 - s->cells * s->cell_bits);
}

/* ---- Cells ---- */

/* The contents of the i-th cell of a place with this fingerprint; 0: an empty cell. */
static uint64_t cell_of(struct cuckoo_places places, uint64_t print, unsigned i)
{
	return print ? print << places.tag | (i & places.tag) : 0;
}

/* The cells of a place: which of them, as bits, hold this fingerprint? 0 is an empty cell. */
static unsigned find(const struct blm_part *part, uint64_t place, uint64_t print)
{
	struct cuckoo_places places = cuckoo_places_of(&part->shape);
	unsigned each = part->shape.cell_bits, bits = places.slots * each, found = 0;
	uint64_t at = place * places.step * each, mask = mask_of(part);
	const uint64_t *words = (const uint64_t *)part->bytes;
	unsigned __int128 cells = lanes_load(words, at, bits <= 64 ? bits : 64);

	if (bits > 64)
		cells |= (unsigned __int128)lanes_load(words, at + 64, bits - 64) << 64;
	for (unsigned i = 0; i < places.slots; i++, cells >>= each)
		found |= (unsigned)(((uint64_t)cells & mask) == cell_of(places, print, i)) << i;
	return found;
}

/* ---- Where a key is ---- */

struct spot {
	uint64_t place, print;
};

/*
 * A fingerprint in `place`, one of `places`, has this other place. In buckets two places that are
 * two moves apart differ by the difference of two fingerprints, times a constant. Therefore a long
 * path of moves reaches few places. Windows have fewer cells and need more places, so they mix the
 * word again.
 */
static uint64_t other_of(uint64_t places, unsigned tag, uint64_t place, uint64_t print)
{
	uint64_t word = unfold(print, 0, 0),
		 sum = scale(tag ? unfold(word, word, 0) : word, places);

	return sum >= place ? sum - place : sum + places - place;
}

static struct spot spot_of(const struct blm_part *part, const struct blm_hash *hash)
{
	return (struct spot){ scale(hash->hi, cuckoo_place_count(&part->shape)),
			      1 + scale(hash->lo, cuckoo_prints(&part->shape)) };
}

static uint64_t other(const struct blm_part *part, uint64_t place, uint64_t print)
{
	return other_of(cuckoo_place_count(&part->shape), cuckoo_places_of(&part->shape).tag,
			place, print);
}

/*
 * The values that are the same for all questions. A window is no more than a word, and so is a
 * bucket with fingerprints of up to 16 bits.
 */
struct reader {
	const struct blm_part *part;
	uint64_t places, prints;	/* how many */
	uint64_t numbers;		/* of the cells in their window, as they hold them */
	struct blm_lanes cells;		/* of a place */
	unsigned bits, step;		/* of them all; from one place to the next */
	unsigned tag;
};

BLM_INLINED struct reader reader_of(const struct blm_part *part)
{
	struct cuckoo_places places = cuckoo_places_of(&part->shape);
	unsigned each = part->shape.cell_bits;
	struct reader r = { .part = part, .places = cuckoo_place_count(&part->shape),
			    .prints = cuckoo_prints(&part->shape), .bits = places.slots * each,
			    .step = places.step * each, .tag = places.tag };

	if (places.tag) {
		r.numbers = UINT64_C(1) << each;
		r.cells = (struct blm_lanes){ 1 | r.numbers, (1 | r.numbers) << (each - 1) };
	} else if (r.bits <= 64) {
		r.cells = lanes_of(places.slots, each);
	}
	return r;
}

/* The places of a key, and its fingerprint in each cell of a place. */
static inline void find_places(const struct reader *r, const struct blm_hash *hash,
			       uint64_t ret[BLM_PLACES])
{
	uint64_t print = 1 + scale(hash->lo, r->prints);

	ret[0] = scale(hash->hi, r->places);
	ret[1] = other_of(r->places, r->tag, ret[0], print);
	ret[2] = (print << r->tag) * r->cells.low | r->numbers;
}

/* Not 0: yes. */
static uint64_t has(const struct reader *r, uint64_t place, uint64_t wanted)
{
	uint64_t cells = lanes_load((const uint64_t *)r->part->bytes, place * r->step, r->bits);

	return lanes_any_zero(cells ^ wanted, r->cells);
}

static bool look(const struct reader *r, const struct blm_hash *hash)
{
	uint64_t at[BLM_PLACES];

	find_places(r, hash, at);
	return has(r, at[0], at[2]) | has(r, at[1], at[2]);
}

static bool look_plainly(const struct blm_part *part, const struct blm_hash *hash)
{
	struct spot at = spot_of(part, hash);

	return find(part, at.place, at.print)
		|| find(part, other(part, at.place, at.print), at.print);
}

/*
 * Moves are few, so two looks are nearly always enough. Each further look needs another move while
 * the reader looks.
 */
static bool contains_hash(const struct blm_part *part, const struct blm_hash *hash)
{
	const struct reader r = reader_of(part);
	uint64_t before, moves = load_acquire(own_word(part, MOVES));
	bool found;

	do {
		before = moves;
		found = r.bits > 64 ? look_plainly(part, hash) : look(&r, hash);
		moves = load_acquire(own_word(part, MOVES));
	} while (!found && moves != before);
	return found;
}

static bool contains(const struct blm_part *part, const struct blm_hashed *key)
{
	return contains_hash(part, &key->hash);
}

/* The first and the last byte of a place that begins at this bit. */
static void fetch_bits(const struct blm_part *part, uint64_t at, unsigned bits)
{
	blm_fetch(part->bytes + at / 8);
	blm_fetch(part->bytes + (at + bits) / 8);
}

static void fetch(const struct blm_part *part, uint64_t place)
{
	struct cuckoo_places places = cuckoo_places_of(&part->shape);
	unsigned each = part->shape.cell_bits;

	fetch_bits(part, place * places.step * each, places.slots * each);
}

static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	struct spot at = spot_of(part, &key->hash);

	fetch(part, at.place);
	fetch(part, other(part, at.place, at.print));
}

static void locate(const void *how, const struct blm_hash *hash, uint64_t ret[BLM_PLACES])
{
	const struct reader *r = how;

	find_places(r, hash, ret);
	fetch_bits(r->part, ret[0] * r->step, r->bits);
	fetch_bits(r->part, ret[1] * r->step, r->bits);
}

static bool ask(const void *how, const struct blm_hash *hash, const uint64_t places[BLM_PLACES])
{
	return has(how, places[0], places[2]) | has(how, places[1], places[2]);
}

/*
 * MOVES is compared once for all keys: if it changed, the keys that were not found are asked again,
 * one by one.
 */
static void contains_many(const struct blm_part *part, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	const struct reader r = reader_of(part);
	uint64_t moves = load_acquire(own_word(part, MOVES));

	if (r.bits > 64) {
		blm_part_contains_each(part, batch, ret_bits);
		return;
	}
	blm_ask_all(batch, ret_bits, (struct blm_question){ locate, ask, &r });
	if (load_acquire(own_word(part, MOVES)) == moves)
		return;
	for (size_t i = 0; i < batch->count; i++)
		if (!(ret_bits[i / 64] >> i % 64 & 1))
			ret_bits[i / 64] |= (uint64_t)contains_hash(part, &batch->hashes[i])
				<< i % 64;
}

static const uint64_t *probe(const struct blm_part *part, const struct blm_hashed *key, unsigned i,
			     uint64_t *ret_mask)
{
	struct spot at = spot_of(part, &key->hash);
	uint64_t place = i == 0 ? at.place : other(part, at.place, at.print);
	unsigned step = cuckoo_places_of(&part->shape).step * part->shape.cell_bits;

	*ret_mask = 0;
	return i < 2 ? (const uint64_t *)part->bytes + place * step / 64 : NULL;
}

/* The share of cells that are taken. Fingerprints are anywhere, so a part is a sample of all. */
static double load_now(const struct blm_part *part)
{
	uint64_t some = part->shape.cells < 8 << 20 ? part->shape.cells : 8 << 20, taken = 0;

	for (uint64_t cell = 0; cell < some; cell++)
		taken += get_cell(part, cell) != 0;
	return (double)taken / (double)some;
}

static bool describe(const struct blm_part *part, unsigned i, struct blm_fact *ret)
{
	double load = i < 2 ? load_now(part) : 0;

	if (i == 0) {
		*ret = (struct blm_fact){ .name = "load", .value = load };
		snprintf(ret->text, sizeof(ret->text),
			 "%.4g of the cells are taken; full, it refuses keys", load);
	} else if (i == 1) {
		*ret = (struct blm_fact){ .name = "rate now" };
		ret->value = blm_cuckoo_rate_at(&part->shape, (uint64_t)llround(load
						* (double)part->shape.cells));
		snprintf(ret->text, sizeof(ret->text), "%.4g, by the load", ret->value);
	}
	return i < 2;
}

/* ---- Changes ---- */

/* The first cell of a place. */
static uint64_t first_cell(const struct blm_part *part, uint64_t place)
{
	return place * cuckoo_places_of(&part->shape).step;
}

/* The contents of a cell with this fingerprint in this place. */
static uint64_t held(const struct blm_part *part, uint64_t place, uint64_t cell, uint64_t print)
{
	return cell_of(cuckoo_places_of(&part->shape), print,
		       (unsigned)(cell - first_cell(part, place)));
}

/* The place and the fingerprint that a cell's contents stand for. */
static struct spot spot_in(const struct blm_part *part, uint64_t cell)
{
	struct cuckoo_places places = cuckoo_places_of(&part->shape);
	uint64_t value = get_cell(part, cell);

	return (struct spot){ (cell - (value & places.tag)) / places.step, value >> places.tag };
}

static bool place_in(struct blm_part *part, uint64_t at, uint64_t print)
{
	unsigned empty = find(part, at, 0), i = (unsigned)__builtin_ctz(empty | 1U << SLOTS_MOST);

	if (empty)
		place(part, first_cell(part, at) + i,
		      cell_of(cuckoo_places_of(&part->shape), print, i));
	return empty;
}

/*
 * The places that can be reached, by the number of moves: the two places of the key, then the
 * places that the fingerprints of step 0 can move to, then those of step 1, and so on. A
 * fingerprint can move to its other place, and in a window to the other cell of its own place. All
 * are prefetched as soon as they are known, so that they arrive while others are examined.
 *
 * A step is a place, below 2^47. From bit 48 on it has the number of the step before it, and the
 * cell there. The first two have no step before them.
 */
enum { FROM = 48, CELL_BITS = 2 };
static_assert(SEARCHED << CELL_BITS <= 1 << (64 - FROM), "a step has 16 bits for where it is from");

static uint64_t place_at(const uint64_t *steps, unsigned s)
{
	return steps[s] & ((UINT64_C(1) << FROM) - 1);
}

static unsigned before(const uint64_t *steps, unsigned s)
{
	return (unsigned)(steps[s] >> FROM >> CELL_BITS);
}

/* The cell whose fingerprint can go to step s. */
static uint64_t cell_before(const struct blm_part *part, const uint64_t *steps, unsigned s)
{
	return first_cell(part, place_at(steps, before(steps, s)))
		+ (steps[s] >> FROM & ((1 << CELL_BITS) - 1));
}

/*
 * The place that step s came from is known to be full. In a damaged file a cell can name a place
 * that does not exist.
 */
static unsigned add_step(const struct blm_part *part, uint64_t *steps, unsigned count, unsigned s,
			 unsigned i, uint64_t to)
{
	if (count == SEARCHED || to >= cuckoo_place_count(&part->shape)
	    || to == place_at(steps, s)
	    || (s >= 2 && to == place_at(steps, before(steps, s))))
		return count;
	steps[count] = to | (uint64_t)(s << CELL_BITS | i) << FROM;
	fetch(part, to);
	return count + 1;
}

/*
 * The first of the shortest paths to an empty cell: no cell is on it twice. Returns its last step;
 * -EXFULL: none.
 */
static int search(const struct blm_part *part, const struct spot *at, uint64_t *steps,
		  uint64_t *ret_empty)
{
	unsigned count = 2, slots = cuckoo_places_of(&part->shape).slots;

	steps[0] = at->place;
	steps[1] = other(part, at->place, at->print);
	for (unsigned s = 0; s < count; s++) {
		uint64_t first = first_cell(part, place_at(steps, s));
		unsigned empty = find(part, place_at(steps, s), 0);

		if (empty) {
			*ret_empty = first + (unsigned)__builtin_ctz(empty);
			return (int)s;
		}
		for (unsigned i = 0; i < slots; i++) {
			struct spot in = spot_in(part, first + i);

			count = add_step(part, steps, count, s, i,
					 other(part, in.place, in.print));
			count = add_step(part, steps, count, s, i, in.place);
		}
	}
	return -EXFULL;
}

static int make_space_for(struct blm_part *part, const struct spot *at)
{
	uint64_t steps[SEARCHED], empty = 0;
	int found = search(part, at, steps, &empty);
	unsigned s = (unsigned)found;

	if (found < 0)
		return blm_fail(found, "the filter is full");
	for (; s >= 2; s = before(steps, s)) {
		uint64_t from = cell_before(part, steps, s);

		move_as(part, from, empty, held(part, place_at(steps, s), empty,
						spot_in(part, from).print));
		empty = from;
	}
	place(part, empty, held(part, place_at(steps, s), empty, at->print));
	return 1;
}

/* Is this place full of the fingerprint, in this place or in the other one? */
static bool is_full_of(const struct blm_part *part, uint64_t place, uint64_t other,
		       uint64_t print)
{
	uint64_t first = first_cell(part, place);
	unsigned same = 0, slots = cuckoo_places_of(&part->shape).slots;

	for (unsigned i = 0; i < slots; i++) {
		struct spot in = spot_in(part, first + i);

		same += in.print == print && (in.place == place || in.place == other);
	}
	return same == slots;
}

static int add_hash(struct blm_part *part, const struct blm_hash *hash)
{
	struct spot at = spot_of(part, hash);
	uint64_t second = other(part, at.place, at.print);

	if (place_in(part, at.place, at.print) || place_in(part, second, at.print))
		return 1;
	/*
	 * a fingerprint moves only between its two places that both are full of it, so no path
	 * leads to an empty cell
	 */
	if (is_full_of(part, at.place, second, at.print)
	    && is_full_of(part, second, at.place, at.print))
		return blm_fail(-EMLINK, "the two places of a key are full of it");
	return make_space_for(part, &at);
}

static int add(struct blm_part *part, const struct blm_hashed *key)
{
	return add_hash(part, &key->hash);
}

static int claim(struct blm_part *part, const struct blm_hashed *key)
{
	return contains_hash(part, &key->hash) ? 0 : add_hash(part, &key->hash);
}

static bool clear_in(struct blm_part *part, uint64_t at, uint64_t print)
{
	unsigned found = find(part, at, print);

	if (found)
		place(part, first_cell(part, at) + (unsigned)__builtin_ctz(found), 0);
	return found;
}

static int remove_key(struct blm_part *part, const struct blm_hashed *key)
{
	struct spot at = spot_of(part, &key->hash);

	return clear_in(part, at.place, at.print)
		|| clear_in(part, other(part, at.place, at.print), at.print);
}

const struct blm_kind blm_kind_cuckoo = {
	.id = 8,
	.name = "cuckoo",
	.protocol = BLM_SINGLE_WRITER_CHECKPOINT,
	.summary = "fingerprints that can be removed; of many keys fewer bits than classic below a "
	"rate of 0.0033, and three times that on disk",
	.caveat = "removing a key that was never added can take out another: it seems to be there "
	"with the false-positive rate; a key is in it up to 4 times (8 times with layout=buckets), "
	"so add what may come more often by claim; a copy by `cp` while it is changed can lack "
	"keys that are moved: use blm_copy()",
	.options = options,
	.plan = blm_cuckoo_plan, .valid = blm_cuckoo_valid, .contains = contains,
	.rate_at = blm_cuckoo_rate_at,
	.add = add, .remove = remove_key, .claim = claim, .recover = recover,
	.prefetch = prefetch, .probe = probe, .padding_bits = padding_bits,
	.contains_many = contains_many, .describe = describe,
	.fills = true, .splits = true,
};
