/* params.h - the options that say what a new filter is to be */
#ifndef BLOOMERY_PARAMS_H
#define BLOOMERY_PARAMS_H

#include "place.h"

/* -n, -p, -m, -k, --kind, --hash: what plan reads as well */
extern const struct opt size_options[];
extern const struct opt make_options[];	/* the rest of what it is */
extern const struct opt file_options[];	/* what its file is to be */
extern const struct opt create_options[];	/* of create alone */
extern const struct opt mode_option[];	/* --mode alone, for filters made after another */
/* seeds as a block's hash or a key's bytes, for those hashes that take two */
extern const struct opt hash_key_options[];
extern struct blm_params params;

/* Everything that can be wrong with the options together. Return: DONE or USAGE, with a message. */
int params_check(void);

/* The same where a filter is there, whose size stands for what is not given. */
int params_finish(void);

/* The same as options of a filter that is there: did anybody give one? */
bool params_given(void);
/* takes --bits, --probes and --hash for another program's file, so they are no longer given */
void params_of_file(struct blm_exchange *ret);

/* As if --with NAME=VALUE had been given. Return: DONE or USAGE, with a message. */
int params_with(const char *name, uint64_t value);

/* As blm_create(), with these options. */
int make_filter(struct blm_filter **ret, const struct place *place);

/*
 * Open a filter for changes, or make it. A filter that is there needs no size. Where it is not as
 * the options say: same: refuse it; else warn. Return: an exit code, with a message.
 */
int open_or_make(struct blm_filter **ret, const char *name, bool same);

#endif
