/* fit.c - lines of stdout that fit the window: a stream before stdout that waits for whole lines */
#include "fit.h"
#include "command.h"
#include "wrap.h"

static struct {
	FILE *before;			/* stdout as it was */
	unsigned indent, width;
	char *line;
	size_t bytes, capacity;
} fit;

/* Where to break, so that at most `columns` of them come before it; 0: nowhere. */
static size_t break_at(const char *text, size_t from, size_t columns)
{
	size_t end = fitting_bytes(text, columns), at;

	if (!text[end])
		return 0;
	for (at = end; at > from; at--)
		if (text[at] == ' ')
			return at;
	/* a word that is wider than the window; a name that has a line of its own can be copied */
	if (end <= from || (text == fit.line && !from && !strchr(text, ' ')))
		return 0;
	return from + bytes_before_break(text + from, end - from);
}

static void put_line(void)
{
	const char *text = fit.line;
	size_t lead = strspn(text, " "), indent = lead > fit.indent ? lead + 2 : fit.indent;
	size_t columns = fit.width, from = lead, end;

	if (indent > fit.width / 2)
		indent = fit.width / 4;
	if (lead > fit.width / 2) {
		text += lead - fit.width / 4;
		from = fit.width / 4;
	}
	while ((end = break_at(text, from, columns))) {
		size_t kept = end;

		while (kept > 0 && text[kept - 1] == ' ')
			kept--;
		fprintf(fit.before, "%.*s\n%*s", (int)kept, text, (int)indent, "");
		text += end + strspn(text + end, " ");
		columns = fit.width - indent;
		from = 0;
	}
	fprintf(fit.before, "%s\n", text);
	fit.bytes = 0;
}

static ssize_t take(void *cookie, const char *bytes, size_t count)
{
	(void)cookie;
	for (size_t i = 0; i < count; i++) {
		if (fit.bytes + 1 >= fit.capacity) {
			size_t capacity = fit.capacity ? 2 * fit.capacity : 512;
			char *line = realloc(fit.line, capacity);

			if (!line)
				return 0;
			fit.line = line;
			fit.capacity = capacity;
		}
		fit.line[fit.bytes] = bytes[i] == '\n' ? '\0' : bytes[i];
		fit.bytes++;
		if (bytes[i] == '\n')
			put_line();
	}
	return ferror(fit.before) ? 0 : (ssize_t)count;
}

void fit_output(unsigned indent)
{
	FILE *fitting;

	fit.width = window_width();
	if (json || !fit.width || fit.before)
		return;
	fitting = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = take });
	if (!fitting)
		return;		/* then the lines are as wide as they are */
	setvbuf(fitting, NULL, _IOLBF, BUFSIZ);
	fit.indent = indent;
	fit.before = stdout;
	stdout = fitting;
}

void end_fitting(void)
{
	FILE *fitting = stdout;

	if (!fit.before)
		return;
	fflush(fitting);
	if (fit.bytes)
		fprintf(fit.before, "%.*s", (int)fit.bytes, fit.line);
	stdout = fit.before;
	fclose(fitting);
	free(fit.line);
	memset(&fit, 0, sizeof(fit));
}
