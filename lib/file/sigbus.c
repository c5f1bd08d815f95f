/*
 * sigbus.c - the opt-in guard against files that are cut under their maps
 *
 * A page that the file no longer has, or that cannot be read, is a SIGBUS at the instruction that touches it. The handler puts
 * a page of ones of its own there, and the instruction goes on: questions are answered with "maybe", which a filter
 * may say, and what is added goes nowhere, which its caller is told, since the map is then known to be struck. Faults elsewhere
 * are none of ours and go to whoever handled them before.
 */
#include "file/sigbus.h"
#include "bloomery.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAPS = 1024 };

static struct sigaction before;
static size_t page_bytes;	/* the system's */
static _Atomic int first_struck;	/* slot + 1 */
static char first_path[512];

/*
 * A slot is taken by whoever changes `begin` from 0, and given back by the same. The handler reads begin, end, begin: a slot that
 * changes meanwhile is not the fault's, as its own map stays while the instruction runs. path is written before begin.
 */
static struct {
	_Atomic uintptr_t begin, end;
	_Atomic bool struck;
	char path[512];
} maps[MAPS];

void blm_sigbus_note(const void *map, uint64_t bytes, const char *path)
{
	for (int i = 0; i < MAPS; i++) {
		uintptr_t none = 0;

		if (atomic_load_explicit(&maps[i].begin, memory_order_relaxed))
			continue;
		if (!atomic_compare_exchange_strong(&maps[i].begin, &none, 1))
			continue;
		atomic_store(&maps[i].struck, false);
		snprintf(maps[i].path, sizeof(maps[i].path), "%s", path);
		atomic_store(&maps[i].end, (uintptr_t)map + bytes);
		atomic_store(&maps[i].begin, (uintptr_t)map);
		return;
	}
}

void blm_sigbus_forget(const void *map)
{
	for (int i = 0; i < MAPS; i++)
		if (atomic_load_explicit(&maps[i].begin, memory_order_relaxed) == (uintptr_t)map) {
			atomic_store(&maps[i].end, 0);
			atomic_store(&maps[i].begin, 0);
			return;		/* the rest of the table may never have been in memory */
		}
}

bool blm_sigbus_struck(const void *map)
{
	if (!atomic_load_explicit(&first_struck, memory_order_relaxed))
		return false;
	for (int i = 0; i < MAPS; i++)
		if (atomic_load_explicit(&maps[i].begin, memory_order_relaxed) == (uintptr_t)map)
			return atomic_load(&maps[i].struck);
	return false;
}

static int slot_of(uintptr_t at)
{
	for (int i = 0; i < MAPS; i++)
		if (atomic_load(&maps[i].begin) > 1 && atomic_load(&maps[i].begin) <= at && at < atomic_load(&maps[i].end))
			return i;
	return -1;
}

/* mmap(2) is a plain system call here; the handler calls nothing else but memset. */
static bool mend(uintptr_t at)
{
	int i = slot_of(at), none = 0, saved = errno;
	void *page = (void *)(at / page_bytes * page_bytes);

	if (i < 0 || mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	memset(page, 0xff, page_bytes);
	if (atomic_compare_exchange_strong(&first_struck, &none, i + 1))
		memcpy(first_path, maps[i].path, sizeof(first_path));
	atomic_store(&maps[i].struck, true);
	errno = saved;
	return true;
}

static void handle(int signal, siginfo_t *info, void *context)
{
	if (info->si_code > 0 && mend((uintptr_t)info->si_addr))
		return;
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
	installed = sigaction(SIGBUS, &action, &before) < 0 ? -errno : 0;
}

BLM_API int blm_survive_truncation(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install);
	return installed < 0 ? blm_fail(installed, "cannot handle SIGBUS: %s", strerror(-installed)) : 0;
}

BLM_API const char *blm_truncated(void)
{
	return atomic_load(&first_struck) ? first_path : NULL;
}
