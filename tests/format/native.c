/*
 * native.c - our own filters as files and text to be sent: what goes in comes out, and what was
 * tampered with does not
 */
#include "handle/handle.h"
#include "format/format.h"
#include "vectors.h"

#include <signal.h>
#include <sys/stat.h>

enum { N = 3000 };

static const uint8_t secret[BLM_SECRET_BYTES] = "sixteen bytes..";

static int hash_count(void)
{
	struct blm_hash_info hash;
	int count = 0;

	while (blm_hash_list((size_t)count, &hash) == 0)
		count++;
	return count;
}

/* Every kind with every hash that it takes. */
static bool make_sort(int sort, const char *path, struct blm_filter **ret)
{
	struct blm_hash_info hash;
	struct blm_kind_info kind;
	int hashes = hash_count();
	struct blm_params p = BLM_PARAMS(.capacity = N, .rate = 0.001);

	if (blm_kind_list((size_t)(sort / hashes), &kind) < 0)
		return false;
	OK(blm_hash_list((size_t)(sort % hashes), &hash));
	p.kind = kind.name;
	p.hash = hash.name;
	p.secret = hash.keyed ? secret : NULL;
	p.tweak = strstr(hash.name, "bip37") ? 5 : 0;
	*ret = NULL;
	/* kind/built.c has those; numbers in digits; no such hash */
	if (!(kind.can & (BLM_CAN_ADD | BLM_CAN_PUT)) || (kind.can & BLM_EXACT)
	    || blm_plan(&(struct blm_plan){ 0 }, &p) == -EOPNOTSUPP)
		return true;
	OK(blm_create(ret, NULL, path, &p));
	return true;
}

static int sorts(void)
{
	struct blm_hash_info hash;
	struct blm_kind_info kind;
	int hashes = 0, kinds = 0;

	while (blm_hash_list((size_t)hashes, &hash) == 0)
		hashes++;
	while (blm_kind_list((size_t)kinds, &kind) == 0)
		kinds++;
	return hashes * kinds;
}

static void write_file(const char *path, const void *bytes, size_t count)
{
	FILE *to = fopen(path, "we");

	ck_assert(to && fwrite(bytes, 1, count, to) == count && fclose(to) == 0);
}

/* A key, or where the kind holds values a key with one. */
static void give(struct blm_filter *f, const void *bytes, size_t len)
{
	OK(current_view(f)->root.kind->add ? blm_add(f, bytes, len) : blm_put(f, bytes, len, 1));
}

static void add(struct blm_filter *f, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		give(f, &i, sizeof(i));
}

static uint8_t *data_of(const struct blm_filter *f, size_t *ret_bytes)
{
	struct blm_info info = BLM_INFO;
	uint8_t *data;

	OK(blm_info(f, &info));
	data = malloc(*ret_bytes = (size_t)info.data_bytes);
	OK(blm_data_read(f, 0, data, *ret_bytes));
	return data;
}

static void equal(const struct blm_filter *a, const struct blm_filter *b)
{
	struct blm_info x = BLM_INFO, y = BLM_INFO;
	size_t x_bytes, y_bytes;
	uint8_t *x_data = data_of(a, &x_bytes), *y_data = data_of(b, &y_bytes);

	OK(blm_info(a, &x));
	OK(blm_info(b, &y));
	OK(blm_same_template(a, b));
	ck_assert_mem_eq(x.template_id, y.template_id, 16);
	ck_assert_uint_eq(x_bytes, y_bytes);
	ck_assert(!memcmp(x_data, y_data, x_bytes));
	ck_assert_uint_eq(x.capacity, y.capacity);
	ck_assert_double_eq(x.rate, y.rate);
	ck_assert_uint_eq(x.keys, y.keys);
	ck_assert_int_eq(x.keys_estimated, y.keys_estimated);
	free(x_data), free(y_data);
}

static void there_and_back(const struct blm_filter *f, bool base64, const char *to)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = "bloomery", .base64 = base64,
					       .max_bytes = 1 << 30);
	struct blm_filter *g = NULL;
	void *text = NULL, *again = NULL;
	size_t bytes = 0, bytes_again = 0;
	struct blm_info info = BLM_INFO;

	OK(blm_export_bytes(f, &how, &text, &bytes));
	OK(blm_export_bytes(f, &how, &again, &bytes_again));
	ck_assert(bytes == bytes_again && !memcmp(text, again, bytes));
	OK(blm_info(f, &info));
	how.format = NULL;
	if (info.keyed) {
		FAILS(blm_import_bytes(&g, NULL, to, &how, text, bytes), -ENOKEY);
		how.secret = (const uint8_t *)"another secret..";
		FAILS(blm_import_bytes(&g, NULL, to, &how, text, bytes), -ENOKEY);
		how.secret = secret;
	}
	OK(blm_import_bytes(&g, NULL, to, &how, text, bytes));
	equal(f, g);
	for (uint32_t i = 0; i < N; i++)
		ck_assert_int_eq(blm_contains(f, &i, sizeof(i)), blm_contains(g, &i, sizeof(i)));
	give(g, "new", 3);
	ck_assert(blm_contains(g, "new", 3));
	blm_close(g);
	if (to)
		ck_assert_int_eq(blm_verify(NULL, to, 0, NULL, NULL), 0);
	blm_free(text), blm_free(again);
}

/*
 * With a share of the work the test tries every fifth or thirteenth sort. So that each hash has its
 * turn, this must not divide the number of hashes.
 */
static int one_in(void)
{
	return test_scale() == 1 ? 1 : SANITIZED ? 13 : 5;
}

START_TEST(every_kind_with_every_hash_survives_export_and_import)
{
	struct blm_filter *f, *both = NULL;
	struct blm_info info = BLM_INFO;

	ck_assert(one_in() == 1 || hash_count() % one_in() != 0);
	ck_assert(make_sort(_i * one_in(), _i % 2 ? NULL : a_path(), &f));
	if (!f)
		return;
	there_and_back(f, _i % 2, a_path());		/* empty */
	add(f, 0, N);
	for (int base64 = 0; base64 < 2; base64++) {
		there_and_back(f, base64, NULL);
		there_and_back(f, base64, a_path());
	}
	OK(blm_info(f, &info));
	if (info.can & BLM_CAN_UNION) {
		OK(blm_combine(&both, NULL, NULL, BLM_UNION, (const struct blm_filter *[]){ f, f },
			       2, 0, NULL));
		/* its count is an estimate, and stays one */
		there_and_back(both, true, a_path());
		blm_close(both);
	}
	blm_close(f);
}
END_TEST

START_TEST(large_and_sparse_filters_are_exported_and_imported)
{
	struct blm_params p =
		BLM_PARAMS(.kind = _i & 1 ? "classic" : "blocked", .hash = "xxh3", .probes = 5,
			   .cells = _i & 2 ? UINT64_C(1) << (test_scale() < 1 ? 29 : 30) : 40 << 20,
			   .sparse = _i & 2);
	struct blm_filter *f = NULL, *g = NULL;
	const char *text = a_path(), *to = a_path();
	struct stat st;

	OK(blm_create(&f, NULL, a_path(), &p));
	add(f, 0, _i & 2 ? 20 : (uint32_t)(2000000 * test_scale()));
	OK(blm_export_file(f, &BLM_EXCHANGE(.base64 = true), text));
	OK(blm_import_file(&g, NULL, to, &BLM_EXCHANGE(.base64 = true), text));
	equal(f, g);
	ck_assert_int_eq(stat(to, &st), 0);
	if (_i & 2)
		ck_assert_uint_lt((uint64_t)st.st_blocks * 512, p.cells / 16);
	blm_close(f), blm_close(g);
}
END_TEST

START_TEST(an_exported_plain_file_can_be_opened_as_filter)
{
	struct blm_filter *f = NULL, *g = NULL;
	const char *path = a_path();
	struct blm_info info = BLM_INFO;

	OK(blm_create(&f, NULL, NULL, &BLM_PARAMS(.capacity = N)));
	add(f, 0, N);
	OK(blm_export_file(f, &BLM_EXCHANGE(.mode = 0600), path));
	FAILS(blm_export_file(f, NULL, path), -EEXIST);
	OK(blm_export_file(f, &BLM_EXCHANGE(.replace = true), path));
	OK(blm_open(&g, NULL, path, BLM_OPEN_WRITE));
	equal(f, g);
	OK(blm_info(g, &info));
	ck_assert_str_eq(info.format, "bloomery");
	ck_assert(!info.foreign && !info.keys_estimated);
	ck_assert_uint_eq(info.keys, blm_counted_keys(current_view(f)));
	give(g, "more", 4);
	blm_close(g);
	ck_assert_int_eq(blm_verify(NULL, path, 0, NULL, NULL), 0);
	blm_close(f);
}
END_TEST

struct left {
	const uint8_t *bytes;
	size_t count;
};

static int64_t give_some(void *context, void *buffer, size_t bytes)
{
	struct left *left = context;

	bytes = bytes < left->count ? bytes : left->count;
	memcpy(buffer, left->bytes, bytes);
	*left = (struct left){ left->bytes + bytes, left->count - bytes };
	return (int64_t)bytes;
}

/*
 * As a file, in memory, from a function, which does not say how many bytes follow. Bytes behind the
 * only part of a cuckoo filter's own file belong to the filter; bytes behind a scalable one are the
 * next part as a killed writer left it.
 */
START_TEST(only_space_for_an_absent_part_may_follow_a_file)
{
	static const char *const kinds[] = { "scalable", "blocked", "cuckoo", "cuckoo" };
	static const uint8_t more[4096];

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const bool raw = i == 3;
		struct blm_filter *f, *g;
		const char *path = a_path();
		char *changed = strdup(a_path());
		size_t bytes;
		uint8_t *file;

		OK(blm_create(&f, NULL, raw ? path : NULL,
			      &BLM_PARAMS(.kind = kinds[i], .capacity = N)));
		add(f, 0, 100);
		if (raw) {
			OK(blm_sync(f));
			file = (uint8_t *)file_of(path, &bytes);
		} else {
			OK(blm_export_bytes(f, NULL, (void **)&file, &bytes));
		}
		/* nothing; zeros; junk; junk behind zeros; as many bytes fewer */
		for (int what = 0; what < 5; what++) {
			size_t count = what == 0 ? bytes
				     : what == 4 ? bytes - sizeof(more)
						 : bytes + sizeof(more);
			uint8_t *all = calloc(1, count);
			struct left left = { all, count };
			int r, in_file, streamed;

			memcpy(all, file, count < bytes ? count : bytes);
			if (what > 1 && what < 4)
				all[what == 2 ? bytes : count - 1] = 'B';
			write_file(changed, all, count);
			r = blm_import_bytes(&g, NULL, NULL, NULL, all, count);
			if (r == 0) {
				equal(f, g);
				blm_close(g);
			}
			in_file = blm_import_file(&g, NULL, NULL, NULL, changed);
			if (in_file == 0)
				blm_close(g);
			streamed = blm_import(&g, NULL, NULL, NULL, give_some, &left);
			if (streamed == 0)
				blm_close(g);
			ck_assert_int_eq(r, in_file);
			ck_assert_int_eq(r, streamed);
			ck_assert_msg(r
					      == (what < (i == 0 ? 4 : 2) ? 0
						  : what < 4		  ? -EBADMSG
									  : -ENODATA),
				      "%s, %d: %d, %s", kinds[i], what, r, blm_error_message());
			ck_assert_msg(r == 0
					      || strstr(blm_error_message(),
							what < 4 ? "more bytes than" : "truncated"),
				      "%s", blm_error_message());
			free(all);
		}
		blm_close(f);
		free(changed);
		free(file);
	}
}
END_TEST

START_TEST(a_stores_filter_is_exported_without_name_and_labels)
{
	struct blm_filter *f = NULL, *g = NULL;
	struct blm_store *store = NULL;
	void *bytes = NULL;
	struct blm_info info = BLM_INFO;
	size_t count = 0;

	OK(blm_store_open(&store, a_path(), BLM_STORE_CREATE));
	OK(blm_create(&f, store, "confidential", &BLM_PARAMS(.capacity = N)));
	OK(blm_store_label(store, "confidential", "customer", "Somebody"));
	OK(blm_export_bytes(f, NULL, &bytes, &count));
	ck_assert_ptr_null(memmem(bytes, count, "confidential", 12));
	ck_assert_ptr_null(memmem(bytes, count, "Somebody", 8));
	OK(blm_import_bytes(&g, store, "again", NULL, bytes, count));
	OK(blm_info(g, &info));
	ck_assert_str_eq(info.name, "again");
	ck_assert_str_eq(info.labels, "");
	equal(f, g);
	blm_free(bytes);
	blm_close(f), blm_close(g);
	blm_store_close(store);
}
END_TEST

/* ---- Tampered with ---- */

static void must_not_crash(const void *bytes, size_t count, unsigned *ret_taken)
{
	struct blm_filter *f = NULL;
	int r = blm_import_bytes(&f, NULL, NULL,
				 &BLM_EXCHANGE(.max_bytes = 1 << 24, .secret = secret), bytes,
				 count);

	if (r < 0)
		ck_assert_msg(*blm_error_message() != '\0', "%d", r);
	else
		blm_contains(f, "key", 3);
	*ret_taken += r == 0;
	blm_close(f);
}

START_TEST(a_wrong_bit_in_the_header_is_found_or_meaningless)
{
	struct blm_filter *f;
	uint8_t *bytes = NULL;
	size_t count = 0, constant = sizeof(struct blm_constant);
	unsigned taken = 0, ignored = 0;

	ck_assert(make_sort(0, NULL, &f));
	OK(blm_export_bytes(f, NULL, (void **)&bytes, &count));
	must_not_crash(bytes, count, &taken);
	ck_assert_uint_eq(taken, 1);
	for (size_t bit = 0; bit < constant * 8; bit += test_scale() == 1 ? 1 : 17) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		must_not_crash(bytes, count, &ignored);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	ck_assert_uint_eq(ignored, 0);			/* the checksum covers all of it */
	for (size_t bit = constant * 8; bit < BLM_HEADER_BYTES * 8; bit += 37) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		must_not_crash(bytes, count, &ignored);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	blm_free(bytes);
	blm_close(f);
}
END_TEST

/* Fields that a liar sets, with checksums that are right. */
START_TEST(parts_that_cannot_be_are_refused_whatever_their_checksums_say)
{
	static const uint64_t odd[] = { 0,
					1,
					63,
					4096,
					16384,
					UINT64_C(1) << 24,
					UINT64_C(1) << 40,
					INT64_MAX,
					UINT64_MAX - 63,
					UINT64_MAX };
	struct blm_header *h, *good;
	struct blm_filter *f;
	size_t count = 0;
	unsigned taken = 0;

	ck_assert(make_sort(0, NULL, &f));
	OK(blm_export_bytes(f, NULL, (void **)&h, &count));
	good = malloc(sizeof(*good));
	*good = *h;
	for (size_t i = 0; i < ARRAY_LEN(odd); i++)
		for (int which = 0; which < 10; which++) {
			uint64_t x = htole64(odd[i]);

			*h = *good;
			switch (which) {
			case 0: h->part[0].offset = x; break;
			case 1: h->part[0].bytes = x; break;
			case 2: h->part[0].cells = x; break;
			case 3: h->part[0].probes = (uint32_t)x; break;
			case 4: h->live.parts.word = x; break;
			case 5:
				h->part[1] = h->part[0], h->part[1].offset = x,
				h->live.parts.word = htole64(2);
				break;
			case 6: h->constant.template.cells = x; break;
			case 7: h->part[0].cell_bits = (uint32_t)x; break;
			case 9: h->part[0].kind = (uint32_t)x; break;
			case 8: h->part[0].kind = h->constant.template.kind = (uint32_t)x; break;
			}
			if (!memcmp(h, good, sizeof(*h))
			    || (odd[i] == 1 && (which == 4 || which >= 8)))
				continue;
			blm_template_id(&h->constant.template, h->constant.template_id);
			h->constant.check = blm_check_constant(&h->constant);
			for (unsigned p = 0; p < 2; p++)
				h->part[p].check = blm_check_part(&h->part[p], p, h->constant.uuid);
			taken = 0;
			must_not_crash(h, count, &taken);
			ck_assert_msg(!taken || which == 0, "%d: %llx", which,
				      (unsigned long long)odd[i]);
		}
	free(good);
	blm_free(h);
	blm_close(f);
}
END_TEST

static int append(void *context, const void *bytes, size_t count)
{
	struct { uint8_t *bytes; size_t count; } *all = context;

	all->bytes = realloc(all->bytes, all->count + count);
	memcpy(all->bytes + all->count, bytes, count);
	all->count += count;
	return 0;
}

START_TEST(a_filter_is_exported_in_its_own_format_by_default)
{
	struct { uint8_t *bytes; size_t count; } all = { NULL, 0 };
	const char *path = a_path();
	struct blm_filter *f, *g;
	void *bytes;
	size_t count;
	FILE *out = fopen(path, "we");

	fputs("text", out);
	fclose(out);
	ck_assert(make_sort(0, NULL, &f));
	add(f, 0, N);
	OK(blm_export(f, NULL, append, &all));
	OK(blm_export_bytes(f, NULL, &bytes, &count));
	ck_assert_uint_eq(all.count, count);
	OK(blm_export_file(f, NULL, path));
	OK(blm_open_foreign(&g, path, NULL));		/* which is not foreign at all */
	OK(blm_same_template(f, g));
	blm_close(g);
	FAILS(blm_export_file(f, NULL, path), -EEXIST);
	blm_free(bytes);
	free(all.bytes);
	blm_close(f);
}
END_TEST

START_TEST(text_is_recognised_by_its_look_and_beginning)
{
	struct blm_exchange text = BLM_EXCHANGE(.base64 = true);
	struct blm_filter *f, *g = NULL;
	char *bytes, *broken;
	size_t count;

	ck_assert(make_sort(0, NULL, &f));
	add(f, 0, N);
	OK(blm_export_bytes(f, &text, (void **)&bytes, &count));
	broken = malloc(count + 2);
	memcpy(broken, bytes, 64);
	memcpy(broken + 64, "\r\n", 2);
	memcpy(broken + 66, bytes + 64, count - 64);
	OK(blm_import_bytes(&g, NULL, NULL, &text, broken, count + 2));
	OK(blm_same_template(f, g));
	blm_close(g);
	/* says that it looks like text */
	FAILS(blm_import_bytes(&g, NULL, NULL, NULL, broken, count + 2), -EBADMSG);
	ck_assert_msg(strstr(blm_error_message(), "base64"), "%s", blm_error_message());
	/* nearly zlib's */
	FAILS(blm_import_bytes(&g, NULL, NULL, &text, "eAA=", 4), -EBADMSG);
	FAILS(blm_import_bytes(&g, NULL, NULL, &text, "eA==", 4), -EBADMSG);
	free(broken);
	blm_free(bytes);
	blm_close(f);
}
END_TEST

START_TEST(a_foreign_file_is_opened_by_the_named_format)
{
	struct blm_exchange as = BLM_EXCHANGE(.format = "pybloomfiltermmap", .hash = "mm3-64");
	struct blm_filter *f, *g = NULL;
	const char *path = a_path();

	OK(blm_create(&f, NULL, NULL,
		      &BLM_PARAMS(.capacity = 600, .rate = 0.001, .hash = "mm3-64",
				  .kind = "classic")));
	add_numbers(f, 0, 100);
	OK(blm_export_file(f, &as, path));
	OK(blm_open_foreign(&g, path, &as));
	ck_assert_uint_eq(numbers_found(g, 0, 100), 100);
	blm_close(g);
	FAILS(blm_open_foreign(&g, path, &BLM_EXCHANGE(.format = "none")), -ENOENT);
	FAILS(blm_open_foreign(&g, NULL, &as), -EINVAL);
	FAILS(blm_open(&g, NULL, path, BLM_OPEN_WRITE), -EOPNOTSUPP);
	ck_assert_int_eq(truncate(path, 100), 0);
	FAILS(blm_open_foreign(&g, path, &as), -ENODATA);
	blm_close(f);
}
END_TEST

START_TEST(parts_out_of_order_and_truncated_headers_are_refused)
{
	struct blm_exchange native = BLM_EXCHANGE(.format = "bloomery");
	struct blm_header *h;
	struct blm_filter *f, *g = NULL;
	size_t count = 0;

	ck_assert(make_sort(0, NULL, &f));
	OK(blm_export_bytes(f, NULL, (void **)&h, &count));
	FAILS(blm_import_bytes(&g, NULL, NULL, &native, h, BLM_HEADER_BYTES - 1), -ENODATA);
	h->part[1] = h->part[0];
	h->part[0].offset = htole64(le64toh(h->part[0].offset) + (UINT64_C(1) << 30));
	h->live.parts.word = htole64(2);
	for (unsigned p = 0; p < 2; p++)
		h->part[p].check = blm_check_part(&h->part[p], p, h->constant.uuid);
	FAILS(blm_import_bytes(&g, NULL, NULL, &native, h, count), -EBADMSG);
	ck_assert_msg(strstr(blm_error_message(), "part 1 is before part 0"), "%s",
		      blm_error_message());
	blm_free(h);
	blm_close(f);
}
END_TEST

START_TEST(truncated_or_damaged_text_is_refused)
{
	struct blm_filter *f;
	unsigned taken = 0;
	size_t count = 0;
	char *text = NULL;

	ck_assert(make_sort(0, NULL, &f));
	add(f, 0, N);
	OK(blm_export_bytes(f, &BLM_EXCHANGE(.base64 = true), (void **)&text, &count));
	for (size_t i = 0; i < count; i += 1 + count / 300) {
		struct blm_exchange how = BLM_EXCHANGE(.base64 = true);
		struct blm_filter *g = NULL;
		char was = text[i];

		ck_assert_int_lt(blm_import_bytes(&g, NULL, NULL, &how, text, i), 0);
		text[i] = was == 'A' ? 'B' : 'A';
		if (i + 4 < count)
			taken += blm_import_bytes(&g, NULL, NULL, &how, text, count) == 0;
		blm_close(g);
		text[i] = was;
	}
	ck_assert_uint_eq(taken, 0);			/* zstd's own checksum */
	blm_free(text);
	blm_close(f);
}
END_TEST

/* ---- Of a later version ---- */

enum { KIND_OF_FILTER, KIND_OF_PART, KIND_OF_BOTH, HASH, RULE, ORDER, LATER };

/* What this program has no name for, in a header whose checksums are right. */
static void make_later(struct blm_header *h, int what, uint32_t number)
{
	uint32_t parts = (uint32_t)le64toh(h->live.parts.word);

	number = htole32(number);
	if (what == KIND_OF_FILTER || what == KIND_OF_BOTH)
		h->constant.template.kind = number;
	for (uint32_t i = 0; i < parts && (what == KIND_OF_PART || what == KIND_OF_BOTH); i++)
		h->part[i].kind = number;
	if (what == HASH)
		h->constant.template.family = number;
	if (what == RULE)
		h->constant.template.index_rule = number;
	if (what == ORDER)
		h->constant.template.bit_order = number;
	blm_template_id(&h->constant.template, h->constant.template_id);
	h->constant.check = blm_check_constant(&h->constant);
	for (uint32_t i = 0; i < parts; i++)
		h->part[i].check = blm_check_part(&h->part[i], i, h->constant.uuid);
}

static void is_told(int r, const char *doing, int what)
{
	ck_assert_msg(r < 0, "%s, %d: %d", doing, what, r);
	ck_assert_msg(strstr(blm_error_message(), "does not know")
			      || strstr(blm_error_message(), "disagree"),
		      "%s, %d: %s", doing, what, blm_error_message());
}

static void found_it(void *context, const struct blm_finding *found)
{
	*(bool *)context |= strstr(found->what, "does not know") || strstr(found->what, "disagree");
}

static int fill_nothing(struct blm_filter *fresh, void *context)
{
	return 0;
}

static void try_file(const char *path, struct blm_filter *like, int what)
{
	struct blm_params more = BLM_PARAMS(.capacity = 100, .rate = 0.1);
	struct blm_filter *f = NULL;
	struct blm_bank *bank;
	bool found = false;

	is_told(blm_open(&f, NULL, path, 0), "open", what);
	is_told(blm_open(&f, NULL, path, BLM_OPEN_WRITE), "open to change", what);
	is_told(blm_open_foreign(&f, path, NULL), "its new file cannot be opened", what);
	is_told(blm_import_file(&f, NULL, NULL, NULL, path), "import", what);
	is_told(blm_import_file(&f, NULL, "imported", NULL, path), "import", what);
	is_told(blm_rebuild(NULL, path, &more, fill_nothing, NULL), "rebuild", what);
	ck_assert_int_lt(blm_store_publish(NULL, path, like, 0, 0), 0);
	ck_assert_int_lt(blm_bank_open(&bank, path), 0);
	ck_assert_int_ne(blm_verify(NULL, path, BLM_VERIFY_REPAIR, found_it, &found), 0);
	ck_assert(found);
}

/* In a store, under a name that the catalog knows, and without the catalog. */
static void try_store(const void *bytes, size_t count, int what)
{
	struct blm_params params = BLM_PARAMS(.capacity = 100, .rate = 0.1);
	struct blm_store *store;
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;
	bool found = false;
	char path[80];

	OK(blm_store_open(&store, "later-store", BLM_STORE_CREATE));
	OK(blm_create(&f, store, "seen", &params));
	OK(blm_info(f, &info));
	blm_close(f);
	write_file(info.path, bytes, count);
	ck_assert_int_lt(blm_open(&f, store, "seen", BLM_OPEN_WRITE), 0);
	ck_assert(*blm_error_message());
	blm_store_close(store);
	strcpy(path, "later-store/filters/00112233-4455-4677-8899-aabbccddeeff.blm");
	write_file(path, bytes, count);
	ck_assert_int_ne(blm_store_verify("later-store", 0, found_it, &found), 0);
	ck_assert_msg(found, "%d", what);
	ck_assert_int_ne(blm_store_verify("later-store", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	ck_assert_int_eq(unlink("later-store/catalog/data.mdb"), 0);
	ck_assert_int_ne(blm_store_verify("later-store", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	/*
	 * Both stay for the later version; without a catalog one of them may get the name that its
	 * header says.
	 */
	write_file("sent", bytes, count);
	OK(system("n=0; for f in later-store/filters/*.blm; do cmp -s $f sent && n=$((n + 1)); "
		  "done; test $n = 2"));
	ck_assert_int_eq(system("rm -r later-store"), 0);
}

static void try_kind(struct blm_filter *f, int kind)
{
	static const uint32_t numbers[] = { 99, 1000000, UINT32_MAX };
	struct blm_header *h;
	size_t count;

	for (int what = KIND_OF_FILTER; what < LATER; what++)
		for (size_t n = 0; n < ARRAY_LEN(numbers); n += test_scale() < 1 ? 2 : 1) {
			OK(blm_export_bytes(f, NULL, (void **)&h, &count));
			make_later(h, what, numbers[n]);
			write_file("later.blm", h, count);
			try_file("later.blm", f, what);
			if (n == 0 && kind % 4 == what % 4)
				try_store(h, count, what);
			blm_free(h);
		}
}

START_TEST(a_feature_of_a_later_version_is_an_error)
{
	struct blm_hash_info hash;
	int hashes = 0, all = sorts();

	ck_assert_int_eq(chdir(test_dir), 0);
	while (blm_hash_list((size_t)hashes, &hash) == 0)
		hashes++;
	for (int kind = 0; kind < all / hashes; kind++) {
		struct blm_filter *f = NULL;

		for (int i = 0; !f && i < hashes; i++)
			make_sort(kind * hashes + i, NULL, &f);
		if (f)
			try_kind(f, kind);
		blm_close(f);
	}
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("native");
	TCase *tc = tcase_create("native");

	tcase_add_loop_test(
		tc, every_kind_with_every_hash_survives_export_and_import, 0,
		(sorts() - 1) / one_in() + 1);
	tcase_add_loop_test(tc, large_and_sparse_filters_are_exported_and_imported, 0, 4);
	tcase_add_test(tc, an_exported_plain_file_can_be_opened_as_filter);
	tcase_add_test(tc,
		       only_space_for_an_absent_part_may_follow_a_file);
	tcase_add_test(tc, a_stores_filter_is_exported_without_name_and_labels);
	tcase_add_test(tc, a_wrong_bit_in_the_header_is_found_or_meaningless);
	tcase_add_test(tc, parts_that_cannot_be_are_refused_whatever_their_checksums_say);
	tcase_add_test(tc, a_filter_is_exported_in_its_own_format_by_default);
	tcase_add_test(tc, text_is_recognised_by_its_look_and_beginning);
	tcase_add_test(tc, a_foreign_file_is_opened_by_the_named_format);
	tcase_add_test(tc, parts_out_of_order_and_truncated_headers_are_refused);
	tcase_add_test(tc, truncated_or_damaged_text_is_refused);
	tcase_add_test(tc, a_feature_of_a_later_version_is_an_error);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
