/* sort.c - all keys of a filter, as hashes, from any number of threads, put into order */
#include "sort/sort.h"

#include <stdio.h>
#include <sys/mman.h>

enum { READ_AT_ONCE = 512 };

static size_t record_bytes(const struct blm_sort *s)
{
	return s->words * sizeof(uint64_t);
}

/* ---- Progress ---- */

/* A thread that cannot report at once leaves it to the next one: no thread waits for a message. */
static void count_done(struct blm_sort *s, uint64_t count)
{
	uint64_t done = __atomic_add_fetch(&s->done, count, __ATOMIC_RELAXED);

	if (!s->progress.tell || pthread_mutex_trylock(&s->telling))
		return;
	s->progress.tell(s->progress.context, s->phase, done < s->total ? done : s->total,
			 s->total);
	pthread_mutex_unlock(&s->telling);
}

static void sorted_done(const struct blm_sorted *keys, uint64_t count)
{
	count_done((struct blm_sort *)keys, count);	/* its first member */
}

static void begin_phase(struct blm_sort *s, const char *phase, uint64_t total)
{
	pthread_mutex_lock(&s->telling);
	s->phase = phase;
	s->total = total;
	s->done = 0;
	pthread_mutex_unlock(&s->telling);
	count_done(s, 0);	/* a caller that shows the speed begins to count the time */
}

static void begin_merge(void *context, uint64_t total)
{
	begin_phase(context, "merging", total);
}

static void merged_more(void *context, uint64_t count)
{
	count_done(context, count);
}

void blm_sort_phase(struct blm_sort *s, const char *phase)
{
	begin_phase(s, phase, s->sorted.count);
}

/* ---- Gathering ---- */

/*
 * As much as requested, or, if the system has less, half of it, and so on: the rest goes to the
 * file.
 */
static bool map_records(struct blm_sort *s)
{
	void *map;

	do {
		s->capacity = (size_t)s->sorted.memory_bytes / record_bytes(s);
		map = mmap(NULL, s->capacity * record_bytes(s), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (map != MAP_FAILED) {
			madvise(map, s->capacity * record_bytes(s), MADV_HUGEPAGE);	/* a hint */
			s->records = map;
			return true;
		}
		s->sorted.memory_bytes /= 2;
	} while (s->sorted.memory_bytes >= BLM_RUNS_MEMORY);
	return false;
}

int blm_sort_begin(struct blm_sort *ret, const struct blm_place *place,
		   const struct blm_sort_options *o)
{
	struct blm_sort s = { .place = place, .progress = o->progress, .words = o->values ? 3 : 2,
			      .keep_all = o->keep_all, .phase = "sorting" };

	s.sorted = (struct blm_sorted){ .threads = o->threads, .has_values = o->values };
	s.sorted.memory_bytes = o->memory_bytes ? o->memory_bytes : BLM_SORT_MEMORY;
	if (s.sorted.memory_bytes < BLM_RUNS_MEMORY)
		s.sorted.memory_bytes = BLM_RUNS_MEMORY;
	if (!map_records(&s))
		return blm_fail(-ENOMEM, "%s: no memory to sort its keys in", place->display);
	pthread_mutex_init(&s.mutex, NULL);
	pthread_mutex_init(&s.telling, NULL);
	pthread_cond_init(&s.changed, NULL);
	*ret = s;
	return 0;
}

static void free_records(struct blm_sort *s)
{
	if (s->records)
		munmap(s->records, s->capacity * record_bytes(s));
	s->records = NULL;
}

void blm_sort_end(struct blm_sort *s)
{
	free_records(s);
	if (s->has_runs)
		blm_runs_end(&s->runs);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->telling);
	pthread_mutex_destroy(&s->mutex);
}

static int two_values(const struct blm_sort *s)
{
	return blm_fail(-ENOTUNIQ, "%s: %s", s->place->display, strdupa(blm_error_message()));
}

/* Put the records into order, each key once. No other thread is at work. */
static int order(struct blm_sort *s)
{
	int64_t left;

	blm_records_sort(s->records, s->used, s->words, s->sorted.threads);
	if (s->keep_all)
		return 0;
	left = blm_records_unite(s->records, s->used, s->words);
	if (left < 0)
		return two_values(s);
	s->used = (size_t)left;
	return 0;
}

/* For an order without any records. */
static struct blm_memory free_memory(const struct blm_sort *s)
{
	return (struct blm_memory){ s->records, s->capacity * record_bytes(s) };
}

static int empty(struct blm_sort *s)
{
	struct blm_memory memory = free_memory(s);
	int r = order(s);

	if (r < 0)
		return r;
	if (!s->has_runs) {
		r = blm_runs_begin(&s->runs, s->place, s->words, s->keep_all);
		s->has_runs = r == 0;
	}
	if (r == 0)
		r = blm_runs_append(&s->runs, s->records, s->used);
	s->used = 0;
	if (r == 0)
		r = blm_runs_keep_few(&s->runs, &memory);
	return r == -ENOTUNIQ ? two_values(s) : r;
}

/* With the mutex, which is released meanwhile: the others wait until it is empty. */
static void make_space(struct blm_sort *s)
{
	int r;

	s->emptying = true;
	while (s->writers)
		pthread_cond_wait(&s->changed, &s->mutex);
	pthread_mutex_unlock(&s->mutex);
	r = empty(s);
	pthread_mutex_lock(&s->mutex);
	if (r < 0) {
		s->failed = r;
		snprintf(s->reason, sizeof(s->reason), "%s", blm_error_message());
	}
	s->emptying = false;
	pthread_cond_broadcast(&s->changed);
}

/* Places for `count` records that are this thread's to write, or fewer; 0: it failed. */
static size_t take(struct blm_sort *s, size_t count, uint64_t **ret)
{
	size_t taken = 0;

	pthread_mutex_lock(&s->mutex);
	while (!s->failed && (s->emptying || s->used == s->capacity)) {
		if (s->emptying)
			pthread_cond_wait(&s->changed, &s->mutex);
		else
			make_space(s);
	}
	if (!s->failed) {
		taken = s->capacity - s->used < count ? s->capacity - s->used : count;
		*ret = &s->records[s->used * s->words];
		s->used += taken;
		s->writers++;
	}
	pthread_mutex_unlock(&s->mutex);
	return taken;
}

static void leave(struct blm_sort *s)
{
	pthread_mutex_lock(&s->mutex);
	if (--s->writers == 0 && s->emptying)
		pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->mutex);
}

int blm_sort_add(struct blm_sort *s, const struct blm_hash *hashes, const uint64_t *values,
		 size_t count)
{
	while (count) {
		uint64_t *to;
		size_t taken = take(s, count, &to);

		if (!taken)
			return blm_fail(s->failed, "%s", s->reason);
		for (size_t i = 0; i < taken; i++) {
			to[i * s->words] = hashes[i].lo;
			to[i * s->words + 1] = hashes[i].hi;
			if (values)
				to[i * s->words + 2] = values[i];
		}
		leave(s);
		hashes += taken;
		values = values ? values + taken : NULL;
		count -= taken;
	}
	return 0;
}

/* ---- Reading ---- */

static void take_apart(const uint64_t *records, unsigned words, struct blm_hash *ret,
		       uint64_t *ret_values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		ret[i] = (struct blm_hash){ .lo = records[i * words],
					    .hi = records[i * words + 1] };
		if (ret_values)
			ret_values[i] = records[i * words + 2];
	}
}

static int read_memory(const struct blm_sorted *keys, uint64_t from, struct blm_hash *ret,
		       uint64_t *ret_values, size_t count)
{
	const struct blm_sort *s = (const struct blm_sort *)keys;

	take_apart(&s->records[from * s->words], s->words, ret, ret_values, count);
	return 0;
}

static int read_runs(const struct blm_sorted *keys, uint64_t from, struct blm_hash *ret,
		     uint64_t *ret_values, size_t count)
{
	const struct blm_sort *s = (const struct blm_sort *)keys;
	uint64_t records[READ_AT_ONCE * BLM_RECORD_WORDS];
	int r = 0;

	static_assert(offsetof(struct blm_hash, hi) == 8 && sizeof(struct blm_hash) == 16,
		      "a record without a value is a hash");
	if (s->words == 2)
		return blm_runs_read(&s->runs, from, (uint64_t *)ret, count);
	for (size_t at = 0; r == 0 && at < count; at += READ_AT_ONCE) {
		size_t some = count - at < READ_AT_ONCE ? count - at : READ_AT_ONCE;

		r = blm_runs_read(&s->runs, from + at, records, some);
		if (r == 0)
			take_apart(records, s->words, ret + at, ret_values ? ret_values + at : NULL,
				   some);
	}
	return r;
}

/* The memory that is not used is the kind's. */
static void keep_in_memory(struct blm_sort *s)
{
	uint64_t bytes = s->used * record_bytes(s);

	s->sorted.count = s->used;
	s->sorted.read = read_memory;
	s->sorted.memory_bytes -= bytes;
}

static int merge(struct blm_sort *s)
{
	struct blm_memory memory = free_memory(s);
	int r = blm_runs_merge(&s->runs, &memory,
			       &(struct blm_runs_progress){ begin_merge, merged_more, s });

	free_records(s);
	if (r == -ENOTUNIQ)
		return two_values(s);
	s->sorted.count = s->runs.run[0].count;
	s->sorted.read = read_runs;
	return r;
}

int blm_sort_finish(struct blm_sort *s)
{
	int r = s->failed;

	if (r < 0)
		return blm_fail(r, "%s", s->reason);
	begin_phase(s, "sorting", s->used);
	if (s->has_runs)
		r = empty(s);
	else
		r = order(s);
	if (r == 0 && s->has_runs)
		r = merge(s);
	else if (r == 0)
		keep_in_memory(s);
	s->sorted.done = sorted_done;
	return r;
}
