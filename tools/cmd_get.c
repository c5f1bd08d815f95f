/* cmd_get.c - bloomery get: the values of keys */
#include "answers.h"
#include "command.h"
#include "foreign.h"
#include "load.h"
#include "place.h"
#include "progress.h"
#include "stream.h"

struct job {
	struct blm_filter *f;
	uint64_t *values;
	size_t capacity;
	uint64_t found;
};

/* Readers that keep numbers as doubles round numbers above 2^53; 2^53 may be a rounded one. */
static void print_object(FILE *out, const struct batch *batch, size_t i, uint64_t value)
{
	const char *quote = value >> 53 ? "\"" : "";

	answer_begin(out, &batch->keys[i], &batch->lines[i]);
	fprintf(out, ",\"value\":%s%llu%s", quote, (unsigned long long)value, quote);
	answer_end(out);
}

static int print_values(const struct batch *batch, const uint64_t *values)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	int code;

	if (!out)
		return broken("out of memory");
	for (size_t i = 0; i < batch->count; i++) {
		if (!(batch->bits[i / 64] >> i % 64 & 1))
			continue;
		if (json) {
			print_object(out, batch, i, values[i]);
			continue;
		}
		fwrite(batch->lines[i].bytes, 1, batch->lines[i].len, out);
		fprintf(out, "%c%llu%c", columns_end(), (unsigned long long)values[i], line_end());
	}
	code = fclose(out) == 0 ? print_bytes(text, bytes) : broken("out of memory");
	free(text);
	return code;
}

static int get(struct batch *batch, void *context)
{
	struct job *job = context;
	int64_t r;

	if (batch->count > job->capacity) {
		uint64_t *values = realloc(job->values, batch->count * sizeof(*values));

		if (!values)
			return broken("out of memory");
		job->values = values;
		job->capacity = batch->count;
	}
	r = blm_get_many(job->f, batch->keys, batch->count, job->values, batch->bits);
	if (r < 0)
		return fail(r);
	job->found += (uint64_t)r;
	return print_values(batch, job->values);
}

static int run(int count, char **operands)
{
	struct job job = { 0 };
	int code = open_filter(&job.f, operands[0], false, BLM_STORE_READ);

	if (code == DONE)
		code = load(job.f);
	if (code != DONE)
		return code;
	code = each_batch(operands + 1, (size_t)count - 1,
			  &(struct work){ .in_turn = get, .context = &job });
	free(job.values);
	blm_close(job.f);
	return code == DONE && !job.found ? NO : code;
}

static const struct opt *const options[] = { json_option, key_options, jobs_option, progress_option,
					     load_options, quiet_option, key_option, store_option,
					     NULL };

const struct command cmd_get = {
	.name = "get",
	.group = ON_KEYS,
	.summary = "print the lines whose keys have a value, each with a tab and the value; exit 1 "
	"if there are none",
	.operands = "F [FILE...]",
	.least = 1, .most = -1,
	.notes = "For kinds that hold values, see 'bloomery kinds'. A key that was never put can "
	"have one by mistake. The value\nof a recent filter is how many seconds ago the key was "
	"last seen.",
	.example = "echo bratwurst | bloomery get prices",
	.options = options,
	.run = run,
};
