/*
 * store_dir.h - a store from the inside: what place.c asks of it
 *
 * A store is a directory with the catalog in `catalog/`, the filters in `filters/`, each named by
 * its uuid, and the secrets of keyed filters in `keys/`, each named by its key id. A name is a key
 * in the catalog and never part of a path.
 */
#ifndef BLM_STORE_H
#define BLM_STORE_H

#include "bloomery.h"
#include "catalog/catalog.h"
#include "file/layout.h"
#include "file/new_file.h"
#include "place/place.h"

#include <stdatomic.h>
#include <sys/stat.h>

struct blm_view;

struct blm_store {
	_Atomic unsigned references;
	char *dir;			/* as the user gave it, for messages */
	char *path;			/* the same, absolute if the working directory is known */
	int filters;			/* descriptors of the folders */
	/* -1 where it may not be looked into; keys_errno says why */
	int keys;
	int keys_errno;
	bool write;
	bool anyone;			/* what every user may change is taken, too */
	struct blm_catalog *catalog;
};

enum { BLM_UUID_TEXT = 37, BLM_FILE_TEXT = 41 };

void blm_uuid_text(const uint8_t uuid[16], char ret[BLM_UUID_TEXT]);
/* The name of a filter's file in filters/: its uuid and ".blm". */
void blm_uuid_file(const uint8_t uuid[16], char ret[BLM_FILE_TEXT]);

/* The path of a filter's file, for people; cut if it does not fit. */
void blm_store_path(const struct blm_store *store, const uint8_t uuid[16], char ret[BLM_PATH_MAX]);

/* The catalog's record of a file with this header. */
void blm_entry_of(struct blm_entry *ret, const struct blm_header *header, uint64_t file_bytes);

/*
 * The identity in the file's header; false if the header is damaged, or of no filter. Is it
 * certainly another filter?
 */
bool blm_store_constant(int fd, struct blm_constant *ret);
bool blm_store_is_another(int fd, const uint8_t uuid[16]);

bool blm_folder_is_empty(int folder);

/* The mode of a filter's file, or a negative errno without words. */
int blm_store_file_mode(const struct blm_store *store, const uint8_t uuid[16], unsigned *ret);
/*
 * -EPERM, with a message, if every user may write to a part of the store, or to the file of the
 * name, and the caller has not accepted that.
 */
int blm_store_check_modes(const char *dir);
int blm_store_check_mode(struct blm_store *store, const char *name);

/* -ENOENT gets words; any other result stays as it is. */
int blm_store_no_such(const struct blm_store *store, const char *name, int r);

static inline struct blm_store *blm_store_hold(struct blm_store *store)
{
	atomic_fetch_add(&store->references, 1);
	return store;
}

/* 0, or -EINVAL with words: is this a name? */
int blm_check_name(const char *name);
int blm_check_new_name(const char *name);	/* ... that one more filter may have */

/* As blm_place_...() in place.h, for a place in a store. */
int blm_store_open_file(struct blm_store *store, const char *name, bool write,
			struct blm_told *ret_told);
int blm_store_is(struct blm_store *store, const char *name, const uint8_t uuid[16]);
int blm_store_new(struct blm_store *store, const char *name, unsigned mode,
		  struct blm_new_file *ret);
int blm_store_put(struct blm_store *store, const char *name, struct blm_new_file *file,
		  struct blm_header *header, const struct blm_handover *over);
/*
 * store_batch.c: new filters that appear together. new: for `count` filters; NULL, with a message.
 * add: the file is finished except for its sync, and now belongs to the batch; then end `file`.
 * publish: once, after the last add. end: frees the batch, and deletes its files unless it was
 * published. Signals that end the process are blocked throughout (blm_hold_end()).
 */
struct blm_store_batch;
struct blm_store_batch *blm_store_batch_new(struct blm_store *store, size_t most);
int blm_store_batch_add(struct blm_store_batch *batch, const char *name, struct blm_new_file *file,
			struct blm_header *header);
int blm_store_batch_publish(struct blm_store_batch *batch);
void blm_store_batch_end(struct blm_store_batch *batch);
/* 0, or a negative errno without words. Opening the store by its path finds that file. */
int blm_store_stat(const struct blm_store *store, const uint8_t uuid[16], struct stat *ret);
/* deletes the file of that name, unless it is another filter's; and what corpus dedup has of it */
void blm_store_forget(struct blm_store *store, const uint8_t uuid[16]);
/*
 * keyring.c: a filter is gone from filters/, and its secret goes too, unless another file there
 * needs it.
 */
void blm_store_lose_secret(struct blm_store *store, const uint8_t key_id[8]);
/* keyring.c: can this user see whether the secret is there? Not without access to keys/. */
bool blm_store_may_look(const struct blm_store *store, const uint8_t key_id[8]);
/*
 * The catalog forgets the uuids of filters that were replaced or dropped, if their files are gone.
 */
int blm_store_forget_gone(struct blm_store *store);
int blm_store_synced(struct blm_store *store, const char *name, const struct blm_synced *what);

#endif
