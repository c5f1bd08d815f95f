/*
 * catalog.c - the inside of the catalog: the walk over its pages, its records, and changes by
 * several processes at once
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "suite.h"

#include "catalog/env.h"
#include "catalog/record.h"
#include "file/mapping.h"

#include <sys/mman.h>
#include <time.h>

/*
 * ---- A catalog with all that LMDB makes pages of: branches, leaves, values of their own pages,
 * lists of free ones ----
 */

enum { PAGE = 4096, HEAD = 16, NAMES = 90 };
/* in pages 0, 1 */
enum {
	META_FREE = HEAD + 24,
	META_MAIN = META_FREE + 48,
	META_LAST = META_MAIN + 48,
	META_TXN = META_LAST + 8
};
enum { TABLE_FLAGS = 4, TABLE_DEPTH = 6, TABLE_BRANCHES = 8, TABLE_ENTRIES = 32, TABLE_ROOT = 40 };

static uint8_t *map;		/* of data.mdb, to damage it */
static size_t bytes;
static int file;

static void an_entry(struct blm_entry *ret, uint32_t seeds, uint32_t labels)
{
	memset(ret, 0, sizeof(*ret));
	blm_constant_begin(&ret->constant, "test");
	ret->constant.template.seed_count = htole32(seeds);
	ret->constant.check = blm_check_constant(&ret->constant);
	ret->labels_bytes = labels;
	memset(ret->labels, 'x', labels);
}

static void make_catalog(void)
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	struct blm_catalog *c;
	char name[BLM_FORMAT_NAME];
	struct stat st;

	own_folder();
	ck_assert_int_eq(mkdir("catalog", 0755), 0);
	OK(blm_catalog_make("catalog", NULL, 0));
	OK(blm_catalog_open(&c, "catalog", true));
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "%0*d", 180, i);
		/* every ninth is larger than half a page */
		an_entry(entry, i % 9 == 0 ? 255 : 1, i % 3 ? 0 : 700);
		OK(blm_catalog_put(c, name, entry, BLM_PUT_NEW));
	}
	blm_catalog_close(c);
	free(entry);
	file = open("catalog/data.mdb", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(fstat(file, &st), 0);
	bytes = (size_t)st.st_size;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
}

static uint64_t number_at(size_t at, size_t count)
{
	uint64_t x = 0;

	memcpy(&x, map + at, count);
	return x;
}

static void put_number(size_t at, size_t count, uint64_t x)
{
	memcpy(map + at, &x, count);
}

/* The newer of the two pages that tell where all is. */
static size_t meta(void)
{
	return number_at(META_TXN, 8) >= number_at(PAGE + META_TXN, 8) ? 0 : PAGE;
}

static int walk(uint64_t most)
{
	char wrong[BLM_CATALOG_WRONG] = "";
	int r = blm_catalog_check(file, most, wrong);

	ck_assert_msg(r == 0 || r == -EUCLEAN, "%d", r);
	ck_assert_msg((r == 0) == !*wrong, "%d: %s", r, wrong);
	return r;
}

/* The catalog with this number there is damaged; then it is as before. */
static void is_damage(const char *what, size_t at, size_t count, uint64_t x)
{
	uint64_t before = number_at(at, count);

	ck_assert_msg(before != x, "%s: is so anyway", what);
	put_number(at, count, x);
	ck_assert_msg(walk(UINT64_MAX) == -EUCLEAN, "%s: not found", what);
	put_number(at, count, before);
	ck_assert_msg(walk(UINT64_MAX) == 0, "%s: not mended", what);
}

/* A page of this sort that is in use: one that is damaged when its number is. */
static size_t page_of(uint16_t sort)
{
	for (size_t at = 2 * PAGE; at < bytes; at += PAGE)
		if (number_at(at + 10, 2) == sort && number_at(at, 8) == at / PAGE) {
			int r;

			put_number(at, 8, 0);
			r = walk(UINT64_MAX);
			put_number(at, 8, at / PAGE);
			if (r < 0)
				return at;
		}
	ck_abort_msg("there is no page of sort %u", sort);
	return 0;
}

static size_t node_of(size_t page, unsigned i)
{
	return page + number_at(page + HEAD + 2 * i, 2);
}

/* The table of names, which the table of tables holds. */
static size_t table_of_names(void)
{
	size_t node = node_of(number_at(meta() + META_MAIN + TABLE_ROOT, 8) * PAGE, 0);

	return node + 8 + number_at(node + 6, 2);
}

/* Its first leaf. */
static size_t leaf_of_names(void)
{
	size_t page = number_at(table_of_names() + TABLE_ROOT, 8) * PAGE;

	while (number_at(page + 10, 2) == 1)
		page = number_at(node_of(page, 0), 4) * PAGE;
	return page;
}

/* xorshift64*: the same numbers on every machine. */
struct random {
	uint64_t x;
};

static uint64_t next_random(struct random *r)
{
	r->x ^= r->x >> 12;
	r->x ^= r->x << 25;
	r->x ^= r->x >> 27;
	return r->x * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

/* ---- The walk ---- */

START_TEST(each_page_has_the_right_type_and_is_used_once)
{
	static const uint16_t sorts[] = { 1, 2, 4 };
	size_t first, second;

	ck_assert_int_eq(walk(UINT64_MAX), 0);
	for (size_t i = 0; i < ARRAY_LEN(sorts); i++) {
		is_damage("another number", page_of(sorts[i]), 8, 3);
		is_damage("another sort", page_of(sorts[i]) + 10, 2, 7);
	}
	first = node_of(page_of(1), 0);
	second = node_of(page_of(1), 1);
	is_damage("the same child twice", second, 2, number_at(first, 2));
	is_damage("a child that is not in the file", second, 2, bytes / PAGE);
	is_damage("a child among the first two pages", second, 2, 1);
}
END_TEST

START_TEST(a_page_holds_its_nodes)
{
	size_t leaf = leaf_of_names(), lower = number_at(leaf + 12, 2), node = node_of(leaf, 0);

	is_damage("no nodes", leaf + 12, 2, HEAD);
	is_damage("a branch of one", page_of(1) + 12, 2, HEAD + 2);
	is_damage("less than its head", leaf + 12, 2, HEAD - 2);
	is_damage("half a node", leaf + 12, 2, lower - 1);
	is_damage("nodes over their values", leaf + 14, 2, lower - 2);
	is_damage("values beyond the page", leaf + 14, 2, PAGE + 2);
	is_damage("a node before them", leaf + HEAD, 2, HEAD);
	is_damage("a node at an odd place", leaf + HEAD, 2, number_at(leaf + HEAD, 2) + 1);
	is_damage("a node behind the page", leaf + HEAD, 2, PAGE - 2);
	is_damage("a key that leaves it", node + 6, 2, PAGE);
	is_damage("a value that leaves it", node + 2, 2, 1);
	is_damage("a page that says it is being written", leaf + 10, 2, 2 | 0x10);
	is_damage("a page that says it was given up", leaf + 10, 2, 2 | 0x4000);
	is_damage("a gap behind its nodes", leaf + 14, 2, number_at(leaf + 14, 2) - 2);
	is_damage("two nodes in one place", leaf + HEAD, 2, number_at(leaf + HEAD + 2, 2));
	is_damage("a value that is shorter", node_of(leaf, 1), 2,
		  number_at(node_of(leaf, 1), 2) - 2);
	is_damage("a table in a table", node + 4, 2, 2);
	is_damage("a value with duplicates", node + 4, 2, 4);
	is_damage("a value without its pages", node_of(leaf, 1) + 4, 2, 1);
	is_damage("no key", node + 6, 2, 0);
	is_damage("keys out of their order", node + 8, 1, 'z');
}
END_TEST

START_TEST(a_value_with_own_pages_has_only_those)
{
	size_t page = page_of(4), leaf = 0, node = 0, key;

	for (size_t at = 2 * PAGE; at < bytes && !node; at += PAGE)
		for (unsigned i = 0;
		     number_at(at + 10, 2) == 2 && i < (number_at(at + 12, 2) - HEAD) / 2 && !node;
		     i++) {
			size_t here = node_of(at, i), value = here + 8 + number_at(here + 6, 2);

			if (number_at(here + 4, 2) == 1 && number_at(value, 8) == page / PAGE) {
				leaf = at;
				node = here;
			}
		}
	ck_assert_uint_ne(node, 0);
	key = number_at(node + 6, 2);
	is_damage("more pages than the value", page + 12, 4, number_at(page + 12, 4) + 1);
	is_damage("a value of more pages", node + 2, 2, 1);
	is_damage("the page of another", node + 8 + key, 8, 2);
	is_damage("more than there are behind it", node, 4, UINT32_MAX);
	is_damage("no room for their number", node + 6, 2, leaf + PAGE - node - 8);
}
END_TEST

START_TEST(the_numbers_of_the_tables_are_true)
{
	size_t m = meta(), free_table = m + META_FREE, main_table = m + META_MAIN;
	size_t names = table_of_names(),
	       node = node_of(number_at(main_table + TABLE_ROOT, 8) * PAGE, 0);

	for (size_t at = TABLE_BRANCHES; at <= TABLE_ENTRIES; at += 8) {
		is_damage("one more in the table of names", names + at, 8,
			  number_at(names + at, 8) + 1);
		is_damage("one more in the table of tables", main_table + at, 8,
			  number_at(main_table + at, 8) + 1);
		is_damage("one more in the list of free pages", free_table + at, 8,
			  number_at(free_table + at, 8) + 1);
	}
	is_damage("no depth", names + TABLE_DEPTH, 2, 0);
	is_damage("a depth that no tree has", names + TABLE_DEPTH, 2, 33);
	is_damage("no root, and a depth", names + TABLE_ROOT, 8, UINT64_MAX);
	is_damage("another sort of table", names + TABLE_FLAGS, 2, 4);
	is_damage("tables of another order", main_table + TABLE_FLAGS, 2, 2);
	is_damage("a list of another order", free_table + TABLE_FLAGS, 2, 2);
	is_damage("something other than a table", node + 4, 2, 0);
	is_damage("a table of another size", node, 2, 40);
}
END_TEST

/* LMDB would store the next one as 0, and go on from this one. */
START_TEST(a_last_transaction_number_that_would_wrap_is_damage)
{
	is_damage("of the newer page", meta() + META_TXN, 8, UINT64_MAX);
	is_damage("of the older page", (meta() ? 0 : PAGE) + META_TXN, 8, UINT64_MAX);
	is_damage("half way", meta() + META_TXN, 8, UINT64_C(1) << 63);
}
END_TEST

START_TEST(a_table_without_a_root_is_empty)
{
	size_t table = meta() + META_FREE, depth = number_at(table + TABLE_DEPTH, 2);

	put_number(table + TABLE_ROOT, 8, UINT64_MAX);
	put_number(table + TABLE_DEPTH, 2, 0);
	ck_assert_int_eq(walk(UINT64_MAX), -EUCLEAN);		/* but it has entries */
	put_number(table + TABLE_ENTRIES, 8, 0);
	ck_assert_int_eq(walk(UINT64_MAX), 0);
	put_number(table + TABLE_DEPTH, 2, depth);
	ck_assert_int_eq(walk(UINT64_MAX), -EUCLEAN);
}
END_TEST

START_TEST(a_free_page_is_one_without_references)
{
	size_t m = meta(), leaf = number_at(m + META_FREE + TABLE_ROOT, 8) * PAGE,
	       node = node_of(leaf, 0);
	size_t value = node + 8 + number_at(node + 6, 2), count = number_at(value, 8);

	ck_assert_uint_ge(count, 2);
	is_damage("more than it lists", value, 8, count + 1);
	is_damage("fewer than it lists", value, 8, count - 1);
	is_damage("a page of a tree", value + 8, 8, page_of(1) / PAGE);
	is_damage("one twice", value + 16, 8, number_at(value + 8, 8));
	is_damage("one of the first two", value + 8 * count, 8, 1);
	is_damage("one behind the last", value + 8, 8, number_at(m + META_LAST, 8) + 1);
	is_damage("half a number", node, 2, 8 * (count + 1) - 4);
	is_damage("less than a number", node, 2, 4);
	is_damage("a table", node + 4, 2, 2);
	is_damage("a key that is no number", node + 6, 2, 7);
	is_damage("no transaction", node + 8, 8, 0);
	is_damage("a transaction that is not yet", node + 8, 8, number_at(m + META_TXN, 8) + 1);
}
END_TEST

START_TEST(the_last_page_is_present_or_was_never_written)
{
	size_t m = meta();
	uint64_t last = number_at(m + META_LAST, 8);

	put_number(m + META_LAST, 8, last + 1024 - (last + 1 - bytes / PAGE));
	ck_assert_int_eq(walk(UINT64_MAX), 0);		/* used and freed within one transaction */
	ck_assert_int_eq(walk(1), 0);
	put_number(m + META_LAST, 8, last);
	is_damage("a last page far behind the file", m + META_LAST, 8, last + 5000);
	is_damage("no last page", m + META_LAST, 8, UINT64_MAX);
	is_damage("a first page alone", m + META_LAST, 8, 0);
	is_damage("a last page before those in use", m + META_LAST, 8, 3);
}
END_TEST

START_TEST(pages_have_one_size_and_two_describe_them)
{
	char wrong[BLM_CATALOG_WRONG];

	is_damage("pages of no size", META_FREE, 4, 0);
	is_damage("pages of 256 bytes", META_FREE, 4, 256);
	is_damage("pages of 128 KiB", META_FREE, 4, 1 << 17);
	is_damage("pages of 4097 bytes", META_FREE, 4, 4097);
	is_damage("two sizes", PAGE + META_FREE, 4, 8192);
	is_damage("another magic number", HEAD, 4, 0);
	is_damage("another version", PAGE + HEAD + 4, 4, 2);
	is_damage("no meta page", PAGE + 10, 2, 2);
	is_damage("a meta page of another number", 0, 8, 1);
	is_damage("a transaction that cannot be", PAGE + META_TXN, 8, UINT64_MAX);
	ck_assert_int_eq(ftruncate(file, PAGE), 0);
	ck_assert_int_eq(blm_catalog_check(file, UINT64_MAX, wrong), -EUCLEAN);
	ck_assert_str_eq(wrong, "page 1 is not in the file: data.mdb is truncated");
	ck_assert_int_eq(ftruncate(file, 100), 0);
	ck_assert_int_eq(blm_catalog_check(file, UINT64_MAX, wrong), -EUCLEAN);
	ck_assert_str_eq(wrong, "page 0 is not in the file: data.mdb is truncated");
}
END_TEST

START_TEST(an_unreadable_file_is_reported_as_unreadable)
{
	char wrong[BLM_CATALOG_WRONG];
	int closed = open("catalog/data.mdb", O_WRONLY | O_CLOEXEC);

	ck_assert_int_eq(blm_catalog_check(closed, UINT64_MAX, wrong), -EBADF);
	close(closed);
}
END_TEST

/* Every byte that leads somewhere: the first of each page, and of each of its nodes. */
static void mark_structure(uint8_t *marks)
{
	for (size_t page = 0; page < bytes; page += PAGE) {
		memset(marks + page, 1, page < 2 * PAGE ? META_TXN + 8 : HEAD + 2 * 24);
		for (unsigned i = 0; i < 24 && page >= 2 * PAGE; i++)
			for (size_t at = node_of(page, i), k = 0; k < 16 && at + k < page + PAGE;
			     k++)
				marks[at + k] = 1;
	}
}

/*
 * All changes and look-ups that LMDB makes in a catalog. Each may be refused; no signal and no hang
 * is allowed.
 */
static int use_all(int unused)
{
	static const uint8_t uuid[16] = { 1 }, other[16] = { 2 };
	const struct blm_key key = { "a key", 5 };
	struct blm_entry *entry = malloc(sizeof(*entry));
	char name[BLM_FORMAT_NAME] = "";
	uint64_t bits = 1;
	struct blm_catalog *c;

	if (blm_catalog_open(&c, "catalog", true) < 0)
		return 0;
	for (int i = 0; i < NAMES + 1 && blm_catalog_next(c, name, name, entry) >= 0; i++)
		;
	blm_catalog_knows(c, uuid);
	blm_catalog_check_lists(c, false);
	blm_catalog_find_listed(c, uuid, &key, 1, NULL, &bits);
	bits = 1;
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "%0*d", 180, i);
		an_entry(entry, i % 7 == 0 ? 255 : 1, i % 2 ? 0 : 900);
		switch (i % 5) {
		case 0: blm_catalog_put(c, name, entry, BLM_PUT_OVER); break;
		case 1: blm_catalog_rename(c, name, i % 2 ? "new" : "newer"); break;
		case 2: blm_catalog_remove(c, name, NULL); break;
		case 3: blm_catalog_drop(c, name, i % 2 ? uuid : other); break;
		default: blm_catalog_put_listed(c, i % 2 ? uuid : other, &key, 1, &bits); break;
		}
	}
	blm_catalog_take_list(c, uuid);
	blm_catalog_check_lists(c, true);
	blm_catalog_close(c);
	free(entry);
	return 0;
}

/* Numbers in the heads of pages and nodes, a few at once, as they come from a fixed seed. */
static void damage(struct random *seed)
{
	static const uint16_t numbers[] = { 0,	  1,	2,	4,	8,	0x10,  0x12,
					    0x14, 0x40, 0x4002, 0x8002, 0x7fff, 0xffff };
	size_t pages = bytes / PAGE;

	for (unsigned n = 1 + next_random(seed) % 3; n; n--) {
		size_t page = next_random(seed) % pages * PAGE,
		       at = page + next_random(seed) % 64 * 2;
		unsigned nodes = (unsigned)number_at(page + 12, 2) / 2 % 64;

		if (page < 2 * PAGE)
			at = page + HEAD + next_random(seed) % 70 * 2;
		else if (nodes > 8 && next_random(seed) % 2)
			at = page
			   + number_at(page + HEAD + 2 * (next_random(seed) % (nodes - 8)), 2)
				     % (PAGE - 8)
			   + 2 * (next_random(seed) % 4);
		put_number(at & ~(size_t)1, 2,
			   next_random(seed) % 2   ? numbers[next_random(seed) % ARRAY_LEN(numbers)]
			   : next_random(seed) % 2 ? number_at(at & ~(size_t)1, 2) + 2
						   : next_random(seed));
	}
}

START_TEST(no_damage_of_pages_is_a_signal)
{
	struct random seed = { UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(_i + 1) };
	uint8_t *good = malloc(bytes);

	memcpy(good, map, bytes);
	for (int i = 0; i < 60; i++) {
		damage(&seed);
		ck_assert_msg(run_apart(use_all, 0) == 0, "damage %d.%d", _i, i);
		ck_assert_int_eq(ftruncate(file, (off_t)bytes), 0);
		memcpy(map, good, bytes);
	}
	free(good);
}
END_TEST

/*
 * The handle that is open has been walked, and changed something since; then other bytes are there.
 */
static int use_what_was_damaged_since(int number)
{
	struct random seed = { UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(number + 1) };
	struct blm_entry *entry = malloc(sizeof(*entry));
	struct blm_catalog *c;

	an_entry(entry, 1, 0);
	MUST(blm_catalog_open(&c, "catalog", true) == 0
	     && blm_catalog_put(c, "new", entry, BLM_PUT_NEW) == 0);
	free(entry);
	/* the time of the file's change is not so fine */
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	damage(&seed);
	MUST(pwrite(file, map, 1, 0) == 1);
	use_all(0);
	blm_catalog_close(c);
	return 0;
}

START_TEST(no_damage_under_an_open_catalog_is_a_signal)
{
	uint8_t *good = malloc(bytes);

	memcpy(good, map, bytes);
	for (int i = 0; i < 30; i++) {
		ck_assert_msg(run_apart(use_what_was_damaged_since, i) == 0, "damage %d", i);
		ck_assert_int_eq(ftruncate(file, (off_t)bytes), 0);
		memcpy(map, good, bytes);
	}
	free(good);
}
END_TEST

START_TEST(a_walk_of_damaged_pages_ends_within_them)
{
	static const uint8_t flips[] = { 1, 2, 0x40, 0x80, 0xff };
	uint8_t *marks = calloc(1, bytes);
	unsigned found = 0, tried = 0;

	mark_structure(marks);
	for (size_t at = 0; at < bytes; at++)
		for (size_t i = 0; marks[at] && i < ARRAY_LEN(flips); i++, tried++) {
			map[at] ^= flips[i];
			found += walk(UINT64_MAX) < 0;
			map[at] ^= flips[i];
		}
	ck_assert_int_eq(walk(UINT64_MAX), 0);
	ck_assert_msg(found > tried / 5, "%u of %u found", found, tried);
	free(marks);
}
END_TEST

START_TEST(a_walk_ends_after_any_number_of_pages)
{
	for (uint64_t most = 0; most <= bytes / PAGE; most++)
		ck_assert_int_eq(walk(most), 0);
}
END_TEST

START_TEST(a_table_that_became_too_deep_since_is_damage)
{
	static const uint16_t depths[] = { 0, 33, UINT16_MAX };
	struct blm_entry *entry = malloc(sizeof(*entry));
	size_t at = table_of_names() + TABLE_DEPTH;
	char name[BLM_FORMAT_NAME];
	struct blm_catalog *c;

	OK(blm_catalog_open(&c, "catalog", false));
	OK(blm_catalog_next(c, "", name, entry));
	put_number(at, 2, depths[_i]);
	FAILS(blm_catalog_next(c, name, name, entry), -EUCLEAN);
	FAILS(blm_catalog_get(c, name, entry), -EUCLEAN);
	blm_catalog_close(c);
	free(entry);
}
END_TEST

/*
 * The first name of the second leaf is below those of the first one, or ends early for those who
 * read it as a string.
 */
START_TEST(names_out_of_their_order_end_a_listing_as_damage)
{
	size_t page = number_at(table_of_names() + TABLE_ROOT, 8) * PAGE, leaf = page;
	struct blm_entry *entry = malloc(sizeof(*entry));
	char name[BLM_FORMAT_NAME] = "";
	struct blm_catalog *c;
	int r, names = 0;

	while (number_at(leaf + 10, 2) == 1) {
		page = leaf;
		leaf = number_at(node_of(page, 0), 4) * PAGE;
	}
	leaf = number_at(node_of(page, 1), 4) * PAGE;
	OK(blm_catalog_open(&c, "catalog", false));
	OK(blm_catalog_next(c, "", name, entry));
	map[node_of(leaf, 0) + 8 + (_i ? 170 : 0)] = _i ? '\0' : '!';
	for (*name = '\0'; (r = blm_catalog_next(c, name, name, entry)) == 0; names++)
		ck_assert_int_lt(names, NAMES);
	ck_assert_int_eq(r, -EUCLEAN);
	ck_assert_int_gt(names, 0);
	blm_catalog_close(c);
	free(entry);
}
END_TEST

/* ---- Records ---- */

enum { CONSTANT = 44, LABELS = 48 };	/* where a record says how many bytes of each it has */

START_TEST(a_record_of_any_other_length_or_bytes_is_damaged)
{
	static uint8_t record[BLM_RECORD_BYTES_MAX + 8], damaged[BLM_RECORD_BYTES_MAX + 8];
	struct blm_entry *entry = malloc(sizeof(*entry)), *again = malloc(sizeof(*again));
	size_t count;

	an_entry(entry, 3, 100);
	count = blm_record_encode("a", entry, record);
	ck_assert_int_eq(blm_record_decode("a", record, count, again), true);
	ck_assert_mem_eq(again->labels, entry->labels, 100);
	ck_assert(!blm_record_decode("b", record, count, again));
	for (size_t n = 0; n <= sizeof(record); n++)
		if (n != count)
			ck_assert_msg(!blm_record_decode("a", record, n, again), "%zu bytes", n);
	for (size_t at = 0; at < count; at++) {
		memcpy(damaged, record, count);
		damaged[at] ^= 0x10;
		ck_assert_msg(!blm_record_decode("a", damaged, count, again), "byte %zu", at);
	}
	free(entry);
	free(again);
}
END_TEST

/* With its checksum made right. */
static bool decodes_with(const uint8_t *record, size_t count, size_t at, uint32_t x)
{
	static uint8_t changed[BLM_RECORD_BYTES_MAX + 8];
	struct blm_entry *entry = malloc(sizeof(*entry));
	uint64_t sum;
	bool decodes;

	memcpy(changed, record, count);
	x = htole32(x);
	memcpy(changed + at, &x, 4);
	sum = htole64(XXH3_64bits_withSeed(changed, count - 8, XXH3_64bits("a", 1)));
	memcpy(changed + count - 8, &sum, 8);
	decodes = blm_record_decode("a", changed, count, entry);
	free(entry);
	return decodes;
}

START_TEST(a_record_with_inconsistent_numbers_is_damaged_despite_its_checksum)
{
	static uint8_t record[BLM_RECORD_BYTES_MAX];
	struct blm_entry *entry = malloc(sizeof(*entry));
	uint32_t constant, seeds = 64 + offsetof(struct blm_constant, template.seed_count);
	size_t count;

	an_entry(entry, 3, 100);
	count = blm_record_encode("a", entry, record);
	memcpy(&constant, record + CONSTANT, 4);
	constant = le32toh(constant);
	ck_assert(decodes_with(record, count, LABELS, 100));
	ck_assert(!decodes_with(record, count, 0, 2));
	ck_assert(!decodes_with(record, count, 4, (uint32_t)count + 1));
	ck_assert(!decodes_with(record, count, CONSTANT, constant + 8));
	ck_assert(!decodes_with(record, count, CONSTANT, 8));
	ck_assert(!decodes_with(record, count, CONSTANT, 1 << 20));
	ck_assert(!decodes_with(record, count, LABELS, 101));
	ck_assert(!decodes_with(record, count, LABELS, BLM_FORMAT_LABELS));
	ck_assert(!decodes_with(record, count, seeds, 4));
	free(entry);
}
END_TEST

/* ---- Changes, where others changed it before ---- */

static struct blm_catalog *open_one;
static struct blm_entry *of_a;

static void open_catalog(void)
{
	own_folder();
	OK(blm_store_close(open_store(BLM_STORE_CREATE)) ? -1 : 0);
	of_a = malloc(sizeof(*of_a));
	an_entry(of_a, 1, 10);
	OK(blm_catalog_open(&open_one, "s/catalog", true));
	OK(blm_catalog_put(open_one, "a", of_a, BLM_PUT_NEW));
}

/* A record that no filter has, of this many bytes. */
static void spoil(const char *name, size_t count)
{
	uint8_t *garbage = malloc(count);

	memset(garbage, 'x', count);
	blm_catalog_close(open_one);
	put_raw(name, garbage, count);
	OK(blm_catalog_open(&open_one, "s/catalog", true));
	free(garbage);
}

static int change_keys(struct blm_entry *e, void *context)
{
	e->keys++;
	return *(int *)context;
}

START_TEST(a_filter_that_became_another_is_not_removed_or_replaced)
{
	const uint8_t other[16] = { 1 };
	struct blm_entry *there = malloc(sizeof(*there));

	FAILS(blm_catalog_remove(open_one, "a", other), -ENOENT);
	FAILS(blm_catalog_replace(open_one, "a", &(struct blm_handover){ .uuid = other }, of_a),
	      -ENOENT);
	FAILS(blm_catalog_replace(open_one, "b",
				  &(struct blm_handover){ .uuid = of_a->constant.uuid }, of_a),
	      -ENOENT);
	OK(blm_catalog_get(open_one, "a", there));
	ck_assert_mem_eq(there->constant.uuid, of_a->constant.uuid, 16);
	OK(blm_catalog_remove(open_one, "a", of_a->constant.uuid));
	ck_assert_int_eq(blm_catalog_get(open_one, "a", there), -ENOENT);
	free(there);
}
END_TEST

START_TEST(a_damaged_record_can_only_be_replaced_or_removed)
{
	struct blm_entry *there = malloc(sizeof(*there));
	int write = 1;

	spoil("a", 100);
	FAILS(blm_catalog_get(open_one, "a", there), -EUCLEAN);
	FAILS(blm_catalog_change(open_one, "a", change_keys, &write), -EUCLEAN);
	FAILS(blm_catalog_rename(open_one, "a", "b"), -EUCLEAN);
	FAILS(blm_catalog_get(open_one, "a", there), -EUCLEAN);
	OK(blm_catalog_replace(open_one, "a", &(struct blm_handover){ .uuid = of_a->constant.uuid },
			       of_a));
	OK(blm_catalog_get(open_one, "a", there));
	spoil("a", 100);
	OK(blm_catalog_remove(open_one, "a", of_a->constant.uuid));
	spoil("a", 3 * BLM_RECORD_BYTES_MAX);		/* longer than any */
	FAILS(blm_catalog_rename(open_one, "a", "b"), -EUCLEAN);
	OK(blm_catalog_remove(open_one, "a", NULL));
	free(there);
}
END_TEST

START_TEST(a_change_is_written_where_that_is_wanted)
{
	struct blm_entry *there = malloc(sizeof(*there));

	for (int write = 0; write < 2; write++) {
		OK(blm_catalog_change(open_one, "a", change_keys, &write));
		OK(blm_catalog_get(open_one, "a", there));
		ck_assert_uint_eq(there->keys, write);
	}
	ck_assert_int_eq(blm_catalog_change(open_one, "b", change_keys, &(int){ 1 }), -ENOENT);
	ck_assert_int_eq(blm_catalog_change(open_one, "a", change_keys, &(int){ -EPERM }), -EPERM);
	free(there);
}
END_TEST

/*
 * Over the file that is open, not in its place: as `cp` does, which makes the file shorter, and as
 * something does that writes over the old bytes alone.
 */
START_TEST(an_older_copy_written_over_a_catalog_is_followed)
{
	size_t old_bytes;
	uint8_t *old = read_all("s/catalog/data.mdb", &old_bytes);
	char name[16];
	int fd;

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "later%d", i);
		OK(blm_catalog_put(open_one, name, of_a, BLM_PUT_NEW));
	}
	/* the time of the file's change is not so fine */
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	fd = open("s/catalog/data.mdb", O_WRONLY | O_CLOEXEC | (_i ? O_TRUNC : 0));
	ck_assert_int_eq(pwrite(fd, old, old_bytes, 0), (int)old_bytes);
	close(fd);
	OK(blm_catalog_get(open_one, "a", of_a));
	ck_assert_int_eq(blm_catalog_get(open_one, "later1", of_a), -ENOENT);
	OK(blm_catalog_put(open_one, "b", of_a, BLM_PUT_NEW));
	OK(blm_catalog_get(open_one, "a", of_a));
	OK(blm_catalog_get(open_one, "b", of_a));
	ck_assert_int_eq(blm_catalog_get(open_one, "later1", of_a), -ENOENT);
	free(old);
}
END_TEST

START_TEST(an_impossible_filter_name_ends_a_listing_as_damage)
{
	char name[BLM_FORMAT_NAME], impossible[300];

	memset(impossible, 'z', sizeof(impossible) - 1);
	impossible[sizeof(impossible) - 1] = '\0';
	spoil(impossible, 100);
	ck_assert_int_eq(blm_catalog_next(open_one, "", name, of_a), 0);
	ck_assert_str_eq(name, "a");
	FAILS(blm_catalog_next(open_one, "a", name, of_a), -EUCLEAN);
	OK(blm_catalog_remove(open_one, "a", NULL));
	FAILS(blm_catalog_next(open_one, "", name, of_a), -EUCLEAN);
}
END_TEST

START_TEST(a_folder_whose_path_is_too_long_has_no_catalog)
{
	static char folder[4200];
	struct blm_catalog *other;

	memset(folder, 'x', sizeof(folder) - 1);
	FAILS(blm_catalog_open(&other, folder, true), -ENAMETOOLONG);
	FAILS(blm_catalog_make(folder, NULL, 0), -ENAMETOOLONG);
	folder[4092] = '\0';			/* too long only with what is added */
	FAILS(blm_catalog_make(folder, NULL, 0), -ENAMETOOLONG);
	FAILS(blm_catalog_open(&other, folder, false), -ENAMETOOLONG);
}
END_TEST

/* ---- The lock ---- */

START_TEST(readers_create_no_lock_file_and_need_one)
{
	static char folder[4200];
	struct blm_catalog_lock lock;

	ck_assert_int_eq(mkdir("bare", 0755), 0);
	FAILS(blm_catalog_lock_open(&lock, "bare", false), -ENOLCK);
	ck_assert_int_eq(files_in("bare", NULL), 0);
	FAILS(blm_catalog_lock_open(&lock, "nowhere", true), -ENOENT);
	memset(folder, 'x', sizeof(folder) - 1);
	FAILS(blm_catalog_lock_open(&lock, folder, false), -ENAMETOOLONG);
}
END_TEST

START_TEST(waiting_for_another_thread_ends_too)
{
	struct blm_catalog_lock lock;

	ck_assert_int_eq(mkdir("bare", 0755), 0);
	OK(blm_catalog_lock_open(&lock, "bare", true));
	if (!_i) {		/* as on a read-only mount */
		close(lock.fd);
		close(lock.queue);
		lock.fd = lock.queue = -1;
	}
	blm_catalog_lock_limit = 100000000;
	OK(blm_catalog_lock(&lock, false));
	FAILS(blm_catalog_lock(&lock, false), -EBUSY);
	blm_catalog_unlock(&lock);
	OK(blm_catalog_lock(&lock, true));
	blm_catalog_unlock(&lock);
	blm_catalog_lock_close(&lock);
}
END_TEST

/* The folder could not be opened to be read, so this process is not counted as waiting. */
START_TEST(a_wait_that_no_process_counts_ends_too)
{
	struct blm_catalog_lock lock, holder;

	ck_assert_int_eq(mkdir("bare", 0755), 0);
	OK(blm_catalog_lock_open(&holder, "bare", true));
	OK(blm_catalog_lock_open(&lock, "bare", true));
	close(lock.queue);
	lock.queue = -1;
	OK(blm_catalog_lock(&holder, true));
	blm_catalog_lock_limit = 1000000;
	FAILS(blm_catalog_lock(&lock, true), -EBUSY);
	blm_catalog_unlock(&holder);
	OK(blm_catalog_lock(&lock, true));
	blm_catalog_unlock(&lock);
	blm_catalog_lock_close(&lock);
	blm_catalog_lock_close(&holder);
}
END_TEST

static void forget_catalog(void)
{
	blm_catalog_close(open_one);
	free(of_a);
}

static void close_catalog(void)
{
	munmap(map, bytes);
	close(file);
}

int main(void)
{
	Suite *s = suite_create("catalog");
	TCase *pages = tcase_create("pages"), *records = tcase_create("records"),
	      *changes = tcase_create("changes");

	tcase_add_checked_fixture(pages, make_catalog, close_catalog);
	tcase_add_test(pages, each_page_has_the_right_type_and_is_used_once);
	tcase_add_test(pages, a_page_holds_its_nodes);
	tcase_add_test(pages, a_value_with_own_pages_has_only_those);
	tcase_add_test(pages, the_numbers_of_the_tables_are_true);
	tcase_add_test(pages, a_last_transaction_number_that_would_wrap_is_damage);
	tcase_add_test(pages, a_table_without_a_root_is_empty);
	tcase_add_test(pages, a_free_page_is_one_without_references);
	tcase_add_test(pages, the_last_page_is_present_or_was_never_written);
	tcase_add_test(pages, pages_have_one_size_and_two_describe_them);
	tcase_add_test(pages, an_unreadable_file_is_reported_as_unreadable);
	tcase_set_timeout(pages, TOO_LONG);
	tcase_add_loop_test(pages, no_damage_of_pages_is_a_signal, 0, 4);
	tcase_add_test(pages, no_damage_under_an_open_catalog_is_a_signal);
	tcase_add_test(pages, a_walk_of_damaged_pages_ends_within_them);
	tcase_add_test(pages, a_walk_ends_after_any_number_of_pages);
	tcase_add_loop_test(pages, a_table_that_became_too_deep_since_is_damage, 0, 3);
	tcase_add_loop_test(pages, names_out_of_their_order_end_a_listing_as_damage, 0, 2);
	suite_add_tcase(s, pages);
	tcase_add_test(records, a_record_of_any_other_length_or_bytes_is_damaged);
	tcase_add_test(records,
		       a_record_with_inconsistent_numbers_is_damaged_despite_its_checksum);
	suite_add_tcase(s, records);
	tcase_add_checked_fixture(changes, open_catalog, forget_catalog);
	tcase_add_test(changes, a_filter_that_became_another_is_not_removed_or_replaced);
	tcase_add_test(changes, a_damaged_record_can_only_be_replaced_or_removed);
	tcase_add_test(changes, a_change_is_written_where_that_is_wanted);
	tcase_add_loop_test(changes, an_older_copy_written_over_a_catalog_is_followed, 0,
			    2);
	tcase_add_test(changes, an_impossible_filter_name_ends_a_listing_as_damage);
	tcase_add_test(changes, a_folder_whose_path_is_too_long_has_no_catalog);
	tcase_add_test(changes,
		       readers_create_no_lock_file_and_need_one);
	tcase_add_loop_test(changes, waiting_for_another_thread_ends_too, 0, 2);
	tcase_add_test(changes, a_wait_that_no_process_counts_ends_too);
	suite_add_tcase(s, changes);
	return run_suite(s);
}
