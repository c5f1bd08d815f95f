/*
 * filesystem.c - file systems with properties of their own, recognised by statfs(2)'s type
 */
#include "file/filesystem.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <unistd.h>

#define OVERLAY 0x794c7630u

static const struct { uint32_t type; const char *caution; } systems[] = {
#define NETWORK(name) \
	"it is on " name ": processes of other machines do not see what is added here until " \
	"they open it anew, and keys that two machines add at once may be lost"
	{ 0x6969, NETWORK("NFS") },
	{ 0x517b, NETWORK("SMB") },
	{ 0xff534d42, NETWORK("CIFS") },
	{ 0xfe534d42, NETWORK("SMB") },
	{ 0x01021997, NETWORK("9p") },
	{ 0x00c36400, NETWORK("Ceph") },
	{ 0x5346414f, NETWORK("AFS") },
	{ 0x6b414653, NETWORK("AFS") },
	{ 0x0bd00bd0, NETWORK("Lustre") },
	{ 0x47504653, NETWORK("GPFS") },
	{ 0x7461636f, NETWORK("OCFS2") },
	{ 0x786f4256, "it is in a folder of VirtualBox's host: whether others see what is added "
	  "here, and whether it survives a power cut, is up to that" },
	{ 0x65735546, "it is on a FUSE file system: whether others see what is added here, and "
	  "whether it survives a power cut, is up to that" },
};

static uint32_t type_of(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 ? 0 : (uint32_t)fs.f_type;
}

const char *blm_caution_about(int fd)
{
	uint32_t type = type_of(fd);

	for (size_t i = 0; i < ARRAY_LEN(systems); i++)
		if (systems[i].type == type)
			return systems[i].caution;
	return NULL;
}

int blm_copied_up(int fd, bool *ret_unsure)
{
	char self[40];
	int writable, again;

	*ret_unsure = false;
	if (type_of(fd) != OVERLAY)
		return fd;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	writable = open(self, O_RDWR | O_CLOEXEC);
	if (writable < 0) {
		*ret_unsure = errno != EROFS;
		return fd;
	}
	close(writable);
	again = open(self, O_RDONLY | O_CLOEXEC);
	if (again < 0)
		return fd;
	close(fd);
	return again;
}

/*
 * On other file systems syncfs(2) may not reach the server or the daemon that has the file. Linux
 * reports failed writes here since 5.8.
 */
bool blm_sync_all(int folder, int *ret_err)
{
	static const uint32_t whole[] = {
		0xef53,		/* ext2, ext3, ext4 */
		0x58465342,	/* XFS */
		0x9123683e,	/* btrfs */
		0xf2f52010,	/* F2FS */
		0x01021994,	/* tmpfs */
	};
	uint32_t type = type_of(folder);

	for (size_t i = 0; i < ARRAY_LEN(whole); i++)
		if (whole[i] == type) {
			*ret_err = syncfs(folder) < 0 ? -errno : 0;
			return true;
		}
	return false;
}
