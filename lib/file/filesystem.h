/* filesystem.h - the file systems on which a shared map is not what it is elsewhere */
#ifndef BLM_FILE_WHERE_H
#define BLM_FILE_WHERE_H

#include "base/base.h"

/*
 * What a user should know of the file system of this file, in words; NULL: nothing. Static.
 * (Network file systems: two machines do not see each other's maps.)
 */
const char *blm_caution_about(int fd);

/*
 * On overlayfs a file of a lower layer is copied up when a process first opens it for writing. A
 * process that had mapped it before goes on seeing the lower one, for good. So a reader brings the
 * copy about before it maps. Returns the descriptor to go on with, which may be another one; this
 * never fails. ret_unsure: this user may not bring it about, and others may, later.
 */
int blm_copied_up(int fd, bool *ret_unsure);

/*
 * Write back all files of the file system in one go, and flush it once? Where this is not known to
 * do what fsync(2) of each file does, nothing is done: false. ret_err: 0 or a negative errno.
 */
bool blm_sync_all(int folder, int *ret_err);

#endif
