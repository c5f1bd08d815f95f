/* info.h - struct blm_info, from a header or from the catalog */
#ifndef BLM_INFO_H
#define BLM_INFO_H

#include "bloomery.h"
#include "catalog/catalog.h"

/* -EPROTONOSUPPORT: a kind or hash that this program does not know. */
int blm_info_of_entry(struct blm_info *ret, const char *name, const struct blm_entry *entry);

#endif
