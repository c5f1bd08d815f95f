/*
 * cuckoo.c - fingerprints in buckets of four, each in one of two buckets that follow from its bits
 *
 * Fan, Andersen, Kaminsky and Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom", CoNEXT
 * 2014. The second bucket is the first one subtracted from a number that the fingerprint tells,
 *       modulo the buckets: its own inverse, as the paper's exclusive or, but
 * for any number of buckets (Lang, Neumann, Kemper and Boncz, "Performance-Optimal Filtering",
 * PVLDB 12(5), 2019).
 *
 * One writer at a time; readers take no lock (relocation.h). A full pair of buckets is made room in
 * by a path of moves, found beforehand and taken from its end.
 */
#include "kind/common/swar.h"
#include "kind/common/relocation.h"
#include "kind/common/prefetch.h"
#include "kind/common/sizing.h"

#include <math.h>
#include <stdio.h>

enum {
	SLOTS = 4,			/* in a bucket */
	ALL_SLOTS = (1 << SLOTS) - 1,	/* as find() tells them */
	BITS_LEAST = 4, BITS_MOST = 32,
	/* with fewer the other buckets are too few to fill a large table */
	BITS_PLANNED = 8,
	SEARCHED = 4096,		/* buckets, for an empty cell: then it is full */
};

/* ---- Sizes ---- */

static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	double load = fmin((double)keys / (double)s->cells, 1);

	return -expm1(2 * SLOTS * load * log1p(-1 / (ldexp(1, (int)s->cell_bits) - 1)));
}

/*
 * The first key finds no room at a load of 0.97, where fingerprints have 8 bits or more. For a
 * small table that is a matter of chance, so it gets some more cells.
 */
static uint64_t cells_for(uint64_t keys)
{
	return round_up((uint64_t)ceil((double)keys / 0.955 + 3 * sqrt((double)keys) + 48), SLOTS);
}

static uint64_t bytes_for(const struct blm_shape *s)
{
	return round_up((s->cells * s->cell_bits + 7) / 8, 64);
}

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	struct blm_shape s = { .cells = params->cells, .probes = 2, .capacity = params->capacity,
			       .rate = params->rate };
	uint64_t most = (uint64_t)fmax(1, floor(0.95 * (double)s.cells));

	if (params->probes && params->probes != 2)
		return blm_fail(-EINVAL, "a cuckoo filter looks into 2 buckets, not %u",
				params->probes);
	if (s.cells % SLOTS)
		return blm_fail(-EINVAL, "a cuckoo filter has a multiple of %d cells, not %llu",
				SLOTS, (unsigned long long)s.cells);
	if (s.cells && s.capacity > most)
		return blm_fail(-EINVAL, "a cuckoo filter of %llu cells holds %llu keys, not %llu",
				(unsigned long long)s.cells, (unsigned long long)most,
				(unsigned long long)s.capacity);
	if (!s.capacity)
		s.capacity = most;
	if (!s.cells)
		s.cells = cells_for(s.capacity);
	if (s.cells > BLM_CELLS_MAX)
		return blm_fail(-EFBIG, "a cuckoo filter has at most 2^47 cells, too few for %llu "
				"keys", (unsigned long long)s.capacity);
	if (!s.rate)
		s.rate = BLM_DEFAULT_RATE;
	for (s.cell_bits = params->cells ? BITS_LEAST : BITS_PLANNED; s.cell_bits < BITS_MOST
	     && rate_at(&s, s.capacity) > s.rate; s.cell_bits++)
		;
	if (rate_at(&s, s.capacity) > s.rate)
		return blm_fail(-EFBIG, "a cuckoo filter has fingerprints of up to %d bits, for a "
				"rate of %g; %g takes more; the kind classic has any rate",
				BITS_MOST, rate_at(&s, s.capacity), s.rate);
	s.bytes = bytes_for(&s);
	memcpy(s.args, ret->args, sizeof(s.args));
	*ret = s;
	return 0;
}

static bool valid(const struct blm_shape *s)
{
	return s->cells >= SLOTS && s->cells <= BLM_CELLS_MAX && s->cells % SLOTS == 0
		&& s->probes == 2
	    && s->cell_bits >= BITS_LEAST && s->cell_bits <= BITS_MOST && s->bytes == bytes_for(s);
}

static unsigned padding_bits(const struct blm_shape *s)
{
	return (unsigned)(s->bytes * 8 - s->cells * s->cell_bits);
}

/* ---- Cells ---- */

/* The four cells of a bucket: which of them, as bits, hold this fingerprint? 0 is an empty cell. */
static unsigned find(const struct blm_part *part, uint64_t bucket, uint64_t print)
{
	unsigned bits = part->shape.cell_bits, found = 0;
	uint64_t bit = bucket * SLOTS * bits, mask = mask_of(part);
	const uint64_t *word = (const uint64_t *)part->bytes + bit / 64;
	unsigned __int128 cells = load_acquire(word);
	unsigned shift = bit % 64, all = SLOTS * bits;

	if (shift + all > 64)
		cells |= (unsigned __int128)load_acquire(word + 1) << 64;
	cells >>= shift;
	if (shift + all > 128)
		cells |= (unsigned __int128)load_acquire(word + 2) << (128 - shift);
	for (unsigned i = 0; i < SLOTS; i++, cells >>= bits)
		found |= (unsigned)(((uint64_t)cells & mask) == print) << i;
	return found;
}

/* ---- Where a key is ---- */

struct spot {
	uint64_t bucket, print;
};

static uint64_t buckets_of(const struct blm_part *part)
{
	return part->shape.cells / SLOTS;
}

static struct spot spot_of(const struct blm_part *part, const struct blm_hash *hash)
{
	return (struct spot){ scale(hash->hi, buckets_of(part)),
			      1 + scale(hash->lo, mask_of(part)) };
}

/* The other bucket of a fingerprint that is in this one. */
static uint64_t other(const struct blm_part *part, uint64_t bucket, uint64_t print)
{
	uint64_t buckets = buckets_of(part), sum = scale(unfold(print, 0, 0), buckets);

	return sum >= bucket ? sum - bucket : sum + buckets - bucket;
}

/*
 * The values that are the same for all questions. With fingerprints of up to 16 bits a bucket is no
 * more than a word.
 */
struct reader {
	const struct blm_part *part;
	struct blm_lanes cells;		/* of a bucket */
	unsigned bits;			/* of them all */
};

static struct reader reader_of(const struct blm_part *part)
{
	unsigned bits = SLOTS * part->shape.cell_bits;

	return (struct reader){ part, bits <= 64 ? lanes_of(SLOTS, part->shape.cell_bits)
				: (struct blm_lanes){ 0 }, bits };
}

/* Not 0: yes. */
static uint64_t has(const struct reader *r, uint64_t bucket, uint64_t print)
{
	uint64_t cells = lanes_load((const uint64_t *)r->part->bytes, bucket * r->bits, r->bits);

	return lanes_any_zero(cells ^ print * r->cells.low, r->cells);
}

static bool look(const struct reader *r, const struct blm_hash *hash)
{
	struct spot at = spot_of(r->part, hash);

	return has(r, at.bucket, at.print) | has(r, other(r->part, at.bucket, at.print), at.print);
}

static bool look_plainly(const struct blm_part *part, const struct blm_hash *hash)
{
	struct spot at = spot_of(part, hash);

	return find(part, at.bucket, at.print)
		|| find(part, other(part, at.bucket, at.print), at.print);
}

/*
 * Moves are few, so the second look is the last but for one who is held up again and again by as
 * many as make it one of the moves.
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

static void fetch(const struct blm_part *part, uint64_t bucket)
{
	const uint8_t *at = part->bytes + bucket * SLOTS * part->shape.cell_bits / 8;

	blm_fetch(at);
	blm_fetch(at + SLOTS * part->shape.cell_bits / 8);
}

static void prefetch(const struct blm_part *part, const struct blm_hashed *key)
{
	struct spot at = spot_of(part, &key->hash);

	fetch(part, at.bucket);
	fetch(part, other(part, at.bucket, at.print));
}

static void locate(const void *how, const struct blm_hash *hash, uint64_t ret[BLM_PLACES])
{
	const struct blm_part *part = ((const struct reader *)how)->part;
	struct spot at = spot_of(part, hash);

	ret[0] = at.bucket;
	ret[1] = other(part, at.bucket, at.print);
	ret[2] = at.print;
	fetch(part, ret[0]);
	fetch(part, ret[1]);
}

static bool ask(const void *how, const struct blm_hash *hash, const uint64_t places[BLM_PLACES])
{
	return has(how, places[0], places[2]) | has(how, places[1], places[2]);
}

/*
 * MOVES is looked at once for all: where it changed, those that were not found are asked again, one
 * by one.
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
	uint64_t bucket = i == 0 ? at.bucket : other(part, at.bucket, at.print);

	*ret_mask = 0;
	return i < 2 ? (const uint64_t *)part->bytes + bucket * SLOTS * part->shape.cell_bits / 64
		: NULL;
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
		*ret = (struct blm_fact){ .name = "rate now", .value = rate_at(&part->shape,
			(uint64_t)llround(load * (double)part->shape.cells)) };
		snprintf(ret->text, sizeof(ret->text), "%.4g, by the load", ret->value);
	}
	return i < 2;
}

/* ---- Changes ---- */

static bool place_in(struct blm_part *part, uint64_t bucket, uint64_t print)
{
	unsigned empty = find(part, bucket, 0);

	if (empty)
		place(part, SLOTS * bucket + (unsigned)__builtin_ctz(empty), print);
	return empty;
}

/*
 * Buckets that can be reached, each as many moves away as it takes: the first two, then the four
 * that the fingerprints of steps[0] can go to, then those of steps[1], and so on. All are asked for
 * as soon as they are known, so that they come in while others are looked at.
 */
/* whose fingerprint can go to steps[s]; of the first two there is none */
static uint64_t cell_before(const uint64_t *steps, unsigned s)
{
	return SLOTS * steps[(s - 2) / SLOTS] + (s - 2) % SLOTS;
}

/*
 * The first of the shortest paths to an empty cell: no bucket is on it twice. Returns its last
 * step; -EXFULL: none.
 */
static int search(const struct blm_part *part, const struct spot *at, uint64_t *steps,
		  uint64_t *ret_empty)
{
	unsigned count = 2;

	steps[0] = at->bucket;
	steps[1] = other(part, at->bucket, at->print);
	for (unsigned s = 0; s < count; s++) {
		unsigned empty = find(part, steps[s], 0);

		if (empty) {
			*ret_empty = SLOTS * steps[s] + (unsigned)__builtin_ctz(empty);
			return (int)s;
		}
		for (unsigned i = 0; i < SLOTS && count < SEARCHED; i++, count++) {
			steps[count] = other(part, steps[s],
					     get_cell(part, cell_before(steps, count)));
			fetch(part, steps[count]);
		}
	}
	return -EXFULL;
}

static int make_room_for(struct blm_part *part, const struct spot *at)
{
	uint64_t steps[SEARCHED], empty = 0;
	int s = search(part, at, steps, &empty);

	for (; s >= 2; s = (s - 2) / SLOTS) {
		uint64_t from = cell_before(steps, (unsigned)s);

		move(part, from, empty);
		empty = from;
	}
	if (s < 0)
		return blm_fail(s, "the filter is full");
	place(part, empty, at->print);
	return 1;
}

static int add_hash(struct blm_part *part, const struct blm_hash *hash)
{
	struct spot at = spot_of(part, hash);

	uint64_t second = other(part, at.bucket, at.print);

	if (place_in(part, at.bucket, at.print) || place_in(part, second, at.print))
		return 1;
	/*
	 * a fingerprint moves only between the two buckets that both are full of it, so no path
	 * leads to an empty cell
	 */
	if (find(part, at.bucket, at.print) == ALL_SLOTS
	    && find(part, second, at.print) == ALL_SLOTS)
		return blm_fail(-EMLINK, "the two buckets of a key are full of it");
	return make_room_for(part, &at);
}

static int add(struct blm_part *part, const struct blm_hashed *key)
{
	return add_hash(part, &key->hash);
}

static int claim(struct blm_part *part, const struct blm_hashed *key)
{
	return contains_hash(part, &key->hash) ? 0 : add_hash(part, &key->hash);
}

static bool clear_in(struct blm_part *part, uint64_t bucket, uint64_t print)
{
	unsigned found = find(part, bucket, print);

	if (found)
		place(part, SLOTS * bucket + (unsigned)__builtin_ctz(found), 0);
	return found;
}

static int remove_key(struct blm_part *part, const struct blm_hashed *key)
{
	struct spot at = spot_of(part, &key->hash);

	return clear_in(part, at.bucket, at.print)
		|| clear_in(part, other(part, at.bucket, at.print), at.print);
}

const struct blm_kind blm_kind_cuckoo = {
	.id = 8,
	.name = "cuckoo",
	.protocol = BLM_SINGLE_WRITER_CHECKPOINT,
	.summary = "fingerprints that can be removed; of many keys fewer bits than classic below a "
	"rate of 0.0008, and three times that on disk",
	.caveat = "removing a key that was never added can take out another: it seems to be there "
	"with the false-positive rate; a key is in it up to 8 times, so add what may come more "
	"often by claim; a copy by `cp` while it is changed can lack keys that are moved: use "
	"blm_copy()",
	.plan = plan, .valid = valid, .contains = contains, .rate_at = rate_at,
	.add = add, .remove = remove_key, .claim = claim, .recover = recover,
	.prefetch = prefetch, .probe = probe, .padding_bits = padding_bits,
	.contains_many = contains_many, .describe = describe,
	.fills = true, .splits = true,
};
