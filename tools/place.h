/* place.h - where a filter lies: a path if it has a slash, else a name in the store */
#ifndef BLOOMERY_TOOLS_PLACE_H
#define BLOOMERY_TOOLS_PLACE_H

#include "command.h"

struct place {
	struct blm_store *store;	/* NULL: the name is a path */
	const char *name;
};

extern const struct opt store_option[], key_option[];

bool is_path(const char *name);
bool is_store_missing(void);	/* there is nothing at its path */
const char *store_dir(void);	/* NULL, after a message */
bool takes_anyones(void);	/* --anyone: what every user may change, too */

/*
 * These give an exit code, and a message where it is not DONE. The first that needs the store opens
 * it, with its flags.
 */
int find_store(struct blm_store **ret, unsigned flags);
int find_place(struct place *ret, const char *name, unsigned flags);
int open_filter(struct blm_filter **ret, const char *name, bool write, unsigned flags);
int open_all(struct blm_filter **ret, char **names, size_t count, bool first_for_writing,
	     unsigned flags);
/*
 * Open each for writing and do it to them, also to those after one that fails; the first such exit
 * code.
 */
int each_filter(char **names, int count, int (*what)(struct blm_filter *f));
int find_secret(const uint8_t **ret);	/* that of --key-file; NULL: none was given */

const char *given_key_file(void);	/* NULL: none */
bool store_given(void);			/* by --store */

/* About the file system of a filter that is made or to be written; once. */
void warn_of_place(const struct blm_filter *f, const char *name);

/* As blm_open(): 0 or a negative errno, no message. */
int open_place(struct blm_filter **ret, const struct place *place, bool write,
	       const uint8_t *secret);

void close_all(struct blm_filter **filters, size_t count);

#endif
