/*
 * parts.c - kinds whose filters have several parts: scalable, removable, attenuated; window has a
 * file of its own
 */
#include "handle/handle.h"
#include "file/mapping.h"
#include "kind/common/composite.h"
#include "suite.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

static struct blm_filter *create(const char *path, struct blm_params params)
{
	struct blm_filter *f;
	uint64_t seed = 7;

	if (!params.seeds) {
		params.seeds = &seed;
		params.seed_count = 1;
	}
	OK(blm_create(&f, NULL, path, &params));
	return f;
}

static struct blm_filter *scalable(const char *path, uint64_t capacity)
{
	return create(path, BLM_PARAMS(.kind = "scalable", .capacity = capacity, .rate = 0.01));
}

static struct blm_filter *reopen(const struct blm_filter *f, bool write)
{
	struct blm_filter *again;

	OK(blm_open(&again, NULL, f->place.display, write ? BLM_OPEN_WRITE : 0));
	return again;
}

static unsigned stages(const struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;

	OK(blm_info(f, &info));
	return info.parts;
}

static void add_range(struct blm_filter *f, uint64_t from, uint64_t to)
{
	uint64_t *keys = malloc((to - from + 1) * 8);

	for (uint64_t i = from; i < to; i++)
		keys[i - from] = i;
	OK(blm_add_fixed(f, keys, 8, to - from, NULL));
	free(keys);
}

static uint64_t found_in_range(const struct blm_filter *f, uint64_t from, uint64_t to)
{
	uint64_t *keys = malloc((to - from + 1) * 8), n;

	for (uint64_t i = from; i < to; i++)
		keys[i - from] = i;
	n = (uint64_t)blm_contains_fixed(f, keys, 8, to - from, NULL);
	free(keys);
	return n;
}

/* ---- Scalable: the rate ---- */

/*
 * Almeida et al.: the rate holds at every size, however the filter grew: with a full last stage and
 * with an empty one; within 3 standard deviations, from the questions and from the bits that the
 * keys happen to set.
 */
START_TEST(the_rate_holds_at_every_size)
{
	static const struct { const char *options;
	} how[] = {
		{ "growth=2,tightening=0.5" },
		{ "growth=4,tightening=0.5" },
		{ "growth=2,tightening=0.9" },
		{ "growth=4,tightening=0.9" },
		{ "growth=2,tightening=0.5,blocked=1" },
		{ "growth=4,tightening=0.9,blocked=1" },
	};
	const uint64_t most = test_full() ? 10000000 : test_scale() < 1 ? 300000 : 1000000,
		       asked = 400000;
	struct blm_filter *f;
	uint64_t before = 0;

	if (is_too_alike(_i, 3))
		return;
	f = create(a_path(), BLM_PARAMS(.kind = "scalable", .capacity = 10000, .rate = 0.001,
					.options = how[_i].options));
	for (uint64_t size = 10000; size <= most; size = size * 3 / 2) {
		double rate, error = sqrt(0.001 / (double)asked);

		add_range(f, before, size);
		before = size;
		rate = (double)found_in_range(f, UINT64_C(1) << 40, (UINT64_C(1) << 40) + asked)
		     / (double)asked;
		ck_assert_msg(rate <= 0.001 + 3 * error, "%s, %llu keys: %g", how[_i].options,
			      (unsigned long long)size, rate);
	}
	ck_assert_uint_eq(found_in_range(f, 0, before), before);
	ck_assert_uint_ge(stages(f), 4);
	blm_close(f);
}
END_TEST

/* A rule of another program is one of classic stages. */
START_TEST(stages_are_blocked_where_that_is_wanted)
{
	struct blm_params params = BLM_PARAMS(.kind = "scalable", .capacity = 100, .rate = 0.01,
					      .options = "blocked=1");
	struct blm_filter *a = create(a_path(), params), *b, *f;
	void *out;
	size_t bytes;

	OK(blm_template(&b, NULL, a_path(), a, 0));
	add_range(a, 0, 5000);
	add_range(b, 5000, 10000);
	ck_assert_uint_ge(stages(a), 4);
	for (unsigned i = 0; i < stages(a); i++)
		ck_assert_str_eq(current_view(a)->part[i].kind->name, "blocked");
	OK(blm_combine_into(a, BLM_UNION, (const struct blm_filter *const[]){ b }, 1, 0, NULL));
	ck_assert_uint_eq(found_in_range(a, 0, 10000), 10000);
	FAILS(blm_export_bytes(a, &BLM_EXCHANGE(.format = "redisbloom"), &out, &bytes),
	      -EOPNOTSUPP);
	blm_close(a), blm_close(b);
	params.hash = "murmur64a";
	params.scheme = "double-64";
	FAILS(blm_create(&f, NULL, a_path(), &params), -EINVAL);
	params.options = "blocked=0";
	OK(blm_create(&f, NULL, a_path(), &params));
	blm_close(f);
}
END_TEST

START_TEST(no_stage_exceeds_its_keys_however_many_are_added)
{
	struct blm_filter *all = scalable(a_path(), 100), *each = scalable(a_path(), 100);

	add_range(all, 0, 20000);
	for (uint64_t i = 0; i < 20000; i++)
		OK(blm_add(each, &i, 8));
	ck_assert_uint_eq(stages(all), stages(each));
	for (unsigned i = 0; i < stages(all); i++) {
		const struct blm_part *x = &current_view(all)->part[i],
				      *y = &current_view(each)->part[i];

		ck_assert_uint_eq(x->shape.bytes, y->shape.bytes);
		ck_assert_int_eq(memcmp(x->bytes, y->bytes, x->shape.bytes), 0);
	}
	blm_close(all), blm_close(each);
}
END_TEST

/* A lone writer, who need not count the keys before each of them. */
START_TEST(the_next_stage_begins_when_the_last_one_is_full)
{
	struct blm_filter *f = scalable(a_path(), 5000);
	uint64_t new = 0;

	for (uint64_t i = 0; new < 20000; i++) {
		int r = _i ? blm_claim(f, &i, 8) : blm_add(f, &i, 8);

		OK(r);
		new += (uint64_t)r;
		ck_assert_uint_eq(stages(f), new <= 5000 ? 1 : new <= 15000 ? 2 : 3);
	}
	blm_close(f);
}
END_TEST

/* Handles that do not count before each key: together they add hardly more than one does. */
START_TEST(writers_in_turns_fill_a_stage_hardly_too_full)
{
	struct blm_filter *f[4] = { scalable(a_path(), 5000) };
	uint64_t new = 0, i = 0;

	for (int w = 1; w < 4; w++)
		f[w] = reopen(*f, true);
	for (; stages(*f) == 1; i++) {
		int r = blm_add(f[i % 4], &i, 8);

		OK(r);
		new += (uint64_t)r;
	}
	ck_assert_uint_gt(new, 5000);
	ck_assert_uint_le(new, 5000 + 4 * (5000 / 256 + 1));
	for (int w = 0; w < 4; w++)
		blm_close(f[w]);
}
END_TEST

/*
 * Bit by bit, at any place in a word: the answers of a call are the same whether the filter grew in
 * it or not.
 */
START_TEST(a_call_in_which_a_filter_grows_answers_correctly)
{
	enum { KEYS = 5000 };
	static uint64_t keys[KEYS], bits[KEYS / 64 + 1];
	struct blm_filter *f = scalable(a_path(), 37), *same = scalable(a_path(), 37);

	for (uint64_t i = 0; i < KEYS; i++)
		keys[i] = i % 3 == 2 ? i / 2 : i;	/* every third has been there */
	OK(blm_claim_fixed(f, keys, 8, KEYS, bits));
	for (uint64_t i = 0; i < KEYS; i++)
		ck_assert_int_eq(bits[i / 64] >> i % 64 & 1, blm_claim(same, &keys[i], 8));
	ck_assert_uint_ge(stages(f), 5);
	blm_close(f), blm_close(same);
}
END_TEST

START_TEST(a_key_of_an_earlier_stage_is_not_added_again)
{
	struct blm_filter *f = scalable(a_path(), 100);
	uint64_t won = 0;

	add_range(f, 0, 1000);
	for (uint64_t i = 0; i < 1000; i++) {
		ck_assert_int_eq(blm_add(f, &i, 8), 0);
		won += (uint64_t)blm_claim(f, &i, 8);
	}
	ck_assert_uint_eq(won, 0);
	blm_close(f);
}
END_TEST

START_TEST(an_older_handle_sees_the_keys_of_new_stages)
{
	struct blm_filter *f = scalable(a_path(), 100), *reader = reopen(f, false),
			  *writer = reopen(f, true);

	for (uint64_t i = 0; i < 3000; i++) {
		OK(blm_add(i % 2 ? f : writer, &i, 8));
		ck_assert(blm_contains(reader, &i, 8));
	}
	ck_assert_uint_ge(stages(reader), 4);
	ck_assert_uint_eq(stages(reader), stages(f));
	blm_close(f), blm_close(reader), blm_close(writer);
}
END_TEST

START_TEST(a_handle_that_cannot_open_new_stages_fails_to_sync)
{
	struct blm_filter *f = scalable(a_path(), 100), *writer = reopen(f, true);

	for (uint64_t i = 0; stages(writer) < 2; i++)
		OK(blm_add(writer, &i, 8));
	OK(unlink(f->place.display));
	FAILS(blm_sync(f), -ENOENT);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "its new file cannot be opened"));
	/* it has all stages open, and learns that the file is gone */
	FAILS(blm_sync(writer), -ESTALE);
	blm_close(f), blm_close(writer);
}
END_TEST

/* ---- Scalable: the file ---- */

START_TEST(a_grown_filter_can_be_copied_exported_and_sealed)
{
	struct blm_filter *f = scalable(a_path(), 100), *copy, *sent, *twin, *inside;
	void *bytes;
	size_t len;

	add_range(f, 0, 2000);
	OK(blm_sync(f));
	OK(blm_copy(&copy, NULL, a_path(), f, 0));
	OK(blm_copy(&inside, NULL, NULL, f, 0));
	OK(blm_export_bytes(f, NULL, &bytes, &len));
	OK(blm_import_bytes(&sent, NULL, a_path(), NULL, bytes, len));
	OK(blm_template(&twin, NULL, a_path(), f, 0));
	ck_assert_uint_eq(stages(copy), stages(f));
	ck_assert_uint_eq(stages(sent), stages(f));
	ck_assert_uint_eq(stages(inside), stages(f));
	ck_assert_uint_eq(stages(twin), 1);
	ck_assert_uint_eq(found_in_range(twin, 0, 2000), 0);
	for (int i = 0; i < 3; i++) {
		struct blm_filter *one = i == 0 ? copy : i == 1 ? sent : inside;

		ck_assert_uint_eq(found_in_range(one, 0, 2000), 2000);
		add_range(one, 2000, 8000);
		ck_assert_uint_eq(found_in_range(one, 0, 8000), 8000);
		ck_assert_uint_gt(stages(one), stages(f));
	}
	OK(blm_seal(copy));
	ck_assert_int_eq(blm_verify(NULL, copy->place.display, 0, NULL, NULL), 0);
	ck_assert_int_eq(blm_verify(NULL, f->place.display, 0, NULL, NULL), 0);
	OK(blm_clear(sent));
	ck_assert_uint_eq(stages(sent), 1);
	ck_assert_uint_eq(found_in_range(sent, 0, 8000), 0);
	blm_free(bytes);
	blm_close(f), blm_close(copy), blm_close(sent), blm_close(twin), blm_close(inside);
}
END_TEST

START_TEST(damage_in_any_stage_is_repaired_without_denied_keys)
{
	struct blm_filter *f = scalable(a_path(), 1000);
	const char *path = strdup(f->place.display);
	unsigned last;

	add_range(f, 0, 20000);
	OK(blm_sync(f));
	last = stages(f) - 1;
	memset(current_view(f)->part[last].bytes, 0, 512);
	memset(current_view(f)->part[0].bytes, 0, 512);
	blm_close(f);
	ck_assert_int_eq(blm_verify(NULL, path, 0, NULL, NULL), 2);
	ck_assert_int_eq(blm_verify(NULL, path, BLM_VERIFY_REPAIR, NULL, NULL), 0);
	OK(blm_open(&f, NULL, path, 0));
	ck_assert_uint_eq(found_in_range(f, 0, 20000), 20000);
	blm_close(f);
}
END_TEST

START_TEST(a_union_of_differently_grown_filters_has_all_keys)
{
	struct blm_filter *f = scalable(a_path(), 100), *little, *much, *both, *other;
	const struct blm_filter *from[3];
	double rate;

	OK(blm_template(&little, NULL, a_path(), f, 0));
	OK(blm_template(&much, NULL, a_path(), f, 0));
	OK(blm_template(&other, NULL, a_path(), f, 0));
	add_range(little, 0, 50);
	add_range(much, 1000, 4000);
	add_range(f, 5000, 5500);
	from[0] = little, from[1] = much, from[2] = f;
	OK(blm_combine(&both, NULL, a_path(), BLM_UNION, from, 3, 0, &rate));
	ck_assert_uint_eq(found_in_range(both, 0, 50) + found_in_range(both, 1000, 4000)
				  + found_in_range(both, 5000, 5500),
			  3550);
	ck_assert_uint_eq(stages(both), stages(much));
	/* stages have more than they are for */
	FAILS(blm_combine(NULL, NULL, a_path(), BLM_UNION, from, 3, rate / 2, NULL), -ERANGE);
	OK(blm_combine_into(little, BLM_UNION, from + 1, 2, 0, &rate));
	ck_assert_uint_eq(found_in_range(little, 0, 50) + found_in_range(little, 1000, 4000)
				  + found_in_range(little, 5000, 5500),
			  3550);
	ck_assert_uint_eq(stages(little), stages(much));
	OK(blm_compare(other, much, &(struct blm_comparison){ 0 }));
	OK(blm_compare(much, other, &(struct blm_comparison){ 0 }));
	/* of several parts it has no one place */
	FAILS(blm_data_unite(much, 0, (uint8_t[64]){ 0 }, 64), -EOPNOTSUPP);
	add_range(both, 10000, 20000);
	ck_assert_uint_eq(found_in_range(both, 10000, 20000), 10000);
	blm_close(f), blm_close(little), blm_close(much), blm_close(both), blm_close(other);
}
END_TEST

static uint64_t flushed_bytes;

/* Instead of the system's, which is right, or there would be nothing to build on. */
int fdatasync(int fd)
{
	struct stat st;

	flushed_bytes = fstat(fd, &st) < 0 ? 0 : (uint64_t)st.st_size;
	return 0;
}

START_TEST(the_file_is_longer_on_disk_before_a_part_counts)
{
	struct blm_filter *f =
		create(a_path(), BLM_PARAMS(.kind = "scalable", .capacity = 100, .sparse = _i));

	for (uint64_t i = 0; i < 2000; i++) {
		OK(blm_add(f, &i, 8));
		ck_assert(stages(f) == 1 || flushed_bytes >= blm_view_end(current_view(f)));
	}
	ck_assert_uint_ge(stages(f), 4);
	blm_close(f);
}
END_TEST

static int add_many(struct blm_filter *fresh, void *context)
{
	add_range(fresh, 0, *(const uint64_t *)context);
	return 0;
}

static double rate_of(const struct blm_filter *f)
{
	struct blm_estimate e;

	OK(blm_estimate(f, true, &e));
	return e.rate.value;
}

static void has_grown_for(struct blm_filter *f, uint64_t keys)
{
	ck_assert_uint_ge(stages(f), 4);
	ck_assert_uint_eq(found_in_range(f, 0, keys), keys);
	ck_assert_double_le(rate_of(f), 0.01);
	ck_assert_int_eq(blm_verify(NULL, f->place.display, 0, NULL, NULL), 0);
	add_range(f, keys, 3 * keys);
	ck_assert_uint_eq(found_in_range(f, 0, 3 * keys), 3 * keys);
}

/* _i: 0 a path, 1 keyed */
START_TEST(it_grows_during_a_build_and_a_rebuild)
{
	static const uint8_t secret[BLM_SECRET_BYTES] = "secret";
	static const uint64_t seed = 7;		/* the same in each run: so is the rate */
	struct blm_params params = BLM_PARAMS(.kind = "scalable", .capacity = 1000, .rate = 0.01,
					      .hash = _i ? "siphash" : NULL,
					      .secret = _i ? secret : NULL, .seeds = &seed,
					      .seed_count = !_i);
	uint64_t many = 20000, *keys = malloc(many * 8);
	struct blm_build *b;
	struct blm_filter *f;

	for (uint64_t i = 0; i < many; i++)
		keys[i] = i;
	OK(blm_build_begin(&b, NULL, a_path(), &params,
			   &(struct blm_build_options){ .threads = 2 }));
	for (uint64_t i = 0; i < many; i += 5000)
		OK(blm_build_add_fixed(b, keys + i, 8, 5000));
	OK(blm_build_finish(b, &f));
	has_grown_for(f, many);
	OK(blm_clear(f));
	ck_assert_uint_eq(stages(f), 1);
	OK(blm_rebuild(NULL, f->place.display, &BLM_PARAMS(.seeds = &seed, .seed_count = !_i),
		       add_many, &many));
	has_grown_for(f, many);
	OK(blm_build_begin(&b, NULL, a_path(), &params, NULL));
	OK(blm_build_add_fixed(b, keys, 8, many));
	blm_build_cancel(b);
	blm_close(f);
	free(keys);
}
END_TEST

/* Its stages have more keys then than they are for. */
START_TEST(a_union_of_grown_filters_reports_its_rate)
{
	struct blm_filter *a = scalable(a_path(), 1000), *b, *both;
	double rate, measured;

	OK(blm_template(&b, NULL, a_path(), a, 0));
	add_range(a, 0, 7000);
	add_range(b, 7000, 14000);
	FAILS(blm_combine(&both, NULL, a_path(), BLM_UNION, (const struct blm_filter *[]){ a, b },
			  2, 0.01, NULL),
	      -ERANGE);
	FAILS(blm_combine_into(a, BLM_UNION, (const struct blm_filter *[]){ b }, 1, 0.01, NULL),
	      -ERANGE);
	ck_assert_uint_le(found_in_range(a, 7000, 14000), 200);
	OK(blm_combine_into(a, BLM_UNION, (const struct blm_filter *[]){ b }, 1, 0, &rate));
	measured = (double)found_in_range(a, 1000000, 1100000) / 1e5;
	ck_assert_double_gt(measured, 0.01);
	ck_assert_double_eq_tol(rate, measured, 0.01);
	ck_assert_double_eq(rate_of(a), rate);
	add_range(a, 14000, 15000);
	ck_assert_uint_eq(stages(a), 4);
	blm_close(a), blm_close(b);
}
END_TEST

/* Bytes that another process left at the end of the file are no part of the filter. */
START_TEST(bytes_after_the_last_stage_never_enter_the_next)
{
	struct blm_filter *f = scalable(a_path(), 100);
	const char *path = strdup(f->place.display);
	uint8_t junk[8192];
	int fd = open(path, O_WRONLY | O_APPEND);

	memset(junk, 0xff, sizeof(junk));
	ck_assert_int_eq(write(fd, junk, sizeof(junk)), sizeof(junk));
	add_range(f, 0, 110);
	ck_assert_uint_eq(stages(f), 2);
	ck_assert_uint_le(found_in_range(f, 1000, 11000), 200);
	close(fd);
	blm_close(f);
}
END_TEST

/* The count is a number in the file, by which it grows. */
START_TEST(an_excessive_damaged_count_does_not_fill_the_disk)
{
	struct blm_filter *f = scalable(NULL, 100);
	unsigned before;
	uint64_t count;
	bool estimated;

	add_range(f, 0, 350);
	before = stages(f);
	store_release(&current_view(f)->image.header->stripe[3].keys, UINT64_C(1) << 62);
	add_range(f, 350, 360);
	ck_assert_uint_le(stages(f), before + 1);
	add_range(f, 360, 2000);
	ck_assert_uint_le(stages(f), before + 3);
	ck_assert_uint_eq(found_in_range(f, 0, 2000), 2000);
	OK(blm_count(f, &count, &estimated));
	ck_assert(estimated && count > 1800 && count < 2200);
	blm_close(f);
}
END_TEST

/* As many bits as 2^20 keys set, in a first stage that is for ten. */
START_TEST(an_excessive_count_that_the_bits_confirm_causes_growth)
{
	struct blm_filter *f;
	struct blm_part *first;

	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.kind = "scalable", .cells = 1 << 24, .probes = 1,
				  .capacity = 10)));
	first = &current_view(f)->part[0];
	for (uint64_t i = 0; i < first->shape.bytes; i += 2)
		first->bytes[i] = 1;
	store_release(&current_view(f)->image.header->stripe[3].keys, UINT64_C(1) << 19);
	add_range(f, 0, 1);
	ck_assert_uint_eq(stages(f), 2);
	ck_assert_uint_eq(found_in_range(f, 0, 1), 1);
	blm_close(f);
}
END_TEST

/*
 * A file that says it is for far more keys than its one stage has cells for, or nearly none: the
 * next one is in proportion to the cells that are there, by its own rate and growth at their most.
 */
START_TEST(one_more_key_takes_proportional_memory_for_any_file)
{
	static const struct {
		uint64_t capacity, of_stage;
		double rate;
		const char *options;
		uint64_t next;
	} lies[] = {
		{ 32768, 1, 1e-298, "growth=16", 16 },
		{ 32768, 0, 0.5, "growth=16,tightening=0.1", 16 },
		{ 32768, UINT64_MAX, 0.99, "growth=16,tightening=0.1", 0 },
		/* 66 is twice 33, as 512 cells have a rate of 0.0005 with 32.4 keys */
		{ 32768, 32768, 0.01, "growth=16,tightening=0.95", 16 * 66 },
		{ 1, 32768, 1e-298, "growth=2", 2 },
	};

	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		struct blm_filter *f = create(
			a_path(), BLM_PARAMS(.kind = "scalable", .capacity = 10, .cells = 512,
					     .rate = 0.01, .options = lies[i].options));
		const char *path = strdup(f->place.display);
		struct blm_header *header = current_view(f)->image.header;
		struct stat st;

		header->constant.capacity = htole64(lies[i].capacity);
		header->constant.rate = htole64(blm_bits_of(lies[i].rate));
		header->constant.check = blm_check_constant(&header->constant);
		header->part[0].capacity = htole64(lies[i].of_stage);
		header->part[0].check = blm_check_part(&header->part[0], 0, header->constant.uuid);
		header->stripe[0].keys = htole64(lies[i].of_stage);
		blm_close(f);
		OK(blm_open(&f, NULL, path, BLM_OPEN_WRITE));
		ck_assert_int_eq(blm_add(f, "key", 3), 1);
		ck_assert(blm_contains(f, "key", 3));
		ck_assert_int_eq(stat(path, &st), 0);
		ck_assert_int_lt(st.st_size, 128 << 10);
		ck_assert_uint_eq(stages(f), lies[i].next ? 2 : 1);
		if (lies[i].next)
			ck_assert_uint_eq(current_view(f)->part[1].shape.capacity, lies[i].next);
		blm_close(f);
		free((char *)path);
	}
}
END_TEST

START_TEST(a_first_stage_for_too_many_keys_is_refused)
{
	struct blm_filter *f = create(a_path(), BLM_PARAMS(.kind = "scalable", .capacity = 10,
							   .cells = 512, .rate = 0.01)),
			  *again;
	struct blm_header *header = current_view(f)->image.header;

	header->constant.capacity = htole64(UINT64_C(1) << 40);
	header->constant.check = blm_check_constant(&header->constant);
	FAILS(blm_open(&again, NULL, f->place.display, BLM_OPEN_WRITE), -EBADMSG);
	ck_assert_msg(strstr(blm_error_message(), "for 1099511627776 keys has m=512") != NULL, "%s",
		      blm_error_message());
	blm_close(f);
	FAILS(blm_create(&f, NULL, NULL,
			 &BLM_PARAMS(.kind = "scalable", .capacity = 1 << 20, .cells = 512,
				     .rate = 0.01)),
	      -EINVAL);
	ck_assert_msg(strstr(blm_error_message(), "1048576 keys in 512 cells") != NULL, "%s",
		      blm_error_message());
}
END_TEST

/* A limit of file sizes stands for a full disk. */
static int grow_beyond_the_limit(void *context)
{
	struct blm_filter *f;
	struct stat st;

	MUST(blm_open(&f, NULL, context, BLM_OPEN_WRITE) == 0 && stat(context, &st) == 0);
	MUST(setrlimit(RLIMIT_FSIZE,
		       &(struct rlimit){ (rlim_t)st.st_size + 100, (rlim_t)st.st_size + 100 })
	     == 0);
	for (uint64_t i = 0, r; i < 300; i++) {
		r = (uint64_t)(int64_t)blm_add(f, &i, 8);
		if ((int64_t)r == -EFBIG) {
			MUST(i >= 100 && !blm_contains(f, &i, 8));
			return 0;
		}
		MUST(r <= 1);
	}
	return 1;
}

START_TEST(a_key_without_space_to_grow_is_refused_without_loss)
{
	struct blm_filter *f = scalable(a_path(), 100);

	ck_assert_int_eq(join(spawn(grow_beyond_the_limit, (void *)(uintptr_t)f->place.display)),
			 0);
	ck_assert_uint_eq(found_in_range(f, 0, 100), 100);
	ck_assert_uint_eq(stages(f), 1);
	add_range(f, 0, 300);
	ck_assert_uint_eq(found_in_range(f, 0, 300), 300);
	ck_assert_uint_eq(stages(f), 2);
	blm_close(f);
}
END_TEST

/* From one key on it doubles, so that most of what a process does is growing. */
static _Atomic uint64_t *acknowledged;

static int add_for_ever(void *context)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, context, BLM_OPEN_WRITE) == 0);
	for (uint64_t i = *acknowledged; ; i++) {
		MUST(blm_add(f, &i, 8) >= 0);
		*acknowledged = i + 1;
	}
}

START_TEST(growers_that_are_killed_anywhere_leave_a_good_filter)
{
	uint64_t random = 1, kills = (uint64_t)(200 * test_scale());
	struct blm_filter *f = NULL;

	acknowledged = mmap(NULL, sizeof(*acknowledged), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(acknowledged, MAP_FAILED);
	for (uint64_t k = 0; k < kills; k++) {
		pid_t pid;

		if (k % 5 == 0) {
			blm_close(f);
			f = scalable(a_path(), 1);
			*acknowledged = 0;
		}
		pid = spawn(add_for_ever, (void *)(uintptr_t)f->place.display);
		usleep((useconds_t)(next_random(&random) % 4000));
		kill(pid, SIGKILL);
		ck_assert_int_eq(join(pid), 1000 + SIGKILL);
		ck_assert_uint_eq(found_in_range(f, 0, *acknowledged), *acknowledged);
		ck_assert_int_eq(blm_verify(NULL, f->place.display, 0, NULL, NULL), 0);
		ck_assert_uint_le(found_in_range(f, UINT64_C(1) << 40, (UINT64_C(1) << 40) + 1000),
				  40);
	}
	blm_close(f);
}
END_TEST

/*
 * A power cut keeps any of the pages that changed since the last sync, but what was flushed on
 * purpose before the count of parts grew is there: the part table, and the length of the file.
 */
START_TEST(a_power_cut_in_growth_keeps_every_synced_key)
{
	enum { SYNCED = 1000 };
	uint64_t random = (uint64_t)_i + 1, bytes, before;
	struct blm_filter *f = scalable(a_path(), 300);
	char *cut = strdup(a_path());
	uint8_t *synced, *now;
	FILE *file;

	add_range(f, 0, SYNCED);
	OK(blm_sync(f));
	before = current_view(f)->image.bytes;
	synced = calloc(1, 1 << 20);
	memcpy(synced, current_view(f)->image.map, before);
	add_range(f, SYNCED, SYNCED + 5000);
	bytes = current_view(f)->image.bytes;
	ck_assert_uint_gt(bytes, before);
	ck_assert_uint_lt(bytes, 1 << 20);
	now = malloc(bytes);
	memcpy(now, current_view(f)->image.map, bytes);
	for (uint64_t page = 0; page < bytes; page += 4096)
		if (page != 2 * 4096 && next_random(&random) % 2)
			memcpy(now + page, synced + page,
			       bytes - page < 4096 ? bytes - page : 4096);
	file = fopen(cut, "we");
	ck_assert_uint_eq(fwrite(now, 1, bytes, file), bytes);
	fclose(file);
	blm_close(f);
	OK(blm_open(&f, NULL, cut, BLM_OPEN_WRITE));
	ck_assert_uint_eq(found_in_range(f, 0, SYNCED), SYNCED);
	add_range(f, SYNCED, SYNCED + 20000);
	ck_assert_uint_eq(found_in_range(f, 0, SYNCED + 20000), SYNCED + 20000);
	blm_close(f);
	free(synced), free(now);
}
END_TEST

START_TEST(a_process_that_opens_it_during_growth_sees_all)
{
	struct blm_filter *f = scalable(a_path(), 10);
	struct blm_contents *contents = malloc(sizeof(*contents));
	struct blm_image image;

	OK(blm_image_map(&image, open(f->place.display, O_RDONLY | O_CLOEXEC), f->place.display,
			 false));
	add_range(f, 0, 1000);
	ck_assert_uint_lt(image.bytes, current_view(f)->image.bytes);
	OK(blm_image_check(&image, f->place.display, contents));
	ck_assert_uint_eq(contents->parts, stages(f));
	ck_assert_uint_eq(image.bytes, current_view(f)->image.bytes);
	blm_image_unmap(&image);
	blm_close(f);
	free(contents);
}
END_TEST

static int grow_at_once(void *context)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, context, BLM_OPEN_WRITE) == 0);
	for (uint64_t i = 0; i < 20000; i++)
		MUST(blm_add(f, &i, 8) >= 0);
	return 0;
}

/* By other means than ours, so that nothing in the file says so. */
START_TEST(growing_an_unlinked_file_fails_and_uses_its_replacement)
{
	struct blm_filter *f = scalable(a_path(), 100), *other = scalable(a_path(), 100), *again;
	uint64_t key = 0;
	int r = 0;

	OK(_i ? rename(other->place.display, f->place.display) : unlink(f->place.display));
	for (; key < 1000 && r >= 0; key++)
		r = blm_add(f, &key, sizeof(key));
	ck_assert(blm_contains(f, &(uint64_t){ 0 }, sizeof(key)) || _i);
	if (_i) {
		OK(r);
		again = reopen(f, false);
		ck_assert(blm_contains(again, &(uint64_t){ 999 }, sizeof(key)));
		blm_close(again);
	} else {
		ck_assert_int_eq(r, -ENOENT);
		ck_assert_uint_gt(key, 100);
	}
	blm_close(f);
	blm_close(other);
}
END_TEST

START_TEST(a_union_that_would_grow_a_dropped_filter_is_refused)
{
	struct blm_filter *f, *grown = scalable(a_path(), 100);
	struct blm_store *store;

	for (uint64_t key = 0; key < 1000; key++)
		OK(blm_add(grown, &key, sizeof(key)));
	OK(blm_store_open(&store, a_path(), BLM_STORE_CREATE));
	OK(blm_template(&f, store, "f", grown, 0));
	OK(blm_store_drop(store, "f"));
	FAILS(blm_combine_into(f, BLM_UNION, (const struct blm_filter *const[]){ grown }, 1, 0,
			       NULL),
	      -ESTALE);
	blm_close(f);
	blm_close(grown);
	blm_store_close(store);
}
END_TEST

START_TEST(one_of_several_growing_processes_grows_it)
{
	struct blm_filter *f = scalable(a_path(), 10), *alone = scalable(a_path(), 10);
	pid_t pid[4];

	for (int i = 0; i < 4; i++)
		pid[i] = spawn(grow_at_once, (void *)(uintptr_t)f->place.display);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(join(pid[i]), 0);
	add_range(alone, 0, 20000);
	ck_assert_uint_eq(found_in_range(f, 0, 20000), 20000);
	/* keys that two added at once were counted twice */
	ck_assert_uint_le(stages(f), stages(alone) + 1);
	blm_close(f), blm_close(alone);
}
END_TEST

START_TEST(part_tables_that_do_not_add_up_are_refused)
{
	static const struct { size_t at; uint64_t word; } lies[] = {
		{ 24, 2 }, { 28, 3 }, { 32, 2 }, { 36, 7 }, { 36, 0 }, { 16, 512 }, { 8, 64 },
	};

	for (size_t i = 0; i < ARRAY_LEN(lies); i++)
		for (unsigned entry = 0; entry < 2; entry++) {
			struct blm_filter *f = scalable(a_path(), 100), *again;
			struct blm_part_entry *e = &current_view(f)->image.header->part[entry];

			add_range(f, 0, 300);
			ck_assert_uint_eq(stages(f), 2);
			e = &current_view(f)->image.header->part[entry];
			memcpy((uint8_t *)e + lies[i].at, &lies[i].word, lies[i].at < 24 ? 8 : 4);
			e->check = blm_check_part(e, entry, current_view(f)->constant.uuid);
			if (entry == 0 || lies[i].at >= 32 || lies[i].at == 8 || lies[i].at == 28) {
				FAILS(blm_open(&again, NULL, f->place.display, 0), -EBADMSG);
			} else if (blm_open(&again, NULL, f->place.display, 0)
				   == 0) { /* other sizes than ours would be are as good */
				found_in_range(again, 0, 300);
				blm_close(again);
			}
			blm_close(f);
		}
}
END_TEST

START_TEST(filters_whose_parts_differ_in_size_do_not_combine)
{
	for (int fewer_cells = 0; fewer_cells < 2; fewer_cells++) {
		struct blm_filter *f = scalable(a_path(), 100), *g = scalable(a_path(), 100), *odd,
				  *both;
		const char *path = a_path();
		struct blm_part_entry *e;

		add_range(f, 0, 300);
		add_range(g, 0, 300);
		OK(blm_same_template(f, g));
		OK(blm_copy(&odd, NULL, path, g, 0));
		e = &current_view(odd)->image.header->part[1];
		ck_assert_uint_eq(stages(odd), 2);
		if (fewer_cells) {
			e->cells = htole64(512);
			e->bytes = htole64(64);
		} else {
			e->probes = htole32(2);
		}
		e->check = blm_check_part(e, 1, current_view(odd)->constant.uuid);
		blm_close(odd);
		OK(blm_open(&odd, NULL, path, 0));
		FAILS(blm_same_template(f, odd), -EMEDIUMTYPE);
		ck_assert_msg(strstr(blm_error_message(), "their parts 1 differ in size") != NULL,
			      "%s", blm_error_message());
		FAILS(blm_combine(&both, NULL, a_path(), BLM_UNION,
				  (const struct blm_filter *[]){ f, odd }, 2, 0, NULL),
		      -EMEDIUMTYPE);
		blm_close(f), blm_close(g), blm_close(odd);
	}
}
END_TEST

/* ---- Removable ---- */

START_TEST(removed_keys_are_gone_and_few_others_with_them)
{
	enum { KEYS = 100000 };
	const double rate = 2.0e-4;
	double denied = 0, expected, trials = SANITIZED ? 1 : 4;

	for (uint64_t seed = 1; seed <= trials; seed++) {
		struct blm_filter *f =
			create(a_path(), BLM_PARAMS(.kind = "removable", .capacity = KEYS,
						    .rate = rate, .seeds = &seed, .seed_count = 1));
		struct blm_fact fact;

		/* twice what it is for, so that as many as it is for can be removed */
		add_range(f, 0, 2 * KEYS);
		for (uint64_t i = 0; i < KEYS; i++)
			ck_assert_int_ge(blm_remove(f, &i, 8), 0);
		ck_assert_uint_eq(found_in_range(f, 0, KEYS), 0);
		denied += KEYS - (double)found_in_range(f, KEYS, 2 * KEYS);
		OK(blm_fact(f, 1, &fact));
		ck_assert_double_eq_tol(fact.value, rate, 0.2 * rate);
		for (uint64_t i = 0; i < 100; i++) {
			FAILS(blm_add(f, &i, 8), -EKEYREVOKED);
			ck_assert(!blm_contains(f, &i, 8));
			ck_assert_int_eq(blm_claim(f, &i, 8), 0);
			ck_assert_int_eq(blm_remove(f, &i, 8), 0);
		}
		blm_close(f);
	}
	expected = rate * KEYS * trials;
	ck_assert_msg(fabs(denied - expected) <= 4 * sqrt(expected) + 0.1 * expected,
		      "%g denied, not %g", denied, expected);
}
END_TEST

START_TEST(a_key_that_is_denied_is_not_removed)
{
	struct blm_filter *f =
		create(a_path(), BLM_PARAMS(.kind = "removable", .capacity = 1000, .rate = 1e-6));
	uint64_t absent = 5000, there = 1;

	add_range(f, 0, 1000);
	ck_assert_int_eq(blm_remove(f, &absent, 8), 0);
	ck_assert_int_eq(blm_add(f, &absent, 8), 1);
	ck_assert_int_eq(blm_remove(f, &there, 8), 1);
	ck_assert_int_eq(blm_remove(f, &there, 8), 0);
	blm_close(f);
}
END_TEST

START_TEST(keys_of_a_batch_that_were_never_removed_are_added)
{
	struct blm_filter *f =
		create(a_path(), BLM_PARAMS(.kind = "removable", .capacity = 10000, .rate = 1e-6));
	uint64_t keys[1000], bits[16];

	add_range(f, 0, 1000);
	for (uint64_t i = 0; i < 1000; i += 10)
		ck_assert_int_eq(blm_remove(f, &i, 8), 1);
	for (uint64_t i = 0; i < 1000; i++)
		keys[i] = i % 2 ? i : i + 100000 * (i % 10 != 0);
	FAILS(blm_add_fixed(f, keys, 8, 1000, bits), -EKEYREVOKED);
	for (uint64_t i = 0; i < 1000; i++) {
		ck_assert_int_eq(bits[i / 64] >> i % 64 & 1, i % 2 == 0 && i % 10 != 0);
		ck_assert_int_eq(blm_contains(f, &keys[i], 8), i % 10 != 0);
	}
	blm_close(f);
}
END_TEST

START_TEST(keys_removed_in_one_are_removed_in_the_union)
{
	struct blm_filter *a = create(a_path(), BLM_PARAMS(.kind = "removable", .capacity = 1000,
							   .rate = 1e-6)),
			  *b, *both;
	uint64_t key = 3;

	OK(blm_template(&b, NULL, a_path(), a, 0));
	add_range(a, 0, 100);
	add_range(b, 0, 200);
	ck_assert_int_eq(blm_remove(a, &key, 8), 1);
	OK(blm_combine(&both, NULL, a_path(), BLM_UNION, (const struct blm_filter *[]){ a, b }, 2,
		       0, NULL));
	ck_assert(!blm_contains(both, &key, 8));
	ck_assert_uint_eq(found_in_range(both, 0, 200), 199);
	blm_close(a), blm_close(b), blm_close(both);
}
END_TEST

START_TEST(repair_fills_no_filter_of_removed_keys_and_denies_none)
{
	struct blm_filter *f =
		create(a_path(), BLM_PARAMS(.kind = "removable", .capacity = 10000, .rate = 1e-4));
	const char *path = strdup(f->place.display);

	add_range(f, 0, 10000);
	for (uint64_t i = 0; i < 5000; i++)
		blm_remove(f, &i, 8);
	OK(blm_sync(f));
	memset(current_view(f)->part[0].bytes, 0, 512);
	memset(current_view(f)->part[1].bytes, 0, 512);
	blm_close(f);
	/* the second stays as it is */
	ck_assert_int_eq(blm_verify(NULL, path, BLM_VERIFY_REPAIR, NULL, NULL), 1);
	OK(blm_open(&f, NULL, path, 0));
	ck_assert_uint_ge(found_in_range(f, 5000, 10000), 4990);
	blm_close(f);
}
END_TEST

/* ---- Attenuated ---- */

static struct blm_filter *attenuated(void)
{
	return create(a_path(), BLM_PARAMS(.kind = "attenuated", .capacity = 1000, .rate = 1e-6,
					   .options = "depth=4"));
}

START_TEST(the_nearest_level_of_a_key_is_its_value)
{
	struct blm_filter *f = attenuated();
	uint64_t value = 99;

	ck_assert_int_eq(blm_get(f, "x", 1, &value), 0);
	ck_assert_uint_eq(value, 99);
	for (uint64_t level = 3; level < 4; level--) {
		ck_assert_int_eq(blm_put(f, "x", 1, level), 1);
		ck_assert_int_eq(blm_put(f, "x", 1, level), 0);
		ck_assert_int_eq(blm_get(f, "x", 1, &value), 1);
		ck_assert_uint_eq(value, level);
	}
	ck_assert_int_eq(blm_put(f, "x", 1, 3), 0);
	ck_assert(blm_contains(f, "x", 1));
	FAILS(blm_put(f, "x", 1, 4), -ERANGE);
	blm_close(f);
}
END_TEST

START_TEST(advancing_shifts_the_neighbours_levels_and_keeps_its_own)
{
	struct blm_filter *f = attenuated(), *a, *b,
			  *stranger = create(a_path(), BLM_PARAMS(.kind = "attenuated",
								  .capacity = 1000, .rate = 1e-6));
	uint64_t value;

	OK(blm_template(&a, NULL, a_path(), f, 0));
	OK(blm_template(&b, NULL, a_path(), f, 0));
	OK(blm_add(f, "here", 4));
	OK(blm_add(a, "a", 1));
	OK(blm_put(b, "b", 1, 2));
	OK(blm_put(b, "far", 3, 3));
	OK(blm_advance(f, (const struct blm_filter *[]){ a, b, f }, 3));
	ck_assert_int_eq(blm_get(f, "here", 4, &value), 1);
	ck_assert_uint_eq(value, 0);
	ck_assert_int_eq(blm_get(f, "a", 1, &value), 1);
	ck_assert_uint_eq(value, 1);
	ck_assert_int_eq(blm_get(f, "b", 1, &value), 1);
	ck_assert_uint_eq(value, 3);
	ck_assert_int_eq(blm_get(f, "far", 3, &value), 0);
	FAILS(blm_advance(f, (const struct blm_filter *[]){ stranger }, 1), -EMEDIUMTYPE);
	blm_close(f), blm_close(a), blm_close(b), blm_close(stranger);
}
END_TEST

START_TEST(a_filter_of_no_parts_answers_no_to_any_number)
{
	struct blm_filter *f = attenuated();
	struct blm_part whole = current_view(f)->root;
	struct blm_hash hashes[65] = { 0 };
	static const struct blm_family family;
	const struct blm_hasher by = { .family = &family };
	struct blm_batch batch = { .by = &by, .hashes = hashes };
	uint64_t bits[BLM_BATCH_WORDS];

	for (unsigned parts = 0; parts <= whole.subs; parts += whole.subs)
		for (batch.count = 63; batch.count <= 65; batch.count++) {
			memset(bits, 0xff, sizeof(bits));
			blm_any_contains(whole.sub, parts, &batch, bits);
			ck_assert_uint_eq(bits[0], 0);
			ck_assert_uint_eq(bits[1], batch.count > 64 ? 0 : UINT64_MAX);
		}
	batch.count = 65;
	whole.subs = 0;
	memset(bits, 0xff, sizeof(bits));
	whole.kind->contains_many(&whole, &batch, bits);
	ck_assert_uint_eq(bits[0] | bits[1], 0);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("parts");
	TCase *grown = tcase_create("scalable"), *removable = tcase_create("removable"),
	      *levels = tcase_create("attenuated");

	tcase_add_loop_test(grown, the_rate_holds_at_every_size, 0, 6);
	tcase_add_test(grown, stages_are_blocked_where_that_is_wanted);
	tcase_add_test(grown, no_stage_exceeds_its_keys_however_many_are_added);
	tcase_add_loop_test(grown, the_next_stage_begins_when_the_last_one_is_full, 0, 2);
	tcase_add_test(grown, writers_in_turns_fill_a_stage_hardly_too_full);
	tcase_add_test(grown, a_call_in_which_a_filter_grows_answers_correctly);
	tcase_add_test(grown, a_key_of_an_earlier_stage_is_not_added_again);
	tcase_add_test(grown, a_handle_that_cannot_open_new_stages_fails_to_sync);
	tcase_add_test(grown, an_older_handle_sees_the_keys_of_new_stages);
	tcase_add_test(grown, a_grown_filter_can_be_copied_exported_and_sealed);
	tcase_add_test(grown, damage_in_any_stage_is_repaired_without_denied_keys);
	tcase_add_test(grown, a_union_of_differently_grown_filters_has_all_keys);
	tcase_add_loop_test(
		grown, the_file_is_longer_on_disk_before_a_part_counts, 0,
		2);
	tcase_add_loop_test(grown, it_grows_during_a_build_and_a_rebuild, 0, 2);
	tcase_add_test(grown, a_union_of_grown_filters_reports_its_rate);
	tcase_add_test(grown, bytes_after_the_last_stage_never_enter_the_next);
	tcase_add_test(grown, an_excessive_damaged_count_does_not_fill_the_disk);
	tcase_add_test(grown, an_excessive_count_that_the_bits_confirm_causes_growth);
	tcase_add_test(grown, one_more_key_takes_proportional_memory_for_any_file);
	tcase_add_test(
		grown,
		a_first_stage_for_too_many_keys_is_refused);
	tcase_add_test(grown,
		       a_key_without_space_to_grow_is_refused_without_loss);
	tcase_add_test(grown, growers_that_are_killed_anywhere_leave_a_good_filter);
	tcase_add_loop_test(
		grown, a_power_cut_in_growth_keeps_every_synced_key, 0, 32);
	tcase_add_test(grown, a_process_that_opens_it_during_growth_sees_all);
	tcase_add_test(grown, one_of_several_growing_processes_grows_it);
	tcase_add_loop_test(grown, growing_an_unlinked_file_fails_and_uses_its_replacement,
			    0, 2);
	tcase_add_test(grown,
		       a_union_that_would_grow_a_dropped_filter_is_refused);
	tcase_add_test(grown, filters_whose_parts_differ_in_size_do_not_combine);
	tcase_add_test(grown, part_tables_that_do_not_add_up_are_refused);
	tcase_add_test(removable, removed_keys_are_gone_and_few_others_with_them);
	tcase_add_test(removable, a_key_that_is_denied_is_not_removed);
	tcase_add_test(removable, keys_of_a_batch_that_were_never_removed_are_added);
	tcase_add_test(removable, keys_removed_in_one_are_removed_in_the_union);
	tcase_add_test(removable, repair_fills_no_filter_of_removed_keys_and_denies_none);
	tcase_add_test(levels, the_nearest_level_of_a_key_is_its_value);
	tcase_add_test(levels, advancing_shifts_the_neighbours_levels_and_keeps_its_own);
	suite_add_tcase(s, grown);
	suite_add_tcase(s, removable);
	tcase_add_test(levels, a_filter_of_no_parts_answers_no_to_any_number);
	suite_add_tcase(s, levels);
	return run_suite(s);
}
