/* folder.c - the names in folders: put on the disk, and where the intent of a filter is */
#include "folder.h"
#include "../command.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
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

/* ---- The intent ---- */

static bool has_name_of_store(const char *file)
{
	enum { DIGITS = 36 };

	return strspn(file, "0123456789abcdef-") == DIGITS && !strcmp(file + DIGITS, ".blm");
}

/* Is it a file of a store's folder of filters? It can also be given by its path. */
static bool is_in_store(const struct blm_info *info, const char *path, const char *file)
{
	static const char folder[] = "/filters";
	size_t length = strlen(folder);

	return info->name[0] || ((size_t)(file - path) >= length
				 && !memcmp(file - length, folder, length)
				 && has_name_of_store(file + 1));
}

char *intent_place(const struct blm_info *info)
{
	char *path = realpath(info->path, NULL), *ret, *end;
	const char *file = path ? strrchr(path, '/') : NULL, *folder = file;
	bool in_store;
	int n;

	if (!path) {
		broken("%s: %s", info->path, strerror(errno));
		return NULL;
	}
	while (folder && folder > path && *--folder != '/')
		;
	in_store = folder && is_in_store(info, path, file);
	n = in_store ? asprintf(&ret, "%.*s/claims%s", (int)(folder - path), path, file)
		: asprintf(&ret, "%s.claims", path);
	free(path);
	if (n < 0) {
		broken("out of memory");
		return NULL;
	}
	if (in_store) {
		end = strrchr(ret, '/');
		*end = 0;
		mkdir(ret, 0777);	/* where that fails, so does what opens the file */
		*end = '/';
	}
	return ret;
}
