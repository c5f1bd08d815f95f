/*
 * plan.h - the plan of a new filter: which kind, hash and scheme its parameters choose, and of what
 * size it is
 */
#ifndef BLM_PLAN_H
#define BLM_PLAN_H

#include "hash/scheme.h"
#include "kind/kind_registry.h"

struct blm_format;

struct blm_choice {
	const struct blm_kind *kind;
	const struct blm_family *family;
	const struct blm_scheme *scheme;
	/* of another program, for which it is planned; NULL: none */
	const struct blm_format *format;
	struct blm_params params;	/* as that program would have them */
	uint64_t seeds[BLM_SEEDS_MAX];	/* of the format; params.seeds then points here */
	uint64_t args[BLM_KIND_ARGS];	/* of its options, as they were given */
};

/*
 * The caller's parameters, as in sized.h. Return: 0; -EINVAL or -E2BIG, with a message, if there
 * are none or their size is not set.
 */
int blm_params_take(struct blm_params *ret, const struct blm_params *given);

/* Does a hash of 64 bits keep this rate (0: the usual one) with so many keys? */
bool blm_short_hash_keeps(double rate, uint64_t keys);

/*
 * The hash for a filter that is sized when its keys are hashed already: the one for 2^40 keys, or
 * as the parameters say; NULL if they do not say which kind.
 */
const char *blm_hash_for_unknown(const struct blm_params *params);

/*
 * Fails with a message if the parameters name something that does not exist, or that does not fit.
 */
int blm_choice_make(struct blm_choice *ret, const struct blm_params *params);

/* The sizes for its parameters. Fails with a message if the kind or the hash has no such size. */
int blm_choice_size(struct blm_shape *ret, const struct blm_choice *choice);

#endif
