/*
 * progress.c - how fast, how far, how long yet: on a terminal once the work takes a second, or
 * where it is asked for
 */
#include "progress.h"
#include "numbers.h"
#include "values.h"

#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 16 };

static bool wanted;
const struct opt progress_option[] = {
	{ 0, "progress", NULL, "show rate and time left, also where stderr is no terminal",
	  set_flag, &wanted },
	{ 0 }
};

static struct {
	bool on, terminal, shown;
	const char *phase;	/* NULL: reading */
	const char *unit;
	double begun, start, last;	/* start: of the phase */
	uint64_t total, keys, bytes;
} p;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Where it is asked for, the first line on a terminal comes at once. */
void progress_begin(uint64_t total_bytes)
{
	p.terminal = isatty(STDERR_FILENO);
	p.on = wanted || (p.terminal && !quiet);
	p.begun = p.start = p.last = now();
	if (wanted && p.terminal)
		p.last -= 1;
	p.total = total_bytes;
	p.phase = NULL;
	p.unit = "keys";
}

void progress_count_in(const char *unit)
{
	p.unit = unit;
}

static size_t terminal_columns(void)
{
	struct winsize window;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col ? window.ws_col : 80;
}

/* In one line, or the next one would not be written over it: the bar is left out first. */
static void show_on_terminal(const char *text, double part)
{
	size_t columns = terminal_columns(), head = p.phase ? strlen(p.phase) + 2 : 0;
	const char *bar = part > 0 && part <= 1 ? show_bar(part, BAR) : "";

	if (head + strlen(bar) + 2 + strlen(text) >= columns)
		bar = "";
	fprintf(stderr, "\r%s%s%s%s%.*s\033[K", p.phase ? p.phase : "", p.phase ? ": " : "", bar,
		*bar ? "  " : "", columns > head ? (int)(columns - head - 1) : 0, text);
}

static void show(double seconds)
{
	double rate = seconds > 0 ? (double)p.keys / seconds : 0, part = p.total
		? (double)p.bytes / (double)p.total : 0;
	char left[48] = "", text[160], count[32];

	if (part > 0 && part <= 1) {
		double wait = seconds / part - seconds;

		snprintf(left, sizeof(left), "  %3.0f %%  %d:%02d left", 100 * part,
			 (int)(wait / 60), (int)wait % 60);
	}
	snprintf(count, sizeof(count), "%llu", (unsigned long long)p.keys);
	snprintf(text, sizeof(text), "%s %s  %.3g million/s%s", p.terminal ? show_count(p.keys)
		 : count, p.unit, rate / 1e6, left);
	if (p.terminal)
		show_on_terminal(text, part);
	else
		fprintf(stderr, "%s%s%s\n", p.phase ? p.phase : "", p.phase ? ": " : "", text);
	p.shown = true;
}

void progress_now(uint64_t keys, uint64_t bytes)
{
	double t;

	p.keys = keys;
	p.bytes = bytes;
	if (!p.on || (t = now()) - p.last < 1)
		return;
	p.last = t;
	show(t - p.start);
}

void progress_of(const char *phase, uint64_t done, uint64_t total)
{
	if (p.phase != phase)
		p.start = now();
	p.phase = phase;
	p.total = total;
	progress_now(done, done);
}

/* The line that stays on the terminal: the work done since the first phase began. */
static void show_all(void)
{
	double seconds = now() - p.begun;

	fprintf(stderr, "\r%s %s", show_count(p.keys), p.unit);
	if (p.bytes && !p.phase)
		fprintf(stderr, ", %s", show_bytes(p.bytes));
	if (seconds >= 60)
		fprintf(stderr, ", %d:%02d min", (int)(seconds / 60), (int)seconds % 60);
	else
		fprintf(stderr, ", %.1f s", seconds);
	if (seconds > 0)
		fprintf(stderr, ", %.3g million/s", (double)p.keys / seconds / 1e6);
	fputs("\033[K\n", stderr);
}

void progress_end(void)
{
	if (p.on && wanted && !p.terminal)
		show(now() - p.start);
	if (p.on && p.terminal && (p.shown || wanted))
		show_all();
	p.on = false;
}
