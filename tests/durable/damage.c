/* damage.c - damaged blocks are found, and nothing is made of them until they are repaired */
#include "damage.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fcntl.h>
#include <math.h>

START_TEST(only_lost_bits_of_a_synced_block_are_damage)
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
START_TEST(a_block_that_lost_bits_is_reported_after_later_syncs)
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

START_TEST(each_sync_reports_lost_bits_until_the_block_is_repaired)
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
START_TEST(a_damaged_filter_is_no_source_until_it_is_repaired)
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

START_TEST(several_damaged_blocks_are_each_reported)
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

START_TEST(a_repaired_filter_denies_no_key_and_reports_its_rate)
{
	repair(&shapes[_i], SYNCED);
}
END_TEST

START_TEST(a_repaired_sealed_filter_stays_sealed)
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

int main(void)
{
	Suite *s = suite_create("damage");
	TCase *tc = tcase_create("damage");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(tc, only_lost_bits_of_a_synced_block_are_damage, 0,
			    SHAPES);
	tcase_add_loop_test(
		tc, a_block_that_lost_bits_is_reported_after_later_syncs, 0,
		8);
	tcase_add_loop_test(tc, each_sync_reports_lost_bits_until_the_block_is_repaired, 0,
			    SHAPES);
	tcase_add_loop_test(tc, a_damaged_filter_is_no_source_until_it_is_repaired, 0,
			    SHAPES * USES);
	tcase_add_loop_test(tc, a_record_of_zeros_is_no_record, 0, 3);
	tcase_add_test(tc, the_hash_of_zeros_is_never_0);
	tcase_add_test(tc, several_damaged_blocks_are_each_reported);
	tcase_add_loop_test(tc, any_bit_flipped_in_a_sealed_file_is_found, 0, 4);
	tcase_add_test(tc, a_damaged_record_leaves_its_block_unknown);
	tcase_add_loop_test(tc, a_repaired_filter_denies_no_key_and_reports_its_rate, 0, 6);
	tcase_add_loop_test(tc, a_repaired_sealed_filter_stays_sealed, 0, 6);
	tcase_add_test(tc, verifying_a_store_repairs_the_blocks_of_its_filters);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
