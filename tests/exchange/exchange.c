/*
 * exchange.c - the files of pybloomfiltermmap: imported, exported, opened directly; which of them
 * are refused, and with how much memory
 *
 * exchange/ has filters that every version of pybloomfiltermmap made, with their answers: lists in
 * JSON, NAME.bloom as the file was left on disk, NAME.b64 its text form, NAME.tsv keys and answers;
 * bad/ has files that are broken, one way each. If meson's option `vectors` names a folder, its
 * pybloomfiltermmap/ has more files of this kind, and some that are too large to be here.
 */
#include "handle/handle.h"
#include "format/format.h"
#include "vectors.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sodium.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

static const char *const folders[] = { EXCHANGE, VECTORS "/pybloomfiltermmap" };
enum { FOLDERS = sizeof(VECTORS) > 1 ? 2 : 1 };

static const struct blm_exchange in_base64 = BLM_EXCHANGE(.base64 = true);

/* ---- Cases ---- */

struct vector {
	char name[32], hash[32];
	const char *json, *end;		/* its text in the list */
	char at[600];			/* FOLDER/NAME */
	uint8_t *file;			/* NAME.bloom, or what NAME.b64 holds */
	size_t bytes;
	char *text;			/* NAME.b64 */
	size_t chars;
	char *rows;			/* NAME.tsv, or rows made of a list of keys */
};

/* One layer of the text form, without the library: base64, then zlib. */
static uint8_t *unwrap(const void *text, size_t chars, size_t *ret_bytes)
{
	size_t packed_bytes, capacity = 1 << 16;
	uint8_t *packed = malloc(chars), *bytes = NULL;
	int r;

	ck_assert_int_eq(sodium_base642bin(packed, chars, text, chars, " \r\n", &packed_bytes, NULL,
					   sodium_base64_VARIANT_ORIGINAL),
			 0);
	do {
		uLongf n = capacity *= 2;

		bytes = realloc(bytes, capacity);
		r = uncompress(bytes, &n, packed, packed_bytes);
		*ret_bytes = n;
	} while (r == Z_BUF_ERROR);
	ck_assert_int_eq(r, Z_OK);
	free(packed);
	return bytes;
}

static uint8_t *unpacked(const void *text, size_t chars, size_t *ret_bytes)
{
	size_t bytes;
	uint8_t *inner = unwrap(text, chars, &bytes), *file = unwrap(inner, bytes, ret_bytes);

	free(inner);
	return file;
}

static void sha256_is(const uint8_t hash[32], const char *hex, const char *name)
{
	uint8_t expected[32];

	ck_assert_uint_eq(from_hex(hex, expected, 32), 32);
	ck_assert_msg(!memcmp(hash, expected, 32), "%s", name);
}

/* Rows of a list of words. */
static void add_rows(FILE *to, const struct vector *v, const char *list, const char *end_of_row)
{
	const char *word = field(v->json, v->end, list);

	while (word && *word != ']') {
		size_t len = strcspn(word, "\"");

		fputs("s\t", to);
		for (size_t i = 0; i < len; i++)
			fprintf(to, "%02x", (uint8_t)word[i]);
		fputs(end_of_row, to);
		word += len + 1;
		word += strspn(word, "\", \n");
	}
}

static char *rows_of_lists(const struct vector *v)
{
	char *rows;
	size_t bytes;
	FILE *to = open_memstream(&rows, &bytes);

	add_rows(to, v, "members", "\tadd\t0\t1\n");
	add_rows(to, v, "non_members", "\tprobe\t0\t0\n");
	fclose(to);
	ck_assert_uint_gt(bytes, 0);
	return rows;
}

static uint8_t *part_of(const struct vector *v, const char *what, size_t *ret_bytes)
{
	char path[700];

	snprintf(path, sizeof(path), "%s%s", v->at, what);
	return (uint8_t *)file_of(path, ret_bytes);
}

static void load(struct vector *v)
{
	uint8_t hash[32];

	v->text = (char *)part_of(v, ".b64", &v->chars);
	ck_assert_msg(v->text != NULL, "%s", v->name);
	v->file = part_of(v, ".bloom", &v->bytes);
	v->rows = (char *)part_of(v, ".tsv", NULL);
	if (!v->rows)
		v->rows = rows_of_lists(v);
	if (v->file)
		return;
	v->file = unpacked(v->text, v->chars, &v->bytes);
	crypto_hash_sha256(hash, v->file, v->bytes);
	sha256_is(hash, field(v->json, v->end, "sha256"), v->name);
}

/* For all cases of a folder; returns how many. */
static unsigned each_case(const char *folder, void (*body)(const struct vector *v))
{
	static const char *const lists[] = { "manifest.json", "legacy.json" }, *const under[] = {
		"", "legacy/"
	};
	unsigned count = 0;

	for (int i = 0; i < 2; i++) {
		struct vector v = { 0 };
		char path[700], *json;
		const char *at;

		snprintf(path, sizeof(path), "%s/%s", folder, lists[i]);
		at = json = file_of(path, NULL);
		ck_assert_msg(json != NULL, "%s", path);
		while ((v.json = next_case(&at, v.name))) {
			v.end = at;
			text_field(v.json, v.end, "hash_era", v.hash, sizeof(v.hash));
			snprintf(v.at, sizeof(v.at), "%.500s/%s%s", folder, under[i], v.name);
			load(&v);
			body(&v);
			count++;
			free(v.text), free(v.file), free(v.rows);
		}
		free(json);
	}
	return count;
}

static bool is_pair(const struct vector *v)
{
	return field(v->json, v->end, "infoB") != NULL;
}

/* Every answer, false positives included; integers had a hash of their own in the days of djb. */
static void answers_are(const struct blm_filter *f, const struct blm_filter *of_integers,
			const struct vector *v, int which)
{
	const char *at = v->rows;
	struct row row;
	unsigned n = 0;

	for (; next_row(&at, &row); n++) {
		const struct blm_filter *asked = row.integer && !strcmp(v->hash, "djb")
						       ? of_integers
						       : f;

		if (asked)
			ck_assert_msg(blm_contains(asked, row.key, row.len) == row.in[which],
				      "%s: row %u", v->name, n);
	}
	ck_assert_uint_gt(n, 2);
}

static void terms_are(const struct blm_filter *f, const struct vector *v)
{
	uint64_t seeds[BLM_SEEDS_MAX];
	uint32_t count = numbers_of(v->json, v->end,
				    field(v->json, v->end, "hash_seeds") ? "hash_seeds" : "seeds",
				    seeds, BLM_SEEDS_MAX);
	struct blm_info info = BLM_INFO;

	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.cells, number(v->json, v->end, "num_bits"));
	ck_assert_uint_eq(info.probes, number(v->json, v->end, "num_hashes"));
	ck_assert_uint_eq(info.capacity, number(v->json, v->end, "capacity"));
	ck_assert_double_eq(info.rate, strtod(field(v->json, v->end, "error_rate"), NULL));
	ck_assert_uint_eq(info.seed_count, count);
	ck_assert_mem_eq(info.seeds, seeds, count * sizeof(*seeds));
	ck_assert_str_eq(info.hash, v->hash);
	ck_assert_str_eq(info.kind, "classic");
	ck_assert_str_eq(info.foreign ? info.format : info.origin, "pybloomfiltermmap");
}

/* ---- Out ---- */

static void same_bytes(const void *a, size_t a_bytes, const void *b, size_t b_bytes,
		       const char *name)
{
	ck_assert_msg(a_bytes == b_bytes && !memcmp(a, b, a_bytes), "%s: other bytes", name);
}

static void exports_as(const struct blm_filter *f, const void *file, size_t bytes, const char *name)
{
	size_t n = 0, chars = 0;
	void *out = NULL, *text = NULL;
	uint8_t *again;

	OK(blm_export_bytes(f, NULL, &out, &n));
	same_bytes(out, n, file, bytes, name);
	blm_free(out);
	OK(blm_export_bytes(f, &in_base64, &text, &chars));
	again = unpacked(text, chars, &n);
	same_bytes(again, n, file, bytes, name);
	free(again);
	blm_free(text);
}

static void exports_to_a_file_as(const struct blm_filter *f, const void *file, size_t bytes,
				 const char *name)
{
	const char *path = a_path();
	size_t n = 0, chars = 0;
	char *out, *text;
	uint8_t *again;

	OK(blm_export_file(f, NULL, path));
	out = file_of(path, &n);
	same_bytes(out, n, file, bytes, name);
	free(out);
	OK(blm_export_file(f, &in_base64, path));
	text = file_of(path, &chars);
	again = unpacked(text, chars, &n);
	same_bytes(again, n, file, bytes, name);
	free(again);
	free(text);
	ck_assert_int_eq(unlink(path), 0);
}

/* ---- In ---- */

struct chunks {
	const uint8_t *at;
	size_t left, most;
};

static int64_t next_chunk(void *context, void *buffer, size_t bytes)
{
	struct chunks *c = context;
	size_t n = c->left < c->most ? c->left : c->most;

	n = n < bytes ? n : bytes;
	memcpy(buffer, c->at, n);
	c->at += n;
	c->left -= n;
	return (int64_t)n;
}

static const struct way { bool base64, file; size_t chunk;
} ways[] = {
	{ false, false, 0 },	{ true, false, 0 },    { false, true, 0 }, { true, true, 0 },
	{ false, false, 1 },	{ false, false, 7 },   { true, false, 1 }, { true, false, 7 },
	{ false, false, 4099 }, { true, false, 4099 },
};

static struct blm_filter *import_by(const struct way *way, const struct vector *v, const char *hash,
				    struct blm_store *store, const char *name)
{
	const struct blm_exchange how = BLM_EXCHANGE(.base64 = way->base64, .hash = hash);
	const void *bytes = way->base64 ? (const void *)v->text : v->file;
	size_t count = way->base64 ? v->chars : v->bytes;
	struct blm_filter *f = NULL;

	if (way->file) {
		char path[600];
		FILE *out;

		snprintf(path, sizeof(path), "%s", a_path());
		out = fopen(path, "we");
		ck_assert(out && fwrite(bytes, 1, count, out) == count && fclose(out) == 0);
		OK(blm_import_file(&f, store, name, &how, path));
		unlink(path);
	} else if (way->chunk) {
		OK(blm_import(&f, store, name, &how, next_chunk,
			      &(struct chunks){ bytes, count, way->chunk }));
	} else {
		OK(blm_import_bytes(&f, store, name, &how, bytes, count));
	}
	return f;
}

static struct blm_filter *import_bytes(const void *bytes, size_t count, const char *hash)
{
	struct blm_filter *f = NULL;

	OK(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.hash = hash), bytes, count));
	return f;
}

/* One of numbers, opened by its hash's name; for files of djb's days. */
static struct blm_filter *of_integers(const struct vector *v)
{
	return strcmp(v->hash, "djb") ? NULL : import_bytes(v->file, v->bytes, "djb_int");
}

static struct blm_store *a_store(void)
{
	struct blm_store *store = NULL;

	OK(blm_store_open(&store, a_path(), BLM_STORE_CREATE));
	return store;
}

static void import_every_way(const struct vector *v)
{
	struct blm_filter *integers = of_integers(v);
	struct blm_store *store = a_store();

	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		char path[600];

		bool small_pieces = ways[i].chunk && ways[i].chunk < 4096;

		if (small_pieces && v->bytes > 1 << 20 && !ways[i].base64)
			continue;
		if (small_pieces && v->bytes > 1 << 16 && test_scale() < 1)
			continue;
		snprintf(path, sizeof(path), "%s", a_path());
		/* into memory, into a file, into a store */
		for (int to = 0; to < (i < 4 ? 3 : 1); to++) {
			struct blm_filter *f = import_by(&ways[i], v, v->hash,
							 to == 2 ? store : NULL,
							 to == 2   ? "n"
							 : to == 1 ? path
								   : NULL);

			terms_are(f, v);
			answers_are(f, integers, v, 0);
			/* with a share of the work: bytes in memory, text in a file */
			if (i < 2 && (test_scale() < 1 ? to == (int)i : to != 2)) {
				exports_as(f, v->file, v->bytes, v->name);
			} else {
				size_t n = 0;
				void *out = NULL;

				OK(blm_export_bytes(f, NULL, &out, &n));
				same_bytes(out, n, v->file, v->bytes, v->name);
				blm_free(out);
			}
			if (i == 0 && (to == 0 || test_scale() == 1))
				exports_to_a_file_as(f, v->file, v->bytes, v->name);
			blm_close(f);
			if (to == 2)
				OK(blm_store_drop(store, "n"));
		}
		unlink(path);
	}
	blm_store_close(store);
	blm_close(integers);
}

START_TEST(a_file_of_pybloomfiltermmap_is_exported_to_the_same_bytes)
{
	ck_assert_uint_ge(each_case(folders[_i], import_every_way), 12);
}
END_TEST

/* ---- As it is ---- */

static void put_file(const char *path, const void *bytes, size_t count)
{
	FILE *out = fopen(path, "we");

	ck_assert(out && fwrite(bytes, 1, count, out) == count && fclose(out) == 0);
}

static const struct blm_filter *in_child;

static int export_in_child(void *context)
{
	const struct vector *v = context;
	void *out = NULL;
	size_t n = 0;

	MUST(blm_export_bytes(in_child, NULL, &out, &n) == 0);
	MUST(n == v->bytes && !memcmp(out, v->file, n));
	blm_free(out);
	return 0;
}

static void open_as_it_is(const struct vector *v)
{
	struct blm_filter *f = NULL, *g = NULL, *integers = of_integers(v), *copy = NULL;
	struct blm_info info = BLM_INFO;
	struct stat before, after;
	char path[600], *now;
	uint64_t keys;
	bool estimated;
	size_t n = 0;
	int r;

	snprintf(path, sizeof(path), "%s", a_path());
	put_file(path, v->file, v->bytes);
	ck_assert_int_eq(stat(path, &before), 0);
	OK(blm_open_foreign(&f, path, &BLM_EXCHANGE(.hash = v->hash)));
	OK(blm_info(f, &info));
	ck_assert(info.foreign);
	terms_are(f, v);
	answers_are(f, integers, v, 0);
	exports_as(f, v->file, v->bytes, v->name);
	exports_to_a_file_as(f, v->file, v->bytes, v->name);
	FAILS(blm_add(f, "x", 1), -EBADF);
	FAILS(blm_sync(f), -EBADF);
	FAILS(blm_clear(f), -EBADF);
	FAILS(blm_count(f, &keys, NULL), -EDOM);
	OK(blm_count(f, &keys, &estimated));
	ck_assert(estimated);
	OK(blm_copy(&copy, NULL, NULL, f, 0));
	answers_are(copy, integers, v, 0);
	exports_as(copy, v->file, v->bytes, v->name);
	OK(blm_same_template(f, copy));

	in_child = f;
	ck_assert_int_eq(join(spawn(export_in_child, (void *)(uintptr_t)v)), 0);

	r = blm_open(&g, NULL, path, 0);
	ck_assert_msg(r == 0 || r == -ENOTUNIQ, "%s: %d, %s", v->name, r, blm_error_message());
	if (r == 0) {
		answers_are(g, integers, v, 0);
		exports_as(g, v->file, v->bytes, v->name);
	} else {
		ck_assert_ptr_nonnull(strstr(blm_error_message(), v->hash));
	}
	blm_close(g);
	FAILS(blm_open(&g, NULL, path, BLM_OPEN_WRITE), -EOPNOTSUPP);
	if (integers) {
		OK(blm_open_foreign(&g, path, &BLM_EXCHANGE(.hash = "djb-int")));
		answers_are(f, g, v, 0);
		blm_close(g);
	}
	blm_close(f), blm_close(copy), blm_close(integers);
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert_mem_eq(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
	now = file_of(path, &n);
	same_bytes(now, n, v->file, v->bytes, v->name);
	free(now);
	unlink(path);
}

START_TEST(a_pybloomfiltermmap_file_opens_with_its_answers_and_stays_untouched)
{
	ck_assert_uint_ge(each_case(folders[_i], open_as_it_is), 12);
}
END_TEST

/* ---- Pairs ---- */

static void exports_as_file(const struct blm_filter *f, const struct vector *v, const char *what)
{
	size_t bytes;
	uint8_t *file = part_of(v, what, &bytes);

	ck_assert_msg(file != NULL, "%s%s", v->name, what);
	exports_as(f, file, bytes, what);
	exports_to_a_file_as(f, file, bytes, what);
	free(file);
}

/* NAME.or.b64 is of the same file. */
static void text_is_of_file(const struct vector *v, const char *what_text, const char *what)
{
	size_t bytes, chars, n = 0;
	uint8_t *file = part_of(v, what, &bytes), *text = part_of(v, what_text, &chars);
	struct blm_filter *f = NULL;
	void *out = NULL;

	ck_assert(file && text);
	OK(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.base64 = true, .hash = v->hash), text,
			    chars));
	OK(blm_export_bytes(f, NULL, &out, &n));
	same_bytes(out, n, file, bytes, what_text);
	blm_close(f);
	blm_free(out);
	free(file), free(text);
}

/* b: in memory, in a file, and as it is. */
static void combine_pair(const struct vector *v, const struct blm_filter *a,
			 const struct blm_filter *b)
{
	static const char *const results[] = { ".or.bloom", ".and.bloom" };

	for (enum blm_op op = BLM_UNION; op <= BLM_INTERSECT; op++)
		for (int to = 0; to < 2; to++) {
			struct blm_filter *f = NULL;

			OK(blm_combine(&f, NULL, to ? a_path() : NULL, op,
				       (const struct blm_filter *[]){ a, b }, 2, 0, NULL));
			answers_are(f, NULL, v, op == BLM_UNION ? 2 : 3);
			exports_as_file(f, v, results[op]);
			blm_close(f);
			OK(blm_copy(&f, NULL, to ? a_path() : NULL, a, 0));
			OK(blm_combine_into(f, op, &b, 1, 0, NULL));
			answers_are(f, NULL, v, op == BLM_UNION ? 2 : 3);
			exports_as_file(f, v, results[op]);
			blm_close(f);
		}
}

static void refill(const struct vector *v, const struct blm_filter *a)
{
	struct blm_filter *f = NULL;
	const char *at = v->rows;
	struct row row;

	OK(blm_template(&f, NULL, NULL, a, 0));
	while (next_row(&at, &row))
		if (!strncmp(row.role, "addB", 4))
			ck_assert_msg(blm_add(f, row.key, row.len) == !row.was_there, "%s",
				      v->name);
	answers_are(f, NULL, v, 1);
	exports_as_file(f, v, ".B.bloom");
	blm_close(f);
}

static unsigned pairs;

static void prove_pair(const struct vector *v)
{
	struct blm_filter *a, *b[3] = { NULL };
	char path[600];
	uint8_t *file;
	size_t bytes;

	if (!is_pair(v))
		return;
	pairs++;
	file = part_of(v, ".B.bloom", &bytes);
	ck_assert_ptr_nonnull(file);
	snprintf(path, sizeof(path), "%s", a_path());
	put_file(path, file, bytes);
	a = import_bytes(v->file, v->bytes, v->hash);
	b[0] = import_bytes(file, bytes, v->hash);
	OK(blm_import_bytes(&b[1], NULL, a_path(), &BLM_EXCHANGE(.hash = v->hash), file, bytes));
	OK(blm_open_foreign(&b[2], path, &BLM_EXCHANGE(.hash = v->hash)));
	for (int i = 0; i < 3; i++) {
		answers_are(b[i], NULL, v, 1);
		combine_pair(v, a, b[i]);
		blm_close(b[i]);
	}
	refill(v, a);
	text_is_of_file(v, ".or.b64", ".or.bloom");
	text_is_of_file(v, ".and.b64", ".and.bloom");
	blm_close(a);
	free(file);
}

START_TEST(imported_siblings_combine_to_the_bytes_of_pybloomfiltermmap)
{
	pairs = 0;
	each_case(folders[_i], prove_pair);
	ck_assert_uint_ge(pairs, 2);
}
END_TEST

/* ---- Which hash? ---- */

enum { KNOWN = 64 };

/* Keys that were added, or that are surely not there. */
static size_t some_keys(const struct vector *v, bool there, struct row *rows, struct blm_key *keys)
{
	const char *at = v->rows;
	size_t n = 0;

	while (n < KNOWN && next_row(&at, &rows[n]))
		if (!rows[n].integer
		    && (there ? !strncmp(rows[n].role, "add", 3) && rows[n].in[0]
			      : !rows[n].in[0])) {
			keys[n] = (struct blm_key){ rows[n].key, rows[n].len };
			n++;
		}
	return n;
}

static int import_as(const struct vector *v, const struct blm_exchange *how, char ret_hash[32])
{
	struct blm_filter *f = NULL, *g = NULL;
	struct blm_info info = BLM_INFO;
	char path[600];
	int r = blm_import_bytes(&f, NULL, NULL, how, v->file, v->bytes), in_place;

	snprintf(path, sizeof(path), "%s", a_path());
	put_file(path, v->file, v->bytes);
	in_place = blm_open_foreign(&g, path, how);
	ck_assert_int_eq(r, in_place);
	if (r == 0) {
		OK(blm_info(f, &info));
		snprintf(ret_hash, 32, "%s", info.hash);
		OK(blm_info(g, &info));
		ck_assert_str_eq(info.hash, ret_hash);
	}
	blm_close(f), blm_close(g);
	unlink(path);
	return r;
}

/* How many hashes the last failure names as possible. */
static unsigned named_as_possible(void)
{
	static const char *const all[] = { " djb (",	" md5 (",    " superfast (",
					   " sha512 (", " mm3_32 (", " mm3_64 (" };
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		n += strstr(blm_error_message(), all[i]) != NULL;
	return n;
}

static void find_hash(const struct vector *v)
{
	struct row *rows = malloc(2 * KNOWN * sizeof(*rows));
	struct blm_key keys[KNOWN], absent[KNOWN];
	size_t known = some_keys(v, true, rows, keys),
	       unknown = some_keys(v, false, rows + KNOWN, absent);
	char hash[32];
	int r = import_as(v, NULL, hash);

	if (r == 0)
		ck_assert_str_eq(hash, v->hash);
	else	/* md5, superfast and sha512 had one formula, mm3_32 and mm3_64 another */
		ck_assert_msg(r == -ENOTUNIQ && strstr(blm_error_message(), v->hash)
				      && named_as_possible()
						 == (strncmp(v->hash, "mm3", 3) ? 3 : 2),
			      "%s: %d, %s", v->name, r, blm_error_message());
	if (known) {
		r = import_as(v, &BLM_EXCHANGE(.known = keys, .known_count = 1), hash);
		/* nearly every bit is set, so every hash finds the key */
		if (r == -ENOTUNIQ && !strcmp(v->name, "p3-overfull"))
			r = import_as(v, &BLM_EXCHANGE(.known = keys, .known_count = known), hash);
		ck_assert_msg(r == 0 && !strcmp(hash, v->hash), "%s: %d, %s: %s", v->name, r, hash,
			      blm_error_message());
	}
	if (unknown)
		ck_assert_msg(import_as(v, &BLM_EXCHANGE(.known = absent, .known_count = unknown),
					hash)
				      == -ENOTUNIQ,
			      "%s", v->name);
	ck_assert_int_eq(import_as(v, &BLM_EXCHANGE(.hash = "xxh3"), hash), -EINVAL);
	ck_assert_int_eq(import_as(v, &BLM_EXCHANGE(.hash = "no such hash"), hash), -EINVAL);
	ck_assert_int_eq(import_as(v,
				   &BLM_EXCHANGE(.hash = strcmp(v->hash, "md5") ? "md5" : "mm3-64"),
				   hash),
			 0);
	ck_assert_str_eq(hash, strcmp(v->hash, "md5") ? "md5" : "mm3_64");
	ck_assert_int_eq(import_as(v, &BLM_EXCHANGE(.format = "no such format"), hash), -ENOENT);
	free(rows);
}

START_TEST(the_hash_is_found_or_requested_and_never_guessed_wrong)
{
	ck_assert_uint_ge(each_case(folders[_i], find_hash), 12);
}
END_TEST

START_TEST(a_known_key_selects_the_hash_if_numbers_fit_none)
{
	struct vector v = { .name = "p3-v0.6.0" };
	struct blm_key known;
	struct row row;
	const char *at;
	char hash[32];

	snprintf(v.at, sizeof(v.at), "%s/%s", EXCHANGE, v.name);
	load(&v);
	at = v.rows;
	ck_assert(next_row(&at, &row) && row.in[0]);
	v.file[21] ^= 0x55;		/* capacity */
	ck_assert_int_eq(import_as(&v, NULL, hash), -ENOTUNIQ);
	ck_assert_msg(named_as_possible() == 6, "%s", blm_error_message());
	known = (struct blm_key){ row.key, row.len };
	ck_assert_int_eq(import_as(&v, &BLM_EXCHANGE(.known = &known, .known_count = 1), hash), 0);
	ck_assert_str_eq(hash, "mm3_64");
	free(v.text), free(v.file), free(v.rows);
}
END_TEST

/* The next number of a sequence that is the same in every run (splitmix64). */
static uint64_t next_number(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* A filter of ours with a key in it, as a file of pybloomfiltermmap. */
static size_t exported(uint8_t **ret, const struct blm_params *params)
{
	const struct blm_exchange how = BLM_EXCHANGE(.format = "pybloomfiltermmap");
	struct blm_filter *f;
	void *bytes;
	size_t count;

	OK(blm_create(&f, NULL, NULL, params));
	OK(blm_add(f, "key", 3));
	OK(blm_export_bytes(f, &how, &bytes, &count));
	blm_close(f);
	*ret = bytes;
	return count;
}

/* 1: imported with its own hash; 0: refused with a list that has it. */
static int reads_back(const uint8_t *file, size_t bytes, const char *hash)
{
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;
	char listed[40];
	int r = blm_import_bytes(&f, NULL, NULL, NULL, file, bytes);

	if (r == -ENOTUNIQ) {
		snprintf(listed, sizeof(listed), " %s (", hash);
		ck_assert_msg(strstr(blm_error_message(), listed) && named_as_possible() > 1,
			      "%s: %s", hash, blm_error_message());
		return 0;
	}
	OK(r);
	OK(blm_info(f, &info));
	ck_assert_msg(!strcmp(info.hash, hash) && blm_contains(f, "key", 3) == 1,
		      "%s is read as %s", hash, info.hash);
	blm_close(f);
	OK(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.hash = hash, .strict = true), file,
			    bytes));
	blm_close(f);
	return 1;
}

START_TEST(no_export_of_ours_is_read_with_another_hash)
{
	static const char *const hashes[] = { "djb",	"djb_int", "md5",   "superfast",
					      "sha512", "mm3_32",  "mm3_64" };
	unsigned known[ARRAY_LEN(hashes)] = { 0 };
	uint64_t state = 14;

	for (unsigned i = 0; i < 2002; i++) {
		const char *hash = hashes[i % ARRAY_LEN(hashes)];
		struct blm_params params = BLM_PARAMS(.kind = "classic", .hash = hash);
		uint8_t *file;
		size_t bytes;

		params.capacity = 1 + next_number(&state) % (next_number(&state) & 1 ? 100 : 10000);
		params.rate = pow(10, -0.1 - (double)(next_number(&state) % 50000) / 10000);
		bytes = exported(&file, &params);
		known[i % ARRAY_LEN(hashes)] += reads_back(file, bytes, hash);
		blm_free(file);
	}
	for (size_t i = 0; i < ARRAY_LEN(hashes); i++)
		ck_assert_msg(known[i] >= 260, "%s: %u of 286 are read without a question",
			      hashes[i], known[i]);
}
END_TEST

/* Nothing in it says that its keys were numbers: who opens it does. */
START_TEST(a_file_of_numbers_is_written_as_it_was_read)
{
	struct blm_filter *f;
	size_t bytes, written;
	uint8_t *file = read_all(EXCHANGE "/ax-v0.1.5.bloom", &bytes);
	void *again;

	OK(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.hash = "djb_int"), file, bytes));
	OK(blm_export_bytes(f, NULL, &again, &written));
	ck_assert_uint_eq(written, bytes);
	ck_assert_int_eq(memcmp(again, file, bytes), 0);
	blm_free(again);
	free(file);
	blm_close(f);
}
END_TEST

START_TEST(a_file_names_its_hash_only_if_numbers_disagree)
{
	static const struct { struct blm_params params; bool named;
	} cases[] = {
		{ BLM_PARAMS(.kind = "classic", .hash = "mm3_64", .cells = 480, .probes = 3,
			     .capacity = 100, .rate = 0.1),
		  false },
		{ BLM_PARAMS(.kind = "classic", .hash = "mm3_32", .cells = 480, .probes = 3,
			     .capacity = 100, .rate = 0.1),
		  false },
		{ BLM_PARAMS(.kind = "classic", .hash = "djb", .cells = 487, .probes = 4,
			     .capacity = 100, .rate = 0.1),
		  false },
		{ BLM_PARAMS(.kind = "classic", .hash = "djb_int", .cells = 487, .probes = 4,
			     .capacity = 100, .rate = 0.1),
		  true },
		{ BLM_PARAMS(.kind = "classic", .hash = "djb", .cells = 491, .probes = 4,
			     .capacity = 100, .rate = 0.1),
		  true },
		{ BLM_PARAMS(.kind = "classic", .hash = "mm3_64", .cells = 487, .probes = 4,
			     .capacity = 100, .rate = 0.1),
		  true },
		{ BLM_PARAMS(.kind = "classic", .hash = "sha512", .cells = 480, .probes = 3,
			     .capacity = 100, .rate = 0.1),
		  true },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char name[40] = "bloomery";
		struct blm_filter *f;
		uint8_t *file;
		size_t bytes = exported(&file, &cases[i].params);

		strcat(name, cases[i].params.hash);
		ck_assert_msg((memcmp(file + 1093, name, strlen(name) + 1) == 0) == cases[i].named,
			      "case %zu", i);
		ck_assert_msg((file[1093] == 0) == !cases[i].named, "case %zu", i);
		memcpy(file + 1093, "bloomeryxxh3", 13);
		ck_assert_int_eq(blm_import_bytes(&f, NULL, NULL, NULL, file, bytes),
				 -EPROTONOSUPPORT);
		blm_free(file);
	}
}
END_TEST

/* ---- Broken files ---- */

/*
 * err 0: taken, since what is odd about it means nothing; else refused with a word that says where.
 */
static const struct { const char *file; int err; const char *word; } bad[] = {
	{ "empty.bloom", -ENODATA, "empty" },
	{ "magic-only.bloom", -ENODATA, "header" },
	{ "hdr-cut-16.bloom", -ENODATA, "header" },
	{ "hdr-cut-600.bloom", -ENODATA, "header" },
	{ "bad-magic.bloom", -EBADMSG, "format" },
	{ "short-by-1.bloom", -ENODATA, "truncated" },
	{ "short-by-2.bloom", -ENODATA, "truncated" },
	{ "trailing-bytes.bloom", 0, NULL },
	{ "hdrlen-0.bloom", -EBADMSG, "header_len" },
	{ "hdrlen-neg.bloom", -EBADMSG, "header_len" },
	{ "hdrlen-huge.bloom", -EBADMSG, "header_len" },
	{ "hdrlen-1199.bloom", -EBADMSG, "header_len" },
	{ "bits-0.bloom", -EBADMSG, "num_bits" },
	{ "bits-2e40.bloom", -ENODATA, "truncated" },
	{ "bits-max.bloom", -EBADMSG, "num_bits" },
	{ "bits-max8.bloom", -EBADMSG, "num_bits" },
	{ "k-0.bloom", -EBADMSG, "num_hashes" },
	{ "k-257.bloom", -EBADMSG, "num_hashes" },
	{ "k-huge.bloom", -EBADMSG, "num_hashes" },
	{ "k-neg.bloom", -EBADMSG, "num_hashes" },
	{ "err-nan.bloom", -EBADMSG, "error_rate" },
	{ "err-2.bloom", -EBADMSG, "error_rate" },
	{ "err-0.bloom", -EBADMSG, "error_rate" },
	{ "cap-0.bloom", 0, NULL },
	{ "cap-max.bloom", 0, NULL },
	{ "version-2.bloom", -EPROTONOSUPPORT, "bf_version" },
	{ "count-correct-0.bloom", 0, NULL },
	{ "elem-count-7.bloom", 0, NULL },
	{ "pointer-garbage.bloom", 0, NULL },
	{ "padding-garbage.bloom", 0, NULL },
	{ "reserved-garbage.bloom", 0, NULL },
	{ "seed-slots-garbage.bloom", 0, NULL },
	{ "gap-garbage.bloom", 0, NULL },
	{ "b64-ok.b64", 0, NULL },
	{ "b64-ok-newlines.b64", 0, NULL },
	{ "b64-ok-crlf-spaces.b64", 0, NULL },
	{ "b64-ok-inner-newlines.b64", 0, NULL },
	{ "b64-literal-backslash-n.b64", 0, NULL },	/* as it stands in source code */
	{ "b64-empty.b64", -ENODATA, "empty" },
	{ "b64-cut.b64", -EBADMSG, "zlib" },
	{ "b64-no-padding.b64", 0, NULL },		/* nothing is missing but that */
	{ "b64-flip.b64", -EBADMSG, "zlib" },
	{ "b64-one-layer.b64", -EBADMSG, "zlib" },
	{ "b64-one-layer-trail.b64", -EBADMSG, "MBITARRAY" },
	{ "b64-trailing-junk.b64", 0, NULL },
	{ "b64-inner-truncated.b64", -ENODATA, "truncated" },
	{ "b64-inner-extra.b64", 0, NULL },
	{ "b64-bomb.b64", -EBADMSG, "MBITARRAY" },
};

/* What those that are taken hold. */
static void holds_the_three_bits(const struct blm_filter *f, const char *name)
{
	uint8_t data[64], expected[64] = { 0 };
	struct blm_estimate e;
	struct blm_info info = BLM_INFO;

	from_hex("00000000020000001000004000000000", expected, 16);
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.data_bytes, 64);
	OK(blm_data_read(f, 0, data, sizeof(data)));
	ck_assert_msg(!memcmp(data, expected, sizeof(data)), "%s: other data", name);
	OK(blm_estimate(f, true, &e));
	ck_assert_msg(e.ones == 3, "%s: %d ones", name, (int)e.ones);
}

static void in_place_as_well(const char *path, int expected, const char *word, const char *name)
{
	struct blm_filter *f = NULL, *copy = NULL, *either = NULL;
	int r = blm_open_foreign(&f, path, &BLM_EXCHANGE(.hash = "mm3-64"));

	ck_assert_msg(r == expected || (expected == -ENODATA && r == -EBADMSG),
		      "%s: %d, not %d: %s", name, r, expected, blm_error_message());
	if (r < 0)
		return ck_assert_msg(*blm_error_message()
					     && (strcmp(word, "empty") == 0
						 || strstr(blm_error_message(), word)
						 || strstr(blm_error_message(), "begin")),
				     "%s: %s", name, blm_error_message());
	holds_the_three_bits(f, name);
	OK(blm_copy(&copy, NULL, a_path(), f, 0));
	holds_the_three_bits(copy, name);
	OK(blm_combine(&either, NULL, NULL, BLM_UNION, (const struct blm_filter *[]){ copy, f }, 2,
		       0, NULL));
	holds_the_three_bits(either, name);
	blm_close(f), blm_close(copy), blm_close(either);
}

START_TEST(each_broken_file_is_refused_with_its_place)
{
	char folder[600], path[700], to[700];

	snprintf(folder, sizeof(folder), "%s", a_path());
	ck_assert_int_eq(mkdir(folder, 0755), 0);
	snprintf(to, sizeof(to), "%s/new", folder);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const struct blm_exchange how = BLM_EXCHANGE(.base64 = strstr(bad[i].file, "b64")
								    != NULL,
							     .hash = "mm3_64");
		struct blm_filter *f = NULL;
		size_t bytes;
		char *all;
		int r;

		snprintf(path, sizeof(path), "%s/bad/%s", EXCHANGE, bad[i].file);
		all = file_of(path, &bytes);
		ck_assert_msg(all != NULL, "%s", path);
		for (int way = 0; way < 4; way++) {
			struct chunks chunks = { (uint8_t *)all, bytes, 5 };
			int expected = bad[i].err;

			r = way < 2 ? blm_import_bytes(&f, NULL, way ? to : NULL, &how, all, bytes)
			  : way < 3 ? blm_import_file(&f, NULL, to, &how, path)
			  : blm_import(&f, NULL, to, &how, next_chunk, &chunks);
			/* the length is unknown */
			if (way == 3 && !strcmp(bad[i].file, "bits-2e40.bloom"))
				expected = -EFBIG;
			ck_assert_msg(r == expected, "%s: %d, not %d: %s", bad[i].file, r, expected,
				      blm_error_message());
			if (r == 0) {
				holds_the_three_bits(f, bad[i].file);
				f = blm_close(f);
				ck_assert_int_eq(entries_of(folder), way > 0);
				unlink(to);
			} else {
				ck_assert_msg(strstr(blm_error_message(),
						     expected == -EFBIG ? "allowed" : bad[i].word),
					      "%s: %s", bad[i].file, blm_error_message());
			}
			ck_assert_int_eq(entries_of(folder), 0);
		}
		free(all);
		if (!how.base64)
			in_place_as_well(path, bad[i].err, bad[i].word, bad[i].file);
	}
}
END_TEST

/* ---- Behind the last bit ---- */

START_TEST(bits_after_the_last_cell_of_a_file_mean_nothing)
{
	/* 730 bits; 480 */
	static const char *const cases[] = { "p3-v0.6.0", "p3-fruit-100-10pct" };
	struct blm_filter *f[4] = { NULL };
	char path[700];
	size_t bytes = 0;
	uint8_t *file, data[2][128];
	struct blm_estimate e[4];
	struct blm_info info = BLM_INFO;

	snprintf(path, sizeof(path), "%s/%s.bloom", EXCHANGE, cases[_i]);
	file = (uint8_t *)file_of(path, &bytes);
	snprintf(path, sizeof(path), "%s", a_path());
	ck_assert_ptr_nonnull(file);
	f[0] = import_bytes(file, bytes, "mm3_64");
	file = realloc(file, bytes + 100);
	memset(file + bytes, 0xff, 100);
	if (_i == 0)
		file[bytes - 1] |= 0xfc;
	put_file(path, file, bytes + 100);
	OK(blm_import_file(&f[1], NULL, NULL, &BLM_EXCHANGE(.hash = "mm3_64"), path));
	OK(blm_open_foreign(&f[2], path, &BLM_EXCHANGE(.hash = "mm3_64")));
	OK(blm_copy(&f[3], NULL, a_path(), f[2], 0));
	OK(blm_info(f[0], &info));
	OK(blm_data_read(f[0], 0, data[0], info.data_bytes));
	for (int i = 0; i < 4; i++) {
		struct blm_filter *either = NULL;
		void *out = NULL;
		size_t n = 0;

		OK(blm_estimate(f[i], true, &e[i]));
		ck_assert_msg(e[i].ones == e[0].ones, "%d: %d ones, not %d", i, (int)e[i].ones,
			      (int)e[0].ones);
		OK(blm_data_read(f[i], 0, data[1], info.data_bytes));
		ck_assert_msg(!memcmp(data[0], data[1], info.data_bytes), "%d", i);
		OK(blm_combine(&either, NULL, NULL, BLM_UNION,
			       (const struct blm_filter *[]){ f[0], f[i] }, 2, 0, NULL));
		OK(blm_data_read(either, 0, data[1], info.data_bytes));
		ck_assert_msg(!memcmp(data[0], data[1], info.data_bytes), "union with %d", i);
		blm_close(either);
		OK(blm_export_bytes(f[i], NULL, &out, &n));
		ck_assert_uint_eq(n, bytes);
		blm_free(out);
	}
	for (int i = 0; i < 4; i++)
		blm_close(f[i]);
	free(file);
}
END_TEST

int main(void)
{
	Suite *s = (prefer_memory(), begin_suite("exchange"));
	TCase *tc = tcase_create("pybloomfiltermmap");

	tcase_add_loop_test(tc, a_file_of_pybloomfiltermmap_is_exported_to_the_same_bytes, 0,
			    FOLDERS);
	tcase_add_loop_test(
		tc, a_pybloomfiltermmap_file_opens_with_its_answers_and_stays_untouched,
		0, FOLDERS);
	tcase_add_loop_test(
		tc,
		imported_siblings_combine_to_the_bytes_of_pybloomfiltermmap, 0,
		FOLDERS);
	tcase_add_loop_test(tc, the_hash_is_found_or_requested_and_never_guessed_wrong, 0, FOLDERS);
	tcase_add_test(
		tc,
		a_known_key_selects_the_hash_if_numbers_fit_none);
	tcase_add_test(tc, no_export_of_ours_is_read_with_another_hash);
	tcase_add_test(tc, a_file_of_numbers_is_written_as_it_was_read);
	tcase_add_test(tc, a_file_names_its_hash_only_if_numbers_disagree);
	tcase_add_test(
		tc,
		each_broken_file_is_refused_with_its_place);
	tcase_add_loop_test(tc, bits_after_the_last_cell_of_a_file_mean_nothing, 0, 2);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
