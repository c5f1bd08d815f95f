/*
 * kill_claims.c - single claims of four processes, which are killed and stopped, while a fifth one
 * replaces, rebuilds and drops the filters: every key is won once
 *
 * usage: test-kill_claims [CYCLES]
 *
 * Keys are numbers below the limit of their filter. The claimers raise the limit, and claim keys
 * near it, so that most keys are raced for. What a claimer was told it writes into memory that
 * outlives it. The changer keeps what was claimed:
 *
 *	replace	an AND with ones makes a new file with the same keys
 *	rebuild	the changer freezes the limit, and gives every key below it to the new file
 *	drop	the same, but the new file gets the name after the old one was dropped
 *
 * A key may be told "new" to one process at most. A key that the filter has, and that no process
 * was told to be new, was given by the changer, or was in the hands of a claimer that was killed.
 */
#include "processes.h"
#include "../info.h"

enum { CLAIMERS = 4, ROUND = 25, CLAIMS_MOST = 1 << 17, NEAR = 1 << 14, RAISES = 8 };

static unsigned long cycles = 30;

/* ---- What everybody works on ---- */

enum which { BLOCKED, CLASSIC, CUCKOO, FILTERS };

static const struct {
	const char *name, *ones, *fresh;	/* ones: NULL, for a kind without intersections */
	struct blm_params params;
} filters[FILTERS] = {
	[BLOCKED] = { "blocked", "ones of blocked", "fresh blocked",
		      BLM_PARAMS(.kind = "blocked", .cells = 1 << 23, .probes = 7) },
	[CLASSIC] = { "classic", "ones of classic", "fresh classic",
		      BLM_PARAMS(.kind = "classic", .cells = 1 << 23, .probes = 7) },
	[CUCKOO] = { "cuckoo", NULL, "fresh cuckoo",
		     BLM_PARAMS(.kind = "cuckoo", .capacity = 2 * CLAIMS_MOST, .rate = 1e-8) },
};

static const uint64_t seed = 7;

/* In the word `limit` above the number of keys. */
#define FROZEN (UINT64_C(1) << 63)

/* What one claimer does. The key is in its hands while `busy`. */
struct hands {
	bool busy;
	enum which which;
	uint64_t key, claims;
};

static struct {
	struct hands hands[CLAIMERS];
	uint64_t limit[FILTERS];
	/* acknowledged at all; how often with "new" */
	uint8_t told[FILTERS][CLAIMS_MOST], new[FILTERS][CLAIMS_MOST];
	/* no process was told about it, but the filter may have it: by a kill; by the changer */
	uint8_t interrupted[FILTERS][CLAIMS_MOST], given[FILTERS][CLAIMS_MOST];
	uint64_t changes, replaced, rebuilt, dropped;
} *shared;

static uint64_t limit_of(enum which which)
{
	return __atomic_load_n(&shared->limit[which], __ATOMIC_SEQ_CST) & ~FROZEN;
}

/* ---- Claimers ---- */

/* While the limit is frozen no key comes in, so the changer knows them all. */
static void raise_limit(enum which which)
{
	uint64_t now = __atomic_load_n(&shared->limit[which], __ATOMIC_SEQ_CST);

	if (now < CLAIMS_MOST)
		__atomic_compare_exchange_n(&shared->limit[which], &now, now + 1, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* A dropped filter has no name until the changer made another one. */
static void open_again(struct blm_store *store, struct blm_filter **f, enum which which)
{
	int r;

	blm_close(*f);
	do {
		r = blm_open(f, store, filters[which].name, BLM_OPEN_WRITE);
		MUST(r == 0 || r == -ENOENT);
		if (r < 0)
			usleep(200);
	} while (r < 0);
}

static void claim_one(struct blm_store *store, struct blm_filter **f, struct hands *hands,
		      uint64_t *random)
{
	enum which which = (enum which)one_of(random, FILTERS);
	uint64_t limit, key;
	int r;

	if (one_of(random, RAISES) == 0)
		raise_limit(which);
	limit = limit_of(which);
	if (limit == 0)
		return;
	key = limit - 1 - one_of(random, limit < NEAR ? (unsigned)limit : NEAR);
	hands->which = which;
	hands->key = key;
	__atomic_store_n(&hands->busy, true, __ATOMIC_SEQ_CST);
	while ((r = blm_claim(f[which], &key, sizeof(key))) == -ESTALE)
		open_again(store, &f[which], which);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", filters[which].name, blm_error_message());
	MUST(r >= 0);
	if (r)
		__atomic_fetch_add(&shared->new[which][key], 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&shared->told[which][key], 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&hands->busy, false, __ATOMIC_SEQ_CST);
	hands->claims++;
}

static int claimer_body(int number)
{
	struct hands *hands = &shared->hands[number];
	uint64_t random = (uint64_t)getpid() << 32 ^ hands->claims;
	struct blm_filter *f[FILTERS] = { NULL };
	struct blm_store *store;

	MUST(blm_store_open(&store, "s", 0) == 0);
	for (enum which i = 0; i < FILTERS; i++)
		open_again(store, &f[i], i);
	for (;;)
		claim_one(store, f, hands, &random);
}

/* ---- The changer ---- */

static int give_all(struct blm_filter *fresh, void *context)
{
	enum which which = *(enum which *)context;
	uint64_t limit = limit_of(which);

	for (uint64_t key = 0; key < limit; key++) {
		int r = blm_add(fresh, &key, sizeof(key));

		if (r < 0)
			return r;
		/* a key that a process was told it won is in the old file already */
		if (!__atomic_load_n(&shared->told[which][key], __ATOMIC_SEQ_CST))
			__atomic_store_n(&shared->given[which][key], 1, __ATOMIC_SEQ_CST);
	}
	return 0;
}

static void freeze(enum which which, bool frozen)
{
	if (frozen)
		__atomic_fetch_or(&shared->limit[which], FROZEN, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(&shared->limit[which], ~FROZEN, __ATOMIC_SEQ_CST);
}

static struct blm_params params_of(enum which which)
{
	struct blm_params params = filters[which].params;

	params.seeds = &seed;
	params.seed_count = 1;
	return params;
}

/*
 * The new file is made under another name. A changer that was killed may have left a file of that
 * name.
 */
static void make_anew(struct blm_store *store, enum which which, bool drops)
{
	const struct blm_params params = params_of(which);
	struct blm_filter *f;
	int r = blm_store_drop(store, filters[which].fresh);

	MUST(r == 0 || r == -ENOENT);
	MUST(blm_create(&f, store, filters[which].fresh, &params) == 0);
	MUST(give_all(f, &which) == 0);
	blm_close(f);
	if (drops)
		MUST(blm_store_drop(store, filters[which].name) == 0);
	MUST(blm_store_rename(store, filters[which].fresh, filters[which].name) == 0);
}

static void replace_by_itself(struct blm_store *store, enum which which)
{
	struct blm_filter *ones, *f;

	MUST(blm_open(&f, store, filters[which].name, BLM_OPEN_WRITE) == 0);
	MUST(blm_open(&ones, store, filters[which].ones, 0) == 0);
	MUST(blm_combine_into(f, BLM_INTERSECT, (const struct blm_filter *const[]){ ones }, 1, 0,
			      NULL)
	     == 0);
	blm_close(ones);
	blm_close(f);
	shared->replaced++;
}

static void change_one(struct blm_store *store, enum which which, uint64_t *random)
{
	const struct blm_params params = params_of(which);

	if (filters[which].ones && one_of(random, 2)) {
		replace_by_itself(store, which);
		return;
	}
	freeze(which, true);
	if (one_of(random, 2)) {
		MUST(blm_rebuild(store, filters[which].name, &params, give_all, &which) == 0);
		shared->rebuilt++;
	} else {
		make_anew(store, which, true);
		shared->dropped++;
	}
	freeze(which, false);
}

/* The changer before may have been killed after it dropped a filter. */
static int changer_body(int unused)
{
	uint64_t random = (uint64_t)getpid();
	struct blm_store *store;
	struct blm_info *info = info_buffer();

	MUST(blm_store_open(&store, "s", 0) == 0);
	for (enum which i = 0; i < FILTERS; i++) {
		freeze(i, true);
		if (blm_store_find(store, filters[i].name, info) == -ENOENT)
			make_anew(store, i, false);
		freeze(i, false);
	}
	for (;;) {
		change_one(store, (enum which)one_of(&random, FILTERS), &random);
		__atomic_fetch_add(&shared->changes, 1, __ATOMIC_SEQ_CST);
	}
}

/* ---- What must be true ---- */

static void check_new(void)
{
	for (enum which i = 0; i < FILTERS; i++)
		for (uint64_t key = 0; key < limit_of(i); key++)
			ck_assert_msg(__atomic_load_n(&shared->new[i][key], __ATOMIC_SEQ_CST) <= 1,
				      "%s: key %llu was new to %u", filters[i].name,
				      (unsigned long long)key, shared->new[i][key]);
}

struct counted {
	uint64_t won, interrupted, given;
};

/*
 * No process is at work. The filters are so large that at most one key of a round is taken for
 * another one, and so is new to no process.
 */
static void check_at_rest(struct counted *ret)
{
	struct blm_store *store = open_store(0);

	check_new();
	for (enum which i = 0; i < FILTERS; i++) {
		uint64_t nobodys = 0;
		struct blm_filter *f;

		OK(blm_open(&f, store, filters[i].name, 0));
		for (uint64_t key = 0; key < limit_of(i); key++) {
			if (!shared->told[i][key])
				continue;
			ck_assert_msg(blm_contains(f, &key, sizeof(key)), "%s: key %llu is lost",
				      filters[i].name, (unsigned long long)key);
			ret->won += shared->new[i][key];
			if (shared->new[i][key])
				continue;
			if (shared->interrupted[i][key])
				ret->interrupted++;
			else if (shared->given[i][key])
				ret->given++;
			else
				nobodys++;
		}
		blm_close(f);
		ck_assert_msg(nobodys <= 1, "%s: %llu keys were new to no process", filters[i].name,
			      (unsigned long long)nobodys);
	}
	blm_store_close(store);
	ck_assert_int_eq(blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL), 0);
}

/* ---- The cycles ---- */

static void make_ones(struct blm_store *store, enum which which, const struct blm_filter *like)
{
	struct blm_filter *ones;
	int r = blm_template(&ones, store, filters[which].ones, like, 0);

	if (r == -EEXIST)
		return;
	OK(r);
	set_all_bits(ones);
	blm_close(ones);
}

static void start_round(void)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	for (enum which i = 0; i < FILTERS; i++) {
		const struct blm_params params = params_of(i);
		struct blm_filter *f;

		blm_store_drop(store, filters[i].name);
		OK(blm_create(&f, store, filters[i].name, &params));
		if (filters[i].ones)
			make_ones(store, i, f);
		blm_close(f);
		shared->limit[i] = 0;
	}
	blm_store_close(store);
	memset(shared->told, 0, sizeof(shared->told));
	memset(shared->new, 0, sizeof(shared->new));
	memset(shared->interrupted, 0, sizeof(shared->interrupted));
	memset(shared->given, 0, sizeof(shared->given));
}

struct team {
	pid_t claimer[CLAIMERS], changer;
};

/* No process ended by itself, which it does when it finds something wrong. */
static void kill_claimer(struct team *team, unsigned i)
{
	struct hands *hands = &shared->hands[i];

	if (!team->claimer[i])
		return;
	kill_it(team->claimer[i]);
	team->claimer[i] = 0;
	if (hands->busy)
		shared->interrupted[hands->which][hands->key] = 1;
	hands->busy = false;
}

static void kill_changer(struct team *team)
{
	if (team->changer)
		kill_it(team->changer);
	team->changer = 0;
}

static uint64_t changes(void)
{
	return __atomic_load_n(&shared->changes, __ATOMIC_SEQ_CST);
}

/*
 * A claimer that is stopped within a claim must find its filter unchanged afterwards. So it is
 * stopped for as long as a change takes, if the change does not wait for it.
 */
static void stop_claimer(const struct team *team, uint64_t *random)
{
	pid_t pid = team->claimer[one_of(random, CLAIMERS)];
	uint64_t before = changes();

	kill(pid, SIGSTOP);
	for (unsigned i = 0; i < 20 && changes() < before + 2; i++)
		usleep(1000);
	kill(pid, SIGCONT);
}

static void stop_changer(const struct team *team, uint64_t *random)
{
	kill(team->changer, SIGSTOP);
	usleep(one_of(random, 5000));
	kill(team->changer, SIGCONT);
}

static void cycle(struct team *team, uint64_t *random)
{
	unsigned whom = one_of(random, CLAIMERS + 4);

	for (unsigned i = 0; i < CLAIMERS; i++)
		if (!team->claimer[i])
			team->claimer[i] = spawn(claimer_body, (int)i);
	if (!team->changer)
		team->changer = spawn(changer_body, 0);
	usleep(one_of(random, 10000));
	if (one_of(random, 8) == 0)
		stop_changer(team, random);
	else
		stop_claimer(team, random);
	/* one claimer, all of them, or the changer */
	for (unsigned i = 0; i < CLAIMERS; i++)
		if (i == whom || whom == CLAIMERS)
			kill_claimer(team, i);
	if (whom > CLAIMERS)
		kill_changer(team);
	check_new();
}

/* All are killed. A filter that was dropped last gets its name back. */
static void settle(struct team *team)
{
	struct blm_store *store = open_store(0);
	struct blm_info *info = info_buffer();

	for (unsigned i = 0; i < CLAIMERS; i++)
		kill_claimer(team, i);
	kill_changer(team);
	for (enum which i = 0; i < FILTERS; i++)
		if (blm_store_find(store, filters[i].name, info) == -ENOENT)
			make_anew(store, i, false);
	free(info);
	blm_store_close(store);
}

START_TEST(each_key_is_won_once_while_claimers_and_changers_die)
{
	struct counted counted = { 0 };
	struct team team = { 0 };
	uint64_t random = 1, claims = 0;

	shared = shared_memory(sizeof(*shared));
	for (unsigned long c = 0; c < cycles; c++) {
		if (c % ROUND == 0)
			start_round();
		cycle(&team, &random);
		if (c % ROUND != ROUND - 1 && c != cycles - 1)
			continue;
		settle(&team);
		check_at_rest(&counted);
	}
	for (unsigned i = 0; i < CLAIMERS; i++)
		claims += shared->hands[i].claims;
	printf("# %lu cycles, %llu claims, %llu keys won, none of them twice; %llu lost by killed "
	       "claimers, no others; %llu given by a rebuild\n"
	       "# %llu replacements, %llu rebuilds, %llu drops\n",
	       cycles, (unsigned long long)claims, (unsigned long long)counted.won,
	       (unsigned long long)counted.interrupted, (unsigned long long)counted.given,
	       (unsigned long long)shared->replaced, (unsigned long long)shared->rebuilt,
	       (unsigned long long)shared->dropped);
	fflush(stdout);
	ck_assert_uint_gt(counted.won, 0);
}
END_TEST

int main(int argc, char **argv)
{
	cycles = how_many(argc, argv, cycles);
	return run_cycles("kill_claims", each_key_is_won_once_while_claimers_and_changers_die,
			  cycles);
}
