/*
 * recent_change.c - a recent filter's keys are added, claimed, removed, moved, and copied to a
 * table twice as large
 */
#include "kind/recent_cells.h"
#include "base/phase.h"

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

/* The cell whose key can go to steps[s] (cuckoo.c describes the steps). */
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

/* Its age at the caller's time, in ticks before NOW. */
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

int blm_recent_add(struct blm_part *part, const struct blm_hashed *key)
{
	struct look l = blm_recent_advance(part, key->when);

	return add_at(&l, &key->hash, key->when);
}

int blm_recent_claim(struct blm_part *part, const struct blm_hashed *key)
{
	struct look l = blm_recent_advance(part, key->when);

	return claim_at(&l, &key->hash, key->when);
}

/* At one time, which the clock says once. */
static int change_many(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits,
		       int (*change)(const struct look *, const struct blm_hash *,
		       const struct blm_when *))
{
	/* the first batch of all is empty */
	const struct look l = batch->count ? blm_recent_advance(part, batch->when)
		: look_at(part, 0, 0);
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

int blm_recent_add_many(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits)
{
	return change_many(part, batch, ret_bits, add_at);
}

int blm_recent_claim_many(struct blm_part *part, const struct blm_batch *batch, uint64_t *ret_bits)
{
	return change_many(part, batch, ret_bits, claim_at);
}

int blm_recent_remove(struct blm_part *part, const struct blm_hashed *key)
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

int blm_recent_grow(struct blm_part *to, const struct blm_part *from)
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

		if (cell % 65536 == 0)
			blm_phase_at(from->shape.cell_bits * cell / 8);
		if (!is_live(&old, stamp))
			continue;
		print = print_back(&old, cell);
		print = (struct print){ print.bucket << 1 | print.remainder >> bits,
					print.remainder & ones(bits) };
		r = see(&new, &print, age_of(&old, stamp));
	}
	return r < 0 ? r : 0;
}
