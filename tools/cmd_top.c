/* cmd_top.c - bloomery top: the filters of a store as they change, in a terminal */
#include "live.h"
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
static bool who;
static double cost;	/* seconds of the processor that the last look took */
static const struct opt own_options[] = {
	{ 0, "every", "TIME", "look again after this time (default: 1s)", set_every, &every },
	{ 0, "sort", "COLUMN", "the order: name, keys, full, pace, open; their first letters "
	  "while it runs", set_text, &sort_by },
	{ 0, "who", NULL, "also show the processes that have filters open; key w while it runs",
	  set_flag, &who },
	{ 0 }
};

/* `top` waits at least 100 times as long as a look took, so it uses at most 1 % of a processor. */
enum { SPARE = 100 };

static void print_screen(FILE *out, const struct looks *looks, unsigned width, size_t rows)
{
	if (who)
		print_openers(out, looks, width, rows);
	else
		print_live(out, looks, width, rows);
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

/*
 * How many bytes of a line fit: the codes of colours take no columns, and none is torn. Names in it
 * are escaped.
 */
static size_t fitting_line(const char *line, size_t columns)
{
	size_t codes = 0, before, fits;

	do {
		before = codes;
		fits = fitting_bytes(line, columns + codes);
		codes = 0;
		for (const char *at = line; (at = strchr(at, '\033')) && at < line + fits; at++)
			codes += strcspn(at, "m") + 1;
	} while (codes != before);
	return fits;
}

/*
 * A line, and the rest of the window's line cleared behind it. Behind a letter in the last column
 * nothing is cleared, because the cursor is still on that letter.
 */
static int draw_line(const char *line, size_t columns)
{
	size_t fits = fitting_line(line, columns);
	int code = write_raw(line, fits);

	if (code == DONE && strchr(line + fits, '\033'))
		code = write_raw("\033[0m", 4);
	if (code == DONE && fitting_line(line, columns - 1) == fits)
		code = write_raw("\033[K", 3);
	return code == DONE ? write_raw("\n", 1) : code;
}

/* Each line is cleared behind its text, and the screen below the last one: nothing flickers. */
static int draw(const struct looks *looks)
{
	struct winsize window = { 0 };
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	int code = write_raw("\033[H", 3);

	if (!out)
		return broken("out of memory");
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &window);
	if (!window.ws_col || !window.ws_row)	/* such as a serial line */
		window = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	print_screen(out, looks, window.ws_col, window.ws_row > 4 ? window.ws_row : 4);
	fclose(out);
	for (char *line = text, *end; code == DONE && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		code = draw_line(line, window.ws_col);
	}
	free(text);
	return code == DONE ? write_raw("\033[J", 3) : code;
}

/* Waits until the next look is due. Return: is it to go on? */
static bool wait_for_keys(const struct looks *looks)
{
	struct pollfd on[] = { { .fd = STDIN_FILENO, .events = POLLIN },
			       { .fd = stop_descriptor(), .events = POLLIN } };
	double due = looks->when + (cost * SPARE > every.seconds ? cost * SPARE : every.seconds);
	double left;

	while ((left = due - look_clock()) > 0 && !stopping()) {
		char key[2] = "";
		int r = poll(on, 2, left < 1e6 ? (int)(left * 1000) + 1 : 1000000000);

		if (r < 0)
			draw(looks);		/* the window has another size */
		if (r <= 0 || !(on[0].revents & (POLLIN | POLLHUP)))
			continue;
		if (read(STDIN_FILENO, key, 1) <= 0 || *key == 'q')
			return false;
		who ^= *key == 'w';
		if (*key == 'w' || live_order(key))
			draw(looks);
	}
	return !stopping();
}

/* A handler, so that poll() ends. */
static void resized(int signal)
{
	(void)signal;
}

static double processor_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Pages are counted once in ten looks, because that takes long for large filters. */
static int look_again(struct looks *now, struct looks *before, struct blm_store *store,
		      const char *pattern)
{
	enum { PAGES_EVERY = 10 };
	double began = processor_seconds();
	int code = looks_take_again(now, before, store, pattern);

	if (code != DONE)
		return code;
	looks_find_processes(now);
	if (now->number % PAGES_EVERY == 0)
		looks_find_pages(now);
	looks_pace(now, before);
	looks_free(before);
	*before = *now;
	code = draw(now);
	cost = processor_seconds() - began;
	return code;
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
	while (code == DONE && (code = look_again(&now, &before, store, pattern)) == DONE)
		if (!wait_for_keys(&now))
			break;
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
	if (sort_by && !live_order(sort_by))
		return misuse("top: --sort %s: use name, keys, full, pace or open", sort_by);
	code = find_store(&store, BLM_STORE_READ);
	if (code != DONE)
		return code;
	if (isatty(STDOUT_FILENO) && !json)
		return show_on_terminal(store, pattern);
	code = looks_take(&looks, store, pattern);
	if (code != DONE)
		return code;
	looks_find_processes(&looks);
	looks_find_pages(&looks);
	if (json)
		print_live_json(&looks);
	else
		print_screen(stdout, &looks, window_width(), 0);
	looks_free(&looks);
	return DONE;
}

static const struct opt *const options[] = { own_options, json_option, store_option, NULL };

const struct command cmd_top = {
	.name = "top",
	.group = ON_STORES,
	.summary = "show the filters of the store as they change: keys, pace, rates, processes",
	.operands = "[PATTERN]",
	.least = 0, .most = 1,
	.notes = "A filter at 80 % of its capacity is marked with !, one beyond it with !!. "
	"'open' is the number of processes that have the filter open. Processes of other users "
	"may be missing, and those of bloomery itself are, unless you are root. If a look takes "
	"long, the next one comes later than --every says, so that top needs about 1 % of a "
	"processor. If standard output is no terminal, or with --json, it prints one look and "
	"ends.",
	.example = "bloomery top --sort pace",
	.options = options,
	.run = run,
};
