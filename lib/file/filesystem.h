/*
 * filesystem.h - file systems on which a shared map behaves differently
 */
#ifndef BLM_FILE_WHERE_H
#define BLM_FILE_WHERE_H

#include "base/base.h"

/*
 * A warning for users about the file system of this file; NULL: none. Static. (Network file
 * systems: two machines do not see each other's maps.)
 */
const char *blm_caution_about(int fd);

/*
 * On overlayfs a file of a lower layer is copied up when a process first opens it for writing. A
 * process that had mapped it before sees the lower file for ever. So a reader causes the copy
 * before it maps. Returns the descriptor to use from then on, which may be another one; this never
 * fails. ret_unsure: this user may not cause the copy, but others may later.
 */
int blm_copied_up(int fd, bool *ret_unsure);

/*
 * Write back all files of the file system in one go, and flush it once? Where this is not known to
 * do what fsync(2) of each file does, nothing is done: false. ret_err: 0 or a negative errno.
 */
bool blm_sync_all(int folder, int *ret_err);

#endif
