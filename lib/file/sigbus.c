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
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAPS = 1024, PATH = 512 };

static struct sigaction before;
static size_t page_bytes;	/* the system's */
static _Atomic bool struck;	/* any of them */
static char first_path[PATH];

/*
 * A slot is taken by whoever changes `begin` from 0, and given back by the same. The handler reads begin, end, begin: a slot that
 * changes meanwhile is not the fault's, as its own map stays while the instruction runs. path is written before begin. Where all
 * slots are taken another table is put behind the last one, by compare-and-swap, and stays: the handler takes no lock.
 */
static struct table {
	_Atomic uintptr_t begin[MAPS], end[MAPS];
	_Atomic bool struck[MAPS];
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

	return !atomic_load_explicit(&t->begin[i], memory_order_relaxed) && atomic_compare_exchange_strong(&t->begin[i], &none, 1);
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
			atomic_store(&t->struck[i], false);
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
		for (int i = 0; i < MAPS; i++)	/* the rest of the table may never have been in memory */
			if (atomic_load_explicit(&t->begin[i], memory_order_relaxed) == (uintptr_t)map)
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

bool blm_sigbus_struck(const void *map)
{
	struct slot s = { 0 };

	if (atomic_load_explicit(&struck, memory_order_relaxed))
		s = slot_of_map(map);
	return s.t && atomic_load(&s.t->struck[s.i]);
}

static struct slot slot_of_address(uintptr_t at)
{
	for (struct table *t = &first; t; t = atomic_load(&t->next))
		for (int i = 0; i < MAPS; i++)
			if (atomic_load(&t->begin[i]) > 1 && atomic_load(&t->begin[i]) <= at && at < atomic_load(&t->end[i]))
				return (struct slot){ t, i };
	return (struct slot){ 0 };
}

/* mmap(2) is a plain system call here; the handler calls nothing else but memset. */
static bool mend(uintptr_t at)
{
	struct slot s = slot_of_address(at);
	int saved = errno;
	bool none = false;
	void *page = (void *)(at / page_bytes * page_bytes);

	if (!s.t || mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return false;
	memset(page, 0xff, page_bytes);
	if (atomic_compare_exchange_strong(&struck, &none, true))
		memcpy(first_path, s.t->path[s.i], sizeof(first_path));
	atomic_store(&s.t->struck[s.i], true);
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
	return atomic_load(&struck) ? first_path : NULL;
}
