/* inject_kinds.c - inject.c's cases of kinds that do more than set bits */
#include "inject.h"
#include "file/layout.h"
#include "kind/kind_registry.h"
#include "interpose.h"
#include "../kinds.h"

#include <fcntl.h>
#include <unistd.h>

/*
 * "a" is of this kind from now on, with the keys that it had; those of the second half are not
 * synced.
 */
void become(struct world *w, struct blm_params params)
{
	struct blm_filter *f;

	params.replace = true;
	/* whose hashes take none */
	params.seed_count =
		strcmp(params.kind, "split-block") && strcmp(params.kind, "redis-cuckoo") ? 1 : 0;
	params.seeds = params.seed_count ? small.seeds : NULL;
	FIXTURE(blm_create(&f, w->store, "a", &params));
	FIXTURE(add_keys(f, 0, COMMON));
	FIXTURE(blm_sync(f));
	FIXTURE(add_keys(f, COMMON, KEYS));
	blm_close(f);
}

/*
 * With cells for few more keys than it will have if some are added once more, so that keys are
 * moved.
 */
static void as_cuckoo(struct world *w)
{
	become(w, BLM_PARAMS(.kind = "cuckoo", .cells = 500, .rate = 1e-6));
}

/* Never synced: the checkpoint image is a hole, for which there may be no room. */
static void as_sparse_cuckoo(struct world *w)
{
	struct blm_params params = BLM_PARAMS(.kind = "cuckoo", .cells = 460, .rate = 1e-6,
					      .seed_count = 1, .seeds = small.seeds, .sparse = true,
					      .replace = true);
	struct blm_filter *f;

	FIXTURE(blm_create(&f, w->store, "a", &params));
	FIXTURE(add_keys(f, 0, KEYS));
	blm_close(f);
}

static void as_redis_cuckoo(struct world *w)
{
	become(w, BLM_PARAMS(.kind = "redis-cuckoo", .capacity = 600, .rate = 0.01,
			     .options = "bucket-size=2"));
}

static const struct blm_params iblt = BLM_PARAMS(.kind = "iblt", .capacity = 300, .rate = 1e-4,
						 .options = "key-bytes=24");

static void as_iblt(struct world *w)
{
	become(w, iblt);
}

/* "b", too. */
static void as_two_iblt(struct world *w)
{
	struct blm_params params = iblt;
	struct blm_filter *f;

	as_iblt(w);
	params.seeds = small.seeds;
	params.seed_count = 1;
	params.replace = true;
	FIXTURE(blm_create(&f, w->store, "b", &params));
	FIXTURE(add_keys(f, COMMON, 300));
	blm_close(f);
}

void as_counting(struct world *w)
{
	become(w, BLM_PARAMS(.kind = "counting", .capacity = 600, .rate = 1e-6));
}

/* "b", too. */
static void as_two_counting(struct world *w)
{
	struct blm_params params = BLM_PARAMS(.kind = "counting", .capacity = 600, .rate = 1e-6,
					      .seed_count = 1, .seeds = small.seeds,
					      .replace = true);
	struct blm_filter *f;

	as_counting(w);
	FIXTURE(blm_create(&f, w->store, "b", &params));
	FIXTURE(add_keys(f, COMMON, 300));
	blm_close(f);
}

static void as_d_left(struct world *w)
{
	become(w,
	       BLM_PARAMS(.kind = "d-left", .capacity = 600, .rate = 1e-6, .options = "spare=2"));
}

/* As as_cuckoo(). */
static void as_recent(struct world *w)
{
	become(w, BLM_PARAMS(.kind = "recent", .cells = 464, .rate = 1e-6, .options = "spare=2"));
}

static void as_scalable(struct world *w)
{
	become(w, BLM_PARAMS(.kind = "scalable", .capacity = 70, .rate = 1e-6));
}

/* "b", too, with more parts, because it has more keys, which are never asked. */
static void as_two_scalable(struct world *w)
{
	struct blm_params params = BLM_PARAMS(.kind = "scalable", .capacity = 70, .rate = 1e-6,
					      .seed_count = 1, .seeds = small.seeds,
					      .replace = true);
	struct blm_filter *f;

	as_scalable(w);
	FIXTURE(blm_create(&f, w->store, "b", &params));
	FIXTURE(add_keys(f, COMMON, 300));
	for (int i = 1000; i < 1500; i++) {
		char key[16];

		key_of(i, key);
		FIXTURE(blm_add(f, key, strlen(key)));
	}
	blm_close(f);
}

static void as_removable(struct world *w)
{
	become(w, BLM_PARAMS(.kind = "removable", .capacity = 600, .rate = 1e-6));
}

static void as_window(struct world *w)
{
	become(w,
	       BLM_PARAMS(.kind = "window", .capacity = 600, .rate = 1e-6, .options = "slots=2"));
}

static void as_attenuated(struct world *w)
{
	become(w, BLM_PARAMS(.kind = "attenuated", .capacity = 600, .rate = 1e-6,
			     .options = "depth=3"));
}

static void as_split_block(struct world *w)
{
	become(w, BLM_PARAMS(.kind = "split-block", .cells = 256 * 200));
}

/* The machine went down, and with it some of the pages, where some are to be lost. */
static void lose_power(struct world *w, bool loses_pages)
{
	struct blm_info *what = &BLM_INFO;
	const uint64_t another_boot = 2;
	struct blm_filter *f;
	uint8_t zeros[64] = { 0 };
	int fd;

	FIXTURE(blm_open(&f, w->store, "a", 0));
	FIXTURE(blm_info(f, what));
	blm_close(f);
	fd = open(what->path, O_RDWR | O_CLOEXEC);
	if (loses_pages)
		FIXTURE(pwrite(fd, zeros, sizeof(zeros), sizeof(struct blm_header) + 64));
	FIXTURE(pwrite(fd, &another_boot, 8, offsetof(struct blm_header, live.boot)));
	close(fd);
}

/* Before all was synced: the keys as of the sync are what counts, and they are "a"'s. */
static void change_after_sync(struct world *w)
{
	struct blm_filter *f;

	FIXTURE(blm_open(&f, w->store, "a", BLM_OPEN_WRITE));
	FIXTURE(blm_sync(f));
	FIXTURE(add_keys(f, KEYS, KEYS + 20));
	blm_close(f);
}

static void cut_power(struct world *w)
{
	change_after_sync(w);
	lose_power(w, true);
}

/* The call fails where it writes back for the n-th time, with these words. */
static void fail_writing(struct blm_filter *f, int (*call)(struct blm_filter *f), long nth,
			 const char *words)
{
	struct fault plan = fault;
	int r;

	fault.mode = FAULT_ONCE, fault.call = FAULT_SYNC, fault.nth = nth, fault.err = EIO,
	fault.armed = true;
	r = call(f);
	FIXTURE(r == -EIO && strstr(blm_error_message(), words) ? 0 : -EPROTO);
	plan.allocated = fault.allocated;
	plan.mapped = fault.mapped;
	fault = plan;
}

static int add_again(struct blm_filter *f)
{
	return add_keys(f, 0, 1);
}

/*
 * A sync that got so far and failed, as one that is killed leaves it: some blocks are in the
 * journal. And the first change after that could not be announced, so the next sync asks who else
 * is at it.
 */
static void leave_journal(struct world *w, long nth, const char *words)
{
	struct blm_filter *f;

	as_cuckoo(w);
	FIXTURE(blm_open(&f, w->store, "a", BLM_OPEN_WRITE));
	fail_writing(f, blm_sync, nth, words);
	fail_writing(f, add_again, 1, "cannot write to the disk that it was changed");
	blm_close(f);
}

static void as_cuckoo_of_failed_sync(struct world *w)
{
	leave_journal(w, 1, "writing it back failed");
}

static void as_cuckoo_with_journal(struct world *w)
{
	leave_journal(w, 3, "writing its checkpoint image failed");	/* after data and record */
}

static void as_cut_cuckoo(struct world *w)
{
	as_cuckoo(w);
	cut_power(w);
}

static void as_cut_iblt(struct world *w)
{
	as_iblt(w);
	cut_power(w);
}

/* In the middle of a sync: the contents of the journal count. */
static void as_cuckoo_cut_in_sync(struct world *w)
{
	as_cuckoo_with_journal(w);
	lose_power(w, true);
}

/* The lost keys are unknown. */
static void as_cut_counting(struct world *w)
{
	as_counting(w);
	change_after_sync(w);
	lose_power(w, false);
}

static void as_synced_counting(struct world *w)
{
	struct blm_filter *f;

	as_counting(w);
	FIXTURE(blm_open(&f, w->store, "a", BLM_OPEN_WRITE));
	FIXTURE(blm_sync(f));
	blm_close(f);
}

static void as_cuckoo_forked(struct world *w)
{
	as_cuckoo(w);
	fork_it(w);
}

int add_second(struct world *w)
{
	return add_keys(w->f, KEYS, 300);
}

static int add_second_and_sync(struct world *w)
{
	int r = blm_sync_every(w->f, 1, 0);

	return r < 0 ? r : add_second(w);
}

/* By ages: all of them at once, of which "a" has some. */
static int claim_again(struct world *w)
{
	char text[300][16];
	struct blm_key keys[300];
	uint64_t bits[5], ages[300];
	int64_t r;

	for (int i = 0; i < 300; i++) {
		key_of(i, text[i]);
		keys[i] = (struct blm_key){ text[i], strlen(text[i]) };
	}
	r = blm_claim_again(w->f, keys, 300, &BLM_WHEN(.within = 1000000000), bits);
	if (r >= 0)
		r = blm_contains_within(w->f, keys, 300, NULL, bits);
	if (r >= 0)
		r = blm_ages(w->f, keys, 300, NULL, ages, bits);
	return r < 0 ? (int)r : r == 300 ? 0 : -EILSEQ;
}

static int add_at_second(struct world *w)
{
	char text[100][16];
	struct blm_key keys[100];

	for (int i = 0; i < 100; i++) {
		key_of(KEYS + i, text[i]);
		keys[i] = (struct blm_key){ text[i], strlen(text[i]) };
	}
	return (int)blm_add_at(w->f, keys, 100, &BLM_WHEN(.at = UINT64_MAX), NULL);
}

/* All that only "a" has. */
static int remove_first(struct world *w)
{
	char text[COMMON][16];
	struct blm_key keys[COMMON];

	for (int i = 0; i < COMMON; i++) {
		key_of(i, text[i]);
		keys[i] = (struct blm_key){ text[i], strlen(text[i]) };
	}
	return (int)blm_remove_many(w->f, keys, COMMON, NULL);
}

static int count_listed(void *context, const void *key, size_t len, bool in_b)
{
	++*(int *)context;
	return 0;
}

static int list_differences(struct world *w)
{
	int n = 0, r = blm_difference_list(w->f, w->g, count_listed, &n);

	return r == 0 && n < 300 - KEYS + COMMON ? -EILSEQ : r;	/* and what was added since */
}

static int estimate_difference(struct world *w)
{
	struct blm_value keys;

	return blm_difference_estimate(w->f, w->g, &keys);
}

static int grow(struct world *w)
{
	return blm_grow(w->f, 0);
}

static int rotate(struct world *w)
{
	return blm_rotate(w->f);
}

static int advance(struct world *w)
{
	return blm_advance(w->f, (const struct blm_filter *const[]){ w->f }, 1);
}

static int convert(struct world *w)
{
	return blm_convert(&w->made, w->store, new_name(w), w->f, NULL, 0600);
}

static int fold(struct world *w)
{
	return blm_fold(&w->made, w->store, new_name(w), w->f, 4, 0600);
}

const struct one_case kinds_cases[] = {
	{ "cuckoo-add", IN_PATH | IN_STORE | OPEN_F, add_second, as_cuckoo, BOTH, 0 },
	{ "cuckoo-remove", IN_PATH | IN_STORE | OPEN_F, remove_first, as_cuckoo, SHARED, 0 },
	{ "cuckoo-sync", IN_PATH | IN_STORE | OPEN_F, sync_it, as_cuckoo, 0, 0 },
	{ "cuckoo-sync-in-child", IN_PATH | OPEN_F | FORKED, sync_it, as_cuckoo_forked, 0, 0 },
	{ "cuckoo-first-sync", IN_PATH | OPEN_F, sync_it, as_sparse_cuckoo, 0, 0 },
	{ "cuckoo-sync-after-failed", IN_PATH | OPEN_F, sync_it, as_cuckoo_of_failed_sync, 0, 0 },
	{ "cuckoo-sync-with-journal", IN_STORE | OPEN_F, sync_it, as_cuckoo_with_journal, 0, 0 },
	{ "cuckoo-copy", IN_PATH | OPEN_F, copy, as_cuckoo, 0, FIRST },
	{ "cuckoo-clear", IN_STORE | OPEN_F, clear, as_cuckoo, EMPTY, 0 },
	{ "cuckoo-seal", IN_PATH | OPEN_F | SEALS, seal, as_cuckoo, FIRST, 0 },
	{ "cuckoo-verify", IN_PATH, verify, as_cuckoo, 0, 0 },
	{ "cuckoo-add-and-sync", IN_PATH | IN_STORE | OPEN_F, add_second_and_sync, as_cuckoo, BOTH,
	  0 },
	{ "cuckoo-export", IN_PATH | IN_STORE | OPEN_F | GIVES_FILE, export_file, as_cuckoo, 0, 0 },
	{ "cuckoo-export-bytes", IN_PATH | OPEN_F, export_bytes, as_cuckoo, 0, 0 },
	{ "cuckoo-cut-open-read", IN_PATH, open_to_read, as_cut_cuckoo, 0, 0 },
	{ "cuckoo-cut-open-write", IN_PATH | IN_STORE, open_to_write, as_cut_cuckoo, 0, 0 },
	{ "cuckoo-cut-in-sync-open-write", IN_PATH, open_to_write, as_cuckoo_cut_in_sync, 0, 0 },
	{ "redis-cuckoo-add", IN_PATH | OPEN_F, add_second, as_redis_cuckoo, BOTH, 0 },
	{ "redis-cuckoo-remove", IN_STORE | OPEN_F, remove_first, as_redis_cuckoo, SHARED, 0 },
	{ "redis-cuckoo-sync", IN_PATH | OPEN_F, sync_it, as_redis_cuckoo, 0, 0 },
	{ "iblt-add", IN_PATH | IN_STORE | OPEN_F, add_second, as_iblt, BOTH, 0 },
	{ "iblt-remove", IN_PATH | OPEN_F, remove_first, as_iblt, SHARED, 0 },
	{ "iblt-sync", IN_PATH | IN_STORE | OPEN_F, sync_it, as_iblt, 0, 0 },
	{ "iblt-cut-open-read", IN_PATH, open_to_read, as_cut_iblt, 0, 0 },
	{ "iblt-cut-open-write", IN_PATH | IN_STORE, open_to_write, as_cut_iblt, 0, 0 },
	{ "iblt-differences", IN_PATH | IN_STORE | OPEN_F | OPEN_G, list_differences, as_two_iblt,
	  0, 0 },
	{ "iblt-difference", IN_PATH | OPEN_F | OPEN_G, estimate_difference, as_two_iblt, 0, 0 },
	{ "counting-add", IN_PATH | OPEN_F, add_second, as_counting, BOTH, 0 },
	{ "counting-add-after-sync", IN_PATH | OPEN_F, add_second, as_synced_counting, BOTH, 0 },
	{ "counting-cut-open-write", IN_PATH | IN_STORE, open_to_write, as_cut_counting, 0, 0 },
	{ "counting-remove", IN_STORE | OPEN_F, remove_first, as_counting, SHARED, 0 },
	{ "counting-union-into", IN_PATH | IN_STORE | OPEN_F | OPEN_G, unite_into, as_two_counting,
	  BOTH, 0 },
	{ "counting-data", IN_PATH | OPEN_F, unite_raw, as_counting, 0, 0 },
	{ "counting-convert", IN_PATH | IN_STORE | OPEN_F, convert, as_counting, 0, FIRST },
	{ "d-left-remove", IN_PATH | OPEN_F, remove_first, as_d_left, SHARED, 0 },
	{ "d-left-rebuild", IN_PATH, rebuild, as_d_left, SECOND, 0 },
	{ "d-left-grow", IN_PATH | IN_STORE | OPEN_F, grow, as_d_left, FIRST, 0 },
	{ "recent-add", IN_PATH | IN_STORE | OPEN_F, add_second, as_recent, BOTH, 0 },
	{ "recent-add-and-sync", IN_PATH | OPEN_F, add_second_and_sync, as_recent, BOTH, 0 },
	{ "recent-claim", IN_PATH | IN_STORE | OPEN_F, claim_again, as_recent, BOTH, 0 },
	{ "recent-add-at", IN_PATH | OPEN_F, add_at_second, as_recent, BOTH, 0 },
	{ "recent-remove", IN_PATH | OPEN_F, remove_first, as_recent, SHARED, 0 },
	{ "recent-grow", IN_PATH | IN_STORE | OPEN_F, grow, as_recent, FIRST, 0 },
	{ "scalable-grow", IN_PATH | IN_STORE | OPEN_F, add_second, as_scalable, BOTH, 0 },
	{ "scalable-contains", IN_PATH | OPEN_F | READ_F, ask, as_scalable, 0, 0 },
	{ "scalable-add-and-sync", IN_PATH | IN_STORE | OPEN_F, add_second_and_sync, as_scalable,
	  BOTH, 0 },
	{ "scalable-union-into", IN_PATH | IN_STORE | OPEN_F | OPEN_G, unite_into, as_two_scalable,
	  BOTH, 0 },
	{ "removable-remove", IN_PATH | OPEN_F, remove_first, as_removable, SHARED, 0 },
	{ "window-add", IN_PATH | OPEN_F, add_second, as_window, BOTH, 0 },
	{ "window-rotate", IN_PATH | IN_STORE | OPEN_F, rotate, as_window, FIRST, 0 },
	{ "attenuated-advance", IN_STORE | OPEN_F, advance, as_attenuated, FIRST, 0 },
	{ "split-block-fold", IN_PATH | OPEN_F, fold, as_split_block, 0, FIRST },
	{ .name = NULL },
};

/* ---- Kinds of the registry ---- */

static void as_registered(struct world *w)
{
	/* so that a kind with one probe is small, too */
	become(w, usual_params(&w->c->kind, 600, 1e-4));
}

static bool is_in_list(const char *name)
{
	size_t len = strlen(name);

	/* all other cases are of these two */
	if (!strcmp(name, BLM_DEFAULT_KIND) || !strcmp(name, BLM_EXACT_KIND))
		return true;
	for (const struct one_case *c = kinds_cases; c->name; c++)
		if (!strncmp(c->name, name, len) && c->name[len] == '-')
			return true;
	return false;
}

enum { OTHERS = 16, CASES = 3 };

const struct one_case *other_kinds_cases(void)
{
	static const struct one_case of_each[CASES] = {
		{ "add", IN_PATH | OPEN_F, add_second, as_registered, BOTH, 0 },
		{ "sync", IN_STORE | OPEN_F, sync_it, as_registered, 0, 0 },
		{ "remove", IN_PATH | OPEN_F, remove_first, as_registered, SHARED, 0 },
	};
	static struct one_case cases[OTHERS * CASES + 1];
	static char names[OTHERS * CASES][64];
	struct blm_kind_info others[OTHERS];
	unsigned more = other_kinds(BLM_CAN_ADD, BLM_EXACT | BLM_FORGETS, is_in_list, others,
				    OTHERS), n = 0;

	for (unsigned i = 0; i < more; i++)
		for (unsigned j = 0; j < CASES - !(others[i].can & BLM_CAN_REMOVE); j++, n++) {
			snprintf(names[n], sizeof(names[n]), "%s-%s", others[i].name,
				 of_each[j].name);
			cases[n] = of_each[j];
			cases[n].name = names[n];
			cases[n].kind = others[i];
		}
	return cases;
}
