/*
 * rows.c - the filters of a store as rows of a table
 */
#include "rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct listing {
	struct blm_store *store;
	struct rows rows;
};

static void fill(struct row *row, const struct blm_info *info)
{
	row->kind = info->kind;
	row->keys = info->keys;
	row->capacity = info->capacity;
	row->rate = info->rate;
	row->rate_now = info->rate_at_keys;
	row->bytes = info->bytes;
	row->sealed = info->sealed;
	row->created = info->created / 1000000000;
}

/* Brings a copy of what the catalog says up to date by the file, unless the file cannot be read. */
static int refresh(const struct listing *l, struct row *row, const struct blm_info *known)
{
	struct blm_info *info = malloc(known->size);

	if (!info)
		return -ENOMEM;
	memcpy(info, known, known->size);
	row->err = blm_store_refresh(l->store, info);
	fill(row, info);
	free(info);
	return 0;
}

static int keep(void *context, const struct blm_info *known, int err)
{
	struct listing *l = context;
	struct row *row;

	if (l->rows.count == l->rows.capacity) {
		size_t capacity = l->rows.capacity * 2 + 16;

		row = realloc(l->rows.rows, capacity * sizeof(*row));
		if (!row)
			return -ENOMEM;
		l->rows.rows = row;
		l->rows.capacity = capacity;
	}
	row = &l->rows.rows[l->rows.count++];
	memset(row, 0, sizeof(*row));
	memcpy(row->name, known->name, sizeof(row->name));
	row->err = err;
	return err < 0 ? 0 : refresh(l, row, known);
}

int rows_list(struct filters *s, const char *pattern, struct rows *ret)
{
	struct listing l = { 0 };
	int r = filters_place(s, &l.store, NULL, BLM_STORE_READ);

	if (r == 0)
		r = blm_store_list(l.store, pattern, keep, &l);
	if (r < 0)
		rows_free(&l.rows);
	else
		*ret = l.rows;
	return r < 0 ? r : 0;
}

void rows_free(struct rows *rows)
{
	free(rows->rows);
	*rows = (struct rows){ 0 };
}
