/*
 * shards.c - data in shards: their sizes from the sorted keys, and threads that make one after the
 * other
 */
#include "kind/common/shards.h"
#include "base/thread.h"

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>

enum { MOST_THREADS = 1024 };

/* ---- Sizes ---- */

static uint64_t bytes_for(const struct blm_shape *shape, const struct blm_shard_maker *maker,
			  uint64_t keys)
{
	return keys ? round_up(maker->bytes(shape, keys), BLM_SHARD_ALIGN) : 0;
}

uint64_t blm_shards_bytes(const struct blm_shape *shape, const struct blm_shard_maker *maker)
{
	uint64_t shards = shards_of(shape), each = shape->capacity / shards,
		more = shape->capacity % shards;

	return shard_index_bytes(shape) + (shards - more) * bytes_for(shape, maker, each) + more
		* bytes_for(shape, maker, each + 1);
}

bool blm_shards_valid(const struct blm_shape *shape)
{
	return shape->capacity >= 1 && shape->capacity <= BLM_CAPACITY_MAX
		&& shape->bytes >= shard_index_bytes(shape)
	    && shape->bytes <= BLM_CELLS_MAX * 2 && shape->bytes % BLM_SHARD_ALIGN == 0;
}

/* ---- Where shards begin, among the keys ---- */

/* Look at one key: the first key of the shard is then known to be in a narrower range. */
static int narrow(const struct blm_shape *shape, const struct blm_sorted *keys, uint64_t shard,
		  uint64_t at, uint64_t *low, uint64_t *high)
{
	struct blm_hash hash;
	uint64_t rest;
	int r = sorted_read(keys, at, &hash, NULL, 1);

	if (r == 0 && shard_number(shape, &hash, &rest) >= shard)
		*high = at;
	else if (r == 0)
		*low = at + 1;
	return r;
}

/*
 * The first key of the shard, or of one after it; none is before `low`. Hashes are even, so first
 * it is looked for where it should be.
 */
static int find_first(const struct blm_shape *shape, const struct blm_sorted *keys, uint64_t shard,
		      uint64_t low, uint64_t *ret)
{
	double guess = (double)keys->count * ((double)shard / (double)shards_of(shape)),
		spread = 8 * sqrt((double)keys->count);
	uint64_t high = keys->count, below = guess > spread ? (uint64_t)(guess - spread)
		: 0, above = (uint64_t)(guess + spread);
	int r = 0;

	if (below > low)
		r = narrow(shape, keys, shard, below, &low, &high);
	if (r == 0 && above > low && above < high)
		r = narrow(shape, keys, shard, above, &low, &high);
	while (r == 0 && low < high)
		r = narrow(shape, keys, shard, low + (high - low) / 2, &low, &high);
	*ret = low;
	return r;
}

/* The first key of each shard, and the end; *ret_most: the keys of the largest. To be freed. */
static int find_all(const struct blm_shape *shape, const struct blm_sorted *keys, uint64_t **ret,
		    uint64_t *ret_most)
{
	uint64_t shards = shards_of(shape), *from = malloc((shards + 1) * sizeof(*from));
	int r = 0;

	if (!from)
		return blm_fail(-ENOMEM, "no memory for the places of %llu shards",
				(unsigned long long)shards);
	from[0] = 0;
	*ret_most = 0;
	for (uint64_t s = 1; s <= shards && r == 0; s++) {
		from[s] = keys->count;
		if (s < shards)
			r = find_first(shape, keys, s, from[s - 1], &from[s]);
		if (from[s] - from[s - 1] > *ret_most)
			*ret_most = from[s] - from[s - 1];
	}
	if (r < 0) {
		free(from);
		return r;
	}
	*ret = from;
	return 0;
}

int blm_shards_fit(struct blm_shape *shape, const struct blm_sorted *keys,
		   const struct blm_shard_maker *maker)
{
	uint64_t *from, most, bytes;
	int r;

	shape->capacity = keys->count ? keys->count : 1;
	r = find_all(shape, keys, &from, &most);
	if (r < 0)
		return r;
	bytes = shard_index_bytes(shape);
	for (uint64_t s = 0; s < shards_of(shape); s++)
		bytes += bytes_for(shape, maker, from[s + 1] - from[s]);
	free(from);
	shape->bytes = bytes;
	return blm_shards_valid(shape) ? 0
		: blm_fail(-EFBIG, "%llu keys need %llu bytes of data, more than 2^48",
			   (unsigned long long)keys->count,
						     (unsigned long long)bytes);
}

/* ---- Building ---- */

struct work {
	struct blm_part *part;
	const struct blm_sorted *keys;
	const struct blm_shard_maker *maker;
	const uint64_t *from;
	uint64_t first_byte, end;	/* of the data: those that are written */
	pthread_mutex_t mutex;		/* of what follows */
	uint64_t next, offset;		/* the shard that is to be made next, and where it goes */
	int failed;
	char reason[512];
};

struct worker {
	struct work *work;
	pthread_t thread;
	/* these and the others: as many as the largest shard has keys */
	struct blm_hash *hashes;
	uint64_t *values;
	void *buffer;
};

static void fail(struct work *work, int err)
{
	pthread_mutex_lock(&work->mutex);
	if (!work->failed)
		snprintf(work->reason, sizeof(work->reason), "%s", blm_error_message());
	work->failed = err;
	pthread_mutex_unlock(&work->mutex);
}

/* The number and place of the next shard to make; false: there is none, or none is needed. */
static bool take_shard(struct work *work, uint64_t *ret_number, struct blm_shard_entry *ret)
{
	bool any;

	pthread_mutex_lock(&work->mutex);
	any = !work->failed && work->next < shards_of(&work->part->shape);
	if (any) {
		*ret_number = work->next++;
		ret->bytes = bytes_for(&work->part->shape, work->maker,
				       work->from[*ret_number + 1] - work->from[*ret_number]);
		ret->offset = work->offset;
		work->offset += ret->bytes;
	}
	pthread_mutex_unlock(&work->mutex);
	return any;
}

/* How many bytes from *at up to `to` are written; *at moves to the first of them. */
static uint64_t written(const struct work *work, uint64_t *at, uint64_t to)
{
	if (*at < work->first_byte)
		*at = work->first_byte;
	if (to > work->end)
		to = work->end;
	return to > *at ? to - *at : 0;
}

/* In its place if all of it is written, otherwise in memory of its own, which the caller frees. */
static int begin_shard(const struct work *work, const struct blm_shard_entry *e,
		       struct blm_shard *ret, void **ret_own)
{
	uint64_t at = e->offset;

	*ret = (struct blm_shard){ .words = (uint64_t *)(work->part->bytes + e->offset),
				   .bytes = e->bytes };
	*ret_own = NULL;
	if (written(work, &at, e->offset + e->bytes) == e->bytes)
		return 0;
	*ret_own = aligned_alloc(BLM_SHARD_ALIGN, e->bytes);
	if (!*ret_own)
		return blm_fail(-ENOMEM, "no memory for a shard of %llu bytes",
				(unsigned long long)e->bytes);
	ret->words = memset(*ret_own, 0, e->bytes);
	return 0;
}

static void end_shard(const struct work *work, const struct blm_shard_entry *e,
		      const struct blm_shard *shard, const void *own)
{
	uint64_t at = e->offset, bytes = written(work, &at, e->offset + e->bytes);

	if (!bytes)
		return;
	if (own)
		memcpy(work->part->bytes + at, (const uint8_t *)shard->words + (at - e->offset),
		       bytes);
	mark_range(work->part, work->part->bytes + at, bytes);
}

static void list_shard(const struct work *work, uint64_t number, const struct blm_shard_entry *e,
		       const struct blm_shard *shard)
{
	struct blm_shard_entry *entry = (struct blm_shard_entry *)work->part->bytes + number;

	*entry = (struct blm_shard_entry){
		.offset = htole64(e->offset), .bytes = htole64(e->bytes),
		.own = { htole64(shard->own[0]), htole64(shard->own[1]) },
	};
	mark(work->part, entry);
}

static int make_shard(struct worker *w, uint64_t number, struct blm_shard_entry *e)
{
	struct work *work = w->work;
	uint64_t count = work->from[number + 1] - work->from[number],
		entry_at = number * sizeof(*e), at = e->offset;
	bool listed = written(work, &entry_at, entry_at + sizeof(*e));
	struct blm_shard shard = { .words = NULL };
	void *own = NULL;
	int r = 0;

	if (count && (listed || written(work, &at, e->offset + e->bytes))) {
		r = begin_shard(work, e, &shard, &own);
		if (r == 0)
			r = sorted_read(work->keys, work->from[number], w->hashes, w->values,
					count);
		if (r == 0)
			r = work->maker->make(work->part, &shard, w->hashes, w->values, count,
					      w->buffer);
		if (r == 0)
			end_shard(work, e, &shard, own);
		free(own);
	}
	if (r == 0 && listed)
		list_shard(work, number, e, &shard);
	if (r == 0 && work->keys->done)
		work->keys->done(work->keys, count);
	return r;
}

static void *run(void *context)
{
	struct worker *w = context;
	struct blm_shard_entry entry;
	uint64_t number;

	while (take_shard(w->work, &number, &entry)) {
		int r = make_shard(w, number, &entry);

		if (r < 0)
			fail(w->work, r);
	}
	return NULL;
}

static void free_worker(struct worker *w)
{
	free(w->hashes);
	free(w->values);
	free(w->buffer);
}

static uint64_t need_of(const struct work *work, uint64_t most)
{
	const struct blm_shape *shape = &work->part->shape;
	bool whole = work->end - work->first_byte == shape->bytes;

	return most * (sizeof(struct blm_hash) + (work->keys->has_values ? sizeof(uint64_t) : 0))
		+ round_up(work->maker->work_bytes(shape, most), 64)
		+ (whole ? 0 : bytes_for(shape, work->maker, most));
}

/* In large pages if possible: a shard of many keys is read and written many times. */
static void *take_buffer(uint64_t bytes)
{
	const uint64_t large = 2 << 20;
	bool worth = bytes >= 2 * large;
	void *buffer = aligned_alloc(worth ? large : 64, round_up(bytes + 1, worth ? large : 64));

	if (buffer && worth)
		madvise(buffer, round_up(bytes + 1, large), MADV_HUGEPAGE);
	return buffer;
}

static bool make_worker(struct worker *w, struct work *work, uint64_t most)
{
	*w = (struct worker){
		.work = work,
		.hashes = take_buffer(most * sizeof(*w->hashes)),
		.values = work->keys->has_values ? take_buffer(most * sizeof(*w->values)) : NULL,
		.buffer = take_buffer(work->maker->work_bytes(&work->part->shape, most)),
	};
	if (w->hashes && w->buffer && (w->values || !work->keys->has_values))
		return true;
	free_worker(w);
	return false;
}

/* The caller works too; a helper that cannot be had is done without. */
static int work_together(struct work *work, unsigned wanted, uint64_t most)
{
	struct worker *worker = calloc(wanted, sizeof(*worker));
	unsigned count = 1;

	if (!worker || !make_worker(&worker[0], work, most)) {
		free(worker);
		return blm_fail(-ENOMEM, "no memory for a shard of %llu keys",
				(unsigned long long)most);
	}
	for (; count < wanted && make_worker(&worker[count], work, most); count++)
		if (blm_thread_start(&worker[count].thread, run, &worker[count])) {
			free_worker(&worker[count]);
			break;
		}
	run(&worker[0]);
	for (unsigned i = 0; i < count; i++) {
		if (i)
			pthread_join(worker[i].thread, NULL);
		free_worker(&worker[i]);
	}
	free(worker);
	return work->failed ? blm_fail(work->failed, "%s", work->reason) : 0;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

int blm_shards_build_within(struct blm_part *part, const struct blm_sorted *keys,
			    const struct blm_shard_maker *maker, uint64_t first_byte, uint64_t end)
{
	struct work work = { .part = part, .keys = keys, .maker = maker, .first_byte = first_byte,
			     .end = end, .mutex = PTHREAD_MUTEX_INITIALIZER,
			     .offset = shard_index_bytes(&part->shape) };
	uint64_t *from, most, need, together;
	int r = find_all(&part->shape, keys, &from, &most);

	if (r < 0)
		return r;
	work.from = from;
	need = need_of(&work, most);
	together = least_of(least_of(keys->threads, MOST_THREADS), shards_of(&part->shape));
	together = least_of(together, keys->memory_bytes / need);
	r = work_together(&work, together ? (unsigned)together : 1, most);
	free(from);
	return r;
}

int blm_shards_build(struct blm_part *part, const struct blm_sorted *keys,
		     const struct blm_shard_maker *maker)
{
	return blm_shards_build_within(part, keys, maker, 0, part->shape.bytes);
}
