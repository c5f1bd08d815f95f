/* pybloom_live_scalable.c - pybloom_live's scalable filters: its own answers, files that go out as they came, digests by size; and whatever else comes */
#include "base.h"
#include "keys.h"

#include <errno.h>
#include <math.h>

enum { FILE_MOST = 1 << 16, HEAD = 32, STAGE = 40 };

static struct keys in, asked;
static uint8_t file[FILE_MOST];
static size_t bytes;
static char answers[KEYS_MOST / 4 + 1];	/* in hex */

static const struct { const char *list, *name, *hash, *other; } made_by[] = {
	{ "v3.json", "s1-v3.spybloom", "md5-digest", "xxh3" }, { "v4.json", "s1-v4.spybloom", "xxh3", "md5-digest" },
};

static void load(int i)
{
	char path[300], *json, *read;
	const char *at;

	snprintf(path, sizeof(path), DATA "/pybloom_live/%s", made_by[i].list);
	json = file_of(path, NULL);
	at = strstr(json, "\"scalable\"");
	ck_assert_ptr_nonnull(at);
	load_lines(&in, "keys/insert.txt", number(at, json + strlen(json), "n_insert"));
	load_lines(&asked, "keys/probe.txt", KEYS_MOST);
	memcpy(answers, field(at, json + strlen(json), "probe_answers_lsb_first_hex"), (asked.count + 7) / 8 * 2);
	free(json);
	snprintf(path, sizeof(path), DATA "/pybloom_live/%s", made_by[i].name);
	read = file_of(path, &bytes);
	ck_assert(read && bytes <= sizeof(file));
	memcpy(file, read, bytes);
	free(read);
}

static uint64_t get(const uint8_t *at)
{
	uint64_t x;

	memcpy(&x, at, 8);
	return le64toh(x);
}

static void put(uint8_t *at, uint64_t x)
{
	x = htole64(x);
	memcpy(at, &x, 8);
}

static void answers_are_theirs(const struct blm_filter *f)
{
	for (size_t i = 0; i < in.count; i++)
		ck_assert_msg(blm_contains(f, in.key[i].bytes, in.key[i].len), "key %zu is missing", i);
	answers_are(f, &asked, answers, "probe");
}

static void goes_out_as_it_came(const struct blm_filter *f)
{
	size_t count;
	void *out;

	OK(blm_export_bytes(f, &(struct blm_exchange){ .format = "pybloom-live-scalable" }, &out, &count));
	ck_assert_uint_eq(count, bytes);
	ck_assert_mem_eq(out, file, bytes);
	blm_free(out);
}

START_TEST(the_scalable_filters_of_pybloom_live_answer_as_there_and_go_out_as_they_came)
{
	struct blm_exchange how = { .hash = made_by[_i].hash }, text = { .format = "pybloom-live-scalable", .hash = made_by[_i].hash, .base64 = true };
	struct blm_filter *f, *copy, *again;
	struct blm_info info;
	size_t count;
	void *out;

	load(_i);
	OK(blm_import_bytes(&f, NULL, NULL, &how, file, bytes));	/* its beginning tells */
	OK(blm_info(f, &info));
	ck_assert_str_eq(info.origin, "pybloom-live-scalable");
	ck_assert_str_eq(info.kind, "scalable");
	ck_assert_str_eq(info.scheme, "pybloom-chain");
	ck_assert_str_eq(info.hash, made_by[_i].hash);
	ck_assert_uint_eq(info.parts, 3);
	ck_assert_uint_eq(info.capacity, 100);
	ck_assert_uint_le(info.keys, in.count);
	ck_assert_uint_ge(info.keys, in.count - in.count / 20);
	ck_assert(fabs(info.rate - 0.09) < 1e-9);	/* what all its filters together come to */
	answers_are_theirs(f);
	goes_out_as_it_came(f);
	for (size_t i = 0; i < in.count; i++)
		ck_assert_int_eq(blm_add(f, in.key[i].bytes, in.key[i].len), 0);
	goes_out_as_it_came(f);
	OK(blm_copy(&copy, NULL, NULL, f, 0));
	OK(blm_same_template(f, copy));
	answers_are_theirs(copy);
	goes_out_as_it_came(copy);
	OK(blm_export_bytes(f, &text, &out, &count));
	OK(blm_import_bytes(&again, NULL, NULL, &text, out, count));
	answers_are_theirs(again);
	goes_out_as_it_came(again);
	blm_free(out);
	blm_close(f), blm_close(copy), blm_close(again);
}
END_TEST

START_TEST(which_version_made_it_is_asked_for_or_told_by_keys_that_are_in_it)
{
	struct blm_exchange how = { .format = "pybloom-live-scalable" };
	struct blm_filter *f;
	struct blm_info info;

	load(_i);
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, bytes), -ENOTUNIQ);
	how.known = in.key;
	how.known_count = 20;
	OK(blm_import_bytes(&f, NULL, NULL, &how, file, bytes));
	OK(blm_info(f, &info));
	ck_assert_str_eq(info.hash, made_by[_i].hash);
	blm_close(f);
	how.hash = made_by[_i].other;
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, bytes), -ENOTUNIQ);
}
END_TEST

/* What its fromfile() asks of a file. */
static void would_be_loaded(const uint8_t *from, size_t count, uint64_t keys)
{
	uint64_t filters = get(from + 28) & UINT32_MAX, at = HEAD + 8 * filters, all = 0;

	for (uint64_t i = 0; i < filters; i++) {
		const uint8_t *stage = from + at;
		uint64_t size = get(from + HEAD + 8 * i);

		ck_assert_uint_eq(size, STAGE + (get(stage + 8) * get(stage + 16) + 7) / 8);
		ck_assert_uint_le(get(stage + 32), i + 1 < filters ? get(stage + 24) : UINT64_MAX);
		all += get(stage + 32);
		at += size;
	}
	ck_assert_uint_eq(at, count);
	ck_assert_uint_eq(all, keys);
}

START_TEST(it_goes_on_growing_here_and_comes_back_as_the_same)
{
	struct blm_exchange how = { .format = "pybloom-live-scalable", .hash = made_by[_i].hash };
	struct blm_filter *f, *again;
	struct blm_info info;
	size_t count;
	void *out;

	load(_i);
	OK(blm_import_bytes(&f, NULL, NULL, &how, file, bytes));
	OK(blm_add_many(f, asked.key, asked.count, NULL));
	OK(blm_info(f, &info));
	ck_assert_uint_gt(info.parts, 3);
	OK(blm_export_bytes(f, &how, &out, &count));
	would_be_loaded(out, count, info.keys);
	ck_assert_mem_eq(out, file, 28);
	OK(blm_import_bytes(&again, NULL, NULL, &how, out, count));
	OK(blm_same_template(f, again));
	for (size_t i = 0; i < in.count; i++)
		ck_assert(blm_contains(again, in.key[i].bytes, in.key[i].len));
	for (size_t i = 0; i < asked.count; i++)
		ck_assert(blm_contains(again, asked.key[i].bytes, asked.key[i].len));
	blm_free(out);
	blm_close(f), blm_close(again);
}
END_TEST

/* The first stage has the bits of a filter that is by itself, whose format has the digest in its family. */
static const struct { uint64_t capacity; double rate; uint32_t probes; const char *hash; } digests[] = {
	{ 100, 0.01, 8, "xxh3" }, { 100, 0.002, 10, "sha1-digest" }, { 100, 0.001, 11, "sha256-digest" }, { 100, 1e-5, 18, "sha384-digest" },
	{ 100, 1e-8, 28, "sha512-digest" }, { 100, 1e-11, 38, "sha512-digest" }, { 60000, 0.1, 5, "sha1-digest" }, { 40000, 0.01, 8, "sha256-digest" },
};

START_TEST(a_stage_has_the_digest_that_is_wide_enough_for_it)
{
	static uint8_t got[1 << 17], want[1 << 17];
	struct blm_filter *f, *alone;
	struct blm_info info;

	OK(blm_create(&f, NULL, NULL, &(struct blm_params){ .format = "pybloom-live-scalable", .capacity = digests[_i].capacity,
							    .rate = digests[_i].rate }));
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.probes, digests[_i].probes);
	OK(blm_create(&alone, NULL, NULL, &(struct blm_params){ .format = "pybloom-live", .cells = info.cells, .probes = info.probes }));
	add_numbers(f, 0, 60);
	add_numbers(alone, 0, 60);
	OK(blm_info(alone, &info));
	ck_assert_str_eq(info.hash, digests[_i].hash);
	ck_assert_uint_le(info.data_bytes, sizeof(want));
	OK(blm_data_read(f, 0, got, info.data_bytes));
	OK(blm_data_read(alone, 0, want, info.data_bytes));
	ck_assert_mem_eq(got, want, info.data_bytes);
	blm_close(f), blm_close(alone);
}
END_TEST

START_TEST(its_scheme_does_for_any_m_and_k_and_what_the_other_program_cannot_have_is_not_given_to_it)
{
	struct blm_filter *f;
	size_t count;
	void *out;

	OK(blm_create(&f, NULL, NULL, &(struct blm_params){ .hash = "xxh3", .scheme = "pybloom-chain", .cells = 3, .probes = 7 }));
	ck_assert_int_eq(blm_add(f, "key", 3), 1);
	ck_assert(blm_contains(f, "key", 3));
	blm_close(f);
	OK(blm_create(&f, NULL, NULL, &(struct blm_params){ .kind = "scalable", .hash = "md5-digest", .scheme = "pybloom-chain", .cells = 1001,
							    .probes = 4 }));
	FAILS(blm_export_bytes(f, &(struct blm_exchange){ .format = "pybloom-live-scalable" }, &out, &count), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(blm_why(), "multiple of k"));
	blm_close(f);
	FAILS(blm_create(&f, NULL, NULL, &(struct blm_params){ .kind = "scalable", .hash = "md5-digest", .scheme = "pybloom", .capacity = 100 }), -EINVAL);
}
END_TEST

START_TEST(keys_are_claimed_and_counted_over_its_stages_like_in_any_scalable_filter)
{
	enum { N = 1000 };
	uint32_t keys[N];
	struct blm_filter *f;
	struct blm_info info;
	int64_t claimed;

	for (uint32_t i = 0; i < N; i++)
		keys[i] = i * 2654435761u;
	OK(blm_create(&f, NULL, NULL, &(struct blm_params){ .format = "pybloom-live-scalable", .capacity = 100, .rate = 0.01 }));
	claimed = blm_claim_fixed(f, keys, 4, N, NULL);
	ck_assert_int_ge(claimed, N - N / 50);
	ck_assert_int_eq(blm_claim_fixed(f, keys, 4, N, NULL), 0);
	ck_assert_int_eq(blm_contains_fixed(f, keys, 4, N, (uint64_t[N / 64 + 1]){ 0 }), N);
	OK(blm_info(f, &info));
	ck_assert_int_eq((int64_t)info.keys, claimed);
	ck_assert_uint_ge(info.parts, 4);
	blm_close(f);
}
END_TEST

/* Of the file of version 4: filters begin at 56, 220 and 512. */
static const struct { size_t at; uint64_t to; int err; const char *words; } changed[] = {
	{ 0, 0, -EBADMSG, "0 times the keys" }, { 0, UINT32_MAX, -EBADMSG, "times the keys" },
	{ 4, 0x7ff8000000000000, -EBADMSG, "nan times" }, { 4, 0x3ff0000000000000, -EBADMSG, "1 times" },
	{ 28, 0, -EBADMSG, "no filters yet" }, { 28, 65, -EBADMSG, "has 65 filters" }, { 28, 0xffffffff, -EBADMSG, "filters by its header" },
	{ 28, 4, -EBADMSG, "filter 0 of it" }, { 32, 39, -EBADMSG, "in 39 bytes" }, { 32, UINT64_MAX, -ENODATA, "cut" },
	{ 40, 0, -EBADMSG, "in 0 bytes" }, { 48, 554, -ENODATA, "cut" }, { 48, 552, -EBADMSG, "in 552 bytes" },
	{ 64, 0, -EBADMSG, "0 slices" }, { 64, 257, -EBADMSG, "257 slices" }, { 72, 0, -EBADMSG, "slices of 0 bits" },
	{ 72, UINT64_MAX, -EBADMSG, "slices" }, { 72, 1, -EBADMSG, "in 164 bytes" },
	{ 12, UINT64_MAX, 0, NULL }, { 20, UINT64_MAX, 0, NULL }, { 56, 0, 0, NULL }, { 80, UINT64_MAX, 0, NULL }, { 88, UINT64_MAX, 0, NULL },
};

START_TEST(a_header_that_cannot_be_is_refused_in_words_that_say_what_it_is)
{
	struct blm_exchange how = { .format = "pybloom-live-scalable", .hash = "xxh3" };
	struct blm_filter *f;
	int r;

	load(1);
	if (changed[_i].at == 0 && !changed[_i].to)
		memset(file, 0, 4);
	else if (changed[_i].at == 0)
		memset(file, 0xff, 4);
	else if (changed[_i].at == 28)
		memcpy(file + 28, &(uint32_t){ htole32((uint32_t)changed[_i].to) }, 4);
	else
		put(file + changed[_i].at, changed[_i].to);
	r = blm_import_bytes(&f, NULL, NULL, &how, file, bytes);
	ck_assert_msg(r == changed[_i].err && (r == 0 || strstr(blm_why(), changed[_i].words)), "%d: %d, %s", _i, r, blm_why());
	if (r == 0) {
		answers_are_theirs(f);
		goes_out_as_it_came(f);
		blm_close(f);
	}
}
END_TEST

START_TEST(cut_anywhere_or_with_a_byte_too_many_it_is_refused)
{
	struct blm_exchange how = { .format = "pybloom-live-scalable", .hash = "xxh3" };
	struct blm_filter *f;

	load(1);
	for (size_t cut = 0; cut < bytes; cut++)
		ck_assert_int_lt(blm_import_bytes(&f, NULL, NULL, &how, file, cut), 0);
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, bytes + 1), -EBADMSG);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("format pybloom_live_scalable");
	TCase *tc = tcase_create("pybloom_live_scalable");

	tcase_set_timeout(tc, 100);
	tcase_add_loop_test(tc, the_scalable_filters_of_pybloom_live_answer_as_there_and_go_out_as_they_came, 0, ARRAY_LEN(made_by));
	tcase_add_loop_test(tc, which_version_made_it_is_asked_for_or_told_by_keys_that_are_in_it, 0, ARRAY_LEN(made_by));
	tcase_add_loop_test(tc, it_goes_on_growing_here_and_comes_back_as_the_same, 0, ARRAY_LEN(made_by));
	tcase_add_loop_test(tc, a_stage_has_the_digest_that_is_wide_enough_for_it, 0, ARRAY_LEN(digests));
	tcase_add_test(tc, its_scheme_does_for_any_m_and_k_and_what_the_other_program_cannot_have_is_not_given_to_it);
	tcase_add_test(tc, keys_are_claimed_and_counted_over_its_stages_like_in_any_scalable_filter);
	tcase_add_loop_test(tc, a_header_that_cannot_be_is_refused_in_words_that_say_what_it_is, 0, ARRAY_LEN(changed));
	tcase_add_test(tc, cut_anywhere_or_with_a_byte_too_many_it_is_refused);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
