/*
 * place.h - where a filter is found: a path, or a name in a store
 *
 * The only file, with store.c behind it, that knows the difference. Everything else asks a place to open, look again, or
 * put a new file there.
 */
#ifndef BLM_PLACE_H
#define BLM_PLACE_H

#include "file/format.h"
#include "file/publish.h"

#include <sys/types.h>

struct blm_store;

struct blm_place {
	struct blm_store *store;	/* a reference; NULL: name is a path */
	char *name;
	char *shown;			/* for messages: the path, or NAME (STORE) */
};

int blm_place_set(struct blm_place *ret, struct blm_store *store, const char *name);
int blm_place_copy(struct blm_place *ret, const struct blm_place *from);
void blm_place_clear(struct blm_place *place);

/* Open what lies there now. Returns a descriptor. */
int blm_place_open(const struct blm_place *place, bool write);

/* Is it still this file? 1: yes; 0: another; -ENOENT: none; or another failure. */
int blm_place_is(const struct blm_place *place, dev_t device, ino_t inode, const uint8_t uuid[16]);

/* 0: nothing has this name yet; -EEXIST: something has; or another failure. */
int blm_place_is_taken(const struct blm_place *place);

/* Begin a new file in the right folder; then publish it, over as for blm_unborn_publish(). */
int blm_place_new(const struct blm_place *place, unsigned mode, struct blm_new_file *ret);
int blm_place_publish(const struct blm_place *place, struct blm_new_file *file, struct blm_header *header, const uint8_t *over);

/* The file that blm_place_publish(over) replaced is no longer the filter: delete it where nothing else has. */
void blm_place_forget(const struct blm_place *place, const uint8_t uuid[16]);

/* Where the secret of a keyed filter lies: read it to ret (BLM_SECRET_BYTES), or write it. -ENOKEY: not there. */
int blm_place_secret(const struct blm_place *place, const uint8_t key_id[8], uint8_t *ret);
int blm_place_keep_secret(const struct blm_place *place, const uint8_t key_id[8], const uint8_t *secret);

/* The id of a secret: the first 8 bytes of its BLAKE2b-256. */
void blm_key_id(const uint8_t *secret, uint8_t ret[8]);

/* The name that goes into the file's name record; NULL for a path. */
const char *blm_place_name(const struct blm_place *place);

/* Tell the catalog of a sync: so many keys, synced at that time. No store: nothing. */
int blm_place_synced(const struct blm_place *place, const uint8_t uuid[16], uint64_t keys, bool estimated, uint64_t time);

#endif
