/* exists.h - options for a new filter, compared with a filter that exists */
#ifndef BLOOMERY_EXISTS_H
#define BLOOMERY_EXISTS_H

#include "command.h"

/*
 * Which of the options in params.h say otherwise than the filter is? After params_check().
 * same: to differ is an error, else one warning.
 * Return: DONE, or FAILED with a message.
 */
int compare_with_params(const struct blm_filter *f, const char *name, bool same);

#endif
