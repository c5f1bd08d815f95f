/* exact_sieve.c - the others that the first level lets through, and they and the keys in order */
#include "kind/exact_sieve.h"
#include "base/thread.h"

#include <stdio.h>

enum { AT_ONCE = 512 };

/* ---- Hashes that are read one after the other ---- */

struct cursor {
	const struct blm_sorted *of;
	uint64_t at;			/* the number of the next one */
	uint64_t from;			/* the number of the first one in memory */
	size_t held;
	struct blm_hash hash[AT_ONCE];
};

static void begin_at(struct cursor *c, const struct blm_sorted *of, uint64_t at)
{
	c->of = of;
	c->at = c->from = at;
	c->held = 0;
}

/* The next one, without advancing; *ret NULL: there is none. */
static int peek(struct cursor *c, const struct blm_hash **ret)
{
	int r = 0;

	*ret = NULL;
	if (c->at >= c->of->count)
		return 0;
	if (c->at - c->from >= c->held) {
		c->from = c->at;
		c->held = c->of->count - c->at < AT_ONCE ? (size_t)(c->of->count - c->at) : AT_ONCE;
		r = sorted_read(c->of, c->from, c->hash, NULL, c->held);
	}
	if (r == 0)
		*ret = &c->hash[c->at - c->from];
	return r;
}

static bool before(const struct blm_hash *a, const struct blm_hash *b)
{
	return a->hi != b->hi ? a->hi < b->hi : a->lo < b->lo;
}

/* The number of the first that is not before the hash, of those from `low` to `high`. */
static int first_from(const struct blm_sorted *of, const struct blm_hash *hash, uint64_t low,
		      uint64_t high, uint64_t *ret)
{
	int r = 0;

	while (r == 0 && low < high) {
		uint64_t middle = low + (high - low) / 2;
		struct blm_hash there;

		r = sorted_read(of, middle, &there, NULL, 1);
		if (r == 0 && before(&there, hash))
			low = middle + 1;
		else
			high = middle;
	}
	*ret = low;
	return r;
}

/* ---- Sieving ---- */

/* A thread, and the blocks that it does. */
struct worker {
	pthread_t thread;
	struct sieve *sieve;
	const struct blm_part *level;
	uint64_t from, to, both;
	struct cursor keys;		/* these are walked along, in the order of the others */
	struct blm_hash hash[SIEVE_BLOCK];
	int failed;
	char reason[512];
};

static size_t block_count(const struct sieve *s, uint64_t block)
{
	uint64_t left = s->others->count - block * SIEVE_BLOCK;

	return left < SIEVE_BLOCK ? (size_t)left : SIEVE_BLOCK;
}

static void ask_level(const struct worker *w, size_t count, uint64_t *ret_bits)
{
	for (size_t at = 0; at < count; at += BLM_BATCH) {
		struct blm_batch batch = { .hashes = w->hash + at };

		batch.count = count - at < BLM_BATCH ? count - at : BLM_BATCH;
		if (w->level)
			w->level->kind->contains_many(w->level, &batch, ret_bits + at / 64);
		for (size_t i = 0; i < batch.count && !w->level; i++)
			ret_bits[(at + i) / 64] |= UINT64_C(1) << i % 64;
	}
}

/* Clears the bit of one that is a key. */
static int drop_key(struct worker *w, size_t i, uint64_t *bits)
{
	const struct blm_hash *key;
	int r;

	while ((r = peek(&w->keys, &key)) == 0 && key && before(key, &w->hash[i]))
		w->keys.at++;
	if (r == 0 && key && !before(&w->hash[i], key)) {
		bits[i / 64] &= ~(UINT64_C(1) << i % 64);
		w->both++;
	}
	return r;
}

static int sieve_block(struct worker *w, uint64_t block)
{
	struct sieve *s = w->sieve;
	uint64_t *bits = s->passes + block * SIEVE_WORDS, passed = 0, low = w->keys.at;
	size_t count = block_count(s, block);
	int r = sorted_read(s->others, block * SIEVE_BLOCK, w->hash, NULL, count);

	if (r == 0)
		r = first_from(s->keys, &w->hash[0], low, s->keys->count, &s->block[block].keys);
	if (r < 0)
		return r;
	ask_level(w, count, bits);
	if (s->block[block].keys - w->keys.from >= w->keys.held)
		begin_at(&w->keys, s->keys, s->block[block].keys);
	for (size_t word = 0; word < (count + 63) / 64; word++) {
		for (uint64_t left = bits[word]; left && r == 0; left &= left - 1)
			r = drop_key(w, 64 * word + (size_t)__builtin_ctzll(left), bits);
		passed += (uint64_t)__builtin_popcountll(bits[word]);
	}
	s->block[block].passed = passed;
	return r;
}

static void *run(void *context)
{
	struct worker *w = context;
	int r = 0;

	begin_at(&w->keys, w->sieve->keys, 0);
	for (uint64_t b = w->from; r == 0 && b < w->to; b++)
		r = sieve_block(w, b);
	w->failed = r;
	if (r < 0)
		snprintf(w->reason, sizeof(w->reason), "%s", blm_error_message());
	return NULL;
}

/* The caller works too, and does the work of helpers that could not be started. */
static int work_together(struct sieve *s, const struct blm_part *level, unsigned threads)
{
	struct worker *w = calloc(threads, sizeof(*w));
	bool *started = calloc(threads, sizeof(*started));
	int r = 0;

	if (!w || !started) {
		free(started);
		free(w);
		return blm_fail(-ENOMEM, "no memory to ask the others in");
	}
	for (unsigned i = threads; i-- > 0;) {
		w[i].sieve = s;
		w[i].level = level;
		w[i].from = (uint64_t)((unsigned __int128)s->blocks * i / threads);
		w[i].to = (uint64_t)((unsigned __int128)s->blocks * (i + 1) / threads);
		started[i] = i && blm_thread_start(&w[i].thread, run, &w[i]) == 0;
		if (!started[i])
			run(&w[i]);
	}
	for (unsigned i = 0; i < threads; i++) {
		if (started[i])
			pthread_join(w[i].thread, NULL);
		if (w[i].failed < 0 && r == 0)
			r = blm_fail(w[i].failed, "%s", w[i].reason);
		s->both += w[i].both;
	}
	free(started);
	free(w);
	return r;
}

static void sum_up(struct sieve *s)
{
	uint64_t passed = 0;

	for (uint64_t b = 0; b <= s->blocks; b++) {
		uint64_t here = s->block[b].passed;

		s->block[b].passed = passed;
		passed += here;
	}
	s->block[s->blocks].keys = s->keys->count;
}

/* ---- Reading them all in order ---- */

/* The place of the n-th that passes, from 0, among the others of a block. */
static size_t nth_passing(const struct sieve *s, uint64_t block, uint64_t n)
{
	const uint64_t *bits = s->passes + block * SIEVE_WORDS;
	uint64_t word;

	while (n >= (uint64_t)__builtin_popcountll(*bits))
		n -= (uint64_t)__builtin_popcountll(*bits++);
	for (word = *bits; n; n--)
		word &= word - 1;
	return (size_t)(bits - s->passes) * 64 + (size_t)__builtin_ctzll(word);
}

/* How many keys are before the n-th of a block that passes. */
static int keys_before(const struct sieve *s, uint64_t block, uint64_t n, uint64_t *ret)
{
	struct blm_hash hash;
	int r = sorted_read(s->others, nth_passing(s, block, n), &hash, NULL, 1);

	return r < 0 ? r : first_from(s->keys, &hash, s->block[block].keys,
				      s->block[block + 1].keys, ret);
}

/* How many of the others are before the number `from` of them all; the rest of `from` are keys. */
static int others_before(const struct sieve *s, uint64_t from, uint64_t *ret)
{
	uint64_t low = 0, high = s->blocks, few = 0, many;
	int r = 0;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (s->block[middle].keys + s->block[middle].passed <= from)
			low = middle + 1;
		else
			high = middle;
	}
	*ret = 0;
	if (!low)
		return 0;
	low--;				/* the last block that begins at it or before */
	many = s->block[low + 1].passed - s->block[low].passed;
	while (r == 0 && few < many) {
		uint64_t middle = few + (many - few) / 2, keys = 0;

		r = keys_before(s, low, middle, &keys);
		if (keys + s->block[low].passed + middle < from)
			few = middle + 1;
		else
			many = middle;
	}
	*ret = s->block[low].passed + few;
	return r;
}

/* The place of the n-th of all others that passes, or the end. */
static uint64_t find_passing(const struct sieve *s, uint64_t n)
{
	uint64_t low = 0, high = s->blocks;

	if (n >= sieve_passed(s))
		return s->others->count;
	while (low + 1 < high) {
		uint64_t middle = low + (high - low) / 2;

		if (s->block[middle].passed <= n)
			low = middle;
		else
			high = middle;
	}
	return nth_passing(s, low, n - s->block[low].passed);
}

/* The first that passes from this place on, or the end. */
static uint64_t next_passing(const struct sieve *s, uint64_t at)
{
	uint64_t end = s->others->count, word = at / 64, bits;

	if (at >= end)
		return end;
	bits = s->passes[word] & UINT64_MAX << at % 64;
	while (!bits && ++word < (end + 63) / 64)
		bits = s->passes[word];
	return bits ? word * 64 + (uint64_t)__builtin_ctzll(bits) : end;
}

static int read_merged(const struct blm_sorted *merged, uint64_t from, struct blm_hash *ret,
		       uint64_t *ret_values, size_t count)
{
	const struct sieve *s = (const struct sieve *)merged;	/* its first member */
	const struct blm_hash *key = NULL, *other = NULL;
	struct cursor keys, others;
	uint64_t passed = 0;
	int r = others_before(s, from, &passed);

	begin_at(&keys, s->keys, from - passed);
	begin_at(&others, s->others, find_passing(s, passed));
	for (size_t i = 0; r == 0 && i < count; i++) {
		bool is_other;

		r = peek(&keys, &key);
		if (r == 0)
			r = peek(&others, &other);
		if (r < 0)
			break;
		is_other = other && (!key || before(other, key));
		ret[i] = is_other ? *other : *key;
		if (!s->plain)
			ret[i] = exact_second(ret[i]);
		if (ret_values)
			ret_values[i] = is_other;
		if (is_other)
			others.at = next_passing(s, others.at + 1);
		else
			keys.at++;
	}
	return r;
}

int blm_sieve_make(struct sieve *ret, const struct blm_sorted *keys,
		   const struct blm_sorted *others, const struct blm_part *level)
{
	uint64_t blocks = (others->count + SIEVE_BLOCK - 1) / SIEVE_BLOCK;
	unsigned threads = keys->threads < blocks ? keys->threads : (unsigned)blocks;
	int r;

	*ret = (struct sieve){ .keys = keys, .others = others, .blocks = blocks };
	ret->passes = calloc(blocks * SIEVE_WORDS + 1, sizeof(*ret->passes));
	ret->block = calloc(blocks + 1, sizeof(*ret->block));
	if (!ret->passes || !ret->block)
		return blm_fail(-ENOMEM, "no memory for a bit for each of %llu others",
				(unsigned long long)others->count);
	r = threads ? work_together(ret, level, threads) : 0;
	if (r < 0)
		return r;
	sum_up(ret);
	ret->merged = (struct blm_sorted){ .count = keys->count + sieve_passed(ret),
					   .threads = keys->threads, .has_values = true,
					   .memory_bytes = keys->memory_bytes,
					   .read = read_merged };
	return 0;
}

void blm_sieve_end(struct sieve *s)
{
	free(s->passes);
	free(s->block);
	*s = (struct sieve){ .passes = NULL };
}
