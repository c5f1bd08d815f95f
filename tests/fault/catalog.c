/*
 * catalog.c - the walk of a catalog's pages takes none for damaged that is only used, whatever LMDB
 * does with its pages
 */
#include "suite.h"

#include "catalog/catalog.h"
#include "file/mapping.h"

enum { NAMES = 300, STEPS = 6000 };

static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

static void some_entry(struct blm_entry *ret, uint64_t number)
{
	memset(ret, 0, sizeof(*ret));
	blm_constant_begin(&ret->constant, "test");
	ret->constant.template.seed_count =
		htole32(number % 5 ? 1 : (uint32_t)(number % BLM_FORMAT_SEEDS));
	ret->constant.check = blm_check_constant(&ret->constant);
	ret->labels_bytes = number % 3 ? 0 : (uint32_t)(number % (BLM_FORMAT_LABELS - 1));
	memset(ret->labels, 'x', ret->labels_bytes);
}

static void change_something(struct blm_catalog *c, uint64_t random, bool shrinking)
{
	struct blm_entry *entry = malloc(sizeof(*entry));
	char name[BLM_FORMAT_NAME], other[BLM_FORMAT_NAME];
	int r = 0;

	/* names of all lengths: branches of few and of many nodes */
	snprintf(name, sizeof(name), "%0*d", (int)(random % NAMES % 200 + 4),
		 (int)(random % NAMES));
	snprintf(other, sizeof(other), "%d-other", (int)(random >> 20 & 255));
	some_entry(entry, random >> 8);
	switch (random >> 60) {
	case 0: case 1: case 2: case 3: case 4: case 5:
		r = shrinking ? blm_catalog_remove(c, name, NULL)
			      : blm_catalog_put(c, name, entry, BLM_PUT_OVER);
		break;
	case 6: case 7:
		r = blm_catalog_rename(c, name, other);
		break;
	case 8: case 9: case 10:
		r = blm_catalog_put(c, name, entry, BLM_PUT_NEW);
		break;
	case 11:
		r = blm_catalog_remove(c, other, NULL);
		break;
	default:
		r = blm_catalog_remove(c, name, NULL);
	}
	ck_assert_msg(r >= 0 || r == -ENOENT || r == -EEXIST, "%d: %s", r, blm_error_message());
	free(entry);
}

START_TEST(a_catalog_in_normal_use_is_never_called_damaged)
{
	struct blm_catalog *c = NULL;

	ck_assert_int_eq(mkdir("catalog", 0755), 0);
	OK(blm_catalog_make("catalog", NULL, 0));
	for (uint64_t step = 0; step < STEPS; step++) {
		if (!c)
			OK(blm_catalog_open(&c, "catalog", true));
		change_something(c, mixed(step + 1), step / 1000 % 2);
		OK(blm_catalog_verify(c));
		if (step % 7 == 0) {
			blm_catalog_close(c);
			c = NULL;
		}
	}
	blm_catalog_close(c);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("catalog");
	TCase *tc = tcase_create("catalog");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_test(tc, a_catalog_in_normal_use_is_never_called_damaged);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
