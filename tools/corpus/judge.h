/* judge.h - from the answers of the filter to what is removed (judge.c) */
#ifndef BLOOMERY_CORPUS_JUDGE_H
#define BLOOMERY_CORPUS_JUDGE_H

#include "corpus.h"

/* Do the keys of units that are removed enter the filter, too? */
bool judge_adds_all(void);
/* By n-grams. Each unit of a part that has a seen key has a span. */
bool judge_share_is_reached(uint64_t seen, uint64_t asked);
/* Sets what is removed of a document whose units have their answers. */
void judge_document(struct batch_of_documents *b, struct document *d);

/* By document and by paragraph a unit has one key, or none. */
struct single {
	uint64_t keyed, gone;
	bool rest;
};

static inline void judge_unit(struct single *s, struct unit *unit)
{
	unit->removed = unit->seen;
	s->keyed += unit->asked;
	s->gone += unit->seen;
	s->rest |= !unit->seen & !unit->blank;
}

static inline void end_single(struct document *d, const struct single *s)
{
	d->keyed = d->keys = s->keyed;
	d->gone = s->gone;
	d->removed = s->gone && !s->rest;
}

#endif
