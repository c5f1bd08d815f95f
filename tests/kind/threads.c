/*
 * threads.c - six threads call all that a filter can do, on one handle, for each kind that takes
 * keys
 *
 * With the sanitizer of threads (tests/fault/tsan.sh) this shows that the calls touch shared words
 * by atomic operations only. Without it: at the end each thread finds its keys, except in kinds
 * that forget.
 */
#include "laws.h"
#include "info.h"

#include <pthread.h>

/* KEYS of each thread, SOME at a time. There is room for keys that are given several times. */
enum { THREADS = 6, KEYS = 320, SOME = 16, CAPACITY = 8 * THREADS * KEYS };

static struct {
	struct blm_filter *f, *other;	/* of one template; no thread changes `other` */
	const struct blm_kind *kind;
} shared;

/* A failure of check(3) ends a thread only in the thread that began the test. */
static void must(int64_t r, const char *call)
{
	/* what the kind cannot do, and a key that was taken out for good */
	if (r >= 0 || r == -EOPNOTSUPP || r == -EKEYREVOKED)
		return;
	fprintf(stderr, "%s: %s: %lld: %s\n", shared.kind->name, call, (long long)r,
		blm_error_message());
	abort();
}

#define CAN(call) must(call, #call)

/* Some keys of a thread in each form, and room for the answers. */
struct some {
	uint64_t number[SOME], bits, value[SOME];
	struct blm_key key[SOME];
	struct blm_hash hash[SOME];
	uint32_t offset[SOME + 1];
};

static void take_some(struct some *ret, unsigned thread, unsigned from)
{
	for (unsigned i = 0; i < SOME; i++) {
		set_key(&ret->number[i], thread * KEYS + from + i, in_digits(shared.f));
		ret->key[i] = (struct blm_key){ &ret->number[i], sizeof(ret->number[i]) };
		ret->value[i] = 1 + i % 2;
		ret->offset[i + 1] = (i + 1) * (uint32_t)sizeof(ret->number[i]);
	}
	ret->offset[0] = 0;
}

/* ---- The calls ---- */

static void give_by_hashes(struct blm_filter *f, struct some *s)
{
	uint64_t id = blm_hash_id(f);

	if (blm_hash_many(f, s->key, SOME, s->hash) < 0) {
		CAN(blm_add_many(f, s->key, SOME, &s->bits));
		return;
	}
	CAN(blm_add_hash(f, id, &s->hash[0]));
	CAN(blm_claim_hash(f, id, &s->hash[1]));
	CAN(blm_claim_hashes(f, id, s->hash, SOME / 2, &s->bits));
	CAN(blm_add_hashes(f, id, s->hash, SOME, &s->bits));
	CAN(blm_contains_hashes(f, id, s->hash, SOME, &s->bits));
}

static void give_one_by_one(struct blm_filter *f, struct some *s)
{
	for (unsigned i = 0; i < SOME; i++) {
		const struct blm_key *key = &s->key[i];

		if (i % 2)
			CAN(blm_claim(f, key->bytes, key->len));
		CAN(blm_add(f, key->bytes, key->len));
		CAN(blm_put(f, key->bytes, key->len, s->value[i]));
	}
}

/* All of them are in the filter at the end, whatever the form. */
static void give(struct blm_filter *f, struct some *s, unsigned how)
{
	switch (how % 6) {
	case 0:
		give_one_by_one(f, s);
		break;
	case 1:
		CAN(blm_claim_many(f, s->key, SOME, &s->bits));
		CAN(blm_add_many(f, s->key, SOME, &s->bits));
		break;
	case 2:
		CAN(blm_claim_fixed(f, s->number, 8, SOME, &s->bits));
		CAN(blm_add_fixed(f, s->number, 8, SOME, &s->bits));
		break;
	case 3:
		CAN(blm_add_packed(f, s->number, s->offset, 4, SOME, &s->bits));
		break;
	case 4:
		give_by_hashes(f, s);
		break;
	default:
		CAN(blm_add_at(f, s->key, SOME, NULL, &s->bits));
		CAN(blm_claim_again(f, s->key, SOME, NULL, &s->bits));
		CAN(blm_add_many(f, s->key, SOME, &s->bits));
	}
	CAN(blm_put_many(f, s->key, s->value, SOME, &s->bits));
}

/* Keys of this thread that no other thread gives. Afterwards they are given again. */
static void take_out(struct blm_filter *f, struct some *s)
{
	CAN(blm_remove(f, s->key[0].bytes, s->key[0].len));
	CAN(blm_remove_many(f, s->key + 1, SOME / 2, &s->bits));
	CAN(blm_remove_packed(f, s->number + 12, s->offset, 4, 2, &s->bits));
}

static void ask(const struct blm_filter *f, struct some *s)
{
	uint64_t ages[SOME];

	blm_contains(f, s->key[0].bytes, s->key[0].len);
	CAN(blm_get(f, s->key[0].bytes, s->key[0].len, &s->value[0]));
	CAN(blm_contains_many(f, s->key, SOME, &s->bits));
	CAN(blm_contains_fixed(f, s->number, 8, SOME, &s->bits));
	CAN(blm_contains_packed(f, s->number, s->offset, 4, SOME, &s->bits));
	CAN(blm_get_many(f, s->key, SOME, s->value, &s->bits));
	CAN(blm_contains_within(f, s->key, SOME, NULL, &s->bits));
	CAN(blm_ages(f, s->key, SOME, NULL, ages, &s->bits));
}

static void look(struct blm_filter *f)
{
	struct blm_info *info = info_buffer();
	struct blm_comparison comparison;
	struct blm_estimate estimate;
	struct blm_fact fact;
	const void *data;
	uint64_t count, bytes[8];
	bool estimated;
	size_t capacity;

	CAN(blm_info(f, info));
	free(info);
	for (size_t i = 0; blm_fact(f, i, &fact) == 0; i++)
		;
	CAN(blm_count(f, &count, &estimated));
	CAN(blm_estimate(f, true, &estimate));
	CAN(blm_compare(f, shared.other, &comparison));
	CAN(blm_data_read(f, 0, bytes, sizeof(bytes)));
	if (blm_data_map(f, &data, &capacity) == 0)
		blm_data_unmap(f, data);
	CAN(blm_status(f));
}

static void combine(struct blm_filter *f)
{
	const struct blm_filter *const from[] = { shared.other, f };
	struct blm_filter *made = NULL;

	CAN(blm_combine_into(f, BLM_UNION, from, 1, 0, NULL));
	CAN(blm_advance(f, from, 1));
	CAN(blm_copy(&made, NULL, NULL, f, 0));
	made = blm_close(made);
	CAN(blm_combine(&made, NULL, NULL, BLM_UNION, from, 2, 0, NULL));
	blm_close(made);
}

/* ---- The threads ---- */

static void *thread_body(void *number)
{
	unsigned thread = (unsigned)(uintptr_t)number;
	struct blm_filter *f = shared.f;
	struct some s;

	for (unsigned at = 0; at < KEYS; at += SOME) {
		unsigned turn = at / SOME + thread;

		take_some(&s, thread, at);
		give(f, &s, turn);
		ask(f, &s);
		if (turn % 4 == 0) {
			take_out(f, &s);
			give(f, &s, turn + 1);
		}
		if (turn % 5 == thread % 5)
			look(f);
		if (turn % 8 == thread)
			CAN(blm_sync(f));
		if (turn % 16 == thread)
			combine(f);
	}
	if (thread == 0)
		CAN(blm_rotate(f));
	if (thread == 1)
		CAN(blm_grow(f, BLM_GROW_FORCE));
	return NULL;
}

START_TEST(threads_that_call_everything_find_their_keys)
{
	const struct blm_kind *kind = kind_of(_i);
	/* in a table of keys, one that is given twice is none */
	bool keeps = !kind->forgets && !kind->holds_keys;
	pthread_t thread[THREADS];

	if (!kind_takes_keys(kind))
		return;
	shared.kind = kind;
	shared.f = make_for(kind, CAPACITY, 7, 0.001);
	shared.other = make_for(kind, CAPACITY, 7, 0.001);
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, thread_body, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (unsigned i = 0; i < THREADS * KEYS && keeps; i++) {
		uint64_t number;

		set_key(&number, i, in_digits(shared.f));
		ck_assert_msg(blm_contains(shared.f, &number, sizeof(number)),
			      "%s: key %u is lost", kind->name, i);
	}
	OK(blm_sync(shared.f));
	blm_close(shared.f), blm_close(shared.other);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("threads");
	TCase *tc = tcase_create("threads");
	size_t kinds = 0;

	while (blm_kind_at(kinds))
		kinds++;
	tcase_add_loop_test(tc, threads_that_call_everything_find_their_keys, 0, (int)kinds);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
