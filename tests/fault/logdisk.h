/*
 * logdisk.h - a disk that remembers every write and every flush in their order, and fails writes or
 * reads on request
 *
 * A file system of one file, in user space (FUSE), under the loop device. From what it remembers,
 * every state can be made in which a power cut may leave a disk: all that was written before the
 * last flush, and of what came after it any sectors.
 */
#ifndef BLM_LOGDISK_H
#define BLM_LOGDISK_H

#include "disk.h"

#include <stdint.h>
#include <sys/types.h>

enum logged { LOG_WRITE = 1, LOG_FLUSH, LOG_MARK };

struct log_record {
	uint64_t what, offset, bytes;	/* then this many bytes, of writes and marks */
};

enum { FAULTS_MAX = 1024 };

/*
 * Writes, or reads instead, that touch one of these bytes of the disk fail with EIO. If a write
 * begins before them, FUSE may split it; then the loop device reports the part that succeeded as a
 * success. So break whole files, or what no write reaches from below.
 */
struct faults {
	_Atomic uint64_t count, hits;
	_Atomic bool of_reads;
	struct { uint64_t from, to; } at[FAULTS_MAX];
};

struct logdisk {
	struct disk disk;		/* mount this; its image is the file in user space */
	int image, log;			/* its contents so far; what happened to it */
	struct faults *faults;
	int mark;			/* each write here is a mark in the log */
	char folder[64];
	pid_t server;
};

/* From a disk that was made, which then belongs to it. Return: NULL, or why not. */
const char *logdisk_begin(struct logdisk *ret, const struct disk *made);

/* Mount it: nothing that the system kept of it in memory is used. */
void logdisk_mount(struct logdisk *l);

/* Stop; image and log stay open. */
void logdisk_end(struct logdisk *l);

#endif
