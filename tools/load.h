/* load.h - how a filter is kept in memory while a command works on it */
#ifndef BLOOMERY_TOOLS_LOAD_H
#define BLOOMERY_TOOLS_LOAD_H

#include "command.h"

extern const struct opt load_options[];

bool load_given(void);			/* one of these options */

/* As the options say. Return: an exit code, with a message; then the filter is closed. */
int load(struct blm_filter *f);

#endif
