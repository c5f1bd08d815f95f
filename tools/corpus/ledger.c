/* ledger.c - decisions that survive the process which makes them; the protocol is in ledger.h */
#include "ledger.h"
#include "../signals.h"
#include "folder.h"
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef LEDGER_STEP	/* the test of this file dies at each of them */
void LEDGER_STEP(int n);
#else
#define LEDGER_STEP(n)
#endif

static const char intent_magic[8] = "blmint03", earlier_magic[8] = "blmint02";

struct intent_head {
	char magic[8];
	_Atomic uint64_t busy;
	uint64_t check;			/* of all from hash_id on */
	uint64_t count, hashes_check;	/* of the hashes behind the head */
	uint64_t hash_id;
	uint8_t uuid[16], mark[MARK];	/* of the filter, of the journal */
	char boot[BOOT];
	char journal[PATH_MAX];
};

_Static_assert(sizeof(struct intent_head) <= HEAD, "hashes follow the head");

static struct intent_head *intent_of(const struct ledger *l)
{
	return (struct intent_head *)l->intent.at;
}

static uint64_t check_head(const struct intent_head *head)
{
	return check_bytes(&head->hash_id, sizeof(*head) - offsetof(struct intent_head, hash_id),
			   0);
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

/* ---- The intent ---- */

/* A filter keeps its intent. One of the earlier version says nothing while no decision is open. */
static int begin_intent(struct ledger *l)
{
	struct intent_head *head = intent_of(l);

	if (!memcmp(head->magic, earlier_magic, sizeof(earlier_magic)) && !head->busy)
		memset(head->magic, 0, sizeof(head->magic));
	if (!head->magic[0])
		memcpy(head->magic, intent_magic, sizeof(intent_magic));
	return check_magic(l->intent.path, head->magic, intent_magic);
}

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
	if (code == DONE)
		code = begin_intent(ret);
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

static const struct blm_hash *hashes_of(const struct ledger *l)
{
	return (const struct blm_hash *)(const void *)(l->intent.at + HEAD);
}

/* The intent may have become longer in another process. */
static int check_hashes(struct ledger *l)
{
	const struct intent_head *head;
	int code = map_file(&l->intent);

	if (code != DONE)
		return code;
	head = intent_of(l);
	if (head->count > (l->intent.bytes - HEAD) / sizeof(struct blm_hash))
		return damaged(l->intent.path, "it has fewer hashes than it says");
	if (head->hashes_check != check_bytes(hashes_of(l), head->count * sizeof(struct blm_hash),
					      head->count))
		return damaged(l->intent.path, "its hashes have a wrong checksum");
	return DONE;
}

static int complete_decision(struct ledger *l, struct journal *j)
{
	uint64_t commit;
	int code = read_commit(j, &commit);

	if (code != DONE || !(commit & 1))
		return code;
	code = check_hashes(l);
	if (code == DONE)
		code = put_on_disk(j);
	if (code != DONE)
		return code;
	set_synced(j, commit / 2);
	code = ledger_add(l, hashes_of(l), intent_of(l)->count);
	if (code == DONE)
		set_commit(j, commit - 1);
	return code;
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
	if (code == DONE && !memcmp(head_of(&j)->magic, journal_magic, 8)
	    && !memcmp(head_of(&j)->mark, intent_of(l)->mark, MARK))
		code = complete_decision(l, &j);
	unmap(&j.file);
	return code;
}

static int complete(struct ledger *l)
{
	struct intent_head *head = intent_of(l);
	int code = DONE;

	if (!head->busy)
		return DONE;
	/* a power cut leaves any mix of sectors, and the journals say what it took */
	if (is_this_boot(head->boot) && head->check != check_head(head))
		return damaged(l->intent.path, "its head has a wrong checksum");
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
		head->check = check_head(head);
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
	code = map_bytes(&j->file, HEAD + (j->units + units) * sizeof(struct record));
	if (code == DONE)
		code = map_bytes(&l->intent, HEAD + count * sizeof(*hashes));
	if (code != DONE)
		return code;
	head = intent_of(l);
	for (size_t i = 0; i < units; i++)
		records_of(j)[j->units + i] = record_of(head_of(j)->mark, j->units + i, seen[i]);
	LEDGER_STEP(4);
	head->count = count;
	if (count)
		memcpy(l->intent.at + HEAD, hashes, count * sizeof(*hashes));
	head->hashes_check = check_bytes(hashes_of(l), count * sizeof(*hashes), count);
	LEDGER_STEP(5);
	decided = j->units + units;
	set_commit(j, 2 * decided + 1);
	LEDGER_STEP(6);
	code = put_on_disk(j);
	if (code != DONE) {	/* nothing of it is in the filter, so it is no decision */
		set_commit(j, 2 * j->units);
		return code;
	}
	set_synced(j, decided);
	LEDGER_STEP(7);
	code = ledger_add(l, hashes, count / 2);
	LEDGER_STEP(8);
	if (code == DONE)
		code = ledger_add(l, hashes + count / 2, count - count / 2);
	if (code != DONE)
		return code;
	set_commit(j, 2 * decided);
	LEDGER_STEP(9);
	j->units = decided;
	return DONE;
}

