/*
 * interpose.c - replacements of the C library's calls, which fail when they are told to
 *
 * The program defines them itself, so the libraries that it is linked with come here as well: LMDB,
 * libsodium, and what the C library itself allocates. Counting is for threads, too; but which
 * thread makes the n-th call is not the same each time.
 *
 * These libraries also call the following functions, which are not replaced (calls.py reads the
 * names before the colons, and itself has the names of functions that work in memory only):
 *   - close, closedir, fclose, clock_gettime, time, nanosleep, getrlimit, getrusage, getpid,
 * gettid, geteuid, getpagesize, sigaction, sigpending, sigtimedwait, pthread_sigmask, raise: cannot
 * fail as they are called, or fail without effect
 *   - pthread_mutex_init, pthread_mutex_destroy, pthread_mutex_lock, pthread_mutex_trylock,
 * pthread_mutex_unlock, pthread_cond_init, pthread_cond_destroy, pthread_cond_wait,
 * pthread_cond_signal, pthread_cond_broadcast, pthread_rwlock_init, pthread_rwlock_destroy,
 *     pthread_rwlock_rdlock, pthread_rwlock_wrlock, pthread_rwlock_unlock, pthread_rwlockattr_init,
 * pthread_rwlockattr_destroy, pthread_rwlockattr_setkind_np, pthread_once, pthread_join: allocate
 * nothing, and fail only if they are misused
 *   - newlocale, uselocale: the locale is "C", which is there
 *   - register_atfork: pthread_atfork(), that is; the C library has room for 48 of them, and then
 * allocates
 *   - asprintf, strdup: allocate with malloc(), which comes here
 *   - the system calls that the C library makes itself, in fgets, getdents, realpath, dlopen: the
 * function fails as a whole
 *   - dlopen, dlsym, dlerror: this program is linked with what the library else loads
 *   - ioctl, mincore: only a sync after a failed one calls them; tests/durable/extents.c orders
 * what they answer
 *   - mremap: only the handler of SIGBUS calls it, where memory has run out and no call returns to
 * say so: the program then ends by the signal, as it would without the handler
 */
#undef _FILE_OFFSET_BITS /* each call is defined under its own name here, and under that for large \
			    files */
#include "interpose.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

struct fault fault;
uint32_t (*fault_sites)[FAULT_SITES];

static const struct { const char *name; int errors[8]; } kinds[FAULT_CALLS] = {
	[FAULT_ALLOCATE] = { "an allocation", { ENOMEM } },
	[FAULT_OPEN] = { "an open", { EMFILE, EACCES, ENOENT, EOPNOTSUPP, EINTR } },
	[FAULT_READ] = { "a read", { EIO, EINTR, FAULT_SHORT } },
	[FAULT_WRITE] = { "a write", { EIO, ENOSPC, EDQUOT, EINTR, FAULT_SHORT } },
	[FAULT_STAT] = { "a stat", { EIO, EACCES } },
	[FAULT_SIZE] = { "a change of size", { ENOSPC, EDQUOT, EFBIG, EINTR } },
	[FAULT_MAP] = { "a map", { ENOMEM, EAGAIN } },
	[FAULT_UNMAP] = { "an unmapping", { ENOMEM } },
	[FAULT_SYNC] = { "a sync", { EIO, ENOSPC } },
	[FAULT_DUP] = { "a second descriptor", { EMFILE } },
	[FAULT_LOCK] = { "a lock", { ENOLCK, EINTR } },
	[FAULT_FLOCK] = { "a lock of the catalog", { ENOLCK, EINTR } },
	[FAULT_NAME] = { "a new name", { EIO, EACCES, ENOENT, ENOSPC } },
	[FAULT_RIGHTS] = { "a list of rights", { EIO, EPERM, ENOSPC } },
	[FAULT_UNLINK] = { "a deletion", { EIO, EACCES } },
	[FAULT_SEEK] = { "a seek", { EIO, EINVAL } },
	[FAULT_FOLDER] = { "a listing of a folder", { ENOMEM, EIO } },
	[FAULT_HOLE] = { "a hole", { EOPNOTSUPP, ENOSPC, EIO } },
	[FAULT_PATH] = { "a way to a path", { EACCES, ENOENT, ENOMEM } },
	[FAULT_RANDOM] = { "random bytes", { EINTR, ENOSYS } },
	[FAULT_THREAD] = { "a thread", { EAGAIN } },
	[FAULT_WAIT] = { "a wait for another thread", { ETIMEDOUT } },
	[FAULT_MACHINE] = { "a question about the machine", { ENOSYS, EPERM } },
};

const char *fault_name(enum fault_call call)
{
	return kinds[call].name;
}

int fault_errno(enum fault_call call, unsigned i)
{
	return i < sizeof(kinds[0].errors) / sizeof(kinds[0].errors[0]) ? kinds[call].errors[i] : 0;
}

long fault_all_failed(void)
{
	long sum = 0;

	for (int i = 0; i < FAULT_CALLS; i++)
		sum += fault.failed[i];
	return sum;
}

long fault_all_calls(void)
{
	long sum = 0;

	for (int i = 0; i < FAULT_CALLS; i++)
		sum += fault.calls[i];
	return sum;
}

static unsigned errors_of(enum fault_call call)
{
	unsigned n = 0;

	while (fault_errno(call, n))
		n++;
	return n;
}

static unsigned long roll(void)
{
	fault.random = fault.random * 6364136223846793005ul + 1442695040888963407ul;
	return fault.random >> 33;
}

static uint32_t callers(void)
{
	void *through[24];
	uint64_t hash = 0;

	for (int i = backtrace(through, 24); i-- > 0; )
		hash = (hash ^ (uintptr_t)through[i]) * UINT64_C(0x9E3779B97F4A7C15);
	return (uint32_t)(hash >> 32);
}

void fault_begin_sites(void)
{
	callers();
}

static void note_site(enum fault_call call)
{
	if (fault_sites && fault.calls[call] <= FAULT_SITES)
		fault_sites[call][fault.calls[call] - 1] = callers();
}

/*
 * How this call fails: an errno value, FAULT_SHORT; 0: not at all. A caller that is interrupted for
 * ever would wait for ever, so 20 interruptions are enough.
 */
static int failure_of(enum fault_call call)
{
	bool hit = false;
	int err = fault.err;

	fault.calls[call]++;
	switch (fault.mode) {
	case FAULT_NEVER:
		note_site(call);
		break;
	case FAULT_ONCE:
		hit = call == fault.call && fault.calls[call] == fault.nth;
		break;
	case FAULT_FROM_THEN_ON:
		hit = call == fault.call && fault.calls[call] >= fault.nth
		   && (err != EINTR || fault.calls[call] < fault.nth + 20);
		break;
	case FAULT_NOW_AND_THEN:
		hit = roll() % (unsigned long)fault.nth == 0;
		err = fault_errno(call, (unsigned)(roll() % errors_of(call)));
		break;
	}
	fault.failed[call] += hit;
	return hit ? err : 0;
}

static int failure(enum fault_call call)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	int err;

	if (!fault.armed)
		return 0;
	pthread_mutex_lock(&mutex);
	err = failure_of(call);
	pthread_mutex_unlock(&mutex);
	return err;
}

static bool fails(enum fault_call call)
{
	int err = failure(call);

	if (err > 0)
		errno = err;
	return err > 0;
}

/* How many of these bytes to read or write; -1: fail. */
static ssize_t bytes_of(enum fault_call call, size_t bytes)
{
	int err = failure(call);

	if (err > 0)
		errno = err;
	return err > 0 ? -1 : (ssize_t)(err == FAULT_SHORT && bytes > 1 ? bytes / 2 : bytes);
}

/* The function that would be called if there were none of ours. */
#define REAL(function) ({ \
	static __typeof__(function) *real_; \
	if (!real_) { \
		bool armed_ = fault.armed; \
		fault.armed = false; \
		real_ = (__typeof__(function) *)(uintptr_t)dlsym(RTLD_NEXT, #function); \
		fault.armed = armed_; \
	} \
	real_; \
})

/*
 * The same function also under the name that it has for large files; where this is built the two
 * are one.
 */
#define ALSO_64(function) __asm__(".globl " #function "64\n.set " #function "64, " #function)

ALSO_64(open);
ALSO_64(openat);
ALSO_64(fopen);
ALSO_64(mmap);
ALSO_64(pread);
ALSO_64(pwrite);
ALSO_64(pwritev);
ALSO_64(lseek);
ALSO_64(fstat);
ALSO_64(stat);
ALSO_64(lstat);
ALSO_64(fstatat);
ALSO_64(fstatfs);
ALSO_64(fstatvfs);
ALSO_64(ftruncate);
ALSO_64(posix_fallocate);
ALSO_64(fallocate);
ALSO_64(statvfs);
ALSO_64(statfs);
ALSO_64(__fxstat);
ALSO_64(fcntl);
ALSO_64(readdir);

/* ---- Memory ---- */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *allocated);

static void *counted(void *allocated)
{
	__atomic_fetch_add(&fault.allocated, allocated != NULL, __ATOMIC_RELAXED);
	return allocated;
}

void *malloc(size_t bytes)
{
	return fails(FAULT_ALLOCATE) ? NULL : counted(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
	return fails(FAULT_ALLOCATE) ? NULL : counted(__libc_calloc(count, bytes));
}

void *realloc(void *old, size_t bytes)
{
	void *now;

	if (fails(FAULT_ALLOCATE))
		return NULL;
	now = __libc_realloc(old, bytes);
	__atomic_fetch_add(&fault.allocated, (!old && now) - (old && !bytes), __ATOMIC_RELAXED);
	return now;
}

void *memalign(size_t align, size_t bytes)
{
	return fails(FAULT_ALLOCATE) ? NULL : counted(__libc_memalign(align, bytes));
}

void *aligned_alloc(size_t align, size_t bytes)
{
	return memalign(align, bytes);
}

int posix_memalign(void **ret, size_t align, size_t bytes)
{
	int saved = errno;
	void *made = memalign(align, bytes);

	errno = saved;
	if (!made)
		return ENOMEM;
	*ret = made;
	return 0;
}

void free(void *allocated)
{
	__atomic_fetch_sub(&fault.allocated, allocated != NULL, __ATOMIC_RELAXED);
	__libc_free(allocated);
}

/* ---- Maps ---- */

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	void *map;

	if (fails(FAULT_MAP))
		return MAP_FAILED;
	map = REAL(mmap)(at, bytes, protection, flags, fd, offset);
	__atomic_fetch_add(&fault.mapped, map != MAP_FAILED && !(flags & MAP_FIXED),
			   __ATOMIC_RELAXED);
	return map;
}

int munmap(void *at, size_t bytes)
{
	int r = fails(FAULT_UNMAP) ? -1 : REAL(munmap)(at, bytes);

	__atomic_fetch_sub(&fault.mapped, r == 0, __ATOMIC_RELAXED);
	return r;
}

int mprotect(void *at, size_t bytes, int protection)
{
	return fails(FAULT_MAP) ? -1 : REAL(mprotect)(at, bytes, protection);
}

int madvise(void *at, size_t bytes, int advice)
{
	return fails(FAULT_MAP) ? -1 : REAL(madvise)(at, bytes, advice);
}

int mlock(const void *at, size_t bytes)
{
	return fails(FAULT_MAP) ? -1 : REAL(mlock)(at, bytes);
}

int munlock(const void *at, size_t bytes)
{
	return fails(FAULT_MAP) ? -1 : REAL(munlock)(at, bytes);
}

int msync(void *at, size_t bytes, int flags)
{
	return fails(FAULT_SYNC) ? -1 : REAL(msync)(at, bytes, flags);
}

/* ---- Files ---- */

static mode_t mode_of(int flags, va_list ap)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return fails(FAULT_OPEN) ? -1 : REAL(open)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return fails(FAULT_OPEN) ? -1 : REAL(openat)(folder, path, flags, mode);
}

FILE *fopen(const char *restrict path, const char *restrict how)
{
	return fails(FAULT_OPEN) ? NULL : REAL(fopen)(path, how);
}

/* As a file that cannot be read: at its end. */
char *fgets(char *restrict buffer, int bytes, FILE *restrict from)
{
	return fails(FAULT_READ) ? NULL : REAL(fgets)(buffer, bytes, from);
}

int memfd_create(const char *name, unsigned flags)
{
	return fails(FAULT_OPEN) ? -1 : REAL(memfd_create)(name, flags);
}

int dup3(int from, int to, int flags)
{
	return fails(FAULT_DUP) ? -1 : REAL(dup3)(from, to, flags);
}

ssize_t read(int fd, void *buffer, size_t bytes)
{
	ssize_t n = bytes_of(FAULT_READ, bytes);

	return n < 0 ? n : REAL(read)(fd, buffer, (size_t)n);
}

ssize_t pread(int fd, void *buffer, size_t bytes, off_t at)
{
	ssize_t n = bytes_of(FAULT_READ, bytes);

	return n < 0 ? n : REAL(pread)(fd, buffer, (size_t)n, at);
}

ssize_t write(int fd, const void *from, size_t bytes)
{
	ssize_t n = bytes_of(FAULT_WRITE, bytes);

	return n < 0 ? n : REAL(write)(fd, from, (size_t)n);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
	ssize_t n = bytes_of(FAULT_WRITE, bytes);

	return n < 0 ? n : REAL(pwrite)(fd, from, (size_t)n, at);
}

ssize_t writev(int fd, const struct iovec *pieces, int count)
{
	ssize_t n = bytes_of(FAULT_WRITE, (size_t)count);

	return n < 0 ? n : REAL(writev)(fd, pieces, (int)n);
}

ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t at)
{
	ssize_t n = bytes_of(FAULT_WRITE, (size_t)count);

	return n < 0 ? n : REAL(pwritev)(fd, pieces, (int)n, at);
}

off_t lseek(int fd, off_t at, int whence)
{
	return fails(FAULT_SEEK) ? -1 : REAL(lseek)(fd, at, whence);
}

int fstat(int fd, struct stat *ret)
{
	return fails(FAULT_STAT) ? -1 : REAL(fstat)(fd, ret);
}

/* What LMDB, built long ago, calls fstat. */
int __fxstat(int version, int fd, struct stat *ret);
int __fxstat(int version, int fd, struct stat *ret)
{
	return fstat(fd, ret);
}

int stat(const char *restrict path, struct stat *restrict ret)
{
	return fails(FAULT_STAT) ? -1 : REAL(stat)(path, ret);
}

int lstat(const char *restrict path, struct stat *restrict ret)
{
	return fails(FAULT_STAT) ? -1 : REAL(lstat)(path, ret);
}

int fstatat(int folder, const char *restrict path, struct stat *restrict ret, int flags)
{
	return fails(FAULT_STAT) ? -1 : REAL(fstatat)(folder, path, ret, flags);
}

int statx(int folder, const char *restrict path, int flags, unsigned what,
	  struct statx *restrict ret)
{
	return fails(FAULT_STAT) ? -1 : REAL(statx)(folder, path, flags, what, ret);
}

int access(const char *path, int how)
{
	return fails(FAULT_STAT) ? -1 : REAL(access)(path, how);
}

int faccessat(int folder, const char *path, int how, int flags)
{
	return fails(FAULT_STAT) ? -1 : REAL(faccessat)(folder, path, how, flags);
}

int statfs(const char *path, struct statfs *ret)
{
	return fails(FAULT_STAT) ? -1 : REAL(statfs)(path, ret);
}

int statvfs(const char *restrict path, struct statvfs *restrict ret)
{
	return fails(FAULT_STAT) ? -1 : REAL(statvfs)(path, ret);
}

int fstatfs(int fd, struct statfs *ret)
{
	return fails(FAULT_STAT) ? -1 : REAL(fstatfs)(fd, ret);
}

int fstatvfs(int fd, struct statvfs *ret)
{
	return fails(FAULT_STAT) ? -1 : REAL(fstatvfs)(fd, ret);
}

int ftruncate(int fd, off_t bytes)
{
	return fails(FAULT_SIZE) ? -1 : REAL(ftruncate)(fd, bytes);
}

int posix_fallocate(int fd, off_t at, off_t bytes)
{
	int err = failure(FAULT_SIZE);

	return err > 0 ? err : REAL(posix_fallocate)(fd, at, bytes);
}

int fallocate(int fd, int how, off_t at, off_t bytes)
{
	return fails(how & FALLOC_FL_PUNCH_HOLE ? FAULT_HOLE : FAULT_SIZE)
		     ? -1
		     : REAL(fallocate)(fd, how, at, bytes);
}

int fchown(int fd, uid_t owner, gid_t group)
{
	return fails(FAULT_NAME) ? -1 : REAL(fchown)(fd, owner, group);
}

int fchmod(int fd, mode_t mode)
{
	return fails(FAULT_NAME) ? -1 : REAL(fchmod)(fd, mode);
}

ssize_t fgetxattr(int fd, const char *name, void *ret, size_t bytes)
{
	return fails(FAULT_RIGHTS) ? -1 : REAL(fgetxattr)(fd, name, ret, bytes);
}

int fsetxattr(int fd, const char *name, const void *from, size_t bytes, int flags)
{
	return fails(FAULT_RIGHTS) ? -1 : REAL(fsetxattr)(fd, name, from, bytes, flags);
}

int fremovexattr(int fd, const char *name)
{
	return fails(FAULT_RIGHTS) ? -1 : REAL(fremovexattr)(fd, name);
}

int fsync(int fd)
{
	return fails(FAULT_SYNC) ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd)
{
	return fails(FAULT_SYNC) ? -1 : REAL(fdatasync)(fd);
}

int syncfs(int fd)
{
	return fails(FAULT_SYNC) ? -1 : REAL(syncfs)(fd);
}

/* blm_take_report() also calls this, and writes nothing: no failure is injected there. */
int sync_file_range(int fd, off_t at, off_t bytes, unsigned how)
{
	bool writes = how & SYNC_FILE_RANGE_WRITE || !bytes;

	return writes && fails(FAULT_SYNC) ? -1 : REAL(sync_file_range)(fd, at, bytes, how);
}

/* Giving a lock back does not fail, asking for one can. */
int fcntl(int fd, int what, ...)
{
	void *how;
	va_list ap;
	bool takes;

	va_start(ap, what);
	how = va_arg(ap, void *);
	va_end(ap);
	takes = what == F_SETLK || what == F_SETLKW || what == F_OFD_SETLK || what == F_OFD_SETLKW
	     || what == F_OFD_GETLK;
	if (takes && ((struct flock *)how)->l_type != F_UNLCK && fails(FAULT_LOCK))
		return -1;
	if ((what == F_DUPFD || what == F_DUPFD_CLOEXEC) && fails(FAULT_DUP))
		return -1;
	return REAL(fcntl)(fd, what, how);
}

int flock(int fd, int how)
{
	return !(how & LOCK_UN) && fails(FAULT_FLOCK) ? -1 : REAL(flock)(fd, how);
}

/* ---- Names ---- */

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
	return fails(FAULT_NAME) ? -1 : REAL(linkat)(from_folder, from, to_folder, to, flags);
}

int rename(const char *from, const char *to)
{
	return fails(FAULT_NAME) ? -1 : REAL(rename)(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
	return fails(FAULT_NAME) ? -1 : REAL(renameat)(from_folder, from, to_folder, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
	return fails(FAULT_NAME) ? -1 : REAL(renameat2)(from_folder, from, to_folder, to, flags);
}

int mkdir(const char *path, mode_t mode)
{
	return fails(FAULT_NAME) ? -1 : REAL(mkdir)(path, mode);
}

int unlink(const char *path)
{
	return fails(FAULT_UNLINK) ? -1 : REAL(unlink)(path);
}

int unlinkat(int folder, const char *path, int flags)
{
	return fails(FAULT_UNLINK) ? -1 : REAL(unlinkat)(folder, path, flags);
}

DIR *fdopendir(int fd)
{
	return fails(FAULT_FOLDER) ? NULL : REAL(fdopendir)(fd);
}

struct dirent *readdir(DIR *list)
{
	return fails(FAULT_FOLDER) ? NULL : REAL(readdir)(list);
}

char *getcwd(char *buffer, size_t bytes)
{
	return fails(FAULT_PATH) ? NULL : REAL(getcwd)(buffer, bytes);
}

char *realpath(const char *restrict path, char *restrict buffer)
{
	return fails(FAULT_PATH) ? NULL : REAL(realpath)(path, buffer);
}

/* ---- What is no file ---- */

ssize_t getrandom(void *buffer, size_t bytes, unsigned flags)
{
	return fails(FAULT_RANDOM) ? -1 : REAL(getrandom)(buffer, bytes, flags);
}

int getentropy(void *buffer, size_t bytes)
{
	return fails(FAULT_RANDOM) ? -1 : REAL(getentropy)(buffer, bytes);
}

int pthread_create(pthread_t *restrict ret, const pthread_attr_t *restrict how,
		   void *(*work)(void *), void *restrict context)
{
	int err = failure(FAULT_THREAD);

	return err > 0 ? err : REAL(pthread_create)(ret, how, work, context);
}

int pthread_key_create(pthread_key_t *ret, void (*end)(void *))
{
	int err = failure(FAULT_THREAD);

	return err > 0 ? err : REAL(pthread_key_create)(ret, end);
}

int pthread_setspecific(pthread_key_t key, const void *value)
{
	return failure(FAULT_THREAD) > 0 ? ENOMEM : REAL(pthread_setspecific)(key, value);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict end)
{
	int err = failure(FAULT_WAIT);

	return err > 0 ? err : REAL(pthread_mutex_timedlock)(mutex, end);
}

int sched_getaffinity(pid_t of, size_t bytes, cpu_set_t *ret)
{
	return fails(FAULT_MACHINE) ? -1 : REAL(sched_getaffinity)(of, bytes, ret);
}

/* Only of the memory: the size of a page is known to every program. */
long sysconf(int what)
{
	return what == _SC_PHYS_PAGES && fails(FAULT_MACHINE) ? -1 : REAL(sysconf)(what);
}

/* membarrier(), with two numbers. */
long syscall(long number, ...)
{
	long first, second;
	va_list ap;

	va_start(ap, number);
	first = va_arg(ap, long);
	second = va_arg(ap, long);
	va_end(ap);
	return number == SYS_membarrier && fails(FAULT_MACHINE)
		     ? -1
		     : REAL(syscall)(number, first, second);
}
