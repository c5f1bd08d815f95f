/*
 * bip158.c - Bitcoin's block filters: every file of them comes in, answers, and goes out as the
 * same bytes
 */
#include "handle/handle.h"
#include "format/format.h"
#include "kind/golomb.h"
#include "vectors.h"

#include <limits.h>

enum { ITEM = 1 << 14 };

/* ---- Files and filters ---- */

static void seeds_of(const uint8_t key[16], uint64_t ret[2])
{
	memcpy(ret, key, 16);
	ret[0] = le64toh(ret[0]);
	ret[1] = le64toh(ret[1]);
}

static int import(struct blm_filter **ret, const uint8_t key[16], const void *bytes, size_t count)
{
	uint64_t seeds[2];

	seeds_of(key, seeds);
	return blm_import_bytes(ret, NULL, NULL,
				&BLM_EXCHANGE(.format = "bip158", .seeds = seeds, .seed_count = 2),
				bytes, count);
}

static struct blm_build *begin(const uint8_t key[16])
{
	struct blm_params p = BLM_PARAMS(.kind = "golomb", .hash = "siphash64",
					 .options = "modulus=784931", .seed_count = 2);
	struct blm_build *b;
	uint64_t seeds[2];

	seeds_of(key, seeds);
	p.seeds = seeds;
	OK(blm_build_begin(&b, NULL, NULL, &p, NULL));
	return b;
}

static void goes_out_as(const struct blm_filter *f, const void *expected, size_t count)
{
	size_t len;
	void *bytes;

	OK(blm_export_bytes(f, &BLM_EXCHANGE(.format = "bip158"), &bytes, &len));
	ck_assert_uint_eq(len, count);
	ck_assert(!memcmp(bytes, expected, count));
	blm_free(bytes);
}

static const uint8_t some_key[16] = "a key of a block";

static struct blm_filter *built(uint64_t count)
{
	struct blm_build *b = begin(some_key);
	struct blm_filter *f;

	for (uint64_t i = 0; i < count; i++)
		OK(blm_build_add_fixed(b, &i, 8, 1));
	OK(blm_build_finish(b, &f));
	return f;
}

/* ---- Our own ---- */

START_TEST(an_exported_filter_is_imported_with_the_same_answers)
{
	static const uint64_t counts[] = { 0, 1, 2, 252, 253, 1000, 65535, 65536 };

	for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
		struct blm_filter *f = built(counts[c]), *back;
		struct blm_info info = BLM_INFO;
		void *bytes;
		size_t len;

		OK(blm_export_bytes(f, &BLM_EXCHANGE(.format = "bip158"), &bytes, &len));
		if (!counts[c])
			ck_assert(len == 1 && !*(uint8_t *)bytes);
		OK(import(&back, some_key, bytes, len));
		goes_out_as(back, bytes, len);
		OK(blm_info(back, &info));
		ck_assert_uint_eq(info.keys, counts[c]);
		ck_assert_str_eq(info.origin, "bip158");
		for (uint64_t i = 0; i < counts[c] + 100; i++)
			ck_assert_int_eq(blm_contains(f, &i, 8), blm_contains(back, &i, 8));
		ck_assert_int_eq(blm_same_template(f, back), 0);
		blm_free(bytes);
		blm_close(f), blm_close(back);
	}
}
END_TEST

START_TEST(another_file_is_refused)
{
	static const struct { const char *hex; int err;
	} bad[] = {
		/* bits for one number are missing */
		/* more behind it */
		/* ones without end; a number past the range */
		{ "01", -ENODATA },
		{ "0144", -ENODATA },
		{ "014468", -ENODATA },
		{ "014468b000", -EBADMSG },
		{ "014468b001", -EBADMSG },
		{ "014468b1", -EBADMSG },
		{ "0000", -EBADMSG },
		{ "fd0100", -EBADMSG },
		{ "fd", -EBADMSG },
		{ "fe01000000", -EBADMSG },
		{ "ff0000000001000000", -EBADMSG },
		{ "ffffffffffffffffff", -EBADMSG },
		{ "fdfd004468b0", -ENODATA },
		{ "01ffffffffffffff", -ENODATA },
		{ "01fffff00000", -EBADMSG },
	};
	struct blm_filter *f;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		uint8_t bytes[20];
		size_t count = from_hex(bad[i].hex, bytes, sizeof(bytes));
		int r = import(&f, some_key, bytes, count);

		ck_assert_msg(r == bad[i].err, "%s: %d (%s)", bad[i].hex, r,
			      r < 0 ? blm_error_message() : "taken");
	}
	FAILS(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "bip158"), "\1\x44\x68\xb0",
			       4),
	      -EINVAL);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "block"));
}
END_TEST

/* Whatever the bytes: an answer or words, and if it is taken, the same bytes again. */
START_TEST(changed_bytes_are_refused_or_are_another_filter)
{
	struct blm_filter *f = built(50), *g;
	uint64_t state = 1;
	uint8_t *bytes;
	size_t len;

	OK(blm_export_bytes(f, &BLM_EXCHANGE(.format = "bip158"), (void **)&bytes, &len));
	for (int i = 0; i < 3000; i++) {
		size_t count = i % 3 ? len : next_random(&state) % len + 1,
		       at = next_random(&state) % count;
		uint8_t was = bytes[at];

		bytes[at] = (uint8_t)next_random(&state);
		if (import(&g, some_key, bytes, count) == 0) {
			goes_out_as(g, bytes, count);
			blm_close(g);
		}
		bytes[at] = was;
	}
	blm_free(bytes);
	blm_close(f);
}
END_TEST

START_TEST(a_filter_of_another_range_has_no_bip158_file)
{
	struct blm_params p = BLM_PARAMS(.kind = "golomb", .hash = "siphash64");
	struct blm_filter *f;
	struct blm_build *b;
	size_t len;
	void *bytes;

	OK(blm_build_begin(&b, NULL, NULL, &p, NULL));
	OK(blm_build_finish(b, &f));
	FAILS(blm_export_bytes(f, &BLM_EXCHANGE(.format = "bip158"), &bytes, &len), -EOPNOTSUPP);
	blm_close(f);
	p.hash = "xxh3";
	OK(blm_build_begin(&b, NULL, NULL, &p, NULL));
	OK(blm_build_finish(b, &f));
	FAILS(blm_export_bytes(f, &BLM_EXCHANGE(.format = "bip158"), &bytes, &len), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "siphash64"));
	blm_close(f);
}
END_TEST

/* The first words of its data: how many numbers and blocks it has, and what they are coded by. */
START_TEST(a_filter_with_inconsistent_data_has_no_bip158_file)
{
	static const struct {
		size_t at;
		uint64_t word;
	} damage[] = { { 0, UINT64_C(1) << 40 }, { 0, 51 }, { 8, 0 }, { 16, 0 } };

	for (size_t i = 0; i < ARRAY_LEN(damage); i++) {
		struct blm_filter *f = built(50);
		size_t len;
		void *bytes;

		memcpy(current_view(f)->root.bytes + damage[i].at,
		       &(uint64_t){ htole64(damage[i].word) }, 8);
		FAILS(blm_export_bytes(f, &BLM_EXCHANGE(.format = "bip158"), &bytes, &len),
		      -EUCLEAN);
		blm_close(f);
	}
}
END_TEST

/* ---- Written by the format's own function ---- */

/* Counts what is written, and after some of that fails, or damages the filter that is written. */
struct watched {
	struct blm_writer writer;
	int works, calls;
	uint64_t *damage, word;
};

static int write_watched(struct blm_writer *writer, const void *bytes, size_t count)
{
	struct watched *w = (struct watched *)writer;

	w->calls++;
	if (w->works-- > 0)
		return 0;
	if (!w->damage)
		return -ENOSPC;
	*w->damage = htole64(w->word);
	return 0;
}

static int write_to(struct watched *w, const struct blm_part *part)
{
	struct blm_outline *o = calloc(1, sizeof(*o));
	int r;

	w->writer.write = write_watched;
	r = blm_format_by_name("bip158")->write(o, part, &w->writer, "a filter");
	free(o);
	return r;
}

/* In pieces of 4 KiB, which end in the middle of codes, in any part of them. */
START_TEST(a_refused_piece_is_the_last_that_is_written)
{
	struct blm_filter *f = built(65536);
	const struct blm_part *part = &current_view(f)->root;
	struct watched all = { .works = INT_MAX };

	ck_assert_int_eq(write_to(&all, part), 0);
	ck_assert_int_gt(all.calls, 40);
	for (int i = 0; i < all.calls; i++) {
		struct watched w = { .works = i };

		ck_assert_int_eq(write_to(&w, part), -ENOSPC);
		ck_assert_int_eq(w.calls, i + 1);
	}
	blm_close(f);
}
END_TEST

START_TEST(damage_found_during_an_export_is_reported_as_damage)
{
	static const struct { size_t at; uint64_t word; const char *words;
	} damage[] = {
		{ 8, 1, "a filter: has fewer numbers than its header says" },
		{ 16, 0, "are damaged" },
	};

	for (size_t i = 0; i < ARRAY_LEN(damage); i++) {
		struct blm_filter *f = built(10000);
		const struct blm_part *part = &current_view(f)->root;
		struct watched w = { .works = 2,
				     .damage = (uint64_t *)(void *)(part->bytes + damage[i].at),
				     .word = damage[i].word };

		FAILS(write_to(&w, part), -EUCLEAN);
		ck_assert_msg(strstr(blm_error_message(), damage[i].words) != NULL, "%s",
			      blm_error_message());
		ck_assert_int_eq(w.calls, 3);
		blm_close(f);
	}
}
END_TEST

START_TEST(a_filter_with_wrong_numbers_is_refused_at_once)
{
	struct blm_filter *f = built(50), *classic;
	struct blm_part *part = &current_view(f)->root, more = *part;
	struct watched w = { .works = INT_MAX };

	OK(blm_create(&classic, NULL, NULL, &BLM_PARAMS(.kind = "classic", .capacity = 100)));
	FAILS(write_to(&w, &current_view(classic)->root), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(
		strstr(blm_error_message(), "a filter: BIP 158 has only golomb filters"));
	memcpy(part->bytes, &(uint64_t){ htole64(51) }, 8);
	FAILS(write_to(&w, part), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(
		strstr(blm_error_message(), "this one has 51 keys and a range of 39246550"));
	more.shape.cells = 51 * UINT64_C(784931);
	FAILS(write_to(&w, &more), -EUCLEAN);
	ck_assert_ptr_nonnull(
		strstr(blm_error_message(), "a filter: has 50 numbers and says that it has 51"));
	memset(part->bytes + 16, 0, 8);
	FAILS(write_to(&w, &more), -EUCLEAN);
	ck_assert_ptr_nonnull(
		strstr(blm_error_message(), "a filter: the data of a golomb filter are damaged"));
	ck_assert_int_eq(w.calls, 0);
	blm_close(f), blm_close(classic);
}
END_TEST

/* ---- Those of others, from a folder ---- */

static char *read_file(const char *name)
{
	char path[700], *text;

	snprintf(path, sizeof(path), "%s/%s", VECTORS, name);
	text = file_of(path, NULL);
	ck_assert_msg(text != NULL, "%s", path);
	return text;
}

static size_t hex_field(const char *from, const char *end, const char *name, uint8_t *ret,
			size_t capacity)
{
	const char *value = field(from, end, name);

	ck_assert_msg(value != NULL, "%s", name);
	return from_hex(value, ret, capacity);
}

/* The strings of a list, in hexadecimal; each is given to do(). Return: how many. */
static size_t each_item(const char *from, const char *end, const char *name,
			void (*what)(void *context, const uint8_t *item, size_t len), void *context)
{
	char quoted[64];
	static uint8_t item[ITEM];
	const char *at, *close;
	size_t count = 0;

	snprintf(quoted, sizeof(quoted), "\"%s\"", name);
	at = strstr(from, quoted);
	ck_assert(at && (!end || at < end));
	at = strchr(at, '[');
	close = strchr(at, ']');
	while ((at = strchr(at, '"')) && at < close) {
		size_t len = strcspn(++at, "\"");

		ck_assert_uint_lt(len / 2, ITEM);
		what(context, item, from_hex(at, item, ITEM));
		at += len + 1;
		count++;
	}
	return count;
}

static void give(void *b, const uint8_t *item, size_t len)
{
	OK(blm_build_add_many(b, &(struct blm_key){ item, len }, 1));
}

static void is_there(void *f, const uint8_t *item, size_t len)
{
	ck_assert(blm_contains(f, item, len));
}

static void is_not(void *f, const uint8_t *item, size_t len)
{
	ck_assert(!blm_contains(f, item, len));
}

static uint8_t *file_bytes;

START_TEST(bitcoins_block_filters_are_built_byte_for_byte)
{
	char *text = read_file("bip158/testnet.json");
	size_t cases = 0, capacity = strlen(text);
	const char *at = text;

	file_bytes = malloc(capacity);
	while ((at = strstr(at, "\"key_hex\""))) {
		const char *end = strstr(at + 1, "\"key_hex\"");
		struct blm_filter *f;
		struct blm_build *b;
		uint8_t key[16];
		size_t count;

		ck_assert_uint_eq(hex_field(at, end ? end : at + capacity, "key_hex", key, 16), 16);
		count = hex_field(at, end ? end : text + capacity, "filter_hex", file_bytes,
				  capacity);
		OK(import(&f, key, file_bytes, count));
		goes_out_as(f, file_bytes, count);
		each_item(at, end, "items_hex", is_there, f);
		each_item(at, end, "lacks_hex", is_not, f);
		blm_close(f);
		b = begin(key);
		each_item(at, end, "items_hex", give, b);
		OK(blm_build_finish(b, &f));
		goes_out_as(f, file_bytes, count);
		blm_close(f);
		at++;
		cases++;
	}
	ck_assert_uint_ge(cases, 6);
	free(file_bytes);
	free(text);
}
END_TEST

/* The keys of a case's file, one a line, empty ones left out. */
static size_t each_line(const char *file, size_t most,
			void (*what)(void *context, const uint8_t *item, size_t len), void *context)
{
	char *text = read_file(file);
	bool hex = strstr(file, ".hex") != NULL;
	size_t count = 0;

	for (char *at = text; *at && count < most; at += strcspn(at, "\n") + 1) {
		size_t len = strcspn(at, "\n");
		static uint8_t item[ITEM];

		if (!len)
			continue;
		if (hex)
			len = from_hex(at, item, ITEM);
		what(context, hex ? item : (uint8_t *)at, len);
		count++;
		if (!at[strcspn(at, "\n")])
			break;
	}
	free(text);
	return count;
}

struct asked {
	const struct blm_filter *f;
	uint64_t yes;
};

static void ask(void *context, const uint8_t *item, size_t len)
{
	struct asked *a = context;

	a->yes += blm_contains(a->f, item, len);
}

START_TEST(another_programs_filters_answer_alike_and_are_built_alike)
{
	char *text = read_file("bip158/generated.json");
	size_t cases = 0, capacity = strlen(text);
	const char *at = text;

	file_bytes = malloc(capacity);
	while ((at = strstr(at, "\"keys\""))) {
		const char *end = strstr(at + 1, "\"keys\"");
		char keys[64], probes[64];
		struct asked asked = { 0 };
		struct blm_filter *f;
		struct blm_build *b;
		uint8_t key[16];
		size_t count;

		end = end ? end : text + capacity;
		hex_field(at, end, "key_hex", key, 16);
		count = hex_field(at, end, "filter_hex", file_bytes, capacity);
		text_field(at, end, "keys", keys, sizeof(keys));
		text_field(at, end, "probes", probes, sizeof(probes));
		OK(import(&f, key, file_bytes, count));
		goes_out_as(f, file_bytes, count);
		asked.f = f;
		each_line(probes, SIZE_MAX, ask, &asked);
		ck_assert_uint_eq(asked.yes, number(at, end, "probe_true"));
		blm_close(f);
		b = begin(key);
		each_line(keys, number(at, end, "n_insert"), give, b);
		OK(blm_build_finish(b, &f));
		goes_out_as(f, file_bytes, count);
		each_line(keys, number(at, end, "n_insert"), is_there, f);
		blm_close(f);
		at++;
		cases++;
	}
	ck_assert_uint_ge(cases, 5);
	free(file_bytes);
	free(text);
}
END_TEST

START_TEST(siphash_of_64_bits_gives_its_authors_answers)
{
	char *text = read_file("bip158/siphash24.json"),
	     *at = strchr(strstr(text, "values_hex_u64"), '[');
	uint8_t key[16], input[16];
	uint64_t seeds[2];
	struct blm_hasher by = { .family = blm_family_by_name("siphash64"),
				 .seeds = seeds,
				 .seed_count = 2 };

	for (int i = 0; i < 16; i++)
		key[i] = input[i] = (uint8_t)i;
	seeds_of(key, seeds);
	for (size_t i = 0; i < 16; i++) {
		struct blm_hash h;

		at = strchr(at, '"') + 1;
		by.family->hash(&by, &(struct blm_key){ input, i }, &h);
		ck_assert_uint_eq(h.hi, strtoull(at, NULL, 16));
		ck_assert_uint_eq(h.lo, h.hi);
		at = strchr(at, '"') + 1;
	}
	free(text);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("bip158");
	TCase *tc = tcase_create("bip158");

	tcase_add_test(tc, an_exported_filter_is_imported_with_the_same_answers);
	tcase_add_test(tc, another_file_is_refused);
	tcase_add_test(tc, changed_bytes_are_refused_or_are_another_filter);
	tcase_add_test(tc, a_filter_of_another_range_has_no_bip158_file);
	tcase_add_test(tc, a_filter_with_inconsistent_data_has_no_bip158_file);
	tcase_add_test(tc, a_refused_piece_is_the_last_that_is_written);
	tcase_add_test(tc, damage_found_during_an_export_is_reported_as_damage);
	tcase_add_test(tc, a_filter_with_wrong_numbers_is_refused_at_once);
	if (*VECTORS) {
		tcase_add_test(
			tc,
			bitcoins_block_filters_are_built_byte_for_byte);
		tcase_add_test(tc,
			       another_programs_filters_answer_alike_and_are_built_alike);
		tcase_add_test(tc, siphash_of_64_bits_gives_its_authors_answers);
	}
	suite_add_tcase(s, tc);
	return run_suite(s);
}
