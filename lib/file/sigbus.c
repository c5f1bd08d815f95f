/*
 * sigbus.c - the opt-in guard against files that are cut under their maps
 *
 * A page that the file no longer has, or that cannot be read, is a SIGBUS at the instruction that
 * touches it. The handler puts a page of ones of its own there, and the instruction goes on:
 * questions are answered with "maybe", which a filter may say, and an added key goes nowhere. Its
 * caller gets an error, because the handler notes the fault. Faults elsewhere go to the previous
 * handler.
 *
 * Other threads work in the same map meanwhile, so two things hold:
 *
 *   The map is marked as hit before the page is there. A writer into the page looks at the mark
 *   only afterwards, behind a full fence (blm_change_end()), so no change that went nowhere is
 *   called done.
 *
 *   The page has ones from the first moment on: one mmap(2) or mremap(2) puts all of it there.
 *   If two threads fault at once, the second puts its page over the first one's. That loses only
 *   the stores in between, and their changes fail, because the map was marked before them.
 *
 * LMDB reads its map with trust, and any other page than the file's could lead it anywhere. So a
 * fault in it ends the step that it was in.
 */
#include "file/sigbus.h"
#include "bloomery.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAPS = 1024, PATH = 512 };

static struct sigaction before;
static size_t page_bytes;	/* the system's */
bool blm_any_sigbus_hit;		/* any of them */
static char first_path[PATH];

/*
 * The thread that changes `begin` from 0 owns the slot, and frees it. The handler reads begin, end,
 * begin: a slot that changes in between is not the one of the fault, whose map stays while the
 * instruction runs. path is written before begin. If all slots are taken, another table is appended
 * to the last one by compare-and-swap. It is never freed, because the handler takes no lock.
 */
static struct table {
	_Atomic uintptr_t begin[MAPS], end[MAPS];
	_Atomic bool hit[MAPS];
	char path[MAPS][PATH];
	struct table *_Atomic next;
} first;

struct slot {
	struct table *t;	/* NULL: none */
	int i;
};

static bool take(struct table *t, int i)
{
	uintptr_t none = 0;

	return !atomic_load_explicit(&t->begin[i], memory_order_relaxed)
		&& atomic_compare_exchange_strong(&t->begin[i], &none, 1);
}

static struct table *next_or_new(struct table *t)
{
	struct table *next = atomic_load(&t->next), *new;

	if (next)
		return next;
	new = calloc(1, sizeof(*new));
	if (!new || atomic_compare_exchange_strong(&t->next, &next, new))
		return new;
	free(new);		/* another thread was faster */
	return next;
}

int blm_sigbus_note(const void *map, uint64_t bytes, const char *path)
{
	for (struct table *t = &first; t; t = next_or_new(t))
		for (int i = 0; i < MAPS; i++) {
			if (!take(t, i))
				continue;
			atomic_store(&t->hit[i], false);
			snprintf(t->path[i], PATH, "%s", path);
			atomic_store(&t->end[i], (uintptr_t)map + bytes);
			atomic_store(&t->begin[i], (uintptr_t)map);
			return 0;
		}
	return -ENOMEM;
}

static struct slot slot_of_map(const void *map)
{
	for (struct table *t = &first; t; t = atomic_load(&t->next))
		/* the rest of the table may never have been in memory */
		for (int i = 0; i < MAPS; i++)
			if (atomic_load_explicit(&t->begin[i], memory_order_relaxed)
			    == (uintptr_t)map)
				return (struct slot){ t, i };
	return (struct slot){ 0 };
}

void blm_sigbus_forget(const void *map)
{
	struct slot s = slot_of_map(map);

	if (!s.t)
		return;
	atomic_store(&s.t->end[s.i], 0);
	atomic_store(&s.t->begin[s.i], 0);
}

bool blm_sigbus_find_hit(const void *map)
{
	struct slot s = slot_of_map(map);

	return s.t && atomic_load(&s.t->hit[s.i]);
}

static struct slot slot_of_address(uintptr_t at)
{
	for (struct table *t = &first; t; t = atomic_load(&t->next))
		for (int i = 0; i < MAPS; i++)
			if (atomic_load(&t->begin[i]) > 1 && atomic_load(&t->begin[i]) <= at
			    && at < atomic_load(&t->end[i]))
				return (struct slot){ t, i };
	return (struct slot){ 0 };
}

/* ---- Pages of ones: the handler makes plain system calls and nothing else ---- */

enum { ONES_BYTES = 2 << 20, NONE = -1, NOT_TO_BE_HAD = -2 };

/*
 * A file in memory that no process can change, made at the first fault. Adjacent pages of a map are
 * adjacent in the file, too: the system counts them as one map of at most so many as a
 * process may have, and they take no memory until they are written to.
 */
static struct {
	_Atomic int fd;
	dev_t device;
	ino_t inode;
	uint8_t piece[4096];	/* of ones */
} ones = { .fd = NONE };

/* It is measured with the limit of file sizes, as any file, whose signal would kill. */
static int make_ones(void)
{
	struct rlimit limit;
	struct stat st;
	int fd = getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur < ONES_BYTES ? -1
		: memfd_create("ones", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	bool good = fd >= 0;

	for (off_t at = 0; good && at < ONES_BYTES; at += sizeof(ones.piece))
		good = pwrite(fd, ones.piece, sizeof(ones.piece), at) == sizeof(ones.piece);
	if (good && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
	    == 0 && fstat(fd, &st) == 0) {
		ones.device = st.st_dev;
		ones.inode = st.st_ino;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return NOT_TO_BE_HAD;
}

/*
 * Its descriptor, or less than 0: it cannot be made, another thread is making it, or the program
 * has closed it, as daemons close all.
 */
static int file_of_ones(void)
{
	int fd = NONE;
	struct stat st;

	if (atomic_compare_exchange_strong(&ones.fd, &fd, NOT_TO_BE_HAD)) {
		fd = make_ones();
		atomic_store(&ones.fd, fd);
	}
	return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == ones.device
		&& st.st_ino == ones.inode ? fd : NOT_TO_BE_HAD;
}

/* Without such a file: a page that is filled elsewhere, and moved. */
static bool move_ones(void *to)
{
	void *page = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);

	if (page == MAP_FAILED)
		return false;
	memset(page, 0xff, page_bytes);
	if (mremap(page, page_bytes, page_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED)
		return true;
	munmap(page, page_bytes);
	return false;
}

static bool put_ones(void *to)
{
	int fd = page_bytes <= ONES_BYTES ? file_of_ones() : NOT_TO_BE_HAD;
	off_t at = (off_t)((uintptr_t)to % ONES_BYTES);

	return (fd >= 0 && mmap(to, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd,
				at) != MAP_FAILED) || move_ones(to);
}

/* ---- The handler ---- */

static void strike(struct slot s)
{
	bool none = false;

	atomic_store(&s.t->hit[s.i], true);
	if (__atomic_compare_exchange_n(&blm_any_sigbus_hit, &none, true, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST))
		memcpy(first_path, s.t->path[s.i], sizeof(first_path));
}

static bool mend(uintptr_t at)
{
	struct slot s = slot_of_address(at);
	int saved = errno;
	bool mended;

	if (!s.t)
		return false;
	strike(s);
	mended = put_ones((void *)(at / page_bytes * page_bytes));
	errno = saved;
	return mended;
}

static _Thread_local sigjmp_buf *step_end;	/* NULL: this thread is in no step */

void blm_sigbus_end_step(void)
{
	if (step_end)
		siglongjmp(*step_end, 1);
}

/* The handler is not masked (SA_NODEFER), so that there is no mask to be set back. */
bool blm_sigbus_step(int (*step)(void *context), void *context, int *ret)
{
	sigjmp_buf here, *volatile outer = step_end;

	if (sigsetjmp(here, 0)) {
		step_end = outer;
		return false;
	}
	step_end = &here;
	*ret = step(context);
	step_end = outer;
	return true;
}

static void handle(int signal, siginfo_t *info, void *context)
{
	if (info->si_code > 0 && mend((uintptr_t)info->si_addr))
		return;
	if (info->si_code > 0)
		blm_sigbus_end_step();
	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(signal, info, context);
	} else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
		before.sa_handler(signal);
	} else {	/* the instruction runs again, and now into the system's own answer */
		sigaction(signal, &before, NULL);
		if (info->si_code <= 0)
			raise(signal);
	}
}

static int installed;

static void install(void)
{
	struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER };

	page_bytes = (size_t)getpagesize();
	memset(ones.piece, 0xff, sizeof(ones.piece));
	installed = sigaction(SIGBUS, &action, &before) < 0 ? -errno : 0;
}

BLM_API int blm_survive_truncation(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install);
	return installed < 0 ? blm_fail(installed, "cannot handle SIGBUS: %s", strerror(-installed))
		: 0;
}

BLM_API const char *blm_truncated(void)
{
	return __atomic_load_n(&blm_any_sigbus_hit, __ATOMIC_SEQ_CST) ? first_path : NULL;
}
