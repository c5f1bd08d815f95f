/*
 * store_check.h - what store_check.c, which checks a store, and orphans.c, which looks at its
 * files, share
 */
#ifndef BLM_REPAIR_H
#define BLM_REPAIR_H

#include "place/store_dir.h"
#include "check/verify.h"

struct repair {
	const char *dir;
	bool repair;
	bool shallow;			/* nothing of what is in the filters' data */
	bool anyone;			/* that every user may change a filter is meant */
	struct blm_findings *to;
	struct blm_store *store;	/* NULL: the catalog is lost */
	/* the catalog is not whole: that it does not know a file proves nothing */
	bool doubt;
	int filters;
	struct blm_new_entry *entries;	/* of the new catalog */
	size_t count;
	struct blm_named {		/* what a name leads to that does not open */
		uint8_t uuid[16];
		char name[BLM_FORMAT_NAME + 1];
	} *broken;
	size_t broken_count;
};

/*
 * Where a repair is wanted: give files that are under another name the one that their header says,
 * if it is free or another's.
 */
int blm_repair_places(struct repair *r);
/*
 * Look at all files of the store, and at those in keys/ that a killed process left; mend them where
 * that is wanted and possible.
 */
int blm_repair_files(struct repair *r);

#endif
