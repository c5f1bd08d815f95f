/*
 * lmdb_snapshot.h - a snapshot of LMDB's data.mdb, read page by page without LMDB and without trust
 * in any number
 *
 * The format is that of LMDB 0.9, data version 1, on a machine of 64 bits; see "Internal Database
 * Structures" in its mdb.c. A page is copied first and then checked, so a page that is damaged, or
 * that another process overwrites during the copy, is an error and never a crash.
 *
 * A snapshot is the tree of one of the two meta pages. It needs no lock:
 *   1. Transaction N writes its meta page into slot N % 2, so it overwrites the slot of N - 2.
 *   2. Without LMDB's table of readers, transaction N reuses pages that N - 2 or earlier freed
 *      (mdb_find_oldest() is N - 1). These pages are in no snapshot from N - 2 on.
 *   3. So the pages of snapshot N are first overwritten by transaction N + 3, which begins after N
 *      + 2 has overwritten the slot of N.
 *   4. Therefore all pages that were read belong to one snapshot, if the slot has the same bytes
 *      after the last read as before the first.
 */
#ifndef BLM_CATALOG_SNAPSHOT_H
#define BLM_CATALOG_SNAPSHOT_H

#include "base/base.h"

#include <lmdb.h>

enum { BLM_TREE_DEPTH = 16, BLM_TREE_KEY = 511, BLM_PAGE_HEAD = 16, BLM_NODE_HEAD = 8 };
/* Bits of blm_page_head.flags, and of blm_node.flags. */
enum { BLM_PAGE_BRANCH = 1, BLM_PAGE_LEAF = 2, BLM_PAGE_OVERFLOW = 4, BLM_PAGE_META = 8 };
enum { BLM_NODE_BIG = 1, BLM_NODE_TABLE = 2 };
#define BLM_NO_ROOT UINT64_MAX

struct blm_page_head {
	uint64_t number;
	uint16_t pad, flags;
	union {
		struct { uint16_t lower, upper; };
		uint32_t pages;		/* of BLM_PAGE_OVERFLOW */
	};
};
static_assert(sizeof(struct blm_page_head) == BLM_PAGE_HEAD, "LMDB's struct MDB_page");

/* low, high: of the size of the value; of a branch's child, with flags above them. */
struct blm_node {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint16_t low, high;
#else
	uint16_t high, low;
#endif
	uint16_t flags, key_bytes;
};
static_assert(sizeof(struct blm_node) == BLM_NODE_HEAD, "LMDB's struct MDB_node");

struct blm_table {
	uint32_t pad;
	uint16_t flags, depth;
	uint64_t branches, leaves, overflows, entries, root;
};
static_assert(sizeof(struct blm_table) == 48, "LMDB's struct MDB_db");

struct blm_meta {
	uint32_t magic, version;
	uint64_t address, map_bytes;
	struct blm_table free, main;
	uint64_t last, txn;
};
static_assert(sizeof(struct blm_meta) == 136, "LMDB's struct MDB_meta");

struct blm_snapshot {
	int fd;
	unsigned slot;
	uint32_t page_bytes;
	uint64_t in_file, pages;	/* pages that the file has; below `pages` a tree may lead */
	struct blm_meta meta;
	/* a tree's path: the page at each depth, and the node that is looked at */
	struct blm_level {
		struct blm_page_head *page;
		unsigned at;
	} level[2 * BLM_TREE_DEPTH];
	uint16_t *sizes;		/* of the nodes of a page that is checked */
	uint8_t *value;			/* the last value that has pages of its own */
	const char *wrong;		/* the damage, and its page */
	uint64_t where;
};

/*
 * Each returns 0, an errno, or a code of LMDB: MDB_CORRUPTED with `wrong`. end: also after a begin
 * that failed.
 */
int blm_snapshot_begin(struct blm_snapshot *ret, int fd);
void blm_snapshot_end(struct blm_snapshot *p);
bool blm_snapshot_hold(const struct blm_snapshot *p);	/* did all reads see one snapshot? */

int blm_snapshot_damaged(struct blm_snapshot *p, uint64_t page, const char *wrong);

/*
 * The page in p->level[level]. It was checked whole: each of its nodes, with its key and the value
 * in it, is within the page.
 */
int blm_snapshot_load(struct blm_snapshot *p, unsigned level, uint64_t page, unsigned sort);
unsigned blm_page_nodes(const struct blm_page_head *page);
const struct blm_node *blm_page_node(const struct blm_page_head *page, unsigned i);
uint64_t blm_node_child(const struct blm_node *node);

static inline const uint8_t *blm_node_key(const struct blm_node *node)
{
	return (const uint8_t *)(node + 1);
}

static inline size_t blm_node_bytes(const struct blm_node *node)	/* of its value */
{
	return (size_t)node->low | (size_t)node->high << 16;
}

/*
 * The first page of a node with BLM_NODE_BIG, and how many. And the value of any node, which stays
 * until the next is read.
 */
int blm_snapshot_big(struct blm_snapshot *p, const struct blm_node *node, uint64_t *ret_page,
		     uint64_t *ret_pages);
int blm_snapshot_value(struct blm_snapshot *p, const struct blm_node *node, MDB_val *ret);

/* An entry of a table; the value stays until the next call. */
struct blm_found {
	uint8_t key[BLM_TREE_KEY + 1];
	size_t key_bytes;
	MDB_val value;
};
int blm_snapshot_table(struct blm_snapshot *p, const char *name, struct blm_table *ret);
/*
 * The entry of that key; the first entry at or after it; and the entry after that. MDB_NOTFOUND if
 * there is none.
 */
int blm_snapshot_get(struct blm_snapshot *p, const struct blm_table *table, const void *key,
		     size_t bytes, struct blm_found *ret);
int blm_snapshot_seek(struct blm_snapshot *p, const struct blm_table *table, const void *key,
		      size_t bytes, struct blm_found *ret);
int blm_snapshot_next(struct blm_snapshot *p, const struct blm_table *table, struct blm_found *at);

/*
 * lmdb_check.c: walk at most `most` pages of the trees. After a walk of all pages LMDB can read and
 * write the file.
 */
int blm_snapshot_walk(struct blm_snapshot *p, uint64_t most);

#endif
