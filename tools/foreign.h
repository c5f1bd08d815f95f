/* foreign.h - what a person knows of a file that another program made, or that is a text form */
#ifndef BLOOMERY_TOOLS_FOREIGN_H
#define BLOOMERY_TOOLS_FOREIGN_H

#include "command.h"

/*
 * These options set it; the rest is the commands' own. All commands that read such files take them
 * all.
 */
extern struct blm_exchange foreign;
extern const struct opt foreign_option[], maker_options[];

bool foreign_given(void);	/* was one of them? */

#endif
