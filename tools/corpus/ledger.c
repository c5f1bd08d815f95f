/* ledger.c - decisions that survive the process which makes them; the protocol is in ledger.h */
#include "ledger.h"
#include "../signals.h"
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef LEDGER_STEP	/* the test of this file dies at each of them, and starts the machine */
void LEDGER_STEP(int n);
extern const char *LEDGER_BOOT;
#else
#define LEDGER_STEP(n)
#define LEDGER_BOOT "/proc/sys/kernel/random/boot_id"
#endif

enum { HEAD = MAPPED_LEAST, BOOT = 40 };

static const char intent_magic[8] = "blmint02", journal_magic[8] = "blmclm02";

struct intent_head {
	char magic[8];
	_Atomic uint64_t busy;
	uint64_t hash_id, count;
	uint8_t uuid[16], mark[MARK];	/* of the filter, of the journal */
	char boot[BOOT];
	char journal[PATH_MAX];
};

struct journal_head {
	char magic[8];
	_Atomic uint64_t commit;
	uint8_t mark[MARK];
	char boot[BOOT];
};

_Static_assert(sizeof(struct intent_head) <= HEAD, "hashes follow the head");

static struct intent_head *intent_of(const struct ledger *l)
{
	return (struct intent_head *)l->intent.at;
}

static struct journal_head *head_of(const struct journal *j)
{
	return (struct journal_head *)j->file.at;
}

static uint32_t *answers_of(const struct journal *j)
{
	return (uint32_t *)(void *)(j->file.at + HEAD);
}

/* ---- Locks ---- */

static int lock_intent(struct ledger *l)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int r;

	do {
		r = fcntl(l->intent.fd, F_OFD_SETLKW, &lock);
	} while (r < 0 && errno == EINTR && !stopping());
	if (r < 0 && stopping())
		return FAILED;		/* main() dies of the signal */
	return r < 0 ? broken("%s: cannot lock: %s", l->intent.path, strerror(errno)) : DONE;
}

/* Return: DONE, also where *ret_busy is set. */
static int lock_journal(struct journal *j, bool wait, bool *ret_busy)
{
	struct pollfd stop = { .fd = stop_descriptor(), .events = POLLIN };

	*ret_busy = false;
	while (lock_now(j->file.fd, F_WRLCK) < 0) {
		if (errno != EAGAIN && errno != EACCES)
			return broken("%s: cannot lock: %s", j->file.path, strerror(errno));
		*ret_busy = !wait || stopping();
		if (*ret_busy)
			return DONE;
		poll(&stop, 1, 50);
	}
	return DONE;
}

/* ---- Boots ---- */

/* With zeros behind it. */
static void read_boot(char ret[BOOT])
{
	int fd = open(LEDGER_BOOT, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	memset(ret, 0, BOOT);
	n = fd < 0 ? 0 : read(fd, ret, BOOT - 1);
	if (n <= 0)
		ret[0] = 0;
	if (fd >= 0)
		close(fd);
}

static bool is_this_boot(const char boot[BOOT])
{
	char now[BOOT];

	read_boot(now);
	return !memcmp(now, boot, BOOT);
}

/* ---- The intent ---- */

int ledger_open(struct ledger *ret, struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;
	struct ledger l = { .f = f, .hash_id = blm_hash_id(f), .intent.fd = -1 };
	char *path;
	int r = blm_info(f, &info), code;
	struct stat st;

	*ret = l;
	if (r < 0)
		return fail(r);
	memcpy(l.uuid, info.uuid, sizeof(l.uuid));
	/* kinds that forget renew the keys that they add, and not those that they are asked for */
	l.can_claim = (info.can & (BLM_CAN_CLAIM | BLM_FORGETS | BLM_CAN_AGE)) == BLM_CAN_CLAIM;
	path = intent_place(&info);
	if (!path)
		return FAILED;
	code = open_mapped(&l.intent, path, 0600);
	free(path);
	*ret = l;
	/* every user who may write the filter may write the intent */
	if (code == DONE && stat(info.path, &st) == 0)
		fchmod(l.intent.fd, st.st_mode & 0666);	/* of other users' files it fails */
	if (code == DONE)
		code = lock_intent(ret);
	if (code == DONE)
		code = map_file(&ret->intent);
	if (code == DONE && !intent_of(ret)->magic[0])
		memcpy(intent_of(ret)->magic, intent_magic, sizeof(intent_magic));
	if (code == DONE && memcmp(intent_of(ret)->magic, intent_magic, sizeof(intent_magic)))
		code = broken("%s: is no file of this program; move it away", ret->intent.path);
	if (ret->intent.fd >= 0)
		lock_now(ret->intent.fd, F_UNLCK);
	return code;
}

void ledger_close(struct ledger *l)
{
	unmap(&l->intent);
}

int ledger_add(struct ledger *l, const struct blm_hash *hashes, size_t count)
{
	int64_t r = count ? blm_add_hashes(l->f, l->hash_id, hashes, count, NULL) : 0;

	return r < 0 ? fail(r) : DONE;
}

/* Step 6. A name of the journal that the disk lacks would lose it with all its answers. */
static int put_on_disk(struct journal *j)
{
	if (fdatasync(j->file.fd) < 0)
		return broken("%s: cannot be put on the disk: %s", j->file.path, strerror(errno));
	if (j->fresh && sync_folders(j->file.path) != DONE)
		return FAILED;
	j->fresh = false;
	return DONE;
}

static const struct blm_hash *hashes_of(const struct ledger *l)
{
	return (const struct blm_hash *)(const void *)(l->intent.at + HEAD);
}

/*
 * The journal of a process that died. If the journal is gone, or another one has its path, no
 * output waits for it.
 */
static int complete_journal(struct ledger *l, const char *path)
{
	struct journal j = { .file = { .fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW
						  | O_NONBLOCK) }, .fresh = true };
	int code = DONE;

	if (j.file.fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? DONE
			: broken("%s: %s; a process that was killed has left it", path,
				 strerror(errno));
	j.file.path = strdup(path);
	code = j.file.path ? map_file(&j.file) : broken("out of memory");
	if (code == DONE && !memcmp(head_of(&j)->magic, journal_magic, sizeof(journal_magic))
	    && !memcmp(head_of(&j)->mark, intent_of(l)->mark, MARK) && head_of(&j)->commit & 1) {
		code = map_file(&l->intent);	/* that process may have made it longer */
		if (code == DONE && intent_of(l)->count > (l->intent.bytes - HEAD)
		    / sizeof(struct blm_hash))
			code = broken("%s: is damaged: it has fewer hashes than it says; begin "
				      "with an empty filter", l->intent.path);
		if (code == DONE)
			code = put_on_disk(&j);
		if (code == DONE)
			code = ledger_add(l, hashes_of(l), intent_of(l)->count);
		if (code == DONE)
			head_of(&j)->commit--;
	}
	unmap(&j.file);
	return code;
}

static int complete(struct ledger *l)
{
	struct intent_head *head = intent_of(l);
	int code = DONE;

	if (!head->busy)
		return DONE;
	head->journal[sizeof(head->journal) - 1] = 0;
	if (head->hash_id == l->hash_id && !memcmp(head->uuid, l->uuid, sizeof(l->uuid))
	    && is_this_boot(head->boot))
		code = complete_journal(l, head->journal);
	if (code == DONE)
		intent_of(l)->busy = 0;		/* it may be mapped elsewhere now */
	return code;
}

int ledger_begin(struct ledger *l, struct journal *j)
{
	struct intent_head *head;
	int code = lock_intent(l);

	if (code != DONE)
		return code;
	/* another process may have made it longer */
	code = complete(l);
	head = intent_of(l);
	if (code == DONE && j) {
		LEDGER_STEP(1);
		head->hash_id = l->hash_id;
		memcpy(head->uuid, l->uuid, sizeof(l->uuid));
		memcpy(head->mark, head_of(j)->mark, MARK);
		read_boot(head->boot);
		strcpy(head->journal, j->file.path);
		LEDGER_STEP(2);
		atomic_store_explicit(&head->busy, 1, memory_order_release);
		LEDGER_STEP(3);
	}
	if (code != DONE)
		lock_now(l->intent.fd, F_UNLCK);
	return code;
}

/* Where a decision could not be completed, `busy` makes the next process complete it. */
int ledger_end(struct ledger *l, int code)
{
	LEDGER_STEP(10);
	if (code == DONE)
		atomic_store_explicit(&intent_of(l)->busy, 0, memory_order_release);
	LEDGER_STEP(11);
	lock_now(l->intent.fd, F_UNLCK);
	return code;
}

int ledger_commit(struct ledger *l, struct journal *j, const uint32_t *seen, size_t units,
		  const struct blm_hash *hashes, size_t count)
{
	struct intent_head *head;
	uint64_t decided;
	int code;

	if (!j)
		return ledger_add(l, hashes, count);
	code = map_bytes(&j->file, HEAD + (j->units + units) * sizeof(*seen));
	if (code == DONE)
		code = map_bytes(&l->intent, HEAD + count * sizeof(*hashes));
	if (code != DONE)
		return code;
	head = intent_of(l);
	for (size_t i = 0; i < units; i++)
		answers_of(j)[j->units + i] = seen[i] + 1;
	LEDGER_STEP(4);
	head->count = count;
	if (count)
		memcpy(l->intent.at + HEAD, hashes, count * sizeof(*hashes));
	LEDGER_STEP(5);
	decided = j->units + units;
	atomic_store_explicit(&head_of(j)->commit, 2 * decided + 1, memory_order_release);
	LEDGER_STEP(6);
	code = put_on_disk(j);
	if (code != DONE) {	/* nothing of it is in the filter, so it is no decision */
		atomic_store_explicit(&head_of(j)->commit, 2 * j->units, memory_order_release);
		return code;
	}
	LEDGER_STEP(7);
	code = ledger_add(l, hashes, count / 2);
	LEDGER_STEP(8);
	if (code == DONE)
		code = ledger_add(l, hashes + count / 2, count - count / 2);
	if (code != DONE)
		return code;
	atomic_store_explicit(&head_of(j)->commit, 2 * decided, memory_order_release);
	LEDGER_STEP(9);
	j->units = decided;
	return DONE;
}

/* ---- The journal ---- */

/* The process that had it may have unlinked it while this one waited for the lock. */
static bool is_at_its_path(const struct mapped *m)
{
	struct stat a, b;

	return fstat(m->fd, &a) == 0 && stat(m->path, &b) == 0 && a.st_dev == b.st_dev
		&& a.st_ino == b.st_ino;
}

static int begin_journal(struct journal *j, const uint8_t mark[MARK])
{
	struct journal_head *head = head_of(j);

	j->fresh = true;
	memcpy(head->mark, mark, MARK);
	read_boot(head->boot);
	/* a process that dies before the magic has begun nothing */
	atomic_signal_fence(memory_order_release);
	memcpy(head->magic, journal_magic, sizeof(journal_magic));
	return DONE;
}

/* The units that a power cut has left. */
static uint64_t units_left(const struct journal *j)
{
	uint64_t most = (j->file.bytes - HEAD) / sizeof(uint32_t), n = 0;

	if (most > head_of(j)->commit / 2)
		most = head_of(j)->commit / 2;
	while (n < most && answers_of(j)[n])
		n++;
	return n;
}

/* No later answer may be taken for one that was decided, also if the disk has that one. */
static int clear_answers(struct journal *j)
{
	uint64_t room = (j->file.bytes - HEAD) / sizeof(uint32_t), n = j->units;
	int code = DONE;

	while (n < room && !answers_of(j)[n])
		n++;
	if (n < room) {
		memset(answers_of(j) + n, 0, (room - n) * sizeof(uint32_t));
		code = put_on_disk(j);
	}
	return code;
}

static int continue_journal(struct journal *j, struct ledger *l, const uint8_t mark[MARK])
{
	struct journal_head *head = head_of(j);
	int code;

	if (memcmp(head->magic, journal_magic, sizeof(journal_magic)))
		return broken("%s: is no file of this program; move it away", j->file.path);
	if (memcmp(head->mark, mark, MARK))
		return broken("%s: was begun with other options, another filter or another input; "
			      "repeat that command, or remove this file and begin with an empty "
			      "filter, since documents that are in no output are in that one",
			      j->file.path);
	j->fresh = true;	/* the process that began it may have died before step 6 */
	j->other_boot = !is_this_boot(head->boot);
	if (!l)
		return DONE;
	/* completes the last decision, if none did */
	code = ledger_begin(l, NULL);
	if (code == DONE)
		lock_now(l->intent.fd, F_UNLCK);
	if (code == DONE && j->other_boot) {
		j->units = units_left(j);
		return DONE;
	}
	j->units = head->commit / 2;
	if (code == DONE && (head->commit & 1
			     || j->units > (j->file.bytes - HEAD) / sizeof(uint32_t)))
		code = broken("%s: is damaged, or its last decision was in %s, which is another "
			      "file now; remove it, and begin with an empty filter",
			      j->file.path, l->intent.path);
	return code == DONE ? clear_answers(j) : code;
}

bool journal_is_old(const char *path)
{
	struct journal_head head;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool ret = fd >= 0 && pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head)
		&& !memcmp(head.magic, journal_magic, sizeof(journal_magic))
		&& !is_this_boot(head.boot);

	if (fd >= 0)
		close(fd);
	return ret;
}

/*
 * The order on the disk: `commit` counts no answer that is 0 while the boot is this one, so the
 * boot comes last.
 */
int journal_restored(struct journal *j)
{
	struct journal_head *head = head_of(j);
	int code = clear_answers(j);

	if (code != DONE)
		return code;
	atomic_store_explicit(&head->commit, 2 * j->units, memory_order_release);
	code = put_on_disk(j);
	if (code != DONE)
		return code;
	read_boot(head->boot);
	j->other_boot = false;
	return put_on_disk(j);
}

int journal_open(struct journal *ret, struct ledger *l, const char *path,
		 const uint8_t mark[MARK], bool wait, bool *ret_busy)
{
	struct journal j = { 0 };
	int code;

	*ret_busy = false;
	for (;;) {
		code = open_mapped(&j.file, path, 0600);
		if (code != DONE)
			return code;
		code = lock_journal(&j, wait, ret_busy);
		if (code != DONE || *ret_busy || is_at_its_path(&j.file))
			break;
		unmap(&j.file);
	}
	if (code == DONE && !*ret_busy)
		code = map_file(&j.file);
	if (code == DONE && !*ret_busy)
		code = head_of(&j)->magic[0] ? continue_journal(&j, l, mark)
			: begin_journal(&j, mark);
	if (code != DONE || *ret_busy)
		unmap(&j.file);
	*ret = j;
	return code;
}

void journal_close(struct journal *j, bool done)
{
	if (done && j->file.path)
		unlink(j->file.path);
	unmap(&j->file);
}

void journal_delete(const char *path)
{
	struct mapped m = { .fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK),
			    .path = strdup(path) };

	if (m.fd >= 0 && m.path && lock_now(m.fd, F_WRLCK) == 0 && is_at_its_path(&m))
		unlink(path);
	unmap(&m);
}

uint32_t journal_seen(const struct journal *j, uint64_t unit)
{
	return answers_of(j)[unit] - 1;
}
