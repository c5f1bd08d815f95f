/*
 * kill_built.c - workers that build, update and merge, killed at any moment: the file under the
 * name is always complete
 *
 * usage: test-kill_built [CYCLES]
 *
 * Each worker updates one set that all share, merges it with another set into a filter of its own,
 * and builds a filter of its own, of another kind each time, which replaces the one before. A cycle
 * kills one of them, or all. An interrupted update was done completely or not at all, both its
 * added and its removed keys; the name of an interrupted build has the old filter or the new one,
 * with all its keys and values; a merged filter has all keys of both. Repair finds nothing but
 * files that killed workers left.
 */
#include "kinds.h"
#include "../info.h"
#include "processes.h"

enum { WORKERS = 3, BATCH = 40, LIVE = 4, BUILT = 5000, FIXED = 300, ROUND = 25 };

static unsigned long cycles = 50;

/* Some that are filled one by one; then all that are built from all their keys. */
enum { FILLED = 4, KINDS = 32 };
static const char *kinds[KINDS] = { "blocked", "cuckoo", "d-left", "split-block" };
static unsigned kind_count;

static void take_kinds_of_registry(void)
{
	struct blm_kind_info kind;

	kind_count = FILLED;
	for (size_t i = 0; (kind = kind_number(i)).name && kind_count < KINDS; i++)
		if (kind.can & BLM_CAN_BUILD)
			kinds[kind_count++] = kind.name;
}

static const struct blm_params set_params =
	BLM_PARAMS(.kind = "golomb", .capacity = 3000, .rate = 1e-9, .options = "counted=1",
		   .seed_count = 1, .seeds = (const uint64_t[]){ 5 }, .replace = true, );

struct log {
	/* the i-th puts batch i into the set and takes batch i - LIVE out */
	uint64_t update_begun, updates;
	/* the i-th is of its own keys, and of another kind than the one before */
	uint64_t build_begun, builds;
	uint64_t merges, operations;
};

static struct log *logs;	/* of the workers */

static void set(uint64_t *count, uint64_t to)
{
	__atomic_store_n(count, to, __ATOMIC_SEQ_CST);
}

/* Different keys for all that any worker does, none of them 0. */
static uint64_t first_key(unsigned worker, unsigned what, uint64_t number)
{
	return (uint64_t)(worker + 1) << 56 | (uint64_t)what << 48 | number << 16;
}

enum { OF_UPDATE, OF_BUILD, OF_FIXED };

static void name_of(char ret[32], const char *what, unsigned worker)
{
	snprintf(ret, 32, "%s-%u", what, worker);
}

/* ---- A worker ---- */

static void update(struct blm_store *store, struct log *log, unsigned worker)
{
	const struct blm_build_options least = { .memory_bytes = 1 };
	uint64_t buffer[BATCH], number = log->updates;
	struct blm_key keys[BATCH];
	struct blm_update *u;

	set(&log->update_begun, number + 1);
	MUST(blm_update_begin(&u, store, "set", NULL, &least) == 0);
	number_keys(buffer, keys, first_key(worker, OF_UPDATE, number), BATCH);
	MUST(blm_update_add_many(u, keys, BATCH) == 0);
	if (number >= LIVE) {
		number_keys(buffer, keys, first_key(worker, OF_UPDATE, number - LIVE), BATCH);
		MUST(blm_update_remove_many(u, keys, BATCH) == 0);
	}
	MUST(blm_update_finish(u) == 0);
	set(&log->updates, number + 1);
}

static struct blm_params params_of_build(uint64_t number)
{
	return BLM_PARAMS(.kind = kinds[number % kind_count], .capacity = BUILT, .rate = 1e-6,
			  .replace = true);
}

static uint64_t value_of(uint64_t key)
{
	return (key ^ key >> 16) % 256;
}

static void build(struct blm_store *store, struct log *log, unsigned worker)
{
	static struct blm_key keys[BUILT];
	static uint64_t buffer[BUILT], values[BUILT];
	uint64_t number = log->builds;
	struct blm_params params = params_of_build(number);
	char name[32];

	number_keys(buffer, keys, first_key(worker, OF_BUILD, number), BUILT);
	for (unsigned i = 0; i < BUILT; i++)
		values[i] = value_of(buffer[i]);
	name_of(name, "built", worker);
	set(&log->build_begun, number + 1);
	MUST(build_with(store, name, &params, keys, values, BUILT) == 0);
	set(&log->builds, number + 1);
}

static void merge(struct blm_store *store, struct log *log, unsigned worker)
{
	struct blm_filter *from[2], *merged;
	char name[32];
	int r;

	name_of(name, "merged", worker);
	r = blm_store_drop(store, name);
	MUST(r == 0 || r == -ENOENT);
	MUST(blm_open(&from[0], store, "fixed", 0) == 0
	     && blm_open(&from[1], store, "set", 0) == 0);
	MUST(blm_merge(&merged, store, name, (const struct blm_filter *const *)from, 2, 0600) == 0);
	MUST(denied(merged, first_key(0, OF_FIXED, 0), FIXED) == 0);
	blm_close(merged);
	blm_close(from[1]);
	blm_close(from[0]);
	set(&log->merges, log->merges + 1);
}

static int worker_body(int worker)
{
	uint64_t random = (uint64_t)getpid() * 31 + logs[worker].operations;
	static void (*const all[])(struct blm_store *, struct log *, unsigned) = { update, build,
										   merge };
	struct blm_store *store;

	MUST(blm_store_open(&store, "s", 0) == 0);
	for (;;) {
		all[one_of(&random, 3)](store, &logs[worker], (unsigned)worker);
		logs[worker].operations++;
	}
}

/* ---- What must hold ---- */

static bool has_all(const struct blm_filter *f, uint64_t first, uint64_t count)
{
	uint64_t lost = denied(f, first, count);

	ck_assert_msg(lost == 0 || lost > count - 3, "%llu of %llu keys are missing",
		      (unsigned long long)lost, (unsigned long long)count);
	return lost == 0;
}

/* The step of a dead worker: from now on it is done, or was never begun. */
static void check_set(struct blm_store *store, struct log *log, unsigned worker)
{
	struct blm_filter *f;

	OK(blm_open(&f, store, "set", 0));
	if (has_all(f, first_key(worker, OF_UPDATE, log->updates), BATCH)) {
		ck_assert_uint_eq(log->update_begun, log->updates + 1);
		log->updates++;
	}
	log->update_begun = log->updates;
	for (uint64_t i = log->updates > 3 * LIVE ? log->updates - 3 * LIVE : 0; i < log->updates;
	     i++)
		ck_assert_msg(has_all(f, first_key(worker, OF_UPDATE, i), BATCH)
				      == (i + LIVE >= log->updates),
			      "batch %llu of %llu", (unsigned long long)i,
			      (unsigned long long)log->updates);
	/* the files that were there from the beginning */
	ck_assert(has_all(f, first_key(0, OF_FIXED, 1), FIXED));
	blm_close(f);
}

static void check_values(const struct blm_filter *f, uint64_t first)
{
	for (uint64_t key = first; key < first + BUILT; key += 7) {
		uint64_t value;

		ck_assert_int_eq(blm_get(f, &key, sizeof(key), &value), 1);
		ck_assert_uint_eq(value, value_of(key));
	}
}

static void check_built(struct blm_store *store, struct log *log, unsigned worker)
{
	struct blm_filter *f;
	struct blm_info *info = info_buffer();
	char name[32];
	int r;

	name_of(name, "built", worker);
	r = blm_open(&f, store, name, 0);
	ck_assert_msg(r == 0 || (r == -ENOENT && !log->builds), "%s", blm_error_message());
	if (r == 0) {
		if (has_all(f, first_key(worker, OF_BUILD, log->builds), BUILT)) {
			ck_assert_uint_eq(log->build_begun, log->builds + 1);
			log->builds++;
		}
		ck_assert_uint_gt(log->builds, 0);
		ck_assert(has_all(f, first_key(worker, OF_BUILD, log->builds - 1), BUILT));
		OK(blm_info(f, info));
		ck_assert_str_eq(info->kind, params_of_build(log->builds - 1).kind);
		if (info->can & BLM_CAN_GET && info->can & BLM_CAN_BUILD)
			check_values(f, first_key(worker, OF_BUILD, log->builds - 1));
		blm_close(f);
	}
	log->build_begun = log->builds;
	free(info);
}

static void check_merged(struct blm_store *store, unsigned worker)
{
	struct blm_filter *f;
	char name[32];
	int r;

	name_of(name, "merged", worker);
	r = blm_open(&f, store, name, 0);
	ck_assert_msg(r == 0 || r == -ENOENT, "%s", blm_error_message());
	if (r == 0) {
		ck_assert(has_all(f, first_key(0, OF_FIXED, 0), FIXED)
			  && has_all(f, first_key(0, OF_FIXED, 1), FIXED));
		blm_close(f);
	}
}

static void check_worker(struct blm_store *store, unsigned worker)
{
	check_set(store, &logs[worker], worker);
	check_built(store, &logs[worker], worker);
	check_merged(store, worker);
}

static void check_finding(void *context, const struct blm_finding *found)
{
	ck_assert_msg(found->repaired && strstr(found->what, "left behind"), "%s: %s", found->file,
		      found->what);
}

static void no_finding(void *context, const struct blm_finding *found)
{
	ck_abort_msg("%s: %s", found->file, found->what);
}

static int count_filters(void *context, const struct blm_info *info, int err)
{
	++*(int *)context;
	return err;
}

/* No worker runs. */
static void check_at_rest(void)
{
	struct blm_store *store = open_store(0);
	int filters = 0;

	OK(blm_store_verify("s", BLM_VERIFY_REPAIR, check_finding, NULL));
	OK(blm_store_verify("s", 0, no_finding, NULL));
	OK(blm_store_list(store, NULL, count_filters, &filters));
	ck_assert_int_eq(files_in("s/filters", NULL), filters);
	only_known_files(store);
	for (unsigned w = 0; w < WORKERS; w++)
		check_worker(store, w);
	blm_store_close(store);
}

/* ---- The cycles ---- */

static void start(void)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_key keys[FIXED];
	uint64_t buffer[FIXED];

	for (unsigned i = 0; i < 2; i++) {
		number_keys(buffer, keys, first_key(0, OF_FIXED, i), FIXED);
		OK(build_with(store, i ? "set" : "fixed", &set_params, keys, NULL, FIXED));
	}
	blm_store_close(store);
}

static void cycle(pid_t pid[WORKERS], uint64_t *random, bool all)
{
	unsigned first = all ? 0 : one_of(random, WORKERS), last = all ? WORKERS - 1 : first;
	struct blm_store *store;

	for (unsigned w = 0; w < WORKERS; w++)
		if (!pid[w])
			pid[w] = spawn(worker_body, (int)w);
	usleep(one_of(random, 40000));
	for (unsigned w = first; w <= last; w++)
		kill_it(pid[w]);
	store = open_store(0);
	for (unsigned w = first; w <= last; w++) {
		pid[w] = 0;
		check_worker(store, w);
	}
	blm_store_close(store);
	if (all)
		check_at_rest();
}

START_TEST(killed_builds_updates_and_merges_are_complete_or_absent)
{
	struct log sum = { 0 };
	pid_t pid[WORKERS] = { 0 };
	uint64_t random = 1;

	logs = shared_memory(WORKERS * sizeof(*logs));
	start();
	for (unsigned long c = 0; c < cycles; c++)
		cycle(pid, &random,
		      c % ROUND == ROUND - 1 || c == cycles - 1 || one_of(&random, 8) == 0);
	for (unsigned w = 0; w < WORKERS; w++) {
		sum.updates += logs[w].updates;
		sum.builds += logs[w].builds;
		sum.merges += logs[w].merges;
	}
	printf("# %lu cycles, %llu updates, %llu builds, %llu merges\n", cycles,
	       (unsigned long long)sum.updates, (unsigned long long)sum.builds,
	       (unsigned long long)sum.merges);
	fflush(stdout);
	ck_assert(sum.updates && sum.builds && sum.merges);
}
END_TEST

int main(int argc, char **argv)
{
	cycles = how_many(argc, argv, cycles);
	take_kinds_of_registry();
	return run_cycles(
		"kill_built",
		killed_builds_updates_and_merges_are_complete_or_absent, cycles);
}
