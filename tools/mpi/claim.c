/*
 * claim.c - bloomery-mpi claim and test: every rank has lines, and the owner of a key's place
 * answers
 *
 * A round: (1) each rank reads some lines, hashes them, and sends the hashes to the owners. (2) The
 * owners claim them, in the order of the ranks and lines. (3) The answers come back as bits. (4)
 * Each rank writes its lines that are new. Step 1 of the next round begins only after step 4. So a
 * job that is killed loses at most the lines of one round. No line is ever written twice, because
 * the parts are mapped files, whose bits stay.
 */
#include "jobs.h"
#include "folder.h"
#include "lines_out.h"
#include "output.h"
#include "params.h"
#include "place.h"
#include "replies.h"
#include "values.h"

#include <limits.h>

static const char *output;
static uint64_t batch_lines = 65536, parts_wanted;
static bool create, invert, only_count;

#define OUTPUT_OPTION { 'o', "output", "FILE", "where the lines go; %r is the number of the rank", \
	set_text, &output }

static const struct opt claim_options[] = {
	{ 0, "create", NULL, "make F by the options below if it does not exist", set_flag,
	  &create },
	{ 0, "parts", "N", "with --create: in how many parts (default: one for each rank)",
	  set_number, &parts_wanted, 1, BLM_SPLIT_MAX },
	{ 0, "batch", "N", "a rank claims at most N lines before writing them (default: 65536)",
	  set_number, &batch_lines, 1, 1 << 20 },
	OUTPUT_OPTION,
	{ 0 }
};
static const struct opt test_options[] = {
	{ 'v', "invert", NULL, "the lines that F does not contain", set_flag, &invert },
	{ 'c', "count", NULL, "print only how many lines there are", set_flag, &only_count },
	OUTPUT_OPTION,
	{ 0 }
};

struct job {
	bool claims;
	struct folder in;		/* no parts: `whole` is the filter */
	struct blm_filter *whole;
	struct share share;
	struct reader reader;
	struct exchange x;
	struct hashed hashed;		/* the batch that is read */
	uint64_t yes;
};

/* ---- Output ---- */

/* Return: an exit code; all ranks find the same. After it each rank speaks for itself. */
static int check_output(char **inputs, size_t count)
{
	if (ranks > 1 && !only_count && (!output || !has_rank(output)))
		return misuse("name a file for the lines of each rank, like -o out.%%r: mpirun "
			      "mixes the lines of ranks that share one");
	speak();
	if (output && !only_count)
		output_refuse_inputs(output, inputs, count);
	return DONE;
}

/* Those of a folder are its parts, their secrets, and its lock. */
static void refuse_files_of_filter(const struct job *job, const char *filter)
{
	struct blm_info info = BLM_INFO;
	char secret[PATH_MAX + sizeof("/keys")];

	output_refuse(output, given_key_file());
	if (!job->whole) {
		output_refuse_in(output, filter, "keys.part-");
		output_refuse_in(output, filter, "lock");
		return;
	}
	must_have(blm_info(job->whole, &info));
	output_refuse(output, info.path);
	if (is_path(filter)) {
		snprintf(secret, sizeof(secret), "%s.key", filter);
		output_refuse(output, secret);
	} else {
		snprintf(secret, sizeof(secret), "%s/keys", store_dir());
		output_refuse_in(output, secret, "");
	}
}

/* After all that may be wrong with the filter and the input, because it empties the file. */
static void open_output(const struct job *job, const char *filter, bool append)
{
	if (!output || only_count)
		return;
	refuse_files_of_filter(job, filter);
	output_open(output, append);
}

static void print_answers(struct job *job, struct batch *lines)
{
	for (size_t i = 0; i < (lines->count + 63) / 64; i++) {
		uint64_t word = invert ? ~lines->bits[i] : lines->bits[i];

		if (lines->count - 64 * i < 64)
			word &= (UINT64_C(1) << (lines->count - 64 * i)) - 1;
		job->yes += (uint64_t)__builtin_popcountll(word);
	}
	if (only_count)
		return;
	gather_lines(lines, !invert);
	must(print_gathered(lines));
}

/* ---- Rounds ---- */

/* Some lines of a batch, and the round that asks for them. */
struct asked {
	struct batch lines;
	bool ended;		/* there are no more */
};

struct taking {
	struct batch *batch;
	size_t at;
};

static void take_lines(struct job *job, struct taking *t, struct side *s, struct asked *ret)
{
	size_t count = 0;

	exchange_clear(s);
	if (!t->batch || t->at == t->batch->count) {
		t->batch = reader_next(&job->reader);
		t->at = 0;
		if (t->batch)
			hash_batch(&job->hashed, job->in.any, t->batch, job->in.count);
	}
	*ret = (struct asked){ .ended = !t->batch };
	if (!t->batch)
		return;
	while (count < batch_lines && t->at + count < t->batch->count) {
		size_t i = t->at + count;
		int to = (int)(job->hashed.owners[i] % (uint32_t)ranks);

		if (!exchange_put(&job->x, s, to, &job->hashed.hashes[i], (uint32_t)count))
			break;
		count++;
	}
	ret->lines = batch_part(t->batch, t->at, count);
	t->at += count;
}

static void answer_all(struct job *job, const struct side *s, const struct replies *a)
{
	for (int r = 0; r < ranks; r++)
		folder_ask(&job->in, job->claims ? FOLDER_CLAIM : FOLDER_TEST,
			   s->in + (size_t)r * job->x.quota, (size_t)s->got_counts[r],
			   replies_to(a, r));
}

/* While the hashes of a round are under way, the lines of the next one are read and hashed. */
static void ask_in_rounds(struct job *job)
{
	struct taking taking = { 0 };
	struct replies replies;
	struct asked asked[2];
	double busy = 0, begun = seconds();
	bool last = false;

	exchange_begin(&job->x, 2 * (size_t)batch_lines, true);
	replies_begin(&replies, &job->x);
	take_lines(job, &taking, &job->x.side[0], &asked[0]);
	for (unsigned i = 0; !last; i ^= 1) {
		struct side *s = &job->x.side[i];

		busy += seconds() - begun;
		exchange_start(&job->x, s, asked[i].ended, job->reader.keys, busy);
		begun = seconds();
		take_lines(job, &taking, &job->x.side[i ^ 1], &asked[i ^ 1]);
		busy += seconds() - begun;
		exchange_wait(s);
		answer_all(job, s, &replies);
		replies_exchange(&replies, &job->x, s, asked[i].lines.bits, asked[i].lines.count);
		if (asked[i].lines.count)
			print_answers(job, &asked[i].lines);
		last = s->last;
		show_round(s, last);
		begun = seconds();
	}
	replies_end(&replies);
	exchange_end(&job->x);
}

/* A filter in one file: each rank maps it and asks for itself. */
static void ask_alone(struct job *job)
{
	struct batch *b;

	while ((b = reader_next(&job->reader))) {
		must_have(blm_contains_many(job->whole, b->keys, b->count, b->bits));
		print_answers(job, b);
		show_keys(&job->reader, false);
	}
}

/* ---- The commands ---- */

static int end(struct job *job)
{
	uint64_t yes, keys = sum_of_all(job->reader.keys);

	folder_close(&job->in);
	blm_close(job->whole);
	tell_skipped(&job->reader);
	yes = sum_of_all(job->yes);
	if (!rank && only_count)
		printf("%llu\n", (unsigned long long)yes);
	else if (!rank && !quiet)
		say("%llu of %llu lines %s", (unsigned long long)yes, (unsigned long long)keys,
		    job->claims ? "were new" : invert ? "are not in it" : "are in it");
	reader_end(&job->reader);
	share_free(&job->share);
	hashed_free(&job->hashed);
	/* DONE also where there are none: MPI takes any other exit code for a job that failed */
	return DONE;
}

static void begin_reading(struct job *job, char **names, size_t count)
{
	share_files(&job->share, names, count);
	reader_begin(&job->reader, &job->share, names);
}

static int run_claim(int count, char **operands)
{
	struct job job = { .claims = true };
	int code = keys_check();

	if (code == DONE && !create && params_given())
		return misuse("claim: size and kind are for a new filter; add --create");
	if (code == DONE && !is_path(operands[0]))
		return misuse("claim: %s: a filter in parts is a folder; write its path with a "
			      "'/'", operands[0]);
	if (code == DONE)
		code = params_finish();
	if (code == DONE)
		code = check_output(operands + 1, (size_t)count - 1);
	if (code == DONE)
		code = folder_claim(&job.in, operands[0], create, parts_wanted);
	if (code != DONE)
		return code;
	begin_reading(&job, operands + 1, (size_t)count - 1);
	open_output(&job, operands[0], true);
	if (output)
		output_drop_torn_line(of_rank(output));
	ask_in_rounds(&job);
	return end(&job);
}

static int run_test(int count, char **operands)
{
	struct job job = { 0 };
	uint64_t folder = !rank && is_path(operands[0]) && is_folder(operands[0]);
	int code = keys_check();

	from_first(&folder, sizeof(folder));
	if (code == DONE)
		code = check_output(operands + 1, (size_t)count - 1);
	if (code == DONE)
		code = folder ? folder_test(&job.in, operands[0])
			: open_filter(&job.whole, operands[0], false, 0);
	if (code != DONE)
		return code;
	begin_reading(&job, operands + 1, (size_t)count - 1);
	open_output(&job, operands[0], false);
	if (folder)
		ask_in_rounds(&job);
	else
		ask_alone(&job);
	return end(&job);
}

static const struct opt *const claim_tables[] = { claim_options, size_options, make_options,
						  line_options, progress_of_ranks, quiet_option,
						  key_option, store_option, NULL };
static const struct opt *const test_tables[] = { test_options, line_options, progress_of_ranks,
						 quiet_option, key_option, store_option, NULL };

const struct command cmd_claim = {
	.name = "claim",
	.group = ON_KEYS,
	.summary = "add keys to a filter in parts, and write the lines that were new",
	.operands = "F FILE...",
	.least = 2, .most = -1,
	.notes = "F is a folder with a file for each part. If several ranks have a new key, "
	"exactly one of them writes its line. After a job that was killed run the same command "
	"again: no line is written twice, and at most --batch lines of each rank are lost. "
	"'bloomery join F/keys.part-*[0-9] -o ./whole' makes one filter of the parts.",
	.example = "mpirun -n 4 bloomery-mpi claim ./seen --create -n 1g -o new.%r /data/urls-*.gz",
	.options = claim_tables,
	.run = run_claim,
};

const struct command cmd_test = {
	.name = "test",
	.group = ON_KEYS,
	.summary = "write the lines that a filter may contain",
	.operands = "F FILE...",
	.least = 2, .most = -1,
	.notes = "F is a filter, which each rank maps, or a folder of parts as 'claim' makes it: "
	"then the owner of a key's place answers.",
	.example = "mpirun -n 4 bloomery-mpi test ./seen -o known.%r /data/urls-*.gz",
	.options = test_tables,
	.run = run_test,
};
