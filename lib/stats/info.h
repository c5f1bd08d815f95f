/* info.h - struct blm_info, from a header or from the catalog */
#ifndef BLM_INFO_H
#define BLM_INFO_H

#include "bloomery.h"
#include "catalog/catalog.h"

/*
 * The caller's struct may be shorter or longer than ours (sized.h), so one of ours is filled: begin
 * makes it; end copies it if `r` is 0, frees it, and returns r. Begin fails with a message: -EINVAL
 * if the caller's size is not set, -ENOMEM.
 */
int blm_info_begin(struct blm_info **ret, const struct blm_info *callers);
int blm_info_end(struct blm_info *ours, struct blm_info *callers, int r);

/* -EPROTONOSUPPORT: a kind or hash that this program does not know. */
int blm_info_of_entry(struct blm_info *ret, const char *name, const struct blm_entry *entry);

#endif
