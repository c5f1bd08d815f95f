/* lmdb_snapshot.c - a snapshot of LMDB's file, read page by page (lmdb_snapshot.h) */
#include "catalog/lmdb_snapshot.h"
#include "file/os.h"

#include <sys/stat.h>

enum { MAGIC = 0xBEEFC0DE, VERSION = 1, LEAST_PAGE = 512, MISSING_MAX = 1024 };
/* of blm_table.flags; above them are the environment's */
enum { NUMBERS = 0x08, SORTING = 0x7f };

int blm_snapshot_damaged(struct blm_snapshot *p, uint64_t page, const char *wrong)
{
	if (!p->wrong) {
		p->wrong = wrong;
		p->where = page;
	}
	return MDB_CORRUPTED;
}

static int read_at(struct blm_snapshot *p, uint64_t page, void *buffer, size_t bytes, size_t skip)
{
	int64_t got = blm_read_at(p->fd, buffer, bytes, page * p->page_bytes + skip);

	if (got < 0)
		return (int)-got;
	if ((size_t)got == bytes)
		return 0;
	return blm_snapshot_damaged(p, page, "is not in the file: data.mdb is truncated");
}

/* ---- The two meta pages ---- */

struct meta_page {
	struct blm_page_head head;
	struct blm_meta meta;
};

static int read_meta(struct blm_snapshot *p, unsigned slot, struct meta_page *ret)
{
	int code = read_at(p, slot, ret, sizeof(*ret), 0);

	if (code)
		return code;
	if (ret->head.number != slot || ret->head.flags != BLM_PAGE_META
	    || ret->meta.magic != MAGIC)
		return MDB_INVALID;
	return ret->meta.version == VERSION ? 0 : MDB_VERSION_MISMATCH;
}

/* LMDB takes the newer one, and the size of a page from it. */
static int choose_meta(struct blm_snapshot *p)
{
	struct meta_page two[2];
	int code = read_meta(p, 0, &two[0]);

	if (code)
		return code;
	p->page_bytes = two[0].meta.free.pad;
	if (p->page_bytes < LEAST_PAGE || p->page_bytes > 1 << 15
	    || p->page_bytes & (p->page_bytes - 1)) {
		p->page_bytes = 0;
		return blm_snapshot_damaged(p, 0, "has an impossible size of pages");
	}
	code = read_meta(p, 1, &two[1]);
	if (code)
		return code;
	p->slot = two[0].meta.txn < two[1].meta.txn;
	p->meta = two[p->slot].meta;
	if (two[1].meta.free.pad == p->page_bytes)
		return 0;
	return blm_snapshot_damaged(p, 1, "has another size of pages");
}

/*
 * A transaction writes its pages before its meta page, so a size that is read after the meta page
 * includes them, even if the file grows at the same time.
 */
static int measure(struct blm_snapshot *p)
{
	struct stat st;

	if (fstat(p->fd, &st) < 0)
		return errno;
	p->in_file = (uint64_t)st.st_size / p->page_bytes;
	return 0;
}

/*
 * A page that was used and freed within one transaction is not written: the last few may be
 * missing, if nothing leads to them.
 */
static int check_meta(struct blm_snapshot *p)
{
	const struct blm_meta *meta = &p->meta;

	p->pages = meta->last + 1;
	if (meta->last < 1 || !p->pages || p->pages > p->in_file + MISSING_MAX)
		return blm_snapshot_damaged(p, meta->last,
					    "is the last, and not in the file: data.mdb is "
					    "truncated");
	if (meta->txn >= UINT64_MAX / 2)
		return blm_snapshot_damaged(p, p->slot, "is of an impossible transaction");
	if ((meta->free.flags & SORTING) != NUMBERS || meta->main.flags & SORTING)
		return blm_snapshot_damaged(p, 0, "has its tables sorted otherwise");
	return 0;
}

int blm_snapshot_begin(struct blm_snapshot *ret, int fd)
{
	int code;

	*ret = (struct blm_snapshot){ .fd = fd };
	code = choose_meta(ret);
	if (code == 0)
		code = measure(ret);
	if (code == 0)
		code = check_meta(ret);
	if (code == 0 && !(ret->sizes = malloc(ret->page_bytes)))
		code = ENOMEM;
	return code;
}

void blm_snapshot_end(struct blm_snapshot *p)
{
	for (size_t i = 0; i < ARRAY_LEN(p->level); i++)
		free(p->level[i].page);
	free(p->sizes);
	free(p->value);
}

bool blm_snapshot_hold(const struct blm_snapshot *p)
{
	struct blm_meta now;

	full_fence();		/* the pages were read before the slot is read again */
	return blm_read_at(p->fd, &now, sizeof(now),
			   (uint64_t)p->slot * p->page_bytes + BLM_PAGE_HEAD)
		== sizeof(now) && !memcmp(&now, &p->meta, sizeof(now));
}

/* ---- A page ---- */

unsigned blm_page_nodes(const struct blm_page_head *page)
{
	return (page->lower - BLM_PAGE_HEAD) / 2;
}

static uint16_t place_of(const struct blm_page_head *page, unsigned i)
{
	uint16_t at;

	memcpy(&at, (const uint8_t *)page + BLM_PAGE_HEAD + 2 * i, 2);
	return at;
}

const struct blm_node *blm_page_node(const struct blm_page_head *page, unsigned i)
{
	return (const struct blm_node *)((const uint8_t *)page + place_of(page, i));
}

uint64_t blm_node_child(const struct blm_node *node)
{
	return (uint64_t)node->low | (uint64_t)node->high << 16 | (uint64_t)node->flags << 32;
}

/*
 * The bytes of a node in its page, rounded up as LMDB does; 0: it leaves the page, or is no node.
 */
static size_t node_size(const struct blm_snapshot *p, const struct blm_page_head *page, unsigned i,
			bool leaf)
{
	const struct blm_node *node = blm_page_node(page, i);
	size_t at = place_of(page, i), space, bytes;
	size_t most = ((p->page_bytes - BLM_PAGE_HEAD) / 2 & ~1U) - 2;	/* two go into a page */

	if (at < page->upper || at % 2 || at + BLM_NODE_HEAD > p->page_bytes)
		return 0;
	space = p->page_bytes - at - BLM_NODE_HEAD;
	bytes = node->key_bytes;
	if (bytes > space || bytes > BLM_TREE_KEY)
		return 0;
	if (leaf && (!bytes || node->flags & ~(BLM_NODE_BIG | BLM_NODE_TABLE)))
		return 0;
	if (leaf)
		bytes += node->flags & BLM_NODE_BIG ? sizeof(uint64_t) : blm_node_bytes(node);
	if (bytes > space || (leaf && bytes + BLM_NODE_HEAD > most))
		return 0;
	return (BLM_NODE_HEAD + bytes + 1) & ~(size_t)1;
}

/*
 * LMDB moves nodes about by their sizes. So they must fill the end of the page, one behind the
 * other, without a gap.
 */
static const char *check_nodes(struct blm_snapshot *p, const struct blm_page_head *page, bool leaf)
{
	unsigned nodes = blm_page_nodes(page), met = 0;

	memset(p->sizes, 0, p->page_bytes);
	for (unsigned i = 0; i < nodes; i++) {
		size_t size = node_size(p, page, i, leaf);

		if (!size)
			return "has a node that leaves it";
		p->sizes[place_of(page, i) / 2] = (uint16_t)size;
	}
	for (size_t at = page->upper; at < p->page_bytes; at += p->sizes[at / 2], met++)
		if (!p->sizes[at / 2])
			return "has a gap between its nodes";
	return met == nodes ? NULL : "has nodes that overlap";
}

static const char *check_page(struct blm_snapshot *p, const struct blm_page_head *page,
			      uint64_t number, unsigned sort)
{
	bool leaf = sort == BLM_PAGE_LEAF;

	if (page->number != number || page->flags != sort)
		return "not the page that it should be";
	if (page->lower % 2 || page->lower < BLM_PAGE_HEAD + (leaf ? 2 : 4)
	    || page->lower > page->upper || page->upper % 2
	    || page->upper > p->page_bytes)
		return "has impossible numbers in its head";
	return check_nodes(p, page, leaf);
}

static int check_place(struct blm_snapshot *p, uint64_t page)
{
	if (page >= 2 && page < p->pages && page < p->in_file)
		return 0;
	return blm_snapshot_damaged(p, page, "not in the file");
}

int blm_snapshot_load(struct blm_snapshot *p, unsigned level, uint64_t page, unsigned sort)
{
	struct blm_level *l = &p->level[level];
	const char *wrong;
	int code = check_place(p, page);

	if (code)
		return code;
	if (!l->page && !(l->page = calloc(1, p->page_bytes)))
		return ENOMEM;
	if (l->page->number == page && l->page->flags == sort)
		return 0;		/* of the same snapshot, and it was good */
	code = read_at(p, page, l->page, p->page_bytes, 0);
	wrong = code ? NULL : check_page(p, l->page, page, sort);
	if (wrong)
		code = blm_snapshot_damaged(p, page, wrong);
	if (code)
		l->page->number = 0;
	return code;
}

/* ---- Values ---- */

int blm_snapshot_big(struct blm_snapshot *p, const struct blm_node *node, uint64_t *ret_page,
		     uint64_t *ret_pages)
{
	uint64_t page, least = (blm_node_bytes(node) + BLM_PAGE_HEAD + p->page_bytes - 1)
		/ p->page_bytes;
	struct blm_page_head head;
	int code;

	memcpy(&page, blm_node_key(node) + node->key_bytes, sizeof(page));
	code = check_place(p, page);
	if (code == 0)
		code = read_at(p, page, &head, sizeof(head), 0);
	if (code)
		return code;
	if (head.number != page || head.flags != BLM_PAGE_OVERFLOW)
		return blm_snapshot_damaged(p, page, "not the page that it should be");
	if (head.pages < least || head.pages > p->pages - page || head.pages > p->in_file - page)
		return blm_snapshot_damaged(p, page, "not as long as its value");
	*ret_page = page;
	*ret_pages = head.pages;
	return 0;
}

int blm_snapshot_value(struct blm_snapshot *p, const struct blm_node *node, MDB_val *ret)
{
	uint64_t page, pages;
	int code;

	*ret = (MDB_val){ blm_node_bytes(node), (void *)(blm_node_key(node) + node->key_bytes) };
	if (!(node->flags & BLM_NODE_BIG))
		return 0;
	code = blm_snapshot_big(p, node, &page, &pages);
	if (code)
		return code;
	free(p->value);
	p->value = malloc(ret->mv_size + 1);
	if (!p->value)
		return ENOMEM;
	ret->mv_data = p->value;
	return read_at(p, page, p->value, ret->mv_size, BLM_PAGE_HEAD);
}

/* ---- Look-ups ---- */

static int compare(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
	int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);

	return order ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

/*
 * In a leaf the first entry at the key or behind it; in a branch the last child that begins at the
 * key or before it.
 */
static unsigned search(const struct blm_page_head *page, bool leaf, const void *key, size_t bytes)
{
	unsigned low = !leaf, high = blm_page_nodes(page);

	while (low < high) {
		unsigned middle = (low + high) / 2;
		const struct blm_node *node = blm_page_node(page, middle);
		int order = compare(blm_node_key(node), node->key_bytes, key, bytes);

		if (leaf ? order < 0 : order <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return leaf ? low : low - 1;
}

static const struct blm_node *node_at(const struct blm_snapshot *p, unsigned level)
{
	return blm_page_node(p->level[level].page, p->level[level].at);
}

static unsigned sort_at(const struct blm_table *table, unsigned level)
{
	return level + 1 == table->depth ? BLM_PAGE_LEAF : BLM_PAGE_BRANCH;
}

static int copy_found(struct blm_snapshot *p, const struct blm_node *node, struct blm_found *ret)
{
	ret->key_bytes = node->key_bytes;
	memcpy(ret->key, blm_node_key(node), node->key_bytes);
	ret->key[node->key_bytes] = 0;
	return blm_snapshot_value(p, node, &ret->value);
}

/*
 * From the path to the entry that it leads to; behind the end of a leaf, that is the first of the
 * next one.
 */
static int settle(struct blm_snapshot *p, const struct blm_table *table, struct blm_found *ret)
{
	unsigned level = table->depth - 1;
	int code = 0;

	while (p->level[level].at == blm_page_nodes(p->level[level].page)) {
		if (!level)
			return MDB_NOTFOUND;
		p->level[--level].at++;
	}
	for (; code == 0 && level + 1 < table->depth; level++) {
		code = blm_snapshot_load(p, level + 1, blm_node_child(node_at(p, level)),
					 sort_at(table, level + 1));
		p->level[level + 1].at = 0;
	}
	return code ? code : copy_found(p, node_at(p, level), ret);
}

int blm_snapshot_seek(struct blm_snapshot *p, const struct blm_table *table, const void *key,
		      size_t bytes, struct blm_found *ret)
{
	uint64_t page = table->root;

	if (page == BLM_NO_ROOT)
		return MDB_NOTFOUND;
	if (!table->depth || table->depth > BLM_TREE_DEPTH)
		return blm_snapshot_damaged(p, page,
					    "is the root of a tree of an impossible depth");
	for (unsigned level = 0; level < table->depth; level++) {
		unsigned sort = sort_at(table, level);
		int code = blm_snapshot_load(p, level, page, sort);

		if (code)
			return code;
		p->level[level].at = search(p->level[level].page, sort == BLM_PAGE_LEAF, key,
					    bytes);
		if (sort == BLM_PAGE_BRANCH)
			page = blm_node_child(node_at(p, level));
	}
	return settle(p, table, ret);
}

int blm_snapshot_get(struct blm_snapshot *p, const struct blm_table *table, const void *key,
		     size_t bytes, struct blm_found *ret)
{
	int code = blm_snapshot_seek(p, table, key, bytes, ret);

	return code == 0 && compare(ret->key, ret->key_bytes, key, bytes) ? MDB_NOTFOUND : code;
}

/* Keys ascend, so a damaged tree that leads to a page again and again has an end, too. */
int blm_snapshot_next(struct blm_snapshot *p, const struct blm_table *table, struct blm_found *at)
{
	struct blm_found next;
	int code;

	p->level[table->depth - 1].at++;
	code = settle(p, table, &next);
	if (code)
		return code;
	if (compare(next.key, next.key_bytes, at->key, at->key_bytes) <= 0)
		return blm_snapshot_damaged(p, p->level[table->depth - 1].page->number,
					    "has keys out of their order");
	*at = next;
	return 0;
}

int blm_snapshot_table(struct blm_snapshot *p, const char *name, struct blm_table *ret)
{
	struct blm_found found;
	int code = blm_snapshot_get(p, &p->meta.main, name, strlen(name), &found);

	if (code)
		return code;
	if (found.value.mv_size != sizeof(*ret))
		return blm_snapshot_damaged(p, 0, "holds something other than tables");
	memcpy(ret, found.value.mv_data, sizeof(*ret));
	return ret->flags ? blm_snapshot_damaged(p, 0, "has a table of another sort") : 0;
}
