/* cmd_top.c - bloomery top: the filters of a store as they change, in a terminal */
#include "look.h"
#include "numbers.h"
#include "output.h"
#include "place.h"
#include "signals.h"
#include "values.h"
#include "wrap.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static struct every every = { .seconds = 1 };
static const char *sort_by;
static const struct opt own_options[] = {
	{ 0, "every", "TIME", "look again after each such time (default: 1s)", set_every, &every },
	{ 0, "sort", "COLUMN", "the order: name, keys, full, pace, open; while it runs by their "
	  "first letters", set_text, &sort_by },
	{ 0 }
};

/* ---- The order ---- */

static double full(const struct look *l) { return l->capacity ? l->keys / l->capacity : 0; }
static double keys(const struct look *l) { return l->keys; }
static double pace(const struct look *l) { return l->pace; }
static double processes(const struct look *l) { return l->processes; }

static const struct order {
	const char *name;
	double (*value)(const struct look *look);	/* the largest first; NULL: by name */
} orders[] = {
	{ "name", NULL }, { "keys", keys }, { "full", full }, { "pace", pace },
	{ "open", processes },
};
static const struct order *order = &orders[0];

static int compare(const void *a, const void *b)
{
	const struct look *const *x = a, *const *y = b;
	double u = order->value ? order->value(*x) : 0, v = order->value ? order->value(*y) : 0;

	return u > v ? -1 : u < v ? 1 : strcmp((*x)->name, (*y)->name);
}

static bool set_order(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(orders); i++)
		if (!strncmp(orders[i].name, name, strlen(name)) && *name) {
			order = &orders[i];
			return true;
		}
	return false;
}

/* ---- One screen ---- */

/* "never", "12 s", "5 min", "3 h", "9 d" */
static const char *show_ago(double when)
{
	static char text[24];
	double ago = difftime(time(NULL), (time_t)when);

	if (when == 0)
		return "never";
	if (ago < 100)
		snprintf(text, sizeof(text), "%.0f s", ago < 0 ? 0 : ago);
	else if (ago < 100 * 60)
		snprintf(text, sizeof(text), "%.0f min", ago / 60);
	else if (ago < 48 * 3600)
		snprintf(text, sizeof(text), "%.0f h", ago / 3600);
	else
		snprintf(text, sizeof(text), "%.0f d", ago / 86400);
	return text;
}

/* A mark for a filter that is at 80 % of its capacity, and another for one beyond it. */
static const char *mark(const struct look *look)
{
	return full(look) > 1 ? "!!" : full(look) >= 0.8 ? " !" : "  ";
}

static void print_row(FILE *out, const struct look *look, unsigned width)
{
	char name[BLM_ESCAPED_MOST * sizeof(look->name) + 1];
	const char *count = look->keys < 0x1p63 ? show_count((uint64_t)look->keys) : "-";
	int column = fprintf(out, "%14s %4.0f%% %s %8s %8s %8.3g %5d %7s  ", count,
			     100 * full(look), mark(look), show_rate(look->predicted),
			     show_rate(look->rate), look->pace, look->processes,
			     look->unread ? "?" : show_ago(look->synced));
	size_t room = !width ? SIZE_MAX : width > (unsigned)column + 8 ? width - (unsigned)column
		: 8;

	blm_escape(name, sizeof(name), look->name, strlen(look->name), "");
	fprintf(out, "%.*s\n", (int)fitting_bytes(name, room), name);
}

/* rows 0: all of them */
static void print_screen(FILE *out, const struct looks *looks, unsigned width, size_t rows)
{
	const struct look **sorted = calloc(looks->count + 1, sizeof(const struct look *));
	size_t shown = looks->count;
	double sum = 0;

	if (!sorted)
		return;
	for (size_t i = 0; i < looks->count; i++) {
		sorted[i] = &looks->all[i];
		sum += looks->all[i].pace;
	}
	qsort(sorted, looks->count, sizeof(*sorted), compare);
	/* two lines above, one below, and the cursor's */
	if (rows && shown > rows - 3)
		shown = rows > 4 ? rows - 4 : 1;
	fprintf(out, "%zu filters, %.3g keys/s, by %s%s\n", looks->count, sum, order->name,
		rows ? "; n k f p o: order, q: quit" : "");
	fprintf(out, "%14s %5s    %8s %8s %8s %5s %7s  %s\n", "keys", "full", "rate now",
		"promised", "keys/s", "open", "synced", "name");
	for (size_t i = 0; i < shown; i++)
		print_row(out, sorted[i], width);
	if (shown < looks->count)
		fprintf(out, "... %zu more\n", looks->count - shown);
	free(sorted);
}

/* ---- The terminal ---- */

static int write_raw(const char *bytes, size_t count)
{
	while (count) {
		ssize_t n = write(STDOUT_FILENO, bytes, count);

		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return broken("standard output: %s", strerror(errno));
		if (n > 0) {
			bytes += n;
			count -= (size_t)n;
		}
	}
	return DONE;
}

/* Each line is cleared behind its text, and the screen below the last one: nothing flickers. */
static int draw(const struct looks *looks)
{
	struct winsize window = { .ws_row = 24, .ws_col = 80 };
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	int code = write_raw("\033[H", 3);

	if (!out)
		return broken("out of memory");
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &window);
	print_screen(out, looks, window.ws_col, window.ws_row > 4 ? window.ws_row : 4);
	fclose(out);
	for (char *line = text, *end; code == DONE && (end = strchr(line, '\n')); line = end + 1) {
		size_t fits;

		*end = '\0';
		fits = fitting_bytes(line, window.ws_col);
		code = write_raw(line, fits);
		if (code == DONE)
			code = write_raw("\033[K\n", 4);
	}
	free(text);
	return code == DONE ? write_raw("\033[J", 3) : code;
}

/* Waits until the next look is due. Return: is it to go on? */
static bool wait_for_keys(const struct looks *looks)
{
	struct pollfd on[] = { { .fd = STDIN_FILENO, .events = POLLIN },
			       { .fd = stop_descriptor(), .events = POLLIN } };
	double left;

	while ((left = looks->when + every.seconds - look_clock()) > 0 && !stopping()) {
		char key[2] = "";
		int r = poll(on, 2, left < 1e6 ? (int)(left * 1000) + 1 : 1000000000);

		if (r < 0)
			draw(looks);		/* the window has another size */
		if (r <= 0 || !(on[0].revents & (POLLIN | POLLHUP)))
			continue;
		if (read(STDIN_FILENO, key, 1) <= 0 || *key == 'q')
			return false;
		if (set_order(key))
			draw(looks);
	}
	return !stopping();
}

/* A handler, so that poll() ends. */
static void resized(int signal)
{
	(void)signal;
}

static int show_on_terminal(struct blm_store *store, const char *pattern)
{
	static const char begin[] = "\033[?1049h\033[?25l", end[] = "\033[?25h\033[?1049l";
	struct looks before = { 0 }, now;
	struct termios usual, raw;
	int code;

	if (tcgetattr(STDIN_FILENO, &usual) < 0)
		return broken("standard input is not the terminal; leave out '<'");
	raw = usual;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	/* these would leave the terminal as it is now */
	raw.c_cc[VSUSP] = raw.c_cc[VQUIT] = _POSIX_VDISABLE;
	catch_signals();
	signal(SIGWINCH, resized);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	code = write_raw(begin, strlen(begin));
	while (code == DONE && (code = looks_take(&now, store, pattern)) == DONE) {
		looks_find_processes(&now);
		looks_pace(&now, &before);
		looks_free(&before);
		before = now;
		code = draw(&now);
		if (code != DONE || !wait_for_keys(&now))
			break;
	}
	looks_free(&before);
	write_raw(end, strlen(end));
	tcsetattr(STDIN_FILENO, TCSANOW, &usual);
	return code;
}

static int run(int count, char **operands)
{
	const char *pattern = count ? operands[0] : NULL;
	struct blm_store *store;
	struct looks looks;
	int code;

	if (every.keys || every.seconds <= 0)
		return misuse("top: --every takes a time, like 2s");
	if (sort_by && !set_order(sort_by))
		return misuse("top: --sort %s: there is name, keys, full, pace, open", sort_by);
	code = find_store(&store, BLM_STORE_READ);
	if (code != DONE)
		return code;
	if (isatty(STDOUT_FILENO))
		return show_on_terminal(store, pattern);
	code = looks_take(&looks, store, pattern);
	if (code != DONE)
		return code;
	looks_find_processes(&looks);
	print_screen(stdout, &looks, window_width(), 0);
	looks_free(&looks);
	return DONE;
}

static const struct opt *const options[] = { own_options, store_option, NULL };

const struct command cmd_top = {
	.name = "top",
	.group = ON_STORES,
	.summary = "show the filters of the store as they change: keys, pace, rates, processes",
	.operands = "[PATTERN]",
	.least = 0, .most = 1,
	.notes = "A filter at 80 % of its capacity is marked with !, one beyond it with !!. 'open' "
	"is the number of processes that have it open; those of other users may be hidden. If "
	"standard output is no terminal, it prints one look and ends.",
	.example = "bloomery top --sort pace",
	.options = options,
	.run = run,
};
