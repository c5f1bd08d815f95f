/*
 * window.c - the keys of the recent past: slots in a ring. The oldest slot is dropped when the next
 * begins
 *
 * Several filters that take turns: F. Chang, W. Feng and K. Li, "Approximate Caches for Packet
 * Classification", INFOCOM 2004, with more than two. A window of S slots, by time or by count, has
 * S + 2 parts. New keys go into the newest slot; a question asks it and the S before it, so that a
 * key is found for at least the whole window after its add began, and is gone one slot later. The
 * last part is the spare, which will be the newest next.
 *
 * The file's words (own_word()):
 *
 *   NEWEST  when the newest slot began, in nanoseconds since 1970, its low 6 bits replaced by the
 *           number of its part. It only grows, so it never has one value twice. 0: nothing was
 *           added yet. Stored (release) only under the locks of extend.c; loaded (acquire) by
 *           every call.
 *   COUNTED the count of keys when that slot began; stored before NEWEST. One that is newer than
 *           NEWEST, since its writer died between the two, or greater than the count, since a crash
 *           took some of that, makes one slot take more keys than it is for. One that is older
 *           makes the next slot begin too soon, and keys go before their time. So it is there
 *           twice: in a word of its own, and in the line of NEWEST, which is on the disk with
 *           NEWEST or not at all. The greater of the two counts.
 *
 * Turning to the next slot: clear the spare; flush it to the disk; store NEWEST; and clear what
 * became the spare, so that next time it is clear and on the disk already.
 *
 *   adder     loads NEWEST, sets its bits in that part, and after a full fence loads NEWEST again.
 *             The same: the key was in the newest slot, whole, at that moment. Another: it adds the
 *             key again. A part is cleared only after S + 1 more turns, so bits of a key whose add
 *             returned are never cleared before their time, however long the adder was held up; and
 *             bits of a key that is added again may stay in a later slot, or in the spare, which
 *             makes no answer wrong but of that key, longer.
 *   reader    loads NEWEST once a call. A slot it asks is cleared only after enough turns that its
 *             keys are past the window.
 *   claimer   holds off turning (keys.c), so that one of all claimers of a key in a window gets
 *             "new". It does not renew a key that is in an earlier slot, where adding does.
 *   killed    while it clears: no reader looks at the spare, and the next turn clears it again.
 *   power cut The disk has any NEWEST since the last sync. One that is there means that its slot
 *             was empty on the disk before, so it holds keys of its own time only, and no cleared
 *             slot comes back. If NEWEST there is older than it was, the slots that it says are in
 *             the window hold at least the keys of the last sync that still were; those past it are
 *             not asked, and cleared before they are.
 *   copy      takes NEWEST before the slots, as the header comes before them: the same as a power
 *             cut.
 *
 * By time, a reader counts the slots that should have begun already, so that keys are gone in time
 * also where no key is added. A clock that steps back makes the newest slot last longer, and
 * nothing is lost; one that steps ahead makes keys old.
 */
#include "base/phase.h"
#include "kind/common/bits.h"
#include "kind/common/clock.h"
#include "kind/common/composite.h"
#include "kind/common/sizing.h"

#include <stdio.h>

enum { SLOTS, SPAN };			/* arguments */
enum { NEWEST, COUNTED };		/* words */
enum { ROLE_SLOT = 1, PART_BITS = 63 };

#define LEAST_SPAN UINT64_C(1000000)	/* of a slot, in nanoseconds */

/* ---- Sizes ---- */

static uint64_t slots(const struct blm_shape *s)
{
	return s->args[SLOTS];
}

static unsigned parts(const struct blm_shape *root)
{
	return (unsigned)slots(root) + 2;
}

static uint64_t keys_a_slot(const struct blm_shape *s, uint64_t keys)
{
	return keys / slots(s) + (keys % slots(s) != 0);
}

static bool compose(const struct blm_shape *root, unsigned i, struct blm_component *ret)
{
	return i < parts(root) && blm_component_plan(ret, "blocked", ROLE_SLOT,
						     &(struct blm_params){
		.cells = root->cells, .probes = root->probes,
		.capacity = keys_a_slot(root, root->capacity), .rate = root->rate }) == 0;
}

static int plan(struct blm_shape *ret, const struct blm_params *params)
{
	double asked = (double)slots(ret) + 1, rate = params->rate ? params->rate
		: BLM_DEFAULT_RATE;
	struct blm_params slot = *params;
	struct blm_shape s = *ret;
	struct blm_component part;
	int r;

	if (s.args[SPAN] && s.args[SPAN] / slots(&s) < LEAST_SPAN)
		return blm_fail(-EINVAL, "a span of %g seconds in %llu slots: a slot lasts at "
				"least a millisecond", (double)s.args[SPAN] / 1e9,
				(unsigned long long)slots(&s));
	slot.capacity = params->capacity ? keys_a_slot(&s, params->capacity) : 0;
	slot.rate = params->cells && !params->rate ? 0 : blm_rate_of_each(rate, asked);
	r = blm_component_plan(&part, "blocked", 0, &slot);
	if (r < 0)
		return r;
	s.cells = part.shape.cells;
	s.probes = part.shape.probes;
	s.cell_bits = part.shape.cell_bits;
	s.capacity = params->capacity ? params->capacity : part.shape.capacity * slots(&s);
	s.rate = slot.rate ? rate : blm_rate_of_any(part.shape.rate, asked);
	s.bytes = parts(&s) * part.shape.bytes;
	*ret = s;
	return 0;
}

static bool valid(const struct blm_shape *s)
{
	return s->cells >= 512 && s->cells <= BLM_CELLS_MAX && s->cells % 512 == 0 && s->probes >= 1
		&& s->probes <= BLM_PROBES_MAX
	    && s->cell_bits == 1 && slots(s) >= 1 && slots(s) <= 62
	    && (!s->args[SPAN] || s->args[SPAN] / slots(s) >= LEAST_SPAN);
}

static double rate_at(const struct blm_shape *s, uint64_t keys)
{
	struct blm_component part;

	if (!compose(s, 0, &part))
		return 1;
	return blm_rate_of_any(part.kind->rate_at(&part.shape, keys_a_slot(s, keys)),
			       (double)slots(s) + 1);
}

/* ---- The ring ---- */

static uint64_t newest_word(const struct blm_part *root)
{
	return root->own ? load_acquire(own_word(root, NEWEST)) : 0;
}

/* The count of keys when the newest slot began. */
static uint64_t counted_word(const struct blm_part *root)
{
	uint64_t alone, beside;

	if (!root->own)
		return 0;
	alone = load_acquire(own_word(root, COUNTED));
	beside = load_acquire(own_word(root, NEWEST) + 1);
	return alone > beside ? alone : beside;
}

static unsigned part_of(const struct blm_part *root, uint64_t word)
{
	return (unsigned)(word & PART_BITS) % root->subs;
}

static uint64_t began(uint64_t word)
{
	return word & ~(uint64_t)PART_BITS;
}

/* How many slots should have begun since; 0 where they are counted in keys. */
static uint64_t overdue(const struct blm_part *root, uint64_t word)
{
	uint64_t span = root->shape.args[SPAN] / slots(&root->shape), now = span
		&& word ? blm_clock() : 0;

	return now > began(word) ? (now - began(word)) / span : 0;
}

/* How many slots are asked: the newest, and those before it. */
static unsigned in_window(const struct blm_part *root, uint64_t word)
{
	uint64_t late = overdue(root, word), most = slots(&root->shape) + 1;

	return late < most ? (unsigned)(most - late) : 0;
}

/* The part of the n-th slot before the newest. */
static struct blm_part *before(const struct blm_part *root, uint64_t word, unsigned n)
{
	return &root->sub[(part_of(root, word) + root->subs - n) % root->subs];
}

/* ---- Asking and adding ---- */

static bool in_earlier(const struct blm_part *root, uint64_t word, unsigned from,
		       const struct blm_hashed *key)
{
	unsigned end = in_window(root, word);

	for (unsigned n = from; n < end; n++) {
		const struct blm_part *slot = before(root, word, n);

		if (slot->kind->contains(slot, key))
			return true;
	}
	return false;
}

static bool contains(const struct blm_part *root, const struct blm_hashed *key)
{
	return in_earlier(root, newest_word(root), 0, key);
}

/*
 * Every slot is asked for all keys: a block of a key that was found already is looked at sooner
 * than the others are sorted out.
 */
static void contains_from(const struct blm_part *root, uint64_t word, unsigned from,
			  const struct blm_batch *batch, uint64_t *ret_bits)
{
	unsigned end = in_window(root, word);
	size_t words = (batch->count + 63) / 64;
	uint64_t answers[BLM_BATCH_WORDS];

	memset(ret_bits, 0, words * sizeof(*ret_bits));
	for (unsigned n = from; n < end; n++) {
		blm_part_contains(before(root, word, n), batch, answers);
		for (size_t i = 0; i < words; i++)
			ret_bits[i] |= answers[i];
	}
}

static void contains_many(const struct blm_part *root, const struct blm_batch *batch,
			  uint64_t *ret_bits)
{
	contains_from(root, newest_word(root), 0, batch, ret_bits);
}

/* Was the slot the newest all the while? */
static bool is_newest_still(const struct blm_part *root, uint64_t word)
{
	full_fence();
	return newest_word(root) == word;
}

/* -EAGAIN: the next slot is already due, so the key would not be found for the whole window. */
static int add(struct blm_part *root, const struct blm_hashed *key)
{
	struct blm_part *slot;
	bool changed = false;
	uint64_t word;
	int r;

	do {
		word = newest_word(root);
		slot = before(root, word, 0);
		r = slot->kind->add(slot, key);
		changed |= r > 0;
	} while (r >= 0 && !is_newest_still(root, word));
	return r < 0 ? r : overdue(root, word) ? -EAGAIN : changed;
}

static int add_many(struct blm_part *root, const struct blm_batch *batch, uint64_t *ret_bits)
{
	uint64_t answers[BLM_BATCH_WORDS] = { 0 }, word;
	int r;

	memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
	do {
		word = newest_word(root);
		r = blm_part_add(before(root, word, 0), batch, answers);
		for (size_t i = 0; r == 0 && i < (batch->count + 63) / 64; i++)
			ret_bits[i] |= answers[i];
	} while (r == 0 && !is_newest_still(root, word));
	return r == 0 && overdue(root, word) ? -EAGAIN : r;
}

static int claim(struct blm_part *root, const struct blm_hashed *key)
{
	uint64_t word = newest_word(root);
	struct blm_part *slot = before(root, word, 0);

	return in_earlier(root, word, 1, key) ? 0 : slot->kind->claim(slot, key);
}

static int claim_many(struct blm_part *root, const struct blm_batch *batch, uint64_t *ret_bits)
{
	uint64_t answers[BLM_BATCH_WORDS], word = newest_word(root);
	struct blm_picked absent;
	int r;

	contains_from(root, word, 1, batch, ret_bits);
	blm_pick(&absent, batch, ret_bits, false);
	memset(ret_bits, 0, (batch->count + 63) / 64 * sizeof(*ret_bits));
	r = blm_part_claim(before(root, word, 0), &absent.batch, answers);
	if (r == 0)
		blm_put_back(&absent, answers, ret_bits);
	return r;
}

static void prefetch(const struct blm_part *root, const struct blm_hashed *key)
{
	const struct blm_part *slot = before(root, newest_word(root), 0);

	slot->kind->prefetch(slot, key);
}

/* ---- Turning ---- */

static uint64_t space(const struct blm_part *root, uint64_t keys)
{
	uint64_t word = newest_word(root), counted = counted_word(root);
	uint64_t most = keys_a_slot(&root->shape, root->shape.capacity), used = keys > counted
		? keys - counted : 0;

	if (!word || overdue(root, word))
		return 0;
	if (root->shape.args[SPAN])
		return UINT64_MAX;
	return used < most ? most - used : 0;
}

/* Lines that are clear are left alone: most are. */
static void clear(const struct blm_part *slot)
{
	uint64_t *words = (uint64_t *)slot->bytes;

	BLM_PHASE("clearing", slot->shape.bytes);
	for (uint64_t i = 0; i < slot->shape.bytes / 8; i += 8) {
		uint64_t any = 0;

		if (i % (1 << 17) == 0)
			blm_phase_at(8 * i);
		for (int j = 0; j < 8; j++)
			any |= load_relaxed(&words[i + (unsigned)j]);
		if (!any)
			continue;
		for (int j = 0; j < 8; j++)
			__atomic_store_n(&words[i + (unsigned)j], 0, __ATOMIC_RELAXED);
		mark(slot, &words[i]);
	}
	blm_phase_at(slot->shape.bytes);
}

/* The first slot of all is clear since the file was made. */
static unsigned begin_slot(struct blm_part *root)
{
	uint64_t word = newest_word(root);
	unsigned next = (part_of(root, word) + 1) % root->subs;

	if (!word)
		return 0;
	clear(&root->sub[next]);
	return next;
}

/*
 * Slots begin at even distances, so that none is shorter than it should be. If enough are overdue
 * that all will be empty, those that would be empty anyway are passed over. A slot that a caller
 * asked for before its time begins now.
 */
static void turn(struct blm_part *root, uint64_t keys)
{
	uint64_t word = newest_word(root), late = overdue(root, word),
		span = root->shape.args[SPAN] / slots(&root->shape);
	uint64_t at = blm_clock(), part = word ? (part_of(root, word) + 1) % root->subs : 0;

	if (late)
		at = began(word) + span * (late > root->subs ? late - root->subs + 1 : 1);
	if (at <= began(word))
		at = began(word) + 1;
	/* by a damaged word: it must not come round to 0, and all slots be too old */
	if (at > began(UINT64_MAX))
		at = began(UINT64_MAX);
	store_release(own_word(root, COUNTED), keys);
	store_release(own_word(root, NEWEST) + 1, keys);
	store_release(own_word(root, NEWEST), round_up(at, PART_BITS + 1) | part);
}

/* ---- What there is to know ---- */

static int counts(const struct blm_part *root, unsigned i)
{
	uint64_t word = newest_word(root);

	return (part_of(root, word) + root->subs - i) % root->subs < in_window(root, word);
}

/* The n-th slot before the newest. */
static void describe_slot(const struct blm_part *root, uint64_t word, unsigned n,
			  struct blm_fact *ret)
{
	static const char *const names[] = NUMBERED("slot");
	double keys, rate;

	keys = blm_keys_in(before(root, word, n), &rate);
	*ret = (struct blm_fact){ .name = names[n], .value = keys };
	snprintf(ret->text, sizeof(ret->text), "about %.0f keys%s", keys, n ? "" : ", the newest");
}

static bool describe(const struct blm_part *root, unsigned i, struct blm_fact *ret)
{
	uint64_t word = newest_word(root), now = blm_clock(),
		span = root->shape.args[SPAN] / slots(&root->shape);

	if (i > 0) {
		if (!word || i > in_window(root, word))
			return false;
		describe_slot(root, word, i - 1, ret);
		return true;
	}
	*ret = (struct blm_fact){ .name = "newest slot", .value = now > began(word)
				  && word ? (double)(now - began(word)) / 1e9 : 0 };
	if (!word)
		snprintf(ret->text, sizeof(ret->text), "none has begun");
	else if (span)
		snprintf(ret->text, sizeof(ret->text), "began %.0f s ago, and each lasts %g s",
			 ret->value, (double)span / 1e9);
	else
		snprintf(ret->text, sizeof(ret->text),
			 "began %.0f s ago, and each is for %llu keys", ret->value,
			 (unsigned long long)keys_a_slot(&root->shape, root->shape.capacity));
	return true;
}

static const struct blm_option options[] = {
	{ "slots", "how many slots the window is divided into: a key is gone at most one slot "
	  "after the window", BLM_OPTION_COUNT, 1, 62, 8 },
	{ "span", "how long the window is; 0: as long as it takes that as many keys come as its "
	  "capacity", BLM_OPTION_SPAN, 0, 3e9, 0 },
	{ 0 }
};

const struct blm_kind blm_kind_window = {
	.id = 13,
	.name = "window",
	.protocol = BLM_IDEMPOTENT_ADDS,
	.summary = "the keys of the last hours or days, or a number of the last keys: blocked "
	"filters that take turns",
	.caveat = "keys older than the window are forgotten, by the clock of the machine or by how "
	"many keys came since",
	.options = options,
	.plan = plan, .valid = valid, .contains = contains, .rate_at = rate_at,
	.add = add, .claim = claim,
	.prefetch = prefetch, .contains_many = contains_many, .add_many = add_many,
	.claim_many = claim_many,
	.compose = compose, .parts = parts, .counts = counts, .space = space,
	.begin_slot = begin_slot, .turn = turn, .describe = describe,
	.forgets = true,
};
