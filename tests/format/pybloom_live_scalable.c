/*
 * pybloom_live_scalable.c - pybloom_live's scalable filters: its own answers, files that go out as
 * they came, digests by size; and whatever else comes
 */
#include "base/base.h"
#include "format/format.h"
#include "keys.h"
#include "scarce.h"

#include <errno.h>
#include <math.h>
#include <sys/mman.h>

enum { FILE_MOST = 1 << 16, HEAD = 32, STAGE = 40 };

static struct keys in, asked;
static uint8_t file[FILE_MOST];
static size_t bytes;
static char answers[KEYS_MOST / 4 + 1];	/* in hex */

static const struct { const char *list, *name, *hash, *other;
} made_by[] = {
	{ "v3.json", "s1-v3.spybloom", "md5-digest", "xxh3" },
	{ "v4.json", "s1-v4.spybloom", "xxh3", "md5-digest" },
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
	memcpy(answers, field(at, json + strlen(json), "probe_answers_lsb_first_hex"),
	       (asked.count + 7) / 8 * 2);
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
		ck_assert_msg(blm_contains(f, in.key[i].bytes, in.key[i].len), "key %zu is missing",
			      i);
	answers_are(f, &asked, answers, "probe");
}

static void goes_out_as_it_came(const struct blm_filter *f)
{
	size_t count;
	void *out;

	OK(blm_export_bytes(f, &BLM_EXCHANGE(.format = "pybloom-live-scalable"), &out, &count));
	ck_assert_uint_eq(count, bytes);
	ck_assert_mem_eq(out, file, bytes);
	blm_free(out);
}

START_TEST(pybloom_lives_scalable_filters_answer_the_same_and_export_unchanged)
{
	struct blm_exchange how = BLM_EXCHANGE(.hash = made_by[_i].hash),
			    text = BLM_EXCHANGE(.format = "pybloom-live-scalable",
						.hash = made_by[_i].hash, .base64 = true);
	struct blm_filter *f, *copy, *again;
	struct blm_info info = BLM_INFO;
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

START_TEST(its_version_is_asked_for_or_found_by_known_keys)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "pybloom-live-scalable");
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

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

START_TEST(a_filter_that_grew_here_is_exported_and_imported_unchanged)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "pybloom-live-scalable",
					       .hash = made_by[_i].hash);
	struct blm_filter *f, *again;
	struct blm_info info = BLM_INFO;
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

/*
 * The first stage has the bits of a filter that is by itself, whose format has the digest in its
 * family.
 */
static const struct {
	uint64_t capacity;
	double rate;
	uint32_t probes;
	const char *hash;
} digests[] = {
	{ 100, 0.01, 8, "xxh3" },
	{ 100, 0.002, 10, "sha1-digest" },
	{ 100, 0.001, 11, "sha256-digest" },
	{ 100, 1e-5, 18, "sha384-digest" },
	{ 100, 1e-8, 28, "sha512-digest" },
	{ 100, 1e-11, 38, "sha512-digest" },
	{ 60000, 0.1, 5, "sha1-digest" },
	{ 40000, 0.01, 8, "sha256-digest" },
};

START_TEST(each_stage_has_a_digest_of_enough_bits)
{
	static uint8_t got[1 << 17], want[1 << 17];
	struct blm_filter *f, *alone;
	struct blm_info info = BLM_INFO;

	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.format = "pybloom-live-scalable",
				  .capacity = digests[_i].capacity, .rate = digests[_i].rate)));
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.probes, digests[_i].probes);
	OK(blm_create(&alone, NULL, NULL,
		      &BLM_PARAMS(.format = "pybloom-live", .cells = info.cells,
				  .probes = info.probes)));
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

START_TEST(the_scheme_allows_any_size_and_export_checks_it)
{
	struct blm_filter *f;
	size_t count;
	void *out;

	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.hash = "xxh3", .scheme = "pybloom-chain", .cells = 3,
				  .probes = 7)));
	ck_assert_int_eq(blm_add(f, "key", 3), 1);
	ck_assert(blm_contains(f, "key", 3));
	blm_close(f);
	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.kind = "scalable", .hash = "md5-digest",
				  .scheme = "pybloom-chain", .cells = 1001, .probes = 4)));
	FAILS(blm_export_bytes(f, &BLM_EXCHANGE(.format = "pybloom-live-scalable"), &out, &count),
	      -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "multiple of k"));
	blm_close(f);
	FAILS(blm_create(&f, NULL, NULL,
			 &BLM_PARAMS(.kind = "scalable", .hash = "md5-digest", .scheme = "pybloom",
				     .capacity = 100)),
	      -EINVAL);
}
END_TEST

START_TEST(keys_are_claimed_and_counted_over_all_its_stages)
{
	enum { N = 1000 };
	uint32_t keys[N];
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;
	int64_t claimed;

	for (uint32_t i = 0; i < N; i++)
		keys[i] = i * 2654435761u;
	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.format = "pybloom-live-scalable", .capacity = 100,
				  .rate = 0.01)));
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

/* In the file of version 4 filters begin at 56, 220 and 512. */
static const struct { size_t at; uint64_t to; int err; const char *words;
} changed[] = {
	{ 0, 0, -EBADMSG, "a growth of 0" },
	{ 0, UINT32_MAX, -EBADMSG, "a growth of 4294967295" },
	{ 4, 0x7ff8000000000000, -EBADMSG, "a ratio of nan" },
	{ 4, 0x3ff0000000000000, -EBADMSG, "a ratio of 1" },
	{ 28, 0, -EBADMSG, "no filters yet" },
	{ 28, 65, -EBADMSG, "has 65 filters" },
	{ 28, 0xffffffff, -EBADMSG, "filters by its header" },
	{ 28, 4, -EBADMSG, "its filter 0 has" },
	{ 32, 39, -EBADMSG, "in 39 bytes" },
	{ 32, UINT64_MAX, -ENODATA, "truncated" },
	{ 40, 0, -EBADMSG, "in 0 bytes" },
	{ 48, 554, -ENODATA, "truncated" },
	{ 48, 552, -EBADMSG, "in 552 bytes" },
	{ 64, 0, -EBADMSG, "0 slices" },
	{ 64, 257, -EBADMSG, "257 slices" },
	{ 72, 0, -EBADMSG, "slices of 0 bits" },
	{ 72, UINT64_MAX, -EBADMSG, "slices" },
	{ 72, 1, -EBADMSG, "in 164 bytes" },
	{ 12, UINT64_MAX, 0, NULL },
	{ 20, UINT64_MAX, 0, NULL },
	{ 56, 0, 0, NULL },
	{ 80, UINT64_MAX, 0, NULL },
	{ 88, UINT64_MAX, 0, NULL },
};

START_TEST(an_impossible_header_is_refused_with_an_explanation)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "pybloom-live-scalable", .hash = "xxh3");
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
	ck_assert_msg(r == changed[_i].err
			      && (r == 0 || strstr(blm_error_message(), changed[_i].words)),
		      "%d: %d, %s", _i, r, blm_error_message());
	if (r == 0) {
		answers_are_theirs(f);
		goes_out_as_it_came(f);
		blm_close(f);
	}
}
END_TEST

START_TEST(a_truncated_or_longer_file_is_refused)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "pybloom-live-scalable", .hash = "xxh3");
	struct blm_filter *f;

	load(1);
	for (size_t cut = 0; cut < bytes; cut++)
		ck_assert_int_lt(blm_import_bytes(&f, NULL, NULL, &how, file, cut), 0);
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, bytes + 1), -EBADMSG);
}
END_TEST

START_TEST(a_growth_unknown_to_our_kind_is_kept_for_export)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "pybloom-live-scalable", .hash = "xxh3");
	static const struct {
		uint32_t growth;
		const char *options;
	} growths[] = {
		{ 1, "growth=2" },
		{ 4, "growth=4" },
		{ 17, "growth=16" },
	};

	for (size_t i = 0; i < ARRAY_LEN(growths); i++) {
		struct blm_filter *f;
		struct blm_info info = BLM_INFO;

		load(1);
		memcpy(file, &(uint32_t){ htole32(growths[i].growth) }, 4);
		OK(blm_import_bytes(&f, NULL, NULL, &how, file, bytes));
		OK(blm_info(f, &info));
		ck_assert_msg(strstr(info.options, growths[i].options) != NULL, "%s", info.options);
		answers_are_theirs(f);
		goes_out_as_it_came(f);
		blm_close(f);
	}
}
END_TEST

/* There is no magic, so each of its numbers must be one that such a file has. */
START_TEST(a_file_with_an_impossible_number_is_not_recognised)
{
	static const struct { size_t at; uint64_t value; unsigned width;
	} others[] = {
		/* growth; ratio: just below 0.01, 1 */
		/* capacity */
		/* error: 0, 100, no number */
		/* filters */
		{ 0, 1, 4 },
		{ 0, 17, 4 },
		{ 4, 0x3f847ae147ae147a, 8 },
		{ 4, 0x3ff0000000000000, 8 },
		{ 12, 0, 8 },
		{ 12, (UINT64_C(1) << 47) + 1, 8 },
		{ 20, 0, 8 },
		{ 20, 0x4059000000000000, 8 },
		{ 20, 0x7ff8000000000000, 8 },
		{ 28, 0, 4 },
		{ 28, 65, 4 },
	};
	struct blm_exchange how = BLM_EXCHANGE(.hash = "xxh3");
	struct blm_filter *f;

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		uint64_t value = htole64(others[i].value);

		load(1);
		OK(blm_import_bytes(&f, NULL, NULL, &how, file, bytes));
		blm_close(f);
		memcpy(file + others[i].at, &value, others[i].width);
		FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, bytes), -EBADMSG);
		ck_assert_msg(strstr(blm_error_message(),
				     "of no known format")
				      != NULL,
			      "%zu: %s", i, blm_error_message());
	}
}
END_TEST

/* A file of this many filters, each of 8 bits, for that many keys, with one. */
static void make_file(uint32_t stages, uint64_t capacity)
{
	load(1);
	memcpy(file + 28, &(uint32_t){ htole32(stages) }, 4);
	bytes = HEAD + 8 * stages;
	for (uint32_t i = 0; i < stages; i++, bytes += STAGE + 1) {
		uint8_t *stage = file + bytes;

		put(file + HEAD + 8 * i, STAGE + 1);
		put(stage, 0x3fb999999999999a);		/* 0.1 */
		put(stage + 8, 1), put(stage + 16, 8), put(stage + 24, capacity),
			put(stage + 32, 1);
		stage[STAGE] = (uint8_t)(1 << i % 8);
	}
}

/*
 * One of our files has space for 43 heads; the 45th would be for 2^44 keys, too large for us.
 */
START_TEST(a_file_with_the_most_filters_is_imported_and_exported)
{
	enum { MOST = 44 };
	struct blm_exchange how = BLM_EXCHANGE(.format = "pybloom-live-scalable", .hash = "xxh3");
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	for (uint32_t stages = 43; stages <= MOST + 1; stages++) {
		make_file(stages, 1);
		if (stages > MOST) {
			FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, bytes), -EBADMSG);
			ck_assert_ptr_nonnull(
				strstr(blm_error_message(),
				       "filter 0 is for 1 keys at the error 0.1, which leaves "
				       "no filter 44 with a growth of 2"));
			break;
		}
		OK(blm_import_bytes(&f, NULL, NULL, &how, file, bytes));
		OK(blm_info(f, &info));
		ck_assert_uint_eq(info.parts, stages);
		ck_assert_uint_eq(info.keys, stages);
		for (uint32_t i = 0; i < 100; i++)
			ck_assert(blm_contains(f, &i, 4));	/* each bit is in one of them */
		goes_out_as_it_came(f);
		blm_close(f);
	}
}
END_TEST

/* By its growth the next one would be for 2^43 keys. */
START_TEST(the_next_filter_is_in_proportion_whatever_its_header_says)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "pybloom-live-scalable", .hash = "xxh3");
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	make_file(43, 1);
	OK(blm_import_bytes(&f, NULL, NULL, &how, file, bytes));
	add_numbers(f, 0, 20);
	OK(blm_info(f, &info));
	ck_assert_uint_gt(info.parts, 43);
	ck_assert_uint_lt(info.data_bytes, 1 << 15);
	blm_close(f);
}
END_TEST

/*
 * Two of three say that they are for a million million keys, and have three times as many: else it
 * would grow until it is for them all.
 */
START_TEST(the_next_filter_is_in_proportion_whatever_its_filters_say)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "pybloom-live-scalable", .hash = "xxh3");
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	make_file(3, 1);
	for (uint32_t i = 1; i < 3; i++)
		put(file + HEAD + 3 * 8 + i * (STAGE + 1) + 24, UINT64_C(1) << 40);
	put(file + HEAD + 3 * 8 + 32, 3 * UINT64_C(1) << 41);
	OK(blm_import_bytes(&f, NULL, NULL, &how, file, bytes));
	ck_assert_int_ge(blm_add(f, "key", 3), 0);
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.parts, 4);
	ck_assert_uint_lt(info.data_bytes, 1 << 12);
	ck_assert(blm_contains(f, "key", 3));
	blm_close(f);
}
END_TEST

START_TEST(a_first_filter_for_too_many_keys_is_refused)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "pybloom-live-scalable", .hash = "xxh3");
	struct blm_filter *f;

	make_file(1, 64 * 8 + 63);
	OK(blm_import_bytes(&f, NULL, NULL, &how, file, bytes));
	blm_close(f);
	make_file(1, 64 * 8 + 64);
	FAILS(blm_import_bytes(&f, NULL, NULL, &how, file, bytes), -EBADMSG);
	ck_assert_msg(strstr(blm_error_message(), "for 576 keys has m=8") != NULL, "%s",
		      blm_error_message());
}
END_TEST

/*
 * Only the heads of a file of hundreds of MiB are read: the data between them takes no memory. Its
 * digests have 8 bytes a probe.
 */
START_TEST(slices_above_2_to_the_31_bits_take_wider_words)
{
	static const struct { uint64_t probes, range; unsigned candidates;
	} wide[] = {
		{ 1, UINT64_C(1) << 31, 2 },
		{ 3, (UINT64_C(1) << 31) - 8, 2 },
		{ 3, UINT64_C(1) << 31, 0 },
	};
	const struct blm_format *format = blm_format_by_name("pybloom-live-scalable");

	for (size_t i = 0; i < ARRAY_LEN(wide); i++) {
		size_t size = STAGE + wide[i].probes * wide[i].range / 8, count = HEAD + 8 + size;
		uint8_t *all = mmap(NULL, count, PROT_READ,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		struct blm_outline *o = calloc(1, sizeof(*o));

		ck_assert(all != MAP_FAILED && mprotect(all, 4096, PROT_READ | PROT_WRITE) == 0);
		load(1);
		memcpy(all, file, HEAD);
		memcpy(all + 28, &(uint32_t){ htole32(1) }, 4);
		put(all + HEAD, size);
		put(all + HEAD + 8 + 8, wide[i].probes), put(all + HEAD + 8 + 16, wide[i].range),
			put(all + HEAD + 8 + 24, 100);
		OK(format->outline(o, all, count, &BLM_EXCHANGE(.format = NULL), "a file"));
		ck_assert_uint_eq(o->candidates, wide[i].candidates);
		ck_assert_uint_eq(o->end, count);
		munmap(all, count);
		free(o);
	}
}
END_TEST

/* ---- Heads that are written, by the format's own function ---- */

struct written {
	struct blm_writer writer;
	uint8_t bytes[1000];
	size_t count;
};

static int write_here(struct blm_writer *writer, const void *from, size_t count)
{
	struct written *w = (struct written *)writer;

	ck_assert_uint_le(w->count + count, sizeof(w->bytes));
	memcpy(w->bytes + w->count, from, count);
	w->count += count;
	return 0;
}

/* before the first filter's, which has a byte of bits */
enum { WRITTEN_HEADS = HEAD + 2 * 8 };

/* Two filters of a byte, for 10 and 20 keys. */
static const uint8_t *write_two(struct written *w, const struct blm_outline *o)
{
	uint8_t bits = 1;
	struct blm_part part[2] = {
		{ .kind = blm_kind_by_name("classic"), .bytes = &bits,
		  .shape = { .cells = 8, .probes = 2, .capacity = 10, .rate = 0.1 } },
		{ .kind = blm_kind_by_name("classic"), .bytes = &bits,
		  .shape = { .cells = 8, .probes = 4, .capacity = 20, .rate = 0.05 } },
	}, whole = { .sub = part, .subs = 2 };

	*w = (struct written){ .writer = { .write = write_here } };
	OK(blm_format_by_name("pybloom-live-scalable")->write(o, &whole, &w->writer, "a filter"));
	ck_assert_uint_eq(w->count, WRITTEN_HEADS + 2 * (STAGE + 1));
	return w->bytes + WRITTEN_HEADS;
}

START_TEST(the_imported_header_is_exported_while_it_is_true)
{
	struct blm_outline *o = calloc(1, sizeof(*o));
	const uint8_t *heads;
	struct written w;

	/* its ratio: a half */
	o->contents.constant.template.args[1] = htole64(0x3fe0000000000000);
	o->keys = 13;
	heads = write_two(&w, o);
	ck_assert(get(heads + 32) == 10 && get(heads + STAGE + 1 + 32) == 3);
	o->memo_bytes = HEAD + 2 * STAGE;
	memcpy(o->memo, w.bytes, HEAD);
	memcpy(o->memo + HEAD, heads, STAGE);
	memcpy(o->memo + HEAD + STAGE, heads + STAGE + 1, STAGE);
	/* what only that program goes by */
	put(o->memo + HEAD, 0x3fb0000000000000), put(o->memo + HEAD + 24, 11);
	put(o->memo + HEAD + 32, 6), put(o->memo + HEAD + STAGE + 32, 7);
	heads = write_two(&w, o);
	ck_assert_mem_eq(heads, o->memo + HEAD, STAGE);
	ck_assert_mem_eq(heads + STAGE + 1, o->memo + HEAD + STAGE, STAGE);
	o->keys = 14;
	o->keys_estimated = true;	/* 13 may be right */
	heads = write_two(&w, o);
	ck_assert(get(heads + 32) == 6 && get(heads + STAGE + 1 + 32) == 7);
	o->keys_estimated = false;
	heads = write_two(&w, o);
	ck_assert(get(heads + 32) == 10 && get(heads + STAGE + 1 + 32) == 4);
	ck_assert_mem_eq(heads, o->memo + HEAD, 32);
	o->keys = 13;
	put(o->memo + HEAD + 8, 3);	/* another number of probes than it has */
	heads = write_two(&w, o);
	ck_assert(get(heads) == 0x3fb999999999999a && get(heads + 8) == 2 && get(heads + 24) == 10);
	ck_assert(get(heads + 32) == 10 && get(heads + STAGE + 1 + 32) == 3);
	free(o);
}
END_TEST

START_TEST(a_lack_of_memory_is_reported_and_nothing_written)
{
	uint8_t bits = 1;
	struct blm_part part = { .kind = blm_kind_by_name("classic"),
				 .shape = { .cells = 8, .probes = 2, .capacity = 10, .rate = 0.1 },
				 .bytes = &bits };
	struct blm_part whole = { .sub = &part, .subs = 1 };
	struct blm_outline *o = calloc(1, sizeof(*o));
	struct writing w = { .format = "pybloom-live-scalable", .outline = o, .part = &whole };

	ck_assert_int_eq(each_piece_may_lack(write_by_format, &w), 1);
	ck_assert_uint_eq(w.bytes, HEAD + 8 + STAGE + 1);
	free(o);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("format pybloom_live_scalable");
	TCase *tc = tcase_create("pybloom_live_scalable");

	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(
		tc, pybloom_lives_scalable_filters_answer_the_same_and_export_unchanged, 0,
		ARRAY_LEN(made_by));
	tcase_add_loop_test(tc, its_version_is_asked_for_or_found_by_known_keys,
			    0, ARRAY_LEN(made_by));
	tcase_add_loop_test(tc, a_filter_that_grew_here_is_exported_and_imported_unchanged, 0,
			    ARRAY_LEN(made_by));
	tcase_add_loop_test(tc, each_stage_has_a_digest_of_enough_bits, 0,
			    ARRAY_LEN(digests));
	tcase_add_test(tc, the_scheme_allows_any_size_and_export_checks_it);
	tcase_add_test(tc,
		       keys_are_claimed_and_counted_over_all_its_stages);
	tcase_add_loop_test(tc, an_impossible_header_is_refused_with_an_explanation, 0,
			    ARRAY_LEN(changed));
	tcase_add_test(tc, a_truncated_or_longer_file_is_refused);
	tcase_add_test(tc, a_growth_unknown_to_our_kind_is_kept_for_export);
	tcase_add_test(tc, a_file_with_an_impossible_number_is_not_recognised);
	tcase_add_test(tc, a_file_with_the_most_filters_is_imported_and_exported);
	tcase_add_test(
		tc,
		the_next_filter_is_in_proportion_whatever_its_header_says);
	tcase_add_test(tc, the_next_filter_is_in_proportion_whatever_its_filters_say);
	tcase_add_test(tc, a_first_filter_for_too_many_keys_is_refused);
	tcase_add_test(tc, slices_above_2_to_the_31_bits_take_wider_words);
	tcase_add_test(tc, a_lack_of_memory_is_reported_and_nothing_written);
	tcase_add_test(tc, the_imported_header_is_exported_while_it_is_true);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
