/* mapping.h - a filter's file in memory: mapped, and its header copied out */
#ifndef BLM_FILE_MAPPING_H
#define BLM_FILE_MAPPING_H

#include "file/header.h"

#include <sys/types.h>

struct blm_image {
	/* -1 in a forked child: locks on it would be the parent's too */
	int fd;
	bool write;			/* mapped for writing */
	/* it had no link when it was mapped: not published yet, or opened through a descriptor */
	bool nameless;
	/* mapped for reading from an overlay: others may copy it up, and write to the copy */
	bool unsure;
	uint64_t bytes;			/* of the file when it was mapped */
	uint8_t *map;			/* the file; aligned to 2 MiB, as is its offset 0 */
	/* at its beginning; of another program's file: made for it, and only in this process */
	struct blm_header *header;
	void *reserved;			/* what munmap() wants */
	size_t reserved_bytes;
	dev_t device;
	ino_t inode;
};

/*
 * blm_image_map() - map the file behind fd; the image then owns fd, and on failure it is closed.
 * -EBADMSG: it is no regular file or does not begin like one of ours; -ENODATA: it is shorter than
 * a header.
 */
int blm_image_map(struct blm_image *ret, int fd, const char *path, bool write);
void blm_image_unmap(struct blm_image *image);

/*
 * Was an unsure file copied up, and the copy changed? The descriptor reads the copy, the map still
 * shows the old file.
 */
bool blm_image_is_behind(const struct blm_image *image);

/* As blm_image_map(), for reading another program's file: any bytes, and at first no header. */
int blm_image_map_foreign(struct blm_image *ret, int fd, const char *path);

/*
 * Check the header against itself and the file's size, and copy it out; a file that grew since it
 * was mapped is mapped again, so nothing may point into the map yet. Fails as blm_open() does.
 */
int blm_image_check(struct blm_image *image, const char *path, struct blm_contents *ret);

#endif
