/* report.c - the counts of each input are kept until all are done, then written in one step */
#include "report.h"
#include "../json.h"
#include "../overwrite.h"

#include <math.h>
#include <unistd.h>

static struct reported *entries;
static size_t entry_count, entry_capacity;

int corpus_report_file(const char *name, const struct tally *tally)
{
	if (!more_space(&entries, &entry_capacity, entry_count + 1, sizeof(*entries)))
		return broken("out of memory for the report");
	entries[entry_count++] = (struct reported){ name, tally ? *tally : (struct tally){ 0 },
						 !tally };
	return DONE;
}

void corpus_report_free(void)
{
	free(entries);
	entries = NULL;
	entry_count = entry_capacity = 0;
}

static void put_tally(const struct tally *t)
{
	json_count("documents", t->documents);
	json_count("documents_kept", t->kept);
	json_count("documents_removed", t->documents - t->kept);
	json_count("documents_shortened", t->shortened);
	json_count("lines_bad", t->bad);
	json_count("units", t->units);
	json_count("units_removed", t->removed);
	json_count("keys", t->keys);
	json_count("bytes", t->bytes);
	json_count("bytes_written", t->bytes_out);
	/* each mistake is an event of its own, so their number has the error of a Poisson law */
	if (corpus.by != BY_NGRAM) {
		json_real("by_mistake", t->by_mistake);
		json_real("by_mistake_error", sqrt(t->by_mistake));
	}
}

static void put_all(const char *verb, const struct run *run)
{
	static const char *const units[] = { "document", "paragraph", "ngram" };

	json_begin();
	json_text("verb", verb);
	json_text("by", units[corpus.by]);
	json_open("filters");
	for (size_t i = 0; i < run->count; i++) {
		json_open_object(NULL);
		json_text("name", run->names[i]);
		json_count("found", run->found[i]);
		json_close_object();
	}
	json_close();
	json_open("files");
	for (size_t i = 0; i < entry_count; i++) {
		json_open_object(NULL);
		json_text("file", entries[i].name);
		json_bool("finished_before", entries[i].before);
		if (!entries[i].before)
			put_tally(&entries[i].tally);
		json_close_object();
	}
	json_close();
	json_open_object("total");
	json_count("files", run->files);
	json_count("files_finished_before", run->finished);
	put_tally(&run->total);
	json_close_object();
	json_end();
}

static bool is_page(const char *path)
{
	size_t length = strlen(path);

	return length > 5 && !strcmp(path + length - 5, ".html");
}

struct written {
	const char *path, *verb;
	const struct run *run;
};

/* A failed write marks `out`, so overwrite_file() reports it. */
static void print_report(FILE *out, const void *context)
{
	const struct written *w = context;
	FILE *was = stdout;

	if (is_page(w->path)) {
		corpus_print_page(out, w->verb, w->run, entries, entry_count);
	} else {
		stdout = out;		/* where the writer of JSON puts it */
		put_all(w->verb, w->run);
		stdout = was;
	}
	if (fflush(out) == 0)
		fsync(fileno(out));
}

int corpus_report_write(const char *path, const char *verb, const struct run *run)
{
	return overwrite_file(path, usual_mode(), print_report,
			      &(struct written){ path, verb, run });
}
