/*
 * catalog_allowlist.c - the allowlists, keys that a filter is known to find by mistake, in a table
 * of the catalog
 *
 * A key of the table is the uuid of a filter and the BLAKE2b of a listed key, and its value is the
 * listed key. So an entry checks itself, and a damaged one is not honoured. A rename does not
 * change the list. The transaction that replaces a file moves the entries that still hold to the
 * new file (allowlist_carry.c), and a drop deletes the list. allowlist.c says which caller may
 * change it when.
 */
#include "bloomery.h"
#include "catalog/env.h"

#include <sodium.h>

enum { UUID = 16, HASH = 32 };

struct listed {
	uint8_t uuid[UUID], hash[HASH];
};

/* Only for the transaction, as the table of removed filters (catalog/tombstones.c). */
static int open_list(MDB_txn *txn, unsigned flags, MDB_dbi *ret)
{
	return mdb_dbi_open(txn, "allow", flags, ret);
}

static void name(struct listed *ret, const uint8_t uuid[UUID], const struct blm_key *key)
{
	memcpy(ret->uuid, uuid, UUID);
	crypto_generichash(ret->hash, HASH, key->bytes, key->len, NULL, 0);
}

static bool is_good(const MDB_val *at, const MDB_val *value)
{
	const struct blm_key key = { value->mv_data, value->mv_size };
	struct listed by;

	if (at->mv_size != sizeof(by) || key.len > BLM_ALLOW_KEY_MAX)
		return false;
	name(&by, at->mv_data, &key);
	return !memcmp(&by, at->mv_data, sizeof(by));
}

/* ---- Look-ups: none of them changes anything ---- */

static bool is_of(const struct blm_found *at, const uint8_t uuid[UUID])
{
	return at->key_bytes >= UUID && !memcmp(at->key, uuid, UUID);
}

/* The first at `from` or behind it, of the same filter, and the table. */
static int seek(struct blm_snapshot *p, const struct listed *from, struct blm_table *ret_list,
		struct blm_found *ret)
{
	int code = blm_snapshot_table(p, "allow", ret_list);

	if (code == 0)
		code = blm_snapshot_seek(p, ret_list, from, sizeof(*from), ret);
	return code == 0 && !is_of(ret, from->uuid) ? MDB_NOTFOUND : code;
}

/* A question to a filter's list, and the answer. */
struct look {
	struct listed from;		/* from there on */
	const struct blm_key *keys;
	size_t count;
	const uint64_t *among;		/* NULL: all */
	uint64_t *ret_bits;
	uint8_t after[HASH], *ret_key;
	size_t *ret_bytes;
	int64_t found;
};

static struct look look_for(const uint8_t uuid[UUID])
{
	struct look look = { .found = 0 };

	memcpy(look.from.uuid, uuid, UUID);
	return look;
}

static int look_for_any(struct blm_catalog *c, struct blm_snapshot *p, void *context)
{
	struct look *look = context;
	struct blm_table list;
	struct blm_found at;
	int code = seek(p, &look->from, &list, &at);

	(void)c;
	look->found = code == 0;
	return code;
}

int blm_catalog_has_list(struct blm_catalog *c, const uint8_t uuid[16])
{
	struct look look = look_for(uuid);
	int r = blm_catalog_look(c, look_for_any, &look, "looking up");

	return r < 0 ? r : (int)look.found;
}

static int count_all(struct blm_catalog *c, struct blm_snapshot *p, void *context)
{
	struct look *look = context;
	struct blm_table list;
	struct blm_found at;
	int code = seek(p, &look->from, &list, &at);

	(void)c;
	look->found = 0;
	for (; code == 0 && is_of(&at, look->from.uuid); look->found++)
		code = blm_snapshot_next(p, &list, &at);
	return code;
}

int64_t blm_catalog_count_listed(struct blm_catalog *c, const uint8_t uuid[16])
{
	struct look look = look_for(uuid);
	int r = blm_catalog_look(c, count_all, &look, "counting");

	return r < 0 ? r : look.found;
}

static int look_for_keys(struct blm_catalog *c, struct blm_snapshot *p, void *context)
{
	struct look *look = context;
	struct blm_table list;
	int code = blm_snapshot_table(p, "allow", &list);

	(void)c;
	look->found = 0;
	memset(look->ret_bits, 0, (look->count + 63) / 64 * sizeof(*look->ret_bits));
	for (size_t i = 0; code == 0 && i < look->count; i++) {
		const struct blm_key *key = &look->keys[i];
		struct blm_found at;
		struct listed by;

		if (look->among && !(look->among[i / 64] >> i % 64 & 1))
			continue;
		name(&by, look->from.uuid, key);
		code = blm_snapshot_get(p, &list, &by, sizeof(by), &at);
		if (code == 0 && at.value.mv_size == key->len
		    && !memcmp(at.value.mv_data, key->bytes, key->len)) {
			look->ret_bits[i / 64] |= UINT64_C(1) << i % 64;
			look->found++;
		}
		if (code == MDB_NOTFOUND)
			code = 0;
	}
	return code;
}

int64_t blm_catalog_find_listed(struct blm_catalog *c, const uint8_t uuid[16],
				const struct blm_key *keys, size_t count,
				const uint64_t *among, uint64_t *ret_bits)
{
	struct look look = look_for(uuid);
	int r;

	look.keys = keys;
	look.count = count;
	look.among = among;
	look.ret_bits = ret_bits;
	r = blm_catalog_look(c, look_for_keys, &look, "looking up");
	return r < 0 ? r : look.found;
}

/* Makes the hash the next number. False: there is no greater one. */
static bool count_up(uint8_t hash[HASH])
{
	for (int i = HASH - 1; i >= 0; i--)
		if (++hash[i])
			return true;
	return false;
}

static int look_for_next(struct blm_catalog *c, struct blm_snapshot *p, void *context)
{
	struct look *look = context;
	struct blm_table list;
	struct blm_found at;
	int code = seek(p, &look->from, &list, &at);
	MDB_val key = { at.key_bytes, at.key };

	(void)c;
	look->found = 0;
	if (code == 0 && at.key_bytes != sizeof(look->from))
		code = MDB_CORRUPTED;
	if (code)
		return code;
	look->found = is_good(&key, &at.value) ? 1 : 2;
	if (look->found == 1) {
		*look->ret_bytes = at.value.mv_size;
		memcpy(look->ret_key, at.value.mv_data, at.value.mv_size);
	}
	memcpy(look->after, at.key + UUID, HASH);
	if (!count_up(look->after))
		/* the last number has no successor, and no key has it */
		look->found = 0;
	return 0;
}

int blm_catalog_next_listed(struct blm_catalog *c, const uint8_t uuid[16], uint8_t after[32],
			    uint8_t *ret_key, size_t *ret_bytes)
{
	struct look look = look_for(uuid);
	int r;

	memcpy(look.from.hash, after, HASH);
	look.ret_key = ret_key;
	look.ret_bytes = ret_bytes;
	r = blm_catalog_look(c, look_for_next, &look, "listing");
	if (r == 0)
		memcpy(after, look.after, HASH);
	return r < 0 ? r : (int)look.found;
}

/* ---- Changes ---- */

/* The first at `from` or behind it, of the same filter. */
static int next_of(MDB_txn *txn, MDB_dbi list, const struct listed *from, MDB_val *ret_at,
		   MDB_val *ret_value)
{
	MDB_cursor *cursor;
	int code = mdb_cursor_open(txn, list, &cursor);

	if (code)
		return code;
	*ret_at = (MDB_val){ .mv_data = (void *)from, .mv_size = sizeof(*from) };
	code = mdb_cursor_get(cursor, ret_at, ret_value, MDB_SET_RANGE);
	mdb_cursor_close(cursor);
	if (code == 0 && (ret_at->mv_size < UUID || memcmp(ret_at->mv_data, from->uuid, UUID)))
		code = MDB_NOTFOUND;
	return code;
}

struct change {
	const uint8_t *uuid;
	const struct blm_key *keys;
	size_t count;
	const uint64_t *among;		/* NULL: all */
	uint64_t *changed_bits;
	int64_t changed;
	int (*each)(void *context, size_t i);	/* called for each removed entry; or NULL */
	void *context;
};

static int put_listed(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	struct change *change = context;
	MDB_dbi list;
	int code = open_list(txn, MDB_CREATE, &list);

	change->changed = 0;
	for (size_t i = 0; code == 0 && i < change->count; i++) {
		struct listed by;
		MDB_val at = { .mv_data = &by, .mv_size = sizeof(by) };
		MDB_val value = { .mv_data = (void *)change->keys[i].bytes,
				  .mv_size = change->keys[i].len };

		if (!(change->among[i / 64] >> i % 64 & 1))
			continue;
		name(&by, change->uuid, &change->keys[i]);
		code = mdb_put(txn, list, &at, &value, MDB_NOOVERWRITE);
		change->changed += code == 0;
		if (code == MDB_KEYEXIST)
			code = 0;
	}
	return code;
}

int64_t blm_catalog_put_listed(struct blm_catalog *c, const uint8_t uuid[16],
			       const struct blm_key *keys, size_t count, const uint64_t *among)
{
	struct change change = { .uuid = uuid, .keys = keys, .count = count, .among = among };
	int r = blm_catalog_transact(c, put_listed, &change);

	return r < 0 ? r : change.changed;
}

/* Also a damaged one: a removed entry is gone. */
static int take_listed(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	struct change *change = context;
	MDB_dbi list;
	int code = open_list(txn, 0, &list);

	change->changed = 0;
	memset(change->changed_bits, 0, (change->count + 63) / 64 * sizeof(uint64_t));
	for (size_t i = 0; code == 0 && i < change->count; i++) {
		struct listed by;
		MDB_val at = { .mv_data = &by, .mv_size = sizeof(by) };

		if (change->among && !(change->among[i / 64] >> i % 64 & 1))
			continue;
		name(&by, change->uuid, &change->keys[i]);
		code = mdb_del(txn, list, &at, NULL);
		if (code == 0) {
			change->changed++;
			change->changed_bits[i / 64] |= UINT64_C(1) << i % 64;
			code = change->each ? change->each(change->context, i) : 0;
		}
		if (code == MDB_NOTFOUND)
			code = 0;
	}
	return code == MDB_NOTFOUND ? 0 : code;
}

int64_t blm_catalog_take_listed(struct blm_catalog *c, const uint8_t uuid[16],
				const struct blm_key *keys, size_t count, uint64_t *ret_bits)
{
	return blm_catalog_take_listed_with(c, uuid, keys, count, NULL, ret_bits, NULL, NULL);
}

int64_t blm_catalog_take_listed_with(struct blm_catalog *c, const uint8_t uuid[16],
				     const struct blm_key *keys, size_t count,
				     const uint64_t *among, uint64_t *ret_bits,
				     int (*each)(void *context, size_t i), void *context)
{
	struct change change = { .uuid = uuid, .keys = keys, .count = count, .among = among,
				 .changed_bits = ret_bits, .each = each, .context = context };
	int r = blm_catalog_transact(c, take_listed, &change);

	return r < 0 ? r : change.changed;
}

int blm_catalog_end_list(MDB_txn *txn, const uint8_t uuid[16])
{
	struct listed from = { .hash = { 0 } };
	MDB_val at, value;
	MDB_dbi list;
	int code = open_list(txn, 0, &list);

	memcpy(from.uuid, uuid, UUID);
	while (code == 0) {
		uint8_t copy[512];

		code = next_of(txn, list, &from, &at, &value);
		/* it is in a page that deleting changes */
		if (code == 0 && at.mv_size <= sizeof(copy)) {
			memcpy(copy, at.mv_data, at.mv_size);
			at.mv_data = copy;
			code = mdb_del(txn, list, &at, NULL);
		}
	}
	return code == MDB_NOTFOUND ? 0 : code;
}

/*
 * New entries have another uuid, so the loop does not meet them again; an entry is copied first if
 * a write moves it within its page.
 */
int blm_catalog_move_list(MDB_txn *txn, const struct blm_handover *over, const uint8_t to[16])
{
	struct listed at_new, from = { .hash = { 0 } };
	MDB_val at = { .mv_data = &from, .mv_size = sizeof(from) }, value;
	uint8_t *copy = malloc(BLM_ALLOW_KEY_MAX);
	MDB_cursor *cursor;
	MDB_dbi list;
	int code = copy ? open_list(txn, 0, &list) : ENOMEM;

	memcpy(from.uuid, over->uuid, UUID);
	memcpy(at_new.uuid, to, UUID);
	if (code == 0)
		code = mdb_cursor_open(txn, list, &cursor);
	if (code == 0) {
		code = over->keeps ? mdb_cursor_get(cursor, &at, &value, MDB_SET_RANGE)
			: MDB_NOTFOUND;
		while (code == 0 && at.mv_size >= UUID && !memcmp(at.mv_data, over->uuid, UUID)) {
			if (is_good(&at, &value) && over->keeps(over->context,
								&(struct blm_key){ value.mv_data,
									value.mv_size })) {
				memcpy(at_new.hash, (const uint8_t *)at.mv_data + UUID, HASH);
				memcpy(copy, value.mv_data, value.mv_size);
				value.mv_data = copy;
				code = mdb_put(txn, list, &(MDB_val){ .mv_data = &at_new,
					.mv_size = sizeof(at_new) }, &value, 0);
			}
			if (code == 0)
				code = mdb_cursor_get(cursor, &at, &value, MDB_NEXT);
		}
		mdb_cursor_close(cursor);
	}
	free(copy);
	return code == MDB_NOTFOUND ? 0 : code;
}

static int check_lists(struct blm_catalog *c, struct blm_snapshot *p, void *context)
{
	static const struct listed first;
	int code, *damaged = context;
	struct blm_table list;
	struct blm_found at;

	(void)c;
	*damaged = 0;
	code = blm_snapshot_table(p, "allow", &list);
	if (code == 0)
		code = blm_snapshot_seek(p, &list, &first, 0, &at);
	for (; code == 0; code = blm_snapshot_next(p, &list, &at))
		*damaged += !is_good(&(MDB_val){ at.key_bytes, at.key }, &at.value);
	return code;
}

static int repair_lists(struct blm_catalog *c, MDB_txn *txn, void *context)
{
	int *damaged = context, code;
	MDB_cursor *cursor;
	MDB_val at, value;
	MDB_dbi list;

	(void)c;
	*damaged = 0;
	code = open_list(txn, 0, &list);
	if (code == 0)
		code = mdb_cursor_open(txn, list, &cursor);
	if (code)
		return code == MDB_NOTFOUND ? 0 : code;
	while (code == 0 && (code = mdb_cursor_get(cursor, &at, &value, MDB_NEXT)) == 0)
		if (!is_good(&at, &value)) {
			(*damaged)++;
			code = mdb_cursor_del(cursor, 0);
		}
	mdb_cursor_close(cursor);
	return code == MDB_NOTFOUND ? 0 : code;
}

int blm_catalog_check_lists(struct blm_catalog *c, bool repair)
{
	int damaged = 0, r = repair ? blm_catalog_transact(c, repair_lists, &damaged)
		: blm_catalog_look(c, check_lists, &damaged, "checking lists");

	return r < 0 ? r : damaged;
}

static int end_list(struct blm_catalog *c, MDB_txn *txn, void *uuid)
{
	return blm_catalog_end_list(txn, uuid);
}

int blm_catalog_take_list(struct blm_catalog *c, const uint8_t uuid[16])
{
	return blm_catalog_transact(c, end_list, (void *)uuid);
}
