/* describe.h - what a filter is, for people and as JSON */
#ifndef BLOOMERY_DESCRIBE_H
#define BLOOMERY_DESCRIBE_H

#include "command.h"

struct description {
	const struct blm_info *info;
	const struct blm_estimate *estimate;	/* NULL: not asked for, or the kind has none */
	/* for the facts of its kind; NULL: not asked for */
	const struct blm_filter *filter;
};

void describe(const struct description *d);
void print_value(const char *label, const struct blm_value *value, const char *note);
void print_abilities(unsigned can);
/*
 * Can such a filter become full? A capacity of 0 is not stated. A filter that grows has no limit,
 * and the count of a filter that forgets by itself has keys that it has forgotten.
 */
bool has_limit(unsigned can, double capacity);
/* the i-th command that such a filter takes; NULL past the last */
const char *ability(unsigned can, size_t i);

void describe_json(const struct description *d);
void json_value(const char *name, const struct blm_value *value);	/* NAME, and NAME_error */
void json_labels(const char *labels);	/* the field `labels`, of lines */
void json_abilities(unsigned can);	/* the field `can`, and `forgets` */

#endif
