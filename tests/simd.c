/* simd.c - every instruction set gives the same bits as plain C */
#include "simd/simd.h"
#include "simd/block.h"
#include "suite.h"

#include <sys/wait.h>

enum { MOST_BYTES = 8192, MOST_COUNT = 130 };

static uint64_t *words_at_64(size_t bytes)
{
	uint64_t *words = aligned_alloc(64, bytes);

	ck_assert_ptr_nonnull(words);
	return words;
}

/* All zeros, all ones, one bit, one bit missing, and at random with half, few and most bits set. */
enum { PATTERNS = 7 };

static void fill(uint64_t *words, size_t bytes, unsigned pattern, uint64_t *random)
{
	for (size_t i = 0; i < bytes / 8; i++) {
		uint64_t a = next_random(random), b = next_random(random), c = next_random(random);

		words[i] = pattern == 1 || pattern == 3 ? UINT64_MAX : pattern == 4 ? a : pattern == 5 ? a & b & c : pattern == 6 ? a | b | c : 0;
	}
	if (pattern == 2 || pattern == 3) {
		uint64_t bit = next_random(random) % (bytes * 8);

		words[bit / 64] ^= UINT64_C(1) << bit % 64;
	}
}

static const struct blm_simd *scalar(void)
{
	return blm_simd_at(0);
}

/* ---- Words ---- */

typedef void compare_words(const struct blm_simd *simd, const uint64_t *x, const uint64_t *y, size_t bytes);

static void on_all_inputs(const struct blm_simd *simd, compare_words *compare)
{
	uint64_t *x = words_at_64(MOST_BYTES), *y = words_at_64(MOST_BYTES), random = 1;

	for (size_t bytes = 64; bytes <= MOST_BYTES; bytes += 64)
		for (unsigned p = 0; p < PATTERNS; p++)
			for (unsigned q = 0; q < PATTERNS; q++) {
				fill(x, bytes, p, &random);
				fill(y, bytes, q, &random);
				compare(simd, x, y, bytes);
			}
	free(x), free(y);
}

static void compare_or_and(const struct blm_simd *simd, const uint64_t *x, const uint64_t *y, size_t bytes)
{
	static uint64_t a[MOST_BYTES / 8 + 8] __attribute__((aligned(64))), b[MOST_BYTES / 8 + 8] __attribute__((aligned(64)));

	for (int and = 0; and < 2; and++) {
		memset(a, 0x5a, sizeof(a));
		memset(b, 0x5a, sizeof(b));
		memcpy(a, x, bytes);
		memcpy(b, x, bytes);
		(and ? scalar()->and_words : scalar()->or_words)(a, y, bytes);
		(and ? simd->and_words : simd->or_words)(b, y, bytes);
		ck_assert_mem_eq(a, b, sizeof(a));	/* and not a byte more */
	}
}

START_TEST(every_set_ors_and_ands_as_scalar_does)
{
	on_all_inputs(blm_simd_at((size_t)_i), compare_or_and);
}
END_TEST

static void compare_missing(const struct blm_simd *simd, const uint64_t *x, const uint64_t *y, size_t bytes)
{
	for (size_t from = 0; from <= bytes; from += bytes > 1024 && from > 256 && from < bytes - 256 ? 512 : 64)
		ck_assert_uint_eq(simd->next_missing(x, y, from, bytes), scalar()->next_missing(x, y, from, bytes));
}

START_TEST(every_set_finds_the_same_missing_lines_as_scalar)
{
	on_all_inputs(blm_simd_at((size_t)_i), compare_missing);
}
END_TEST

static void compare_counts(const struct blm_simd *simd, const uint64_t *x, const uint64_t *y, size_t bytes)
{
	static uint64_t a[513], b[513];

	ck_assert_uint_eq(simd->count_ones(x, bytes), scalar()->count_ones(x, bytes));
	memset(a, 0, sizeof(a));
	memset(b, 0, sizeof(b));
	a[0] = b[0] = 3;
	scalar()->count_blocks(y, bytes, a);
	simd->count_blocks(y, bytes, b);
	ck_assert_mem_eq(a, b, sizeof(a));
}

START_TEST(every_set_counts_as_scalar_does)
{
	on_all_inputs(blm_simd_at((size_t)_i), compare_counts);
}
END_TEST

START_TEST(the_counts_of_scalar_are_those_of_its_bits)
{
	uint64_t *words = words_at_64(1024), random = 4, histogram[513] = { 0 }, ones = 0, sum = 0;

	fill(words, 1024, 5, &random);
	for (unsigned bit = 0; bit < 1024 * 8; bit++)
		ones += words[bit / 64] >> bit % 64 & 1;
	ck_assert_uint_eq(scalar()->count_ones(words, 1024), ones);
	scalar()->count_blocks(words, 1024, histogram);
	for (unsigned x = 0; x <= 512; x++)
		sum += x * histogram[x];
	ck_assert_uint_eq(sum, ones);
	free(words);
}
END_TEST

/* ---- Blocks ---- */

/* Hashes of which some are in the data, and with data so full that the rest get both answers. */
static void compare_contains(const struct blm_simd *simd, uint64_t blocks, unsigned probes, size_t count, uint64_t *random)
{
	uint64_t *data = words_at_64(blocks * 64), a[MOST_COUNT / 64 + 2], b[MOST_COUNT / 64 + 2];
	struct blm_hash hashes[MOST_COUNT];
	uint64_t yes = 0;

	fill(data, blocks * 64, probes > 3 ? 6 : 4, random);
	for (size_t i = 0; i < count; i++) {
		hashes[i] = (struct blm_hash){ next_random(random), next_random(random) };
		if (i % 5 == 1)		/* the edges of what hashes can be */
			hashes[i] = (struct blm_hash){ i % 2 ? UINT64_MAX : 0, i % 3 ? UINT64_MAX : 0 };
		if (i % 2) {
			uint64_t mask[8], *block = (uint64_t *)block_of(data, blocks, &hashes[i]);

			block_mask(mask, probes, &hashes[i]);
			for (int w = 0; w < 8; w++)
				block[w] |= mask[w];
			if (i % 4 == 3)	/* one of its bits is missing */
				for (int w = 0; w < 8; w++)
					if (mask[w]) {
						block[w] &= ~(mask[w] & -mask[w]);
						break;
					}
		}
	}
	memset(a, 0x5a, sizeof(a));
	memset(b, 0x5a, sizeof(b));
	scalar()->blocks_contain(data, blocks, probes, hashes, count, a);
	simd->blocks_contain(data, blocks, probes, hashes, count, b);
	ck_assert_msg(!memcmp(a, b, sizeof(a)), "%s: %u probes, %zu hashes, %llu blocks", simd->name, probes, count, (unsigned long long)blocks);
	for (size_t i = 0; i < count; i++)
		yes += a[i / 64] >> i % 64 & 1;
	if (count > 60 && blocks > 100)
		ck_assert(yes > 0 && yes < count);	/* else the case says little */
	free(data);
}

static const uint64_t block_counts[] = { 1, 2, 3, 7, 64, 1000 };
static const unsigned edges[] = { 1, 2, 6, 7, 8, 13, 14, 15, 20, 21, 22, 28, 29, 255, 256 };

START_TEST(every_set_finds_the_same_keys_in_blocks_for_each_number_of_probes)
{
	uint64_t random = 2;

	for (unsigned probes = 1; probes <= BLM_PROBES_MAX; probes++)
		for (size_t b = 0; b < ARRAY_LEN(block_counts); b++)
			compare_contains(blm_simd_at((size_t)_i), block_counts[b], probes, 64 + probes % 3, &random);
}
END_TEST

START_TEST(every_set_finds_the_same_keys_in_blocks_for_each_number_of_keys)
{
	uint64_t random = 3;

	for (size_t count = 0; count <= MOST_COUNT; count++)
		for (size_t e = 0; e < ARRAY_LEN(edges); e++)
			compare_contains(blm_simd_at((size_t)_i), 200, edges[e], count, &random);
}
END_TEST

/* ---- Choosing ---- */

static void says(const char *wanted, const char *expected)
{
	char command[700], line[64] = "";
	FILE *p;

	snprintf(command, sizeof(command), "BLOOMERY_SIMD='%s' /proc/%d/exe --which", wanted, (int)getpid());
	p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), p));
	ck_assert_int_eq(pclose(p), 0);
	line[strcspn(line, "\n")] = 0;
	ck_assert_str_eq(line, expected);
}

START_TEST(the_environment_picks_a_set_by_name_and_another_name_changes_nothing)
{
	const char *best = blm_simd_at(0)->name;

	for (size_t i = 0; blm_simd_at(i); i++) {
		best = blm_simd_at(i)->name;
		says(best, best);
	}
	says("", best);
	says("mmx", best);
}
END_TEST

START_TEST(every_set_has_every_loop)
{
	for (size_t i = 0; blm_simd_at(i); i++) {
		const struct blm_simd *s = blm_simd_at(i);

		ck_assert(s->or_words && s->and_words && s->next_missing && s->count_ones && s->count_blocks && s->blocks_contain);
	}
	ck_assert_str_eq(scalar()->name, "scalar");
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s;
	TCase *tc;
	int sets = 0;

	if (argc == 2 && !strcmp(argv[1], "--which"))
		return puts(blm_simd()) < 0;
	s = begin_suite("simd");
	tc = tcase_create("simd");
	while (blm_simd_at((size_t)sets))
		sets++;
	tcase_add_test(tc, every_set_has_every_loop);
	tcase_add_test(tc, the_counts_of_scalar_are_those_of_its_bits);
	tcase_add_test(tc, the_environment_picks_a_set_by_name_and_another_name_changes_nothing);
	tcase_add_loop_test(tc, every_set_ors_and_ands_as_scalar_does, 1, sets);
	tcase_add_loop_test(tc, every_set_finds_the_same_missing_lines_as_scalar, 1, sets);
	tcase_add_loop_test(tc, every_set_counts_as_scalar_does, 1, sets);
	tcase_add_loop_test(tc, every_set_finds_the_same_keys_in_blocks_for_each_number_of_probes, 1, sets);
	tcase_add_loop_test(tc, every_set_finds_the_same_keys_in_blocks_for_each_number_of_keys, 1, sets);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
