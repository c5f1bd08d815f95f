/*
 * logdisk.c - a disk that remembers every write and every flush in their order, and fails writes or
 * reads on request
 */
#define FUSE_USE_VERSION 31
#include "logdisk.h"
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The server: one process, one thread ---- */

static struct logdisk *served;
static off_t served_bytes;

static bool is_mark(const char *path)
{
	return !strcmp(path, "/mark");
}

static int get_attributes(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	bool folder = !strcmp(path, "/");

	(void)fi;
	if (!folder && !is_mark(path) && strcmp(path, "/disk") != 0)
		return -ENOENT;
	memset(st, 0, sizeof(*st));
	st->st_mode = folder ? S_IFDIR | 0700 : S_IFREG | 0600;
	st->st_nlink = folder ? 2 : 1;
	st->st_size = folder || is_mark(path) ? 0 : served_bytes;
	return 0;
}

static int open_file(const char *path, struct fuse_file_info *fi)
{
	fi->direct_io = is_mark(path);
	return 0;
}

static bool is_at_fault(bool read, off_t from, size_t bytes)
{
	struct faults *faults = served->faults;

	for (uint64_t i = 0; i < faults->count && faults->of_reads == read; i++)
		if ((uint64_t)from < faults->at[i].to
		    && faults->at[i].from < (uint64_t)from + bytes) {
			faults->hits++;
			return true;
		}
	return false;
}

static int read_file(const char *path, char *to, size_t bytes, off_t offset,
		     struct fuse_file_info *fi)
{
	ssize_t got;

	(void)fi;
	if (is_mark(path))
		return 0;
	if (is_at_fault(true, offset, bytes))
		return -EIO;
	got = pread(served->image, to, bytes, offset);
	return got < 0 ? -errno : (int)got;
}

static bool remember(enum logged what, const void *data, size_t bytes, off_t offset)
{
	struct log_record r = { .what = what, .offset = (uint64_t)offset, .bytes = bytes };

	return write(served->log, &r, sizeof(r)) == (ssize_t)sizeof(r)
	    && write(served->log, data, bytes) == (ssize_t)bytes;
}

static int write_file(const char *path, const char *data, size_t bytes, off_t offset,
		      struct fuse_file_info *fi)
{
	(void)fi;
	if (is_mark(path))
		return remember(LOG_MARK, data, bytes, 0) ? (int)bytes : -EIO;
	if (is_at_fault(false, offset, bytes))
		return -EIO;
	if (!remember(LOG_WRITE, data, bytes, offset)
	    || pwrite(served->image, data, bytes, offset) != (ssize_t)bytes)
		return -EIO;
	return (int)bytes;
}

static int flush_file(const char *path, int data_only, struct fuse_file_info *fi)
{
	(void)data_only, (void)fi;
	return is_mark(path) || remember(LOG_FLUSH, "", 0, 0) ? 0 : -EIO;
}

/*
 * The server must not have the disk in its own mount namespace. If owner and server are killed, the
 * last of them unmounts the disk, and a server would wait for itself, as would every sync(2) of the
 * machine.
 */
static void *begin(struct fuse_conn_info *connection, struct fuse_config *config)
{
	(void)connection, (void)config;
	if (unshare(CLONE_NEWNS) < 0)
		_exit(EXIT_FAILURE);
	return NULL;
}

static const struct fuse_operations operations = {
	.init = begin,
	.getattr = get_attributes,
	.open = open_file,
	.read = read_file,
	.write = write_file,
	.fsync = flush_file,
};

static void __attribute__((noreturn)) serve(struct logdisk *l)
{
	char *argv[] = { (char *)"logdisk", l->folder, (char *)"-f", (char *)"-s", NULL };
	struct stat st;
	int null = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* a signal to all processes of the test: the owner still has to unmount the disk */
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	dup2(null, 2);
	served = l;
	_exit(fstat(l->image, &st) == 0 && (served_bytes = st.st_size) > 0
		      ? fuse_main(4, argv, &operations, NULL)
		      : EXIT_FAILURE);
}

/* ---- Its owner ---- */

static bool is_up(struct logdisk *l)
{
	char path[80];
	struct stat st;

	snprintf(path, sizeof(path), "%s/disk", l->folder);
	for (int tries = 0; tries < 1000; tries++) {
		if (stat(path, &st) == 0)
			return true;
		if (waitpid(l->server, NULL, WNOHANG) == l->server)
			break;
		usleep(10000);
	}
	return false;
}

const char *logdisk_begin(struct logdisk *ret, const struct disk *made)
{
	static unsigned count;
	struct logdisk *l = ret;
	char path[80];

	*l = (struct logdisk){ .disk = *made,
			       .image = made->image,
			       .log = open("/mnt", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600),
			       .faults = work_shared(sizeof(*l->faults)) };
	snprintf(l->folder, sizeof(l->folder), "/mnt/logged-%u", count++);
	l->disk.image = -1;
	if (l->log < 0 || !l->faults || mkdir(l->folder, 0700) < 0)
		return "no room for a log";
	fflush(stdout);
	l->server = fork();
	if (l->server == 0)
		serve(l);
	if (!is_up(l)) {
		kill(l->server, SIGKILL);
		waitpid(l->server, NULL, 0);
		return "there is no FUSE here";
	}
	snprintf(path, sizeof(path), "%s/mark", l->folder);
	l->mark = open(path, O_WRONLY | O_CLOEXEC);
	return l->mark < 0 ? "the log takes no marks" : NULL;
}

void logdisk_mount(struct logdisk *l)
{
	char path[80];

	if (l->disk.image >= 0)
		close(l->disk.image);
	snprintf(path, sizeof(path), "%s/disk", l->folder);
	/* the system forgets what it knew of a file that is opened anew */
	l->disk.image = open(path, O_RDWR | O_CLOEXEC);
	disk_mount(&l->disk);
}

void logdisk_end(struct logdisk *l)
{
	close(l->mark);
	if (l->disk.image >= 0)
		close(l->disk.image);
	l->disk.image = -1;
	/* the loop device lets go of it in its own time */
	for (int tries = 0; umount2(l->folder, 0) < 0 && errno == EBUSY && tries < 1000; tries++)
		usleep(5000);
	kill(l->server, SIGKILL);
	while (waitpid(l->server, NULL, 0) < 0 && errno == EINTR)
		;
}
