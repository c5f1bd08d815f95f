/* replace.h - a new filter where another one is */
#ifndef BLOOMERY_REPLACE_H
#define BLOOMERY_REPLACE_H

#include "place.h"

/* Make the filter of the given options in the place of what is there, if anything. Return: an exit code, with a message. */
int make_over(const struct place *place);

#endif
