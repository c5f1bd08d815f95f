/*
 * table.c - rows in memory: their bytes in pieces as they were read, the first row of each key in
 * slots with linear probing
 */
#include "table.h"
#include "keys.h"

struct piece {
	struct piece *before;
	char bytes[];
};

static char *put(char *to, const struct blm_key *part)
{
	if (part->len)
		memcpy(to, part->bytes, part->len);
	return to + part->len;
}

/*
 * The column and the rest of the line take as many bytes as the line; a key that was in quotes is
 * kept behind them.
 */
static char *keep_row(struct row *ret, char *to, const struct blm_key *line,
		      const struct blm_key *key)
{
	struct row_parts parts;
	char *from = to;

	row_parts_of(&parts, line);
	to = put(to, &parts.column);
	if (!parts.first) {
		*to++ = columns_end();
		to = put(to, &parts.before);
	}
	to = put(to, &parts.after);
	*ret = (struct row){ .head = { from, (size_t)(to - from) }, .key = { from, key->len } };
	if (keys_need_buffer()) {
		ret->key.bytes = to;
		to = put(to, key);
	}
	return to;
}

static bool more_rows(struct table *t, size_t count)
{
	struct row *rows;
	size_t capacity = t->capacity ? t->capacity : 1024;

	while (capacity - t->count < count)
		capacity *= 2;
	rows = capacity == t->capacity ? t->rows : realloc(t->rows, capacity * sizeof(*rows));
	if (!rows)
		return false;
	t->rows = rows;
	t->capacity = capacity;
	return true;
}

int table_keep(struct table *t, const struct batch *batch)
{
	struct piece *piece;
	size_t bytes = 0;
	char *to;

	for (size_t i = 0; i < batch->count; i++)
		bytes += batch->lines[i].len + (keys_need_buffer() ? batch->keys[i].len : 0);
	piece = malloc(sizeof(*piece) + bytes);
	if (!piece || !more_rows(t, batch->count)) {
		free(piece);
		return broken("%s: out of memory for its rows; give the smaller table first",
			      batch->source);
	}
	piece->before = t->pieces;
	t->pieces = piece;
	to = piece->bytes;
	for (size_t i = 0; i < batch->count; i++)
		to = keep_row(&t->rows[t->count++], to, &batch->lines[i], &batch->keys[i]);
	return DONE;
}

/* Return: the slot where the key is, or would be. */
static struct row **slot_of(const struct table *t, const struct blm_key *key, uint64_t hash)
{
	size_t at = hash & t->last_slot;

	for (const struct row *row; (row = t->slots[at]); at = (at + 1) & t->last_slot)
		if (row->hash == hash && row->key.len == key->len
		    && !memcmp(row->key.bytes, key->bytes, key->len))
			break;
	return &t->slots[at];
}

static int hash_rows(struct table *t, const struct blm_filter *f)
{
	enum { MANY = 1024 };
	struct blm_key keys[MANY];
	struct blm_hash hashes[MANY];

	for (size_t from = 0; from < t->count; from += MANY) {
		size_t count = t->count - from < MANY ? t->count - from : MANY;
		int r;

		for (size_t i = 0; i < count; i++)
			keys[i] = t->rows[from + i].key;
		r = blm_hash_many(f, keys, count, hashes);
		if (r < 0)
			return fail(r);
		for (size_t i = 0; i < count; i++)
			t->rows[from + i].hash = hashes[i].lo;
	}
	return DONE;
}

int table_index(struct table *t, const struct blm_filter *f)
{
	size_t slots = 16;

	while (slots < 2 * t->count)
		slots *= 2;
	t->slots = calloc(slots, sizeof(struct row *));
	if (!t->slots)
		return broken("out of memory for %zu rows; give the smaller table first",
			      t->count);
	t->last_slot = slots - 1;
	if (hash_rows(t, f) != DONE)
		return FAILED;
	/* from the last, each before those of its key that are there */
	for (size_t i = t->count; i-- > 0; ) {
		struct row *row = &t->rows[i], **slot = slot_of(t, &row->key, row->hash);

		row->next = *slot;
		*slot = row;
	}
	return DONE;
}

const struct row *table_find(const struct table *t, const struct blm_key *key, uint64_t hash)
{
	return *slot_of(t, key, hash);
}

void table_free(struct table *t)
{
	while (t->pieces) {
		struct piece *before = t->pieces->before;

		free(t->pieces);
		t->pieces = before;
	}
	free(t->rows);
	free(t->slots);
	*t = (struct table){ 0 };
}
