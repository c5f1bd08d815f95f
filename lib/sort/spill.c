/* spill.c - records in a temporary file, as runs that are each in order, merged into one */
#include "sort/spill.h"
#include "file/os.h"

#include <fcntl.h>
#include <unistd.h>

enum { BUFFER_LEAST = 8 << 10, BUFFER_MOST = 4 << 20, GIVE_BACK = 16 << 20 };

static_assert(BLM_RUNS_MEMORY >= 4 * (BUFFER_LEAST + 256),
	      "three runs, and what they become, are in memory at a time");

static size_t record_bytes(const struct blm_runs *runs)
{
	return runs->words * sizeof(uint64_t);
}

/* ---- Writing and reading ---- */

int blm_runs_begin(struct blm_runs *ret, const struct blm_place *place, unsigned words,
		   bool keep_all)
{
	*ret = (struct blm_runs){ .file = { .fd = -1, .folder = -1 }, .display = place->display,
				  .words = words, .keep_all = keep_all };
	return blm_place_new(place, 0600, &ret->file);
}

void blm_runs_end(struct blm_runs *runs)
{
	blm_new_file_end(&runs->file);
	free(runs->run);
	runs->run = NULL;
}

/* A file in memory takes its space as it is written. */
static int write_at(const struct blm_runs *runs, const void *from, size_t bytes, uint64_t at)
{
	int r = runs->file.folder < 0 ? 0 : blm_allocate(runs->file.fd, at, bytes, runs->display);

	if (r < 0)
		return r;
	r = blm_write_at(runs->file.fd, from, bytes, at);
	return r < 0 ? blm_fail(r, "%s: cannot write a temporary file in its folder: %s",
				runs->display, strerror(-r)) : 0;
}

static int read_at(const struct blm_runs *runs, void *buffer, size_t bytes, uint64_t at)
{
	int64_t n = blm_read_at(runs->file.fd, buffer, bytes, at);

	if (n < 0)
		return blm_fail((int)n, "%s: cannot read a temporary file in its folder: %s",
				runs->display, strerror((int)-n));
	return (size_t)n < bytes ? blm_fail(-EIO, "%s: a temporary file in its folder was "
					    "truncated",
					    runs->display) : 0;
}

static struct blm_run *new_run(struct blm_runs *runs)
{
	if (runs->count == runs->capacity) {
		size_t capacity = runs->capacity ? 2 * runs->capacity : 64;
		struct blm_run *run = realloc(runs->run, capacity * sizeof(*run));

		if (!run)
			return NULL;
		runs->run = run;
		runs->capacity = capacity;
	}
	runs->run[runs->count] = (struct blm_run){ .at = runs->end };
	return &runs->run[runs->count++];
}

int blm_runs_append(struct blm_runs *runs, const uint64_t *records, size_t count)
{
	struct blm_run *run = new_run(runs);
	int r;

	if (!run)
		return blm_fail(-ENOMEM, "%s: out of memory", runs->display);
	r = count ? write_at(runs, records, count * record_bytes(runs), runs->end) : 0;
	if (r < 0)
		return r;
	run->count = count;
	runs->end = round_up(runs->end + count * record_bytes(runs), 4096);
	return 0;
}

int blm_runs_read(const struct blm_runs *runs, uint64_t from, uint64_t *ret, size_t count)
{
	return runs->count && count ? read_at(runs, ret, count * record_bytes(runs),
					      runs->run[0].at + from * record_bytes(runs)) : 0;
}

/* ---- Merging ---- */

/* A run on its way into another: some of it in a buffer, the rest in the file. */
struct stream {
	uint64_t *buffer;
	size_t at, count;
	uint64_t next, left;		/* in the file: where, and how many records */
	uint64_t given_back;		/* up to there its space is free again */
};

struct merging {
	struct blm_runs *runs;
	size_t first;			/* of the runs that become one: these and all behind them */
	struct stream *stream;
	/* streams that are not at their end, the least record first */
	unsigned *heap;
	unsigned alive;
	size_t capacity;			/* records in a buffer */
	uint64_t *out;
	size_t waiting;			/* records in it */
	struct blm_run merged;
	uint64_t last[BLM_RECORD_WORDS];
};

/* A hint: on file systems without it the space is freed with the complete file. */
static void give_back(struct merging *m, struct stream *s, uint64_t up_to)
{
	uint64_t from = s->given_back, to = up_to / 4096 * 4096;

	if (to > from)
		fallocate(m->runs->file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
			  (off_t)(to - from));
	s->given_back = to;
}

static int refill(struct merging *m, struct stream *s)
{
	size_t bytes = record_bytes(m->runs);
	int r;

	s->at = 0;
	s->count = s->left < m->capacity ? (size_t)s->left : m->capacity;
	if (s->next - s->given_back >= GIVE_BACK || !s->count)
		give_back(m, s, s->next);
	r = s->count ? read_at(m->runs, s->buffer, s->count * bytes, s->next) : 0;
	s->next += s->count * bytes;
	s->left -= s->count;
	return r;
}

static const uint64_t *front(const struct merging *m, unsigned stream)
{
	return &m->stream[stream].buffer[m->stream[stream].at * m->runs->words];
}

static void sink(struct merging *m, unsigned at)
{
	unsigned moving = m->heap[at];
	const uint64_t *record = front(m, moving);

	for (;;) {
		unsigned child = 2 * at + 1;

		if (child >= m->alive)
			break;
		if (child + 1 < m->alive && compare_records(front(m, m->heap[child + 1]),
							    front(m, m->heap[child])) < 0)
			child++;
		if (compare_records(record, front(m, m->heap[child])) <= 0)
			break;
		m->heap[at] = m->heap[child];
		at = child;
	}
	m->heap[at] = moving;
}

static int write_out(struct merging *m)
{
	size_t bytes = m->waiting * record_bytes(m->runs);
	int r = bytes ? write_at(m->runs, m->out, bytes,
				 m->merged.at + m->merged.count * record_bytes(m->runs)) : 0;

	m->merged.count += m->waiting;
	m->waiting = 0;
	return r;
}

static int keep(struct merging *m, const uint64_t *record)
{
	unsigned words = m->runs->words;
	int r = m->merged.count + m->waiting
		&& !m->runs->keep_all ? blm_record_is_new(m->last, record, words) : 1;

	if (r <= 0)
		return r;
	memcpy(m->last, record, words * sizeof(*record));
	memcpy(&m->out[m->waiting++ * words], record, words * sizeof(*record));
	return m->waiting == m->capacity ? write_out(m) : 0;
}

/* The least of all records goes, and the next of its stream takes its place in the heap. */
static int step(struct merging *m)
{
	struct stream *s = &m->stream[m->heap[0]];
	int r = keep(m, front(m, m->heap[0]));

	if (r == 0 && ++s->at == s->count)
		r = refill(m, s);
	if (r == 0 && !s->count)
		m->heap[0] = m->heap[--m->alive];
	if (r == 0 && m->alive)
		sink(m, 0);
	return r;
}

static int begin_streams(struct merging *m)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->runs->count - m->first; i++) {
		const struct blm_run *run = &m->runs->run[m->first + i];
		struct stream *s = &m->stream[i];

		*s = (struct stream){ .buffer = m->out + (i + 1) * m->capacity * m->runs->words,
				      .next = run->at, .left = run->count,
				      .given_back = run->at };
		r = refill(m, s);
		if (r == 0 && s->count)
			m->heap[m->alive++] = (unsigned)i;
	}
	for (unsigned i = m->alive / 2; r == 0 && i-- > 0;)
		sink(m, i);
	return r;
}

static int merge(struct merging *m, void (*tick)(void *context, uint64_t count), void *context)
{
	enum { TICK = 1 << 16 };
	uint64_t done = 0;
	int r = begin_streams(m);

	while (r == 0 && m->alive) {
		r = step(m);
		if (++done % TICK == 0)
			tick(context, TICK);
	}
	tick(context, done % TICK);
	return r == 0 ? write_out(m) : r;
}

/* How many runs can be merged at once. */
static size_t runs_at_once(uint64_t memory_bytes)
{
	return (size_t)(memory_bytes / (BUFFER_LEAST + sizeof(struct stream) + sizeof(unsigned)))
		- 1;
}

/*
 * The parts of the caller's memory: streams, the output buffer and one for each run, the heap.
 */
static void divide(struct merging *m, const struct blm_memory *memory, size_t count)
{
	uint64_t each = (memory->bytes - count * (sizeof(*m->stream) + sizeof(*m->heap)))
		/ (count + 1);

	m->capacity = (size_t)(each < BUFFER_MOST ? each : BUFFER_MOST) / record_bytes(m->runs);
	m->stream = memory->at;
	m->out = (uint64_t *)(m->stream + count);
	m->heap = (unsigned *)(m->out + (count + 1) * m->capacity * m->runs->words);
}

/* The last `count` runs, which are the smallest, become one. */
static int merge_last(struct blm_runs *runs, size_t count, const struct blm_memory *memory,
		      const struct blm_runs_progress *progress)
{
	struct merging m = { .runs = runs, .first = runs->count - count, .merged.at = runs->end };
	uint64_t total = 0;
	int r;

	for (size_t i = m.first; i < runs->count; i++)
		total += runs->run[i].count;
	divide(&m, memory, count);
	progress->begin(progress->context, total);
	m.merged.level = runs->run[m.first].level + 1;
	r = merge(&m, progress->tick, progress->context);
	runs->end = round_up(runs->end + m.merged.count * record_bytes(runs), 4096);
	runs->run[m.first] = m.merged;
	runs->count = m.first + 1;
	return r;
}

static void no_begin(void *context, uint64_t total)
{
}

static void no_tick(void *context, uint64_t count)
{
}

static bool last_are_alike(const struct blm_runs *runs, size_t count)
{
	return runs->count >= count && runs->run[runs->count - count].level
		== runs->run[runs->count - 1].level;
}

int blm_runs_keep_few(struct blm_runs *runs, const struct blm_memory *memory)
{
	static const struct blm_runs_progress silent = { no_begin, no_tick, NULL };
	size_t most = runs_at_once(memory->bytes);
	int r = 0;

	while (r == 0 && last_are_alike(runs, most))
		r = merge_last(runs, most, memory, &silent);
	return r;
}

/*
 * If there are too many runs for one merge, merges of the smallest make them fewer, so that the
 * last merge is of as many as there can be.
 */
int blm_runs_merge(struct blm_runs *runs, const struct blm_memory *memory,
		   const struct blm_runs_progress *progress)
{
	size_t most = runs_at_once(memory->bytes);
	int r = 0;

	while (r == 0 && runs->count > 1) {
		size_t too_many = runs->count > most ? runs->count - most + 1 : runs->count;

		r = merge_last(runs, too_many < most ? too_many : most, memory, progress);
	}
	return r;
}
