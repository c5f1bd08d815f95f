/*
 * vectors.c - filters that other programs made: every answer, out again byte for byte, and made
 * here as they were made there
 *
 * data/ has for each format filters that its own program made, a list of them in JSON, and its
 * answers to keys; the same names are looked for in the folder that meson's option `vectors` names,
 * which can have more.
 */
#include "vectors.h"

#include "kind/kind_registry.h"

#include <math.h>
#include <sha1.h>
#include <zlib.h>

enum { KEYS_MOST = 2048, KEY_MOST = 1200 };

/* What a test does with the cases of a list. */
struct list {
	const char *file, *format;	/* of the folder; of the library */
	/*
	 * the field that names the file of a case; or that has its bytes in hexadecimal, if it ends
	 * in hex
	 */
	const char *bytes;
	/* the fields from which its program made the filter: then it is made here, too */
	const char *capacity, *rate;
	/* or these; m in bits or, if the field says bytes, in bytes */
	const char *cells, *probes;
	const char *tweak;
	const char *hash;		/* to be named, where the file does not say */
	bool told;			/* m and k are not in the file */
	/*
	 * its file has numbers that are not the filter's, like addresses: the filter made here has
	 * the same bits only
	 */
	bool other;
	unsigned least;			/* cases in the list, of those that are in data/ */
};

static const struct list lists[] = {
	{ .file = "bip37/generated.json",
	  .format = "bip37",
	  .bytes = "filterload_hex",
	  .cells = "filter_bytes",
	  .probes = "nHashFuncs",
	  .tweak = "nTweak",
	  .other = true,
	  .least = 5 },
	{ .file = "neo/neo.json",
	  .format = "neo",
	  .bytes = "filterload_payload_hex",
	  .cells = "m_bits",
	  .probes = "k",
	  .tweak = "tweak",
	  .least = 3 },
	{ .file = "dcso/dcso.json",
	  .format = "dcso",
	  .bytes = "file",
	  .capacity = "capacity",
	  .rate = "p",
	  .other = true,
	  .least = 4 },
	{ .file = "guava/guava.json",
	  .format = "guava",
	  .bytes = "file",
	  .capacity = "expected_insertions",
	  .rate = "fpp",
	  .least = 7 },
	{ .file = "libbloom/libbloom1.json",
	  .format = "libbloom1",
	  .bytes = "bits_hex",
	  .capacity = "entries",
	  .rate = "error",
	  .cells = "bits",
	  .probes = "hashes",
	  .told = true,
	  .least = 2 },
	{ .file = "libbloom/libbloom2.json",
	  .format = "libbloom2",
	  .bytes = "file",
	  .capacity = "entries",
	  .rate = "error",
	  .other = true,
	  .least = 4 },
	{ .file = "pybloom_live/v3.json",
	  .format = "pybloom-live",
	  .bytes = "file",
	  .hash = "md5-digest",
	  .least = 3 },
	{ .file = "pybloom_live/v4.json",
	  .format = "pybloom-live",
	  .bytes = "file",
	  .capacity = "capacity",
	  .rate = "error_rate",
	  .hash = "xxh3",
	  .least = 4 },
	{ .file = "bits-and-blooms/manifest.json",
	  .format = "bits-and-blooms",
	  .bytes = "binary_file",
	  .cells = "m",
	  .probes = "k",
	  .least = 5 },
	{ .file = "bits-and-blooms/manifest.json",
	  .format = "bits-and-blooms-json",
	  .bytes = "json_file",
	  .cells = "m",
	  .probes = "k",
	  .least = 5 },
	{ .file = "rust-bloomfilter/manifest.json",
	  .format = "rust-bloomfilter",
	  .bytes = "file",
	  .capacity = "items_count",
	  .rate = "fp_p",
	  .least = 3 },
	{ .file = "leveldb/leveldb.json", .format = "leveldb", .bytes = "filter_hex", .least = 5 },
	{ .file = "redis-bitmap/scrapy-redis.json",
	  .format = "redis-bitmap",
	  .bytes = "file",
	  .cells = "bit",
	  .told = true,
	  .least = 2 },
	{ .file = "ethereum/logsbloom.json",
	  .format = "ethereum",
	  .bytes = "bloom_hex",
	  .probes = "probe_true",
	  .least = 1 },
};

static const char *const folders[] = { DATA, VECTORS };
enum { FOLDERS = sizeof(VECTORS) > 1 ? 2 : 1 };

/* ---- Reading ---- */

/* The next object of the list of cases. */
static bool next_object(const char **at, const char **ret_end)
{
	const char *here = strchr(*at, '{');
	int depth = 0;

	if (!here)
		return false;
	*at = here;
	do {
		depth += (*here == '{') - (*here == '}');
	} while (*++here && depth);
	*ret_end = here;
	return true;
}

struct keys {
	uint8_t bytes[KEYS_MOST][KEY_MOST];
	struct blm_key key[KEYS_MOST];
	size_t count;
};

static void put_number(struct keys *keys, int64_t number, size_t width)
{
	uint64_t little = htole64((uint64_t)number);

	memcpy(keys->bytes[keys->count], &little, width);
	keys->key[keys->count] = (struct blm_key){ keys->bytes[keys->count], width };
	keys->count++;
}

static void put_line(struct keys *keys, const char *line, size_t len, const char *how)
{
	uint8_t *to = keys->bytes[keys->count];
	size_t bytes = 0;

	ck_assert_uint_lt(keys->count, KEYS_MOST);
	ck_assert_uint_lt(strstr(how, "UTF-16LE") ? 2 * len
			  : strstr(how, ".hex")	  ? len / 2
						  : len,
			  KEY_MOST);
	if (strstr(how, ".hex")) {
		bytes = from_hex(line, to, KEY_MOST);
	} else if (strstr(how, "sha1 hex")) {
		SHA1Data((const uint8_t *)line, len, (char *)to);
		bytes = 40;
	} else if (strstr(how, "UTF-16LE")) {
		/* of UTF-8, up to three bytes a character */
		for (size_t i = 0; i < len; i++) {
			unsigned c = (uint8_t)line[i];

			if (c >= 0xe0) {
				c = (c & 15) << 12 | ((uint8_t)line[i + 1] & 63) << 6
				  | ((uint8_t)line[i + 2] & 63);
				i += 2;
			} else if (c >= 0xc0) {
				c = (c & 31) << 6 | ((uint8_t)line[i + 1] & 63);
				i++;
			}
			to[bytes++] = (uint8_t)c;
			to[bytes++] = (uint8_t)(c >> 8);
		}
	} else {
		memcpy(to, line, bytes = len);
	}
	keys->key[keys->count++] = (struct blm_key){ to, bytes };
}

/* "a*i+b for i in 0..n", as the lists have it: i*A+B, i*A, B+A*i, B-i. */
static void put_progression(struct keys *keys, const char *formula, uint64_t count, size_t width)
{
	long long a = 1, b = 0;

	if (sscanf(formula, " i*%lld", &a) == 1)
		sscanf(formula, " i*%*d%lld", &b);
	else if (sscanf(formula, " %lld-%lld*i", &b, &a) == 2)
		a = -a;
	else if (sscanf(formula, " %lld-i", &b) == 1)
		a = -1;
	else
		ck_abort_msg("%s", formula);
	for (uint64_t i = 0; i < count; i++)
		put_number(keys, (long long)i * a + b, width);
}

static void load_keys(struct keys *ret, const char *folder, const char *from, const char *end,
		      const char *name, uint64_t most)
{
	char how[200], path[700], *text, *line;

	ret->count = 0;
	text_field(from, end, name, how, sizeof(how));
	if (strstr(how, "longFunnel") || strstr(how, "integerFunnel")) {
		put_progression(ret, strchr(how, ':') + 1, most, strstr(how, "longFunnel") ? 8 : 4);
		return;
	}
	snprintf(path, sizeof(path), "%.400s/%.*s", folder,
		 (int)strcspn(strstr(how, "keys/"), " ("), strstr(how, "keys/"));
	text = line = file_of(path, NULL);
	ck_assert_msg(text != NULL, "%s", path);
	for (; *line && ret->count < most; line += strcspn(line, "\n") + 1)
		put_line(ret, line, strcspn(line, "\n"), how);
	free(text);
}

/* A list of keys in hexadecimal. */
static void load_hex_list(struct keys *ret, const char *from, const char *end, const char *name)
{
	const char *at = field(from, end, name);

	for (ret->count = 0; at && *at && *at != ']'; at += strspn(at, "\", \n")) {
		size_t len = strcspn(at, "\"");

		put_line(ret, at, len, ".hex");
		at += len;
	}
}

struct one {
	const struct list *list;
	char name[32];
	const char *json, *end, *folder;
	uint8_t *file;
	size_t bytes;
	struct keys *in, *asked;
	uint8_t answers[512];
	size_t answered;
};

static uint8_t *gunzipped(uint8_t *packed, size_t bytes, size_t *ret_bytes)
{
	uint8_t *out = malloc(1 << 20);
	z_stream z = {
		.next_in = packed, .avail_in = (uInt)bytes, .next_out = out, .avail_out = 1 << 20
	};

	ck_assert_int_eq(inflateInit2(&z, 31), Z_OK);
	ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	*ret_bytes = z.total_out;
	inflateEnd(&z);
	free(packed);
	return out;
}

/* false: it is not of this sort, or its file is not here. */
static bool load(struct one *c)
{
	const char *name = c->list->bytes, *value = field(c->json, c->end, name);
	char file[100], path[700];

	if (!value && !strcmp(name, "filterload_hex"))	/* the large one is in a file */
		value = field(c->json, c->end, name = "filterload_file");
	if (!value || !strncmp(value, "null", 4) || field(c->json, c->end, "scalable"))
		return false;
	if (strstr(name, "hex")) {
		c->file = malloc(1 << 17);
		c->bytes = from_hex(value, c->file, 1 << 17);
	} else {
		text_field(c->json, c->end, name, file, sizeof(file));
		snprintf(path, sizeof(path), "%.400s/%.*s/%s", c->folder,
			 (int)strcspn(c->list->file, "/"), c->list->file, file);
		c->file = (uint8_t *)file_of(path, &c->bytes);
		if (!c->file)
			return false;
	}
	if (field(c->json, c->end, "insert_hex")) {
		load_hex_list(c->in, c->json, c->end, "insert_hex");
		load_hex_list(c->asked, c->json, c->end, "probe_hex");
	} else if (field(c->json, c->end, "keys")) {
		load_keys(c->in, c->folder, c->json, c->end, "keys",
			  number(c->json, c->end, "n_insert"));
		load_keys(c->asked, c->folder, c->json, c->end, "probes",
			  field(c->json, c->end, "n_probe") ? number(c->json, c->end, "n_probe")
							    : KEYS_MOST);
	} else {
		free(c->file);
		return false;
	}
	c->answered = from_hex(field(c->json, c->end, "probe_answers_lsb_first_hex"), c->answers,
			       sizeof(c->answers))
		    * 8;
	ck_assert_uint_ge(c->answered, c->asked->count);
	return true;
}

/* ---- Proving ---- */

static void answers_are(const struct blm_filter *f, const struct one *c)
{
	for (size_t i = 0; i < c->in->count; i++)
		ck_assert_msg(blm_contains(f, c->in->key[i].bytes, c->in->key[i].len),
			      "%s %s: key %zu is missing", c->list->format, c->name, i);
	for (size_t i = 0; i < c->asked->count; i++)
		ck_assert_msg(blm_contains(f, c->asked->key[i].bytes, c->asked->key[i].len)
				      == (c->answers[i / 8] >> i % 8 & 1),
			      "%s %s: question %zu", c->list->format, c->name, i);
}

static struct blm_exchange how_of(const struct one *c)
{
	struct blm_exchange how = BLM_EXCHANGE(.format = c->list->format, .hash = c->list->hash);

	if (c->list->told && !strcmp(c->list->cells, "bit"))
		how.cells = UINT64_C(1) << number(c->json, c->end, "bit");
	else if (c->list->told)
		how.cells = number(c->json, c->end, c->list->cells),
		how.probes = (uint32_t)number(c->json, c->end, c->list->probes);
	return how;
}

static void prove_import(const struct one *c)
{
	struct blm_exchange how = how_of(c);
	struct blm_filter *f, *copy;
	struct blm_info info = BLM_INFO;
	size_t bytes;
	void *out;

	OK(blm_import_bytes(&f, NULL, NULL, &how, c->file, c->bytes));
	OK(blm_info(f, &info));
	ck_assert_str_eq(info.origin, c->list->format);
	answers_are(f, c);
	OK(blm_export_bytes(f, NULL, &out, &bytes));
	if (c->file[0] == 0x1f && c->file[1] == 0x8b) {
		uint8_t *plain = memcpy(malloc(c->bytes), c->file, c->bytes);
		size_t plain_bytes;

		plain = gunzipped(plain, c->bytes, &plain_bytes);
		ck_assert_msg(bytes == plain_bytes && !memcmp(out, plain, bytes),
			      "%s %s: goes out otherwise", c->list->format, c->name);
		free(plain);
	} else if (bytes > c->bytes
		   && !strcmp(c->list->format,
			      "redis-bitmap")) { /* what is missing at its end is back, as
						    bloomery-formats(7) says */
		ck_assert_mem_eq(out, c->file, c->bytes);
		ck_assert_uint_eq(bytes, how.cells / 8);
	} else {
		ck_assert_msg(bytes == c->bytes && !memcmp(out, c->file, bytes),
			      "%s %s: goes out otherwise", c->list->format, c->name);
	}
	blm_free(out);
	OK(blm_copy(&copy, NULL, NULL, f, 0));
	OK(blm_same_template(f, copy));
	answers_are(copy, c);
	blm_close(copy);
	for (size_t i = 0; i < c->in->count; i++)
		ck_assert_int_eq(blm_add(f, c->in->key[i].bytes, c->in->key[i].len), 0);
	blm_close(f);
}

/* In one batch, through the loops for many. */
static void prove_as_it_is(const struct one *c)
{
	static uint64_t bits[KEYS_MOST / 64 + 1];
	struct blm_exchange how = how_of(c);
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;
	const char *path = a_path();
	FILE *file = fopen(path, "we");

	ck_assert_uint_eq(fwrite(c->file, 1, c->bytes, file), c->bytes);
	fclose(file);
	OK(blm_open_foreign(&f, path, &how));
	OK(blm_info(f, &info));
	ck_assert(info.foreign);
	ck_assert_str_eq(info.format, c->list->format);
	FAILS(blm_add(f, "key", 3), -EBADF);
	answers_are(f, c);
	blm_contains_many(f, c->asked->key, c->asked->count, bits);
	for (size_t i = 0; i < c->asked->count; i++)
		ck_assert_uint_eq(bits[i / 64] >> i % 64 & 1, c->answers[i / 8] >> i % 8 & 1);
	blm_close(f);
	unlink(path);
}

/*
 * The very file of its program, or where that has something in it that we have not, the same bits.
 */
static void prove_making(const struct one *c)
{
	const struct list *l = c->list;
	struct blm_params p = BLM_PARAMS(.format = l->format);
	struct blm_exchange how = how_of(c);
	uint8_t seed_bytes[32];
	uint64_t seeds[4];
	struct blm_filter *f, *theirs;
	struct blm_info info = BLM_INFO;
	uint8_t *a, *b;
	size_t bytes;
	void *out;

	if (l->capacity) {
		p.capacity = number(c->json, c->end, l->capacity);
		p.rate = strtod(field(c->json, c->end, l->rate), NULL);
	} else if (l->cells) {
		p.cells = number(c->json, c->end, l->cells) * (strstr(l->cells, "bytes") ? 8 : 1);
		p.probes = !strcmp(l->cells, "bit") ? 0
						    : (uint32_t)number(c->json, c->end, l->probes);
		p.cells = !strcmp(l->cells, "bit") ? UINT64_C(1) << p.cells : p.cells;
	} else if (!strcmp(l->format, "ethereum")) {
		p.capacity = 100;
	} else {
		return;
	}
	p.tweak = l->tweak ? number(c->json, c->end, l->tweak) : 0;
	if (field(c->json, c->end, "seed_hex")) {
		from_hex(field(c->json, c->end, "seed_hex"), seed_bytes, 32);
		memcpy(seeds, seed_bytes, 32);
		for (int i = 0; i < 4; i++)
			seeds[i] = le64toh(seeds[i]);
		p.seeds = seeds;
		p.seed_count = 4;
	}
	OK(blm_import_bytes(&theirs, NULL, NULL, &how, c->file, c->bytes));
	if (!strcmp(l->format, "guava")) {	/* today's strategy only is made */
		OK(blm_info(theirs, &info));
		if (strcmp(info.scheme, "guava-64")) {
			blm_close(theirs);
			return;
		}
	}
	OK(blm_create(&f, NULL, NULL, &p));
	ck_assert_msg(blm_same_template(f, theirs) == 0, "%s %s: %s", l->format, c->name,
		      blm_error_message());
	OK(blm_add_many(f, c->in->key, c->in->count, NULL));
	OK(blm_info(f, &info));
	a = malloc(info.data_bytes);
	b = malloc(info.data_bytes);
	OK(blm_data_read(f, 0, a, info.data_bytes));
	OK(blm_data_read(theirs, 0, b, info.data_bytes));
	ck_assert_msg(!memcmp(a, b, info.data_bytes), "%s %s: made with other bits", l->format,
		      c->name);
	OK(blm_export_bytes(f, &BLM_EXCHANGE(.format = l->format), &out, &bytes));
	if (!l->other && bytes == c->bytes)
		ck_assert_msg(!memcmp(out, c->file, bytes), "%s %s: made otherwise", l->format,
			      c->name);
	else
		ck_assert(l->other || !strcmp(l->format, "redis-bitmap"));
	free(a), free(b);
	blm_free(out);
	blm_close(f), blm_close(theirs);
}

/*
 * Cut anywhere it is refused, in words, or is a shorter file of the format; with a byte too many,
 * too, where nothing may follow.
 */
static void prove_cuts(const struct one *c)
{
	struct blm_exchange how = how_of(c);

	for (size_t cut = 0; cut < c->bytes;
	     cut += cut < 200 || cut + 10 > c->bytes ? 1 : c->bytes / 37 + 1) {
		struct blm_filter *f = NULL;
		int r = blm_import_bytes(&f, NULL, NULL, &how, c->file, cut);

		ck_assert_msg(r == 0 || *blm_error_message(), "%s %s", c->list->format, c->name);
		if (r == 0)
			ck_assert_msg(!strcmp(c->list->format, "leveldb")
					      || !strcmp(c->list->format, "redis-bitmap")
					      || !strcmp(c->list->format, "dcso"),
				      "%s %s: %zu bytes are taken", c->list->format, c->name, cut);
		blm_close(f);
	}
}

static struct keys in, asked;

START_TEST(another_programs_filters_answer_the_same_and_export_unchanged)
{
	const struct list *list = &lists[_i];
	unsigned count[2] = { 0 };

	for (int i = 0; i < FOLDERS; i++) {
		char path[700], *json;
		const char *at;
		struct one c = { .list = list, .folder = folders[i], .in = &in, .asked = &asked };

		snprintf(path, sizeof(path), "%s/%s", folders[i], list->file);
		json = file_of(path, NULL);
		ck_assert_msg(json != NULL, "%s", path);
		for (at = strchr(strstr(json, "\"cases\""), '['); next_object(&at, &c.end);
		     at = c.end) {
			c.json = at;
			text_field(at, c.end, "name", c.name, sizeof(c.name));
			if (!load(&c))
				continue;
			prove_import(&c);
			prove_as_it_is(&c);
			prove_making(&c);
			prove_cuts(&c);
			free(c.file);
			count[i]++;
		}
		free(json);
	}
	ck_assert_msg(count[0] >= list->least && (FOLDERS < 2 || count[1] >= count[0]),
		      "%s: %u and %u cases", list->file, count[0], count[1]);
}
END_TEST

START_TEST(squids_cache_digest_has_every_url_that_squid_fetched)
{
	size_t bytes, count = 0;
	char *json = file_of(DATA "/squid-digest/squid.json", NULL),
	     *file = file_of(DATA "/squid-digest/store_digest.bin", &bytes);
	const char *at = field(json, json + strlen(json), "present_urls");
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;
	void *out;
	size_t out_bytes;

	OK(blm_import_bytes(&f, NULL, NULL, &BLM_EXCHANGE(.format = "squid-digest"), file, bytes));
	for (; *at != ']'; at += strspn(at, "\", \n"), count++) {
		size_t len = strcspn(at, "\"");

		ck_assert(blm_contains(f, at, len));
		at += len;
	}
	ck_assert_uint_ge(count, 50);
	for (unsigned i = 0, found = 0; i < number(json, json + strlen(json), "probe_count"); i++) {
		char url[64], quoted[66];

		snprintf(url, sizeof(url), "http://127.0.0.1:38080/absent/%u.txt", i);
		snprintf(quoted, sizeof(quoted), "\"%s\"", url);
		found += blm_contains(f, url, strlen(url));
		ck_assert(blm_contains(f, url, strlen(url)) == (strstr(json, quoted) != NULL));
		ck_assert_uint_le(found, 20);
	}
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.capacity, 241);
	ck_assert_uint_eq(info.keys, 111);
	OK(blm_export_bytes(f, NULL, &out, &out_bytes));
	ck_assert_uint_eq(out_bytes, bytes);
	ck_assert_mem_eq(out, file, bytes);
	blm_free(out);
	blm_close(f);
	free(json), free(file);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("format vectors");
	TCase *tc = tcase_create("vectors");

	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(tc, another_programs_filters_answer_the_same_and_export_unchanged,
			    0, (int)ARRAY_LEN(lists));
	tcase_add_test(tc, squids_cache_digest_has_every_url_that_squid_fetched);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
