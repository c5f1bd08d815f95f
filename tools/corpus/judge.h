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

/* A batch that cuts: space for the edges of all its documents. Return: false: out of memory */
bool judge_edges_space(struct batch_of_documents *b);

/*
 * The edges of a document, from its units in their order. Where they are follows no pattern, so
 * there is no branch. There is always space at `next`.
 */
struct cut {
	uint32_t *next;
	bool removed;		/* the unit before */
};

static inline struct cut begin_cut(const struct batch_of_documents *b)
{
	return (struct cut){ .next = b->edges + b->edge_count, .removed = true };
}

static inline void cut_at(struct cut *c, const struct unit *unit, bool removed)
{
	*c->next = unit->begin;
	c->next += removed ^ c->removed;
	c->removed = removed;
}

static inline void end_cut(struct batch_of_documents *b, struct document *d, struct cut *c)
{
	*c->next = (uint32_t)d->text_length;
	c->next += !c->removed;
	d->edge = b->edge_count;
	b->edge_count = (size_t)(c->next - b->edges);
	d->edges = b->edge_count - d->edge;
}

/* By document and by paragraph a unit has one key, or none. */
struct single {
	uint64_t keyed, gone;
	bool rest;
};

static inline void judge_unit(struct single *s, const struct unit *unit, bool seen)
{
	s->keyed += unit->asked;
	s->gone += seen;
	s->rest |= !seen & !unit->blank;
}

static inline void end_single(struct document *d, const struct single *s)
{
	d->keyed = d->keys = s->keyed;
	d->gone = s->gone;
	d->removed = s->gone && !s->rest;
}

#endif
