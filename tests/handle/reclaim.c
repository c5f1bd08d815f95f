/*
 * reclaim.c - a handle on a filter that is replaced again and again: what it keeps, and what its
 * threads see
 */
#include "suite.h"

#include "handle/reclaim.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { KEYS = 50, THREADS = 4 };

static const struct blm_params small = BLM_PARAMS(.capacity = 1000, .rate = 1e-6);

static const char *filled(void)
{
	const char *path = a_path();
	struct blm_filter *f;

	OK(blm_create(&f, NULL, path, &small));
	add_numbers(f, 0, KEYS);
	OK(blm_sync(f));
	blm_close(f);
	return path;
}

static struct blm_filter *opened(const char *path, bool write)
{
	struct blm_filter *f;

	OK(blm_open(&f, NULL, path, write ? BLM_OPEN_WRITE : 0));
	return f;
}

static int fill(struct blm_filter *f, void *context)
{
	(void)context;
	for (uint32_t i = 0; i < KEYS; i++) {
		int r = blm_add(f, &i, sizeof(i));

		if (r < 0)
			return r;
	}
	return 0;
}

static int fill_more(struct blm_filter *f, void *context)
{
	int r = fill(f, context);

	for (uint32_t i = KEYS; r == 0 && i < 2 * KEYS; i++)
		r = blm_add(f, &i, sizeof(i)) < 0 ? -EILSEQ : 0;
	return r;
}

static void replace(const char *path)
{
	OK(blm_rebuild(NULL, path, &BLM_PARAMS(.kind = NULL), fill, NULL));
}

/* Files that have no name any more, and are mapped here. */
static int deleted_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[1024];
	int count = 0;

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, test_dir) && strstr(line, "(deleted)");
	fclose(maps);
	return count;
}

START_TEST(a_handle_keeps_only_the_last_replaced_file)
{
	const char *path = filled();
	struct blm_filter *f = opened(path, _i);
	int before = entries_of("/proc/self/fd");

	for (int i = 0; i < 100; i++) {
		replace(path);
		ck_assert_uint_eq(numbers_found(f, 0, KEYS), KEYS);
		ck_assert_int_le(deleted_maps(), 1);
		ck_assert_int_le(entries_of("/proc/self/fd"), before + 1);
	}
	blm_close(f);
	ck_assert_int_eq(deleted_maps(), 0);
}
END_TEST

/*
 * A second map of the same data is counted separately; unmapping an unmapped range has no effect.
 */
START_TEST(data_that_are_mapped_outlive_the_replacement_of_their_file)
{
	const char *path = filled();
	struct blm_filter *f = opened(path, _i);
	const void *old, *again, *now;
	size_t bytes, as_many;
	uint8_t *copy;

	OK(blm_data_map(f, &old, &bytes));
	OK(blm_data_map(f, &again, &as_many));
	ck_assert(again == old && as_many == bytes);
	copy = malloc(bytes);
	memcpy(copy, old, bytes);
	for (int i = 0; i < 10; i++) {
		OK(blm_rebuild(NULL, path, &BLM_PARAMS(.kind = NULL), fill_more, NULL));
		ck_assert_uint_eq(numbers_found(f, 0, 2 * KEYS), 2 * KEYS);
		ck_assert_mem_eq(old, copy, bytes);
		if (i == 5)
			blm_data_unmap(f, again);
		blm_data_unmap(f, copy);
	}
	OK(blm_data_map(f, &now, &as_many));
	ck_assert(now != old && memcmp(now, copy, bytes) != 0);
	blm_data_unmap(f, now);
	ck_assert_int_eq(deleted_maps(), 2);		/* old, and the one before the last */
	blm_data_unmap(f, old);
	replace(path);
	ck_assert_uint_eq(numbers_found(f, 0, KEYS), KEYS);
	ck_assert_int_eq(deleted_maps(), 1);
	free(copy);
	blm_close(f);
}
END_TEST

struct readers {
	struct blm_filter *f;
	_Atomic bool done;
	_Atomic uint64_t missed, calls;
};

static void *read_on(void *context)
{
	struct readers *r = context;
	uint64_t calls = 0;

	do {
		struct blm_key keys[KEYS];
		uint32_t numbers[KEYS];
		struct blm_info info = BLM_INFO;

		for (uint32_t i = 0; i < KEYS; i++) {
			numbers[i] = i;
			keys[i] = (struct blm_key){ &numbers[i], sizeof(numbers[i]) };
			r->missed += !blm_contains(r->f, &i, sizeof(i));
		}
		r->missed += blm_contains_many(r->f, keys, KEYS, NULL) != KEYS;
		r->missed += blm_info(r->f, &info) < 0 || info.keys != KEYS;
		calls++;
	} while (!r->done);
	r->calls += calls;
	return NULL;
}

START_TEST(threads_in_the_middle_of_a_call_are_not_disturbed)
{
	const char *path = filled();
	struct readers r = { .f = opened(path, false) };
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, read_on, &r), 0);
	for (int i = 0; i < (int)(200 * test_scale()) + 20; i++)
		replace(path);
	r.done = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	ck_assert_uint_ge(r.calls, THREADS);
	ck_assert_uint_eq(r.missed, 0);
	replace(path);
	/* what a thread held up goes now that it is over */
	ck_assert_uint_eq(numbers_found(r.f, 0, KEYS), KEYS);
	ck_assert_int_le(deleted_maps(), 1);
	blm_close(r.f);
}
END_TEST

struct held {
	struct blm_filter *f;
	sem_t in, go_on;
	uint64_t bytes;
	int maps;
};

/* In the middle of an export, which reads all of the file that it began with. */
static int hold(void *context, const void *bytes, size_t len)
{
	struct held *h = context;

	(void)bytes;
	if (!h->bytes) {
		sem_post(&h->in);
		sem_wait(&h->go_on);
		h->maps = deleted_maps();
		/* a call in a call: the outer one goes on with its file */
		h->bytes += (uint64_t)blm_contains(h->f, &(uint32_t){ 1 }, 4);
	}
	h->bytes += len;
	return 0;
}

static void *export_it(void *context)
{
	struct held *h = context;

	return blm_export(h->f, &BLM_EXCHANGE(.format = "bloomery"), hold, h) < 0 ? context : NULL;
}

START_TEST(a_replaced_file_stays_until_its_last_call_ends)
{
	const char *path = filled();
	struct held h = { .f = opened(path, false) };
	pthread_t thread;
	void *failed;

	sem_init(&h.in, 0, 0);
	sem_init(&h.go_on, 0, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, export_it, &h), 0);
	sem_wait(&h.in);
	for (int i = 0; i < 5; i++) {
		replace(path);
		ck_assert_uint_eq(numbers_found(h.f, 0, KEYS), KEYS);
	}
	sem_post(&h.go_on);
	pthread_join(thread, &failed);
	ck_assert_ptr_null(failed);
	ck_assert_int_ge(h.maps, 1);
	ck_assert_uint_ge(h.bytes, 20480);
	for (int i = 0; i < 2; i++) {
		replace(path);
		ck_assert_uint_eq(numbers_found(h.f, 0, KEYS), KEYS);
	}
	ck_assert_int_le(deleted_maps(), 1);
	blm_close(h.f);
}
END_TEST

/* Its parent's threads are not in it, and those that were in the middle of a call hold nothing. */
static int in_a_child(void *context)
{
	struct held *h = context;
	const char *path = filled();
	struct blm_filter *f = opened(path, false);
	struct blm_info info = BLM_INFO;

	for (int i = 0; i < 20; i++) {
		replace(path);
		MUST(numbers_found(f, 0, KEYS) == KEYS);
	}
	MUST(deleted_maps() <= 1);
	MUST(blm_contains(h->f, &(uint32_t){ 1 }, 4) && blm_info(h->f, &info) == 0
	     && info.keys == KEYS);
	return 0;
}

START_TEST(a_forked_child_keeps_only_its_own_threads_state)
{
	const char *path = filled();
	struct held h = { .f = opened(path, false) };
	pthread_t thread;
	void *failed;

	sem_init(&h.in, 0, 0);
	sem_init(&h.go_on, 0, 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, export_it, &h), 0);
	sem_wait(&h.in);
	ck_assert_int_eq(join(spawn(in_a_child, &h)), 0);
	sem_post(&h.go_on);
	pthread_join(thread, &failed);
	ck_assert_ptr_null(failed);
	blm_close(h.f);
}
END_TEST

static void *fork_at_once(void *context)
{
	return (void *)(intptr_t)join(spawn(in_a_child, context));
}

START_TEST(so_does_the_child_of_a_thread_that_never_called)
{
	const char *path = filled();
	struct held h = { .f = opened(path, false) };
	pthread_t thread;
	void *failed = &h;

	/* no assertion before the thread has forked: the child would find Check's mutex locked */
	if (pthread_create(&thread, NULL, fork_at_once, &h) == 0)
		pthread_join(thread, &failed);
	ck_assert_ptr_null(failed);
	blm_close(h.f);
}
END_TEST

static void *ask_once(void *context)
{
	struct readers *r = context;

	r->missed += numbers_found(r->f, 0, KEYS) != KEYS;
	return NULL;
}

START_TEST(threads_that_ended_hold_nothing)
{
	const char *path = filled();
	struct readers r = { .f = opened(path, false) };
	pthread_t thread;

	for (int i = 0; i < 50; i++) {
		replace(path);
		ck_assert_int_eq(pthread_create(&thread, NULL, ask_once, &r), 0);
		pthread_join(thread, NULL);
		ck_assert_int_le(deleted_maps(), 1);
	}
	ck_assert_uint_eq(r.missed, 0);
	blm_close(r.f);
}
END_TEST

/* ---- Every call ---- */

static uint32_t number = 1;
static const struct blm_key key = { &number, sizeof(number) };
static struct blm_hash hash;

static int64_t ask(struct blm_filter *f)
{
	return blm_contains(f, &number, 4) ? 0 : -1;
}

static int64_t ask_many(struct blm_filter *f)
{
	return blm_contains_many(f, &key, 1, NULL) == 1 ? 0 : -1;
}

static int64_t ask_fixed(struct blm_filter *f)
{
	return blm_contains_fixed(f, &number, 4, 1, NULL) == 1 ? 0 : -1;
}

static int64_t refused(int64_t r);

static int64_t allow(struct blm_filter *f)
{
	return refused(blm_allowlist_add(f, &key, 1));
}

static int64_t disallow(struct blm_filter *f)
{
	return refused(blm_allowlist_remove(f, &key, 1));
}

static int64_t spare(struct blm_filter *f)
{
	return blm_allowlist_filter(f, &key, 1, &(uint64_t){ 1 });
}

static int pass_over(void *context, const struct blm_key *listed)
{
	return 0;
}

static int64_t list_allowed(struct blm_filter *f)
{
	return refused(blm_allowlist_list(f, pass_over, NULL));
}

static int64_t hash_one(struct blm_filter *f)
{
	return blm_hash_many(f, &key, 1, &hash);
}

static int64_t hash_one_fixed(struct blm_filter *f)
{
	return blm_hash_fixed(f, &number, 4, 1, &hash);
}

static int64_t hash_id(struct blm_filter *f)
{
	return blm_hash_id(f) ? 0 : -1;
}

static int64_t ask_hashes(struct blm_filter *f)
{
	int64_t r = blm_contains_hashes(f, 0, &hash, 1, NULL);

	return r == -EMEDIUMTYPE ? 0 : -1;	/* the id is none */
}

static int64_t ask_hash(struct blm_filter *f)
{
	return blm_contains_hash(f, 0, &hash) == -EMEDIUMTYPE ? 0 : -1;
}

static int64_t add_hash(struct blm_filter *f)
{
	struct blm_hash own;

	return blm_hash_many(f, &key, 1, &own) == 0 ? blm_add_hash(f, blm_hash_id(f), &own) : -1;
}

static int64_t add(struct blm_filter *f)
{
	return blm_add(f, "more", 4);
}

static int64_t claim(struct blm_filter *f)
{
	return blm_claim(f, "more", 4);
}

static int64_t count(struct blm_filter *f)
{
	uint64_t keys;
	int r = blm_count(f, &keys, NULL);

	return r < 0 ? r : keys == KEYS ? 0 : -1;
}

static int64_t inform(struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;

	return blm_info(f, &info);
}

static int64_t estimate(struct blm_filter *f)
{
	struct blm_estimate e;

	return blm_estimate(f, true, &e);
}

static int64_t compare(struct blm_filter *f)
{
	struct blm_comparison c;

	return blm_compare(f, f, &c);
}

static int64_t count_difference(struct blm_filter *f)
{
	struct blm_value keys;

	return blm_difference_estimate(f, f, &keys);
}

static int64_t same(struct blm_filter *f)
{
	return blm_same_template(f, f);
}

static int64_t closed(int r, struct blm_filter **f)
{
	if (r >= 0)
		blm_close(*f);
	return r;
}

static int64_t template(struct blm_filter *f)
{
	struct blm_filter *g = NULL;

	return closed(blm_template(&g, NULL, NULL, f, 0), &g);
}

static int64_t copy(struct blm_filter *f)
{
	struct blm_filter *g = NULL;

	return closed(blm_copy(&g, NULL, NULL, f, 0), &g);
}

static int64_t unite(struct blm_filter *f)
{
	struct blm_filter *g = NULL;

	return closed(blm_combine(&g, NULL, NULL, BLM_UNION,
				  (const struct blm_filter *const[]){ f, f }, 2, 0, NULL),
		      &g);
}

static int64_t unite_into(struct blm_filter *f)
{
	return blm_combine_into(f, BLM_UNION, (const struct blm_filter *const[]){ f }, 1, 0, NULL);
}

static int64_t intersect_into(struct blm_filter *f)
{
	return blm_combine_into(f, BLM_INTERSECT, (const struct blm_filter *const[]){ f }, 1, 0,
				NULL);
}

static int64_t map_data(struct blm_filter *f)
{
	const void *data;
	size_t bytes;
	int r = blm_data_map(f, &data, &bytes);

	if (r == 0)
		blm_data_unmap(f, data);
	return r;
}

static int64_t read_data(struct blm_filter *f)
{
	uint8_t bytes[8];

	return blm_data_read(f, 0, bytes, sizeof(bytes));
}

static int64_t unite_data(struct blm_filter *f)
{
	return blm_data_unite(f, 0, (uint8_t[]){ 1 }, 1);
}

static int64_t export(struct blm_filter *f)
{
	void *bytes = NULL;
	size_t len;
	int r = blm_export_bytes(f, &BLM_EXCHANGE(.format = "bloomery"), &bytes, &len);

	blm_free(bytes);
	return r;
}

static int64_t export_file(struct blm_filter *f)
{
	return blm_export_file(f, &BLM_EXCHANGE(.format = "bloomery"), a_path());
}

static int64_t fold(struct blm_filter *f)
{
	return blm_fold(NULL, NULL, a_path(), f, 1, 0);
}

/* What this kind cannot do is refused on the new file. */
static int64_t refused(int64_t r)
{
	return r == -EOPNOTSUPP || r == -ENOENT ? 0 : -EINVAL;
}

static int64_t convert(struct blm_filter *f)
{
	return refused(blm_convert(NULL, NULL, a_path(), f, NULL, 0));
}

static int64_t merge(struct blm_filter *f)
{
	return refused(blm_merge(NULL, NULL, a_path(), (const struct blm_filter *[]){ f }, 1, 0));
}

static int64_t grow(struct blm_filter *f)
{
	return refused(blm_grow(f, 0));
}

static int64_t rotate(struct blm_filter *f)
{
	return refused(blm_rotate(f));
}

static int64_t advance(struct blm_filter *f)
{
	return refused(blm_advance(f, (const struct blm_filter *[]){ f }, 1));
}

static int64_t take_one_out(struct blm_filter *f)
{
	return refused(blm_remove(f, "x", 1));
}

static int64_t put_one(struct blm_filter *f)
{
	return refused(blm_put(f, "x", 1, 1));
}

static int64_t get_one(struct blm_filter *f)
{
	uint64_t value;

	return refused(blm_get(f, "x", 1, &value));
}

static int64_t fact(struct blm_filter *f)
{
	return refused(blm_fact(f, 0, &(struct blm_fact){ 0 }));
}

static int64_t load(struct blm_filter *f)
{
	return blm_load(f, BLM_PREFAULT);
}

static int64_t sync_it(struct blm_filter *f)
{
	return blm_sync(f);
}

static int64_t clear(struct blm_filter *f)
{
	return blm_clear(f);
}

static int64_t seal(struct blm_filter *f)
{
	return blm_seal(f);
}

/* It keeps no times. */
static int64_t claim_again(struct blm_filter *f)
{
	return refused(blm_claim_again(f, &(struct blm_key){ "x", 1 }, 1, NULL, NULL));
}

static int64_t add_at(struct blm_filter *f)
{
	return refused(blm_add_at(f, &(struct blm_key){ "x", 1 }, 1, NULL, NULL));
}

static int64_t ask_within(struct blm_filter *f)
{
	return refused(blm_contains_within(f, &(struct blm_key){ "x", 1 }, 1, NULL, NULL));
}

static int64_t ask_ages(struct blm_filter *f)
{
	uint64_t age;

	return refused(blm_ages(f, &(struct blm_key){ "x", 1 }, 1, NULL, &age, NULL));
}

static int64_t bank(struct blm_filter *f)
{
	struct blm_bank_build *b;
	int r = blm_bank_begin(&b, a_path(), false, 0);

	r = r < 0 ? r : blm_bank_add(b, f, "f");
	return r < 0 ? r : blm_bank_finish(b);
}

/* The other files are of another template. */
static int64_t bank_query(struct blm_filter *f)
{
	uint8_t data[1 << 16];
	struct blm_filter *other;
	struct blm_bank_build *b;
	struct blm_bank *bank;
	const char *path = a_path();
	int r = blm_create(&other, NULL, NULL, &small);

	r = r < 0 ? r : blm_bank_begin(&b, path, false, 0);
	r = r < 0 ? r : blm_bank_add(b, other, "other");
	r = r < 0 ? r : blm_bank_finish(b);
	r = r < 0 ? r : blm_bank_open(&bank, path);
	blm_close(other);
	if (r < 0)
		return r;
	r = blm_bank_read_filter(bank, f, data) == -EMEDIUMTYPE ? 0 : -EINVAL;
	blm_bank_close(bank);
	return r;
}

static int list_one(void *context, const void *bytes, size_t len, bool in_b)
{
	(void)context, (void)bytes, (void)len, (void)in_b;
	return 0;
}

static int64_t list_differences(struct blm_filter *f)
{
	return refused(blm_difference_list(f, f, list_one, NULL));
}

static int64_t status(struct blm_filter *f)
{
	return blm_status(f);
}

static int64_t (*const calls[])(struct blm_filter *f) = {
	ask,
	ask_many,
	ask_fixed,
	allow,
	disallow,
	spare,
	list_allowed,
	hash_one,
	hash_one_fixed,
	hash_id,
	ask_hashes,
	ask_hash,
	add_hash,
	add,
	claim,
	count,
	inform,
	estimate,
	compare,
	count_difference,
	list_differences,
	same,
	template,
	copy,
	unite,
	unite_into,
	intersect_into,
	read_data,
	map_data,
	unite_data,
	export,
	export_file,
	load,
	sync_it,
	clear,
	seal,
	status,
	fold,
	convert,
	merge,
	grow,
	rotate,
	advance,
	take_one_out,
	put_one,
	get_one,
	fact,
	bank,
	bank_query,
	claim_again,
	add_at,
	ask_within,
	ask_ages,
};

/* ---- Merges ---- */

struct blm_view *__real_blm_view_renew(const struct blm_filter *f, struct blm_view *view);
struct blm_view *__wrap_blm_view_renew(const struct blm_filter *f, struct blm_view *view);

static atomic_int renewed;

/* A thread that moves to another view is inside, and so is one that used the old view. */
struct blm_view *__wrap_blm_view_renew(const struct blm_filter *f, struct blm_view *view)
{
	if (!blm_in_critical_section())
		abort();
	renewed++;
	return __real_blm_view_renew(f, view);
}

int __real_blm_blocksum_intact(const struct blm_view *view, unsigned i, uint64_t at, size_t bytes,
			       const char *display);
int __wrap_blm_blocksum_intact(const struct blm_view *view, unsigned i, uint64_t at, size_t bytes,
			       const char *display);

static const char *replaced_meanwhile;

static void build_golomb(const char *path, uint32_t from, uint32_t to, uint64_t capacity)
{
	const struct blm_params params =
		BLM_PARAMS(.kind = "golomb", .capacity = capacity, .rate = 1e-6, .seed_count = 1,
			   .seeds = (const uint64_t[]){ 7 }, .replace = true);
	struct blm_build *b;

	OK(blm_build_begin(&b, NULL, path, &params, NULL));
	for (uint32_t i = from; i < to; i++)
		OK(blm_build_add_many(b, &(struct blm_key){ &i, sizeof(i) }, 1));
	OK(blm_build_finish(b, NULL));
}

/* A merge asks for this when it has looked at its sources, and before it makes anything of them. */
int __wrap_blm_blocksum_intact(const struct blm_view *view, unsigned i, uint64_t at, size_t bytes,
			       const char *display)
{
	const char *path = replaced_meanwhile;

	replaced_meanwhile = NULL;
	if (path)
		build_golomb(path, 5000, 9000, 40000);
	return __real_blm_blocksum_intact(view, i, at, bytes, display);
}

/* Each is the first that sees it. */
START_TEST(every_call_moves_to_the_replacement_file)
{
	const char *path = filled();
	struct blm_filter *f = opened(path, true);

	for (int i = 0; i < 3; i++) {
		replace(path);
		OK(calls[_i](f));
		ck_assert_int_le(deleted_maps(), 2);	/* a clear, or a seal, replaces it itself */
		if (calls[_i] == seal)
			break;
	}
	blm_close(f);
}
END_TEST

/*
 * A source that is replaced during the call: by one of another template, so that the two are never
 * mixed, and of ten times the size.
 */
START_TEST(a_merge_reads_its_sources_as_they_were_at_start)
{
	const char *path[2] = { a_path(), a_path() };
	struct blm_filter *from[2], *merged;

	for (int i = 0; i < 2; i++) {
		build_golomb(path[i], 300 * (uint32_t)i, 300 * (uint32_t)i + 400, 1000);
		from[i] = opened(path[i], false);
	}
	replaced_meanwhile = path[_i];
	OK(blm_merge(&merged, NULL, a_path(), (const struct blm_filter *const *)from, 2, 0600));
	ck_assert_ptr_null(replaced_meanwhile);
	ck_assert_uint_eq(numbers_found(merged, 0, 700), 700);
	ck_assert_uint_le(numbers_found(merged, 5000, 9000), 1);
	blm_close(merged);
	renewed = 0;
	/* the next one sees it */
	FAILS(blm_merge(&merged, NULL, a_path(), (const struct blm_filter *const *)from, 2, 0600),
	      -EMEDIUMTYPE);
	ck_assert_int_ge(renewed, 1);
	for (int i = 0; i < 2; i++)
		blm_close(from[i]);
}
END_TEST

int main(void)
{
	Suite *s;
	TCase *tc, *threads;

	prefer_memory();
	s = begin_suite("reclaim");
	tc = tcase_create("reclaim");
	threads = tcase_create("threads");
	tcase_add_loop_test(tc, a_handle_keeps_only_the_last_replaced_file, 0, 2);
	tcase_add_loop_test(tc, data_that_are_mapped_outlive_the_replacement_of_their_file, 0, 2);
	tcase_add_test(threads, threads_in_the_middle_of_a_call_are_not_disturbed);
	tcase_add_test(threads,
		       a_replaced_file_stays_until_its_last_call_ends);
	tcase_add_test(threads, a_forked_child_keeps_only_its_own_threads_state);
	tcase_add_test(threads, so_does_the_child_of_a_thread_that_never_called);
	tcase_add_test(threads, threads_that_ended_hold_nothing);
	tcase_add_loop_test(tc, every_call_moves_to_the_replacement_file, 0,
			    sizeof(calls) / sizeof(calls[0]));
	tcase_add_loop_test(tc, a_merge_reads_its_sources_as_they_were_at_start, 0, 2);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, threads);
	return run_suite(s);
}
