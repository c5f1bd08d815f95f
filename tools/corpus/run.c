/*
 * run.c - the files of a run, one after the other
 *
 * A file that has its output is finished. Several processes can have the same files. Each takes a
 * file that no other process has, by the lock of its journal. At the end it waits for the files of
 * the others, and does those whose process died.
 */
#include "run.h"
#include "../json.h"
#include "../numbers.h"
#include "../output.h"
#include "../progress.h"
#include "../signals.h"
#include "../source.h"
#include "report.h"
#include "result.h"

#include <math.h>
#include <sys/stat.h>

/* bytes of a block with a journal, which is synced once for each block */
enum { JOURNALED_BLOCK = 4 << 20 };

/* ---- What was done ---- */

void count_batch(struct tally *t, const struct batch_of_documents *b, bool claims)
{
	uint64_t units = t->units, removed = t->removed;

	t->bytes += b->bytes;
	t->bad += b->bad;
	t->documents += b->document_count;
	for (size_t i = 0; i < b->document_count; i++) {
		const struct document *d = &b->documents[i];

		t->units += d->keyed;
		t->keys += d->keys;
		t->removed += d->gone;
		t->kept += !d->removed;
		t->shortened += d->gone && !d->removed;
	}
	/* how many of the units that were new are removed by mistake */
	if (claims && corpus.by != BY_NGRAM && b->rate < 1)
		t->by_mistake += (double)(t->units - units - (t->removed - removed)) * b->rate
			/ (1 - b->rate);
}

void add_tally(struct tally *to, const struct tally *t)
{
	to->documents += t->documents;
	to->kept += t->kept;
	to->shortened += t->shortened;
	to->bad += t->bad;
	to->units += t->units;
	to->removed += t->removed;
	to->keys += t->keys;
	to->bytes += t->bytes;
	to->bytes_out += t->bytes_out;
	to->by_mistake += t->by_mistake;
}

static const char *unit_name(void)
{
	return corpus.by == BY_DOCUMENT
		|| (corpus.by == BY_NGRAM && corpus.judged == JUDGE_DOCUMENTS)
		? "documents" : "paragraphs";
}

static void print_tally_json(const char *name, const struct tally *t)
{
	json_begin();
	json_text("file", name);
	json_count("documents", t->documents);
	json_count("kept", t->kept);
	json_count("shortened", t->shortened);
	json_count("bad", t->bad);
	json_count("units", t->units);
	json_count("removed", t->removed);
	json_count("keys", t->keys);
	json_count("bytes", t->bytes);
	if (corpus.by != BY_NGRAM) {
		json_real("by_mistake", t->by_mistake);
		json_real("by_mistake_error", sqrt(t->by_mistake));
	}
	json_end();
}

void print_tally(const char *name, const struct tally *t)
{
	const char *title = name ? name : "total";

	if (json) {
		print_tally_json(name, t);
		return;
	}
	print_data(title, strlen(title));
	printf("\t%llu documents, %llu kept", (unsigned long long)t->documents,
	       (unsigned long long)t->kept);
	if (t->shortened)
		printf(", %llu of these shortened", (unsigned long long)t->shortened);
	if (t->bad)
		printf(", %llu lines bad", (unsigned long long)t->bad);
	printf("\t%llu %s with %llu keys, %llu removed", (unsigned long long)t->units, unit_name(),
	       (unsigned long long)t->keys, (unsigned long long)t->removed);
	if (t->by_mistake > 0)
		printf(" (by mistake: %.2g expected)", t->by_mistake);
	putchar('\n');
}

/* ---- One file ---- */

static int do_batch(struct run *r, struct batch_of_documents *b, struct tally *t,
		    struct result *result)
{
	int code = r->work(r, b);

	if (code != DONE)
		return code;
	code = judge(b);
	if (code != DONE)
		return code;
	count_batch(t, b, r->claims);
	return r->writes ? write_documents(b, result) : DONE;
}

static int do_blocks(struct run *r, struct source *source, struct result *result,
		     struct tally *t)
{
	struct batch_of_documents batch = { .cuts = r->writes && writes_texts() };
	struct block block = { .most = r->journaled ? JOURNALED_BLOCK : 0 };
	int code = DONE, more;

	while (code == DONE && !stopping() && (more = block_read(&block, source)) != 0) {
		code = more < 0 ? FAILED : cut_block(&r->cutter, &block, source->name, &batch);
		if (code == DONE)
			code = do_batch(r, &batch, t, result);
		progress_now(r->total.documents + t->documents, r->total.bytes + source->taken);
	}
	t->bad += block.too_long;
	batch_of_documents_free(&batch);
	block_free(&block);
	return code;
}

static int do_file(struct run *r, const struct file *file, struct tally *ret)
{
	struct source source;
	struct result result;
	int code = source_open(&source, file->name, NULL);

	if (code != DONE)
		return code;
	r->next = 0;
	code = result_begin(&result, file->place, source.packing ? source.packing->name : NULL);
	if (code == DONE) {
		code = r->begin_file ? r->begin_file(r, file->name) : DONE;
		if (code == DONE)
			code = do_blocks(r, &source, &result, ret);
		if (r->end_file)
			code = r->end_file(r, stopping() ? FAILED : code);
		/* the answers so far also where standard output gets them */
		if ((code == DONE && !stopping()) || !file->place)
			code = result_finish(&result) == DONE ? code : FAILED;
		ret->bytes_out = result.written;
		result_drop(&result);
	}
	source_close(&source);
	return code;
}

/* ---- Whose a file is ---- */

bool is_finished(const struct file *file)
{
	struct stat st;

	return file->place && lstat(file->place, &st) == 0;
}

static int take_file(struct run *r, struct file *file, bool wait)
{
	char *path = NULL;
	uint8_t mark[MARK];
	int code = journal_place(r, file->name, file->place, &path, mark);

	if (code == DONE)
		code = journal_open(&r->journal, r->claims ? &r->ledger : NULL, path, mark, wait,
				    &file->busy);
	r->journaled = code == DONE && !file->busy;
	free(path);
	return code;
}

/* A process can die after it renamed its output and before it unlinked its journal. */
static int do_or_skip(struct run *r, struct file *file, bool wait)
{
	struct tally t = { 0 };
	int code = file->place ? take_file(r, file, wait) : DONE;

	if (code != DONE || file->busy)
		return code;
	if (is_finished(file)) {
		r->finished++;
		code = corpus_report_file(file->name, NULL);
	} else {
		code = do_file(r, file, &t);
		r->files++;
		add_tally(&r->total, &t);
		if (code == DONE)
			code = corpus_report_file(file->name, &t);
		if (code == DONE && !stopping() && (file->place || !r->writes))
			print_tally(file->name, &t);
	}
	if (r->journaled)
		code = leave_journal(r, code, is_finished(file));
	return code;
}

/* ---- All of them ---- */

static int by_place(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->place, ((const struct file *)b)->place);
}

/* An output that exists is finished, so such an input would be skipped. */
static int check_place(const struct file *file)
{
	struct stat in, out;

	if (!file->place || stat(file->name, &in) < 0 || stat(file->place, &out) < 0
	    || in.st_dev != out.st_dev || in.st_ino != out.st_ino)
		return DONE;
	return broken("%s: %s is the same file, and no file is written over itself; give another "
		      "folder with -o", file->name, file->place);
}

int find_places(struct run *r, struct file *files, char **names, size_t count)
{
	struct file *sorted;
	int code = DONE;

	for (size_t i = 0; i < count && code == DONE; i++) {
		files[i].name = names[i];
		if (r->writes && (corpus.dir || corpus.attributes))
			code = output_place(names[i], &files[i].place);
		if (code == DONE)
			code = check_place(&files[i]);
	}
	if (code != DONE)
		return code;
	sorted = calloc(count + 1, sizeof(*sorted));
	if (!sorted)
		return broken("out of memory");
	memcpy(sorted, files, count * sizeof(*sorted));
	if (count && files[0].place)
		qsort(sorted, count, sizeof(*sorted), by_place);
	for (size_t i = 1; i < count && code == DONE && sorted[i].place; i++)
		if (!strcmp(sorted[i - 1].place, sorted[i].place))
			code = broken("%s, %s: both would become %s; put them into different runs",
				      sorted[i - 1].name, sorted[i].name, sorted[i].place);
	free(sorted);
	return code;
}

int run_files(struct run *r, char **names, size_t count)
{
	static char dash[] = "-", *standard[] = { dash };
	struct file *files;
	int code;

	names = count ? names : standard;
	count = count ? count : 1;
	files = calloc(count, sizeof(*files));
	if (!files)
		return broken("out of memory");
	code = find_places(r, files, names, count);
	for (size_t i = 0; i < count && code == DONE && r->claims && files[i].place; i++)
		code = stopping() ? DONE : restore_keys(r, files[i].name, files[i].place);
	progress_begin(source_total(names, count));
	for (size_t i = 0; i < count && code == DONE && !stopping(); i++)
		code = do_or_skip(r, &files[i], false);
	for (size_t i = 0; i < count && code == DONE && !stopping(); i++)
		if (files[i].busy)
			code = do_or_skip(r, &files[i], true);
	progress_end();
	code = delete_journals(r, code);
	if (code == DONE && r->finished && !quiet && !stopping())
		say("%s of %s files were finished before", show_count(r->finished),
		    show_count(count));
	/* elsewhere the counts of each file say it */
	if (code == DONE && r->total.bad && r->writes && !files[0].place && !quiet)
		say("%s bad lines are left out", show_count(r->total.bad));
	for (size_t i = 0; i < count; i++)
		free(files[i].place);
	free(files);
	return code;
}
