/*
 * new_file.h - a new file appears complete, or not at all
 *
 * The file is written without a name, synced, and named; then its folder is synced. A crash before
 * the naming leaves nothing.
 */
#ifndef BLM_FILE_PUBLISH_H
#define BLM_FILE_PUBLISH_H

#include "base/base.h"

enum { BLM_TEMPORARY_NAME = 64 };

struct blm_new_file {
	int fd;			/* for reading and writing */
	int folder;		/* -1: it gets no name, it is in memory */
	/*
	 * Its temporary name, if the file system makes no unnamed files, or the publication was
	 * taken back, or the file is just replacing another one; otherwise empty. A file with such
	 * a name and any contents is locked, BLM_LOCK_MAKING, while its maker lives.
	 */
	char temporary[BLM_TEMPORARY_NAME];
	unsigned mode;		/* set with the name; with a temporary name it has 0600 */
	bool asked;		/* the caller requested the mode, so a replaced file's is ignored */
};

/*
 * Begin a new file in a folder (a descriptor, which ret then owns). mode: exactly these bits; 0:
 * those of the replaced file, or, without one, 0644 less the umask.
 */
int blm_new_file(struct blm_new_file *ret, int folder, const char *path, unsigned mode);

/*
 * For a file that replaces `old`: gives it the owner of `old` and, if no mode was requested, the
 * mode and the access list (ACL) of `old`. If the owner cannot be kept the maker stays the owner.
 * If the group cannot be kept, group and others get only the rights that both have in the mode.
 */
int blm_new_file_take_rights(struct blm_new_file *file, int old, const char *path);

/*
 * Sets the size, and allocates the space unless sparse: a full disk then fails here (-ENOSPC), and
 * not in a later write.
 */
int blm_new_file_size(struct blm_new_file *file, uint64_t bytes, bool sparse, const char *path);

/* Extend an open file to this length, with a hole at its end. */
int blm_extend(int fd, uint64_t bytes, const char *path);

/* Allocate the space of these bytes of an open file. */
int blm_allocate(int fd, uint64_t at, uint64_t bytes, const char *path);

/*
 * Write into an open file, in its page cache and not through a map: a full disk or a limit of file
 * sizes is then an error and no signal. Pages of zeros are left out, so that they stay holes. The
 * numbers of both sorts of pages are added to `counted`.
 */
struct blm_pages {
	uint64_t empty, full;
};
int blm_write_pages(int fd, const void *bytes, size_t count, uint64_t at, struct blm_pages *counted,
		    const char *path);

/*
 * Sync the file and name it. BLM_NOT_OVER: -EEXIST if the name is in use. BLM_OVER: replaces the
 * file of that name and takes over its rights. BLM_OVER_LOCKED: the same, under a lock of the old
 * file that every replacer holds. The new file then has, for a moment, a name made from the old
 * file's number, and keeps that name if its maker dies at that moment. The next replacer of the old
 * file removes it, and so does `verify --repair`.
 */
enum blm_over { BLM_NOT_OVER, BLM_OVER, BLM_OVER_LOCKED };
int blm_new_file_publish(struct blm_new_file *file, const char *name, enum blm_over over,
			 const char *path);
/* the two halves of blm_new_file_publish(); the first one can take long */
int blm_new_file_sync(struct blm_new_file *file, const char *path);
int blm_new_file_name(struct blm_new_file *file, const char *name, enum blm_over over,
		      const char *path);
/*
 * Undo a publication so that the file can be published again: renames it to a temporary name,
 * because a file without any name could not be linked again.
 */
void blm_new_file_take_back(struct blm_new_file *file, const char *name);
/* Is it a temporary name; the name of a file that replaces a locked one? May its maker live? */
bool blm_is_temporary(const char *name);
bool blm_is_replacement(const char *name);
bool blm_temporary_is_made(int folder, const char *file);
void blm_replacement_name(uint64_t inode, char ret[BLM_TEMPORARY_NAME]);

/*
 * For one of many files that get their names together, and may be more than a process may have
 * descriptors. The file gets its mode and a temporary name (ret_temporary). A map of it (*ret_map,
 * its first BLM_PARKED_BYTES) keeps the locks that are held through file->fd. `file` can then be
 * ended, which leaves the temporary name. A forked child does not inherit the map, so it holds no
 * lock. munmap() releases the locks. Do not touch the bytes of the map: the file may be truncated.
 */
enum { BLM_PARKED_BYTES = 1 };
int blm_new_file_park(struct blm_new_file *file, char ret_temporary[BLM_TEMPORARY_NAME],
		      void **ret_map, const char *path);
/* Rename it to an unused name: 0, or a negative errno, without a message. */
int blm_rename_new(int folder, const char *temporary, const char *name);

/* Remove the temporary name; close the descriptors. */
void blm_new_file_unname(struct blm_new_file *file);
void blm_new_file_end(struct blm_new_file *file);

#endif
