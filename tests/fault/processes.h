/*
 * processes.h - what the tests of many processes share: memory that outlives them, time, numbers
 * that look random, keys
 */
#ifndef BLM_FAULT_PROCESSES_H
#define BLM_FAULT_PROCESSES_H

#include "../store/suite.h"

#include <sys/mman.h>
#include <time.h>

static inline void *shared_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	return p;
}

static inline double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline uint64_t next_random(uint64_t *state)	/* splitmix64 */
{
	uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);

	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

static inline unsigned one_of(uint64_t *state, unsigned count)
{
	return (unsigned)(next_random(state) % count);
}

/* Keys that are consecutive numbers. */
static inline void number_keys(uint64_t *buffer, struct blm_key *ret, uint64_t first, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		buffer[i] = first + i;
		ret[i] = (struct blm_key){ &buffer[i], sizeof(buffer[i]) };
	}
}

/* How many of these keys a filter denies. */
static inline uint64_t denied(const struct blm_filter *f, uint64_t first, uint64_t count)
{
	enum { MANY = 1024 };
	struct blm_key keys[MANY];
	uint64_t buffer[MANY], lost = 0;

	for (uint64_t at = 0; at < count; at += MANY) {
		size_t n = count - at < MANY ? (size_t)(count - at) : MANY;

		number_keys(buffer, keys, first + at, n);
		lost += n - (uint64_t)blm_contains_many(f, keys, n, NULL);
	}
	return lost;
}

static inline void kill_it(pid_t pid)
{
	kill(pid, SIGKILL);
	ck_assert_int_eq(join(pid), SIGNALLED + SIGKILL);
}

/* An AND with it takes nothing out. */
static inline void set_all_bits(struct blm_filter *f)
{
	struct blm_info *info = info_buffer();
	uint8_t *bytes;

	OK(blm_info(f, info));
	bytes = malloc(info->data_bytes);
	memset(bytes, 0xff, info->data_bytes);
	OK(blm_data_unite(f, 0, bytes, info->data_bytes));
	free(bytes);
	free(info);
}

/* ---- What is left ---- */

static inline int is_file_of(void *context, const struct blm_info *info, int err)
{
	const char *file = strrchr(info->path, '/');

	return err < 0 ? err : file && !strcmp(file + 1, context);
}

/*
 * For a store without a keyed filter: its folders contain nothing that its catalog does not know.
 */
static inline void only_known_files(struct blm_store *store)
{
	static const char *const folders[] = { "s", "s/catalog", "s/filters", "s/keys" };
	static const char *const known[] = { "catalog", "filters", "keys", "data.mdb", "lock" };

	for (unsigned i = 0; i < 4; i++) {
		DIR *list = opendir(folders[i]);

		/* keys/ is made with the first of them */
		ck_assert_msg(list || i == 3, "%s: %s", folders[i], strerror(errno));
		for (struct dirent *e; list && (e = readdir(list)); ) {
			bool knows = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");

			for (unsigned k = i < 1 ? 0 : 3; i < 2 && k < (i < 1 ? 3 : 5); k++)
				knows |= !strcmp(e->d_name, known[k]);
			if (i == 2)
				knows = knows
				     || blm_store_list(store, NULL, is_file_of, e->d_name) == 1;
			ck_assert_msg(knows, "%s/%s is left: nobody knows it", folders[i],
				      e->d_name);
		}
		if (list)
			closedir(list);
	}
}

/* The argument of a test program: how much of it. */
static inline unsigned long how_many(int argc, char **argv, unsigned long by_default)
{
	return argc > 1 ? strtoul(argv[1], NULL, 10) : by_default;
}

/* The main program of a test that kills processes: it has one test case, with this many cycles. */
static inline int run_cycles(const char *name, const TTest *test, unsigned long cycles)
{
	Suite *s = suite_create(name);
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, TOO_LONG + (double)cycles);
	tcase_add_test(tc, test);
	suite_add_tcase(s, tc);
	return run_suite(s);
}

#endif
