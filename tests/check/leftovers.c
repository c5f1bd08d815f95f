/*
 * leftovers.c - files in a store that belong to no filter, or not to the one they are named after:
 * verify reports them, repair and drop handle them
 */
#include "said.h"
#include "../info.h"

#include "file/mapping.h"
#include "file/ofd_lock.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>

/* ---- A clock that can be ahead: a file's last change cannot be set back ---- */

static time_t ahead;

time_t time(time_t *ret)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec + ahead;
	return now.tv_sec + ahead;
}

/* ---- A process that stops, or dies, at a step ---- */

/* a signal to itself: before a file gets its name; after it has another. 0: none */
static int at_link, at_rename;

int linkat(int from_at, const char *from, int to_at, const char *to, int flags)
{
	if (at_link)
		raise(at_link);
	return (int)syscall(SYS_linkat, from_at, from, to_at, to, flags);
}

int renameat(int from_at, const char *from, int to_at, const char *to)
{
	int r = (int)syscall(SYS_renameat2, from_at, from, to_at, to, 0);

	if (at_rename)
		raise(at_rename);
	return r;
}

/* ---- What verify says ---- */

static void tells(unsigned flags, int findings, const char *words)
{
	int r = verify(flags);

	ck_assert_msg(r == findings, "%d, not %d: %s%s", r, findings, said,
		      r < 0 ? blm_error_message() : "");
	ck_assert_msg(!words || strstr(said, words), "not \"%s\": %s", words, said);
}

/* A store with the filter "a", which holds the key "a". */
static struct blm_store *store_with_a(char path[512])
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	make_with(store, "a", "a");
	path_of(store, "a", path);
	return store;
}

static void write_at(const char *path, size_t at, const void *bytes, size_t count)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	ck_assert_int_eq((int)pwrite(fd, bytes, count, (off_t)at), (int)count);
	close(fd);
}

static struct blm_header *header_of(const char *path)
{
	struct blm_header *header = malloc(sizeof(*header));
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq((int)read(fd, header, sizeof(*header)), (int)sizeof(*header));
	close(fd);
	return header;
}

static void lose_catalog(void)
{
	ck_assert_int_eq(unlink("s/catalog/data.mdb"), 0);
}

/* ---- Files in filters/ ---- */

START_TEST(an_empty_temporary_file_stays_for_an_hour)
{
	static const char temporary[] = "s/filters/.bloomery-0123456789abcdef";
	char path[512];
	struct blm_store *store = store_with_a(path);
	int fd;

	write_all(temporary, "half", _i ? 4 : 0);
	fd = open(temporary, O_RDWR | O_CLOEXEC);
	OK(blm_ofd_lock(fd, BLM_LOCK_MAKING, true));
	tells(BLM_VERIFY_REPAIR, 0, NULL);
	ahead = 2 * 3600;
	tells(BLM_VERIFY_REPAIR, 0, NULL);
	ck_assert_int_eq(files_in("s/filters", NULL), 2);
	ahead = 0;
	close(fd);
	if (_i == 0) {
		all_is_well();
		tells(BLM_VERIFY_REPAIR, 0, NULL);
		ck_assert_int_eq(files_in("s/filters", NULL), 2);
		ahead = 2 * 3600;
	}
	tells(0, 1, "a temporary file");
	ck_assert_int_eq(files_in("s/filters", NULL), 2);
	tells(BLM_VERIFY_REPAIR, 0,
	      "a temporary file, left behind by a process that died (repaired)");
	ck_assert_int_eq(files_in("s/filters", NULL), 1);
	all_is_well();
	blm_store_close(store);
}
END_TEST

START_TEST(an_object_named_like_a_temporary_file_stays_an_hour)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	ck_assert_int_eq(mkdir("s/filters/.bloomery-00000000000000ff", 0700), 0);
	all_is_well();
	ck_assert_int_eq(rmdir("s/filters/.bloomery-00000000000000ff"), 0);
	ck_assert_int_eq(symlink("nowhere", "s/filters/.bloomery-over-7"), 0);
	all_is_well();
	ahead = 2 * 3600;
	tells(0, 1, "a temporary file");
	tells(BLM_VERIFY_REPAIR, 0,
	      "a temporary file, left behind by a process that died (repaired)");
	ahead = 0;
	all_is_well();
	blm_store_close(store);
}
END_TEST

/* Where it is not taken away it stays a finding. */
START_TEST(a_folder_with_a_temporary_files_name_stays)
{
	OK(mkdir(".bloomery-00000000000000ff", 0700));
	make(NULL, NULL, "a.blm");
	ck_assert_int_eq((int)blm_verify(NULL, "a.blm", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	ahead = 2 * 3600;
	ck_assert_int_eq((int)blm_verify(NULL, "a.blm", 0, NULL, NULL), 1);
	ck_assert_int_eq((int)blm_verify(NULL, "a.blm", BLM_VERIFY_REPAIR, NULL, NULL), 1);
	OK(rmdir(".bloomery-00000000000000ff"));
	ck_assert_int_eq((int)blm_verify(NULL, "a.blm", BLM_VERIFY_REPAIR, NULL, NULL), 0);
}
END_TEST

START_TEST(a_foreign_file_in_the_store_is_reported_and_stays)
{
	static const char *const names[] = {
		".bloomery-notes", ".bloomery-0123456789abcdeg", ".bloomery-0123456789abcdef0",
		".bloomery-over-", ".bloomery-over-1x",
	};
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	char path[64];

	snprintf(path, sizeof(path), "s/filters/%s", names[_i]);
	write_all(path, "text", 4);
	ahead = 2 * 3600;
	tells(BLM_VERIFY_REPAIR, 1, NULL);
	ck_assert_int_eq(access(path, F_OK), 0);
	blm_store_close(store);
}
END_TEST

/* Stops where its file gets its name, and dies, or stops, where the file gives that back. */
static int make_b_too_late(int signal)
{
	struct blm_store *store;

	at_link = SIGSTOP;
	at_rename = signal;
	MUST(blm_store_open(&store, "s", 0) == 0);
	MUST(blm_create(NULL, store, "b", &BLM_PARAMS(.capacity = 100, .rate = 0.001)) == -EEXIST);
	blm_store_close(store);
	return 0;
}

static void wait_until_stopped(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
}

START_TEST(repair_finds_a_dead_losers_file_for_a_name)
{
	char path[512];
	struct blm_store *store = store_with_a(path);
	pid_t pid = spawn(make_b_too_late, _i ? SIGKILL : SIGSTOP);

	wait_until_stopped(pid);
	make(NULL, store, "b");
	kill(pid, SIGCONT);
	if (_i == 0) {			/* alive it keeps its file, and takes it away itself */
		wait_until_stopped(pid);
		ck_assert_int_eq(files_in("s/filters", NULL), 3);
		tells(BLM_VERIFY_REPAIR, 0, NULL);
		ck_assert_str_eq(said, "");
		ck_assert_int_eq(files_in("s/filters", NULL), 3);
		kill(pid, SIGCONT);
		ck_assert_int_eq(join(pid), 0);
	} else {
		ck_assert_int_eq(join(pid), SIGNALLED + SIGKILL);
		ck_assert_int_eq(files_in("s/filters", NULL), 3);
		tells(BLM_VERIFY_REPAIR, 0, "left behind by a process that died (repaired)");
	}
	ck_assert_int_eq(files_in("s/filters", NULL), 2);
	all_is_well();
	blm_store_close(store);
}
END_TEST

START_TEST(misnamed_files_and_other_objects_are_reported_and_stay)
{
	char path[512];
	struct blm_store *store = store_with_a(path);

	copy_file(path, "s/filters/00000000-0000-4000-8000-000000000000.blm");
	ck_assert_int_eq(mkdir("s/filters/folder", 0755), 0);
	tells(0, 2, "its header says that it is");
	ck_assert_ptr_nonnull(strstr(said, "not a regular file"));
	tells(BLM_VERIFY_REPAIR, 2, "cannot be opened");
	ck_assert_int_eq(files_in("s/filters", NULL), 3);
	ck_assert(holds(store, "a", "a"));
	blm_store_close(store);
}
END_TEST

START_TEST(unused_and_replaced_files_are_reported_before_they_are_deleted)
{
	char path[512];
	uint64_t states[] = { BLM_UNNAMED, BLM_REPLACED };
	struct blm_store *store = store_with_a(path);

	OK(blm_catalog_remove(store->catalog, "a", NULL));
	write_at(path, offsetof(struct blm_header, live.state.word), &states[_i], 8);
	tells(0, 1, _i ? "it was replaced or dropped" : "it was never used");
	ck_assert_int_eq(files_in("s/filters", NULL), 1);
	blm_store_close(store);
	if (_i) {		/* without a catalog, too */
		lose_catalog();
		tells(0, 2, "it was replaced or dropped");
		ck_assert_int_eq(files_in("s/filters", NULL), 1);
	}
	tells(BLM_VERIFY_REPAIR, 0, NULL);
	ck_assert_int_eq(files_in("s/filters", NULL), 0);
	all_is_well();
}
END_TEST

START_TEST(an_unknown_copy_is_kept_for_its_keys)
{
	char path[512];
	struct blm_store *store = store_with_a(path);
	struct blm_filter *f;

	OK(blm_open(&f, store, "a", 0));
	OK(blm_copy(NULL, store, "b", f, 0));		/* without a key added since */
	blm_close(f);
	OK(blm_catalog_remove(store->catalog, "b", NULL));
	tells(BLM_VERIFY_REPAIR, 0,
	      "a filter with 1 keys that the catalog does not know (repaired)");
	ck_assert(holds(store, "b", "a"));
	blm_store_close(store);
}
END_TEST

/* ---- Name records ---- */

static bool holds_as_recovered(void)
{
	char name[BLM_NAME_MAX + 1], path[512];
	struct blm_store *store;
	bool there;

	ck_assert_int_eq(files_in("s/filters", path), 1);
	snprintf(name, sizeof(name), "recovered-%.8s", strrchr(path, '/') + 1);
	store = open_store(0);
	there = holds(store, name, "a");
	blm_store_close(store);
	return there;
}

/*
 * Both of them, in a way that _i says: zeros, garbage, lengths that cannot be under a right
 * checksum.
 */
static void spoil_name_records(const char *path, int how)
{
	struct blm_header *header = header_of(path);

	for (int i = 0; i < 2; i++) {
		struct blm_record *r = &header->record[i];

		if (how == 0)
			memset(r, 0, sizeof(*r));
		else if (how == 1)
			memset(r, 0xa5, sizeof(*r));
		else {
			r->sequence = htole64((uint64_t)i + 1);
			r->name_bytes = htole32(how == 2 ? BLM_FORMAT_NAME : 1);
			r->labels_bytes = htole32(how == 3 ? BLM_FORMAT_LABELS : 0);
			r->check = blm_check_record(r, header->constant.uuid);
		}
	}
	write_at(path, offsetof(struct blm_header, record), header->record, sizeof(header->record));
	free(header);
}

START_TEST(a_file_without_a_good_name_record_gets_the_catalogs)
{
	char path[512];
	struct blm_store *store = store_with_a(path);

	spoil_name_records(path, _i);
	ck_assert_int_eq((int)blm_verify(store, "a", 0, hear, NULL), _i != 0);
	ck_assert(_i == 0 || strstr(said, "both records of its name in a store are damaged"));
	tells(0, 1, "its file does not have its name");
	OK(verify(BLM_VERIFY_REPAIR));
	all_is_well();
	ck_assert(holds(store, "a", "a"));
	blm_store_close(store);
	lose_catalog();
	tells(BLM_VERIFY_REPAIR, 0, NULL);
	store = open_store(0);
	ck_assert(holds(store, "a", "a"));
	blm_store_close(store);
}
END_TEST

START_TEST(a_file_without_name_record_is_recovered_by_number)
{
	char path[512];

	blm_store_close(store_with_a(path));
	spoil_name_records(path, _i);
	lose_catalog();
	OK(verify(BLM_VERIFY_REPAIR));
	ck_assert(holds_as_recovered());
}
END_TEST

START_TEST(an_unknown_file_without_a_name_record_gets_its_number)
{
	char path[512];
	struct blm_store *store = store_with_a(path);

	spoil_name_records(path, _i);
	OK(blm_catalog_remove(store->catalog, "a", NULL));
	blm_store_close(store);
	OK(verify(BLM_VERIFY_REPAIR));
	ck_assert(holds_as_recovered());
	verify(BLM_VERIFY_REPAIR);
	all_is_well();
}
END_TEST

START_TEST(a_file_without_a_good_name_record_yields_to_another)
{
	char path[512];
	struct blm_store *store = store_with_a(path);
	struct blm_filter *f;

	spoil_name_records(path, _i);
	OK(blm_open(&f, store, "a", BLM_OPEN_WRITE));
	OK(blm_clear(f));
	ck_assert_int_eq(blm_add(f, "b", 1), 1);
	blm_close(f);
	ck_assert(holds(store, "a", "b") && !holds(store, "a", "a"));
	ck_assert_int_eq(files_in("s/filters", NULL), 1);
	OK(verify(BLM_VERIFY_REPAIR));
	all_is_well();
	blm_store_close(store);
}
END_TEST

/* ---- Records whose file is something else ---- */

START_TEST(another_filters_file_is_not_opened_as_this_one)
{
	char path[512], other[512];
	struct blm_store *store = store_with_a(path);
	struct blm_filter *f;

	make_with(store, "b", "b");
	path_of(store, "b", other);
	copy_file(other, path);
	FAILS(blm_open(&f, store, "a", 0), -EUCLEAN);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "another filter"));
	ck_assert(holds(store, "b", "b"));
	blm_store_close(store);
}
END_TEST

static void set_three_probes(struct blm_entry *entry)
{
	entry->constant.template.probes = htole32(3);
}

START_TEST(a_record_whose_file_cannot_be_followed_stays)
{
	char path[512];
	struct blm_store *store = store_with_a(path);
	struct blm_entry *entry = malloc(sizeof(*entry));

	/* so that it must be mended from the file */
	change_record(store, set_three_probes);
	tells(0, 1, "disagree");
	OK(rename(path, "kept"));
	OK(symlink("../../kept", path));
	ck_assert_int_ge(verify(BLM_VERIFY_REPAIR), 1);
	ck_assert_int_eq(blm_catalog_get(store->catalog, "a", entry), 0);
	OK(rename("kept", path));
	tells(BLM_VERIFY_REPAIR, 0, "disagree");
	ck_assert(holds(store, "a", "a"));
	all_is_well();
	blm_store_close(store);
	free(entry);
}
END_TEST

START_TEST(impossible_words_are_reported)
{
	uint64_t state = 77, none = 0;
	char path[512];
	struct blm_store *store = store_with_a(path);
	size_t at = _i ? offsetof(struct blm_header, live.epoch.word)
		       : offsetof(struct blm_header, live.state.word);

	write_at(path, at, _i ? &none : &state, 8);
	tells(0, 1, _i ? "epoch 0" : "state 77");
	blm_store_close(store);
}
END_TEST

/* What blm_verify() says of one filter. */
static void says(struct blm_store *store, const char *name, int findings, const char *words)
{
	said[0] = '\0';
	ck_assert_int_eq(blm_verify(store, name, 0, hear, NULL), findings);
	ck_assert_msg(strstr(said, words), "not \"%s\": %s", words, said);
}

START_TEST(a_file_that_does_not_open_is_damage)
{
	char path[512];
	struct blm_store *store = store_with_a(path);
	struct blm_header *header = header_of(path);

	says(store, "a", 0, "");
	header->constant.version = htole32(2);
	header->constant.check = blm_check_constant(&header->constant);
	write_at(path, 0, header, sizeof(header->constant));
	says(store, "a", 1, "version 2");
	ck_assert_int_eq(unlink(path), 0);
	says(store, "a", 1, "is missing");
	FAILS(blm_verify(store, "b", 0, hear, NULL), -ENOENT);
	blm_store_close(store);
	free(header);
}
END_TEST

START_TEST(a_bit_behind_the_last_cell_is_reported)
{
	struct blm_filter *f;
	struct blm_info *info = info_buffer();
	uint8_t bit = 0x80;

	OK(blm_create(&f, NULL, "b", &BLM_PARAMS(.kind = "classic", .cells = 100, .probes = 3)));
	OK(blm_info(f, info));
	blm_close(f);
	says(NULL, "b", 0, "");
	write_at("b", info->bytes - 1, &bit, 1);
	says(NULL, "b", 1, "bit 511 is set, but belongs to no cell");
	free(info);
}
END_TEST

/*
 * Of 100 cells with the high bits of each byte first the last 4 bits of the 13th byte are the low
 * ones.
 */
START_TEST(a_bit_after_the_last_cell_is_reported)
{
	struct blm_filter *f;
	struct blm_info *info = info_buffer();
	uint8_t bits = 0xf0;

	OK(blm_create(&f, NULL, "b",
		      &BLM_PARAMS(.format = "redis-bitmap", .cells = 100, .probes = 3)));
	OK(blm_info(f, info));
	blm_close(f);
	write_at("b", info->bytes - info->data_bytes + 12, &bits, 1);
	says(NULL, "b", 0, "");
	bits = 0x08;
	write_at("b", info->bytes - info->data_bytes + 12, &bits, 1);
	says(NULL, "b", 1, "bit 99 is set, but belongs to no cell");
	free(info);
}
END_TEST

/* Cells of 3 bits leave one bit of each word, those of 24 leave 16. */
START_TEST(a_bit_in_a_words_unused_rest_is_reported)
{
	static const struct { struct blm_params params; const char *said;
	} sorts[] = {
		{ BLM_PARAMS(.kind = "counting", .options = "bits=3", .cells = 1000, .probes = 3),
		  "bit 63 is set, but belongs to no cell" },
		{ BLM_PARAMS(.kind = "approximator", .options = "bits=33", .cells = 1000,
			     .probes = 3),
		  "bit 56 is set, but belongs to no cell" },
		{ BLM_PARAMS(.kind = "hash-compact", .options = "signature-bits=24", .cells = 1000),
		  "bit 56 is set, but belongs to no cell" },
		{ BLM_PARAMS(.kind = "stable", .options = "bits=6", .cells = 1000),
		  "bit 63 is set, but belongs to no cell" },
	};
	struct blm_info *info = info_buffer();
	struct blm_filter *f;

	for (size_t i = 0; i < ARRAY_LEN(sorts); i++) {
		uint8_t byte = strstr(sorts[i].said, "63") ? 0x80 : 0x01;
		char name[] = { 'f', (char)('0' + i), '\0' };

		OK(blm_create(&f, NULL, name, &sorts[i].params));
		OK(blm_info(f, info));
		blm_close(f);
		says(NULL, name, 0, "");
		write_at(name, info->bytes - info->data_bytes + 7, &byte, 1);
		says(NULL, name, 1, sorts[i].said);
	}
	free(info);
}
END_TEST

START_TEST(a_file_with_an_optional_feature_is_read_only)
{
	char path[512];
	struct blm_store *store = store_with_a(path);
	struct blm_header *header = header_of(path);
	struct blm_filter *f;

	header->constant.may_ignore = htole64(1);
	header->constant.check = blm_check_constant(&header->constant);
	write_at(path, 0, header, sizeof(header->constant));
	ck_assert(holds(store, "a", "a"));
	FAILS(blm_open(&f, store, "a", BLM_OPEN_WRITE), -EPROTONOSUPPORT);
	blm_store_close(store);
	free(header);
}
END_TEST

START_TEST(an_untrusted_catalog_is_rebuilt)
{
	char path[512];
	struct blm_store *store = store_with_a(path);

	OK(blm_store_label(store, "a", "k", "v"));
	tells(BLM_VERIFY_DISTRUST, 1, "reading it crashed");
	tells(BLM_VERIFY_DISTRUST | BLM_VERIFY_REPAIR, 0, "reading it crashed; it was made anew");
	ck_assert(holds(store, "a", "a"));
	all_is_well();
	blm_store_close(store);
}
END_TEST

/* ---- Dropping what does not open ---- */

static void later_version(struct blm_constant *c) { c->version = htole32(2); }
static void other_magic(struct blm_constant *c) { memcpy(c->magic, "BLOOMERS", 8); }
static void damaged(struct blm_constant *c) { c->capacity ^= 1; }

START_TEST(a_filter_that_does_not_open_can_be_dropped)
{
	static void (*const how[])(struct blm_constant * c) = { later_version, other_magic,
								damaged };
	char path[512];
	struct blm_store *store = store_with_a(path);
	struct blm_header *header = header_of(path);
	struct blm_filter *f, *writer;

	OK(blm_open(&writer, store, "a", BLM_OPEN_WRITE));
	how[_i](&header->constant);
	if (_i < 2)
		header->constant.check = blm_check_constant(&header->constant);
	write_at(path, 0, header, sizeof(header->constant));
	FAILS(blm_open(&f, store, "a", BLM_OPEN_WRITE), _i == 0 ? -EPROTONOSUPPORT : -EBADMSG);
	OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.capacity = 10)));
	FAILS(blm_store_publish(store, "a", f, 0, BLM_PUBLISH_WRITABLE),
	      _i == 0 ? -EPROTONOSUPPORT : -EBADMSG);
	blm_close(f);
	OK(blm_store_drop(store, "a"));
	ck_assert_int_eq(files_in("s/filters", NULL), 0);
	if (_i == 2)	/* otherwise the place of its state is unknown */
		FAILS(blm_add(writer, "lost", 4), -ESTALE);
	blm_close(writer);
	all_is_well();
	blm_store_close(store);
	free(header);
}
END_TEST

static int fill_nothing(struct blm_filter *fresh, void *context)
{
	return 0;
}

START_TEST(a_file_that_does_not_open_is_not_replaced)
{
	const struct blm_params keyed = BLM_PARAMS(.capacity = 100, .hash = "siphash",
						   .secret = (const uint8_t *)"sixteen bytes...");
	char path[512], key[512];
	struct blm_store *store = store_with_a(path);
	struct blm_filter *f;

	make(&f, NULL, NULL);
	OK(truncate(path, 20480));
	FAILS(blm_store_publish(store, "a", f, 0, BLM_PUBLISH_WRITABLE), -ENODATA);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "drop it"));
	FAILS(blm_rebuild(store, "a", &BLM_PARAMS(.capacity = 100), fill_nothing, NULL), -ENODATA);
	ck_assert_ptr_nonnull(
		strstr(blm_error_message(), "drop it, or remove the file, and make it with"));
	OK(blm_create(NULL, store, "keyed", &keyed));
	ck_assert_int_eq(files_in("s/keys", key), 1);
	OK(rename(key, "kept"));
	FAILS(blm_store_publish(store, "keyed", f, 0, BLM_PUBLISH_WRITABLE), -ENOKEY);
	OK(rename("kept", key));
	OK(blm_store_publish(store, "keyed", f, 0, BLM_PUBLISH_WRITABLE));
	blm_close(f);
	blm_store_close(store);
}
END_TEST

START_TEST(the_replacement_of_an_interrupted_rename_has_the_new_name)
{
	char path[512];
	struct blm_store *store = store_with_a(path);
	struct blm_filter *f;

	/* the file's own record still says "a" */
	OK(blm_catalog_rename(store->catalog, "a", "b"));
	OK(blm_open(&f, store, "b", BLM_OPEN_WRITE));
	OK(blm_clear(f));
	OK(blm_add(f, "b", 1));
	blm_close(f);
	all_is_well();
	blm_store_close(store);
	lose_catalog();
	OK(verify(BLM_VERIFY_REPAIR));
	store = open_store(0);
	ck_assert(holds(store, "b", "b"));
	blm_store_close(store);
}
END_TEST

/* ---- Labels ---- */

static void leave_the_last_line_open(struct blm_entry *entry)
{
	strcpy(entry->labels, "k=v\nlast=x");
	entry->labels_bytes = (uint32_t)strlen(entry->labels);
}

START_TEST(labels_without_a_final_newline_are_read_completely)
{
	char path[512];
	struct blm_store *store = store_with_a(path);
	struct blm_info *info = info_buffer();

	change_record(store, leave_the_last_line_open);
	OK(blm_store_label(store, "a", "a key that is longer than all that is there", NULL));
	OK(blm_store_label(store, "a", "last", "y"));
	OK(blm_store_label(store, "a", "k", NULL));
	OK(blm_store_find(store, "a", info));
	ck_assert_str_eq(info->labels, "last=y\n");
	blm_store_close(store);
	free(info);
}
END_TEST

START_TEST(several_open_stores_can_be_closed_in_any_order)
{
	struct blm_store *stores[3];
	char name[] = "s0";

	for (int i = 0; i < 3; i++) {
		name[1] = (char)('0' + i);
		OK(blm_store_open(&stores[i], name, BLM_STORE_CREATE));
		make_with(stores[i], "a", name);
	}
	for (int i = 0; i < 3; i++) {
		int which = (i + _i) % 3;

		name[1] = (char)('0' + which);
		ck_assert(holds(stores[which], "a", name));
		blm_store_close(stores[which]);
	}
}
END_TEST

START_TEST(a_filter_with_damaged_record_is_dropped_after_repair)
{
	char path[512];
	struct blm_store *store = store_with_a(path);

	blm_store_close(store);
	put_raw("a", "no record", 9);
	store = open_store(0);
	FAILS(blm_store_drop(store, "a"), -EUCLEAN);
	ck_assert_msg(strstr(blm_error_message(), "blm_store_verify()") != NULL, "%s",
		      blm_error_message());
	blm_store_close(store);
	tells(BLM_VERIFY_REPAIR, 0,
	      "a filter with 1 keys that the catalog does not know (repaired)");
	store = open_store(0);
	OK(blm_store_drop(store, "a"));
	FAILS(blm_store_drop(store, "a"), -ENOENT);
	tells(0, 0, NULL);
	blm_store_close(store);
}
END_TEST

/* corpus dedup of the program keeps a file there for each filter that it uses. */
START_TEST(claims_are_dropped_with_their_filter_and_strays_reported)
{
	struct blm_store *store;
	char path[512], claims[600], stray[] = "s/claims/00000000-0000-4000-8000-000000000000.blm";

	store = store_with_a(path);
	ck_assert_int_eq(mkdir("s/claims", 0700), 0);
	snprintf(claims, sizeof(claims), "s/claims/%s", strrchr(path, '/') + 1);
	write_all(claims, "x", 1);
	write_all("s/claims/notes", "x", 1);
	write_all("s/claims/00000000-0000-4000-8000-000000000000.txt", "x", 1);
	all_is_well();
	OK(blm_store_drop(store, "a"));
	ck_assert_int_ne(access(claims, F_OK), 0);
	write_all(stray, "x", 1);
	tells(0, 1, "s/claims/00000000-0000-4000-8000-000000000000.blm: left behind");
	ck_assert_int_eq(access(stray, F_OK), 0);
	tells(BLM_VERIFY_REPAIR, 0, "its filter is gone (repaired)");
	ck_assert_int_ne(access(stray, F_OK), 0);
	all_is_well();
	ck_assert_int_eq(mkdir(stray, 0700), 0);	/* which no claims are */
	tells(BLM_VERIFY_REPAIR, 1, "its filter is gone");
	ck_assert_int_eq(rmdir(stray), 0);
	ck_assert_int_eq(access("s/claims/notes", F_OK), 0);
	blm_store_close(store);
}
END_TEST

/* Two stores have their filters in folders next to each other, or one has a link to the other's. */
START_TEST(claims_of_another_store_stay)
{
	struct blm_store *store;
	char path[512], stray[] = "disk/claims/00000000-0000-4000-8000-000000000000.blm";

	store = store_with_a(path);
	ck_assert_int_eq(mkdir("disk", 0700), 0);
	ck_assert_int_eq(mkdir("disk/claims", 0700), 0);
	write_all(stray, "x", 1);
	if (_i) {
		ck_assert_int_eq(symlink("../disk/claims", "s/claims"), 0);
	} else {
		ck_assert_int_eq(rename("s/filters", "disk/filters"), 0);
		ck_assert_int_eq(symlink("../disk/filters", "s/filters"), 0);
	}
	tells(BLM_VERIFY_REPAIR, 0, NULL);
	ck_assert_int_eq(access(stray, F_OK), 0);
	blm_store_close(store);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("leftovers");
	TCase *tc = tcase_create("leftovers");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_loop_test(
		tc, an_empty_temporary_file_stays_for_an_hour, 0,
		2);
	tcase_add_test(tc, an_object_named_like_a_temporary_file_stays_an_hour);
	tcase_add_test(tc,
		       a_folder_with_a_temporary_files_name_stays);
	tcase_add_loop_test(tc, a_foreign_file_in_the_store_is_reported_and_stays, 0, 5);
	tcase_add_loop_test(tc, repair_finds_a_dead_losers_file_for_a_name, 0,
			    2);
	tcase_add_test(tc, misnamed_files_and_other_objects_are_reported_and_stay);
	tcase_add_loop_test(tc, unused_and_replaced_files_are_reported_before_they_are_deleted, 0,
			    2);
	tcase_add_test(tc, an_unknown_copy_is_kept_for_its_keys);
	tcase_add_loop_test(tc, a_file_without_a_good_name_record_gets_the_catalogs, 0, 4);
	tcase_add_loop_test(tc, a_file_without_a_good_name_record_yields_to_another, 0, 4);
	tcase_add_loop_test(tc, a_file_without_name_record_is_recovered_by_number, 0, 4);
	tcase_add_loop_test(
		tc, an_unknown_file_without_a_name_record_gets_its_number, 0, 4);
	tcase_add_test(tc, another_filters_file_is_not_opened_as_this_one);
	tcase_add_test(tc, a_record_whose_file_cannot_be_followed_stays);
	tcase_add_loop_test(tc, impossible_words_are_reported, 0, 2);
	tcase_add_test(tc, a_file_that_does_not_open_is_damage);
	tcase_add_test(tc, a_bit_behind_the_last_cell_is_reported);
	tcase_add_test(tc, a_bit_after_the_last_cell_is_reported);
	tcase_add_test(tc, a_bit_in_a_words_unused_rest_is_reported);
	tcase_add_test(tc, a_file_with_an_optional_feature_is_read_only);
	tcase_add_test(tc, an_untrusted_catalog_is_rebuilt);
	tcase_add_loop_test(tc, a_filter_that_does_not_open_can_be_dropped, 0, 3);
	tcase_add_test(tc, a_file_that_does_not_open_is_not_replaced);
	tcase_add_test(tc, the_replacement_of_an_interrupted_rename_has_the_new_name);
	tcase_add_test(tc, labels_without_a_final_newline_are_read_completely);
	tcase_add_loop_test(tc, several_open_stores_can_be_closed_in_any_order, 0, 3);
	tcase_add_test(tc, a_filter_with_damaged_record_is_dropped_after_repair);
	tcase_add_test(tc, claims_are_dropped_with_their_filter_and_strays_reported);
	tcase_add_loop_test(tc, claims_of_another_store_stay, 0, 2);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
