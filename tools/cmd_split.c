/* cmd_split.c - bloomery split: a filter as the files of its parts */
#include "after.h"
#include "command.h"
#include "params.h"
#include "place.h"
#include "progress.h"
#include "values.h"

static uint64_t parts;
static const char *output;
static const struct opt own_options[] = {
	{ 0, "into", "N", "how many parts", set_number, &parts, 1, BLM_SPLIT_MAX },
	{ 'o', "output", "G", "the parts are G.part-I-of-N (default: F)", set_text, &output },
	{ 0 }
};

enum { SUFFIX = 32 };

/* Names that sort as the numbers do; to be freed together with the array. */
static char **make_names(const char *prefix)
{
	size_t bytes = strlen(prefix) + SUFFIX;
	char **names = calloc(parts, sizeof(*names)), *text = malloc(parts * bytes);
	int digits = snprintf(NULL, 0, "%llu", (unsigned long long)parts);

	if (!names || !text) {
		free(names);
		free(text);
		return NULL;
	}
	for (uint64_t i = 0; i < parts; i++) {
		names[i] = text + i * bytes;
		snprintf(names[i], bytes, "%s.part-%0*llu-of-%llu", prefix, digits,
			 (unsigned long long)i + 1, (unsigned long long)parts);
	}
	return names;
}

static int split(const struct blm_filter *f, const char *prefix)
{
	char **names = make_names(prefix);
	struct place place;
	int code, r;

	if (!names)
		return broken("out of memory for the names of %llu parts",
			      (unsigned long long)parts);
	code = find_place(&place, prefix, BLM_STORE_CREATE);
	if (code == DONE) {
		progress_of_calls();
		r = blm_split(f, (uint32_t)parts, place.store, (const char *const *)names,
			      params.mode);
		progress_end_of_call(r);
		code = r < 0 ? fail(r) : DONE;
	}
	free(names[0]);
	free(names);
	return code;
}

static int run(int count, char **operands)
{
	const char *prefix = output ? output : operands[0];
	struct blm_filter *f;
	int code;

	if (!parts)
		return misuse("split: give the number of parts, --into N");
	code = open_filter(&f, operands[0], false, source_flags(prefix));
	if (code != DONE)
		return code;
	code = split(f, prefix);
	blm_close(f);
	return code;
}

static const struct opt *const options[] = { own_options, mode_option, progress_option,
					     quiet_option, key_option, store_option, NULL };

const struct command cmd_split = {
	.name = "split",
	.group = ON_SETS,
	.summary = "make the N parts of F, each with one range of its data, for as many machines",
	.operands = "F --into N",
	.least = 1, .most = 1,
	.notes = "A part is a sparse file with about 1/N of F's data. If the kind has each key in "
	"one part (bloomery-kinds(7)),\n'add', 'claim' and 'test' of a part take the keys that "
	"belong to it, and refuse others. 'bloomery join PARTS -o F'\nmakes the filter again, "
	"byte for byte.",
	.example = "bloomery split ./seen --into 16",
	.options = options,
	.run = run,
};
