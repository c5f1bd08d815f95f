/*
 * inject_filters.c - inject.c's cases of filters of bits: made, opened, asked, given keys,
 * combined, replaced
 */
#include "inject.h"
#include "interpose.h"
#include "../powers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static int create(struct world *w)
{
	return blm_create(&w->made, w->store, new_name(w), &small);
}

static int create_or_open(struct world *w)
{
	int r = blm_open_or_create(&w->made, w->store, new_name(w), &small);

	return r == BLM_CREATED || r == BLM_OPENED ? 0 : r < 0 ? r : -EILSEQ;
}

static int create_keyed(struct world *w)
{
	return blm_create(&w->made, w->store, new_name(w), &keyed);
}

/* Made before, and lost: its secret's line is still there. */
static void leave_secret(struct world *w)
{
	FIXTURE(blm_create(NULL, NULL, "new", &keyed));
	FIXTURE(unlink("new"));
}

/* Without an end: the next data is another line. */
static void leave_line(struct world *w)
{
	int fd = open("new.key", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	FIXTURE(write(fd, "another's", 9) == 9 ? 0 : -EIO);
	close(fd);
}

static int create_with_new_secret(struct world *w)
{
	return blm_create(&w->made, w->store, new_name(w),
			  &BLM_PARAMS(.capacity = 600, .hash = "siphash", .mode = 0640));
}

static int create_sparse(struct world *w)
{
	return blm_create(&w->made, w->store, new_name(w),
			  &BLM_PARAMS(.capacity = 600, .rate = 0.0001, .sparse = true));
}

static int create_many(struct world *w)
{
	return blm_create_many(w->store, (const char *[]){ new_name(w) }, 1, &keyed);
}

static int create_over(struct world *w)
{
	return blm_create(&w->made, w->store, "a",
			  &BLM_PARAMS(.capacity = 600, .rate = 0.0001, .replace = true));
}

int open_to_read(struct world *w)
{
	return blm_open(&w->made, w->store, "a", 0);
}

int open_to_write(struct world *w)
{
	return blm_open(&w->made, w->store, "a", BLM_OPEN_WRITE);
}

static int open_keyed(struct world *w)
{
	return blm_open(&w->made, w->store, "keyed", BLM_OPEN_WRITE);
}

static int open_with_secret(struct world *w)
{
	return blm_open_keyed(&w->made, w->store, "keyed", BLM_OPEN_WRITE, keyed.secret);
}

int add(struct world *w)
{
	return add_keys(w->f, 0, KEYS);
}

static int add_and_sync(struct world *w)
{
	int r = blm_sync_every(w->f, 1, 0);

	return r < 0 ? r : blm_add(w->f, "one more", 8);
}

static int claim(struct world *w)
{
	return (int)blm_claim_many(w->f, &(struct blm_key){ "one more", 8 }, 1, NULL);
}

int ask(struct world *w)
{
	return holds(w->f, 0, KEYS) == KEYS ? 0 : -EILSEQ;
}

static int load(struct world *w)
{
	return blm_load(w->f, BLM_LOCK | BLM_SMALL_PAGES);
}

int sync_it(struct world *w)
{
	return blm_sync(w->f);
}

static int info(struct world *w)
{
	struct blm_info *info = &BLM_INFO;

	return blm_info(w->f, info);
}

static int estimate(struct world *w)
{
	struct blm_estimate e;

	return blm_estimate(w->f, true, &e);
}

static int compare(struct world *w)
{
	struct blm_comparison c;

	return blm_compare(w->f, w->g, &c);
}

int unite_raw(struct world *w)
{
	uint8_t raw[64];
	int r = blm_data_read(w->f, 0, raw, sizeof(raw));

	return r < 0 ? r : blm_data_unite(w->f, 0, raw, sizeof(raw));
}

static int map_data(struct world *w)
{
	const void *data;
	size_t bytes;
	int r = blm_data_map(w->f, &data, &bytes);

	if (r == 0)
		blm_data_unmap(w->f, data);
	return r;
}

static int template(struct world *w)
{
	return blm_template(&w->made, w->store, new_name(w), w->f, 0);
}

int copy(struct world *w)
{
	return blm_copy(&w->made, w->store, new_name(w), w->f, 0600);
}

static int combine(struct world *w, enum blm_op op)
{
	const struct blm_filter *two[] = { w->f, w->g };
	double rate;

	return blm_combine(&w->made, w->store, new_name(w), op, two, 2, 0.5, &rate);
}

static int unite(struct world *w)
{
	return combine(w, BLM_UNION);
}

static int intersect(struct world *w)
{
	return combine(w, BLM_INTERSECT);
}

int unite_into(struct world *w)
{
	return blm_combine_into(w->f, BLM_UNION, (const struct blm_filter *const[]){ w->g }, 1, 0,
				NULL);
}

/* What it would be is looked at before anything is changed. */
static int unite_into_judged(struct world *w)
{
	return blm_combine_into(w->f, BLM_UNION, (const struct blm_filter *const[]){ w->g }, 1, 0.5,
				NULL);
}

static int intersect_into(struct world *w)
{
	return blm_combine_into(w->f, BLM_INTERSECT, (const struct blm_filter *const[]){ w->g }, 1,
				0, NULL);
}

int clear(struct world *w)
{
	return blm_clear(w->f);
}

int seal(struct world *w)
{
	return blm_seal(w->f);
}

static int fill_with_second(struct blm_filter *new, void *context)
{
	return add_keys(new, COMMON, 300);
}

int rebuild(struct world *w)
{
	return blm_rebuild(w->store, "a", &BLM_PARAMS(.capacity = 800), fill_with_second, NULL);
}

/* All keys of b. Cancelled where adding fails, as it must be. */
static int build_at(struct world *w, const char *name, bool over, struct blm_filter **ret)
{
	const struct blm_params params = BLM_PARAMS(.capacity = 600, .rate = 0.0001,
						    .replace = over);
	struct blm_build *b;
	int r = blm_build_begin(&b, w->store, name, &params, NULL);

	for (int i = COMMON; r >= 0 && i < 300; i++) {
		char key[16];

		key_of(i, key);
		r = blm_build_add_many(b, &(struct blm_key){ key, strlen(key) }, 1);
		if (r < 0)
			blm_build_cancel(b);
	}
	return r < 0 ? r : blm_build_finish(b, ret);
}

static int build(struct world *w)
{
	return build_at(w, new_name(w), false, &w->made);
}

static int build_over(struct world *w)
{
	return build_at(w, "a", true, NULL);
}

/* As many keys as are in both. */
static void unite_before(struct world *w)
{
	FIXTURE(unite_into(w));
}

static int count_estimated(struct world *w)
{
	uint64_t keys = 0;
	bool estimated = false;
	int r = blm_count(w->f, &keys, &estimated);

	return r == 0 && (!estimated || keys < 290 || keys > 310) ? -EILSEQ : r;
}

void make_replacement(struct world *w)
{
	struct blm_filter *f;

	FIXTURE(blm_open(&f, w->store, "a", BLM_OPEN_WRITE));
	FIXTURE(blm_combine_into(f, BLM_INTERSECT, (const struct blm_filter *const[]){ f }, 1, 0,
				 NULL));
	blm_close(f);
}

static void fork_and_replace(struct world *w)
{
	fork_it(w);
	make_replacement(w);
}

/*
 * Another's, whom what takes its place is given to. Only root can; for others it stays their own.
 */
static void give_away(struct world *w)
{
	struct blm_info info = BLM_INFO;

	FIXTURE(blm_info(w->f, &info));
	if (!cannot_give_away(65534, 65534))
		FIXTURE(chown(info.path, 65534, 65534));
}

static const char list_name[] = "system.posix_acl_access";

/*
 * Another user may read and write, the group nothing. Where the file system has no such lists it is
 * as any other.
 */
static void list_rights(struct world *w)
{
	const struct {
		uint32_t version;
		struct { uint16_t tag, rights; uint32_t id; } of[5];
	} list = { htole32(2),
		   {
			   { htole16(1), htole16(6), UINT32_MAX },
			   { htole16(2), htole16(6), htole32(64001) },
			   { htole16(4), 0, UINT32_MAX },
			   { htole16(16), htole16(6), UINT32_MAX },
			   { htole16(32), 0, UINT32_MAX },
		   } };
	struct blm_info info = BLM_INFO;

	FIXTURE(blm_info(w->f, &info));
	if (setxattr(info.path, list_name, &list, sizeof(list), 0) < 0)
		FIXTURE(errno == EOPNOTSUPP ? chmod(info.path, 0600) : -errno);
}

/*
 * With its access list, or without any rights for the group: the group bits of the mode would
 * otherwise be what the list gives another user.
 */
static int clear_with_list(struct world *w)
{
	int r = clear(w);
	bool armed = fault.armed;
	struct blm_info info = BLM_INFO;
	struct stat st;

	fault.armed = false;
	if (blm_info(w->f, &info) == 0 && stat(info.path, &st) == 0 && st.st_mode & 070
	    && getxattr(info.path, list_name, NULL, 0) < 0)
		r = -EILSEQ;
	fault.armed = armed;
	return r;
}

const struct one_case filters_cases[] = {
	{ "create", EVERYWHERE, create, NULL, 0, EMPTY },
	{ "create-or-open", EVERYWHERE, create_or_open, NULL, 0, EMPTY },
	{ "create-keyed", EVERYWHERE, create_keyed, NULL, 0, EMPTY },
	{ "create-secret", EVERYWHERE, create_with_new_secret, NULL, 0, EMPTY },
	{ "create-keyed-again", IN_PATH, create_keyed, leave_secret, 0, EMPTY },
	{ "create-keyed-behind-a-line", IN_PATH, create_keyed, leave_line, 0, EMPTY },
	{ "create-sparse", EVERYWHERE, create_sparse, NULL, 0, EMPTY },
	{ "create-many", IN_STORE, create_many, NULL, 0, EMPTY },
	{ "create-over", IN_PATH | IN_STORE, create_over, NULL, EMPTY, 0 },
	{ "open-read", IN_PATH | IN_STORE, open_to_read, NULL, 0, 0 },
	{ "open-write", IN_PATH | IN_STORE, open_to_write, NULL, 0, 0 },
	{ "open-keyed", IN_PATH | IN_STORE, open_keyed, NULL, 0, 0 },
	{ "open-secret", IN_PATH | IN_STORE, open_with_secret, NULL, 0, 0 },
	{ "add", EVERYWHERE | OPEN_F, add, NULL, 0, 0 },
	{ "add-and-sync", IN_PATH | IN_STORE | OPEN_F, add_and_sync, NULL, 0, 0 },
	{ "add-to-replaced", IN_PATH | IN_STORE | OPEN_F, add, make_replacement, 0, 0 },
	{ "claim", EVERYWHERE | OPEN_F, claim, NULL, 0, 0 },
	{ "claim-in-replaced", IN_PATH | IN_STORE | OPEN_F, claim, make_replacement, 0, 0 },
	{ "add-in-child", IN_PATH | IN_STORE | OPEN_F | FORKED, add, fork_it, 0, 0 },
	{ "claim-in-child", IN_PATH | IN_STORE | OPEN_F | FORKED, claim, fork_it, 0, 0 },
	{ "add-to-replaced-in-child", IN_PATH | IN_STORE | OPEN_F | FORKED, add, fork_and_replace,
	  0, 0 },
	{ "claim-in-replaced-in-child", IN_PATH | IN_STORE | OPEN_F | FORKED, claim,
	  fork_and_replace, 0, 0 },
	{ "contains", EVERYWHERE | OPEN_F | READ_F, ask, NULL, 0, 0 },
	{ "contains-in-replaced", IN_PATH | IN_STORE | OPEN_F | READ_F, ask, make_replacement, 0,
	  0 },
	{ "load", EVERYWHERE | OPEN_F | READ_F, load, NULL, 0, 0 },
	{ "sync", EVERYWHERE | OPEN_F, sync_it, NULL, 0, 0 },
	{ "sync-in-child", IN_PATH | IN_STORE | OPEN_F | FORKED, sync_it, fork_it, 0, 0 },
	{ "sync-replaced-in-child", IN_PATH | IN_STORE | OPEN_F | FORKED, sync_it, fork_and_replace,
	  0, 0 },
	{ "clear-in-child", IN_PATH | IN_STORE | OPEN_F | FORKED, clear, fork_it, EMPTY, 0 },
	{ "info", EVERYWHERE | OPEN_F, info, NULL, 0, 0 },
	{ "estimate", EVERYWHERE | OPEN_F, estimate, NULL, 0, 0 },
	{ "compare", IN_PATH | OPEN_F | OPEN_G, compare, NULL, 0, 0 },
	{ "count", IN_PATH | OPEN_F | OPEN_G, count_estimated, unite_before, BOTH, 0 },
	{ "data", IN_PATH | IN_STORE | OPEN_F, unite_raw, NULL, 0, 0 },
	{ "data-map", EVERYWHERE | OPEN_F | READ_F, map_data, NULL, 0, 0 },
	{ "data-map-of-replaced", IN_PATH | IN_STORE | OPEN_F | READ_F, map_data, make_replacement,
	  0, 0 },
	{ "template", EVERYWHERE | OPEN_F, template, NULL, 0, EMPTY },
	{ "copy", EVERYWHERE | OPEN_F, copy, NULL, 0, FIRST },
	{ "union", EVERYWHERE | OPEN_F | OPEN_G, unite, NULL, 0, BOTH },
	{ "intersection", EVERYWHERE | OPEN_F | OPEN_G, intersect, NULL, 0, SHARED },
	{ "union-into", EVERYWHERE | OPEN_F | OPEN_G, unite_into, NULL, BOTH, 0 },
	{ "union-into-judged", IN_PATH | OPEN_F | OPEN_G, unite_into_judged, NULL, BOTH, 0 },
	{ "intersection-into", EVERYWHERE | OPEN_F | OPEN_G, intersect_into, NULL, SHARED, 0 },
	{ "clear", EVERYWHERE | OPEN_F, clear, NULL, EMPTY, 0 },
	{ "clear-anothers", IN_PATH | IN_STORE | OPEN_F, clear, give_away, EMPTY, 0 },
	{ "clear-with-list-of-rights", IN_PATH | IN_STORE | OPEN_F, clear_with_list, list_rights,
	  EMPTY, 0 },
	{ "seal", EVERYWHERE | OPEN_F | SEALS, seal, NULL, FIRST, 0 },
	{ "rebuild", IN_PATH | IN_STORE, rebuild, NULL, SECOND, 0 },
	{ "rebuild-open", IN_STORE | OPEN_F, rebuild, NULL, SECOND, 0 },
	{ "build", EVERYWHERE, build, NULL, 0, SECOND },
	{ "build-over", IN_PATH | IN_STORE, build_over, NULL, SECOND, 0 },
	{ .name = NULL },
};
