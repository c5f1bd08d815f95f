/* leveldb.h - a LevelDB table; one filter of it is a file of the format leveldb */
#ifndef BLM_FORMAT_LEVELDB_H
#define BLM_FORMAT_LEVELDB_H

#include "format/format.h"

/* Does it end as a table does? */
bool blm_leveldb_is_table(const struct blm_bytes_at *file);

/*
 * The place of the filter that how->record names, in a table or in a filter block by itself: its
 * number, or @ and the offset of a data block.
 */
int blm_leveldb_locate(struct blm_piece *ret, const struct blm_bytes_at *file,
		       const struct blm_exchange *how, const char *display);

#endif
