/* plan.h - the three things that can be worked out on paper */
#ifndef BLOOMERY_PLAN_H
#define BLOOMERY_PLAN_H

#include "command.h"
#include "values.h"

/* Each prints, and returns an exit code. */
int plan_sizes(const struct blm_params *params);
int plan_rate(const struct blm_params *params, bool bound);
int plan_table(const struct range *mn, const struct range *k);

#endif
