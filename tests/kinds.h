/*
 * kinds.h - the kinds that a list of tests does not name
 *
 * A list names kinds where it has something special to say of them. The others come from the
 * registry, with numbers that every kind takes, so a new kind is under test without a change.
 */
#ifndef BLM_KINDS_H
#define BLM_KINDS_H

#include "bloomery.h"

#include <stdbool.h>

/*
 * The kinds that can do one of `can`, can do none of `never`, and are not in the list, if there is
 * one. Return: how many of them are in `ret`, which has room for `most`.
 */
static inline unsigned other_kinds(unsigned can, unsigned never, bool (*is_in_list)(const char *),
				   struct blm_kind_info *ret, unsigned most)
{
	struct blm_kind_info kind;
	unsigned count = 0;

	for (size_t i = 0; blm_kind_list(i, &kind) == 0 && count < most; i++)
		if (kind.can & can && !(kind.can & never)
		    && !(is_in_list && is_in_list(kind.name)))
			ret[count++] = kind;
	return count;
}

/* For this many keys. Kinds whose cells are the numbers themselves: for the numbers below that. */
static inline struct blm_params usual_params(const struct blm_kind_info *kind, uint64_t keys,
					     double rate)
{
	return kind->can & BLM_EXACT
		? BLM_PARAMS(.kind = kind->name, .hash = kind->hash, .cells = keys)
		: BLM_PARAMS(.kind = kind->name, .hash = kind->hash, .capacity = keys,
			     .rate = rate);
}

#endif
