/*
 * progress.c - how fast, how far, how long yet: on a terminal once the work takes a second, or
 * where it is asked for
 */
#include "progress.h"
#include "colour.h"
#include "numbers.h"
#include "signals.h"
#include "values.h"

#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 16 };

static bool wanted;
const struct opt progress_option[] = {
	{ 0, "progress", NULL, "show rate and time left, even if stderr is not a terminal",
	  set_flag, &wanted },
	{ 0 }
};

static struct {
	bool on, terminal, shown;
	bool plain;		/* the terminal understands no codes */
	size_t width;		/* of the line that is on it */
	const char *phase;	/* NULL: reading */
	const char *unit;	/* of the last line; NULL: bytes */
	bool in_bytes;		/* the phase counts bytes */
	bool in_unit;		/* the last line is about what progress_of() counts */
	double begun, start, last;	/* start: of the phase */
	uint64_t total, keys, bytes;
	uint64_t counted;	/* keys of the last phase that counts them: */
	const char *counting;
	double counted_from;	/* when that phase began */
	uint64_t from;		/* of a call's bytes: done before `start` */
	uint64_t most;		/* bytes of the last phase that had any */
	uint64_t written;	/* ... of the phase that writes to the disk */
	uint64_t before;	/* ... of the calls before this one, together */
	uint64_t made;		/* bytes of the new file; 0: not told */
} p;

/* Is the cursor in the line? Read by the handler of a signal. */
static volatile sig_atomic_t in_line;

/* What the shell prints next begins a line of its own, and the last state stays to be seen. */
static void end_line(void)
{
	ssize_t ignored;

	if (!in_line)
		return;
	in_line = 0;
	ignored = write(STDERR_FILENO, "\n", 1);
	(void)ignored;
}

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
	p.plain = !understands_codes();
	p.on = wanted || (p.terminal && !quiet);
	if (p.on && p.terminal)
		say_when_killed(end_line);
	p.begun = p.start = p.last = now();
	if (wanted && p.terminal)
		p.last -= 1;
	p.total = total_bytes;
	p.from = p.most = p.written = p.before = p.counted = p.made = 0;
	p.counting = NULL;
	p.counted_from = p.begun;
	p.shown = p.in_bytes = p.in_unit = false;
	p.phase = NULL;
	p.unit = "keys";
}

bool progress_wanted(void)
{
	return wanted;
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

/* Over the line that is there. The rest of that line goes: without codes, by spaces. */
static void put_line(const char *line, const char *end)
{
	size_t width = strlen(line);

	if (p.plain)
		fprintf(stderr, "\r%s%*s%s", line,
			p.width > width ? (int)(p.width - width) : 0, "", end);
	else
		fprintf(stderr, "\r%s\033[K%s", line, end);
	p.width = width;
}

/* In one line, or the next one would not be written over it: the bar is left out first. */
static void show_on_terminal(const char *text, double part)
{
	size_t columns = terminal_columns(), head = p.phase ? strlen(p.phase) + 2 : 0;
	const char *bar = part > 0 && part <= 1 ? show_bar(part, BAR) : "";
	char line[256];

	if (head + strlen(bar) + 2 + strlen(text) >= columns)
		bar = "";
	snprintf(line, sizeof(line), "%s%s%s%s%s", p.phase ? p.phase : "", p.phase ? ": " : "",
		 bar, *bar ? "  " : "", text);
	if (strlen(line) >= columns)
		line[columns - 1] = 0;
	in_line = 1;
	put_line(line, "");
}

/* Of keys, or of what takes longer, such as whole filters. */
static const char *show_speed(double rate)
{
	static char text[32];

	if (rate < 1000 && (rate > 0 || strcmp(p.unit, "keys")))
		snprintf(text, sizeof(text), "%.3g/s", rate);
	else
		snprintf(text, sizeof(text), "%.3g million/s", rate / 1e6);
	return text;
}

/* How much, and how fast. */
static void show_amount(char *to, size_t capacity, double seconds)
{
	double rate = seconds > 0 ? (double)(p.keys - p.from) / seconds : 0;

	if (p.in_bytes && !p.keys)
		snprintf(to, capacity, "...");
	else if (p.in_bytes)
		snprintf(to, capacity, rate > 0 ? "%s  %s/s" : "%s", show_bytes(p.keys),
			 show_bytes((uint64_t)rate));
	else if (p.terminal)
		snprintf(to, capacity, "%s %s  %s", show_count(p.keys), p.unit,
			 show_speed(rate));
	else
		snprintf(to, capacity, "%llu %s  %s", (unsigned long long)p.keys,
			 p.unit, show_speed(rate));
}

static void show(double seconds)
{
	double part = p.total ? (double)p.bytes / (double)p.total : 0;
	char left[48] = "", text[160], amount[96];

	if (part > 0 && part <= 1 && p.bytes > p.from) {
		double wait = seconds * (double)(p.total - p.bytes) / (double)(p.bytes - p.from);

		snprintf(left, sizeof(left), "  %3.0f %%  %d:%02d left", 100 * part,
			 (int)(wait / 60), (int)wait % 60);
	}
	show_amount(amount, sizeof(amount), seconds);
	snprintf(text, sizeof(text), "%s%s", amount, left);
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

static void show_phase(const char *phase, uint64_t done, uint64_t total)
{
	if (p.phase != phase) {
		p.start = now();
		p.from = p.in_bytes ? done : 0;
		if (p.shown && p.terminal)
			p.last -= 1;	/* the line names the phase at once */
	}
	p.phase = phase;
	p.total = total;
	progress_now(done, done);
}

void progress_of(const char *phase, uint64_t done, uint64_t total)
{
	p.in_bytes = !p.unit;
	show_phase(phase, done, total);
	if (p.unit) {
		p.counted = done;
		p.counting = phase;
		p.counted_from = p.start;
	}
}

/* Of one call, however many phases pass over the same bytes. */
static uint64_t bytes_done(void)
{
	return p.most > p.written ? p.most : p.written;
}

static void told(void *context, const char *phase, uint64_t done, uint64_t total)
{
	if (!strcmp(phase, "writing to the disk"))
		p.written = done;
	else if (done)
		p.most = done;
	if (!p.in_unit)
		p.unit = NULL;		/* also after phases that count keys */
	p.in_bytes = true;
	show_phase(phase, done, total);
}

void progress_of_calls(void)
{
	progress_begin(0);
	p.unit = NULL;
	p.in_bytes = true;
	if (p.on)
		blm_use_progress(told, NULL);
}

void progress_of_calls_too(void)
{
	p.in_unit = true;
	if (p.on)
		blm_use_progress(told, NULL);
}

void progress_made(uint64_t bytes)
{
	p.made = bytes;
}

void progress_of_next_call(void)
{
	p.before += bytes_done();
	p.most = p.written = 0;
	p.phase = NULL;
}

void progress_hide(void)
{
	if (in_line)
		put_line("", p.plain ? "\r" : "");
	in_line = 0;
}

/* The line that stays on the terminal: the work done since the first phase began. */
static void show_all(void)
{
	double seconds = now() - p.begun;
	uint64_t size = p.made ? p.made : p.phase ? 0 : p.bytes;
	char line[256];
	int at;

	if (p.unit)
		at = snprintf(line, sizeof(line), "%s %s%s%s", show_count(p.keys), p.unit,
			      size ? ", " : "", size ? show_bytes(size) : "");
	else
		at = snprintf(line, sizeof(line), "%s", show_bytes(p.most));
	if (seconds >= 60)
		at += snprintf(line + at, sizeof(line) - (size_t)at, ", %d:%02d min",
			       (int)(seconds / 60), (int)seconds % 60);
	else
		at += snprintf(line + at, sizeof(line) - (size_t)at, ", %.1f s", seconds);
	if (seconds > 0 && p.unit)
		snprintf(line + at, sizeof(line) - (size_t)at, ", %s",
			 show_speed((double)p.keys / seconds));
	else if (seconds > 0)
		snprintf(line + at, sizeof(line) - (size_t)at, ", %s/s",
			 show_bytes((uint64_t)((double)p.most / seconds)));
	put_line(line, "\n");
	p.width = 0;
	in_line = 0;
}

/* The library's phases are over: all of the work is one phase again. */
static void sum_up(void)
{
	if (p.unit) {
		if (p.in_bytes) {
			p.keys = p.bytes = p.total = p.counted;
			p.phase = p.counting;
			p.start = p.counted_from;
			p.from = 0;
		}
		p.in_bytes = false;
		return;
	}
	p.most = bytes_done() + p.before;
	if (!p.most) {
		progress_hide();
		p.on = false;
	}
	p.phase = NULL;
	p.in_bytes = true;
	p.keys = p.bytes = p.total = p.most;
	p.from = 0;
	p.start = p.begun;
}

void progress_end(void)
{
	blm_use_progress(NULL, NULL);
	if (p.on)
		sum_up();
	if (p.on && wanted && !p.terminal)
		show(now() - p.start);
	if (p.on && p.terminal && (p.shown || wanted))
		show_all();
	p.on = false;
}

void progress_end_of_call(int64_t r)
{
	if (r >= 0) {
		progress_end();
		return;
	}
	blm_use_progress(NULL, NULL);
	progress_hide();
	p.on = false;
}
