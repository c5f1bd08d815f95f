/*
 * leveldb.c - lines on stdin as the keys of tables of LevelDB, with its Bloom filters: leveldb
 * FOLDER < keys
 */
#include <leveldb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(char *error)
{
	if (error) {
		fprintf(stderr, "leveldb: %s\n", error);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	leveldb_options_t *options = leveldb_options_create();
	leveldb_writeoptions_t *how = leveldb_writeoptions_create();
	char *line = NULL, *error = NULL;
	leveldb_t *db;
	size_t capacity = 0;
	ssize_t len;

	if (argc != 2)
		return 64;
	leveldb_options_set_create_if_missing(options, 1);
	leveldb_options_set_filter_policy(options, leveldb_filterpolicy_create_bloom(10));
	db = leveldb_open(options, argv[1], &error);
	check(error);
	while ((len = getline(&line, &capacity, stdin)) > 0) {
		leveldb_put(db, how, line, (size_t)len - 1,
			    "a value that is longer than the key is", 38, &error);
		check(error);
	}
	leveldb_compact_range(db, NULL, 0, NULL, 0);
	leveldb_close(db);
	return 0;
}
