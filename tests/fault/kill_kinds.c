/*
 * kill_kinds.c - workers that add, remove, grow and rotate, killed at any moment: no key that must
 * be there is missing
 *
 * usage: test-kill_kinds [CYCLES]
 *
 * Four workers use filters of the kinds that do more than set bits; a cycle kills one of them, or
 * all, and looks at the result. A worker's keys are its own, in batches. Before and after each call
 * it writes the intended state of a batch into memory that outlives it. A batch whose state is
 * unknown, because the worker was killed in between, is never touched again: removing keys that are
 * already out would remove those of others. After each kill: every key that is there is found, with
 * its value or a higher one; removed keys are found at the false-positive rate only; repair finds
 * nothing but files of workers that were growing a filter; and every filter stays usable.
 */
#include "processes.h"
#include "../info.h"
#include "../kinds.h"

#include "kind/kind_registry.h"

enum {
	WORKERS = 4,
	BATCH = 16,
	ROUND = 50,
	BATCHES = 1 << 13,
	LIVE = 24,
	SLOTS = 4,
	SLOT_KEYS = 1000
};

static unsigned long cycles = 50;

enum which {
	COUNTING,
	CUCKOO,
	REDIS_CUCKOO,
	IBLT,
	RECENT,
	D_LEFT,
	REMOVABLE,
	SCALABLE,
	WINDOW,
	SPLIT_BLOCK,
	HASH_COMPACT,
	ATTENUATED,
	APPROXIMATOR,
	BITMAP,
	STABLE,
	NAMED,
	KINDS = NAMED + 16	/* room for those of the registry that are not named here */
};

/*
 * Room for the LIVE batches of all workers, and for what is left of a batch of each that is killed
 * in a round; in cuckoo filters just so, that keys be moved; in an iblt so much more that few that
 * are not there are found. Where a key can be denied for others that were taken out the rate is so
 * small that in all a run none is.
 */
static struct blm_params fixed[KINDS] = {
	[COUNTING] = BLM_PARAMS(.kind = "counting", .capacity = 6000, .rate = 0.001),
	[CUCKOO] = BLM_PARAMS(.kind = "cuckoo", .capacity = 2500, .rate = 0.001),
	[REDIS_CUCKOO] = BLM_PARAMS(.kind = "redis-cuckoo", .capacity = 2500, .rate = 0.02),
	[IBLT] = BLM_PARAMS(.kind = "iblt", .capacity = 30000, .options = "key-bytes=8"),
	[RECENT] = BLM_PARAMS(.kind = "recent", .capacity = 2500, .rate = 1e-9,
			      .options = "span=1h,tick=0.1,spare=2"),
	[D_LEFT] = BLM_PARAMS(.kind = "d-left", .capacity = 6000, .rate = 0.001,
			      .options = "spare=2"),
	[REMOVABLE] = BLM_PARAMS(.kind = "removable",
				 .capacity = (uint64_t)WORKERS * BATCHES * BATCH, .rate = 1e-9),
	[SCALABLE] = BLM_PARAMS(.kind = "scalable", .capacity = 100, .rate = 0.001),
	[WINDOW] = BLM_PARAMS(.kind = "window", .capacity = SLOTS * SLOT_KEYS, .rate = 0.001,
			      .options = "slots=4"),
	[SPLIT_BLOCK] = BLM_PARAMS(.kind = "split-block", .capacity = 100000, .rate = 0.001),
	[HASH_COMPACT] = BLM_PARAMS(.kind = "hash-compact", .capacity = 100000, .rate = 0.001),
	[ATTENUATED] = BLM_PARAMS(.kind = "attenuated", .capacity = 100000, .rate = 0.001),
	[APPROXIMATOR] = BLM_PARAMS(.kind = "approximator", .capacity = 100000, .rate = 0.001),
	[BITMAP] = BLM_PARAMS(.kind = "bitmap", .cells = (uint64_t)WORKERS * BATCHES * BATCH),
	[STABLE] = BLM_PARAMS(.kind = "stable", .cells = 100000, .probes = 3, .rate = 0.01,
			      .options = "bits=2"),
};
static unsigned can[KINDS];		/* of enum blm_can */
static enum which kinds = NAMED;	/* how many there are */

static bool is_in_list(const char *name)
{
	/* bits that are set and no more: kill.c has those */
	if (!strcmp(name, "blocked") || !strcmp(name, "classic"))
		return true;
	for (enum which kind = 0; kind < NAMED; kind++)
		if (!strcmp(name, fixed[kind].kind))
			return true;
	return false;
}

/* A kind that rotates must be named, so that the test knows how long it keeps a key. */
static void take_kinds_of_registry(void)
{
	struct blm_kind_info kind, others[KINDS - NAMED];
	unsigned count = other_kinds(BLM_CAN_ADD | BLM_CAN_PUT, 0, is_in_list, others,
				     KINDS - NAMED);

	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++)
		for (enum which k = 0; k < NAMED; k++)
			if (!strcmp(kind.name, fixed[k].kind))
				can[k] = kind.can;
	for (unsigned i = 0; i < count; i++) {
		ck_assert_msg(!(others[i].can & BLM_CAN_ROTATE), "%s: name it in kill_kinds.c",
			      others[i].name);
		can[kinds] = others[i].can;
		fixed[kinds++] = usual_params(&others[i], others[i].can & BLM_EXACT
					      ? (uint64_t)WORKERS * BATCHES * BATCH : 100000,
					      0.001);
	}
}

enum state { NEW, ADDING, THERE, REMOVING, GONE };

struct log {
	uint8_t batch[KINDS][BATCHES];		/* enum state */
	/*
	 * of the window: the number of slots that had ended when the batch began, see
	 * must_be_there()
	 */
	uint64_t past[BATCHES];
	/* keys added to the window; a rotation is SLOT_KEYS of them */
	uint64_t begun, ended;
	uint32_t next[KINDS], oldest[KINDS];	/* batches from the oldest on may be there */
	uint64_t operations;
};

static struct {
	struct log log[WORKERS];
	bool stop;
} *shared;

/* Eight bytes each; of kinds of numbers, numbers below their size. */
struct batch {
	struct blm_key key[BATCH];
	uint64_t number[BATCH];
	char text[BATCH][24];
};

static void keys_of_batch(struct batch *ret, unsigned worker, enum which kind, uint32_t batch)
{
	number_keys(ret->number, ret->key,
		    (uint64_t)(worker + 1) << 48 | (uint64_t)kind << 40 | (uint64_t)batch * BATCH,
		    BATCH);
	for (unsigned i = 0; can[kind] & BLM_EXACT && i < BATCH; i++) {
		snprintf(ret->text[i], sizeof(ret->text[i]), "%llu",
			 (unsigned long long)((uint64_t)worker * BATCHES + batch) * BATCH + i);
		ret->key[i] = (struct blm_key){ ret->text[i], strlen(ret->text[i]) };
	}
}

/* How many of its keys a filter denies. */
static unsigned denied_of(const struct blm_filter *f, unsigned worker, enum which kind,
			  uint32_t batch)
{
	struct batch keys;

	keys_of_batch(&keys, worker, kind, batch);
	return BATCH - (unsigned)blm_contains_many(f, keys.key, BATCH, NULL);
}

static void set(uint8_t *state, enum state to)
{
	__atomic_store_n(state, (uint8_t)to, __ATOMIC_SEQ_CST);
}

static enum state get(const uint8_t *state)
{
	return (enum state)__atomic_load_n(state, __ATOMIC_SEQ_CST);
}

static bool removes(enum which kind)
{
	return can[kind] & BLM_CAN_REMOVE;
}

static bool may_be_full(enum which kind)
{
	return kind == HASH_COMPACT || blm_kind_by_name(fixed[kind].kind)->fills;
}

static bool has_values(enum which kind)
{
	return can[kind] & BLM_CAN_PUT;
}

/* What the keys of a batch have: a distance, or a value of which the greater counts. */
static void values_of(uint64_t values[BATCH], enum which kind, uint32_t batch)
{
	for (unsigned i = 0; i < BATCH; i++)
		values[i] = (batch + i) % (kind == ATTENUATED ? 3 : 200) + (kind == APPROXIMATOR);
}

/* ---- How far the window is ---- */

static void begin(struct log *log, uint64_t keys)
{
	__atomic_fetch_add(&log->begun, keys, __ATOMIC_SEQ_CST);
}

/*
 * Each step that its worker began has taken place, or never will: it returned, or the worker died
 * in it.
 */
static void end(struct log *log)
{
	__atomic_store_n(&log->ended, log->begun, __ATOMIC_SEQ_CST);
}

static uint64_t begun_by_all(void)
{
	uint64_t sum = 0;

	for (unsigned w = 0; w < WORKERS; w++)
		sum += __atomic_load_n(&shared->log[w].begun, __ATOMIC_SEQ_CST);
	return sum;
}

static uint64_t ended_by_all(void)
{
	uint64_t sum = 0;

	for (unsigned w = 0; w < WORKERS; w++)
		sum += __atomic_load_n(&shared->log[w].ended, __ATOMIC_SEQ_CST);
	return sum;
}

/* ---- A worker ---- */

static void add_batch(struct blm_filter *f, struct log *log, unsigned worker, enum which kind)
{
	uint32_t batch = log->next[kind];
	struct batch keys;
	uint64_t values[BATCH];
	int64_t r;

	if (batch == BATCHES)
		return;
	keys_of_batch(&keys, worker, kind, batch);
	if (kind == WINDOW) {
		log->past[batch] = ended_by_all();
		begin(log, BATCH);
	}
	log->next[kind]++;
	set(&log->batch[kind][batch], ADDING);
	values_of(values, kind, batch);
	r = has_values(kind) ? blm_put_many(f, keys.key, values, BATCH, NULL)
			     : blm_add_many(f, keys.key, BATCH, NULL);
	MUST(r >= 0 || (r == -EXFULL && may_be_full(kind)));
	if (r >= 0)
		set(&log->batch[kind][batch], THERE);
	if (kind == WINDOW)
		end(log);
}

static void remove_batch(struct blm_filter *f, struct log *log, unsigned worker, enum which kind)
{
	uint32_t batch = log->oldest[kind];
	struct batch keys;

	if (batch == log->next[kind])
		return;
	log->oldest[kind]++;
	if (get(&log->batch[kind][batch]) != THERE)
		return;
	keys_of_batch(&keys, worker, kind, batch);
	set(&log->batch[kind][batch], REMOVING);
	MUST(blm_remove_many(f, keys.key, BATCH, NULL) == BATCH);
	set(&log->batch[kind][batch], GONE);
}

static void grow(struct blm_filter *f)
{
	int r = blm_grow(f, 0);

	MUST(r == 0 || r == -ERANGE);
}

static void rotate(struct blm_filter *f, struct log *log)
{
	begin(log, SLOT_KEYS);
	MUST(blm_rotate(f) == 0);
	end(log);
}

static void work_once(struct blm_filter *const *f, struct log *log, unsigned worker,
		      uint64_t *random)
{
	enum which kind = one_of(random, kinds);
	unsigned what = one_of(random, 100);
	bool full = log->next[kind] - log->oldest[kind] >= LIVE;

	if (what < 4)
		MUST(blm_sync(f[kind]) == 0);
	else if (what < 6 && can[kind] & BLM_CAN_GROW)
		grow(f[kind]);
	else if (what < 6 && kind == WINDOW)
		rotate(f[kind], log);
	else if (removes(kind) && (full || what < 40))
		remove_batch(f[kind], log, worker, kind);
	else
		add_batch(f[kind], log, worker, kind);
}

static int worker_body(int worker)
{
	struct log *log = &shared->log[worker];
	uint64_t random = (uint64_t)getpid() << 32 ^ log->operations;
	struct blm_filter *f[KINDS];
	struct blm_store *store;

	end(log);
	MUST(blm_store_open(&store, "s", 0) == 0);
	for (enum which i = 0; i < kinds; i++)
		MUST(blm_open(&f[i], store, fixed[i].kind, BLM_OPEN_WRITE) == 0);
	for (; !__atomic_load_n(&shared->stop, __ATOMIC_RELAXED); log->operations++)
		work_once(f, log, (unsigned)worker, &random);
	for (enum which i = 0; i < kinds; i++)
		blm_close(f[i]);
	blm_store_close(store);
	return 0;
}

/* ---- What must be true ---- */

/*
 * Asked before: is it still so? The slot of the batch may have been full but for this batch. It is
 * dropped when SLOTS + 1 more have begun, each of the others after SLOT_KEYS keys at the earliest,
 * or by rotate(). The keys since the batch began are at most those that were begun since and had
 * not ended then: other workers were in the middle of a rotation, or had added keys that were not
 * counted yet. A stable filter forgets any key at any time, and so may a kind that is not named;
 * these only have to stay usable.
 */
static bool must_be_there(const struct log *log, enum which kind, uint32_t batch)
{
	bool forgets = kind == STABLE || (kind >= NAMED && can[kind] & BLM_FORGETS);

	return !forgets && get(&log->batch[kind][batch]) == THERE
	    && (kind != WINDOW || begun_by_all() - log->past[batch] < SLOTS * SLOT_KEYS);
}

/* A distance seldom is less than it was put, a value seldom more. */
static bool values_are_right(const struct blm_filter *f, unsigned worker, enum which kind,
			     uint32_t batch)
{
	uint64_t put[BATCH], got[BATCH];
	struct batch keys;

	keys_of_batch(&keys, worker, kind, batch);
	values_of(put, kind, batch);
	if (blm_get_many(f, keys.key, BATCH, got, NULL) != BATCH)
		return false;
	for (unsigned i = 0; i < BATCH; i++)
		if (kind == ATTENUATED ? got[i] > put[i] : kind == APPROXIMATOR && got[i] < put[i])
			return false;
	return true;
}

/* Those that were taken out, and how many of them are found all the same. */
static void check_gone(const struct blm_filter *f, enum which kind)
{
	uint64_t gone = 0, found = 0;

	for (unsigned w = 0; w < WORKERS; w++)
		for (uint32_t batch = 0; batch < shared->log[w].next[kind]; batch++)
			if (get(&shared->log[w].batch[kind][batch]) == GONE) {
				gone += BATCH;
				found += BATCH - denied_of(f, w, kind, batch);
			}
	ck_assert_msg(found <= gone / 50 + 10,
		      "%s: of %llu keys that were taken out %llu are found", fixed[kind].kind,
		      (unsigned long long)gone, (unsigned long long)found);
}

/* Its next writer finds nothing that is in its way. */
static void check_that_it_goes_on(struct blm_store *store, enum which kind)
{
	struct blm_info *info = info_buffer();
	struct blm_filter *f;
	int64_t r;

	OK(blm_open(&f, store, fixed[kind].kind, BLM_OPEN_WRITE));
	r = has_values(kind) ? blm_put(f, "99999", 5, 1) : blm_add(f, "99999", 5);
	ck_assert_msg(r >= 0 || (r == -EXFULL && kind != SCALABLE), "%s: %s", fixed[kind].kind,
		      blm_error_message());
	ck_assert(r < 0 || blm_contains(f, "99999", 5));
	if (removes(kind) && kind != REMOVABLE && r == 1)
		ck_assert_int_eq(blm_remove(f, "99999", 5), 1);
	OK(blm_sync(f));
	OK(blm_info(f, info));
	ck_assert(!info->dirty);
	blm_close(f);
	free(info);
}

static void check_kind(const struct blm_filter *f, enum which kind, uint32_t newest)
{
	for (unsigned w = 0; w < WORKERS; w++) {
		const struct log *log = &shared->log[w];
		uint32_t next = __atomic_load_n(&log->next[kind], __ATOMIC_SEQ_CST);

		for (uint32_t batch = next > newest ? next - newest : 0; batch < next; batch++)
			if (must_be_there(log, kind, batch) && denied_of(f, w, kind, batch)
			    && must_be_there(log, kind, batch))
				ck_abort_msg("%s: keys of batch %u of worker %u are missing",
					     fixed[kind].kind, batch, w);
			else if (has_values(kind) && must_be_there(log, kind, batch)
				 && !values_are_right(f, w, kind, batch))
				ck_abort_msg("%s: values of batch %u of worker %u are wrong",
					     fixed[kind].kind, batch, w);
	}
}

/* The newest batches of each worker: all at the end of a round. */
static void check_all(struct blm_store *store, uint32_t newest)
{
	for (enum which kind = 0; kind < kinds; kind++) {
		struct blm_filter *f;

		OK(blm_open(&f, store, fixed[kind].kind, 0));
		check_kind(f, kind, newest);
		blm_close(f);
	}
}

static void print_finding(void *context, const struct blm_finding *found)
{
	++*(unsigned *)context;
	fprintf(stderr, "# %s: %s%s\n", found->file, found->what,
		found->repaired ? " (repaired)" : "");
}

static void check_finding(void *context, const struct blm_finding *found)
{
	ck_assert_msg(found->repaired && strstr(found->what, "left behind"), "%s: %s", found->file,
		      found->what);
}

/*
 * No worker runs. Repair finds nothing but files of workers that were growing a filter, and those
 * only once; all filters stay usable.
 */
static uint64_t check_at_rest(void)
{
	struct blm_store *store = open_store(0);
	unsigned wrong = 0;
	uint64_t operations = 0;

	check_all(store, BATCHES);
	ck_assert_int_eq(blm_store_verify("s", BLM_VERIFY_REPAIR, check_finding, NULL), 0);
	ck_assert_int_eq(blm_store_verify("s", 0, print_finding, &wrong), 0);
	ck_assert_uint_eq(wrong, 0);
	ck_assert_int_eq(files_in("s/filters", NULL), (int)kinds);
	only_known_files(store);
	check_all(store, BATCHES);
	for (enum which kind = 0; kind < kinds; kind++) {
		struct blm_filter *f;

		if (!removes(kind))
			continue;
		OK(blm_open(&f, store, fixed[kind].kind, 0));
		check_gone(f, kind);
		blm_close(f);
	}
	for (enum which kind = 0; kind < kinds; kind++)
		check_that_it_goes_on(store, kind);
	blm_store_close(store);
	for (unsigned w = 0; w < WORKERS; w++)
		operations += shared->log[w].operations;
	return operations;
}

/* ---- The cycles ---- */

static void start_round(void)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	memset(shared, 0, sizeof(*shared));
	for (enum which kind = 0; kind < kinds; kind++) {
		struct blm_params params = fixed[kind];

		params.replace = true;
		OK(blm_create(NULL, store, params.kind, &params));
	}
	blm_store_close(store);
}

static void kill_workers(pid_t pid[WORKERS], unsigned first, unsigned count)
{
	for (unsigned w = first; w < first + count; w++)
		kill(pid[w], SIGKILL);
	for (unsigned w = first; w < first + count; w++) {
		ck_assert_int_eq(join(pid[w]), SIGNALLED + SIGKILL);
		pid[w] = 0;
	}
}

static void cycle(pid_t pid[WORKERS], uint64_t *random)
{
	bool all = one_of(random, 8) == 0;
	unsigned first = all ? 0 : one_of(random, WORKERS), count = all ? WORKERS : 1;
	struct blm_store *store;

	for (unsigned w = 0; w < WORKERS; w++)
		if (!pid[w])
			pid[w] = spawn(worker_body, (int)w);
	usleep(one_of(random, 20000));
	kill_workers(pid, first, count);
	store = open_store(0);
	check_all(store, 4 * LIVE);
	blm_store_close(store);
}

START_TEST(killed_adders_removers_growers_and_rotators_lose_no_key)
{
	pid_t pid[WORKERS] = { 0 };
	uint64_t random = 1, operations = 0;

	take_kinds_of_registry();
	shared = shared_memory(sizeof(*shared));
	for (unsigned long c = 0; c < cycles; c++) {
		if (c % ROUND == 0)
			start_round();
		cycle(pid, &random);
		if (c % ROUND != ROUND - 1 && c != cycles - 1)
			continue;
		for (unsigned w = 0; w < WORKERS; w++)
			if (pid[w])
				kill_workers(pid, w, 1);
		operations += check_at_rest();
	}
	printf("# %lu cycles, %llu operations, no key missing\n", cycles,
	       (unsigned long long)operations);
	fflush(stdout);
}
END_TEST

int main(int argc, char **argv)
{
	cycles = how_many(argc, argv, cycles);
	return run_cycles("kill_kinds", killed_adders_removers_growers_and_rotators_lose_no_key,
			  cycles);
}
