/*
 * bank.c - many filters in one file: it answers as each of them does, reads far less for it, and
 * ranks as looking at all would
 */
#include "vectors.h"

#include "bank/bank.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>

static const struct {
	struct blm_params params;
	bool digits;			/* its keys are numbers in decimal digits */
} sorts[] = {
	{ BLM_PARAMS(.kind = "classic", .capacity = 100, .rate = 0.01), false },
	{ BLM_PARAMS(.kind = "blocked", .capacity = 300, .rate = 0.001), false },
	{ BLM_PARAMS(.kind = "split-block", .capacity = 200, .rate = 0.01), false },
	{ BLM_PARAMS(.kind = "bitmap", .cells = 3000), true },
	{ BLM_PARAMS(.kind = "classic", .hash = "murmur3-bip37", .cells = 2000, .probes = 6),
	  false },
};

static size_t key_of(char buffer[16], bool digits, uint32_t number)
{
	if (digits)
		return (size_t)snprintf(buffer, 16, "%u", number);
	memcpy(buffer, &number, 4);
	return 4;
}

static void fill(struct blm_filter *f, bool digits, unsigned who, unsigned count)
{
	char key[16];

	for (unsigned i = 0; i < count; i++)
		OK(blm_add(f, key, key_of(key, digits, (uint32_t)(mixed(who * 1000 + i) % 2900))));
}

/* Filters of one template in memory, and the bank of them. */
static struct blm_bank *bank_of(const char *path, struct blm_filter **f, unsigned count)
{
	struct blm_bank_build *b;
	struct blm_bank *bank;

	OK(blm_bank_begin(&b, path, false, 0));
	for (unsigned i = 0; i < count; i++) {
		char id[16];

		snprintf(id, sizeof(id), "f%u", i);
		OK(blm_bank_add(b, f[i], id));
	}
	OK(blm_bank_finish(b));
	OK(blm_bank_open(&bank, path));
	return bank;
}

static void make_all(struct blm_filter **f, int sort, unsigned count)
{
	OK(blm_create(&f[0], NULL, NULL, &sorts[sort].params));
	for (unsigned i = 0; i < count; i++) {
		if (i)
			OK(blm_template(&f[i], NULL, NULL, f[0], 0));
		fill(f[i], sorts[sort].digits, i, i % 90);	/* the first is empty */
	}
}

static unsigned number_of(const struct blm_bank *bank, uint64_t row)
{
	const char *text;
	size_t bytes;

	OK(blm_bank_text(bank, row, &text, &bytes, NULL));
	ck_assert(bytes > 1 && bytes < 8 && *text == 'f');
	return (unsigned)atoi(text + 1);
}

START_TEST(a_bank_answers_each_key_as_each_of_its_filters)
{
	enum { COUNT = 700 };		/* not a multiple of 512, or of 64 */
	static struct blm_filter *f[COUNT];
	uint64_t bits[(COUNT + 63) / 64];
	struct blm_bank *bank;
	char key[16];

	make_all(f, _i, COUNT);
	bank = bank_of(a_path(), f, COUNT);
	for (uint32_t number = 0; number < 3100; number += 31) {
		size_t len = key_of(key, sorts[_i].digits, number);
		int64_t found = 0, yes = blm_bank_which(bank, key, len, bits);

		for (unsigned row = 0; row < COUNT; row++) {
			bool in = bits[row / 64] >> row % 64 & 1;

			ck_assert_msg(in == (blm_contains(f[number_of(bank, row)], key, len) == 1),
				      "row %u, key %u", row, number);
			found += in;
		}
		ck_assert_int_eq(yes, found);
	}
	ck_assert_int_eq(blm_bank_which(bank, sorts[_i].digits ? "no number" : "\0\0", 2, NULL),
			 blm_bank_which(bank, sorts[_i].digits ? "no number" : "\0\0", 2, bits));
	ck_assert_int_eq(blm_bank_verify(bank, NULL, NULL), 0);
	blm_bank_close(bank);
	for (unsigned i = 0; i < COUNT; i++)
		blm_close(f[i]);
}
END_TEST

/* Range filters of one template, of different sizes; the first one is empty. */
static struct blm_filter *range_filter_for(uint64_t capacity, unsigned who)
{
	struct blm_params params = BLM_PARAMS(.kind = "range", .hash = "ordered-uint",
					      .capacity = capacity, .rate = 0.01, .seeds =
					      &(uint64_t){ 5 }, .seed_count = 1,
					      .options = "width=16");
	struct blm_filter *f;
	struct blm_build *b;
	char key[24];

	OK(blm_build_begin(&b, NULL, NULL, &params, NULL));
	for (unsigned i = 0; i < who * 7; i++) {
		size_t len = (size_t)snprintf(key, sizeof(key), "%u",
					      (unsigned)(mixed(who * 1000 + i) % 100000));

		OK(blm_build_add_many(b, &(struct blm_key){ key, len }, 1));
	}
	OK(blm_build_finish(b, &f));
	return f;
}

static struct blm_filter *range_filter(unsigned who)
{
	return range_filter_for(1000, who);
}

START_TEST(a_bank_answers_each_range_as_each_of_its_filters)
{
	enum { COUNT = 130 };
	struct blm_filter *f[COUNT];
	uint64_t bits[(COUNT + 63) / 64], before = 0;
	struct blm_bank_info info;
	struct blm_bank *bank;
	char first[24], last[24];
	void *data;

	for (unsigned i = 0; i < COUNT; i++)
		f[i] = range_filter(i);
	bank = bank_of(a_path(), f, COUNT);
	blm_bank_info(bank, &info);
	for (unsigned n = 0; n < 100000; n += 501) {
		size_t len = (size_t)snprintf(first, sizeof(first), "%u", n),
			end = (size_t)snprintf(last, sizeof(last), "%u", n + n % 40);
		int64_t found = 0, yes = blm_bank_which_range(bank, first, len, last, end, bits);

		for (unsigned row = 0; row < COUNT; row++) {
			bool in = bits[row / 64] >> row % 64 & 1;

			ck_assert_int_eq(in, blm_contains_range(f[number_of(bank, row)], first,
								len, last, end));
			found += in;
		}
		ck_assert_int_eq(yes, found);
		ck_assert_int_eq(blm_bank_which_range(bank, first, len, first, len, NULL),
				 blm_bank_which(bank, first, len, bits));
	}
	data = malloc(info.row_bytes);
	for (unsigned row = 0; row < COUNT; row++) {
		const struct blm_part *part = &current_view(f[number_of(bank, row)])->root;

		ck_assert_uint_ge(part->shape.bytes, before);	/* in the order of sizes */
		before = part->shape.bytes;
		OK(blm_bank_read(bank, row, data));
		ck_assert_mem_eq(data, part->bytes, before);
		OK(blm_bank_read_filter(bank, f[number_of(bank, row)], data));
		ck_assert_mem_eq(data, part->bytes, before);
	}
	ck_assert_uint_eq(before, info.row_bytes);
	ck_assert_int_eq(blm_bank_verify(bank, NULL, NULL), 0);
	free(data);
	blm_bank_close(bank);
	for (unsigned i = 0; i < COUNT; i++)
		blm_close(f[i]);
}
END_TEST

static int ignore(void *context, const void *bytes, size_t count)
{
	return 0;
}

START_TEST(an_operation_impossible_for_range_banks_is_refused)
{
	struct blm_filter *f[2] = { range_filter(3), range_filter(90) }, *c;
	struct blm_bank *bank = bank_of(a_path(), f, 2), *classic;
	struct blm_bank_hit hits[2];
	uint8_t data[4096] = { 0 };
	uint64_t bits;

	FAILS(blm_bank_which_range(bank, "5", 1, "4", 1, &bits), -EINVAL);
	FAILS(blm_bank_which_range(bank, "five", 4, "6", 1, &bits), -EINVAL);
	ck_assert_int_eq(blm_bank_which(bank, "five", 4, &bits), 0);
	FAILS(blm_bank_similar(bank, data, &(struct blm_likeness){ .threshold = 0 }, hits, 2),
	      -EOPNOTSUPP);
	FAILS(blm_bank_export_fps(bank, ignore, NULL), -EOPNOTSUPP);
	OK(blm_create(&c, NULL, NULL, &sorts[0].params));
	FAILS(blm_bank_read_filter(bank, c, data), -EMEDIUMTYPE);
	classic = bank_of(a_path(), &c, 1);
	FAILS(blm_bank_which_range(classic, "4", 1, "5", 1, &bits), -EOPNOTSUPP);
	ck_assert_msg(strstr(blm_error_message(), "range") != NULL, "%s", blm_error_message());
	blm_bank_close(classic);
	blm_bank_close(bank);
	blm_close(c);
	blm_close(f[0]);
	blm_close(f[1]);
}
END_TEST

START_TEST(a_much_shorter_row_of_a_bank_answers_right)
{
	struct blm_filter *f[2] = { range_filter_for(100000, 12000),
				    range_filter_for(100000, 3) };
	struct blm_bank *bank = bank_of(a_path(), f, 2), *small;
	uint8_t *data = malloc(bank->row_bytes);
	uint64_t bits, lines = 1;

	ck_assert_uint_gt(bank->row_bytes, BLM_ZEROS + 4096);
	ck_assert_int_eq(blm_bank_verify(bank, NULL, NULL), 0);
	ck_assert_int_eq(blm_bank_ask(bank, &(struct blm_key){ "100001", 6 }, &bits, &lines), 0);
	ck_assert_uint_eq(lines, 0);
	OK(blm_bank_read_filter(bank, f[1], data));
	small = bank_of(a_path(), &f[1], 1);
	FAILS(blm_bank_read_filter(small, f[0], data), -EMEDIUMTYPE);
	free(data);
	blm_bank_close(small);
	blm_bank_close(bank);
	blm_close(f[0]);
	blm_close(f[1]);
}
END_TEST

/* A row whose length is damaged denies no key, and nothing outside of the file is read. */
START_TEST(damage_to_a_bank_of_ranges_is_found_without_harm)
{
	struct blm_filter *f[3] = { range_filter(1), range_filter(50), range_filter(100) };
	const char *path = a_path();
	struct blm_bank *bank = bank_of(path, f, 3);
	const struct { uint64_t at; uint8_t flipped;
	} bad[] = {
		{ bank->at.ones, 0x80 },
		{ bank->at.ones + 17, 0x80 },
		{ bank->at.ones, 1 },
		{ bank->at.ones, (uint8_t)bank_ones(bank, 0) },
		{ bank->at.rows + 3, 0x80 },
		{ bank->at.slices - 1, 0x80 },
		{ bank->at.rows + 2 * bank->row_bytes + 20, 0x80 },
	};

	ck_assert_uint_eq(bank->at.slices, bank->at.checks);
	bank = blm_bank_close(bank);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		int fd = open(path, O_RDWR);
		uint8_t was, flipped;

		ck_assert(fd >= 0 && pread(fd, &was, 1, (off_t)bad[i].at) == 1);
		flipped = was ^ bad[i].flipped;
		ck_assert_int_eq(pwrite(fd, &flipped, 1, (off_t)bad[i].at), 1);
		OK(blm_bank_open(&bank, path));
		ck_assert_int_ge(blm_bank_which_range(bank, "0", 1, "99999", 5, NULL),
				 i < 2 ? 3 : 1);
		ck_assert_int_gt(blm_bank_verify(bank, NULL, NULL), 0);
		bank = blm_bank_close(bank);
		ck_assert_int_eq(pwrite(fd, &was, 1, (off_t)bad[i].at), 1);
		close(fd);
	}
	OK(blm_bank_open(&bank, path));
	ck_assert_int_eq(blm_bank_verify(bank, NULL, NULL), 0);
	blm_bank_close(bank);
	for (size_t i = 0; i < 3; i++)
		blm_close(f[i]);
}
END_TEST

/* A question to one filter reads one line at least. */
START_TEST(which_of_10000_filters_reads_a_fiftieth_of_the_lines)
{
	enum { FILTERS = 10000, KEYS = 200 };
	const struct blm_params params = BLM_PARAMS(.kind = _i ? "blocked" : "classic",
						    .capacity = 200, .rate = 0.01);
	struct blm_bank_build *b;
	struct blm_bank *bank;
	struct blm_filter *f;
	struct blm_part *part;
	const char *path = a_path();
	uint64_t lines = 0, one, bits[(FILTERS + 63) / 64];

	OK(blm_create(&f, NULL, NULL, &params));
	part = &current_view(f)->part[0];
	OK(blm_bank_begin(&b, path, false, 0));
	for (uint32_t i = 0; i < FILTERS; i++) {
		char id[16];

		/* as blm_clear() leaves it, without 10000 files in memory */
		memset(part->bytes, 0, part->shape.bytes);
		add_numbers(f, i * 200, i * 200 + 200);
		snprintf(id, sizeof(id), "f%u", i);
		OK(blm_bank_add(b, f, id));
	}
	blm_close(f);
	OK(blm_bank_finish(b));
	OK(blm_bank_open(&bank, path));
	for (uint32_t i = 0; i < KEYS; i++) {
		uint32_t key = i * 10007;
		bool found = false;

		ck_assert_int_gt(blm_bank_ask(bank, &(struct blm_key){ &key, 4 }, bits, &one), 0);
		lines += one;
		for (uint64_t row = 0; row < FILTERS; row++)
			found |= bits[row / 64] >> row % 64 & 1
			      && number_of(bank, row) == key / 200;
		ck_assert_msg(found, "key %u", key);
	}
	ck_assert_msg(lines * 50 <= (uint64_t)KEYS * FILTERS, "%llu lines for %d keys",
		      (unsigned long long)lines, KEYS);
	blm_bank_close(bank);
}
END_TEST

/* ---- Likeness ---- */

struct pair {
	double score;
	unsigned order;
};

static int best_first(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

START_TEST(ranking_equals_a_full_scan_and_looks_at_fewer_fingerprints)
{
	enum { COUNT = 600, TOP = 10 };
	static const struct blm_likeness hows[] = {
		{ .measure = NULL },
		{ .measure = "tanimoto", .threshold = 0.4 },
		{ .measure = "containment" },
		{ .measure = "tversky", .alpha = 0.3, .beta = 0.7 },
		{ .measure = "tversky", .alpha = 0, .beta = 1 },
	};
	static const double weights[][2] = { { 1, 1 }, { 1, 1 }, { 1, 0 }, { 0.3, 0.7 }, { 0, 1 } };
	static struct blm_filter *f[COUNT];
	static uint64_t data[COUNT][64];
	struct blm_bank_info info;
	struct blm_bank *bank;
	uint64_t looked = 0, asked = 0;

	make_all(f, 3, COUNT);
	bank = bank_of(a_path(), f, COUNT);
	blm_bank_info(bank, &info);
	ck_assert_uint_le(info.row_bytes, sizeof(data[0]));
	for (unsigned i = 0; i < COUNT; i++)
		OK(blm_bank_read_filter(bank, f[i], data[i]));
	for (unsigned q = 0; q < COUNT; q += 37) {
		struct blm_bank_hit hits[TOP];
		struct pair all[COUNT];
		uint64_t rows;
		int64_t found = blm_bank_rank(bank, data[q], &hows[_i], hits, TOP, &rows);
		unsigned want = 0;

		OK(found);
		for (unsigned i = 0; i < COUNT; i++) {
			double a = 0, b = 0, c = 0, under;

			for (size_t w = 0; w < info.row_bytes / 8; w++) {
				a += __builtin_popcountll(data[q][w]);
				b += __builtin_popcountll(data[i][w]);
				c += __builtin_popcountll(data[q][w] & data[i][w]);
			}
			under = weights[_i][0] * (a - c) + weights[_i][1] * (b - c) + c;
			all[i] = (struct pair){ under > 0 ? c / under : 0, i };
			want += all[i].score >= hows[_i].threshold;
		}
		qsort(all, COUNT, sizeof(*all), best_first);
		ck_assert_int_eq(found, want < TOP ? want : TOP);
		for (int64_t i = 0; i < found; i++) {
			ck_assert_double_eq(hits[i].score, all[i].score);
			ck_assert_uint_eq(number_of(bank, hits[i].row), all[i].order);
		}
		looked += rows;
		asked += COUNT;
	}
	ck_assert_uint_le(looked, asked);
	if (_i == 1)
		ck_assert_uint_lt(looked, asked * 3 / 4);
	blm_bank_close(bank);
	for (unsigned i = 0; i < COUNT; i++)
		blm_close(f[i]);
}
END_TEST

static struct blm_bank *bank_of_text(const char *path, const char *text)
{
	struct blm_bank_build *b;
	struct blm_bank *bank;

	OK(blm_bank_begin(&b, path, false, 0));
	ck_assert_int_gt(blm_bank_add_fps(b, text, strlen(text), "set.fps"), 0);
	OK(blm_bank_finish(b));
	OK(blm_bank_open(&bank, path));
	return bank;
}

static char *set_of(const char *folder, const char *file)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/fps/%s", folder, file);
	return *folder ? file_of(path, NULL) : NULL;
}

static bool is_id(const struct blm_bank *bank, uint64_t row, const char *want, size_t count)
{
	const char *text;
	size_t bytes;

	OK(blm_bank_text(bank, row, &text, &bytes, NULL));
	return bytes == count && !memcmp(text, want, count);
}

/* "top10": [ID, common bits, bits of both]; "count_at_least": { "0.7": the count } */
static void prove_query(struct blm_bank *bank, const char *id, const char *query, uint64_t rows)
{
	const char *at = strchr(strstr(query, "\"top10\""), '[') + 1,
		   *counts = strstr(query, "\"count_at_least\""), *end = strchr(counts, '}');
	struct blm_bank_hit *hits = malloc(rows * sizeof(*hits));
	uint64_t bits[64], row;
	int64_t found;
	unsigned n = 0;

	OK(blm_bank_find(bank, id, &row));
	OK(blm_bank_read(bank, row, bits));
	found = blm_bank_similar(bank, bits, &(struct blm_likeness){ .measure = NULL }, hits, 10);
	for (; (at = strchr(at, '[')) && at < counts; at++, n++) {
		const char *name = strchr(at, '"') + 1;
		unsigned common, both;

		ck_assert_int_eq(sscanf(strchr(at, ',') + 1, " %u , %u", &common, &both), 2);
		ck_assert_int_lt(n, found);
		ck_assert_msg(is_id(bank, hits[n].row, name, strcspn(name, "\"")),
			      "query %s, place %u", id, n);
		ck_assert_uint_eq(hits[n].common, common);
		ck_assert_double_eq(hits[n].score, (double)common / both);
	}
	ck_assert_int_eq(found, n);
	for (at = strchr(counts, '{'); (at = strchr(at, '"')) && at < end;
	     at = strchr(at + 1, '"') + 1) {
		struct blm_likeness how = { .threshold = atof(at + 1) };

		ck_assert_int_eq(blm_bank_similar(bank, bits, &how, hits, rows),
				 atoi(strchr(at, ':') + 1));
	}
	free(hits);
}

START_TEST(every_query_of_the_vectors_has_its_ten_best_matches)
{
	char *json = set_of(VECTORS, "tanimoto.json"), file[64], id[64];
	unsigned queries = 0;

	for (const char *at = json ? strstr(json, "\"files\"") : NULL;
	     at && (at = strstr(at, "\"file\"")); at++) {
		const char *next = strstr(at + 1, "\"file\""), *end = next ? next : at + strlen(at);
		char *text = set_of(VECTORS, text_field(at, end, "file", file, sizeof(file)));
		struct blm_bank *bank = bank_of_text(a_path(), text);
		struct blm_bank_info info;

		blm_bank_info(bank, &info);
		for (const char *q = at; (q = strstr(q, "\"query_id\"")) && q < end; q++, queries++)
			prove_query(bank, text_field(q, end, "query_id", id, sizeof(id)), q,
				    info.rows);
		blm_bank_close(bank);
		free(text);
	}
	ck_assert(!json || queries == 71);
	free(json);
}
END_TEST

START_TEST(a_fingerprint_in_a_bank_equals_its_imported_bitmap)
{
	static const char *const files[] = { "openbabel-MACCS.fps", "openbabel-FP2.fps" };
	char *text = set_of(DATA, files[_i]), id[64];
	struct blm_bank *bank = bank_of_text(a_path(), text);
	struct blm_bank_info info;

	blm_bank_info(bank, &info);
	for (uint64_t row = 0; row < info.rows; row++) {
		uint64_t bits[64], want[64];
		struct blm_filter *f;
		const char *at;
		size_t bytes;

		OK(blm_bank_text(bank, row, &at, &bytes, NULL));
		snprintf(id, sizeof(id), "%.*s", (int)bytes, at);
		OK(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "fps", .record = id),
				    text, strlen(text)));
		OK(blm_bank_read_filter(bank, f, want));
		OK(blm_bank_read(bank, row, bits));
		ck_assert_mem_eq(bits, want, info.row_bytes);
		blm_close(f);
	}
	blm_bank_close(bank);
	free(text);
}
END_TEST

struct gathered {
	char *text;
	size_t count;
};

static int gather(void *context, const void *bytes, size_t count)
{
	struct gathered *to = context;

	to->text = realloc(to->text, to->count + count + 1);
	memcpy(to->text + to->count, bytes, count);
	to->count += count;
	to->text[to->count] = '\0';
	return 0;
}

START_TEST(a_set_of_fingerprints_is_exported_unchanged)
{
	static const char *const files[] = { "openbabel-MACCS.fps", "openbabel-FP2.fps" };
	char *text = set_of(DATA, files[_i]);
	struct blm_bank *bank = bank_of_text(a_path(), text);
	struct gathered out = { 0 };

	OK(blm_bank_export_fps(bank, gather, &out));
	ck_assert_str_eq(out.text, text);
	free(out.text);
	blm_bank_close(bank);
	free(text);
}
END_TEST

/* ---- What is refused ---- */

START_TEST(an_unsuitable_filter_is_refused_and_the_bank_stays_unchanged)
{
	struct blm_filter *a, *b, *counting;
	struct blm_bank_build *build;
	struct blm_bank_info info;
	struct blm_bank *bank;
	const char *path = a_path(), *bad = "#FPS1\n#num_bits=8\nff\tx\nfg\ty\n";

	OK(blm_create(&a, NULL, NULL, &BLM_PARAMS(.capacity = 100, .rate = 0.01)));
	/* another seed */
	OK(blm_create(&b, NULL, NULL, &BLM_PARAMS(.capacity = 100, .rate = 0.01)));
	OK(blm_create(&counting, NULL, NULL,
		      &BLM_PARAMS(.kind = "counting", .capacity = 100, .rate = 0.01)));
	OK(blm_bank_begin(&build, path, false, 0));
	FAILS(blm_bank_add_fps(build, bad, strlen(bad), "bad.fps"), -EBADMSG);
	blm_bank_cancel(build);
	OK(blm_bank_begin(&build, path, false, 0));
	FAILS(blm_bank_finish(build), -ENODATA);
	ck_assert_int_ne(access(path, F_OK), 0);
	OK(blm_bank_begin(&build, path, false, 0));
	FAILS(blm_bank_add(build, counting, "c"), -EOPNOTSUPP);
	FAILS(blm_bank_add(build, a, "two\tcolumns"), -EINVAL);
	FAILS(blm_bank_add(build, a, ""), -EINVAL);
	OK(blm_bank_add(build, a, "a"));
	FAILS(blm_bank_add(build, b, "b"), -EMEDIUMTYPE);
	OK(blm_bank_finish(build));
	FAILS(blm_bank_begin(&build, path, false, 0), -EEXIST);
	OK(blm_bank_open(&bank, path));
	blm_bank_info(bank, &info);
	ck_assert_uint_eq(info.rows, 1);
	/* a bank takes a bank's place; its readers keep the old one */
	OK(blm_bank_begin(&build, path, true, 0));
	OK(blm_bank_add(build, b, "b"));
	OK(blm_bank_finish(build));
	ck_assert_int_eq(blm_bank_find(bank, "a", &info.rows), 0);
	blm_bank_close(bank);
	OK(blm_bank_open(&bank, path));
	FAILS(blm_bank_find(bank, "a", &info.rows), -ENOENT);
	blm_bank_close(bank);
	OK(blm_copy(NULL, NULL, path = a_path(), a, 0));
	FAILS(blm_bank_begin(&build, path, true, 0), -EEXIST);	/* but no filter's */
	FAILS(blm_bank_open(&bank, path), -EBADMSG);
	blm_close(a);
	blm_close(b);
	blm_close(counting);
}
END_TEST

START_TEST(damage_is_found_and_causes_no_harm)
{
	char *text = set_of(DATA, "openbabel-MACCS.fps");
	const char *path = a_path(), *other = a_path();
	struct blm_bank *bank = bank_of_text(path, text);
	size_t bytes;
	char *good = file_of(path, &bytes);
	uint64_t state = 1;

	blm_bank_close(bank);
	for (unsigned i = 0; i < 600; i++) {
		size_t at = i < 200 ? (size_t)i * 64 % 8192 : (size_t)(next_random(&state) % bytes),
		       length = i % 7 ? bytes : at;
		int fd = open(other, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		char byte = (char)(good[at] ^ (1 << i % 8));
		int r;

		ck_assert_int_eq(write(fd, good, length), (ssize_t)length);
		if (at < length)
			ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)at), 1);
		close(fd);
		r = blm_bank_open(&bank, other);
		if (r == 0) {
			struct blm_bank_hit hits[8];
			uint64_t bits[64] = { 0x1234 }, row;

			ck_assert_int_gt(blm_bank_verify(bank, NULL, NULL), 0);
			blm_bank_which(bank, "17", 2, NULL);
			blm_bank_find(bank, "1", &row);
			OK(blm_bank_similar(bank, bits, &(struct blm_likeness){ .measure = NULL },
					    hits, 8));
			blm_bank_close(bank);
		} else {
			ck_assert_msg(r == -EBADMSG || r == -ENODATA || r == -EPROTONOSUPPORT
					      || r == -EOPNOTSUPP,
				      "%d: %s", r, blm_error_message());
		}
	}
	free(good);
	free(text);
}
END_TEST

/* All checksums of a forged bank are right. */
static void mend(uint8_t *bytes)
{
	struct blm_bank_header *h = (struct blm_bank_header *)bytes;
	struct blm_bank_layout at;
	uint64_t count;

	h->constant.check = blm_check_constant(&h->constant);
	h->sizes.check = blm_bank_check_sizes(h);
	if (!blm_bank_lay_out(&at, le64toh(h->sizes.rows), le64toh(h->sizes.row_bytes),
			      le64toh(h->sizes.text_bytes)))
		return;
	for (uint64_t i = 0; at.ones + i * BLM_BLOCK < at.checks; i++) {
		count = at.checks - at.ones - i * BLM_BLOCK;
		((uint64_t *)(bytes + at.checks))[i] = blm_check_bytes(
			bytes + at.ones + i * BLM_BLOCK, count < BLM_BLOCK ? count : BLM_BLOCK, i);
	}
}

static void write_over(const char *path, const void *bytes, size_t count)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(fd, bytes, count), (ssize_t)count);
	close(fd);
}

static void gather_words(void *context, const struct blm_finding *found)
{
	strcat(strcat(context, found->what), "; ");
}

START_TEST(an_inconsistent_bank_is_found_although_its_checksums_are_right)
{
	char *text = set_of(DATA, "openbabel-MACCS.fps"), words[1024];
	const char *path = a_path(), *other = a_path();
	struct blm_bank *bank = bank_of_text(path, text);
	const struct blm_bank_layout at = bank->at;
	static const char *const says[] = { "number of ones", "came in", "id",	"slice",
					    "slice",	      "ones",	 "ids", "not a valid id" };
	const uint64_t places[] = { at.ones + 8,     at.order + 8,
				    at.ids + 16 + 6, at.slices + 100 * at.slice_bytes,
				    at.rows + 2,     at.rows + 64,
				    at.ids,	     at.text };
	size_t bytes;
	uint8_t *good = (uint8_t *)file_of(path, &bytes);

	ck_assert_int_eq(blm_bank_verify(bank, NULL, NULL), 0);
	blm_bank_close(bank);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		uint8_t *bad = malloc(bytes);

		memcpy(bad, good, bytes);
		bad[places[i]] = places[i] == at.text ? '\n' : bad[places[i]] ^ 1;
		mend(bad);
		write_over(other, bad, bytes);
		OK(blm_bank_open(&bank, other));
		*words = '\0';
		ck_assert_int_gt(blm_bank_verify(bank, gather_words, words), 0);
		ck_assert_msg(strstr(words, says[i]), "%zu: %s", i, words);
		blm_bank_close(bank);
		free(bad);
	}
	free(good);
	free(text);
}
END_TEST

/* All that can be asked of a bank. */
static void ask_all(struct blm_bank *bank)
{
	struct blm_bank_info info;
	struct blm_bank_hit hits[8];
	struct gathered out = { 0 };
	uint64_t row;
	void *bits;

	blm_bank_info(bank, &info);
	bits = calloc(1, info.row_bytes);
	blm_bank_which(bank, "17", 2, NULL);
	blm_bank_which(bank, "", 0, NULL);
	blm_bank_find(bank, "1", &row);
	for (unsigned m = 0; m < 3; m++) {
		const struct blm_likeness how = { .measure = m == 2 ? "tversky"
							   : m	    ? "containment"
								    : NULL,
						  .alpha = 0,
						  .beta = 0.5,
						  .threshold = m * 0.2 };

		if (blm_bank_read(bank, info.rows - 1 - m % info.rows, bits) == 0)
			OK(blm_bank_similar(bank, bits, &how, hits, 8));
	}
	if (blm_bank_export_fps(bank, gather, &out) == 0)
		ck_assert(out.count > 0);
	free(out.text);
	blm_bank_verify(bank, NULL, NULL);
	free(bits);
}

static const uint64_t extremes[] = { 0,
				     1,
				     63,
				     64,
				     511,
				     512,
				     1 << 20,
				     UINT64_C(1) << 40,
				     UINT64_C(1) << 62,
				     UINT64_MAX,
				     UINT64_MAX - 63 };

START_TEST(a_forged_bank_causes_no_harm)
{
	char *text = set_of(DATA, "openbabel-MACCS.fps");
	const char *path = a_path(), *other = a_path();
	struct blm_bank *bank;
	uint64_t state = (uint64_t)_i + 1;
	size_t bytes;
	uint8_t *good, *bad;

	if (_i) {
		struct blm_filter *f[40];

		make_all(f, _i - 1, 40);
		bank = bank_of(path, f, 40);
		for (int i = 0; i < 40; i++)
			blm_close(f[i]);
	} else {
		bank = bank_of_text(path, text);
	}
	blm_bank_close(bank);
	good = (uint8_t *)file_of(path, &bytes);
	bad = malloc(bytes);
	for (unsigned i = 0; i < 400; i++) {
		unsigned changes = 1 + (unsigned)(next_random(&state) % 3);

		memcpy(bad, good, bytes);
		while (changes--) {
			/* mostly the sizes, the template, and where ids lie */
			uint64_t sort = next_random(&state) % 4, most = sort == 0 ? 32
								      : sort == 1 ? 256
								      : sort == 2 ? 8192
										  : bytes - 8192;
			size_t at = (size_t)((sort == 0	  ? 4096
					      : sort == 3 ? 8192
							  : 0)
					     + next_random(&state) % most / 4 * 4);
			uint64_t value = next_random(&state) % 2
					       ? extremes[next_random(&state) % ARRAY_LEN(extremes)]
					       : next_random(&state);

			memcpy(bad + at, &value, at + 8 <= bytes ? 8 : 4);
		}
		if (le64toh(((struct blm_bank_header *)bad)->sizes.rows) < 4000
		    && le64toh(((struct blm_bank_header *)bad)->sizes.row_bytes) < 2000) {
			struct blm_bank_layout at;
			const struct blm_bank_sizes *s = &((struct blm_bank_header *)bad)->sizes;

			if (!blm_bank_lay_out(&at, le64toh(s->rows), le64toh(s->row_bytes),
					      le64toh(s->text_bytes))
			    || at.end > bytes)
				continue;
			if (i % 2
			    && le32toh(((struct blm_bank_header *)bad)
					       ->constant.template.seed_count)
				       <= BLM_FORMAT_SEEDS)
				blm_template_id(
					&((struct blm_bank_header *)bad)->constant.template,
					((struct blm_bank_header *)bad)->constant.template_id);
			mend(bad);
		} else {
			((struct blm_bank_header *)bad)->sizes.check =
				blm_bank_check_sizes((struct blm_bank_header *)bad);
		}
		write_over(other, bad, bytes);
		if (blm_bank_open(&bank, other) < 0)
			continue;
		ask_all(bank);
		blm_bank_close(bank);
	}
	free(bad);
	free(good);
	free(text);
}
END_TEST

/* A header that says something else, with checks that are right. */
static int opened_with(const char *good, size_t bytes,
		       void (*change)(struct blm_bank_header *h, int which), int which)
{
	struct blm_bank_header *h = malloc(bytes);
	const char *path = a_path();
	struct blm_bank *bank;
	int r, fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	memcpy(h, good, bytes);
	change(h, which);
	h->constant.check = blm_check_constant(&h->constant);
	h->sizes.check = blm_bank_check_sizes(h);
	ck_assert_int_eq(write(fd, h, bytes), (ssize_t)bytes);
	close(fd);
	free(h);
	r = blm_bank_open(&bank, path);
	if (r == 0)
		blm_bank_close(bank);
	return r;
}

static void change_header(struct blm_bank_header *h, int which)
{
	struct blm_template_fields *t = &h->constant.template;
	uint64_t *const sizes[] = { &h->sizes.rows, &h->sizes.row_bytes, &h->sizes.text_bytes };
	static const uint64_t wrong[] = {
		0, 1, UINT64_C(1) << 39, UINT64_C(1) << 41, UINT64_C(1) << 61, UINT64_MAX
	};

	if (which < 18)
		*sizes[which / 6] = htole64(wrong[which % 6]);
	else if (which == 18)
		t->kind = htole32(blm_kind_by_name("counting")->id);
	else if (which == 19)
		t->kind = htole32(blm_kind_by_name("scalable")->id);
	else if (which == 20)
		t->kind = htole32(12345);
	else if (which == 21)
		t->family = htole32(12345);
	else if (which == 22)
		t->family = htole32(blm_family_by_name("siphash")->id);
	else if (which == 23)
		t->bit_order = htole32(12345);
	else if (which == 24)
		t->cells = htole64(12345);
	else if (which == 25)
		t->probes = 0;
	else if (which == 26)
		t->index_rule = htole32(12345);
	else
		h->sizes.rows = h->sizes.row_bytes = htole64(
			UINT64_C(1)
			<< 39); /* each may be, and both are more than a file has room for */
}

START_TEST(inconsistent_numbers_are_refused_although_their_checksums_are_right)
{
	struct blm_filter *f;
	const char *path = a_path();
	struct blm_bank_build *build;
	size_t bytes;
	char *good;

	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.kind = "blocked", .capacity = 100, .rate = 0.01)));
	OK(blm_bank_begin(&build, path, false, 0));
	OK(blm_bank_add(build, f, "id"));
	OK(blm_bank_finish(build));
	good = file_of(path, &bytes);
	for (int which = 0; which <= 27; which++) {
		int r = opened_with(good, bytes, change_header, which);

		/* as it was, or a shorter text */
		ck_assert_msg(r < 0 || which == 1 || which == 12 || which == 13, "%d", which);
		ck_assert_str_ne(blm_error_message(), "");
	}
	blm_close(f);
	free(good);
}
END_TEST

START_TEST(another_files_beginning_differs_from_a_truncated_bank)
{
	static const struct { const char *begins; size_t bytes; int err;
	} files[] = {
		{ "BLMBANK", 7, -EBADMSG },
		{ "no bank of ours", 15, -EBADMSG },
		{ BLM_BANK_MAGIC, 8, -ENODATA },
		{ BLM_BANK_MAGIC, 4096, -ENODATA },
	};
	struct blm_bank_build *build;
	struct blm_bank *bank;

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		const char *path = a_path();
		char bytes[4096] = "", *now, *says = strdup(path);
		size_t count;

		memcpy(bytes, files[i].begins, files[i].bytes < 16 ? files[i].bytes : 8);
		write_over(path, bytes, files[i].bytes);
		FAILS(blm_bank_open(&bank, path), files[i].err);
		ck_assert_msg(strstr(blm_error_message(), says)
				      && strstr(blm_error_message(), "too few for a bank"),
			      "%s", blm_error_message());
		if (files[i].err == -EBADMSG) {		/* and nothing takes its place */
			FAILS(blm_bank_begin(&build, path, true, 0), -EEXIST);
			ck_assert_msg(strstr(blm_error_message(), "exists already, and is not a")
					      != NULL,
				      "%s", blm_error_message());
			now = file_of(path, &count);
			ck_assert(count == files[i].bytes && !memcmp(now, bytes, count));
			free(now);
		}
		free(says);
	}
}
END_TEST

START_TEST(no_file_is_as_large_as_that)
{
	struct blm_bank_layout at = { .end = 1 };

	ck_assert(!blm_bank_lay_out(&at, UINT64_C(1) << 40, UINT64_C(1) << 40, 0));
	ck_assert(!blm_bank_lay_out(&at, UINT64_C(1) << 39, UINT64_C(1) << 20, 0));
	ck_assert_uint_eq(at.end, 1);
	ck_assert(blm_bank_lay_out(&at, UINT64_C(1) << 39, 1 << 19, 0));
	ck_assert_uint_gt(at.end, UINT64_C(1) << 58);
}
END_TEST

START_TEST(a_bank_refuses_a_filter_with_a_secret)
{
	const char *path = a_path();
	struct blm_bank_build *build;
	struct blm_filter *f;

	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.kind = "classic", .hash = "siphash", .capacity = 100,
				  .rate = 0.01)));
	OK(blm_bank_begin(&build, path, false, 0));
	FAILS(blm_bank_add(build, f, "a"), -EOPNOTSUPP);
	ck_assert_msg(strstr(blm_error_message(),
			     "its hash siphash has a secret key, which a bank cannot hold")
			      != NULL,
		      "%s", blm_error_message());
	FAILS(blm_bank_finish(build), -ENODATA);
	ck_assert_int_ne(access(path, F_OK), 0);
	blm_close(f);
}
END_TEST

static const struct { const char *text; int err; const char *words;
} no_set[] = {
	{ "", -ENODATA, "set.fps: has no fingerprint" },
	{ "#FPS1\n#num_bits=16\n", -ENODATA, "set.fps: has no fingerprint" },
	{ "#FPS1\n#num_bits=1x\nffff\ta\n", -EBADMSG, "set.fps: its num_bits is no number up to" },
	{ "#FPS1\nffff a\n", -EBADMSG, "set.fps: fingerprint 1 is not digits, a tab and an id" },
	{ "ff\ta\n", -EMEDIUMTYPE, "set.fps: not of the template" },
	{ "#FPS1\n#num_bits=15\n7fff\ta\n", -EMEDIUMTYPE, "set.fps: not of the template" },
	{ "ffff\ta\nfff\tb\n", -EBADMSG, "set.fps: a fingerprint of 16 bits has 3 digits" },
};

START_TEST(an_invalid_set_of_fingerprints_adds_nothing_to_the_bank)
{
	const char *path = a_path();
	struct blm_bank_build *build;
	struct blm_bank_info info;
	struct blm_bank *bank;
	char *large = calloc(1, (1 << 18) + 16);

	OK(blm_bank_begin(&build, path, false, 0));
	ck_assert_int_eq(blm_bank_add_fps(build, "0123\tx\n", 7, "first.fps"), 1);
	FAILS(blm_bank_add_fps(build, NULL, 0, "set.fps"), -ENODATA);
	for (size_t i = 0; i < ARRAY_LEN(no_set); i++) {
		FAILS(blm_bank_add_fps(build, no_set[i].text, strlen(no_set[i].text), "set.fps"),
		      no_set[i].err);
		ck_assert_msg(strstr(blm_error_message(), no_set[i].words) != NULL, "%zu: %s", i,
			      blm_error_message());
	}
	memset(large, '0', (1 << 18) + 2);
	strcat(large, "\ta\n");
	FAILS(blm_bank_add_fps(build, large, strlen(large), "set.fps"), -EFBIG);
	ck_assert_msg(strstr(blm_error_message(),
			     "set.fps: a fingerprint of more than 1048576 bits")
			      != NULL,
		      "%s", blm_error_message());
	free(large);
	OK(blm_bank_finish(build));
	OK(blm_bank_open(&bank, path));
	blm_bank_info(bank, &info);
	ck_assert_uint_eq(info.rows, 1);
	ck_assert_uint_eq(info.cells, 16);
	blm_bank_close(bank);
}
END_TEST

/*
 * A header that is too long keeps as many complete lines as there is space for; without any, it
 * becomes the shortest possible header.
 */
START_TEST(complete_lines_of_a_long_header_are_kept)
{
	static const unsigned lines[] = { 100, 1776, 1777 };
	char text[8192], want[8192], line[2000];

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct gathered out = { 0 };
		struct blm_bank *bank;

		snprintf(line, sizeof(line), "#%0*d\n", (int)lines[i] - 2, 7);
		*text = *want = '\0';
		for (unsigned n = 0; n < 4000 / lines[i]; n++)
			strcat(text, line);
		for (unsigned n = 0; n < 1776 / lines[i]; n++)
			strcat(want, line);
		strcat(text, "ff\ta\n0f\tb\n");
		strcat(*want ? want : strcpy(want, "#FPS1\n#num_bits=8\n"), "ff\ta\n0f\tb\n");
		bank = bank_of_text(a_path(), text);
		OK(blm_bank_export_fps(bank, gather, &out));
		ck_assert_str_eq(out.text, want);
		free(out.text);
		blm_bank_close(bank);
	}
}
END_TEST

static int fail_at(void *context, const void *bytes, size_t count)
{
	return --*(int *)context ? 0 : -EIO;
}

START_TEST(the_fingerprint_receivers_error_is_returned_at_every_step)
{
	static const char text[] = "#FPS1\n#num_bits=2400\n%0600d\tx\n%0600d\ty\tmore\n";
	char buffer[1400];
	struct blm_bank *bank;
	int calls = 0;

	snprintf(buffer, sizeof(buffer), text, 1, 2);
	bank = bank_of_text(a_path(), buffer);
	for (int n = 1, r = -EIO; r < 0; n++) {
		int left = n;

		r = blm_bank_export_fps(bank, fail_at, &left);
		ck_assert(r == 0 || r == -EIO);
		calls++;
	}
	ck_assert_int_gt(calls, 6);
	blm_bank_close(bank);
}
END_TEST

START_TEST(questions_that_make_no_sense_are_refused)
{
	static const struct blm_likeness wrong[] = {
		{ "tversky", -1, 1, 0 },  { "tversky", 2e6, 1, 0 }, { "tversky", 1, -1, 0 },
		{ "tversky", 1, 2e6, 0 }, { "tversky", NAN, 1, 0 }, { NULL, 0, 0, -1 },
		{ NULL, 0, 0, 2e6 },	  { "likeness", 1, 1, 0 },
	};
	struct blm_bank *bank = bank_of_text(a_path(), "#FPS1\n#num_bits=8\nff\tx\n0f\ty\n00\tx\n");
	struct blm_filter *other;
	struct blm_bank_hit hit;
	uint64_t bits[8] = { 0xff }, row;
	const char *id;
	size_t count;

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		FAILS(blm_bank_similar(bank, bits, &wrong[i], &hit, 1), -EINVAL);
	ck_assert_int_eq(blm_bank_similar(bank, bits, &(struct blm_likeness){ "tversky", 1, 0, 0 },
					  NULL, 0),
			 0);
	FAILS(blm_bank_find(bank, "x", &row), -ENOTUNIQ);
	OK(blm_bank_find(bank, "y", &row));
	ck_assert_int_lt(blm_bank_text(bank, 3, &id, &count, NULL), 0);
	ck_assert_int_lt(blm_bank_read(bank, 3, bits), 0);
	OK(blm_create(&other, NULL, NULL, &BLM_PARAMS(.kind = "bitmap", .cells = 4000)));
	FAILS(blm_bank_read_filter(bank, other, bits), -EMEDIUMTYPE);
	blm_close(other);
	blm_bank_close(bank);
	FAILS(blm_bank_open(&bank, a_path()), -ENOENT);
	ck_assert_ptr_null(blm_bank_cancel(NULL));
	ck_assert_ptr_null(blm_bank_close(NULL));
}
END_TEST

int main(void)
{
	Suite *s;
	TCase *tc = tcase_create("bank");

	prefer_memory();
	s = begin_suite("bank");
	tcase_add_loop_test(tc, a_bank_answers_each_key_as_each_of_its_filters, 0,
			    ARRAY_LEN(sorts));
	tcase_add_test(tc, a_bank_answers_each_range_as_each_of_its_filters);
	tcase_add_test(tc, an_operation_impossible_for_range_banks_is_refused);
	tcase_add_test(tc, damage_to_a_bank_of_ranges_is_found_without_harm);
	tcase_add_test(tc, a_much_shorter_row_of_a_bank_answers_right);
	tcase_add_loop_test(tc, which_of_10000_filters_reads_a_fiftieth_of_the_lines, 0, 2);
	tcase_add_loop_test(tc, ranking_equals_a_full_scan_and_looks_at_fewer_fingerprints, 0, 5);
	tcase_add_test(tc, every_query_of_the_vectors_has_its_ten_best_matches);
	tcase_add_loop_test(tc, a_fingerprint_in_a_bank_equals_its_imported_bitmap, 0,
			    2);
	tcase_add_loop_test(tc, a_set_of_fingerprints_is_exported_unchanged, 0, 2);
	tcase_add_test(tc, an_unsuitable_filter_is_refused_and_the_bank_stays_unchanged);
	tcase_add_test(tc, damage_is_found_and_causes_no_harm);
	tcase_add_test(tc, an_inconsistent_bank_is_found_although_its_checksums_are_right);
	tcase_add_loop_test(tc, a_forged_bank_causes_no_harm, 0, 1 + ARRAY_LEN(sorts));
	tcase_add_test(tc, inconsistent_numbers_are_refused_although_their_checksums_are_right);
	tcase_add_test(tc, another_files_beginning_differs_from_a_truncated_bank);
	tcase_add_test(tc, no_file_is_as_large_as_that);
	tcase_add_test(tc, a_bank_refuses_a_filter_with_a_secret);
	tcase_add_test(tc,
		       an_invalid_set_of_fingerprints_adds_nothing_to_the_bank);
	tcase_add_test(tc, complete_lines_of_a_long_header_are_kept);
	tcase_add_test(tc,
		       the_fingerprint_receivers_error_is_returned_at_every_step);
	tcase_add_test(tc, questions_that_make_no_sense_are_refused);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
