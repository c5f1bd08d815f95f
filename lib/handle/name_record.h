/* name_record.h - the name and the labels in a filter's own file (name_record.c) */
#ifndef BLM_NAME_RECORD_H
#define BLM_NAME_RECORD_H

#include "catalog/catalog.h"
#include "view/view.h"

/*
 * The file that a name leads to, opened for writing its name record and locked with BLM_LOCK_SYNC.
 * That takes no secret.
 */
int blm_name_record_lock(struct blm_store *store, const char *name, struct blm_view **ret);
void blm_name_record_unlock(struct blm_view *view);

/* Bring the name record of a filter's file in line with the catalog. */
int blm_write_record(struct blm_store *store, const char *name);
/* of this file, under BLM_LOCK_SYNC */
int blm_write_record_to(struct blm_view *view, const char *name, const struct blm_entry *entry);

#endif
