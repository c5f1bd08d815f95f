/*
 * new_file.h - a new file appears whole, or not at all
 *
 * It is written without a name, synced, given its name, and its folder synced. A crash before the
 * name leaves nothing.
 */
#ifndef BLM_FILE_PUBLISH_H
#define BLM_FILE_PUBLISH_H

#include "base/base.h"

enum { BLM_TEMPORARY_NAME = 64 };

struct blm_new_file {
	int fd;			/* for reading and writing */
	int folder;		/* -1: it gets no name, it is in memory */
	/*
	 * Its name, where the file system makes no unnamed files, or it was taken back, or is just
	 * coming in the place of another; else empty. A file of such a name that holds anything is
	 * locked, BLM_LOCK_MAKING, while its maker lives.
	 */
	char temporary[BLM_TEMPORARY_NAME];
	unsigned mode;		/* that it gets with its name; a temporary name has 0600 */
	bool asked;		/* for that mode, whatever it comes in the place of */
};

/*
 * Begin one in a folder (a descriptor, which then belongs to ret). mode: exactly these bits; 0:
 * those of what it replaces, or, where it replaces nothing, 0644 less the umask.
 */
int blm_new_file(struct blm_new_file *ret, int folder, const char *path, unsigned mode);

/*
 * It comes in the place of `old`, and is to be whose that is; if no mode was asked for, with its
 * mode and its list of rights (ACL). Where the owner cannot be kept it stays its maker's; where the
 * group cannot be kept, group and others get only what both have in its mode.
 */
int blm_new_file_take_rights(struct blm_new_file *file, int old, const char *path);

/*
 * Its size, and its space unless sparse: a full disk then fails here (-ENOSPC), and no later write
 * can.
 */
int blm_new_file_size(struct blm_new_file *file, uint64_t bytes, bool sparse, const char *path);

/* Make an open file as long as that, with a hole at its end. */
int blm_extend(int fd, uint64_t bytes, const char *path);

/* Take the space of these bytes of an open file. */
int blm_allocate(int fd, uint64_t at, uint64_t bytes, const char *path);

/*
 * Write into an open file, in its page cache and not through a map: a full disk or a limit of file
 * sizes is then an error and no signal. Pages that are zero are left out, so that they stay holes;
 * counted: how many there were, added to what it says.
 */
struct blm_pages {
	uint64_t empty, full;
};
int blm_write_pages(int fd, const void *bytes, size_t count, uint64_t at, struct blm_pages *counted,
		    const char *path);

/*
 * Sync it and name it. BLM_NOT_OVER: -EEXIST if the name is taken. BLM_OVER: in the place of what
 * has the name, with its rights. BLM_OVER_LOCKED: the same, under a lock of that file that all hold
 * who replace it; the new one then has a name of that file's number for a moment, and keeps it
 * where its maker dies just then: the next who replaces that file takes it away, and so does
 * `verify --repair`.
 */
enum blm_over { BLM_NOT_OVER, BLM_OVER, BLM_OVER_LOCKED };
int blm_new_file_publish(struct blm_new_file *file, const char *name, enum blm_over over,
			 const char *path);
/* its two halves; the first one can take long */
int blm_new_file_sync(struct blm_new_file *file, const char *path);
int blm_new_file_name(struct blm_new_file *file, const char *name, enum blm_over over,
		      const char *path);
/*
 * It is not to be seen by that name after all, but can be published again, which a file without any
 * name cannot: it has a temporary one.
 */
void blm_new_file_take_back(struct blm_new_file *file, const char *name);
/* Is it such a name; or that of one that replaces a locked file? May its maker live? */
bool blm_is_temporary(const char *name);
bool blm_is_replacement(const char *name);
bool blm_temporary_is_made(int folder, const char *file);
void blm_replacement_name(uint64_t inode, char ret[BLM_TEMPORARY_NAME]);

/*
 * For one of many files that get their names together. There may be more of them than a process may
 * have descriptors. The file gets its mode and a temporary name (ret_temporary). A second
 * description of it (*ret_map, BLM_PARKED_BYTES of its beginning) takes over the locks that are
 * held through file->fd. `file` can then be ended, which leaves the temporary name. A forked child
 * gets no such map, so it holds no lock up. munmap() gives the locks back. The bytes of the map are
 * not to be touched, since the file may be cut.
 */
enum { BLM_PARKED_BYTES = 1 };
int blm_new_file_park(struct blm_new_file *file, char ret_temporary[BLM_TEMPORARY_NAME],
		      void **ret_map, const char *path);
/* Give it a name that is free: 0, or a negative errno, without words. */
int blm_rename_new(int folder, const char *temporary, const char *name);

/* Take a temporary name away; and close what is open. */
void blm_new_file_unname(struct blm_new_file *file);
void blm_new_file_end(struct blm_new_file *file);

#endif
