/* page.c - the file of --report as a page for a browser, in the style of `bloomery report` */
#include "../numbers.h"
#include "../report.h"
#include "report.h"

#include <math.h>
#include <time.h>

static const char *const units[] = { "documents", "paragraphs", "n-grams" };

static uint64_t removed(const struct tally *t)
{
	return t->documents - t->kept;
}

static const char *show_real(double number)
{
	static char text[40];

	snprintf(text, sizeof(text), number < 99.5 ? "%.2g" : "%.0f", number);
	return text;
}

static void print_mistakes(FILE *out, const struct tally *t)
{
	char text[100];

	if (corpus.by == BY_NGRAM)
		return;
	snprintf(text, sizeof(text), "%s ", show_real(t->by_mistake));
	strcat(strcat(text, "&#177; "), show_real(sqrt(t->by_mistake)));
	html_tile(out, text, "removed by mistake, expected", "");
}

static void print_tiles(FILE *out, const struct run *r)
{
	const struct tally *t = &r->total;

	fputs("<dl class=\"tiles\">\n", out);
	html_tile(out, show_count(r->files), "files", "");
	if (r->finished)
		html_tile(out, show_count(r->finished), "finished before", "");
	html_tile(out, show_count(t->documents), "documents", "");
	html_tile(out, show_count(t->kept), "kept", "");
	html_tile(out, show_count(removed(t)), "removed", "");
	html_tile(out, show_count(t->shortened), "shortened", "");
	html_tile(out, show_bytes(t->bytes), "read", "");
	if (r->writes)
		html_tile(out, show_bytes(t->bytes_out), "written", "");
	print_mistakes(out, t);
	html_worry(out, t->bad, "bad lines");
	fputs("</dl>\n", out);
}

static void print_filters(FILE *out, const struct run *r)
{
	if (!r->count)
		return;
	fputs("<p>Filters: ", out);
	for (size_t i = 0; i < r->count; i++) {
		fputs(i ? ", <bdi>" : "<bdi>", out);
		html_text(out, r->names[i]);
		fputs("</bdi>", out);
		if (!r->claims)
			fprintf(out, " (%s units have a key of it)", show_count(r->found[i]));
	}
	fputs(".</p>\n", out);
}

static void print_cell(FILE *out, double value, const char *text)
{
	fprintf(out, "<td data-v=\"%.17g\">%s</td>", value, text);
}

static void print_row(FILE *out, const struct reported *file)
{
	const struct tally *t = &file->tally;
	const uint64_t counts[] = { t->documents, t->kept, removed(t), t->shortened, t->removed };
	double share = t->documents ? (double)removed(t) / (double)t->documents : 0;

	fputs("<tr><th scope=\"row\"><bdi>", out);
	html_text(out, file->name);
	fprintf(out, "</bdi></th><td>%s</td>", file->before ? "finished before" : "done");
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		print_cell(out, (double)counts[i], file->before ? "" : show_count(counts[i]));
	fprintf(out, "<td data-v=\"%.17g\">", share);
	if (!file->before) {
		html_bar(out, share);
		fputs(show_share(share), out);
	}
	fputs("</td>", out);
	print_cell(out, (double)t->bytes, file->before ? "" : show_bytes(t->bytes));
	print_cell(out, t->by_mistake, file->before || corpus.by == BY_NGRAM ? ""
		   : show_real(t->by_mistake));
	print_cell(out, (double)t->bytes_out, file->before ? "" : show_bytes(t->bytes_out));
	print_cell(out, (double)t->bad, file->before ? "" : show_count(t->bad));
	fputs("</tr>\n", out);
}

static void print_files(FILE *out, const struct reported *files, size_t count)
{
	fputs("<section id=\"files\">\n<h2>Files</h2>\n<p id=\"tools\" hidden=\"hidden\">"
	      "<label>Find <input id=\"find\" type=\"search\"/></label> <span id=\"shown\"></span> "
	      "A click on the head of a column sorts by it.</p>\n<div class=\"wide\"><table "
	      "id=\"all\">\n<thead><tr><th>file</th><th>state</th><th>documents</th><th>kept</th>"
	      "<th>removed</th><th>shortened</th>", out);
	fprintf(out, "<th>%s removed</th><th>share removed</th><th>read</th><th>by mistake</th>"
		"<th>written</th><th>bad lines</th></tr></thead>\n<tbody>\n",
		corpus.by == BY_NGRAM ? "units" : units[corpus.by]);
	for (size_t i = 0; i < count; i++)
		print_row(out, &files[i]);
	fputs("</tbody>\n</table></div>\n<p class=\"d\">'By mistake' is how many are expected to "
	      "be removed only because the filter has false positives.</p>\n</section>\n", out);
}

void corpus_print_page(FILE *out, const char *verb, const struct run *r,
		       const struct reported *files, size_t count)
{
	html_begin(out, "The corpus after", verb);
	fprintf(out, "<p>As of %s (all times are UTC), by bloomery " BLM_VERSION "; by %s.</p>\n",
		show_time((uint64_t)time(NULL) * 1000000000), units[corpus.by]);
	print_tiles(out, r);
	print_filters(out, r);
	print_files(out, files, count);
	html_end(out);
}
