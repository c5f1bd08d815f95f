/*
 * store.c - a store and its catalog: names, one-step changes, many processes, other users, secrets
 */
#include "suite.h"
#include "../info.h"

#include "base/sized.h"
#include "catalog/catalog.h"
#include "file/header.h"
#include "catalog/record.h"
#include "file/ofd_lock.h"
#include "place/store_dir.h"

#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <time.h>

/* ---- Names ---- */

static const char long_name[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef01"
				"23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
				"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef01"
				"23456789abcdef0123456789abcdef0123456789abcdef0123456789abcde";

static const char *const good_names[] = {
	"a",
	"...",
	".hidden",
	"-rf",
	"a b",
	" ",
	"a\\b",
	"%s%n",
	"*",
	"~",
	"CON",
	"a:b",
	"$(id)",
	"\xc3\xa9",
	"\xe2\x82\xac",
	"\xf0\x9f\x8c\xb8",
	"\xf4\x8f\xbf\xbf",
	"\xc2\xa0",
	"\xed\x9f\xbf",
	"\xee\x80\x80",
	"data.mdb",
	"e\xcc\x81",
	long_name,
};

START_TEST(any_line_of_utf8_without_a_slash_is_a_name)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	char path[512];

	ck_assert_uint_eq(strlen(long_name), BLM_NAME_MAX);
	make_with(store, good_names[_i], "key");
	ck_assert(holds(store, good_names[_i], "key"));
	ck_assert_int_eq(files_in("s/filters", path), 1);
	/* its uuid, whatever the name */
	ck_assert_uint_eq(strlen(path), strlen("s/filters/") + BLM_FILE_TEXT - 1);
	blm_store_close(store);
}
END_TEST

static const struct { const char *name; int err;
} bad_names[] = {
	/* C1 */
	/* overlong */
	/* a NUL, overlong */
	/* surrogates */
	/* past the end */
	{ "", -EINVAL },
	{ ".", -EINVAL },
	{ "..", -EINVAL },
	{ "/x", -EINVAL },
	{ "../x", -EINVAL },
	{ "a/b", -EINVAL },
	{ "a/../../x", -EINVAL },
	{ "a/", -EINVAL },
	{ "/", -EINVAL },
	{ "a\nb", -EINVAL },
	{ "\t", -EINVAL },
	{ "\033[2J", -EINVAL },
	{ "a\x7f", -EINVAL },
	{ "\x01", -EINVAL },
	{ "\xc2\x80", -EINVAL },
	{ "a\xc2\x9f", -EINVAL },
	{ "\xff", -EINVAL },
	{ "\x80", -EINVAL },
	{ "a\xc3", -EINVAL },
	{ "\xe2\x82", -EINVAL },
	{ "\xc3(", -EINVAL },
	{ "\xc0\xaf", -EINVAL },
	{ "\xc1\xbf", -EINVAL },
	{ "\xe0\x80\xaf", -EINVAL },
	{ "\xf0\x80\x80\xaf", -EINVAL },
	{ "\xc0\x80", -EINVAL },
	{ "\xed\xa0\x80", -EINVAL },
	{ "\xed\xbf\xbf", -EINVAL },
	{ "\xf4\x90\x80\x80", -EINVAL },
	{ "\xf8\x88\x80\x80\x80", -EINVAL },
};

static void is_refused(struct blm_store *store, const char *name, int err)
{
	struct blm_info *info = info_buffer();
	struct blm_filter *f = NULL;

	FAILS(blm_create(&f, store, name, &BLM_PARAMS(.capacity = 10)), err);
	FAILS(blm_open(&f, store, name, 0), err);
	FAILS(blm_store_find(store, name, info), err);
	FAILS(blm_store_drop(store, name), err);
	FAILS(blm_store_rename(store, "good", name), err);
	FAILS(blm_store_rename(store, name, "better"), err);
	FAILS(blm_store_label(store, name, "a", "b"), err);
	ck_assert_msg(!strpbrk(blm_error_message(), "\n\033\177"),
		      "the words are not one plain line");
	free(info);
}

START_TEST(an_invalid_name_is_refused_everywhere)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	make(NULL, store, "good");
	is_refused(store, bad_names[_i].name, bad_names[_i].err);
	ck_assert_int_eq(files_in("s/filters", NULL), 1);
	ck_assert_int_eq(files_in(".", NULL), 1);
	blm_store_close(store);
}
END_TEST

START_TEST(a_name_of_256_bytes_is_too_long)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	static const size_t lengths[] = { BLM_NAME_MAX + 1, BLM_NAME_MAX + 2, 511, 512, 1 << 16 };
	char *name = calloc(1, (1 << 16) + 1);

	make(NULL, store, "good");
	snprintf(name, BLM_NAME_MAX + 2, "%sx", long_name);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		memset(name + BLM_NAME_MAX, 'x', lengths[i] - BLM_NAME_MAX);
		is_refused(store, name, -ENAMETOOLONG);
	}
	free(name);
	blm_store_close(store);
}
END_TEST

/* ---- One step each ---- */

START_TEST(a_filter_is_made_once_and_found_by_its_name)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_info *info = info_buffer();
	struct blm_filter *f = NULL;

	make_with(store, "a", "key");
	FAILS(blm_create(&f, store, "a", &BLM_PARAMS(.capacity = 10)), -EEXIST);
	ck_assert(holds(store, "a", "key"));
	OK(blm_store_find(store, "a", info));
	ck_assert_str_eq(info->name, "a");
	ck_assert_str_eq(info->kind, "blocked");
	ck_assert_uint_eq(info->capacity, 100);
	ck_assert_uint_eq(info->keys, 1);
	ck_assert_uint_ne(info->synced, 0);
	FAILS(blm_store_find(store, "b", info), -ENOENT);
	FAILS(blm_open(&f, store, "b", BLM_OPEN_WRITE), -ENOENT);
	free(info);
	blm_store_close(store);
}
END_TEST

struct listed {
	char names[4096];
	int count, damaged;
};

static int note(void *context, const struct blm_info *info, int err)
{
	struct listed *l = context;

	l->count++;
	l->damaged += err != 0;
	if (strlen(l->names) + strlen(info->name) + 2 < sizeof(l->names))
		strcat(strcat(l->names, info->name), " ");
	return 0;
}

static void lists(struct blm_store *store, const char *pattern, const char *names)
{
	struct listed l = { .count = 0 };

	OK(blm_store_list(store, pattern, note, &l));
	ck_assert_str_eq(l.names, names);
	ck_assert_int_eq(l.damaged, 0);
}

static int stop_at_b(void *context, const struct blm_info *info, int err)
{
	++*(int *)context;
	return !strcmp(info->name, "b") ? 42 : 0;
}

START_TEST(a_listing_is_in_byte_order_and_takes_patterns)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	int seen = 0;

	lists(store, NULL, "");
	make(NULL, store, "b");
	make(NULL, store, "ab");
	make(NULL, store, "\xc3\xa9");
	make(NULL, store, "a");
	make(NULL, store, "B");
	lists(store, NULL, "B a ab b \xc3\xa9 ");
	lists(store, "a*", "a ab ");
	lists(store, "[[:upper:]]", "B ");
	lists(store, "z", "");
	ck_assert_int_eq(blm_store_list(store, NULL, stop_at_b, &seen), 42);
	ck_assert_int_eq(seen, 4);
	blm_store_close(store);
}
END_TEST

START_TEST(a_rename_moves_the_name_and_keeps_the_handles)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;

	make(&f, store, "a");
	make_with(store, "taken", "other");
	FAILS(blm_store_rename(store, "a", "taken"), -EEXIST);
	FAILS(blm_store_rename(store, "none", "c"), -ENOENT);
	OK(blm_store_label(store, "a", "colour", "red"));
	OK(blm_store_rename(store, "a", "b"));
	lists(store, NULL, "b taken ");
	ck_assert_int_eq((int)blm_add(f, "later", 5), 1);
	OK(blm_sync(f));
	ck_assert(holds(store, "b", "later"));
	ck_assert_int_eq(blm_status(f), 0);
	ck_assert(holds(store, "taken", "other"));
	blm_close(f);
	blm_store_close(store);
}
END_TEST

static int clears(int unused)
{
	struct blm_store *store = open_store(0);
	struct blm_filter *f;

	MUST(blm_open(&f, store, "a", BLM_OPEN_WRITE) == 0);
	MUST(blm_clear(f) == 0);
	return 0;
}

/* It waits for the sync before it keeps others off. */
START_TEST(others_claim_and_add_while_a_replacer_awaits_sync)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;
	pid_t pid;
	int fd;

	make(&f, store, "a");
	fd = blm_store_open_file(store, "a", true, NULL);
	OK(blm_ofd_lock(fd, BLM_LOCK_SYNC, true));
	pid = spawn(clears, 0);
	for (int i = 0; i < 300; i++) {
		OK(blm_claim(f, &i, sizeof(i)));
		OK(blm_add(f, &i, sizeof(i)));
		usleep(1000);
	}
	blm_ofd_unlock(fd, BLM_LOCK_SYNC);
	close(fd);
	ck_assert_int_eq(join(pid), 0);
	blm_close(f);
	blm_store_close(store);
}
END_TEST

START_TEST(a_dropped_filter_refuses_changes_and_still_answers)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *writer, *reader;

	make(&writer, store, "a");
	OK(blm_add(writer, "key", 3));
	OK(blm_open(&reader, store, "a", 0));
	OK(blm_store_drop(store, "a"));
	FAILS(blm_add(writer, "x", 1), -ESTALE);
	FAILS(blm_claim(writer, "x", 1), -ESTALE);
	ck_assert_int_eq(blm_status(writer), -ESTALE);
	ck_assert_int_eq(blm_status(reader), -ESTALE);
	ck_assert(has(reader, "key") && !has(reader, "x"));
	FAILS(blm_store_drop(store, "a"), -ENOENT);
	ck_assert_int_eq(files_in("s/filters", NULL), 0);
	lists(store, NULL, "");
	make_with(store, "a", "new");		/* the name is free again */
	ck_assert(holds(store, "a", "new") && !holds(store, "a", "key"));
	blm_close(writer);
	blm_close(reader);
	blm_store_close(store);
}
END_TEST

START_TEST(readers_and_writers_go_over_to_what_is_published)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *writer, *reader, *new;

	make_with(store, "a", "old");
	OK(blm_store_label(store, "a", "colour", "red"));
	OK(blm_open(&writer, store, "a", BLM_OPEN_WRITE));
	OK(blm_open(&reader, store, "a", 0));
	make(&new, NULL, "new.blm");
	OK(blm_add(new, "new", 3));
	OK(blm_store_publish(store, "a", new, 0, BLM_PUBLISH_WRITABLE));
	ck_assert(has(reader, "new") && !has(reader, "old"));
	OK(blm_add(writer, "added", 5));
	ck_assert(has(reader, "added") && has(writer, "new"));
	ck_assert(!has(new, "added"));		/* it was a copy */
	ck_assert_int_eq(files_in("s/filters", NULL), 1);
	OK(blm_store_publish(store, "b", new, 0, BLM_PUBLISH_WRITABLE));
	ck_assert(holds(store, "b", "new"));
	lists(store, NULL, "a b ");
	blm_close(writer);
	blm_close(reader);
	blm_close(new);
	blm_store_close(store);
}
END_TEST

static int publish_often(int times)
{
	struct blm_store *store;
	struct blm_filter *from;

	MUST(blm_store_open(&store, "s", 0) == 0);
	MUST(blm_open(&from, NULL, "from.blm", 0) == 0);
	for (int i = 0; i < times; i++)
		MUST(blm_store_publish(store, "a", from, 0, BLM_PUBLISH_WRITABLE) == 0);
	return 0;
}

START_TEST(a_name_is_never_missing_while_others_publish_over_it)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;
	int looks = 0, status;
	pid_t pid;

	make_with(NULL, "from.blm", "key");
	make_with(store, "a", "key");
	OK(blm_open(&f, store, "a", 0));
	pid = spawn(publish_often, 100);
	for (; waitpid(pid, &status, WNOHANG) == 0; looks++) {
		ck_assert(holds(store, "a", "key"));
		ck_assert(has(f, "key"));
	}
	ck_assert_int_eq(status, 0);
	ck_assert_int_gt(looks, 10);
	ck_assert_int_eq(files_in("s/filters", NULL), 1);
	blm_close(f);
	blm_store_close(store);
}
END_TEST

START_TEST(labels_are_set_changed_and_removed)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_info *info = info_buffer();
	char big[BLM_LABELS_MAX];

	make(NULL, store, "a");
	OK(blm_store_label(store, "a", "colour", "red"));
	OK(blm_store_label(store, "a", "col", "x=y"));
	OK(blm_store_label(store, "a", "colour", "blue"));
	OK(blm_store_find(store, "a", info));
	ck_assert_str_eq(info->labels, "col=x=y\ncolour=blue\n");
	OK(blm_store_label(store, "a", "col", NULL));
	OK(blm_store_label(store, "a", "none", NULL));
	OK(blm_store_find(store, "a", info));
	ck_assert_str_eq(info->labels, "colour=blue\n");
	FAILS(blm_store_label(store, "a", "", "x"), -EINVAL);
	FAILS(blm_store_label(store, "a", "k=", "x"), -EINVAL);
	FAILS(blm_store_label(store, "a", "k", "x\ny"), -EINVAL);
	FAILS(blm_store_label(store, "none", "k", "x"), -ENOENT);
	memset(big, 'b', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	FAILS(blm_store_label(store, "a", "k", big), -E2BIG);
	big[sizeof(big) - 1 - strlen("colour=blue\n") - strlen("k=\n")] = '\0';
	OK(blm_store_label(store, "a", "k", big));
	FAILS(blm_store_label(store, "a", "l", ""), -E2BIG);
	OK(blm_store_find(store, "a", info));
	ck_assert_uint_eq(strlen(info->labels), BLM_LABELS_MAX - 1);
	free(info);
	blm_store_close(store);
}
END_TEST

/* ---- Races ---- */

static int start_line[2];

static void wait_for_the_start(void)
{
	char c;

	close(start_line[1]);
	MUST(read(start_line[0], &c, 1) == 0);
}

static int race_to_create(int i)
{
	struct blm_store *store;
	struct blm_filter *f;
	int r;

	wait_for_the_start();
	MUST(blm_store_open(&store, "s", BLM_STORE_CREATE) == 0);	/* that is a race too */
	r = blm_create(&f, store, "a", &BLM_PARAMS(.capacity = 1000));
	MUST(r == 0 || r == -EEXIST);
	if (r)
		MUST(blm_open(&f, store, "a", BLM_OPEN_WRITE) == 0);
	MUST(blm_add(f, &i, sizeof(i)) >= 0);
	blm_close(f);
	blm_store_close(store);
	return r == 0;
}

START_TEST(one_of_eight_racing_creators_makes_it_others_open)
{
	struct blm_store *store;
	struct blm_filter *f;
	pid_t pid[8];
	int made = 0;

	ck_assert_int_eq(pipe(start_line), 0);
	for (int i = 0; i < 8; i++)
		pid[i] = spawn(race_to_create, i);
	close(start_line[0]);
	close(start_line[1]);
	for (int i = 0; i < 8; i++) {
		int r = join(pid[i]);

		ck_assert_int_le(r, 1);
		made += r;
	}
	ck_assert_int_eq(made, 1);
	ck_assert_int_eq(files_in("s/filters", NULL), 1);
	store = open_store(0);
	OK(blm_open(&f, store, "a", 0));
	for (int i = 0; i < 8; i++)
		ck_assert(blm_contains(f, &i, sizeof(i)));
	blm_close(f);
	blm_store_close(store);
}
END_TEST

/* An entry as of a filter that exists, under a uuid of its own. */
static struct blm_entry *an_entry(struct blm_store *store)
{
	struct blm_entry *entry = malloc(sizeof(*entry));

	make(NULL, store, "model");
	OK(blm_catalog_get(store->catalog, "model", entry));
	return entry;
}

static void number(struct blm_entry *entry, uint32_t i)
{
	memcpy(entry->constant.uuid, &i, sizeof(i));
	entry->constant.check = 0;
}

enum { PUTS = 300 };
static struct blm_entry *probe_entry;

static int put_many(int who)
{
	struct blm_store *store;
	char name[32];

	wait_for_the_start();
	MUST(blm_store_open(&store, "s", 0) == 0);
	for (int i = 0; i < PUTS; i++) {
		snprintf(name, sizeof(name), "%d-%d", who, i);
		MUST(blm_catalog_put(store->catalog, name, probe_entry, BLM_PUT_NEW) == 0);
	}
	blm_store_close(store);
	return 0;
}

START_TEST(a_store_opened_twice_and_closed_once_excludes_writers)
{
	struct blm_store *one = open_store(BLM_STORE_CREATE), *two = open_store(0),
			 *three = open_store(BLM_STORE_READ);
	struct listed l = { .count = 0 };
	char name[32];
	pid_t pid[2];

	probe_entry = an_entry(one);
	ck_assert_int_eq(pipe(start_line), 0);
	pid[0] = spawn(put_many, 0);
	pid[1] = spawn(put_many, 1);
	blm_store_close(two);
	two = open_store(0);
	close(start_line[0]);
	close(start_line[1]);
	for (int i = 0; i < PUTS; i++) {
		snprintf(name, sizeof(name), "2-%d", i);
		OK(blm_catalog_put((i % 2 ? one : two)->catalog, name, probe_entry, BLM_PUT_NEW));
		if (i == PUTS / 2)
			three = blm_store_close(three);
	}
	ck_assert_int_eq(join(pid[0]), 0);
	ck_assert_int_eq(join(pid[1]), 0);
	OK(blm_store_list(one, NULL, note, &l));
	ck_assert_int_eq(l.count, 3 * PUTS + 1);
	ck_assert_int_eq(l.damaged, 0);
	blm_store_close(one);
	blm_store_close(two);
	free(probe_entry);
}
END_TEST

static int label_meanwhile(void *context, const struct blm_info *info, int err)
{
	return blm_store_label(context, info->name, "seen", "yes");
}

START_TEST(a_listing_holds_no_lock_while_it_tells)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	make(NULL, store, "a");
	make(NULL, store, "b");
	OK(blm_store_list(store, NULL, label_meanwhile, store));
	blm_store_close(store);
}
END_TEST

START_TEST(listing_ten_thousand_filters_opens_none)
{
	enum { COUNT = 10000 };
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_new_entry *entries = calloc(COUNT, sizeof(*entries));
	struct blm_entry *model = an_entry(store);
	struct listed l = { .count = 0 };

	for (int i = 0; i < COUNT; i++) {
		snprintf(entries[i].name, sizeof(entries[i].name), "filter-%05d", i);
		entries[i].entry = *model;
		number(&entries[i].entry, (uint32_t)i);
	}
	OK(blm_store_drop(store, "model"));
	OK(blm_catalog_make("s/catalog", entries, COUNT));	/* and there is not one file */
	ck_assert_int_eq(files_in("s/filters", NULL), 0);
	/* the open store goes over to the new catalog */
	OK(blm_store_list(store, NULL, note, &l));
	ck_assert_int_eq(l.count, COUNT);
	ck_assert_int_eq(l.damaged, 0);
	free(entries);
	free(model);
	blm_store_close(store);
}
END_TEST

/* ---- A catalog that outgrows its map ---- */

static int grown[2], told[2];

static int use_when_it_has_grown(int unused)
{
	struct blm_store *store;
	struct blm_info *info = info_buffer();
	char c = 'r';

	close(grown[1]);
	MUST(blm_store_open(&store, "s", 0) == 0);
	MUST(blm_store_find(store, "model", info) == 0);
	MUST(write(told[1], &c, 1) == 1);
	MUST(read(grown[0], &c, 1) == 0);
	MUST(blm_store_find(store, "zz-last", info) == 0);
	MUST(blm_store_label(store, "model", "by", "the other") == 0);
	return 0;
}

START_TEST(a_catalog_outgrows_its_map_in_other_processes)
{
	enum { COUNT = 15000, MORE = 3000, MAP = 64 << 20 };
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_new_entry *entries = calloc(COUNT + 1, sizeof(*entries));
	struct blm_entry *model = an_entry(store);
	struct blm_info *info = info_buffer();
	struct stat st = { 0 };
	char name[32], c;
	pid_t pid;

	entries[COUNT].entry = *model;
	strcpy(entries[COUNT].name, "model");
	/* records as large as they can be */
	model->constant.template.seed_count = htole32(BLM_FORMAT_SEEDS);
	model->labels_bytes = BLM_FORMAT_LABELS - 1;
	memset(model->labels, 'l', model->labels_bytes);
	for (int i = 0; i < COUNT; i++) {
		snprintf(entries[i].name, sizeof(entries[i].name), "n%05d", i);
		entries[i].entry = *model;
		number(&entries[i].entry, (uint32_t)i);
	}
	OK(blm_catalog_make("s/catalog", entries, COUNT + 1));
	ck_assert(stat("s/catalog/data.mdb", &st) == 0 && st.st_size < MAP);
	ck_assert(pipe(grown) == 0 && pipe(told) == 0);
	pid = spawn(use_when_it_has_grown, 0);
	close(grown[0]);
	ck_assert_int_eq((int)read(told[0], &c, 1), 1);
	for (int i = 0; i < MORE && st.st_size < MAP + (1 << 20); i++) {
		snprintf(name, sizeof(name), "more%05d", i);
		OK(blm_catalog_put(store->catalog, name, model, BLM_PUT_NEW));
		stat("s/catalog/data.mdb", &st);
	}
	ck_assert(st.st_size > MAP);
	OK(blm_catalog_put(store->catalog, "zz-last", model, BLM_PUT_NEW));
	close(grown[1]);
	ck_assert_int_eq(join(pid), 0);
	OK(blm_store_find(store, "model", info));
	ck_assert_str_eq(info->labels, "by=the other\n");
	OK(blm_store_find(store, "n00000", info));
	free(info);
	free(model);
	free(entries);
	blm_store_close(store);
}
END_TEST

START_TEST(a_catalog_that_is_overwritten_repeatedly_does_not_grow)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE), *other = open_store(BLM_STORE_READ);
	struct blm_info *info = info_buffer();
	char value[16];
	struct stat st;
	struct blm_entry *entry = an_entry(store);

	for (int i = 0; i < 1000; i++) {
		snprintf(value, sizeof(value), "%d", i);
		OK(blm_catalog_put(store->catalog, value, entry, BLM_PUT_NEW));
		OK(blm_store_find(other, value, info));
		OK(blm_catalog_remove(store->catalog, value, NULL));
	}
	ck_assert(stat("s/catalog/data.mdb", &st) == 0 && st.st_size < 256 << 10);
	free(info);
	free(entry);
	blm_store_close(store);
	blm_store_close(other);
}
END_TEST

/* ---- Forks ---- */

static struct blm_store *parents_store;
static struct blm_filter *parents_filter;

static int use_what_the_parent_opened(int unused)
{
	struct blm_info *info = info_buffer();
	struct blm_filter *f;

	MUST(blm_store_find(parents_store, "a", info) == 0);
	MUST(blm_add(parents_filter, "by the child", 12) >= 0);
	MUST(blm_claim(parents_filter, "claimed by the child", 20) == 1);
	MUST(blm_sync(parents_filter) == 0);
	MUST(blm_create(&f, parents_store, "b", &BLM_PARAMS(.capacity = 10)) == 0);
	MUST(blm_store_label(parents_store, "b", "made", "there") == 0);
	blm_close(f);
	blm_close(parents_filter);
	blm_store_close(parents_store);
	return 0;
}

START_TEST(a_forked_child_uses_its_parents_store_harmlessly)
{
	parents_store = open_store(BLM_STORE_CREATE);
	make(&parents_filter, parents_store, "a");
	ck_assert_int_eq(run_apart(use_what_the_parent_opened, 0), 0);
	ck_assert(has(parents_filter, "by the child"));
	lists(parents_store, NULL, "a b ");
	make(NULL, parents_store, "c");
	OK(blm_claim(parents_filter, "x", 1));
	OK(blm_store_drop(parents_store, "b"));
	blm_close(parents_filter);
	blm_store_close(parents_store);
}
END_TEST

/* ---- Who may only read ---- */

static int only_read(int err_of_writing)
{
	struct blm_store *store;
	struct blm_filter *f;
	struct listed l = { .count = 0 };

	MUST(blm_store_open(&store, "s", BLM_STORE_READ) == 0);
	MUST(blm_store_list(store, NULL, note, &l) == 0 && l.count == 2);
	MUST(blm_open(&f, store, "a", 0) == 0);
	MUST(has(f, "key") && !has(f, "no key"));
	MUST(blm_add(f, "x", 1) == -EBADF);
	blm_close(f);
	MUST(blm_open(&f, store, "keyed", 0) == (getuid() ? -ENOKEY : 0));
	MUST(blm_create(&f, store, "b", &BLM_PARAMS(.capacity = 10)) == -EROFS);
	MUST(blm_store_drop(store, "a") < 0);
	MUST(blm_store_rename(store, "a", "b") < 0);
	MUST(blm_store_label(store, "a", "k", "v") < 0);
	MUST(blm_store_verify("s", false, NULL, NULL) == 0);
	blm_store_close(store);
	MUST(blm_store_open(&store, "s", 0) == err_of_writing);
	return 0;
}

static void make_store_to_read(void)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;

	make_with(store, "a", "key");
	OK(blm_create(&f, store, "keyed", &BLM_PARAMS(.capacity = 10, .hash = "siphash")));
	blm_close(f);
	blm_store_close(store);
}

static int as_nobody(int err)
{
	if (setgid(65534) < 0 || setuid(65534) < 0)
		return 77;
	return only_read(err);
}

START_TEST(another_user_reads_a_store_and_changes_nothing)
{
	if (cannot_become(65534, 65534))
		SKIP(cannot_become(65534, 65534));
	make_store_to_read();
	ck_assert_int_eq(run_apart(as_nobody, -EACCES), 0);
}
END_TEST

static int chmod_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return chmod(path, st->st_mode & 0555);
}

static int chown_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return chown(path, 65534, 65534);
}

static int as_nobody_with_the_key(int err)
{
	struct blm_store *store;
	struct blm_filter *f;

	if (setgid(65534) < 0 || setuid(65534) < 0)
		return 77;
	MUST(blm_store_open(&store, "s", BLM_STORE_READ) == 0);
	MUST(blm_open(&f, store, "a", 0) == 0 && has(f, "key"));
	MUST(blm_open(&f, store, "keyed", 0) == 0);
	MUST(blm_open(&f, store, "a", BLM_OPEN_WRITE) < 0);
	MUST(blm_store_open(&store, "s", 0) == err);
	return 0;
}

START_TEST(a_write_protected_store_is_readable)
{
	if (cannot_become(65534, 65534))
		SKIP(cannot_become(65534, 65534));
	if (cannot_give_away(65534, 65534))
		SKIP(cannot_give_away(65534, 65534));
	make_store_to_read();
	ck_assert_int_eq(nftw("s", chown_one, 16, FTW_PHYS), 0);
	ck_assert_int_eq(nftw("s", chmod_one, 16, FTW_PHYS), 0);
	ck_assert_int_eq(run_apart(as_nobody_with_the_key, -EACCES), 0);
}
END_TEST

static int on_a_read_only_mount(int err)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0
	    || mount("s", "s", NULL, MS_BIND, NULL) < 0
	    || mount(NULL, "s", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) < 0)
		return 77;	/* not allowed here */
	return only_read(err);
}

/*
 * At a path, open for reading: while a file is open for changes, as a store's catalog is, the
 * system refuses to remove the right to write.
 */
static int becomes_read_only(int unused)
{
	struct blm_filter *f, *g;
	struct blm_info info = BLM_INFO;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0
	    || mount("d", "d", NULL, MS_BIND, NULL) < 0)
		return 77;
	MUST(blm_open(&f, NULL, "d/a.blm", 0) == 0);
	MUST(has(f, "key"));
	MUST(mount(NULL, "d", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) == 0);
	MUST(has(f, "key") && !has(f, "no key"));
	MUST(blm_info(f, &info) == 0 && blm_status(f) == 0);
	MUST(blm_open(&g, NULL, "d/a.blm", BLM_OPEN_WRITE) == -EROFS);
	MUST(blm_open(&g, NULL, "d/a.blm", 0) == 0 && has(g, "key"));
	blm_close(g);
	MUST(has(f, "key") && blm_status(f) == 0);
	blm_close(f);
	return 0;
}

START_TEST(an_open_filter_survives_a_read_only_remount)
{
	int r;

	ck_assert_int_eq(mkdir("d", 0755), 0);
	make_with(NULL, "d/a.blm", "key");
	r = run_apart(becomes_read_only, 0);
	if (r == 77)
		SKIP("nothing can be mounted here");
	ck_assert_int_eq(r, 0);
}
END_TEST

START_TEST(a_store_on_a_read_only_mount_is_readable)
{
	int r;

	make_store_to_read();
	r = run_apart(on_a_read_only_mount, -EROFS);
	if (r == 77)
		SKIP("nothing can be mounted here");
	ck_assert_int_eq(r, 0);
}
END_TEST

/* ---- The catalog's lock ---- */

static int hold_the_lock(int unused)
{
	int fd = open("s/catalog/lock", O_RDONLY | O_CLOEXEC);
	char c = 'h';

	MUST(fd >= 0 && flock(fd, LOCK_EX) == 0);
	/* another sort, which delays no process */
	MUST(fcntl(fd, F_SETLK, &(struct flock){ .l_type = F_RDLCK, .l_whence = SEEK_SET }) == 0);
	MUST(write(told[1], &c, 1) == 1);
	pause();
	return 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

START_TEST(waiting_for_the_catalog_ends_and_names_the_holder)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_info *info = info_buffer();
	char pid_text[16], c;
	double begin;
	pid_t pid;

	make(NULL, store, "a");
	ck_assert_int_eq(pipe(told), 0);
	pid = spawn(hold_the_lock, 0);
	ck_assert_int_eq((int)read(told[0], &c, 1), 1);
	OK(blm_store_find(store, "a", info));		/* a look-up does not wait */
	begin = now();
	FAILS(blm_store_label(store, "a", "k", "v"), -EBUSY);
	ck_assert_double_ge(now() - begin, 4.9);
	snprintf(pid_text, sizeof(pid_text), " %d ", (int)pid);
	if (access("/proc/locks", R_OK) == 0)
		ck_assert_msg(strstr(blm_error_message(), pid_text), "%s", blm_error_message());
	kill(pid, SIGKILL);
	ck_assert_int_eq(join(pid), SIGNALLED + SIGKILL);
	OK(blm_store_label(store, "a", "k", "v"));	/* a dead holder holds nothing */
	free(info);
	blm_store_close(store);
}
END_TEST

/* ---- Secrets ---- */

static bool file_has(const char *path, const void *what, size_t len)
{
	size_t bytes;
	uint8_t *all = read_all(path, &bytes);
	bool found = memmem(all, bytes, what, len) != NULL;

	free(all);
	return found;
}

static const uint8_t secret[BLM_SECRET_BYTES] = "\x11 very secret \xee\x01";
static const uint8_t wrong[BLM_SECRET_BYTES] = "\x12 very secret \xee\x01";

static void is_in_no_file_but(const char *key_file, const char *const *others)
{
	char hex[2 * BLM_SECRET_BYTES + 1];
	struct stat st;

	for (int i = 0; i < BLM_SECRET_BYTES; i++)
		sprintf(hex + 2 * i, "%02x", secret[i]);
	ck_assert_int_eq(stat(key_file, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert(file_has(key_file, hex, sizeof(hex) - 1));
	for (; *others; others++) {
		ck_assert(!file_has(*others, secret, 8));
		ck_assert(!file_has(*others, secret + 8, 8));
		ck_assert(!file_has(*others, hex, 16));
	}
}

START_TEST(a_secret_is_only_in_its_own_file)
{
	const struct blm_params params = BLM_PARAMS(.capacity = 10, .hash = "siphash",
						    .secret = secret);
	struct blm_store *store;
	struct blm_filter *f;
	char key_file[512], path[512];

	umask(0);
	store = open_store(BLM_STORE_CREATE);
	OK(blm_create(&f, store, "a", &params));
	OK(blm_add(f, "key", 3));
	OK(blm_sync(f));
	blm_close(f);
	ck_assert_int_eq(files_in("s/keys", key_file), 1);
	path_of(store, "a", path);
	is_in_no_file_but(key_file, (const char *const[]){ path, "s/catalog/data.mdb", NULL });
	ck_assert(holds(store, "a", "key"));
	OK(blm_create(&f, NULL, "b.blm", &params));
	blm_close(f);
	is_in_no_file_but("b.blm.key", (const char *const[]){ "b.blm", NULL });
	blm_store_close(store);
}
END_TEST

static void wants_its_key(struct blm_store *store, const char *name, const char *key_file)
{
	struct blm_filter *f;

	FAILS(blm_open_keyed(&f, store, name, 0, wrong), -ENOKEY);
	FAILS(blm_open_keyed(&f, store, name, BLM_OPEN_WRITE, wrong), -ENOKEY);
	write_all(key_file, "00112233445566778899aabbccddeeff\n", 33);
	FAILS(blm_open(&f, store, name, 0), -ENOKEY);
	write_all(key_file, "00112233445566778899aabbccddee", 30);
	FAILS(blm_open(&f, store, name, 0), -ENOKEY);
	ck_assert_int_eq(unlink(key_file), 0);
	FAILS(blm_open(&f, store, name, 0), -ENOKEY);
	FAILS(blm_open(&f, store, name, BLM_OPEN_WRITE), -ENOKEY);
	OK(blm_open_keyed(&f, store, name, 0, secret));
	ck_assert(has(f, "key"));
	blm_close(f);
}

START_TEST(a_keyed_filter_opens_with_its_key_only)
{
	const struct blm_params params = BLM_PARAMS(.capacity = 10, .hash = "siphash",
						    .secret = secret);
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;
	char key_file[512];

	OK(blm_create(&f, store, "a", &params));
	OK(blm_add(f, "key", 3));
	blm_close(f);
	OK(blm_create(&f, NULL, "b.blm", &params));
	OK(blm_add(f, "key", 3));
	blm_close(f);
	ck_assert_int_eq(files_in("s/keys", key_file), 1);
	wants_its_key(store, "a", key_file);
	wants_its_key(NULL, "b.blm", "b.blm.key");
	OK(blm_store_drop(store, "a"));		/* one whose key is lost can still be dropped */
	blm_store_close(store);
}
END_TEST

START_TEST(filters_with_different_keys_do_not_combine)
{
	struct blm_params params = BLM_PARAMS(.capacity = 10, .hash = "siphash", .secret = secret);
	struct blm_filter *a, *b, *like, *both = NULL;

	OK(blm_create(&a, NULL, "a.blm", &params));
	params.secret = wrong;
	OK(blm_create(&b, NULL, "b.blm", &params));
	FAILS(blm_same_template(a, b), -EMEDIUMTYPE);
	ck_assert_msg(strstr(blm_error_message(), "key"), "%s", blm_error_message());
	FAILS(blm_combine(&both, NULL, "both.blm", BLM_UNION,
			  (const struct blm_filter *const[]){ a, b }, 2, 0, NULL),
	      -EMEDIUMTYPE);
	FAILS(blm_combine_into(a, BLM_INTERSECT, (const struct blm_filter *const[]){ b }, 1, 0,
			       NULL),
	      -EMEDIUMTYPE);
	ck_assert_int_eq(access("both.blm", F_OK), -1);
	OK(blm_template(&like, NULL, "like.blm", a, 0));
	OK(blm_same_template(a, like));
	blm_close(a);
	blm_close(b);
	blm_close(like);
}
END_TEST

/* ---- What is no store ---- */

static void write_in(const char *path, size_t at, const void *bytes, size_t count)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	ck_assert_int_eq(pwrite(fd, bytes, count, (off_t)at), (int)count);
	close(fd);
}

/* After a power cut the keys since the last sync are not in the image. */
START_TEST(a_refresh_reads_the_numbers_in_the_file)
{
	const struct blm_params p = BLM_PARAMS(.kind = "cuckoo", .capacity = 100);
	const uint64_t other_boot = htole64(1);
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_info info = BLM_INFO, other = BLM_INFO;
	struct { struct blm_info info; uint64_t more;
	} newer = { .more = 1 };
	struct blm_filter *f;
	char path[512];

	OK(blm_create(&f, store, "a", &p));
	ck_assert_int_eq(blm_add(f, "1", 1), 1);
	OK(blm_sync(f));
	OK(blm_store_find(store, "a", &info));
	OK(blm_store_refresh(store, &info));
	ck_assert(info.keys == 1 && !info.dirty);
	ck_assert_int_eq(blm_add(f, "2", 1), 1);
	OK(blm_store_find(store, "a", &info));
	ck_assert_uint_eq(info.keys, 1);
	OK(blm_store_refresh(store, &info));
	ck_assert_uint_eq(info.keys, 2);
	ck_assert(info.dirty && !info.from_catalog);
	blm_close(f);
	ck_assert_int_eq(files_in("s/filters", path), 1);
	write_in(path, offsetof(struct blm_header, live) + offsetof(struct blm_live, boot),
		 &other_boot, 8);
	info.size = BLM_FIRST_SIZE(struct blm_info, labels);
	OK(blm_store_refresh(store, &info));
	ck_assert_uint_eq(info.keys, 1);
	newer.info.size = sizeof(newer);
	FAILS(blm_store_refresh(store, &newer.info), -E2BIG);
	FAILS(blm_open(&f, store, NULL, 1 << 20), -EINVAL);
	info.uuid[15] ^= 1;
	FAILS(blm_store_refresh(store, &info), -ENOENT);
	info.uuid[15] ^= 1;
	write_in(path, offsetof(struct blm_constant, uuid), info.name, 1);
	FAILS(blm_store_refresh(store, &info), -EBADMSG);
	ck_assert_int_eq(truncate(path, 100), 0);
	FAILS(blm_store_refresh(store, &info), -ENODATA);
	make_with(store, "b", "key");
	OK(blm_store_find(store, "b", &other));
	ck_assert_int_eq(rename(other.path, path), 0);
	FAILS(blm_store_refresh(store, &info), -EBADMSG);
	OK(blm_store_find(store, "b", &other));
	FAILS(blm_store_refresh(store, &other), -ENOENT);
	blm_store_close(store);
}
END_TEST

static int note_error(void *context, const struct blm_info *info, int err)
{
	*(int *)context = err;
	return 0;
}

START_TEST(a_filter_of_a_later_version_is_listed_as_such)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_entry *entry = an_entry(store);
	struct blm_info *info = info_buffer();
	struct blm_template_fields *t = &entry->constant.template;
	uint32_t *const unknown[] = { &t->index_rule, &t->bit_order, &t->kind, &t->family };
	int err;

	for (size_t i = 0; i < ARRAY_LEN(unknown); i++) {
		uint32_t known = *unknown[i];

		*unknown[i] = htole32(12345);
		entry->constant.check = blm_check_constant(&entry->constant);
		OK(blm_catalog_put(store->catalog, "later", entry, BLM_PUT_OVER));
		FAILS(blm_store_find(store, "later", info), -EPROTONOSUPPORT);
		ck_assert_ptr_nonnull(strstr(blm_error_message(), "12345"));
		err = 0;
		OK(blm_store_list(store, "later", note_error, &err));
		ck_assert_int_eq(err, -EPROTONOSUPPORT);
		*unknown[i] = known;
	}
	free(info);
	free(entry);
	blm_store_close(store);
}
END_TEST

START_TEST(a_folder_that_is_no_store_is_reported)
{
	struct blm_store *store = NULL;

	FAILS(blm_store_open(&store, "s", 0), -ENOENT);
	FAILS(blm_store_open(&store, "s", BLM_STORE_READ), -ENOENT);
	ck_assert_int_eq(access("s", F_OK), -1);
	write_all("s", "text", 4);
	ck_assert_int_lt(blm_store_open(&store, "s", 0), 0);
	ck_assert_int_lt(blm_store_open(&store, "s", BLM_STORE_CREATE), 0);
}
END_TEST

START_TEST(a_closed_store_serves_its_open_filters)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;

	make(&f, store, "a");
	blm_store_close(store);
	OK(blm_add(f, "key", 3));
	OK(blm_sync(f));
	blm_close(f);
	store = open_store(0);
	ck_assert(holds(store, "a", "key"));
	blm_store_close(store);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("store");
	TCase *tc = tcase_create("store");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(tc, any_line_of_utf8_without_a_slash_is_a_name, 0,
			    ARRAY_LEN(good_names));
	tcase_add_loop_test(tc, an_invalid_name_is_refused_everywhere, 0,
			    ARRAY_LEN(bad_names));
	tcase_add_test(tc, a_name_of_256_bytes_is_too_long);
	tcase_add_test(tc, a_filter_is_made_once_and_found_by_its_name);
	tcase_add_test(tc, a_listing_is_in_byte_order_and_takes_patterns);
	tcase_add_test(tc, a_rename_moves_the_name_and_keeps_the_handles);
	tcase_add_test(tc, others_claim_and_add_while_a_replacer_awaits_sync);
	tcase_add_test(tc, a_dropped_filter_refuses_changes_and_still_answers);
	tcase_add_test(tc, readers_and_writers_go_over_to_what_is_published);
	tcase_add_test(tc, a_name_is_never_missing_while_others_publish_over_it);
	tcase_add_test(tc, labels_are_set_changed_and_removed);
	tcase_add_test(tc, one_of_eight_racing_creators_makes_it_others_open);
	tcase_add_test(tc, a_store_opened_twice_and_closed_once_excludes_writers);
	tcase_add_test(tc, a_listing_holds_no_lock_while_it_tells);
	tcase_add_test(tc, listing_ten_thousand_filters_opens_none);
	tcase_add_test(tc, a_catalog_outgrows_its_map_in_other_processes);
	tcase_add_test(tc, a_catalog_that_is_overwritten_repeatedly_does_not_grow);
	tcase_add_test(tc, a_forked_child_uses_its_parents_store_harmlessly);
	tcase_add_test(tc, another_user_reads_a_store_and_changes_nothing);
	tcase_add_test(tc, a_write_protected_store_is_readable);
	tcase_add_test(tc, a_store_on_a_read_only_mount_is_readable);
	tcase_add_test(tc,
		       an_open_filter_survives_a_read_only_remount);
	tcase_add_test(tc, waiting_for_the_catalog_ends_and_names_the_holder);
	tcase_add_test(tc, a_secret_is_only_in_its_own_file);
	tcase_add_test(tc, a_keyed_filter_opens_with_its_key_only);
	tcase_add_test(tc, filters_with_different_keys_do_not_combine);
	tcase_add_test(tc, a_refresh_reads_the_numbers_in_the_file);
	tcase_add_test(tc, a_filter_of_a_later_version_is_listed_as_such);
	tcase_add_test(tc, a_folder_that_is_no_store_is_reported);
	tcase_add_test(tc, a_closed_store_serves_its_open_filters);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
