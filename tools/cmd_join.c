/*
 * cmd_join.c - bloomery join: two tables by a key, the rows of the large one through a filter of
 * the small one's keys first; and with -o one filter of the parts of a split one
 *
 * -o tells the two apart: every command that makes a filter of others has it, and a joined table
 * goes to standard output.
 */
#include "answers.h"
#include "command.h"
#include "keys.h"
#include "after.h"
#include "params.h"
#include "place.h"
#include "progress.h"
#include "signals.h"
#include "stream.h"
#include "table.h"
#include "values.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

static double rate = 0.01;
static bool stats;
static const char *output;
static const struct opt own_options[] = {
	{ 'o', "output", "F", "the operands are the parts of a split filter, and F is the new "
	  "filter", set_text, &output },
	{ 0, "sparse", NULL, "with -o: do not allocate the space of F now", set_flag,
	  &params.sparse },
	{ 'p', "rate", "P", "false positives of the filter (default: 0.01)", set_rate, &rate },
	{ 0, "stats", NULL, "say at the end how many rows there were, passed the filter, and had a "
	  "match", set_flag, &stats },
	{ 0 }
};

enum { WRITE = 256 << 10 };

struct job {
	struct blm_build *building;	/* while SMALL is read */
	struct blm_filter *f;		/* of its keys, then */
	struct table small;
	FILE *objects;			/* with --json, into `text`: those not printed yet */
	char *text;
	size_t text_bytes, object_bytes;	/* object_bytes: of the rows in them, about */
	char *out;			/* joined rows, not printed yet */
	size_t used, capacity;
	_Atomic uint64_t read;		/* rows of BIG */
	uint64_t passed, matched, joined;
};

/* ---- SMALL ---- */

static int keep(struct batch *batch, void *context)
{
	struct job *job = context;
	int r = blm_build_add_many(job->building, batch->keys, batch->count);

	return r < 0 ? fail(r) : table_keep(&job->small, batch);
}

static int read_small(struct job *job, char **name)
{
	int r = blm_build_begin(&job->building, NULL, NULL, &BLM_PARAMS(.rate = rate),
				NULL), code;

	if (r < 0)
		return fail(r);
	code = each_batch(name, 1, &(struct work){ .in_turn = keep, .context = job,
						   .given = &no_keys });
	if (code != DONE || stopping()) {
		blm_build_cancel(job->building);
		return code;
	}
	r = blm_build_finish(job->building, &job->f);
	return r < 0 ? fail(r) : table_index(&job->small, job->f);
}

/* ---- BIG ---- */

/*
 * Most rows have no match, and what the filter says of them is in the cache where the table is not.
 */
static int pass(struct batch *batch, void *context)
{
	struct job *job = context;
	int64_t r;

	job->read += batch->count;
	if (!batch_hash_buffer(batch))
		return broken("%s: out of memory", batch->source);
	batch->hashed = true;
	r = blm_hash_many(job->f, batch->keys, batch->count, batch->hashes);
	if (r == 0)
		r = blm_contains_hashes(job->f, blm_hash_id(job->f), batch->hashes, batch->count,
					batch->bits);
	if (r < 0)
		return fail(r);
	for (size_t i = 0; i < (batch->count + 63) / 64; i++)
		batch->bits[i] = ~batch->bits[i];
	batch_drop(batch);
	return DONE;
}

static int flush(struct job *job)
{
	int code = print_bytes(job->out, job->used);

	job->used = 0;
	return code;
}

static int begin_objects(struct job *job)
{
	job->object_bytes = 0;
	job->text = NULL;
	job->objects = open_memstream(&job->text, &job->text_bytes);
	return job->objects ? DONE : broken("out of memory");
}

static int end_objects(struct job *job, int code)
{
	if (fclose(job->objects) != 0 && code == DONE)
		code = broken("out of memory");
	job->objects = NULL;
	if (code == DONE)
		code = print_bytes(job->text, job->text_bytes);
	free(job->text);
	return code;
}

/* One batch can join any number of rows, so its objects are not all kept. */
static int join_object(struct job *job, const struct blm_key *key, const struct blm_key *row)
{
	int code;

	answer_begin(job->objects, key, NULL);
	answer_bytes(job->objects, "row", row);
	answer_end(job->objects);
	job->object_bytes += row->len;
	if (job->object_bytes < WRITE)
		return DONE;
	code = end_objects(job, DONE);
	return code == DONE ? begin_objects(job) : code;
}

static char *put(char *to, const struct blm_key *part)
{
	if (part->len)
		memcpy(to, part->bytes, part->len);
	return to + part->len;
}

static int join_rows(struct job *job, const struct row *row, const struct blm_key *line,
		     const struct blm_key *key)
{
	size_t bytes = row->head.len + line->len + 3;	/* a delimiter more, CR, the end */
	struct row_parts parts;
	char *to;

	if (job->capacity - job->used < bytes) {
		if (job->used && flush(job) != DONE)
			return FAILED;
		if (job->capacity < bytes) {
			char *out = realloc(job->out, bytes > WRITE ? bytes : WRITE);

			if (!out)
				return broken("out of memory for a row of %zu bytes", bytes);
			job->out = out;
			job->capacity = bytes > WRITE ? bytes : WRITE;
		}
	}
	row_parts_of(&parts, line);
	to = put(job->out + job->used, &row->head);
	if (!parts.first || parts.whole) {
		*to++ = columns_end();
		to = put(to, parts.whole ? &parts.column : &parts.before);
	}
	to = put(to, &parts.after);
	job->joined++;
	if (json)
		return join_object(job, key,
				   &(struct blm_key){ job->out, (size_t)(to - job->out) });
	if (rows_end_in_cr())
		*to++ = '\r';
	*to++ = line_end();
	job->used = (size_t)(to - job->out);
	return DONE;
}

static int match_rows(struct job *job, const struct batch *batch)
{
	int code = DONE;

	job->passed += batch->count;
	for (size_t i = 0; i < batch->count && code == DONE && !stopping(); i++) {
		const struct row *row = table_find(&job->small, &batch->keys[i],
						   batch->hashes[i].lo);

		job->matched += row != NULL;
		for (; row && code == DONE; row = row->next)
			code = join_rows(job, row, &batch->lines[i], &batch->keys[i]);
	}
	return code;
}

static int match(struct batch *batch, void *context)
{
	struct job *job = context;
	int code = json ? begin_objects(job) : DONE;

	if (code == DONE)
		code = match_rows(job, batch);
	if (json)
		return job->objects ? end_objects(job, code) : code;
	return code == DONE ? flush(job) : code;
}

static void tell_stats(struct job *job)
{
	uint64_t read = job->read;

	say("%llu rows, %llu passed the filter, %llu of them had a match; %llu joined",
	    (unsigned long long)read, (unsigned long long)job->passed,
	    (unsigned long long)job->matched, (unsigned long long)job->joined);
}

/* ---- Parts of a filter ---- */

/* The secret of a keyed part is in PART.key, so a pattern for the parts can match both files. */
static bool is_secret(int i, int count, char **operands)
{
	size_t length = strlen(operands[i]), end = strlen(".key");

	if (length < end || strcmp(operands[i] + length - end, ".key"))
		return false;
	for (int j = 0; j < count; j++)
		if (strlen(operands[j]) == length - end
		    && !strncmp(operands[j], operands[i], length - end))
			return true;
	return false;
}

/* One after the other, so that neither descriptors nor addresses run out. */
static int join_parts(struct blm_join *parts, int count, char **operands)
{
	int code = DONE, r;

	for (int i = 0; i < count && code == DONE && !stopping(); i++) {
		struct blm_filter *f;

		if (is_secret(i, count, operands)) {
			if (!quiet)
				say("%s: skipped; it is the secret of a part, not a part",
				    operands[i]);
			continue;
		}
		code = open_filter(&f, operands[i], false, source_flags(output));
		if (code != DONE)
			break;
		r = blm_join_part(parts, f);
		code = r < 0 ? fail(r) : DONE;
		blm_close(f);
	}
	return code;
}

static int make_of_parts(int count, char **operands)
{
	struct blm_filter *made;
	struct blm_join *parts;
	struct place place;
	int code = find_place(&place, output, BLM_STORE_CREATE), r;

	if (code != DONE)
		return code;
	r = blm_join_begin(&parts, place.store, place.name, params.mode, params.sparse);
	if (r < 0)
		return fail(r);
	progress_of_calls();
	code = join_parts(parts, count, operands);
	if (code != DONE || stopping()) {
		progress_end_of_call(-1);
		blm_join_cancel(parts);
		return code;
	}
	r = blm_join_finish(parts, &made);
	progress_end_of_call(r);
	if (r < 0)
		return fail(r);
	warn_beyond(made, output);
	blm_close(made);
	return DONE;
}

/* A filter has no rows; who gives one has forgotten -o. */
static bool is_filter(const char *name)
{
	char begin[8] = "";
	int fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	bool yes = fd >= 0 && pread(fd, begin, sizeof(begin), 0) == sizeof(begin)
		&& !memcmp(begin, "BLOOMERY", sizeof(begin));

	if (fd >= 0)
		close(fd);
	return yes;
}

static int run(int count, char **operands)
{
	struct job job = { 0 };
	const struct work matching = { .ahead = pass, .in_turn = match, .context = &job,
				       .given = &no_keys };
	int code;

	if (output)
		return make_of_parts(count, operands);
	if (is_filter(operands[0]))
		return misuse("join: %s is a filter, not a table; give -o F to join the parts of a "
			      "split filter", operands[0]);
	for (int i = 1; i < count || i == 1; i++)
		if (!strcmp(operands[0], "-") && (count == 1 || !strcmp(operands[i], "-")))
			return misuse("join: only one of the tables can be standard input");
	keys_in_first_column();
	code = read_small(&job, operands);
	if (code == DONE && !stopping())
		code = each_batch(operands + 1, (size_t)count - 1, &matching);
	if (stats && code == DONE)
		tell_stats(&job);
	blm_close(job.f);
	table_free(&job.small);
	free(job.out);
	return code == DONE && !job.joined ? NO : code;
}

static const struct opt *const options[] = { own_options, json_option, row_options, jobs_option,
					     progress_option, quiet_option, mode_option, key_option,
					     store_option, NULL };

const struct command cmd_join = {
	.name = "join",
	.group = ON_KEYS,
	.summary = "join two tables by a column, which need not be sorted; exit 1 if no rows match",
	.operands = "SMALL [BIG...] | PART... -o F",
	.least = 1, .most = -1,
	.notes = "The rows of BIG pass a filter of SMALL's keys first; a row that passes is "
	"looked up exactly. The output is that of\njoin(1) for the sorted tables: the key, "
	"SMALL's other columns, BIG's other columns. It has the order of BIG, and for\nequal keys "
	"the order of SMALL, which must fit into memory. With -o the operands are the parts of a "
	"filter, from 'split' or\n'build --partition', in any order; F has their data, byte for "
	"byte.",
	.example = "bloomery join small.tsv big.tsv --on 1",
	.options = options,
	.run = run,
};
