/* presence.c - slots of threads, and waiting for threads that are present (see presence.h) */
#include "file/presence.h"
#include "file/lock_wait.h"
#include "file/sigbus.h"
#include "file/writer_word.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local struct blm_here blm_here;
uint64_t blm_slot_idle;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;	/* for all the following */
static struct blm_presence *all;			/* files in which a thread has a slot */
static uint64_t numbers[BLM_PRESENCE_THREADS / 64] = { 1 };	/* in use; no thread has 0 */
static pthread_key_t at_end;
static bool at_end_made;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- Bytes ---- */

static struct flock byte_of(unsigned slot, short type)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET,
			       .l_start = BLM_SLOT_BYTES + slot, .l_len = 1 };
}

static bool lock_byte(int fd, unsigned slot)
{
	struct flock lock = byte_of(slot, F_WRLCK);

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static void unlock_byte(int fd, unsigned slot)
{
	struct flock lock = byte_of(slot, F_UNLCK);

	fcntl(fd, F_OFD_SETLK, &lock);
}

static const uint64_t *word_in(const struct blm_live *live, unsigned slot)
{
	return &live->slots[slot % BLM_SLOT_LINES].word[slot / BLM_SLOT_LINES];
}

static uint64_t *word_of(struct blm_live *live, unsigned slot)
{
	return (uint64_t *)word_in(live, slot);
}

static unsigned slot_of(const struct blm_live *live, const uint64_t *word)
{
	size_t at = (size_t)(word - live->slots[0].word);

	return (unsigned)(at % BLM_SLOTS_PER_LINE * BLM_SLOT_LINES + at / BLM_SLOTS_PER_LINE);
}

unsigned blm_presence_slot(const struct blm_presence *p)
{
	return slot_of(p->live, p->word[blm_here.number]);
}

static bool has_taken(const struct blm_presence *p, unsigned slot)
{
	return p->taken[slot / 64] >> slot % 64 & 1;
}

/* ---- Threads ---- */

static int membarrier(int command)
{
	return (int)syscall(SYS_membarrier, command, 0, 0);
}

static void register_for_fences(void)
{
	blm_slot_idle = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0
		? BLM_SLOT_FENCED : BLM_SLOT_FENCES;
}

static void unlist(struct blm_presence *p)
{
	if (!p->listed)
		return;
	if (p->next)
		p->next->previous = p->previous;
	if (p->previous)
		p->previous->next = p->next;
	else
		all = p->next;
	p->listed = false;
}

static void give_back(struct blm_presence *p, unsigned number)
{
	uint64_t *word = p->word[number];
	unsigned slot;

	if (!word)
		return;
	slot = slot_of(p->live, word);
	p->word[number] = NULL;
	p->taken[slot / 64] &= ~(UINT64_C(1) << slot % 64);
	unlock_byte(p->fd, slot);
}

/* At the end of a thread. */
static void forget(void *here)
{
	struct blm_here *h = here;

	pthread_mutex_lock(&mutex);
	for (struct blm_presence *p = all; p; p = p->next)
		give_back(p, h->number);
	numbers[h->number / 64] &= ~(UINT64_C(1) << h->number % 64);
	pthread_mutex_unlock(&mutex);
	h->number = 0;
	h->gone = true;
}

/*
 * These may be registered twice: a thread may fork while another one is in set_up(), which the
 * child then runs again. So the first and the last of one fork do the work.
 */
static _Thread_local unsigned forking;

static void before_fork(void)
{
	if (forking++ == 0)
		pthread_mutex_lock(&mutex);
}

static void after_fork_in_parent(void)
{
	if (--forking == 0)
		pthread_mutex_unlock(&mutex);
}

/*
 * The slots belong to the parent. The child closes its copies of the descriptors (handle.c), which
 * are not what is mapped (mapping.c), so that it keeps none of the parent's locks, and takes its
 * own slots. Its maps and handles stay.
 */
static void after_fork_in_child(void)
{
	forking = 0;
	pthread_mutex_init(&mutex, NULL);
	for (struct blm_presence *p = all, *next; p; p = next) {
		next = p->next;
		memset(p->word, 0, sizeof(p->word));
		memset(p->taken, 0, sizeof(p->taken));
		p->listed = false;
		p->passes = 0;
	}
	all = NULL;
	memset(numbers, 0, sizeof(numbers));
	numbers[0] = 1;
	numbers[blm_here.number / 64] |= UINT64_C(1) << blm_here.number % 64;
	if (blm_slot_idle)
		register_for_fences();
}

static void set_up(void)
{
	at_end_made = pthread_key_create(&at_end, forget) == 0;
	register_for_fences();	/* which takes some milliseconds where there are threads */
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Under the mutex. */
static bool take_number(void)
{
	if (blm_here.number)
		return true;
	for (unsigned i = 0; i < BLM_PRESENCE_THREADS; i++) {
		uint64_t bit = UINT64_C(1) << i % 64;

		if (numbers[i / 64] & bit)
			continue;
		if (pthread_setspecific(at_end, &blm_here))
			return false;
		numbers[i / 64] |= bit;
		blm_here.number = (uint16_t)i;
		return true;
	}
	return false;
}

/* ---- Taking a slot ---- */

enum { PASSES = 4096 };		/* claims under the lock before a thread looks for a slot again */

/*
 * The first free slot from a start that depends on the process and the thread, so that few
 * processes meet. A description is always granted its own locks again, so the locks of this one are
 * remembered here.
 */
static bool take_slot(struct blm_presence *p, int fd)
{
	unsigned from = ((unsigned)getpid() * 7 + blm_here.number) % BLM_SLOT_LINES;

	for (unsigned i = 0; i < BLM_SLOTS; i++) {
		unsigned slot = i / BLM_SLOT_LINES * BLM_SLOT_LINES + (from + i) % BLM_SLOT_LINES;
		uint64_t *word = word_of(p->live, slot);

		if (has_taken(p, slot) || !lock_byte(fd, slot))
			continue;
		p->taken[slot / 64] |= UINT64_C(1) << slot % 64;
		blm_writer_inherit(p, slot);
		store_release(word, blm_slot_idle);
		full_fence();		/* excluders see this, or this thread sees `excluding` */
		p->word[blm_here.number] = word;
		return true;
	}
	return false;
}

static void enlist(struct blm_presence *p, int fd)
{
	if (p->listed)
		return;
	p->fd = fd;
	p->next = all;
	p->previous = NULL;
	if (all)
		all->previous = p;
	all = p;
	p->listed = true;
}

bool blm_presence_take(struct blm_presence *p, int fd)
{
	bool taken = false;

	if (!p->live || blm_here.gone || p->word[blm_here.number])
		return false;
	pthread_once(&once, set_up);
	if (!at_end_made)
		return false;
	pthread_mutex_lock(&mutex);
	if (p->passes) {
		p->passes--;
	} else if (take_number()) {
		enlist(p, fd);
		taken = take_slot(p, fd);
		p->passes = taken ? 0 : PASSES;
	} else {
		p->passes = PASSES;
	}
	pthread_mutex_unlock(&mutex);
	return taken;
}

void blm_presence_end(struct blm_presence *p)
{
	pthread_mutex_lock(&mutex);
	memset(p->word, 0, sizeof(p->word));
	memset(p->taken, 0, sizeof(p->taken));
	unlist(p);
	pthread_mutex_unlock(&mutex);
}

/* ---- Looking and excluding ---- */

/* A description's own locks do not conflict with it, so the threads of this one are asked here. */
bool blm_presence_has_owner(struct blm_presence *p, int fd, unsigned slot)
{
	struct flock lock = byte_of(slot, F_RDLCK);
	bool here;

	pthread_mutex_lock(&mutex);
	here = has_taken(p, slot);
	pthread_mutex_unlock(&mutex);
	return here || fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

/* Is a slot in use whose owner relies on fences? Words that the dead left are no reason to fail. */
static bool needs_fence(struct blm_presence *p, const struct blm_live *live, int fd, bool ask_owner)
{
	for (unsigned slot = 0; slot < BLM_SLOTS; slot++)
		if (load_acquire(word_in(live, slot)) & BLM_SLOT_FENCED
		    && (!ask_owner || blm_presence_has_owner(p, fd, slot)))
			return true;
	return false;
}

static bool is_fenced_everywhere(struct blm_presence *p, const struct blm_live *live, int fd)
{
	return !needs_fence(p, live, fd, false) || membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0
		|| membarrier(MEMBARRIER_CMD_GLOBAL) == 0 || !needs_fence(p, live, fd, true);
}

bool blm_presence_is_used(struct blm_presence *p, const struct blm_live *live, int fd)
{
	if (!is_fenced_everywhere(p, live, fd))
		return true;
	for (unsigned slot = 0; slot < BLM_SLOTS; slot++)
		if (load_acquire(word_in(live, slot)) & BLM_SLOT_ANNOUNCED
		    && blm_presence_has_owner(p, fd, slot))
			return true;
	return false;
}

static int fence_everywhere(struct blm_presence *p, int fd)
{
	if (is_fenced_everywhere(p, p->live, fd))
		return 0;
	return blm_fail(-ENOSYS, "membarrier(2) is refused to this process, and processes that "
			"claim in this filter rely on it; allow that call, or end those processes");
}

#ifndef SPINS
#define SPINS 200		/* looks before the owner is asked for; tests/schedule has less */
#endif

/* Such a page stays so (sigbus.h). */
int blm_live_check(const struct blm_live *live)
{
	const uint8_t *map = (const uint8_t *)live - offsetof(struct blm_header, live);

	return blm_sigbus_hit(map) ? blm_fail(-EIO, "the file was truncated while it was open") : 0;
}

static int wait_for(struct blm_presence *p, int fd, unsigned slot)
{
	const uint64_t *word = word_of(p->live, slot);
	struct blm_pause pause = { 0 };
	int r = 0;

	for (unsigned i = 0; r == 0 && load_acquire(word) & BLM_SLOT_ANNOUNCED; i++) {
		if (i < SPINS)
			continue;
		if (!blm_presence_has_owner(p, fd, slot))
			break;
		r = blm_live_check(p->live);
		if (r == 0)
			r = blm_pause(&pause);
	}
	return r;
}

int blm_presence_exclude(struct blm_presence *p, int fd)
{
	int r;

	if (!p->live)
		return 0;
	store_release(&p->live->excluding, 1);
	full_fence();
	r = fence_everywhere(p, fd);
	for (unsigned slot = 0; r == 0 && slot < BLM_SLOTS; slot++)
		r = wait_for(p, fd, slot);
	if (r < 0)
		blm_presence_admit(p);
	return r;
}
