/*
 * repair.c - damaged, lost and disagreeing catalogs and files: what verify says, and what repair
 * makes of them
 */
#include "said.h"
#include "../info.h"

#include "catalog/record.h"
#include "file/mapping.h"

#include <sys/syscall.h>

#define DATA "s/catalog/data.mdb"

enum { FILTERS = 12, PAGE = 4096 };

/* ---- A store to damage ---- */

static void name_of(int i, char ret[BLM_NAME_MAX + 1])
{
	snprintf(ret, BLM_NAME_MAX + 1, i % 3 ? "filter-%02d" : "\xc3\xa9" "crit %02d", i);
}

static void make_filters(void)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	char name[BLM_NAME_MAX + 1], label[600];

	memset(label, 'l', sizeof(label) - 1);
	label[sizeof(label) - 1] = '\0';
	for (int i = 0; i < FILTERS; i++) {
		name_of(i, name);
		make_with(store, name, name);
		OK(blm_store_label(store, name, "number", name + strlen(name) - 2));
		if (i % 4 == 0)
			OK(blm_store_label(store, name, "long", label));
	}
	blm_store_close(store);
}

struct list {
	int count, damaged;
	char text[16384];
};

static int note(void *context, const struct blm_info *info, int err)
{
	struct list *l = context;
	size_t at = strlen(l->text);

	l->count++;
	l->damaged += err != 0;
	snprintf(l->text + at, sizeof(l->text) - at, "%s (%s) %llu %.600s\n", info->name,
		 err ? "damaged" : info->kind, (unsigned long long)info->keys, info->labels);
	return 0;
}

static struct list *list_of(struct blm_store *store)
{
	struct list *l = calloc(1, sizeof(*l));

	OK(blm_store_list(store, NULL, note, l));
	return l;
}

static struct list *list_now(void)
{
	struct blm_store *store = open_store(BLM_STORE_READ);
	struct list *l = list_of(store);

	blm_store_close(store);
	return l;
}

/* A repair finds all that is wrong, and the store lists this afterwards. Closes the store. */
static void repair_gives(struct blm_store *store, const struct list *list)
{
	ck_assert_int_eq(verify(BLM_VERIFY_REPAIR), 0);
	ck_assert_str_eq(list_of(store)->text, list->text);
	all_is_well();
	blm_store_close(store);
}

/* Every filter is under its name and holds its key. */
static bool all_there(void)
{
	struct blm_store *store;
	char name[BLM_NAME_MAX + 1];
	bool there = blm_store_open(&store, "s", 0) == 0;

	for (int i = 0; there && i < FILTERS; i++) {
		name_of(i, name);
		there = holds(store, name, name);
	}
	return there;
}

/* ---- A lost catalog ---- */

static void flip_words(const size_t *at, const uint32_t *words, size_t count)
{
	size_t bytes;
	uint8_t *all = read_all(DATA, &bytes);

	for (size_t i = 0; i < count; i++)
		for (size_t meta = 0; meta < 2; meta++)
			memcpy(all + meta * PAGE + at[i], &words[i], 4);
	write_all(DATA, all, bytes);
	free(all);
}

/* Where LMDB's two meta pages keep their magic, version and page size. */
static const size_t magic_at[] = { 16 }, version_at[] = { 20 }, page_size_at[] = { 40 };

static void lost(void) { unlink(DATA); }
static void emptied(void) { OK(truncate(DATA, 0)); }
static void text(void) { write_all(DATA, "This is no catalog.\n", 20); }
static void zeroed(void) { write_all(DATA, (uint8_t[8 * PAGE]){ 0 }, 8 * PAGE); }
static void swapped(void) { flip_words(magic_at, (const uint32_t[]){ 0xdec0efbe }, 1); }
static void version(void) { flip_words(version_at, (const uint32_t[]){ 999 }, 1); }
static void larger_pages(void) { flip_words(page_size_at, (const uint32_t[]){ 65536 }, 1); }
static void half(void)
{
	size_t bytes;

	free(read_all(DATA, &bytes));
	OK(truncate(DATA, (off_t)(bytes / 2)));
}
static void no_folder(void)
{
	unlink(DATA);
	unlink("s/catalog/lock");
	OK(rmdir("s/catalog"));
}

static void (*const losses[])(void) = { lost,	 emptied,      text, zeroed,   swapped,
					version, larger_pages, half, no_folder };

static int lose_and_repair(int i)
{
	struct list *before = list_now(), *after;
	struct blm_store *store;
	int r;

	losses[i]();
	if (losses[i] != no_folder)	/* as a repair that was killed leaves it */
		write_all("s/catalog/data.mdb.new", "x", 1);
	r = blm_store_open(&store, "s", 0);
	/* never a new and empty one */
	MUST(r == -EUCLEAN || (losses[i] == no_folder && r < 0));
	r = blm_store_open(&store, "s", BLM_STORE_CREATE);
	MUST(r == -EUCLEAN);
	MUST(verify(0) != 0);
	MUST(verify(BLM_VERIFY_REPAIR) == 0 && said_count > 0);
	MUST(verify(0) == 0 && said_count == 0);
	MUST(all_there());
	after = list_now();
	MUST(after->count == FILTERS && !strcmp(before->text, after->text));
	return 0;
}

START_TEST(a_lost_catalog_is_made_again_with_names_and_labels)
{
	make_filters();
	ck_assert_int_eq(run_apart(lose_and_repair, _i), 0);
}
END_TEST

START_TEST(repair_makes_the_folder_of_the_catalog_again_too)
{
	make_filters();
	no_folder();
	ck_assert_int_ne(verify(0), 0);
	ck_assert_int_eq(verify(BLM_VERIFY_REPAIR), 0);
	all_is_well();
	ck_assert(all_there());
}
END_TEST

START_TEST(repair_ends_the_making_of_a_store)
{
	struct blm_store *store;

	blm_store_close(open_store(BLM_STORE_CREATE));
	no_folder();
	FAILS(blm_store_open(&store, "s", 0), -ENOENT);
	ck_assert_int_eq(verify(BLM_VERIFY_REPAIR), 0);
	store = open_store(0);
	make_with(store, "first", "key");
	ck_assert(holds(store, "first", "key"));
	blm_store_close(store);
	all_is_well();
}
END_TEST

START_TEST(processes_with_the_old_catalog_move_to_the_new)
{
	struct blm_store *store, *other;
	struct list *l;

	make_filters();
	store = open_store(0);
	free(list_of(store));
	lost();
	ck_assert_int_eq(verify(BLM_VERIFY_REPAIR), 0);
	l = list_of(store);
	ck_assert_int_eq(l->count, FILTERS);
	make_with(store, "later", "key");
	other = open_store(0);
	ck_assert(holds(other, "later", "key"));
	blm_store_close(store);
	blm_store_close(other);
	free(l);
	all_is_well();
}
END_TEST

/*
 * ---- A damaged catalog: whatever LMDB meets, in a process that would die of it, the listing is
 * right or an error, and the repair is right ----
 */

enum { FINE, MENDED, UNMENDED, RENAMED, REFUSED, MISSING, FALSE_LIST, OUTCOMES };

static const char *right;	/* the listing, as it was */

/*
 * Fewer filters, or others, and no word that anything is wrong? Or does it fail, and verify had
 * nothing to say?
 */
static bool lists_others(int verified)
{
	struct blm_store *store;
	struct list *l = calloc(1, sizeof(*l));
	int r = blm_store_open(&store, "s", BLM_STORE_READ);
	bool others;

	if (r < 0)
		return false;
	r = blm_store_list(store, NULL, note, l);
	others = r == 0 && !l->damaged && strcmp(l->text, right);
	blm_store_close(store);
	return others || (verified == 0 && r < 0);
}

static int walk_and_repair(int unused)
{
	struct list *l;
	int wrong;

	signal(SIGALRM, SIG_DFL);	/* or Check would end the test */
	alarm(TOO_LONG);	/* LMDB can also go round in circles */
	if (lists_others(verify(0)))
		return FALSE_LIST;
	wrong = verify(BLM_VERIFY_REPAIR);
	if (wrong < 0)
		return REFUSED;
	if (wrong)
		return UNMENDED;
	wrong = said_count;
	l = list_now();
	if (!all_there())
		return l->count >= FILTERS ? RENAMED : MISSING;
	if (l->count != FILTERS || strcmp(l->text, right) || verify(0) != 0)
		return UNMENDED;
	return wrong ? MENDED : FINE;
}

struct outcomes {
	int of[OUTCOMES], crashed;
};

static void try_damage(struct outcomes *o)
{
	int r = run_apart(walk_and_repair, 0);

	ck_assert_msg(r >= SIGNALLED || r < OUTCOMES, "%d", r);
	if (r >= SIGNALLED)
		o->crashed++;
	else
		o->of[r]++;
}

/* Nothing else is good enough. */
static void all_are_as_they_were(const char *what, const struct outcomes *o)
{
	fprintf(stderr,
		"# %s: %d unharmed, %d mended, %d not mended, %d with other names, %d refused, %d "
		"lost some, %d listed falsely, %d crashed\n",
		what, o->of[FINE], o->of[MENDED], o->of[UNMENDED], o->of[RENAMED], o->of[REFUSED],
		o->of[MISSING], o->of[FALSE_LIST], o->crashed);
	ck_assert_int_gt(o->of[MENDED], 0);
	ck_assert_int_eq(o->crashed + o->of[UNMENDED] + o->of[RENAMED] + o->of[REFUSED]
				 + o->of[MISSING] + o->of[FALSE_LIST],
			 0);
}

static void no_file_is_gone(void)
{
	ck_assert_int_eq(files_in("s/filters", NULL), FILTERS);
}

START_TEST(a_catalog_truncated_at_any_page_is_rebuilt)
{
	struct outcomes o = { .crashed = 0 };
	size_t bytes;
	uint8_t *good;

	make_filters();
	right = list_now()->text;
	good = read_all(DATA, &bytes);
	for (size_t end = 0; end < bytes; end += PAGE / 2) {
		write_all(DATA, good, end);
		try_damage(&o);
	}
	all_are_as_they_were("cut", &o);
	no_file_is_gone();
	free(good);
}
END_TEST

START_TEST(a_page_of_garbage_costs_no_filter)
{
	struct outcomes o = { .crashed = 0 };
	uint8_t *good, garbage[PAGE];
	size_t bytes;

	make_filters();
	right = list_now()->text;
	good = read_all(DATA, &bytes);
	srandom(7);
	for (int fill = 0; fill < 2; fill++)
		for (size_t page = 0; page < bytes; page += PAGE) {
			int fd;

			memset(garbage, 0, PAGE);
			for (size_t i = 0; fill && i < PAGE; i++)
				garbage[i] = (uint8_t)random();
			unlink(DATA);
			write_all(DATA, good, bytes);
			fd = open(DATA, O_WRONLY | O_CLOEXEC);
			ck_assert_int_eq((int)pwrite(fd, garbage, PAGE, (off_t)page), PAGE);
			close(fd);
			try_damage(&o);
		}
	all_are_as_they_were("a page", &o);
	no_file_is_gone();
	free(good);
}
END_TEST

START_TEST(eight_bytes_of_garbage_cost_no_filter)
{
	struct outcomes o = { .crashed = 0 };
	uint8_t *good, *bad;
	size_t bytes;

	make_filters();
	right = list_now()->text;
	good = read_all(DATA, &bytes);
	bad = malloc(bytes);
	for (unsigned seed = 0; seed < (is_share() ? 40 : 200); seed++) {
		memcpy(bad, good, bytes);
		srandom(seed);
		for (size_t i = 0, at = (size_t)random() % (bytes - 8); i < 8; i++)
			bad[at + i] = (uint8_t)random();
		unlink(DATA);
		write_all(DATA, bad, bytes);
		try_damage(&o);
	}
	all_are_as_they_were("8 bytes", &o);
	no_file_is_gone();
	free(bad);
	free(good);
}
END_TEST

/* ---- Damaged records ---- */

START_TEST(a_damaged_record_is_damaged_alone_and_made_again)
{
	uint8_t bytes[BLM_RECORD_BYTES_MAX + 8] = { 0 };
	struct blm_entry *entry = malloc(sizeof(*entry));
	struct blm_info *info = info_buffer();
	struct list *before, *after;
	struct blm_store *store;
	struct blm_filter *f;
	size_t count;

	make_filters();
	before = list_now();
	store = open_store(0);
	OK(blm_catalog_get(store->catalog, "filter-05", entry));
	blm_store_close(store);
	count = blm_record_encode("filter-05", entry, bytes);
	switch (_i) {
	case 0: bytes[100] ^= 1; break;				/* the checksum is wrong */
	case 1: count--; break;
	case 2: count++; break;
	case 3: count = 0; break;
	case 4: bytes[0] = 2; break;				/* a version that we do not know */
	case 5: count = 72; break;
	case 6: bytes[count - 1] ^= 0x80; break;
	}
	put_raw("filter-05", bytes, count);
	store = open_store(0);
	FAILS(blm_store_find(store, "filter-05", info), -EUCLEAN);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "filter-05"));
	FAILS(blm_open(&f, store, "filter-05", 0), -EUCLEAN);
	FAILS(blm_create(&f, store, "filter-05", &BLM_PARAMS(.capacity = 10)), -EEXIST);
	ck_assert(holds(store, "filter-04", "filter-04"));
	after = list_of(store);
	ck_assert_int_eq(after->count, FILTERS);
	ck_assert_int_eq(after->damaged, 1);
	ck_assert_ptr_nonnull(strstr(after->text, "filter-05 (damaged)"));
	free(after);
	ck_assert_int_ge(verify(0), 1);
	repair_gives(store, before);
}
END_TEST

/* ---- Catalog and files disagree ---- */

START_TEST(a_record_without_a_file_is_reported_and_removed)
{
	struct blm_store *store;
	struct blm_filter *f;
	struct list *l;
	char path[512];

	make_filters();
	store = open_store(0);
	path_of(store, "filter-05", path);
	ck_assert_int_eq(unlink(path), 0);
	FAILS(blm_open(&f, store, "filter-05", BLM_OPEN_WRITE), -EUCLEAN);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), path + strlen("s/")));
	ck_assert_int_eq(verify(0), 1);
	ck_assert_int_eq(verify(BLM_VERIFY_REPAIR), 0);
	l = list_of(store);
	ck_assert_int_eq(l->count, FILTERS - 1);
	all_is_well();
	blm_store_close(store);
}
END_TEST

static void set_state_word(const char *path, uint64_t state)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	uint64_t word = htole64(state);

	ck_assert_int_eq((int)pwrite(fd, &word, 8, offsetof(struct blm_header, live.state.word)),
			 8);
	close(fd);
}

START_TEST(a_file_without_a_record_is_kept_for_its_keys)
{
	struct blm_store *store;
	struct list *before;

	make_filters();
	before = list_now();
	store = open_store(0);
	OK(blm_catalog_remove(store->catalog, "filter-05", NULL));
	ck_assert_int_eq(verify(0), 1);
	ck_assert_int_eq(files_in("s/filters", NULL), FILTERS);
	repair_gives(store, before);
}
END_TEST

START_TEST(an_unused_file_without_a_record_is_deleted)
{
	struct blm_store *store;

	make_filters();
	store = open_store(0);
	make(NULL, store, "unused");
	OK(blm_catalog_remove(store->catalog, "unused", NULL));
	ck_assert_int_eq(verify(0), 1);
	ck_assert_int_eq(files_in("s/filters", NULL), FILTERS + 1);
	ck_assert_int_eq(verify(BLM_VERIFY_REPAIR), 0);
	no_file_is_gone();
	all_is_well();
	blm_store_close(store);
}
END_TEST

START_TEST(a_file_that_was_replaced_is_deleted)
{
	struct blm_store *store;
	char path[512];

	make_filters();
	store = open_store(0);
	path_of(store, "filter-05", path);
	OK(blm_catalog_remove(store->catalog, "filter-05", NULL));
	set_state_word(path, 7 << 8 | BLM_REPLACED);
	if (_i) {
		blm_store_close(store);
		lost();
	}
	ck_assert_int_eq(verify(BLM_VERIFY_REPAIR), 0);
	ck_assert_int_eq(files_in("s/filters", NULL), FILTERS - 1);
	all_is_well();
}
END_TEST

/*
 * A bit of a name flips to another name that would be good: the record is not that name's, and the
 * file knows its own.
 */
START_TEST(a_damaged_name_is_restored)
{
	uint8_t bytes[BLM_RECORD_BYTES_MAX];
	struct blm_entry *entry = malloc(sizeof(*entry));
	struct list *before, *after;
	struct blm_store *store;

	make_filters();
	before = list_now();
	store = open_store(0);
	OK(blm_catalog_get(store->catalog, "filter-05", entry));
	OK(blm_catalog_remove(store->catalog, "filter-05", NULL));
	blm_store_close(store);
	put_raw("filter-u5", bytes, blm_record_encode("filter-05", entry, bytes));
	ck_assert_int_ge(verify(0), 1);
	ck_assert_int_eq(verify(BLM_VERIFY_REPAIR), 0);
	after = list_now();
	ck_assert_str_eq(after->text, before->text);
	all_is_well();
	free(entry);
}
END_TEST

/* A drop marks the file, then commits: a process that dies in between has dropped nothing. */
START_TEST(an_interrupted_drop_loses_nothing_even_without_the_catalog)
{
	struct blm_store *store;
	char path[512];

	make_filters();
	store = open_store(0);
	path_of(store, "filter-05", path);
	set_state_word(path, 7 << 8 | BLM_DROPPED);
	ck_assert(holds(store, "filter-05", "filter-05"));
	blm_store_close(store);
	lost();
	ck_assert_int_eq(verify(BLM_VERIFY_REPAIR), 0);
	ck_assert(all_there());
	all_is_well();
}
END_TEST

static bool no_commit;

/* Instead of the system's: LMDB's first step of a commit. */
int fdatasync(int fd)
{
	if (!no_commit)
		return (int)syscall(SYS_fdatasync, fd);
	errno = EIO;
	return -1;
}

/* _i: the file opens, or is damaged and goes all the same */
START_TEST(a_drop_whose_commit_fails_leaves_name_and_file)
{
	struct blm_store *store;
	char path[512];
	size_t bytes;

	make_filters();
	store = open_store(0);
	path_of(store, "filter-05", path);
	if (_i)
		write_all(path, (uint8_t[PAGE]){ 0 }, PAGE);
	no_commit = true;
	FAILS(blm_store_drop(store, "filter-05"), -EIO);
	no_commit = false;
	free(read_all(path, &bytes));
	ck_assert_uint_ge(bytes, PAGE);
	if (_i)
		OK(blm_store_find(store, "filter-05", &BLM_INFO));
	else
		ck_assert(holds(store, "filter-05", "filter-05"));
	OK(blm_store_drop(store, "filter-05"));
	ck_assert_int_ne(access(path, F_OK), 0);
	blm_store_close(store);
	all_is_well();
}
END_TEST

START_TEST(repair_prefers_the_header_to_the_catalog)
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	struct blm_store *store;
	struct blm_filter *f;
	struct list *before;

	make_filters();
	before = list_now();
	store = open_store(0);
	OK(blm_catalog_get(store->catalog, "filter-05", entry));
	switch (_i) {
	case 0: entry->constant.template.cells = htole64(1 << 20); break;
	case 1: entry->constant.template.probes = htole32(3); break;
	case 2: entry->constant.template.seeds[0] ^= 1; break;
	case 3: entry->constant.template.family = htole32(2); break;
	}
	OK(blm_catalog_put(store->catalog, "filter-05", entry, BLM_PUT_OVER));
	FAILS(blm_open(&f, store, "filter-05", 0), -EUCLEAN);
	FAILS(blm_open(&f, store, "filter-05", BLM_OPEN_WRITE), -EUCLEAN);
	ck_assert_int_ge(verify(0), 1);
	repair_gives(store, before);
	ck_assert(all_there());
}
END_TEST

START_TEST(a_record_that_names_anothers_file_costs_neither_filter)
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	struct blm_store *store;

	make_filters();
	store = open_store(0);
	OK(blm_catalog_get(store->catalog, "filter-05", entry));
	/* filter-04's own file is nameless now */
	OK(blm_catalog_put(store->catalog, "filter-04", entry, BLM_PUT_OVER));
	OK(verify(BLM_VERIFY_REPAIR));
	no_file_is_gone();
	ck_assert(holds(store, "filter-05", "filter-05"));
	blm_store_close(store);
}
END_TEST

static int find_recovered(void *context, const struct blm_info *info, int err)
{
	struct blm_store *store = context;

	if (!strstr(info->name, "recovered"))
		return 0;
	OK(blm_check_name(info->name));
	return holds(store, info->name, "one") || holds(store, info->name, "two");
}

START_TEST(two_files_of_one_name_are_both_kept)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	char name[BLM_NAME_MAX + 1] = "a", path[512], uuid[64], moved[512];

	/* names whose end must give way to what is added, wherever a character then begins */
	if (_i)
		for (int i = 0; i < _i; i++)
			name[i] = 'x';
	if (_i)
		for (int i = _i; i + 2 <= BLM_NAME_MAX; i += 2)
			memcpy(name + i, "\xc3\xa9", 3);
	make_with(store, name, "one");
	path_of(store, name, path);
	snprintf(uuid, sizeof(uuid), "%s", strrchr(path, '/') + 1);
	OK(rename(path, "kept"));
	OK(blm_store_drop(store, name));
	make_with(store, name, "two");
	snprintf(moved, sizeof(moved), "s/filters/%s", uuid);
	OK(rename("kept", moved));
	blm_store_close(store);
	lost();
	ck_assert_int_eq(verify(BLM_VERIFY_REPAIR), 0);
	store = open_store(0);
	ck_assert(holds(store, name, "one") || holds(store, name, "two"));
	ck_assert_int_eq(blm_store_list(store, NULL, find_recovered, store), 1);
	ck_assert_int_eq(files_in("s/filters", NULL), 2);
	ck_assert_int_eq(verify(BLM_VERIFY_REPAIR), 0);
	all_is_well();
	blm_store_close(store);
}
END_TEST

START_TEST(an_interrupted_rename_is_reported_and_completed)
{
	struct blm_store *store;
	struct list *before, *after;

	make_filters();
	store = open_store(0);
	/* the file's own record still says the old one */
	OK(blm_catalog_rename(store->catalog, "filter-05", "new name"));
	ck_assert(holds(store, "new name", "filter-05"));
	ck_assert_int_eq(verify(0), 1);
	ck_assert_int_eq(verify(BLM_VERIFY_REPAIR), 0);
	all_is_well();
	before = list_of(store);
	blm_store_close(store);
	lost();
	ck_assert_int_eq(verify(BLM_VERIFY_REPAIR), 0);
	after = list_now();
	ck_assert_str_eq(after->text, before->text);
}
END_TEST

START_TEST(the_replacement_of_an_interruptedly_renamed_filter_says_its_name)
{
	struct blm_store *store;
	struct blm_filter *f;

	make_filters();
	store = open_store(0);
	OK(blm_catalog_rename(store->catalog, "filter-05", "new name"));
	OK(blm_open(&f, store, "filter-04", 0));
	OK(blm_store_publish(store, "new name", f, 0, BLM_PUBLISH_WRITABLE));
	blm_close(f);
	ck_assert(holds(store, "new name", "filter-04"));
	ck_assert_int_eq(verify(0), 0);
	blm_store_close(store);
}
END_TEST

START_TEST(a_damaged_filter_is_reported_and_not_deleted)
{
	struct blm_store *store;
	struct blm_filter *f;
	char path[512];

	make_filters();
	store = open_store(0);
	path_of(store, "filter-05", path);
	switch (_i) {
	case 0: OK(truncate(path, 0)); break;
	case 1: OK(truncate(path, 20480)); break;
	case 2: write_all(path, "text", 4); break;
	}
	ck_assert_int_lt(blm_open(&f, store, "filter-05", 0), 0);
	ck_assert_int_ge(verify(0), 1);
	ck_assert_int_ge(verify(BLM_VERIFY_REPAIR), 1);
	ck_assert_int_eq(access(path, F_OK), 0);
	no_file_is_gone();
	OK(blm_store_drop(store, "filter-05"));
	all_is_well();
	blm_store_close(store);
}
END_TEST

/* ---- While others work ---- */

enum { WORKERS = 3, ROUNDS = 25 };

static void name_work(char ret[32], int who, int i)
{
	snprintf(ret, 32, "work-%d-%d", who, i);
}

static int work(int who)
{
	struct blm_store *store;
	struct blm_filter *f;
	char name[32];

	MUST(blm_store_open(&store, "s", 0) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		name_work(name, who, i);
		MUST(blm_create(&f, store, name, &BLM_PARAMS(.capacity = 10)) == 0);
		MUST(blm_add(f, name, strlen(name)) == 1);
		blm_close(f);
		if (i % 3 == 0)
			MUST(blm_store_drop(store, name) == 0);
		if (i % 3 == 1)
			MUST(blm_store_label(store, name, "k", "v") == 0);
	}
	blm_store_close(store);
	return 0;
}

START_TEST(a_repair_during_other_work_loses_nothing)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_info *info = info_buffer();
	pid_t pid[WORKERS];
	char name[32];
	int alive = WORKERS, repairs = 0, status;

	for (int i = 0; i < WORKERS; i++)
		pid[i] = spawn(work, i);
	for (; alive; repairs++) {
		ck_assert_msg(verify(BLM_VERIFY_REPAIR) >= 0, "%s", blm_error_message());
		while (alive && waitpid(-1, &status, WNOHANG) > 0) {
			ck_assert_int_eq(status, 0);
			alive--;
		}
	}
	ck_assert_int_gt(repairs, 1);
	for (int who = 0; who < WORKERS; who++)
		for (int i = 0; i < ROUNDS; i++) {
			name_work(name, who, i);
			if (i % 3 == 0)
				FAILS(blm_store_find(store, name, info), -ENOENT);
			else
				ck_assert_msg(holds(store, name, name), "%s is lost: %s", name,
					      said);
		}
	all_is_well();
	blm_store_close(store);
	(void)pid;
}
END_TEST

/* ---- Catalogs: opening looks at their beginning only ---- */

enum { MANY = 6500 };

static void make_large_catalog(void)
{
	struct blm_new_entry *all = calloc(MANY, sizeof(*all));
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct stat st;

	make_with(store, "a", "a");
	OK(blm_catalog_get(store->catalog, "a", &all[0].entry));
	blm_store_close(store);
	all[0].entry.labels_bytes = 1400;
	memset(all[0].entry.labels, 'l', 1400);
	all[0].entry.labels[1] = '=';
	all[0].entry.labels[1399] = '\n';
	for (int i = 0; i < MANY; i++) {
		all[i].entry = all[0].entry;
		snprintf(all[i].name, sizeof(all[i].name), "%06d", i);
	}
	OK(blm_catalog_make("s/catalog", all, MANY));
	free(all);
	ck_assert_int_eq(stat(DATA, &st), 0);
	ck_assert_int_gt(st.st_size, 3 * 2048 * PAGE);
}

static int count_names(void *context, const struct blm_info *info, int err)
{
	char expected[8];

	snprintf(expected, sizeof(expected), "%06d", (*(int *)context)++);
	return err || strcmp(info->name, expected) ? -EILSEQ : 0;
}

/* All names, or words: no signal, and no other names. */
static int list_large(int unused)
{
	struct blm_store *store;
	int count = 0, r = blm_store_open(&store, "s", 0);

	if (r == 0)
		r = blm_store_list(store, NULL, count_names, &count);
	return r == -EUCLEAN || (r == 0 && count == MANY) ? 0 : 1;
}

START_TEST(a_damaged_catalog_is_listed_completely_or_not)
{
	uint8_t was[PAGE], garbage[PAGE];
	int fd;

	make_large_catalog();
	memset(garbage, 0xa5, PAGE);
	fd = open(DATA, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	for (off_t page = 2048 + _i; page < 3 * 2048; page += is_share() ? 3 * 61 : 61) {
		ck_assert_int_eq(pread(fd, was, PAGE, page * PAGE), PAGE);
		ck_assert_int_eq(pwrite(fd, garbage + (_i ? 64 : 0), PAGE - 64 * _i,
					page * PAGE + 64 * _i),
				 PAGE - 64 * _i);
		ck_assert_int_eq(run_apart(list_large, 0), 0);
		ck_assert_int_eq(pwrite(fd, was, PAGE, page * PAGE), PAGE);
	}
	ck_assert_int_eq(run_apart(list_large, 0), 0);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("repair");
	TCase *tc = tcase_create("repair");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(tc, a_lost_catalog_is_made_again_with_names_and_labels, 0,
			    ARRAY_LEN(losses));
	tcase_add_test(tc, repair_makes_the_folder_of_the_catalog_again_too);
	tcase_add_test(tc, repair_ends_the_making_of_a_store);
	tcase_add_test(tc, processes_with_the_old_catalog_move_to_the_new);
	tcase_add_test(tc, a_catalog_truncated_at_any_page_is_rebuilt);
	tcase_add_test(tc, a_page_of_garbage_costs_no_filter);
	tcase_add_test(tc, eight_bytes_of_garbage_cost_no_filter);
	tcase_add_loop_test(tc, a_damaged_record_is_damaged_alone_and_made_again, 0, 7);
	tcase_add_test(tc, a_record_without_a_file_is_reported_and_removed);
	tcase_add_test(tc, a_file_without_a_record_is_kept_for_its_keys);
	tcase_add_test(tc, an_unused_file_without_a_record_is_deleted);
	tcase_add_loop_test(tc, a_file_that_was_replaced_is_deleted, 0, 2);
	tcase_add_test(tc, a_damaged_name_is_restored);
	tcase_add_test(tc, an_interrupted_drop_loses_nothing_even_without_the_catalog);
	tcase_add_loop_test(tc, a_drop_whose_commit_fails_leaves_name_and_file, 0, 2);
	tcase_add_loop_test(tc, repair_prefers_the_header_to_the_catalog, 0, 4);
	tcase_add_test(tc, a_record_that_names_anothers_file_costs_neither_filter);
	tcase_add_loop_test(tc, two_files_of_one_name_are_both_kept, 0, 3);
	tcase_add_test(tc, an_interrupted_rename_is_reported_and_completed);
	tcase_add_test(tc, the_replacement_of_an_interruptedly_renamed_filter_says_its_name);
	tcase_add_loop_test(tc, a_damaged_filter_is_reported_and_not_deleted, 0, 3);
	tcase_add_loop_test(
		tc, a_damaged_catalog_is_listed_completely_or_not, 0,
		2);
	tcase_add_test(tc, a_repair_during_other_work_loses_nothing);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
