/*
 * laws.c - what holds for every kind that can do a thing: adding, asking, removing, values,
 * handles, and what it refuses (laws.h)
 */
#include "laws.h"

#include <math.h>

/* ---- Asking and adding ---- */

START_TEST(an_empty_filter_contains_nothing)
{
	struct blm_filter *f = make(kind_of(_i));

	ck_assert_uint_eq(found(f, 0, 100000), 0);
	ck_assert(!blm_contains(f, NULL, 0));
	blm_close(f);
}
END_TEST

START_TEST(every_added_key_is_found)
{
	struct blm_filter *f = make(kind_of(_i));
	static char text[100000];

	fill(f, 0, N);
	ck_assert_uint_eq(found(f, 0, N), N);
	for (uint64_t i = 0; i < N; i++)
		ck_assert(blm_contains(f, key(f, i), 8));
	/* no length is special, nor are NULs */
	for (size_t len = 0; len <= sizeof(text) && len <= longest(f) && !in_digits(f);
	     len = len * 2 + (len < 300)) {
		ck_assert_int_ge(blm_add(f, len ? text : NULL, len), 0);
		ck_assert(blm_contains(f, len ? text : NULL, len));
	}
	blm_close(f);
}
END_TEST

START_TEST(at_capacity_the_false_positive_rate_is_as_planned)
{
	const double asked = SANITIZED || test_scale() < 1 ? 20000 : 100000, seeds = 20;
	double sum = 0, squares = 0, mean, error, planned = 0;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct blm_filter *f = make_seeded(kind_of(_i), seed, 0.01);
		double rate;

		fill(f, 0, N);
		rate = (double)found(f, N, N + (uint64_t)asked) / asked;
		planned = info(f).rate_at_capacity;
		sum += rate;
		squares += rate * rate;
		blm_close(f);
	}
	mean = sum / seeds;
	error = sqrt((squares / seeds - mean * mean) / (seeds - 1));
	ck_assert_msg(mean <= 0.01 + 3 * error, "rate %g +- %g", mean, error);
	/* a filter made of parts is as planned when all of them are full */
	ck_assert_msg(kind_of(_i)->compose || mean >= 0.85 * planned - 3 * error,
		      "rate %g +- %g wastes space", mean, error);
}
END_TEST

/*
 * Sums of bytes keep no rate for keys that are numbers in a row: of some orders of bytes they find
 * every one.
 */
static bool keeps_its_rate(const struct blm_family *f)
{
	return strncmp(f->name, "djb", 3) && strcmp(f->name, "scrapy-redis")
	    && strcmp(f->name, "js");
}

START_TEST(every_hash_family_that_a_kind_accepts_works)
{
	const struct blm_kind *kind = kind_of(_i);
	unsigned served = 0;

	for (size_t i = 0; blm_family_at(i); i++) {
		struct blm_params params = BLM_PARAMS(.kind = kind->name,
						      .hash = blm_family_at(i)->name, .rate = 0.01,
						      .capacity = kind->exact ? NUMBERS : N);
		struct blm_filter *f;

		if (!kind_takes(kind, blm_family_at(i))) {
			ck_assert_int_eq(blm_create(&f, NULL, a_path(), &params), -EOPNOTSUPP);
			continue;
		}
		served++;
		if (test_scale() < 1 && (i + (size_t)_i) % (SANITIZED ? 13 : 8))
			continue;
		f = create(params);
		fill(f, 0, N);
		ck_assert_uint_eq(found(f, 0, N), N);
		ck_assert_uint_le(found(f, N, 51 * N),
				  (keeps_its_rate(blm_family_at(i)) ? 1.3 * 0.01 : 1) * 50 * N);
		blm_close(f);
	}
	ck_assert_uint_ge(served, kind->exact ? 1 : 2);
}
END_TEST

START_TEST(beyond_capacity_a_filter_takes_and_finds_keys)
{
	struct blm_filter *f = make(kind_of(_i));

	fill(f, 0, 3 * N);
	ck_assert_uint_eq(found(f, 0, 3 * N), 3 * N);
	ck_assert_uint_gt(info(f).keys, N);
	blm_close(f);
}
END_TEST

START_TEST(the_count_of_keys_is_the_number_of_changing_calls)
{
	struct blm_filter *f = make(kind_of(_i));
	uint64_t changed = 0;

	for (uint64_t i = 0; i < 2 * N; i++)
		changed += (uint64_t)blm_add(f, key(f, i % N), 8);
	ck_assert_uint_le(changed, N);
	ck_assert_uint_ge(changed, N * 99 / 100);
	ck_assert_uint_eq(info(f).keys, changed);
	changed += (uint64_t)fill(f, N / 2, N + N / 2);
	for (uint64_t i = N; i < 2 * N && kind_of(_i)->claim; i++)
		changed += (uint64_t)blm_claim(f, key(f, i), 8);
	ck_assert_uint_eq(info(f).keys, changed);
	ck_assert(!info(f).keys_estimated);
	blm_close(f);
}
END_TEST

/* ---- Removing ---- */

static uint64_t take_out(struct blm_filter *f, uint64_t from, uint64_t to)
{
	struct blm_key *keys = keys_from(f, from, to);
	int64_t gone = blm_remove_many(f, keys, to - from, NULL);

	ck_assert_msg(gone >= 0, "%s", blm_error_message());
	free(keys);
	return (uint64_t)gone;
}

START_TEST(a_removed_key_is_gone_and_the_others_stay)
{
	struct blm_filter *f = make(kind_of(_i));

	fill(f, 0, N);
	for (uint64_t i = 0; i < N / 2; i++)
		ck_assert_int_eq(blm_remove(f, key(f, i), 8), 1);
	ck_assert_uint_eq(found(f, N / 2, N), N - N / 2);
	ck_assert_uint_le(found(f, 0, N / 2), N / 20);
	ck_assert_uint_eq(info(f).keys, N - N / 2);
	blm_close(f);
}
END_TEST

START_TEST(once_all_keys_are_removed_nothing_is_found)
{
	struct blm_filter *f = make(kind_of(_i));

	fill(f, 0, N);
	ck_assert_uint_eq(take_out(f, 0, N), N);
	ck_assert_uint_eq(found(f, 0, 100 * N), 0);
	ck_assert_uint_eq(info(f).keys, 0);
	blm_close(f);
}
END_TEST

START_TEST(removing_an_absent_key_changes_nothing)
{
	struct blm_filter *f = make(kind_of(_i)), *before;
	uint64_t denied = 0;

	fill(f, 0, N);
	ck_assert_int_eq(blm_copy(&before, NULL, a_path(), f, 0), 0);
	for (uint64_t i = N; i < 2 * N; i++)
		if (!blm_contains(f, key(f, i), 8)) {
			ck_assert_int_eq(blm_remove(f, key(f, i), 8), 0);
			denied++;
		}
	ck_assert_uint_ge(denied, N * 95 / 100);
	same_data(f, before);
	ck_assert_uint_eq(info(f).keys, info(before).keys);
	blm_close(f), blm_close(before);
}
END_TEST

START_TEST(a_removed_key_can_be_added_again)
{
	struct blm_filter *f = make(kind_of(_i));

	for (int round = 0; round < 3; round++) {
		fill(f, 0, N);
		ck_assert_uint_eq(found(f, 0, N), N);
		ck_assert_uint_eq(take_out(f, 0, N), N);
	}
	ck_assert_uint_eq(found(f, 0, N), 0);
	blm_close(f);
}
END_TEST

/* ---- Values ---- */

START_TEST(every_put_key_has_a_value_and_others_the_rate)
{
	struct blm_filter *f = make(kind_of(_i)), *again;
	uint64_t value, exact = 0, absent = 0;

	put_range(f, 0, N);
	ck_assert_uint_eq(found(f, 0, N), N);
	again = reopen(f, false);
	for (uint64_t i = 0; i < N; i++) {
		ck_assert_int_eq(blm_get(again, &i, 8, &value), 1);
		exact += value == value_for(i);
	}
	ck_assert_uint_ge(exact, N * 95 / 100);
	for (uint64_t i = N; i < 11 * N; i++) {
		int r = blm_get(f, &i, 8, &value);

		ck_assert_int_eq(r, blm_contains(f, &i, 8));
		absent += (uint64_t)r;
	}
	ck_assert_uint_le(absent, 10 * N / 80);
	FAILS(blm_put(again, "x", 1, 1), -EBADF);
	blm_close(f), blm_close(again);
}
END_TEST

/* ---- Handles ---- */

START_TEST(a_read_only_handle_refuses_every_change)
{
	struct blm_filter *f = make(kind_of(_i)), *before, *r;
	const struct blm_filter *others[] = { f };
	struct blm_key key = { "x", 1 };
	struct blm_hash hash = { 1, 2 };

	fill(f, 0, 100);
	ck_assert_int_eq(blm_copy(&before, NULL, a_path(), f, 0), 0);
	r = reopen(f, false);
	ck_assert_int_eq(blm_add(r, "x", 1), -EBADF);
	ck_assert_int_eq(blm_claim(r, "x", 1), -EBADF);
	ck_assert_int_eq(blm_add_many(r, &key, 1, NULL), -EBADF);
	ck_assert_int_eq(blm_claim_many(r, &key, 1, NULL), -EBADF);
	ck_assert_int_eq(blm_add_fixed(r, "x", 1, 1, NULL), -EBADF);
	ck_assert_int_eq(blm_claim_fixed(r, "x", 1, 1, NULL), -EBADF);
	ck_assert_int_eq(blm_add_packed(r, "x", (int32_t []){ 0, 1 }, 4, 1, NULL), -EBADF);
	ck_assert_int_eq(blm_claim_packed(r, "x", (int32_t []){ 0, 1 }, 4, 1, NULL), -EBADF);
	ck_assert_int_eq(blm_add_hashes(r, blm_hash_id(r), &hash, 1, NULL), -EBADF);
	ck_assert_int_eq(blm_claim_hashes(r, blm_hash_id(r), &hash, 1, NULL), -EBADF);
	ck_assert_int_eq(blm_combine_into(r, BLM_UNION, others, 1, 0, NULL), -EBADF);
	ck_assert_int_eq(blm_combine_into(r, BLM_INTERSECT, others, 1, 0, NULL), -EBADF);
	ck_assert_int_eq(blm_sync(r), -EBADF);
	same_data(f, before);
	ck_assert_uint_eq(found(r, 0, 100), 100);
	blm_close(f), blm_close(before), blm_close(r);
}
END_TEST

START_TEST(a_reopened_filter_answers_the_same)
{
	struct blm_filter *a = make(kind_of(_i)), *b;
	struct blm_info x = BLM_INFO, y = BLM_INFO;
	uint64_t yes;
	char path[600];

	fill(a, 0, N);
	yes = found(a, 0, 20 * N);
	x = info(a);
	snprintf(path, sizeof(path), "%s", a->place.display);
	blm_close(a);
	ck_assert_int_eq(blm_open(&b, NULL, path, 0), 0);
	y = info(b);
	ck_assert_uint_eq(found(b, 0, 20 * N), yes);
	ck_assert_mem_eq(x.uuid, y.uuid, 16);
	ck_assert_uint_eq(x.keys, y.keys);
	ck_assert_str_eq(x.kind, y.kind);
	ck_assert_str_eq(x.hash, y.hash);
	blm_close(b);
}
END_TEST

START_TEST(an_add_makes_a_filter_dirty_and_a_sync_clean)
{
	struct blm_filter *f = make(kind_of(_i));

	ck_assert(!info(f).dirty);
	for (uint64_t i = 0; i < 3; i++) {
		blm_add(f, key(f, i), 8);
		ck_assert(info(f).dirty);
		ck_assert_int_eq(blm_sync(f), 0);
		ck_assert(!info(f).dirty);
		ck_assert_uint_gt(info(f).synced, info(f).created);
		ck_assert_uint_eq(info(f).keys, i + 1);
	}
	blm_close(f);
}
END_TEST

/* ---- Kinds ---- */

/* Any kind, robbed of one function, says that it cannot do that, and refuses it. */
static void robbed(const struct blm_kind *kind, size_t member, unsigned can,
		   int (*change)(struct blm_filter *))
{
	struct blm_filter *f = make(kind);
	struct blm_kind *less = malloc(sizeof(*less));

	*less = *kind;
	memset((char *)less + member, 0,
	       member == offsetof(struct blm_kind, fold_bits) ? sizeof(less->fold_bits)
	       : member == offsetof(struct blm_kind, splits)  ? sizeof(less->splits)
							      : sizeof(void (*)(void)));
	current_view(f)->part[0].kind = current_view(f)->root.kind = less;
	current_view(f)->can = blm_kind_can(less);
	ck_assert_uint_eq(blm_kind_can(less) & can, 0);
	if (blm_kind_can(kind) & can)
		ck_assert_uint_eq(blm_kind_can(kind) & ~blm_kind_can(less) & can, can);
	ck_assert_int_eq(change(f), -EOPNOTSUPP);
	blm_close(f);
	free(less);
}

static int try_remove(struct blm_filter *f) { return blm_remove(f, "x", 1); }
static int try_put(struct blm_filter *f) { return blm_put(f, "x", 1, 1); }
static int try_get(struct blm_filter *f) { return blm_get(f, "x", 1, &(uint64_t){ 0 }); }
static int try_add(struct blm_filter *f) { return blm_add(f, "x", 1); }
static int try_claim(struct blm_filter *f) { return blm_claim(f, "x", 1); }
static int try_estimate(struct blm_filter *f)
{
	return blm_estimate(f, true, &(struct blm_estimate){ 0 });
}
static int try_compare(struct blm_filter *f)
{
	return blm_compare(f, f, &(struct blm_comparison){ 0 });
}

static int try_fold(struct blm_filter *f)
{
	struct blm_filter *folded;

	return blm_fold(&folded, NULL, a_path(), f, 1, 0);
}

static int try_split(struct blm_filter *f)
{
	const char *name = a_path();

	return blm_split(f, 1, NULL, &name, 0);
}

static int try_union(struct blm_filter *f)
{
	const struct blm_filter *other = f;

	return blm_combine_into(f, BLM_UNION, &other, 1, 0, NULL);
}

static int try_intersection(struct blm_filter *f)
{
	const struct blm_filter *other = f;

	return blm_combine_into(f, BLM_INTERSECT, &other, 1, 0, NULL);
}

START_TEST(a_kind_refuses_unsupported_operations)
{
	/* composite kinds leave the tally to their parts */
	size_t counting = kind_of(_i)->counts ? offsetof(struct blm_kind, counts)
					      : offsetof(struct blm_kind, tally);

	robbed(kind_of(_i), offsetof(struct blm_kind, add), BLM_CAN_ADD, try_add);
	robbed(kind_of(_i), offsetof(struct blm_kind, remove), BLM_CAN_REMOVE, try_remove);
	robbed(kind_of(_i), offsetof(struct blm_kind, put), BLM_CAN_PUT, try_put);
	robbed(kind_of(_i), offsetof(struct blm_kind, get), BLM_CAN_GET, try_get);
	robbed(kind_of(_i), offsetof(struct blm_kind, claim), BLM_CAN_CLAIM, try_claim);
	robbed(kind_of(_i), offsetof(struct blm_kind, unite), BLM_CAN_UNION, try_union);
	robbed(kind_of(_i), offsetof(struct blm_kind, intersect), BLM_CAN_INTERSECT,
	       try_intersection);
	if (kind_of(_i)->fold_bits)
		robbed(kind_of(_i), offsetof(struct blm_kind, fold_bits), BLM_CAN_FOLD, try_fold);
	robbed(kind_of(_i), offsetof(struct blm_kind, splits), BLM_CAN_SPLIT, try_split);
	robbed(kind_of(_i), counting, BLM_CAN_ESTIMATE, try_estimate);
	robbed(kind_of(_i), counting, BLM_CAN_ESTIMATE, try_compare);
}
END_TEST

/* Each pair of members is there, or none of the two. */
#define TOGETHER(kind, a, b) \
	ck_assert_msg(!(kind)->a == !(kind)->b, "%s: ." #a " needs ." #b ": set both", (kind)->name)

START_TEST(a_kind_has_all_functions_that_its_abilities_need)
{
	const struct blm_kind *k;

	for (int i = 0; (k = kind_of(i)); i++) {
		ck_assert_msg(k->plan && k->valid && k->contains && k->rate_at,
			      "%s: set .plan, .valid, .contains and .rate_at", k->name);
		ck_assert_msg(k->add || k->put || k->build, "%s: set .add, .put or .build",
			      k->name);
		ck_assert_msg(k->summary && k->protocol,
			      "%s: set .summary and .protocol (kind.h, enum blm_protocol)",
			      k->name);
		ck_assert_msg(k->compose || (!k->unite && !k->intersect) || k->tally,
			      "%s: .unite and .intersect need .tally: set it", k->name);
		TOGETHER(k, grown, grow);
		TOGETHER(k, merged, merge);
		TOGETHER(k, revised, revise);
		TOGETHER(k, becomes, become);
		TOGETHER(k, differ, difference_of);
		TOGETHER(k, tally, rate_of);
		TOGETHER(k, tally, keys_of);
		TOGETHER(k, compose, parts);
		TOGETHER(k, begin_slot, turn);
	}
}
END_TEST

START_TEST(kinds_have_unique_ids_and_names)
{
	struct blm_kind_info public;
	size_t i;

	for (i = 0; blm_kind_at(i); i++) {
		ck_assert_ptr_eq(blm_kind_by_id(blm_kind_at(i)->id), blm_kind_at(i));
		ck_assert_ptr_eq(blm_kind_by_name(blm_kind_at(i)->name), blm_kind_at(i));
		ck_assert_uint_ne(blm_kind_at(i)->id, 0);
		ck_assert_int_eq(blm_kind_list(i, &public), 0);
		ck_assert_str_eq(public.name, blm_kind_at(i)->name);
		ck_assert_uint_eq(public.can, blm_kind_can(blm_kind_at(i)));
		ck_assert(blm_kind_at(i)->batch % 64 == 0
			  && BLM_BATCH_LARGE % kind_batch(blm_kind_at(i)) == 0);
		for (size_t j = 0; j < i; j++) {
			ck_assert_uint_ne(blm_kind_at(i)->id, blm_kind_at(j)->id);
			ck_assert_str_ne(blm_kind_at(i)->name, blm_kind_at(j)->name);
		}
	}
	ck_assert_uint_ge(i, 2);
	ck_assert_int_eq(blm_kind_list(i, &public), -ENOENT);
	ck_assert_ptr_null(blm_kind_by_name("nothing"));
}
END_TEST

START_TEST(hash_families_have_unique_ids_and_names)
{
	for (size_t i = 0; blm_family_at(i); i++) {
		ck_assert_ptr_eq(blm_family_by_id(blm_family_at(i)->id), blm_family_at(i));
		ck_assert_ptr_eq(blm_family_by_name(blm_family_at(i)->name), blm_family_at(i));
		ck_assert_int_eq(blm_family_at(i)->hash != NULL, blm_family_at(i)->nth == NULL);
	}
	ck_assert_ptr_eq(blm_family_by_name("mm3-64"), blm_family_by_name("mm3_64"));
	ck_assert_ptr_eq(blm_family_by_name("murmur3_bip37"), blm_family_by_name("murmur3-bip37"));
	ck_assert_ptr_null(blm_family_by_name("mm3_"));
	ck_assert_ptr_null(blm_family_by_name("mm3_64_"));
	ck_assert_ptr_null(blm_family_by_name(""));
}
END_TEST

START_TEST(a_built_filter_equals_one_that_keys_were_added_to)
{
	struct blm_filter *added = make_for(kind_of(_i), 2 * N, 7, 0.01), *built;
	struct blm_key *keys = keys_from(added, 0, 2 * N);
	struct blm_info i = info(added);
	struct blm_params params = BLM_PARAMS(.kind = i.kind, .hash = i.hash, .cells = i.cells,
					      .probes = i.probes, .capacity = i.capacity,
					      .rate = i.rate, .seeds = i.seeds,
					      .seed_count = i.seed_count, .options = i.options);
	struct blm_build *b;

	fill(added, 0, 2 * N);
	ck_assert_msg(blm_build_begin(&b, NULL, a_path(), &params, NULL) == 0, "%s",
		      blm_error_message());
	ck_assert_int_eq(blm_build_add_many(b, keys, 2 * N), 0);
	ck_assert_int_eq(blm_build_finish(b, &built), 0);
	same_data(built, added);
	ck_assert_uint_eq(info(built).keys, info(added).keys);
	ck_assert(!info(built).dirty);
	free(keys);
	blm_close(built);
	blm_close(added);
}
END_TEST

/* ---- The laws ---- */

static void add_laws(TCase *tc, int i)
{
	LAW(an_empty_filter_contains_nothing, 0, 0);
	LAW(every_added_key_is_found, BLM_CAN_ADD, BLM_FORGETS);
	LAW(at_capacity_the_false_positive_rate_is_as_planned, BLM_CAN_ADD, BLM_EXACT);
	LAW(beyond_capacity_a_filter_takes_and_finds_keys, BLM_CAN_ADD | BLM_CAN_UNION,
	    BLM_FORGETS);
	LAW(the_count_of_keys_is_the_number_of_changing_calls,
	    BLM_CAN_ADD | BLM_CAN_UNION, BLM_FORGETS | BLM_CAN_REMOVE);
	LAW(a_built_filter_equals_one_that_keys_were_added_to, BLM_CAN_ADD, BLM_FORGETS);
	LAW(a_removed_key_is_gone_and_the_others_stay, BLM_CAN_ADD | BLM_CAN_REMOVE, BLM_FORGETS);
	LAW(once_all_keys_are_removed_nothing_is_found, BLM_CAN_ADD | BLM_CAN_REMOVE, BLM_FORGETS);
	LAW(removing_an_absent_key_changes_nothing,
	    BLM_CAN_ADD | BLM_CAN_REMOVE, BLM_FORGETS);
	LAW(a_removed_key_can_be_added_again, BLM_CAN_ADD | BLM_CAN_REMOVE, BLM_FORGETS);
	LAW(every_put_key_has_a_value_and_others_the_rate,
	    BLM_CAN_PUT | BLM_CAN_GET, BLM_FORGETS | BLM_CAN_ADVANCE);
	LAW(a_reopened_filter_answers_the_same, BLM_CAN_ADD, 0);
	LAW(an_add_makes_a_filter_dirty_and_a_sync_clean, BLM_CAN_ADD, 0);
}

/* Those that look at the family itself. */
static void add_laws_of_families(TCase *tc, int i)
{
	LAW(every_hash_family_that_a_kind_accepts_works, BLM_CAN_ADD, BLM_FORGETS);
	LAW(a_read_only_handle_refuses_every_change,
	    BLM_CAN_ADD | BLM_CAN_CLAIM | BLM_CAN_UNION | BLM_CAN_INTERSECT, 0);
	LAW(a_kind_refuses_unsupported_operations, 0, 0);
}

int main(void)
{
	Suite *s = (prefer_memory(), begin_suite("kind"));
	TCase *registry = tcase_create("registry");

	add_all_laws(s, add_laws, add_laws_of_families);
	tcase_add_test(registry, a_kind_has_all_functions_that_its_abilities_need);
	tcase_add_test(registry, kinds_have_unique_ids_and_names);
	tcase_add_test(registry, hash_families_have_unique_ids_and_names);
	suite_add_tcase(s, registry);
	return run_suite(s);
}
