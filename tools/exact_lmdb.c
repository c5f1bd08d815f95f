/*
 * exact_lmdb.c - an exact table in LMDB: a folder, or a file without one; only read
 *
 * With LMDB's own locks, since others may write to it: as a reader it takes a slot in their lock
 * file, for the time of one batch, so it keeps no pages from being used again.
 *
 * LMDB trusts its file, and follows a damaged number to wherever it leads. So the sizes are checked
 * before it is opened. If LMDB is led out of the file, the program ends with a message instead of a
 * bare signal, and uses no answer of LMDB.
 */
#include "exact.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct table {
	const char *path;
	MDB_env *env;
	MDB_txn *txn;		/* NULL: not between begin and end */
	MDB_dbi dbi;
	size_t key_most;	/* bytes: no key in it is longer */
};

enum { MAGIC = 0xBEEFC0DE };

static int failed(const struct table *t, int code)
{
	if (code == EACCES || code == EPERM)
		return broken("%s: %s (a reader writes to its lock file, so that writers know of "
			      "it)", t->path, strerror(code));
	return broken("%s: %s", t->path, mdb_strerror(code));
}

/* ---- Damage ---- */

static _Thread_local volatile sig_atomic_t inside;	/* of LMDB is this thread */
static const char *shown;

static _Noreturn void end_with(const char *what)
{
	char text[512];
	int count = snprintf(text, sizeof(text), "bloomery: %.300s: is damaged: %s\n", shown, what);

	if (write(STDERR_FILENO, text, (size_t)count) < 0)
		_exit(FAILED);
	_exit(FAILED);
}

static struct sigaction other_fault[2];	/* of SIGSEGV and SIGBUS, as it was */

/*
 * The signal of another fault or sender: as before. If its action ends the program, the same fault
 * comes again and ends it.
 */
static void on_fault(int number, siginfo_t *info, void *context)
{
	const struct sigaction *other = &other_fault[number == SIGBUS];

	if (inside)
		end_with("LMDB was led to where nothing is");
	if (other->sa_flags & SA_SIGINFO)
		other->sa_sigaction(number, info, context);
	else if (other->sa_handler != SIG_DFL && other->sa_handler != SIG_IGN)
		other->sa_handler(number);
	else
		sigaction(number, other, NULL);
}

static void on_assertion(MDB_env *env, const char *what)
{
	(void)env;
	end_with(what);
}

static void catch_faults(MDB_env *env)
{
	const struct sigaction mine = { .sa_sigaction = on_fault,
					.sa_flags = SA_SIGINFO | SA_NODEFER };

	mdb_env_set_assert(env, on_assertion);
	sigaction(SIGSEGV, &mine, &other_fault[0]);
	sigaction(SIGBUS, &mine, &other_fault[1]);
}

/*
 * Its first two pages each begin with a head of 16 bytes and its numbers: magic 0xBEEFC0DE,
 * version, ... the size of a page at 24 of these, the last page at 120, the number of the
 * transaction at 128, and of two that whose number is greater counts. A few last pages may never
 * have been written, since they were used and freed again within one transaction.
 */
static const char *wrong_sizes(int fd)
{
	enum { NUMBERS = 136, MISSING_MAX = 1024 };
	uint64_t last[2], txn[2];
	uint8_t meta[NUMBERS];
	uint32_t page = 4096, magic;
	struct stat st;

	for (int i = 0; i < 2; i++) {
		if (pread(fd, meta, sizeof(meta), (off_t)i * page + 16) != (ssize_t)sizeof(meta))
			return "it is truncated";
		memcpy(&magic, meta, 4);
		if (magic != MAGIC)
			/* LMDB says what it is */
			return i ? "its second page is not LMDB's" : NULL;
		memcpy(&page, meta + 24, 4);
		if (page < 512 || page > 1 << 16 || page & (page - 1))
			return "it has an impossible size of pages";
		memcpy(&last[i], meta + 120, 8);
		memcpy(&txn[i], meta + 128, 8);
	}
	if (fstat(fd, &st) < 0 || last[txn[1] > txn[0]] > (uint64_t)st.st_size / page + MISSING_MAX)
		return "it is truncated";
	return NULL;
}

static int check_sizes(const char *path, bool folder)
{
	char name[4096];
	const char *wrong;
	int fd;

	if (sizeof(size_t) != 8)	/* there it is laid out otherwise */
		return DONE;
	snprintf(name, sizeof(name), "%s%s", path, folder ? "/data.mdb" : "");
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return DONE;		/* LMDB says so */
	wrong = wrong_sizes(fd);
	close(fd);
	return wrong ? broken("%s: is damaged: %s", path, wrong) : DONE;
}

/* ---- The table ---- */

/* Both begin with a page of LMDB's: 16 bytes of a head, then its magic number. */
static bool is(const char *path)
{
	uint32_t there = 0;
	struct stat st;
	int fd;

	if (stat(path, &st) < 0)
		return false;
	if (S_ISDIR(st.st_mode))
		return true;
	fd = S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return false;
	if (pread(fd, &there, sizeof(there), 16) != (ssize_t)sizeof(there))
		there = 0;
	close(fd);
	return there == MAGIC;
}

static int begin(void *table)
{
	struct table *t = table;
	int code;

	inside = true;
	code = mdb_txn_begin(t->env, NULL, MDB_RDONLY, &t->txn);
	if (code == MDB_MAP_RESIZED) {	/* a writer has made it larger */
		code = mdb_env_set_mapsize(t->env, 0);
		if (code == 0)
			code = mdb_txn_begin(t->env, NULL, MDB_RDONLY, &t->txn);
	}
	if (code) {
		t->txn = NULL;
		inside = false;
	}
	return code ? failed(t, code) : DONE;
}

static void end(void *table)
{
	struct table *t = table;

	mdb_txn_abort(t->txn);
	t->txn = NULL;
	inside = false;
}

/* The handle of a table lasts only if the transaction that opened it is committed. */
static int open_dbi(struct table *t)
{
	const char *name = exact_name_wanted();
	unsigned flags = 0;
	int code = begin(t);

	if (code != DONE)
		return code;
	code = mdb_dbi_open(t->txn, name, 0, &t->dbi);
	if (code == 0)
		code = mdb_dbi_flags(t->txn, t->dbi, &flags);
	if (code) {
		end(t);
		return code == MDB_NOTFOUND ? broken("%s: has no table named '%s'", t->path,
						     name ? name : "") : failed(t, code);
	}
	code = mdb_txn_commit(t->txn);
	t->txn = NULL;
	inside = false;
	if (code)
		return failed(t, code);
	if (flags & MDB_INTEGERKEY)
		return broken("%s: its keys are binary integers (MDB_INTEGERKEY), not bytes",
			      t->path);
	return DONE;
}

static void close_table(void *table)
{
	struct table *t = table;

	mdb_env_close(t->env);
	free(t);
}

static int open_table(void **ret, const char *path)
{
	struct table *t = calloc(1, sizeof(*t));
	struct stat st;
	bool folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
	int code;

	if (!t)
		return broken("out of memory");
	t->path = shown = path;
	code = check_sizes(path, folder);
	if (code != DONE) {
		free(t);
		return code;
	}
	code = mdb_env_create(&t->env);
	if (code) {
		free(t);
		return broken("%s: %s", path, mdb_strerror(code));
	}
	catch_faults(t->env);
	mdb_env_set_maxdbs(t->env, 1);
	code = mdb_env_open(t->env, path, MDB_RDONLY | MDB_NOTLS | (folder ? 0 : MDB_NOSUBDIR),
			    0644);
	if (code == ENOENT)
		code = broken("%s: is a folder without a data.mdb", path);
	else
		code = code ? failed(t, code) : open_dbi(t);
	if (code != DONE) {
		close_table(t);
		return code;
	}
	t->key_most = (size_t)mdb_env_get_maxkeysize(t->env);
	*ret = t;
	return DONE;
}

static int find(void *table, const struct blm_key *key, struct blm_key *ret_value)
{
	struct table *t = table;
	MDB_val name = { .mv_size = key->len, .mv_data = (void *)key->bytes }, value;
	int code;

	if (!key->len || key->len > t->key_most)
		return 0;
	code = mdb_get(t->txn, t->dbi, &name, &value);
	if (code && code != MDB_NOTFOUND) {
		failed(t, code);
		return -1;
	}
	if (code == 0)
		*ret_value = (struct blm_key){ value.mv_data, value.mv_size };
	return code == 0;
}

const struct exact_sort exact_lmdb = { .is = is, .open = open_table, .begin = begin, .end = end,
				       .close = close_table, .find = find };
