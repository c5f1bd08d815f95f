/* new_file.c - new files: their descriptors, their sizes, their names */
#include "base/base.h"
#include "file/ofd_lock.h"
#include "file/new_file.h"
#include "file/os.h"
#include "store/suite.h"

#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

/* ---- File systems that make no files without a name ---- */

static int refuse_unnamed;	/* with this errno */

int openat(int at, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	if (refuse_unnamed && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = refuse_unnamed;
		return -1;
	}
	va_start(ap, flags);
	mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return (int)syscall(SYS_openat, at, path, flags, mode);
}

static int refuse_flags;	/* of rename: with this errno */

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
	if (refuse_flags && flags) {
		errno = refuse_flags;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from_at, from, to_at, to, flags);
}

static int refuse_links;	/* with this errno */

int linkat(int from_at, const char *from, int to_at, const char *to, int flags)
{
	if (refuse_links) {
		errno = refuse_links;
		return -1;
	}
	return (int)syscall(SYS_linkat, from_at, from, to_at, to, flags);
}

/*
 * The error of reading a file's access list, and that of removing one; 0: as it is.
 */
static int refuse_list, refuse_no_list;

ssize_t fgetxattr(int fd, const char *name, void *ret, size_t bytes)
{
	if (refuse_list) {
		errno = refuse_list;
		return -1;
	}
	return syscall(SYS_fgetxattr, fd, name, ret, bytes);
}

int fremovexattr(int fd, const char *name)
{
	if (refuse_no_list) {
		errno = refuse_no_list;
		return -1;
	}
	return (int)syscall(SYS_fremovexattr, fd, name);
}

static int folder(void)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static int make_with_descriptor_0(int unused)
{
	struct blm_new_file file;
	int at = folder();

	close(0);
	MUST(blm_new_file(&file, at, "a", 0644) == 0 && file.fd == 0);
	MUST(blm_new_file_publish(&file, "a", false, "a") == 0);
	blm_new_file_end(&file);
	return 0;
}

START_TEST(a_process_without_standard_input_makes_files_too)
{
	ck_assert_int_eq(run_apart(make_with_descriptor_0, 0), 0);
	ck_assert_int_eq(access("a", R_OK | W_OK), 0);
}
END_TEST

START_TEST(a_size_that_no_file_has_is_refused)
{
	struct blm_new_file file;

	OK(blm_new_file(&file, folder(), "a", 0));
	FAILS(blm_new_file_size(&file, UINT64_C(1) << 63, true, "a"), -EFBIG);
	FAILS(blm_new_file_size(&file, INT64_MAX, false, "a"), -EFBIG);
	FAILS(blm_allocate(file.fd, UINT64_C(1) << 62, 4096, "a"), -EFBIG);
	OK(blm_new_file_size(&file, 4096, true, "a"));
	blm_new_file_end(&file);
	ck_assert_int_eq(files_in(".", NULL), 0);
}
END_TEST

/* Ours is taken back, the program's own stays. */
START_TEST(a_pending_signal_of_the_size_limit_stays_pending)
{
	sigset_t too_large, pending;
	struct blm_held_signal held;

	sigemptyset(&too_large);
	sigaddset(&too_large, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &too_large, NULL);
	for (int before = 0; before < 2; before++) {
		if (before)
			raise(SIGXFSZ);
		blm_hold_size_signal(&held);
		raise(SIGXFSZ);
		blm_let_size_signal(&held);
		sigpending(&pending);
		ck_assert_int_eq(sigismember(&pending, SIGXFSZ), before);
	}
}
END_TEST

START_TEST(pages_of_zeros_are_not_written_wherever_they_begin)
{
	static uint8_t bytes[5 * 4096], back[sizeof(bytes)];
	struct blm_new_file file;
	struct blm_pages pages = { 0 };

	memset(bytes + 4096, 1, 4096);
	bytes[4 * 4096 - 1] = 7;
	OK(blm_new_file(&file, folder(), "a", 0));
	OK(blm_new_file_size(&file, 100 + sizeof(bytes), true, "a"));
	OK(blm_write_pages(file.fd, bytes, sizeof(bytes), 100, &pages, "a"));
	OK(blm_write_pages(file.fd, bytes, 0, 100, &pages, "a"));
	ck_assert_int_eq((int)pread(file.fd, back, sizeof(back), 100), (int)sizeof(back));
	ck_assert_mem_eq(back, bytes, sizeof(bytes));
	ck_assert_uint_eq(pages.full, 3);
	ck_assert_uint_eq(pages.empty, 3);
	blm_new_file_end(&file);
}
END_TEST

START_TEST(a_name_in_use_is_replaced_only_on_request)
{
	struct blm_new_file file;

	write_all("a", "old", 3);
	OK(blm_new_file(&file, folder(), "a", 0));
	FAILS(blm_new_file_publish(&file, "a", false, "a"), -EEXIST);
	OK(blm_new_file_publish(&file, "a", true, "a"));
	blm_new_file_end(&file);
	ck_assert_int_eq(files_in(".", NULL), 1);
	/* which takes no files: users without rights may not even ask */
	FAILS(blm_new_file(&file, open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "/proc/a", 0),
	      access("/proc", W_OK) < 0 ? -EACCES : -ENOENT);
}
END_TEST

/* _i: from 3 on rename knows no flags either */
START_TEST(a_file_that_needs_a_name_has_a_temporary_one)
{
	static const int errors[] = { EOPNOTSUPP, EISDIR, ENOENT };
	struct blm_new_file file;
	size_t bytes;
	uint8_t *all;

	refuse_unnamed = errors[_i % 3];
	refuse_flags = _i < 3 ? 0 : _i == 3 ? ENOSYS : EINVAL;
	for (int i = 0; i < 3; i++) {			/* new, taken, over what is there */
		OK(blm_new_file(&file, folder(), "a", 0600));
		ck_assert_int_eq(files_in(".", NULL), i ? 2 : 1);
		ck_assert_int_eq((int)write(file.fd, i == 2 ? "second" : "first", 6), 6);
		errno = EIO;		/* of some earlier call */
		if (i == 1)
			FAILS(blm_new_file_publish(&file, "a", false, "a"), -EEXIST);
		else
			OK(blm_new_file_publish(&file, "a", i == 2, "a"));
		blm_new_file_end(&file);
		ck_assert_int_eq(files_in(".", NULL), 1);
		all = read_all("a", &bytes);
		ck_assert_mem_eq(all, i == 2 ? "second" : "first", 6);
		free(all);
	}
	refuse_unnamed = EACCES;
	FAILS(blm_new_file(&file, folder(), "a", 0600), -EACCES);
}
END_TEST

START_TEST(a_file_system_without_links_is_not_reported_as_forbidden)
{
	struct blm_new_file file;

	refuse_unnamed = EOPNOTSUPP;
	refuse_flags = EINVAL;
	refuse_links = _i ? EOPNOTSUPP : EPERM;
	OK(blm_new_file(&file, folder(), "a", 0600));
	FAILS(blm_new_file_publish(&file, "a", BLM_NOT_OVER, "a"), -EOPNOTSUPP);
	blm_new_file_end(&file);
	ck_assert_int_eq(files_in(".", NULL), 0);
}
END_TEST

static mode_t mode_of(const char *path)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_mode & 07777;
}

/* _i: with 1 by a temporary name */
START_TEST(a_file_has_exactly_the_requested_mode_or_the_umasks)
{
	static const struct { unsigned asked; mode_t mask, mode;
	} modes[] = {
		{ 0600, 0, 0600 }, { 0666, 077, 0666 }, { 0400, 022, 0400 }, { 0777, 0, 0777 },
		{ 0, 022, 0644 },  { 0, 0, 0644 },	{ 0, 077, 0600 },
	};
	struct blm_new_file file;

	refuse_unnamed = _i ? EOPNOTSUPP : 0;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		umask(modes[i].mask);
		OK(blm_new_file(&file, folder(), "a", modes[i].asked));
		ck_assert_int_eq((int)pwrite(file.fd, "x", 1, 0), 1);
		OK(blm_new_file_publish(&file, "a", BLM_NOT_OVER, "a"));
		blm_new_file_end(&file);
		ck_assert_uint_eq(mode_of("a"), modes[i].mode);
		OK(unlink("a"));
	}
	ck_assert_int_eq(files_in(".", NULL), 0);
}
END_TEST

static int a_file_of(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	ck_assert_int_ge(fd, 0);
	return fd;
}

START_TEST(a_temporary_name_cannot_be_opened_by_others)
{
	static const unsigned modes[] = { 0, 0666, 0777 };
	struct blm_new_file file;

	refuse_unnamed = EOPNOTSUPP;
	umask(0);
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		OK(blm_new_file(&file, folder(), "a", modes[i]));
		ck_assert_int_eq(files_in(".", NULL), 1);
		ck_assert_uint_eq(mode_of(file.temporary), 0600);
		OK(blm_new_file_publish(&file, "a", BLM_NOT_OVER, "a"));
		blm_new_file_end(&file);
		ck_assert_uint_eq(mode_of("a"), modes[i] ? modes[i] : 0644);
		OK(unlink("a"));
	}
}
END_TEST

static void publish_over(const char *path, unsigned mode)
{
	struct blm_new_file file;

	OK(blm_new_file(&file, folder(), path, mode));
	OK(blm_new_file_publish(&file, path, BLM_OVER, path));
	blm_new_file_end(&file);
}

/* _i: with 1 by a temporary name */
START_TEST(a_replacement_keeps_the_mode_unless_another_is_requested)
{
	static const mode_t modes[] = { 0644, 0600, 0400, 0664, 0 };

	refuse_unnamed = _i ? EOPNOTSUPP : 0;
	/* root may do what other users may not */
	for (size_t i = 0; i < ARRAY_LEN(modes) - (getuid() != 0); i++) {
		close(a_file_of("a"));
		OK(chmod("a", modes[i]));
		publish_over("a", 0);
		ck_assert_uint_eq(mode_of("a"), modes[i]);
		publish_over("a", 0640);
		ck_assert_uint_eq(mode_of("a"), 0640);
		OK(unlink("a"));
	}
}
END_TEST

/*
 * The list of rights of POSIX 1003.1e as Linux has it in an attribute: another user may read and
 * write, the group may do nothing.
 */
START_TEST(a_replacement_has_the_old_files_access_list)
{
	static const char name[] = "system.posix_acl_access";
	const struct {
		uint32_t version;
		struct { uint16_t tag, rights; uint32_t id; } of[5];
	} list = { htole32(2),
		   {
			   { htole16(1), htole16(6), UINT32_MAX },
			   { htole16(2), htole16(6), htole32(64001) },
			   { htole16(4), 0, UINT32_MAX },
			   { htole16(16), htole16(6), UINT32_MAX },
			   { htole16(32), 0, UINT32_MAX },
		   } };
	char after[256];

	close(a_file_of("a"));
	if (setxattr("a", name, &list, sizeof(list), 0) < 0)
		SKIP("no lists of rights on this file system");
	ck_assert_uint_eq(mode_of("a"), 0660);
	publish_over("a", 0);
	ck_assert_uint_eq(mode_of("a"), 0660);
	ck_assert_int_eq((int)getxattr("a", name, after, sizeof(after)), (int)sizeof(list));
	ck_assert_mem_eq(after, &list, sizeof(list));
}
END_TEST

/*
 * ERANGE: longer than there is room for; EIO: there may be one; EOPNOTSUPP: a file system without
 * lists, where the mode says all.
 */
START_TEST(without_the_old_access_list_groups_get_nothing)
{
	static const struct { int list, no_list; mode_t mode;
	} cases[] = {
		{ ERANGE, 0, 0604 },
		{ EIO, 0, 0604 },
		{ ENODATA, EIO, 0604 },
		{ ENODATA, ENODATA, 0664 },
		{ EOPNOTSUPP, EOPNOTSUPP, 0664 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		close(a_file_of("a"));
		OK(chmod("a", 0664));
		refuse_list = cases[i].list;
		refuse_no_list = cases[i].no_list;
		publish_over("a", 0);
		ck_assert_uint_eq(mode_of("a"), cases[i].mode);
		OK(unlink("a"));
	}
}
END_TEST

START_TEST(temporary_names_differ_and_are_locked_during_creation)
{
	struct blm_new_file file[3];
	int fd;

	refuse_unnamed = EOPNOTSUPP;
	for (int i = 0; i < 3; i++) {
		OK(blm_new_file(&file[i], folder(), "a", 0600));
		ck_assert_int_eq(strncmp(file[i].temporary, ".bloomery-", 10), 0);
		ck_assert_uint_eq(strlen(file[i].temporary), 26);
		ck_assert_int_eq(files_in(".", NULL), i + 1);
		fd = open(file[i].temporary, O_RDWR | O_CLOEXEC);
		ck_assert(blm_ofd_busy(fd, BLM_LOCK_MAKING));
		close(fd);
	}
	for (int i = 0; i < 3; i++)
		blm_new_file_end(&file[i]);
	ck_assert_int_eq(files_in(".", NULL), 0);
}
END_TEST

/* _i: with 1 by a temporary name from the beginning, with 2 also without flags of rename */
START_TEST(an_unpublished_file_has_a_locked_temporary_name_again)
{
	struct blm_new_file file;
	int fd;

	refuse_unnamed = _i ? EOPNOTSUPP : 0;
	refuse_flags = _i == 2 ? EINVAL : 0;
	OK(blm_new_file(&file, folder(), "a", 0600));
	ck_assert_int_eq((int)pwrite(file.fd, "x", 1, 0), 1);
	for (int i = 0; i < 2; i++) {
		OK(blm_new_file_publish(&file, "a", BLM_NOT_OVER, "a"));
		ck_assert_int_eq(access("a", F_OK), 0);
		ck_assert_str_eq(file.temporary, "");
		blm_new_file_take_back(&file, "a");
		ck_assert_int_ne(access("a", F_OK), 0);
		fd = open(file.temporary, O_RDWR | O_CLOEXEC);
		ck_assert_int_ge(fd, 0);
		ck_assert(blm_ofd_busy(fd, BLM_LOCK_MAKING));
		close(fd);
	}
	OK(blm_new_file_publish(&file, "b", BLM_NOT_OVER, "b"));
	blm_new_file_end(&file);
	ck_assert_int_eq(file.fd, -1);
	ck_assert_int_eq(access("b", F_OK), 0);
	ck_assert_int_eq(files_in(".", NULL), 1);
}
END_TEST

START_TEST(a_replacer_removes_a_dead_replacers_file)
{
	struct blm_new_file file;
	char left[BLM_TEMPORARY_NAME];
	struct stat st;
	uint8_t *all;
	size_t bytes;

	write_all("a", "old", 3);
	ck_assert_int_eq(stat("a", &st), 0);
	blm_replacement_name(st.st_ino, left);
	write_all(left, "left", 4);
	OK(blm_new_file(&file, folder(), "a", 0600));
	ck_assert_int_eq((int)pwrite(file.fd, "new", 3, 0), 3);
	OK(blm_new_file_publish(&file, "a", BLM_OVER_LOCKED, "a"));
	blm_new_file_end(&file);
	all = read_all("a", &bytes);
	ck_assert_uint_eq(bytes, 3);
	ck_assert_mem_eq(all, "new", 3);
	ck_assert_int_eq(files_in(".", NULL), 1);
	free(all);
}
END_TEST

/* No file can replace a folder, so the new file keeps its temporary name, as before a rename. */
START_TEST(a_replacement_is_locked_before_it_appears)
{
	struct blm_new_file file;
	int fd = folder();

	ck_assert_int_eq(mkdir("a", 0700), 0);
	OK(blm_new_file(&file, folder(), "a", 0600));
	ck_assert_int_eq((int)pwrite(file.fd, "x", 1, 0), 1);
	ck_assert_int_lt(blm_new_file_publish(&file, "a", BLM_OVER, "a"), 0);
	ck_assert(blm_is_temporary(file.temporary) && blm_temporary_is_made(fd, file.temporary));
	blm_new_file_end(&file);
	close(fd);
	ck_assert_int_eq(files_in(".", NULL), 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("publish");
	TCase *tc = tcase_create("publish");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_test(tc, a_process_without_standard_input_makes_files_too);
	tcase_add_test(tc, a_size_that_no_file_has_is_refused);
	tcase_add_test(tc, a_pending_signal_of_the_size_limit_stays_pending);
	tcase_add_test(tc, pages_of_zeros_are_not_written_wherever_they_begin);
	tcase_add_test(tc, a_name_in_use_is_replaced_only_on_request);
	tcase_add_loop_test(tc, a_file_has_exactly_the_requested_mode_or_the_umasks,
			    0, 2);
	tcase_add_test(tc, a_temporary_name_cannot_be_opened_by_others);
	tcase_add_loop_test(tc, a_replacement_keeps_the_mode_unless_another_is_requested,
			    0, 2);
	tcase_add_test(tc, a_replacement_has_the_old_files_access_list);
	tcase_add_test(
		tc, without_the_old_access_list_groups_get_nothing);
	tcase_add_test(tc, temporary_names_differ_and_are_locked_during_creation);
	tcase_add_loop_test(
		tc,
		an_unpublished_file_has_a_locked_temporary_name_again,
		0, 3);
	tcase_add_test(tc, a_replacement_is_locked_before_it_appears);
	tcase_add_test(tc, a_replacer_removes_a_dead_replacers_file);
	tcase_add_loop_test(tc, a_file_system_without_links_is_not_reported_as_forbidden, 0,
			    2);
	tcase_add_loop_test(tc, a_file_that_needs_a_name_has_a_temporary_one, 0, 6);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
