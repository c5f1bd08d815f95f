/* mapped.c - files whose bytes outlive the process that writes them */
#include "mapped.h"
#include "../command.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GROW = 64 << 10 };

int map_bytes(struct mapped *m, size_t bytes)
{
	size_t want = (bytes + GROW - 1) / GROW * GROW;
	void *at;
	int err;

	if (m->at && want <= m->bytes)
		return DONE;
	if (m->at && want < 2 * m->bytes)
		want = 2 * m->bytes;
	err = posix_fallocate(m->fd, 0, (off_t)want);
	if (err)
		return broken("%s: cannot take %zu bytes: %s", m->path, want, strerror(err));
	at = m->at ? mremap(m->at, m->bytes, want, MREMAP_MAYMOVE)
		: mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (at == MAP_FAILED)
		return broken("%s: cannot map %zu bytes: %s", m->path, want, strerror(errno));
	m->at = at;
	m->bytes = want;
	return DONE;
}

int map_file(struct mapped *m)
{
	struct stat st;

	if (fstat(m->fd, &st) < 0)
		return broken("%s: %s", m->path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return broken("%s: not a regular file; move it away", m->path);
	return map_bytes(m, st.st_size > MAPPED_LEAST ? (size_t)st.st_size : MAPPED_LEAST);
}

void unmap(struct mapped *m)
{
	if (m->at)
		munmap(m->at, m->bytes);
	if (m->fd >= 0)
		close(m->fd);
	free(m->path);
	*m = (struct mapped){ .fd = -1 };
}

int open_mapped(struct mapped *m, const char *path, mode_t mode)
{
	*m = (struct mapped){ .fd = -1, .path = strdup(path) };
	if (!m->path)
		return broken("out of memory");
	m->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, mode);
	if (m->fd < 0) {
		broken("%s: %s", path, strerror(errno));
		unmap(m);
		return FAILED;
	}
	return DONE;
}

int lock_now(int fd, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_SETLK, &lock);
}
