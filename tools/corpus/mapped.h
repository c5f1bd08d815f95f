/* mapped.h - files whose bytes outlive the process that writes them */
#ifndef BLOOMERY_CORPUS_MAPPED_H
#define BLOOMERY_CORPUS_MAPPED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mapped {
	int fd;
	char *path;
	uint8_t *at;
	size_t bytes;
};

enum { MAPPED_LEAST = 8192 };	/* bytes of a file */

/* Return: an exit code, with a message where it is not DONE. */
int open_mapped(struct mapped *m, const char *path, mode_t mode);
int map_file(struct mapped *m);
/* At least that many bytes, which are allocated: a full disk is an error here, not at a store. */
int map_bytes(struct mapped *m, size_t bytes);
void unmap(struct mapped *m);
/* Locks the whole file. A lock dies with its process. Return: 0, or -1 with errno. */
int lock_now(int fd, short type);

#endif
