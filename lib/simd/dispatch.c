/* dispatch.c - which of the instruction sets in meson.build this processor runs */
#include "simd/simd.h"

#include <pthread.h>

#define SIMD(name) extern const struct blm_simd blm_simd_##name;
BLM_SIMDS
#undef SIMD

#define SIMD(name) &blm_simd_##name,
static const struct blm_simd *const all[] = { BLM_SIMDS };	/* simplest first */

static struct blm_simd table[ARRAY_LEN(all)];
static size_t count, best;

static void fill(void)
{
	const char *wanted = secure_getenv("BLOOMERY_SIMD");

	for (size_t i = 0; i < ARRAY_LEN(all) && all[i]->runs_here(); i++) {
		struct blm_simd *t = &table[i];

		*t = *all[i];
#define INHERIT(loop) if (i && !t->loop) t->loop = table[i - 1].loop
		INHERIT(or_words);
		INHERIT(and_words);
		INHERIT(next_missing);
		INHERIT(count_ones);
		INHERIT(count_common);
		INHERIT(count_blocks);
		INHERIT(blocks_contain);
		INHERIT(blocks_set);
		INHERIT(block_contains);
		INHERIT(blocks_missing);
		INHERIT(block_lacks);
		INHERIT(split_blocks_contain);
		INHERIT(split_block_contains);
		INHERIT(split_block_lacks);
		INHERIT(split_blocks_set);
		INHERIT(count_split_blocks);
		INHERIT(xxh3_many);
		INHERIT(xxh3_fixed);
		INHERIT(xxh3_64_many);
		INHERIT(xxh3_64_fixed);
#undef INHERIT
		best = i;
		count = i + 1;
	}
	for (size_t i = 0; wanted && i < count; i++)
		if (!strcmp(table[i].name, wanted))
			best = i;
}

static void fill_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fill);
}

const struct blm_simd *blm_simd_at(size_t i)
{
	fill_once();
	return i < count ? &table[i] : NULL;
}

const struct blm_simd *blm_simd_best(void)
{
	fill_once();
	return &table[best];
}

BLM_API const char *blm_simd(void)
{
	return blm_simd_best()->name;
}
