/*
 * guard.c - damaged blocks are found, what is only newer is not; syncs that fail, and syncs that
 * come by themselves
 */
#include "suite.h"
#include "../info.h"

#include "handle/handle.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

/* ---- Syncs, counted, and failing where a test wants it ---- */

static int page_bytes = 4096;

int getpagesize(void)
{
	return page_bytes;
}

/* calls of msync(); which call from now on fails, 0: none; below 0: which of them kills */
static int syncs, failing;
/* what others do while the next call of this thread runs; NULL: nothing */
static _Thread_local void (*meanwhile)(void);

int msync(void *at, size_t bytes, int flags)
{
	void (*now)(void) = meanwhile;

	syncs++;
	meanwhile = NULL;
	if (now)
		now();
	if ((uintptr_t)at % (uintptr_t)page_bytes) {	/* as the system says it */
		errno = EINVAL;
		return -1;
	}
	if (failing < 0 && ++failing == 0)
		raise(SIGKILL);
	if (failing > 0 && --failing == 0) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_msync, at, bytes, flags);
}

/* calls of fsync() for a folder; which of them fails, 0: none; -1: the next kills */
static int folder_syncs, folder_failing;

int fsync(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		folder_syncs++;
		if (folder_failing < 0)
			raise(SIGKILL);
		if (folder_failing > 0 && --folder_failing == 0) {
			errno = EIO;
			return -1;
		}
	}
	return (int)syscall(SYS_fsync, fd);
}

/* ---- Filters to damage ---- */

static const struct shape {
	const char *kind;
	uint64_t cells;
	unsigned keys;
	bool sparse;
} shapes[] = {
	{ "blocked", 51200, 700, false },
	{ "classic", 51111, 700, false },
	{ "blocked", 3 * 65536 * 8, 20000, false },
	{ "classic", 3 * 65536 * 8 - 77, 20000, false },
	{ "blocked", 3 << 23, 300000, false },		/* more than 2 MiB */
	{ "classic", 5 << 22, 200000, false },
	{ "classic", 3 << 23, 60, true },		/* most of its blocks are holes */
	{ "blocked", 3 << 23, 9, true },
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static struct blm_params params_of(const struct shape *s)
{
	static const uint64_t seed = 7;

	return BLM_PARAMS(.kind = s->kind, .cells = s->cells, .probes = 6, .sparse = s->sparse,
			  .seed_count = 1, .seeds = &seed);
}

static void add_range(struct blm_filter *f, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		OK(blm_add(f, &i, sizeof(i)));
}

static bool has_range(const struct blm_filter *f, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++)
		if (!blm_contains(f, &i, sizeof(i)))
			return false;
	return true;
}

enum { SYNCED, SEALED };

static void make_shape(const struct shape *s, int how)
{
	struct blm_params params = params_of(s);
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "a.blm", &params));
	add_range(f, 0, s->keys);
	OK(how == SEALED ? blm_seal(f) : blm_sync(f));
	blm_close(f);
}

/* The file's bytes as they are, and where its part lies in them. */
struct image {
	uint8_t *bytes;
	uint64_t at, end, blocks;
};

static struct image image_of(const char *path)
{
	size_t count;
	struct image i = { .bytes = read_all(path, &count) };
	const struct blm_part_entry *e = &((struct blm_header *)i.bytes)->part[0];

	i.at = le64toh(e->offset);
	i.end = i.at + le64toh(e->bytes);
	i.blocks = blocks_of_part(le64toh(e->bytes));
	return i;
}

static uint64_t begin_of(const struct image *i, uint64_t block)
{
	return i->at + block * BLM_BLOCK;
}

static uint64_t end_of(const struct image *i, uint64_t block)
{
	return begin_of(i, block) + BLM_BLOCK < i->end ? begin_of(i, block) + BLM_BLOCK : i->end;
}

static void put(const char *path, uint64_t at, const void *bytes, size_t count)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	ck_assert_int_eq((int)pwrite(fd, bytes, count, (off_t)at), (int)count);
	close(fd);
}

/* The first byte from `at` on that is neither 0 nor 0xff; `end` if none is. */
static uint64_t mixed_byte(const struct image *i, uint64_t at, uint64_t end)
{
	while (at < end && (i->bytes[at] == 0 || i->bytes[at] == 0xff))
		at++;
	return at;
}

/* ---- What verifying says ---- */

static char said[65536];
static int said_count, said_repaired;

static void hear(void *context, const struct blm_finding *found)
{
	size_t at = strlen(said);

	said_count++;
	said_repaired += found->repaired;
	snprintf(said + at, sizeof(said) - at, "%s\n", found->what);
}

static int verify(const char *path, bool repair)
{
	said[0] = '\0';
	said_count = said_repaired = 0;
	return blm_verify(NULL, path, repair ? BLM_VERIFY_REPAIR : 0, hear, NULL);
}

static void finds_nothing(const char *path)
{
	int r = verify(path, false);

	ck_assert_msg(r == 0, "%d: %s%s", r, said, r < 0 ? blm_error_message() : "");
}

static void finds_block(const char *path, uint64_t block)
{
	int r = verify(path, false);
	char words[64];

	snprintf(words, sizeof(words), "part 0, block %llu,", (unsigned long long)block);
	ck_assert_msg(r == 1 && strstr(said, words), "block %llu: %d: %s",
		      (unsigned long long)block, r, said);
}

/* ---- The matrix of damage ---- */

enum damage { ONE_BIT_CLEARED, SECTOR_CLEARED, BLOCK_CLEARED, BITS_SWAPPED, BITS_SET, DAMAGES };

/* Damage a block; false if it has nothing to be damaged so. */
static bool damage(const struct image *i, uint64_t block, enum damage what)
{
	uint64_t from = begin_of(i, block), end = end_of(i, block), at = mixed_byte(i, from, end);
	uint8_t zeros[BLM_BLOCK] = { 0 }, byte;

	if (at == end)
		return false;
	byte = i->bytes[at];
	switch (what) {
	case ONE_BIT_CLEARED:
		byte &= (uint8_t)(byte - 1);
		break;
	case SECTOR_CLEARED:
		at = at / 512 * 512 < from ? from : at / 512 * 512;
		put("a.blm", at, zeros, end - at < 512 ? end - at : 512);
		return true;
	case BLOCK_CLEARED:
		put("a.blm", from, zeros, end - from);
		return true;
	case BITS_SWAPPED:
		byte = (uint8_t)(byte & (byte - 1)) | (uint8_t)(~byte & -(uint8_t)~byte);
		break;
	default:
		byte |= (uint8_t)(~byte & -(uint8_t)~byte);
		break;
	}
	put("a.blm", at, &byte, 1);
	return true;
}

START_TEST(what_a_synced_block_lost_is_found_and_what_it_has_more_is_not)
{
	struct image i;
	unsigned damaged = 0;

	make_shape(&shapes[_i], SYNCED);
	finds_nothing("a.blm");
	i = image_of("a.blm");
	for (uint64_t block = 0; block < i.blocks; block += i.blocks > 8 ? 5 : 1)
		for (enum damage d = 0; d < DAMAGES; d++) {
			if (!damage(&i, block, d))
				continue;
			damaged++;
			if (d == BITS_SET)
				finds_nothing("a.blm");
			else
				finds_block("a.blm", block);
			put("a.blm", begin_of(&i, block), i.bytes + begin_of(&i, block),
			    end_of(&i, block) - begin_of(&i, block));
		}
	ck_assert_uint_ge(damaged, DAMAGES);
	finds_nothing("a.blm");
	free(i.bytes);
}
END_TEST

/* Else what is added to a damaged block would hide that it denies keys. */
START_TEST(a_block_that_lost_bits_is_told_of_also_after_others_were_added_and_synced)
{
	enum damage d = _i % 2 ? SECTOR_CLEARED : BLOCK_CLEARED;
	const struct shape *s = &shapes[_i / 2];
	struct blm_filter *f;
	struct image i;

	make_shape(s, SYNCED);
	i = image_of("a.blm");
	ck_assert(damage(&i, 0, d));
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	for (unsigned n = 1000000; !marks_of(&current_view(f)->part[0])[0]; n++)
		OK(blm_add(f, &n, sizeof(n)));
	FAILS(blm_sync(f), -EUCLEAN);
	finds_block("a.blm", 0);
	ck_assert_int_eq(verify("a.blm", true), 0);
	finds_nothing("a.blm");
	ck_assert(has_range(f, 0, s->keys));
	add_range(f, 2000000, 2000010);
	OK(blm_sync(f));
	finds_nothing("a.blm");
	blm_close(f);
	free(i.bytes);
}
END_TEST

START_TEST(a_sync_tells_of_a_block_that_lost_bits_until_it_is_repaired)
{
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;
	struct image i;
	char where[80];
	unsigned n = 1000000;

	make_shape(&shapes[_i], SYNCED);
	i = image_of("a.blm");
	ck_assert(damage(&i, 0, BLOCK_CLEARED));
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	for (; !marks_of(&current_view(f)->part[0])[0]; n++)
		OK(blm_add(f, &n, sizeof(n)));
	FAILS(blm_sync(f), -EUCLEAN);
	snprintf(where, sizeof(where),
		 "a.blm: synced, but part 0, block 0, bytes %llu to %llu lost",
		 (unsigned long long)i.at, (unsigned long long)end_of(&i, 0) - 1);
	ck_assert_msg(strstr(blm_error_message(), where), "%s", blm_error_message());
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.lost_blocks, 1);
	FAILS(blm_sync(f), -EUCLEAN);
	OK(blm_sync_every(f, 1, 0));
	for (int r = 0; r == 0; n++) {
		r = blm_add(f, &n, sizeof(n));
		ck_assert_int_eq(r, r ? -EUCLEAN : 0);
		ck_assert(blm_contains(f, &n, sizeof(n)));
	}
	OK(blm_sync_every(f, 0, 0));
	ck_assert_int_eq(verify("a.blm", true), 0);
	ck_assert_int_eq(blm_sync(f), 0);
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.lost_blocks, 0);
	blm_close(f);
	free(i.bytes);
}
END_TEST

static int seal_as(struct blm_filter *f, struct blm_store *store)
{
	return blm_seal(f);
}

static int copy_as(struct blm_filter *f, struct blm_store *store)
{
	return blm_copy(NULL, NULL, "b.blm", f, 0);
}

static int publish_as(struct blm_filter *f, struct blm_store *store)
{
	return blm_store_publish(store, "b", f, 0, 0);
}

static int combine_as(struct blm_filter *f, enum blm_op op)
{
	struct blm_filter *like;
	int r;

	OK(blm_template(&like, NULL, NULL, f, 0));
	r = blm_combine(NULL, NULL, "b.blm", op,
			(const struct blm_filter *const[]){ op == BLM_UNION ? like : f, f }, 2, 0,
			NULL);
	blm_close(like);
	return r;
}

static int unite_as(struct blm_filter *f, struct blm_store *store)
{
	return combine_as(f, BLM_UNION);
}

static int intersect_as(struct blm_filter *f, struct blm_store *store)
{
	return combine_as(f, BLM_INTERSECT);
}

static int unite_into_as(struct blm_filter *f, struct blm_store *store)
{
	struct blm_filter *like;
	int r;

	OK(blm_template(&like, NULL, NULL, f, 0));
	r = blm_combine_into(like, BLM_UNION, (const struct blm_filter *const[]){ f }, 1, 0, NULL);
	blm_close(like);
	return r;
}

static int export_as(struct blm_filter *f, struct blm_store *store)
{
	return blm_export_file(f, NULL, "b.blm");
}

static int (*const uses[])(struct blm_filter *f, struct blm_store *store) = {
	seal_as, copy_as, publish_as, unite_as, intersect_as, unite_into_as, export_as,
};
enum { USES = sizeof(uses) / sizeof(uses[0]) };

/* Else the new filter would say of itself that it is whole. */
START_TEST(nothing_is_made_of_a_damaged_filter_until_it_is_repaired)
{
	const struct shape *s = &shapes[_i / USES];
	enum damage d = s->sparse ? BLOCK_CLEARED : ONE_BIT_CLEARED;
	struct blm_store *store;
	struct blm_filter *f;
	struct image i;
	uint64_t block = 0;

	/* which want each use, not of each shape */
	if (SANITIZED && !s->sparse && (_i / USES + _i % USES) % 4)
		return;
	store = open_store(BLM_STORE_CREATE);
	make_shape(s, SYNCED);
	i = image_of("a.blm");
	while (!damage(&i, block, d))
		block++;
	if (s->sparse) {	/* a copy that leaves out what is zero */
		int fd = open("a.blm", O_WRONLY | O_CLOEXEC);

		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  (off_t)begin_of(&i, block), BLM_BLOCK);
		close(fd);
	}
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	FAILS(uses[_i % USES](f, store), -EUCLEAN);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "a.blm: part 0, block"));
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "blm_verify()"));
	FAILS(access("b.blm", F_OK), -1);
	ck_assert_int_eq(verify("a.blm", true), 0);
	OK(uses[_i % USES](f, store));
	blm_close(f);
	free(i.bytes);
	blm_store_close(store);
}
END_TEST

/* Give the file another uuid, so that the check of a record of zeros is 0 for this block. */
static void make_zeros_pass(const char *path, uint64_t block)
{
	static const struct blm_block_record zeros;
	const uint64_t seed = htole64(UINT64_C(1302470311) - block);	/* found by search */
	struct image i = image_of(path);
	struct blm_header *h = (struct blm_header *)i.bytes;

	memcpy(h->constant.uuid, &seed, sizeof(seed));
	h->constant.check = blm_check_constant(&h->constant);
	h->part[0].check = blm_check_part(&h->part[0], 0, h->constant.uuid);
	put(path, 0, i.bytes, i.at);
	ck_assert_uint_eq(blm_check_block(&zeros, 0, block, h->constant.uuid), 0);
	free(i.bytes);
}

START_TEST(a_record_of_zeros_is_no_record)
{
	const uint64_t block = (uint64_t)_i;
	struct blm_params params = params_of(&shapes[7]);
	struct image before, after;
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "a.blm", &params));
	blm_close(f);
	make_zeros_pass("a.blm", block);
	finds_nothing("a.blm");
	before = image_of("a.blm");
	ck_assert_int_eq(verify("a.blm", true), 0);
	after = image_of("a.blm");
	ck_assert_mem_eq(before.bytes + before.at, after.bytes + after.at, before.end - before.at);
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	OK(blm_copy(NULL, NULL, "b.blm", f, 0));
	add_range(f, 0, 9);
	OK(blm_sync(f));
	blm_close(f);
	finds_nothing("a.blm");
	free(before.bytes);
	free(after.bytes);
}
END_TEST

START_TEST(the_hash_of_zeros_is_never_0)
{
	uint8_t *zeros = calloc(1, BLM_BLOCK);

	for (size_t bytes = 1; bytes <= BLM_BLOCK; bytes++)
		if (!SANITIZED || bytes % 64 == 0)
			ck_assert_uint_ne((uint32_t)XXH3_64bits(zeros, bytes), 0);
	free(zeros);
}
END_TEST

START_TEST(several_damaged_blocks_are_each_told_of)
{
	struct image i;

	make_shape(&shapes[4], SYNCED);
	i = image_of("a.blm");
	for (uint64_t block = 3; block < 10; block++)
		ck_assert(damage(&i, block, (enum damage)(block % 4)));
	ck_assert_int_eq(verify("a.blm", false), 7);
	free(i.bytes);
}
END_TEST

START_TEST(any_bit_flipped_in_a_sealed_file_is_found)
{
	struct image i;

	make_shape(&shapes[_i], SEALED);
	finds_nothing("a.blm");
	i = image_of("a.blm");
	srandom(5);
	for (int flip = 0; flip < 1000; flip++) {
		/* before the bits that are no cell's */
		uint64_t at = i.at + (uint64_t)random() % (i.end - i.at - 64);
		uint8_t byte = i.bytes[at] ^ (uint8_t)(1 << random() % 8);

		put("a.blm", at, &byte, 1);
		finds_block("a.blm", (at - i.at) / BLM_BLOCK);
		put("a.blm", at, &i.bytes[at], 1);
	}
	finds_nothing("a.blm");
	for (uint64_t bit = 0; bit < i.blocks * 16 * 8; bit += 37) {
		uint64_t at = i.at - blocksum_bytes(i.end - i.at) + bit / 8;
		uint8_t byte = i.bytes[at] ^ (uint8_t)(1 << bit % 8);

		put("a.blm", at, &byte, 1);
		ck_assert_msg(verify("a.blm", false) == 1 && strstr(said, "records of 1 blocks"),
			      "%s", said);
		put("a.blm", at, &i.bytes[at], 1);
	}
	free(i.bytes);
}
END_TEST

START_TEST(a_damaged_record_leaves_its_block_unknown)
{
	struct image i;
	uint8_t byte;

	make_shape(&shapes[3], SYNCED);
	i = image_of("a.blm");
	for (int at = 0; at < 16; at++) {
		byte = i.bytes[BLM_HEADER_BYTES + 16 + at] ^ 4;
		put("a.blm", BLM_HEADER_BYTES + 16 + at, &byte, 1);
		ck_assert(damage(&i, 1, SECTOR_CLEARED));
		finds_nothing("a.blm");
		ck_assert(damage(&i, 2, SECTOR_CLEARED));
		finds_block("a.blm", 2);
		put("a.blm", BLM_HEADER_BYTES, i.bytes + BLM_HEADER_BYTES,
		    i.end - BLM_HEADER_BYTES);
	}
	free(i.bytes);
}
END_TEST

/* ---- Who guards what ---- */

static void by_add(struct blm_filter **f, const struct blm_key *keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		OK(blm_add(*f, keys[i].bytes, keys[i].len));
}

static void by_claim(struct blm_filter **f, const struct blm_key *keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		OK(blm_claim(*f, keys[i].bytes, keys[i].len));
}

static void by_add_many(struct blm_filter **f, const struct blm_key *keys, size_t count)
{
	OK(blm_add_many(*f, keys, count, NULL));
}

static void by_claim_many(struct blm_filter **f, const struct blm_key *keys, size_t count)
{
	OK(blm_claim_many(*f, keys, count, NULL));
}

static void by_hashes(struct blm_filter **f, const struct blm_key *keys, size_t count)
{
	struct blm_hash *hashes = calloc(count, sizeof(*hashes));

	OK(blm_hash_many(*f, keys, count, hashes));
	OK(blm_add_hashes(*f, blm_hash_id(*f), hashes, count / 2, NULL));
	OK(blm_claim_hashes(*f, blm_hash_id(*f), hashes + count / 2, count - count / 2, NULL));
	free(hashes);
}

/* A filter in memory, of the same template, with the keys. */
static struct blm_filter *twin(const struct blm_filter *f, const struct blm_key *keys, size_t count)
{
	struct blm_filter *twin;

	OK(blm_template(&twin, NULL, NULL, f, 0));
	OK(blm_add_many(twin, keys, count, NULL));
	return twin;
}

static void by_union(struct blm_filter **f, const struct blm_key *keys, size_t count)
{
	struct blm_filter *other = twin(*f, keys, count);

	OK(blm_combine_into(*f, BLM_UNION, (const struct blm_filter *const[]){ other }, 1, 0,
			    NULL));
	blm_close(other);
}

static void by_data(struct blm_filter **f, const struct blm_key *keys, size_t count)
{
	struct blm_filter *other = twin(*f, keys, count);
	uint64_t bytes = current_view(*f)->part[0].shape.bytes;
	uint8_t *data = malloc(bytes);

	OK(blm_data_read(other, 0, data, bytes));
	OK(blm_data_unite(*f, 0, data, bytes));
	free(data);
	blm_close(other);
}

/* Those that make a new file guard it at once. */
static void by_copy(struct blm_filter **f, const struct blm_key *keys, size_t count)
{
	struct blm_filter *other = twin(*f, keys, count);

	blm_close(*f);
	unlink("a.blm");
	OK(blm_copy(f, NULL, "a.blm", other, 0));
	blm_close(other);
}

static void by_combining(struct blm_filter **f, const struct blm_key *keys, size_t count)
{
	struct blm_filter *other = twin(*f, keys, count);

	blm_close(*f);
	unlink("a.blm");
	OK(blm_combine(f, NULL, "a.blm", BLM_INTERSECT,
		       (const struct blm_filter *const[]){ other, other }, 2, 0, NULL));
	blm_close(other);
}

static void by_intersecting(struct blm_filter **f, const struct blm_key *keys, size_t count)
{
	struct blm_filter *other = twin(*f, keys, count);

	by_add_many(f, keys, count);
	OK(blm_combine_into(*f, BLM_INTERSECT, (const struct blm_filter *const[]){ other }, 1, 0,
			    NULL));
	blm_close(other);
}

static void by_publishing(struct blm_filter **f, const struct blm_key *keys, size_t count)
{
	struct blm_filter *other = twin(*f, keys, count);

	OK(blm_store_publish(NULL, "a.blm", other, 0, BLM_PUBLISH_WRITABLE));
	blm_close(other);
}

static void by_importing(struct blm_filter **f, const struct blm_key *keys, size_t count)
{
	struct blm_filter *other = twin(*f, keys, count);
	void *bytes;
	size_t len;

	OK(blm_export_bytes(other, NULL, &bytes, &len));
	blm_close(other);
	blm_close(*f);
	unlink("a.blm");
	OK(blm_import_bytes(f, NULL, "a.blm", NULL, bytes, len));
	blm_free(bytes);
}

static const struct {
	void (*how)(struct blm_filter **f, const struct blm_key *keys, size_t count);
	bool to_be_synced;
} ways[] = {
	{ by_add, true },	    { by_claim, true },	      { by_add_many, true },
	{ by_claim_many, true },    { by_hashes, true },      { by_union, true },
	{ by_data, true },	    { by_copy, false },	      { by_combining, false },
	{ by_intersecting, false }, { by_publishing, false }, { by_importing, false },
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

START_TEST(whatever_way_a_block_changed_it_is_guarded_after_a_sync_and_in_a_new_file_at_once)
{
	enum { KEYS = 300 };
	struct blm_params params = params_of(&shapes[_i / WAYS ? 5 : 4]);
	struct blm_key keys[KEYS];
	struct blm_filter *f;
	struct image i;
	int number[KEYS];

	for (int k = 0; k < KEYS; k++) {
		number[k] = k;
		keys[k] = (struct blm_key){ &number[k], sizeof(number[k]) };
	}
	OK(blm_create(&f, NULL, "a.blm", &params));
	ways[_i % WAYS].how(&f, keys, KEYS);
	if (ways[_i % WAYS].to_be_synced)
		OK(blm_sync(f));
	ck_assert(blm_contains_many(f, keys, KEYS, NULL) == KEYS);
	blm_close(f);
	finds_nothing("a.blm");
	i = image_of("a.blm");
	for (uint64_t block = 0; block < i.blocks; block++) {
		ck_assert(damage(&i, block, ONE_BIT_CLEARED));
		finds_block("a.blm", block);
		put("a.blm", begin_of(&i, block), i.bytes + begin_of(&i, block),
		    end_of(&i, block) - begin_of(&i, block));
	}
	free(i.bytes);
}
END_TEST

/* ---- Repair ---- */

/* The last number of what verifying said is the rate; it is that of the bits as they are. */
static void rate_is_exact(void)
{
	struct blm_estimate estimate;
	struct blm_filter *f;
	char want[32];
	const char *rate = strstr(said, "rate is ");

	OK(blm_open(&f, NULL, "a.blm", 0));
	OK(blm_estimate(f, true, &estimate));
	blm_close(f);
	snprintf(want, sizeof(want), "rate is %.3g now", estimate.rate.value);
	ck_assert_msg(rate && !strncmp(rate, want, strlen(want)), "'%s' is not in: %s", want, said);
}

static void repair(const struct shape *s, int how)
{
	struct blm_filter *f;
	struct image i;
	unsigned damaged = 0;
	int r;

	make_shape(s, how);
	i = image_of("a.blm");
	for (uint64_t block = 0; block < i.blocks; block += 2)
		damaged += damage(&i, block, block % 4 ? SECTOR_CLEARED : BLOCK_CLEARED);
	ck_assert_uint_gt(damaged, 0);
	ck_assert_int_eq(verify("a.blm", false), (int)damaged);
	r = verify("a.blm", true);
	ck_assert_msg(r == 0 && said_count == (int)damaged + 1 && said_repaired == said_count,
		      "%d: %s", r, said);
	rate_is_exact();
	finds_nothing("a.blm");
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	ck_assert(has_range(f, 0, s->keys));
	if (how == SEALED) {
		FAILS(blm_add(f, "new", 3), -EROFS);
	} else {
		add_range(f, s->keys, s->keys + 100);
		OK(blm_sync(f));
		ck_assert(has_range(f, 0, s->keys + 100));
	}
	blm_close(f);
	finds_nothing("a.blm");
	free(i.bytes);
	i = image_of("a.blm");		/* it is guarded again, as full as it is */
	damage(&i, 0, BLOCK_CLEARED);
	put("a.blm", begin_of(&i, 0), &(uint8_t){ 0x7f }, 1);
	finds_block("a.blm", 0);
	free(i.bytes);
}

START_TEST(a_repaired_filter_denies_no_key_and_says_its_rate)
{
	repair(&shapes[_i], SYNCED);
}
END_TEST

START_TEST(so_does_a_repaired_sealed_one_and_stays_sealed)
{
	repair(&shapes[_i], SEALED);
}
END_TEST

START_TEST(verifying_a_store_repairs_the_blocks_of_its_filters)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_params params = params_of(&shapes[2]);
	struct blm_filter *f;
	struct image i;
	char path[512];

	OK(blm_create(&f, store, "x", &params));
	add_range(f, 0, 20000);
	OK(blm_sync(f));
	path_of(store, "x", path);
	i = image_of(path);
	put(path, begin_of(&i, 1), (uint8_t[4096]){ 0 }, 4096);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 1);
	ck_assert_int_eq(blm_store_verify("s", BLM_VERIFY_REPAIR, hear, NULL), 0);
	ck_assert_int_eq(said_repaired, 2);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 0);
	ck_assert(has_range(f, 0, 20000));
	blm_close(f);
	blm_store_close(store);
	free(i.bytes);
}
END_TEST

/* ---- No false alarm ---- */

START_TEST(what_was_added_after_the_last_sync_is_no_damage)
{
	struct blm_filter *f;

	make_shape(&shapes[_i], SYNCED);
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	for (unsigned round = 1; round < (SANITIZED ? 5 : 20); round++) {
		add_range(f, shapes[_i].keys * round, shapes[_i].keys * round + 10 * round);
		finds_nothing("a.blm");
		copy_file("a.blm", "copy.blm");
		finds_nothing("copy.blm");
		if (round % 3 == 0)
			OK(blm_sync(f));
	}
	blm_close(f);
}
END_TEST

/* How many keys each of some processes has added, and was told so. */
static _Atomic unsigned *acknowledged;

static void share(void)
{
	acknowledged = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert(acknowledged != MAP_FAILED);
}

static unsigned key_of(int who, unsigned i)
{
	return (unsigned)who << 24 | i;
}

static int add_and_sync_for_ever(int who)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE) == 0);
	for (unsigned i = 0;; i++) {
		unsigned key = key_of(who, i);

		MUST(blm_add(f, &key, sizeof(key)) >= 0);
		acknowledged[who] = i + 1;
		if (i % 16 == 15)
			MUST(blm_sync(f) == 0);
	}
}

/* So much that each has synced. It takes what it takes on a busy machine. */
static bool both_have_added(void)
{
	return acknowledged[0] > 16 && acknowledged[1] > 16;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	ck_assert_int_eq(join(pid), SIGNALLED + SIGKILL);
}

START_TEST(verifying_finds_nothing_while_others_add_and_sync)
{
	pid_t pid[2];
	unsigned rounds = 0;

	share();
	make_shape(&(struct shape){ .kind = shapes[_i].kind, .cells = shapes[_i].cells }, SYNCED);
	for (int who = 0; who < 2; who++)
		pid[who] = spawn(add_and_sync_for_ever, who);
	for (; rounds < (SANITIZED ? 12 : 30) || !both_have_added(); rounds++)
		finds_nothing("a.blm");
	for (int who = 0; who < 2; who++)
		end(pid[who]);
	finds_nothing("a.blm");
}
END_TEST

/* As cp does it: from the beginning to the end, a piece at a time. */
static void copy_slowly(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC),
	    out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	static char piece[8192];
	ssize_t n;

	while ((n = read(in, piece, 512 + (size_t)random() % 7680)) > 0)
		ck_assert_int_eq((int)write(out, piece, (size_t)n), (int)n);
	close(in);
	close(out);
}

START_TEST(copies_made_while_others_add_and_sync_are_good_and_hold_what_was_acknowledged)
{
	struct blm_info *info = info_room();
	struct blm_filter *f;
	pid_t pid[2];
	int round = 0;

	share();
	make_shape(&(struct shape){ .kind = _i ? "blocked" : "classic", .cells = 3 * 65536 * 8 },
		   SYNCED);
	for (int who = 0; who < 2; who++)
		pid[who] = spawn(add_and_sync_for_ever, who);
	srandom(5);
	for (; round < (SANITIZED ? 12 : 30) || !both_have_added(); round++) {
		unsigned there[2] = { acknowledged[0], acknowledged[1] };

		copy_slowly("a.blm", "copy.blm");
		finds_nothing("copy.blm");
		OK(blm_open(&f, NULL, "copy.blm", BLM_OPEN_WRITE));
		for (int who = 0; who < 2; who++)
			for (unsigned i = there[who] < 3000 ? 0 : there[who] - 3000; i < there[who];
			     i++) {
				unsigned key = key_of(who, i);

				ck_assert_msg(blm_contains(f, &key, sizeof(key)),
					      "round %d: key %u of %u", round, i, there[who]);
			}
		OK(blm_add(f, "only here", 9));
		OK(blm_info(f, info));
		ck_assert(info->dirty);
		OK(blm_sync(f));
		OK(blm_info(f, info));
		ck_assert(!info->dirty);
		blm_close(f);
		finds_nothing("copy.blm");
	}
	for (int who = 0; who < 2; who++)
		end(pid[who]);
	free(info);
}
END_TEST

/* ---- Syncs that fail ---- */

static struct blm_info info_of(const struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;

	OK(blm_info(f, &info));
	return info;
}

/* The calls of a sync: the data, the records of the blocks, the live page. */
START_TEST(a_sync_that_fails_says_so_and_the_next_one_mends_it)
{
	struct blm_params params = params_of(&shapes[2]);
	struct blm_filter *f, *other;
	struct blm_info before = BLM_INFO, after = BLM_INFO;
	struct image i;

	OK(blm_create(&f, NULL, "a.blm", &params));
	add_range(f, 0, 100);
	OK(blm_sync(f));
	OK(blm_open(&other, NULL, "a.blm", BLM_OPEN_WRITE));
	before = info_of(f);
	ck_assert(!before.suspect && !before.dirty && before.synced);
	ck_assert_uint_eq(before.synced_epoch, 1);
	ck_assert_uint_eq(before.epoch, 2);
	ck_assert_uint_eq(before.suspect_epoch, 0);
	add_range(f, 100, 20000);
	failing = _i;
	FAILS(blm_sync(f), -EIO);
	ck_assert_msg(strstr(blm_error_message(), "a.blm")
			      && strstr(blm_error_message(), "writing it back failed"),
		      "%s", blm_error_message());
	ck_assert_int_eq(failing, 0);
	for (int handle = 0; handle < 2; handle++) {
		after = info_of(handle ? other : f);
		ck_assert(after.suspect && after.dirty && after.synced == before.synced);
		ck_assert_uint_eq(after.synced_epoch, 1);
		ck_assert_uint_eq(after.suspect_epoch, 2);
	}
	ck_assert(has_range(f, 0, 20000));
	finds_nothing("a.blm");
	OK(blm_sync(other));
	after = info_of(f);
	ck_assert(!after.suspect && !after.dirty && after.synced > before.synced);
	ck_assert_uint_eq(after.synced_epoch, after.epoch - 1);
	ck_assert_uint_eq(after.suspect_epoch, 0);
	finds_nothing("a.blm");
	i = image_of("a.blm");
	/* and they are guarded as they are now */
	for (uint64_t block = 0; block < i.blocks; block++) {
		ck_assert(damage(&i, block, BITS_SWAPPED));
		finds_block("a.blm", block);
		put("a.blm", begin_of(&i, block), i.bytes + begin_of(&i, block),
		    end_of(&i, block) - begin_of(&i, block));
	}
	blm_close(f);
	blm_close(other);
	free(i.bytes);
}
END_TEST

START_TEST(a_sync_that_fails_again_and_again_leaves_the_filter_in_use)
{
	struct blm_filter *f;

	make(&f, NULL, "a.blm");
	for (unsigned i = 0; i < 20; i++) {
		add_range(f, 10 * i, 10 * i + 10);
		failing = 1 + (int)i % 3;
		FAILS(blm_sync(f), -EIO);
		ck_assert(info_of(f).suspect);
		ck_assert(has_range(f, 0, 10 * i + 10));
	}
	OK(blm_sync(f));
	ck_assert(!info_of(f).suspect);
	blm_close(f);
	finds_nothing("a.blm");
}
END_TEST

/*
 * Whoever flushes first is told, once, of what the system could not write long before: that need
 * not be a sync.
 */
START_TEST(another_flush_that_is_told_of_a_failure_makes_the_filter_suspect)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;
	int r;

	make_with(store, "a", "key");
	OK(blm_open(&f, store, "a", BLM_OPEN_WRITE));
	add_range(f, 0, 100);
	failing = 1;
	switch (_i) {
	case 0: r = blm_store_label(store, "a", "key", "value"); break;
	case 1: r = blm_store_rename(store, "a", "b"); break;	/* the catalog has it */
	case 2: r = blm_store_drop(store, "a"); break;
	default: r = blm_clear(f); break;
	}
	ck_assert(_i == 1 ? r == 0 : r == -EIO);
	ck_assert_int_eq(failing, 0);
	ck_assert(info_of(f).suspect && has_range(f, 0, 100) && has(f, "key"));
	OK(blm_sync(f));
	ck_assert(!info_of(f).suspect);
	OK(blm_store_label(store, _i == 1 ? "b" : "a", "key", "other"));
	ck_assert(!info_of(f).suspect);
	blm_close(f);
	blm_store_close(store);
}
END_TEST

static int sync_and_die(int at)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE) == 0);
	failing = -at;
	blm_sync(f);
	return 1;
}

/*
 * Whatever it is writing: the data, the records of the blocks, the sync record, the second image.
 */
START_TEST(a_process_killed_while_it_syncs_leaves_the_filter_suspect_until_the_next_sync)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "a.blm",
		      &BLM_PARAMS(.kind = _i < 3 ? "blocked" : "cuckoo", .capacity = 1000,
				  .rate = 0.01)));
	add_range(f, 0, 100);
	ck_assert_int_eq(run_apart(sync_and_die, _i % 3 + 1), SIGNALLED + SIGKILL);
	ck_assert(info_of(f).suspect);
	OK(blm_sync(f));
	ck_assert(!info_of(f).suspect);
	blm_close(f);
}
END_TEST

/* It may be told of any page, and the next sync finds that page clean. */
START_TEST(a_second_image_that_cannot_be_written_makes_the_filter_suspect)
{
	struct blm_filter *f, *other;

	OK(blm_create(&f, NULL, "a.blm",
		      &BLM_PARAMS(.kind = "cuckoo", .capacity = 1000, .rate = 0.01)));
	OK(blm_open(&other, NULL, "a.blm", BLM_OPEN_WRITE));
	add_range(f, 0, 100);
	failing = 3;
	FAILS(blm_sync(f), -EIO);
	ck_assert_msg(strstr(blm_error_message(), "second image"), "%s", blm_error_message());
	ck_assert(info_of(f).suspect);
	ck_assert_uint_eq(info_of(f).suspect_epoch, info_of(f).epoch);
	OK(blm_sync(other));
	ck_assert(!info_of(f).suspect && !info_of(f).dirty);
	blm_close(f);
	blm_close(other);
	finds_nothing("a.blm");
}
END_TEST

static struct blm_filter *others;

static void add_in_vain(void)
{
	failing = 1;
	FAILS(blm_add(others, "other", 5), -EIO);
	ck_assert_int_eq(failing, 0);
}

static const char *const announcing[] = { "counting", "cuckoo", "iblt" };

/* The two share an open file, and the system tells one of them. */
START_TEST(a_sync_of_whose_failure_who_announces_a_change_was_told_writes_all_again)
{
	struct blm_filter *f;
	int calls = _i ? 3 : 2, before;		/* data, sync record, second image */

	OK(blm_create(&f, NULL, "a.blm",
		      &BLM_PARAMS(.kind = announcing[_i], .capacity = 1000, .rate = 0.01)));
	OK(blm_add(f, "key", 3));
	others = f;
	meanwhile = add_in_vain;
	before = syncs;
	OK(blm_sync(f));
	ck_assert_int_eq(syncs - before, calls + 2);
	ck_assert(!info_of(f).suspect);
	OK(blm_add(f, "other", 5));
	blm_close(f);
	finds_nothing("a.blm");
}
END_TEST

START_TEST(a_failure_that_who_announces_a_change_is_told_of_is_known_whoever_else_flushes)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);
	struct blm_filter *f;

	OK(blm_create(&f, store, "a",
		      &BLM_PARAMS(.kind = announcing[_i], .capacity = 1000, .rate = 0.01)));
	OK(blm_sync(f));
	others = f;
	meanwhile = add_in_vain;
	OK(blm_store_label(store, "a", "key", "value"));
	ck_assert_ptr_null(meanwhile);
	ck_assert(info_of(f).suspect);
	OK(blm_add(f, "key", 3));
	ck_assert(info_of(f).suspect);
	OK(blm_sync(f));
	ck_assert(!info_of(f).suspect);
	blm_close(f);
	blm_store_close(store);
}
END_TEST

static int looks;

static int find_no_suspicion(int unused)
{
	struct blm_filter *mine;
	struct blm_info info = BLM_INFO;

	MUST(blm_info(others, &info) == 0 && !info.suspect && info.suspect_epoch == 0);
	MUST(blm_open(&mine, NULL, "a.blm", 0) == 0);
	MUST(blm_info(mine, &info) == 0 && !info.suspect);
	blm_close(mine);
	return 0;
}

/* It cannot know who has a lock. */
static int find_suspicion_where_the_file_is_away(int unused)
{
	struct blm_info info = BLM_INFO;

	MUST(rename("a.blm", "away") == 0);
	MUST(blm_info(others, &info) == 0 && info.suspect);
	MUST(rename("away", "a.blm") == 0);
	return 0;
}

/*
 * Through the handle that writes back, through another, and through what a forked process has of
 * them.
 */
static void look_on(void)
{
	looks++;
	ck_assert_int_eq(find_no_suspicion(0), 0);
	ck_assert_int_eq(run_apart(find_no_suspicion, 0), 0);
	ck_assert_int_eq(run_apart(find_suspicion_where_the_file_is_away, 0), 0);
	meanwhile = look_on;
}

START_TEST(a_filter_is_not_suspect_while_it_is_written_back_and_is_when_that_has_failed)
{
	struct blm_filter *f;

	OK(blm_create(&f, NULL, "a.blm",
		      &BLM_PARAMS(.kind = _i ? announcing[_i - 1] : "blocked", .capacity = 1000,
				  .rate = 0.01)));
	others = f;
	meanwhile = look_on;
	OK(blm_add(f, "key", 3));
	ck_assert_int_eq(looks, _i > 0);	/* the announcement */
	OK(blm_sync(f));
	ck_assert_int_ge(looks, _i ? 3 : 2);
	meanwhile = NULL;
	OK(blm_add(f, "other", 5));
	failing = 1;
	FAILS(blm_sync(f), -EIO);
	ck_assert(info_of(f).suspect);
	meanwhile = look_on;
	OK(blm_sync(f));
	meanwhile = NULL;
	ck_assert(!info_of(f).suspect);
	blm_close(f);
}
END_TEST

START_TEST(with_damaged_sync_records_the_disk_is_unknown_until_the_next_sync)
{
	struct blm_filter *f, *syncing;
	struct blm_live *live;

	make(&f, NULL, "a.blm");
	OK(blm_open(&syncing, NULL, "a.blm", BLM_OPEN_WRITE));
	live = live_of(current_view(f));
	for (int i = 0; i < 2; i++) {
		OK(blm_add(f, &i, sizeof(i)));
		OK(blm_sync(f));
	}
	for (int i = 0; i < 2; i++) {
		ck_assert(!info_of(f).suspect && info_of(f).synced);
		live->sync[1 - i].check ^= 1;	/* the older one first, that of the first sync */
	}
	ck_assert(info_of(f).suspect && !info_of(f).suspect_epoch && !info_of(f).synced);
	OK(blm_lock_syncing(current_view(syncing)));
	ck_assert(info_of(f).suspect && !info_of(f).suspect_epoch && !info_of(f).synced);
	blm_unlock_syncing(current_view(syncing));
	OK(blm_sync(f));
	ck_assert(!info_of(f).suspect && info_of(f).synced);
	blm_close(f), blm_close(syncing);
}
END_TEST

static int announce_and_die(int unused)
{
	struct blm_filter *f;

	MUST(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE) == 0);
	failing = -1;
	blm_add(f, "other", 5);
	return 1;
}

/* _i: who announced was told of a failure; was killed */
START_TEST(a_change_that_could_not_be_announced_makes_the_filter_suspect)
{
	for (size_t kind = 0; kind < ARRAY_LEN(announcing); kind++) {
		struct blm_filter *f, *other;

		OK(blm_create(&f, NULL, "a.blm",
			      &BLM_PARAMS(.kind = announcing[kind], .capacity = 1000, .rate = 0.01,
					  .replace = kind > 0)));
		OK(blm_open(&other, NULL, "a.blm", BLM_OPEN_WRITE));
		others = f;
		if (_i)
			ck_assert_int_eq(run_apart(announce_and_die, 0), SIGNALLED + SIGKILL);
		else
			add_in_vain();
		ck_assert(!blm_lock_is_held(&current_view(f)->lock, current_view(f)->image.fd));
		ck_assert(info_of(f).suspect && info_of(other).suspect);
		OK(blm_add(f, "key", 3));
		OK(blm_lock_writing(current_view(f), true));
		ck_assert(info_of(f).suspect && info_of(other).suspect);
		blm_unlock_writing(current_view(f));
		OK(blm_sync(f));
		ck_assert(!info_of(f).suspect && !info_of(other).suspect);
		blm_close(f), blm_close(other);
	}
}
END_TEST

static struct blm_filter *witness;
static pthread_t disallowing;
static int64_t disallowed = -1;

static bool is_locked(void)
{
	return blm_ofd_held(current_view(witness)->image.fd, BLM_LOCK_SYNC);
}

static void *disallow(void *unused)
{
	disallowed = blm_allowlist_remove(others, &(struct blm_key){ "key", 3 }, 1);
	return NULL;
}

static void see_that_it_is_locked(void)
{
	looks++;
	ck_assert(is_locked());
	meanwhile = see_that_it_is_locked;
}

/* Time enough for one that does not wait. */
static void disallow_meanwhile(void)
{
	ck_assert_int_eq(pthread_create(&disallowing, NULL, disallow, NULL), 0);
	for (int i = 0; i < 100 && is_locked(); i++)
		usleep(2000);
	see_that_it_is_locked();
}

START_TEST(a_sync_has_its_lock_to_its_end_whatever_other_threads_of_the_handle_do)
{
	struct blm_store *store = open_store(BLM_STORE_CREATE);

	make(&others, store, "a");
	OK(blm_open(&witness, store, "a", BLM_OPEN_WRITE));
	OK(blm_add(others, "key", 3));
	meanwhile = disallow_meanwhile;
	OK(blm_sync(others));
	meanwhile = NULL;
	ck_assert_int_ge(looks, 2);
	pthread_join(disallowing, NULL);
	ck_assert_int_eq(disallowed, 0);
	ck_assert(!is_locked());
	blm_close(others), blm_close(witness);
	blm_store_close(store);
}
END_TEST

/* _i: by one who makes the filter; who replaces it */
static int name_and_die(int replaces)
{
	struct blm_params params = BLM_PARAMS(.capacity = 1000, .rate = 0.01, .replace = replaces);
	struct blm_filter *f;

	folder_failing = -1;
	blm_create(&f, NULL, "a.blm", &params);
	return 1;
}

START_TEST(a_sync_makes_sure_of_a_name_whose_giver_was_killed)
{
	struct blm_filter *f;

	if (_i)
		make(&f, NULL, "a.blm"), blm_close(f);
	ck_assert_int_eq(run_apart(name_and_die, _i), SIGNALLED + SIGKILL);
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	add_range(f, 0, 10);
	folder_syncs = 0;
	folder_failing = 1;
	FAILS(blm_sync(f), -EIO);
	OK(blm_sync(f));
	ck_assert_int_eq(folder_syncs, 2);
	add_range(f, 10, 20);
	OK(blm_sync(f));
	ck_assert_int_eq(folder_syncs, 2);	/* what is on the disk once stays there */
	blm_close(f);
}
END_TEST

/* Else who opened it just before would add to a file that has no name. */
START_TEST(what_was_replaced_says_so_also_where_its_replacer_failed_then)
{
	struct blm_filter *f;
	uint64_t state = 0;
	int fd;

	make(&f, NULL, "a.blm");
	add_range(f, 0, 10);
	fd = open("a.blm", O_RDONLY);
	folder_failing = 1;
	FAILS(blm_clear(f), -EIO);
	ck_assert_msg(strstr(blm_error_message(), "in place"), "%s", blm_error_message());
	ck_assert_int_eq(pread(fd, &state, sizeof(state),
			       offsetof(struct blm_header, live)
				       + offsetof(struct blm_live, state)),
			 sizeof(state));
	ck_assert_uint_eq(le64toh(state) & 0xff, BLM_REPLACED);
	ck_assert(!has_range(f, 0, 10));
	close(fd);
	blm_close(f);
}
END_TEST

START_TEST(a_sync_of_a_file_that_was_cut_fails)
{
	struct blm_filter *f;

	make(&f, NULL, "a.blm");
	add_range(f, 0, 100);
	ck_assert_int_eq(truncate("a.blm", (off_t)info_of(f).bytes - 4096), 0);
	FAILS(blm_sync(f), -EIO);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "a.blm"));
	blm_close(f);
}
END_TEST

/*
 * Pages that are written to, while all of a map is read-only: the handler notes each and lets it
 * be.
 */
static uint8_t *watched;
static uint8_t touched[2048];

static void note_page(int number, siginfo_t *info, void *context)
{
	size_t page = (size_t)((uint8_t *)info->si_addr - watched) / BLM_PAGE;

	if ((uint8_t *)info->si_addr < watched || page >= sizeof(touched))
		abort();
	touched[page] = 1;
	mprotect(watched + page * BLM_PAGE, BLM_PAGE, PROT_READ | PROT_WRITE);
}

/* How many pages a sync writes to, of how many. */
static size_t pages_touched(struct blm_filter *f, size_t *ret_pages)
{
	struct blm_view *view = current_view(f);
	size_t pages = round_up(view->image.bytes, BLM_PAGE) / BLM_PAGE, count = 0;
	struct sigaction old, act = { .sa_sigaction = note_page, .sa_flags = SA_SIGINFO };

	ck_assert_uint_le(pages, sizeof(touched));
	memset(touched, 0, sizeof(touched));
	watched = view->image.map;
	sigaction(SIGSEGV, &act, &old);
	ck_assert_int_eq(mprotect(watched, pages * BLM_PAGE, PROT_READ), 0);
	OK(blm_sync(f));
	ck_assert_int_eq(mprotect(watched, pages * BLM_PAGE, PROT_READ | PROT_WRITE), 0);
	sigaction(SIGSEGV, &old, NULL);
	for (size_t i = 0; i < pages; i++)
		count += touched[i];
	*ret_pages = pages;
	return count;
}

START_TEST(after_a_sync_that_failed_the_next_one_makes_every_page_dirty)
{
	const struct blm_part_entry *e;
	struct blm_filter *f;
	size_t count, pages, gap;

	if (sysconf(_SC_PAGESIZE) != BLM_PAGE)
		SKIP("pages are larger here");
	make_shape(&shapes[_i], SYNCED);
	OK(blm_open(&f, NULL, "a.blm", BLM_OPEN_WRITE));
	count = pages_touched(f, &pages);
	ck_assert_uint_le(count, 2);	/* the live page, and nothing else has changed */
	failing = 1;
	FAILS(blm_sync(f), -EIO);
	count = pages_touched(f, &pages);
	e = &current_view(f)->image.header->part[0];
	/* nobody's */
	gap = (le64toh(e->offset) - blocksum_bytes(le64toh(e->bytes))) / BLM_PAGE
	    - BLM_HEADER_BYTES / BLM_PAGE;
	ck_assert_msg(count == pages - gap,
		      "%zu of %zu pages, %zu of them between header and guard", count, pages, gap);
	count = pages_touched(f, &pages);
	ck_assert_uint_le(count, 2);
	blm_close(f);
}
END_TEST

/* ---- Syncs that come by themselves ---- */

/* Other machines have pages of 16 or 64 KiB, and flush from the beginning of one only. */
START_TEST(a_filter_is_synced_also_where_pages_are_larger)
{
	struct blm_store *store;
	struct blm_filter *f;
	struct blm_info info = BLM_INFO;

	page_bytes = _i % 2 ? 65536 : 16384;
	OK(blm_store_open(&store, "store", BLM_STORE_CREATE));
	OK(blm_create(&f, store, "a",
		      &BLM_PARAMS(.kind = _i < 2 ? "blocked" : announcing[_i / 2 - 1],
				  .capacity = 300000, .rate = 0.01)));
	OK(blm_info(f, &info));
	ck_assert(!info.suspect);
	add_range(f, 0, 1000);
	OK(blm_sync(f));
	OK(blm_store_label(store, "a", "who", "me"));
	OK(blm_info(f, &info));
	ck_assert(info.synced && !info.dirty && !info.suspect);
	OK(blm_seal(f));
	blm_close(f);
	blm_store_close(store);
	ck_assert_int_eq(blm_store_verify("store", 0, NULL, NULL), 0);
	page_bytes = 4096;
}
END_TEST

START_TEST(after_every_so_many_new_keys_a_handle_syncs_by_itself)
{
	struct blm_filter *f;
	struct blm_key keys[25];
	unsigned number[25];
	uint64_t last;

	make(&f, NULL, "a.blm");
	OK(blm_sync_every(f, 10, 0));
	add_range(f, 0, 9);
	ck_assert_uint_eq(info_of(f).synced, 0);
	add_range(f, 0, 9);			/* they are there, so nothing has changed */
	ck_assert_uint_eq(info_of(f).synced, 0);
	add_range(f, 9, 10);
	last = info_of(f).synced;
	ck_assert(last && !info_of(f).dirty);
	for (unsigned i = 10; i < 19; i++)
		OK(blm_claim(f, &i, sizeof(i)));
	ck_assert_uint_eq(info_of(f).synced, last);
	OK(blm_claim(f, &(unsigned){ 19 }, sizeof(unsigned)));
	ck_assert_uint_gt(info_of(f).synced, last);
	for (unsigned i = 0; i < 25; i++) {
		number[i] = 20 + i;
		keys[i] = (struct blm_key){ &number[i], sizeof(number[i]) };
	}
	last = info_of(f).synced;
	syncs = 0;
	ck_assert_int_eq((int)blm_add_many(f, keys, 25, NULL), 25);
	ck_assert(syncs == 3 && info_of(f).synced > last);	/* one sync */
	OK(blm_sync_every(f, 0, 0));
	last = info_of(f).synced;
	add_range(f, 45, 85);
	ck_assert_uint_eq(info_of(f).synced, last);
	blm_close(f);
	finds_nothing("a.blm");
}
END_TEST

START_TEST(after_every_so_many_seconds_the_next_new_key_brings_a_sync)
{
	struct blm_filter *f;
	uint64_t last;

	make(&f, NULL, "a.blm");
	OK(blm_sync_every(f, 0, 0.2));
	add_range(f, 0, 5);
	ck_assert_uint_eq(info_of(f).synced, 0);
	usleep(250000);
	ck_assert_uint_eq(info_of(f).synced, 0);	/* nobody added, nobody syncs */
	add_range(f, 0, 5);
	ck_assert_uint_eq(info_of(f).synced, 0);
	add_range(f, 5, 6);
	last = info_of(f).synced;
	ck_assert_uint_gt(last, 0);
	add_range(f, 6, 10);
	ck_assert_uint_eq(info_of(f).synced, last);
	blm_close(f);
}
END_TEST

START_TEST(a_sync_by_itself_that_fails_is_told_of_and_its_keys_are_in)
{
	struct blm_filter *f;

	make(&f, NULL, "a.blm");
	OK(blm_sync_every(f, 1, 0));
	failing = 1;
	FAILS(blm_add(f, "one", 3), -EIO);
	ck_assert(has(f, "one") && info_of(f).suspect);
	failing = 1;
	FAILS(blm_claim(f, "two", 3), -EIO);
	ck_assert(has(f, "two"));
	OK(blm_add(f, "three", 5));
	ck_assert(!info_of(f).suspect);
	blm_close(f);
}
END_TEST

START_TEST(what_is_no_time_between_syncs_is_refused_and_so_is_a_handle_for_reading)
{
	static const double bad[] = { -1, 1e9, 1e300, -0.001, (double)INFINITY, (double)NAN };
	struct blm_filter *f;

	make(&f, NULL, "a.blm");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		FAILS(blm_sync_every(f, 0, bad[i]), -EINVAL);
	blm_close(f);
	OK(blm_open(&f, NULL, "a.blm", 0));
	FAILS(blm_sync_every(f, 1, 1), -EBADF);
	FAILS(blm_sync(f), -EBADF);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("guard");
	TCase *tc = tcase_create("guard");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, what_a_synced_block_lost_is_found_and_what_it_has_more_is_not, 0,
			    SHAPES);
	tcase_add_loop_test(
		tc, a_block_that_lost_bits_is_told_of_also_after_others_were_added_and_synced, 0,
		8);
	tcase_add_loop_test(tc, a_sync_tells_of_a_block_that_lost_bits_until_it_is_repaired, 0,
			    SHAPES);
	tcase_add_loop_test(tc, nothing_is_made_of_a_damaged_filter_until_it_is_repaired, 0,
			    SHAPES * USES);
	tcase_add_loop_test(tc, a_record_of_zeros_is_no_record, 0, 3);
	tcase_add_test(tc, the_hash_of_zeros_is_never_0);
	tcase_add_test(tc, several_damaged_blocks_are_each_told_of);
	tcase_add_loop_test(tc, any_bit_flipped_in_a_sealed_file_is_found, 0, 4);
	tcase_add_test(tc, a_damaged_record_leaves_its_block_unknown);
	tcase_add_loop_test(
		tc,
		whatever_way_a_block_changed_it_is_guarded_after_a_sync_and_in_a_new_file_at_once,
		0, 2 * WAYS);
	tcase_add_loop_test(tc, a_repaired_filter_denies_no_key_and_says_its_rate, 0, 6);
	tcase_add_loop_test(tc, so_does_a_repaired_sealed_one_and_stays_sealed, 0, 6);
	tcase_add_test(tc, verifying_a_store_repairs_the_blocks_of_its_filters);
	tcase_add_loop_test(tc, what_was_added_after_the_last_sync_is_no_damage, 0, SHAPES);
	tcase_add_loop_test(tc, verifying_finds_nothing_while_others_add_and_sync, 0, 4);
	tcase_add_loop_test(
		tc, copies_made_while_others_add_and_sync_are_good_and_hold_what_was_acknowledged,
		0, 2);
	tcase_add_loop_test(tc, a_sync_that_fails_says_so_and_the_next_one_mends_it, 1, 4);
	tcase_add_test(tc, a_sync_that_fails_again_and_again_leaves_the_filter_in_use);
	tcase_add_loop_test(tc, another_flush_that_is_told_of_a_failure_makes_the_filter_suspect, 0,
			    4);
	tcase_add_loop_test(
		tc, a_process_killed_while_it_syncs_leaves_the_filter_suspect_until_the_next_sync,
		0, 6);
	tcase_add_loop_test(tc, a_sync_makes_sure_of_a_name_whose_giver_was_killed, 0, 2);
	tcase_add_test(tc, what_was_replaced_says_so_also_where_its_replacer_failed_then);
	tcase_add_test(tc, a_second_image_that_cannot_be_written_makes_the_filter_suspect);
	tcase_add_loop_test(
		tc, a_sync_of_whose_failure_who_announces_a_change_was_told_writes_all_again, 0, 3);
	tcase_add_loop_test(
		tc, a_failure_that_who_announces_a_change_is_told_of_is_known_whoever_else_flushes,
		0, 3);
	tcase_add_loop_test(
		tc, a_filter_is_not_suspect_while_it_is_written_back_and_is_when_that_has_failed, 0,
		1 + (int)ARRAY_LEN(announcing));
	tcase_add_loop_test(tc, a_change_that_could_not_be_announced_makes_the_filter_suspect, 0,
			    2);
	tcase_add_test(tc, with_damaged_sync_records_the_disk_is_unknown_until_the_next_sync);
	tcase_add_test(tc, a_sync_has_its_lock_to_its_end_whatever_other_threads_of_the_handle_do);
	tcase_add_test(tc, a_sync_of_a_file_that_was_cut_fails);
	tcase_add_loop_test(tc, after_a_sync_that_failed_the_next_one_makes_every_page_dirty, 0, 6);
	tcase_add_loop_test(tc, a_filter_is_synced_also_where_pages_are_larger, 0, 8);
	tcase_add_test(tc, after_every_so_many_new_keys_a_handle_syncs_by_itself);
	tcase_add_test(tc, after_every_so_many_seconds_the_next_new_key_brings_a_sync);
	tcase_add_test(tc, a_sync_by_itself_that_fails_is_told_of_and_its_keys_are_in);
	tcase_add_test(tc, what_is_no_time_between_syncs_is_refused_and_so_is_a_handle_for_reading);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
