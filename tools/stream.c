/* stream.c - a command's work on every batch of keys of its input */
#include "stream.h"
#include "numbers.h"
#include "progress.h"
#include "signals.h"

struct stream {
	struct batch batch;
	int (*work)(struct batch *batch, void *context);
	void *context;
	uint64_t keys, bytes;	/* of the files before this one, then of all */
};

static int each_of(struct stream *s, struct source *source)
{
	struct lines lines;
	int code = DONE, r;

	lines_begin(&lines, source);
	do {
		r = lines_next(&lines, &s->batch);
		if (s->batch.count)	/* also what came before a line that is wrong */
			code = s->work(&s->batch, s->context);
		s->keys += s->batch.count;
		progress_now(s->keys, s->bytes + source->taken);
	} while (r > 0 && code == DONE && !stopping());
	s->bytes += source->taken;
	lines_end(&lines);
	return r < 0 && code == DONE ? FAILED : code;
}

static int each_file(struct stream *s, char **files, size_t count)
{
	int code = DONE;

	for (size_t i = 0; i < count && code == DONE && !stopping(); i++) {
		struct source source;

		code = source_open(&source, files[i]);
		if (code != DONE)
			break;
		code = each_of(s, &source);
		source_close(&source);
	}
	return code;
}

int each_batch(char **files, size_t count, size_t most, int (*work)(struct batch *batch, void *context), void *context)
{
	struct stream s = { .work = work, .context = context };
	char standard_input[] = "-", *alone[] = { standard_input };
	int code = keys_check();

	if (!count) {
		files = alone;
		count = 1;
	}
	if (code == DONE)
		code = batch_make(&s.batch, most);
	if (code == DONE) {
		catch_signals();
		progress_begin(source_total(files, count));
		code = each_file(&s, files, count);
		progress_end();
	}
	batch_free(&s.batch);
	return code == ENOUGH ? DONE : code;
}

/* The count is exact enough to warn by; the rate comes from the bits as they are. */
void warn_beyond(const struct blm_filter *f, const char *name)
{
	static bool warned;
	struct blm_estimate estimate;
	struct blm_info info;

	if (warned || quiet || blm_info(f, &info) < 0 || info.keys <= info.capacity)
		return;
	warned = true;
	if (blm_estimate(f, false, &estimate) < 0)
		estimate.rate.value = info.rate_at_capacity;
	say("warning: %s holds %llu keys, made for %llu; it answers wrongly at a rate of %s now, and more with each key", name,
	    (unsigned long long)info.keys, (unsigned long long)info.capacity, show_rate(estimate.rate.value));
}
