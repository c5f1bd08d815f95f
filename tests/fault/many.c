/*
 * many.c - many keys, many processes, many opens: none lost, none won twice, none refused
 *
 * usage: test-many [KEYS [SECONDS [OPENS]]]
 *
 * KEYS is how many several processes add to one filter; then all are asked. Without enough memory
 * for such a filter the keys go into several, one after the other. The test fails if a key is
 * missing: SECONDS is the time limit, for slow machines. OPENS is the number of opens by each of 16
 * processes.
 */
#include "processes.h"
#include "../info.h"

#include <sched.h>
#include <sys/statvfs.h>

enum { ADDERS = 4, TAKE = 4096, BATCH = 1024, CROWD = 64, OWN = 5000, COMMON = 20000 };

static uint64_t keys = 2000000;
static double time_limit = 60;
static unsigned opens = 300;		/* of each of 16 processes */

static struct {
	/* the filter's keys: its first, the next to be added, the one after its last */
	uint64_t from, next, to;
	uint64_t lost, gate;
	uint64_t won[64];
	/* how many processes were told that they were the first with this key */
	uint8_t first[COMMON];
	double end;
} *shared;

static void start_together(unsigned count)
{
	__atomic_fetch_add(&shared->gate, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&shared->gate, __ATOMIC_SEQ_CST) < count)
		usleep(100);
}

static void all_end_well(const pid_t *pid, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		ck_assert_int_eq(join(pid[i]), 0);
}

/* ---- Many keys ---- */

static int add_the_next(int unused)
{
	struct blm_filter *f;
	struct blm_key key[BATCH];
	uint64_t buffer[BATCH], first;

	(void)unused;
	MUST(blm_open(&f, NULL, "many", BLM_OPEN_WRITE) == 0);
	while (seconds() < shared->end
	       && (first = __atomic_fetch_add(&shared->next, TAKE, __ATOMIC_RELAXED)) < shared->to)
		for (uint64_t at = 0; at < TAKE; at += BATCH) {
			number_keys(buffer, key, first + at, BATCH);
			MUST(blm_add_many(f, key, BATCH, NULL) >= 0);
		}
	blm_close(f);
	return 0;
}

static int ask_a_part(int part)
{
	uint64_t pieces = (shared->next - shared->from) / TAKE;
	uint64_t from = shared->from + pieces * (uint64_t)part / ADDERS * TAKE,
		 to = shared->from + pieces * (uint64_t)(part + 1) / ADDERS * TAKE;
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, "many", 0) == 0);
	__atomic_fetch_add(&shared->lost, denied(f, from, to - from), __ATOMIC_RELAXED);
	blm_close(f);
	return 0;
}

static struct blm_params with_capacity_for(uint64_t count)
{
	return BLM_PARAMS(.capacity = count, .rate = 0.01, .sparse = true);
}

static uint64_t bytes_for(uint64_t count)
{
	struct blm_params params = with_capacity_for(count);
	struct blm_plan plan;

	OK(blm_plan(&plan, &params));
	return plan.file_bytes;
}

/* What can be had without swapping. */
static uint64_t memory_available(void)
{
	FILE *in = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];

	ck_assert_ptr_nonnull(in);
	while (fgets(line, sizeof(line), in) && sscanf(line, "MemAvailable: %llu kB", &kib) != 1)
		;
	fclose(in);
	return kib << 10;
}

/*
 * How many of the keys one filter can hold, if it takes no more than half of the memory and of the
 * space that are free.
 */
static uint64_t keys_a_filter(void)
{
	uint64_t count = keys, free_bytes = memory_available();
	struct statvfs disk;

	ck_assert_int_eq(statvfs(".", &disk), 0);
	if ((uint64_t)disk.f_bavail * disk.f_frsize < free_bytes)
		free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	while (count > TAKE && bytes_for(count) > free_bytes / 2)
		count /= 2;
	return (count + TAKE - 1) / TAKE * TAKE;
}

static void add_and_ask(uint64_t count)
{
	struct blm_params params = with_capacity_for(count);
	struct blm_filter *f;
	pid_t pid[ADDERS];

	OK(blm_create(&f, NULL, "many", &params));
	shared->from = shared->next;
	shared->to = shared->from + count;
	for (int i = 0; i < ADDERS; i++)
		pid[i] = spawn(add_the_next, i);
	all_end_well(pid, ADDERS);
	if (shared->next > shared->to)
		shared->next = shared->to;	/* an adder that finds no more took a number, too */
	for (int i = 0; i < ADDERS; i++)
		pid[i] = spawn(ask_a_part, i);
	all_end_well(pid, ADDERS);
	blm_close(f);
	ck_assert_int_eq(unlink("many"), 0);
}

START_TEST(several_processes_that_add_to_one_filter_lose_no_key)
{
	uint64_t most = keys_a_filter();
	double begun = seconds(), limit = begun + time_limit;
	unsigned filters = 0;

	shared = shared_memory(sizeof(*shared));
	do {
		/* asking takes no longer than adding */
		shared->end = seconds() + (limit - seconds()) / 2;
		add_and_ask(keys - shared->next < most ? keys - shared->next : most);
		filters++;
	} while (shared->next < keys && seconds() < limit - 1);
	printf("# %llu of %llu keys added by %d processes to %u filter%s of up to %.1f MB and "
	       "asked for again in %.0f s: %llu lost\n",
	       (unsigned long long)shared->next, (unsigned long long)keys, ADDERS, filters,
	       filters == 1 ? "" : "s, one after the other,", (double)bytes_for(most) / 1e6,
	       seconds() - begun, (unsigned long long)shared->lost);
	fflush(stdout);
	ck_assert_uint_eq(shared->lost, 0);
	ck_assert_uint_eq(shared->next, keys);		/* and not as many as there was time for */
}
END_TEST

/* ---- Small filters, where the processes meet in each word ---- */

enum { ROUNDS = 150, SMALL_KEYS = 400 };

static const char *const kinds[] = { "blocked", "classic", "counting", "removable", "window" };

static struct blm_filter *small[ROUNDS];

static int add_to_all(int which)
{
	start_together(ADDERS);
	for (int i = 0; i < ROUNDS; i++) {
		__atomic_fetch_add(&shared->won[i % 64], 1, __ATOMIC_SEQ_CST);
		for (uint64_t key = (uint64_t)which; key < SMALL_KEYS; key += ADDERS)
			MUST(blm_add(small[i], &key, sizeof(key)) >= 0);
		while (__atomic_load_n(&shared->won[i % 64], __ATOMIC_SEQ_CST)
		       < (uint64_t)ADDERS * (uint64_t)(i / 64 + 1))
			sched_yield();	/* all at one filter at a time */
	}
	return 0;
}

START_TEST(keys_that_share_every_word_are_not_lost)
{
	struct blm_params params = BLM_PARAMS(.kind = kinds[_i], .cells = 4096, .probes = 7);
	pid_t pid[ADDERS];

	shared = shared_memory(sizeof(*shared));
	for (int i = 0; i < ROUNDS; i++)
		OK(blm_create(&small[i], NULL, NULL, &params));
	for (int i = 0; i < ADDERS; i++)
		pid[i] = spawn(add_to_all, i);
	all_end_well(pid, ADDERS);
	for (int i = 0; i < ROUNDS; i++) {
		ck_assert_uint_eq(denied(small[i], 0, SMALL_KEYS), 0);
		blm_close(small[i]);
	}
}
END_TEST

/* ---- Sixty-four processes ---- */

static int work_in_the_crowd(int which)
{
	struct blm_filter *f;
	struct blm_key key[BATCH];
	uint64_t buffer[BATCH], won[BATCH / 64];

	MUST(blm_open(&f, NULL, "crowd", BLM_OPEN_WRITE) == 0);
	start_together(CROWD);
	for (uint64_t at = 0; at < COMMON; at += 100) {
		number_keys(buffer, key, at, 100);
		MUST(blm_claim_many(f, key, 100, won) >= 0);
		for (uint64_t i = 0; i < 100; i++)
			__atomic_fetch_add(&shared->first[at + i], won[i / 64] >> i % 64 & 1,
					   __ATOMIC_RELAXED);
		number_keys(buffer, key, (uint64_t)(which + 1) << 32 | at / 4, 25);
		MUST(blm_add_many(f, key, 25, NULL) >= 0);
	}
	MUST(blm_sync(f) == 0);
	MUST(denied(f, (uint64_t)(which + 1) << 32, OWN) == 0 && denied(f, 0, COMMON) == 0);
	blm_close(f);
	return 0;
}

START_TEST(sixty_four_processes_on_one_filter_claim_each_key_once)
{
	struct blm_filter *f;
	pid_t pid[CROWD];
	unsigned nobodys = 0;

	shared = shared_memory(sizeof(*shared));
	OK(blm_create(&f, NULL, "crowd",
		      &BLM_PARAMS(.capacity = CROWD * OWN + COMMON, .rate = 1e-5)));
	for (int i = 0; i < CROWD; i++)
		pid[i] = spawn(work_in_the_crowd, i);
	all_end_well(pid, CROWD);
	for (int i = 0; i < CROWD; i++)
		ck_assert_uint_eq(denied(f, (uint64_t)(i + 1) << 32, OWN), 0);
	ck_assert_uint_eq(denied(f, 0, COMMON), 0);
	for (int i = 0; i < COMMON; i++) {
		ck_assert_msg(shared->first[i] <= 1, "%d processes were the first with key %d",
			      shared->first[i], i);
		nobodys += !shared->first[i];
	}
	/* false positives, of which 0.2 are to be expected */
	ck_assert_uint_le(nobodys, 5);
	blm_close(f);
}
END_TEST

/* ---- Opening ---- */

enum { OPENERS = 16 };

/* every 50th time, if that is one of those in which it writes */
static bool labels_often(int which)
{
	return which % 2;
}

static int open_often(int which)
{
	struct blm_store *store;
	struct blm_filter *f;

	start_together(OPENERS);
	for (unsigned i = 0; i < opens; i++) {
		bool write = (i + (unsigned)which) % 2;

		MUST(blm_store_open(&store, "s", write ? 0 : BLM_STORE_READ) == 0);
		MUST(blm_open(&f, store, "a", write ? BLM_OPEN_WRITE : 0) == 0);
		MUST(has(f, "key"));
		if (write)
			MUST(blm_add(f, &i, sizeof(i)) >= 0);
		blm_close(f);
		if (i % 50 == 0 && write) {
			char name[32];

			snprintf(name, sizeof(name), "%d", which);
			MUST(blm_store_label(store, "a", name, "was here") == 0);
		}
		blm_store_close(store);
		MUST(blm_open(&f, NULL, "b.blm", write ? BLM_OPEN_WRITE : 0) == 0);
		MUST(has(f, "key"));
		blm_close(f);
		__atomic_fetch_add(&shared->won[which], 1, __ATOMIC_RELAXED);
	}
	return 0;
}

/*
 * Every second process writes, every second time: so all numbers are there, and the labels of half
 * of them.
 */
static void check_opened(void)
{
	struct blm_store *store = open_store(0);
	struct blm_info *info = info_buffer();
	struct blm_filter *f;
	char label[32];

	OK(blm_store_find(store, "a", info));
	OK(blm_open(&f, store, "a", 0));
	for (int which = 0; which < OPENERS; which++) {
		snprintf(label, sizeof(label), "%d=was here", which);
		ck_assert_msg(!labels_often(which) || strstr(info->labels, label),
			      "the label of process %d is lost", which);
		ck_assert_uint_eq(shared->won[which], opens);
	}
	for (unsigned i = 0; i < opens; i++)
		ck_assert_msg(blm_contains(f, &i, sizeof(i)) == 1, "key %u is lost", i);
	blm_close(f);
	blm_store_close(store);
	free(info);
}

START_TEST(sixteen_processes_open_and_close_repeatedly_without_refusal)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	double begun = seconds();
	pid_t pid[OPENERS];

	shared = shared_memory(sizeof(*shared));
	make_with(store, "a", "key");
	make_with(NULL, "b.blm", "key");
	blm_store_close(store);
	for (int i = 0; i < OPENERS; i++)
		pid[i] = spawn(open_often, i);
	all_end_well(pid, OPENERS);
	check_opened();
	printf("# a catalog, a filter in it and one beside it opened %u times each by %d processes "
	       "at once, in %.0f s\n",
	       opens * OPENERS, OPENERS, seconds() - begun);
	fflush(stdout);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 0);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("many");
	TCase *tc = tcase_create("many");

	keys = (how_many(argc, argv, keys) + TAKE - 1) / TAKE * TAKE;
	time_limit = argc > 2 ? atof(argv[2]) : time_limit;
	opens = argc > 3 ? (unsigned)atoi(argv[3]) : is_share() ? opens / 5 : opens;
	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, 300 + 3 * time_limit);
	tcase_add_test(tc, several_processes_that_add_to_one_filter_lose_no_key);
	tcase_add_loop_test(tc, keys_that_share_every_word_are_not_lost, 0,
			    (int)(sizeof(kinds) / sizeof(kinds[0])));
	tcase_add_test(tc, sixty_four_processes_on_one_filter_claim_each_key_once);
	tcase_add_test(tc, sixteen_processes_open_and_close_repeatedly_without_refusal);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
