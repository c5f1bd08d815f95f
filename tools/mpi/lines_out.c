/* lines_out.c - the file that the lines of a rank go to */
#include "lines_out.h"
#include "place.h"
#include "keys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A regular file; its inode 0: none. Its ranks are of one machine, or the numbers say nothing. */
struct file_id {
	uint64_t device, inode;
};

static struct file_id id_of(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return (struct file_id){ 0 };
	return (struct file_id){ (uint64_t)st->st_dev, (uint64_t)st->st_ino };
}

static bool same_file(struct file_id a, struct file_id b)
{
	return a.inode && a.inode == b.inode && a.device == b.device;
}

static struct file_id id_of_path(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? id_of(&st) : (struct file_id){ 0 };
}

/* Lines that are written over those that are to be read would be lost. */
static void refuse_inputs(const char *name, struct file_id out, char **inputs, size_t count)
{
	struct file_id *own = must_alloc(count, sizeof(*own));
	struct file_id *all = must_alloc(count * (size_t)on_node, sizeof(*all));

	for (size_t i = 0; i < count; i++)
		own[i] = id_of_path(of_rank(inputs[i]));
	from_node(own, count * sizeof(*own), all);
	for (size_t i = 0; i < count * (size_t)on_node; i++)
		if (same_file(all[i], out))
			give_up(broken("-o %s: is %s, which is read; name another file", name,
				       inputs[i % count]));
	free(own);
	free(all);
}

/* A filter's file, or one of its folder. */
static void refuse_filter(const char *name, struct file_id out, const char *filter)
{
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (same_file(id_of_path(filter), out))
		give_up(broken("-o %s: is %s, which is read; name another file", name, filter));
	dir = opendir(filter);
	while (dir && (entry = readdir(dir)))
		if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0
		    && same_file(id_of(&st), out))
			give_up(broken("-o %s: is %s in %s, a file of the filter; name another "
				       "file", name, entry->d_name, filter));
	if (dir)
		closedir(dir);
}

void output_open(const char *name, bool append, const char *filter, char **inputs, size_t count)
{
	struct file_id out = id_of_path(of_rank(name));
	const char *path;
	int fd;

	refuse_inputs(name, out, inputs, count);
	if (is_path(filter))
		refuse_filter(name, out, filter);
	path = of_rank(name);
	fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | (append ? 0 : O_TRUNC), 0666);
	if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
		give_up(broken("%s: %s", path, strerror(errno)));
	close(fd);
}

/* A killed job may have written only a part of its last line. That line is lost, not doubled. */
void output_drop_torn_line(const char *path)
{
	int fd = STDOUT_FILENO;
	off_t end = lseek(fd, 0, SEEK_END), at = end;
	char byte = line_end();

	while (at > 0 && pread(fd, &byte, 1, at - 1) == 1 && byte != line_end())
		at--;
	if (at < end && ftruncate(fd, at) < 0)
		give_up(broken("%s: %s", path, strerror(errno)));
}
