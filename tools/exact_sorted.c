/*
 * exact_sorted.c - an exact table in a text file: lines in the order of their bytes, as `LC_ALL=C
 * sort` puts them
 *
 * Where there are values, a line is a key, a delimiter and the value, and the lines are in the
 * order of their keys. The file is read, not mapped: another program that truncates it changes
 * answers, and kills no process.
 */
#include "exact.h"
#include "keys.h"
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* bytes read at once, to find one line and to read all of them */
enum { SEARCH = 4096, PASS = 256 << 10 };

struct sorted {
	const char *path;
	int fd;
	uint64_t bytes;			/* of the file, when it was opened */
	char *window;			/* a piece of it */
	uint64_t from;
	size_t have, capacity, step;
};

struct line {
	uint64_t at, next;		/* where it begins; where the next one does */
	struct blm_key key, value;	/* in the window */
};

static bool is(const char *path)
{
	return true;
}

/* Return: -1 after a message. */
static int fill(struct sorted *s, uint64_t at, size_t bytes)
{
	size_t have = 0;

	if (bytes > s->capacity) {
		char *window = realloc(s->window, bytes);

		if (!window) {
			broken("%s: out of memory for a line of more than %zu bytes", s->path,
			       s->capacity);
			return -1;
		}
		s->window = window;
		s->capacity = bytes;
	}
	while (have < bytes) {
		ssize_t n = pread(s->fd, s->window + have, bytes - have, (off_t)(at + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			broken("%s: %s", s->path, strerror(errno));
			return -1;
		}
		if (n == 0)
			break;
		have += (size_t)n;
	}
	s->from = at;
	s->have = have;
	return 0;
}

/*
 * The rest of the line in which `at` lies. Return: 1; 0: the file ends before; -1 after a message.
 */
static int line_at(struct sorted *s, uint64_t at, struct line *ret)
{
	const char *text = NULL, *stop = NULL, *column;
	size_t left = 0, bytes = s->step;

	if (at >= s->from && at - s->from < s->have) {
		text = s->window + (at - s->from);
		left = s->have - (size_t)(at - s->from);
		stop = memchr(text, line_end(), left);
	}
	while (!stop) {
		if (fill(s, at, bytes) < 0)
			return -1;
		text = s->window;
		left = s->have;
		if (!left)
			return 0;
		stop = memchr(text, line_end(), left);
		if (!stop && left < bytes)
			break;		/* the last one lacks its end */
		bytes *= 2;
	}
	if (stop)
		left = (size_t)(stop - text);
	ret->at = at;
	ret->next = at + left + (stop != NULL);
	if (rows_end_in_cr() && left && text[left - 1] == '\r')
		left--;
	column = exact_has_values() ? memchr(text, columns_end(), left) : NULL;
	ret->key = (struct blm_key){ text, column ? (size_t)(column - text) : left };
	ret->value = column ? (struct blm_key){ column + 1, left - ret->key.len - 1 }
		: (struct blm_key){ text + left, 0 };
	return 1;
}

static int order(const struct blm_key *a, const struct blm_key *b)
{
	int r = memcmp(a->bytes, b->bytes, a->len < b->len ? a->len : b->len);

	return r ? r : (a->len > b->len) - (a->len < b->len);
}

/* In a file that is not sorted a search would miss keys without a sign. */
static int check_order(struct sorted *s)
{
	struct blm_key before = { .len = 0 };
	struct line line;
	char *copy = NULL;
	size_t capacity = 0;
	uint64_t at = 0, number = 1;
	int r;

	s->step = PASS;
	for (; (r = line_at(s, at, &line)) == 1; at = line.next, number++) {
		if (before.bytes && order(&before, &line.key) > 0) {
			broken("%s: line %llu is out of its order; LC_ALL=C sort puts it right",
			       s->path, (unsigned long long)number);
			r = -1;
			break;
		}
		if (line.key.len >= capacity) {
			char *larger = realloc(copy, 2 * line.key.len + 64);

			if (!larger) {
				broken("out of memory");
				r = -1;
				break;
			}
			copy = larger;
			capacity = 2 * line.key.len + 64;
		}
		memcpy(copy, line.key.bytes, line.key.len);
		before = (struct blm_key){ copy, line.key.len };
	}
	free(copy);
	s->step = SEARCH;
	s->have = 0;
	return r < 0 ? FAILED : DONE;
}

static void close_file(void *table)
{
	struct sorted *s = table;

	close(s->fd);
	free(s->window);
	free(s);
}

/* Searched as lines it would have no key at all. */
static int check_plain(const struct sorted *s)
{
	uint8_t begin[16];
	ssize_t n = pread(s->fd, begin, sizeof(begin), 0);
	const char *packing = n > 0 ? packed_with(begin, (size_t)n) : NULL;

	return packing ? broken("%s: is packed with %s, and what is packed cannot be searched: "
				"unpack it first with %s -d", s->path, packing, packing) : DONE;
}

static int open_file(void **ret, const char *path)
{
	struct sorted *s = calloc(1, sizeof(*s));
	struct stat st;
	int code = DONE;

	if (!s)
		return broken("out of memory");
	s->path = path;
	s->step = SEARCH;
	s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (s->fd < 0 || fstat(s->fd, &st) < 0)
		code = broken("%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		code = broken("%s: is not a regular file, so it cannot be searched", path);
	else if (exact_name_wanted())
		code = broken("%s: --database is for LMDB, and this is a file of lines", path);
	if (code == DONE)
		code = check_plain(s);
	if (code == DONE) {
		s->bytes = (uint64_t)st.st_size;
		code = exact_order_trusted() ? DONE : check_order(s);
	}
	if (code != DONE) {
		if (s->fd >= 0)
			close(s->fd);
		free(s->window);
		free(s);
		return code;
	}
	*ret = s;
	return DONE;
}

/* These are read anew for each batch: the file may be written to in its place. */
static int begin(void *table)
{
	struct sorted *s = table;

	s->have = 0;
	return DONE;
}

static void end(void *table)
{
}

/*
 * Lines that begin below `low` are less than the key. Lines that begin at `high` or behind it are
 * greater. How the line at `low` compares is not known.
 */
static int find(void *table, const struct blm_key *key, struct blm_key *ret_value)
{
	struct sorted *s = table;
	uint64_t low = 0, high = s->bytes;
	struct line line;
	int r, way;

	while (high - low > SEARCH) {
		uint64_t middle = low + (high - low) / 2;

		r = line_at(s, middle, &line);
		if (r == 1)	/* where it goes on to `high`, no line begins between */
			r = line.next < high ? line_at(s, line.next, &line) : 0;
		if (r < 0)
			return r;
		way = r == 1 ? order(&line.key, key) : 1;
		if (way == 0) {
			*ret_value = line.value;
			return 1;
		}
		if (way < 0)
			low = line.at;
		else
			high = middle + 1;
	}
	for (uint64_t at = low; at < high; at = line.next) {
		r = line_at(s, at, &line);
		if (r <= 0)
			return r;
		r = order(&line.key, key);
		if (r == 0)
			*ret_value = line.value;
		if (r >= 0)
			return r == 0;
	}
	return 0;
}

const struct exact_sort exact_sorted = { .is = is, .open = open_file, .begin = begin, .end = end,
					 .close = close_file, .find = find };
