/*
 * newer.c - what a file of a newer release means to this one: bloomery-versioning(7), section FILES
 */
#include "suite.h"

#include "file/mapping.h"

#include <errno.h>
#include <fcntl.h>

enum { UNKNOWN = 250 };		/* no kind, family, rule, order or format has this number yet */

static void another_version(struct blm_constant *c)
{
	c->version = htole32(BLM_FORMAT_VERSION + 1);
}
static void must_understand(struct blm_constant *c) { c->must_understand = htole64(1ull << 63); }
static void may_ignore(struct blm_constant *c) { c->may_ignore = htole64(1ull << 63); }
static void kind(struct blm_constant *c) { c->template.kind = htole32(UNKNOWN); }
static void family(struct blm_constant *c) { c->template.family = htole32(UNKNOWN); }
static void index_rule(struct blm_constant *c) { c->template.index_rule = htole32(UNKNOWN); }
static void bit_order(struct blm_constant *c) { c->template.bit_order = htole32(UNKNOWN); }
static void origin(struct blm_constant *c) { c->origin = htole32(UNKNOWN); }

static const struct {
	void (*change)(struct blm_constant *c);
	int read, write;
} newer[] = {
	{ another_version, -EPROTONOSUPPORT, -EPROTONOSUPPORT },
	{ must_understand, -EPROTONOSUPPORT, -EPROTONOSUPPORT },
	{ may_ignore, 0, -EPROTONOSUPPORT },
	{ kind, -EPROTONOSUPPORT, -EPROTONOSUPPORT },
	{ family, -EPROTONOSUPPORT, -EPROTONOSUPPORT },
	{ index_rule, -EPROTONOSUPPORT, -EPROTONOSUPPORT },
	{ bit_order, -EPROTONOSUPPORT, -EPROTONOSUPPORT },
	{ origin, 0, 0 },
};

/* Writes the header as a newer release would have done. */
static void make_newer(const char *path, void (*change)(struct blm_constant *c))
{
	struct blm_constant c;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	ck_assert_int_eq((int)pread(fd, &c, sizeof(c), 0), (int)sizeof(c));
	change(&c);
	blm_template_id(&c.template, c.template_id);
	c.check = blm_check_constant(&c);
	ck_assert_int_eq((int)pwrite(fd, &c, sizeof(c), 0), (int)sizeof(c));
	close(fd);
}

static uint8_t *bytes_of(const char *path, size_t *ret)
{
	FILE *file = fopen(path, "re");
	uint8_t *bytes = malloc(1 << 20);

	ck_assert_ptr_nonnull(file);
	*ret = fread(bytes, 1, 1 << 20, file);
	ck_assert(*ret > 0 && *ret < 1 << 20);
	fclose(file);
	return bytes;
}

static void hear(void *context, const struct blm_finding *found)
{
}

static void opens(const char *path, unsigned flags, int want)
{
	struct blm_filter *f = NULL;
	int r = blm_open(&f, NULL, path, flags);

	ck_assert_msg(r == want, "%d, not %d: %s", r, want, r ? blm_error_message() : "");
	if (r == 0)
		ck_assert(blm_contains(f, "key", 3) && !blm_contains(f, "other", 5));
	blm_close(f);
}

START_TEST(a_newer_file_is_refused_or_read_as_documented)
{
	const char *path = a_path();
	struct blm_filter *f;
	uint8_t *before, *after;
	size_t bytes, then;

	OK(blm_create(&f, NULL, path, &BLM_PARAMS(.capacity = 100, .rate = 1e-9)));
	OK(blm_add(f, "key", 3));
	OK(blm_sync(f));
	blm_close(f);
	make_newer(path, newer[_i].change);
	before = bytes_of(path, &bytes);
	opens(path, 0, newer[_i].read);
	opens(path, BLM_OPEN_WRITE, newer[_i].write);
	if (newer[_i].write < 0) {
		blm_verify(NULL, path, BLM_VERIFY_REPAIR, hear, NULL);
		after = bytes_of(path, &then);
		ck_assert(then == bytes && !memcmp(before, after, bytes));
		free(after);
	}
	free(before);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("newer");
	TCase *tc = tcase_create("newer");

	tcase_add_loop_test(tc, a_newer_file_is_refused_or_read_as_documented, 0,
			    sizeof(newer) / sizeof(newer[0]));
	suite_add_tcase(s, tc);
	return run_suite(s);
}
