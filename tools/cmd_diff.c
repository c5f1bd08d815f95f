/*
 * cmd_diff.c - bloomery diff: the keys that a peer surely lacks, by a filter of all that the peer
 * has; or what both lack, by a table
 *
 * J. Byers, J. Considine, M. Mitzenmacher, S. Rost, "Informed Content Delivery Across Adaptive
 * Overlay Networks", IEEE/ACM ToN 12(5), 2004.
 */
#include "answers.h"
#include "choose.h"
#include "differ.h"
#include "foreign.h"
#include "keys.h"
#include "load.h"
#include "place.h"
#include "progress.h"
#include "stream.h"
#include "values.h"

static struct choice choice = { .invert = true };
static bool stats, tables, estimate;
static const struct opt own_options[] = {
	{ 0, "tables", NULL, "list the keys that differ between two iblt, F and the only FILE",
	  set_flag,
	  &tables },
	{ 0, "estimate", NULL, "estimate how many keys differ between two filters, F and the "
	  "only FILE, and print the iblt that lists them", set_flag, &estimate },
	{ 'c', "count", NULL, "print only how many lines there are", set_flag, &choice.count_only },
	{ 0, "stats", NULL, "say at the end how many lines there were, and about how many more the "
	  "peer lacks", set_flag, &stats },
	{ 0 }
};

/* The peer's filter hides some of the keys that the peer lacks: a share as large as its rate. */
static void tell_stats(const struct blm_info *info, const char *name)
{
	struct blm_estimate bits;
	double rate = blm_estimate(choice.f, false, &bits) == 0 ? bits.rate.value
		: info->rate_at_keys;

	if (rate < 1)
		say("%llu keys; %llu are not in %s; about %.0f others are not in it either, but it "
		    "says yes to them",
		    (unsigned long long)choice.read,
		    (unsigned long long)choice.chosen, name,
		    (double)choice.chosen * rate / (1 - rate));
	else
		say("%llu keys; %s is full and says yes to all of them",
		    (unsigned long long)choice.read, name);
}

static int run_pair(int count, char **operands)
{
	const struct sides sides = { choice.count_only, stats };
	struct blm_filter *f[2];
	int code;

	if (given_keys.count)
		return misuse("diff: --tables and --estimate read no keys: leave --key %s out",
			      given_keys.keys[0].text);
	if (count != 2 || (tables && estimate))
		return misuse("diff: give two filters, and either --tables or --estimate");
	code = open_all(f, operands, 2, false, BLM_STORE_READ);
	if (code != DONE)
		return code;
	code = tables ? print_sides(f[0], f[1], &sides) : print_difference(f[0], f[1]);
	close_all(f, 2);
	return code;
}

static int run(int count, char **operands)
{
	struct blm_info info = BLM_INFO;
	int code, r;

	if (tables || estimate)
		return run_pair(count, operands);
	code = choose_from(&choice, operands[0]);
	if (code != DONE)
		return code;
	r = blm_info(choice.f, &info);
	if (r == 0 && info.can & BLM_CAN_LIST) {
		code = print_sides_with_keys(choice.f, operands + 1, (size_t)count - 1,
					     &(struct sides){ choice.count_only, stats });
		blm_close(choice.f);
		return code;
	}
	if (r == 0 && info.can & BLM_FORGETS)
		code = broken("diff: %s is of the kind %s, which says no to some of its own keys; "
			      "'test -v' prints what it does not know", operands[0], info.kind);
	if (r < 0)
		code = fail(r);
	if (code != DONE) {
		blm_close(choice.f);
		return code;
	}
	code = choose_lines(&choice, operands + 1, (size_t)count - 1);
	if (choice.count_only && code == DONE)
		print_count(choice.chosen);
	if (stats && code == DONE)
		tell_stats(&info, operands[0]);
	return end_choice(&choice, code);
}

static const struct opt *const options[] = { own_options, json_option, key_options, jobs_option,
					     progress_option, load_options, quiet_option,
					     foreign_option,
					     maker_options, key_option, store_option, NULL };

const struct command cmd_diff = {
	.name = "diff",
	.group = ON_KEYS,
	.summary = "print your keys that a peer surely lacks, by a filter of the peer's keys; or "
	"all keys that differ, by an iblt; exit 1 if there are none",
	.operands = "F [FILE...]",
	.least = 1, .most = -1,
	.notes = "The peer sends F, a filter of all its keys, and gets the printed keys. A key "
	"that the peer has is never printed. Some\nkeys that the peer lacks are not printed "
	"either, at the rate of F; a second round, by a filter with another seed,\nfinds most of "
	"them. Kinds that forget are refused. If F is an iblt, the keys of both sides are "
	"printed, and none is\nmissing: \"< \" marks a key that only the peer has, \"> \" one "
	"that only FILE has. Each key must be in FILE once. An iblt\nis as large as the "
	"difference. If too many keys differ for its size, nothing is printed, the exit status is "
	"2, and the\nmessage says which size is needed.",
	.example = "bloomery diff ./peer.blm my-keys.txt > to-send.txt",
	.options = options,
	.run = run,
};
