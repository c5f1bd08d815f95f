/* disk.h - file systems of one's own, on loop devices, that can lose their power */
#ifndef BLM_DISK_H
#define BLM_DISK_H

#include <stdbool.h>
#include <stddef.h>

struct disk {
	const char *type;	/* "ext4", "xfs" */
	int image;		/* the file that it is on */
	char mount[64];		/* where it is mounted */
};

/*
 * Begin: a mount namespace of our own with a file system in memory on /mnt, where all is that this
 * program makes. So nothing of it is left when it ends, however it ends. Return: NULL, or why that
 * cannot be.
 */
const char *disks_begin(void);

/* Make a file system in a new file. Return: NULL, or why not. */
const char *disk_make(struct disk *ret, const char *type);

/* ... on a file that has one. These end the program where they fail. */
void disk_mount(struct disk *disk);
void disk_unmount(struct disk *disk);

/* Mount, unless the file system is damaged; for images that a test made up. */
bool disk_try_mount(struct disk *disk);

/*
 * Take the power away: data that is not on the disk is lost. Open files fail; then unmount the file
 * system.
 */
void disk_cut(const struct disk *disk);

/* A new empty folder on it; earlier ones, with what is in them, go. */
void disk_folder(struct disk *disk, char *ret, size_t bytes);

#endif
