/* disk.c - file systems of one's own, on loop devices, that can lose their power */
#include "disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/loop.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHUTDOWN _IOR('X', 125, uint32_t)	/* of ext4 and XFS alike */
enum { SHUTDOWN_NO_FLUSH = 2 };

static void must(bool good, const char *what)
{
	if (!good) {
		printf("Bail out! %s: %s\n", what, strerror(errno));
		fflush(stdout);
		_exit(EXIT_FAILURE);
	}
}

/* ---- Loop devices ---- */

/* Attach a file to a free one; it is given back when the last who uses it closes it. */
static int attach(int image, char device[32])
{
	struct loop_config config = { .fd = (uint32_t)image, .info.lo_flags = LO_FLAGS_AUTOCLEAR };
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), fd = -1;

	for (int tries = 0; control >= 0 && fd < 0 && tries < 100; tries++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE);

		if (number < 0)
			break;
		snprintf(device, 32, "/dev/loop%d", number);
		fd = open(device, O_RDWR | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT
		    && mknod(device, S_IFBLK | 0600, makedev(7, (unsigned)number)) == 0)
			fd = open(device, O_RDWR | O_CLOEXEC);
		/* another process was faster */
		if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config) < 0) {
			close(fd);
			fd = -1;
			usleep(1000);
		}
	}
	if (control >= 0)
		close(control);
	return fd;
}

/* ---- Programs ---- */

static bool run(char *const argv[])
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		setenv("PATH", "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin", 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status)
	    && WEXITSTATUS(status) == 0;
}

/* ---- Disks ---- */

const char *disks_begin(void)
{
	char device[32];
	int fd, image;

	if (geteuid() != 0)
		return "power is cut on file systems of our own: only root can mount them";
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return "no mount namespace of our own is to be had here";
	if (mount("bloomery", "/mnt", "tmpfs", 0, "mode=0700") < 0)
		return "no file system can be mounted on /mnt";
	image = open("/mnt", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	fd = image >= 0 && ftruncate(image, 1 << 20) == 0 ? attach(image, device) : -1;
	if (image >= 0)
		close(image);
	if (fd < 0)
		return "there are no loop devices here";
	close(fd);
	return NULL;
}

const char *disk_make(struct disk *ret, const char *type)
{
	static char reason[96];
	static unsigned count;
	bool xfs = !strcmp(type, "xfs");
	char path[32];
	/* mkfs inherits it */
	struct disk disk = { .type = type, .image = open("/mnt", O_TMPFILE | O_RDWR, 0600) };
	char *ext4_argv[] = { (char *)"mkfs.ext4", (char *)"-q", (char *)"-F", path, NULL };
	char *xfs_argv[] = { (char *)"mkfs.xfs", (char *)"-q", (char *)"-f", path, NULL };

	must(disk.image >= 0 && ftruncate(disk.image, (off_t)(xfs ? 320 : 96) << 20) == 0,
	     "an image");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", disk.image);
	snprintf(disk.mount, sizeof(disk.mount), "/mnt/disk-%u", count++);
	must(mkdir(disk.mount, 0700) == 0, disk.mount);
	if (!run(xfs ? xfs_argv : ext4_argv)) {
		snprintf(reason, sizeof(reason), "mkfs.%s does not run here", type);
		close(disk.image);
		return reason;
	}
	fcntl(disk.image, F_SETFD, FD_CLOEXEC);
	if (!disk_try_mount(&disk)) {
		snprintf(reason, sizeof(reason), "%s cannot be mounted here", type);
		close(disk.image);
		return reason;
	}
	disk_unmount(&disk);
	*ret = disk;
	return NULL;
}

bool disk_try_mount(struct disk *disk)
{
	char device[32];
	int fd = attach(disk->image, device), r;

	must(fd >= 0, "a loop device");
	r = mount(device, disk->mount, disk->type, 0, "");
	close(fd);
	return r == 0;
}

void disk_mount(struct disk *disk)
{
	must(disk_try_mount(disk), "mounting it again");
}

void disk_unmount(struct disk *disk)
{
	int r = umount2(disk->mount, 0);

	for (int tries = 0; r < 0 && errno == EBUSY && tries < 2000; tries++) {
		usleep(5000);
		r = umount2(disk->mount, 0);
	}
	must(r == 0, "unmounting");
}

void disk_cut(const struct disk *disk)
{
	uint32_t how = SHUTDOWN_NO_FLUSH;
	int fd = open(disk->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	must(fd >= 0 && ioctl(fd, SHUTDOWN, &how) == 0, "cutting the power");
	close(fd);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

/* Never the same name again: a cut can bring back what was removed. */
void disk_folder(struct disk *disk, char *ret, size_t bytes)
{
	static unsigned count;
	DIR *list = opendir(disk->mount);
	int fd;

	must(list != NULL, disk->mount);
	for (struct dirent *e; (e = readdir(list)); )
		if (!strncmp(e->d_name, "cut-", 4)) {
			snprintf(ret, bytes, "%s/%s", disk->mount, e->d_name);
			nftw(ret, remove_one, 16, FTW_DEPTH | FTW_PHYS);
		}
	closedir(list);
	snprintf(ret, bytes, "%s/cut-%u", disk->mount, count++);
	must(mkdir(ret, 0755) == 0, ret);
	fd = open(disk->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0 && fsync(fd) == 0, disk->mount);
	close(fd);
}
