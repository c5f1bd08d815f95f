/* inject_stores.c - inject.c's cases of stores: names, checks, repairs */
#include "inject.h"
#include "catalog/catalog.h"
#include "place/store_dir.h"

#include <fcntl.h>
#include <unistd.h>

static int publish(struct world *w)
{
	return blm_store_publish(w->store, "new", w->f, 0, BLM_PUBLISH_WRITABLE);
}

static int publish_over(struct world *w)
{
	return blm_store_publish(w->store, "a", w->g, 0, BLM_PUBLISH_WRITABLE);
}

static int rename_it(struct world *w)
{
	return blm_store_rename(w->store, "a", "new");
}

int drop(struct world *w)
{
	return blm_store_drop(w->store, "a");
}

/* "a" can no longer be opened. */
static void cut_filter(struct world *w)
{
	struct blm_info *what = &BLM_INFO;
	struct blm_filter *f;

	FIXTURE(blm_open(&f, w->store, "a", 0));
	FIXTURE(blm_info(f, what));
	blm_close(f);
	FIXTURE(truncate(what->path, 20000));
}

static int label(struct world *w)
{
	return blm_store_label(w->store, "a", "of", "new");
}

static int find(struct world *w)
{
	struct blm_info *info = &BLM_INFO;
	int r = blm_store_find(w->store, "a", info);

	return r < 0 ? r : blm_store_refresh(w->store, info);
}

static int list(struct world *w)
{
	int n = 0, r = blm_store_list(w->store, NULL, count_one, &n);

	return r == 0 && n != 3 ? -EILSEQ : r;
}

int verify(struct world *w)
{
	return blm_verify(w->store, "a", 0, NULL, NULL);
}

/* Damage the only block of "a", as a failing disk would. */
static void damage(struct world *w)
{
	struct blm_info *what = &BLM_INFO;
	struct blm_store *store = NULL;
	struct blm_filter *f;
	uint8_t zeros[64] = { 0 };
	int fd;

	if (w->where == STORE)
		FIXTURE(blm_store_open(&store, "s", 0));
	FIXTURE(blm_open(&f, store, "a", BLM_OPEN_WRITE));
	FIXTURE(blm_sync(f));
	FIXTURE(blm_info(f, what));
	blm_close(f);
	blm_store_close(store);
	fd = open(what->path, O_RDWR | O_CLOEXEC);
	FIXTURE(pwrite(fd, zeros, sizeof(zeros), (off_t)(what->bytes - what->data_bytes)));
	close(fd);
}

static int verify_damaged(struct world *w)
{
	return blm_verify(w->store, "a", BLM_VERIFY_REPAIR, NULL, NULL);
}

static int open_new_store(struct world *w)
{
	return blm_store_open(&w->store, "fresh/s", BLM_STORE_CREATE);
}

static int open_store(struct world *w)
{
	return blm_store_open(&w->store, "s", 0);
}

static int open_store_to_read(struct world *w)
{
	return blm_store_open(&w->store, "s", BLM_STORE_READ);
}

int verify_store(struct world *w)
{
	return blm_store_verify("s", 0, NULL, NULL);
}

static void lose_catalog(struct world *w)
{
	unlink("s/catalog/data.mdb");
}

static void cut_catalog(struct world *w)
{
	FIXTURE(truncate("s/catalog/data.mdb", 8192));
}

static void copy_file(const char *from, const char *to)
{
	static char bytes[1 << 20];
	int in = open(from, O_RDONLY | O_CLOEXEC),
	    out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ssize_t n = read(in, bytes, sizeof(bytes));

	FIXTURE(n > 0 && write(out, bytes, (size_t)n) == n ? 0 : -EIO);
	close(in);
	close(out);
}

/*
 * An empty filter that the catalog knows, and one with keys that it does not know, since it was put
 * back.
 */
static void put_catalog_back(struct world *w)
{
	struct blm_store *store;

	FIXTURE(blm_store_open(&store, "s", 0));
	FIXTURE(blm_create(NULL, store, "unused", &small));
	blm_store_close(store);
	copy_file("s/catalog/data.mdb", "saved");
	FIXTURE(blm_store_open(&store, "s", 0));
	make_filter(store, "new", &small, 0, KEYS);
	blm_store_close(store);
	copy_file("saved", "s/catalog/data.mdb");
}

/* A file that was never used, which the catalog that was put back does not know. */
static void leave_stray(struct world *w)
{
	struct blm_store *store;

	copy_file("s/catalog/data.mdb", "saved");
	FIXTURE(blm_store_open(&store, "s", 0));
	FIXTURE(blm_create(NULL, store, "unused", &small));
	blm_store_close(store);
	copy_file("saved", "s/catalog/data.mdb");
}

/* The record of "a" and its file disagree. */
static void spoil_record(struct world *w)
{
	struct blm_entry *entry = __builtin_alloca(sizeof(*entry));
	struct blm_store *store;

	FIXTURE(blm_store_open(&store, "s", 0));
	FIXTURE(blm_catalog_get(store->catalog, "a", entry));
	entry->constant.template.probes = htole32(3);
	FIXTURE(blm_catalog_put(store->catalog, "a", entry, BLM_PUT_OVER));
	blm_store_close(store);
}

int repair_store(struct world *w)
{
	return blm_store_verify("s", BLM_VERIFY_REPAIR, NULL, NULL);
}

static const uint8_t own_secret[] = "fifteen and one.";

static void make_keyed(struct blm_store *store)
{
	struct blm_params params = keyed;

	params.secret = own_secret;
	params.replace = true;
	make_filter(store, "a", &params, 0, KEYS);
}

/* "a" with a secret that no other filter has. */
static void as_keyed(struct world *w)
{
	make_keyed(w->store);
}

static void name_of_secret(const uint8_t *secret, char ret[32])
{
	uint8_t id[8];
	int at = sprintf(ret, "s/keys/");

	blm_key_id(secret, id);
	for (int i = 0; i < 8; i++)
		at += sprintf(ret + at, "%02x", id[i]);
}

/* The secrets of "a" and "keyed" have each other's name. */
static void exchange_secrets(struct world *w)
{
	char of_a[32], of_keyed[32];
	struct blm_store *store;

	FIXTURE(blm_store_open(&store, "s", 0));
	make_keyed(store);
	blm_store_close(store);
	name_of_secret(own_secret, of_a);
	name_of_secret(keyed.secret, of_keyed);
	FIXTURE(renameat2(AT_FDCWD, of_a, AT_FDCWD, of_keyed, RENAME_EXCHANGE));
}

const struct one_case stores_cases[] = {
	{ "find-in-child", IN_STORE | FORKED, find, fork_it, 0, 0 },
	{ "publish", IN_STORE | OPEN_F, publish, NULL, 0, FIRST },
	{ "publish-over", IN_STORE | OPEN_G, publish_over, NULL, SECOND, 0 },
	{ "rename", IN_STORE | TWO_NAMES, rename_it, NULL, GONE, FIRST },
	{ "drop", IN_STORE, drop, NULL, GONE, 0 },
	{ "drop-open", IN_STORE | OPEN_F, drop, NULL, GONE, 0 },
	{ "drop-cut", IN_STORE | TWO_STEPS | KEEPS_DAMAGE, drop, cut_filter, GONE, 0 },
	{ "drop-keyed", IN_STORE | LAST_SECRET, drop, as_keyed, GONE, 0 },
	{ "drop-keyed-open", IN_STORE | OPEN_F | LAST_SECRET, drop, as_keyed, GONE, 0 },
	{ "label", IN_STORE, label, NULL, 0, 0 },
	{ "find", IN_STORE, find, NULL, 0, 0 },
	{ "list", IN_STORE, list, NULL, 0, 0 },
	{ "verify", IN_PATH | IN_STORE, verify, NULL, 0, 0 },
	{ "repair", IN_PATH | IN_STORE | TWO_STEPS, verify_damaged, damage, BOTH, 0 },
	{ "store-create", IN_STORE | NO_STORE | GIVES_STORE, open_new_store, NULL, 0, 0 },
	{ "store-open", IN_STORE | NO_STORE | GIVES_STORE, open_store, NULL, 0, 0 },
	{ "store-open-read", IN_STORE | NO_STORE | GIVES_STORE, open_store_to_read, NULL, 0, 0 },
	{ "store-verify", IN_STORE | NO_STORE, verify_store, NULL, 0, 0 },
	{ "store-repair", IN_STORE | NO_STORE | TWO_STEPS | REPAIRS, repair_store, damage, BOTH,
	  0 },
	{ "store-repair-stray", IN_STORE | NO_STORE | TWO_STEPS | REPAIRS, repair_store,
	  leave_stray, 0, 0 },
	{ "store-repair-record", IN_STORE | NO_STORE | TWO_STEPS | REPAIRS, repair_store,
	  spoil_record, 0, 0 },
	{ "store-repair-lost", IN_STORE | NO_STORE | TWO_STEPS | REPAIRS, repair_store,
	  lose_catalog, 0, 0 },
	{ "store-repair-cut", IN_STORE | NO_STORE | TWO_STEPS | REPAIRS, repair_store, cut_catalog,
	  0, 0 },
	{ "store-repair-old", IN_STORE | NO_STORE | TWO_STEPS | REPAIRS, repair_store,
	  put_catalog_back, 0, FIRST },
	{ "store-repair-secrets", IN_STORE | NO_STORE | TWO_STEPS | REPAIRS, repair_store,
	  exchange_secrets, 0, 0 },
	{ .name = NULL },
};
