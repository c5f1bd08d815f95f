/*
 * writers.c - many processes and threads on one filter: nothing is lost, nothing is won twice, no
 * process waits for a dead one
 *
 * Workers report results through memory that they share with the test and that outlives them: a key
 * is acknowledged once the call that added it has returned and its worker has recorded that.
 * $BLOOMERY_TEST_SCALE shortens the test.
 */
#include "handle/handle.h"
#include "suite.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { WORKERS = 4, BATCH = 256, KEY_BYTES = 96 };

static void *shared_memory(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	return p;
}

/* A URL for each number. */
static struct blm_key url(uint64_t number, char buffer[KEY_BYTES])
{
	int len = snprintf(buffer, KEY_BYTES, "https://www%u.example.org/%08x/page-%llu.html",
			   (unsigned)(number % 97), (unsigned)mixed(number),
			   (unsigned long long)number);

	return (struct blm_key){ buffer, (size_t)len };
}

/* ---- Workers ---- */

struct progress {
	uint64_t next;			/* its next key, of its `keys` */
	double longest;			/* seconds that one call took */
	bool done;
};

static struct team {
	const char *dir, *path;		/* dir NULL: path is one */
	uint64_t keys;			/* of each worker: half of them shared by all */
	size_t batch;
	enum { CLAIM, ADD, BY_TURNS } how;
	uint64_t unsynced;		/* batches from one sync of a worker to its next; 0: 500 */
	double *share;			/* of its keys, how far each may be now; NULL: no limit */
	struct progress *progress;
	uint8_t *won, *acknowledged;	/* for each distinct key */
} team;

static uint64_t distinct_keys(void)
{
	return team.keys / 2 * (WORKERS + 1);
}

static void make_team(void)
{
	team.progress = shared_memory(WORKERS * sizeof(*team.progress));
	team.won = shared_memory(distinct_keys());
	team.acknowledged = shared_memory(distinct_keys());
}

/* The i-th key of a worker: shared ones at even i, which all come to at about the same time. */
static uint64_t number_of(unsigned worker, uint64_t i)
{
	return i % 2 ? (worker + 1) * (team.keys / 2) + i / 2 : i / 2;
}

static bool is_claimed(uint64_t i)	/* or added; the same for all who have the key */
{
	return team.how == CLAIM || (team.how == BY_TURNS && i / team.batch % 2 == 0);
}

static struct blm_filter *open_filter(bool write)
{
	struct blm_store *store = NULL;
	struct blm_filter *f;
	int r = team.dir ? blm_store_open(&store, team.dir, 0) : 0;

	if (r == 0)
		r = blm_open(&f, store, team.path, write ? BLM_OPEN_WRITE : 0);
	if (r < 0) {
		fprintf(stderr, "%s\n", blm_error_message());
		_exit(3);
	}
	return f;
}

/*
 * The test lets the workers go on as what it does to them goes on: no clock decides how much they
 * do.
 */
static void let_them_go_to(double share)
{
	__atomic_store(team.share, &share, __ATOMIC_RELEASE);
}

static double may_be_at(void)
{
	double share;

	__atomic_load(team.share, &share, __ATOMIC_ACQUIRE);
	return share;
}

/* A worker does one batch at least, however far it may be. */
static void work_on(struct blm_filter *f, unsigned worker)
{
	struct progress *p = &team.progress[worker];

	for (uint64_t i = p->next; i < team.keys; i = p->next) {
		static _Thread_local char buffer[BATCH][KEY_BYTES];
		struct blm_key keys[BATCH];
		uint64_t bits[BATCH / 64] = { 0 };
		size_t count = team.keys - i < team.batch ? (size_t)(team.keys - i) : team.batch;
		double before, took;
		int64_t r;

		for (size_t j = 0; j < count; j++)
			keys[j] = url(number_of(worker, i + j), buffer[j]);
		before = seconds();
		r = is_claimed(i) ? blm_claim_many(f, keys, count, bits)
				  : blm_add_many(f, keys, count, NULL);
		took = seconds() - before;
		if (r < 0) {
			fprintf(stderr, "worker %u: %s\n", worker, blm_error_message());
			_exit(2);
		}
		if (took > p->longest)
			p->longest = took;
		for (size_t j = 0; j < count; j++) {
			uint64_t number = number_of(worker, i + j);

			if (bits[j / 64] >> j % 64 & 1)
				__atomic_fetch_add(&team.won[number], 1, __ATOMIC_RELAXED);
			__atomic_store_n(&team.acknowledged[number], 1, __ATOMIC_RELEASE);
		}
		__atomic_store_n(&p->next, i + count, __ATOMIC_RELEASE);
		if ((i / team.batch + 1) % (team.unsynced ? team.unsynced : 500) == 0
		    && blm_sync(f) < 0)
			_exit(4);
		while (team.share && may_be_at() < (double)i / (double)team.keys)
			usleep(100);
	}
	__atomic_store_n(&p->done, true, __ATOMIC_RELEASE);
}

static pid_t start(void (*body)(unsigned), unsigned number)
{
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		body(number);
		_exit(0);
	}
	return pid;
}

static void worker_body(unsigned worker)
{
	struct blm_filter *f = open_filter(true);

	work_on(f, worker);
	blm_close(f);
}

static void ends_well(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
}

static void kill_it(pid_t pid)
{
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* ---- What must be true afterwards ---- */

static void every_acknowledged_key_is_found(const struct blm_filter *f)
{
	uint64_t lost = 0;

	for (uint64_t i = 0; i < distinct_keys(); i++)
		if (team.acknowledged[i]) {
			char buffer[KEY_BYTES];
			struct blm_key key = url(i, buffer);

			lost += !blm_contains(f, key.bytes, key.len);
		}
	ck_assert_msg(lost == 0, "%llu acknowledged keys are not found", (unsigned long long)lost);
}

static uint64_t wins(void)	/* no key has two */
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < distinct_keys(); i++) {
		ck_assert_msg(team.won[i] <= 1, "key %llu was won %u times", (unsigned long long)i,
			      team.won[i]);
		sum += team.won[i];
	}
	return sum;
}

/*
 * No worker was killed, so exactly one claimer of each key won it, unless the key seemed to be
 * there before.
 */
static void every_claimed_key_was_won(const struct blm_filter *f)
{
	uint64_t claimed = 0, nobodys = 0;
	struct blm_estimate e;
	double most;

	for (unsigned w = 0; w < WORKERS; w++)
		for (uint64_t i = 0; i < team.keys; i++) {
			uint64_t number = number_of(w, i);
			bool mine = i % 2 || w == 0;	/* not counted before */

			if (mine && is_claimed(i) && team.acknowledged[number]) {
				claimed++;
				nobodys += !team.won[number];
			}
		}
	ck_assert_int_eq(blm_estimate(f, true, &e), 0);
	most = e.rate.value * (double)claimed;
	ck_assert_msg((double)nobodys <= most + 6 * sqrt(most) + 1,
		      "of %llu claimed keys %llu are nobody's", (unsigned long long)claimed,
		      (unsigned long long)nobodys);
}

static uint64_t acknowledged_keys(void)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < distinct_keys(); i++)
		sum += team.acknowledged[i];
	return sum;
}

static uint64_t counted(const struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;

	ck_assert_int_eq(blm_info(f, &info), 0);
	return info.keys;
}

/* Keys that seemed to be there: at most the promised share, and three standard deviations more. */
static double most_false_positives(double rate)
{
	double mean = rate * (double)distinct_keys();

	return mean + 3 * sqrt(mean);
}

static void nobody_waited(void)
{
	for (int w = 0; w < WORKERS; w++)
		ck_assert_msg(team.progress[w].longest < TOO_LONG, "worker %d waited %g s", w,
			      team.progress[w].longest);
}

static void create(const struct blm_kind *kind, uint64_t capacity, double rate)
{
	struct blm_filter *f;

	team.path = strdup(a_path());
	if (blm_kind_can(kind) & BLM_GROWS)	/* six or seven times in a test */
		capacity = capacity / 100 + 1;
	/* with a seed of its own, since the rate of small stages differs much between seeds */
	ck_assert_msg(blm_create(&f, NULL, team.path,
				 &BLM_PARAMS(.kind = kind->name, .capacity = capacity, .rate = rate,
					     .seeds = (uint64_t[]){ 7 },
					     .seed_count = (blm_kind_can(kind) & BLM_GROWS) != 0))
			      == 0,
		      "%s", blm_error_message());
	blm_close(f);
}

/* ---- Four processes ---- */

START_TEST(four_processes_with_many_urls_each_claim_every_url_once)
{
	const char *kind = blm_kind_at((size_t)_i)->name;
	double most = !strcmp(kind, BLM_DEFAULT_KIND) || !strcmp(kind, BLM_EXACT_KIND) ? 1000000
										       : 200000;
	pid_t pid[WORKERS];
	struct blm_filter *f;
	uint64_t won, missing;

	team = (struct team){ .keys = (uint64_t)(most * test_scale()) / 2 * 2,
			      .batch = BATCH,
			      .how = CLAIM };
	make_team();
	create(blm_kind_at((size_t)_i), distinct_keys(), 0.001);
	for (unsigned w = 0; w < WORKERS; w++)
		pid[w] = start(worker_body, w);
	for (unsigned w = 0; w < WORKERS; w++)
		ends_well(pid[w]);
	f = open_filter(false);
	ck_assert_uint_eq(acknowledged_keys(), distinct_keys());
	every_acknowledged_key_is_found(f);
	won = wins();
	missing = distinct_keys() - won;
	ck_assert_msg((double)missing <= most_false_positives(0.001),
		      "%llu of %llu keys were claimed by nobody", (unsigned long long)missing,
		      (unsigned long long)distinct_keys());
	ck_assert_uint_eq(counted(f), won);
	nobody_waited();
	blm_close(f);
}
END_TEST

/* Kill one, start it again where it had got to, see that it gets on. */
static void kill_and_restart(pid_t pid[WORKERS], unsigned most)
{
	uint64_t random = 5;
	unsigned kills = 0;

	while (kills < most) {
		unsigned w = (unsigned)(next_random(&random) % WORKERS);
		struct progress *p = &team.progress[w];
		uint64_t next;
		double killed;

		usleep((useconds_t)(1000 + next_random(&random) % 9000));
		ck_assert(!__atomic_load_n(&p->done, __ATOMIC_ACQUIRE));
		kill_it(pid[w]);
		kills++;
		next = p->next;
		killed = seconds();
		pid[w] = start(worker_body, w);
		while (__atomic_load_n(&p->next, __ATOMIC_ACQUIRE) == next
		       && !__atomic_load_n(&p->done, __ATOMIC_ACQUIRE)) {
			ck_assert_msg(seconds() - killed < TOO_LONG,
				      "worker %u does not get on after kill %u", w, kills);
			usleep(200);
		}
		let_them_go_to((double)kills / most);
	}
}

static void workers_are_killed(const struct blm_kind *kind, int how)
{
	const unsigned kills = (unsigned)(20 + 130 * test_scale());
	pid_t pid[WORKERS];
	struct blm_filter *f;

	/* However few: each worker has twice as many batches as there are kills. */
	team = (struct team){ .keys = 2 * BATCH * kills + (uint64_t)(300000 * test_scale()) / 2 * 2,
			      .batch = BATCH, .how = how, .share = shared_memory(sizeof(double)) };
	make_team();
	create(kind, distinct_keys(), 0.001);
	for (unsigned w = 0; w < WORKERS; w++)
		pid[w] = start(worker_body, w);
	kill_and_restart(pid, kills);
	for (unsigned w = 0; w < WORKERS; w++)
		ends_well(pid[w]);
	f = open_filter(false);
	ck_assert_uint_eq(acknowledged_keys(), distinct_keys());
	every_acknowledged_key_is_found(f);
	if (how == CLAIM) {
		uint64_t missing = distinct_keys() - wins();

		ck_assert_msg((double)missing <= kills * BATCH + most_false_positives(0.001),
			      "%llu keys are claimed by nobody after %u kills",
			      (unsigned long long)missing, kills);
		ck_assert_uint_le(counted(f), distinct_keys());
		ck_assert_uint_ge(counted(f) + kills * BATCH, distinct_keys() - missing);
	}
	nobody_waited();
	blm_close(f);
}

START_TEST(killed_claimers_lose_only_the_claims_of_their_last_batch)
{
	workers_are_killed(blm_kind_at((size_t)_i), CLAIM);
}
END_TEST

START_TEST(killed_adders_lose_no_acknowledged_key)
{
	workers_are_killed(blm_kind_at((size_t)_i), ADD);
}
END_TEST

/* ---- One handle ---- */

static struct blm_filter *the_handle;

static void *thread_body(void *worker)
{
	work_on(the_handle, (unsigned)(uintptr_t)worker);
	return NULL;
}

START_TEST(threads_that_share_a_handle_claim_every_key_once)
{
	pthread_t thread[WORKERS];

	team = (struct team){ .keys = (uint64_t)(200000 * test_scale()) / 2 * 2,
			      .batch = 64,
			      .how = CLAIM,
			      .unsynced = 50 };
	make_team();
	/* more than eight blocks: a sync looks at this many marks at once */
	create(blm_kind_at((size_t)_i), distinct_keys() + 400000, 0.001);
	the_handle = open_filter(true);
	for (uintptr_t w = 0; w < WORKERS; w++)
		ck_assert_int_eq(pthread_create(&thread[w], NULL, thread_body, (void *)w), 0);
	for (int w = 0; w < WORKERS; w++)
		pthread_join(thread[w], NULL);
	every_acknowledged_key_is_found(the_handle);
	ck_assert_double_le((double)(distinct_keys() - wins()), most_false_positives(0.001));
	ck_assert_uint_eq(counted(the_handle), wins());
	blm_close(the_handle);
}
END_TEST

static void forked_body(unsigned worker)
{
	work_on(the_handle, worker);
	if (blm_sync(the_handle) < 0)
		_exit(5);
	blm_close(the_handle);
}

START_TEST(children_go_on_with_their_parents_handle)
{
	pid_t pid[WORKERS];

	team = (struct team){ .keys = (uint64_t)(100000 * test_scale()) / 2 * 2,
			      .batch = 64,
			      .how = _i ? ADD : CLAIM };
	make_team();
	create(blm_kind_at(0), distinct_keys(), 0.001);
	the_handle = open_filter(true);
	ck_assert_int_ge(blm_claim(the_handle, "x", 1), 0);
	for (unsigned w = 1; w < WORKERS; w++)
		pid[w] = start(forked_body, w);
	work_on(the_handle, 0);			/* the parent at the same time */
	for (unsigned w = 1; w < WORKERS; w++)
		ends_well(pid[w]);
	every_acknowledged_key_is_found(the_handle);
	if (team.how == CLAIM) {
		ck_assert_double_le((double)(distinct_keys() - wins()),
				    most_false_positives(0.001));
		ck_assert_uint_eq(counted(the_handle), wins() + 1);
	}
	ck_assert_int_eq(blm_sync(the_handle), 0);
	blm_close(the_handle);
}
END_TEST

static void lock_and_wait(unsigned claims)
{
	for (;;)
		if (claims)
			blm_claim(the_handle, "y", 1);
		else
			blm_sync(the_handle);
}

START_TEST(a_child_killed_with_its_parents_handle_delays_no_writer)
{
	team = (struct team){ 0 };
	create(blm_kind_at(0), 1000, 0.001);
	the_handle = open_filter(true);
	for (unsigned i = 0; i < 20; i++) {
		pid_t pid = start(lock_and_wait, i % 2);
		double begun;

		usleep(3000);
		kill_it(pid);
		begun = seconds();
		ck_assert_int_ge(blm_claim(the_handle, &i, sizeof(i)), 0);
		ck_assert_int_eq(blm_sync(the_handle), 0);
		ck_assert_double_lt(seconds() - begun, TOO_LONG);
	}
	blm_close(the_handle);
}
END_TEST

/* ---- Replacement under load ---- */

static const char *ones_path;
static uint64_t *replacements;

/* An AND with a filter of ones makes a new file each time, with the same keys. */
static void replacer_body(unsigned ignored)
{
	struct blm_filter *f = open_filter(true), *ones;

	(void)ignored;
	if (blm_open(&ones, NULL, ones_path, 0) < 0)
		_exit(6);
	for (;;) {
		if (blm_combine_into(f, BLM_INTERSECT, (const struct blm_filter *const *)&ones, 1,
				     0, NULL)
		    < 0) {
			fprintf(stderr, "replacer: %s\n", blm_error_message());
			_exit(7);
		}
		__atomic_fetch_add(replacements, 1, __ATOMIC_RELAXED);
		usleep(1500);
	}
}

/*
 * A question that begins after the acknowledgement finds the key, whatever is replaced meanwhile.
 */
static void ask_for_some(const struct blm_filter *f, uint64_t *random)
{
	for (int i = 0; i < 200; i++) {
		uint64_t number = next_random(random) % distinct_keys();
		char buffer[KEY_BYTES];
		struct blm_key key;

		if (!__atomic_load_n(&team.acknowledged[number], __ATOMIC_ACQUIRE))
			continue;
		key = url(number, buffer);
		ck_assert_msg(blm_contains(f, key.bytes, key.len), "a reader misses key %llu",
			      (unsigned long long)number);
	}
}

/*
 * On a slow disk a replacement takes its time: every fourth one may finish before its process is
 * killed.
 */
static void wait_for_a_replacement(void)
{
	uint64_t before = __atomic_load_n(replacements, __ATOMIC_RELAXED);
	double begun = seconds();

	while (__atomic_load_n(replacements, __ATOMIC_RELAXED) == before
	       && seconds() - begun < TOO_LONG)
		usleep(500);
}

/* How much of what the test is for has been done: 1 at the end. */
static double done_of(bool killed, unsigned kills)
{
	uint64_t made = __atomic_load_n(replacements, __ATOMIC_RELAXED);
	double of_kills = kills / (12 + 60 * test_scale());
	double of_replacements = (double)made / (killed ? 5 : 10 + 200 * test_scale());

	return killed && of_kills < of_replacements ? of_kills : of_replacements;
}

static void replacement_under_load(const struct blm_kind *kind, bool in_store, bool killed)
{
	struct blm_params params = BLM_PARAMS(.kind = kind->name, .cells = 1 << 23, .probes = 7);
	struct blm_store *store = NULL;
	struct blm_filter *f, *ones, *reader;
	pid_t pid[WORKERS], replacer;
	uint64_t random = 11;
	unsigned kills = 0;

	team = (struct team){ .keys = (uint64_t)(250 + 2000 * test_scale()) * 32, .batch = 16,
			      .how = BY_TURNS, .share = shared_memory(sizeof(double)) };
	make_team();
	replacements = shared_memory(sizeof(*replacements));
	team.dir = in_store ? strdup(a_path()) : NULL;
	team.path = in_store ? "under load" : strdup(a_path());
	ones_path = strdup(a_path());
	if (in_store)
		ck_assert_int_eq(blm_store_open(&store, team.dir, BLM_STORE_CREATE), 0);
	ck_assert_msg(blm_create(&f, store, team.path, &params) == 0, "%s", blm_error_message());
	ck_assert_int_eq(blm_template(&ones, NULL, ones_path, f, 0), 0);
	memset(current_view(ones)->part[0].bytes, 0xff, current_view(ones)->part[0].shape.bytes);
	blm_close(ones);
	blm_close(f);
	/* each process opens its own: LMDB's does not survive a fork */
	blm_store_close(store);

	for (unsigned w = 0; w < WORKERS; w++)
		pid[w] = start(worker_body, w);
	replacer = start(replacer_body, 0);
	reader = open_filter(false);
	while (done_of(killed, kills) < 1) {
		if (killed) {
			if (kills % 4 == 0)
				wait_for_a_replacement();
			else
				usleep((useconds_t)(next_random(&random) % 15000));
			kill_it(replacer);
			kills++;
			replacer = start(replacer_body, 0);
		}
		ask_for_some(reader, &random);
		let_them_go_to(fmin(1, done_of(killed, kills)));
	}
	let_them_go_to(1);
	for (unsigned w = 0; w < WORKERS; w++)
		ends_well(pid[w]);
	kill_it(replacer);

	every_acknowledged_key_is_found(reader);
	f = open_filter(true);
	every_acknowledged_key_is_found(f);
	ck_assert_uint_eq(acknowledged_keys(), distinct_keys());
	ck_assert_uint_gt(wins(), 100);
	every_claimed_key_was_won(f);
	nobody_waited();
	ck_assert_int_eq(blm_status(reader), 0);
	ck_assert_int_ge(blm_add(f, "after", 5), 0);
	ck_assert(blm_contains(reader, "after", 5));
	blm_close(f), blm_close(reader);
	if (in_store)
		ck_assert_int_eq(blm_store_verify(team.dir, true, NULL, NULL), 0);
}

/* _i: bit 0 the kind, bit 1 in a store */
START_TEST(writers_lose_and_double_nothing_while_the_file_is_replaced)
{
	replacement_under_load(blm_kind_at(_i & 1), _i & 2, false);
}
END_TEST

START_TEST(writers_lose_and_double_nothing_despite_killed_replacers)
{
	replacement_under_load(blm_kind_at(_i & 1), _i & 2, true);
}
END_TEST

START_TEST(a_reader_opened_before_follows_every_publication)
{
	struct blm_store *store;
	struct blm_filter *source, *reader, *f;
	const char *dir = a_path();

	ck_assert_int_eq(blm_store_open(&store, dir, BLM_STORE_CREATE), 0);
	ck_assert_int_eq(blm_create(&f, store, "name", &BLM_PARAMS(.capacity = 1000)), 0);
	ck_assert_int_eq(blm_open(&reader, store, "name", 0), 0);
	for (uint32_t i = 0; i < 50; i++) {
		uint32_t gone = i - 1;

		ck_assert_int_eq(blm_create(&source, NULL, a_path(),
					    &BLM_PARAMS(.capacity = 1000, .rate = 1e-9)),
				 0);
		ck_assert_int_eq(blm_add(source, &i, sizeof(i)), 1);
		ck_assert_msg(blm_store_publish(store, "name", source, 0, BLM_PUBLISH_WRITABLE)
				      == 0,
			      "%s", blm_error_message());
		ck_assert(blm_contains(reader, &i, sizeof(i)));
		ck_assert(!blm_contains(reader, &gone, sizeof(gone)));
		ck_assert_int_eq(blm_add(f, "writer", 6), 1);
		ck_assert(blm_contains(reader, "writer", 6));
		blm_close(source);
	}
	blm_close(f), blm_close(reader);
	blm_store_close(store);
}
END_TEST

static int kind_number(const char *name)
{
	int i = 0;

	while (strcmp(blm_kind_at((size_t)i)->name, name))
		i++;
	return i;
}

int main(void)
{
	Suite *s = (prefer_memory(), begin_suite("writers"));
	TCase *tc = tcase_create("writers"), *threads = tcase_create("threads");
	int grows = kind_number("scalable");

	for (int i = 0; blm_kind_at((size_t)i); i++) {
		/*
		 * Slow cases, where only a share of the work is done: each kind in one of its tests
		 * at least.
		 */
		bool share = test_scale() < 1, kill_claimers = !share || (i + 1) % 4 < 2,
		     kill_adders = !share || (i + 1) % 4 >= 2;

		if (!blm_kind_at((size_t)i)->claim || blm_kind_at((size_t)i)->exact
		    || blm_kind_at((size_t)i)->forgets)
			continue;
		tcase_add_loop_test(tc, four_processes_with_many_urls_each_claim_every_url_once, i,
				    i + 1);
		if (kill_claimers)
			tcase_add_loop_test(
				tc, killed_claimers_lose_only_the_claims_of_their_last_batch, i,
				i + 1);
		/*
		 * those that fill keep a key once for each time that it is added, and are full then
		 */
		if (kill_adders && !blm_kind_at((size_t)i)->fills)
			tcase_add_loop_test(tc, killed_adders_lose_no_acknowledged_key, i, i + 1);
		tcase_add_loop_test(threads, threads_that_share_a_handle_claim_every_key_once, i,
				    i + 1);
	}
	tcase_add_loop_test(tc, children_go_on_with_their_parents_handle, grows, grows + 1);
	tcase_add_loop_test(tc, children_go_on_with_their_parents_handle, 0, 2);
	tcase_add_test(tc, a_child_killed_with_its_parents_handle_delays_no_writer);
	tcase_add_loop_test(
		tc, writers_lose_and_double_nothing_while_the_file_is_replaced,
		0, 4);
	tcase_add_loop_test(
		tc, writers_lose_and_double_nothing_despite_killed_replacers,
		0, 4);
	tcase_add_test(tc, a_reader_opened_before_follows_every_publication);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, threads);
	return run_suite(s);
}
