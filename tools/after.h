/* after.h - a filter made after another one: template, copy */
#ifndef BLOOMERY_AFTER_H
#define BLOOMERY_AFTER_H

#include "place.h"

/* Make `to` after `from`, by blm_template() or blm_copy(). Return: an exit code, with a message. */
int after(const char *from, const char *to, unsigned mode,
	  int (*make)(struct blm_filter **, struct blm_store *, const char *,
		      const struct blm_filter *, unsigned));

/* Which flags suit the opening of sources whose result goes there? */
unsigned source_flags(const char *to);

#endif
