/* cmd_allow.c - bloomery allow: the keys that a filter is known to take for its own by mistake */
#include "answers.h"
#include "command.h"
#include "place.h"
#include "progress.h"
#include "stream.h"
#include "values.h"

static bool count_only;
static const struct opt own_options[] = {
	{ 'c', "count", NULL, "print how many keys were put on the list, taken off, or are on it",
	  set_flag,
	  &count_only },
	{ 0 }
};

struct job {
	struct blm_filter *f;
	int64_t (*change)(struct blm_filter *f, const struct blm_key *keys, size_t count);
	int code;
	uint64_t keys;
};

static int change(struct batch *batch, void *context)
{
	struct job *job = context;
	int64_t r = job->change(job->f, batch->keys, batch->count);

	if (r < 0)
		return fail(r);
	job->keys += (uint64_t)r;
	return DONE;
}

static int print_key(void *context, const struct blm_key *key)
{
	struct job *job = context;
	const char end = line_end();

	job->keys++;
	if (json && !count_only) {
		answer_begin(stdout, key, NULL);
		answer_end(stdout);
		return 0;
	}
	if (!count_only)
		job->code = print_bytes(key->bytes, key->len);
	if (!count_only && job->code == DONE)
		job->code = print_bytes(&end, 1);
	return job->code == DONE ? 0 : -1;
}

static int list(struct job *job)
{
	int64_t r = blm_allowlist_list(job->f, print_key, job);

	if (job->code != DONE)
		return job->code;
	return r < 0 ? fail(r) : DONE;
}

static int run(int count, char **operands)
{
	struct job job = { .code = DONE };
	bool lists = !strcmp(operands[0], "list");
	int code;

	if (!strcmp(operands[0], "add"))
		job.change = blm_allowlist_add;
	else if (!strcmp(operands[0], "remove"))
		job.change = blm_allowlist_remove;
	else if (!lists)
		return misuse("allow: '%s' is not add, remove or list; see 'bloomery help allow'",
			      operands[0]);
	if (lists && given_keys.count)
		return misuse("allow: list reads no keys: leave --key %s out",
			      given_keys.keys[0].text);
	if (lists && count > 2)
		return misuse("allow: list reads no keys: '%s' is one argument too many",
			      operands[2]);
	code = open_filter(&job.f, operands[1], !lists, lists ? BLM_STORE_READ : 0);
	if (code != DONE)
		return code;
	if (lists)
		code = list(&job);
	else
		code = each_batch(operands + 2, (size_t)count - 2,
				  &(struct work){ .in_turn = change, .context = &job });
	blm_close(job.f);
	if (count_only && code == DONE)
		print_count(job.keys);
	return code;
}

static const struct opt *const options[] = { own_options, json_option, key_options, jobs_option,
					     progress_option, quiet_option, key_option,
					     store_option, NULL };

const struct command cmd_allow = {
	.name = "allow",
	.group = ON_KEYS,
	.summary = "keep a list of known false positives of a filter, which 'test' then leaves "
	"out",
	.operands = "add|remove|list NAME [FILE...]",
	.least = 2, .most = -1,
	.notes = "The list is exact, and is stored in the catalog of the store. Warning: the "
	"filter cannot tell whether a key was added to it. An added key that is listed is "
	"hidden. A key that is added or claimed later is taken off the list, so the list never "
	"hides it. A union empties the list. 'remove' does not remove a listed key. A filter "
	"that replaces this one gets the list, without keys that it may have been given. A copy "
	"has no list.",
	.example = "bloomery allow add blacklist < reported.txt",
	.options = options,
	.run = run,
};
