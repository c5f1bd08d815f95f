/* data.c - the raw data of a filter, out and in */
#include "handle/handle.h"
#include "suite.h"

#include <signal.h>

enum { N = 3000 };

static const struct { const char *kind, *hash; uint64_t cells; uint32_t probes;
} sorts[] = {
	{ "classic", "xxh3", 100003, 7 },
	{ "classic", "mm3_64", 65536, 5 },
	{ "classic", "xxh3", 1, 1 },
	{ "blocked", "xxh3", 512 * 200, 7 },
};

static struct blm_filter *make(int sort, const char *path)
{
	struct blm_params p = BLM_PARAMS(.kind = sorts[sort].kind, .hash = sorts[sort].hash,
					 .cells = sorts[sort].cells, .probes = sorts[sort].probes);
	struct blm_filter *f = NULL;

	OK(blm_create(&f, NULL, path, &p));
	return f;
}

static size_t size_of(const struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;

	OK(blm_info(f, &info));
	return (size_t)info.data_bytes;
}

static uint8_t *data_of(const struct blm_filter *f)
{
	uint8_t *data = malloc(size_of(f));

	OK(blm_data_read(f, 0, data, size_of(f)));
	return data;
}

START_TEST(raw_data_in_any_pieces_makes_an_equal_filter)
{
	static const size_t pieces[] = { 1, 3, 64, 67, 4096, 1 << 20 };
	struct blm_filter *f = make(_i, a_path());
	size_t bytes = size_of(f);
	uint8_t *data;

	add_numbers(f, 0, N);
	data = data_of(f);
	ck_assert_mem_eq(data, current_view(f)->part[0].bytes, bytes);
	for (size_t p = 0; p < ARRAY_LEN(pieces); p++) {
		struct blm_filter *g = NULL;
		uint64_t count;
		bool estimated;
		uint8_t *again;

		OK(blm_template(&g, NULL, p % 2 ? a_path() : NULL, f, 0));
		for (size_t at = 0, n; at < bytes; at += n) {
			uint8_t piece[8192];

			n = pieces[p] < bytes - at ? pieces[p] : bytes - at;
			if (n <= sizeof(piece)) {
				OK(blm_data_read(f, at, piece, n));
				ck_assert_mem_eq(piece, data + at, n);
			}
			OK(blm_data_unite(g, at, data + at, n));
		}
		again = data_of(g);
		ck_assert_mem_eq(again, data, bytes);
		free(again);
		for (uint32_t i = 0; i < 2 * N; i++)
			ck_assert_int_eq(blm_contains(f, &i, sizeof(i)),
					 blm_contains(g, &i, sizeof(i)));
		FAILS(blm_count(g, &count, NULL), -EDOM);
		OK(blm_count(g, &count, &estimated));
		ck_assert(estimated);
		if (bytes > 64) {
			struct blm_info info = BLM_INFO;

			ck_assert_double_eq_tol((double)count, N, 0.1 * N);
			OK(blm_info(g, &info));
			ck_assert_uint_eq(info.keys, count);
		}
		blm_close(g);
	}
	free(data);
	blm_close(f);
}
END_TEST

START_TEST(bits_outside_the_cells_are_refused_and_change_nothing)
{
	struct blm_filter *f = make(_i, a_path()), *read_only = NULL;
	size_t bytes = size_of(f);
	uint8_t one[1] = { 1 }, *all = calloc(1, bytes + 64), *before = data_of(f), *after;
	struct blm_info info = BLM_INFO;

	FAILS(blm_data_read(f, bytes, all, 1), -EINVAL);
	FAILS(blm_data_read(f, bytes - 1, all, 2), -EINVAL);
	FAILS(blm_data_read(f, 0, all, bytes + 1), -EINVAL);
	FAILS(blm_data_read(f, UINT64_MAX, all, 1), -EINVAL);
	FAILS(blm_data_read(f, UINT64_MAX - 7, all, 16), -EINVAL);
	FAILS(blm_data_read(f, 1, all, SIZE_MAX), -EINVAL);
	FAILS(blm_data_unite(f, bytes, one, 1), -EINVAL);
	FAILS(blm_data_unite(f, UINT64_MAX, one, 1), -EINVAL);
	FAILS(blm_data_unite(f, 1, one, SIZE_MAX), -EINVAL);
	FAILS(blm_data_unite(f, 0, all, bytes + 1), -EINVAL);
	OK(blm_data_read(f, bytes, NULL, 0));
	OK(blm_data_read(f, 0, NULL, 0));
	/* padding, alone and with what is none */
	for (uint64_t bit = sorts[_i].cells; bit < bytes * 8; bit++) {
		memset(all, 0, bytes);
		all[bit / 8] = (uint8_t)(1 << bit % 8);
		FAILS(blm_data_unite(f, bit / 8, all + bit / 8, 1), -EINVAL);
		all[0] |= 1;
		FAILS(blm_data_unite(f, 0, all, bytes), -EINVAL);
	}
	after = data_of(f);
	ck_assert_mem_eq(before, after, bytes);
	memset(all, 0, bytes);
	all[(sorts[_i].cells - 1) / 8] = (uint8_t)(1 << (sorts[_i].cells - 1) % 8);
	OK(blm_data_unite(f, 0, all, bytes));			/* the last cell */
	OK(blm_info(f, &info));
	OK(blm_open(&read_only, NULL, info.path, 0));
	FAILS(blm_data_unite(read_only, 0, all, bytes), -EBADF);
	free(after);
	after = data_of(read_only);
	ck_assert_mem_eq(after, all, bytes);
	ck_assert_int_eq(blm_verify(NULL, info.path, 0, NULL, NULL), 0);
	free(all), free(before), free(after);
	blm_close(f), blm_close(read_only);
}
END_TEST

START_TEST(high_bit_first_data_makes_an_equal_filter)
{
	uint8_t data[8] = { 0xff, 0xff, 0xff, 0xff };
	struct blm_filter *f;

	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.format = "redis-bitmap", .cells = 32, .probes = 3)));
	OK(blm_data_unite(f, 0, data, sizeof(data)));
	for (size_t i = 4; i < sizeof(data); i++) {
		data[i] = 0x10;
		FAILS(blm_data_unite(f, 0, data, sizeof(data)), -EINVAL);
		data[i] = 0;
	}
	blm_close(f);
}
END_TEST

/* Once it is known, before anything is changed. */
START_TEST(raw_data_for_a_truncated_file_fails_each_time)
{
	static const char *const kinds[] = { "blocked", "counting" };
	const uint8_t data[64] = { 1 };
	const char *path = a_path();
	struct blm_filter *f;

	OK(blm_create(&f, NULL, path, &BLM_PARAMS(.kind = kinds[_i], .capacity = 1000000)));
	OK(blm_survive_truncation());
	ck_assert_int_eq(truncate(path, BLM_HEADER_BYTES), 0);
	FAILS(blm_data_unite(f, 0, data, sizeof(data)), -EIO);
	FAILS(blm_data_unite(f, 0, data, sizeof(data)), -EIO);
	blm_close(f);
}
END_TEST

struct work {
	const char *path;
	uint8_t *data;
	size_t bytes;
};

static int unite_bit_by_bit(void *context)
{
	const struct work *w = context;
	struct blm_filter *f = NULL;

	MUST(blm_open(&f, NULL, w->path, BLM_OPEN_WRITE) == 0);
	for (size_t at = 0; at < w->bytes; at += 5)
		MUST(blm_data_unite(f, at, w->data + at, w->bytes - at < 5 ? w->bytes - at : 5)
		     == 0);
	blm_close(f);
	return 0;
}

START_TEST(two_uniting_processes_lose_no_key_of_an_adder)
{
	struct blm_filter *f = make(_i, a_path()), *part[2] = { NULL };
	struct blm_info info = BLM_INFO;
	struct work work[2];
	pid_t pids[2];

	OK(blm_info(f, &info));
	for (int i = 0; i < 2; i++) {
		OK(blm_template(&part[i], NULL, NULL, f, 0));
		for (uint32_t x = 0; x < N; x++) {
			uint32_t key = 2 * x + (uint32_t)i;

			OK(blm_add(part[i], &key, sizeof(key)));
		}
		work[i] = (struct work){ info.path, data_of(part[i]), size_of(f) };
	}
	for (int i = 0; i < 2; i++)
		pids[i] = spawn(unite_bit_by_bit, &work[i]);
	add_numbers(f, 2 * N, 3 * N);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(join(pids[i]), 0);
	for (uint32_t x = 0; x < 3 * N; x++)
		ck_assert(blm_contains(f, &x, sizeof(x)));
	for (int i = 0; i < 2; i++) {
		free(work[i].data);
		blm_close(part[i]);
	}
	blm_close(f);
}
END_TEST

START_TEST(data_that_are_mapped_have_what_is_added_later)
{
	const char *where[] = { a_path(), NULL };

	for (int i = 0; i < 2; i++) {
		struct blm_filter *f = make(_i, where[i]);
		size_t bytes = size_of(f), mapped;
		uint8_t *before = data_of(f), *after;
		const void *data;

		OK(blm_data_map(f, &data, &mapped));
		ck_assert_uint_eq(mapped, bytes);
		ck_assert_mem_eq(data, before, bytes);
		add_numbers(f, 0, N);
		after = data_of(f);
		ck_assert(memcmp(before, after, bytes) != 0);
		ck_assert_mem_eq(data, after, bytes);
		blm_data_unmap(f, data);
		free(before);
		free(after);
		blm_close(f);
	}
}
END_TEST

START_TEST(data_of_several_parts_are_not_mapped)
{
	struct blm_filter *f = NULL;
	const void *data = NULL;
	size_t bytes;

	OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.kind = "window", .options = "slots=4,span=60",
						  .capacity = 1000)));
	FAILS(blm_data_map(f, &data, &bytes), -EOPNOTSUPP);
	ck_assert_ptr_null(data);
	blm_data_unmap(f, data);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("data");
	TCase *tc = tcase_create("data");

	tcase_add_loop_test(tc, raw_data_in_any_pieces_makes_an_equal_filter,
			    0, ARRAY_LEN(sorts));
	tcase_add_loop_test(tc, bits_outside_the_cells_are_refused_and_change_nothing, 0,
			    ARRAY_LEN(sorts));
	tcase_add_test(tc, high_bit_first_data_makes_an_equal_filter);
	tcase_add_loop_test(tc, raw_data_for_a_truncated_file_fails_each_time, 0, 2);
	tcase_add_loop_test(tc, two_uniting_processes_lose_no_key_of_an_adder, 0,
			    ARRAY_LEN(sorts));
	tcase_add_loop_test(tc, data_that_are_mapped_have_what_is_added_later, 0, ARRAY_LEN(sorts));
	tcase_add_test(tc, data_of_several_parts_are_not_mapped);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
