/*
 * readahead.c - filters that are not in memory: their pages are asked for many at once, and answers
 * are what they are anyway
 */
#include "view/readahead.h"
#include "handle/handle.h"
#include "suite.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MANY = 4000, COLD_BYTES = 64 << 20 };

/* Out of the system's memory; false where that cannot be done. */
static bool forgotten(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t there[COLD_BYTES / 4096];
	uint64_t left = 0;
	void *map;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fsync(fd), 0);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	map = mmap(NULL, COLD_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(map, MAP_FAILED);
	ck_assert_int_eq(mincore(map, COLD_BYTES, there), 0);
	for (size_t i = 0; i < sizeof(there); i++)
		left += there[i] & 1;
	munmap(map, COLD_BYTES);
	close(fd);
	return left <= sizeof(there) / 100;
}

static long waits(void)		/* page faults that waited for the disk */
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_majflt;
}

static const uint64_t seed = 7;

static const char *make_cold(const char *kind)
{
	struct blm_params p = BLM_PARAMS(.kind = kind, .cells = (uint64_t)COLD_BYTES * 8,
					 .probes = 5, .capacity = MANY, .seeds = &seed,
					 .seed_count = 1);
	const char *path = a_path();
	struct blm_filter *f;

	OK(blm_create(&f, NULL, path, &p));
	add_numbers(f, 0, MANY / 2);
	blm_close(f);
	return path;
}

static uint32_t numbers[MANY];
static struct blm_key keys[MANY];
static uint64_t bits[(MANY + 63) / 64];

static void take_numbers(void)
{
	for (uint32_t i = 0; i < MANY; i++) {
		numbers[i] = i;
		keys[i] = (struct blm_key){ &numbers[i], sizeof(numbers[i]) };
	}
}

static const char *const kinds[] = { "blocked", "classic" };

/* What many keys do in a thread that has not yet found the filter to be in memory. */
struct work {
	struct blm_filter *f, *huge;
	int64_t (*many)(struct blm_filter *f, const struct blm_key *keys, size_t count,
			uint64_t *ret_bits);
	int64_t yes;
	long waits;
	/*
	 * by the thread that has found it cold: found of keys that were added, of which one is left
	 * for the last look
	 */
	int64_t to_the_last;
	/* of 100: found by it through a handle that was told to use those */
	int64_t in_huge_pages;
};

static int64_t ask(struct blm_filter *f, const struct blm_key *many, size_t count,
		   uint64_t *ret_bits)
{
	return blm_contains_many(f, many, count, ret_bits);
}

static int64_t ask_hashes(struct blm_filter *f, const struct blm_key *many, size_t count,
			  uint64_t *ret_bits)
{
	struct blm_hash *hashes = malloc(count * sizeof(*hashes));
	int64_t yes;

	OK(blm_hash_many(f, many, count, hashes));
	yes = blm_contains_hashes(f, blm_hash_id(f), hashes, count, ret_bits);
	free(hashes);
	return yes;
}

static void *body_of_work(void *context)
{
	struct work *work = context;

	work->yes = work->many(work->f, keys, MANY, bits);
	work->waits = waits();
	work->to_the_last = blm_contains_many(work->f, keys, BLM_AHEAD + 1, NULL);
	work->in_huge_pages = blm_contains_many(work->huge, keys, 100, NULL);
	return NULL;
}

static struct work work_cold(const char *path,
			     int64_t (*many)(struct blm_filter *, const struct blm_key *, size_t,
					     uint64_t *))
{
	struct work work = { .many = many };
	pthread_t thread;

	ck_assert(forgotten(path));
	OK(blm_open(&work.f, NULL, path, BLM_OPEN_WRITE));
	OK(blm_load(work.f, BLM_SMALL_PAGES));
	OK(blm_open(&work.huge, NULL, path, 0));
	OK(blm_load(work.huge, BLM_HUGE_PAGES));
	ck_assert_int_eq(pthread_create(&thread, NULL, body_of_work, &work), 0);
	pthread_join(thread, NULL);
	OK(work.yes);
	ck_assert_int_eq(work.to_the_last, BLM_AHEAD + 1);
	ck_assert_int_eq(work.in_huge_pages, 100);
	blm_close(work.huge);
	return work;
}

START_TEST(many_questions_to_a_cold_filter_wait_for_few_pages)
{
	const char *path = make_cold(kinds[_i]);
	struct work asked, hashed, changed;

	take_numbers();
	if (!forgotten(path))
		SKIP("what lies in the folder of the tests does not leave the memory");
	asked = work_cold(path, ask);
	ck_assert_int_le(asked.waits, (_i ? 5 : 1) * 1024 + 200);	/* until it was noticed */
	ck_assert_int_ge(asked.yes, MANY / 2);
	for (uint32_t i = 0; i < MANY; i++)
		ck_assert_int_eq(bits[i / 64] >> i % 64 & 1,
				 blm_contains(asked.f, &numbers[i], sizeof(numbers[i])));
	blm_close(asked.f);

	hashed = work_cold(path, ask_hashes);
	ck_assert_int_eq(hashed.yes, asked.yes);
	blm_close(hashed.f);

	changed = work_cold(path, _i ? blm_add_many : blm_claim_many);
	ck_assert_int_le(changed.waits, (_i ? 5 : 1) * 1024 + 200);
	ck_assert_int_eq(changed.yes, MANY - asked.yes);
	ck_assert_uint_eq(numbers_found(changed.f, 0, MANY), MANY);
	blm_close(changed.f);
}
END_TEST

START_TEST(a_filter_beyond_memory_moves_to_small_pages)
{
	const char *path = make_cold("blocked");
	struct blm_filter *f;

	take_numbers();
	if (!forgotten(path))
		SKIP("what lies in the folder of the tests does not leave the memory");
	OK(blm_open(&f, NULL, path, 0));
	OK(blm_load(f, _i ? BLM_HUGE_PAGES : 0));
	ck_assert(current_view(f)->huge);
	current_view(f)->waits = 1000;		/* for each 2 MiB of it, many times over */
	for (int i = 0; i < 10; i++)
		ck_assert_int_ge(blm_contains_many(f, keys, MANY, NULL), MANY / 2);
	ck_assert_int_eq(current_view(f)->huge, _i);
	ck_assert_uint_eq(numbers_found(f, 0, MANY / 2), MANY / 2);
	blm_close(f);
}
END_TEST

START_TEST(a_sparse_filter_is_counted_and_united_completely)
{
	struct blm_params p = BLM_PARAMS(.cells = (uint64_t)COLD_BYTES * 8, .probes = 5,
					 .kind = "blocked", .capacity = MANY, .sparse = true);
	struct blm_filter *a, *b;
	struct blm_estimate of_a, of_b;
	const char *path = a_path();

	OK(blm_create(&a, NULL, a_path(), &p));
	add_numbers(a, 0, MANY);
	OK(blm_estimate(a, true, &of_a));
	OK(blm_combine(&b, NULL, path, BLM_UNION, (const struct blm_filter *[]){ a }, 1, 0, NULL));
	blm_close(b);
	forgotten(path);
	OK(blm_open(&b, NULL, path, 0));
	OK(blm_estimate(b, true, &of_b));
	ck_assert_uint_eq(of_a.ones, of_b.ones);
	ck_assert_uint_eq(of_b.sampled_bytes, COLD_BYTES);
	ck_assert_uint_eq(numbers_found(b, 0, MANY), MANY);
	blm_close(a), blm_close(b);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("readahead");
	TCase *tc = tcase_create("readahead");

	tcase_add_loop_test(tc, many_questions_to_a_cold_filter_wait_for_few_pages, 0, 2);
	tcase_add_loop_test(tc, a_filter_beyond_memory_moves_to_small_pages, 0,
			    2);
	tcase_add_test(tc, a_sparse_filter_is_counted_and_united_completely);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
