/*
 * open.c - whatever the bytes of a file are, opening, asking and changing it must not go wrong
 *
 * The input: a byte that says which real file, one of choices, then patches of that file, each
 * {offset, 2 bytes; how many bytes, 1; the bytes}; or, if FROM_NOTHING is chosen, the file itself.
 * So a few bytes of input reach deep. The real files are some that are filled one by one, then one
 * of each kind that is built from all its keys, then one of each other kind. The clock stands
 * still, and random numbers are the same every time.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "bloomery.h"
#include "dice.h"
#include "file/mapping.h"
#include "handle/handle.h"
#include "held.h"
#include "../kinds.h"
#include "kind/common/clock.h"
#include "patch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	/*
	 * make the records of the first block, in front of its part, of its checkpoint image and of
	 * its journal, agree with the data there
	 */
	/* change a copy in memory, which can be replaced, and not the file */
	/* the real file for which there is a secret: to keep one costs more than the rest */
	/*
	 * and the checksums of the part table, of the first block's record, and of the sync records
	 */
	MEND_BLOCK = 1 << 0,
	ONLY_COPY = 1 << 1,
	BASES_MAX = 48,
	KEYED = 3,
	MEND_CONSTANT = 1 << 2,	/* make the checksum of page 0 right again */
	MEND_TEMPLATE = 1 << 3,	/* and the template id */
	MEND_PARTS = 1 << 4,
	WRITE = 1 << 5,
	CUT = 1 << 6,		/* the last two bytes of input say how much is cut off the end */
	FROM_NOTHING = 1 << 7,
	BYTES_MAX = 64 << 10,
	GROWN_MAX = 8 << 20,	/* what a file may come to: it says itself how often it grows */
};

static const struct blm_params bases[] = {
	BLM_PARAMS(.kind = "blocked", .capacity = 100, .rate = 0.01),
	BLM_PARAMS(.kind = "classic", .hash = "mm3_64", .cells = 1001, .probes = 7),
	BLM_PARAMS(.kind = "classic", .hash = "murmur3-bip37", .cells = 999, .probes = 11,
		   .tweak = 5),
	BLM_PARAMS(.kind = "blocked", .hash = "siphash", .capacity = 50, .rate = 0.001),
	BLM_PARAMS(.kind = "split-block", .capacity = 50, .rate = 0.01),
	BLM_PARAMS(.kind = "bitmap", .cells = 2000),
	BLM_PARAMS(.kind = "hash-compact", .capacity = 50, .options = "signature-bits=12"),
	BLM_PARAMS(.kind = "counting", .capacity = 50, .rate = 0.01),
	BLM_PARAMS(.kind = "counting", .cells = 1001, .probes = 5, .options = "bits=3"),
	BLM_PARAMS(.kind = "approximator", .capacity = 50, .rate = 0.05),
	BLM_PARAMS(.kind = "approximator", .cells = 100, .probes = 3,
		   .options = "bits=21,lattice=min"),
	BLM_PARAMS(.kind = "cuckoo", .cells = 200, .rate = 0.01),
	BLM_PARAMS(.kind = "cuckoo", .capacity = 100, .rate = 1e-6, .no_checkpoint = true),
	BLM_PARAMS(.kind = "d-left", .capacity = 50, .rate = 0.01, .options = "spare=1"),
	BLM_PARAMS(.kind = "recent", .capacity = 100, .rate = 0.01, .options = "spare=1"),
	BLM_PARAMS(.kind = "recent", .cells = 200, .rate = 1e-6, .options = "span=3600,tick=1",
		   .no_checkpoint = true),
	BLM_PARAMS(.kind = "iblt", .capacity = 10, .options = "key-bytes=40"),
	BLM_PARAMS(.kind = "iblt", .cells = 12, .options = "key-bytes=64", .no_checkpoint = true),
	BLM_PARAMS(.kind = "stable", .cells = 4000, .probes = 4, .rate = 0.1, .options = "bits=2"),
	BLM_PARAMS(.kind = "scalable", .capacity = 10, .rate = 0.05),
	BLM_PARAMS(.kind = "removable", .capacity = 50, .rate = 0.05),
	BLM_PARAMS(.kind = "window", .capacity = 60, .rate = 0.05, .options = "slots=3"),
	BLM_PARAMS(.kind = "window", .capacity = 60, .rate = 0.05, .options = "slots=2,span=60"),
	BLM_PARAMS(.kind = "attenuated", .capacity = 50, .rate = 0.1, .options = "depth=3"),
	BLM_PARAMS(.kind = "redis-cuckoo", .cells = 96, .options = "bucket-size=3,expansion=2"),
	BLM_PARAMS(.kind = "redis-cuckoo", .capacity = 100, .rate = 0.05, .no_checkpoint = true),
	BLM_PARAMS(.kind = "cuckoo", .cells = 200, .rate = 0.01, .options = "layout=buckets"),
};
static const uint8_t secret[BLM_SECRET_BYTES] = "a fuzzer's own";
static uint8_t *base[BASES_MAX];
static size_t base_bytes[BASES_MAX];
static unsigned base_count;
static char folder[] = "/dev/shm/bloomery-fuzz-XXXXXX";
/* one for each real file, and one that is made from nothing: so most keep their size */
static struct held files[BASES_MAX + 1];

/* The file becomes the next base, and goes. */
static void take_base(const char *path)
{
	char key[64];

	must(base_count < BASES_MAX);
	base[base_count] = take_file(path, BYTES_MAX, &base_bytes[base_count]);
	base_count++;
	snprintf(key, sizeof(key), "%s.key", path);
	unlink(key);
}

/*
 * What every kind has something in: some more than once, some taken out again, and more parts where
 * it grows.
 */
static void fill(struct blm_filter *f)
{
	char key[8] = "key";

	for (int i = 0; i < 40; i++) {
		blm_add(f, key, strlen(key));
		blm_put(f, key, strlen(key), (uint64_t)i % 3);
		snprintf(key, sizeof(key), "%d", i);
	}
	blm_remove(f, "5", 1);
	blm_rotate(f);
	blm_add(f, "key", 3);
}

static void make_base(const char *path, struct blm_params params)
{
	struct blm_filter *f;

	if (params.hash && !strcmp(params.hash, "siphash"))
		params.secret = secret;
	must(blm_create(&f, NULL, path, &params) == 0);
	fill(f);
	must(blm_sync(f) == 0);
	blm_close(f);
	take_base(path);
}

/* The keys that it denied are its keys now, so that it has two layers. */
static void update_base(const char *path, const struct blm_key *keys, size_t count)
{
	struct blm_update *u;
	uint64_t old;

	must(blm_update_begin(&u, NULL, path, NULL, NULL) == 0);
	must(blm_update_add_many(u, keys, count + 1) == 0);
	for (old = 0; old < count; old++)
		must(blm_update_remove_many(u, &(struct blm_key){ &old, sizeof(old) }, 1) == 0);
	must(blm_update_remove_many(u, &(struct blm_key){ &(uint64_t){ 77 }, sizeof(old) }, 1)
	     == 0);
	must(blm_update_finish(u) == 0);
}

static bool is_in_list(const char *name)
{
	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
		if (!strcmp(name, bases[i].kind))
			return true;
	return false;
}

static void make_other_bases(const char *path)
{
	struct blm_kind_info others[8];
	unsigned count = other_kinds(BLM_CAN_ADD | BLM_CAN_PUT, BLM_CAN_BUILD, is_in_list, others,
				     8);

	for (unsigned i = 0; i < count; i++)
		make_base(path, usual_params(&others[i], 50, 0.01));
}

static void build_base(const char *path, const struct blm_kind_info *kind)
{
	enum { KEYS = 200 };
	struct blm_params params = BLM_PARAMS(.kind = kind->name, .rate = 0.01);
	uint64_t numbers[KEYS];
	struct blm_key keys[KEYS + 1] = { [KEYS] = { "key", 3 } };
	struct blm_build *b;

	for (size_t i = 0; i < KEYS; i++) {
		numbers[i] = i;
		keys[i] = (struct blm_key){ &numbers[i], sizeof(numbers[i]) };
	}
	numbers[0] = 77;
	must(blm_build_begin(&b, NULL, path, &params, NULL) == 0);
	if (kind->can & BLM_CAN_GET)
		must(blm_build_put_many(b, keys + 1, numbers, KEYS) == 0);
	else
		must(blm_build_add_many(b, keys + 1, KEYS) == 0);
	if (kind->can & BLM_CAN_EXCLUDE) {	/* so that it has two levels */
		for (size_t i = 0; i < KEYS; i++)
			numbers[i] += 1000;
		must(blm_build_exclude_many(b, keys, KEYS) == 0);
	}
	must(blm_build_finish(b, NULL) == 0);
	if (kind->can & BLM_CAN_EXCLUDE)
		update_base(path, keys, KEYS);
	take_base(path);
}

/* Two lists that are divided by a column, since most keys are in one. */
static void build_columns_base(const char *path)
{
	struct blm_params params = BLM_PARAMS(.kind = "exact", .hash = "xxh3-column");
	struct blm_fact fact;
	struct blm_filter *f;
	struct blm_build *b;
	char text[24];

	must(blm_build_begin(&b, NULL, path, &params, NULL) == 0);
	for (unsigned i = 0; i < 4000; i++) {
		const struct blm_key key = { text, (size_t)snprintf(text, sizeof(text), "%u\t%u",
								    i % 4 == 0, i) };

		must((i % 4 == 0 || i % 400 == 1 ? blm_build_add_many(b, &key, 1)
		      : blm_build_exclude_many(b, &key, 1)) == 0);
	}
	must(blm_build_finish(b, &f) == 0);
	must(blm_fact(f, 4, &fact) == 0 && !strcmp(fact.name, "parts"));
	blm_close(f);
	take_base(path);
}

static void remove_folder(void)
{
	rmdir(folder);
}

static uint64_t noon(void)
{
	return UINT64_C(1700000000000000000);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const struct rlimit most = { GROWN_MAX, GROWN_MAX };
	char path[sizeof(folder) + 16];
	struct blm_kind_info kind;

	blm_clock = noon;
	throw_dice(1);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &most);

	if (!mkdtemp(folder)) {
		memcpy(folder, "/tmp", 4);
		memset(folder + 4, '/', 4);
		must(mkdtemp(folder) != NULL);
	}
	atexit(remove_folder);
	snprintf(path, sizeof(path), "%s/base", folder);
	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
		make_base(path, bases[i]);
	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++)
		if (kind.can & BLM_CAN_BUILD)
			build_base(path, &kind);
	make_other_bases(path);
	build_columns_base(path);
	for (unsigned i = 0; i <= base_count; i++)
		must(hold(&files[i], BYTES_MAX));
	return 0;
}

static void mend_record(struct blm_block_record *r, unsigned part, const uint8_t *block,
			size_t bytes, bool whole, const uint8_t *uuid)
{
	uint32_t ones = 0;

	for (size_t i = 0; whole && i < bytes; i++)
		ones += (uint32_t)__builtin_popcount(block[i]);
	if (whole) {
		r->hash = htole32((uint32_t)XXH3_64bits(block, bytes));
		r->ones = part < BLM_PARTS_MAX ? htole32(ones) : 0;
	}
	r->check = blm_check_block(r, part, 0, uuid);
}

/* The records of the first block of the first part, wherever that and its images now lie. */
static void mend_records(struct blm_header *h, size_t bytes, unsigned choices)
{
	uint64_t at = le64toh(h->part[0].offset), data = le64toh(h->part[0].bytes),
		 first = data < BLM_BLOCK ? data : BLM_BLOCK;
	uint8_t *start = (uint8_t *)h;
	struct blm_checkpoint_layout checkpoint;

	if (at % BLM_PART_ALIGN || at > bytes || data > bytes - at || blocksum_bytes(data) > at
	    || !data)
		return;
	mend_record((struct blm_block_record *)(start + at - blocksum_bytes(data)), 0, start + at,
		    first, choices & MEND_BLOCK, h->constant.uuid);
	checkpoint = checkpoint_layout(at, data);
	for (unsigned i = 0; i < 2 && checkpoint.end <= bytes; i++)
		mend_record((struct blm_block_record *)(start + checkpoint.records[i]),
			    BLM_PARTS_MAX + i, start + checkpoint.blocks[i], first,
			    choices & MEND_BLOCK, h->constant.uuid);
}

static void mend(struct blm_header *h, size_t bytes, unsigned choices)
{
	if (choices & MEND_TEMPLATE && le32toh(h->constant.template.seed_count) <= BLM_FORMAT_SEEDS)
		blm_template_id(&h->constant.template, h->constant.template_id);
	if (choices & MEND_CONSTANT)
		h->constant.check = blm_check_constant(&h->constant);
	if (choices & MEND_PARTS) {
		for (unsigned i = 0; i < BLM_PARTS_MAX; i++)
			h->part[i].check = blm_check_part(&h->part[i], i, h->constant.uuid);
		for (unsigned i = 0; i < 2; i++)
			h->live.sync[i].check = blm_check_sync(&h->live.sync[i], h->constant.uuid);
		mend_records(h, bytes, choices);
	}
}

/* Puts the file that the input means into one of the memory files; its path. */
static const char *write_file(unsigned which, const uint8_t *data, size_t size, unsigned choices)
{
	const struct held *file = &files[choices & FROM_NOTHING ? base_count : which];
	size_t count = base_bytes[which], cut = 0;

	if (choices & CUT && size >= 2) {
		size -= 2;
		cut = (size_t)data[size] | (size_t)data[size + 1] << 8;
	}
	if (choices & FROM_NOTHING) {
		count = size < BYTES_MAX ? size : BYTES_MAX;
		must(resize(file, count));
		memcpy(file->bytes, data, count);
	} else {
		must(resize(file, count));
		memcpy(file->bytes, base[which], count);
		patch(file->bytes, count, data, size);
	}
	if (count >= sizeof(struct blm_header))
		mend((struct blm_header *)file->bytes, count, choices);
	count -= cut < count ? cut : count;
	must(resize(file, count));
	return file->path;
}

enum { KEYS = 4 };
static const struct blm_key asked[KEYS] = {
	{ "key", 3 }, { NULL, 0 }, { "another key", 11 }, { "7", 1 }
};

static unsigned can(const struct blm_filter *f)
{
	static struct blm_info info = BLM_INFO;

	must(blm_info(f, &info) == 0);
	must(strnlen(info.labels, sizeof(info.labels)) < sizeof(info.labels));
	must(strnlen(info.options, sizeof(info.options)) < sizeof(info.options));
	return info.can;
}

/* Then a question for a key without one is an error, and denies none. */
static bool has_columns(const struct blm_filter *f)
{
	static struct blm_info info = BLM_INFO;

	must(blm_info(f, &info) == 0);
	return !strcmp(info.hash, "xxh3-column");
}

static void ask_columns(const struct blm_filter *f)
{
	static const struct blm_key keys[KEYS] = {
		{ "0\t0", 3 }, { "\t", 1 }, { "1\t7", 3 }, { "another\tkey", 11 }
	};
	uint64_t bits = 0;

	must(blm_contains_many(f, keys, KEYS, &bits) >= 0);
	for (int i = 0; i < KEYS; i++)
		must(blm_contains(f, keys[i].bytes, keys[i].len) == (bits >> i & 1));
}

static void ask(const struct blm_filter *f)
{
	struct blm_estimate estimate;
	struct blm_comparison comparison;
	struct blm_hash hashes[KEYS];
	uint64_t bits = 0, again = 0, value, count;
	struct blm_fact fact;
	bool estimated;

	uint64_t values[KEYS];

	can(f);
	must(blm_contains_many(f, asked, KEYS, &bits) >= 0 || has_columns(f));
	if (has_columns(f))
		ask_columns(f);
	for (int i = 0; i < KEYS; i++) {
		must(blm_contains(f, asked[i].bytes, asked[i].len) == (bits >> i & 1));
		blm_get(f, asked[i].bytes, asked[i].len, &value);
	}
	for (int i = 0; i < KEYS * KEYS; i++) {
		const struct blm_key *from = &asked[i / KEYS], *to = &asked[i % KEYS];
		int r = blm_contains_range(f, from->bytes, from->len, to->bytes, to->len);

		must(r < 0 || blm_contains_ranges(f, from, to, 1, &again) == r);
		must(r < 0 || i / KEYS != i % KEYS || (uint64_t)r == (bits >> i / KEYS & 1));
	}
	if (blm_hash_many(f, asked, KEYS, hashes) == 0)
		must((blm_contains_hashes(f, blm_hash_id(f), hashes, KEYS, &again) >= 0
		      || has_columns(f)) && again == bits);
	must(blm_get_many(f, asked, KEYS, values, &again) < 0 || again == bits);
	for (size_t i = 0; blm_fact(f, i, &fact) == 0; i++)
		must(i < 1000 && fact.name
		     && strnlen(fact.text, sizeof(fact.text)) < sizeof(fact.text));
	blm_count(f, &count, &estimated);
	blm_estimate(f, true, &estimate);
	blm_estimate(f, false, &estimate);
	blm_compare(f, f, &comparison);
	blm_difference_estimate(f, f, &comparison.difference);
}

static bool holds(const struct blm_filter *f, const char *key)
{
	return blm_contains(f, key, strlen(key));
}

/*
 * Added keys are there, except in kinds that forget: there other keys may replace them.
 */
static void change_keys(struct blm_filter *f)
{
	const struct blm_key new[] = { { "new", 3 }, { "newer", 5 }, { "8", 1 } };
	bool keeps = !(can(f) & BLM_FORGETS);
	int r;

	for (int i = 0; i < 2; i++) {
		const char *key = i ? "9" : "added";

		if (blm_add(f, key, strlen(key)) >= 0)
			must(holds(f, key) || !keeps);
		r = blm_claim(f, key, strlen(key));
		if (r >= 0)
			must((r == 0 && holds(f, key)) || !keeps);
		if (blm_put(f, key, strlen(key), (uint64_t)i) >= 0)
			must(holds(f, key) || !keeps);
		blm_remove(f, key, strlen(key));
	}
	r = blm_claim(f, "claimed", 7);
	if (r >= 0)
		must(holds(f, "claimed") || !keeps);
	if (blm_add_many(f, new, 3, NULL) >= 0)
		must(blm_contains_many(f, new, 3, NULL) == 3 || !keeps);
	blm_rotate(f);
	blm_remove_many(f, new, 3, NULL);
}

static void remove_path(char *path)
{
	unlink(path);
	strcat(path, ".key");
	unlink(path);
}

static int stop(void *context, const void *key, size_t len, bool in_b)
{
	(void)context, (void)key, (void)len, (void)in_b;
	return 1;
}

/*
 * Filters made from a filter take longer than all the rest: they are made for each input of the
 * corpus, and for one in four of the fuzzer's, chosen by its bytes.
 */
static bool is_made_of(const uint8_t *data, size_t size)
{
#ifdef BY_FUZZER
	return XXH3_64bits(data, size) % 4 == 0;
#else
	return true;
#endif
}

static void combine_with_template(struct blm_filter *f)
{
	struct blm_filter *like = NULL;
	char path[sizeof(folder) + 16];

	snprintf(path, sizeof(path), "%s/like", folder);
	if (blm_template(&like, NULL, path, f, 0600) == 0) {
		must(blm_same_template(f, like) == 0);
		blm_difference_list(f, like, stop, NULL);
		blm_combine_into(f, BLM_UNION, (const struct blm_filter *const *)&like, 1, 0, NULL);
		/* not of damaged blocks */
		if (blm_combine_into(like, BLM_UNION, (const struct blm_filter *const *)&f, 1, 0,
				     NULL)
		    == 0)
			must(holds(like, "added") == holds(f, "added") || can(f) & BLM_FORGETS);
		blm_advance(f, (const struct blm_filter *const *)&like, 1);
		blm_close(like);
	}
	remove_path(path);
}

/* A filter that may be a part, perhaps the only one. */
static void join_of(const struct blm_filter *f)
{
	struct blm_filter *whole;
	struct blm_join *j;
	uint64_t at, bytes;

	if (blm_part_range(f, 1, 3, &at, &bytes) == 0)
		must(at % 64 == 0);
	if (blm_join_begin(&j, NULL, NULL, 0, true) < 0)
		return;
	if (blm_join_part(j, f) < 0)
		blm_join_cancel(j);
	else if (blm_join_finish(j, &whole) == 0)
		blm_close(whole);
}

/* Filters that are made without keys: two copies combined into one; and Bitcoin's file. */
static void make_of(const struct blm_filter *f)
{
	const struct blm_filter *two[2] = { f, f };
	struct blm_filter *other = NULL;
	size_t count;
	void *bytes;

	if (blm_merge(&other, NULL, NULL, two, 2, 0) == 0) {
		ask(other);
		blm_close(other);
	}
	join_of(f);
	if (blm_export_bytes(f, &BLM_EXCHANGE(.format = "bip158"), &bytes, &count) == 0)
		blm_free(bytes);
}

/*
 * What a writer that died was doing, its copy has done or undone: to keys that it may have or not.
 */
static bool ends_changes(const struct blm_filter *f)
{
	return current_view(f)->root.kind->recover != NULL;
}

/*
 * The same to a copy in memory, and what puts another file in its place; and the filters of other
 * shapes that can be made of it.
 */
static void change_copy(const struct blm_filter *f)
{
	struct blm_filter *copy = NULL, *other = NULL;

	if (blm_convert(&other, NULL, NULL, f, NULL, 0) == 0) {
		for (int i = 0; i < KEYS; i++)
			must(blm_contains(other, asked[i].bytes, asked[i].len)
			     || !blm_contains(f, asked[i].bytes, asked[i].len));
		blm_close(other);
	}
	if (blm_fold(&other, NULL, NULL, f, 2, 0) == 0)
		blm_close(other);
	make_of(f);
	if (blm_copy(&copy, NULL, NULL, f, 0) < 0)
		return;
	for (int i = 0; i < KEYS; i++)
		must(blm_contains(copy, asked[i].bytes, asked[i].len)
			     == blm_contains(f, asked[i].bytes, asked[i].len)
		     || ends_changes(f));
	change_keys(copy);
	if (blm_grow(copy, BLM_GROW_FORCE) == 0)
		change_keys(copy);
	blm_combine_into(copy, BLM_INTERSECT, &f, 1, 0, NULL);
	blm_seal(copy);
	ask(copy);
	blm_close(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned which = size > 1 ? data[0] % base_count : 0, choices = size > 1 ? data[1] : 0;
	struct blm_filter *f = NULL;
	const char *path;

	if (size < 2)
		return 0;
	throw_dice(2);
	path = write_file(which, data + 2, size - 2, choices);
	if (blm_open_keyed(&f, NULL, path, (choices & WRITE) ? BLM_OPEN_WRITE : 0,
			   which == KEYED ? secret : NULL)
	    == 0) {
		ask(f);
		if (choices & ONLY_COPY) {
			if (is_made_of(data, size))
				change_copy(f);
		} else if (choices & WRITE) {
			change_keys(f);
			if (is_made_of(data, size))
				combine_with_template(f);
			blm_sync(f);
		}
		if (!(choices & WRITE))
			must(blm_add(f, "key", 3) == -EBADF);
		blm_close(f);
	} else {
		must(*blm_error_message() != '\0');
	}
	blm_verify(NULL, path, (choices & WRITE) ? BLM_VERIFY_REPAIR : 0, NULL, NULL);
	return 0;
}
