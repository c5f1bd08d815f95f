/* combine.h - union and intersect */
#ifndef BLOOMERY_COMBINE_H
#define BLOOMERY_COMBINE_H

#include "command.h"

extern const struct opt combine_options[];

/* Return: an exit code, with a message */
int combine(enum blm_op op, size_t count, char **names);

#endif
