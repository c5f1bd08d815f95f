/* cmd_corpus.c - bloomery corpus: documents in lines of JSON that were not seen before */
#include "corpus/plan.h"
#include "corpus/report.h"
#include "corpus/run.h"
#include "durable.h"
#include "json.h"
#include "load.h"
#include "params.h"
#include "progress.h"
#include "signals.h"
#include "stream.h"
#include "values.h"

#include <errno.h>

static const char *filter;
static const char *against[FILTERS_MOST];
static size_t against_count;
static bool create, same;
static struct wishes wishes = { .sample = 256 << 20, .by_mistake = 0.001 };

static int set_by(const struct opt *opt, const char *text)
{
	static const char *const names[] = { "document", "paragraph", "ngram" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(text, names[i])) {
			corpus.by = (enum by)i;
			return DONE;
		}
	return misuse("--by %s: must be document, paragraph or ngram", text);
}

static int set_unit(const struct opt *opt, const char *text)
{
	static const char *const names[] = { "paragraph", "document", "both" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(text, names[i])) {
			corpus.judged = (enum judged)i;
			return DONE;
		}
	return misuse("--unit %s: must be paragraph, document or both", text);
}

static int set_share(const struct opt *opt, const char *text)
{
	char *end;

	errno = 0;
	corpus.threshold = strtod(text, &end);
	if (end == text || *end || errno || !(corpus.threshold >= 0 && corpus.threshold <= 1))
		return misuse("--threshold %s: must be a share, from 0 to 1", text);
	return DONE;
}

static int set_against(const struct opt *opt, const char *text)
{
	if (against_count == FILTERS_MOST)
		return misuse("--against: at most %d filters", FILTERS_MOST);
	against[against_count++] = text;
	return DONE;
}

static int set_from(const struct opt *opt, const char *text)
{
	if (part_count == PARTS_MOST)
		return misuse("--part: at most %d folders", PARTS_MOST);
	part_folders[part_count++] = text;
	return DONE;
}

static int set_partition(const struct opt *opt, const char *text)
{
	struct partition *p = &corpus.partition;
	char *end = NULL;

	p->part = strtoull(text, &end, 10);
	p->count = *end == '/' && *text != '-' ? strtoull(end + 1, &end, 10) : 0;
	if (*end || !p->part || p->part > p->count || p->count > PARTS_MOST)
		return misuse("--partition %s: must be I/N, with I from 1 to N, N at most %d", text,
			      PARTS_MOST);
	p->part--;
	return DONE;
}

static const struct opt own_options[] = {
	{ 'F', "filter", "F", "the filter of what was seen", set_text, &filter },
	{ 0, "create", NULL, "make F by the options below if it does not exist", set_flag,
	  &create },
	{ 0, "create-same", NULL, "the same, but fail if F exists and differs from the options",
	  set_flag, &same },
	{ 0, "against", "F", "decontaminate: a filter of what must not be in the documents "
	  "(repeatable)", set_against, NULL },
	{ 0, "by", "document|paragraph|ngram", "what to compare (default: document)", set_by,
	  NULL },
	{ 0, "ngram", "N", "tokens of an n-gram (default: 13)", set_number, &corpus.ngram, 1,
	  1000 },
	{ 0, "stride", "N", "tokens from one n-gram to the next (default: 1)", set_number,
	  &corpus.stride, 1, 1000000 },
	{ 0, "threshold", "T", "remove a text if this share of its n-grams was seen (default: "
	  "0.8)",
	  set_share, NULL },
	{ 0, "unit", "paragraph|document|both", "what to remove by its n-grams (default: "
	  "paragraph)", set_unit, NULL },
	{ 'o', "output", "DIR", "write to files of the same names in DIR; else to standard output",
	  set_text, &corpus.dir },
	{ 0, "dolma-bug-compatible", NULL, "count, compare and take n-grams as dolma does",
	  set_flag, &corpus.dolma },
	{ 0, "partition", "I/N", "dedup: only keys whose hash is in part I of N; with --attributes",
	  set_partition, NULL },
	{ 0, "part", "DIR", "merge: the attribute files of a partition (repeatable)",
	  set_from, NULL },
	{ 0, "sample", "SIZE", "plan: how many bytes of the files to read (default: 256Mi)",
	  set_number, &wishes.sample, 1, UINT64_C(1) << 50 },
	{ 0, "by-mistake", "SHARE", "plan: the share of new text that may be removed by mistake "
	  "(default: 0.001)", set_rate, &wishes.by_mistake },
	{ 0 }
};

/* ---- Filters ---- */

static int refuse(const struct blm_filter *f, const char *name)
{
	struct blm_info info = BLM_INFO;
	struct blm_hash hash;
	int r = blm_info(f, &info);

	if (r < 0)
		return fail(r);
	if (filter && !(info.can & BLM_CAN_ADD))
		return broken("%s: filters of the kind %s take no keys one by one; 'bloomery "
			      "kinds' says which do", name, info.kind);
	r = blm_hash_many(f, &(struct blm_key){ "", 0 }, 1, &hash);

	if (r == -EOPNOTSUPP)
		return broken("%s: its hash family hashes a key for each probe; take a filter with "
			      "the default hash", name);
	return r < 0 ? fail(r) : DONE;
}

static int take(struct run *r, const char *name, bool write)
{
	struct blm_filter **ret = &r->filters[r->count];
	int code = write && create ? open_or_make(ret, name, same)
		: open_filter(ret, name, write, write ? 0 : BLM_STORE_READ);

	if (code != DONE)
		return code;
	r->names[r->count++] = name;
	code = load(*ret);
	if (code != DONE)
		r->count--;	/* it is closed */
	return code == DONE ? refuse(*ret, name) : code;
}

static int take_filters(struct run *r, bool write)
{
	int code = DONE;

	if (write)
		return take(r, filter, true);
	for (size_t i = 0; i < against_count && code == DONE; i++)
		code = take(r, against[i], false);
	return code;
}

/* ---- The verbs ---- */

static int dedup(struct run *r, struct batch_of_documents *b)
{
	int code = hash_keys(b, r->filters[0]);
	uint64_t before = r->next;

	if (code == DONE)
		code = judge_and_claim(b, &r->ledger, r->journaled ? &r->journal : NULL, &r->next);
	if (code == DONE)
		warn_beyond(r->filters[0], r->names[0]);
	return code == DONE ? sync_if_due(r->filters[0], r->next - before) : code;
}

static int index_keys(struct run *r, struct batch_of_documents *b)
{
	int code = hash_keys(b, r->filters[0]);
	int64_t n;

	if (code != DONE || !b->key_count)
		return code;
	n = blm_add_hashes(r->filters[0], blm_hash_id(r->filters[0]), b->hashes, b->key_count,
			   NULL);
	if (n < 0)
		return fail(n);
	r->found[0] += (uint64_t)n;
	warn_beyond(r->filters[0], r->names[0]);
	return sync_if_due(r->filters[0], (uint64_t)n);
}

static int decontaminate(struct run *r, struct batch_of_documents *b)
{
	uint64_t id, last = 0;
	int code = DONE;

	for (size_t i = 0; i < r->count && code == DONE; i++) {
		id = blm_hash_id(r->filters[i]);
		if (i == 0 || id != last)
			code = hash_keys(b, r->filters[i]);
		last = id;
		if (code == DONE)
			code = judge_only(b, r->filters[i], id, &r->found[i]);
	}
	return code;
}

static int count_only(struct run *r, struct batch_of_documents *b)
{
	return DONE;
}

static const struct verb {
	const char *name;
	int (*work)(struct run *run, struct batch_of_documents *batch);
	bool writes, claims, filters, sets, parts;	/* takes -F; --against; --part */
} verbs[] = {
	{ "dedup", dedup, true, true, true, false, false },
	{ "index", index_keys, false, false, true, false, false },
	{ "decontaminate", decontaminate, true, false, false, true, false },
	{ "merge", count_only, true, false, false, false, true },
	{ "count", count_only, false, false, false, false, false },
	{ "plan", NULL, false, false, false, false, false },
};

static int check_partition(const struct verb *verb)
{
	if (verb->parts != (part_count > 0))
		return misuse(part_count ? "corpus %s: takes no --part" : "corpus %s: --part DIR "
			      "is needed, once for each partition", verb->name);
	if (corpus.partition.count && (!verb->claims || !corpus.attributes))
		return misuse("corpus %s: --partition is for dedup with --attributes", verb->name);
	if (corpus.partition.count && corpus.dolma)
		return misuse("corpus %s: 'corpus merge' needs exact spans: give "
			      "--dolma-bug-compatible to it only, and --min-tokens 0 to both",
			      verb->name);
	return DONE;
}

static int check_plan(void)
{
	if (corpus.report)
		return misuse("corpus plan: --report is for the other verbs; --json prints the "
			      "plan as JSON");
	if (params.capacity || params.cells)
		return misuse("corpus plan: leave out -n and -m: the command finds the size");
	return params_finish();
}

static int check(const struct verb *verb)
{
	bool plans = !verb->work;

	if (!plans && verb->filters != (filter != NULL))
		return misuse(filter ? "corpus %s: takes no -F" : "corpus %s: -F F is needed, the "
			      "filter of the texts that were seen", verb->name);
	if (verb->sets != (against_count > 0))
		return misuse(against_count ? "corpus %s: takes no --against" : "corpus %s: "
			      "--against F is needed, a filter that 'bloomery corpus index' made",
			      verb->name);
	if (!verb->writes && ((corpus.dir && !plans) || corpus.attributes || corpus.annotate))
		return misuse("corpus %s: writes no documents; leave out -o, --attributes and "
			      "--annotate", verb->name);
	if (check_partition(verb) != DONE)
		return USAGE;
	create |= same;
	if (!create && !plans && params_given())
		return misuse("corpus: size and kind are for a new filter; add --create");
	if (corpus_complete() != DONE)
		return USAGE;
	return plans ? check_plan() : DONE;
}

/* How much of the documents each test set has. */
static void print_sets(const struct run *r)
{
	for (size_t i = 0; i < r->count; i++) {
		if (!json) {
			printf("%s\t%llu units have a key of it\n", r->names[i],
			       (unsigned long long)r->found[i]);
			continue;
		}
		json_begin();
		json_text("against", r->names[i]);
		json_count("found", r->found[i]);
		json_end();
	}
}

static int run_verb(struct run *r, const struct verb *verb, int count, char **operands)
{
	int code = cutter_open(&r->cutter);

	catch_signals();
	wishes.filter = filter;
	if (code == DONE && !verb->work)
		return plan_corpus(&r->cutter, operands, (size_t)count, &wishes);
	if (code == DONE && (verb->filters || verb->sets))
		code = take_filters(r, verb->filters);
	if (code == DONE && verb->claims)
		code = ledger_open(&r->ledger, r->filters[0]);
	if (code == DONE && verb->filters)
		code = begin_syncing(r->filters[0]);
	if (code != DONE)
		return code;
	code = verb->parts ? run_merge(r, operands, (size_t)count)
		: run_files(r, operands, (size_t)count);
	if (verb->filters)
		code = end_syncing(r->filters[0], code);
	if (code == DONE && !stopping() && corpus.report)
		code = corpus_report_write(corpus.report, verb->name, r);
	if (code == DONE && !stopping() && (!verb->writes || corpus.dir || corpus.attributes)) {
		if (r->files > 1)
			print_tally(NULL, &r->total);
		if (verb->sets)
			print_sets(r);
	}
	return code;
}

static int run(int count, char **operands)
{
	static struct run r = { .ledger.intent.fd = -1 };
	const struct verb *verb = NULL;
	int code;

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (!strcmp(operands[0], verbs[i].name))
			verb = &verbs[i];
	if (!verb)
		return misuse("corpus: '%s' is not dedup, index, decontaminate, merge, count or "
			      "plan",
			      operands[0]);
	code = check(verb);
	if (code != DONE)
		return code;
	r.work = verb->work;
	r.writes = verb->writes;
	r.claims = verb->claims;
	code = run_verb(&r, verb, count - 1, operands + 1);
	ledger_close(&r.ledger);
	corpus_report_free();
	cutter_close(&r.cutter);
	close_all(r.filters, r.count);
	return code;
}

static const struct opt *const options[] = { own_options, corpus_document_options, sync_option,
					     size_options, make_options, file_options, load_options,
					     progress_option, json_option, quiet_option, key_option,
					     store_option, NULL };

const struct command cmd_corpus = {
	.name = "corpus",
	.group = ON_FILTERS,
	.summary = "remove documents or paragraphs that were seen before from files of JSON "
	  "lines",
	.operands = "dedup|index|decontaminate|merge|count|plan [FILE...]",
	.least = 1, .most = -1,
	.notes = "dedup keeps the first of equal documents, paragraphs, or texts with the same "
	"n-grams, and adds it to F. index adds all\n"
	"keys to F and writes nothing. decontaminate removes what is in a filter of --against, "
	"and adds nothing. merge\n"
	"removes what the partitions found. count reads the files and counts keys. plan "
	"estimates the number of keys, the size of\n"
	"F and the time from a sample. Files may be packed with gzip or zstd. Any number of "
	"processes share F and the files; with -o a run\n"
	"that was killed is started again with the same command and loses no document.",
	.example = "bloomery corpus dedup -F docs --create -n 10m -p 1e-6 -o clean/ "
	"raw/*.jsonl.zst",
	.options = options,
	.run = run,
};
