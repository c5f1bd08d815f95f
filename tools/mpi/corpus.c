/*
 * corpus.c - bloomery-mpi corpus dedup: every rank reads its share of the files, and the owner of a
 * key's place says whether it was seen
 *
 * A key is a document or a paragraph. Each has a journal entry, its answer (documents.h). A round:
 *
 *	1. Each rank sends the hashes of its next keys to the owners.
 *	2. The owners add the hashes that were new in the round before.
 *	3. The owners ask their parts for the hashes of this round. A hash that is in no part is new
 *	   once: for the first rank and line that has it.
 *	4. The answers come back. Each rank writes them to its journal and syncs it.
 *	5. Each rank writes the documents whose answers it has.
 *
 * Step 2 comes after all ranks began the round, so after all of them synced the answers of the
 * round before. So each key of a part has an answer on the disk that says "kept", and a rank that
 * dies at any step leaves one of these states:
 *
 *	an answer is in no journal	its key is in no part, so the next job asks again
 *	an answer is in a journal	its key may be missing in its part
 *
 * So a job begins with the second state: it reads the inputs of all journals again, and adds the
 * keys of the units that were kept. Only then the first question is asked. It makes no difference
 * which machine lost what, or how many ranks there are now.
 *
 * A journal is deleted when its output is finished and all parts are synced.
 */
#include "../corpus/corpus.h"
#include "../corpus/report.h"
#include "documents.h"
#include "fresh.h"
#include "jobs.h"
#include "json.h"
#include "numbers.h"
#include "params.h"
#include "place.h"
#include "replies.h"
#include "values.h"

/* When journals of finished files, on all ranks, have so many batches, the parts are synced. */
enum { LEFT_BATCHES = 64 };

static const char *filter;
static uint64_t batch_keys = 65536, parts_wanted;
static bool create;

static int set_by(const struct opt *opt, const char *text)
{
	if (!strcmp(text, "document"))
		corpus.by = BY_DOCUMENT;
	else if (!strcmp(text, "paragraph"))
		corpus.by = BY_PARAGRAPH;
	else if (!strcmp(text, "ngram"))
		return misuse("--by ngram: no rank has all n-grams of a text; use 'bloomery corpus "
			      "dedup --partition I/N' and 'bloomery corpus merge'");
	else
		return misuse("--by %s: must be document or paragraph", text);
	return DONE;
}

/* Options of `bloomery corpus` that the ranks do not have. */
static int refuse_option(const struct opt *opt, const char *text)
{
	return misuse("corpus: --%s is an option of 'bloomery corpus', which one process does; the "
		      "ranks remove equal documents and paragraphs only", opt->name);
}

static int refuse_partition(const struct opt *opt, const char *text)
{
	return misuse("corpus: --partition %s: the ranks divide the keys themselves; leave the "
		      "option out, or take 'bloomery corpus dedup'", text);
}

static const struct opt own_options[] = {
	{ 'F', "filter", "F", "the folder with the parts of the filter of what was seen", set_text,
	  &filter },
	{ 0, "create", NULL, "make F by the options below if it does not exist", set_flag,
	  &create },
	{ 0, "parts", "N", "with --create: in how many parts (default: one for each rank)",
	  set_number, &parts_wanted, 1, BLM_SPLIT_MAX },
	{ 0, "batch", "N", "a rank asks for at most N keys in a round (default: 65536)", set_number,
	  &batch_keys, 1, 1 << 20 },
	{ 0, "by", "document|paragraph", "what to compare (default: document)", set_by, NULL },
	{ 'o', "output", "DIR", "write to files of the same names in DIR", set_text, &corpus.dir },
	{ 0, "partition", "I/N", NULL, refuse_partition, NULL },
	{ 0, "against", "F", NULL, refuse_option, NULL },
	{ 0, "part", "DIR", NULL, refuse_option, NULL },
	{ 0, "ngram", "N", NULL, refuse_option, NULL },
	{ 0, "stride", "N", NULL, refuse_option, NULL },
	{ 0, "threshold", "T", NULL, refuse_option, NULL },
	{ 0, "unit", "UNIT", NULL, refuse_option, NULL },
	{ 0, "create-same", NULL, NULL, refuse_option, NULL },
	{ 0, "dolma-bug-compatible", NULL, NULL, refuse_option, NULL },
	{ 0 }
};

struct job {
	struct folder in;
	struct run run;
	struct documents docs;
	struct exchange x;
	struct replies replies;
	struct fresh fresh;		/* of the round before, from step 3 of a round on */
	uint64_t *seen;			/* bits, of the hashes that this rank asked for */
};

/* ---- The owner's part ---- */

static void add_fresh(struct job *job)
{
	folder_ask(&job->in, FOLDER_ADD, job->fresh.hashes, job->fresh.count, NULL);
	fresh_clear(&job->fresh);
}

/* In the order of the ranks, so that one of equal hashes is new. */
static void answer(struct job *job, const struct side *s)
{
	for (int r = 0; r < ranks; r++) {
		const struct blm_hash *from = s->in + (size_t)r * job->x.quota;
		uint64_t *bits = replies_to(&job->replies, r);

		folder_ask(&job->in, FOLDER_TEST, from, (size_t)s->got_counts[r], bits);
		for (size_t i = 0; i < (size_t)s->got_counts[r]; i++)
			if (!(bits[i / 64] >> i % 64 & 1)
			    && fresh_has_or_adds(&job->fresh, &from[i]))
				bits[i / 64] |= UINT64_C(1) << i % 64;
	}
}

/* ---- Rounds ---- */

/* All ranks do it in the same round, because all have the same words. */
static void delete_journals_if_many(struct job *job, const struct side *s)
{
	uint64_t left = 0;

	for (int r = 0; r < ranks; r++)
		left += s->got[r].left;
	if (left < LEFT_BATCHES * batch_keys)
		return;
	folder_sync(&job->in);
	MPI_Barrier(MPI_COMM_WORLD);
	documents_delete_left(&job->docs);
}

static void begin_round(struct job *job, struct side *s, bool *ret_some, double *busy)
{
	double begun = seconds();

	*ret_some = documents_fill(&job->docs, &job->x, s);
	*busy += seconds() - begun;
	for (int r = 0; r < ranks; r++) {
		s->sent[r].left = job->docs.left_units;
		s->sent[r].rate = folder_rates(&job->in);
	}
	exchange_start(&job->x, s, !*ret_some, job->run.total.keys + job->docs.tally.keys, *busy);
}

/* The parts have as many keys each. */
static double rate_of(const struct job *job, const struct side *s)
{
	double sum = 0;

	for (int r = 0; r < ranks; r++)
		sum += s->got[r].rate;
	return sum / job->in.count;
}

static void ask_in_rounds(struct job *job)
{
	struct side *s = &job->x.side[0];
	bool some, last = false;
	double busy = 0;

	while (!last) {
		begin_round(job, s, &some, &busy);
		add_fresh(job);
		delete_journals_if_many(job, s);
		exchange_wait(s);
		answer(job, s);
		replies_exchange(&job->replies, &job->x, s, job->seen, job->docs.asked_count);
		if (some)
			documents_answer(&job->docs, job->seen, rate_of(job, s));
		last = s->last;
		show_round(s, last);
	}
	/* the last round asked nothing, so the keys of all rounds are in the parts */
}

/* Keys of kept units, which a job that was killed may not have added. */
static void restore(struct job *job)
{
	struct side *s = &job->x.side[0];
	bool some, last = false;
	double busy = 0;

	job->docs.restoring = true;
	while (!last) {
		begin_round(job, s, &some, &busy);
		exchange_wait(s);
		for (int r = 0; r < ranks; r++)
			folder_ask(&job->in, FOLDER_ADD, s->in + (size_t)r * job->x.quota,
				   (size_t)s->got_counts[r], NULL);
		if (some)
			documents_answer(&job->docs, NULL, 0);
		last = s->last;
	}
	if (most_of_all(job->docs.restored)) {
		folder_sync(&job->in);
		MPI_Barrier(MPI_COMM_WORLD);
		documents_delete_left(&job->docs);
	}
	documents_restored(&job->docs);
}

/* ---- What was done ---- */

/* The counts of all ranks to rank 0. */
static void collect_counts(struct job *job)
{
	struct documents *d = &job->docs;
	struct run *run = &job->run;

	for (size_t i = 0; i < d->count; i++) {
		MPI_Status status;

		if (!rank && d->ranks[i])
			MPI_Recv(&d->done[i], sizeof(d->done[i]), MPI_BYTE, d->ranks[i], 0,
				 MPI_COMM_WORLD, &status);
		else if (rank && d->ranks[i] == rank)
			MPI_Send(&d->done[i], sizeof(d->done[i]), MPI_BYTE, 0, 0, MPI_COMM_WORLD);
	}
	run->total = (struct tally){ 0 };
	run->files = run->finished = 0;
	for (size_t i = 0; i < d->count && !rank; i++) {
		add_tally(&run->total, &d->done[i].tally);
		run->finished += d->done[i].finished_before;
		run->files += !d->done[i].finished_before;
	}
}

static void tell(struct job *job)
{
	const struct documents *d = &job->docs;

	for (size_t i = 0; i < d->count; i++) {
		const struct done_file *done = &d->done[i];

		must(corpus_report_file(d->files[i].name, done->finished_before ? NULL
					: &done->tally));
		if (!done->finished_before)
			print_tally(d->files[i].name, &done->tally);
	}
	if (job->run.files > 1)
		print_tally(NULL, &job->run.total);
	if (job->run.finished && !quiet)
		say("%s of %s files were finished before", show_count(job->run.finished),
		    show_count(d->count));
	if (corpus.report)
		must(corpus_report_write(corpus.report, "dedup", &job->run));
	corpus_report_free();
}

/* ---- The command ---- */

static int check(const char *verb, int count)
{
	if (strcmp(verb, "dedup"))
		return misuse("corpus: '%s': the ranks do dedup only; 'bloomery corpus' does "
			      "index, decontaminate, merge, count and plan", verb);
	if (!filter)
		return misuse("corpus dedup: -F F is needed, the folder with the parts of the "
			      "filter of the texts that were seen");
	if (!is_path(filter))
		return misuse("corpus dedup: %s: a filter in parts is a folder; write its path "
			      "with a '/'", filter);
	if (count < 1)
		return misuse("corpus dedup: name the files: ranks do not share standard input");
	if (!corpus.dir && !corpus.attributes)
		return misuse("corpus dedup: -o DIR is needed: ranks do not share standard output");
	if (!create && params_given())
		return misuse("corpus: size and kind are for a new filter; add --create");
	return corpus_complete();
}

/* What all ranks find, rank 0 says. */
static int begin_job(struct job *job)
{
	int code = cutter_open(&job->run.cutter);

	if (code == FAILED)
		all_give_up(FAILED);
	if (code == DONE)
		code = params_finish();
	if (code == DONE)
		code = folder_claim(&job->in, filter, create, parts_wanted);
	if (code != DONE)
		return code;
	speak();
	job->run.filters[0] = job->in.any;
	job->run.names[0] = filter;
	job->run.count = 1;
	return DONE;
}

static void close_all_of(struct job *job)
{
	folder_sync(&job->in);
	MPI_Barrier(MPI_COMM_WORLD);
	documents_delete_left(&job->docs);
	collect_counts(job);
	if (!rank)
		tell(job);
	replies_end(&job->replies);
	fresh_end(&job->fresh);
	exchange_end(&job->x);
	free(job->seen);
	documents_end(&job->docs);
	cutter_close(&job->run.cutter);
	folder_close(&job->in);
}

static int run(int count, char **operands)
{
	static struct job job = { .run = { .writes = true, .ledger.intent.fd = -1 } };
	int code = check(operands[0], count - 1);

	if (code == DONE)
		code = begin_job(&job);
	if (code != DONE)
		return code;
	documents_begin(&job.docs, &job.run, &job.in, operands + 1, (size_t)count - 1,
			(size_t)batch_keys);
	exchange_begin(&job.x, 2 * (size_t)batch_keys, true);
	replies_begin(&job.replies, &job.x);
	fresh_begin(&job.fresh, job.x.quota * (size_t)ranks);
	job.seen = must_alloc((size_t)batch_keys / 64 + 1, sizeof(*job.seen));
	restore(&job);
	ask_in_rounds(&job);
	close_all_of(&job);
	return DONE;
}

static const struct opt *const options[] = { own_options, corpus_document_options, size_options,
					     make_options, json_option, progress_of_ranks,
					     quiet_option, key_option, store_option, NULL };

const struct command cmd_corpus = {
	.name = "corpus",
	.group = ON_FILTERS,
	.summary = "remove documents and paragraphs that were seen before",
	.operands = "dedup FILE...",
	.least = 1, .most = -1,
	.notes = "Each line of a file is an object of JSON, as for 'bloomery corpus'. Of equal "
	"documents or paragraphs one stays, on all ranks together. F is a folder with a file for "
	"each part. One rank does a file, so give more files than ranks. After a job that was "
	"killed run the same command again, with any number of ranks: no document is lost, and "
	"none stays twice.",
	.example = "mpirun -n 4 bloomery-mpi corpus dedup -F ./seen --create -n 1g -p 1e-6 "
	"-o clean/ raw/*.jsonl.zst",
	.options = options,
	.run = run,
};
