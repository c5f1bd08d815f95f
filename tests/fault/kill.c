/*
 * kill.c - workers that do everything to one store, killed at any moment: no acknowledged result is
 * ever untrue
 *
 * usage: test-kill [CYCLES]
 *
 * Four workers; a cycle kills one of them, or all, and looks at the result. A worker records each
 * step and its completion in memory that outlives it. All workers use and replace the key filters
 * and claim filters (by an AND with ones, which removes nothing). Every acknowledged key in these
 * must be found, and each key must be claimed exactly once, except for the keys of a batch that a
 * kill interrupted. A slot is a name of one worker only, so its state is known: as before the step
 * that the kill interrupted, or as after it. All workers use the common names, so that they meet.
 */
#include "processes.h"
#include "../info.h"

#include <math.h>

enum { WORKERS = 4, SLOTS = 4, COMMON = 3, BATCH = 64, ROUND = 100, CLAIMS_MOST = 1 << 19 };

static unsigned long cycles = 50;

/* ---- What everybody works on ---- */

enum fixed {
	KEYS_BLOCKED,
	KEYS_CLASSIC,
	KEYS_PATH,
	KEY_FILTERS,
	CLAIMS_BLOCKED = KEY_FILTERS,
	CLAIMS_CLASSIC,
	CLAIMS_PATH,
	FIXED
};

static const struct {
	const char *name, *ones;
	const char *kind;
	bool in_store;
} fixed[FIXED] = {
	[KEYS_BLOCKED] = { "keys-blocked", "ones-blocked", "blocked", true },
	[KEYS_CLASSIC] = { "keys-classic", "ones-classic", "classic", true },
	[KEYS_PATH] = { "p/keys.blm", "p/ones.blm", "classic", false },
	[CLAIMS_BLOCKED] = { "claims-blocked", "ones-blocked", "blocked", true },
	[CLAIMS_CLASSIC] = { "claims-classic", "ones-classic", "classic", true },
	[CLAIMS_PATH] = { "p/claims.blm", "p/ones.blm", "classic", false },
};

static const char *const paths[] = { "p/keys.blm", "p/claims.blm", "p/ones.blm" };

static struct blm_store *place_of(enum fixed which, struct blm_store *store)
{
	return fixed[which].in_store ? store : NULL;
}

static const uint64_t seed = 7;

static void make_fixed(struct blm_store *store, enum fixed which)
{
	const struct blm_params params = BLM_PARAMS(.kind = fixed[which].kind, .cells = 1 << 21,
						    .probes = 7, .seed_count = 1, .seeds = &seed);
	struct blm_filter *f, *ones;
	int r;

	OK(blm_create(&f, place_of(which, store), fixed[which].name, &params));
	r = blm_template(&ones, place_of(which, store), fixed[which].ones, f, 0);
	if (r != -EEXIST) {
		OK(r);
		set_all_bits(ones);
		blm_close(ones);
	}
	blm_close(f);
}

/* ---- The logs ---- */

enum step { NOTHING, CREATE, TEMPLATE, PUBLISH, REBUILD, CLEAR, SEAL, RENAME, DROP, LABEL, STEPS };

struct slot {
	bool exists, sealed;
	uint32_t content, label;	/* the one key that is in it; its label: 0: none */
};

struct log {
	struct slot slot[2][SLOTS];
	/* 16 * which of the two is true + the step that it is about to do; NOTHING: that is done */
	uint32_t now;
	struct {
		unsigned slot, to;
		uint32_t value;
	} next;
	uint64_t added[KEY_FILTERS];	/* acknowledged keys, numbered from first_key() */
	struct {
		bool under_way;
		enum fixed which;
		uint64_t first;
	/* its batch: a worker that is killed in it may have won keys and told no process */
	} claim;
	uint64_t operations;
	uint32_t value;			/* the last that was used */
	double longest_start, longest;	/* seconds: to open everything; one operation */
	bool asked_to_end;
};

static struct {
	struct log log[WORKERS];
	uint64_t claimed_to[FIXED];
	/* acknowledged; how often with "new" */
	uint8_t told[FIXED][CLAIMS_MOST], new[FIXED][CLAIMS_MOST];
	uint8_t untold[FIXED][CLAIMS_MOST];	/* a kill interrupted a claim of it */
} *shared;

static enum step step_of(const struct log *log)
{
	return log->now % 16;
}

static struct slot *slots_of(struct log *log)
{
	return log->slot[log->now / 16];
}

static uint64_t first_key(unsigned worker, enum fixed which)
{
	return (uint64_t)(worker + 1) << 40 | (uint64_t)which << 36;
}

/* What a step makes of the slots. */
static void apply(struct slot *slots, enum step step, unsigned at, unsigned to, uint32_t value)
{
	struct slot *s = &slots[at];

	switch (step) {
	case CREATE: case TEMPLATE:
		*s = (struct slot){ .exists = true };
		break;
	case PUBLISH: case REBUILD:
		*s = (struct slot){ .exists = true,
				    .content = value,
				    .label = s->exists ? s->label : 0 };
		break;
	case CLEAR:
		s->content = 0;
		break;
	case SEAL:
		s->sealed = true;
		break;
	case RENAME:
		slots[to] = *s;
		*s = (struct slot){ 0 };
		break;
	case DROP:
		*s = (struct slot){ 0 };
		break;
	case LABEL:
		s->label = value;
		break;
	case NOTHING: case STEPS:
		break;
	}
}

static bool makes_sense(const struct slot *slots, enum step step, unsigned at, unsigned to)
{
	const struct slot *s = &slots[at];

	switch (step) {
	case CREATE: case TEMPLATE: return !s->exists;
	case PUBLISH: return true;
	case CLEAR: case SEAL: return s->exists && !s->sealed;
	case RENAME: return s->exists && !slots[to].exists;
	default: return s->exists;
	}
}

/* ---- The steps ---- */

static const struct blm_params small = BLM_PARAMS(.capacity = 100, .rate = 1e-6);

static int add_value(struct blm_filter *f, void *value)
{
	return blm_add(f, value, sizeof(uint32_t));
}

static int publish(struct blm_store *store, const char *name, uint32_t value)
{
	struct blm_filter *f;
	int r;

	MUST(blm_create(&f, NULL, NULL, &small) == 0);
	MUST(blm_add(f, &value, sizeof(value)) == 1);
	r = blm_store_publish(store, name, f, 0, BLM_PUBLISH_WRITABLE);
	blm_close(f);
	return r;
}

static int with_open(struct blm_store *store, const char *name, int (*change)(struct blm_filter *))
{
	struct blm_filter *f;
	int r = blm_open(&f, store, name, BLM_OPEN_WRITE);

	if (r == 0) {
		r = change(f);
		blm_close(f);
	}
	return r;
}

static int template(struct blm_store *store, const char *name)
{
	struct blm_filter *f;
	int r;

	MUST(blm_open(&f, store, fixed[KEYS_BLOCKED].name, 0) == 0);
	r = blm_template(NULL, store, name, f, 0);
	blm_close(f);
	return r;
}

static int do_step(struct blm_store *store, enum step step, const char *name, const char *to,
		   uint32_t value)
{
	struct blm_filter *f;
	char text[16];
	int r;

	switch (step) {
	case CREATE:
		r = blm_create(&f, store, name, &small);
		if (r == 0)
			blm_close(f);
		return r;
	case TEMPLATE: return template(store, name);
	case PUBLISH: return publish(store, name, value);
	case REBUILD: return blm_rebuild(store, name, &small, add_value, &value);
	case CLEAR: return with_open(store, name, blm_clear);
	case SEAL: return with_open(store, name, blm_seal);
	case RENAME: return blm_store_rename(store, name, to);
	case DROP: return blm_store_drop(store, name);
	case LABEL:
		snprintf(text, sizeof(text), "%u", value);
		return blm_store_label(store, name, "value", text);
	case NOTHING: case STEPS: break;
	}
	return 0;
}

static void slot_name(char ret[32], unsigned worker, unsigned slot)
{
	snprintf(ret, 32, "worker %u, slot %u", worker, slot);
}

static void step_on_own(struct blm_store *store, unsigned worker, uint64_t *random)
{
	struct log *log = &shared->log[worker];
	unsigned at = one_of(random, SLOTS), to = (at + 1 + one_of(random, SLOTS - 1)) % SLOTS;
	enum step step = CREATE + one_of(random, STEPS - CREATE);
	char name[32], to_name[32];
	int r;

	if (!makes_sense(slots_of(log), step, at, to))
		return;
	slot_name(name, worker, at);
	slot_name(to_name, worker, to);
	log->next.slot = at;
	log->next.to = to;
	log->next.value = ++log->value;
	__atomic_store_n(&log->now, log->now + step, __ATOMIC_SEQ_CST);
	r = do_step(store, step, name, to_name, log->value);
	if (r < 0)
		fprintf(stderr, "step %d on %s: %d\n", step, name, r);
	MUST(r >= 0);
	memcpy(log->slot[!(log->now / 16)], slots_of(log), sizeof(log->slot[0]));
	apply(log->slot[!(log->now / 16)], step, at, to, log->value);
	__atomic_store_n(&log->now, 16 * !(log->now / 16), __ATOMIC_SEQ_CST);
}

static void step_on_common(struct blm_store *store, uint64_t *random)
{
	enum step step = CREATE + one_of(random, STEPS - CREATE);
	unsigned at = one_of(random, COMMON), to = (at + 1 + one_of(random, COMMON - 1)) % COMMON;
	char name[32], to_name[32];
	int r;

	snprintf(name, sizeof(name), "common %u", at);
	snprintf(to_name, sizeof(to_name), "common %u", to);
	r = do_step(store, step, name, to_name, 1);
	/* others do the same to the same names */
	if (r < 0 && r != -ENOENT && r != -EEXIST && r != -ESTALE && r != -EROFS)
		fprintf(stderr, "step %d on a common name: %d\n", step, r);
	MUST(r >= 0 || r == -ENOENT || r == -EEXIST || r == -ESTALE || r == -EROFS);
}

/* ---- Keys ---- */

static void add_some(struct blm_filter *f, unsigned worker, enum fixed which)
{
	uint64_t buffer[BATCH], *added = &shared->log[worker].added[which];
	struct blm_key keys[BATCH];

	number_keys(buffer, keys, first_key(worker, which) + *added, BATCH);
	MUST(blm_add_many(f, keys, BATCH, NULL) >= 0);
	__atomic_store_n(added, *added + BATCH, __ATOMIC_SEQ_CST);
}

/* At about the place where all are, so that most keys are raced for. */
static void claim_some(struct blm_filter *f, struct log *log, enum fixed which, uint64_t *random)
{
	uint64_t *to = &shared->claimed_to[which], far = __atomic_load_n(to, __ATOMIC_RELAXED),
		 back = one_of(random, 3 * BATCH);
	uint64_t first = far > back ? far - back : 0, buffer[BATCH], won = 0;
	struct blm_key keys[BATCH];

	if (first + BATCH > CLAIMS_MOST)
		return;
	number_keys(buffer, keys, first, BATCH);
	log->claim.which = which;
	log->claim.first = first;
	__atomic_store_n(&log->claim.under_way, true, __ATOMIC_SEQ_CST);
	if (one_of(random, 2))
		MUST(blm_claim_many(f, keys, BATCH, &won) >= 0);
	else
		for (unsigned i = 0; i < BATCH; i++) {
			int r = blm_claim(f, keys[i].bytes, keys[i].len);

			MUST(r >= 0);
			won |= (uint64_t)r << i;
		}
	for (unsigned i = 0; i < BATCH; i++) {
		if (won >> i & 1)
			__atomic_fetch_add(&shared->new[which][first + i], 1, __ATOMIC_SEQ_CST);
		__atomic_store_n(&shared->told[which][first + i], 1, __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&log->claim.under_way, false, __ATOMIC_SEQ_CST);
	while (far < first + BATCH
	       && !__atomic_compare_exchange_n(to, &far, first + BATCH, false, __ATOMIC_SEQ_CST,
					       __ATOMIC_RELAXED))
		;
}

static void replace_by_itself(struct blm_store *store, struct blm_filter *f, enum fixed which)
{
	struct blm_filter *ones;

	MUST(blm_open(&ones, place_of(which, store), fixed[which].ones, 0) == 0);
	MUST(blm_combine_into(f, BLM_INTERSECT, (const struct blm_filter *const[]){ ones }, 1, 0,
			      NULL)
	     == 0);
	blm_close(ones);
}

/* ---- A worker ---- */

static void note_longest(double *longest, double begun)
{
	double took = seconds() - begun;

	if (took > *longest)
		*longest = took;
}

static void work_once(struct blm_store *store, struct blm_filter *const *f, unsigned worker,
		      uint64_t *random)
{
	enum fixed which = one_of(random, FIXED);
	unsigned what = one_of(random, 32);

	if (what < 8)
		step_on_own(store, worker, random);
	else if (what < 11)
		step_on_common(store, random);
	else if (what < 13)
		replace_by_itself(store, f[which], which);
	else if (what < 15)
		MUST(blm_sync(f[which]) == 0);
	else if (which < KEY_FILTERS)
		add_some(f[which], worker, which);
	else
		claim_some(f[which], &shared->log[worker], which, random);
}

static int worker_body(int worker)
{
	struct log *log = &shared->log[worker];
	uint64_t random = (uint64_t)getpid() << 32 ^ log->operations;
	double begun = seconds();
	struct blm_filter *f[FIXED];
	struct blm_store *store;

	MUST(blm_store_open(&store, "s", 0) == 0);
	for (enum fixed i = 0; i < FIXED; i++)
		MUST(blm_open(&f[i], place_of(i, store), fixed[i].name, BLM_OPEN_WRITE) == 0);
	note_longest(&log->longest_start, begun);
	while (!__atomic_load_n(&log->asked_to_end, __ATOMIC_RELAXED)) {
		begun = seconds();
		work_once(store, f, (unsigned)worker, &random);
		note_longest(&log->longest, begun);
		log->operations++;
	}
	for (enum fixed i = 0; i < FIXED; i++)
		blm_close(f[i]);
	blm_store_close(store);
	return 0;
}

/* ---- What must be true ---- */

static struct slot slot_as_found(struct blm_store *store, unsigned worker, unsigned slot,
				 const struct slot *before, const struct slot *after)
{
	struct blm_info *info = info_buffer();
	struct slot found = { 0 };
	struct blm_filter *f;
	char name[32], *value;
	int r;

	slot_name(name, worker, slot);
	r = blm_store_find(store, name, info);
	if (r != -ENOENT) {
		OK(r);
		found.exists = true;
		value = strstr(info->labels, "value=");
		found.label = value ? (uint32_t)strtoul(value + 6, NULL, 10) : 0;
		OK(blm_open(&f, store, name, 0));
		OK(blm_info(f, info));
		found.sealed = info->sealed;
		if (after->content && blm_contains(f, &after->content, sizeof(after->content)))
			found.content = after->content;
		if (before->content && blm_contains(f, &before->content, sizeof(before->content))) {
			ck_assert_msg(!found.content || found.content == before->content,
				      "%s: old and new", name);
			found.content = before->content;
		}
		blm_close(f);
	}
	free(info);
	return found;
}

static bool same(const struct slot *a, const struct slot *b)
{
	return a->exists == b->exists && a->sealed == b->sealed && a->content == b->content
	    && a->label == b->label;
}

/*
 * Each worker's names are as before its last step, or all as after it. From then on, that is how it
 * was.
 */
static void settle_slots(struct blm_store *store, unsigned worker)
{
	struct log *log = &shared->log[worker];
	struct slot after[SLOTS], found[SLOTS], *before = slots_of(log);
	enum step step = step_of(log);
	bool is_before = true, is_after = true;

	memcpy(after, before, sizeof(after));
	apply(after, step, log->next.slot, log->next.to, log->next.value);
	for (unsigned i = 0; i < SLOTS; i++) {
		found[i] = slot_as_found(store, worker, i, &before[i], &after[i]);
		is_before &= same(&found[i], &before[i]);
		is_after &= same(&found[i], &after[i]);
	}
	for (unsigned i = 0; i < SLOTS && !is_before && !is_after; i++)
		fprintf(stderr,
			"# slot %u: found %d/%d/%u/%u, before %d/%d/%u/%u, after %d/%d/%u/%u\n", i,
			found[i].exists, found[i].sealed, found[i].content, found[i].label,
			before[i].exists, before[i].sealed, before[i].content, before[i].label,
			after[i].exists, after[i].sealed, after[i].content, after[i].label);
	ck_assert_msg(is_before || is_after,
		      "worker %u, killed in step %d on slot %u: half of it is done", worker, step,
		      log->next.slot);
	memcpy(before, found, sizeof(found));
	log->now -= step;
}

/* The acknowledged keys from these on. */
struct checked {
	uint64_t added[WORKERS][KEY_FILTERS], claimed[FIXED];
};

static void check_keys(struct blm_store *store, struct checked *from)
{
	for (enum fixed which = 0; which < FIXED; which++) {
		uint64_t claimed = __atomic_load_n(&shared->claimed_to[which], __ATOMIC_SEQ_CST),
			 to[WORKERS];
		struct blm_filter *f;

		for (unsigned w = 0; w < WORKERS && which < KEY_FILTERS; w++)
			to[w] = __atomic_load_n(&shared->log[w].added[which], __ATOMIC_SEQ_CST);
		OK(blm_open(&f, place_of(which, store), fixed[which].name, 0));
		for (unsigned w = 0; w < WORKERS && which < KEY_FILTERS; w++) {
			uint64_t at = from->added[w][which];

			ck_assert_uint_eq(denied(f, first_key(w, which) + at, to[w] - at), 0);
			from->added[w][which] = to[w];
		}
		for (uint64_t i = from->claimed[which]; i < claimed; i++) {
			ck_assert_msg(!__atomic_load_n(&shared->told[which][i], __ATOMIC_SEQ_CST)
					      || blm_contains(f, &i, sizeof(i)),
				      "%s: key %llu is lost", fixed[which].name,
				      (unsigned long long)i);
			ck_assert_msg(shared->new[which][i] <= 1, "%s: key %llu was new %u times",
				      fixed[which].name, (unsigned long long)i,
				      shared->new[which][i]);
		}
		/* others may be at work behind it */
		from->claimed[which] = claimed > 4 * BATCH ? claimed - 4 * BATCH : 0;
		blm_close(f);
	}
}

static void print_finding(void *context, const struct blm_finding *found)
{
	++*(unsigned *)context;
	fprintf(stderr, "# %s: %s%s\n", found->file, found->what,
		found->repaired ? " (repaired)" : "");
}

static void count_finding(void *context, const struct blm_finding *found)
{
	++*(unsigned *)context;
}

static int check_listed(void *context, const struct blm_info *info, int err)
{
	unsigned worker, slot, *count = context;

	ck_assert_int_eq(err, 0);
	ck_assert_msg(access(info->path, R_OK) == 0, "%s: %s is not there", info->name, info->path);
	++*count;
	if (sscanf(info->name, "worker %u, slot %u", &worker, &slot) == 2)
		ck_assert_msg(slots_of(&shared->log[worker])[slot].exists, "%s: nobody made it",
			      info->name);
	else if (strncmp(info->name, "common ", 7) && strncmp(info->name, "ones-", 5)
		 && strncmp(info->name, "keys-", 5))
		ck_assert_msg(!strncmp(info->name, "claims-", 7), "%s: whose is that?", info->name);
	return 0;
}

static int print_known(void *context, const struct blm_info *info, int err)
{
	fprintf(stderr, "# %s: %s\n", info->path, info->name);
	return 0;
}

static void print_files(struct blm_store *store)
{
	DIR *list = opendir("s/filters");

	blm_store_list(store, NULL, print_known, NULL);
	for (struct dirent *e; list && (e = readdir(list)); )
		fprintf(stderr, "# there is %s\n", e->d_name);
	if (list)
		closedir(list);
}

static void check_left(void *context, const struct blm_finding *found)
{
	ck_assert_msg(found->repaired && strstr(found->what, "left behind"), "%s: %s", found->file,
		      found->what);
	++*(unsigned *)context;
}

/*
 * A process that dies between giving the new file a name and renaming it leaves that one file near
 * the path, and no more; verifying the path finds it.
 */
static unsigned repair_paths(void)
{
	unsigned left = 0, wrong = 0;
	int there;

	for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		OK(blm_verify(NULL, paths[i], BLM_VERIFY_REPAIR, check_left, &left));
		OK(blm_verify(NULL, paths[i], 0, print_finding, &wrong));
	}
	ck_assert_uint_eq(wrong, 0);
	there = files_in("p", NULL);
	ck_assert_msg(there == (int)(sizeof(paths) / sizeof(paths[0])),
		      "%d files beside each other, of which %zu are filters", there,
		      sizeof(paths) / sizeof(paths[0]));
	return left;
}

/*
 * No process is at work. A key that was claimed, and was new to no process, is a mistake unless it
 * was a false positive before its first claim. That is at most as likely as the filter says when it
 * has all keys.
 */
static void check_claims(struct blm_store *store)
{
	for (enum fixed which = KEY_FILTERS; which < FIXED; which++) {
		uint64_t claimed = 0, nobodys = 0;
		struct blm_estimate e;
		struct blm_filter *f;
		double most;

		for (uint64_t i = 0; i < shared->claimed_to[which]; i++)
			if (shared->told[which][i] && !shared->untold[which][i]) {
				claimed++;
				nobodys += !shared->new[which][i];
			}
		OK(blm_open(&f, place_of(which, store), fixed[which].name, 0));
		OK(blm_estimate(f, true, &e));
		blm_close(f);
		most = e.rate.value * (double)claimed;
		ck_assert_msg((double)nobodys <= most + 6 * sqrt(most) + 1,
			      "%s: of %llu claimed keys %llu are nobody's", fixed[which].name,
			      (unsigned long long)claimed, (unsigned long long)nobodys);
	}
}

/*
 * No worker runs: all acknowledged results are there, and the files of the dead are found and
 * removed.
 */
static unsigned check_at_rest(void)
{
	struct checked from_the_first = { 0 };
	unsigned listed = 0, left = 0, wrong = 0;
	struct blm_store *store = open_store(0);

	for (unsigned w = 0; w < WORKERS; w++)
		settle_slots(store, w);
	check_keys(store, &from_the_first);
	check_claims(store);
	ck_assert_int_eq(blm_store_verify("s", BLM_VERIFY_REPAIR, count_finding, &left), 0);
	ck_assert_int_eq(blm_store_verify("s", 0, print_finding, &wrong), 0);
	ck_assert_uint_eq(wrong, 0);
	OK(blm_store_list(store, NULL, check_listed, &listed));
	if (files_in("s/filters", NULL) != (int)listed)
		print_files(store);
	only_known_files(store);
	for (unsigned w = 0; w < WORKERS; w++)
		settle_slots(store, w);
	blm_store_close(store);
	return left + repair_paths();
}

/* ---- The cycles ---- */

static void start_round(struct checked *ret)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	for (enum fixed which = 0; which < FIXED; which++) {
		if (fixed[which].in_store)
			blm_store_drop(store, fixed[which].name);
		else
			unlink(fixed[which].name);
		make_fixed(store, which);
		shared->claimed_to[which] = 0;
		memset(shared->told[which], 0, CLAIMS_MOST);
		memset(shared->new[which], 0, CLAIMS_MOST);
		memset(shared->untold[which], 0, CLAIMS_MOST);
		for (unsigned w = 0; w < WORKERS && which < KEY_FILTERS; w++)
			shared->log[w].added[which] = 0;
	}
	blm_store_close(store);
	*ret = (struct checked){ .claimed = { 0 } };
}

/* No worker stopped by itself, which it does when it finds something wrong. */
static void kill_workers(pid_t pid[WORKERS], unsigned first, unsigned count)
{
	for (unsigned w = first; w < first + count; w++)
		kill(pid[w], SIGKILL);
	for (unsigned w = first; w < first + count; w++) {
		struct log *log = &shared->log[w];

		ck_assert_int_eq(join(pid[w]), SIGNALLED + SIGKILL);
		pid[w] = 0;
		if (log->claim.under_way)
			memset(&shared->untold[log->claim.which][log->claim.first], 1, BATCH);
		log->claim.under_way = false;
	}
}

static void cycle(pid_t pid[WORKERS], struct checked *checked, uint64_t *random, double *longest)
{
	bool all = one_of(random, 8) == 0;
	unsigned first = all ? 0 : one_of(random, WORKERS), count = all ? WORKERS : 1;
	struct blm_store *store;
	double begun;

	for (unsigned w = 0; w < WORKERS; w++)
		if (!pid[w])
			pid[w] = spawn(worker_body, (int)w);
	usleep(one_of(random, 20000));
	/* in the middle of whatever: the others wait for it, or do not */
	if (one_of(random, 4) == 0) {
		kill(pid[one_of(random, WORKERS)], SIGSTOP);
		usleep(one_of(random, 5000));
		for (unsigned w = 0; w < WORKERS; w++)
			kill(pid[w], SIGCONT);
	}
	kill_workers(pid, first, count);
	begun = seconds();
	store = open_store(0);
	check_keys(store, checked);
	note_longest(longest, begun);
	for (unsigned w = first; w < first + count; w++)
		settle_slots(store, w);
	blm_store_close(store);
}

START_TEST(killed_workers_lose_nothing_acknowledged_and_leave_nothing_half_done)
{
	pid_t pid[WORKERS] = { 0 };
	uint64_t random = 1, operations = 0, keys = 0, claims = 0;
	unsigned left = 0;
	struct checked checked;
	double longest_look = 0, longest_start = 0, longest = 0;

	shared = shared_memory(sizeof(*shared));
	ck_assert_int_eq(mkdir("p", 0755), 0);
	for (unsigned long c = 0; c < cycles; c++) {
		if (c % ROUND == 0)
			start_round(&checked);
		cycle(pid, &checked, &random, &longest_look);
		if (c % ROUND != ROUND - 1 && c != cycles - 1)
			continue;
		for (unsigned w = 0; w < WORKERS; w++)
			if (pid[w])
				kill_workers(pid, w, 1);
		left += check_at_rest();
		for (enum fixed i = 0; i < KEY_FILTERS; i++)
			for (unsigned w = 0; w < WORKERS; w++)
				keys += shared->log[w].added[i];
		for (enum fixed i = KEY_FILTERS; i < FIXED; i++)
			claims += shared->claimed_to[i];
	}
	for (unsigned w = 0; w < WORKERS; w++) {
		operations += shared->log[w].operations;
		if (shared->log[w].longest > longest)
			longest = shared->log[w].longest;
		if (shared->log[w].longest_start > longest_start)
			longest_start = shared->log[w].longest_start;
	}
	printf("# %lu cycles, %llu operations, %llu keys and %llu claims, none lost or doubled; %u "
	       "files left behind, all found\n"
	       "# the longest, in milliseconds: opening everything after a kill %.0f, looking at "
	       "everything %.0f, an operation %.0f\n",
	       cycles, (unsigned long long)operations, (unsigned long long)keys,
	       (unsigned long long)claims, left, longest_start * 1e3, longest_look * 1e3,
	       longest * 1e3);
	fflush(stdout);
	ck_assert_double_lt(longest_start, TOO_LONG);
	ck_assert_double_lt(longest_look, TOO_LONG);
	ck_assert_double_lt(longest, TOO_LONG);
	ck_assert_uint_gt(operations, cycles);
}
END_TEST

int main(int argc, char **argv)
{
	cycles = how_many(argc, argv, cycles);
	return run_cycles(
		"kill", killed_workers_lose_nothing_acknowledged_and_leave_nothing_half_done,
		cycles);
}
