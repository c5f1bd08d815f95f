/* source.c - bytes from a file or stdin, unpacked where they are packed */
#include "source.h"
#include "command.h"
#include "signals.h"

#include "tool-lists.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 256 << 10 };

#define PACKING(name) extern const struct packing packing_##name;
PACKINGS
#undef PACKING

#define PACKING(name) &packing_##name,
static const struct packing *const packings[] = { PACKINGS };

static bool is_stdin(const char *name)
{
	return !strcmp(name, "-");
}

static int stat_source(const char *name, struct stat *ret)
{
	return is_stdin(name) ? fstat(STDIN_FILENO, ret) : stat(name, ret);
}

bool is_same_stream(const char *a, const char *b)
{
	struct stat of_a, of_b;

	if (is_stdin(a) && is_stdin(b))
		return true;
	return stat_source(a, &of_a) == 0 && stat_source(b, &of_b) == 0 && S_ISFIFO(of_a.st_mode)
		&& of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

/*
 * read(2), but a request to stop is never missed: all waiting is done here, for the first writer of
 * a FIFO too, which is why it is opened without.
 */
static ssize_t read_some(struct source *s, void *buffer, size_t bytes)
{
	struct pollfd fds[] = { { .fd = s->fd, .events = POLLIN },
				{ .fd = stop_descriptor(), .events = POLLIN } };
	ssize_t n = 0;

	do {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (stopping())
			return 0;
		n = read(s->fd, buffer, bytes);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	if (n < 0) {
		say("%s: %s", s->name, strerror(errno));
		return -1;
	}
	s->ended = n == 0;
	s->taken += (uint64_t)n;
	return n;
}

static const struct packing *recognise(const struct bytes *in, bool *ret_sure)
{
	for (size_t i = 0; i < ARRAY_LEN(packings); i++)
		if (in->count && packings[i]->begins(in->at, in->count)) {
			*ret_sure = in->count >= packings[i]->magic;
			return packings[i];
		}
	*ret_sure = in->count > 0;
	return NULL;
}

const char *packed_with(const uint8_t *begin, size_t bytes)
{
	bool sure;
	const struct packing *packing = recognise(&(struct bytes){ (uint8_t *)begin, bytes },
						  &sure);

	return packing && sure ? packing->name : NULL;
}

/* Reads on only while what is there could become the beginning of something packed. */
static int begin(struct source *s)
{
	const struct packing *packing;
	const char *reason;
	bool sure;

	s->in.at = s->block;
	do {
		ssize_t n = read_some(s, s->block + s->in.count, BLOCK - s->in.count);

		if (n < 0)
			return FAILED;
		s->in.count += (size_t)n;
		packing = recognise(&s->in, &sure);
	} while (!sure && !s->ended && !stopping());
	if (!packing || !sure)
		return DONE;
	s->packing = packing;
	reason = packing->need();
	if (reason)
		return broken("%s: it is packed with %s: %s", s->name, packing->name, reason);
	s->state = packing->start();
	return s->state ? DONE : broken("%s: out of memory", s->name);
}

/* What a shell takes as it stands, and a message has room for. */
static bool is_plain(const char *name)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789_@%+=:,./-";

	return *name && strlen(name) <= 80 && !name[strspn(name, plain)];
}

/*
 * A key in the place of a file is a mistake of many: what the path of none can be is most likely
 * one.
 */
static int no_file(const char *name, const char *option)
{
	const char *reason = errno == ENOENT ? "no such file" : strerror(errno);

	if (!option || (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG))
		return broken("%s: %s", name, strerror(errno));
	return broken("%s: %s; to give it as a key: %s %s", name, reason, option,
		      is_plain(name) ? name : "KEY");
}

int source_open(struct source *ret, const char *name, const char *option)
{
	struct source s = { .name = is_stdin(name) ? "standard input" : name };

	s.fd = is_stdin(name) ? STDIN_FILENO
		: open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (s.fd < 0)
		return no_file(name, option);
	s.block = malloc(BLOCK);
	*ret = s;
	if (s.block && begin(ret) == DONE)
		return DONE;
	if (!s.block)
		say("%s: out of memory", name);
	source_close(ret);
	return FAILED;
}

/*
 * The part was chosen when the file had `whole` bytes, perhaps by another machine. A line that goes
 * on behind the part must not end where a truncated file does.
 */
static int must_reach_end(const struct source *s)
{
	if (s->at >= s->whole || stopping())
		return DONE;
	return broken("%s: ends before byte %llu, which it had when its parts were given to the "
		      "ranks: it was truncated or replaced", s->name,
		      (unsigned long long)s->whole);
}

/* To the first line that begins at `from` or later: one byte before may be the end of a line. */
static int skip_to_line(struct source *s, uint64_t from)
{
	if (!from)
		return DONE;
	if (lseek(s->fd, (off_t)(from - 1), SEEK_SET) < 0)
		return broken("%s: %s", s->name, strerror(errno));
	for (s->at = from - 1; !s->ended && !s->in.at;) {
		ssize_t n = read_some(s, s->block, BLOCK);
		const uint8_t *end = n > 0 ? memchr(s->block, s->line_end, (size_t)n) : NULL;
		size_t skipped = end ? (size_t)(end + 1 - s->block) : n > 0 ? (size_t)n : 0;

		if (n < 0)
			return FAILED;
		if (!n && must_reach_end(s) != DONE)
			return FAILED;
		s->at += skipped;
		if (end)
			s->in = (struct bytes){ s->block + skipped, (size_t)n - skipped };
		if (s->at >= s->to || stopping())
			s->ended = true;
	}
	if (s->ended)
		s->in.count = 0;
	return DONE;
}

int source_open_part(struct source *ret, const char *name, uint64_t from, uint64_t to,
		     uint64_t whole, char end)
{
	struct source s = { .name = name, .to = to, .whole = whole, .line_end = end };

	s.fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (s.fd < 0)
		return no_file(name, NULL);
	s.block = malloc(BLOCK);
	*ret = s;
	if (s.block && skip_to_line(ret, from) == DONE)
		return DONE;
	if (!s.block)
		say("%s: out of memory", name);
	source_close(ret);
	return FAILED;
}

void source_close(struct source *s)
{
	if (s->state)
		s->packing->stop(s->state);
	if (s->fd > STDIN_FILENO)
		close(s->fd);
	free(s->block);
	*s = (struct source){ .fd = -1 };
}

static ssize_t read_plain(struct source *s, void *buffer, size_t bytes)
{
	if (!s->in.count)
		return s->ended ? 0 : read_some(s, buffer, bytes);
	if (bytes > s->in.count)
		bytes = s->in.count;
	memcpy(buffer, s->in.at, bytes);
	s->in.at += bytes;
	s->in.count -= bytes;
	return (ssize_t)bytes;
}

static ssize_t read_packed(struct source *s, void *buffer, size_t bytes)
{
	struct bytes out = { buffer, bytes };

	for (;;) {
		size_t left = s->in.count;
		const char *reason = s->packing->unpack(s->state, &s->in, &out);

		if (!reason && out.count == bytes && left && s->in.count == left)
			reason = "the data are damaged";
		if (!reason && out.count == bytes && s->ended && !s->packing->whole(s->state))
			reason = "cut short";
		if (reason) {
			say("%s: cannot be unpacked as %s: %s", s->name, s->packing->name, reason);
			return -1;
		}
		if (out.count < bytes || s->ended || stopping())
			return (ssize_t)(bytes - out.count);
		if (!s->in.count) {
			ssize_t n = read_some(s, s->block, BLOCK);

			if (n < 0)
				return -1;
			s->in = (struct bytes){ s->block, (size_t)n };
		}
	}
}

/* A line that begins before `to` is the last one: it ends at `to` - 1 or behind. */
static ssize_t read_part(struct source *s, void *buffer, size_t bytes)
{
	bool ended = s->ended;	/* with its last line */
	ssize_t n = read_plain(s, buffer, bytes);
	size_t from = s->to - 1 > s->at ? s->to - 1 - s->at : 0;
	const char *end = n > 0 && from < (size_t)n ? memchr((char *)buffer + from, s->line_end,
							     (size_t)n - from) : NULL;

	if (end) {
		n = end + 1 - (char *)buffer;
		s->in.count = 0;
		s->ended = true;
	}
	if (n > 0)
		s->at += (uint64_t)n;
	return !n && !ended && must_reach_end(s) != DONE ? -1 : n;
}

ssize_t source_read(struct source *s, void *buffer, size_t bytes)
{
	if (s->to)
		return read_part(s, buffer, bytes);
	return s->packing ? read_packed(s, buffer, bytes) : read_plain(s, buffer, bytes);
}

uint64_t source_total(char **names, size_t count)
{
	uint64_t total = 0;
	struct stat st;

	for (size_t i = 0; i < count; i++) {
		if (stat_source(names[i], &st) < 0 || !S_ISREG(st.st_mode))
			return 0;
		total += (uint64_t)st.st_size;
	}
	return total;
}
