/*
 * memory.c - whatever allocation fails, once or from then on, a statement of the extension answers
 * right or fails, and what follows works
 *
 * usage: memory EXTENSION FOLDER
 *
 * This program's malloc() is that of SQLite, of the extension and of the library. The allocations
 * of a statement are counted from its first step to its end, and each of them fails in turn.
 */
#include <bloomery.h>

#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

static int countdown;		/* the allocation that fails; 0: none */
static bool lasting, reached;

static bool fails(void)
{
	if (!countdown)
		return false;
	if (countdown > 1) {
		countdown--;
		return false;
	}
	reached = true;
	if (!lasting)
		countdown = 0;
	return true;
}

void *malloc(size_t bytes)
{
	return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
	return fails() ? NULL : __libc_realloc(old, bytes);
}

/* ---- One statement ---- */

enum { KEYS = 600 };

#define NUMBERS(most) \
	"WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < " most ") "

static const struct statement {
	const char *says, *sql;
	int answer;
} statements[] = {
	{ "a test", "SELECT bloomery_test('seen', 'a')", 1 },
	{ "a test of a name that is no constant", "SELECT bloomery_test('se' || x, 'a') FROM "
	  "(SELECT 'en' AS x UNION ALL SELECT 'en')", 1 },
	{ "an add", "SELECT bloomery_add('seen', 'a')", 0 },
	{ "a claim", "SELECT bloomery_claim('seen', 'a')", 0 },
	{ "a count", "SELECT bloomery_count('seen')", 1 },
	{ "a listing", "SELECT count(*) FROM bloomery_ls WHERE kind = 'blocked'", 1 },
	{ "a listing of a pattern", "SELECT count(*) FROM bloomery_ls('s*')", 1 },
	{ "a build", NUMBERS("600")
	  "SELECT bloomery_build('built', x, 1e-9) FROM n", KEYS },
	{ "a build of long keys", NUMBERS("8")
	  "SELECT bloomery_build('built', hex(zeroblob(9000)) || x, 1e-9) FROM n", 8 },
	{ "a publishing", "SELECT bloomery_publish('seen', 'published', 1)", 1 },
};

static struct blm_store *store;
static int failures;

__attribute__((format(printf, 1, 2)))
static void complain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	printf("# ");
	vprintf(format, arguments);
	printf("\n");
	va_end(arguments);
	failures++;
}

static sqlite3 *connect_with(const char *extension)
{
	char *message = NULL;
	sqlite3 *db;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK
	    || sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL) != SQLITE_OK
	    || sqlite3_load_extension(db, extension, NULL, &message) != SQLITE_OK) {
		printf("Bail out! %s\n", message ? message : sqlite3_errmsg(db));
		exit(1);
	}
	return db;
}

/* Return: the number that the first row has; -1: the statement failed. */
static int ask(sqlite3 *db, const char *sql, int fail_at, bool from_then_on)
{
	sqlite3_stmt *statement;
	int code, answer = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
		complain("%s: %s", sql, sqlite3_errmsg(db));
		return -1;
	}
	countdown = fail_at;
	lasting = from_then_on;
	reached = false;
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		answer = sqlite3_column_int(statement, 0);
		code = sqlite3_step(statement);
	}
	if (code == SQLITE_ROW)		/* further rows say the same */
		code = sqlite3_step(statement);
	countdown = 0;
	if (sqlite3_finalize(statement) != SQLITE_OK || code != SQLITE_DONE)
		return -1;
	return answer;
}

/* The filter is whole, or it is not there. */
static void look_at_built(const struct statement *s, int answer)
{
	struct blm_filter *f;
	uint64_t keys = 0;
	int r = blm_open(&f, store, "built", 0);

	if (r < 0) {
		if (answer >= 0)
			complain("%s: said %d, and made no filter", s->says, answer);
		return;
	}
	if (blm_count(f, &keys, NULL) < 0 || keys != (uint64_t)s->answer)
		complain("%s: left a filter of %d keys", s->says, (int)keys);
	blm_close(f);
	if (blm_store_drop(store, "built") < 0)
		complain("%s: %s", s->says, blm_error_message());
}

/* Return: whether there are more allocations than that. */
static bool fail_one(const char *extension, const struct statement *s, int which, bool from_then_on)
{
	sqlite3 *db = connect_with(extension);
	int answer = ask(db, s->sql, which, from_then_on);
	bool ret = reached;

	if (answer >= 0 && answer != s->answer)
		complain("%s, allocation %d: said %d", s->says, which, answer);
	if (answer < 0 && !ret)
		complain("%s: failed without a failure: %s", s->says, sqlite3_errmsg(db));
	if (strstr(s->sql, "built"))
		look_at_built(s, answer);
	if (ask(db, "SELECT bloomery_test('seen', 'a')", 0, false) != 1)
		complain("%s, allocation %d: the next statement failed", s->says, which);
	if (sqlite3_close(db) != SQLITE_OK)
		complain("%s, allocation %d: the connection does not close", s->says, which);
	return ret;
}

static bool is_mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[8192];
	bool ret = false;

	while (maps && fgets(line, sizeof(line), maps))
		ret |= strstr(line, ".blm") != NULL;
	if (maps)
		fclose(maps);
	return ret;
}

int main(int argc, char **argv)
{
	struct blm_params params = BLM_PARAMS(.capacity = 100000, .rate = 0.001);
	struct blm_filter *f;
	int count = 0, before;

	if (argc != 3 || blm_store_open(&store, argv[2], BLM_STORE_CREATE) < 0
	    || blm_create(&f, store, "seen", &params) < 0 || blm_add(f, "a", 1) != 1) {
		printf("Bail out! %s\n", blm_error_message());
		return 1;
	}
	blm_close(f);
	setenv("BLOOMERY_STORE", argv[2], 1);
	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++) {
		int which[2] = { 0 };

		before = failures;
		for (int mode = 0; mode < 2; mode++)
			while (fail_one(argv[1], &statements[i], ++which[mode], mode)
			       && failures < before + 20)
				;
		printf("# %d and %d allocations failed\n", which[0] - 1, which[1] - 1);
		printf("%s %d - %s goes on or fails where memory is short\n",
		       failures > before || which[0] < 2 ? "not ok" : "ok", ++count,
		       statements[i].says);
	}
	printf("%s %d - no filter stays open\n", is_mapped() ? "not ok" : "ok", ++count);
	printf("1..%d\n", count);
	return 0;
}
