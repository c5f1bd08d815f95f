/*
 * handle_code.h - the code of lib/handle that changes a filter, compiled by scheduler.h
 *
 * The test includes scheduler.h first. It defines `mistake`, `counts`, a lock EXCLUSIVE, and the
 * functions that are declared below. Macros replace some calls in the code, to make the mistakes.
 */
#ifndef HANDLE_CODE_H
#define HANDLE_CODE_H

/* EXCLUSIVE is a lock here. It is only tried, and the end of a process gives it back. */
static int caught_lock(int command, struct flock *lock)
{
	if (lock->l_start != EXCLUSIVE_BYTE)
		return caught_fcntl(command, lock);
	if (command == F_OFD_GETLK) {
		lock->l_type = caught(ASK_LOCK, EXCLUSIVE, lock->l_type == F_WRLCK)
			? F_WRLCK : F_UNLCK;
		return 0;
	}
	if (lock->l_type == F_UNLCK)
		return caught(UNLOCK, EXCLUSIVE, 0), 0;
	errno = EAGAIN;
	return caught(TRY_LOCK, EXCLUSIVE, true) ? 0 : -1;
}

#undef fcntl
#define fcntl(fd, command, lock) caught_lock(command, lock)

#include "file/sigbus.h"
#define blm_sigbus_hit(map) ((void)(map), false)	/* no file is truncated here */
#include "file/ofd_lock.c"
static_assert(EXCLUSIVE_BYTE == (INT64_C(1) << 62) + BLM_LOCK_EXCLUSIVE,
	      "scheduler.h knows its byte");
#define give_back give_slot_back
#include "file/presence.c"
#undef give_back
#include "durable/locks.c"
#include "stubs.h"

/* The threads of one handle use <stdatomic.h> and a mutex for the words that they share. */
#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#define atomic_load(address) \
	((__typeof__(*(address) + 0))caught_load((const void *)(address), sizeof(*(address))))
#define atomic_load_explicit(address, order) atomic_load(address)
#define atomic_store(address, value) \
	caught_store((void *)(address), (uint64_t)(value), sizeof(*(address)))
static void lock_renewing(const pthread_mutex_t *which, enum operation operation);
#undef pthread_mutex_lock
#undef pthread_mutex_unlock
#define pthread_mutex_lock(m) lock_renewing(m, LOCK)
#define pthread_mutex_unlock(m) lock_renewing(m, UNLOCK)

static bool try_alone(int fd);
static void be_alone(struct blm_presence *p);
static int ask_or_recall(const struct blm_filter *f, const struct blm_view *view);

#include "handle/exclusive.h"
static void count_owner(struct blm_view *view);

static void end_wait_for_syncs(struct blm_view *view)
{
	if (mistake != SYNC_FORGOTTEN)
		blm_unlock_syncing(view);
	counts = mistake == COUNTED_LATE;
	if (counts)
		count_owner(view);
}

#define refuse refuse_beside_owner
#define blm_lock_syncing(view) (mistake == SYNC_FORGOTTEN ? 0 : (blm_lock_syncing)(view))
#define blm_unlock_syncing(view) end_wait_for_syncs(view)
#define store_release(word, value) \
	(mistake == COUNTED_LATE && !counts ? (void)0 : (store_release)(word, value))
#define blm_ofd_try(fd, what) try_alone(fd)
#define blm_presence_end(p) be_alone(p)
#include "handle/exclusive.c"
#undef store_release
#undef blm_lock_syncing
#undef blm_unlock_syncing
#undef blm_ofd_try
#undef blm_presence_end
#include "handle/lock_current.c"
#define owners_of(state) (mistake == TAKEN_OVER ? view->owners : (owners_of)(state))
#define blm_ask_admission(f, view) ask_or_recall(f, view)
#include "handle/renew.c"
#undef owners_of
#undef blm_ask_admission
#define blm_ask_admission_again(f) \
	(mistake == REFUSED_FOR_EVER ? -EBUSY : (blm_ask_admission_again)(f))
#include "handle/standing.c"
#define begin begin_change
/* A thread that has no slot holds the lock shared. claims.c tests the taking of slots. */
#define blm_presence_take(p, fd) false
#define has_new_owners(view) (mistake != TAKEN_OVER && (has_new_owners)(view))
#include "handle/write.c"
#undef begin
#undef has_new_owners
#include "kind/common/bits.h"

/* ---- The rest of lib ---- */

/* The name always leads to the file. */
int blm_place_is(const struct blm_place *place, dev_t device, ino_t inode, const uint8_t uuid[16])
{
	return 1;
}

enum blm_standing blm_place_standing(const struct blm_place *place, const struct blm_image *image,
				     const uint8_t uuid[16])
{
	return BLM_STANDS;
}

int blm_place_open(const struct blm_place *place, bool write, struct blm_told *ret_told)
{
	return -ENOENT;
}

int blm_view_make(struct blm_view **ret, int fd, const char *display, bool write)
{
	return -ENOENT;
}

void blm_view_free(struct blm_view *view)
{
}

int blm_view_load(struct blm_view *view, unsigned flags, const char *display)
{
	return 0;
}

bool blm_checkpoint_was_cut(const struct blm_view *view)
{
	return false;
}

bool blm_image_is_behind(const struct blm_image *image)
{
	return false;
}

uint64_t blm_advance_reclaim_epoch(void)
{
	return 1;
}

uint64_t blm_oldest_reclaim_epoch(void)
{
	return 0;
}

int blm_fail_sigbus(const char *display)
{
	return -EIO;
}

const char *blm_strerror(int err)
{
	return "";
}

uint64_t blm_boot_number(void)
{
	return 1;
}

void blm_raise_written(struct blm_live *live)
{
}

int blm_write_back(void *from, uint64_t bytes)
{
	return 0;
}

int blm_take_report(const struct blm_view *view)
{
	return 0;
}

const char *blm_kinds_that_can(unsigned can, char *ret, size_t capacity)
{
	return "";
}

int blm_allow_take_off_all(struct blm_filter *f, struct blm_view *view, struct blm_asked *ret)
{
	return 0;
}

/* This kind has no word of a writer (writers.c). */
void blm_writer_inherit(struct blm_presence *p, unsigned slot)
{
}

int blm_writer_take(struct blm_presence *p, int fd)
{
	return 0;
}

void blm_writer_give(struct blm_presence *p)
{
}

int blm_writer_lock(struct blm_presence *p, int fd)
{
	return 0;
}

void blm_writer_unlock(struct blm_presence *p)
{
}

int blm_writer_wait_as_reader(struct blm_presence *p, const struct blm_live *live, int fd)
{
	return 0;
}

#endif
