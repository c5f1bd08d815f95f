/* overwrite.c - a file that is replaced in one step */
#include "overwrite.h"
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_failed(const char *file, const char *temporary)
{
	int err = errno;

	unlink(temporary);
	return broken("%s: %s", file, strerror(err));
}

/* A device, a pipe or a link, which must not be taken away. */
static bool is_no_file(const char *file)
{
	struct stat st;

	return lstat(file, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

bool overwrites(const char *file, const char *other)
{
	struct stat a, b;

	return !strcmp(file, other) || (stat(file, &a) == 0 && stat(other, &b) == 0
					&& a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

unsigned usual_mode(void)
{
	mode_t mask = umask(077);

	umask(mask);
	return 0666 & ~mask;
}

int overwrite_file(const char *file, unsigned mode,
		   void (*print)(FILE *out, const void *context), const void *context)
{
	char temporary[BLM_PATH_MAX];
	FILE *out;
	int fd;

	if (!strcmp(file, "-")) {
		print(stdout, context);
		return fflush(stdout) ? broken("standard output: %s", strerror(errno)) : DONE;
	}
	if (is_no_file(file))
		return broken("%s: is a device, a pipe or a link, and no file to replace; give the "
			      "path of a file, or - for standard output", file);
	if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", file) >= (int)sizeof(temporary))
		return broken("%s: the path is too long", file);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return broken("%s: no file can be made beside it: %s", file, strerror(errno));
	out = fdopen(fd, "w");
	if (!out) {
		close(fd);
		return write_failed(file, temporary);
	}
	print(out, context);
	if (fflush(out) || ferror(out) || fchmod(fd, mode) < 0) {
		int err = errno;

		fclose(out);
		errno = err;
		return write_failed(file, temporary);
	}
	if (fclose(out) || rename(temporary, file) < 0)
		return write_failed(file, temporary);
	return DONE;
}
