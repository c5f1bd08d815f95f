/*
 * operands.h - the filters that are combined: their views of one moment, in an order, and quiesced
 * or locked while their data are read
 */
#ifndef BLM_OPERANDS_H
#define BLM_OPERANDS_H

#include "handle/torn.h"

struct operand {
	const struct blm_filter *f;
	struct blm_view *view;
	bool into, held;			/* is it the filter to change? Is it held? */
	struct blm_quiesced quiesced;
};

struct combining {
	enum blm_op op;
	const struct blm_filter *const *given;
	const struct blm_filter **from;		/* those, in the order of their views */
	const struct blm_view **view;		/* of each */
	struct operand *held;			/* those again, in the order of their files */
	size_t count;
	const char *display;			/* of the result */
	double max_rate, *ret_rate;
	/* the result goes into the first, which is not sorted */
	bool first_stays;
	bool moved;				/* was one of them replaced before it was held? */
};

/* How many operands have that part: the first ones. */
static inline size_t operands_having(const struct combining *c, unsigned part)
{
	size_t count = c->count;

	while (c->view[count - 1]->parts <= part)
		count--;
	return count;
}

/* Checks the arguments, and takes memory for the filters that are given. */
int blm_operands_begin(struct combining *c);
/*
 * Resolve the filters: all views are current at one moment of this call. fixed: the first `fixed`
 * views are the caller's, which keeps their filters from being replaced. A result of these views is
 * the result of that moment.
 */
int blm_operands_look_up(struct combining *c, size_t fixed);

/*
 * Hold them, and look once more: a filter that was replaced while this call waited for its lock has
 * keys that the view lacks. -EAGAIN, with nothing held: blm_operands_look_up() again. 0: all views
 * are current at one moment at which all are held. fixed: as in blm_operands_look_up().
 */
int blm_operands_hold(const struct combining *c, bool into_first, size_t fixed);
/*
 * Is the result intact? It is torn if a power cut tore one of the operands, or if an operand
 * changed during the operation, which is possible if `into` is one of them.
 */
bool blm_operands_let_go(const struct combining *c);
void blm_operands_let_go_of_into(const struct combining *c);

#endif
