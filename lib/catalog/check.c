/*
 * check.c - is a catalog's data.mdb whole? LMDB trusts its file: of a damaged one it can make a crash
 *
 * So its pages are walked here first, with every number distrusted: each page is in its place, of its sort and used once, nodes
 * lie within their page, keys ascend, leaves are all as deep as the tree, the sums are those that it says, and no page of a
 * tree is said to be free. What LMDB then follows leads somewhere. The format is that of LMDB 0.9, data version 1, on a machine
 * of 64 bits; of others nothing is said. See "Internal Database Structures" in LMDB's mdb.c.
 */
#include "catalog/env.h"
#include "file/sigbus.h"

#include <stdio.h>
#include <sys/mman.h>

enum { META_MAGIC = 0xBEEFC0DE, DATA_VERSION = 1, PAGE_HEAD = 16, NODE_HEAD = 8, LEAST_PAGE = 512, DEPTH_MAX = 32 };
enum { BRANCH = 1, LEAF = 2, OVERFLOW = 4, SORTS = 0x2f };		/* of page_head.flags; 0x20: leaves of another make */
enum { BIG = 1, TABLE = 2, DUPLICATES = 4 };				/* of node.flags */
enum { NUMBERS = 0x08, SORTING = 0x7f };				/* of table.flags; above them are the environment's */
#define NO_PAGE UINT64_MAX

struct page_head {
	uint64_t number;
	uint16_t pad, flags;
	union {
		struct { uint16_t lower, upper; };
		uint32_t pages;		/* of OVERFLOW */
	};
};
static_assert(sizeof(struct page_head) == PAGE_HEAD, "LMDB's struct MDB_page");

struct node {				/* low, high: of the size of the value; of a branch's child, with flags above them */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint16_t low, high;
#else
	uint16_t high, low;
#endif
	uint16_t flags, key_bytes;
};
static_assert(sizeof(struct node) == NODE_HEAD, "LMDB's struct MDB_node");

struct table {
	uint32_t pad;
	uint16_t flags, depth;
	uint64_t branches, leaves, overflows, entries, root;
};
static_assert(sizeof(struct table) == 48, "LMDB's struct MDB_db");

struct meta {
	uint32_t magic, version;
	uint64_t address, map_bytes;
	struct table free, main;
	uint64_t last, txn;
};
static_assert(sizeof(struct meta) == 136, "LMDB's struct MDB_meta");

struct walk {
	const uint8_t *map;
	size_t page_bytes;
	uint64_t pages, all, left;	/* in the file; up to the last that was ever used; to be looked at */
	uint8_t *used;			/* a bit for each of all pages */
	const char *wrong;		/* NULL: nothing so far */
	uint64_t where;
};

struct tree {
	struct table seen;
	unsigned depth;
	bool numbers;			/* keys are words of 8 bytes */
	const uint8_t *key;		/* the last one, or the least that may come */
	size_t key_bytes;
	bool may_equal;
	void (*value)(struct walk *w, const struct node *node, const uint8_t *bytes, size_t count);
};

static void found(struct walk *w, uint64_t page, const char *wrong)
{
	if (!w->wrong) {
		w->wrong = wrong;
		w->where = page;
	}
}

static bool over(const struct walk *w)
{
	return w->wrong || !w->left;
}

static bool take(struct walk *w, uint64_t page)
{
	if (w->used[page / 8] >> page % 8 & 1)
		found(w, page, "used twice");
	w->used[page / 8] |= (uint8_t)(1 << page % 8);
	if (w->left)
		w->left--;
	return !w->wrong;
}

/* A page that another one or a root leads to. */
static const struct page_head *page_at(struct walk *w, uint64_t page, unsigned sort)
{
	const struct page_head *head;

	if (page < 2 || page >= w->pages) {
		found(w, page, "not in the file");
		return NULL;
	}
	head = (const struct page_head *)(w->map + page * w->page_bytes);
	if (head->number != page || (head->flags & SORTS) != sort)
		found(w, page, "not the page that it should be");
	else if (take(w, page))
		return head;
	return NULL;
}

static const struct node *node_at(struct walk *w, const struct page_head *head, unsigned i)
{
	const uint8_t *page = (const uint8_t *)head;
	uint16_t at;

	memcpy(&at, page + PAGE_HEAD + 2 * i, 2);
	if (at < head->upper || at % 2 || (size_t)at + NODE_HEAD > w->page_bytes
	    || ((const struct node *)(page + at))->key_bytes > w->page_bytes - at - NODE_HEAD) {
		found(w, head->number, "has a node that leaves it");
		return NULL;
	}
	return (const struct node *)(page + at);
}

static int compare(const struct tree *t, const uint8_t *a, size_t a_bytes)
{
	int order;

	if (t->numbers && a_bytes == 8 && t->key_bytes == 8) {
		uint64_t x, y;

		memcpy(&x, a, 8);
		memcpy(&y, t->key, 8);
		return (x > y) - (x < y);
	}
	order = memcmp(a, t->key, a_bytes < t->key_bytes ? a_bytes : t->key_bytes);
	return order ? order : (a_bytes > t->key_bytes) - (a_bytes < t->key_bytes);
}

static void next_key(struct walk *w, struct tree *t, uint64_t page, const struct node *node, bool may_equal)
{
	const uint8_t *key = (const uint8_t *)(node + 1);

	if (t->numbers && node->key_bytes != 8)
		found(w, page, "has a key that is no number");
	else if (t->key && compare(t, key, node->key_bytes) < !t->may_equal)
		found(w, page, "has keys out of their order");
	t->key = key;
	t->key_bytes = node->key_bytes;
	t->may_equal = may_equal;
}

static void walk_value(struct walk *w, struct tree *t, const struct page_head *leaf, const struct node *node)
{
	const uint8_t *bytes = (const uint8_t *)(node + 1) + node->key_bytes;
	size_t room = w->page_bytes - (size_t)(bytes - (const uint8_t *)leaf), count = (size_t)node->low | (size_t)node->high << 16;

	if (node->flags & BIG) {
		const struct page_head *head;
		uint64_t page, pages = (count + PAGE_HEAD + w->page_bytes - 1) / w->page_bytes;

		if (room < 8) {
			found(w, leaf->number, "has a value that leaves it");
			return;
		}
		memcpy(&page, bytes, 8);
		head = page_at(w, page, OVERFLOW);
		if (head && (head->pages != pages || pages > w->pages - page))
			found(w, page, "not as long as its value");
		for (uint64_t i = 1; !w->wrong && i < pages; i++)
			take(w, page + i);
		t->seen.overflows += pages;
		if (w->wrong)
			return;
		bytes = (const uint8_t *)(head + 1);
	} else if (count > room) {
		found(w, leaf->number, "has a value that leaves it");
		return;
	}
	if (t->value)
		t->value(w, node, bytes, count);
}

static void walk_page(struct walk *w, struct tree *t, uint64_t page, unsigned depth)
{
	bool leaf = depth == t->depth;
	const struct page_head *head = page_at(w, page, leaf ? LEAF : BRANCH);
	unsigned nodes;

	if (!head)
		return;
	if (head->lower < PAGE_HEAD || head->lower % 2 || head->lower > head->upper || head->upper > w->page_bytes
	    || head->lower < PAGE_HEAD + (leaf ? 2 : 4)) {
		found(w, page, "has impossible numbers in its head");
		return;
	}
	nodes = (head->lower - PAGE_HEAD) / 2;
	leaf ? t->seen.leaves++ : t->seen.branches++;
	for (unsigned i = 0; i < nodes && !over(w); i++) {
		const struct node *node = node_at(w, head, i);

		if (!node)
			return;
		if (leaf || i)
			next_key(w, t, page, node, !leaf);
		if (w->wrong)
			return;
		if (leaf) {
			t->seen.entries++;
			walk_value(w, t, head, node);
		} else {
			walk_page(w, t, (uint64_t)node->low | (uint64_t)node->high << 16 | (uint64_t)node->flags << 32, depth + 1);
		}
	}
}

static void walk_table(struct walk *w, const struct table *table, struct tree *t, const char *wrong)
{
	if (table->root == NO_PAGE) {
		if (table->depth || table->entries)
			found(w, 0, wrong);
		return;
	}
	if (!table->depth || table->depth > DEPTH_MAX) {
		found(w, 0, wrong);
		return;
	}
	t->depth = table->depth;
	walk_page(w, t, table->root, 1);
	if (!over(w) && (t->seen.branches != table->branches || t->seen.leaves != table->leaves || t->seen.overflows != table->overflows
			 || t->seen.entries != table->entries))
		found(w, table->root, wrong);
}

/* ---- What the two trees of LMDB hold ---- */

static void value_of_main(struct walk *w, const struct node *node, const uint8_t *bytes, size_t count)
{
	struct tree t = { .depth = 0 };
	struct table table;

	if (node->flags != TABLE || count != sizeof(table)) {
		found(w, 0, "holds something other than tables");
		return;
	}
	memcpy(&table, bytes, sizeof(table));
	if (table.flags)
		found(w, 0, "has a table of another sort");
	else
		walk_table(w, &table, &t, "the table of filters is not as large as it says");
}

/* A transaction's free pages: how many, then their numbers, descending. */
static void value_of_free(struct walk *w, const struct node *node, const uint8_t *bytes, size_t count)
{
	uint64_t pages, page, last = NO_PAGE;

	if (count < 8 || count % 8 || node->flags & (TABLE | DUPLICATES)) {
		found(w, 0, "the list of free pages is damaged");
		return;
	}
	memcpy(&pages, bytes, 8);
	if (pages != count / 8 - 1)
		found(w, 0, "the list of free pages is damaged");
	for (uint64_t i = 1; i <= pages && !over(w); i++, last = page) {
		memcpy(&page, bytes + 8 * i, 8);
		if (page < 2 || page >= last || page >= w->all)
			found(w, page, "is said to be free and cannot be");
		else
			take(w, page);
	}
}

/* LMDB takes the newer one, and the size of a page from it. */
static const struct meta *choose_meta(struct walk *w, uint64_t file_bytes)
{
	const struct meta *a = (const struct meta *)(w->map + PAGE_HEAD), *b;

	w->page_bytes = a->free.pad;
	if (w->page_bytes < LEAST_PAGE || w->page_bytes > 1 << 16 || w->page_bytes & (w->page_bytes - 1)) {
		found(w, 0, "has an impossible size of pages");
		return NULL;
	}
	w->pages = file_bytes / w->page_bytes;
	if (w->pages < 2) {
		found(w, 1, "is not in the file: data.mdb was cut");
		return NULL;
	}
	b = (const struct meta *)(w->map + w->page_bytes + PAGE_HEAD);
	if (b->free.pad != a->free.pad)
		found(w, 1, "has another size of pages");
	return a->txn >= b->txn ? a : b;
}

static void walk_all(struct walk *w, const struct meta *meta)
{
	struct tree main = { .value = value_of_main }, free = { .value = value_of_free, .numbers = true };

	if ((meta->free.flags & SORTING) != NUMBERS || meta->main.flags & SORTING)
		found(w, 0, "has its tables sorted otherwise");
	walk_table(w, &meta->main, &main, "the table of tables is not as large as it says");
	if (!over(w))
		walk_table(w, &meta->free, &free, "the list of free pages is not as large as it says");
}

/* A page that was used and freed within one transaction is not written: the last few may be missing, if nothing leads to them. */
static void begin(struct walk *w, const struct meta *meta, uint64_t most)
{
	enum { MISSING_MAX = 1024 };

	w->all = meta->last + 1;
	w->left = w->all > w->pages ? UINT64_MAX : most;
	if (!w->all || w->all > w->pages + MISSING_MAX)
		found(w, meta->last, "is the last, and not in the file: data.mdb was cut");
	else if (w->pages > w->all)
		w->pages = w->all;	/* what lies behind them nothing may lead to */
	w->used = w->wrong ? NULL : calloc(1, w->all / 8 + 1);
}

struct check {
	struct walk w;
	uint64_t file_bytes, most;
};

static int check(void *context)
{
	struct check *c = context;
	const struct meta *meta = (const struct meta *)(c->w.map + PAGE_HEAD);

	if (meta->magic != META_MAGIC || meta->version != DATA_VERSION)	/* LMDB refuses it */
		return 0;
	meta = choose_meta(&c->w, c->file_bytes);
	if (!c->w.wrong)
		begin(&c->w, meta, c->most);
	if (c->w.used)
		walk_all(&c->w, meta);
	return c->w.used || c->w.wrong ? 0 : -ENOMEM;
}

int blm_catalog_check(int fd, uint64_t file_bytes, uint64_t most, char ret_wrong[BLM_CATALOG_WRONG])
{
	struct check c = { .file_bytes = file_bytes, .most = most };
	void *map;
	int r;

	if (sizeof(size_t) != 8)
		return 0;
	if (file_bytes < 2 * LEAST_PAGE) {
		snprintf(ret_wrong, BLM_CATALOG_WRONG, "data.mdb was cut");
		return -EUCLEAN;
	}
	map = mmap(NULL, file_bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	c.w.map = map;
	if (!blm_sigbus_step(check, &c, &r)) {
		snprintf(ret_wrong, BLM_CATALOG_WRONG, "data.mdb was cut, or cannot be read");
		r = -EUCLEAN;
	} else if (c.w.wrong) {
		snprintf(ret_wrong, BLM_CATALOG_WRONG, "page %lld %s", (long long)c.w.where, c.w.wrong);
		r = -EUCLEAN;
	}
	munmap(map, file_bytes);
	free(c.w.used);
	return r;
}
