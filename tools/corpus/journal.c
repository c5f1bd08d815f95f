/*
 * journal.c - the answers for the units of a file: begun, checked and continued; the protocol is in
 * ledger.h
 */
#include "../signals.h"
#include "folder.h"
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef LEDGER_BOOT	/* the test of ledger.h starts the machine */
extern const char *LEDGER_BOOT;
#else
#define LEDGER_BOOT "/proc/sys/kernel/random/boot_id"
#endif

const char journal_magic[8] = "blmclm03";

/* ---- Damage ---- */

int damaged(const char *path, const char *what)
{
	return broken("%s: is damaged: %s; begin again with an empty filter and no outputs", path,
		      what);
}

int check_magic(const char *path, const char magic[8], const char want[8])
{
	if (!memcmp(magic, want, 8))
		return DONE;
	if (!memcmp(magic, want, 6))
		return broken("%s: is of another version of this program; finish the run with it, "
			      "or begin again with an empty filter and no outputs", path);
	return broken("%s: is no file of this program, or is damaged; move it away, and begin "
		      "again with an empty filter and no outputs", path);
}

void set_commit(struct journal *j, uint64_t value)
{
	struct journal_head *head = head_of(j);

	atomic_store_explicit(&head->commit, word_of(head->mark, COMMIT_WORD, value),
			      memory_order_release);
}

void set_synced(struct journal *j, uint64_t value)
{
	struct journal_head *head = head_of(j);

	atomic_store_explicit(&head->synced, word_of(head->mark, SYNCED_WORD, value),
			      memory_order_release);
}

int read_commit(const struct journal *j, uint64_t *ret)
{
	const struct journal_head *head = head_of(j);

	return read_word(head->mark, COMMIT_WORD, head->commit, ret) ? DONE
		: damaged(j->file.path, "its count of units has a wrong checksum");
}

/* ---- Boots ---- */

void read_boot(char ret[BOOT])
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

bool is_this_boot(const char boot[BOOT])
{
	char now[BOOT];

	read_boot(now);
	return !memcmp(now, boot, BOOT);
}

/* ---- The file ---- */

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

/* A name of the journal that the disk lacks would lose it with all its answers. */
int put_on_disk(struct journal *j)
{
	if (fdatasync(j->file.fd) < 0)
		return broken("%s: cannot be put on the disk: %s", j->file.path, strerror(errno));
	if (j->fresh && sync_folders(j->file.path) != DONE)
		return FAILED;
	j->fresh = false;
	return DONE;
}

/* The process that had it may have unlinked it while this one waited for the lock. */
static bool is_at_its_path(const struct mapped *m)
{
	struct stat a, b;

	return fstat(m->fd, &a) == 0 && stat(m->path, &b) == 0 && a.st_dev == b.st_dev
		&& a.st_ino == b.st_ino;
}

/* Is there no record from that unit on? */
static bool is_empty_from(const struct journal *j, uint64_t unit)
{
	while (unit < capacity_of(j) && is_no_record(&records_of(j)[unit]))
		unit++;
	return unit >= capacity_of(j);
}

static int begin_journal(struct journal *j, const uint8_t mark[MARK])
{
	struct journal_head *head = head_of(j);

	if (!is_empty_from(j, 0))
		return damaged(j->file.path, "it has answers and no head");
	j->fresh = true;
	memcpy(head->mark, mark, MARK);
	read_boot(head->boot);
	set_commit(j, 0);
	set_synced(j, 0);
	/* a process that dies before the magic has begun nothing */
	atomic_signal_fence(memory_order_release);
	memcpy(head->magic, journal_magic, sizeof(journal_magic));
	return put_on_disk(j);
}

/*
 * How many of the first units have a record. If not all have one, that is damage, unless a power
 * cut can have taken the others.
 */
static int count_records(const struct journal *j, uint64_t units, uint64_t *ret)
{
	const struct journal_head *head = head_of(j);
	uint64_t synced, n = 0;

	*ret = 0;
	if (!read_word(head->mark, SYNCED_WORD, head->synced, &synced))
		return damaged(j->file.path, "its count of synced units has a wrong checksum");
	while (n < units && n < capacity_of(j) && is_whole_record(&records_of(j)[n], head->mark, n))
		n++;
	*ret = n;
	if (n == units)
		return DONE;
	if (n < capacity_of(j) && !is_no_record(&records_of(j)[n]))
		return damaged(j->file.path, "an answer has a wrong checksum");
	return j->other_boot && n >= synced ? DONE : damaged(j->file.path, "an answer is missing");
}

/* No later answer may be taken for one that was decided, also if the disk has that one. */
static int clear_answers(struct journal *j)
{
	if (is_empty_from(j, j->units))
		return DONE;
	memset(records_of(j) + j->units, 0, (capacity_of(j) - j->units) * sizeof(struct record));
	return put_on_disk(j);
}

int read_units(struct journal *j, const struct ledger *l)
{
	uint64_t commit;
	int code = read_commit(j, &commit);

	if (code != DONE)
		return code;
	if (!j->other_boot && commit & 1)
		return broken("%s: is damaged, or its last decision was in %s, which is another "
			      "file now; begin again with an empty filter and no outputs",
			      j->file.path, l->intent.path);
	return count_records(j, commit / 2, &j->units);
}

static int continue_journal(struct journal *j, struct ledger *l, const uint8_t mark[MARK])
{
	struct journal_head *head = head_of(j);
	int code = check_magic(j->file.path, head->magic, journal_magic);

	if (code != DONE)
		return code;
	if (memcmp(head->mark, mark, MARK))
		return broken("%s: was begun with other options, another filter or another input; "
			      "repeat that command, or remove this file and begin an empty filter",
			      j->file.path);
	j->fresh = true;	/* the process that began it may have died before the sync */
	j->other_boot = !is_this_boot(head->boot);
	if (!l)
		return DONE;
	/* completes the last decision, if none did */
	code = ledger_begin(l, NULL);
	if (code != DONE)
		return code;
	lock_now(l->intent.fd, F_UNLCK);
	code = read_units(j, l);
	return code == DONE && !j->other_boot ? clear_answers(j) : code;
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
	set_commit(j, 2 * j->units);
	code = put_on_disk(j);
	if (code != DONE)
		return code;
	set_synced(j, j->units);
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
	return records_of(j)[unit].answer - 1;
}
