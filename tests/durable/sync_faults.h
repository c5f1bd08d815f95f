/*
 * sync_faults.h - calls of msync() and fsync(), counted, and failing where a test wants it
 *
 * It defines these functions for the whole test program, so one file of a program includes it.
 */
#ifndef BLM_STORE_SYNC_FAULTS_H
#define BLM_STORE_SYNC_FAULTS_H

#include "suite.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static int page_bytes = 4096;

int getpagesize(void)
{
	return page_bytes;
}

/* calls of msync(); which call from now on fails, 0: none; below 0: which of them kills */
static int syncs, failing;
static int failing_with = EIO;
/* what others do while the next call of this thread runs; NULL: nothing */
static _Thread_local void (*meanwhile)(void);

int msync(void *at, size_t bytes, int flags)
{
	void (*now)(void) = meanwhile;

	syncs++;
	meanwhile = NULL;
	if (now)
		now();
	if ((uintptr_t)at % (uintptr_t)page_bytes) {	/* as the system says it */
		errno = EINVAL;
		return -1;
	}
	if (failing < 0 && ++failing == 0)
		raise(SIGKILL);
	if (failing > 0 && --failing == 0) {
		errno = failing_with;
		return -1;
	}
	return (int)syscall(SYS_msync, at, bytes, flags);
}

/* the system has a report of a failure for the next descriptor that is asked about */
static bool has_report;

int sync_file_range(int fd, off64_t at, off64_t bytes, unsigned how)
{
	if (has_report) {
		has_report = false;
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_sync_file_range, fd, at, bytes, how);
}

/* calls of fsync() for a folder; which of them fails, 0: none; -1: the next kills */
static int folder_syncs, folder_failing;

int fsync(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		folder_syncs++;
		if (folder_failing < 0)
			raise(SIGKILL);
		if (folder_failing > 0 && --folder_failing == 0) {
			errno = EIO;
			return -1;
		}
	}
	return (int)syscall(SYS_fsync, fd);
}

static const char *const announcing[] = { "counting", "cuckoo", "iblt" };

#endif
