/* os.c - the time, and which boot this is; reading and writing to the end */
#include "file/os.h"
#include "base/checksum.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

uint64_t blm_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t read_boot_id(int *ret_err)
{
	char text[64];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	*ret_err = n < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	return n > 0 ? blm_checksum(text, (size_t)n) | 1 : BLM_NO_BOOT;
}

/* If it does not exist, or may not be read, that stays so. */
static bool may_pass(int err)
{
	return err && err != ENOENT && err != ENOTDIR && err != EACCES && err != EPERM;
}

static int know_boot(uint64_t *ret)
{
	static uint64_t number;		/* atomic; every thread that finds 0 reads the same */
	int err = 0;

	*ret = __atomic_load_n(&number, __ATOMIC_RELAXED);
	if (*ret)
		return 0;
	*ret = read_boot_id(&err);
	if (may_pass(err))
		return -err;
	__atomic_store_n(&number, *ret, __ATOMIC_RELAXED);
	return 0;
}

int blm_know_boot(void)
{
	uint64_t number;

	return know_boot(&number);
}

uint64_t blm_boot_number(void)
{
	uint64_t number;

	know_boot(&number);
	return number;
}

uint64_t blm_file_number(int fd)
{
	struct statx st;
	uint64_t of[3] = { 0 };

	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) < 0)
		return 0;
	of[0] = st.stx_ino;
	if (st.stx_mask & STATX_BTIME) {
		of[1] = (uint64_t)st.stx_btime.tv_sec;
		of[2] = st.stx_btime.tv_nsec;
	}
	return blm_checksum(of, sizeof(of)) & ~UINT64_C(1);
}

void blm_disk_use(struct blm_disk_use *ret)
{
	struct rusage usage = { 0 };

	getrusage(RUSAGE_THREAD, &usage);
	*ret = (struct blm_disk_use){ .waits = (uint64_t)usage.ru_majflt,
				      .bytes_read = (uint64_t)usage.ru_inblock * 512 };
}

int64_t blm_read_at(int fd, void *buffer, size_t bytes, uint64_t at)
{
	size_t count = 0;

	while (count < bytes) {
		ssize_t n = pread(fd, (uint8_t *)buffer + count, bytes - count,
				  (off_t)(at + count));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		count += (size_t)n;
	}
	return (int64_t)count;
}

static int write_at(int fd, const void *from, size_t bytes, uint64_t at)
{
	while (bytes) {
		ssize_t n = pwrite(fd, from, bytes, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		from = (const uint8_t *)from + n;
		bytes -= (size_t)n;
		at += (uint64_t)n;
	}
	return 0;
}

int blm_write_at(int fd, const void *from, size_t bytes, uint64_t at)
{
	struct blm_held_signal held;
	int r;

	blm_hold_size_signal(&held);
	r = write_at(fd, from, bytes, at);
	blm_let_size_signal(&held);
	return r;
}

_Alignas(64) uint8_t blm_zeros[BLM_ZEROS];

void blm_hold_size_signal(struct blm_held_signal *ret)
{
	sigset_t too_large, pending;

	sigemptyset(&too_large);
	sigaddset(&too_large, SIGXFSZ);
	sigpending(&pending);
	ret->was_pending = sigismember(&pending, SIGXFSZ) == 1;
	pthread_sigmask(SIG_BLOCK, &too_large, &ret->before);
}

void blm_let_size_signal(const struct blm_held_signal *held)
{
	sigset_t too_large;

	sigemptyset(&too_large);
	sigaddset(&too_large, SIGXFSZ);
	if (!held->was_pending)
		while (sigtimedwait(&too_large, NULL, &(struct timespec){ 0 }) < 0
		       && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &held->before, NULL);
}

static _Thread_local sigset_t ends_held;	/* by blm_hold_end() */

void blm_hold_end(sigset_t *ret_before)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU };
	struct sigaction now;

	pthread_sigmask(SIG_BLOCK, NULL, ret_before);
	sigemptyset(&ends_held);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (!sigismember(ret_before, ends[i]) && sigaction(ends[i], NULL, &now) == 0
		    && now.sa_handler != SIG_IGN
		    && (now.sa_handler == SIG_DFL
			|| now.sa_flags & ((int)SA_RESETHAND | SA_NOCLDWAIT)))
			sigaddset(&ends_held, ends[i]);
	pthread_sigmask(SIG_BLOCK, &ends_held, NULL);
}

void blm_let_end(const sigset_t *before)
{
	sigemptyset(&ends_held);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

bool blm_end_came(void)
{
	sigset_t came;

	return !sigisemptyset(&ends_held) && sigpending(&came) == 0
		&& sigandset(&came, &came, &ends_held) == 0 && !sigisemptyset(&came);
}
