/* algebra.c - unions and counts of whole filters, against loops over memory of the same size */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { A = 1, B };	/* seeds of their bits */

struct it {
	struct blm_filter *a, *b, *third;
	char *third_path, *new_path;
	void *x, *y, *z;	/* plain memory of the same size, mapped and touched */
	size_t bytes;
	/* the result that was timed last: checked and closed, outside of the timed part */
	struct blm_filter *made;
	void *new;
	struct blm_estimate estimate;
	struct blm_comparison comparison;
	uint64_t ones, common, all;	/* bits of a, of a AND b, of a OR b */
};

/* ---- Loops over memory ---- */

typedef uint64_t vector __attribute__((vector_size(32), may_alias));

#if defined(__x86_64__)
#define VECTORS __attribute__((noinline, target("avx2")))
#define HAVE_VECTORS __builtin_cpu_supports("avx2")
#else
#define VECTORS __attribute__((noinline))
#define HAVE_VECTORS false
#endif

#define LOOPS(word, how)								\
	static how void or_##word(word *z, const word *x, const word *y, size_t n)	\
	{										\
		for (size_t i = 0; i < n; i++)						\
			z[i] = x[i] | y[i];						\
	}										\
	static how uint64_t sum_##word(const word *x, const word *y, size_t n)	\
	{										\
		word a = { 0 }, b = { 0 };						\
											\
		for (size_t i = 0; i < n; i++) {					\
			a ^= x[i];							\
			b ^= y[i];							\
		}									\
		return a[0] ^ b[0] ^ a[1] ^ b[1];					\
	}
LOOPS(vector, VECTORS)
typedef uint64_t small __attribute__((vector_size(16), may_alias));
LOOPS(small, __attribute__((noinline)))

static void or_into(void *z, const void *x, const void *y, size_t bytes)
{
	if (HAVE_VECTORS)
		or_vector(z, x, y, bytes / sizeof(vector));
	else
		or_small(z, x, y, bytes / sizeof(small));
}

static int64_t or_loop(struct site *s, size_t count)
{
	struct it *it = s->it;

	or_into(it->z, it->x, it->y, it->bytes);
	return 0;
}

/* What it takes where others may write to the third meanwhile. */
static int64_t atomic_loop(struct site *s, size_t count)
{
	struct it *it = s->it;
	const uint64_t *x = it->x, *y = it->y;

	for (size_t i = 0; i < it->bytes / sizeof(*x); i++)
		__atomic_fetch_or((uint64_t *)it->z + i, x[i] | y[i], __ATOMIC_RELAXED);
	return 0;
}

/* What it takes where the third is a new file: OR, hand it to the system, wait for the disk. */
static int64_t file_loop(struct site *s, size_t count)
{
	enum { SOME = 2 << 20 };
	struct it *it = s->it;
	int fd = open(it->new_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600),
	    r = fd < 0 ? -errno : -posix_fallocate(fd, 0, (off_t)it->bytes);

	for (size_t at = 0; at < it->bytes && r == 0; at += SOME) {
		size_t some = it->bytes - at < SOME ? it->bytes - at : SOME;

		or_into(it->z, (char *)it->x + at, (char *)it->y + at, some);
		r = pwrite(fd, it->z, some, (off_t)at) == (ssize_t)some ? 0 : -EIO;
	}
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (fd >= 0)
		close(fd);
	return r;
}

static int64_t read_both(const void *x, const void *y, size_t bytes)
{
	sink = HAVE_VECTORS ? sum_vector(x, y, bytes / sizeof(vector))
			    : sum_small(x, y, bytes / sizeof(small));
	return 0;
}

static int64_t read_loop(struct site *s, size_t count)
{
	struct it *it = s->it;

	return read_both(it->x, (char *)it->x + it->bytes / 2, it->bytes / 2);
}

static int64_t read_two_loop(struct site *s, size_t count)
{
	struct it *it = s->it;

	return read_both(it->x, it->y, it->bytes);
}

/* What it takes where the third is new, in memory of the sort that a filter without a name has. */
static int64_t new_memory_loop(struct site *s, size_t count)
{
	struct it *it = s->it;
	int fd = memfd_create("bench", MFD_CLOEXEC);

	it->new = fd >= 0 && ftruncate(fd, (off_t)it->bytes) == 0
		? mmap(NULL, it->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
	if (fd >= 0)
		close(fd);
	if (it->new == MAP_FAILED)
		return -ENOMEM;
	madvise(it->new, it->bytes, MADV_HUGEPAGE);
	or_into(it->new, it->x, it->y, it->bytes);
	return 0;
}

static int unmap_new(struct site *s, size_t count)
{
	struct it *it = s->it;

	return munmap(it->new, it->bytes) < 0 ? -errno : 0;
}

/* ---- The library ---- */

/* The third filter is empty, and its pages are there. */
static int empty_third(struct site *s)
{
	struct it *it = s->it;
	struct blm_info *info;
	struct site pages = { 0 };
	int r = blm_clear(it->third);

	if (r < 0)
		return r;
	info = malloc(sizeof(*info));
	if (info)
		*info = BLM_INFO;
	r = info ? blm_info(it->third, info) : -ENOMEM;	/* goes over to the new file */
	if (r == 0) {
		pages.lines = mapping_find(it->third_path, info->bytes - info->data_bytes,
					   info->bytes);
		pages.line_count = info->data_bytes / LINE_BYTES;
		if (pages.lines)
			touch_lines(&pages);
		else
			r = -EIO;
	}
	free(info);
	return r;
}

static int64_t unite_into_third(struct site *s, size_t count)
{
	struct it *it = s->it;
	const struct blm_filter *from[] = { it->a, it->b };

	return blm_combine_into(it->third, BLM_UNION, from, ARRAY_LEN(from), 0, NULL);
}

/* It is the OR of the two, or their AND, wherever one looks. */
static int check_data(const struct it *it, const struct blm_filter *f, enum blm_op op)
{
	enum { PLACES = 64, SOME = 512 };
	uint64_t z[SOME];

	for (uint64_t i = 0; i < PLACES; i++) {
		uint64_t at = i == 0 ? it->bytes - sizeof(z)
				     : below(mix(i), it->bytes / sizeof(z)) * sizeof(z);
		int r = blm_data_read(f, at, z, sizeof(z));

		for (size_t j = 0; j < SOME && r == 0; j++) {
			uint64_t x = noise_word(A, at / 8 + j), y = noise_word(B, at / 8 + j);

			if (z[j] != (op == BLM_UNION ? x | y : x & y))
				r = -EUCLEAN;
		}
		if (r == -EUCLEAN)
			fprintf(stderr,
				"bench: it is not the %s of its two filters, from byte %llu\n",
				op == BLM_UNION ? "OR" : "AND", (unsigned long long)at);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_third(struct site *s, size_t count)
{
	struct it *it = s->it;

	return check_data(it, it->third, BLM_UNION);
}

static int check_made(struct it *it, enum blm_op op)
{
	int r = check_data(it, it->made, op);

	it->made = blm_close(it->made);
	return r;
}

static int check_union(struct site *s, size_t count)
{
	return check_made(s->it, BLM_UNION);
}

static int check_intersection(struct site *s, size_t count)
{
	return check_made(s->it, BLM_INTERSECT);
}

/* The third has it all already, also where no other row was there before. */
static int full_third(struct site *s)
{
	int64_t r = unite_into_third(s, 0);

	return r < 0 ? (int)r : 0;
}

#ifdef HAVE_THREADS
/* The other rows are of one thread, as the loops are. */
static int64_t unite_by_threads(struct site *s, size_t count)
{
	int64_t r;

	blm_use_threads(0);
	r = unite_into_third(s, count);
	blm_use_threads(1);
	return r;
}
#endif

static int64_t combine(struct site *s, const char *path, enum blm_op op)
{
	struct it *it = s->it;
	const struct blm_filter *from[] = { it->a, it->b };

	return blm_combine(&it->made, NULL, path, op, from, ARRAY_LEN(from), 0, NULL);
}

static int64_t unite_in_memory(struct site *s, size_t count)
{
	return combine(s, NULL, BLM_UNION);
}

static int64_t intersect_in_memory(struct site *s, size_t count)
{
	return combine(s, NULL, BLM_INTERSECT);
}

static int remove_new(struct site *s)
{
	struct it *it = s->it;

	return unlink(it->new_path) < 0 && errno != ENOENT ? -errno : 0;
}

static int64_t unite_in_file(struct site *s, size_t count)
{
	return combine(s, ((struct it *)s->it)->new_path, BLM_UNION);
}

static int64_t estimate(struct site *s, size_t count)
{
	struct it *it = s->it;

	return blm_estimate(it->a, true, &it->estimate);
}

static int check_estimate(struct site *s, size_t count)
{
	struct it *it = s->it;

	if (it->estimate.ones == it->ones && it->estimate.sampled_bytes == it->bytes)
		return 0;
	fprintf(stderr, "bench: %llu bits are set, not %llu\n", (unsigned long long)it->ones,
		(unsigned long long)it->estimate.ones);
	return -EUCLEAN;
}

static int64_t compare(struct site *s, size_t count)
{
	struct it *it = s->it;

	return blm_compare(it->a, it->b, &it->comparison);
}

static int check_comparison(struct site *s, size_t count)
{
	struct it *it = s->it;
	double right = (double)it->common / (double)it->all, got = it->comparison.tanimoto.value;

	if (fabs(got - right) < 1e-12)
		return 0;
	fprintf(stderr, "bench: of the bits of both a share of %.15g is common, not %.15g\n", right,
		got);
	return -EUCLEAN;
}

static const struct work works[] = {
	{ .name = "loop: read", .run = read_loop, .whole = true },
	{ .name = "loop: read of two", .run = read_two_loop, .whole = true },
	{ .name = "loop: OR of two into a third", .run = or_loop, .whole = true },
	{ .name = "loop: OR of two into new memory",
	  .run = new_memory_loop,
	  .whole = true,
	  .check = unmap_new },
	{ .name = "loop: atomic OR of two into a third", .run = atomic_loop, .whole = true },
	{ .name = "loop: OR of two into a new file, synced",
	  .run = file_loop,
	  .whole = true,
	  .before = remove_new },
	{ .name = "union into a third, mapped",
	  .limit = "loop: OR of two into a third",
	  .run = unite_into_third,
	  .whole = true,
	  .before = empty_third,
	  .check = check_third },
#ifdef HAVE_THREADS
	{ .name = "union into a third, by threads",
	  .limit = "loop: OR of two into a third",
	  .run = unite_by_threads,
	  .whole = true,
	  .before = empty_third,
	  .check = check_third },
#endif
	{ .name = "union again, nothing new",
	  .limit = "loop: OR of two into a third",
	  .run = unite_into_third,
	  .whole = true,
	  .before = full_third,
	  .check = check_third },
	{ .name = "union, new in memory",
	  .limit = "loop: OR of two into new memory",
	  .run = unite_in_memory,
	  .whole = true,
	  .check = check_union },
	{ .name = "intersection, new in memory",
	  .limit = "loop: OR of two into new memory",
	  .run = intersect_in_memory,
	  .whole = true,
	  .check = check_intersection },
	{ .name = "union, new file, synced",
	  .limit = "loop: OR of two into a new file, synced",
	  .run = unite_in_file,
	  .whole = true,
	  .before = remove_new,
	  .check = check_union },
	{ .name = "estimate, all bits",
	  .limit = "loop: read",
	  .run = estimate,
	  .whole = true,
	  .check = check_estimate },
	{ .name = "compare",
	  .limit = "loop: read of two",
	  .run = compare,
	  .whole = true,
	  .check = check_comparison },
};

/* ---- Sites ---- */

static void *memory(size_t bytes)
{
	void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		return NULL;
	madvise(m, bytes, MADV_HUGEPAGE);
	memset(m, 1, bytes);
	return m;
}

static void close_it(struct site *s)
{
	struct it *it = s->it;
	void *const maps[] = { it->x, it->y, it->z };

	blm_close(it->a);
	blm_close(it->b);
	blm_close(it->third);
	for (size_t i = 0; i < ARRAY_LEN(maps); i++)
		if (maps[i])
			munmap(maps[i], it->bytes);
	free(it->third_path);
	free(it->new_path);
	free(it);
	s->it = NULL;
}

/* Counted by nothing of the library. */
static void count_bits(struct it *it)
{
	for (uint64_t i = 0; i < it->bytes / 8; i++) {
		uint64_t x = noise_word(A, i), y = noise_word(B, i);

		it->ones += (unsigned)__builtin_popcountll(x);
		it->common += (unsigned)__builtin_popcountll(x & y);
		it->all += (unsigned)__builtin_popcountll(x | y);
	}
}

static int make_filters(struct site *s, struct it *it)
{
	struct blm_params params = BLM_PARAMS(.kind = "blocked", .cells = it->bytes * 8,
					      .seed_count = 1, .seeds = &(uint64_t){ 1 });
	char *paths[2] = { NULL };
	struct blm_filter **const ret[2] = { &it->a, &it->b };
	int r = 0;

	for (size_t i = 0; i < 2 && r == 0; i++) {
		r = asprintf(&paths[i], "%s.%zu", s->path, i) < 0
			  ? -ENOMEM
			  : blm_create(ret[i], NULL, paths[i], &params);
		free(paths[i]);
		r = r == 0 ? noise_into(*ret[i], it->bytes, i ? B : A) : r;
	}
	return r == 0 ? blm_create(&it->third, NULL, it->third_path, &params) : r;
}

static int make(struct site *s)
{
	struct it *it = calloc(1, sizeof(*it));
	int r;

	if (!it)
		return -ENOMEM;
	s->it = it;
#ifdef HAVE_THREADS
	blm_use_threads(1);
#endif
	it->bytes = s->keys * LINE_BYTES;	/* a "key" of this site is a line */
	it->x = memory(it->bytes);
	it->y = memory(it->bytes);
	it->z = memory(it->bytes);
	r = asprintf(&it->third_path, "%s.third", s->path) < 0
			 || asprintf(&it->new_path, "%s.new", s->path) < 0 || !it->x || !it->y
			 || !it->z
		  ? -ENOMEM
		  : make_filters(s, it);
	s->data_bytes = it->bytes;
	count_bits(it);
	if (r < 0)
		close_it(s);
	return r;
}

const struct engine algebra = {
	.name = "algebra",
	.make = make, .close = close_it,
	.works = works, .work_count = ARRAY_LEN(works),
};
