/* lock_wait.c - which process shares a lock of a file */
#include "file/lock_wait.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/*
 * One descriptor, as the kernel describes it: "flags:\t0100002" with the access mode in octal, and
 * for each of its locks a line "lock:\t1: OFDLCK ADVISORY READ -1 fe:00:131 0 EOF".
 */
static bool shares(const char *path, const struct stat *st, uint64_t byte, bool *ret_writer)
{
	FILE *info = fopen(path, "re");
	unsigned long long inode, from;
	unsigned major_number, minor_number, flags = 0;
	bool found = false;
	char line[256], to[32];

	if (!info)
		return false;
	while (fgets(line, sizeof(line), info)) {
		sscanf(line, "flags: %o", &flags);
		if (sscanf(line, "lock: %*d: %*s %*s READ %*d %x:%x:%llu %llu %31s", &major_number,
			   &minor_number, &inode, &from, to) == 5)
			found |= inode == st->st_ino && major_number == major(st->st_dev)
				&& minor_number == minor(st->st_dev)
			      && from <= byte && (!strcmp(to, "EOF")
						  || strtoull(to, NULL, 10) >= byte);
	}
	fclose(info);
	*ret_writer = (flags & O_ACCMODE) != O_RDONLY;
	return found;
}

static DIR *list_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list && fd >= 0)
		close(fd);
	return list;
}

/* The message names a writer if there is one, because it releases the lock by itself. */
static bool look_at_process(const char *pid, const struct stat *st, uint64_t byte, bool *ret_writer)
{
	char path[600];
	struct dirent *e;
	bool found = false;
	DIR *list;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
	list = list_of(path);
	while (list && !*ret_writer && (e = readdir(list))) {
		bool writer = false;

		snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", pid, e->d_name);
		if (e->d_name[0] == '.' || !shares(path, st, byte, &writer))
			continue;
		found = true;
		*ret_writer = writer;
	}
	if (list)
		closedir(list);
	return found;
}

int blm_lock_holder(int fd, enum blm_lock_of what, bool *ret_writer)
{
	DIR *processes = list_of("/proc");
	uint64_t byte = (UINT64_C(1) << 62) + (unsigned)what;
	struct dirent *e;
	struct stat st;
	int holder = 0;

	*ret_writer = false;
	if (!processes || fstat(fd, &st) < 0) {
		if (processes)
			closedir(processes);
		return 0;
	}
	while (!*ret_writer && (e = readdir(processes)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9'
		    && look_at_process(e->d_name, &st, byte, ret_writer))
			holder = atoi(e->d_name);
	closedir(processes);
	return holder;
}
