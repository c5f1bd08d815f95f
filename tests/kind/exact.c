/*
 * exact.c - filters of two lists: never wrong about either, as small as two levels can be, and
 * nothing leads out of damaged data
 */
#include "handle/handle.h"
#include "hash/one_hash.h"
#include "kind/exact_sieve.h"
#include "suite.h"

#include <fcntl.h>
#include <math.h>
#include <sys/mman.h>

/* numbers from there on; keys begin with 0 */
enum { STRANGER = 1 << 29, OTHER = 1 << 27 };

struct lists {
	uint64_t keys, others;
	uint64_t both;			/* the first of the keys, that are others too */
	uint64_t memory, seed;
	double rate;
	bool twice, backwards;
	unsigned threads;
};

static void give(struct blm_build *b, bool excluded, uint64_t from, uint64_t count, bool backwards)
{
	enum { SOME = 500 };
	uint64_t numbers[SOME];
	struct blm_key keys[SOME];

	for (uint64_t at = 0; at < count; at += SOME) {
		size_t some = count - at < SOME ? (size_t)(count - at) : SOME;

		for (size_t i = 0; i < some; i++) {
			numbers[i] = backwards ? from + count - 1 - at - i : from + at + i;
			keys[i] = (struct blm_key){ &numbers[i], 8 };
		}
		OK(excluded ? blm_build_exclude_many(b, keys, some)
			    : blm_build_add_many(b, keys, some));
	}
}

static struct blm_filter *build(struct lists l)
{
	struct blm_params p = BLM_PARAMS(.kind = "exact", .rate = l.rate, .seeds = &l.seed,
					 .seed_count = 1);
	struct blm_build_options how = { .memory_bytes = l.memory, .threads = l.threads };
	struct blm_filter *f;
	struct blm_build *b;

	OK(blm_build_begin(&b, NULL, a_path(), &p, &how));
	for (int i = 0; i < (l.twice ? 2 : 1); i++) {
		give(b, true, OTHER, l.others, l.backwards);
		give(b, false, 0, l.keys, l.backwards);
		give(b, true, 0, l.both, l.backwards);
	}
	OK(blm_build_finish(b, &f));
	return f;
}

static uint64_t found(const struct blm_filter *f, uint64_t from, uint64_t count)
{
	uint64_t yes = 0, numbers[1000];

	for (uint64_t at = 0; at < count; at += 1000) {
		size_t some = count - at < 1000 ? (size_t)(count - at) : 1000;

		for (size_t i = 0; i < some; i++)
			numbers[i] = from + at + i;
		yes += (uint64_t)blm_contains_fixed(f, numbers, 8, some, NULL);
	}
	return yes;
}

static void is_right(const struct blm_filter *f, const struct lists *l)
{
	struct blm_info info = BLM_INFO;

	ck_assert_uint_eq(found(f, 0, l->keys), l->keys);
	ck_assert_uint_eq(found(f, OTHER, l->others), 0);
	OK(blm_info(f, &info));
	ck_assert_uint_eq(info.keys, l->keys);
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t other = OTHER + i;

		ck_assert(i >= l->keys || blm_contains(f, &i, 8) == 1);
		ck_assert(i >= l->others || blm_contains(f, &other, 8) == 0);
	}
	OK(blm_verify(NULL, f->place.display, 0, NULL, NULL));
}

static struct exact_head head_of(const struct blm_filter *f)
{
	return *(const struct exact_head *)current_view(f)->part[0].bytes;
}

static uint64_t data_bytes(const struct blm_filter *f)
{
	return current_view(f)->part[0].shape.bytes;
}

/* ---- Answers ---- */

static const uint64_t counts[] = { 0, 1, 2, 64, 65, 1000, 5000, 60000 };

START_TEST(no_answer_about_either_list_is_wrong)
{
	static const double rates[] = { 0, 0.4, 0.01, 1e-6 };

	for (size_t k = 0; k < ARRAY_LEN(counts); k++)
		for (size_t o = 0; o < ARRAY_LEN(counts); o++) {
			struct lists l = { .keys = counts[k],
					   .others = counts[o],
					   .seed = k,
					   .rate = rates[(k + o) % 4],
					   .twice = (k + o) % 3 == 0 };
			struct blm_filter *f = build(l);

			is_right(f, &l);
			blm_close(f);
		}
}
END_TEST

/* The second level is of two shards. */
START_TEST(lists_of_several_shards_are_right_too)
{
	struct lists l = {
		.keys = 2200000, .others = 300000, .both = 5000, .threads = 2, .memory = 16 << 20
	};
	struct blm_filter *f = build(l);

	ck_assert_uint_eq(head_of(f).bytes[0], 0);
	ck_assert_uint_eq(
		shards_of(&(struct blm_shape){ .capacity = head_of(f).keys + head_of(f).passed }),
		2);
	is_right(f, &l);
	blm_close(f);
}
END_TEST

START_TEST(a_key_on_both_lists_is_in_the_filter)
{
	static const uint64_t both[] = { 1, 2, 64, 1000, 3000 };

	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		struct lists l = { .keys = 3000,
				   .others = i % 2 ? 40000 : 0,
				   .both = both[i],
				   .seed = i,
				   .rate = i % 2 ? 0 : 0.01 };
		struct blm_filter *f = build(l);
		struct blm_fact fact;
		char want[64];

		is_right(f, &l);
		ck_assert_uint_eq(head_of(f).both, both[i]);
		OK(blm_fact(f, 0, &fact));
		snprintf(want, sizeof(want), "%llu that are keys too", (unsigned long long)both[i]);
		ck_assert_msg(strstr(fact.text, want) != NULL, "%s", fact.text);
		blm_close(f);
	}
}
END_TEST

START_TEST(keys_on_neither_list_are_wrong_at_the_stated_rate)
{
	static const struct lists all[] = {
		{ .keys = 20000, .others = 200000 },
		{ .keys = 20000, .others = 200000, .rate = 0.01 },
		{ .keys = 20000, .others = 10000 },
		{ .keys = 20000, .others = 50, .rate = 0.05 },
		{ .keys = 40, .others = 40, .rate = 0.2 },
		{ .keys = 20000, .others = 1, .rate = 0.25 },
		{ .keys = 20000, .others = 45000 },
	};
	const double asked = 400000 * test_scale(), seeds = 3;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		double wrong = 0, rate = 0;

		for (uint64_t seed = 1; seed <= seeds; seed++) {
			struct lists l = all[i];
			struct blm_info info = BLM_INFO;
			struct blm_filter *f;

			l.seed = seed;
			f = build(l);
			OK(blm_info(f, &info));
			rate = info.rate;
			ck_assert(!l.rate || rate == l.rate);
			ck_assert(info.rate_at_capacity <= rate * 1.000001);
			wrong += (double)found(f, STRANGER, (uint64_t)asked);
			blm_close(f);
		}
		ck_assert_msg(wrong <= rate * asked * seeds + 5 * sqrt(rate * asked * seeds),
			      "%zu: %g of %g, not %g", i, wrong, asked * seeds, rate);
	}
}
END_TEST

/* ---- Sizes ---- */

static double least_bytes(double n, double o)
{
	return (lgamma(n + o + 1) - lgamma(n + 1) - lgamma(o + 1)) / M_LN2 / 8;
}

START_TEST(it_takes_1_1_times_the_bits_of_the_bound)
{
	static const struct lists all[] = {
		{ .keys = 121570, .others = 1000000 }, { .keys = 200000, .others = 202000 },
		{ .keys = 200000, .others = 402000 },  { .keys = 200000, .others = 560000 },
		{ .keys = 200000, .others = 600000 },  { .keys = 50000, .others = 5000000 },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		double least;
		struct blm_filter *f;
		struct blm_params p = BLM_PARAMS(.kind = "exact", .capacity = all[i].keys);
		char options[40];
		struct blm_plan plan;

		if (test_scale() < 1 && i % 2)
			continue;
		least = least_bytes((double)all[i].keys, (double)all[i].others);
		f = build(all[i]);
		ck_assert_msg((double)data_bytes(f) <= 1.1 * least,
			      "%zu: %llu bytes, not 1.1 times %g", i,
			      (unsigned long long)data_bytes(f), least);
		if (i == 0)
			ck_assert_uint_le(data_bytes(f), 77000);
		snprintf(options, sizeof(options), "others=%llu",
			 (unsigned long long)all[i].others);
		p.options = options;
		OK(blm_plan(&plan, &p));
		ck_assert_msg(fabs((double)plan.data_bytes / (double)data_bytes(f) - 1) < 0.005,
			      "%zu: %llu bytes on paper, %llu built", i,
			      (unsigned long long)plan.data_bytes,
			      (unsigned long long)data_bytes(f));
		blm_close(f);
	}
}
END_TEST

/* 99 million others that are to be right, where no filter of the keys alone is. */
START_TEST(a_million_of_a_hundred_million_keys_meet_the_size)
{
	struct blm_params p = BLM_PARAMS(.kind = "exact");
	struct lists l = { .keys = 1000000, .others = 99000000, .threads = 2 };
	struct blm_filter *f;
	struct blm_plan plan;
	char options[40];

	if (!test_full()) {	/* a hundredth */
		l.keys /= 100;
		l.others /= 100;
	}
	f = build(l);
	is_right(f, &l);
	snprintf(options, sizeof(options), "others=%llu", (unsigned long long)l.others);
	p.capacity = l.keys;
	p.options = options;
	OK(blm_plan(&plan, &p));
	ck_assert(fabs((double)plan.data_bytes / (double)data_bytes(f) - 1)
		  < (test_full() ? 0.001 : 0.02));
	ck_assert(!test_full()
		  || (double)data_bytes(f) < 1.07 * least_bytes((double)l.keys, (double)l.others));
	blm_close(f);
}
END_TEST

/*
 * On paper: what CRLite's successor takes for as many certificates (6.7 MB, divided by issuer), and
 * more keys than 32 bits count.
 */
START_TEST(large_lists_have_a_size_on_paper)
{
	static const struct { uint64_t keys; const char *others; double most;
	} all[] = {
		{ 1000000, "others=99000000", 1.10 },
		{ 8000000, "others=892000000", 1.10 },
		{ UINT64_C(5000000000), "others=1000000000000", 1.10 },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct blm_params p = BLM_PARAMS(.kind = "exact", .capacity = all[i].keys,
						 .options = all[i].others);
		double least = least_bytes((double)all[i].keys,
					   strtod(strchr(all[i].others, '=') + 1, NULL));
		struct blm_fact fact;
		struct blm_plan plan;

		OK(blm_plan(&plan, &p));
		ck_assert_msg((double)plan.data_bytes <= all[i].most * least,
			      "%zu: %llu bytes, %g at least", i,
			      (unsigned long long)plan.data_bytes, least);
		OK(blm_plan_fact(&p, 3, &fact));
		ck_assert_msg(fabs(fact.value * least / (double)plan.data_bytes - 1) < 1e-4, "%g",
			      fact.value);
		OK(blm_plan_fact(&p, 4, &fact));
		ck_assert_str_eq(fact.name, "classic");
		ck_assert_double_gt(fact.value, 2 * (double)plan.data_bytes);
		FAILS(blm_plan_fact(&p, 5, &fact), -ENOENT);
	}
}
END_TEST

/* ---- The same data ---- */

START_TEST(the_same_lists_give_the_same_data_in_any_build)
{
	const unsigned part = test_scale() < 1 ? 3 : 1;
	const struct lists first = {
		.keys = 30000 / part, .others = 100000 / part, .both = 700, .seed = 4
	};
	struct blm_filter *f = build(first);

	for (int way = 0; way < 4; way++) {
		struct lists l = first;
		struct blm_filter *g;

		l.backwards = way % 2;
		l.twice = way == 3;
		l.threads = way == 0 ? 3 : 1;
		l.memory = way == 1 ? 0 : 64 << 10;
		g = build(l);
		ck_assert_uint_eq(data_bytes(g), data_bytes(f));
		ck_assert(!memcmp(current_view(g)->part[0].bytes, current_view(f)->part[0].bytes,
				  data_bytes(f)));
		blm_close(g);
	}
	blm_close(f);
}
END_TEST

/* ---- The keys and the others that pass, in order ---- */

static struct blm_hash row[3][5000];		/* keys, others, both together */

static int read_row(const struct blm_sorted *s, uint64_t from, struct blm_hash *ret,
		    uint64_t *ret_values, size_t count)
{
	const struct blm_hash *all = s->threads == 1 ? row[0] : row[1];

	ck_assert_uint_le(from + count, s->count);
	memcpy(ret, all + from, count * sizeof(*ret));
	return 0;
}

START_TEST(any_range_of_both_lists_is_read_in_order_once)
{
	for (uint64_t step = 1; step < 40; step += 6) {
		struct blm_sorted keys = { .threads = 1, .read = read_row },
				  others = { .threads = 2, .read = read_row };
		uint64_t all = 0, passing = 0;
		struct sieve s;

		/* runs of keys and of others of different lengths, and some that are both */
		for (uint64_t i = 0; i < 4000; i++) {
			struct blm_hash h = { .hi = i / 3, .lo = i };
			bool other = i / step % 3 == 1, both = i % 50 == 7;

			if (!other || both)
				row[0][keys.count++] = h;
			if (other || both)
				row[1][others.count++] = h;
			row[2][all++] = h;
			passing += other && !both;
		}
		OK(blm_sieve_make(&s, &keys, &others, NULL));
		ck_assert_uint_eq(s.merged.count, all);
		ck_assert_uint_eq(sieve_passed(&s), passing);
		ck_assert_uint_eq(s.both, others.count - passing);
		for (uint64_t from = 0; from < all; from += 1 + from % 37) {
			size_t count = all - from < 70 ? (size_t)(all - from) : 70;
			struct blm_hash got[70];
			uint64_t flips[70];

			OK(sorted_read(&s.merged, from, got, flips, count));
			for (size_t i = 0; i < count; i++) {
				uint64_t n = from + i;

				ck_assert_uint_eq(got[i].hi, row[2][n].hi);
				ck_assert_uint_eq(got[i].lo, __builtin_bswap64(row[2][n].lo));
				ck_assert_uint_eq(flips[i], n / step % 3 == 1 && n % 50 != 7);
			}
		}
		blm_sieve_end(&s);
	}
}
END_TEST

/* ---- Updates ---- */

/*
 * The keys and the others as they are then: numbers from `from` on; the kind has them as build()
 * does.
 */
static void update(const struct blm_filter *f, uint64_t from, uint64_t keys, uint64_t others,
		   unsigned threads)
{
	struct blm_build_options how = { .threads = threads,
					 .memory_bytes = threads > 1 ? 64 << 10 : 0 };
	uint64_t number;
	struct blm_key key = { &number, 8 };
	struct blm_update *u;

	OK(blm_update_begin(&u, NULL, f->place.name, NULL, &how));
	for (number = from; number < from + keys; number++)
		OK(blm_update_add_many(u, &key, 1));
	for (number = 0; number < from; number++)	/* they were keys, and are none */
		OK(blm_update_remove_many(u, &key, 1));
	for (number = OTHER; number < OTHER + others; number++)
		OK(blm_update_remove_many(u, &key, 1));
	OK(blm_update_finish(u));
}

START_TEST(an_update_adds_at_most_an_eighth_to_the_rate)
{
	static const double rates[] = { 0, 0.2, 0.1, 0.05, 0.01, 0.001 };

	for (size_t i = 0; i < 4 * ARRAY_LEN(rates); i++) {
		struct lists l = { .keys = i % 4 & 1 ? 20 : 300,
				   .others = i % 4 & 2 ? 100 : 4000,
				   .seed = i,
				   .rate = rates[i / 4] };
		struct blm_filter *f = build(l);
		struct blm_info info = BLM_INFO;
		double before;

		for (uint64_t j = 1; j < 4; j++) {
			const struct blm_part *part = &current_view(f)->part[0];

			before = part->kind->rate_at(&part->shape, part->shape.capacity);
			update(f, 5 * j, l.keys, l.others, 1);
			OK(blm_info(f, &info));
			ck_assert_msg(info.rate > 0 && info.rate <= before * 1.125 * (1 + 1e-9),
				      "%zu: from %g to %g", i, before, info.rate);
		}
		blm_close(f);
	}
}
END_TEST

START_TEST(updates_and_deltas_need_layers_that_end_with_the_data)
{
	struct blm_filter *f = build((struct lists){ .keys = 500, .others = 3000 }),
			  *old = build((struct lists){ .keys = 500, .others = 3000 });
	struct blm_others others = { .list = NULL };
	struct blm_sorted none = { .others = &others };
	struct blm_part part = current_view(f)->part[0];
	uint8_t *bytes = calloc(1, part.shape.bytes + 64), *delta;
	void *made;
	size_t len;

	memcpy(bytes, part.bytes, part.shape.bytes);
	part.bytes = bytes;
	ck_assert(part.kind->intact(&part));
	for (int i = 0; i < 2; i++) {
		struct blm_shape shape = part.shape;

		part.shape.bytes = data_bytes(f) + (i ? 64 : -64);
		FAILS(part.kind->revised(&shape, &part, 500, &none), -EUCLEAN);
		ck_assert_ptr_nonnull(strstr(blm_error_message(), "build it again from its keys"));
		ck_assert_ptr_null(others.work);
	}
	/* an update that is not there; a second level without keys */
	part.shape.bytes = data_bytes(f);
	part.shape.args[EXACT_UPDATES]++;
	ck_assert(!part.kind->intact(&part));
	part.shape.args[EXACT_UPDATES]--;
	((struct exact_head *)bytes)->keys = 0;
	((struct exact_head *)bytes)->bytes[0] = 0;
	((struct exact_head *)bytes)->bytes[1] = htole64(64);
	ck_assert(!part.kind->intact(&part));
	update(f, 50, 500, 3000, 1);
	OK(blm_delta_make(f, old, &made, &len));
	delta = calloc(1, len + 64);
	memcpy(delta, made, len);
	/* 64 bytes more, and all hashes right */
	{
		uint64_t base = data_bytes(old), now = data_bytes(f),
			 added = htole64(now - base + 64), words[2];
		uint8_t *all = calloc(1, now + 64);
		struct blm_hash hash;

		memcpy(all, current_view(f)->part[0].bytes, now);
		hash = blm_xxh3_any(all, now + 64, blm_hash_id(f));
		words[0] = htole64(hash.lo), words[1] = htole64(hash.hi);
		memcpy(delta + 40, words, 16);
		memcpy(delta + 96, &added, 8);
		words[0] = htole64(blm_xxh3_any(delta, 104, 0).lo);
		memcpy(delta + 104, words, 8);
		FAILS(blm_delta_apply(NULL, old->place.name, NULL, delta, len + 64), -EBADMSG);
		free(all);
	}
	ck_assert_int_eq(blm_delta_apply(NULL, old->place.name, NULL, made, len), 1);
	free(bytes), free(delta), blm_free(made);
	blm_close(f), blm_close(old);
}
END_TEST

/* Puts a number into the head of a delta, and the checksum that goes with it. */
static void set_in(uint8_t *delta, size_t at, uint64_t value, size_t bytes)
{
	uint64_t word = htole64(value);

	memcpy(delta + at, &word, bytes);
	word = htole64(blm_xxh3_any(delta, 104, 0).lo);
	memcpy(delta + 104, &word, 8);
}

START_TEST(deltas_with_impossible_numbers_are_refused)
{
	static const struct { size_t at, bytes; uint64_t value; int err;
	} all[] = {
		{ 8, 4, 2, -EPROTONOSUPPORT },			/* version */
		{ 12, 4, 1, -EOPNOTSUPP },			/* kind */
		{ 64, 8, 0, -EBADMSG },				/* rate: 0, 1 */
		{ 64, 8, UINT64_C(0x3ff0000000000000), -EBADMSG },
		{ 56, 8, 0, -EBADMSG },				/* capacity */
		{ 56, 8, UINT64_MAX, -EBADMSG },
		{ 80, 8, UINT64_MAX, -EBADMSG },		/* args */
	};
	struct blm_filter *f = build((struct lists){ .keys = 500, .others = 3000 }),
			  *old = build((struct lists){ .keys = 500, .others = 3000 });
	uint8_t *delta;
	void *made;
	size_t len;

	update(f, 50, 500, 3000, 1);
	OK(blm_delta_make(f, old, &made, &len));
	delta = malloc(len);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		memcpy(delta, made, len);
		set_in(delta, all[i].at, all[i].value, all[i].bytes);
		ck_assert_msg(blm_delta_apply(NULL, old->place.name, NULL, delta, len)
				      == all[i].err,
			      "%zu: %s", i, blm_error_message());
	}
	ck_assert_int_eq(blm_delta_apply(NULL, old->place.name, NULL, made, len), 1);
	free(delta), blm_free(made);
	blm_close(f), blm_close(old);
}
END_TEST

START_TEST(a_delta_without_new_data_changes_the_numbers)
{
	static const struct { size_t at; uint64_t value;
	} all[] = {
		{ 64, UINT64_C(0x3f90000000000000) },		/* rate */
		{ 80, 3001 },					/* how many others */
		{ 72, 499 },					/* keys */
	};
	struct lists l = { .keys = 500, .others = 3000 };
	struct blm_filter *f = build(l), *same = build(l);
	struct blm_info info = BLM_INFO;
	uint8_t *delta;
	size_t len;

	OK(blm_delta_make(f, same, (void **)&delta, &len));
	ck_assert_int_eq(blm_delta_apply(NULL, same->place.name, NULL, delta, len), 0);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		set_in(delta, all[i].at, all[i].value, 8);
		ck_assert_int_eq(blm_delta_apply(NULL, same->place.name, NULL, delta, len), 1);
		ck_assert_int_eq(blm_delta_apply(NULL, same->place.name, NULL, delta, len), 0);
	}
	OK(blm_info(same, &info));
	ck_assert_uint_eq(info.keys, 499);
	ck_assert(info.rate == 0x1p-6);
	blm_free(delta);
	blm_close(f), blm_close(same);
}
END_TEST

static void write_over(const struct blm_filter *f, uint8_t byte)
{
	const struct blm_view *view = current_view(f);
	int fd = open(f->place.name, O_WRONLY);

	ck_assert_int_eq(pwrite(fd, &byte, 1, view->part[0].bytes + 7 - view->image.map), 1);
	close(fd);
}

START_TEST(filters_that_are_no_updates_have_no_delta)
{
	struct lists l = { .keys = 500, .others = 3000, .seed = 1 };
	struct blm_filter *f = build(l), *other;
	void *made;
	size_t len;

	l.seed = 2;
	other = build(l);
	FAILS(blm_delta_make(f, other, &made, &len), -EMEDIUMTYPE);
	blm_close(other);
	l.seed = 1;
	l.keys = 499;
	other = build(l);
	FAILS(blm_delta_make(f, other, &made, &len), -EMEDIUMTYPE);
	OK(blm_delta_make(f, f, &made, &len));
	write_over(other, 0xff);
	FAILS(blm_delta_make(f, other, &made, &len), -EUCLEAN);
	FAILS(blm_delta_apply(NULL, other->place.name, NULL, made, len), -EUCLEAN);
	blm_close(other);
	blm_free(made);
	blm_close(f);
}
END_TEST

START_TEST(an_updated_filter_is_right_about_the_new_lists)
{
	static const struct lists all[] = { { .keys = 5000, .others = 40000, .seed = 1 },
					    { .keys = 300, .others = 100, .seed = 2, .rate = 0.01 },
					    { .keys = 2000, .seed = 3, .rate = 0.001 },
					    { .keys = 1, .others = 1, .seed = 4 } };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct blm_filter *f = build(all[i]), *again = build(all[i]);
		uint64_t bytes = data_bytes(f);

		for (uint64_t step = 1; step <= 5; step++) {
			uint64_t from = step * all[i].keys / 100,
				 others = all[i].others + step * 50;
			struct lists now = { .keys = all[i].keys - from, .others = others };
			struct blm_info info = BLM_INFO;

			/* a hundredth goes, and as many come */
			update(f, from, all[i].keys, others, 1);
			update(again, from, all[i].keys, others, 3);
			ck_assert_uint_eq(found(f, from, all[i].keys), all[i].keys);
			ck_assert_uint_eq(found(f, 0, from), 0);
			ck_assert_uint_eq(found(f, OTHER, now.others), 0);
			OK(blm_info(f, &info));
			ck_assert_uint_eq(info.keys, all[i].keys);
			ck_assert_uint_eq(info.capacity, all[i].keys);
			ck_assert(found(f, STRANGER, 20000)
				  <= info.rate * 20000 + 5 * sqrt(info.rate * 20000) + 1);
			ck_assert_uint_eq(data_bytes(again), data_bytes(f));
			ck_assert(!memcmp(current_view(again)->part[0].bytes,
					  current_view(f)->part[0].bytes, data_bytes(f)));
			OK(blm_verify(NULL, f->place.display, 0, NULL, NULL));
		}
		ck_assert(all[i].keys < 2 || data_bytes(f) > bytes);
		bytes = data_bytes(f);
		/* nothing changes */
		update(f, 5 * all[i].keys / 100, all[i].keys, all[i].others + 250, 1);
		ck_assert_uint_eq(data_bytes(f), bytes);
		blm_close(f), blm_close(again);
	}
}
END_TEST

START_TEST(updates_bring_the_first_keys_and_take_the_last)
{
	struct blm_filter *f = build((struct lists){ .others = 100 });
	struct blm_fact fact;

	update(f, 0, 50, 100, 1);
	ck_assert_uint_eq(found(f, 0, 50), 50);
	ck_assert(current_view(f)->root.kind->describe(&current_view(f)->root, 0, &fact));
	update(f, 50, 0, 100, 1);
	ck_assert_uint_eq(found(f, 0, 50), 0);
	ck_assert_uint_eq(found(f, OTHER, 100), 0);
	blm_close(f);
}
END_TEST

START_TEST(an_update_costs_an_exact_filter_of_the_changed_answers)
{
	const uint64_t keys = test_scale() < 1 ? 25000 : 100000;
	struct lists l = { .keys = keys, .others = 10 * keys, .seed = 5 };
	struct blm_filter *f = build(l);
	uint64_t before = data_bytes(f);
	double changed, least;

	/* a tenth goes, and as many come, but those that were false positives */
	update(f, keys / 10, keys, 10 * keys, 2);
	ck_assert_uint_eq(found(f, keys / 10, keys), keys);
	changed = (double)((const struct exact_head *)(current_view(f)->part[0].bytes + before))
			  ->keys;
	ck_assert(changed > 0.18 * (double)keys && changed <= 0.2 * (double)keys);
	least = least_bytes(changed, 11.1 * (double)keys - changed);
	ck_assert_msg((double)(data_bytes(f) - before) <= 1.3 * least, "%llu bytes, %g at least",
		      (unsigned long long)(data_bytes(f) - before), least);
	blm_close(f);
}
END_TEST

START_TEST(an_update_that_names_only_some_keys_is_refused)
{
	struct lists l = { .keys = 1000, .others = 3000 };
	struct blm_filter *f = build(l), *one;
	struct blm_key key = { "new", 3 };
	struct blm_update *u;

	OK(blm_update_begin(&u, NULL, f->place.name, NULL, NULL));
	OK(blm_update_add_many(u, &key, 1));
	FAILS(blm_update_finish(u), -EINVAL);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "are on neither list"));
	is_right(f, &l);
	one = build((struct lists){ .keys = 1, .others = 100 });
	OK(blm_update_begin(&u, NULL, one->place.name, NULL, NULL));
	OK(blm_update_remove_many(u, &(struct blm_key){ &(uint64_t){ OTHER }, 8 }, 1));
	FAILS(blm_update_finish(u), -EINVAL);
	blm_close(one);
	for (int i = 0; i < EXACT_UPDATES_MAX; i++)
		update(f, i % 2 ? 0 : 100, i % 2 ? 1100 : 1000, 3000, 1);
	OK(blm_update_begin(&u, NULL, f->place.name, NULL, NULL));
	for (uint64_t i = 0; i < 1100; i++)
		OK(blm_update_add_many(u, &(struct blm_key){ &i, 8 }, 1));
	FAILS(blm_update_finish(u), -EMLINK);
	ck_assert_ptr_nonnull(strstr(blm_error_message(), "build it again from its keys"));
	ck_assert_uint_eq(found(f, 100, 1000), 1000);
	blm_close(f);
}
END_TEST

/* ---- What is refused ---- */

START_TEST(impossible_parameters_are_refused_with_words)
{
	static const struct { struct blm_params p; int err;
	} none[] = {
		{ BLM_PARAMS(.kind = "exact", .capacity = 10, .rate = 1e-12), -EFBIG },
		{ BLM_PARAMS(.kind = "exact", .cells = 1000), -EINVAL },
		{ BLM_PARAMS(.kind = "exact", .capacity = 10, .probes = 3), -EINVAL },
		{ BLM_PARAMS(.kind = "exact", .capacity = 10, .options = "others=-1"), -EINVAL },
		{ BLM_PARAMS(.kind = "exact", .capacity = BLM_CAPACITY_MAX,
			     .options = "others=100000000000000", .rate = 1e-9),
		  -EFBIG },
	};
	struct blm_key key = { "a", 1 };
	struct blm_plan plan;
	struct blm_build *b;

	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		FAILS(blm_plan(&plan, &none[i].p), none[i].err);
	for (int i = 0; i < 2; i++) {
		OK(blm_build_begin(&b, NULL, a_path(),
				   &BLM_PARAMS(.kind = i ? "ribbon" : "blocked", .capacity = 10),
				   NULL));
		FAILS(blm_build_exclude_many(b, &key, 1), -EOPNOTSUPP);
		ck_assert_ptr_nonnull(strstr(blm_error_message(), "exact"));
		blm_build_cancel(b);
	}
	OK(blm_build_begin(&b, NULL, a_path(), &BLM_PARAMS(.kind = "exact"), NULL));
	OK(blm_build_exclude_many(b, &key, 1));
	blm_build_cancel(b);
}
END_TEST

/* ---- Damage ---- */

/* As before a batch of keys whose pages are on the disk. */
static void ask_ahead(const struct blm_part *part)
{
	for (uint64_t i = 0; i < 20; i++) {
		const struct blm_hashed key = { .hash = { mixed(i), mixed(i + 20) } };
		uint64_t mask, number = 0;

		part->kind->prefetch(part, &key);
		while (number < 100 && part->kind->probe(part, &key, (unsigned)number, &mask))
			number++;
	}
}

START_TEST(damaged_levels_never_cause_reads_outside_their_data)
{
	static const struct lists all[] = { { .keys = 3000, .others = 30000 },
					    { .keys = 100, .others = 100 },
					    { .keys = 9000, .others = 9, .rate = 0.1 },
					    { .others = 10 } };

	for (size_t s = 0; s < ARRAY_LEN(all); s++) {
		struct blm_filter *f = build(all[s]);
		struct blm_part *part;
		uint64_t state = s;
		size_t bytes, rounded;
		uint8_t *good, *map, *at;

		if (s < 2)
			update(f, 50, all[s].keys, all[s].others, 1);
		found(f, 0, 1);		/* the new file is seen */
		part = &current_view(f)->root;
		bytes = part->shape.bytes;
		rounded = (bytes + 4095) / 4096 * 4096;
		good = part->bytes;
		map = mmap(NULL, rounded + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		at = map + 4096 + rounded - bytes;
		ck_assert_ptr_ne(map, MAP_FAILED);
		ck_assert_int_eq(mprotect(map + 4096, rounded, PROT_READ | PROT_WRITE), 0);
		part->bytes = at;
		for (int round = 0; round < (int)(4000 * test_scale()); round++) {
			size_t most = round % 2 && bytes > 96 ? 96 : bytes;

			memcpy(at, good, bytes);
			for (uint64_t i = next_random(&state) % 6; i-- > 0;)
				at[next_random(&state) % most] = (uint8_t)next_random(&state);
			if (round % 3 == 0)
				memcpy(at + 8 * (next_random(&state) % 8),
				       &(uint64_t){ round % 2 ? UINT64_MAX
							      : UINT64_C(1) << next_random(&state)
										       % 64 },
				       8);
			found(f, 0, 100);
			for (uint64_t i = 0; i < 20; i++)
				blm_contains(f, &i, 8);
			ask_ahead(part);
			for (unsigned i = 0; i < 7; i++)
				part->kind->describe(part, i, &(struct blm_fact){ 0 });
		}
		part->bytes = good;
		munmap(map, rounded + 8192);
		blm_close(f);
	}
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("exact");
	TCase *tc = tcase_create("exact");

	tcase_set_timeout(tc, TOO_LONG);
	tcase_add_test(tc, no_answer_about_either_list_is_wrong);
	tcase_add_test(tc, lists_of_several_shards_are_right_too);
	tcase_add_test(tc, a_key_on_both_lists_is_in_the_filter);
	tcase_add_test(tc, keys_on_neither_list_are_wrong_at_the_stated_rate);
	tcase_add_test(tc, it_takes_1_1_times_the_bits_of_the_bound);
	tcase_add_test(tc, a_million_of_a_hundred_million_keys_meet_the_size);
	tcase_add_test(tc, large_lists_have_a_size_on_paper);
	tcase_add_test(tc,
		       the_same_lists_give_the_same_data_in_any_build);
	tcase_add_test(tc, any_range_of_both_lists_is_read_in_order_once);
	tcase_add_test(tc, an_update_adds_at_most_an_eighth_to_the_rate);
	tcase_add_test(tc, updates_and_deltas_need_layers_that_end_with_the_data);
	tcase_add_test(tc, deltas_with_impossible_numbers_are_refused);
	tcase_add_test(tc, a_delta_without_new_data_changes_the_numbers);
	tcase_add_test(tc, filters_that_are_no_updates_have_no_delta);
	tcase_add_test(tc, an_updated_filter_is_right_about_the_new_lists);
	tcase_add_test(tc, updates_bring_the_first_keys_and_take_the_last);
	tcase_add_test(tc, an_update_costs_an_exact_filter_of_the_changed_answers);
	tcase_add_test(tc, an_update_that_names_only_some_keys_is_refused);
	tcase_add_test(tc, impossible_parameters_are_refused_with_words);
	tcase_add_test(tc, damaged_levels_never_cause_reads_outside_their_data);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
