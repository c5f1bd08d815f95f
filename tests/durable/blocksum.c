/*
 * blocksum.c - every way to change a block keeps its record right, and what is only newer is no
 * damage
 */
#include "damage.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

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

/* Those that make a new file record its blocks at once. */
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

START_TEST(every_changed_block_has_a_record_after_a_sync)
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

/* ---- No false alarm ---- */

START_TEST(keys_added_after_the_last_sync_are_no_damage)
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

START_TEST(copies_during_adds_and_syncs_hold_all_acknowledged_keys)
{
	struct blm_info *info = info_buffer();
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

int main(void)
{
	Suite *s = suite_create("blocksum");
	TCase *tc = tcase_create("blocksum");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_loop_test(
		tc,
		every_changed_block_has_a_record_after_a_sync,
		0, 2 * WAYS);
	tcase_add_loop_test(tc, keys_added_after_the_last_sync_are_no_damage, 0, SHAPES);
	tcase_add_loop_test(tc, verifying_finds_nothing_while_others_add_and_sync, 0, 4);
	tcase_add_loop_test(
		tc, copies_during_adds_and_syncs_hold_all_acknowledged_keys,
		0, 2);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
