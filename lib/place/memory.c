/* memory.c - filters in memory: files without a name */
#include "place/memory.h"
#include "bloomery.h"
#include "base/secret_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct blm_memory *blm_memory_new(void)
{
	struct blm_memory *memory = calloc(1, sizeof(*memory));

	if (memory) {
		atomic_init(&memory->references, 1);
		memory->fd = -1;
	}
	return memory;
}

struct blm_memory *blm_memory_hold(struct blm_memory *memory)
{
	atomic_fetch_add(&memory->references, 1);
	return memory;
}

void blm_memory_release(struct blm_memory *memory)
{
	if (atomic_fetch_sub(&memory->references, 1) > 1)
		return;
	if (memory->fd >= 0)
		close(memory->fd);
	blm_hidden_free(memory->secret);
	free(memory);
}

/* The same file through an open file description of its own: locks belong to those. */
static int open_again(int fd, bool write)
{
	char self[40];
	int again;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	again = open(self, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	return again < 0 ? blm_fail(-errno, "a filter in memory cannot be opened again: %s: %s",
				    self, strerror(errno)) : again;
}

int blm_memory_open(const struct blm_memory *memory, bool write)
{
	return memory->fd < 0 ? blm_fail(-ENOENT, "there is no filter in memory yet")
		: open_again(memory->fd, write);
}

int blm_memory_is(const struct blm_memory *memory, dev_t device, ino_t inode)
{
	struct stat st;

	if (memory->fd < 0)
		return blm_fail(-ENOENT, "there is no filter in memory yet");
	if (fstat(memory->fd, &st) < 0)
		return blm_fail(-errno, "a filter in memory: %s", strerror(errno));
	return st.st_dev == device && st.st_ino == inode;
}

int blm_memory_begin(struct blm_new_file *ret)
{
	struct blm_new_file file = { .fd = memfd_create("bloomery", MFD_CLOEXEC), .folder = -1 };

	if (file.fd < 0)
		return blm_fail(-errno, "cannot make a filter in memory: %s", strerror(errno));
	*ret = file;
	return 0;
}

/* dup3() makes the descriptor lead to the new file in one step. */
int blm_memory_publish(struct blm_memory *memory, const struct blm_new_file *file)
{
	int fd = open_again(file->fd, true), r = 0;

	if (fd < 0)
		return fd;
	if (memory->fd < 0) {
		memory->fd = fd;
		return 0;
	}
	if (dup3(fd, memory->fd, O_CLOEXEC) < 0)
		r = blm_fail(-errno, "cannot replace a filter in memory: %s", strerror(errno));
	close(fd);
	return r;
}

int blm_memory_secret(const struct blm_memory *memory, uint8_t *ret)
{
	if (!memory->secret)
		return blm_fail(-ENOKEY, "a keyed filter in memory, whose secret is not known; "
				"give the secret");
	blm_secret_copy(ret, memory->secret);
	return 0;
}

int blm_memory_keep_secret(struct blm_memory *memory, const uint8_t *secret)
{
	if (!memory->secret)
		memory->secret = blm_hidden_new(BLM_SECRET_BYTES);
	if (!memory->secret)
		return blm_fail(-ENOMEM, "no memory for a secret key");
	blm_secret_copy(memory->secret, secret);
	return 0;
}
