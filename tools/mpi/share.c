/* share.c - which bytes of which files a rank reads */
#include "share.h"
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * What unpacking costs, in bytes of a plain file for each byte of a packed one: text comes to about
 * four times its packed size.
 */
enum { PACKED_WEIGHT = 4 };

struct file {
	uint64_t bytes;
	uint32_t number;
	bool packed;
};

static void look_at(struct file *ret, const char *name)
{
	uint8_t begin[64];
	ssize_t have = -1;
	struct stat st;
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st) < 0)
		give_up(broken("%s: %s", name, strerror(errno)));
	if (!S_ISREG(st.st_mode))
		give_up(broken("%s: not a regular file; each rank reads a part of a file, so put "
			       "the keys into one", name));
	have = pread(fd, begin, sizeof(begin), 0);
	if (have < 0)
		give_up(broken("%s: %s", name, strerror(errno)));
	close(fd);
	ret->bytes = (uint64_t)st.st_size;
	ret->packed = packed_with(begin, (size_t)have) != NULL;
}

static int by_size(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->number < y->number ? -1 : 1;
}

static void add_piece(struct share *s, int to_rank, const struct file *file, uint64_t from,
		      uint64_t to)
{
	s->pieces[s->count++] = (struct piece){ .from = from, .to = to, .whole = file->bytes,
						.file = file->number, .rank = to_rank };
}

static int least_of(const uint64_t *load)
{
	int least = 0;

	for (int r = 1; r < ranks; r++)
		if (load[r] < load[least])
			least = r;
	return least;
}

/* The largest ones first, each to the rank that has the least so far. */
static void share_packed(struct share *s, const struct file *files, size_t count, uint64_t *load)
{
	for (size_t i = 0; i < count; i++) {
		int to = least_of(load);

		if (!files[i].packed || !files[i].bytes)
			continue;
		add_piece(s, to, &files[i], 0, 0);
		load[to] += PACKED_WEIGHT * files[i].bytes;
	}
}

/* The level to which `bytes` fill the ranks, like water in vessels that hold something already. */
static uint64_t level_for(const uint64_t *load, uint64_t bytes)
{
	uint64_t low = 0, high = UINT64_MAX / 2;

	while (low < high) {
		uint64_t level = low + (high - low) / 2, free_bytes = 0;

		for (int r = 0; r < ranks && free_bytes < bytes; r++)
			free_bytes += load[r] < level ? level - load[r] : 0;
		if (free_bytes < bytes)
			low = level + 1;
		else
			high = level;
	}
	return low;
}

static void share_plain(struct share *s, const struct file *files, size_t count,
			const uint64_t *load)
{
	uint64_t all = 0, level, free_bytes = 0;
	int to = 0;

	for (size_t i = 0; i < count; i++)
		all += files[i].packed ? 0 : files[i].bytes;
	level = level_for(load, all);
	free_bytes = load[0] < level ? level - load[0] : 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t at = 0, some;

		while (!files[i].packed && at < files[i].bytes) {
			while (!free_bytes && to + 1 < ranks) {
				to++;
				free_bytes = load[to] < level ? level - load[to] : 0;
			}
			some = files[i].bytes - at;
			if (some > free_bytes && to + 1 < ranks)
				some = free_bytes;
			add_piece(s, to, &files[i], at, at + some);
			at += some;
			free_bytes -= some < free_bytes ? some : free_bytes;
		}
	}
}

static void divide(struct share *s, char **names, size_t count)
{
	struct file *files = must_alloc(count, sizeof(*files));
	uint64_t *load = must_alloc((size_t)ranks, sizeof(*load));

	for (size_t i = 0; i < count; i++) {
		files[i].number = (uint32_t)i;
		look_at(&files[i], names[i]);
		s->bytes += files[i].bytes;
	}
	s->pieces = must_alloc(count + (size_t)ranks, sizeof(*s->pieces));
	qsort(files, count, sizeof(*files), by_size);
	share_packed(s, files, count, load);
	share_plain(s, files, count, load);
	free(load);
	free(files);
}

/* Each rank reads the files of its own, so only their names are the same everywhere. */
static void each_its_own(struct share *s, char **names, size_t count)
{
	uint64_t bytes = 0;

	s->pieces = must_alloc(count * (size_t)ranks, sizeof(*s->pieces));
	for (size_t i = 0; i < count; i++) {
		struct file file = { .number = (uint32_t)i };

		look_at(&file, of_rank(names[i]));
		bytes += file.bytes;
		for (int r = 0; r < ranks; r++)
			add_piece(s, r, &file, 0, 0);
	}
	s->bytes = sum_of_all(bytes);
	from_first(&s->bytes, sizeof(s->bytes));
}

void share_files(struct share *ret, char **names, size_t count)
{
	size_t own = 0;

	*ret = (struct share){ 0 };
	for (size_t i = 0; i < count; i++)
		own += has_rank(names[i]);
	if (own && own < count)
		all_give_up(misuse("%s: either all files are named with %%r, the number of the "
				   "rank that reads them, or none is", names[0]));
	if (own) {
		each_its_own(ret, names, count);
		return;
	}
	if (!rank)
		divide(ret, names, count);
	from_first(&ret->bytes, sizeof(ret->bytes));
	from_first(&ret->count, sizeof(ret->count));
	if (rank)
		ret->pieces = must_alloc(ret->count, sizeof(*ret->pieces));
	from_first(ret->pieces, ret->count * sizeof(*ret->pieces));
}

static void divide_whole(int32_t *ret, char **names, const bool *done, size_t count)
{
	struct file *files = must_alloc(count, sizeof(*files));
	uint64_t *load = must_alloc((size_t)ranks, sizeof(*load));

	for (size_t i = 0; i < count; i++) {
		files[i].number = (uint32_t)i;
		look_at(&files[i], names[i]);
		files[i].bytes *= files[i].packed ? PACKED_WEIGHT : 1;
		files[i].bytes = done[i] ? 0 : files[i].bytes + 1;
	}
	qsort(files, count, sizeof(*files), by_size);
	for (size_t i = 0; i < count; i++) {
		int to = least_of(load);

		ret[files[i].number] = to;
		load[to] += files[i].bytes;
	}
	free(load);
	free(files);
}

void share_whole(int32_t *ret, char **names, const bool *done, size_t count)
{
	if (!rank)
		divide_whole(ret, names, done, count);
	from_first(ret, count * sizeof(*ret));
}

uint64_t share_of(const struct share *share, int of)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < share->count; i++)
		if (share->pieces[i].rank == of)
			bytes += share->pieces[i].to - share->pieces[i].from;
	return bytes;
}

void share_free(struct share *share)
{
	free(share->pieces);
	*share = (struct share){ 0 };
}
