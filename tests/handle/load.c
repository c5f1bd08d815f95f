/*
 * load.c - how filters are placed in memory: aligned, in pages as requested, prefaulted, locked;
 * and the cost of opening
 */
#include "handle/handle.h"
#include "suite.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HUGE_PAGE = 2 << 20, KEYS = 20000 };

/* The system's description of the map around an address. */
struct map {
	uint64_t rss, huge, locked;	/* bytes */
	char flags[256];
};

static struct map map_at(const void *at)
{
	FILE *smaps = fopen("/proc/self/smaps", "re");
	struct map ret = { 0 };
	unsigned long begin, end, kib;
	char line[4400];
	bool here = false;

	ck_assert_ptr_nonnull(smaps);
	while (fgets(line, sizeof(line), smaps))
		if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
			here = begin <= (uintptr_t)at && (uintptr_t)at < end;
		else if (here && sscanf(line, "Rss: %lu kB", &kib) == 1)
			ret.rss = (uint64_t)kib << 10;
		else if (here
			 && (sscanf(line, "FilePmdMapped: %lu kB", &kib) == 1
			     || sscanf(line, "ShmemPmdMapped: %lu kB", &kib) == 1))
			ret.huge += (uint64_t)kib << 10;
		else if (here && sscanf(line, "Locked: %lu kB", &kib) == 1)
			ret.locked = (uint64_t)kib << 10;
		else if (here && !strncmp(line, "VmFlags: ", 9))
			snprintf(ret.flags, sizeof(ret.flags), " %.250s", line + 9);
	fclose(smaps);
	return ret;
}

static bool has(const struct map *map, const char *flag)	/* of proc(5), VmFlags */
{
	char word[8];

	snprintf(word, sizeof(word), " %s ", flag);
	return strstr(map->flags, word);
}

static struct map data_map(const struct blm_filter *f)
{
	return map_at(current_view(f)->part[0].bytes);
}

/* Does the system lock memory here, as it seems to? (Sanitizers do not let it.) */
static bool locks_work(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct map map;

	ck_assert_ptr_ne(page, MAP_FAILED);
	mlock(page, 4096);
	map = map_at(page);
	munmap(page, 4096);
	return has(&map, "lo");
}

static const uint64_t seed = 7;

static struct blm_filter *make(const char *path, uint64_t bytes, bool sparse)
{
	struct blm_params p = BLM_PARAMS(.kind = "blocked", .cells = bytes * 8, .probes = 5,
					 .capacity = KEYS, .seeds = &seed, .seed_count = 1,
					 .sparse = sparse);
	struct blm_filter *f;

	OK(blm_create(&f, NULL, path, &p));
	return f;
}

/* ---- Pages ---- */

START_TEST(parts_over_2_MiB_are_aligned_to_it)
{
	static const uint64_t sizes[] = { HUGE_PAGE + 64, 8 << 20, (20 << 20) + 64 };
	const char *path = a_path();
	struct blm_filter *f = make(path, sizes[_i], true);

	for (int again = 0; again < 2; again++) {
		const struct blm_view *view = current_view(f);

		ck_assert_uint_eq((uintptr_t)view->part[0].bytes % HUGE_PAGE, 0);
		ck_assert_uint_eq((uint64_t)(view->part[0].bytes - view->image.map) % HUGE_PAGE, 0);
		blm_close(f);
		OK(blm_open(&f, NULL, path, 0));
	}
	blm_close(f);
}
END_TEST

/* Written in large pieces and mapped as it should be: the most that the file system does. */
static bool huge_pages_here(void)
{
	const char *path = a_path();
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	uint8_t *piece = calloc(1, 4 << 20),
		*reserved = mmap(NULL, 8 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *at = (uint8_t *)round_up((uintptr_t)reserved, HUGE_PAGE);
	struct map map;

	ck_assert_int_eq(pwrite(fd, piece, 4 << 20, 0), 4 << 20);
	ck_assert_ptr_eq(mmap(at, 4 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0),
			 at);
	madvise(at, 4 << 20, MADV_HUGEPAGE);
	for (int i = 0; i < 4 << 20; i += 4096)
		(void)*(volatile uint8_t *)(at + i);
	map = map_at(at);
	munmap(reserved, 8 << 20);
	close(fd);
	unlink(path);
	free(piece);
	return map.huge > 0;
}

START_TEST(a_filter_is_in_huge_or_small_pages_as_requested)
{
	struct blm_filter *f = make(a_path(), 16 << 20, false);

	OK(blm_load(f, _i ? BLM_SMALL_PAGES : 0));
	add_numbers(f, 0, KEYS);
	if (_i)
		ck_assert_uint_eq(data_map(f).huge, 0);
	else if (huge_pages_here())
		ck_assert_uint_gt(data_map(f).huge, 0);
	else
		SKIP_PART("the folder of the tests has no huge pages");
	ck_assert_uint_gt(data_map(f).rss, 0);
	blm_close(f);
}
END_TEST

START_TEST(the_choice_of_pages_reaches_the_map_and_can_change)
{
	const char *path = a_path();
	struct blm_filter *f = make(path, 8 << 20, false);
	struct map map = data_map(f);

	for (int again = 0; again < 2; again++) {
		if (!has(&map, "hg")) {
			SKIP_PART("this system takes no advice on huge pages");
			break;
		}
		ck_assert(has(&map, "rr"));	/* a miss does not read what lies around it */
		OK(blm_load(f, BLM_SMALL_PAGES));
		map = data_map(f);
		ck_assert(!has(&map, "hg") && has(&map, "rr"));
		OK(blm_load(f, BLM_HUGE_PAGES));
		map = data_map(f);
		ck_assert(has(&map, "hg") && has(&map, "rr"));
		blm_close(f);
		OK(blm_open(&f, NULL, path, 0));
		map = data_map(f);
	}
	blm_close(f);
}
END_TEST

START_TEST(sparse_and_very_large_filters_get_huge_pages_on_request)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
		 most = UINT64_C(1) << 44;
	struct blm_filter *f =
		make(a_path(),
		     _i && memory < most ? round_up(memory, HUGE_PAGE) + HUGE_PAGE : 8 << 20, true);
	struct map map = data_map(f);

	ck_assert(!has(&map, "hg") && has(&map, "rr"));
	OK(blm_load(f, BLM_HUGE_PAGES));
	ck_assert(current_view(f)->huge);
	blm_close(f);
}
END_TEST

/* ---- In memory ---- */

START_TEST(a_filter_that_is_prefaulted_is_in_memory_whole)
{
	const char *path = a_path();
	struct blm_filter *f = make(path, 40 << 20, false);	/* more than is asked for at once */
	struct blm_info info = BLM_INFO;

	add_numbers(f, 0, KEYS);
	OK(blm_info(f, &info));
	blm_close(f);
	OK(blm_open(&f, NULL, path, _i ? BLM_OPEN_WRITE : 0));
	ck_assert_uint_lt(data_map(f).rss, info.data_bytes);
	OK(blm_load(f, BLM_PREFAULT | (_i ? BLM_SMALL_PAGES : 0)));
	ck_assert_uint_ge(data_map(f).rss, info.data_bytes);
	ck_assert_uint_eq(numbers_found(f, 0, KEYS), KEYS);
	blm_close(f);
}
END_TEST

START_TEST(answers_do_not_depend_on_the_pages_in_memory)
{
	static const unsigned flags[] = { 0,
					  BLM_PREFAULT,
					  BLM_LOCK,
					  BLM_HUGE_PAGES,
					  BLM_SMALL_PAGES,
					  BLM_PREFAULT | BLM_SMALL_PAGES,
					  BLM_LOCK | BLM_HUGE_PAGES };
	const char *path = a_path();
	struct blm_filter *f = make(path, 4 << 20, false);
	uint32_t others;

	add_numbers(f, 0, KEYS);
	others = numbers_found(f, KEYS, 4 * KEYS);
	blm_close(f);
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		OK(blm_open(&f, NULL, path, i % 2 ? BLM_OPEN_WRITE : 0));
		OK(blm_load(f, flags[i]));
		ck_assert_uint_eq(numbers_found(f, 0, KEYS), KEYS);
		ck_assert_uint_eq(numbers_found(f, KEYS, 4 * KEYS), others);
		if (i % 2)
			ck_assert_int_eq(blm_add(f, &(uint32_t){ 0 }, 4), 0);
		blm_close(f);
	}
}
END_TEST

START_TEST(a_locked_filter_stays_in_memory_until_it_is_unlocked)
{
	struct blm_filter *f = make(a_path(), 4 << 20, false);
	struct map map;

	if (!locks_work()) {
		blm_close(f);
		SKIP("memory cannot be locked here");
	}
	OK(blm_load(f, BLM_LOCK));
	map = data_map(f);
	ck_assert(has(&map, "lo"));
	ck_assert_uint_ge(map.rss, 4 << 20);
	OK(blm_load(f, BLM_LOCK | BLM_SMALL_PAGES));
	map = data_map(f);
	ck_assert(has(&map, "lo"));
	OK(blm_load(f, 0));
	map = data_map(f);
	ck_assert(!has(&map, "lo"));
	blm_close(f);
}
END_TEST

enum { NO_LIMIT = 77 };

/*
 * Root may lock as much as it likes, so it becomes another user. Root of a user namespace has the
 * limit of others, and perhaps no other user to become.
 */
static int body_of_limited(void *context)
{
	struct rlimit limit = { 64 << 10, 64 << 10 };
	struct blm_filter *f = context;
	void *more;
	int r;

	MUST(setrlimit(RLIMIT_MEMLOCK, &limit) == 0);
	if (geteuid() == 0 && setuid(65534) < 0) {
		more = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MUST(more != MAP_FAILED);
		if (mlock(more, 1 << 20) == 0)
			return NO_LIMIT;
	}
	r = blm_load(f, BLM_LOCK);
	MUST(r == -ENOMEM || r == -EPERM || r == -EAGAIN);
	MUST(strstr(blm_error_message(), "may lock 65536 bytes"));
	MUST(strstr(blm_error_message(), "RLIMIT_MEMLOCK"));
	MUST(numbers_found(f, 0, 100) == 100);
	MUST(blm_add(f, "more", 4) == 1);
	return 0;
}

START_TEST(a_refused_memory_lock_names_the_limit_and_changes_nothing)
{
	struct blm_filter *f = make(a_path(), 4 << 20, false);
	int r;

	add_numbers(f, 0, 100);
	r = locks_work() ? join(spawn(body_of_limited, f)) : 0;
	if (!locks_work())
		SKIP_PART("memory cannot be locked here");
	if (r == NO_LIMIT)
		SKIP_PART("this process may lock as much as it likes, and become no other user");
	else
		ck_assert_int_eq(r, 0);
	blm_close(f);
}
END_TEST

START_TEST(a_replacement_is_loaded_as_its_predecessor_was)
{
	const char *path = a_path();
	struct blm_filter *writer = make(path, 4 << 20, false), *f;
	const struct blm_view *old;
	struct map map;

	OK(blm_open(&f, NULL, path, _i ? BLM_OPEN_WRITE : 0));
	OK(blm_load(f, BLM_PREFAULT | BLM_SMALL_PAGES | (locks_work() ? BLM_LOCK : 0)));
	old = current_view(f);
	OK(blm_clear(writer));
	ck_assert(!blm_contains(f, "a", 1));
	ck_assert_ptr_ne(current_view(f), old);
	map = data_map(f);
	ck_assert(!has(&map, "hg") && has(&map, "rr"));
	ck_assert_uint_ge(map.rss, 4 << 20);
	if (locks_work()) {
		ck_assert(has(&map, "lo"));
		map = map_at(old->part[0].bytes);
		ck_assert(!has(&map, "lo"));
	}
	blm_close(f), blm_close(writer);
}
END_TEST

START_TEST(a_truncated_file_is_not_prefaulted)
{
	const char *path = a_path();
	struct blm_filter *f = make(path, 4 << 20, false);

	ck_assert_int_eq(truncate(path, 4 << 20), 0);
	FAILS(blm_load(f, BLM_PREFAULT), -EIO);
	FAILS(blm_load(f, BLM_LOCK), -EIO);
	blm_close(f);
}
END_TEST

START_TEST(flags_that_exclude_each_other_or_mean_nothing_are_refused)
{
	struct blm_filter *f = make(a_path(), 1 << 20, false);

	FAILS(blm_load(f, BLM_HUGE_PAGES | BLM_SMALL_PAGES), -EINVAL);
	FAILS(blm_load(f, 1u << 20), -EINVAL);
	OK(blm_load(f, 0));
	blm_close(f);
}
END_TEST

/* ---- Opening ---- */

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

static long faults_of_a_question(const char *path, bool write)
{
	long least = 1000000;

	/* the first ones also pay for the allocator and for what is linked late */
	for (int i = 0; i < 5; i++) {
		long before = faults(), count;
		struct blm_filter *f;

		OK(blm_open(&f, NULL, path, write ? BLM_OPEN_WRITE : 0));
		blm_contains(f, "key", 3);
		blm_close(f);
		count = faults() - before;
		least = count < least ? count : least;
	}
	return least;
}

START_TEST(opening_and_asking_touches_few_pages_at_any_size)
{
	static const uint64_t sizes[] = { 1 << 20, 1 << 30, UINT64_C(1) << 40 };
	long count[ARRAY_LEN(sizes)];

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		const char *path = a_path();

		blm_close(make(path, sizes[i], true));
		count[i] = faults_of_a_question(path, _i);
		ck_assert_int_le(count[i], 24);
		ck_assert_int_le(count[i], count[0] + 6);
		unlink(path);
	}
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("load");
	TCase *pages = tcase_create("pages"), *memory = tcase_create("memory"),
	      *opening = tcase_create("opening");

	tcase_add_loop_test(
		pages, parts_over_2_MiB_are_aligned_to_it, 0, 3);
	tcase_add_loop_test(
		pages, a_filter_is_in_huge_or_small_pages_as_requested, 0,
		2);
	tcase_add_test(pages, the_choice_of_pages_reaches_the_map_and_can_change);
	tcase_add_loop_test(pages, sparse_and_very_large_filters_get_huge_pages_on_request, 0,
			    2);
	suite_add_tcase(s, pages);

	tcase_add_loop_test(memory, a_filter_that_is_prefaulted_is_in_memory_whole, 0, 2);
	tcase_add_test(memory, answers_do_not_depend_on_the_pages_in_memory);
	tcase_add_test(memory, a_locked_filter_stays_in_memory_until_it_is_unlocked);
	tcase_add_test(
		memory,
		a_refused_memory_lock_names_the_limit_and_changes_nothing);
	tcase_add_loop_test(memory, a_replacement_is_loaded_as_its_predecessor_was, 0,
			    2);
	tcase_add_test(memory, a_truncated_file_is_not_prefaulted);
	tcase_add_test(memory, flags_that_exclude_each_other_or_mean_nothing_are_refused);
	suite_add_tcase(s, memory);

	tcase_add_loop_test(
		opening,
		opening_and_asking_touches_few_pages_at_any_size, 0,
		2);
	suite_add_tcase(s, opening);
	return run_suite(s);
}
