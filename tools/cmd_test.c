/* cmd_test.c - bloomery test: which keys a filter may contain */
#include "answers.h"
#include "choose.h"
#include "foreign.h"
#include "load.h"
#include "place.h"
#include "progress.h"
#include "stream.h"
#include "values.h"

static struct choice choice;

static int set_prefix(const struct opt *opt, const char *text)
{
	choice.prefixes_end = '/';
	return DONE;
}

static const struct opt own_options[] = {
	{ 'v', "invert", NULL, "the lines that it does not contain", set_flag, &choice.invert },
	{ 'c', "count", NULL, "print only how many lines there are", set_flag, &choice.count_only },
	{ 's', "silent", NULL, "print nothing, stop at the first line found", set_flag,
	  &choice.silent },
	{ 0, "range", NULL, "each line is a range: A..B, or A and B in two columns; is any key "
	  "from A to B in it?", set_flag, &choice.ranges },
	{ 0, "prefix", NULL, "is any key below this path in it? For keys that were added with "
	  "--prefixes /", set_prefix, NULL },
	{ 0, "prefixes", "C", "the same for another delimiter", set_byte, &choice.prefixes_end },
	{ 0, "within", "SPAN", "only lines whose keys were seen within this time, like 24h; for "
	  "recent filters", set_span, &choice.within },
	{ 0 }
};

static bool answers_ranges(const struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;

	return blm_info(f, &info) == 0 && info.can & BLM_CAN_RANGE;
}

static int run(int count, char **operands)
{
	int code;

	if (choice.ranges && choice.prefixes_end)
		return misuse("--range and --prefix exclude each other: a line is a range or a "
			      "path");
	if (choice.ranges && choice.within)
		return misuse("--range and --within exclude each other: a range filter does not "
			      "keep when its keys were seen");
	if (choice.ranges && keys_are_hex())
		return misuse("--range and --hex exclude each other: a range is written as the "
			      "filter's keys are, A..B");
	if (choice.ranges)
		keys_are_ranges();
	code = choose_from(&choice, operands[0]);
	if (code == DONE && choice.prefixes_end && answers_ranges(choice.f))
		code = misuse("--prefix: %s is a range filter, which has no prefixes of its "
			      "keys; ask for the range of those keys, test --range", operands[0]);
	if (code != DONE)
		return code;
	quiet |= choice.silent;
	code = choose_lines(&choice, operands + 1, (size_t)count - 1);
	if (choice.count_only && !choice.silent && code == DONE)
		print_count(choice.chosen);
	return end_choice(&choice, code);
}

static const struct opt *const options[] = { own_options, json_option, key_options,
					     partition_option, jobs_option,
					     progress_option, quiet_option,
					     load_options, foreign_option, maker_options,
					     key_option, store_option, NULL };

const struct command cmd_test = {
	.name = "test",
	.group = ON_KEYS,
	.summary = "print the lines whose keys a filter may contain; exit 1 if there are none",
	.operands = "F [FILE...]",
	.least = 1, .most = -1,
	.notes = "A line that is not printed is certainly not in the filter. A printed line is "
	"wrong at the rate of the filter. Known\nfalse positives are left out; see 'bloomery help "
	"allow'.",
	.example = "bloomery test -v seen < urls.txt > not-seen.txt",
	.options = options,
	.run = run,
};
