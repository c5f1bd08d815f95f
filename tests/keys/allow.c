/*
 * allow.c - allowlists of false positives: listed keys are denied, and keys that are added later
 * are never hidden
 */
#include "suite.h"

#include "handle/allowlist.h"

#include <sodium.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { LISTED = 200, GIVEN = 300 };

/* A filter of a few bits, with keys, and keys that it takes for its own. */
struct blacklist {
	struct blm_store *store;
	struct blm_filter *f;
	char text[LISTED][16];
	struct blm_key wrong[LISTED];
};

static struct blacklist *begin_with(const struct blm_params *p)
{
	struct blacklist *b = calloc(1, sizeof(*b));
	int count = 0;

	b->store = open_store(BLM_STORE_CREATE);
	OK(blm_create(&b->f, b->store, "list", p));
	for (int i = 0; i < GIVEN; i++)
		OK(blm_add(b->f, &i, sizeof(i)));
	for (int i = 0; count < LISTED; i++) {
		snprintf(b->text[count], sizeof(b->text[count]), "other%d", i);
		if (!has(b->f, b->text[count]))
			continue;
		b->wrong[count] = (struct blm_key){ b->text[count], strlen(b->text[count]) };
		count++;
	}
	return b;
}

static struct blacklist *begin(const char *kind)
{
	return begin_with(&BLM_PARAMS(.kind = kind, .capacity = 400, .rate = 0.3,
				      .seed_count = strcmp(kind, "redis-cuckoo") ? 1 : 0,
				      .seeds = (const uint64_t[]){ 7 }));
}

static void end(struct blacklist *b)
{
	blm_close(b->f);
	blm_store_close(b->store);
	free(b);
}

/* How many of these keys the filter with its list still takes for its own. */
static int64_t found_of(const struct blm_filter *f, const struct blm_key *keys, size_t count)
{
	uint64_t bits[(LISTED + 63) / 64];
	int64_t yes = blm_contains_many(f, keys, count, bits),
		spared = blm_allowlist_filter(f, keys, count, bits);

	OK(spared);
	return yes - spared;
}

static int count_one(void *context, const struct blm_key *key)
{
	++*(int *)context;
	return 0;
}

static int listed(const struct blm_filter *f)
{
	int count = 0;

	ck_assert_int_eq(blm_allowlist_list(f, count_one, &count), count);
	return count;
}

START_TEST(listed_keys_are_spared_and_the_filters_own_are_not)
{
	struct blacklist *b = begin("classic");

	ck_assert_int_eq(found_of(b->f, b->wrong, LISTED), LISTED);
	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), 0);
	ck_assert_int_eq(found_of(b->f, b->wrong, LISTED), 0);
	ck_assert_int_eq(listed(b->f), LISTED);
	for (int i = 0; i < GIVEN; i++)
		ck_assert_int_eq(found_of(b->f, &(struct blm_key){ &i, sizeof(i) }, 1), 1);
	ck_assert_int_eq(blm_allowlist_remove(b->f, b->wrong, 50), 50);
	ck_assert_int_eq(found_of(b->f, b->wrong, LISTED), 50);
	ck_assert_int_eq(blm_allowlist_remove(b->f, b->wrong, LISTED), LISTED - 50);
	ck_assert_int_eq(listed(b->f), 0);
	end(b);
}
END_TEST

START_TEST(a_key_that_the_filter_denies_is_not_listed)
{
	struct blacklist *b = begin("classic");
	struct blm_filter *empty;

	make(&empty, b->store, "empty");
	ck_assert_int_eq(blm_allowlist_add(empty, b->wrong, LISTED), 0);
	ck_assert_int_eq(listed(empty), 0);
	blm_close(empty);
	end(b);
}
END_TEST

static int stop(void *context, const struct blm_key *key)
{
	return -ECANCELED;
}

START_TEST(an_operation_without_keys_leaves_the_allowlist)
{
	struct blacklist *b = begin("counting");
	struct blm_key others[GIVEN];
	char text[GIVEN][16];
	int first = 0;

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	ck_assert_int_eq(blm_remove(b->f, &first, sizeof(first)), 1);
	for (int i = 0; i < GIVEN; i++)
		others[i] = (struct blm_key){ text[i], (size_t)snprintf(text[i], sizeof(text[i]),
									"never%d", i) };
	ck_assert_int_eq(blm_allowlist_remove(b->f, others, GIVEN), 0);
	ck_assert_int_eq(blm_allowlist_list(b->f, stop, NULL), -ECANCELED);
	ck_assert_int_eq(listed(b->f), LISTED);
	end(b);
}
END_TEST

static const char *const kinds[] = { "classic", "blocked", "counting", "cuckoo", "scalable" };

/* In a cuckoo filter a listed key has the fingerprint of another, so there is room for few. */
START_TEST(a_listed_key_given_later_is_found_and_was_new)
{
	struct blacklist *b = begin_with(&BLM_PARAMS(.kind = kinds[_i], .capacity = 4000,
						     .rate = 0.3, .seed_count = 1,
						     .seeds = (const uint64_t[]){ 7 }));
	struct blm_filter *before;
	uint64_t bits[(LISTED + 63) / 64];

	OK(blm_open(&before, b->store, "list", BLM_OPEN_WRITE));
	/* it has asked, and there was no list */
	OK(blm_add(before, b->wrong[LISTED - 1].bytes, b->wrong[LISTED - 1].len));
	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	ck_assert_int_eq(found_of(before, b->wrong, LISTED), 0);
	ck_assert_int_eq(blm_add(before, b->wrong[0].bytes, b->wrong[0].len), 1);
	ck_assert_int_eq(found_of(b->f, b->wrong, 1), 1);
	/* of some kinds one that is there changes a cell, too */
	ck_assert_int_ge(blm_add_many(before, b->wrong, 100, bits), 99);
	ck_assert_uint_eq(bits[0] | 1, UINT64_MAX);
	ck_assert_int_eq(found_of(b->f, b->wrong, LISTED), 100);
	ck_assert_int_eq(listed(b->f), LISTED - 100);
	blm_close(before);
	end(b);
}
END_TEST

START_TEST(listed_keys_far_behind_in_a_call_are_given_too)
{
	struct blacklist *b = begin("classic");
	struct blm_key keys[2 * BLM_BATCH + LISTED];
	uint64_t bits[(2 * BLM_BATCH + LISTED + 63) / 64];
	const int own = 7;

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	for (int i = 0; i < 2 * BLM_BATCH; i++)
		keys[i] = (struct blm_key){ &own, sizeof(own) };
	memcpy(keys + 2 * BLM_BATCH, b->wrong, sizeof(b->wrong));
	ck_assert_int_eq(blm_add_many(b->f, keys, 2 * BLM_BATCH + LISTED, bits), LISTED);
	for (size_t i = 0; i < 2 * BLM_BATCH + LISTED; i++)
		ck_assert_uint_eq(bits[i / 64] >> i % 64 & 1, i >= 2 * BLM_BATCH);
	ck_assert_int_eq(listed(b->f), 0);
	end(b);
}
END_TEST

static const char *const claiming[] = { "classic",	"counting",	"cuckoo", "d-left",
					"redis-cuckoo", "hash-compact", "window", "removable" };

/* So many that each kind has room for them. */
enum { CLAIMED = 80 };

static int given(const struct blm_filter *f)
{
	int found = 0;

	for (int i = 0; i < GIVEN; i++)
		found += blm_contains(f, &i, sizeof(i));
	return found;
}

START_TEST(one_of_all_claimers_of_a_listed_key_wins_it)
{
	struct blacklist *b = begin(claiming[_i]);
	_Atomic int *new = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
				0);
	pid_t pid[4];

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	for (int p = 0; p < 4; p++) {
		pid[p] = fork();
		if (pid[p] == 0) {
			struct blm_filter *f;

			MUST(blm_open(&f, b->store, "list", BLM_OPEN_WRITE) == 0);
			for (int i = 0; i < CLAIMED; i++) {
				int r = blm_claim(f, b->wrong[i].bytes, b->wrong[i].len);

				MUST(r >= 0);
				atomic_fetch_add(new, r);
			}
			_exit(0);
		}
	}
	for (int p = 0; p < 4; p++)
		ck_assert_int_eq(join(pid[p]), 0);
	ck_assert_int_eq(*new, CLAIMED);
	ck_assert_int_eq(listed(b->f), LISTED - CLAIMED);
	end(b);
}
END_TEST

START_TEST(a_listed_key_is_claimed_once_by_per_probe_hashes)
{
	struct blacklist *b = begin_with(&BLM_PARAMS(.kind = "classic", .hash = "murmur3-bip37",
						     .capacity = 400, .rate = 0.3));

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	ck_assert_int_eq(blm_claim_many(b->f, b->wrong, LISTED, NULL), LISTED);
	ck_assert_int_eq(blm_claim_many(b->f, b->wrong, LISTED, NULL), 0);
	ck_assert_int_eq(found_of(b->f, b->wrong, LISTED), LISTED);
	ck_assert_int_eq(listed(b->f), 0);
	end(b);
}
END_TEST

/*
 * All keys that came into the filter are removed, so it takes these for removed as it took them for
 * its own.
 */
START_TEST(no_claimer_wins_a_listed_key_that_cannot_enter)
{
	struct blacklist *b = begin("removable");
	uint64_t bits[(LISTED + 63) / 64];

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	for (int i = 0; i < GIVEN; i++)
		OK(blm_remove(b->f, &i, sizeof(i)));
	ck_assert_int_eq(blm_contains_many(b->f, b->wrong, LISTED, NULL), 0);
	ck_assert_int_eq(blm_claim_many(b->f, b->wrong, LISTED, bits), 0);
	for (size_t i = 0; i < ARRAY_LEN(bits); i++)
		ck_assert_uint_eq(bits[i], 0);
	ck_assert_int_eq(listed(b->f), 0);
	end(b);
}
END_TEST

static const char *const removing[] = { "counting", "cuckoo", "d-left", "redis-cuckoo" };

START_TEST(a_claimed_listed_key_can_be_removed_alone)
{
	struct blacklist *b = begin(removing[_i]);
	struct blm_key keys[CLAIMED + 2];
	uint64_t bits[2];
	struct blm_info info = BLM_INFO;

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	keys[0] = keys[1] = b->wrong[0];
	memcpy(keys + 2, b->wrong, CLAIMED * sizeof(*keys));
	ck_assert_int_eq(blm_claim_many(b->f, keys, CLAIMED + 2, bits), CLAIMED);
	/* a key that stands there three times is new once */
	ck_assert_uint_eq(bits[0], ~UINT64_C(6));
	OK(blm_info(b->f, &info));
	ck_assert_uint_eq(info.keys, GIVEN + CLAIMED);
	ck_assert_int_eq(blm_remove_many(b->f, b->wrong, CLAIMED, NULL), CLAIMED);
	ck_assert_int_eq(given(b->f), GIVEN);
	OK(blm_info(b->f, &info));
	ck_assert_uint_eq(info.keys, GIVEN);
	end(b);
}
END_TEST

START_TEST(a_listed_key_is_not_removed)
{
	struct blacklist *b = begin(removing[_i]);
	const int own = 7;
	struct blm_key keys[LISTED + 1];
	uint64_t bits[(LISTED + 64) / 64];
	struct blm_info info = BLM_INFO;

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	ck_assert_int_eq(blm_remove(b->f, b->wrong[0].bytes, b->wrong[0].len), 0);
	ck_assert_int_eq(blm_remove_many(b->f, b->wrong, LISTED, NULL), 0);
	ck_assert_int_eq(given(b->f), GIVEN);
	memcpy(keys, b->wrong, sizeof(b->wrong));
	keys[LISTED] = keys[70];
	keys[70] = (struct blm_key){ &own, sizeof(own) };
	ck_assert_int_eq(blm_remove_many(b->f, keys, LISTED + 1, bits), 1);
	ck_assert_uint_eq(bits[0] | bits[2] | bits[3], 0);
	ck_assert_uint_eq(bits[1], UINT64_C(1) << (70 - 64));
	ck_assert_int_ge(given(b->f), GIVEN - 1);
	OK(blm_info(b->f, &info));
	ck_assert_uint_eq(info.keys, GIVEN - 1);
	ck_assert_int_eq(listed(b->f), LISTED);
	end(b);
}
END_TEST

/* Also the keys that the call added before it failed. */
static void says_how_many_it_has(const struct blm_filter *f)
{
	char words[48];
	uint64_t keys;

	OK(blm_count(f, &keys, NULL));
	snprintf(words, sizeof(words), "is full: %llu keys", (unsigned long long)keys);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), words));
}

START_TEST(a_listed_key_without_space_in_the_filter_stays_listed)
{
	struct blacklist *b = begin("cuckoo");
	struct blm_key keys[GIVEN];
	char text[GIVEN][16];
	uint64_t bits[(GIVEN + 63) / 64];

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	for (int i = GIVEN, r = 0; r >= 0; i++)
		r = blm_add(b->f, &i, sizeof(i));
	keys[0] = b->wrong[0];
	for (int i = 1; i < GIVEN; i++)
		keys[i] = (struct blm_key){ text[i], (size_t)snprintf(text[i], sizeof(text[i]),
								      "never%d", i) };
	FAILS(blm_claim_many(b->f, keys, GIVEN, bits), -EXFULL);
	says_how_many_it_has(b->f);
	ck_assert_uint_eq(bits[0] & 1, 0);
	FAILS(blm_claim_many(b->f, b->wrong, LISTED, bits), -EXFULL);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "is full"));
	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++)
		ck_assert_uint_eq(bits[i], 0);
	ck_assert_int_eq(listed(b->f), LISTED);
	FAILS(blm_add_many(b->f, b->wrong, LISTED, NULL), -EXFULL);
	/* the call does not say which keys were added, so none is hidden */
	ck_assert_int_eq(listed(b->f), 0);
	end(b);
}
END_TEST

enum { NEW = 5 };

static int new_left;

static int claim_some(struct blm_part *part, const struct blm_hashed *key)
{
	return new_left-- > 0;
}

static int add_none(struct blm_part *part, const struct blm_hashed *key)
{
	return -EXFULL;
}

START_TEST(a_listed_key_without_room_does_not_hide_other_claims)
{
	struct blacklist *b = begin("cuckoo");
	struct blm_view *view = atomic_load(&b->f->view);
	const struct blm_kind *kind = view->root.kind;
	struct blm_kind small_kind = *kind;
	struct blm_key keys[NEW + 1] = { [NEW] = b->wrong[0] };
	uint64_t bits;

	small_kind.claim_many = NULL;
	small_kind.claim = claim_some;
	small_kind.add = add_none;
	for (int i = 0; i < NEW; i++)
		keys[i] = (struct blm_key){ &keys[i], (size_t)i };
	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, 1), 1);
	view->root.kind = &small_kind;
	new_left = NEW;
	FAILS(blm_claim_many(b->f, keys, NEW + 1, &bits), -EXFULL);
	view->root.kind = kind;
	says_how_many_it_has(b->f);
	ck_assert_uint_eq(bits, (1 << NEW) - 1);
	ck_assert_int_eq(listed(b->f), 1);
	end(b);
}
END_TEST

/* One lists, over and over, while others give: whatever was given after it was listed is found. */
START_TEST(a_key_given_during_a_listing_is_not_hidden)
{
	struct blacklist *b = begin("classic");
	pid_t lister = fork();
	struct blm_filter *f;

	if (lister == 0) {
		struct blm_filter *mine;

		MUST(blm_open(&mine, b->store, "list", BLM_OPEN_WRITE) == 0);
		for (int i = 0; i < LISTED; i++)	/* each once */
			MUST(blm_allowlist_add(mine, &b->wrong[i], 1) == 1);
		_exit(0);
	}
	OK(blm_open(&f, b->store, "list", BLM_OPEN_WRITE));
	for (int i = 0; i < LISTED; i++) {
		while (found_of(f, &b->wrong[i], 1) == 1)
			;				/* until it is listed */
		OK(blm_add(f, b->wrong[i].bytes, b->wrong[i].len));
		ck_assert_int_eq(found_of(f, &b->wrong[i], 1), 1);
	}
	ck_assert_int_eq(join(lister), 0);
	ck_assert_int_eq(found_of(f, b->wrong, LISTED), LISTED);
	blm_close(f);
	end(b);
}
END_TEST

START_TEST(a_union_unlists_its_keys)
{
	struct blacklist *b = begin("classic");
	struct blm_filter *more;

	OK(blm_template(&more, NULL, NULL, b->f, 0));
	OK(blm_add(more, b->wrong[3].bytes, b->wrong[3].len));
	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	OK(blm_combine_into(b->f, BLM_UNION, (const struct blm_filter *const[]){ more }, 1, 0,
			    NULL));
	ck_assert_int_eq(found_of(b->f, &b->wrong[3], 1), 1);
	ck_assert_int_eq(listed(b->f), 0);
	blm_close(more);
	end(b);
}
END_TEST

START_TEST(hashes_are_refused_where_there_is_a_list)
{
	struct blacklist *b = begin("classic");
	struct blm_hash hash;

	OK(blm_hash_many(b->f, b->wrong, 1, &hash));
	ck_assert_int_eq(blm_add_hashes(b->f, blm_hash_id(b->f), &hash, 1, NULL), 0);
	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	FAILS(blm_add_hashes(b->f, blm_hash_id(b->f), &hash, 1, NULL), -EMEDIUMTYPE);
	FAILS(blm_claim_hashes(b->f, blm_hash_id(b->f), &hash, 1, NULL), -EMEDIUMTYPE);
	end(b);
}
END_TEST

START_TEST(a_rename_keeps_the_list)
{
	struct blacklist *b = begin("classic");

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	OK(blm_store_rename(b->store, "list", "renamed"));
	blm_close(b->f);
	OK(blm_open(&b->f, b->store, "renamed", BLM_OPEN_WRITE));
	ck_assert_int_eq(found_of(b->f, b->wrong, LISTED), 0);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 0);
	end(b);
}
END_TEST

START_TEST(listing_keys_under_another_filters_new_name_is_an_error)
{
	struct blacklist *b = begin("classic");
	struct blm_filter *other;

	OK(blm_store_rename(b->store, "list", "renamed"));
	OK(blm_create(&other, b->store, "list", &BLM_PARAMS(.capacity = 400)));
	FAILS(blm_allowlist_add(b->f, b->wrong, LISTED), -ESTALE);
	ck_assert_int_eq(listed(other), 0);
	blm_close(other);
	end(b);
}
END_TEST

/* ---- What takes its place ---- */

static void seal(struct blacklist *b)
{
	OK(blm_seal(b->f));
}

static void and_itself(struct blacklist *b)
{
	struct blm_filter *copy;

	OK(blm_copy(&copy, NULL, NULL, b->f, 0));
	OK(blm_combine_into(b->f, BLM_INTERSECT, (const struct blm_filter *const[]){ copy }, 1, 0,
			    NULL));
	blm_close(copy);
}

static void (*const same_keys[])(struct blacklist *b) = { seal, and_itself };

START_TEST(a_copy_with_the_same_keys_has_the_allowlist)
{
	struct blacklist *b = begin("classic");

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	same_keys[_i](b);
	ck_assert_int_eq(found_of(b->f, b->wrong, LISTED), 0);
	ck_assert_int_eq(listed(b->f), LISTED);
	for (int i = 0; i < GIVEN; i++)
		ck_assert_int_eq(found_of(b->f, &(struct blm_key){ &i, sizeof(i) }, 1), 1);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 0);
	end(b);
}
END_TEST

START_TEST(a_cleared_filter_keeps_its_allowlist_and_hides_nothing_new)
{
	struct blacklist *b = begin("classic");

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	OK(blm_clear(b->f));
	ck_assert_int_eq(listed(b->f), LISTED);
	for (int i = 0; i < LISTED; i++)
		OK(blm_add(b->f, b->wrong[i].bytes, b->wrong[i].len));
	ck_assert_int_eq(found_of(b->f, b->wrong, LISTED), LISTED);
	ck_assert_int_eq(listed(b->f), 0);
	end(b);
}
END_TEST

/*
 * The old keys again, and 50 of those that were listed; one more is listed in the middle of it,
 * when it has been given already.
 */
static int fill_again(struct blm_filter *new, void *context)
{
	struct blacklist *b = context;

	for (int i = 0; i < GIVEN; i++)
		OK(blm_add(new, &i, sizeof(i)));
	OK(blm_add_many(new, b->wrong, 50, NULL));
	OK(blm_add(new, b->wrong[LISTED - 1].bytes, b->wrong[LISTED - 1].len));
	ck_assert_int_eq(blm_allowlist_add(b->f, &b->wrong[LISTED - 1], 1), 1);
	return 0;
}

START_TEST(a_rebuilt_filter_keeps_listed_keys_that_it_lacks)
{
	struct blacklist *b = begin("classic");
	const struct blm_params same_seed = BLM_PARAMS(.seed_count = 1,
						       .seeds = (const uint64_t[]){ 7 });

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED - 1), LISTED - 1);
	OK(blm_rebuild(b->store, "list", &same_seed, fill_again, b));
	ck_assert_int_eq(found_of(b->f, b->wrong, 50), 50);
	ck_assert_int_eq(found_of(b->f, &b->wrong[LISTED - 1], 1), 1);
	ck_assert_int_eq(found_of(b->f, b->wrong + 50, LISTED - 51), 0);
	ck_assert_int_eq(listed(b->f), LISTED - 51);
	end(b);
}
END_TEST

START_TEST(a_listed_key_put_with_a_value_is_found_afterwards)
{
	struct blacklist *b = begin("attenuated");
	uint64_t value = 0, bits;

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	ck_assert_int_eq(found_of(b->f, b->wrong, 2), 0);
	ck_assert_int_ge(blm_put(b->f, b->wrong[0].bytes, b->wrong[0].len, 0), 0);
	OK(blm_put_many(b->f, &b->wrong[1], &value, 1, &bits));
	ck_assert_int_eq(found_of(b->f, b->wrong, 2), 2);
	ck_assert_int_eq(blm_get(b->f, b->wrong[0].bytes, b->wrong[0].len, &value), 1);
	ck_assert_uint_eq(value, 0);
	ck_assert_int_eq(listed(b->f), LISTED - 2);
	end(b);
}
END_TEST

/*
 * The old keys again, and the first of two numbers that were listed, as keys of one width that lie
 * one behind the other.
 */
static int fill_with_numbers(struct blm_filter *new, void *context)
{
	uint32_t keys[GIVEN + 1];

	for (uint32_t i = 0; i < GIVEN; i++)
		keys[i] = i;
	memcpy(&keys[GIVEN], context, 4);
	OK(blm_add_fixed(new, keys, 4, GIVEN + 1, NULL));
	return 0;
}

/* The same, as packed keys. */
static int fill_with_packed_numbers(struct blm_filter *new, void *context)
{
	uint32_t keys[GIVEN + 1];
	int64_t offsets[GIVEN + 2];

	for (uint32_t i = 0; i < GIVEN; i++)
		keys[i] = i;
	memcpy(&keys[GIVEN], context, 4);
	for (int i = 0; i < GIVEN + 2; i++)
		offsets[i] = 4 * i;
	OK(blm_add_packed(new, keys, offsets, 8, GIVEN + 1, NULL));
	return 0;
}

/* _i: packed, or of one width. */
START_TEST(a_rebuild_unlists_the_numbers_that_it_gives)
{
	struct blacklist *b = begin("classic");
	const struct blm_params same_seed = BLM_PARAMS(.seed_count = 1,
						       .seeds = (const uint64_t[]){ 7 });
	uint32_t wrong[2], count = 0;
	const struct blm_key keys[] = { { &wrong[0], 4 }, { &wrong[1], 4 } };

	for (uint32_t i = 100000; count < 2; i++)
		if (blm_contains(b->f, &i, 4))
			wrong[count++] = i;
	ck_assert_int_eq(blm_allowlist_add(b->f, keys, 2), 2);
	OK(blm_rebuild(b->store, "list", &same_seed,
		       _i ? fill_with_packed_numbers : fill_with_numbers, wrong));
	ck_assert_int_eq(found_of(b->f, &keys[0], 1), 1);
	ck_assert_int_eq(found_of(b->f, &keys[1], 1), 0);
	ck_assert_int_eq(listed(b->f), 1);
	end(b);
}
END_TEST

static int fill_with_a_union(struct blm_filter *new, void *context)
{
	struct blacklist *b = context;
	struct blm_filter *more;

	OK(blm_template(&more, NULL, NULL, new, 0));
	OK(blm_add_many(more, b->wrong, 50, NULL));
	OK(blm_combine_into(new, BLM_UNION, (const struct blm_filter *const[]){ more }, 1, 0,
			    NULL));
	blm_close(more);
	return 0;
}

static int fill_with_hashes(struct blm_filter *new, void *context)
{
	struct blacklist *b = context;
	struct blm_hash hashes[50];

	OK(blm_hash_many(new, b->wrong, 50, hashes));
	OK(blm_add_hashes(new, blm_hash_id(new), hashes, 50, NULL));
	return 0;
}

static int (*const unnamed[])(struct blm_filter *new, void *context) = { fill_with_a_union,
									 fill_with_hashes };

START_TEST(a_filter_rebuilt_from_hashes_hides_none_of_its_keys)
{
	struct blacklist *b = begin("classic");

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	OK(blm_rebuild(b->store, "list", &BLM_PARAMS(.capacity = 400), unnamed[_i], b));
	ck_assert_int_eq(found_of(b->f, b->wrong, 50), 50);
	/* it answers yes to some others by mistake, which are not known */
	ck_assert_int_eq(found_of(b->f, b->wrong + 50, LISTED - 50) + listed(b->f), LISTED - 50);
	ck_assert_int_gt(listed(b->f), 0);
	end(b);
}
END_TEST

/* The second hashes each key anew for each question. */
static const struct {
	const char *kind, *hash;
} published[] = { { NULL, NULL }, { "classic", "mm3_64" } };

START_TEST(a_published_filter_keeps_denied_keys_on_the_allowlist)
{
	struct blacklist *b = begin("classic");
	struct blm_filter *more;

	OK(blm_create(&more, NULL, NULL,
		      &BLM_PARAMS(.kind = published[_i].kind, .hash = published[_i].hash,
				  .capacity = 400, .rate = 0.3)));
	OK(blm_add_many(more, b->wrong, 50, NULL));
	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	OK(blm_store_publish(b->store, "list", more, 0, BLM_PUBLISH_WRITABLE));
	ck_assert_int_eq(found_of(b->f, b->wrong, 50), 50);
	ck_assert_int_gt(listed(b->f), (LISTED - 50) / 2);
	OK(blm_add_many(b->f, b->wrong + 50, LISTED - 50, NULL));
	ck_assert_int_eq(found_of(b->f, b->wrong, LISTED), LISTED);
	ck_assert_int_eq(listed(b->f), 0);
	blm_close(more);
	end(b);
}
END_TEST

static const char *const built[] = { "fuse", "ribbon", "golomb", "classic" };

START_TEST(a_replacement_keeps_listed_keys_that_it_was_not_given)
{
	struct blacklist *b = begin("classic");
	const struct blm_params params = BLM_PARAMS(.kind = built[_i], .capacity = 400, .rate = 0.3,
						    .replace = true);
	struct blm_build *build;

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	OK(blm_build_begin(&build, b->store, "list", &params, NULL));
	OK(blm_build_add_many(build, b->wrong, 50));
	OK(blm_build_finish(build, NULL));
	ck_assert_int_eq(found_of(b->f, b->wrong, 50), 50);
	ck_assert_int_eq(found_of(b->f, b->wrong + 50, LISTED - 50), 0);
	ck_assert_int_eq(listed(b->f), LISTED - 50);
	end(b);
}
END_TEST

START_TEST(an_updated_filter_keeps_listed_keys_that_it_lacks)
{
	struct blacklist *b = begin("classic");
	const struct blm_params params = BLM_PARAMS(.kind = "golomb", .rate = 0.3, .seed_count = 1,
						    .seeds = (const uint64_t[]){ 7 },
						    .replace = true);
	struct blm_build *build;
	struct blm_update *update;
	int64_t wrong;

	OK(blm_build_begin(&build, b->store, "list", &params, NULL));
	for (int i = 0; i < GIVEN; i++)
		OK(blm_build_add_many(build, &(struct blm_key){ &i, sizeof(i) }, 1));
	OK(blm_build_finish(build, NULL));
	wrong = found_of(b->f, b->wrong, LISTED);
	ck_assert_int_gt(wrong, 20);
	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), wrong);
	OK(blm_update_begin(&update, b->store, "list", NULL, NULL));
	OK(blm_update_add_many(update, b->wrong, 50));
	OK(blm_update_finish(update));
	ck_assert_int_eq(found_of(b->f, b->wrong, 50), 50);
	ck_assert_int_gt(listed(b->f), 0);
	/* but for new mistakes */
	ck_assert_int_lt(found_of(b->f, b->wrong + 50, LISTED - 50), (LISTED - 50) / 4);
	end(b);
}
END_TEST

/*
 * Another process replaces the file by one with the same keys, over and over: a caller that adds
 * keys finds them on the new file's allowlist.
 */
START_TEST(a_key_given_during_a_replacement_is_not_hidden)
{
	struct blacklist *b = begin("classic");
	pid_t other = fork();

	if (other == 0) {
		struct blm_filter *f;

		MUST(blm_open(&f, b->store, "list", BLM_OPEN_WRITE) == 0);
		for (;;)	/* with itself */
			MUST(blm_combine_into(f, BLM_INTERSECT,
					      (const struct blm_filter *const[]){ f }, 1, 0, NULL)
			     >= 0);
	}
	for (int round = 0; round < 5; round++) {
		ck_assert_int_ge(blm_allowlist_add(b->f, b->wrong, LISTED), 0);
		for (int i = 0; i < LISTED; i += 10) {
			OK(blm_add_many(b->f, b->wrong + i, 10, NULL));
			ck_assert_int_eq(found_of(b->f, b->wrong + i, 10), 10);
		}
		ck_assert_int_eq(listed(b->f), 0);
	}
	kill(other, SIGKILL);
	ck_assert_int_eq(join(other), SIGNALLED + SIGKILL);
	end(b);
}
END_TEST

/* ---- Threads of one handle ---- */

struct adder {
	struct blacklist *b;
	int from;
};

static void *add_in_turn(void *context)
{
	struct adder *a = context;

	for (int i = a->from; i < LISTED; i += 2) {
		while (found_of(a->b->f, &a->b->wrong[i], 1) == 1)
			;
		OK(blm_add(a->b->f, a->b->wrong[i].bytes, a->b->wrong[i].len));
		ck_assert_int_eq(found_of(a->b->f, &a->b->wrong[i], 1), 1);
	}
	return NULL;
}

START_TEST(an_answer_older_than_the_allowlist_is_stale)
{
	struct blacklist *b = begin("classic");
	struct blm_asked mine, theirs;
	struct blm_filter *other;
	struct blm_view *view;

	OK(blm_open(&other, b->store, "list", BLM_OPEN_WRITE));
	OK(blm_change_begin(b->f, &view));
	OK(blm_allow_ask(b->f, view, &mine));
	ck_assert(!mine.listed);
	ck_assert(!blm_allow_is_stale(b->f, view, &mine));
	ck_assert_int_eq(blm_allowlist_add(other, b->wrong, LISTED), LISTED);
	OK(blm_allow_ask(b->f, view, &theirs));
	ck_assert(theirs.listed);
	OK(blm_change_end(b->f, view));
	ck_assert(blm_allow_is_stale(b->f, view, &mine));
	ck_assert(!blm_allow_is_stale(b->f, view, &theirs));
	blm_close(other);
	end(b);
}
END_TEST

/* While a call hashes its key: a list comes, and another thread of the handle notices it. */
static struct {
	struct blacklist *b;
	struct blm_filter *other;
	struct blm_family family;
	const struct blm_family *real;
} meanwhile;

static void list_and_hash(const struct blm_hasher *by, const struct blm_key *key,
			  struct blm_hash *ret)
{
	struct blm_filter *f = meanwhile.b->f;
	struct blm_view *view = atomic_load(&f->view);

	view->hasher.family = meanwhile.real;
	ck_assert_int_eq(blm_allowlist_add(meanwhile.other, meanwhile.b->wrong, LISTED), LISTED);
	ck_assert(has(f, meanwhile.b->text[0]));
	ck_assert(is_current(view));
	view->hasher.family->hash(by, key, ret);
}

START_TEST(a_key_listed_during_a_call_is_not_removed)
{
	struct blacklist *b = begin(removing[_i]);
	const struct blm_key *key = &b->wrong[0];
	struct blm_view *view = atomic_load(&b->f->view);

	meanwhile.b = b;
	OK(blm_open(&meanwhile.other, b->store, "list", BLM_OPEN_WRITE));
	meanwhile.real = view->hasher.family;
	meanwhile.family = *meanwhile.real;
	meanwhile.family.hash = list_and_hash;
	view->hasher.family = &meanwhile.family;
	ck_assert_int_eq(blm_remove(b->f, key->bytes, key->len), 0);
	ck_assert_ptr_eq(view->hasher.family, meanwhile.real);
	ck_assert_int_eq(given(b->f), GIVEN);
	ck_assert_int_eq(listed(b->f), LISTED);
	blm_close(meanwhile.other);
	end(b);
}
END_TEST

START_TEST(threads_that_share_a_handle_hide_nothing_while_others_list)
{
	struct blacklist *b = begin("classic");
	struct adder adders[2] = { { b, 0 }, { b, 1 } };
	pthread_t thread[2];
	pid_t lister = fork();

	if (lister == 0) {
		struct blm_filter *mine;

		MUST(blm_open(&mine, b->store, "list", BLM_OPEN_WRITE) == 0);
		for (int i = 0; i < LISTED; i++)
			MUST(blm_allowlist_add(mine, &b->wrong[i], 1) == 1);
		_exit(0);
	}
	for (int t = 0; t < 2; t++)
		ck_assert_int_eq(pthread_create(&thread[t], NULL, add_in_turn, &adders[t]), 0);
	for (int t = 0; t < 2; t++)
		pthread_join(thread[t], NULL);
	ck_assert_int_eq(join(lister), 0);
	ck_assert_int_eq(found_of(b->f, b->wrong, LISTED), LISTED);
	end(b);
}
END_TEST

/* Change a byte of every listed key in the catalog of "s", past the library. */
static void damage_list(void)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi table;
	MDB_cursor *cursor;
	MDB_val at, value;

	ck_assert_int_eq(mdb_env_create(&env), 0);
	mdb_env_set_maxdbs(env, 8);
	ck_assert_int_eq(mdb_env_open(env, "s/catalog", MDB_NOLOCK, 0644), 0);
	ck_assert_int_eq(mdb_txn_begin(env, NULL, 0, &txn), 0);
	ck_assert_int_eq(mdb_dbi_open(txn, "allow", 0, &table), 0);
	ck_assert_int_eq(mdb_cursor_open(txn, table, &cursor), 0);
	while (mdb_cursor_get(cursor, &at, &value, MDB_NEXT) == 0) {
		uint8_t name[64], key[64];
		MDB_val new_at = { at.mv_size, name }, new_value = { value.mv_size, key };

		memcpy(name, at.mv_data, at.mv_size);
		memcpy(key, value.mv_data, value.mv_size);
		key[0] ^= 1;
		ck_assert_int_eq(mdb_cursor_put(cursor, &new_at, &new_value, MDB_CURRENT), 0);
	}
	mdb_cursor_close(cursor);
	ck_assert_int_eq(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

START_TEST(a_damaged_allowlist_hides_nothing_and_can_be_removed)
{
	struct blacklist *b = begin("classic");

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	blm_close(b->f);
	blm_store_close(b->store);
	damage_list();
	b->store = open_store(0);
	OK(blm_open(&b->f, b->store, "list", BLM_OPEN_WRITE));
	ck_assert_int_eq(found_of(b->f, b->wrong, LISTED), LISTED);
	ck_assert_int_eq(listed(b->f), 0);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 1);
	ck_assert_int_eq(blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 0);
	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	end(b);
}
END_TEST

/* Put it into the table of lists of "s", past the library. */
static void put_record(const void *name, size_t name_bytes, const void *value, size_t value_bytes)
{
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi table;

	ck_assert_int_eq(mdb_env_create(&env), 0);
	mdb_env_set_maxdbs(env, 8);
	ck_assert_int_eq(mdb_env_open(env, "s/catalog", MDB_NOLOCK, 0644), 0);
	ck_assert_int_eq(mdb_txn_begin(env, NULL, 0, &txn), 0);
	ck_assert_int_eq(mdb_dbi_open(txn, "allow", 0, &table), 0);
	ck_assert_int_eq(mdb_put(txn, table, &(MDB_val){ name_bytes, (void *)name },
				 &(MDB_val){ value_bytes, (void *)value }, 0),
			 0);
	ck_assert_int_eq(mdb_txn_commit(txn), 0);
	mdb_env_close(env);
}

/*
 * With the filter's uuid, or without: the length of its name, the bytes behind the uuid, and the
 * length of its value.
 */
static const struct {
	bool of_filter;
	size_t name_bytes;
	uint8_t byte;
	size_t value_bytes;
	int listing;
} records[] = {
	{ true, 48, 0xff, 1, 0 },  { true, 48, 0xff, 0, 0 },
	{ true, 48, 0, 1, 0 },	   { true, 48, 0x80, BLM_ALLOW_KEY_MAX + 1, 0 },
	{ true, 20, 0, 1, 0 },	   { true, 20, 0x80, 1, -1 },
	{ true, 60, 0xff, 1, -1 }, { false, 5, 0xff, 1, 0 },
	{ false, 48, 0xff, 1, 0 },
};

static int fill_as_before(struct blm_filter *new, void *context)
{
	for (int i = 0; i < GIVEN; i++)
		OK(blm_add(new, &i, sizeof(i)));
	return 0;
}

START_TEST(a_keyless_allowlist_record_is_skipped_or_removed)
{
	static uint8_t value[BLM_ALLOW_KEY_MAX + 1];
	const struct blm_params same_seed = BLM_PARAMS(.seed_count = 1,
						       .seeds = (const uint64_t[]){ 7 });
	struct blacklist *b = begin("classic");
	struct blm_info info = BLM_INFO;
	uint8_t name[64];
	int count = 0;

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	OK(blm_info(b->f, &info));
	blm_close(b->f);
	blm_store_close(b->store);
	memset(name, records[_i].byte, sizeof(name));
	if (records[_i].of_filter)
		memcpy(name, info.uuid, sizeof(info.uuid));
	put_record(name, records[_i].name_bytes, value, records[_i].value_bytes);
	b->store = open_store(0);
	OK(blm_open(&b->f, b->store, "list", BLM_OPEN_WRITE));
	ck_assert_int_eq(found_of(b->f, b->wrong, LISTED), 0);
	if (records[_i].listing < 0)
		ck_assert_int_lt(blm_allowlist_list(b->f, count_one, &count), 0);
	else
		ck_assert_int_eq(listed(b->f), LISTED);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 1);
	/* and the list goes over, where it can be read */
	OK(blm_rebuild(b->store, "list", &same_seed, fill_as_before, NULL));
	count = records[_i].listing < 0 ? 0 : LISTED;
	ck_assert_int_eq(listed(b->f), count);
	OK(blm_clear(b->f));
	ck_assert_int_eq(blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 0);
	ck_assert_int_eq(listed(b->f), count);
	end(b);
}
END_TEST

START_TEST(a_listed_key_that_lost_its_end_is_not_listed)
{
	struct blacklist *b = begin("classic");
	uint8_t name[16 + 32];
	struct blm_info info = BLM_INFO;

	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), LISTED);
	OK(blm_info(b->f, &info));
	memcpy(name, info.uuid, 16);
	crypto_generichash(name + 16, 32, b->wrong[0].bytes, b->wrong[0].len, NULL, 0);
	blm_close(b->f);
	blm_store_close(b->store);
	put_record(name, sizeof(name), b->wrong[0].bytes, b->wrong[0].len - 1);
	b->store = open_store(0);
	OK(blm_open(&b->f, b->store, "list", BLM_OPEN_WRITE));
	ck_assert_int_eq(found_of(b->f, b->wrong, LISTED), 1);
	ck_assert_int_eq(listed(b->f), LISTED - 1);
	ck_assert_int_eq(blm_store_verify("s", 0, NULL, NULL), 1);
	ck_assert_int_eq(blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	ck_assert_int_eq(blm_allowlist_add(b->f, b->wrong, LISTED), 1);
	end(b);
}
END_TEST

START_TEST(a_killed_lister_blocks_and_hides_nothing)
{
	struct blacklist *b = begin("classic");

	for (int i = 0; i < 50; i++) {
		pid_t lister = fork();

		if (lister == 0) {
			struct blm_filter *f;

			MUST(blm_open(&f, b->store, "list", BLM_OPEN_WRITE) == 0);
			for (;;) {
				MUST(blm_allowlist_add(f, b->wrong, LISTED) >= 0);
				MUST(blm_allowlist_remove(f, b->wrong + LISTED / 2, LISTED / 2)
				     >= 0);
			}
		}
		ck_assert_int_gt(lister, 0);
		usleep(2000 + 100 * (unsigned)i);
		kill(lister, SIGKILL);
		ck_assert_int_eq(join(lister), SIGNALLED + SIGKILL);
		OK(blm_add_many(b->f, b->wrong, LISTED, NULL));
		ck_assert_int_eq(found_of(b->f, b->wrong, LISTED), LISTED);
	}
	ck_assert_int_eq(blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL), 0);
	end(b);
}
END_TEST

START_TEST(a_list_is_refused_outside_a_store_and_to_readers)
{
	struct blacklist *b = begin("classic");
	struct blm_filter *f;
	uint64_t bits = 1;
	char *large = calloc(1, BLM_ALLOW_KEY_MAX + 1);

	make(&f, NULL, "path.blm");
	FAILS(blm_allowlist_add(f, b->wrong, 1), -EOPNOTSUPP);
	FAILS(blm_allowlist_remove(f, b->wrong, 1), -EOPNOTSUPP);
	FAILS(blm_allowlist_list(f, count_one, NULL), -EOPNOTSUPP);
	ck_assert_int_eq(blm_allowlist_filter(f, b->wrong, 1, &bits), 0);
	blm_close(f);
	OK(blm_open(&f, b->store, "list", 0));
	FAILS(blm_allowlist_add(f, b->wrong, 1), -EBADF);
	FAILS(blm_allowlist_remove(f, b->wrong, 1), -EBADF);
	blm_close(f);
	FAILS(blm_allowlist_add(b->f, &(struct blm_key){ large, BLM_ALLOW_KEY_MAX + 1 }, 1),
	      -E2BIG);
	free(large);
	end(b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("allow");
	TCase *tc = tcase_create("allow"), *threads = tcase_create("threads");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_checked_fixture(threads, own_folder, NULL);
	tcase_add_test(tc, listed_keys_are_spared_and_the_filters_own_are_not);
	tcase_add_test(tc, a_key_that_the_filter_denies_is_not_listed);
	tcase_add_test(tc, an_operation_without_keys_leaves_the_allowlist);
	tcase_add_loop_test(tc, a_listed_key_given_later_is_found_and_was_new, 0,
			    sizeof(kinds) / sizeof(*kinds));
	tcase_add_test(tc, listed_keys_far_behind_in_a_call_are_given_too);
	tcase_add_loop_test(tc, one_of_all_claimers_of_a_listed_key_wins_it, 0,
			    sizeof(claiming) / sizeof(*claiming));
	tcase_add_test(tc, a_listed_key_is_claimed_once_by_per_probe_hashes);
	tcase_add_test(tc, no_claimer_wins_a_listed_key_that_cannot_enter);
	tcase_add_loop_test(tc, a_claimed_listed_key_can_be_removed_alone,
			    0, sizeof(removing) / sizeof(*removing));
	tcase_add_loop_test(tc, a_listed_key_is_not_removed, 0,
			    sizeof(removing) / sizeof(*removing));
	tcase_add_test(tc, a_listed_key_without_space_in_the_filter_stays_listed);
	tcase_add_test(tc, a_listed_key_without_room_does_not_hide_other_claims);
	tcase_add_test(tc, a_key_given_during_a_listing_is_not_hidden);
	tcase_add_test(tc, a_union_unlists_its_keys);
	tcase_add_test(tc, hashes_are_refused_where_there_is_a_list);
	tcase_add_test(tc, a_rename_keeps_the_list);
	tcase_add_test(tc, listing_keys_under_another_filters_new_name_is_an_error);
	tcase_add_loop_test(tc, a_copy_with_the_same_keys_has_the_allowlist, 0,
			    sizeof(same_keys) / sizeof(*same_keys));
	tcase_add_test(tc, a_cleared_filter_keeps_its_allowlist_and_hides_nothing_new);
	tcase_add_test(tc, a_rebuilt_filter_keeps_listed_keys_that_it_lacks);
	tcase_add_test(tc, a_listed_key_put_with_a_value_is_found_afterwards);
	tcase_add_loop_test(tc, a_rebuild_unlists_the_numbers_that_it_gives,
			    0, 2);
	tcase_add_loop_test(tc, a_filter_rebuilt_from_hashes_hides_none_of_its_keys, 0,
			    sizeof(unnamed) / sizeof(*unnamed));
	tcase_add_loop_test(tc,
			    a_published_filter_keeps_denied_keys_on_the_allowlist,
			    0, (int)ARRAY_LEN(published));
	tcase_add_loop_test(tc, a_replacement_keeps_listed_keys_that_it_was_not_given,
			    0, sizeof(built) / sizeof(*built));
	tcase_add_test(tc, an_updated_filter_keeps_listed_keys_that_it_lacks);
	tcase_add_test(tc, a_key_given_during_a_replacement_is_not_hidden);
	tcase_add_test(
		tc,
		an_answer_older_than_the_allowlist_is_stale);
	tcase_add_loop_test(tc, a_key_listed_during_a_call_is_not_removed, 0,
			    sizeof(removing) / sizeof(*removing));
	tcase_add_test(threads, threads_that_share_a_handle_hide_nothing_while_others_list);
	tcase_add_test(tc, a_list_is_refused_outside_a_store_and_to_readers);
	tcase_add_loop_test(tc, a_keyless_allowlist_record_is_skipped_or_removed, 0,
			    (int)ARRAY_LEN(records));
	tcase_add_test(tc, a_listed_key_that_lost_its_end_is_not_listed);
	tcase_add_test(tc, a_damaged_allowlist_hides_nothing_and_can_be_removed);
	tcase_add_test(tc, a_killed_lister_blocks_and_hides_nothing);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, threads);
	return run_suite(s);
}
