/* owners.c - the owner of a filter that another user replaces */
#include "suite.h"

#include <grp.h>
#include <sys/stat.h>

enum { OWNER = 64001, OTHER = 64002, GROUP = 64003, OWN_GROUP = 64004 };

static struct blm_store *store;		/* NULL: the filters are at paths */

static const char *const names[] = { "./f", "f" };
static int where;

static void change_to(uid_t user, gid_t group, bool is_in_group)
{
	const gid_t also = GROUP;

	MUST(setgroups(is_in_group, &also) == 0 && setgid(group) == 0 && setuid(user) == 0);
}

static const char *file_of(const struct blm_filter *f)
{
	static struct blm_info info = BLM_INFO;

	OK(blm_info(f, &info));
	return info.path;
}

/* A filter of OWNER and GROUP, open for writing. */
static struct blm_filter *make_theirs(mode_t mode)
{
	struct blm_filter *f;

	make(&f, store, names[where]);
	OK(blm_add(f, "old", 3));
	OK(chown(file_of(f), OWNER, GROUP));
	OK(chmod(file_of(f), mode));
	return f;
}

static void is_whose(const struct blm_filter *f, uid_t owner, gid_t group, mode_t mode)
{
	struct stat st;

	(void)has(f, "old");	/* so that it goes over to what was put in its place */
	OK(stat(file_of(f), &st));
	ck_assert_uint_eq(st.st_uid, owner);
	ck_assert_uint_eq(st.st_gid, group);
	ck_assert_uint_eq(st.st_mode & 07777, mode);
}

static int add_one(struct blm_filter *new, void *context)
{
	return blm_add(new, "new", 3);
}

/* All that replaces a filter; 0: done. */
static int replace_it(struct blm_filter *f, int how)
{
	const struct blm_params like = BLM_PARAMS(.capacity = 100, .rate = 0.001, .replace = true);
	struct blm_filter *other;
	int r;

	switch (how) {
	case 0:
		return blm_clear(f);
	case 1:
		return blm_seal(f);
	case 2:
		return blm_rebuild(store, names[where], &like, add_one, NULL);
	case 3:
		OK(blm_copy(&other, NULL, NULL, f, 0));
		r = blm_combine_into(f, BLM_INTERSECT, (const struct blm_filter *const[]){ other },
				     1, 0, NULL);
		blm_close(other);
		return r;
	default:
		return blm_create(NULL, store, names[where], &like);
	}
}

enum { WAYS = 5 };

static void begin(int at)
{
	where = at;
	store = at ? open_store(BLM_STORE_CREATE) : NULL;
}

static int owner_adds(int unused)
{
	struct blm_store *s = NULL;
	struct blm_filter *f;

	change_to(OWNER, OWN_GROUP, false);
	MUST(!where || blm_store_open(&s, "s", BLM_STORE_READ) == 0);
	MUST(blm_open(&f, s, names[where], !where ? BLM_OPEN_WRITE : 0) == 0);
	MUST(where || blm_add(f, "owner's", 7) >= 0);
	return 0;
}

/* Why this process cannot play all of them; NULL: it can. */
static const char *why_not(void)
{
	const char *why = cannot_give_away(OWNER, GROUP);

	why = why ? why : cannot_become(OWNER, OWN_GROUP);
	return why ? why : cannot_become(OTHER, OWN_GROUP);
}

/* Also a mode without read permission, which a new file would not have. */
START_TEST(a_filter_replaced_by_root_keeps_its_owner)
{
	const mode_t mode = _i < 2 * WAYS ? 0640 : 0;
	struct blm_filter *f;

	if (why_not())
		SKIP(why_not());
	begin(_i / WAYS % 2);
	f = make_theirs(mode);
	OK(replace_it(f, _i % WAYS));
	is_whose(f, OWNER, GROUP, mode);
	if (mode && _i % WAYS != 1)
		ck_assert_int_eq(run_apart(owner_adds, 0), 0);
	blm_close(f);
	blm_store_close(store);
}
END_TEST

static int close_to_others(struct blm_filter *new, void *context)
{
	return chmod("./f", 0600) < 0 ? -errno : blm_add(new, "new", 3);
}

START_TEST(a_mode_set_during_a_rebuild_stays)
{
	const struct blm_params like = BLM_PARAMS(.capacity = 100, .rate = 0.001);
	struct blm_filter *f;
	struct stat st;

	begin(0);
	make(&f, NULL, "./f");
	OK(blm_rebuild(NULL, "./f", &like, close_to_others, NULL));
	OK(stat("./f", &st));
	ck_assert_uint_eq(st.st_mode & 07777, 0600);
	blm_close(f);
}
END_TEST

static int clear_as_owner(int is_in_group)
{
	struct blm_filter *f;

	change_to(OWNER, OWN_GROUP, is_in_group);
	MUST(blm_open(&f, NULL, "./f", BLM_OPEN_WRITE) == 0 && blm_clear(f) == 0);
	blm_close(f);
	return 0;
}

static int clear_as_another(int is_in_group)
{
	struct blm_filter *f;

	change_to(OTHER, OWN_GROUP, is_in_group);
	MUST(blm_open(&f, NULL, "./f", BLM_OPEN_WRITE) == 0 && blm_clear(f) == 0);
	blm_close(f);
	return 0;
}

static const struct {
	int (*who)(int is_in_group);
	int is_in_group;
	mode_t before, after;
	uid_t owner;
	gid_t group;
} cases[] = {
	/* the users of OWN_GROUP could not read it */
	{ clear_as_owner, 1, 0660, 0660, OWNER, GROUP },
	{ clear_as_owner, 0, 0660, 0600, OWNER, OWN_GROUP },
	{ clear_as_owner, 0, 0664, 0644, OWNER, OWN_GROUP },
	{ clear_as_owner, 0, 0604, 0600, OWNER, OWN_GROUP },	/* the users of GROUP could not */
	{ clear_as_owner, 0, 0644, 0644, OWNER, OWN_GROUP },
	{ clear_as_another, 1, 0660, 0660, OTHER, GROUP },
	{ clear_as_another, 0, 0646, 0644, OTHER, OWN_GROUP },
};

START_TEST(a_replacement_with_another_owner_grants_no_more_rights)
{
	struct blm_filter *f;

	if (why_not())
		SKIP(why_not());
	begin(0);
	OK(chmod(".", 0777));
	f = make_theirs(cases[_i].before);
	ck_assert_int_eq(run_apart(cases[_i].who, cases[_i].is_in_group), 0);
	is_whose(f, cases[_i].owner, cases[_i].group, cases[_i].after);
	blm_close(f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("owners");
	TCase *tc = tcase_create("owners");

	tcase_add_checked_fixture(tc, own_folder, NULL);
	tcase_add_loop_test(tc, a_filter_replaced_by_root_keeps_its_owner, 0, 4 * WAYS);
	tcase_add_test(tc, a_mode_set_during_a_rebuild_stays);
	tcase_add_loop_test(tc, a_replacement_with_another_owner_grants_no_more_rights, 0,
			    (int)(sizeof(cases) / sizeof(cases[0])));
	suite_add_tcase(s, tc);
	return run_suite(s);
}
