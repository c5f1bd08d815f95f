/* filters.c - a filter to measure, and the library's calls on it */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Works ---- */

static int64_t contains(struct subject *s)
{
	int64_t yes = 0;

	for (size_t i = 0; i < s->keys.count; i++)
		yes += blm_contains(s->f, s->keys.key[i].bytes, s->keys.key[i].len);
	return yes;
}

static int64_t contains_many(struct subject *s)
{
	return blm_contains_many(s->f, s->keys.key, s->keys.count, NULL);
}

static int64_t contains_hashes(struct subject *s)
{
	return blm_contains_hashes(s->f, blm_hash_id(s->f), s->keys.hash, s->keys.count, NULL);
}

static int64_t add(struct subject *s)
{
	int64_t yes = 0;

	for (size_t i = 0; i < s->keys.count; i++) {
		int r = blm_add(s->f, s->keys.key[i].bytes, s->keys.key[i].len);

		if (r < 0)
			return r;
		yes += r;
	}
	return yes;
}

static int64_t add_many(struct subject *s)
{
	return blm_add_many(s->f, s->keys.key, s->keys.count, NULL);
}

static int64_t claim_many(struct subject *s)
{
	return blm_claim_many(s->f, s->keys.key, s->keys.count, NULL);
}

const struct work works[] = {
	{ .name = "blm_contains",        .which = ABSENT,  .run = contains },
	{ .name = "blm_contains",        .which = PRESENT, .run = contains },
	{ .name = "blm_contains_many",   .which = ABSENT,  .run = contains_many },
	{ .name = "blm_contains_many",   .which = PRESENT, .run = contains_many },
	{ .name = "blm_contains_hashes", .which = ABSENT,  .run = contains_hashes, .hashed = true },
	{ .name = "blm_contains_hashes", .which = PRESENT, .run = contains_hashes, .hashed = true },
	{ .name = "blm_add",             .which = FRESH,   .run = add,        .changes = true },
	{ .name = "blm_add_many",        .which = FRESH,   .run = add_many,   .changes = true },
	{ .name = "blm_add_many",        .which = PRESENT, .run = add_many,   .changes = true },
	{ .name = "blm_claim_many",      .which = FRESH,   .run = claim_many, .changes = true },
};
const size_t work_count = ARRAY_LEN(works);

/* ---- Subjects ---- */

/* Add keys until what the rounds will add is all that is missing. */
static int fill(struct subject *s, uint64_t keys)
{
	while (s->added < keys) {
		size_t count = keys - s->added < s->batch ? keys - s->added : s->batch;
		int64_t r;

		keys_from(&s->keys, count, s->added);
		r = stopped() ? -EINTR : blm_add_many(s->f, s->keys.key, count, NULL);
		if (r < 0)
			return (int)r;
		s->added += count;
	}
	return 0;
}

static uint64_t added_by_rounds(const struct options *options)
{
	uint64_t works_that_add = 0;

	for (size_t i = 0; i < work_count; i++)
		works_that_add += works[i].which == FRESH;
	return works_that_add * options->rounds * options->batch;
}

static int open_new(struct subject *s, const struct options *options)
{
	struct blm_params params = { .kind = s->kind, .capacity = options->keys, .rate = options->rate };
	int r = blm_create(&s->f, NULL, s->path, &params);

	if (r == 0)
		r = blm_info(s->f, &s->info);
	if (r == 0)
		r = fill(s, options->keys - added_by_rounds(options));
	return r;
}

/* On failure too, give it to subject_remove(). */
int subject_make(struct subject *ret, const char *kind, const struct options *options)
{
	int r;

	*ret = (struct subject){ .kind = kind, .batch = options->batch };
	if (keys_make(&ret->keys, ret->batch) < 0 || asprintf(&ret->path, "%s/%s.blm", options->dir, kind) < 0) {
		fprintf(stderr, "bench: out of memory\n");
		return -ENOMEM;
	}
	r = open_new(ret, options);
	if (r < 0) {
		fprintf(stderr, "bench: %s\n", r == -EINTR ? "stopped" : blm_why());
		return r;
	}
	r = mapping_make(&ret->mapping, ret->path, ret->info.bytes, ret->info.data_bytes);
	if (r < 0)
		fprintf(stderr, "bench: cannot map %s: %s\n", ret->path, strerror(-r));
	return r;
}

/* False positives of the full filter: between half and twice as many as predicted, give or take ten. */
static int check_rate(struct subject *s)
{
	enum { BATCHES = 8 };
	double predicted = s->info.rate_at_capacity, count = (double)(BATCHES * s->batch);
	int64_t yes = 0;

	for (int i = 0; i < BATCHES; i++) {
		keys_from(&s->keys, s->batch, (UINT64_C(1) << 63) + s->asked);
		s->asked += s->batch;
		yes += contains_many(s);
	}
	s->measured_rate = (double)yes / count;
	if ((double)yes <= 2 * predicted * count + 10 && (double)yes >= predicted * count / 2 - 10)
		return 0;
	fprintf(stderr, "bench: %s: false positives %.3g, predicted %.3g\n", s->kind, s->measured_rate, predicted);
	return -EUCLEAN;
}

/* Every key that was added is found. */
static int check_keys(struct subject *s)
{
	uint64_t found = 0;

	for (uint64_t at = 0; at < s->added; at += s->keys.count) {
		keys_from(&s->keys, s->added - at < s->batch ? s->added - at : s->batch, at);
		found += (uint64_t)contains_many(s);
	}
	if (found == s->added)
		return 0;
	fprintf(stderr, "bench: %s: %llu of %llu keys are missing\n", s->kind, (unsigned long long)(s->added - found),
		(unsigned long long)s->added);
	return -EUCLEAN;
}

int subject_check(struct subject *s)
{
	int r = check_rate(s);

	s->resident = mapping_resident(s->path);
	return r < 0 ? r : check_keys(s);
}

void subject_remove(struct subject *s)
{
	mapping_free(&s->mapping);
	s->f = blm_close(s->f);
	keys_free(&s->keys);
	if (s->path)
		unlink(s->path);
	free(s->path);
}
