/*
 * options.h - the options of a kind, other than its sizes, as text: "name=value,name=value"
 *
 * The value of the kind's i-th option becomes args[i] of its shape, see struct blm_option.
 */
#ifndef BLM_OPTIONS_H
#define BLM_OPTIONS_H

#include "kind/part.h"

/*
 * An option of a kind, other than its sizes. The value of the i-th option is args[i] of the shape,
 * so it is a part of the template.
 */
enum blm_option_form {
	BLM_OPTION_COUNT,		/* a whole number */
	/* a number with a fraction; its argument holds the bits of the double */
	BLM_OPTION_SHARE,
	/* a time; its argument is in nanoseconds, all texts are in seconds */
	BLM_OPTION_SPAN,
	/* one of `names`; its argument is the number of it, from 0 to `most` */
	BLM_OPTION_NAME,
};

struct blm_option {
	const char *name, *summary;
	enum blm_option_form form;
	double least, most, usual;
	const char *const *names;
	/* 0 is computed from the rate and the other options, again if these change */
	bool by_rate;
};

/* text NULL: all as usual. Fails with -EINVAL, naming the option and its range. */
int blm_options_parse(const struct blm_kind *kind, const char *text, uint64_t args[BLM_KIND_ARGS]);

/* The other direction: a text for these arguments. */
void blm_options_text(const struct blm_kind *kind, const uint64_t args[BLM_KIND_ARGS],
		      char ret[BLM_OPTIONS_MAX]);

/* Are these the arguments of a filter of this kind, untrusted? */
bool blm_options_valid(const struct blm_kind *kind, const uint64_t args[BLM_KIND_ARGS]);

/* An argument as that text has it; returns the buffer. */
const char *blm_option_value_text(const struct blm_option *option, uint64_t argument,
				  char buffer[32]);

/* An argument as a number; spans in seconds. */
double blm_option_value(const struct blm_option *option, uint64_t argument);

#endif
