/* cmd_convert.c - bloomery convert: a filter of another kind, without its keys */
#include "after.h"
#include "foreign.h"
#include "params.h"
#include "progress.h"
#include "values.h"

static const char *kind;
static const struct opt own_options[] = {
	{ 0, "kind", "KIND", "the kind of B (default: the kind that A can become)",
	  set_text, &kind },
	{ 0 }
};

static int make(struct blm_filter **ret, struct blm_store *store, const char *name,
		const struct blm_filter *from, unsigned mode)
{
	return blm_convert(ret, store, name, from, kind, mode);
}

static int run(int count, char **operands)
{
	return after(operands[0], operands[1], params.mode, make);
}

static const struct opt *const options[] = { own_options, mode_option, foreign_option,
					     maker_options, progress_option, quiet_option,
					     key_option, store_option, NULL };

const struct command cmd_convert = {
	.name = "convert",
	.group = ON_FILTERS,
	.summary = "make B a filter of another kind with the keys that are in A now",
	.operands = "A B",
	.least = 2, .most = 2,
	.notes = "Without the keys this is possible for few kinds: counting and approximator "
	"become classic. B has the same m, k, hash and seeds, and is the filter that the keys "
	"would have made. 'bloomery kinds -l' says which kind becomes which. 'bloomery rebuild' "
	"makes any kind from the keys.",
	.example = "bloomery convert sessions snapshot --kind classic",
	.options = options,
	.run = run,
};
