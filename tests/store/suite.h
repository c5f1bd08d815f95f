/*
 * suite.h - what the tests of the store share: a folder for each test, processes, and the end of a
 * test file
 */
#ifndef BLM_STORE_SUITE_H
#define BLM_STORE_SUITE_H

#include "../calls.h"
#include "../mark.h"
#include "../powers.h"
#include "../info.h"
#include "../random.h"
#include "../skip.h"
#include "bloomery.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <lmdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Does $BLOOMERY_TEST_SCALE ask for a share of what is alike? */
static inline bool is_share(void)
{
	const char *scale = getenv("BLOOMERY_TEST_SCALE");

	return scale && strcmp(scale, "full") != 0;
}

/* Run body(arg) in a process of its own. */
static inline pid_t spawn(int (*body)(int arg), int arg)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(body(arg));
	ck_assert_int_gt(pid, 0);
	return pid;
}

static inline int run_apart(int (*body)(int arg), int arg)
{
	return join(spawn(body, arg));
}

static inline struct blm_store *open_store(unsigned flags)
{
	struct blm_store *store = NULL;

	OK(blm_store_open(&store, "s", flags));
	return store;
}

/* A small empty filter; its handle is closed unless wanted. */
static inline void make(struct blm_filter **ret, struct blm_store *store, const char *name)
{
	struct blm_filter *f = NULL;

	OK(blm_create(&f, store, name,
		      &BLM_PARAMS(.capacity = 100, .rate = 0.001, .seed_count = 1,
				  .seeds = (const uint64_t[]){ 7 })));
	if (ret)
		*ret = f;
	else
		blm_close(f);
}

static inline void make_with(struct blm_store *store, const char *name, const char *key)
{
	struct blm_filter *f;

	make(&f, store, name);
	OK(blm_add(f, key, strlen(key)));
	OK(blm_sync(f));
	blm_close(f);
}

static inline bool holds(struct blm_store *store, const char *name, const char *key)
{
	struct blm_filter *f;
	bool found;

	if (blm_open(&f, store, name, 0) < 0)
		return false;
	found = blm_contains(f, key, strlen(key));
	blm_close(f);
	return found;
}

static inline bool has(const struct blm_filter *f, const char *key)
{
	return blm_contains(f, key, strlen(key));
}

/* How many files are in a folder; the last one's path in ret, if wanted. */
static inline int files_in(const char *folder, char ret[512])
{
	DIR *list = opendir(folder);
	int count = 0;

	ck_assert_ptr_nonnull(list);
	for (struct dirent *e; (e = readdir(list)); )
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
			count++;
			if (ret)
				snprintf(ret, 512, "%.200s/%.255s", folder, e->d_name);
		}
	closedir(list);
	return count;
}

/* The path of a filter's file in the store "s". */
static inline void path_of(struct blm_store *store, const char *name, char ret[512])
{
	struct blm_info *info = info_buffer();
	const uint8_t *u = info->uuid;

	OK(blm_store_find(store, name, info));
	snprintf(ret, 512,
		 "s/filters/"
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x.blm",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12],
		 u[13], u[14], u[15]);
	free(info);
}

/* Put any bytes into the catalog of "s", past the library. */
static inline void put_raw(const char *name, const void *bytes, size_t count)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi table;
	MDB_val key = { strlen(name), (void *)name }, value = { count, (void *)bytes };

	ck_assert_int_eq(mdb_env_create(&env), 0);
	mdb_env_set_maxdbs(env, 8);
	ck_assert_int_eq(mdb_env_open(env, "s/catalog", MDB_NOLOCK, 0644), 0);
	ck_assert_int_eq(mdb_txn_begin(env, NULL, 0, &txn), 0);
	ck_assert_int_eq(mdb_dbi_open(txn, "filters", 0, &table), 0);
	ck_assert_int_eq(mdb_put(txn, table, &key, &value, 0), 0);
	ck_assert_int_eq(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

/* ---- A folder for each test ---- */

static inline void own_folder(void)
{
	char name[32];

	snprintf(name, sizeof(name), "%d", (int)getpid());
	if (mkdir(name, 0755) < 0 || chdir(name) < 0)
		abort();
}

static inline int run_suite(Suite *s)
{
	/*
	 * in memory where there is a place: thousands of small syncs say nothing about what is
	 * tested here, and take minutes
	 */
	const char *where = getenv("TMPDIR")		  ? getenv("TMPDIR")
			  : access("/dev/shm", W_OK) == 0 ? "/dev/shm"
							  : "/tmp";
	char folder[256];
	int failed;

	snprintf(folder, sizeof(folder), "%.200s/bloomery-store-XXXXXX", where);
	if (!mkdtemp(folder) || chmod(folder, 0755) < 0 || chdir(folder) < 0)
		return EXIT_FAILURE;
	/* each test in its folder, and a crash ends only one */
	failed = run_tests(s, CK_FORK);
	if (chdir("/") == 0)
		nftw(folder, remove_one, 32, FTW_DEPTH | FTW_PHYS);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
