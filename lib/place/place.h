/*
 * place.h - where a filter is found: a path, a name in a store, or memory
 *
 * Only place.c knows the difference, with keyring.c, store_dir.c and memory.c, which it uses. Other
 * code calls a place to open its file, to check the file again, or to publish a new one.
 */
#ifndef BLM_PLACE_H
#define BLM_PLACE_H

#include "file/layout.h"
#include "file/new_file.h"

#include <sys/types.h>

struct blm_image;
struct blm_memory;
struct blm_store;
struct blm_handover;

struct blm_place {
	struct blm_store *store;	/* a reference; NULL: name is a path */
	struct blm_memory *memory;	/* a reference; then there is neither store nor name */
	char *name;			/* a path is absolute if the working directory is known */
	/* for messages: the path as it was given, NAME (STORE), or (memory) */
	char *display;
};

/* store and name NULL: a new place in memory. */
int blm_place_set(struct blm_place *ret, struct blm_store *store, const char *name);
/* A copy of the place; for a path with links: the target of the links, if it exists. */
int blm_place_follow(struct blm_place *ret, const struct blm_place *from);
void blm_place_clear(struct blm_place *place);

/*
 * The absolute form of a path; the path itself if the working directory is unknown. The caller
 * frees it; NULL: no memory.
 */
char *blm_absolute_path(const char *path);

/* Opens the folder of a path, and returns the last component of the path. */
int blm_folder_of(const char *path, const char **ret_last);

/*
 * The catalog's record of the last sync of a filter, at the moment of the look-up; zeros: none.
 */
struct blm_told {
	uint64_t epoch, keys, synced;
};

/* Open the file that is there now. Returns a descriptor. ret_told: may be NULL. */
int blm_place_open(const struct blm_place *place, bool write, struct blm_told *ret_told);

/* Is it still this file? 1: yes; 0: another; -ENOENT: none; or another failure. */
int blm_place_is(const struct blm_place *place, dev_t device, ino_t inode, const uint8_t uuid[16]);

/*
 * The fate of an open file, from its number of links and the file at its path (in a store also at
 * the store's path, if that is absolute). A forked child cannot see the number of links. Without
 * any sign of a change the file stands.
 */
enum blm_standing {
	BLM_STANDS,
	BLM_DELETED,		/* it has no link */
	BLM_DISPLACED,		/* another file stands at the path */
	BLM_MOVED,		/* nothing stands at the path, but the file has a link */
};
enum blm_standing blm_place_standing(const struct blm_place *place, const struct blm_image *image,
				     const uint8_t uuid[16]);

/* 0: the name is unused; -EEXIST: it is in use; or another failure. */
int blm_place_is_taken(const struct blm_place *place);

/* Begin a new file in the right folder; then publish it, over as for blm_staged_publish(). */
int blm_place_new(const struct blm_place *place, unsigned mode, struct blm_new_file *ret);
int blm_place_publish(const struct blm_place *place, struct blm_new_file *file,
		      struct blm_header *header, const struct blm_handover *over);

/*
 * Makes the current file of the name durable: its maker or replacer may have been killed before it
 * synced the folder. In a store it is durable already.
 */
int blm_place_flush(const struct blm_place *place);

/*
 * Deletes the file that blm_place_publish(over) replaced, if the replacement has not deleted it.
 */
void blm_place_forget(const struct blm_place *place, const uint8_t uuid[16]);

/*
 * The secret of a keyed filter (keyring.c): read the one with this id to ret (BLM_SECRET_BYTES), or
 * add it to what is there. -ENOKEY: not there. keep: 1 if it was not there before; if the filter is
 * then not made, lose the secret. -EKEYREJECTED: other users could read the secret in its new
 * place.
 */
int blm_place_secret(const struct blm_place *place, const uint8_t key_id[8], uint8_t *ret);
int blm_place_keep_secret(const struct blm_place *place, const uint8_t key_id[8],
			  const uint8_t *secret);
void blm_place_lose_secret(const struct blm_place *place, const uint8_t key_id[8]);
/*
 * From before keep until the filter has its file, no process may delete the secret because no file
 * needs it: until *ret_fd is closed; -1: no need.
 */
int blm_place_hold_secrets(const struct blm_place *place, int *ret_fd);

/* The id of a secret: the first 8 bytes of its BLAKE2b-256. */
void blm_key_id(const uint8_t *secret, uint8_t ret[8]);

/* The path of its file, truncated if it does not fit; in memory: empty. */
void blm_place_path(const struct blm_place *place, const uint8_t uuid[16], char *ret, size_t bytes);

/* The name that goes into the file's name record; NULL for a path, and in memory. */
const char *blm_place_name(const struct blm_place *place);

/*
 * Record a sync in the catalog: the number of keys, the time, and the size of the filter. No store:
 * nothing.
 */
struct blm_synced {
	const uint8_t *uuid;
	uint64_t epoch, keys, time;
	bool estimated;
	uint64_t file_bytes, data_bytes;
};
int blm_place_synced(const struct blm_place *place, const struct blm_synced *what);

#endif
