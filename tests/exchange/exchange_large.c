/*
 * exchange_large.c - import and export of much: a million keys, more than 2^32 bits, limits of
 * space and memory, two writers
 *
 * The recipes of what pybloomfiltermmap3 made are in the folder that meson's option `vectors`
 * names, in pybloomfiltermmap/.
 */
#include "handle/handle.h"
#include "vectors.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#define RECIPES VECTORS "/pybloomfiltermmap/"

static const struct blm_exchange in_base64 = BLM_EXCHANGE(.base64 = true);

/* ---- SHA-256 ---- */

static void is_hash(crypto_hash_sha256_state *state, const char *from, const char *end,
		    const char *name)
{
	uint8_t hash[32], expected[32];

	crypto_hash_sha256_final(state, hash);
	ck_assert_uint_eq(from_hex(field(from, end, name), expected, 32), 32);
	ck_assert_msg(!memcmp(hash, expected, 32), "%s", name);
}

static int hash_more(void *state, const void *bytes, size_t count)
{
	return crypto_hash_sha256_update(state, bytes, count);
}

static void file_is(const struct blm_filter *f, const struct blm_exchange *how, const char *from,
		    const char *end)
{
	crypto_hash_sha256_state state;

	crypto_hash_sha256_init(&state);
	OK(blm_export(f, how, hash_more, &state));
	is_hash(&state, from, end, "sha256_file");
}

/* ---- Recipes ---- */

/* The n-th key of a format with one "%d". */
static struct blm_key key_of(const char *format, uint64_t n, char buffer[128])
{
	const char *place = strstr(format, "%d");
	int len = snprintf(buffer, 128, "%.*s%llu%.*s", (int)(place - format), format,
			   (unsigned long long)n, (int)strcspn(place + 2, "\""), place + 2);

	return (struct blm_key){ buffer, (size_t)len };
}

/* "i = 0..999999 in order" */
static uint64_t count_of(const char *from, const char *end, const char *name)
{
	return strtoull(strstr(field(from, end, name), "..") + 2, NULL, 10) + 1;
}

static struct blm_filter *make_recipe(const char *from, const char *end, bool sparse,
				      const char *path)
{
	uint64_t seeds[BLM_SEEDS_MAX];
	struct blm_params p =
		BLM_PARAMS(.kind = "classic", .hash = "mm3_64",
			   .capacity = number(from, end, "capacity"),
			   .rate = strtod(field(from, end, "error_rate"), NULL),
			   .cells = number(from, end, "num_bits"),
			   .seed_count = numbers_of(from, end, "seeds", seeds, BLM_SEEDS_MAX),
			   .seeds = seeds, .sparse = sparse, );
	struct blm_filter *f = NULL;

	OK(blm_create(&f, NULL, path, &p));
	return f;
}

static void cook(const char *from, const char *end, bool in_memory)
{
	struct blm_filter *f = make_recipe(from, end, false, in_memory ? NULL : a_path()),
			  *again = NULL;
	uint64_t keys = count_of(from, end, "keys"), probes = count_of(from, end, "probes"),
		 there = 0, count = 0;
	crypto_hash_sha256_state state;
	struct blm_exchange pybloom = BLM_EXCHANGE(.format = "pybloomfiltermmap");
	struct blm_estimate e;
	char buffer[128], answer;
	uint8_t *bits;
	void *file = NULL;
	size_t bytes = 0;

	crypto_hash_sha256_init(&state);
	for (uint64_t i = 0; i < keys; i++) {
		struct blm_key key = key_of(field(from, end, "key_format"), i, buffer);

		answer = blm_add(f, key.bytes, key.len) ? '0' : '1';
		there += answer == '1';
		crypto_hash_sha256_update(&state, (uint8_t *)&answer, 1);
	}
	is_hash(&state, from, end, "sha256_add_returns");
	ck_assert_uint_eq(there, number(from, end, "add_returned_true"));
	OK(blm_count(f, &count, NULL));
	ck_assert_uint_eq(count, number(from, end, "len"));
	OK(blm_estimate(f, true, &e));
	ck_assert_uint_eq(e.ones, number(from, end, "bit_count"));
	ck_assert_double_eq_tol(e.keys.value, (double)number(from, end, "approx_len"), 0.51);

	bytes = (number(from, end, "num_bits") + 7) / 8;
	bits = malloc(bytes);
	OK(blm_data_read(f, 0, bits, bytes));
	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, bits, bytes);
	is_hash(&state, from, end, "sha256_bits");
	free(bits);

	file_is(f, &pybloom, from, end);
	OK(blm_export_bytes(f, &pybloom, &file, &bytes));
	OK(blm_import_bytes(&again, NULL, NULL, &BLM_EXCHANGE(.hash = "mm3_64"), file, bytes));
	blm_free(file);
	file_is(again, NULL, from, end);
	crypto_hash_sha256_init(&state);
	for (uint64_t i = 0; i < probes; i++) {
		struct blm_key key = key_of(field(from, end, "probe_format"), i, buffer);

		answer = blm_contains(again, key.bytes, key.len) ? '1' : '0';
		crypto_hash_sha256_update(&state, (uint8_t *)&answer, 1);
	}
	is_hash(&state, from, end, "sha256_probe_answers");
	blm_close(f), blm_close(again);
}

/* The recipes, one after the other. */
static const char *next_recipe(const char **at, const char *kind)
{
	char quoted[64];
	const char *here, *end;

	snprintf(quoted, sizeof(quoted), "\"kind\": \"%s", kind);
	here = strstr(*at, quoted);
	if (!here)
		return NULL;
	end = strstr(here + 1, "\"kind\"");
	*at = end ? end : here + strlen(here);
	return here;
}

START_TEST(a_million_keys_give_the_bits_and_answers_of_pybloomfiltermmap3)
{
	char *json = file_of(RECIPES "recipes.json", NULL);
	const char *at = json, *from;
	unsigned n = 0;

	ck_assert_ptr_nonnull(json);
	while ((from = next_recipe(&at, "bulk")))
		if (count_of(from, at, "keys") <= 100000 || test_scale() == 1)
			cook(from, at, n++ % 2);
	ck_assert_uint_ge(n, 1);
	free(json);
}
END_TEST

/* ---- More than 2^32 bits ---- */

/* Are exactly these bits set, in a file of holes? */
static void bits_are(const struct blm_filter *f, const uint64_t *expected, uint32_t count)
{
	const struct blm_view *view = current_view(f);
	off_t base = view->part[0].bytes - view->image.map, data = base, hole;
	uint32_t found = 0;

	while ((data = lseek(view->image.fd, data, SEEK_DATA)) >= 0) {
		hole = lseek(view->image.fd, data, SEEK_HOLE);
		for (; data < hole; data++)
			for (int bit = 0; bit < 8 && view->image.map[data]; bit++)
				if (view->image.map[data] >> bit & 1) {
					ck_assert_uint_lt(found, count);
					ck_assert_uint_eq((uint64_t)(data - base) * 8
								  + (unsigned)bit,
							  expected[found++]);
				}
	}
	ck_assert_uint_eq(found, count);
}

static void answers_are(const struct blm_filter *f, const char *from, const char *end)
{
	char key[32];

	for (int i = 0; i < 20; i++) {
		snprintf(key, sizeof(key), "big-%d", i);
		ck_assert(blm_contains(f, key, strlen(key)));
		snprintf(key, sizeof(key), "nope-%d", i);
		ck_assert_int_eq(blm_contains(f, key, strlen(key)),
				 *strstr(field(from, end, key), "0") == '1');
	}
}

static uint64_t on_disk(const char *path)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

/*
 * What a fragment of this file system takes at least: some take a megabyte for each page that is
 * touched.
 */
static uint64_t least_on_disk(void)
{
	const char *path = a_path();
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	uint64_t bytes;

	ck_assert(fd >= 0 && ftruncate(fd, 64 << 20) == 0 && pwrite(fd, "x", 1, 32 << 20) == 1);
	bytes = on_disk(path);
	close(fd);
	unlink(path);
	return bytes;
}

static void take_in_text_of_6_kib(void)
{
	char *json = file_of(RECIPES "recipes.json", NULL), path[600];
	const char *at = json, *from = next_recipe(&at, "over 2^32");
	uint64_t positions[256], least = least_on_disk(), keys;
	uint32_t ones = numbers_of(from, at, "set_bit_positions", positions, 256);
	struct blm_filter *f = NULL, *g;
	bool estimated = false;

	ck_assert_uint_eq(ones, number(from, at, "bit_count"));
	ck_assert_uint_gt(positions[ones - 1], UINT64_C(1) << 32);
	snprintf(path, sizeof(path), "%s", a_path());
	OK(blm_import_file(&f, NULL, path, &BLM_EXCHANGE(.base64 = true, .hash = "mm3_64"),
			   RECIPES "p3-big-sparse.b64"));
	ck_assert_msg(on_disk(path) < (least <= 4096 ? 2 << 20 : least * (ones + 16)),
		      "%llu bytes on disk", (unsigned long long)on_disk(path));
	bits_are(f, positions, ones);
	answers_are(f, from, at);
	OK(blm_count(f, &keys, &estimated));
	ck_assert(estimated);
	ck_assert_uint_eq(keys, number(from, at, "approx_len"));
	if (test_scale() == 1)
		file_is(f, NULL, from, at);

	g = make_recipe(from, at, true, a_path());
	for (int i = 0; i < 20; i++) {
		char key[32];

		snprintf(key, sizeof(key), "big-%d", i);
		ck_assert_int_eq(blm_add(g, key, strlen(key)), 1);
	}
	bits_are(g, positions, ones);
	answers_are(g, from, at);
	OK(blm_same_template(f, g));
	if (test_scale() == 1)
		file_is(g, &BLM_EXCHANGE(.format = "pybloomfiltermmap"), from, at);
	blm_close(f), blm_close(g);
	free(json);
}

START_TEST(six_kib_become_a_sparse_filter_of_600_mb)
{
	if (!*VECTORS)
		SKIP("the vectors are not here");
	take_in_text_of_6_kib();
}
END_TEST

/* ---- How much memory ---- */

/* where it is there, memory that is freed stays for a while */
void __asan_init(void) __attribute__((weak));

static uint64_t resident(void)	/* that no file backs */
{
	char line[128];
	FILE *in = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;

	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "RssAnon: %llu", &kib) == 1)
			break;
	if (in)
		fclose(in);
	return kib << 10;
}

static atomic_bool measured;
static uint64_t most_resident;

static void *measure(void *unused)
{
	while (!atomic_load(&measured)) {
		uint64_t now = resident();

		most_resident = now > most_resident ? now : most_resident;
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	}
	return unused;
}

static int count_bytes(void *context, const void *bytes, size_t count)
{
	*(uint64_t *)context += count;
	return 0;
}

/* A filter of 128 MB that has one key, as text. */
static void write_text_of_128_mb(const char *path)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, a_path(),
		      &BLM_PARAMS(.kind = "classic", .hash = "mm3_64", .cells = UINT64_C(1) << 30,
				  .probes = 5, .sparse = true)));
	OK(blm_add(f, "key", 3));
	OK(blm_export_file(f, &BLM_EXCHANGE(.format = "pybloomfiltermmap", .base64 = true), path));
	blm_close(f);
}

static const char *large_text = RECIPES "p3-big-sparse.b64";

static int there_and_back(void *path)
{
	struct blm_filter *f = NULL;
	uint64_t before = resident(), chars = 0;
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, measure, NULL) == 0);
	MUST(blm_import_file(&f, NULL, path, &BLM_EXCHANGE(.base64 = true, .hash = "mm3_64"),
			     large_text)
	     == 0);
	MUST(blm_export(f, &in_base64, count_bytes, &chars) == 0);
	atomic_store(&measured, true);
	pthread_join(thread, NULL);
	MUST(before > 0 && chars > 800 && chars < 9000);
	MUST(most_resident > before && most_resident - before < 16 << 20);
	return 0;
}

/* With a share of the work it is 128 MB, eight times the memory. */
static void pass_text_of_600_mb(void)
{
	char made[600];

	if (test_scale() < 1) {
		snprintf(made, sizeof(made), "%s", a_path());
		write_text_of_128_mb(made);
		large_text = made;
	}
	ck_assert_int_eq(join(spawn(there_and_back, (void *)(uintptr_t)a_path())), 0);
}

START_TEST(text_of_600_mb_passes_in_16_mib_of_memory)
{
	if (!*VECTORS)
		SKIP("the vectors are not here");
	if (__asan_init)
		SKIP("sanitizers take memory of their own");
	pass_text_of_600_mb();
}
END_TEST

/* ---- Limits ---- */

/* A file's beginning that declares m bits, by the layout of today; its k is 3. */
static size_t beginning(uint8_t head[1280], uint64_t cells)
{
	static const double rate = 0.1;
	const uint32_t length = 1200, probes = 3;
	const uint64_t capacity = 10;

	memset(head, 0, 1280);
	memcpy(head, "MBITARRAY", 9);
	memcpy(head + 9, &cells, 8);
	memcpy(head + 17, &length, 4);
	memcpy(head + 21, &capacity, 8);
	memcpy(head + 29, &rate, 8);
	memcpy(head + 37, &probes, 4);
	head[21 + 1056] = 1;
	return 1280;
}

static char *wrap(const uint8_t *bytes, size_t count, size_t *ret_chars)
{
	uLongf packed_bytes = compressBound(count);
	uint8_t *packed = malloc(packed_bytes);
	char *text;

	ck_assert_int_eq(compress2(packed, &packed_bytes, bytes, count, 9), Z_OK);
	text = malloc(sodium_base64_encoded_len(packed_bytes, sodium_base64_VARIANT_ORIGINAL));
	sodium_bin2base64(text,
			  sodium_base64_encoded_len(packed_bytes, sodium_base64_VARIANT_ORIGINAL),
			  packed, packed_bytes, sodium_base64_VARIANT_ORIGINAL);
	*ret_chars = strlen(text);
	free(packed);
	return text;
}

static char *as_text(const uint8_t *bytes, size_t count, size_t *ret_chars)
{
	size_t chars;
	char *inner = wrap(bytes, count, &chars), *outer = wrap((uint8_t *)inner, chars, ret_chars);

	free(inner);
	return outer;
}

struct source {
	const uint8_t *bytes;
	size_t count, at;
};

static int64_t give(void *context, void *buffer, size_t bytes)
{
	struct source *s = context;
	size_t n = s->count - s->at < bytes ? s->count - s->at : bytes;

	memcpy(buffer, s->bytes + s->at, n);
	s->at += n;
	return (int64_t)n;
}

static char limited[600];

static void refused(const void *bytes, size_t count, struct blm_exchange how, int err,
		    const char *word)
{
	struct source source = { bytes, count, 0 };
	struct blm_filter *f = NULL;
	struct blm_store *store = NULL;
	char to[700], other[720];
	double began = seconds();

	how.hash = "mm3_64";
	snprintf(to, sizeof(to), "%s/new", limited);
	FAILS(blm_import(&f, NULL, to, &how, give, &source), err);
	ck_assert_msg(strstr(blm_error_message(), word), "%s", blm_error_message());
	ck_assert_int_eq(entries_of(limited), 0);
	if (how.max_bytes || how.base64) {
		FAILS(blm_import_bytes(&f, NULL, to, &how, bytes, count), err);
		FAILS(blm_import_bytes(&f, NULL, NULL, &how, bytes, count), err);
		ck_assert_int_eq(entries_of(limited), 0);
	}
	snprintf(to, sizeof(to), "%s/store", limited);
	OK(blm_store_open(&store, to, BLM_STORE_CREATE));
	source.at = 0;
	FAILS(blm_import(&f, store, "n", &how, give, &source), err);
	snprintf(other, sizeof(other), "%s/filters", to);
	ck_assert_int_eq(entries_of(other), 0);
	ck_assert_int_eq(blm_store_verify(to, false, NULL, NULL), 0);
	blm_store_close(store);
	nftw(to, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	ck_assert_ptr_null(f);
	ck_assert_double_lt(seconds() - began, TOO_LONG);
}

static void make_limited(void)
{
	snprintf(limited, sizeof(limited), "%s", a_path());
	ck_assert_int_eq(mkdir(limited, 0755), 0);
}

START_TEST(an_excessive_size_is_refused_by_the_header)
{
	static const uint64_t sizes[] = { UINT64_C(1) << 34, UINT64_C(1) << 41, UINT64_C(1) << 47 };
	struct rlimit none = { 0, 0 };
	uint8_t head[1280];

	make_limited();
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		size_t chars;
		char *text;

		beginning(head, sizes[i]);
		text = as_text(head, sizeof(head), &chars);
		refused(head, sizeof(head), BLM_EXCHANGE(), -EFBIG, "allowed");
		refused(text, chars, in_base64, -EFBIG, "allowed");
		refused(text, chars, BLM_EXCHANGE(.base64 = true, .max_bytes = 1 << 20), -EFBIG,
			"allowed");
		free(text);
	}
	/* where it is allowed, it turns out to be cut */
	beginning(head, 1 << 20);
	refused(head, sizeof(head), BLM_EXCHANGE(), -ENODATA, "truncated");
	refused(head, sizeof(head), BLM_EXCHANGE(.max_bytes = 1280 + (1 << 17) - 1), -EFBIG,
		"allowed");
	refused(head, sizeof(head), BLM_EXCHANGE(.max_bytes = 1280 + (1 << 17)), -ENODATA,
		"truncated");
	refused(head, sizeof(head), BLM_EXCHANGE(.max_bytes = 100), -EFBIG, "allowed");

	/* nothing is written: no file may have any byte now */
	beginning(head, UINT64_C(1) << 40);
	setrlimit(RLIMIT_FSIZE, &none);
	/* of the test itself, that writes its result to a file */
	signal(SIGXFSZ, SIG_IGN);
	{
		struct blm_filter *f = NULL;
		char to[700];

		snprintf(to, sizeof(to), "%s/new", limited);
		FAILS(blm_import(&f, NULL, to, NULL, give,
				 &(struct source){ head, sizeof(head), 0 }),
		      -EFBIG);
		ck_assert_ptr_nonnull(strstr(blm_error_message(), "allowed"));
		ck_assert_int_eq(entries_of(limited), 0);
	}
}
END_TEST

START_TEST(compressed_data_is_read_up_to_its_declared_size_only)
{
	const size_t many = 32 << 20;
	uint8_t *file = calloc(1, many);
	struct blm_filter *f = NULL;
	size_t chars, inner_chars;
	char *text, *inner, *padded;

	make_limited();
	beginning(file, 128);
	text = as_text(file, many, &chars);
	refused(text, chars, BLM_EXCHANGE(.base64 = true, .max_bytes = 1 << 20), -EFBIG, "unpacks");
	OK(blm_import_bytes(&f, NULL, NULL,
			    &BLM_EXCHANGE(.base64 = true, .hash = "mm3_64", .max_bytes = 64 << 20),
			    text, chars));
	f = blm_close(f);
	free(text);

	/* no filter: the data after the beginning is not even unpacked */
	memset(file, 0, 9);
	text = as_text(file, many, &chars);
	refused(text, chars, in_base64, -EBADMSG, "MBITARRAY");
	free(text);

	/* a filter, and then, in the layer between, nothing but line breaks */
	beginning(file, 128);
	inner = wrap(file, 1296, &inner_chars);
	padded = malloc(many);
	memset(padded, '\n', many);
	memcpy(padded, inner, inner_chars);
	text = wrap((uint8_t *)padded, many, &chars);
	refused(text, chars, BLM_EXCHANGE(.base64 = true, .max_bytes = 1 << 20), -EFBIG, "unpacks");
	free(text), free(inner), free(padded), free(file);
}
END_TEST

static int64_t break_off(void *context, void *buffer, size_t bytes)
{
	struct source *s = context;

	return s->at == s->count ? -ECONNRESET : give(context, buffer, bytes);
}

START_TEST(a_broken_source_and_a_full_target_leave_nothing_behind)
{
	struct blm_filter *f = NULL, *g = NULL;
	struct rlimit little = { 1 << 20, 1 << 20 };
	size_t bytes = 1280 + (8 << 20);
	uint8_t *file = malloc(bytes);
	char to[700];

	make_limited();
	snprintf(to, sizeof(to), "%s/new", limited);
	memset(file, 0x55, bytes);
	beginning(file, 64 << 20);
	for (int i = 0; i < 4; i++) {
		const size_t until[] = { 0, 100, 1280, 1 << 20 };

		FAILS(blm_import(&f, NULL, to, &BLM_EXCHANGE(.hash = "mm3_64"), break_off,
				 &(struct source){ file, until[i], 0 }),
		      -ECONNRESET);
		ck_assert_int_eq(entries_of(limited), 0);
	}
	OK(blm_import_bytes(&g, NULL, NULL, &BLM_EXCHANGE(.hash = "mm3_64"), file, bytes));
	OK(blm_import_bytes(&f, NULL, to, &BLM_EXCHANGE(.hash = "mm3_64"), file, bytes));
	f = blm_close(f);
	FAILS(blm_import_bytes(&f, NULL, to, &BLM_EXCHANGE(.hash = "mm3_64"), file, bytes),
	      -EEXIST);
	FAILS(blm_export_file(g, NULL, to), -EEXIST);
	ck_assert_int_eq(unlink(to), 0);
	setrlimit(RLIMIT_FSIZE, &little);
	FAILS(blm_import_bytes(&f, NULL, to, &BLM_EXCHANGE(.hash = "mm3_64"), file, bytes), -EFBIG);
	ck_assert_int_eq(entries_of(limited), 0);
	FAILS(blm_export_file(g, NULL, to), -EFBIG);	/* and no SIGXFSZ */
	ck_assert_msg(strstr(blm_error_message(), to) == blm_error_message()
			      && strstr(blm_error_message(), "File too large"),
		      "%s", blm_error_message());
	ck_assert_int_eq(entries_of(limited), 0);
	blm_close(g);
	free(file);
}
END_TEST

/* ---- Two writers ---- */

enum { EACH = 50000, FEW = 10000 };

struct writer {
	const char *path;
	int who, each;
	int start[2];		/* a pipe, closed when all are there */
};

static int add_its_keys(void *context)
{
	const struct writer *w = context;
	struct blm_filter *f = NULL;
	char key[32], none;

	MUST(blm_open(&f, NULL, w->path, BLM_OPEN_WRITE) == 0);
	close(w->start[1]);
	MUST(read(w->start[0], &none, 1) == 0);
	for (int i = 0; i < w->each; i++) {
		snprintf(key, sizeof(key), "%d/%d", w->who, i);
		MUST(blm_add(f, key, strlen(key)) >= 0);
	}
	blm_close(f);
	return 0;
}

static void write_at_once(const char *path, int each)
{
	struct writer writers[2] = { { path, 0, each, { 0 } }, { path, 1, each, { 0 } } };
	int start[2];
	pid_t pids[2];

	ck_assert_int_eq(pipe(start), 0);
	for (int i = 0; i < 2; i++) {
		memcpy(writers[i].start, start, sizeof(start));
		pids[i] = spawn(add_its_keys, &writers[i]);
	}
	close(start[0]), close(start[1]);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(join(pids[i]), 0);
}

static void has_all_keys(const struct blm_filter *f, int each)
{
	char key[32];
	int lost = 0, wrong = 0;

	for (int who = 0; who < 3; who++)
		for (int i = 0; i < each; i++) {
			snprintf(key, sizeof(key), "%d/%d", who, i);
			if (who < 2)
				lost += !blm_contains(f, key, strlen(key));
			else
				wrong += blm_contains(f, key, strlen(key));
		}
	ck_assert_int_eq(lost, 0);
	ck_assert_int_lt(wrong, each / 100);
	ck_assert(blm_contains(f, "apple", 5) && blm_contains(f, "pear", 4));
}

START_TEST(two_processes_lose_no_key_of_a_pybloomfiltermmap_filter)
{
	struct blm_filter *f = NULL, *again = NULL;
	char path[600];
	void *text = NULL;
	size_t chars = 0;

	snprintf(path, sizeof(path), "%s", a_path());
	OK(blm_import_file(&f, NULL, path, &in_base64, EXCHANGE "/legacy/seed-fruit.b64"));
	write_at_once(path, EACH);
	has_all_keys(f, EACH);
	OK(blm_export_bytes(f, &in_base64, &text, &chars));
	blm_close(f);
	OK(blm_import_bytes(&again, NULL, NULL, &in_base64, text, chars));
	has_all_keys(again, EACH);
	ck_assert(!blm_contains(again, "Apple", 5));	/* by the seeds of the file */
	blm_free(text);
	blm_close(again);
}
END_TEST

/*
 * So small that they meet in a word all the time: a program that reads a byte, sets a bit and
 * writes it back loses keys here.
 */
START_TEST(two_processes_lose_no_key_of_a_small_pybloomfiltermmap_filter)
{
	const struct blm_exchange theirs = BLM_EXCHANGE(.format = "pybloomfiltermmap",
							.hash = "mm3_64");

	for (int round = 0; round < 5; round++) {
		struct blm_filter *made = NULL, *f = NULL, *again = NULL;
		char path[600];
		void *file = NULL;
		size_t bytes = 0;

		snprintf(path, sizeof(path), "%s", a_path());
		OK(blm_create(&made, NULL, NULL,
			      &BLM_PARAMS(.hash = "mm3_64", .capacity = 2 * FEW, .rate = 0.005)));
		OK(blm_add(made, "apple", 5));
		OK(blm_add(made, "pear", 4));
		OK(blm_export_bytes(made, &theirs, &file, &bytes));
		OK(blm_import_bytes(&f, NULL, path, &theirs, file, bytes));
		write_at_once(path, FEW);
		has_all_keys(f, FEW);
		blm_free(file);
		OK(blm_export_bytes(f, &theirs, &file, &bytes));
		OK(blm_import_bytes(&again, NULL, NULL, &theirs, file, bytes));
		has_all_keys(again, FEW);
		blm_free(file);
		blm_close(made), blm_close(f), blm_close(again);
		ck_assert_int_eq(unlink(path), 0);
	}
}
END_TEST

/* ---- Sizes ---- */

static struct blm_filter *with_keys(struct blm_params p, uint64_t keys)
{
	struct blm_filter *f = NULL;

	OK(blm_create(&f, NULL, NULL, &p));
	for (uint64_t i = 0; i < keys; i++)
		OK(blm_add(f, &i, sizeof(i)));
	return f;
}

static double measured_rate(const struct blm_filter *f, uint64_t from, uint64_t probes)
{
	uint64_t wrong = 0;

	for (uint64_t i = from; i < from + probes; i++)
		wrong += blm_contains(f, &i, sizeof(i));
	return (double)wrong / (double)probes;
}

START_TEST(info_shows_the_real_rate_where_pybloomfiltermmap3_missed_it)
{
	const uint64_t n = 100000, probes = 400000, seed = 12345;
	const double p = 0.26, three_sigma = 3 * sqrt(p * (1 - p) / (double)probes);
	uint64_t m = (uint64_t)(ceil(ceil((double)n * fabs(log(p)) / pow(log(2), 2)) / 8) * 8);
	struct blm_filter *theirs = with_keys(BLM_PARAMS(.hash = "mm3_64", .capacity = n, .rate = p,
							 .cells = m, .probes = 1, .seeds = &seed,
							 .seed_count = 1),
					      n);
	struct blm_filter *ours, *f = NULL;
	struct blm_info info = BLM_INFO;
	void *file = NULL;
	size_t bytes = 0;

	OK(blm_export_bytes(theirs, &BLM_EXCHANGE(.format = "pybloomfiltermmap"), &file, &bytes));
	OK(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.hash = "mm3_64"), file, bytes));
	OK(blm_info(f, &info));
	ck_assert_double_eq(info.rate, p);
	ck_assert_double_eq_tol(info.rate_at_capacity, 0.2999, 0.0005);
	ck_assert_double_eq_tol(measured_rate(f, n, probes), info.rate_at_capacity,
				3 * three_sigma);
	blm_free(file);
	blm_close(theirs), blm_close(f);
	for (int kind = 0; kind < 2; kind++) {
		ours = with_keys(BLM_PARAMS(.kind = kind ? "classic" : "blocked", .capacity = n,
					    .rate = p, .seeds = &seed, .seed_count = 1),
				 n);
		OK(blm_info(ours, &info));
		ck_assert_double_le(info.rate_at_capacity, p);
		ck_assert_double_le(measured_rate(ours, n, probes), p + three_sigma);
		blm_close(ours);
	}
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("exchange of much");
	TCase *tc = tcase_create("exchange of much");

	if (*VECTORS)
		tcase_add_test(tc, a_million_keys_give_the_bits_and_answers_of_pybloomfiltermmap3);
	tcase_add_test(tc, six_kib_become_a_sparse_filter_of_600_mb);
	tcase_add_test(tc, text_of_600_mb_passes_in_16_mib_of_memory);
	tcase_add_test(tc, an_excessive_size_is_refused_by_the_header);
	tcase_add_test(
		tc, compressed_data_is_read_up_to_its_declared_size_only);
	tcase_add_test(tc, a_broken_source_and_a_full_target_leave_nothing_behind);
	tcase_add_test(tc, two_processes_lose_no_key_of_a_pybloomfiltermmap_filter);
	tcase_add_test(
		tc, two_processes_lose_no_key_of_a_small_pybloomfiltermmap_filter);
	tcase_add_test(tc, info_shows_the_real_rate_where_pybloomfiltermmap3_missed_it);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
