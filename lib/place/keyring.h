/*
 * keyring.h - shared by the files about secrets: keyring.c (reading, and either place),
 * store_keys.c (keys/ of a store), path_key.c (F.key of a path)
 */
#ifndef BLM_KEYRING_H
#define BLM_KEYRING_H

#include "place/place.h"
#include "place/store_dir.h"

enum { DIGITS = 2 * BLM_SECRET_BYTES };

/* A file's text, in memory that is not dumped. */
struct blm_secrets {
	char *chars;
	size_t count;
};

/* keys/ID in a store, PATH.key for a path. */
int blm_secret_file(const struct blm_place *place, const uint8_t key_id[8], char *ret, size_t bytes,
		    int *ret_folder);
/* A holder keeps it for one write to the disk; a stopped holder stops no process for good. */
int blm_lock_keys_file(int fd, int how);
int blm_read_secrets(int fd, struct blm_secrets *ret);
/* Without the blanks at the end. */
size_t blm_trimmed(const char *chars, size_t count);
/*
 * The offset of the line whose secret has this id, or -1. Is any line a secret? ret: memory for the
 * secret, and for those that are tried, outside of core dumps.
 */
int64_t blm_find_secret(const struct blm_secrets *text, const uint8_t key_id[8], uint8_t *ret,
			bool *ret_any);

/* store_keys.c: 1: it was not there before; 0; or a negative errno. */
int blm_keep_in_store(const struct blm_place *place, const uint8_t key_id[8],
		      const uint8_t *secret);
/*
 * A secret goes with the last file in filters/ that needs it, be it in the catalog or not. A
 * process that names a keyed filter holds keys/ shared, from before it finds the secret there until
 * its file is in filters/. So a process that looks through the files, and holds keys/ exclusively,
 * sees the file or is done before the secret is looked for. ret_fd: closing it unlocks; -1 if the
 * user may not look into keys/.
 */
int blm_lock_keys(const struct blm_store *s, int how, int *ret_fd);
/* Does a file in filters/ need the secret? A file that cannot be read may need any. */
bool blm_store_needs_secret(const struct blm_store *s, const uint8_t key_id[8]);
/* The id of the one secret in a file of keys/. false: the file is no such file. */
bool blm_store_secret_id(int keys, const char *file, uint8_t ret[8]);

/* path_key.c: as blm_keep_in_store(). */
int blm_keep_beside(const struct blm_place *place, const uint8_t key_id[8], const uint8_t *secret);
void blm_lose_beside(const struct blm_place *place, const uint8_t key_id[8]);

#endif
