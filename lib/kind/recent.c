/*
 * recent.c - when each key was last seen: fingerprints with a time stamp, each in one of two
 * buckets of four cells
 *
 * recent.h has the layout and the protocol. Here are the questions.
 */
#include "kind/recent_cells.h"

#include <math.h>
#include <stdio.h>

static const struct blm_option options[] = {
	[SPAN] = { "span", "how long a key is remembered after it was last seen", BLM_OPTION_SPAN,
		   0.001, 3e9, 90 * 86400 },
	[TICK] = { "tick", "how exact times are; 0: the span divided by as many as 8 bits can tell "
		   "apart", BLM_OPTION_SPAN, 0, 3e8, 0 },
	[SPARE] = { "spare", "how often it can double and keep its rate: a bit a cell each",
		    BLM_OPTION_COUNT, 0, 16, 0 },
	{ NULL }
};

/* ---- Questions ---- */

/*
 * The age of a key at the given time; UINT64_MAX: it is absent. If keys moved meanwhile, an age
 * above `enough` may be that of a cell that a killed writer left, while the newer one moved.
 */
static uint64_t age_in(struct look *l, const uint64_t bucket[HALVES], uint64_t remainder,
		       uint64_t now, uint64_t enough)
{
	const uint64_t *moves = own_word(l->part, MOVES);
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
 * Most keys are in neither bucket. If a key moved meanwhile, all keys that were not found are asked
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
	uint64_t moves = load_acquire(own_word(part, MOVES));

	asking.age = asked_age(&asking.look, batch->when);
	blm_ask_all(batch, ret_bits, (struct blm_question){ locate, ask, &asking });
	if (load_acquire(own_word(part, MOVES)) == moves)
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

/* ---- Facts ---- */

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
					  .value = blm_recent_rate_at(s, (uint64_t)llround(keys)) };
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
	.plan = blm_recent_plan, .valid = blm_recent_valid,
	.padding_bits = blm_recent_padding_bits, .contains = contains,
	.rate_at = blm_recent_rate_at,
	.add = blm_recent_add, .remove = blm_recent_remove, .claim = blm_recent_claim, .get = get,
	.grown = blm_recent_grown, .grow = blm_recent_grow, .describe = describe,
	.foretell = foretell,
	.prefetch = prefetch, .probe = probe, .contains_many = contains_many,
	.add_many = blm_recent_add_many, .claim_many = blm_recent_claim_many,
	.forgets = true, .fills = true, .ages = true,
};
