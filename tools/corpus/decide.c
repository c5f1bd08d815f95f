/*
 * decide.c - which units were seen before, and which are kept: asks and adds the keys of a batch
 *
 * The keys of a unit enter the filter only after all of them were asked, and only if the unit is
 * kept. So a unit is not compared with itself, and what was removed adds nothing.
 */
#include "judge.h"
#include "ledger.h"
#include "rate.h"

#include <errno.h>

enum { SLOTS = 4096 };

#define NOT_JUDGED UINT32_MAX	/* in the place of the keys that were seen */

static bool bit(const uint64_t *bits, size_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

/* ---- Hashes of a batch that are to be added ---- */

struct table {
	uint32_t *slots;	/* 0: free; else the number of a hash, from 1 on */
	size_t mask, capacity;
};

static bool clear_table(struct table *t, size_t hashes)
{
	size_t want = SLOTS;

	while (want < 2 * hashes)
		want *= 2;
	if (!more_space(&t->slots, &t->capacity, want, sizeof(*t->slots)))
		return false;
	memset(t->slots, 0, want * sizeof(*t->slots));
	t->mask = want - 1;
	return true;
}

/* Where an equal hash is, or the free slot for it. */
static size_t find_slot(const struct table *t, const struct blm_hash *hashes,
			const struct blm_hash *hash)
{
	for (size_t at = hash->lo & t->mask;; at = (at + 1) & t->mask) {
		const struct blm_hash *other = &hashes[t->slots[at] - (t->slots[at] > 0)];

		if (!t->slots[at] || (other->lo == hash->lo && other->hi == hash->hi))
			return at;
	}
}

/* ---- One batch of a file's units, in their order ---- */

struct decision {
	struct batch_of_documents *batch;
	struct ledger *ledger;
	struct journal *journal;
	uint64_t next;		/* unit of the input */
	size_t from;		/* the first key that the filter is asked for */
	uint64_t *bits;		/* its answers from there on */
	uint32_t *seen;		/* answers for the journal */
	size_t seen_count;
	struct blm_hash *kept;	/* that the filter does not have, each once */
	size_t kept_count;
	struct table table;	/* of these */
	struct rate_curve curve;
	size_t bit_capacity, seen_capacity, kept_capacity;
};

void decision_free(struct decision *w)
{
	if (!w)
		return;
	free(w->bits);
	free(w->seen);
	free(w->kept);
	free(w->table.slots);
	free(w);
}

static bool was_judged(const struct decision *w)
{
	return w->journal && w->next < w->journal->units;
}

static bool filter_has(const struct decision *w, size_t key)
{
	return key >= w->from && bit(w->bits, key - w->from);
}

/* The table of a batch with a journal is in no near cache. Keys are looked up in their order. */
static void prefetch_slot(const struct decision *w, size_t key)
{
	enum { AHEAD = 16 };

	if (key + AHEAD < w->batch->key_count)
		__builtin_prefetch(&w->table.slots[w->batch->hashes[key + AHEAD].lo
						   & w->table.mask], 1);
}

/* Return: is it in the filter, or kept already? */
static bool keep(struct decision *w, size_t key)
{
	const struct blm_hash *hash = &w->batch->hashes[key];
	size_t slot;

	prefetch_slot(w, key);
	if (filter_has(w, key))
		return true;
	slot = find_slot(&w->table, w->kept, hash);
	if (w->table.slots[slot])
		return true;
	w->kept[w->kept_count++] = *hash;
	w->table.slots[slot] = (uint32_t)w->kept_count;
	return false;
}

static void keep_unit(struct decision *w, const struct unit *unit)
{
	for (size_t i = unit->first; i < unit->first + unit->added; i++)
		keep(w, i);
}

static uint32_t count_seen(struct decision *w, const struct unit *unit)
{
	uint32_t seen = 0;

	for (size_t i = unit->first; i < unit->first + unit->asked; i++)
		seen += filter_has(w, i)
			|| w->table.slots[find_slot(&w->table, w->kept, &w->batch->hashes[i])];
	return seen;
}

/*
 * dolma adds each n-gram as it goes, so it finds one that the paragraph repeats. A unit of one key
 * is kept if the key is new.
 */
static void answer(struct decision *w, struct unit *unit)
{
	if (was_judged(w)) {
		unit->seen = journal_seen(w->journal, w->next++);
		return;
	}
	unit->seen = 0;
	if (corpus.dolma || corpus.by != BY_NGRAM)
		for (size_t i = unit->first; i < unit->first + unit->asked; i++)
			unit->seen += keep(w, i);
	else
		unit->seen = count_seen(w, unit);
	w->seen[w->seen_count++] = unit->seen;
	w->next++;
}

/* Both: all paragraphs are asked, then the document is judged, then what is kept is added. */
static void judge_together(struct decision *w, struct document *d)
{
	struct unit *units = w->batch->units + d->first;
	bool judged = true;

	for (size_t i = 0; i < d->count; i++)
		if (units[i].asked) {
			judged &= was_judged(w);
			answer(w, &units[i]);
		}
	if (judged)
		return;
	judge_document(w->batch, d);
	for (size_t i = 0; i < d->count && !d->removed; i++)
		if (!units[i].removed)
			keep_unit(w, &units[i]);
}

static void judge_in_order(struct decision *w)
{
	struct batch_of_documents *b = w->batch;

	if (corpus.by == BY_NGRAM && corpus.judged == JUDGE_BOTH && !is_part_of_ngrams()) {
		for (size_t i = 0; i < b->document_count; i++)
			judge_together(w, &b->documents[i]);
		return;
	}
	for (size_t i = 0; i < b->unit_count; i++) {
		struct unit *unit = &b->units[i];
		bool judged = was_judged(w);

		if (!unit->asked)
			continue;
		answer(w, unit);
		if (corpus.by == BY_NGRAM && !judged
		    && (judge_adds_all() || !judge_share_is_reached(unit->seen, unit->asked)))
			keep_unit(w, unit);
	}
}

/* Where a page of the filter is missing, the answer is yes for all its keys. main() says it. */
static int can_be_read(void)
{
	return blm_truncated() ? FAILED : DONE;
}

static int make_space(struct decision *w, size_t bits)
{
	struct batch_of_documents *b = w->batch;

	w->seen_count = w->kept_count = 0;
	if (!more_space(&w->bits, &w->bit_capacity, bits / 64 + 1, sizeof(*w->bits))
	    || !more_space(&w->seen, &w->seen_capacity, b->unit_count + 1, sizeof(*w->seen))
	    || !more_space(&w->kept, &w->kept_capacity, b->key_count + 1, sizeof(*w->kept))
	    || !clear_table(&w->table, b->key_count))
		return broken("out of memory");
	return DONE;
}

/* The keys of all units that the journal has no answer for are asked at once. */
static int ask(struct decision *w)
{
	struct batch_of_documents *b = w->batch;
	uint64_t next = w->next, judged = w->journal ? w->journal->units : 0;
	size_t first = 0, count;
	int code;
	int64_t r;

	for (; first < b->unit_count && (!b->units[first].asked || next < judged); first++)
		next += b->units[first].asked > 0;
	w->from = first < b->unit_count ? b->units[first].first : b->key_count;
	count = b->key_count - w->from;
	code = make_space(w, count);
	if (code != DONE)
		return code;
	r = blm_contains_hashes(w->ledger->f, w->ledger->hash_id, b->hashes + w->from, count,
				w->bits);
	return r < 0 ? fail(r) : can_be_read();
}

/* ... of a document. Return: are all its units in the journal, whose answers they have then? */
static bool take_answers(struct decision *w, struct document *d)
{
	bool judged = true;

	for (size_t i = d->first; i < d->first + d->count; i++) {
		struct unit *unit = &w->batch->units[i];

		if (!unit->asked)
			continue;
		judged = was_judged(w);
		unit->seen = judged ? journal_seen(w->journal, w->next) : NOT_JUDGED;
		w->next++;
	}
	return judged;
}

/*
 * The keys of units that the journal knows as kept: a power cut can take them from the filter. It
 * can also take the last answers of a document. Its other units keep their answers, so their keys
 * are added here, unless all units of a document are judged together.
 */
static int restore_answers(struct decision *w)
{
	struct batch_of_documents *b = w->batch;
	bool together = corpus.by == BY_NGRAM && corpus.judged == JUDGE_BOTH
		&& !is_part_of_ngrams();
	int code = make_space(w, 0);

	w->from = b->key_count;
	for (size_t i = 0; code == DONE && i < b->document_count; i++) {
		struct document *d = &b->documents[i];

		if (!take_answers(w, d) && together)
			continue;
		judge_document(b, d);
		for (size_t n = d->first; n < d->first + d->count; n++)
			if (b->units[n].seen != NOT_JUDGED
			    && (judge_adds_all() || !b->units[n].removed))
				keep_unit(w, &b->units[n]);
	}
	if (code == DONE)
		code = ledger_begin(w->ledger, NULL);
	if (code == DONE)
		code = ledger_end(w->ledger, ledger_add(w->ledger, w->kept, w->kept_count));
	return code;
}

/* Are all of them in the journal? Then the filter need not be asked, nor its lock be taken. */
static bool all_judged(const struct decision *w)
{
	uint64_t asked = 0;

	for (size_t i = 0; i < w->batch->unit_count && w->journal; i++)
		asked += w->batch->units[i].asked > 0;
	return w->journal && w->next + asked <= w->journal->units;
}

/*
 * Without a journal and with one key for each unit, a key is asked and added at once. A unit that
 * repeats one of the same batch finds its key, so no table is needed.
 */
static bool claims_at_once(const struct decision *w)
{
	return !w->journal && corpus.by != BY_NGRAM && w->ledger->can_claim;
}

/* Some paragraphs are blank, which no processor predicts: no branch depends on it. */
static void judge_claims(struct decision *w, struct document *d, size_t *key)
{
	struct unit *units = w->batch->units + d->first;
	struct single s = { 0 };
	size_t at = *key;

	for (size_t i = 0; i < d->count; i++) {
		bool seen = units[i].asked & !bit(w->bits, at);

		at += units[i].asked;
		units[i].seen = units[i].removed = seen;
		judge_unit(&s, &units[i], seen);
	}
	end_single(d, &s);
	*key = at;
}

/*
 * The same if the batch cuts: judges a document and finds its edges in one pass. No later step
 * reads the answers of single units then, so they are not stored.
 */
static void cut_by_claims(struct decision *w, struct document *d, size_t *key)
{
	const struct unit *units = w->batch->units + d->first;
	struct single s = { 0 };
	struct cut c = begin_cut(w->batch);
	size_t at = *key;

	for (size_t i = 0; i < d->count; i++) {
		bool seen = units[i].asked & !bit(w->bits, at);

		at += units[i].asked;
		judge_unit(&s, &units[i], seen);
		cut_at(&c, &units[i], seen);
	}
	end_single(d, &s);
	end_cut(w->batch, d, &c);
	*key = at;
}

static int claim_units(struct decision *w)
{
	struct batch_of_documents *b = w->batch;
	size_t key = 0;
	int64_t r;

	if (!more_space(&w->bits, &w->bit_capacity, b->key_count / 64 + 1, sizeof(*w->bits))
	    || (b->cuts && !judge_edges_space(b)))
		return broken("out of memory");
	r = b->key_count ? blm_claim_hashes(w->ledger->f, w->ledger->hash_id, b->hashes,
					    b->key_count, w->bits) : 0;
	if (r < 0)
		return fail(r);
	for (size_t i = 0; i < b->document_count; i++)
		(b->cuts ? cut_by_claims : judge_claims)(w, &b->documents[i], &key);
	b->judged = true;
	w->next += key;
	return can_be_read();
}

static int ask_and_add(struct decision *w)
{
	int code = ask(w);

	if (code != DONE)
		return code;
	judge_in_order(w);
	return ledger_commit(w->ledger, w->journal, w->seen, w->seen_count, w->kept,
			     w->kept_count);
}

/* ---- The whole of it ---- */

/* Both numbers of keys are read under the lock, so no other run of `corpus` adds keys between. */
static int decide(struct decision *w)
{
	struct rate_point before, after;
	int code;

	if (all_judged(w)) {
		w->batch->rate = rate_now(&w->curve, w->ledger->f).rate;
		judge_in_order(w);
		return DONE;
	}
	code = ledger_begin(w->ledger, w->journal);
	if (code != DONE)
		return code;
	before = rate_now(&w->curve, w->ledger->f);
	w->batch->rate = before.rate;
	if (claims_at_once(w)) {
		code = claim_units(w);
		after = rate_now(&w->curve, w->ledger->f);
		w->batch->rate = rate_between(&before, &after);
	} else {
		code = ask_and_add(w);
	}
	return ledger_end(w->ledger, code);
}

int judge_and_claim(struct batch_of_documents *batch, struct ledger *ledger,
		    struct journal *journal, uint64_t *next)
{
	struct decision *w = batch->decision;
	int code;

	if (!w)
		w = batch->decision = calloc(1, sizeof(*w));
	if (!w)
		return broken("out of memory");
	w->batch = batch;
	w->ledger = ledger;
	w->journal = journal;
	w->next = *next;
	code = journal && journal->other_boot ? restore_answers(w) : decide(w);
	*next = w->next;
	return code;
}

int judge_only(struct batch_of_documents *batch, const struct blm_filter *f, uint64_t hash_id,
	       uint64_t *ret_found)
{
	enum { MANY = 4096 };
	uint64_t bits[MANY / 64];

	for (size_t i = 0; i < batch->unit_count; i++) {
		struct unit *unit = &batch->units[i];
		uint32_t seen = 0;

		for (size_t at = 0; at < unit->asked; at += MANY) {
			size_t many = unit->asked - at < MANY ? unit->asked - at : MANY;
			const struct blm_hash *from = batch->hashes + unit->first + at;
			int64_t r = blm_contains_hashes(f, hash_id, from, many, bits);

			if (r < 0)
				return fail(r);
			seen += (uint32_t)r;
		}
		*ret_found += seen > 0;
		/* of several filters the one that has most of it decides */
		if (seen > unit->seen)
			unit->seen = seen;
	}
	return can_be_read();
}
