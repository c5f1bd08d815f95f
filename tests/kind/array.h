/*
 * array.h - a kind that is built from keys in an array, without a file around it: for tests of the
 * kinds themselves
 */
#ifndef BLM_TEST_ARRAY_H
#define BLM_TEST_ARRAY_H

#include "kind/kind_registry.h"
#include "sort/records.h"
#include "suite.h"

#include <sys/mman.h>

struct built {
	struct blm_sorted sorted;	/* first: read() gets a pointer to it */
	struct blm_hash *hashes;
	uint64_t *values;		/* NULL: none */
	double rate;			/* that is asked for; 0: none */
	uint64_t done;			/* as the kind told it */
	/* what read() fails with, once it has read the keys from this number on */
	int fails;
	uint64_t from;
	struct blm_part part;
	/* the part's bytes end where it ends, and what comes after it cannot be read */
	uint8_t *map;
	size_t map_bytes;
};

static inline int built_read(const struct blm_sorted *keys, uint64_t from, struct blm_hash *ret,
			     uint64_t *ret_values, size_t count)
{
	const struct built *b = (const struct built *)keys;

	if (b->fails && from + count > b->from)
		return blm_fail(b->fails, "no key number %llu", (unsigned long long)b->from);
	memcpy(ret, b->hashes + from, count * sizeof(*ret));
	if (ret_values)
		memcpy(ret_values, b->values + from, count * sizeof(*ret_values));
	return 0;
}

static inline void built_done(const struct blm_sorted *keys, uint64_t count)
{
	__atomic_fetch_add(&((struct built *)keys)->done, count, __ATOMIC_RELAXED);
}

static inline void built_begin(struct built *b, uint64_t count, bool values)
{
	*b = (struct built){
		.sorted = { .count = count,
			    .threads = 1,
			    .memory_bytes = UINT64_MAX,
			    .has_values = values,
			    .read = built_read,
			    .done = built_done },
		.hashes = malloc((count + 1) * sizeof(*b->hashes)),
		.values = values ? calloc(count + 1, sizeof(*b->values)) : NULL,
	};
}

/*
 * Of keys by the numbers from `first` on, as a good hash has them; another of the same number is
 * none of theirs.
 */
static inline struct blm_hash hash_number(uint64_t i)
{
	return (struct blm_hash){ .lo = mixed(2 * i + 1), .hi = mixed(~i * 3) };
}

static inline void built_fill(struct built *b, uint64_t first)
{
	for (uint64_t i = 0; i < b->sorted.count; i++)
		b->hashes[i] = hash_number(first + i);
	blm_records_sort((uint64_t *)b->hashes, b->sorted.count, 2, 2);
}

/* Plan and fit; then the part is there, all zeros. */
static inline void built_plan(struct built *b, const char *kind, unsigned probes,
			      const uint64_t args[2])
{
	struct blm_params params = BLM_PARAMS(.kind = kind,
					      .capacity = b->sorted.count ? b->sorted.count : 1,
					      .rate = b->rate, .probes = probes);
	struct blm_part *part = &b->part;

	*part = (struct blm_part){ .kind = blm_kind_by_name(kind),
				   .simd = blm_simd_best(),
				   .unshared = true };
	memcpy(part->shape.args, args, 2 * sizeof(*args));
	OK(part->kind->plan(&part->shape, &params));
	OK(part->kind->fit(&part->shape, &b->sorted));
	ck_assert(part->kind->valid(&part->shape));
	b->map_bytes = round_up(part->shape.bytes, 4096) + 4096;
	b->map = mmap(NULL, b->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	ck_assert_ptr_ne(b->map, MAP_FAILED);
	mprotect(b->map + b->map_bytes - 4096, 4096, PROT_NONE);
	part->bytes = b->map + b->map_bytes - 4096 - part->shape.bytes;
}

static inline void built_drop(struct built *b)
{
	munmap(b->map, b->map_bytes);
}

static inline void built_end(struct built *b)
{
	built_drop(b);
	free(b->hashes);
	free(b->values);
}

static inline void build(struct built *b, const char *kind, unsigned probes, const uint64_t args[2])
{
	built_plan(b, kind, probes, args);
	OK(b->part.kind->build(&b->part, &b->sorted));
}

static inline bool has(const struct built *b, struct blm_hash hash)
{
	return b->part.kind->contains(&b->part, &(struct blm_hashed){ .hash = hash });
}

/* How many of these it says yes to; by questions for many, which must say what those for one do. */
static inline uint64_t count_yes(const struct built *b, const struct blm_hash *hashes,
				 uint64_t count)
{
	static const struct blm_family family;
	const struct blm_hasher by = { .family = &family };
	uint64_t bits[BLM_BATCH_WORDS], yes = 0, ones = 0, differ = 0;

	for (uint64_t at = 0; at < count; at += BLM_BATCH) {
		size_t n = count - at < BLM_BATCH ? (size_t)(count - at) : BLM_BATCH;

		memset(bits, 0xff, sizeof(bits));
		blm_part_contains(
			&b->part,
			&(struct blm_batch){ .by = &by, .hashes = hashes + at, .count = n }, bits);
		for (size_t i = 0; i < (n + 63) / 64; i++)
			ones += (uint64_t)__builtin_popcountll(bits[i]);
		for (size_t i = 0; i < n; i++) {
			bool one = has(b, hashes[at + i]);

			differ += one != (bits[i / 64] >> i % 64 & 1);
			yes += one;
		}
	}
	ck_assert_uint_eq(differ, 0);
	ck_assert_uint_eq(yes, ones);
	return yes;
}

/* This many absent keys, with numbers from 2^40 on. */
static inline uint64_t count_strangers(const struct built *b, uint64_t count)
{
	struct blm_hash *hashes = malloc(count * sizeof(*hashes));
	uint64_t yes;

	for (uint64_t i = 0; i < count; i++)
		hashes[i] = hash_number((UINT64_C(1) << 40) + i);
	yes = count_yes(b, hashes, count);
	free(hashes);
	return yes;
}

#endif
