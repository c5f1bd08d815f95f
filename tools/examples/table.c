/*
 * table.c - put lines into an LMDB table: table FILE [TABLE] < lines
 *
 * A line is a key, a tab and a value; without a tab it is a key, and its value is empty. FILE is
 * LMDB's file, and FILE-lock has its locks. `bloomery guard F --exact FILE` asks it,
 * behind a filter of the same keys.
 */
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int put_lines(MDB_txn *txn, MDB_dbi dbi)
{
	char *line = NULL;
	size_t capacity = 0;
	ssize_t len;
	int code = 0;

	while (code == 0 && (len = getline(&line, &capacity, stdin)) > 0) {
		char *tab = memchr(line, '\t', (size_t)len),
			*end = line + len - (line[len - 1] == '\n');
		MDB_val key = { .mv_data = line, .mv_size = (size_t)((tab ? tab : end) - line) };
		MDB_val value = { .mv_data = tab ? tab + 1 : end,
				  .mv_size = tab ? (size_t)(end - tab - 1) : 0 };

		code = mdb_put(txn, dbi, &key, &value, 0);
	}
	free(line);
	return code;
}

int main(int argc, char **argv)
{
	MDB_env *env = NULL;
	MDB_txn *txn = NULL;
	MDB_dbi dbi;
	int code;

	if (argc < 2) {
		fprintf(stderr, "usage: table FILE [TABLE] < lines\n");
		return 64;
	}
	code = mdb_env_create(&env);
	if (code == 0) {
		mdb_env_set_maxdbs(env, 8);
		mdb_env_set_mapsize(env, (size_t)1 << 30);
		code = mdb_env_open(env, argv[1], MDB_NOSUBDIR, 0644);
	}
	if (code == 0)
		code = mdb_txn_begin(env, NULL, 0, &txn);
	if (code == 0)
		code = mdb_dbi_open(txn, argv[2], MDB_CREATE, &dbi);
	if (code == 0)
		code = put_lines(txn, dbi);
	if (code == 0)
		code = mdb_txn_commit(txn);
	else if (txn)
		mdb_txn_abort(txn);
	if (code)
		fprintf(stderr, "table: %s: %s\n", argv[1], mdb_strerror(code));
	if (env)
		mdb_env_close(env);
	return code ? 2 : 0;
}
