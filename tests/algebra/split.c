/*
 * split.c - filters in parts: whose keys are whose, parts that are built, split and joined, and
 * what is refused of them
 */
#include "kind/kind_registry.h"
#include "suite.h"

#include "../kinds.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

enum { KEYS = 6000, CAPACITY = 20000, LONGEST = 12 };

static const uint64_t seed[] = { 11 };
static struct blm_key keys[KEYS];
static uint64_t values[KEYS];

/* Each number twice: keys that come again are part of what is built. */
static void make_keys(void)
{
	static char buffer[KEYS][LONGEST];

	for (size_t i = 0; i < KEYS; i++) {
		keys[i] = (struct blm_key){ buffer[i], (size_t)sprintf(buffer[i], "%zu", i / 2) };
		values[i] = i / 2 & 1;
	}
}

static struct blm_kind_info kind_of(const char *name)
{
	struct blm_kind_info kind;

	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++)
		if (!strcmp(kind.name, name))
			return kind;
	ck_abort_msg("no kind %s", name);
	return kind;
}

static unsigned can_of(const char *name)
{
	return kind_of(name).can;
}

static struct blm_params params_of(const char *name)
{
	struct blm_kind_info kind = kind_of(name);
	struct blm_params p = usual_params(&kind, CAPACITY, 0.01);

	if (blm_family_by_name(p.hash)->seeds) {
		p.seeds = seed;
		p.seed_count = 1;
	}
	return p;
}

static struct blm_filter *build(const char *path, const struct blm_params *p)
{
	struct blm_build *b;
	struct blm_filter *f;

	OK(blm_build_begin(&b, NULL, path, p, NULL));
	if ((can_of(p->kind) & BLM_CAN_BUILD) && (can_of(p->kind) & BLM_CAN_GET))
		OK(blm_build_put_many(b, keys, values, KEYS));
	else
		OK(blm_build_add_many(b, keys, KEYS));
	OK(blm_build_finish(b, &f));
	return f;
}

static uint64_t bytes_of(const struct blm_filter *f)
{
	struct blm_info info = BLM_INFO;

	OK(blm_info(f, &info));
	return info.data_bytes;
}

static void ck_same_data(const struct blm_filter *a, const struct blm_filter *b)
{
	uint64_t bytes = bytes_of(a);
	uint8_t *of_a = malloc(bytes), *of_b = malloc(bytes);

	ck_assert_uint_eq(bytes, bytes_of(b));
	OK(blm_data_read(a, 0, of_a, bytes));
	OK(blm_data_read(b, 0, of_b, bytes));
	ck_assert(!memcmp(of_a, of_b, bytes));
	free(of_a);
	free(of_b);
}

static uint64_t count_of(const struct blm_filter *f, bool *ret_estimated)
{
	uint64_t count;

	OK(blm_count(f, &count, ret_estimated));
	return count;
}

/* Paths of parts, one after the other; to be freed. */
static char **names_of(uint32_t parts)
{
	char **names = calloc(parts, sizeof(*names));

	for (uint32_t i = 0; i < parts; i++)
		names[i] = strdup(a_path());
	return names;
}

static void free_names(char **names, uint32_t parts)
{
	for (uint32_t i = 0; i < parts; i++)
		free(names[i]);
	free(names);
}

static int join_part(struct blm_join *j, const char *name)
{
	struct blm_filter *f;
	int r;

	OK(blm_open(&f, NULL, name, 0));
	r = blm_join_part(j, f);
	blm_close(f);
	return r;
}

/* The last first. */
static struct blm_filter *join_all(char *const *names, uint32_t parts, const char *path)
{
	struct blm_filter *f;
	struct blm_join *j;

	OK(blm_join_begin(&j, NULL, path, 0, false));
	for (uint32_t i = parts; i--; )
		OK(join_part(j, names[i]));
	OK(blm_join_finish(j, &f));
	return f;
}

static const uint32_t numbers[] = { 1, 2, 3, 16, 150 };

/* ---- Which kinds: all that the registry has ---- */

enum { MOST = 32 };

/*
 * All that split; those whose parts are built alone; those where a key belongs to one part, or to
 * several; those that are made from all keys at once.
 */
static const char *splits[MOST], *built[MOST], *owned[MOST], *shared[MOST], *only_built[MOST];
static int split_count, built_count, owned_count, shared_count, only_built_count;

/* No part with some of a key's bits knows whether the others were there. */
static bool counts_in_parts(const char *kind)
{
	return (can_of(kind) & (BLM_ONLY_SETS | BLM_KEY_IN_PART)) != BLM_ONLY_SETS;
}

static void find_kinds(void)
{
	struct blm_kind_info found[MOST];
	unsigned count = other_kinds(BLM_CAN_SPLIT, 0, NULL, found, MOST);

	for (unsigned i = 0; i < count; i++) {
		const struct blm_kind *kind = blm_kind_by_name(found[i].name);

		splits[split_count++] = kind->name;
		if (kind->place || kind->add_within || kind->build_within)
			built[built_count++] = kind->name;
		if (found[i].can & BLM_KEY_IN_PART)
			owned[owned_count++] = kind->name;
		else
			shared[shared_count++] = kind->name;
		if (found[i].can & BLM_CAN_BUILD)
			only_built[only_built_count++] = kind->name;
	}
}

/* ---- Building and splitting ---- */

START_TEST(built_parts_join_to_the_data_of_one_build)
{
	const char *kind = built[_i / (int)ARRAY_LEN(numbers)];
	uint32_t parts = numbers[_i % (int)ARRAY_LEN(numbers)];
	struct blm_params p = params_of(kind);
	struct blm_filter *whole = build(a_path(), &p), *joined;
	char **names = names_of(parts);
	bool estimated = false;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < parts; i++) {
		struct blm_filter *part;

		p.split_part = i;
		p.split_parts = parts;
		part = build(names[i], &p);
		sum += count_of(part, &estimated);
		blm_close(part);
	}
	joined = join_all(names, parts, a_path());
	ck_same_data(whole, joined);
	if (counts_in_parts(kind)) {
		ck_assert_uint_eq(count_of(joined, &estimated), count_of(whole, NULL));
		ck_assert_uint_eq(sum, count_of(whole, NULL));
	} else {
		count_of(joined, &estimated);
	}
	ck_assert_int_eq(estimated, !counts_in_parts(kind));
	free_names(names, parts);
	blm_close(joined);
	blm_close(whole);
}
END_TEST

/* Two shards, whose border is in the middle part, and an index that the first part has. */
START_TEST(built_parts_with_several_shards_join_to_one_builds_data)
{
	enum { PARTS = 3, MANY = 2 << 20, AT_ONCE = 1 << 16 };
	struct blm_params p = BLM_PARAMS(.kind = _i ? "ribbon" : "fuse", .rate = 0.05,
					 .seeds = seed, .seed_count = 1);
	static uint64_t numbers_of_keys[AT_ONCE];
	struct blm_filter *f[PARTS + 1];
	char **names = names_of(PARTS);

	for (uint32_t i = 0; i <= PARTS; i++) {
		struct blm_build *b;

		p.split_part = i < PARTS ? i : 0;
		p.split_parts = i < PARTS ? PARTS : 0;
		OK(blm_build_begin(&b, NULL, i < PARTS ? names[i] : a_path(), &p,
				   &(struct blm_build_options){ .threads = 2 }));
		for (uint64_t at = 0; at < MANY; at += AT_ONCE) {
			for (uint64_t j = 0; j < AT_ONCE; j++)
				numbers_of_keys[j] = at + j;
			OK(blm_build_add_fixed(b, numbers_of_keys, 8, AT_ONCE));
		}
		OK(blm_build_finish(b, &f[i]));
		if (i < PARTS)
			blm_close(f[i]);
	}
	f[0] = join_all(names, PARTS, a_path());
	ck_same_data(f[PARTS], f[0]);
	ck_assert_uint_eq(count_of(f[0], NULL), MANY);
	free_names(names, PARTS);
	blm_close(f[0]);
	blm_close(f[PARTS]);
}
END_TEST

START_TEST(split_parts_join_to_the_same_data)
{
	const char *kind = splits[_i / (int)ARRAY_LEN(numbers)];
	uint32_t parts = numbers[_i % (int)ARRAY_LEN(numbers)];
	struct blm_params p = params_of(kind);
	struct blm_filter *whole = build(a_path(), &p), *joined;
	char **names = names_of(parts);
	bool estimated;

	OK(blm_split(whole, parts, NULL, (const char *const *)names, 0));
	joined = join_all(names, parts, a_path());
	ck_same_data(whole, joined);
	ck_assert_uint_eq(count_of(joined, &estimated), count_of(whole, NULL));
	ck_assert(!estimated);
	for (size_t i = 0; i < KEYS; i++)
		ck_assert(blm_contains(joined, keys[i].bytes, keys[i].len));
	free_names(names, parts);
	blm_close(joined);
	blm_close(whole);
}
END_TEST

START_TEST(a_part_has_a_share_of_the_disk)
{
	struct blm_params p = BLM_PARAMS(.kind = "blocked", .capacity = 4000000, .rate = 0.001,
					 .seeds = seed, .seed_count = 1, .sparse = true);
	const char *path = a_path();
	struct stat whole, part;
	struct blm_filter *f;
	char **names = names_of(8);

	OK(blm_create(&f, NULL, path, &p));
	for (uint64_t i = 0; i < 100000; i++)
		OK(blm_add(f, &i, sizeof(i)));
	OK(blm_split(f, 8, NULL, (const char *const *)names, 0));
	ck_assert_int_eq(stat(path, &whole), 0);
	ck_assert_int_eq(stat(names[3], &part), 0);
	ck_assert_int_eq(part.st_size, whole.st_size);
	ck_assert_int_lt(part.st_blocks, whole.st_blocks / 4);
	free_names(names, 8);
	blm_close(f);
}
END_TEST

/* The range of the first part is a hole, and zeros are written behind it. */
START_TEST(a_part_with_pages_behind_its_range_joins)
{
	struct blm_params p = BLM_PARAMS(.kind = "blocked", .capacity = 1000000, .rate = 0.001,
					 .seeds = seed, .seed_count = 1, .sparse = true);
	char **names = names_of(2);
	struct blm_filter *f, *joined;
	struct stat st;
	int fd;

	OK(blm_create(&f, NULL, NULL, &p));
	OK(blm_split(f, 2, NULL, (const char *const *)names, 0));
	fd = open(names[0], O_WRONLY | O_CLOEXEC);
	ck_assert(fstat(fd, &st) == 0 && pwrite(fd, "", 1, st.st_size / 4 * 3) == 1);
	close(fd);
	joined = join_all(names, 2, a_path());
	ck_same_data(f, joined);
	free_names(names, 2);
	blm_close(joined);
	blm_close(f);
}
END_TEST

/* ---- Whose keys ---- */

static struct blm_filter **create_parts(struct blm_params *p, uint32_t parts, char *const *names)
{
	struct blm_filter **f = calloc(parts, sizeof(struct blm_filter *));

	p->split_parts = parts;
	for (p->split_part = 0; p->split_part < parts; p->split_part++)
		OK(blm_create(&f[p->split_part], NULL, names[p->split_part], p));
	return f;
}

static void close_parts(struct blm_filter **f, uint32_t parts)
{
	for (uint32_t i = 0; i < parts; i++)
		blm_close(f[i]);
	free(f);
}

static uint32_t *owners_of(const struct blm_filter *f, uint32_t parts, struct blm_hash *hashes)
{
	uint32_t *owners = malloc(KEYS * sizeof(*owners));

	OK(blm_hash_many(f, keys, KEYS, hashes));
	OK(blm_part_owners(f, blm_hash_id(f), hashes, KEYS, parts, owners));
	return owners;
}

/* Of 128 units, so that the first place of a part is a whole multiple for many numbers of parts. */
START_TEST(the_owner_of_a_key_has_the_bytes_it_sets)
{
	static const uint32_t counts[] = { 1, 2, 3, 4, 7, 16, 64, 127, 128, 129, 1000, 65536 };
	struct blm_params p = BLM_PARAMS(.kind = "blocked", .cells = 1 << 16, .probes = 6);
	uint8_t data[(1 << 16) / 8];

	p.seeds = seed;
	p.seed_count = 1;
	for (size_t i = 0; i < 600; i += 2) {
		struct blm_filter *f;
		struct blm_hash hash;
		uint64_t place = 0, at, bytes;
		uint32_t owner;

		OK(blm_create(&f, NULL, NULL, &p));
		OK(blm_hash_many(f, &keys[i], 1, &hash));
		ck_assert_int_eq(blm_add_hash(f, blm_hash_id(f), &hash), 1);
		OK(blm_data_read(f, 0, data, sizeof(data)));
		while (!data[place])
			place++;
		OK(blm_part_owners(f, blm_hash_id(f), NULL, 0, 2, &owner));
		for (size_t j = 0; j < ARRAY_LEN(counts); j++) {
			OK(blm_part_owners(f, blm_hash_id(f), &hash, 1, counts[j], &owner));
			OK(blm_part_range(f, owner, counts[j], &at, &bytes));
			ck_assert(place >= at && place < at + bytes);
		}
		blm_close(f);
	}
}
END_TEST

START_TEST(a_key_belongs_to_one_part_which_answers_for_it)
{
	enum { PARTS = 7 };
	struct blm_params p = params_of(owned[_i]);
	struct blm_hash *hashes = malloc(KEYS * sizeof(*hashes));
	char **names = names_of(PARTS);
	struct blm_filter **f = create_parts(&p, PARTS, names);
	uint32_t *owners = owners_of(f[3], PARTS, hashes), seen[PARTS] = { 0 };
	uint64_t bits[2];

	for (size_t i = 0; i < KEYS; i += 2) {
		struct blm_filter *mine = f[owners[i]], *other = f[(owners[i] + 1) % PARTS];
		uint64_t id = blm_hash_id(mine);

		ck_assert_uint_lt(owners[i], PARTS);
		seen[owners[i]]++;
		ck_assert_int_eq(blm_contains_many(other, &keys[i], 1, NULL), -EREMOTE);
		ck_assert_int_eq(blm_add(other, keys[i].bytes, keys[i].len), -EREMOTE);
		ck_assert_int_eq(blm_claim(other, keys[i].bytes, keys[i].len), -EREMOTE);
		ck_assert_int_eq(blm_contains_hash(other, id, &hashes[i]), -EREMOTE);
		ck_assert_int_eq(blm_add_hash(other, id, &hashes[i]), -EREMOTE);
		ck_assert_int_eq(blm_claim_hashes(other, id, &hashes[i], 1, NULL), -EREMOTE);
		OK(i % 4 ? blm_add(mine, keys[i].bytes, keys[i].len)
		   : (int)blm_claim_hashes(mine, id, &hashes[i], 1, NULL));
		ck_assert_int_eq(blm_contains_many(mine, &keys[i], 1, NULL), 1);
		ck_assert_int_eq(blm_contains_hash(mine, id, &hashes[i]), 1);
		ck_assert(blm_contains(mine, keys[i].bytes, keys[i].len));
		/* which it cannot deny */
		ck_assert(blm_contains(other, keys[i].bytes, keys[i].len));
	}
	/* small numbers are in few parts */
	for (int i = 0; i < PARTS && !(can_of(owned[_i]) & BLM_EXACT); i++)
		ck_assert_uint_gt(seen[i], 0);
	memset(bits, 0, sizeof(bits));
	ck_assert_int_eq(blm_contains_many(f[6], keys, 70, bits), -EREMOTE);
	ck_assert(bits[0] == UINT64_MAX && bits[1] == 63);	/* nor here */
	ck_assert_int_eq(blm_contains_many(f[6], keys, KEYS, NULL), -EREMOTE);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "part 7 of 7"));
	free(owners);
	free(hashes);
	close_parts(f, PARTS);
	free_names(names, PARTS);
}
END_TEST

START_TEST(each_part_of_a_bitmap_denies_an_invalid_key)
{
	struct blm_params p = params_of("bitmap");
	char **names = names_of(3);
	struct blm_filter **f = create_parts(&p, 3, names);

	for (int i = 0; i < 3; i++) {
		FAILS(blm_add(f[i], "x", 1), -EINVAL);
		ck_assert(!blm_contains(f[i], "x", 1));
	}
	close_parts(f, 3);
	free_names(names, 3);
}
END_TEST

START_TEST(ranges_follow_each_other_and_cover_the_data)
{
	struct blm_params p = params_of(splits[_i]);
	struct blm_filter *f = build(a_path(), &p);
	uint64_t at, bytes, end;

	for (size_t n = 0; n < ARRAY_LEN(numbers); n++) {
		end = 0;
		for (uint32_t i = 0; i < numbers[n]; i++, end = at + bytes) {
			OK(blm_part_range(f, i, numbers[n], &at, &bytes));
			ck_assert_uint_eq(at, end);
			ck_assert_uint_eq(at % 64, 0);
		}
		ck_assert_uint_eq(end, bytes_of(f));
	}
	FAILS(blm_part_range(f, 2, 2, &at, &bytes), -EINVAL);
	FAILS(blm_part_range(f, 0, 0, &at, &bytes), -EINVAL);
	FAILS(blm_part_range(f, 0, BLM_SPLIT_MAX + 1, &at, &bytes), -EINVAL);
	blm_close(f);
}
END_TEST

START_TEST(claims_in_parts_are_counted_exactly_in_the_joined_filter)
{
	enum { PARTS = 5 };
	struct blm_params p = params_of("blocked");
	struct blm_hash *hashes = malloc(KEYS * sizeof(*hashes));
	char **names = names_of(PARTS);
	struct blm_filter **f = create_parts(&p, PARTS, names), *joined, *whole;
	uint32_t *owners = owners_of(f[0], PARTS, hashes);
	uint64_t won = 0;

	for (size_t i = 0; i < KEYS; i++)
		won += (uint64_t)blm_claim_hashes(f[owners[i]], blm_hash_id(f[0]), &hashes[i], 1,
						  NULL);
	close_parts(f, PARTS);
	joined = join_all(names, PARTS, a_path());
	p.split_part = p.split_parts = 0;
	whole = build(a_path(), &p);
	ck_same_data(whole, joined);
	ck_assert_uint_eq(count_of(joined, NULL), won);
	ck_assert_uint_eq(count_of(whole, NULL), won);
	free(owners);
	free(hashes);
	free_names(names, PARTS);
	blm_close(joined);
	blm_close(whole);
}
END_TEST

START_TEST(parts_of_kinds_with_cells_anywhere_answer_nothing)
{
	unsigned can = can_of(shared[_i]);
	struct blm_params p = params_of(shared[_i]);
	struct blm_filter *whole = build(a_path(), &p), *part;
	char **names = names_of(2);
	uint64_t value;
	uint32_t owner;

	OK(blm_split(whole, 2, NULL, (const char *const *)names, 0));
	OK(blm_open(&part, NULL, names[0], can & BLM_CAN_ADD ? BLM_OPEN_WRITE : 0));
	FAILS(blm_contains_many(part, keys, 1, NULL), -EREMOTE);
	ck_assert(blm_contains(part, "no key", 6));
	if (can & BLM_CAN_ADD)
		FAILS(blm_add(part, "x", 1), -EREMOTE);
	if (can & BLM_CAN_GET)
		FAILS(blm_get(part, "x", 1, &value), -EREMOTE);
	FAILS(blm_part_owners(whole, 0, NULL, 0, 2, &owner), -EOPNOTSUPP);
	p.split_parts = 2;
	FAILS(blm_create(&part, NULL, a_path(), &p), -EOPNOTSUPP);
	free_names(names, 2);
	blm_close(part);
	blm_close(whole);
}
END_TEST

/* ---- Refusals ---- */

START_TEST(parts_that_do_not_belong_together_are_refused)
{
	static const uint64_t others[] = { 12 };
	struct blm_params p = params_of("blocked");
	struct blm_info info = BLM_INFO;
	struct blm_filter *f, *g;
	struct blm_join *j;
	char **names = names_of(4);

	f = build(a_path(), &p);
	OK(blm_split(f, 3, NULL, (const char *const *)names, 0));
	OK(blm_join_begin(&j, NULL, a_path(), 0, false));
	FAILS(blm_join_part(j, f), -EINVAL);		/* it is whole */
	OK(join_part(j, names[1]));
	FAILS(join_part(j, names[1]), -EEXIST);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "part 2 of 3"));
	p.split_parts = 4;
	OK(blm_create(&g, NULL, names[3], &p));
	blm_close(g);
	FAILS(join_part(j, names[3]), -EMEDIUMTYPE);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "of 4"));
	p.split_parts = 3;
	p.replace = true;
	p.seeds = others;
	OK(blm_create(&g, NULL, names[3], &p));
	blm_close(g);
	FAILS(join_part(j, names[3]), -EMEDIUMTYPE);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "seed: 11 and 12"));
	p.seeds = seed;
	p.cells = 512 * (bytes_of(f) / 64);
	OK(blm_info(f, &info));
	p.probes = info.probes;
	p.capacity = 9;
	OK(blm_create(&g, NULL, names[3], &p));
	blm_close(g);
	FAILS(join_part(j, names[3]), -EMEDIUMTYPE);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "capacity or rate"));
	p.capacity = CAPACITY;
	p.rate = 0.5;
	OK(blm_create(&g, NULL, names[3], &p));
	blm_close(g);
	FAILS(join_part(j, names[3]), -EMEDIUMTYPE);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "capacity or rate"));
	OK(join_part(j, names[0]));
	FAILS(blm_join_finish(j, NULL), -ENODATA);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "part 3"));
	free_names(names, 4);
	blm_close(f);
}
END_TEST

/* The parts are equal in all that a header says of a filter. */
START_TEST(parts_that_were_built_from_other_keys_are_refused)
{
	struct blm_params p = params_of(only_built[_i]);
	const struct blm_key last = keys[KEYS - 1];
	struct blm_filter *f;
	struct blm_join *j;
	char **names = names_of(4);

	p.split_parts = 2;
	for (unsigned i = 0; i < 4; i++) {
		p.split_part = i > 0;
		keys[KEYS - 1] = keys[KEYS - 2] = i == 1 ? (struct blm_key){ "other", 5 } : last;
		values[KEYS - 1] ^= i == 2;
		values[KEYS - 2] ^= i == 2;
		blm_close(build(names[i], &p));
		values[KEYS - 1] ^= i == 2;
		values[KEYS - 2] ^= i == 2;
	}
	OK(blm_join_begin(&j, NULL, a_path(), 0, false));
	OK(join_part(j, names[0]));
	FAILS(join_part(j, names[1]), -EMEDIUMTYPE);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "other keys"));
	if (can_of(only_built[_i]) & BLM_CAN_GET)
		FAILS(join_part(j, names[2]), -EMEDIUMTYPE);
	OK(join_part(j, names[3]));
	OK(blm_join_finish(j, &f));
	ck_assert_int_eq(blm_contains_many(f, keys, KEYS, NULL), KEYS);
	/* a part of a whole filter, which has no number of the keys, fits too */
	OK(remove(names[1]));
	OK(remove(names[2]));
	OK(blm_split(f, 2, NULL, (const char *const *)names + 1, 0));
	OK(blm_join_begin(&j, NULL, a_path(), 0, false));
	OK(join_part(j, names[0]));
	OK(join_part(j, names[2]));
	OK(blm_join_finish(j, NULL));
	free_names(names, 4);
	blm_close(f);
}
END_TEST

START_TEST(a_name_in_use_is_refused_before_any_part)
{
	struct blm_params p = params_of("blocked");
	const char *path = a_path();
	struct blm_filter *f = build(path, &p);
	struct blm_join *j;
	const char *names[] = { a_path(), path };

	FAILS(blm_split(f, 2, NULL, names, 0), -EEXIST);
	ck_assert_int_ne(access(names[0], F_OK), 0);
	FAILS(blm_join_begin(&j, NULL, path, 0, false), -EEXIST);
	OK(blm_join_begin(&j, NULL, a_path(), 0, false));
	FAILS(blm_join_finish(j, NULL), -ENODATA);
	ck_assert_ptr_null(blm_join_cancel(NULL));
	blm_close(f);
}
END_TEST

/* Change a byte of the file. */
static void change(const char *path, uint64_t at, uint8_t to)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pwrite(fd, &to, 1, (off_t)at), 1);
	close(fd);
}

START_TEST(a_damaged_part_is_refused)
{
	struct blm_params p = params_of("blocked");
	struct blm_filter *f = build(a_path(), &p), *part;
	uint64_t guard = 64, at, bytes, in_file;
	struct blm_join *j;
	char **names = names_of(2);
	uint8_t byte, mended;

	OK(blm_split(f, 2, NULL, (const char *const *)names, 0));
	OK(blm_part_range(f, 0, 2, &at, &bytes));
	ck_assert_uint_le(bytes_of(f), 65536);	/* so its data are one block behind its guard */
	in_file = 20480 + guard;
	do
		OK(blm_data_read(f, at++, &byte, 1));
	while (!byte);
	change(names[0], in_file + at - 1, 0);
	change(names[1], in_file, 1);
	OK(blm_join_begin(&j, NULL, a_path(), 0, false));
	FAILS(join_part(j, names[0]), -EUCLEAN);	/* bits are lost */
	FAILS(join_part(j, names[1]), -EUCLEAN);	/* a bit is the other part's */
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "outside its range"));
	blm_join_cancel(j);
	/* a lost bit is set again, with others of its block and of this part */
	OK(blm_verify(NULL, names[0], BLM_VERIFY_REPAIR, NULL, NULL));
	OK(blm_open(&part, NULL, names[0], 0));
	OK(blm_data_read(part, at - 1, &mended, 1));
	ck_assert_uint_eq(mended & byte, byte);
	OK(blm_part_range(f, 1, 2, &at, &bytes));
	OK(blm_data_read(part, at, &mended, 1));
	ck_assert_uint_eq(mended, 0);
	blm_close(part);
	free_names(names, 2);
	blm_close(f);
}
END_TEST

START_TEST(a_part_is_not_used_as_the_whole)
{
	struct blm_params p = params_of("blocked");
	struct blm_filter *f = build(a_path(), &p), *part, *other, *made = NULL;
	char **names = names_of(2);
	struct blm_bank_build *bank;
	void *bytes;
	size_t count;

	OK(blm_split(f, 2, NULL, (const char *const *)names, 0));
	OK(blm_open(&part, NULL, names[0], BLM_OPEN_WRITE));
	OK(blm_open(&other, NULL, names[1], 0));
	FAILS(blm_fold(&made, NULL, NULL, part, 2, 0), -EREMOTE);
	FAILS(blm_export_bytes(part, &BLM_EXCHANGE(.format = "bloomery"), &bytes, &count),
	      -EREMOTE);
	FAILS(blm_import_file(&made, NULL, NULL, &BLM_EXCHANGE(.format = "bloomery"), names[0]),
	      -EREMOTE);
	FAILS(blm_split(part, 2, NULL, (const char *const *)names, 0), -EREMOTE);
	FAILS(blm_same_template(part, other), -EMEDIUMTYPE);
	FAILS(blm_same_template(part, f), -EMEDIUMTYPE);
	FAILS(blm_combine(&made, NULL, NULL, BLM_UNION,
			  (const struct blm_filter *const[]){ part, f }, 2, 0, NULL),
	      -EMEDIUMTYPE);
	OK(blm_bank_begin(&bank, a_path(), 0, false));
	FAILS(blm_bank_add(bank, part, "part"), -EREMOTE);
	blm_bank_cancel(bank);
	ck_assert_ptr_null(made);
	free_names(names, 2);
	blm_close(f);
	blm_close(part);
	blm_close(other);
}
END_TEST

static int fill_nothing(struct blm_filter *fresh, void *context)
{
	return 0;
}

START_TEST(copies_and_clears_of_a_part_are_that_part)
{
	struct blm_params p = params_of("blocked");
	struct blm_filter *f = build(a_path(), &p), *part, *twin, *copy;
	struct blm_info info = BLM_INFO;
	char **names = names_of(2);

	OK(blm_split(f, 2, NULL, (const char *const *)names, 0));
	OK(blm_open(&part, NULL, names[1], BLM_OPEN_WRITE));
	OK(blm_template(&twin, NULL, NULL, part, 0));
	OK(blm_copy(&copy, NULL, NULL, part, 0));
	ck_assert_int_eq(blm_same_template(part, twin), 0);
	ck_same_data(part, copy);
	FAILS(blm_rebuild(NULL, names[1], &BLM_PARAMS(), fill_nothing, NULL), -EREMOTE);
	OK(blm_clear(part));
	OK(blm_info(part, &info));
	ck_assert_uint_eq(info.split_part, 1);
	ck_assert_uint_eq(info.split_parts, 2);
	ck_assert_uint_eq(info.keys, 0);
	free_names(names, 2);
	blm_close(f);
	blm_close(part);
	blm_close(twin);
	blm_close(copy);
}
END_TEST

static void join_like(const char *const *names, uint32_t parts, const struct blm_filter *like)
{
	struct blm_filter *f;
	struct blm_join *j;

	OK(blm_join_begin(&j, NULL, a_path(), 0, false));
	for (uint32_t i = 0; i < parts; i++)
		OK(join_part(j, names[i]));
	OK(blm_join_finish(j, &f));
	ck_same_data(f, like);
	blm_close(f);
}

START_TEST(a_number_of_parts_that_no_filter_has_is_refused)
{
	const char *names[2] = { a_path(), NULL };
	struct blm_params p = params_of("blocked");
	struct blm_filter *f = build(a_path(), &p);

	FAILS(blm_split(f, 0, NULL, names, 0), -EINVAL);
	FAILS(blm_split(f, BLM_SPLIT_MAX + 1, NULL, names, 0), -EINVAL);
	FAILS(blm_split(f, 2, NULL, names, 0), -EINVAL);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "name"));
	blm_close(f);
}
END_TEST

/* One key in the last part, and holes before it. */
START_TEST(a_part_takes_only_its_own_range_of_raw_data)
{
	struct blm_params p = params_of("classic");
	const char *names[] = { a_path(), a_path(), a_path(), a_path() };
	struct blm_filter *f, *part;
	struct blm_build *b;
	uint64_t bytes;
	uint8_t *data;

	p.cells = 1 << 26;
	p.probes = 1;
	p.capacity = 0;
	p.rate = 0;
	p.sparse = true;
	OK(blm_create(&f, NULL, a_path(), &p));
	bytes = bytes_of(f);
	data = calloc(1, bytes);
	data[bytes - 1] = 1;
	OK(blm_data_unite(f, bytes - 1, data + bytes - 1, 1));
	OK(blm_split(f, 4, NULL, names, 0));
	OK(blm_open(&part, NULL, names[3], BLM_OPEN_WRITE));
	ck_same_data(f, part);
	FAILS(blm_data_unite(part, 0, data, 1), -EREMOTE);
	OK(blm_data_unite(part, 0, data, 0));
	OK(blm_data_unite(part, bytes - 1, data + bytes - 1, 1));
	blm_close(part);
	OK(blm_open(&part, NULL, names[0], BLM_OPEN_WRITE));
	FAILS(blm_data_unite(part, bytes / 4 - 1, data, 2), -EREMOTE);
	blm_close(part);
	p.split_parts = 4;
	OK(blm_build_begin(&b, NULL, a_path(), &p, NULL));
	OK(blm_build_unite(b, 0, data, 0, 0));
	FAILS(blm_build_unite(b, bytes / 4 - 1, data, 2, 0), -EREMOTE);
	blm_build_cancel(b);
	for (int i = 0; i < 2; i++) {
		p = params_of(i ? "cuckoo" : "window");
		OK(blm_build_begin(&b, NULL, a_path(), &p, NULL));
		FAILS(blm_build_unite(b, 0, data, 1, 0), -EOPNOTSUPP);
		blm_build_cancel(b);
	}
	join_like(names, 4, f);
	free(data);
	blm_close(f);
}
END_TEST

START_TEST(parts_of_filters_do_not_merge)
{
	struct blm_params p = params_of("golomb");
	const char *names[] = { a_path(), a_path() };
	struct blm_filter *f = build(a_path(), &p), *part, *merged;

	OK(blm_split(f, 2, NULL, names, 0));
	OK(blm_open(&part, NULL, names[0], 0));
	FAILS(blm_merge(&merged, NULL, NULL, (const struct blm_filter *const[]){ part }, 1, 0),
	      -EREMOTE);
	blm_close(part);
	blm_close(f);
}
END_TEST

/* 64 bytes of data have one owner. */
START_TEST(a_part_that_owns_nothing_has_no_keys)
{
	struct blm_params p = params_of("blocked");
	const char *names[] = { a_path(), a_path(), a_path(), a_path() };
	struct blm_estimate estimate;
	struct blm_filter *f, *part, *both;
	int owners = 0;

	p.cells = 512;
	p.probes = 4;
	p.capacity = 0;
	p.rate = 0;
	OK(blm_create(&f, NULL, NULL, &p));
	OK(blm_add(f, "a", 1) == 1 ? 0 : -EILSEQ);
	OK(blm_split(f, 4, NULL, names, 0));
	for (int i = 0; i < 4; i++) {
		bool estimated;

		OK(blm_open(&part, NULL, names[i], 0));
		OK(blm_estimate(part, true, &estimate));
		owners += estimate.keys.value > 0;
		count_of(part, &estimated);
		OK(blm_combine(&both, NULL, NULL, BLM_UNION,
			       (const struct blm_filter *[]){ part, part }, 2, 0, NULL));
		ck_assert_uint_eq(count_of(both, &estimated), estimate.keys.value > 0);
		blm_close(both);
		blm_close(part);
	}
	ck_assert_int_eq(owners, 1);
	blm_close(f);
}
END_TEST

/* 600 numbers: 512 of them are in the first half of the data. */
START_TEST(the_last_part_of_a_bitmap_has_fewer_cells)
{
	struct blm_params p = params_of("bitmap");
	const char *names[] = { a_path(), a_path() };
	struct blm_filter *f, *part;
	bool estimated;

	p.cells = 600;
	OK(blm_create(&f, NULL, NULL, &p));
	for (int i = 500; i < 600; i++)
		ck_assert_int_eq(blm_add(f, keys[2 * i].bytes, keys[2 * i].len), 1);
	OK(blm_split(f, 2, NULL, names, 0));
	OK(blm_open(&part, NULL, names[1], 0));
	ck_assert_uint_eq(count_of(part, &estimated), 88);
	blm_close(part);
	blm_close(f);
}
END_TEST

START_TEST(keys_given_as_hashes_are_in_their_parts)
{
	static const char *const kinds[] = { "classic", "counting" };

	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		struct blm_params p = params_of(kinds[k]);
		struct blm_filter *parts[2], *whole;
		struct blm_hash hash;
		const char *names[] = { a_path(), a_path() };

		OK(blm_create(&whole, NULL, NULL, &p));
		OK(blm_hash_many(whole, keys, 1, &hash));
		for (p.split_part = 0; p.split_part < 2; p.split_part++) {
			struct blm_build *b;

			p.split_parts = 2;
			OK(blm_build_begin(&b, NULL, names[p.split_part], &p, NULL));
			for (int i = 0; i < 40; i++)	/* more than a counter counts */
				OK(blm_build_add_hashes(b, blm_build_hash_id(b), &hash, 1));
			OK(blm_build_finish(b, &parts[p.split_part]));
			blm_close(parts[p.split_part]);
		}
		for (int i = 0; i < 40; i++)
			OK(blm_add_hash(whole, blm_hash_id(whole), &hash) >= 0 ? 0 : -EILSEQ);
		join_like(names, 2, whole);
		blm_close(whole);
	}
}
END_TEST

static int no_keys(struct blm_filter *fresh, void *context)
{
	return 0;
}

START_TEST(parameters_of_parts_are_checked)
{
	struct blm_params p = params_of("blocked");
	struct blm_filter *f;
	struct blm_build *b;

	p.split_part = p.split_parts = 2;
	FAILS(blm_create(&f, NULL, NULL, &p), -EINVAL);
	p.split_part = 1;
	p.split_parts = 0;
	FAILS(blm_create(&f, NULL, NULL, &p), -EINVAL);
	p.split_parts = BLM_SPLIT_MAX + 1;
	FAILS(blm_create(&f, NULL, NULL, &p), -EINVAL);
	p.split_parts = 4;
	p.seed_count = 0;		/* another one for each part */
	FAILS(blm_create(&f, NULL, NULL, &p), -EINVAL);
	p.kind = "stable";
	p.seed_count = 1;
	FAILS(blm_create(&f, NULL, NULL, &p), -EOPNOTSUPP);
	p.kind = "classic";
	FAILS(blm_create(&f, NULL, NULL, &p), -EOPNOTSUPP);
	FAILS(blm_rebuild(NULL, "x", &p, no_keys, NULL), -EINVAL);
	FAILS(blm_create(&f, NULL, NULL, &BLM_PARAMS(.capacity = 100, .hash = "siphash",
						     .split_parts = 2)), -EINVAL);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "the same secret"));
	p.kind = "none";
	FAILS(blm_build_begin(&b, NULL, a_path(), &p, NULL), -ENOENT);
	p.kind = "cuckoo";
	FAILS(blm_build_begin(&b, NULL, a_path(), &p, NULL), -EOPNOTSUPP);
	p.kind = "blocked";
	p.capacity = 0;			/* another size for each part */
	FAILS(blm_build_begin(&b, NULL, a_path(), &p, NULL), -EOPNOTSUPP);
}
END_TEST

START_TEST(a_feature_bit_keeps_older_readers_from_a_part)
{
	struct blm_params p = params_of("blocked");
	uint64_t words[2] = { 0 };	/* must_understand, split_part and split_parts */
	const char *path = a_path();
	struct blm_filter *f;
	int fd;

	p.split_part = 2;
	p.split_parts = 5;
	OK(blm_create(&f, NULL, path, &p));
	blm_close(f);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(pread(fd, &words[0], 8, 16), 8);
	ck_assert_int_eq(pread(fd, &words[1], 8, 96), 8);
	close(fd);
	ck_assert_uint_eq(words[0], 1);
	ck_assert_uint_eq(words[1], 2 | UINT64_C(5) << 32);
}
END_TEST

/* ---- Large, and cut short ---- */

START_TEST(a_filter_of_256_gib_joins_64_parts)
{
	enum { PARTS = 64 };
	uint64_t number = test_full() ? 1000000 : (uint64_t)(3000 * test_scale()), place, at, bytes;
	struct blm_params p = BLM_PARAMS(.kind = "blocked", .cells = UINT64_C(1) << 41,
					 .probes = 8, .seeds = seed, .seed_count = 1,
					 .sparse = true);
	struct blm_hash *hashes = malloc(number * sizeof(*hashes));
	uint32_t *owners = malloc(number * sizeof(*owners));
	struct blm_filter *whole, *f, *joined;
	char **names = names_of(PARTS);
	struct blm_join *j;
	uint64_t id;

	OK(blm_create(&whole, NULL, a_path(), &p));
	id = blm_hash_id(whole);
	for (uint64_t i = 0; i < number; i++)
		OK(blm_hash_fixed(whole, &i, 8, 1, &hashes[i]));
	OK(blm_part_owners(whole, id, hashes, number, PARTS, owners));
	ck_assert_int_eq(blm_add_hashes(whole, id, hashes, number, NULL), (int64_t)number);
	p.split_parts = PARTS;
	OK(blm_join_begin(&j, NULL, a_path(), 0, true));
	for (p.split_part = 0; p.split_part < PARTS; p.split_part++) {
		OK(blm_create(&f, NULL, names[p.split_part], &p));
		for (uint64_t i = 0; i < number; i++)
			if (owners[i] == p.split_part)
				ck_assert_int_eq(blm_add_hash(f, id, &hashes[i]), 1);
		OK(blm_join_part(j, f));
		blm_close(f);
		ck_assert_int_eq(unlink(names[p.split_part]), 0);
	}
	OK(blm_join_finish(j, &joined));
	ck_assert_uint_eq(count_of(joined, NULL), number);
	for (uint64_t i = 0; i < number; i++) {
		uint64_t a[8], b[8];

		/* the place of its block: format-spec.md, "Kind 2: blocked" */
		place = (uint64_t)((unsigned __int128)hashes[i].hi * (p.cells / 512) >> 64) * 64;
		OK(blm_data_read(whole, place, a, 64));
		OK(blm_data_read(joined, place, b, 64));
		ck_assert(!memcmp(a, b, 64));
		ck_assert(a[0] | a[1] | a[2] | a[3] | a[4] | a[5] | a[6] | a[7]);
	}
	OK(blm_part_range(joined, PARTS - 1, PARTS, &at, &bytes));
	ck_assert_uint_eq(bytes, (UINT64_C(1) << 38) / PARTS);
	free_names(names, PARTS);
	free(hashes);
	free(owners);
	blm_close(joined);
	blm_close(whole);
}
END_TEST

enum { ROUNDS = 25, FEW = 4 };

struct kill_me {
	const struct blm_filter *f;
	char *const *names;
	const char *joined;
};

static int split_and_join(void *context)
{
	const struct kill_me *k = context;
	struct blm_join *j;

	MUST(blm_split(k->f, FEW, NULL, (const char *const *)k->names, 0) == 0);
	MUST(blm_join_begin(&j, NULL, k->joined, 0, false) == 0);
	for (int i = 0; i < FEW; i++) {
		struct blm_filter *part;

		MUST(blm_open(&part, NULL, k->names[i], 0) == 0);
		MUST(blm_join_part(j, part) == 0);
		blm_close(part);
	}
	MUST(blm_join_finish(j, NULL) == 0);
	return 0;
}

START_TEST(a_kill_leaves_complete_files_only)
{
	struct blm_params p = params_of("blocked");
	struct blm_filter *whole = build(a_path(), &p);
	uint64_t state = 1;

	for (int round = 0; round < ROUNDS; round++) {
		char **names = names_of(FEW), *joined = strdup(a_path());
		pid_t pid = spawn(split_and_join, &(struct kill_me){ whole, names, joined });

		/* the last round is not cut short */
		usleep(next_random(&state) % 8000);
		if (round < ROUNDS - 1)
			kill(pid, SIGKILL);
		ck_assert_int_ne(join(pid), 99);
		for (int i = 0; i <= FEW; i++) {
			const char *name = i < FEW ? names[i] : joined;
			struct blm_info info = BLM_INFO;
			struct blm_filter *f;

			if (access(name, F_OK) != 0) {
				ck_assert_int_lt(round, ROUNDS - 1);
				continue;
			}
			OK(blm_open(&f, NULL, name, 0));
			OK(blm_info(f, &info));
			ck_assert_uint_eq(info.split_parts, i < FEW ? FEW : 0);
			if (i == FEW)
				ck_same_data(whole, f);
			blm_close(f);
			unlink(name);
		}
		free_names(names, FEW);
		free(joined);
	}
	blm_close(whole);
}
END_TEST

int main(void)
{
	int of_numbers = (int)ARRAY_LEN(numbers);
	Suite *suite;
	TCase *parts, *large;

	if (!test_full())	/* then 8 GiB are written */
		prefer_memory();
	suite = begin_suite("split");
	parts = tcase_create("parts");
	large = tcase_create("large");
	suite_add_tcase(suite, large);
	make_keys();
	find_kinds();
	suite_add_tcase(suite, parts);
	tcase_add_loop_test(parts, built_parts_join_to_the_data_of_one_build, 0,
			    built_count * of_numbers);
	tcase_add_loop_test(large, built_parts_with_several_shards_join_to_one_builds_data, 0,
			    test_full() ? 2 : test_scale() >= 0.2);
	tcase_add_loop_test(parts, split_parts_join_to_the_same_data, 0,
			    split_count * of_numbers);
	tcase_add_test(parts, a_part_has_a_share_of_the_disk);
	tcase_add_test(parts, a_part_with_pages_behind_its_range_joins);
	tcase_add_test(parts, the_owner_of_a_key_has_the_bytes_it_sets);
	tcase_add_loop_test(parts, a_key_belongs_to_one_part_which_answers_for_it, 0,
			    owned_count);
	tcase_add_test(parts, each_part_of_a_bitmap_denies_an_invalid_key);
	tcase_add_loop_test(parts, ranges_follow_each_other_and_cover_the_data, 0,
			    split_count);
	tcase_add_test(parts, claims_in_parts_are_counted_exactly_in_the_joined_filter);
	tcase_add_loop_test(parts, parts_of_kinds_with_cells_anywhere_answer_nothing, 0,
			    shared_count);
	tcase_add_test(parts, parts_that_do_not_belong_together_are_refused);
	tcase_add_test(parts, a_name_in_use_is_refused_before_any_part);
	tcase_add_test(parts, a_damaged_part_is_refused);
	tcase_add_test(parts, a_part_is_not_used_as_the_whole);
	tcase_add_test(parts, copies_and_clears_of_a_part_are_that_part);
	tcase_add_loop_test(parts, parts_that_were_built_from_other_keys_are_refused, 0,
			    only_built_count);
	tcase_add_test(parts, a_number_of_parts_that_no_filter_has_is_refused);
	tcase_add_test(parts, a_part_takes_only_its_own_range_of_raw_data);
	tcase_add_test(parts, parts_of_filters_do_not_merge);
	tcase_add_test(parts, a_part_that_owns_nothing_has_no_keys);
	tcase_add_test(parts, the_last_part_of_a_bitmap_has_fewer_cells);
	tcase_add_test(parts, keys_given_as_hashes_are_in_their_parts);
	tcase_add_test(parts, parameters_of_parts_are_checked);
	tcase_add_test(parts, a_feature_bit_keeps_older_readers_from_a_part);
	tcase_add_test(parts, a_kill_leaves_complete_files_only);
	/* with BLOOMERY_TEST_SCALE=full it has a million keys */
	tcase_add_test(large, a_filter_of_256_gib_joins_64_parts);
	return run_suite(suite);
}
