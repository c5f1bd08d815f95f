/*
 * scan.c - what goes over whole filters gives the same with any number of threads, over data and
 * holes, and says what failed
 */
#include "base/phase.h"
#include "handle/handle.h"
#include "view/scan.h"
#include "refuse.h"
#include "suite.h"

#include <sys/stat.h>

enum { KEYS = 20000, FILTERS = 3 };

static const unsigned threads[] = { 1, 2, 3, 9 };	/* the last: more than there ever are */

/* 37.5 MB: five ranges; with a share of the work 20 MB: three. */
static uint64_t cells_of_all(void)
{
	return test_scale() < 1 ? 160 << 20 : 300 << 20;
}

static struct blm_filter *make(const char *kind, const char *path, bool sparse, uint32_t from)
{
	const uint64_t seed = 7;
	struct blm_params p = BLM_PARAMS(.kind = kind, .cells = cells_of_all(), .probes = 7,
					 .seed_count = 1, .seeds = &seed, .sparse = sparse);
	struct blm_filter *f = NULL;

	OK(blm_create(&f, NULL, path, &p));
	add_numbers(f, from, from + KEYS);
	return f;
}

static bool same_data(const struct blm_filter *a, const struct blm_filter *b)
{
	const struct blm_part *x = &current_view(a)->part[0], *y = &current_view(b)->part[0];

	return x->shape.bytes == y->shape.bytes && !memcmp(x->bytes, y->bytes, x->shape.bytes);
}

/* What each call says, with one thread and with several. */
struct said {
	struct blm_filter *all, *common, *copy, *into;
	struct blm_comparison compared;
	struct blm_estimate estimate;
	double rate, rate_into;
	uint64_t keys;
};

static struct said say(const struct blm_filter *const f[FILTERS], unsigned with)
{
	struct said s = { 0 };
	struct blm_info info = BLM_INFO;

	blm_use_threads(with);
	OK(blm_combine(&s.all, NULL, NULL, BLM_UNION, f, FILTERS, 0, &s.rate));
	OK(blm_combine(&s.common, NULL, NULL, BLM_INTERSECT, f, 2, 0, NULL));
	OK(blm_copy(&s.copy, NULL, "copy.blm", f[0], 0));
	unlink("copy.blm");
	OK(blm_copy(&s.into, NULL, NULL, f[1], 0));
	OK(blm_combine_into(s.into, BLM_UNION, f, FILTERS, 0, &s.rate_into));
	OK(blm_compare(f[0], f[1], &s.compared));
	OK(blm_estimate(f[2], true, &s.estimate));
	OK(blm_info(s.all, &info));
	s.keys = info.keys;
	blm_use_threads(0);
	return s;
}

static void forget(struct said *s)
{
	blm_close(s->all);
	blm_close(s->common);
	blm_close(s->copy);
	blm_close(s->into);
}

START_TEST(any_number_of_threads_gives_the_same_bits_and_counts)
{
	static const char *const kinds[] = { "blocked", "classic" }, *const names[FILTERS] = {
		"a.blm", "b.blm", NULL
	};
	const struct blm_filter *f[FILTERS];
	struct said one, many;

	for (uint32_t i = 0; i < FILTERS; i++)
		f[i] = make(kinds[_i % 2], names[i], _i / 2, i * KEYS / 2);
	one = say(f, 1);
	ck_assert(same_data(one.all, one.into) && same_data(one.copy, f[0]));
	ck_assert_uint_eq(numbers_found(one.all, 0, 2 * KEYS), 2 * KEYS);
	ck_assert_uint_eq(numbers_found(one.common, KEYS / 2, KEYS), KEYS / 2);
	ck_assert_uint_le(numbers_found(one.common, 0, KEYS / 2), 10);
	ck_assert(one.rate == one.rate_into);
	for (size_t t = 1; t < ARRAY_LEN(threads); t++) {
		/* three and nine in turn, so that each kind and both sorts of files see both */
		if (test_scale() < 1 && t != 2 + (size_t)(_i + _i / 2) % 2)
			continue;
		many = say(f, threads[t]);
		ck_assert(same_data(one.all, many.all) && same_data(one.common, many.common));
		ck_assert(same_data(one.copy, many.copy) && same_data(one.into, many.into));
		ck_assert_mem_eq(&one.compared, &many.compared, sizeof(one.compared));
		ck_assert_mem_eq(&one.estimate, &many.estimate, sizeof(one.estimate));
		ck_assert(one.rate == many.rate && one.rate_into == many.rate_into
			  && one.keys == many.keys);
		forget(&many);
	}
	forget(&one);
	for (int i = 0; i < FILTERS; i++)
		blm_close((struct blm_filter *)f[i]);
	unlink("a.blm"), unlink("b.blm");
}
END_TEST

static uint64_t blocks_on_disk(const char *path)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return (uint64_t)st.st_blocks;
}

START_TEST(holes_stay_holes_whatever_is_made_of_a_sparse_filter)
{
	struct blm_filter *f, *copy, *empty, *both;
	const struct blm_filter *from[2];

	OK(blm_create(&f, NULL, "a.blm",
		      &BLM_PARAMS(.kind = "classic", .cells = UINT64_C(1) << 36, .probes = 3,
				  .sparse = true)));
	add_numbers(f, 0, 100);
	OK(blm_template(&empty, NULL, "empty.blm", f, 0));
	from[0] = f;
	from[1] = empty;
	OK(blm_copy(&copy, NULL, "copy.blm", f, 0));
	OK(blm_combine(&both, NULL, "both.blm", BLM_UNION, from, 2, 0, NULL));
	ck_assert_uint_eq(numbers_found(copy, 0, 100), 100);
	ck_assert_uint_eq(numbers_found(both, 0, 100), 100);
	/* 512 MiB of 8 GiB */
	ck_assert_uint_lt(blocks_on_disk("copy.blm"), UINT64_C(1) << 20);
	ck_assert_uint_lt(blocks_on_disk("both.blm"), UINT64_C(1) << 20);
	blm_close(f);
	blm_close(empty);
	blm_close(copy);
	blm_close(both);
	unlink("a.blm"), unlink("empty.blm"), unlink("copy.blm"), unlink("both.blm");
}
END_TEST

/* ---- Progress ---- */

static struct told {
	pthread_t thread;
	const char *phase;		/* the last one that has a total */
	uint64_t done, total;
	const char *wanted;		/* a phase */
	bool whole, with_total;		/* all of it was done; it had a total */
	int phases, disk, reports;	/* reports: of that phase */
	int wrong;			/* in another thread, backwards, or beyond the total */
} told;

static void tell(void *context, const char *phase, uint64_t done, uint64_t total)
{
	struct told *t = context;

	t->wrong += !pthread_equal(pthread_self(), t->thread) || (total && done > total);
	t->whole |= t->wanted && !strcmp(phase, t->wanted) && total && done == total;
	t->reports += t->wanted && !strcmp(phase, t->wanted);
	t->with_total |= t->wanted && !strcmp(phase, t->wanted) && total;
	if (!strcmp(phase, "writing to the disk")) {
		t->disk++;
		return;
	}
	if (!total)
		return;
	t->wrong += t->phase == phase && done < t->done;
	t->phases += t->phase != phase;
	t->phase = phase;
	t->done = done;
	t->total = total;
}

static const char *const parts[] = { "1.blm", "2.blm" };

static void copy(const struct blm_filter *f)
{
	OK(blm_copy(NULL, NULL, "made.blm", f, 0));
}

static void unite(const struct blm_filter *f)
{
	const struct blm_filter *from[] = { f, f };

	OK(blm_combine(NULL, NULL, "made.blm", BLM_UNION, from, 2, 0, NULL));
}

static void unite_into(const struct blm_filter *f)
{
	struct blm_filter *into;

	OK(blm_template(&into, NULL, NULL, f, 0));
	OK(blm_combine_into(into, BLM_UNION, &f, 1, 0.5, NULL));
	blm_close(into);
}

static void export(const struct blm_filter *f)
{
	OK(blm_export_file(f, &BLM_EXCHANGE(.format = "bloomery"), "made.blm"));
}

static void fold(const struct blm_filter *f)
{
	OK(blm_fold(NULL, NULL, "made.blm", f, 2, 0));
}

static void verify(const struct blm_filter *f)
{
	ck_assert_int_ge(blm_verify(NULL, "a.blm", 0, NULL, NULL), 0);
}

static void split(const struct blm_filter *f)
{
	OK(blm_split(f, 2, NULL, parts, 0));
}

static void unlink_made(bool parts_too)
{
	unlink("made.blm");
	if (parts_too)
		unlink(parts[0]), unlink(parts[1]);
}

static void join_again(const struct blm_filter *f)
{
	struct blm_join *j;

	OK(blm_join_begin(&j, NULL, "made.blm", 0, true));
	for (int i = 0; i < 2; i++) {
		struct blm_filter *part;

		OK(blm_open(&part, NULL, parts[i], 0));
		OK(blm_join_part(j, part));
		blm_close(part);
	}
	OK(blm_join_finish(j, NULL));
}

static void convert(const struct blm_filter *f)
{
	struct blm_filter *counts;

	OK(blm_create(&counts, NULL, NULL, &BLM_PARAMS(.kind = "counting", .capacity = 100000)));
	OK(blm_convert(NULL, NULL, "made.blm", counts, NULL, 0));
	blm_close(counts);
}

static void import(const struct blm_filter *f)
{
	struct blm_filter *theirs;
	void *bytes;
	size_t len;

	(void)f;
	OK(blm_create(&theirs, NULL, NULL, &BLM_PARAMS(.format = "redisbloom", .capacity = 1000)));
	OK(blm_export_bytes(theirs, NULL, &bytes, &len));
	OK(blm_import_bytes(NULL, NULL, "made.blm", NULL, bytes, len));
	blm_free(bytes);
	blm_close(theirs);
}

static struct blm_filter *make_small(const char *kind)
{
	struct blm_params p = BLM_PARAMS(.kind = kind, .capacity = 1000);
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "made.blm", &p));
	add_numbers(f, 0, 500);
	return f;
}

static void seal(const struct blm_filter *f)
{
	struct blm_filter *own = make_small("blocked");

	(void)f;
	OK(blm_seal(own));
	blm_close(own);
}

static void sync_keys(const struct blm_filter *f)
{
	struct blm_filter *own = make_small("blocked");

	(void)f;
	OK(blm_sync(own));
	blm_close(own);
}

static void grow(const struct blm_filter *f)
{
	struct blm_filter *own = make_small("d-left");

	(void)f;
	OK(blm_grow(own, BLM_GROW_FORCE));
	blm_close(own);
}

static void compare(const struct blm_filter *f)
{
	struct blm_comparison c;

	OK(blm_compare(f, f, &c));
}

static void estimate(const struct blm_filter *f)
{
	struct blm_estimate e;

	OK(blm_estimate(f, true, &e));
}

static void merge(const struct blm_filter *f)
{
	struct blm_params p = BLM_PARAMS(.kind = "golomb", .capacity = 1000, .rate = 0.01,
					 .seed_count = 1, .seeds = &(uint64_t){ 7 });
	struct blm_build *b;
	struct blm_filter *own;

	(void)f;
	OK(blm_build_begin(&b, NULL, NULL, &p, NULL));
	OK(blm_build_add_many(b, &(struct blm_key){ "a key", 5 }, 1));
	OK(blm_build_finish(b, &own));
	OK(blm_merge(NULL, NULL, "made.blm", (const struct blm_filter *[]){ own, own }, 2, 0));
	blm_close(own);
}

static void put_into_bank(const struct blm_filter *f)
{
	struct blm_filter *own;
	struct blm_bank_build *b;

	(void)f;
	OK(blm_create(&own, NULL, NULL, &BLM_PARAMS(.capacity = 1000)));
	OK(blm_bank_begin(&b, "made.blm", false, 0));
	OK(blm_bank_add(b, own, "id"));
	OK(blm_bank_finish(b));
	blm_close(own);
}

static void advance(const struct blm_filter *f)
{
	struct blm_filter *own = make_small("attenuated");

	(void)f;
	OK(blm_advance(own, (const struct blm_filter *[]){ own, own }, 2));
	blm_close(own);
}

/* The slot that comes next is cleared at the end. */
static void rotate(const struct blm_filter *f)
{
	struct blm_filter *own;

	(void)f;
	OK(blm_create(&own, NULL, "made.blm", &BLM_PARAMS(.kind = "window", .capacity = 100000)));
	OK(blm_rotate(own));
	blm_close(own);
}

static int count_key(void *context, const void *key, size_t len, bool in_b)
{
	(void)key, (void)len;
	*(int *)context += !in_b;
	return 0;
}

static void list_difference(const struct blm_filter *f)
{
	struct blm_filter *own = make_small("iblt"), *empty;
	int count = 0;

	(void)f;
	OK(blm_template(&empty, NULL, NULL, own, 0));
	ck_assert_int_eq(blm_add(own, "x", 1), 1);
	OK(blm_difference_list(own, empty, count_key, &count));
	ck_assert_int_eq(count, 501);
	blm_close(own);
	blm_close(empty);
}

static void create_many(const struct blm_filter *f)
{
	const char *names[] = { "one", "two", "three" };
	struct blm_store *store;

	(void)f;
	OK(blm_store_open(&store, "store", BLM_STORE_CREATE));
	OK(blm_create_many(store, names, 3, &BLM_PARAMS(.capacity = 1000, .rate = 0.01)));
	for (int i = 0; i < 3; i++)
		OK(blm_store_drop(store, names[i]));
	blm_store_close(store);
}

static const struct {
	void (*call)(const struct blm_filter *f);
	const char *phase;
	bool to_disk, large;	/* large: of the filter that it is given */
} long_calls[] = {
	{ copy, "copying", true, true }, { unite, "combining", true, true },
	{ unite_into, "combining", false, true }, { export, "exporting", true, true },
	{ fold, "folding", true, true }, { verify, "checking", false, true },
	{ split, "splitting", true, true }, { join_again, "joining", true, true },
	{ compare, "comparing", false, true }, { estimate, "counting", false, true },
	{ convert, "converting", true }, { import, "importing", true }, { seal, "copying", true },
	{ seal, "adding checksums", true }, { sync_keys, "checking", true },
	{ merge, "checking", true }, { merge, "counting", true }, { merge, "merging", true },
	{ grow, "doubling", true }, { put_into_bank, "writing", true },
	{ advance, "combining", true }, { rotate, "clearing", true },
	{ list_difference, "comparing", true }, { list_difference, "listing", true },
	{ create_many, "creating", true },
};

START_TEST(a_long_call_tells_its_thread_how_far_it_is)
{
	bool large = long_calls[_i].large, splits = long_calls[_i].call == split;
	struct blm_filter *f = large ? make("blocked", "a.blm", true, 0) : NULL;

	if (large) {
		OK(blm_sync(f));
		split(f);
	}
	told = (struct told){ .thread = pthread_self(), .wanted = long_calls[_i].phase };
	unlink_made(splits);
	blm_use_threads(3);
	blm_use_progress(tell, &told);
	long_calls[_i].call(f);
	ck_assert(told.whole);
	ck_assert_uint_eq(told.done, told.total);
	ck_assert_uint_gt(told.total, 0);
	ck_assert_int_eq(told.wrong, 0);
	ck_assert_int_eq(told.disk > 0, long_calls[_i].to_disk);
	/* the phase has ended */
	ck_assert_uint_eq(blm_phase_done(), 0);
	blm_use_progress(NULL, NULL);
	unlink_made(splits);
	told.phases = told.disk = 0;
	long_calls[_i].call(f);
	ck_assert_int_eq(told.phases + told.disk, 0);
	blm_use_threads(0);
	blm_close(f);
	unlink_made(true);
	unlink("a.blm");
}
END_TEST

static bool write_in_a_phase(void)
{
	BLM_PHASE(blm_writing, 10);
	blm_phase_at(5);
	return blm_phase_is_writing();
}

static void copy_and_write(void)
{
	BLM_PHASE("copying", 10);
	blm_phase_at(5);
	ck_assert(!blm_phase_is_writing());
	ck_assert(!write_in_a_phase());
}

static void create_as_a_whole(void)
{
	BLM_PHASE_WHOLE("creating", 2);
	copy_and_write();
	blm_phase_at(2);
}

START_TEST(a_phase_within_a_hidden_one_is_hidden_too)
{
	told = (struct told){ .thread = pthread_self(), .wanted = "creating" };
	blm_use_progress(tell, &told);
	create_as_a_whole();
	ck_assert_int_eq(told.phases, 1);
	ck_assert_int_eq(told.reports, 2);
	ck_assert(told.whole && !told.disk);
	ck_assert(write_in_a_phase());
	ck_assert_int_eq(told.disk, 2);
	blm_use_progress(NULL, NULL);
}
END_TEST

/* 256 MiB of holes, in five pieces, and the report that begins the phase. */
START_TEST(writing_to_the_disk_reports_each_64_mebibytes)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "a.blm", &BLM_PARAMS(.kind = "blocked", .cells = UINT64_C(1) << 31,
						     .probes = 4, .sparse = true)));
	ck_assert_int_eq(blm_add(f, "x", 1), 1);
	blm_use_progress(tell, &told);
	for (int to_new_file = 0; to_new_file < 2; to_new_file++) {
		told = (struct told){ .thread = pthread_self(), .wanted = "writing to the disk" };
		if (to_new_file)
			copy(f);
		else
			OK(blm_sync(f));
		ck_assert(told.whole);
		ck_assert_int_ge(told.reports, 6);
		ck_assert_int_eq(told.wrong, 0);
	}
	blm_use_progress(NULL, NULL);
	blm_close(f);
	unlink_made(false);
	unlink("a.blm");
}
END_TEST

START_TEST(a_sync_of_a_kind_without_checksums_checks_nothing)
{
	struct blm_filter *f = make_small("cuckoo");

	told = (struct told){ .thread = pthread_self() };
	blm_use_progress(tell, &told);
	OK(blm_sync(f));
	blm_use_progress(NULL, NULL);
	ck_assert_int_eq(told.phases, 0);
	ck_assert_int_gt(told.disk, 0);
	blm_close(f);
	unlink("made.blm");
}
END_TEST

/* A format of text, which is read as a whole. */
START_TEST(the_decoded_size_of_base64_is_unknown)
{
	struct blm_exchange in_base64 = BLM_EXCHANGE(.format = "js", .base64 = true);
	struct blm_filter *f, *made;
	void *bytes;
	size_t len;

	OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.format = "js", .capacity = 1000)));
	OK(blm_export_bytes(f, &in_base64, &bytes, &len));
	told = (struct told){ .thread = pthread_self(), .wanted = "reading" };
	blm_use_progress(tell, &told);
	OK(blm_import_bytes(&made, NULL, NULL, &in_base64, bytes, len));
	blm_use_progress(NULL, NULL);
	ck_assert(!told.with_total);
	blm_free(bytes);
	blm_close(f);
	blm_close(made);
}
END_TEST

/* Rows that are all as good as each other, so that all of them are read: 3 MB. */
START_TEST(a_search_in_few_long_rows_reports_each_megabyte)
{
	struct blm_bank_hit hits[25];
	struct blm_bank_build *b;
	struct blm_bank *bank;
	struct blm_filter *f;
	void *bits = calloc(1, 1 << 20);

	OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.kind = "classic", .cells = 1 << 20,
						  .probes = 3)));
	OK(blm_bank_begin(&b, "made.blm", false, 0));
	for (int i = 0; i < 25; i++)
		OK(blm_bank_add(b, f, "id"));
	OK(blm_bank_finish(b));
	OK(blm_bank_open(&bank, "made.blm"));
	told = (struct told){ .thread = pthread_self(), .wanted = "searching" };
	blm_use_progress(tell, &told);
	ck_assert_int_eq(blm_bank_similar(bank, bits, &(struct blm_likeness){ .threshold = 0 },
					  hits, 25), 25);
	blm_use_progress(NULL, NULL);
	ck_assert(told.whole);
	/* at its beginning, after 9 rows and after 18, and at its end */
	ck_assert_int_eq(told.reports, 4);
	blm_bank_close(bank);
	blm_close(f);
	free(bits);
	unlink("made.blm");
}
END_TEST

/* ---- Failures ---- */

static int fail_late(const struct blm_scan *pass, struct blm_worker *worker, uint64_t at,
		     size_t bytes)
{
	_Atomic unsigned *pieces = pass->context;

	atomic_fetch_add(pieces, 1);
	return at >= 16 << 20 ? blm_fail(-ENOSPC, "no room at %llu", (unsigned long long)at) : 0;
}

START_TEST(a_failure_in_any_thread_ends_the_pass)
{
	struct blm_filter *f = make("blocked", NULL, false, 0);
	const struct blm_view *view = current_view(f);
	_Atomic unsigned pieces = 0;

	blm_use_threads(threads[_i]);
	ck_assert_int_eq(blm_scan(&(struct blm_scan){ .views = &view,
						      .count = 1,
						      .most = BLM_PIECE,
						      .piece = fail_late,
						      .context = (void *)&pieces },
				  NULL),
			 -ENOSPC);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "no room at "));
	ck_assert_uint_ge(atomic_load(&pieces), 1);
	ck_assert_uint_lt(atomic_load(&pieces), (16 << 20) / BLM_PIECE + (8 << 20) / BLM_PIECE * 8);
	blm_use_threads(0);
	blm_close(f);
}
END_TEST

static int fail_together(const struct blm_scan *pass, struct blm_worker *worker, uint64_t at,
			 size_t bytes)
{
	pthread_barrier_wait(pass->context);
	return blm_fail(-ENOSPC, "no room at %llu", (unsigned long long)at);
}

START_TEST(one_of_two_threads_failures_is_reported)
{
	struct blm_filter *f = make("blocked", NULL, false, 0);
	const struct blm_view *view = current_view(f);
	pthread_barrier_t both;

	pthread_barrier_init(&both, NULL, 2);
	blm_use_threads(2);
	ck_assert_int_eq(blm_scan(&(struct blm_scan){ .views = &view,
						      .count = 1,
						      .most = BLM_PIECE,
						      .piece = fail_together,
						      .context = &both },
				  NULL),
			 -ENOSPC);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "no room at "));
	blm_use_threads(0);
	pthread_barrier_destroy(&both);
	blm_close(f);
}
END_TEST

static int count_bytes(const struct blm_scan *pass, struct blm_worker *worker, uint64_t at,
		       size_t bytes)
{
	atomic_fetch_add((_Atomic uint64_t *)pass->context, bytes);
	return 0;
}

/* Its thread cannot be started, or its memory is missing: the caller allocates the first piece. */
START_TEST(a_helper_that_cannot_be_had_is_done_without)
{
	struct blm_filter *f = make("blocked", NULL, false, 0);
	const struct blm_view *view = current_view(f);
	_Atomic uint64_t done = 0;

	blm_use_threads(3);
	refuse_threads = _i == 0;
	refuse_memory = _i == 0 ? 0 : 2;
	OK(blm_scan(&(struct blm_scan){ .views = &view,
					.count = 1,
					.most = BLM_PIECE,
					.piece = count_bytes,
					.context = (void *)&done },
		    NULL));
	ck_assert_int_eq(refuse_memory, 0);
	refuse_threads = false;
	ck_assert_uint_eq(atomic_load(&done), view->part[0].shape.bytes);
	blm_use_threads(0);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = (prefer_memory(), begin_suite("scan"));
	TCase *tc = tcase_create("scan");

	if (chdir(test_dir) < 0)
		return EXIT_FAILURE;
	tcase_add_loop_test(tc, any_number_of_threads_gives_the_same_bits_and_counts, 0, 4);
	tcase_add_test(tc, holes_stay_holes_whatever_is_made_of_a_sparse_filter);
	tcase_add_test(tc, a_phase_within_a_hidden_one_is_hidden_too);
	tcase_add_test(tc, writing_to_the_disk_reports_each_64_mebibytes);
	tcase_add_loop_test(tc, a_long_call_tells_its_thread_how_far_it_is, 0,
			    ARRAY_LEN(long_calls));
	tcase_add_test(tc, a_sync_of_a_kind_without_checksums_checks_nothing);
	tcase_add_test(tc, a_search_in_few_long_rows_reports_each_megabyte);
	tcase_add_test(tc, the_decoded_size_of_base64_is_unknown);
	tcase_add_loop_test(tc, a_failure_in_any_thread_ends_the_pass, 0,
			    ARRAY_LEN(threads));
	tcase_add_test(tc, one_of_two_threads_failures_is_reported);
	tcase_add_loop_test(tc, a_helper_that_cannot_be_had_is_done_without, 0, 2);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
