/* plan.h - what can be worked out on paper */
#ifndef BLOOMERY_PLAN_H
#define BLOOMERY_PLAN_H

#include "command.h"
#include "values.h"

/* What goes with the sizes of all kinds. */
struct plan_more {
	bool compare;		/* and what is no filter */
	bool plot;		/* and bars */
	const char *svg;	/* bars to this file; NULL: none */
};

/* Each prints, and returns an exit code. */
int plan_sizes(const struct blm_params *params, const struct plan_more *more);
int plan_rate(const struct blm_params *params, bool bound);
/* plan_ranks.c: what each of `ranks` processes of bloomery-mpi needs to build the filter. */
int plan_ranks(const struct blm_params *params, uint32_t ranks);
int plan_table(const struct range *mn, const struct range *k);

/*
 * Structures that are no filters, for these keys at this rate (plan_other.c): the i-th, from 0;
 * false past the last.
 */
struct plan_other {
	const char *name, *about;
	double bits_per_key, rate, bytes;
};

bool plan_other(size_t i, uint64_t keys, double rate, struct plan_other *ret);

/*
 * Bars (plan_plot.c): one more, which is the lower bound if it is the first; `filter`: or another
 * structure. Then all of them, after one at least, the smallest first.
 */
void plot_add(const char *name, double bits_per_key, bool filter);
void plot_print(void);
/* a new file. Return: an exit code, with a message */
int plot_svg(const char *path, const char *title);

#endif
