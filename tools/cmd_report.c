/* cmd_report.c - bloomery report: a page about a store, for a browser */
#include "apart.h"
#include "overwrite.h"
#include "place.h"
#include "progress.h"
#include "report.h"
#include "terms.h"
#include "values.h"

#include <limits.h>

static const char *file, *history;
static bool full, findings;
static const struct opt own_options[] = {
	{ 'o', "output", "FILE", "replace FILE by the page; - is standard output", set_text,
	  &file },
	{ 0, "history", "FILE", "read earlier looks from FILE, and add this one; "
	  "'bloomery watch --history' adds some, too", set_text, &history },
	{ 0, "full", NULL, "read all data, however much: else each section reads at most 1 GiB",
	  set_flag, &full },
	/* how the program calls itself: */
	{ 0, "findings", NULL, NULL, set_flag, &findings },
	{ 0 }
};

/* ---- What verify found, by a process of its own, which prints rows of a table ---- */

static void print_finding(void *context, const struct blm_finding *found)
{
	size_t *count = context;

	if ((*count)++ >= REPORT_FINDINGS)
		return;
	fputs("<tr><td><bdi>", stdout);
	html_text(stdout, found->name ? found->name : "");
	fputs("</bdi></td><td><bdi>", stdout);
	html_text(stdout, found->file);
	fputs("</bdi></td><td>! ", stdout);
	html_text(stdout, own_terms(found->what));
	fputs(found->lost ? "; keys are lost</td></tr>\n" : "</td></tr>\n", stdout);
}

static int print_findings(const char *dir)
{
	size_t count = 0;
	int64_t r;

	progress_of_calls();
	r = blm_store_verify(dir, takes_anyones() ? BLM_VERIFY_ANYONE : 0, print_finding, &count);
	progress_end_of_call(-1);	/* the line at the end is of the whole report */
	if (r < 0)
		return FAILED;
	if (count > REPORT_FINDINGS)
		printf("<tr><td></td><td></td><td>and %zu more: <code>bloomery verify</code> has "
		       "all</td></tr>\n", count - REPORT_FINDINGS);
	return r ? NO : DONE;
}

static int verify(struct report *report)
{
	const char *arguments[] = { "bloomery", "report", "--findings", "--store", report->dir,
				    NULL, NULL, NULL, NULL };
	size_t bytes, at = 5;
	FILE *out = open_memstream(&report->findings, &bytes);

	if (!out)
		return broken("out of memory");
	if (takes_anyones())
		arguments[at++] = "--anyone";
	if (quiet)
		arguments[at++] = "--quiet";
	if (progress_wanted())
		arguments[at++] = "--progress";
	progress_hide();
	report->verify_code = run_apart(arguments, out, &report->verify_signal);
	return fclose(out) || !report_mark_found(report) ? broken("out of memory") : DONE;
}

/* ---- The page ---- */

static int add_to_history(struct blm_store *store, const char *pattern)
{
	struct looks looks;
	int code = looks_take(&looks, store, pattern);

	if (code != DONE)
		return code;
	code = history_add(history, &looks);
	looks_free(&looks);
	return code;
}

struct page {
	char *text;
	size_t bytes;
};

static void print_page(FILE *out, const void *context)
{
	const struct page *page = context;

	fwrite(page->text, 1, page->bytes, out);
}

/* In memory first: a signal during the long work finds no file that is half-made. */
static int write_page(const struct report *report)
{
	struct page page = { 0 };
	FILE *out = open_memstream(&page.text, &page.bytes);
	int code;

	if (!out)
		return broken("out of memory");
	print_report(out, report);
	code = fclose(out) ? broken("out of memory") : overwrite_file(file, usual_mode(),
								      print_page, &page);
	free(page.text);
	return code;
}

static int make_page(struct report *report)
{
	int code;

	progress_begin(0);
	progress_count_in("filters");
	code = report_gather(report);
	if (code == DONE && (full || report->data_bytes <= REPORT_BUDGET))
		code = verify(report);
	if (code == DONE)
		code = write_page(report);
	if (code == DONE)
		progress_of("writing", report->count, report->count);
	if (code == DONE && history)
		code = add_to_history(report->store, report->pattern);
	progress_end_of_call(code == DONE ? 0 : -1);
	report_free(report);
	return code;
}

static int run(int count, char **operands)
{
	struct report report = { .pattern = count ? operands[0] : NULL, .full = full,
		.history_file = history };
	const char *dir = store_dir();
	char whole[PATH_MAX];
	int code;

	if (!dir)
		return FAILED;
	if (findings)
		return print_findings(dir);
	if (!file)
		return misuse("report: give -o FILE, or -o - for standard output");
	if (history && (!*history || !strcmp(history, "-")))
		return misuse("report: --history takes the path of a file");
	if (history && overwrites(file, history))
		return misuse("report: -o %s would replace the history", file);
	code = find_store(&report.store, BLM_STORE_READ);
	if (code != DONE)
		return code;
	report.dir = realpath(dir, whole) ? whole : dir;
	return make_page(&report);
}

static const struct opt *const options[] = { own_options, progress_option, quiet_option,
					     store_option, NULL };

const struct command cmd_report = {
	.name = "report",
	.group = ON_STORES,
	.summary = "write a page about the store for a browser: filters, capacity, overlaps, "
	"findings",
	.operands = "[PATTERN] -o FILE",
	.least = 0, .most = 1,
	.notes = "The page is one file, and loads nothing. A pace is that of the last seven days "
	"of the history, or without a history the average since the filter was made. The page is "
	"replaced as a whole, or the old one stays.",
	.example = "bloomery report -o report.html --history history",
	.options = options,
	.run = run,
};
