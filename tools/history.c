/* history.c - what the filters of a store were like at earlier looks, in a file of lines */
#include "history.h"
#include "overwrite.h"
#include "signals.h"
#include "../lib/base/escape.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Reading ---- */

static int cannot(const char *file)
{
	return broken("--history %s: %s", file, strerror(errno));
}

/* All of it, with a NUL behind it. */
static int read_text(char **ret, size_t *ret_bytes, int fd, const char *file)
{
	size_t capacity = 1 << 16, at = 0;
	char *text = malloc(capacity);
	ssize_t n = 1;

	while (text && n > 0) {
		if (at + 1 == capacity) {
			char *more = realloc(text, capacity *= 2);

			if (!more)
				free(text);
			text = more;
			continue;
		}
		n = pread(fd, text + at, capacity - at - 1, (off_t)at);
		at += n > 0 ? (size_t)n : 0;
	}
	if (!text)
		return broken("--history %s: out of memory", file);
	if (n < 0) {
		free(text);
		return cannot(file);
	}
	/* a power cut leaves NULs: no line behind them is to be missed */
	for (char *nul = text; (nul = memchr(nul, '\0', at - (size_t)(nul - text))); )
		*nul = '?';
	text[at] = '\0';
	*ret = text;
	*ret_bytes = at;
	return DONE;
}

/* The next word of a line, which ends at a space. Return: the text behind it, or NULL. */
static char *next_word(char *line, char **ret)
{
	char *end = strchr(line, ' ');

	*ret = line;
	if (!end || end == line)
		return NULL;
	*end = '\0';
	return end + 1;
}

static bool is_number(char *word, double *ret)
{
	char *end;

	*ret = strtod(word, &end);
	return !*end && *ret >= 0 && *ret <= 1e300;
}

static bool parse_line(struct moment *ret, char *line)
{
	double numbers[5];
	char *word;

	for (size_t i = 0, number = 0; i < 6; i++) {
		line = next_word(line, &word);
		if (!line)
			return false;
		if (i == 1)
			ret->uuid = word;
		else if (!is_number(word, &numbers[number++]))
			return false;
	}
	if (numbers[0] > 1e12 || !*line)
		return false;
	ret->when = (time_t)numbers[0];
	ret->keys = numbers[1];
	ret->capacity = numbers[2];
	ret->predicted = numbers[3];
	ret->bytes = numbers[4];
	ret->name = line;
	return true;
}

static int by_name_and_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	if (r)
		return r;
	return x->when < y->when ? -1 : x->when > y->when ? 1 : x->name < y->name ? -1 : 1;
}

/* A last line without its newline is being written, or its writer died: it is passed over. */
static bool parse_text(struct history *history)
{
	size_t lines = 0;

	for (const char *at = history->text; (at = strchr(at, '\n')); at++)
		lines++;
	history->all = calloc(lines + 1, sizeof(*history->all));
	if (!history->all)
		return false;
	for (char *line = history->text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		history->count += parse_line(&history->all[history->count], line);
	}
	qsort(history->all, history->count, sizeof(*history->all), by_name_and_time);
	return true;
}

static int read_open(struct history *ret, int fd, const char *file, bool *ret_cut)
{
	size_t bytes = 0;
	int code;

	*ret = (struct history){ 0 };
	code = read_text(&ret->text, &bytes, fd, file);
	if (code != DONE)
		return code;
	*ret_cut = bytes && ret->text[bytes - 1] != '\n';
	if (parse_text(ret))
		return DONE;
	history_free(ret);
	return broken("--history %s: out of memory", file);
}

/* Return: DONE; else it is closed. */
static int open_file(int *ret, const char *file, int flags)
{
	struct stat st = { 0 };
	int fd = open(file, flags | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, 0666);

	*ret = fd;
	if (fd < 0 && errno != ELOOP)
		return cannot(file);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return DONE;
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && S_ISDIR(st.st_mode))
		return broken("--history %s: %s", file, strerror(EISDIR));
	return broken("--history %s: is a device, a pipe or a link; give the path of a file", file);
}

int history_read(struct history *ret, const char *file)
{
	struct stat st;
	int fd, code;
	bool cut;

	*ret = (struct history){ 0 };
	if (lstat(file, &st) < 0 && errno == ENOENT)
		return DONE;
	code = open_file(&fd, file, O_RDONLY);
	if (code != DONE)
		return code;
	code = read_open(ret, fd, file, &cut);
	close(fd);
	return code;
}

static int by_name(const void *name, const void *moment)
{
	return strcmp(name, ((const struct moment *)moment)->name);
}

const struct moment *history_of(const struct history *history, const char *name, size_t *ret_count)
{
	const struct moment *first, *end, *last;

	*ret_count = 0;
	if (!history->count)
		return NULL;
	first = bsearch(name, history->all, history->count, sizeof(*first), by_name);
	if (!first)
		return NULL;
	last = history->all + history->count;
	for (end = first; end < last && !strcmp(end->name, name); )
		end++;
	while (first > history->all && !strcmp(first[-1].name, name))
		first--;
	*ret_count = (size_t)(end - first);
	return first;
}

void history_free(struct history *history)
{
	free(history->text);
	free(history->all);
	*history = (struct history){ 0 };
}

/* ---- Writing ---- */

/* The file may have been replaced while this process waited for its lock: then try again. */
static int open_locked(int *ret, const char *file)
{
	struct stat held, now;

	for (;;) {
		int fd, code = open_file(&fd, file, O_RDWR | O_CREAT | O_APPEND);

		if (code != DONE)
			return code;
		while (flock(fd, LOCK_EX) < 0)
			if (errno != EINTR || stopping()) {
				close(fd);
				return cannot(file);
			}
		if (fstat(fd, &held) == 0 && stat(file, &now) == 0 && held.st_ino == now.st_ino
		    && held.st_dev == now.st_dev) {
			*ret = fd;
			return DONE;
		}
		close(fd);
	}
}

static void print_moment(FILE *out, const struct moment *m)
{
	fprintf(out, "%lld %s %.0f %.0f %.9g %.0f %s\n", (long long)m->when, m->uuid, m->keys,
		m->capacity, m->predicted, m->bytes, m->name);
}

/* Only if it changed since its last line, or that is old. */
static void print_look(FILE *out, const struct history *before, const struct look *look,
		       bool *ret_many)
{
	char name[BLM_ESCAPED_MOST * sizeof(look->name) + 1], uuid[sizeof(look->file)];
	struct moment now = { .when = time(NULL), .uuid = uuid, .name = name, .keys = look->keys,
		.capacity = look->capacity, .predicted = look->predicted, .bytes = look->bytes };
	const struct moment *first, *last;
	size_t count;

	blm_escape(name, sizeof(name), look->name, strlen(look->name), "");
	snprintf(uuid, sizeof(uuid), "%.36s", look->file);
	first = history_of(before, name, &count);
	last = first ? &first[count - 1] : NULL;
	if (last && last->keys == now.keys && !strcmp(last->uuid, uuid)
	    && now.when - last->when < HISTORY_STALE)
		return;
	*ret_many |= count >= HISTORY_MOST;
	print_moment(out, &now);
}

static int append(int fd, const char *file, const char *text, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, text, bytes);

		if (n < 0 && errno != EINTR)
			return cannot(file);
		text += n > 0 ? n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
	return DONE;
}

static void print_thinned(FILE *out, const void *context)
{
	const struct history *history = context;

	for (size_t i = 0, count; i < history->count; i += count) {
		const struct moment *m = history_of(history, history->all[i].name, &count);

		for (size_t j = 0; j < count; j++)
			if (count <= HISTORY_MOST || j % 2 == 0 || j == count - 1)
				print_moment(out, &m[j]);
	}
}

static int add_locked(int fd, const char *file, const struct looks *looks)
{
	struct history history;
	bool cut, many = false;
	struct stat st;
	size_t bytes = 0;
	char *text = NULL;
	FILE *out;
	int code = read_open(&history, fd, file, &cut);

	if (code != DONE)
		return code;
	out = open_memstream(&text, &bytes);
	if (!out) {
		history_free(&history);
		return broken("--history %s: out of memory", file);
	}
	if (cut)
		fputc('\n', out);
	for (size_t i = 0; i < looks->count; i++)
		print_look(out, &history, &looks->all[i], &many);
	code = fclose(out) ? cannot(file) : append(fd, file, text, bytes);
	free(text);
	history_free(&history);
	if (code == DONE && many)
		code = read_open(&history, fd, file, &cut);
	if (code == DONE && many) {
		code = fstat(fd, &st) < 0 ? cannot(file)
			: overwrite_file(file, st.st_mode & 0777, print_thinned, &history);
		history_free(&history);
	}
	return code;
}

int history_add(const char *file, const struct looks *looks)
{
	int fd, code = open_locked(&fd, file);

	if (code != DONE)
		return code;
	code = add_locked(fd, file, looks);
	close(fd);
	return code;
}
