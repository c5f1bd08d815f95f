/*
 * store_check.h - shared by the files that check a store: store_check.c, record_check.c,
 * name_check.c, misplaced.c, claims.c, and orphans.c, which checks its files
 */
#ifndef BLM_STORE_CHECK_H
#define BLM_STORE_CHECK_H

#include "place/store_dir.h"
#include "check/verify.h"

struct repair {
	const char *dir;
	bool repair;
	bool shallow;			/* without the data of the filters */
	bool anyone;			/* that every user may change a filter is meant */
	struct blm_findings *to;
	struct blm_store *store;	/* NULL: the catalog is lost */
	/* the catalog is not whole: that it does not know a file proves nothing */
	bool doubt;
	int filters;
	struct blm_new_entry *entries;	/* of the new catalog */
	size_t count;
	struct blm_named {		/* names whose file does not open */
		uint8_t uuid[16];
		char name[BLM_FORMAT_NAME + 1];
	} *broken;
	size_t broken_count;
};

/*
 * record_check.c: checks a record of the catalog, which blm_store_list() passes to it, against its
 * file.
 */
int blm_repair_record(void *context, const struct blm_info *info, int err);
/* The last look at the records of a catalog that is not whole. */
int blm_repair_take_out(void *context, const struct blm_info *info, int unused);
/*
 * name_check.c: the name and labels in the file's own record, from which a lost catalog would be
 * made.
 */
int blm_repair_name(struct repair *r, const struct blm_filter *f, const struct blm_info *info);

/*
 * misplaced.c: for a repair: gives files under another name the name in their header, if that is
 * free or also wrong; and the same for the secrets in keys/, unless the catalog is lost.
 */
int blm_repair_places(struct repair *r);
/*
 * orphans.c: look at all files of the store, and at those in keys/ that a killed process left; mend
 * them where that is wanted and possible.
 */
int blm_repair_files(struct repair *r);
/* claims.c: files of `corpus dedup` whose filter is gone; with a repair they are deleted. */
int blm_repair_claims(struct repair *r);

#endif
