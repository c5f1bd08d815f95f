/* mapping.c - headers as they are made, and what is read of damaged ones */
#include "base/base.h"
#include "file/mapping.h"
#include "file/os.h"
#include "file/two_slots.h"
#include "store/suite.h"

START_TEST(a_header_has_a_random_uuid_and_the_time)
{
	struct blm_constant c = { .version = 0 }, last = c;
	uint64_t before = blm_now();

	for (int i = 0; i < 100; i++) {		/* RFC 4122, section 4.4 */
		blm_constant_begin(&c, "test");
		ck_assert_uint_eq(c.uuid[6] >> 4, 4);
		ck_assert_uint_eq(c.uuid[8] >> 6, 2);
		ck_assert_mem_ne(c.uuid, last.uuid, 16);
		last = c;
	}
	ck_assert_uint_ge(le64toh(c.created), before);
	ck_assert_uint_le(le64toh(c.created), blm_now());
}
END_TEST

START_TEST(parts_follow_each_other_aligned_with_space_for_their_records)
{
	static const uint64_t sizes[] = { 64,	   65536,	   65600,  1 << 20, (2 << 20) - 64,
					  2 << 20, (2 << 20) + 64, 5 << 20 };
	struct blm_header *header = calloc(1, sizeof(*header));
	uint64_t end = BLM_HEADER_BYTES;
	struct blm_contents *contents = malloc(sizeof(*contents));

	blm_constant_begin(&header->constant, "test");
	header->constant.capacity = htole64(1);
	header->constant.rate = htole64(blm_bits_of(0.5));
	blm_template_id(&header->constant.template, header->constant.template_id);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		header->part[i].bytes = htole64(sizes[i]);
	blm_header_finish(header, ARRAY_LEN(sizes));
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		uint64_t at = le64toh(header->part[i].offset),
			 unit = sizes[i] > BLM_HUGE_PAGE ? BLM_HUGE_PAGE : BLM_PART_ALIGN;

		ck_assert_uint_eq(at % unit, 0);
		ck_assert_uint_ge(at, end + blocksum_bytes(sizes[i]));
		ck_assert_uint_lt(at, end + blocksum_bytes(sizes[i]) + unit);
		end = at + sizes[i];
	}
	OK(blm_header_check(header, end, "a", contents));
	ck_assert_uint_eq(contents->parts, ARRAY_LEN(sizes));
	FAILS(blm_header_check(header, end - 1, "a", contents), -ENODATA);
	/* each before, upon, behind each other: only its own place will do */
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		for (size_t j = 0; j < ARRAY_LEN(sizes); j++)
			for (int shift = -1; shift <= 1 && i != j; shift++) {
				struct blm_part_entry *e = &header->part[i], was = *e;

				e->offset = htole64(le64toh(header->part[j].offset)
						    + (uint64_t)(shift * BLM_PART_ALIGN));
				e->check = blm_check_part(e, (unsigned)i, header->constant.uuid);
				ck_assert_int_lt(blm_header_check(header, end, "a", contents), 0);
				*e = was;
			}
	free(contents);
	free(header);
}
END_TEST

/* The newer good slot of two counts; a new record takes the place of the other. */
START_TEST(the_newer_good_sync_record_counts)
{
	struct blm_live live = { .parts.word = 0 };
	const uint8_t uuid[16] = { 1, 2, 3 };
	struct blm_sync_record last;

	ck_assert(!blm_last_sync(&live, uuid, &last));
	ck_assert_int_eq(blm_syncs_lost(&live, uuid), 0);
	blm_drop_sync(&live, uuid);			/* nothing to drop */
	ck_assert(!blm_last_sync(&live, uuid, &last));
	for (uint64_t i = 1; i <= 5; i++) {
		blm_next_sync(&live, uuid, &(struct blm_sync_record){ .epoch = htole64(10 * i) });
		ck_assert(blm_last_sync(&live, uuid, &last));
		ck_assert_uint_eq(le64toh(last.epoch), 10 * i);
		ck_assert_uint_eq(le64toh(last.sequence), i);
	}
	blm_drop_sync(&live, uuid);
	ck_assert(blm_last_sync(&live, uuid, &last));
	ck_assert_uint_eq(le64toh(last.epoch), 40);
	ck_assert_int_eq(blm_syncs_lost(&live, uuid), 0);
	live.sync[0].keys ^= 1;
	ck_assert(!blm_last_sync(&live, uuid, &last));
	ck_assert_int_eq(blm_syncs_lost(&live, uuid), 1);
	/* it may be the first, half written, in a file or in a copy */
	live.flushing.word = 9;
	ck_assert_int_eq(blm_syncs_lost(&live, uuid), 0);
	live.sync[1].sequence = 1;
	ck_assert_int_eq(blm_syncs_lost(&live, uuid), 2);
	/* another file's records are none */
	ck_assert(!blm_last_sync(&live, (const uint8_t[16]){ 9 }, &last));
}
END_TEST

static void put_sync(struct blm_live *live, const uint8_t uuid[16], int slot, uint64_t sequence,
		     uint64_t epoch, uint64_t keys)
{
	struct blm_sync_record r = { .sequence = htole64(sequence),
				     .epoch = htole64(epoch),
				     .keys = htole64(keys) };

	r.check = blm_check_sync(&r, uuid);
	live->sync[slot] = r;
}

START_TEST(after_the_last_sequence_number_comes_1)
{
	const uint8_t uuid[16] = { 1, 2, 3 };

	for (int slot = 0; slot < 2; slot++) {
		struct blm_live live = { .parts.word = 0 };
		struct blm_sync_record last;
		uint64_t sequence = UINT64_MAX - 1;

		put_sync(&live, uuid, slot, sequence, 1, 1);
		for (uint64_t epoch = 2; epoch < 6; epoch++) {
			sequence = sequence + 1 ? sequence + 1 : 1;
			blm_next_sync(&live, uuid,
				      &(struct blm_sync_record){ .epoch = htole64(epoch) });
			ck_assert(blm_last_sync(&live, uuid, &last));
			ck_assert_uint_eq(le64toh(last.epoch), epoch);
			ck_assert_uint_eq(le64toh(last.sequence), sequence);
			ck_assert(!blm_syncs_contradict(&live, uuid));
			blm_drop_sync(&live, uuid);		/* the one before it is whole */
			ck_assert(blm_last_sync(&live, uuid, &last));
			ck_assert_uint_eq(le64toh(last.epoch), epoch - 1);
			blm_next_sync(&live, uuid,
				      &(struct blm_sync_record){ .epoch = htole64(epoch) });
		}
	}
}
END_TEST

START_TEST(the_lesser_claim_of_contradicting_sync_records_counts)
{
	static const struct { uint64_t sequence[2], epoch[2], keys[2]; int counts;
	} all[] = {
		{ { 7, 7 }, { 20, 10 }, { 1, 2 }, 1 },
		{ { 7, 7 }, { 10, 20 }, { 1, 2 }, 0 },
		{ { 7, 7 }, { 10, 10 }, { 9, 8 }, 1 },
		{ { 7, 7 }, { 10, 10 }, { 8, 9 }, 0 },
		{ { 7, (UINT64_C(1) << 63) + 7 }, { 10, 20 }, { 1, 2 }, 0 },
		{ { 7, (UINT64_C(1) << 63) + 7 }, { 20, 10 }, { 1, 2 }, 1 },
	};
	const uint8_t uuid[16] = { 1, 2, 3 };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct blm_live live = { .parts.word = 0 };
		struct blm_sync_record last;

		for (int slot = 0; slot < 2; slot++)
			put_sync(&live, uuid, slot, all[i].sequence[slot], all[i].epoch[slot],
				 all[i].keys[slot]);
		ck_assert(blm_syncs_contradict(&live, uuid));
		ck_assert(blm_last_sync(&live, uuid, &last));
		ck_assert_uint_eq(le64toh(last.epoch), all[i].epoch[all[i].counts]);
		ck_assert_uint_eq(le64toh(last.keys), all[i].keys[all[i].counts]);
		blm_next_sync(&live, uuid, &(struct blm_sync_record){ .epoch = htole64(30) });
		ck_assert(!blm_syncs_contradict(&live, uuid));
		ck_assert(blm_last_sync(&live, uuid, &last));
		ck_assert_uint_eq(le64toh(last.epoch), 30);
		blm_drop_sync(&live, uuid);
		ck_assert(blm_last_sync(&live, uuid, &last));
		ck_assert_uint_eq(le64toh(last.epoch), all[i].epoch[all[i].counts]);
	}
}
END_TEST

/* The last name counts, wherever the sequence is and in whichever slot. */
START_TEST(a_name_is_kept_after_the_last_sequence)
{
	struct blm_header *header = calloc(1, sizeof(*header));
	const uint8_t uuid[16] = { 1, 2, 3 };
	struct blm_record record = { .sequence = htole64(UINT64_MAX),
				     .name_bytes = htole32(1),
				     .name = "a" };

	for (int slot = 0; slot < 2; slot++) {
		memset(header, 0, sizeof(*header));
		record.sequence = htole64(UINT64_MAX);
		record.check = blm_check_record(&record, uuid);
		header->record[slot] = record;
		for (char name = 'b'; name < 'f'; name++) {
			struct blm_record last,
				next = { .name_bytes = htole32(1), .name[0] = (uint8_t)name };

			blm_next_record(header, uuid, &next);
			ck_assert(blm_last_record(header, uuid, &last));
			ck_assert_int_eq(last.name[0], name);
			ck_assert(!blm_records_contradict(header, uuid));
		}
	}
	header->record[1] = header->record[0];
	ck_assert(!blm_records_contradict(header, uuid));
	header->record[1].name[0] = 'x';
	header->record[1].check = blm_check_record(&header->record[1], uuid);
	ck_assert(blm_records_contradict(header, uuid));
	free(header);
}
END_TEST

START_TEST(a_file_that_grew_since_its_mapping_is_mapped_again)
{
	struct blm_contents *contents = malloc(sizeof(*contents));
	struct blm_filter *f;
	struct blm_image image;
	uint64_t before;

	OK(blm_create(&f, NULL, "f",
		      &BLM_PARAMS(.kind = "scalable", .capacity = 100, .rate = 0.01)));
	OK(blm_image_map(&image, open("f", O_RDONLY | O_CLOEXEC), "f", false));
	OK(blm_image_check(&image, "f", contents));
	ck_assert_uint_eq(contents->parts, 1);
	before = image.bytes;
	for (int i = 0; i < 1000; i++)
		ck_assert_int_ge(blm_add(f, &i, sizeof(i)), 0);
	OK(blm_image_check(&image, "f", contents));
	ck_assert_uint_gt(contents->parts, 1);
	ck_assert_uint_gt(image.bytes, before);
	ck_assert_ptr_eq(image.header, image.map);
	/* all of it is mapped: no signal comes */
	for (unsigned i = 0; i < contents->parts; i++)
		(void)*(const volatile uint8_t *)&image.map[le64toh(contents->part[i].offset)
							    + le64toh(contents->part[i].bytes) - 1];
	blm_image_unmap(&image);

	/*
	 * One that is no longer than its map, or shorter, is cut, which leaves the map what it was.
	 */
	ck_assert_int_eq(truncate("f", (off_t)le64toh(contents->part[contents->parts - 1].offset)),
			 0);
	OK(blm_image_map(&image, open("f", O_RDONLY | O_CLOEXEC), "f", false));
	before = image.bytes;
	FAILS(blm_image_check(&image, "f", contents), -ENODATA);
	ck_assert_uint_eq(image.bytes, before);
	ck_assert_int_eq(truncate("f", (off_t)before - BLM_PAGE), 0);
	FAILS(blm_image_check(&image, "f", contents), -ENODATA);
	ck_assert_uint_eq(image.bytes, before);
	blm_image_unmap(&image);
	blm_close(f);
	free(contents);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("image");
	TCase *tc = tcase_create("image");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_test(tc, a_header_has_a_random_uuid_and_the_time);
	tcase_add_test(tc,
		       parts_follow_each_other_aligned_with_space_for_their_records);
	tcase_add_test(tc, the_newer_good_sync_record_counts);
	tcase_add_test(tc, after_the_last_sequence_number_comes_1);
	tcase_add_test(tc, the_lesser_claim_of_contradicting_sync_records_counts);
	tcase_add_test(tc, a_name_is_kept_after_the_last_sequence);
	tcase_add_test(tc, a_file_that_grew_since_its_mapping_is_mapped_again);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
