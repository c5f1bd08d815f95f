/* lines_out.c - the file that the lines of a rank go to */
#include "lines_out.h"
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

static struct file_id id_of_output(const char *name)
{
	return id_of_path(of_rank(name));
}

/* Lines that are written over those that are to be read would be lost. */
void output_refuse_inputs(const char *name, char **inputs, size_t count)
{
	struct file_id out = id_of_output(name);
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

void output_refuse(const char *name, const char *path)
{
	if (path && same_file(id_of_path(path), id_of_output(name)))
		give_up(broken("-o %s: is %s, which the filter needs; name another file", name,
			       path));
}

void output_refuse_in(const char *name, const char *folder, const char *begin)
{
	struct file_id out = id_of_output(name);
	DIR *dir = opendir(folder);
	struct dirent *entry;
	struct stat st;

	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, begin, strlen(begin))
		    && fstatat(dirfd(dir), entry->d_name, &st, 0) == 0
		    && same_file(id_of(&st), out))
			give_up(broken("-o %s: is %s in %s, which the filter needs; name another "
				       "file", name, entry->d_name, folder));
	if (dir)
		closedir(dir);
}

void output_open(const char *name, bool append)
{
	const char *path;
	int fd;

	rest_until_all();
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
