/* folder.c - the names in folders, put on the disk */
#include "folder.h"
#include "../command.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int sync_path(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r, err;

	if (fd < 0)
		return -1;
	r = fsync(fd);
	err = errno;
	close(fd);
	errno = err;
	/* a file system that cannot sync a folder says EINVAL */
	return r < 0 && errno != EINVAL ? -1 : 0;
}

int sync_folder(const char *name)
{
	const char *slash = strrchr(name, '/');
	char *dir = slash ? strndup(name, (size_t)(slash - name + 1)) : strdup(".");
	int r = dir ? sync_path(dir) : -1;

	free(dir);
	return r < 0 ? broken("%s: its folder: %s", name, strerror(errno)) : DONE;
}

int sync_folders(const char *name)
{
	char *dir = strdup(name), *slash;
	int code = dir ? DONE : broken("out of memory");

	while (code == DONE && (slash = strrchr(dir, '/'))) {
		slash[slash == dir] = 0;
		if (sync_path(dir) < 0 && errno != EACCES && errno != EROFS)
			code = broken("%s: its folder %s: %s", name, dir, strerror(errno));
		if (slash == dir)
			break;
	}
	free(dir);
	return code;
}
