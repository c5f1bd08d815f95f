/*
 * judge.c - which units were seen before, and which are kept
 *
 * The keys of a unit enter the filter only after all of them were asked, and only if the unit is
 * kept. So a unit is not compared with itself, and what was removed adds nothing.
 */
#include "corpus.h"
#include "ledger.h"

#include <errno.h>

enum { GROUP = 1024, SLOTS = 4 * GROUP };

static bool bit(const uint64_t *bits, size_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

/* ---- Answers to decisions ---- */

static bool is_share_reached(uint64_t seen, uint64_t asked)
{
	if (!asked || (!seen && !corpus.dolma))
		return false;
	return corpus.by == BY_NGRAM ? (double)seen / (double)asked >= corpus.threshold
		: seen == asked;
}

static void judge_document(struct batch_of_documents *b, struct document *d)
{
	uint64_t seen = 0, asked = 0;
	bool any = false, rest = false;

	for (size_t i = d->first; i < d->first + d->count; i++) {
		struct unit *unit = &b->units[i];

		unit->removed = is_share_reached(unit->seen, unit->asked);
		seen += unit->seen;
		asked += unit->asked;
		any |= unit->removed;
		rest |= !unit->removed && !unit->blank;
	}
	d->removed = any && !rest;
	if (corpus.by != BY_NGRAM || corpus.judged != JUDGE_BOTH || !is_share_reached(seen, asked))
		return;
	d->removed = true;
	for (size_t i = d->first; i < d->first + d->count; i++)
		b->units[i].removed = b->units[i].asked;
}

void judge(struct batch_of_documents *b)
{
	for (size_t i = 0; i < b->document_count; i++)
		judge_document(b, &b->documents[i]);
}

/* ---- Hashes that a group has itself ---- */

struct table {
	uint32_t *slots;	/* 1 and up: of which hash; 0: free */
	size_t mask, room;
};

static bool clear_table(struct table *t, size_t hashes)
{
	size_t want = SLOTS;

	while (want < 2 * hashes)
		want *= 2;
	if (!more_room(&t->slots, &t->room, want, sizeof(*t->slots)))
		return false;
	memset(t->slots, 0, want * sizeof(*t->slots));
	t->mask = want - 1;
	return true;
}

/* Is an equal hash among those before the i-th that were put there? Puts it there if not. */
static bool put_hash(struct table *t, const struct blm_hash *hashes, size_t i)
{
	for (size_t at = hashes[i].lo & t->mask;; at = (at + 1) & t->mask) {
		const struct blm_hash *other = &hashes[t->slots[at] - (t->slots[at] > 0)];

		if (!t->slots[at]) {
			t->slots[at] = (uint32_t)i + 1;
			return false;
		}
		if (other->lo == hashes[i].lo && other->hi == hashes[i].hi)
			return true;
	}
}

/* ---- One file's units, in their order ---- */

struct bench {
	struct batch_of_documents *batch;
	struct ledger *ledger;
	struct journal *journal;
	uint64_t next;		/* unit of the input */
	uint64_t *bits;		/* answers to one unit */
	size_t bit_room;
	struct blm_hash *kept;
	size_t kept_count, kept_room;
	struct table table;
};

static int ask(struct bench *w, const struct blm_hash *hashes, size_t count)
{
	int64_t r;

	if (!more_room(&w->bits, &w->bit_room, count / 64 + 1, sizeof(*w->bits)))
		return broken("out of memory");
	r = blm_contains_hashes(w->ledger->f, w->ledger->hash_id, hashes, count, w->bits);
	return r < 0 ? fail(r) : DONE;
}

static bool was_judged(const struct bench *w)
{
	return w->journal && w->next < w->journal->units;
}

/*
 * Units of one key, many at once: they are asked together, and what two of them share is found in
 * the table.
 */
static int judge_group(struct bench *w, struct unit *const *units, size_t count)
{
	struct blm_hash hashes[GROUP], kept[GROUP];
	uint32_t seen[GROUP];
	size_t many = 0;
	int code;

	if (!count)
		return DONE;
	for (size_t i = 0; i < count; i++)
		hashes[i] = w->batch->hashes[units[i]->first];
	code = ask(w, hashes, count);
	if (code == DONE && !clear_table(&w->table, count))
		code = broken("out of memory");
	for (size_t i = 0; code == DONE && i < count; i++) {
		seen[i] = bit(w->bits, i) || put_hash(&w->table, hashes, i);
		units[i]->seen = seen[i];
		if (!seen[i])
			kept[many++] = hashes[i];
	}
	return code == DONE ? ledger_commit(w->ledger, w->journal, seen, count, kept, many) : code;
}

static int judge_single_keys(struct bench *w)
{
	struct unit *group[GROUP];
	size_t count = 0;
	int code = DONE;

	for (size_t i = 0; code == DONE && i < w->batch->unit_count; i++) {
		struct unit *unit = &w->batch->units[i];

		if (!unit->asked)
			continue;
		if (was_judged(w))
			unit->seen = journal_seen(w->journal, w->next);
		else
			group[count++] = unit;
		w->next++;
		if (count == GROUP) {
			code = judge_group(w, group, count);
			count = 0;
		}
	}
	return code == DONE ? judge_group(w, group, count) : code;
}

/* dolma adds each n-gram as it goes, so it finds one that the paragraph repeats. */
static int count_seen(struct bench *w, struct unit *unit)
{
	const struct blm_hash *hashes = w->batch->hashes + unit->first;
	int code = ask(w, hashes, unit->asked);

	unit->seen = 0;
	if (code == DONE && corpus.dolma && !clear_table(&w->table, unit->asked))
		code = broken("out of memory");
	for (size_t i = 0; code == DONE && i < unit->asked; i++)
		unit->seen += bit(w->bits, i)
			|| (corpus.dolma && put_hash(&w->table, hashes, i));
	return code;
}

static int keep_hashes(struct bench *w, const struct unit *unit)
{
	size_t count = unit->added;

	if (!more_room(&w->kept, &w->kept_room, w->kept_count + count, sizeof(*w->kept)))
		return broken("out of memory");
	if (count)
		memcpy(w->kept + w->kept_count, w->batch->hashes + unit->first,
		       count * sizeof(*w->kept));
	w->kept_count += count;
	return DONE;
}

static int judge_unit(struct bench *w, struct unit *unit)
{
	int code;

	if (!unit->asked)
		return DONE;
	if (was_judged(w)) {
		unit->seen = journal_seen(w->journal, w->next++);
		return DONE;
	}
	code = count_seen(w, unit);
	w->kept_count = 0;
	if (code == DONE && (corpus.dolma || !is_share_reached(unit->seen, unit->asked)))
		code = keep_hashes(w, unit);
	if (code == DONE)
		code = ledger_commit(w->ledger, w->journal, &unit->seen, 1, w->kept, w->kept_count);
	w->next++;
	return code;
}

/* Both: all paragraphs are asked, then the document is judged, then what is kept is added. */
static int judge_together(struct bench *w, struct document *d)
{
	struct unit *units = w->batch->units + d->first;
	uint32_t *seen = calloc(d->count + 1, sizeof(*seen));
	size_t count = 0;
	int code = seen ? DONE : broken("out of memory");

	for (size_t i = 0; code == DONE && i < d->count; i++)
		if (units[i].asked && was_judged(w)) {
			units[i].seen = journal_seen(w->journal, w->next++);
		} else if (units[i].asked) {
			code = count_seen(w, &units[i]);
			seen[count++] = units[i].seen;
		}
	w->kept_count = 0;
	judge_document(w->batch, d);
	for (size_t i = 0; code == DONE && count && !d->removed && i < d->count; i++)
		if (!units[i].removed)
			code = keep_hashes(w, &units[i]);
	if (code == DONE && count)
		code = ledger_commit(w->ledger, w->journal, seen, count, w->kept, w->kept_count);
	w->next += count;
	free(seen);
	return code;
}

static int judge_in_order(struct bench *w)
{
	struct batch_of_documents *b = w->batch;
	int code = DONE;

	if (corpus.by != BY_NGRAM)
		return judge_single_keys(w);
	if (corpus.judged == JUDGE_BOTH)
		for (size_t i = 0; code == DONE && i < b->document_count; i++)
			code = judge_together(w, &b->documents[i]);
	else
		for (size_t i = 0; code == DONE && i < b->unit_count; i++)
			code = judge_unit(w, &b->units[i]);
	return code;
}

/* Are all of them in the journal? Then the filter need not be asked, nor its lock be taken. */
static bool all_judged(const struct bench *w)
{
	uint64_t asked = 0;

	for (size_t i = 0; i < w->batch->unit_count; i++)
		asked += w->batch->units[i].asked > 0;
	return w->journal && w->next + asked <= w->journal->units;
}

int judge_and_claim(struct batch_of_documents *batch, struct ledger *ledger,
		    struct journal *journal, uint64_t *next)
{
	struct bench w = { .batch = batch, .ledger = ledger, .journal = journal, .next = *next };
	bool judged = all_judged(&w);
	int code = judged ? DONE : ledger_begin(ledger, journal);

	if (code == DONE) {
		code = judge_in_order(&w);
		if (!judged)
			code = ledger_end(ledger, code);
	}
	*next = w.next;
	free(w.bits);
	free(w.kept);
	free(w.table.slots);
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
	return DONE;
}
