/* said.h - what verify says of the store "s", and a record of its catalog that is changed */
#ifndef BLM_SAID_H
#define BLM_SAID_H

#include "suite.h"

#include "catalog/catalog.h"
#include "place/store_dir.h"

/* a line for each finding of the last call, and how many there are */
static char said[65536];
static int said_count;

static inline void hear(void *context, const struct blm_finding *found)
{
	size_t at = strlen(said);

	said_count++;
	snprintf(said + at, sizeof(said) - at, "%s: %s%s\n", found->file, found->what,
		 found->repaired ? " (repaired)" : "");
}

static inline int verify(unsigned flags)
{
	said[0] = '\0';
	said_count = 0;
	return blm_store_verify("s", flags, hear, NULL);
}

static inline void all_is_well(void)
{
	int r = verify(0);

	ck_assert_msg(r == 0 && !*said, "%d: %s%s", r, said, r < 0 ? blm_error_message() : "");
}

/* Changes the record of "a" in the catalog, not its file. */
static inline void change_record(struct blm_store *store, void (*change)(struct blm_entry *entry))
{
	struct blm_entry *entry = malloc(sizeof(*entry));

	OK(blm_catalog_get(store->catalog, "a", entry));
	change(entry);
	OK(blm_catalog_put(store->catalog, "a", entry, BLM_PUT_OVER));
	free(entry);
}

#endif
