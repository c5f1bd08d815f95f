/*
 * filesystem.c - file systems that the library warns about, and files of an overlay, which move
 * when they are first written to
 */
#include "suite.h"

#include "file/filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

enum { OVERLAY = 0x794c7630, EXT4 = 0xef53 };

static unsigned long type;	/* that files are said to be on; 0: fstatfs() fails */
static int fails_to_write, fails_to_read;	/* opening does, with this errno; 0: it does not */

int fstatfs(int fd, struct statfs *ret)
{
	*ret = (struct statfs){ .f_type = (__typeof__(ret->f_type))type };
	errno = EIO;
	return type ? 0 : -1;
}

int open(const char *path, int flags, ...)
{
	int err = strncmp(path, "/proc/self/fd/", 14) ? 0
		: (flags & O_ACCMODE) == O_RDWR	      ? fails_to_write
						      : fails_to_read;
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if (err) {
		errno = err;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

START_TEST(file_systems_that_hide_other_machines_adds_are_reported)
{
	static const struct { unsigned long type; const char *name;
	} told[] = {
		{ 0x6969, "NFS" },
		{ 0x517b, "SMB" },
		{ 0xff534d42, "CIFS" },
		{ 0xfe534d42, "SMB" },
		{ 0x01021997, "9p" },
		{ 0x00c36400, "Ceph" },
		{ 0x65735546, "FUSE" },
		{ 0x5346414f, "AFS" },
		{ 0x6b414653, "AFS" },
		{ 0x0bd00bd0, "Lustre" },
		{ 0x47504653, "GPFS" },
		{ 0x7461636f, "OCFS2" },
		{ 0x786f4256, "VirtualBox" },
	};

	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
		type = told[i].type;
		ck_assert_ptr_nonnull(blm_caution_about(0));
		ck_assert_ptr_nonnull(strstr(blm_caution_about(0), told[i].name));
	}
}
END_TEST

START_TEST(known_good_and_unknown_file_systems_are_not_reported)
{
	static const unsigned long quiet[] = { EXT4, OVERLAY, 0 };

	type = quiet[_i];
	ck_assert_ptr_null(blm_caution_about(0));
}
END_TEST

static int a_file(void)
{
	int fd = open(a_path(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* Is it open, for reading only, and of this number? */
static bool leads_to(int fd, ino_t inode)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_ino == inode
	    && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY && fcntl(fd, F_GETFD) & FD_CLOEXEC;
}

START_TEST(an_overlay_file_is_opened_for_writing_then_for_reading)
{
	struct stat st;
	int fd = a_file(), again, before = a_file();
	bool unsure = true;

	close(before);			/* the first that is free */
	ck_assert_int_eq(fstat(fd, &st), 0);
	type = OVERLAY;
	again = blm_copied_up(fd, &unsure);
	ck_assert(!unsure);
	ck_assert(leads_to(again, st.st_ino));
	ck_assert_int_ne(again, fd);
	ck_assert_int_lt(fcntl(fd, F_GETFD), 0);
	close(again);
	ck_assert_int_eq(again, before);	/* and none is left open */
}
END_TEST

START_TEST(a_read_only_overlays_file_stays_if_others_write)
{
	static const int errors[] = { EACCES, EROFS };
	struct stat st;
	int fd = a_file();
	bool unsure = _i;

	ck_assert_int_eq(fstat(fd, &st), 0);
	type = OVERLAY;
	fails_to_write = errors[_i];
	ck_assert_int_eq(blm_copied_up(fd, &unsure), fd);
	ck_assert_int_eq(unsure, !_i);
	ck_assert(leads_to(fd, st.st_ino));
	close(fd);
}
END_TEST

START_TEST(a_file_outside_an_overlay_stays_open_as_it_is)
{
	struct stat st;
	int fd = a_file();
	bool unsure = true;

	ck_assert_int_eq(fstat(fd, &st), 0);
	type = _i ? EXT4 : OVERLAY;
	fails_to_read = EMFILE;
	fails_to_write = _i ? EMFILE : 0;
	ck_assert_int_eq(blm_copied_up(fd, &unsure), fd);
	ck_assert(!unsure);
	ck_assert(leads_to(fd, st.st_ino));
	close(fd);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("file/filesystem");
	TCase *tc = tcase_create("where");

	tcase_add_test(tc, file_systems_that_hide_other_machines_adds_are_reported);
	tcase_add_loop_test(tc, known_good_and_unknown_file_systems_are_not_reported, 0, 3);
	tcase_add_test(tc, an_overlay_file_is_opened_for_writing_then_for_reading);
	tcase_add_loop_test(
		tc, a_read_only_overlays_file_stays_if_others_write, 0, 2);
	tcase_add_loop_test(
		tc, a_file_outside_an_overlay_stays_open_as_it_is, 0, 2);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
