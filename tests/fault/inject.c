/*
 * inject.c - whatever fails under a call of the library: it says so, and all that was there stays
 *
 * Each call of the API is made again and again, in a process of its own, and each time another of the allocations and system
 * calls that it makes fails: once, or that one and all of its kind after it. What must hold then is in check() below.
 *
 * $BLOOMERY_TEST_SCALE: a share of the runs, or "full" for all of them; arguments: the names of the cases to run; with -e each
 * place fails in any case, with its first errno, once and from then on; with -j N so many cases run at the same time; with -v each
 * run is told of.
 */
#include "base.h"
#include "bloomery.h"
#include "catalog/catalog.h"
#include "interpose.h"
#include "store/store.h"
#include "stream/stream.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KEYS = 200, COMMON = 100, RUN_SECONDS = 20, TOLD_MOST = 12 };

/* ---- What the calls work on ---- */

/* What a filter can be, by the keys that it holds: a set of bits */
enum {
	GONE = 1,
	EMPTY = 2,
	FIRST = 4,		/* keys 0 to 199, as "a" has them */
	SECOND = 8,		/* keys 100 to 299, as "b" */
	BOTH = 16,
	SHARED = 32,
	OTHER = 64,		/* something else: never right */
};

enum where { PATH, STORE, MEMORY };

struct world {
	enum where where;
	struct blm_store *store;	/* of the names; NULL for paths */
	struct blm_filter *f, *g;	/* "a" and "b", where the case wants them */
	struct blm_filter *made;	/* what the call gives */
	void *bytes;			/* ... or this */
	size_t count;
};

/* Where a new filter is made. */
static const char *new_name(const struct world *w)
{
	return w->where == MEMORY ? NULL : "new";
}

static void key_of(int i, char ret[16])
{
	snprintf(ret, 16, "key %d", i);
}

static int add_keys(struct blm_filter *f, int from, int to)
{
	char text[300][16];
	struct blm_key keys[300];

	for (int i = from; i < to; i++) {
		key_of(i, text[i]);
		keys[i] = (struct blm_key){ text[i], strlen(text[i]) };
	}
	return (int)blm_add_many(f, keys + from, (size_t)(to - from), NULL);
}

static int holds(const struct blm_filter *f, int from, int to)
{
	int n = 0;

	for (int i = from; i < to; i++) {
		char key[16];

		key_of(i, key);
		n += blm_contains(f, key, strlen(key));
	}
	return n;
}

static int what_it_holds(const struct blm_filter *f)
{
	int first = holds(f, 0, COMMON), shared = holds(f, COMMON, KEYS), second = holds(f, KEYS, 300), all = KEYS - COMMON;

	if (first + shared + second == 0)
		return EMPTY;
	if (first == all && shared == all)
		return second == 300 - KEYS ? BOTH : FIRST;
	if (shared == all)
		return second == 300 - KEYS ? SECOND : SHARED;
	return OTHER;
}

#define NAMED(bit, name) (what & (bit) ? name : "")
static const char *words_for(int what)
{
	static char text[100];

	snprintf(text, sizeof(text), "%s%s%s%s%s%s%s", NAMED(GONE, " gone"), NAMED(EMPTY, " empty"), NAMED(FIRST, " as a"),
		 NAMED(SECOND, " as b"), NAMED(BOTH, " both"), NAMED(SHARED, " shared"), NAMED(OTHER, " something else"));
	return text;
}

static const struct blm_params small = { .capacity = 600, .rate = 0.0001, .seed_count = 1, .seeds = (const uint64_t[]){ 7 } };

static const struct blm_params keyed = {
	.capacity = 600, .rate = 0.0001, .hash = "siphash", .seed_count = 0, .secret = (const uint8_t *)"sixteen bytes...",
};

#define FIXTURE(x) do { \
	int fixture_ = (int)(x); \
	if (fixture_ < 0) { \
		printf("Bail out! %s: %s\n", #x, blm_why()); \
		exit(2); \
	} \
} while (0)

static void make_filter(struct blm_store *store, const char *name, const struct blm_params *params, int from, int to)
{
	struct blm_filter *f;

	FIXTURE(blm_create(&f, store, name, params));
	FIXTURE(add_keys(f, from, to - 20));
	FIXTURE(blm_sync(f));
	FIXTURE(add_keys(f, to - 20, to));	/* acknowledged, not synced */
	blm_close(f);
}

/* "plain" in gzip: one block, stored as it is (RFC 1951, 1952). */
static void make_gzip(void)
{
	static uint8_t bytes[UINT16_MAX + 64] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1 };
	int in = open("plain", O_RDONLY | O_CLOEXEC), out = open("gzip", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	ssize_t n = read(in, bytes + 15, UINT16_MAX);
	const uint16_t lengths[2] = { htole16((uint16_t)n), htole16((uint16_t)~n) };
	uint32_t ends[2] = { UINT32_MAX, htole32((uint32_t)n) };

	for (ssize_t i = 0; i < n; i++) {
		ends[0] ^= bytes[15 + i];
		for (int bit = 0; bit < 8; bit++)
			ends[0] = ends[0] >> 1 ^ (ends[0] & 1 ? 0xedb88320 : 0);
	}
	ends[0] = htole32(~ends[0]);
	memcpy(bytes + 11, lengths, 4);
	memcpy(bytes + 15 + n, ends, 8);
	FIXTURE(n > 0 && write(out, bytes, (size_t)n + 23) == n + 23 ? 0 : -EIO);
	close(in);
	close(out);
}

/* All that a case may find: filters at paths and in the store "s", another program's file, filters as text. */
static void make_fixture(void)
{
	static const struct blm_exchange foreign = { .format = "pybloomfiltermmap" }, text = { .base64 = true },
		foreign_text = { .format = "pybloomfiltermmap", .base64 = true };
	struct blm_store *store;
	struct blm_filter *f;

	FIXTURE(blm_store_open(&store, "s", BLM_STORE_CREATE));
	for (int i = 0; i < 2; i++) {
		make_filter(i ? store : NULL, "a", &small, 0, KEYS);
		make_filter(i ? store : NULL, "b", &small, COMMON, 300);
		make_filter(i ? store : NULL, "keyed", &keyed, 0, KEYS);
	}
	FIXTURE(blm_store_label(store, "a", "of", "old"));
	FIXTURE(blm_create(&f, NULL, "c", &(struct blm_params){ .capacity = 600, .rate = 0.0001, .hash = "mm3-64", .kind = "classic",
		.seed_count = 0, .probes = 7 }));
	FIXTURE(add_keys(f, 0, KEYS));
	FIXTURE(blm_export_file(f, &foreign, "foreign"));
	FIXTURE(blm_export_file(f, &foreign_text, "foreign.text"));
	blm_close(f);
	FIXTURE(blm_open(&f, NULL, "a", false));
	FIXTURE(blm_export_file(f, &text, "text"));
	FIXTURE(blm_export_file(f, NULL, "plain"));
	make_gzip();
	blm_close(f);
	blm_store_close(store);
}

/* ---- The calls ---- */

static int create(struct world *w)
{
	return blm_create(&w->made, w->store, new_name(w), &small);
}

static int create_keyed(struct world *w)
{
	return blm_create(&w->made, w->store, new_name(w), &keyed);
}

static int create_with_new_secret(struct world *w)
{
	return blm_create(&w->made, w->store, new_name(w), &(struct blm_params){ .capacity = 600, .hash = "siphash", .mode = 0640 });
}

static int create_sparse(struct world *w)
{
	return blm_create(&w->made, w->store, new_name(w), &(struct blm_params){ .capacity = 600, .rate = 0.0001, .sparse = true });
}

static int create_over(struct world *w)
{
	return blm_create(&w->made, w->store, "a", &(struct blm_params){ .capacity = 600, .rate = 0.0001, .replace = true });
}

static int open_to_read(struct world *w)
{
	return blm_open(&w->made, w->store, "a", false);
}

static int open_to_write(struct world *w)
{
	return blm_open(&w->made, w->store, "a", true);
}

static int open_keyed(struct world *w)
{
	return blm_open(&w->made, w->store, "keyed", true);
}

static int open_with_secret(struct world *w)
{
	return blm_open_keyed(&w->made, w->store, "keyed", true, keyed.secret);
}

static int add(struct world *w)
{
	return add_keys(w->f, 0, KEYS);
}

static int add_and_sync(struct world *w)
{
	int r = blm_sync_every(w->f, 1, 0);

	return r < 0 ? r : blm_add(w->f, "one more", 8);
}

static int claim(struct world *w)
{
	return (int)blm_claim_many(w->f, &(struct blm_key){ "one more", 8 }, 1, NULL);
}

static int ask(struct world *w)
{
	return holds(w->f, 0, KEYS) == KEYS ? 0 : -EILSEQ;
}

static int load(struct world *w)
{
	return blm_load(w->f, BLM_LOCK | BLM_SMALL_PAGES);
}

static int sync_it(struct world *w)
{
	return blm_sync(w->f);
}

static int info(struct world *w)
{
	struct blm_info *info = __builtin_alloca(sizeof(*info));

	return blm_info(w->f, info);
}

static int estimate(struct world *w)
{
	struct blm_estimate e;

	return blm_estimate(w->f, true, &e);
}

static int compare(struct world *w)
{
	struct blm_comparison c;

	return blm_compare(w->f, w->g, &c);
}

static int unite_raw(struct world *w)
{
	uint8_t raw[64];
	int r = blm_data_read(w->f, 0, raw, sizeof(raw));

	return r < 0 ? r : blm_data_unite(w->f, 0, raw, sizeof(raw));
}

static int template(struct world *w)
{
	return blm_template(&w->made, w->store, new_name(w), w->f, 0);
}

static int copy(struct world *w)
{
	return blm_copy(&w->made, w->store, new_name(w), w->f, 0600);
}

static int combine(struct world *w, enum blm_op op)
{
	const struct blm_filter *two[] = { w->f, w->g };
	double rate;

	return blm_combine(&w->made, w->store, new_name(w), op, two, 2, 0.5, &rate);
}

static int unite(struct world *w)
{
	return combine(w, BLM_UNION);
}

static int intersect(struct world *w)
{
	return combine(w, BLM_INTERSECT);
}

static int unite_into(struct world *w)
{
	return blm_combine_into(w->f, BLM_UNION, (const struct blm_filter *const[]){ w->g }, 1, 0, NULL);
}

static int intersect_into(struct world *w)
{
	return blm_combine_into(w->f, BLM_INTERSECT, (const struct blm_filter *const[]){ w->g }, 1, 0, NULL);
}

static int clear(struct world *w)
{
	return blm_clear(w->f);
}

static int seal(struct world *w)
{
	return blm_seal(w->f);
}

static int fill_with_second(struct blm_filter *new, void *context)
{
	return add_keys(new, COMMON, 300);
}

static int rebuild(struct world *w)
{
	return blm_rebuild(w->store, "a", &(struct blm_params){ .capacity = 800 }, fill_with_second, NULL);
}

/* All keys of b. Cancelled where adding fails, as it must be. */
static int build_at(struct world *w, const char *name, bool over, struct blm_filter **ret)
{
	const struct blm_params params = { .capacity = 600, .rate = 0.0001, .replace = over };
	struct blm_build *b;
	int r = blm_build_begin(&b, w->store, name, &params, NULL);

	for (int i = COMMON; r >= 0 && i < 300; i++) {
		char key[16];

		key_of(i, key);
		r = blm_build_add_many(b, &(struct blm_key){ key, strlen(key) }, 1);
		if (r < 0)
			blm_build_cancel(b);
	}
	return r < 0 ? r : blm_build_finish(b, ret);
}

static int build(struct world *w)
{
	return build_at(w, new_name(w), false, &w->made);
}

static int build_over(struct world *w)
{
	return build_at(w, "a", true, NULL);
}

static int publish(struct world *w)
{
	return blm_store_publish(w->store, "new", w->f, 0, BLM_PUBLISH_WRITABLE);
}

static int publish_over(struct world *w)
{
	return blm_store_publish(w->store, "a", w->g, 0, BLM_PUBLISH_WRITABLE);
}

static int rename_it(struct world *w)
{
	return blm_store_rename(w->store, "a", "new");
}

static int drop(struct world *w)
{
	return blm_store_drop(w->store, "a");
}

/* "a" can no longer be opened. */
static void cut_filter(struct world *w)
{
	struct blm_info *what = __builtin_alloca(sizeof(*what));
	struct blm_filter *f;

	FIXTURE(blm_open(&f, w->store, "a", false));
	FIXTURE(blm_info(f, what));
	blm_close(f);
	FIXTURE(truncate(what->path, 20000));
}

/* As many keys as are in both. */
static void unite_before(struct world *w)
{
	FIXTURE(unite_into(w));
}

static int count_estimated(struct world *w)
{
	uint64_t keys = 0;
	bool estimated = false;
	int r = blm_count(w->f, &keys, &estimated);

	return r == 0 && (!estimated || keys < 290 || keys > 310) ? -EILSEQ : r;
}

static int ignore_bytes(void *context, const void *bytes, size_t count)
{
	return 0;
}

static int export_to_function(struct world *w)
{
	return blm_export(w->f, NULL, ignore_bytes, NULL);
}

static int label(struct world *w)
{
	return blm_store_label(w->store, "a", "of", "new");
}

static int find(struct world *w)
{
	struct blm_info *info = __builtin_alloca(sizeof(*info));

	return blm_store_find(w->store, "a", info);
}

static int count_one(void *context, const struct blm_info *info, int err)
{
	++*(int *)context;
	return err;
}

static int list(struct world *w)
{
	int n = 0, r = blm_store_list(w->store, NULL, count_one, &n);

	return r == 0 && n != 3 ? -EILSEQ : r;
}

static int verify(struct world *w)
{
	return blm_verify(w->store, "a", false, NULL, NULL);
}

/* Damage the only block of "a", as a failing disk would. */
static void damage(struct world *w)
{
	struct blm_info *what = __builtin_alloca(sizeof(*what));
	struct blm_store *store = NULL;
	struct blm_filter *f;
	uint8_t zeros[64] = { 0 };
	int fd;

	if (w->where == STORE)
		FIXTURE(blm_store_open(&store, "s", 0));
	FIXTURE(blm_open(&f, store, "a", true));
	FIXTURE(blm_sync(f));
	FIXTURE(blm_info(f, what));
	blm_close(f);
	blm_store_close(store);
	fd = open(what->path, O_RDWR | O_CLOEXEC);
	FIXTURE(pwrite(fd, zeros, sizeof(zeros), (off_t)(what->bytes - what->data_bytes)));
	close(fd);
}

static int verify_damaged(struct world *w)
{
	return blm_verify(w->store, "a", true, NULL, NULL);
}

static int open_new_store(struct world *w)
{
	return blm_store_open(&w->store, "fresh/s", BLM_STORE_CREATE);
}

static int open_store(struct world *w)
{
	return blm_store_open(&w->store, "s", 0);
}

static int open_store_to_read(struct world *w)
{
	return blm_store_open(&w->store, "s", BLM_STORE_READ);
}

static int verify_store(struct world *w)
{
	return blm_store_verify("s", 0, NULL, NULL);
}

static void lose_catalog(struct world *w)
{
	unlink("s/catalog/data.mdb");
}

static void cut_catalog(struct world *w)
{
	FIXTURE(truncate("s/catalog/data.mdb", 8192));
}

static void copy_file(const char *from, const char *to)
{
	static char bytes[1 << 20];
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ssize_t n = read(in, bytes, sizeof(bytes));

	FIXTURE(n > 0 && write(out, bytes, (size_t)n) == n ? 0 : -EIO);
	close(in);
	close(out);
}

/* An empty filter that the catalog knows, and one with keys that it does not know, since it was put back. */
static void put_catalog_back(struct world *w)
{
	struct blm_store *store;

	FIXTURE(blm_store_open(&store, "s", 0));
	FIXTURE(blm_create(NULL, store, "unused", &small));
	blm_store_close(store);
	copy_file("s/catalog/data.mdb", "saved");
	FIXTURE(blm_store_open(&store, "s", 0));
	make_filter(store, "new", &small, 0, KEYS);
	blm_store_close(store);
	copy_file("saved", "s/catalog/data.mdb");
}

/* A file that was never used, which the catalog that was put back does not know. */
static void leave_stray(struct world *w)
{
	struct blm_store *store;

	copy_file("s/catalog/data.mdb", "saved");
	FIXTURE(blm_store_open(&store, "s", 0));
	FIXTURE(blm_create(NULL, store, "unused", &small));
	blm_store_close(store);
	copy_file("saved", "s/catalog/data.mdb");
}

/* The record of "a" and its file disagree. */
static void spoil_record(struct world *w)
{
	struct blm_entry *entry = __builtin_alloca(sizeof(*entry));
	struct blm_store *store;

	FIXTURE(blm_store_open(&store, "s", 0));
	FIXTURE(blm_catalog_get(store->catalog, "a", entry));
	entry->constant.template.probes = htole32(3);
	FIXTURE(blm_catalog_put(store->catalog, "a", entry, BLM_PUT_OVER));
	blm_store_close(store);
}

static int repair_store(struct world *w)
{
	return blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL);
}

static int import_plain(struct world *w)
{
	return blm_import_file(&w->made, w->store, new_name(w), NULL, "plain");
}

static int import_gzip(struct world *w)
{
	return blm_import_file(&w->made, w->store, new_name(w), NULL, "gzip");
}

static int import_text(struct world *w)
{
	return blm_import_file(&w->made, w->store, new_name(w), &(struct blm_exchange){ .base64 = true, .allocate = true }, "text");
}

static int import_foreign(struct world *w)
{
	return blm_import_file(&w->made, w->store, new_name(w), &(struct blm_exchange){ .hash = "mm3-64" }, "foreign");
}

static int import_foreign_text(struct world *w)
{
	return blm_import_file(&w->made, w->store, new_name(w), &(struct blm_exchange){ .hash = "mm3-64", .base64 = true,
		.format = "pybloomfiltermmap" }, "foreign.text");
}

static int import_bytes(struct world *w)
{
	return blm_import_bytes(&w->made, w->store, new_name(w), NULL, w->bytes, w->count);
}

static void export_first(struct world *w)
{
	FIXTURE(blm_export_bytes(w->f, NULL, &w->bytes, &w->count));
}

static int export_file(struct world *w)
{
	return blm_export_file(w->f, NULL, "exported");
}

static int export_over(struct world *w)
{
	return blm_export_file(w->g, &(struct blm_exchange){ .replace = true, .mode = 0600 }, "a");
}

static int export_bytes(struct world *w)
{
	return blm_export_bytes(w->f, NULL, &w->bytes, &w->count);
}

static int export_text(struct world *w)
{
	return blm_export_bytes(w->f, &(struct blm_exchange){ .base64 = true }, &w->bytes, &w->count);
}

static int open_foreign(struct world *w)
{
	return blm_open_foreign(&w->made, "foreign", &(struct blm_exchange){ .hash = "mm3-64" });
}

static void make_replacement(struct world *w)
{
	struct blm_filter *f;

	FIXTURE(blm_open(&f, w->store, "a", true));
	FIXTURE(blm_combine_into(f, BLM_INTERSECT, (const struct blm_filter *const[]){ f }, 1, 0, NULL));
	blm_close(f);
}

/* What comes after happens in a child, which has the handles from its parent. */
static void fork_it(struct world *w)
{
	int status;
	pid_t pid = fork();

	FIXTURE(pid);
	if (pid == 0) {
		alarm(RUN_SECONDS);
		return;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		raise(WTERMSIG(status));
	_exit(WEXITSTATUS(status));
}

static void fork_and_replace(struct world *w)
{
	fork_it(w);
	make_replacement(w);
}

/* Bytes through every stage and back. */
static int stream(struct world *w)
{
	static const struct blm_stage *const stages[] = { &blm_stage_base64, &blm_stage_zlib, &blm_stage_zstd };
	static uint8_t from[100000], to[sizeof(from)];
	struct blm_buffer buffer = { 0 };
	struct blm_writer *writer;
	struct blm_reader *reader;
	int64_t n;
	int r = blm_writer_memory(&writer, &buffer);

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * i >> 7);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(stages); i++)
		r = blm_writer_stage(&writer, stages[i], 4);
	if (r == 0)
		r = writer->write(writer, from, sizeof(from));
	if (r == 0)
		r = writer->finish(writer);
	blm_writer_close(writer);
	if (r == 0)
		r = blm_reader_memory(&reader, buffer.bytes, buffer.count);
	if (r == 0) {
		for (size_t i = 0; r == 0 && i < ARRAY_LEN(stages); i++)
			r = blm_reader_stage(&reader, stages[i], "in memory");
		if (r == 0)
			r = blm_reader_peeking(&reader);
		n = r == 0 ? blm_read_full(reader, to, sizeof(to)) : r;
		r = n < 0 ? (int)n : n == sizeof(to) && !memcmp(from, to, sizeof(to)) ? 0 : -EILSEQ;
		blm_reader_close(reader);
	}
	free(buffer.bytes);
	return r;
}

/* ---- Kinds that do more than set bits ---- */

/* "a" is of this kind from now on, with the keys that it had; those of the second half are not synced. */
static void become(struct world *w, struct blm_params params)
{
	struct blm_filter *f;

	params.replace = true;
	params.seed_count = strcmp(params.kind, "split-block") && strcmp(params.kind, "redis-cuckoo") ? 1 : 0;	/* whose hashes take none */
	params.seeds = params.seed_count ? small.seeds : NULL;
	FIXTURE(blm_create(&f, w->store, "a", &params));
	FIXTURE(add_keys(f, 0, COMMON));
	FIXTURE(blm_sync(f));
	FIXTURE(add_keys(f, COMMON, KEYS));
	blm_close(f);
}

/* With cells for few more keys than it will have if some are added once more, so that keys are moved. */
static void as_cuckoo(struct world *w)
{
	become(w, (struct blm_params){ .kind = "cuckoo", .cells = 460, .rate = 1e-6 });
}

static void as_redis_cuckoo(struct world *w)
{
	become(w, (struct blm_params){ .kind = "redis-cuckoo", .capacity = 600, .rate = 0.01, .options = "bucket-size=2" });
}

static const struct blm_params iblt = { .kind = "iblt", .capacity = 300, .rate = 1e-4, .options = "key-bytes=24" };

static void as_iblt(struct world *w)
{
	become(w, iblt);
}

/* "b", too. */
static void as_two_iblt(struct world *w)
{
	struct blm_params params = iblt;
	struct blm_filter *f;

	as_iblt(w);
	params.seeds = small.seeds;
	params.seed_count = 1;
	params.replace = true;
	FIXTURE(blm_create(&f, w->store, "b", &params));
	FIXTURE(add_keys(f, COMMON, 300));
	blm_close(f);
}

static void as_counting(struct world *w)
{
	become(w, (struct blm_params){ .kind = "counting", .capacity = 600, .rate = 1e-6 });
}

/* "b", too. */
static void as_two_counting(struct world *w)
{
	struct blm_params params = { .kind = "counting", .capacity = 600, .rate = 1e-6, .seed_count = 1, .seeds = small.seeds, .replace = true };
	struct blm_filter *f;

	as_counting(w);
	FIXTURE(blm_create(&f, w->store, "b", &params));
	FIXTURE(add_keys(f, COMMON, 300));
	blm_close(f);
}

static void as_d_left(struct world *w)
{
	become(w, (struct blm_params){ .kind = "d-left", .capacity = 600, .rate = 1e-6, .options = "spare=2" });
}

static void as_scalable(struct world *w)
{
	become(w, (struct blm_params){ .kind = "scalable", .capacity = 70, .rate = 1e-6 });
}

/* "b", too. */
static void as_two_scalable(struct world *w)
{
	struct blm_params params = { .kind = "scalable", .capacity = 70, .rate = 1e-6, .seed_count = 1, .seeds = small.seeds, .replace = true };
	struct blm_filter *f;

	as_scalable(w);
	FIXTURE(blm_create(&f, w->store, "b", &params));
	FIXTURE(add_keys(f, COMMON, 300));
	blm_close(f);
}

static void as_removable(struct world *w)
{
	become(w, (struct blm_params){ .kind = "removable", .capacity = 600, .rate = 1e-6 });
}

static void as_window(struct world *w)
{
	become(w, (struct blm_params){ .kind = "window", .capacity = 600, .rate = 1e-6, .options = "slots=2" });
}

static void as_attenuated(struct world *w)
{
	become(w, (struct blm_params){ .kind = "attenuated", .capacity = 600, .rate = 1e-6, .options = "depth=3" });
}

static void as_split_block(struct world *w)
{
	become(w, (struct blm_params){ .kind = "split-block", .cells = 256 * 200 });
}

/* The machine went down before all was synced, and with it some of the pages: the keys as of the sync are what counts, and they are "a"'s. */
static void cut_power(struct world *w)
{
	struct blm_info *what = __builtin_alloca(sizeof(*what));
	const uint64_t another_boot = 2;
	struct blm_filter *f;
	uint8_t zeros[64] = { 0 };
	int fd;

	FIXTURE(blm_open(&f, w->store, "a", true));
	FIXTURE(blm_sync(f));
	FIXTURE(add_keys(f, KEYS, KEYS + 20));
	FIXTURE(blm_info(f, what));
	blm_close(f);
	fd = open(what->path, O_RDWR | O_CLOEXEC);
	FIXTURE(pwrite(fd, zeros, sizeof(zeros), sizeof(struct blm_header) + 64));
	FIXTURE(pwrite(fd, &another_boot, 8, offsetof(struct blm_header, live.boot)));
	close(fd);
}

static void as_cut_cuckoo(struct world *w)
{
	as_cuckoo(w);
	cut_power(w);
}

static void as_cut_iblt(struct world *w)
{
	as_iblt(w);
	cut_power(w);
}

static void as_cuckoo_forked(struct world *w)
{
	as_cuckoo(w);
	fork_it(w);
}

static int add_second(struct world *w)
{
	return add_keys(w->f, KEYS, 300);
}

static int add_second_and_sync(struct world *w)
{
	int r = blm_sync_every(w->f, 1, 0);

	return r < 0 ? r : add_second(w);
}

/* All that only "a" has. */
static int remove_first(struct world *w)
{
	char text[COMMON][16];
	struct blm_key keys[COMMON];

	for (int i = 0; i < COMMON; i++) {
		key_of(i, text[i]);
		keys[i] = (struct blm_key){ text[i], strlen(text[i]) };
	}
	return (int)blm_remove_many(w->f, keys, COMMON, NULL);
}

static int count_listed(void *context, const void *key, size_t len, bool in_b)
{
	++*(int *)context;
	return 0;
}

static int list_differences(struct world *w)
{
	int n = 0, r = blm_differences(w->f, w->g, count_listed, &n);

	return r == 0 && n < 300 - KEYS + COMMON ? -EILSEQ : r;	/* and what was added since */
}

static int estimate_difference(struct world *w)
{
	struct blm_value keys;

	return blm_difference(w->f, w->g, &keys);
}

static int grow(struct world *w)
{
	return blm_grow(w->f, 0);
}

static int rotate(struct world *w)
{
	return blm_rotate(w->f);
}

static int advance(struct world *w)
{
	return blm_advance(w->f, (const struct blm_filter *const[]){ w->f }, 1);
}

static int convert(struct world *w)
{
	return blm_convert(&w->made, w->store, new_name(w), w->f, NULL, 0600);
}

static int fold(struct world *w)
{
	return blm_fold(&w->made, w->store, new_name(w), w->f, 4, 0600);
}

/* ---- Kinds that are built from all their keys ---- */

enum { MORE = 5000, AT_ONCE = 250 };	/* with so many more keys they go through a file where memory is at its least */

/* Keys, with values where the builder wants them. */
static int gather(struct blm_build *b, bool values, int from, int to)
{
	char text[AT_ONCE][16];
	struct blm_key keys[AT_ONCE];
	uint64_t value[AT_ONCE];
	int r = 0;

	for (int i = from; r == 0 && i < to; ) {
		size_t n = 0;

		for (; n < AT_ONCE && i < to; i++, n++) {
			key_of(i, text[n]);
			keys[n] = (struct blm_key){ text[n], strlen(text[n]) };
			value[n] = (uint64_t)i % 16;
		}
		r = values ? blm_build_put_many(b, keys, value, n) : blm_build_add_many(b, keys, n);
	}
	return r;
}

/* A filter of this kind with these keys, and as many more that nobody asks for. */
static int build_kind(struct world *w, const char *name, struct blm_params params, int from, int to, int more, struct blm_filter **ret)
{
	const struct blm_build_options least = { .memory_bytes = 1 };
	bool values = !strcmp(params.kind, "bloomier");
	struct blm_build *b;
	int r;

	params.seed_count = 1;
	params.seeds = small.seeds;
	r = blm_build_begin(&b, w->store, name, &params, &least);
	if (r < 0)
		return r;
	r = gather(b, values, 1000, 1000 + more);
	if (r == 0)
		r = gather(b, values, from, to);
	if (r == 0)
		return blm_build_finish(b, ret);
	blm_build_cancel(b);
	return r;
}

static int build_golomb(struct world *w)
{
	return build_kind(w, new_name(w), (struct blm_params){ .kind = "golomb", .rate = 1e-6 }, COMMON, 300, MORE, &w->made);
}

static int build_fuse(struct world *w)
{
	return build_kind(w, new_name(w), (struct blm_params){ .kind = "fuse", .rate = 1e-6 }, COMMON, 300, 0, &w->made);
}

static int build_ribbon(struct world *w)
{
	return build_kind(w, new_name(w), (struct blm_params){ .kind = "ribbon", .rate = 1e-6 }, COMMON, 300, MORE, &w->made);
}

static int build_bloomier(struct world *w)
{
	return build_kind(w, new_name(w), (struct blm_params){ .kind = "bloomier", .rate = 1e-6, .options = "value-bits=4" }, COMMON, 300, MORE, &w->made);
}

/* Of keys that are counted first; what it was goes. */
static int build_counted_over(struct world *w)
{
	return build_kind(w, "a", (struct blm_params){ .kind = "cuckoo", .rate = 1e-6, .replace = true }, COMMON, 300, MORE, NULL);
}

static int build_scalable(struct world *w)
{
	return build_kind(w, new_name(w), (struct blm_params){ .kind = "scalable", .capacity = 70, .rate = 1e-6 }, COMMON, 300, 0, &w->made);
}

static const struct blm_params counted_golomb = { .kind = "golomb", .capacity = 600, .rate = 1e-6, .options = "counted=1", .replace = true };

static void as_golomb(struct world *w)
{
	FIXTURE(build_kind(w, "a", counted_golomb, 0, KEYS, 0, NULL));
}

static void both_as_golomb(struct world *w)
{
	as_golomb(w);
	FIXTURE(build_kind(w, "b", counted_golomb, COMMON, 300, 0, NULL));
}

static void both_as_golomb_in_memory(struct world *w)
{
	struct blm_params params = counted_golomb;

	params.replace = false;
	w->f = blm_close(w->f);
	w->g = blm_close(w->g);
	FIXTURE(build_kind(w, NULL, params, 0, KEYS, 0, &w->f));
	FIXTURE(build_kind(w, NULL, params, COMMON, 300, 0, &w->g));
}

static void as_keyed_golomb(struct world *w)
{
	struct blm_params params = counted_golomb;
	struct blm_build *b;

	params.hash = keyed.hash;
	params.secret = keyed.secret;
	FIXTURE(blm_build_begin(&b, w->store, "a", &params, NULL));
	FIXTURE(gather(b, false, 0, KEYS));
	FIXTURE(blm_build_finish(b, NULL));
}

static int merge(struct world *w)
{
	return blm_merge(&w->made, w->store, new_name(w), (const struct blm_filter *const[]){ w->f, w->g }, 2, 0600);
}

/* What only "a" has goes, and what only "b" has comes. */
static int update(struct world *w)
{
	const struct blm_build_options least = { .memory_bytes = 1 };
	struct blm_update *u;
	int r = blm_update_begin(&u, w->store, "a", NULL, &least);

	if (r < 0)
		return r;
	for (int i = 0; r == 0 && i < COMMON; i++) {
		char go[16], come[16];

		key_of(i, go);
		key_of(KEYS + i, come);
		r = blm_update_remove_many(u, &(struct blm_key){ go, strlen(go) }, 1);
		if (r == 0)
			r = blm_update_add_many(u, &(struct blm_key){ come, strlen(come) }, 1);
	}
	if (r == 0)
		return blm_update_finish(u);
	blm_update_cancel(u);
	return r;
}

/* ---- Lists of false positives ---- */

/* The first of the keys that "a" has: those that only it has. */
static size_t first_keys(char text[COMMON][16], struct blm_key keys[COMMON])
{
	for (int i = 0; i < COMMON; i++) {
		key_of(i, text[i]);
		keys[i] = (struct blm_key){ text[i], strlen(text[i]) };
	}
	return COMMON;
}

static int allow(struct world *w)
{
	char text[COMMON][16];
	struct blm_key keys[COMMON];

	return (int)blm_allow_many(w->f, keys, first_keys(text, keys));
}

static void allow_before(struct world *w)
{
	FIXTURE(allow(w));
}

static int disallow(struct world *w)
{
	char text[COMMON][16];
	struct blm_key keys[COMMON];

	return (int)blm_disallow_many(w->f, keys, first_keys(text, keys));
}

static int claim_listed(struct world *w)
{
	char text[COMMON][16];
	struct blm_key keys[COMMON];
	int64_t new = blm_claim_many(w->f, keys, first_keys(text, keys), NULL);

	return new >= 0 && new != COMMON ? -EILSEQ : new < 0 ? (int)new : 0;
}

static int count_key(void *context, const struct blm_key *key)
{
	++*(int *)context;
	return 0;
}

static int spare_and_list(struct world *w)
{
	uint64_t bits[(COMMON + 63) / 64];
	char text[COMMON][16];
	struct blm_key keys[COMMON];
	size_t count = first_keys(text, keys);
	int64_t r = blm_contains_many(w->f, keys, count, bits);
	int n = 0;

	if (r >= 0)
		r = blm_spare_allowed(w->f, keys, count, bits);
	if (r >= 0 && r != COMMON)
		return -EILSEQ;
	if (r >= 0)
		r = blm_allowed(w->f, count_key, &n);
	return r < 0 ? (int)r : n == COMMON ? 0 : -EILSEQ;
}

/* More keys than are looked up at once; and "a" has all of them. */
static size_t all_keys(char text[300][16], struct blm_key keys[300])
{
	for (int i = 0; i < 300; i++) {
		key_of(i, text[i]);
		keys[i] = (struct blm_key){ text[i], strlen(text[i]) };
	}
	return 300;
}

static int allow_many(struct world *w)
{
	char text[300][16];
	struct blm_key keys[300];

	return (int)blm_allow_many(w->f, keys, all_keys(text, keys));
}

static void add_second_before(struct world *w)
{
	FIXTURE(add_second(w));
}

static void allow_many_before(struct world *w)
{
	add_second_before(w);
	FIXTURE(allow_many(w));
}

static int add_many(struct world *w)
{
	return add_keys(w->f, 0, 300);
}

/* ---- Secrets ---- */

/* "a" with a secret that no other filter has. */
static void as_keyed(struct world *w)
{
	struct blm_params params = keyed;

	params.secret = (const uint8_t *)"fifteen and one.";
	params.replace = true;
	make_filter(w->store, "a", &params, 0, KEYS);
}

/* ---- Banks ---- */

static int finish_bank(struct blm_bank_build *b, int r)
{
	if (r >= 0)
		return blm_bank_finish(b);
	blm_bank_cancel(b);
	return r;
}

static int build_bank(struct world *w)
{
	struct blm_bank_build *b;
	int r = blm_bank_begin(&b, "bank", true, 0640);

	if (r < 0)
		return r;
	r = blm_bank_add(b, w->f, "a");
	if (r == 0)
		r = blm_bank_add(b, w->g, "b");
	return finish_bank(b, r);
}

static void build_bank_before(struct world *w)
{
	FIXTURE(build_bank(w));
}

static int build_bank_of_fps(struct world *w)
{
	static const char text[] = "#FPS1\n#num_bits=24\n0f0a01\tx\nffffff\ty\tmore\n000000\tz\n";
	struct blm_bank_build *b;
	int r = blm_bank_begin(&b, "bank", true, 0);

	return r < 0 ? r : finish_bank(b, (int)blm_bank_add_fps(b, text, sizeof(text) - 1, "set"));
}

static void build_bank_of_fps_before(struct world *w)
{
	FIXTURE(build_bank_of_fps(w));
}

static int ask_bank(struct world *w)
{
	static _Alignas(64) uint8_t bits[1 << 16];
	struct blm_bank_hit hits[2];
	struct blm_bank_info about;
	struct blm_bank *bank;
	uint64_t row;
	int64_t r = blm_bank_open(&bank, "bank");

	if (r < 0)
		return (int)r;
	blm_bank_info(bank, &about);
	r = about.row_bytes <= sizeof(bits) ? blm_bank_find(bank, "a", &row) : -EILSEQ;
	if (r == 0)
		r = blm_bank_read_filter(bank, w->f, bits);
	if (r == 0)
		r = blm_bank_similar(bank, bits, &(struct blm_likeness){ .threshold = 0.1 }, hits, 2);
	if (r >= 0 && r != 2)
		r = -EILSEQ;
	if (r >= 0)
		r = blm_bank_which(bank, "key 150", 7, NULL);
	if (r >= 0)
		r = r == 2 ? blm_bank_verify(bank, NULL, NULL) : -EILSEQ;
	blm_bank_close(bank);
	return (int)r;
}

static int export_bank(struct world *w)
{
	struct blm_bank *bank;
	int r = blm_bank_open(&bank, "bank");

	if (r < 0)
		return r;
	r = blm_bank_export_fps(bank, ignore_bytes, NULL);
	blm_bank_close(bank);
	return r;
}

/* ---- The cases ---- */

enum {
	IN_PATH = 1 << PATH, IN_STORE = 1 << STORE, IN_MEMORY = 1 << MEMORY, EVERYWHERE = 7,
	OPEN_F = 8, OPEN_G = 16, READ_F = 32,	/* "a" is open to write, "b" to read; "a" to read only */
	NO_STORE = 64,				/* no handle of the store is open during the call */
	FORKED = 256,				/* the call is a child's, which leaves what LMDB has of its parent's */
	TWO_STEPS = 128,			/* the first half of its work may be done when it fails; a repair, or the same call, ends it */
};

static const struct one_case {
	const char *name;
	unsigned how;
	int (*call)(struct world *w);
	void (*before)(struct world *w);
	int a, new;		/* what becomes of "a", and of the new filter, if it is done; 0: as before, none */
} cases[] = {
	{ "create", EVERYWHERE, create, NULL, 0, EMPTY },
	{ "create-keyed", EVERYWHERE, create_keyed, NULL, 0, EMPTY },
	{ "create-secret", EVERYWHERE, create_with_new_secret, NULL, 0, EMPTY },
	{ "create-sparse", EVERYWHERE, create_sparse, NULL, 0, EMPTY },
	{ "create-over", IN_PATH | IN_STORE, create_over, NULL, EMPTY, 0 },
	{ "open-read", IN_PATH | IN_STORE, open_to_read, NULL, 0, 0 },
	{ "open-write", IN_PATH | IN_STORE, open_to_write, NULL, 0, 0 },
	{ "open-keyed", IN_PATH | IN_STORE, open_keyed, NULL, 0, 0 },
	{ "open-secret", IN_PATH | IN_STORE, open_with_secret, NULL, 0, 0 },
	{ "add", EVERYWHERE | OPEN_F, add, NULL, 0, 0 },
	{ "add-and-sync", IN_PATH | IN_STORE | OPEN_F, add_and_sync, NULL, 0, 0 },
	{ "add-to-replaced", IN_PATH | IN_STORE | OPEN_F, add, make_replacement, 0, 0 },
	{ "claim", EVERYWHERE | OPEN_F, claim, NULL, 0, 0 },
	{ "claim-in-replaced", IN_PATH | IN_STORE | OPEN_F, claim, make_replacement, 0, 0 },
	{ "add-in-child", IN_PATH | IN_STORE | OPEN_F | FORKED, add, fork_it, 0, 0 },
	{ "claim-in-child", IN_PATH | IN_STORE | OPEN_F | FORKED, claim, fork_it, 0, 0 },
	{ "add-to-replaced-in-child", IN_PATH | IN_STORE | OPEN_F | FORKED, add, fork_and_replace, 0, 0 },
	{ "claim-in-replaced-in-child", IN_PATH | IN_STORE | OPEN_F | FORKED, claim, fork_and_replace, 0, 0 },
	{ "contains", EVERYWHERE | OPEN_F | READ_F, ask, NULL, 0, 0 },
	{ "contains-in-replaced", IN_PATH | IN_STORE | OPEN_F | READ_F, ask, make_replacement, 0, 0 },
	{ "load", EVERYWHERE | OPEN_F | READ_F, load, NULL, 0, 0 },
	{ "sync", EVERYWHERE | OPEN_F, sync_it, NULL, 0, 0 },
	{ "sync-in-child", IN_PATH | IN_STORE | OPEN_F | FORKED, sync_it, fork_it, 0, 0 },
	{ "sync-replaced-in-child", IN_PATH | IN_STORE | OPEN_F | FORKED, sync_it, fork_and_replace, 0, 0 },
	{ "clear-in-child", IN_PATH | IN_STORE | OPEN_F | FORKED, clear, fork_it, EMPTY, 0 },
	{ "find-in-child", IN_STORE | FORKED, find, fork_it, 0, 0 },
	{ "info", EVERYWHERE | OPEN_F, info, NULL, 0, 0 },
	{ "estimate", EVERYWHERE | OPEN_F, estimate, NULL, 0, 0 },
	{ "compare", IN_PATH | OPEN_F | OPEN_G, compare, NULL, 0, 0 },
	{ "count", IN_PATH | OPEN_F | OPEN_G, count_estimated, unite_before, BOTH, 0 },
	{ "data", IN_PATH | IN_STORE | OPEN_F, unite_raw, NULL, 0, 0 },
	{ "template", EVERYWHERE | OPEN_F, template, NULL, 0, EMPTY },
	{ "copy", EVERYWHERE | OPEN_F, copy, NULL, 0, FIRST },
	{ "union", EVERYWHERE | OPEN_F | OPEN_G, unite, NULL, 0, BOTH },
	{ "intersection", EVERYWHERE | OPEN_F | OPEN_G, intersect, NULL, 0, SHARED },
	{ "union-into", EVERYWHERE | OPEN_F | OPEN_G, unite_into, NULL, BOTH, 0 },
	{ "intersection-into", EVERYWHERE | OPEN_F | OPEN_G, intersect_into, NULL, SHARED, 0 },
	{ "clear", EVERYWHERE | OPEN_F, clear, NULL, EMPTY, 0 },
	{ "seal", EVERYWHERE | OPEN_F, seal, NULL, FIRST, 0 },
	{ "rebuild", IN_PATH | IN_STORE, rebuild, NULL, SECOND, 0 },
	{ "rebuild-open", IN_STORE | OPEN_F, rebuild, NULL, SECOND, 0 },
	{ "build", EVERYWHERE, build, NULL, 0, SECOND },
	{ "build-over", IN_PATH | IN_STORE, build_over, NULL, SECOND, 0 },
	{ "publish", IN_STORE | OPEN_F, publish, NULL, 0, FIRST },
	{ "publish-over", IN_STORE | OPEN_G, publish_over, NULL, SECOND, 0 },
	{ "rename", IN_STORE | TWO_STEPS, rename_it, NULL, GONE, FIRST },
	{ "drop", IN_STORE, drop, NULL, GONE, 0 },
	{ "drop-open", IN_STORE | OPEN_F, drop, NULL, GONE, 0 },
	{ "drop-cut", IN_STORE | TWO_STEPS, drop, cut_filter, GONE, 0 },
	{ "drop-keyed", IN_STORE, drop, as_keyed, GONE, 0 },
	{ "drop-keyed-open", IN_STORE | OPEN_F, drop, as_keyed, GONE, 0 },
	{ "label", IN_STORE, label, NULL, 0, 0 },
	{ "find", IN_STORE, find, NULL, 0, 0 },
	{ "list", IN_STORE, list, NULL, 0, 0 },
	{ "verify", IN_PATH | IN_STORE, verify, NULL, 0, 0 },
	{ "repair", IN_PATH | IN_STORE | TWO_STEPS, verify_damaged, damage, BOTH, 0 },
	{ "store-create", IN_STORE | NO_STORE, open_new_store, NULL, 0, 0 },
	{ "store-open", IN_STORE | NO_STORE, open_store, NULL, 0, 0 },
	{ "store-open-read", IN_STORE | NO_STORE, open_store_to_read, NULL, 0, 0 },
	{ "store-verify", IN_STORE | NO_STORE, verify_store, NULL, 0, 0 },
	{ "store-repair", IN_STORE | NO_STORE | TWO_STEPS, repair_store, damage, BOTH, 0 },
	{ "store-repair-stray", IN_STORE | NO_STORE | TWO_STEPS, repair_store, leave_stray, 0, 0 },
	{ "store-repair-record", IN_STORE | NO_STORE | TWO_STEPS, repair_store, spoil_record, 0, 0 },
	{ "store-repair-lost", IN_STORE | NO_STORE | TWO_STEPS, repair_store, lose_catalog, 0, 0 },
	{ "store-repair-cut", IN_STORE | NO_STORE | TWO_STEPS, repair_store, cut_catalog, 0, 0 },
	{ "store-repair-old", IN_STORE | NO_STORE | TWO_STEPS, repair_store, put_catalog_back, 0, FIRST },
	{ "import", EVERYWHERE, import_plain, NULL, 0, FIRST },
	{ "import-gzip", EVERYWHERE, import_gzip, NULL, 0, FIRST },
	{ "import-text", EVERYWHERE, import_text, NULL, 0, FIRST },
	{ "import-foreign", EVERYWHERE, import_foreign, NULL, 0, FIRST },
	{ "import-foreign-text", IN_PATH, import_foreign_text, NULL, 0, FIRST },
	{ "import-bytes", IN_PATH | OPEN_F, import_bytes, export_first, 0, FIRST },
	{ "export", IN_PATH | IN_STORE | OPEN_F, export_file, NULL, 0, 0 },
	{ "export-to-function", IN_PATH | OPEN_F, export_to_function, NULL, 0, 0 },
	{ "export-over", IN_PATH | OPEN_G, export_over, NULL, SECOND, 0 },
	{ "export-bytes", IN_PATH | OPEN_F, export_bytes, NULL, 0, 0 },
	{ "export-text", IN_PATH | OPEN_F, export_text, NULL, 0, 0 },
	{ "open-foreign", IN_PATH, open_foreign, NULL, 0, 0 },
	{ "stream", IN_MEMORY, stream, NULL, 0, 0 },
	{ "cuckoo-add", IN_PATH | IN_STORE | OPEN_F, add_second, as_cuckoo, BOTH, 0 },
	{ "cuckoo-remove", IN_PATH | IN_STORE | OPEN_F, remove_first, as_cuckoo, SHARED, 0 },
	{ "cuckoo-sync", IN_PATH | IN_STORE | OPEN_F, sync_it, as_cuckoo, 0, 0 },
	{ "cuckoo-sync-in-child", IN_PATH | OPEN_F | FORKED, sync_it, as_cuckoo_forked, 0, 0 },
	{ "cuckoo-copy", IN_PATH | OPEN_F, copy, as_cuckoo, 0, FIRST },
	{ "cuckoo-clear", IN_STORE | OPEN_F, clear, as_cuckoo, EMPTY, 0 },
	{ "cuckoo-seal", IN_PATH | OPEN_F, seal, as_cuckoo, FIRST, 0 },
	{ "cuckoo-verify", IN_PATH, verify, as_cuckoo, 0, 0 },
	{ "cuckoo-add-and-sync", IN_PATH | IN_STORE | OPEN_F, add_second_and_sync, as_cuckoo, BOTH, 0 },
	{ "cuckoo-export", IN_PATH | IN_STORE | OPEN_F, export_file, as_cuckoo, 0, 0 },
	{ "cuckoo-export-bytes", IN_PATH | OPEN_F, export_bytes, as_cuckoo, 0, 0 },
	{ "cuckoo-cut-open-read", IN_PATH, open_to_read, as_cut_cuckoo, 0, 0 },
	{ "cuckoo-cut-open-write", IN_PATH | IN_STORE, open_to_write, as_cut_cuckoo, 0, 0 },
	{ "redis-cuckoo-add", IN_PATH | OPEN_F, add_second, as_redis_cuckoo, BOTH, 0 },
	{ "redis-cuckoo-remove", IN_STORE | OPEN_F, remove_first, as_redis_cuckoo, SHARED, 0 },
	{ "redis-cuckoo-sync", IN_PATH | OPEN_F, sync_it, as_redis_cuckoo, 0, 0 },
	{ "iblt-add", IN_PATH | IN_STORE | OPEN_F, add_second, as_iblt, BOTH, 0 },
	{ "iblt-remove", IN_PATH | OPEN_F, remove_first, as_iblt, SHARED, 0 },
	{ "iblt-sync", IN_PATH | IN_STORE | OPEN_F, sync_it, as_iblt, 0, 0 },
	{ "iblt-cut-open-read", IN_PATH, open_to_read, as_cut_iblt, 0, 0 },
	{ "iblt-cut-open-write", IN_PATH | IN_STORE, open_to_write, as_cut_iblt, 0, 0 },
	{ "iblt-differences", IN_PATH | IN_STORE | OPEN_F | OPEN_G, list_differences, as_two_iblt, 0, 0 },
	{ "iblt-difference", IN_PATH | OPEN_F | OPEN_G, estimate_difference, as_two_iblt, 0, 0 },
	{ "counting-add", IN_PATH | OPEN_F, add_second, as_counting, BOTH, 0 },
	{ "counting-remove", IN_STORE | OPEN_F, remove_first, as_counting, SHARED, 0 },
	{ "counting-union-into", IN_PATH | IN_STORE | OPEN_F | OPEN_G, unite_into, as_two_counting, BOTH, 0 },
	{ "counting-data", IN_PATH | OPEN_F, unite_raw, as_counting, 0, 0 },
	{ "counting-convert", IN_PATH | IN_STORE | OPEN_F, convert, as_counting, 0, FIRST },
	{ "d-left-remove", IN_PATH | OPEN_F, remove_first, as_d_left, SHARED, 0 },
	{ "d-left-grow", IN_PATH | IN_STORE | OPEN_F, grow, as_d_left, FIRST, 0 },
	{ "scalable-grow", IN_PATH | IN_STORE | OPEN_F, add_second, as_scalable, BOTH, 0 },
	{ "scalable-contains", IN_PATH | OPEN_F | READ_F, ask, as_scalable, 0, 0 },
	{ "scalable-add-and-sync", IN_PATH | IN_STORE | OPEN_F, add_second_and_sync, as_scalable, BOTH, 0 },
	{ "scalable-union-into", IN_PATH | IN_STORE | OPEN_F | OPEN_G, unite_into, as_two_scalable, BOTH, 0 },
	{ "removable-remove", IN_PATH | OPEN_F, remove_first, as_removable, SHARED, 0 },
	{ "window-add", IN_PATH | OPEN_F, add_second, as_window, BOTH, 0 },
	{ "window-rotate", IN_PATH | IN_STORE | OPEN_F, rotate, as_window, FIRST, 0 },
	{ "attenuated-advance", IN_STORE | OPEN_F, advance, as_attenuated, FIRST, 0 },
	{ "split-block-fold", IN_PATH | OPEN_F, fold, as_split_block, 0, FIRST },
	{ "golomb-build", EVERYWHERE, build_golomb, NULL, 0, SECOND },
	{ "fuse-build", IN_PATH | IN_MEMORY, build_fuse, NULL, 0, SECOND },
	{ "ribbon-build", IN_STORE, build_ribbon, NULL, 0, SECOND },
	{ "bloomier-build", IN_PATH, build_bloomier, NULL, 0, SECOND },
	{ "scalable-build", IN_PATH | IN_STORE, build_scalable, NULL, 0, SECOND },
	{ "cuckoo-build-over", IN_PATH | IN_STORE, build_counted_over, NULL, SECOND, 0 },
	{ "golomb-open-read", IN_PATH | IN_STORE, open_to_read, as_golomb, 0, 0 },
	{ "golomb-merge", IN_PATH | IN_STORE | OPEN_F | OPEN_G, merge, both_as_golomb, 0, BOTH },
	{ "golomb-merge-in-memory", IN_MEMORY | OPEN_F | OPEN_G, merge, both_as_golomb_in_memory, 0, BOTH },
	{ "golomb-update", IN_PATH | IN_STORE, update, as_golomb, SECOND, 0 },
	{ "golomb-update-keyed", IN_PATH | IN_STORE, update, as_keyed_golomb, SECOND, 0 },
	{ "allow", IN_STORE | OPEN_F, allow, NULL, 0, 0 },
	{ "allow-listed", IN_STORE | OPEN_F, spare_and_list, allow_before, 0, 0 },
	{ "disallow", IN_STORE | OPEN_F, disallow, allow_before, 0, 0 },
	{ "add-to-listed", IN_STORE | OPEN_F, add, allow_before, 0, 0 },
	{ "allow-many", IN_STORE | OPEN_F, allow_many, add_second_before, BOTH, 0 },
	{ "add-many-to-listed", IN_STORE | OPEN_F, add_many, allow_many_before, BOTH, 0 },
	{ "rebuild-listed", IN_STORE | OPEN_F, rebuild, allow_before, SECOND, 0 },
	{ "claim-in-listed", IN_STORE | OPEN_F, claim_listed, allow_before, 0, 0 },
	{ "union-into-listed", IN_STORE | OPEN_F | OPEN_G, unite_into, allow_before, BOTH, 0 },
	{ "clear-listed", IN_STORE | OPEN_F, clear, allow_before, EMPTY, 0 },
	{ "drop-listed", IN_STORE | OPEN_F, drop, allow_before, GONE, 0 },
	{ "store-verify-listed", IN_STORE | OPEN_F, verify_store, allow_before, 0, 0 },
	{ "store-repair-listed", IN_STORE | OPEN_F | TWO_STEPS, repair_store, allow_before, 0, 0 },
	{ "bank-build", IN_PATH | OPEN_F | OPEN_G, build_bank, NULL, 0, 0 },
	{ "bank-build-of-fps", IN_PATH, build_bank_of_fps, NULL, 0, 0 },
	{ "bank-ask", IN_PATH | OPEN_F | OPEN_G, ask_bank, build_bank_before, 0, 0 },
	{ "bank-export", IN_PATH, export_bank, build_bank_of_fps_before, 0, 0 },
};

/* ---- One run ---- */

/* What a run's process leaves to the one that started it. */
static struct shared {
	long calls[FAULT_CALLS], failed;
	int result;
	unsigned findings;
	unsigned long runs;
} *shared;

static char run_name[200];
static unsigned told;

static void __attribute__((format(printf, 1, 2))) finding(const char *format, ...)
{
	char words[400];
	va_list ap;

	va_start(ap, format);
	vsnprintf(words, sizeof(words), format, ap);
	va_end(ap);
	shared->findings++;
	if (told++ < TOLD_MOST)
		printf("# %s: %s\n", run_name, words);
}

static int entries_of(const char *folder, bool (*counts)(const char *name))
{
	DIR *entries = opendir(folder);
	int n = 0;

	for (struct dirent *e; entries && (e = readdir(entries)); )
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && (!counts || counts(e->d_name));
	if (entries)
		closedir(entries);
	return n;
}

static bool is_temporary(const char *name)
{
	return !strncmp(name, ".bloomery-", 10) || strstr(name, ".mdb.new");
}

static int maps_of_filters(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[600];
	int n = 0;

	while (maps && fgets(line, sizeof(line), maps))
		n += strstr(line, "bloomery-fault-") || strstr(line, "memfd:bloomery");
	if (maps)
		fclose(maps);
	return n;
}

struct owned {
	int descriptors, maps;
	long allocated, mapped;
};

static struct owned owned(void)
{
	return (struct owned){
		.descriptors = entries_of("/proc/self/fd", NULL), .maps = maps_of_filters(), .allocated = fault.allocated, .mapped = fault.mapped,
	};
}

static void check_owned(const struct owned *before)
{
	struct owned now = owned();

	if (now.descriptors != before->descriptors)
		finding("%d descriptors are open, %d before", now.descriptors, before->descriptors);
	if (now.allocated != before->allocated)
		finding("%+ld allocations are left", now.allocated - before->allocated);
	if ((now.mapped != before->mapped || now.maps != before->maps) && !fault.failed[FAULT_UNMAP])
		finding("%+ld maps are left, %+d of filters", now.mapped - before->mapped, now.maps - before->maps);
}

static bool failed_at(enum fault_call call)
{
	return fault.failed[call] > 0;
}

static void tell(void *context, const struct blm_finding *found)
{
	if (!found->repaired)
		finding("verify: %s: %s", found->file, found->what);
}

/* Of a filter that is sealed, or was built. */
static bool never_takes_keys(int r)
{
	return r == -EROFS || r == -EOPNOTSUPP;
}

/* What a name holds, asked in a handle of its own, which also takes a key. */
static int state_of(struct blm_store *store, const char *name, bool may_add)
{
	struct blm_filter *f;
	int r = blm_open(&f, store, name, may_add), what;

	if (r == -ENOENT)
		return GONE;
	if (r < 0) {
		finding("%s does not open: %s", name, blm_why());
		return OTHER;
	}
	what = what_it_holds(f);
	if (may_add && (r = blm_add(f, "after", 5)) < 0 && !never_takes_keys(r))
		finding("%s takes no key: %s", name, blm_why());
	if (may_add && r >= 0 && !blm_contains(f, "after", 5))
		finding("%s denies a key that it took", name);
	blm_close(f);
	return what;
}

static void expect(struct blm_store *store, const char *name, int allowed)
{
	int what = state_of(store, name, true);

	if (!(what & allowed)) {
		char wanted[100];

		snprintf(wanted, sizeof(wanted), "%s", words_for(allowed));
		finding("%s is%s, not%s", name, words_for(what), wanted);
	}
}

static void check_store(const struct one_case *c)
{
	struct blm_store *store;
	int listed = 0, r = blm_store_open(&store, "s", 0);

	if (r < 0) {
		finding("the store does not open: %s", blm_why());
		return;
	}
	r = blm_store_list(store, NULL, count_one, &listed);
	if (r < 0)
		finding("the store does not list: %s", blm_why());
	/* where deleting is what failed, a file is left, which a repair then finds */
	if (failed_at(FAULT_UNLINK) || c->how & TWO_STEPS)
		blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL);
	else if (entries_of("s/filters", NULL) != listed)
		finding("%d files of %d filters", entries_of("s/filters", NULL), listed);
	if (c->before == as_keyed && !shared->failed && entries_of("s/keys", NULL) != 1)	/* but where it cannot be deleted, or looked for */
		finding("%d secrets, where one filter has one", entries_of("s/keys", NULL));
	/* a damaged file is never deleted but by who drops it, and told of for ever where he cannot */
	r = blm_store_verify("s", 0, c->before == cut_filter && failed_at(FAULT_UNLINK) ? NULL : tell, NULL);
	if (r < 0)
		finding("the store cannot be verified: %s", blm_why());
	blm_store_close(store);
}

static void check_folders(void)
{
	static const char *const folders[] = { ".", "s/filters", "s/catalog", "s/keys", "fresh/s/catalog" };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (entries_of(folders[i], is_temporary) && !failed_at(FAULT_UNLINK))
			finding("a temporary file is left in %s", folders[i]);
}

/* What the call made or gave back. */
static void check_made(const struct one_case *c, struct world *w, int r)
{
	int what;

	if (r < 0 || !w->made)
		return;
	what = what_it_holds(w->made);
	if (c->new && what != c->new)
		finding("the new filter is%s", words_for(what));
}

/* What the call was to change is as it should be, at the latest since it was made again; all else is as it was. */
static void check_names(const struct one_case *c, const struct world *w)
{
	struct blm_store *store = NULL;
	int a = c->a ? c->a : FIRST, new = c->new && w->where != MEMORY ? c->new : GONE;

	expect(NULL, "a", w->where == PATH ? a : FIRST);
	expect(NULL, "b", SECOND);
	expect(NULL, "keyed", FIRST);
	expect(NULL, "new", w->where == PATH ? new : GONE);
	if (blm_store_open(&store, "s", 0) < 0)
		return;		/* told already */
	expect(store, "a", w->where == STORE ? a : FIRST);
	expect(store, "b", SECOND);
	expect(store, "keyed", FIRST);
	expect(store, "new", w->where == STORE ? new : GONE);
	blm_store_close(store);
}

/* The handle that the call went through goes on as if nothing had happened. */
static void check_handle(const struct one_case *c, struct world *w, int r)
{
	int allowed = (c->a ? c->a : FIRST) | (r < 0 ? FIRST : 0), what;

	if (!w->f || allowed & GONE)
		return;
	what = what_it_holds(w->f);
	if (!(what & allowed))
		finding("the handle says%s", words_for(what));
	if (c->how & READ_F)
		return;
	r = blm_add(w->f, "through the handle", 18);
	if (r < 0 && !never_takes_keys(r))
		finding("the handle takes no key: %s", blm_why());
	r = r < 0 ? 0 : blm_sync(w->f);
	if (r < 0)
		finding("the handle cannot be synced: %s", blm_why());
}

/* The store's handle, too: a commit that failed must not be the last. */
static void check_store_handle(const struct one_case *c, struct world *w)
{
	int r;

	if (!w->store || c->how & NO_STORE)
		return;
	r = blm_create(NULL, w->store, "later", &small);
	if (r == 0)
		r = blm_store_drop(w->store, "later");
	if (r < 0)
		finding("the store's handle is of no more use: %s", blm_why());
}

/* What a call that failed leaves: what was, or what should be, and nothing between. */
static void check_half(const struct one_case *c, const struct world *w)
{
	struct blm_store *store = NULL;

	if (w->where == MEMORY || (c->how & TWO_STEPS && c->call != rename_it))
		return;
	if (w->where == STORE && blm_store_open(&store, "s", 0) < 0) {
		finding("the store does not open: %s", blm_why());
		return;
	}
	expect(store, "a", FIRST | c->a);
	expect(store, "new", c->new ? GONE | c->new : GONE);
	blm_store_close(store);
}

/* What failed can be done now, unless it was done after all. */
static void check_again(const struct one_case *c, struct world *w, int r)
{
	int again;

	if (r >= 0 && !(c->call == repair_store && shared->failed))
		return;
	w->made = blm_close(w->made);
	check_half(c, w);
	if (c->call == open_new_store || c->call == open_store || c->call == open_store_to_read)
		w->store = blm_store_close(w->store);
	again = c->call(w);
	if (again < 0 && !(again == -EEXIST && (c->new || c->call == export_file)) && !(again == -ENOENT && c->a & GONE)
	    && !(again == -EROFS && c->call == seal))
		finding("fails again, though nothing does any more: %s (at first: %d)", blm_why(), r);
}

static void begin_world(const struct one_case *c, struct world *w)
{
	const char *a = w->where == MEMORY ? NULL : "a", *b = w->where == MEMORY ? NULL : "b";

	if (w->where == STORE && !(c->how & NO_STORE))
		FIXTURE(blm_store_open(&w->store, "s", 0));
	if (c->how & OPEN_F && a)
		FIXTURE(blm_open(&w->f, w->store, a, !(c->how & READ_F)));
	if (c->how & OPEN_G && b)
		FIXTURE(blm_open(&w->g, w->store, b, false));
	if (c->how & OPEN_F && !a) {
		FIXTURE(blm_create(&w->f, NULL, NULL, &small));
		FIXTURE(add_keys(w->f, 0, KEYS));
	}
	if (c->how & OPEN_G && !b) {
		FIXTURE(blm_template(&w->g, NULL, NULL, w->f, 0));
		FIXTURE(add_keys(w->g, COMMON, 300));
	}
	if (c->before)
		c->before(w);
}

static void end_world(struct world *w)
{
	w->made = blm_close(w->made);
	w->f = blm_close(w->f);
	w->g = blm_close(w->g);
	w->store = blm_store_close(w->store);
	blm_free(w->bytes);
}

static bool storm;	/* signals interrupt the call all the time */

static void ignore(int signal)
{
}

/* A handler without SA_RESTART: whatever the system interrupts, it leaves to the library to go on with. */
static timer_t begin_storm(void)
{
	const struct itimerspec often = { { 0, 50000 }, { 0, 50000 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_t timer;

	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = ignore }, NULL);
	FIXTURE(timer_create(CLOCK_MONOTONIC, &event, &timer));
	FIXTURE(timer_settime(timer, 0, &often, NULL));
	return timer;
}

static int call_it(const struct one_case *c, struct world *w)
{
	timer_t timer = NULL;
	int r;

	if (storm)
		timer = begin_storm();
	blm_fail(0, "%s", "");
	fault.armed = true;
	r = c->call(w);
	fault.armed = false;
	if (storm)
		timer_delete(timer);
	return r;
}

static void run(const struct one_case *c, enum where where)
{
	struct world w = { .where = where };
	struct owned before = owned();
	int r;

	begin_world(c, &w);
	r = call_it(c, &w);
	shared->result = r;
	memcpy(shared->calls, fault.calls, sizeof(fault.calls));
	shared->failed = fault_all_failed();
	if (r < 0 && !*blm_why())
		finding("%d without words", r);
	if (r < -4095)
		finding("%d is no errno value", r);
	if (r < 0 && !shared->failed)
		finding("fails though nothing did: %s", blm_why());
	if (r == -EILSEQ)
		finding("a wrong answer");
	check_made(c, &w, r);
	check_handle(c, &w, r);
	check_store_handle(c, &w);
	check_again(c, &w, r);
	end_world(&w);
	if (!(c->how & FORKED))
		check_owned(&before);
	check_store(c);
	check_folders();
	check_names(c, &w);
}

/* ---- A folder for each run ---- */

static struct file { char *path; mode_t mode; char *bytes; size_t count; } files[64];
static unsigned file_count;

static int remember(const char *path, const struct stat *st, int type, struct FTW *at)
{
	struct file *f = &files[file_count++];
	FILE *in;

	*f = (struct file){ .path = strdup(path), .mode = st->st_mode & 0777, .bytes = NULL };
	if (type != FTW_F)
		return 0;
	in = fopen(path, "re");
	f->bytes = malloc((size_t)st->st_size + 1);
	f->count = fread(f->bytes, 1, (size_t)st->st_size, in);
	fclose(in);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static void lay_out(void)
{
	for (unsigned i = 1; i < file_count; i++) {
		const struct file *f = &files[i];
		int fd;

		if (!f->bytes) {
			FIXTURE(mkdir(f->path, f->mode));
			continue;
		}
		fd = open(f->path, O_WRONLY | O_CREAT | O_CLOEXEC, f->mode);
		FIXTURE(fd < 0 || write(fd, f->bytes, f->count) != (ssize_t)f->count ? -EIO : 0);
		close(fd);
	}
}

static void begin_run(void)
{
	FIXTURE(mkdir("run", 0755));
	FIXTURE(chdir("run"));
	lay_out();
}

static void end_run(void)
{
	FIXTURE(chdir(".."));
	nftw("run", remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

/* One run in a process of its own. */
static void run_apart(const struct one_case *c, enum where where, const struct fault *plan)
{
	unsigned before = shared->findings;
	int status;
	pid_t pid;

	begin_run();
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		long allocated = fault.allocated, mapped = fault.mapped;

		fault = *plan;
		fault.allocated = allocated;
		fault.mapped = mapped;
		alarm(RUN_SECONDS);
		run(c, where);
		fflush(stdout);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	end_run();
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		finding("hangs");
	else if (WIFSIGNALED(status))
		finding("ends with signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		finding("the run itself ends with %d", WEXITSTATUS(status));
	else
		told += shared->findings - before;
}

/* ---- All runs of a case ---- */

static bool verbose, each;
static double share = 1;
static unsigned long dice;

static const char *const where_in_words[] = { "at a path", "in a store", "in memory" };

static bool chosen(void)
{
	dice = dice * 6364136223846793005ul + 1442695040888963407ul;
	return (double)(dice >> 33) / 2147483648.0 < share;
}

static const char *error_name(int err)
{
	return err == FAULT_SHORT ? "half" : strerrorname_np(err);
}

static void run_plan(const struct one_case *c, enum where where, const struct fault *plan, long of)
{
	if (plan->mode == FAULT_NOW_AND_THEN)
		snprintf(run_name, sizeof(run_name), "%s %s, one of %ld calls fails, seed %lu", c->name, where_in_words[where], plan->nth, plan->random);
	else if (plan->mode)
		snprintf(run_name, sizeof(run_name), "%s %s, %s, number %ld of %ld%s, %s", c->name, where_in_words[where], fault_name(plan->call),
			 plan->nth, of, plan->mode == FAULT_ONCE ? "" : " and all after", error_name(plan->err));
	else
		snprintf(run_name, sizeof(run_name), "%s %s, %s", c->name, where_in_words[where], storm ? "interrupted all the time" : "nothing fails");
	if (verbose) {
		printf("# %s\n", run_name);
		fflush(stdout);
	}
	run_apart(c, where, plan);
	shared->runs++;
}

static void run_call(const struct one_case *c, enum where where, enum fault_call call, long calls)
{
	for (long n = 1; n <= calls; n++)
		for (unsigned e = 0; fault_errno(call, e); e++)
			for (enum fault_mode mode = FAULT_ONCE; mode <= FAULT_FROM_THEN_ON; mode++)
				if (chosen() || (each && e == 0))
					run_plan(c, where, &(struct fault){ .mode = mode, .call = call, .nth = n,
									    .err = fault_errno(call, e) }, calls);
}

static unsigned run_case(const struct one_case *c, enum where where)
{
	long calls[FAULT_CALLS];
	unsigned before = shared->findings;

	told = 0;
	run_plan(c, where, &(struct fault){ .mode = FAULT_NEVER }, 0);
	if (shared->findings > before)
		return shared->findings - before;	/* the test is wrong, or more than a failure */
	memcpy(calls, shared->calls, sizeof(calls));
	storm = true;
	run_plan(c, where, &(struct fault){ .mode = FAULT_NEVER }, 0);
	storm = false;
	for (enum fault_call call = 0; call < FAULT_CALLS; call++)
		run_call(c, where, call, calls[call]);
	for (unsigned long seed = 1; seed <= 24; seed++)
		if (chosen())
			run_plan(c, where, &(struct fault){ .mode = FAULT_NOW_AND_THEN, .nth = 3 + (long)seed % 8 * 4, .random = seed * 7919 }, 0);
	return shared->findings - before;
}

/* ---- All cases ---- */

/* A case at one of its places: what one process works on, in a folder of its own. Several do so at the same time. */
struct unit {
	const struct one_case *c;
	enum where where;
	struct shared *shared;
	FILE *told;		/* what it says, until its turn to be told of has come */
	pid_t pid;		/* 0: not begun, or ended */
	bool failed;
};

static bool wanted(const char *name, char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return count == 0;
}

static size_t list_units(struct unit *ret, char **names, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (enum where where = PATH; where <= MEMORY; where++)
			if (cases[i].how & 1u << where && wanted(cases[i].name, names, count))
				ret[n++] = (struct unit){ .c = &cases[i], .where = where, .pid = 0 };
	return n;
}

static void begin_unit(struct unit *u)
{
	char folder[32];

	u->told = tmpfile();
	FIXTURE(u->told ? 0 : -errno);
	u->pid = fork();
	FIXTURE(u->pid < 0 ? -errno : 0);
	if (u->pid > 0)
		return;
	FIXTURE(dup2(fileno(u->told), STDOUT_FILENO) < 0 ? -errno : 0);
	snprintf(folder, sizeof(folder), "%td-%d", u->c - cases, (int)u->where);
	FIXTURE(mkdir(folder, 0755));
	FIXTURE(chdir(folder));
	dice = (unsigned long)(u->c - cases) * 4 + u->where;
	shared = u->shared;
	exit(run_case(u->c, u->where) ? EXIT_FAILURE : EXIT_SUCCESS);
}

/* Wait for any of them. */
static void end_unit(struct unit *units, size_t count)
{
	int status;
	pid_t pid = wait(&status);

	for (size_t i = 0; i < count; i++)
		if (units[i].pid == pid) {
			units[i].pid = 0;
			units[i].failed = status != 0;
		}
}

static void tell_of(struct unit *u, size_t number)
{
	char words[4096];
	size_t n;

	rewind(u->told);
	while ((n = fread(words, 1, sizeof(words), u->told)) > 0)
		fwrite(words, 1, n, stdout);
	fclose(u->told);
	printf("%sok %zu - whatever fails under %s %s, it says so and leaves all as it was\n", u->failed ? "not " : "", number, u->c->name,
	       where_in_words[u->where]);
	fflush(stdout);
}

/* So many at the same time; told of in their order. Return: how many failed. */
static unsigned work_through(struct unit *units, size_t count, size_t at_once)
{
	size_t begun = 0, ended = 0, told_of = 0;
	unsigned failed = 0;

	while (told_of < count) {
		for (; begun < count && begun - ended < at_once; begun++)
			begin_unit(&units[begun]);
		end_unit(units, begun);
		ended++;
		for (; told_of < begun && units[told_of].pid == 0; told_of++) {
			tell_of(&units[told_of], told_of + 1);
			failed += units[told_of].failed;
		}
	}
	return failed;
}

static void go_to_work(void)
{
	const char *where = getenv("TMPDIR") ? getenv("TMPDIR") : access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	static char folder[300];
	int status;
	pid_t pid;

	snprintf(folder, sizeof(folder), "%.200s/bloomery-fault-XXXXXX", where);
	FIXTURE(mkdtemp(folder) ? 0 : -errno);
	FIXTURE(chdir(folder));
	FIXTURE(mkdir("fixture", 0755));
	FIXTURE(chdir("fixture"));
	pid = fork();
	if (pid == 0) {
		make_fixture();
		_exit(0);
	}
	FIXTURE(waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -EIO);
	nftw(".", remember, 32, FTW_PHYS);
	FIXTURE(chdir(folder));
}

int main(int argc, char **argv)
{
	static struct unit units[3 * ARRAY_LEN(cases)];
	const char *scale = getenv("BLOOMERY_TEST_SCALE");
	unsigned long at_once = 1, runs = 0, findings = 0;
	struct shared *all;
	char folder[300];
	unsigned failed;
	size_t count;
	int option;

	share = scale && !strcmp(scale, "full") ? 1 : scale ? atof(scale) * 0.05 : 0.05;
	while ((option = getopt(argc, argv, "evj:")) != -1) {
		verbose |= option == 'v';
		each |= option == 'e';
		if (option == 'j')
			at_once = strtoul(optarg, NULL, 10);
		if (option == '?' || at_once == 0)
			return EXIT_FAILURE;
	}
	go_to_work();
	count = list_units(units, argv + optind, (size_t)(argc - optind));
	all = mmap(NULL, (count + 1) * sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	FIXTURE(all == MAP_FAILED ? -errno : 0);
	for (size_t i = 0; i < count; i++)
		units[i].shared = &all[i];
	failed = work_through(units, count, at_once);
	for (size_t i = 0; i < count; i++) {
		runs += all[i].runs;
		findings += all[i].findings;
	}
	printf("1..%zu\n# %lu runs, %lu findings\n", count, runs, findings);
	FIXTURE(getcwd(folder, sizeof(folder)) && chdir("/") == 0 ? 0 : -EIO);
	nftw(folder, remove_one, 32, FTW_DEPTH | FTW_PHYS);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
