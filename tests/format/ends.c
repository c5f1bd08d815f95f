/*
 * ends.c - exports whose receiver fails and imports whose giver fails, at each step: the error
 * comes through, and nothing is half-made
 */
#include "base/base.h"
#include "suite.h"

#include <errno.h>

static const struct blm_params stock[] = {
	BLM_PARAMS(.kind = "bitmap", .cells = 9000),
	BLM_PARAMS(.kind = "classic", .capacity = 1000, .rate = 0.001),
	BLM_PARAMS(.kind = "classic", .capacity = 1000, .rate = 0.001, .hash = "mm3-64",
		   .probes = 7),
	BLM_PARAMS(.kind = "classic", .capacity = 1000, .rate = 0.001, .hash = "md5"),
	BLM_PARAMS(.kind = "split-block", .capacity = 1000, .rate = 0.001, .hash = "xxh64"),
	BLM_PARAMS(.kind = "blocked", .capacity = 1000, .rate = 0.001),
	BLM_PARAMS(.kind = "counting", .capacity = 1000, .rate = 0.001),
};

/* For kinds that are made from all their keys. */
static struct blm_filter *built(const struct blm_params *params)
{
	struct blm_filter *f = NULL;
	struct blm_build *b;

	if (blm_build_begin(&b, NULL, NULL, params, NULL) < 0)
		return NULL;
	for (int key = 0; key < 300; key++)
		OK(blm_build_add_many(b, &(struct blm_key){ &key, sizeof(key) }, 1));
	OK(blm_build_finish(b, &f));
	return f;
}

/*
 * The i-th filter to try with this format; NULL: it is none that can be made. false: there are no
 * more.
 */
static bool filter_for(struct blm_filter **ret, const struct blm_format_info *format, unsigned i)
{
	struct blm_params own = BLM_PARAMS(.capacity = 1000, .rate = 0.001, .format = format->name);

	*ret = NULL;
	if (i > ARRAY_LEN(stock))
		return false;
	if (i == 0 && !format->planned)
		return true;
	if (blm_create(ret, NULL, NULL, i ? &stock[i - 1] : &own) < 0)
		*ret = i ? NULL : built(&own);
	for (int key = 0; *ret && key < 300; key++) {
		char text[16];

		snprintf(text, sizeof(text), "%d", key);
		if (blm_add(*ret, text, strlen(text)) < 0)
			break;
	}
	return true;
}

struct end {
	unsigned calls, fails_at;	/* from 1; 0: never */
	uint8_t *bytes;
	size_t count, capacity, at, step;
};

static int take(void *context, const void *bytes, size_t count)
{
	struct end *e = context;

	if (++e->calls == e->fails_at)
		return -EIO;
	if (!e->bytes || e->count + count > e->capacity) {
		e->capacity = 2 * (e->count + count) + 1;
		e->bytes = realloc(e->bytes, e->capacity);
	}
	memcpy(e->bytes + e->count, bytes, count);
	e->count += count;
	return 0;
}

static int64_t give(void *context, void *buffer, size_t bytes)
{
	struct end *e = context;
	size_t some = e->count - e->at < e->step ? e->count - e->at : e->step;

	if (++e->calls == e->fails_at)
		return -EIO;
	some = some < bytes ? some : bytes;
	memcpy(buffer, e->bytes + e->at, some);
	e->at += some;
	return (int64_t)some;
}

/* Each of the first calls fails, and later one in a certain number. */
static unsigned next_failure(unsigned n, unsigned calls)
{
	bool few = SANITIZED || test_scale() < 1;

	return n < (few ? 4 : 12) ? n + 1 : n + 1 + calls / (few ? 2 : 8);
}

static void try_export(const struct blm_filter *f, const struct blm_exchange *how)
{
	struct end all = { 0 };

	if (blm_export(f, how, take, &all) < 0)
		return;
	for (unsigned n = 1; n <= all.calls; n = next_failure(n, all.calls)) {
		struct end e = { .fails_at = n };

		FAILS(blm_export(f, how, take, &e), -EIO);
		ck_assert(e.count <= all.count
			  && (!e.count || !memcmp(e.bytes, all.bytes, e.count)));
		free(e.bytes);
	}
	free(all.bytes);
}

static void try_import(const struct blm_filter *f, const struct blm_exchange *how)
{
	struct blm_exchange back = *how;
	struct end all = { 0 }, whole;
	struct blm_filter *g;
	struct blm_info info = BLM_INFO;

	if (blm_export(f, how, take, &all) < 0)
		return;
	OK(blm_info(f, &info));
	back.hash = info.hash;
	back.cells = info.cells;
	back.probes = info.probes;
	whole = (struct end){ .bytes = all.bytes, .count = all.count, .step = 1000 };
	if (blm_import(&g, NULL, NULL, &back, give, &whole) == 0) {
		blm_close(g);
		for (unsigned n = 1; n <= whole.calls; n = next_failure(n, whole.calls)) {
			struct end e = {
				.bytes = all.bytes, .count = all.count, .step = 1000, .fails_at = n
			};

			FAILS(blm_import(&g, NULL, a_path(), &back, give, &e), -EIO);
		}
	}
	free(all.bytes);
}

static void each_filter(int i, void (*try)(const struct blm_filter *, const struct blm_exchange *))
{
	struct blm_format_info format;
	struct blm_filter *f;

	OK(blm_format_list((size_t)i, &format));
	for (unsigned n = 0; filter_for(&f, &format, n); n++) {
		/* with a share of the work, every third filter as text */
		bool as_text = test_scale() == 1 || (n + (unsigned)i) % 3 == 0;

		for (int text = 0; f && text < 1 + as_text; text++)
			try(f, &BLM_EXCHANGE(.format = format.name, .base64 = text));
		if (f && !strcmp(format.name, "redisbloom"))
			try_export(f, &BLM_EXCHANGE(.format = format.name, .redis_key = "key"));
		blm_close(f);
	}
}

START_TEST(an_export_returns_its_receivers_error_at_any_step)
{
	each_filter(_i, try_export);
}
END_TEST

START_TEST(an_import_returns_its_sources_error_at_any_step)
{
	int before = entries_of(test_dir);

	each_filter(_i, try_import);
	ck_assert_int_eq(entries_of(test_dir), before);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("format ends");
	TCase *tc = tcase_create("ends");
	struct blm_format_info format;
	int formats = 0;

	while (blm_format_list((size_t)formats, &format) == 0)
		formats++;
	tcase_add_loop_test(
		tc, an_export_returns_its_receivers_error_at_any_step, 0,
		formats);
	tcase_add_loop_test(tc,
			    an_import_returns_its_sources_error_at_any_step,
			    0, formats);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
