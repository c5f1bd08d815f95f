/*
 * cmd_guard.c - bloomery guard: a filter in front of an exact table, which is asked only where the
 * filter says "maybe"
 */
#include "answers.h"
#include "command.h"
#include "exact.h"
#include "foreign.h"
#include "json.h"
#include "keys.h"
#include "learn.h"
#include "load.h"
#include "place.h"
#include "progress.h"
#include "stream.h"
#include "values.h"

static bool invert, count_only, silent, values, stats;
static char *learned;
static const struct opt own_options[] = {
	{ 'v', "invert", NULL, "the lines whose keys are not there", set_flag, &invert },
	{ 'c', "count", NULL, "print only how many lines there are", set_flag, &count_only },
	{ 's', "silent", NULL, "print nothing, stop at the first line found", set_flag, &silent },
	{ 0, "values", NULL, "print each line with a tab and what the table has for its key",
	  set_flag, &values },
	{ 0, "learn", "FILE", "append the false alarms to FILE, one key a line: for --not of build",
	  set_text, &learned },
	{ 0, "stats", NULL, "print only how many look-ups the filter avoided", set_flag, &stats },
	{ 0 }
};

struct job {
	struct blm_filter *f;
	struct exact exact;
	struct learn learn;
	uint64_t keys, looked_up, found;
};

static int ask_filter(struct batch *batch, void *context)
{
	const struct job *job = context;

	int64_t r = blm_contains_many(job->f, batch->keys, batch->count, batch->bits);

	return r < 0 ? fail(r) : DONE;
}

/*
 * Each "maybe" becomes a yes or a no. `out` gets the lines with their values; NULL: none are
 * wanted.
 */
static int look_up(struct job *job, struct batch *batch, FILE *out)
{
	const struct exact *exact = &job->exact;
	int code = exact->sort->begin(exact->table);

	if (code != DONE)
		return code;
	for (size_t i = 0; code == DONE && i < batch->count; i++) {
		struct blm_key value;
		int r;

		if (!(batch->bits[i / 64] >> i % 64 & 1))
			continue;
		job->looked_up++;
		r = exact->sort->find(exact->table, &batch->keys[i], &value);
		if (r < 0)
			code = FAILED;
		if (r == 0)
			learn_key(&job->learn, &batch->keys[i]);
		if (r <= 0) {
			batch->bits[i / 64] &= ~(UINT64_C(1) << i % 64);
			continue;
		}
		job->found++;
		if (out && json) {
			answer_begin(out, &batch->keys[i], &batch->lines[i]);
			answer_bytes(out, "value", &value);
			answer_end(out);
		} else if (out) {
			fwrite(batch->lines[i].bytes, 1, batch->lines[i].len, out);
			fputc(columns_end(), out);
			fwrite(value.bytes, 1, value.len, out);
			fputc(line_end(), out);
		}
	}
	exact->sort->end(exact->table);
	return code == DONE ? learn_flush(&job->learn) : code;
}

static int look_up_values(struct job *job, struct batch *batch)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	int code;

	if (!out)
		return broken("out of memory");
	code = look_up(job, batch, out);
	if (fclose(out) != 0 && code == DONE)
		code = broken("out of memory");
	if (code == DONE)
		code = print_bytes(text, bytes);
	free(text);
	return code;
}

static uint64_t wanted(const struct job *job)
{
	return invert ? job->keys - job->found : job->found;
}

static int guard(struct batch *batch, void *context)
{
	struct job *job = context;
	int code;

	job->keys += batch->count;
	if (values)
		return look_up_values(job, batch);
	code = look_up(job, batch, NULL);
	if (code != DONE)
		return code;
	if (silent)
		return wanted(job) ? ENOUGH : DONE;
	if (count_only || stats)
		return DONE;
	code = gather_answers(batch, !invert, "present");
	return code == DONE ? print_gathered(batch) : code;
}

static void print_stats(const struct job *job)
{
	uint64_t avoided = job->keys - job->looked_up, wrong = job->looked_up - job->found,
		absent = job->keys - job->found;

	if (json) {
		json_begin();
		json_count("asked", job->keys);
		json_count("avoided", avoided);
		json_count("looked_up", job->looked_up);
		json_count("found", job->found);
		json_count("false_alarms", wrong);
		json_real("false_alarm_rate", absent ? (double)wrong / (double)absent : 0);
		json_end();
		return;
	}
	printf("asked         %llu\navoided       %llu\nlooked up     %llu\nfound         "
	       "%llu\nfalse alarms  %llu", (unsigned long long)job->keys,
	       (unsigned long long)avoided, (unsigned long long)job->looked_up,
	       (unsigned long long)job->found, (unsigned long long)wrong);
	if (absent)
		printf(", %.3g of the keys that are not there", (double)wrong / (double)absent);
	putchar('\n');
}

static int refuse_forgetful(const struct blm_filter *f, const char *name)
{
	struct blm_info info = BLM_INFO;
	int r = blm_info(f, &info);

	if (r == 0 && info.can & BLM_FORGETS)
		return broken("guard: %s is of the kind %s, which says no to some of its own keys: "
			      "the table would not be asked for them", name, info.kind);
	return r < 0 ? fail(r) : DONE;
}

/* False alarms must not be appended to a file that this command reads. */
static int learn_into(struct job *job, char **operands, int count)
{
	char *data = NULL;
	struct blm_info info = BLM_INFO;
	int code = learn_open(&job->learn, learned), r = blm_info(job->f, &info);

	if (code == DONE && r < 0)
		code = fail(r);
	if (code == DONE)
		code = learn_apart(&job->learn, info.path, "the filter");
	if (code == DONE && asprintf(&data, "%s/data.mdb", exact_path()) < 0)
		code = broken("out of memory");
	if (code == DONE)
		code = learn_apart(&job->learn, exact_path(), "the table");
	if (code == DONE)
		code = learn_apart(&job->learn, data, "the table");
	free(data);
	if (code == DONE && count == 1)
		code = learn_apart(&job->learn, "-", "read as keys");
	for (int i = 1; code == DONE && i < count; i++)
		code = learn_apart(&job->learn, operands[i], "read as keys");
	return code;
}

static int run(int count, char **operands)
{
	struct job job = { 0 };
	int code;

	if (values && (invert || count_only || silent || stats))
		return misuse("guard: --values prints the lines that are found: -v, -c, -s and "
			      "--stats do not go with it");
	code = exact_open(&job.exact, values);
	if (code == DONE)
		code = open_filter(&job.f, operands[0], false, BLM_STORE_READ);
	if (code == DONE)
		code = refuse_forgetful(job.f, operands[0]);
	if (code == DONE)
		code = load(job.f);
	quiet |= silent;
	if (code == DONE && learned)
		code = learn_into(&job, operands, count);
	if (code == DONE)
		code = each_batch(operands + 1, (size_t)count - 1, &(struct work){ .ahead =
			ask_filter, .in_turn = guard, .context = &job });
	if (learn_close(&job.learn) != DONE && code == DONE)
		code = FAILED;
	exact_close(&job.exact);
	if (job.f)
		blm_close(job.f);
	if (code != DONE)
		return code;
	if (stats && !silent)
		print_stats(&job);
	else if (count_only && !silent)
		print_count(wanted(&job));
	return wanted(&job) ? DONE : NO;
}

static const struct opt *const options[] = { own_options, exact_options, json_option, key_options,
					     jobs_option, progress_option, quiet_option,
					     load_options, foreign_option, maker_options,
					     key_option, store_option, NULL };

const struct command cmd_guard = {
	.name = "guard",
	.group = ON_KEYS,
	.summary = "print the lines that are in a table of exact keys, asked only where a filter "
	"says \"maybe\"; exit 1 if none",
	.operands = "F --exact DB [FILE...]",
	.least = 1, .most = -1,
	.notes = "The filter must have every key of the table. Then each answer is the answer of "
	"the table, without a false alarm or a miss. Add a new key to the filter before you add "
	"it to the table. Kinds that forget are refused. With --values a sorted file has lines of "
	"a key, a tab (or --delimiter) and the value, in the order of the keys: LC_ALL=C sort -t "
	"$'\\t' -k 1,1. With --crlf its lines may end in CR LF. The file is read as it is: a "
	"packed file is refused. Build a filter without the false alarms that --learn collected: "
	"bloomery build F --force -p 0.01 keys.txt --not FILE.",
	.example = "bloomery guard ./blacklist.bloom --exact blacklist.txt < urls.txt",
	.options = options,
	.run = run,
};
