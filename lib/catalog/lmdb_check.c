/*
 * lmdb_check.c - is a catalog's data.mdb intact?
 *
 * LMDB trusts its file, so a damaged one can make it crash. So its pages are walked before LMDB
 * changes anything: each page is in its place, has the right type and is used once; nodes fill
 * their page; keys ascend; all leaves have the depth of the tree; the sums match; and no page of a
 * tree is listed as free. Every reference that LMDB then follows is valid.
 */
#include "catalog/env.h"

#include <stdio.h>

struct walk {
	struct blm_snapshot *p;
	uint64_t left;			/* to be looked at */
	uint8_t *used;			/* a bit for each page */
};

struct tree {
	const struct blm_table *table;
	struct blm_table seen;
	unsigned base;			/* where its levels begin in the pages' */
	bool numbers;			/* keys are words of 8 bytes */
	uint8_t key[BLM_TREE_KEY];	/* the last one, or the least that may come */
	size_t key_bytes;
	bool any_key, may_equal;
	int (*value)(struct walk *w, const struct tree *t, const struct blm_node *node);
};

static int take(struct walk *w, uint64_t page)
{
	if (w->used[page / 8] >> page % 8 & 1)
		return blm_snapshot_damaged(w->p, page, "used twice");
	w->used[page / 8] |= (uint8_t)(1 << page % 8);
	if (w->left)
		w->left--;
	return 0;
}

static int compare(const struct tree *t, const uint8_t *a, size_t a_bytes)
{
	int order;

	if (t->numbers) {
		uint64_t x, y;

		memcpy(&x, a, 8);
		memcpy(&y, t->key, 8);
		return (x > y) - (x < y);
	}
	order = memcmp(a, t->key, a_bytes < t->key_bytes ? a_bytes : t->key_bytes);
	return order ? order : (a_bytes > t->key_bytes) - (a_bytes < t->key_bytes);
}

static int next_key(struct walk *w, struct tree *t, uint64_t page, const struct blm_node *node,
		    bool may_equal)
{
	const uint8_t *key = blm_node_key(node);

	if (t->numbers && node->key_bytes != 8)
		return blm_snapshot_damaged(w->p, page, "has a key that is no number");
	if (t->any_key && compare(t, key, node->key_bytes) < !t->may_equal)
		return blm_snapshot_damaged(w->p, page, "has keys out of their order");
	memcpy(t->key, key, node->key_bytes);
	t->key_bytes = node->key_bytes;
	t->any_key = true;
	t->may_equal = may_equal;
	return 0;
}

static int walk_value(struct walk *w, struct tree *t, const struct blm_node *node)
{
	uint64_t page, pages;
	int code = 0;

	if (node->flags & BLM_NODE_BIG) {
		code = blm_snapshot_big(w->p, node, &page, &pages);
		for (uint64_t i = 0; code == 0 && i < pages; i++)
			code = take(w, page + i);
		if (code == 0)
			t->seen.overflows += pages;
	}
	return code ? code : t->value(w, t, node);
}

static int walk_page(struct walk *w, struct tree *t, uint64_t page, unsigned depth)
{
	const bool leaf = depth == t->table->depth;
	const unsigned level = t->base + depth - 1;
	const struct blm_page_head *head;
	int code = blm_snapshot_load(w->p, level, page, leaf ? BLM_PAGE_LEAF : BLM_PAGE_BRANCH);

	if (code == 0)
		code = take(w, page);
	if (code)
		return code;
	head = w->p->level[level].page;
	leaf ? t->seen.leaves++ : t->seen.branches++;
	for (unsigned i = 0; code == 0 && i < blm_page_nodes(head) && w->left; i++) {
		const struct blm_node *node = blm_page_node(head, i);

		if (leaf || i)
			code = next_key(w, t, page, node, !leaf);
		if (code)
			return code;
		if (leaf) {
			t->seen.entries++;
			code = walk_value(w, t, node);
		} else {
			code = walk_page(w, t, blm_node_child(node), depth + 1);
		}
	}
	return code;
}

static int walk_table(struct walk *w, struct tree *t, const char *wrong)
{
	const struct blm_table *table = t->table;
	int code;

	if (table->root == BLM_NO_ROOT)
		return table->depth || table->entries ? blm_snapshot_damaged(w->p, 0, wrong) : 0;
	if (!table->depth || table->depth > BLM_TREE_DEPTH)
		return blm_snapshot_damaged(w->p, 0, wrong);
	code = walk_page(w, t, table->root, 1);
	if (code == 0 && w->left && (t->seen.branches != table->branches
				     || t->seen.leaves != table->leaves
				     || t->seen.overflows != table->overflows
				     || t->seen.entries != table->entries))
		code = blm_snapshot_damaged(w->p, table->root, wrong);
	return code;
}

/* ---- The contents of the trees ---- */

static int value_of_filters(struct walk *w, const struct tree *t, const struct blm_node *node)
{
	(void)t;
	if (!(node->flags & BLM_NODE_TABLE))
		return 0;
	return blm_snapshot_damaged(w->p, 0, "has a table within a table");
}

static int value_of_main(struct walk *w, const struct tree *t, const struct blm_node *node)
{
	struct blm_table table;
	struct tree sub = { .table = &table, .base = t->table->depth, .value = value_of_filters };

	if (node->flags != BLM_NODE_TABLE || blm_node_bytes(node) != sizeof(table))
		return blm_snapshot_damaged(w->p, 0, "holds something other than tables");
	memcpy(&table, blm_node_key(node) + node->key_bytes, sizeof(table));
	if (table.flags)
		return blm_snapshot_damaged(w->p, 0, "has a table of another sort");
	return walk_table(w, &sub, "the table of filters is not as large as it says");
}

/*
 * The free pages of a transaction: their number, then the page numbers in descending order. The
 * rest of a longer allocation has none.
 */
static int value_of_free(struct walk *w, const struct tree *t, const struct blm_node *node)
{
	uint64_t pages, page, txn, last = BLM_NO_ROOT;
	MDB_val value;
	int code = blm_snapshot_value(w->p, node, &value);

	if (code)
		return code;
	memcpy(&txn, t->key, sizeof(txn));
	if (value.mv_size < 8 || value.mv_size % 8 || node->flags & BLM_NODE_TABLE || !txn
	    || txn > w->p->meta.txn)
		return blm_snapshot_damaged(w->p, 0, "the list of free pages is damaged");
	memcpy(&pages, value.mv_data, 8);
	if (pages && pages != value.mv_size / 8 - 1)
		return blm_snapshot_damaged(w->p, 0, "the list of free pages is damaged");
	for (uint64_t i = 1; code == 0 && i <= pages; i++, last = page) {
		memcpy(&page, (const uint8_t *)value.mv_data + 8 * i, 8);
		if (page < 2 || page >= last || page >= w->p->pages)
			return blm_snapshot_damaged(w->p, page, "is said to be free and cannot be");
		code = take(w, page);
	}
	return code;
}

int blm_snapshot_walk(struct blm_snapshot *p, uint64_t most)
{
	struct walk w = { .p = p, .left = p->pages > p->in_file ? UINT64_MAX : most };
	struct tree main = { .table = &p->meta.main, .value = value_of_main };
	struct tree free_list = { .table = &p->meta.free, .value = value_of_free, .numbers = true };
	int code;

	w.used = calloc(1, p->pages / 8 + 1);
	if (!w.used)
		return ENOMEM;
	code = walk_table(&w, &main, "the table of tables is not as large as it says");
	if (code == 0 && w.left)
		code = walk_table(&w, &free_list,
				  "the list of free pages is not as large as it says");
	free(w.used);
	return code;
}

void blm_snapshot_words(const struct blm_snapshot *p, char ret_wrong[BLM_CATALOG_WRONG])
{
	snprintf(ret_wrong, BLM_CATALOG_WRONG, "page %lld %s", (long long)p->where, p->wrong);
}

int blm_catalog_check(int fd, uint64_t most, char ret_wrong[BLM_CATALOG_WRONG])
{
	struct blm_snapshot p;
	int code = blm_snapshot_begin(&p, fd);

	if (code == 0)
		code = blm_snapshot_walk(&p, most);
	if (p.wrong)
		blm_snapshot_words(&p, ret_wrong);
	else if (code < 0)
		snprintf(ret_wrong, BLM_CATALOG_WRONG, "%s", mdb_strerror(code));
	blm_snapshot_end(&p);
	return code > 0 ? -code : code < 0 ? -EUCLEAN : 0;
}
