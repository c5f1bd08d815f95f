/*
 * judge.c - what is removed, by the answers of the filter: units, and the documents they are of
 */
#include "judge.h"

bool judge_adds_all(void)
{
	return corpus.dolma || is_part_of_ngrams();
}

bool judge_share_is_reached(uint64_t seen, uint64_t asked)
{
	if (!asked || (!seen && !corpus.dolma))
		return false;
	return is_part_of_ngrams() || (double)seen / (double)asked >= corpus.threshold;
}

static void judge_single(struct batch_of_documents *b, struct document *d)
{
	struct single s = { 0 };

	for (size_t i = d->first; i < d->first + d->count; i++) {
		b->units[i].removed = b->units[i].seen;
		judge_unit(&s, &b->units[i], b->units[i].seen);
	}
	end_single(d, &s);
}

static void judge_ngrams(struct batch_of_documents *b, struct document *d)
{
	uint64_t seen = 0;
	bool rest = false, all;

	d->keyed = d->keys = d->gone = 0;
	for (size_t i = d->first; i < d->first + d->count; i++) {
		struct unit *unit = &b->units[i];

		unit->removed = judge_share_is_reached(unit->seen, unit->asked);
		seen += unit->seen;
		d->keyed += unit->asked > 0;
		d->keys += unit->asked;
		d->gone += unit->removed;
		rest |= !unit->removed && !unit->blank;
	}
	all = corpus.judged == JUDGE_BOTH && !is_part_of_ngrams()
		&& judge_share_is_reached(seen, d->keys);
	for (size_t i = d->first; all && i < d->first + d->count; i++)
		b->units[i].removed = b->units[i].asked;
	if (all)
		d->gone = d->keyed;
	d->removed = all || (d->gone && !rest);
}

void judge_document(struct batch_of_documents *b, struct document *d)
{
	if (corpus.by == BY_NGRAM)
		judge_ngrams(b, d);
	else
		judge_single(b, d);
}

/* At most one for each unit, one for each end of a text, and one that is being looked for. */
bool judge_edges_space(struct batch_of_documents *b)
{
	b->edge_count = 0;
	return more_space(&b->edges, &b->edge_capacity, b->unit_count + b->document_count + 1,
			  sizeof(*b->edges));
}

static void find_edges(struct batch_of_documents *b, struct document *d)
{
	struct cut c = begin_cut(b);

	for (size_t i = d->first; i < d->first + d->count; i++)
		cut_at(&c, &b->units[i], b->units[i].removed);
	end_cut(b, d, &c);
}

int judge(struct batch_of_documents *b)
{
	if (b->judged)
		return DONE;
	if (b->cuts && !judge_edges_space(b))
		return broken("out of memory");
	for (size_t i = 0; i < b->document_count; i++) {
		struct document *d = &b->documents[i];

		judge_document(b, d);
		if (b->cuts && d->gone && !d->removed)
			find_edges(b, d);
	}
	b->judged = true;
	return DONE;
}
