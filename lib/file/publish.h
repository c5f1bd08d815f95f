/*
 * publish.h - a new file appears whole, or not at all
 *
 * It is written without a name, synced, given its name, and its folder synced. A crash before the name leaves nothing.
 */
#ifndef BLM_FILE_PUBLISH_H
#define BLM_FILE_PUBLISH_H

#include "base.h"

struct blm_new_file {
	int fd;			/* for reading and writing */
	int folder;
	char temporary[64];	/* its name, where the file system makes no unnamed files; else empty */
};

/* Begin one in a folder (a descriptor, which then belongs to ret). mode 0: 0644 less the umask; else exactly these bits. */
int blm_new_file(struct blm_new_file *ret, int folder, const char *path, unsigned mode);

/* Its size, and its space unless sparse: a full disk then fails here (-ENOSPC), and no later write can. */
int blm_new_file_size(struct blm_new_file *file, uint64_t bytes, bool sparse, const char *path);

/* Sync it and name it. over false: -EEXIST if the name is taken. over true: in the place of what has the name. */
int blm_new_file_publish(struct blm_new_file *file, const char *name, bool over, const char *path);

/* Close what is open but fd, which is the caller's; takes a temporary name away. */
void blm_new_file_end(struct blm_new_file *file);

#endif
