/*
 * cmd_filter.c - bloomery filter: the rows of a table whose keys a filter may contain, before a
 * join
 */
#include "choose.h"
#include "foreign.h"
#include "keys.h"
#include "load.h"
#include "place.h"
#include "progress.h"
#include "stream.h"
#include "values.h"

static struct choice choice = { .given = &no_keys };
static const char *in;
static bool stats;
static const struct opt own_options[] = {
	{ 0, "in", "F", "the filter", set_text, &in },
	{ 'v', "invert", NULL, "the rows whose keys it does not contain", set_flag,
	  &choice.invert },
	{ 0, "stats", NULL, "say at the end how many rows there were and how many passed", set_flag,
	  &stats },
	{ 0 }
};

static int run(int count, char **operands)
{
	int code;

	if (!in)
		return misuse("filter: give a filter, --in F; see 'bloomery help filter'");
	keys_in_first_column();
	code = choose_from(&choice, in);
	if (code != DONE)
		return code;
	code = choose_lines(&choice, operands, (size_t)count);
	if (stats && code == DONE)
		say("%llu rows, %llu passed (%.2f %%)", (unsigned long long)choice.read,
		    (unsigned long long)choice.chosen,
		    choice.read ? 100.0 * (double)choice.chosen / (double)choice.read : 0.0);
	return end_choice(&choice, code);
}

static const struct opt *const options[] = { own_options, json_option, row_options, jobs_option,
					     progress_option, load_options, quiet_option,
					     foreign_option, maker_options, key_option,
					     store_option, NULL };

const struct command cmd_filter = {
	.name = "filter",
	.group = ON_KEYS,
	.summary = "print the rows of a table whose keys a filter may contain; exit 1 if there are "
	"none",
	.operands = "[FILE...] --in F",
	.least = 0, .most = -1,
	.notes = "This is the first half of a join between two machines: only a filter of one "
	"table's keys is sent to the other machine, and only the rows that pass come back. No row "
	"whose key is in F is left out. Other rows pass at the filter's rate.",
	.example = "bloomery filter big.tsv --in ./small.blm --on 1 | ssh here bloomery join "
	"small.tsv - --on 1",
	.options = options,
	.run = run,
};
