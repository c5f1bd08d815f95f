/*
 * list.c - the catalog's records of one filter of a store, and of all
 */
#include "bloomery.h"
#include "place/store_dir.h"
#include "stats/info.h"

#include <fnmatch.h>

static int find(struct blm_store *s, const char *name, struct blm_info *ret)
{
	struct blm_entry *entry;
	int r = blm_check_name(name);

	if (r < 0)
		return r;
	entry = malloc(sizeof(*entry));
	r = entry ? blm_store_no_such(s, name, blm_catalog_get(s->catalog, name, entry))
		: blm_fail(-ENOMEM, "%s: out of memory", name);
	if (r == 0)
		r = blm_info_of_entry(ret, name, entry);
	if (r == 0) {
		blm_store_path(s, ret->uuid, ret->path);
		ret->from_catalog = true;
	}
	free(entry);
	return r;
}

BLM_API int blm_store_find(struct blm_store *s, const char *name, struct blm_info *ret)
{
	struct blm_info *info;
	int r = blm_info_begin(&info, ret);

	return r < 0 ? r : blm_info_end(info, ret, find(s, name, info));
}

BLM_API int blm_store_list(struct blm_store *s, const char *pattern,
			   int (*each)(void *context, const struct blm_info *info, int err),
			   void *context)
{
	struct { char name[BLM_FORMAT_NAME]; struct blm_entry entry; struct blm_info info;
		 } *at = calloc(1, sizeof(*at));
	int r = at ? blm_must_have(each, "each")
		: blm_fail(-ENOMEM, "%s: out of memory", s->dir), err;

	if (r == 0)
		/* all of it is gone through: at opening a large one was not */
		r = blm_catalog_verify(s->catalog);
	while (r == 0) {
		err = blm_catalog_next(s->catalog, at->name, at->name, &at->entry);
		if (err == -ENOENT)
			break;
		if (err < 0) {
			r = err;
			break;
		}
		err = err == 1 ? -EUCLEAN : 0;
		if (pattern && fnmatch(pattern, at->name, 0))
			continue;
		at->info = BLM_INFO;
		if (err == 0)
			err = blm_info_of_entry(&at->info, at->name, &at->entry);
		strcpy(at->info.name, at->name);
		if (err == 0)
			blm_store_path(s, at->info.uuid, at->info.path);
		at->info.from_catalog = err == 0;
		r = each(context, &at->info, err);
	}
	free(at);
	return r;
}
