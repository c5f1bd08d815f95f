/*
 * remote.h - a filter that a server of Redis or Valkey with our module serves, in one key or in
 * many
 *
 * A filter of N shards has the keys NAME:0 to NAME:N-1, which a cluster spreads over its nodes. Key
 * k belongs to shard crc32(k) * N >> 32, as in bloomery.redis of Python. hiredis is loaded on first
 * use.
 */
#ifndef BLOOMERY_REMOTE_H
#define BLOOMERY_REMOTE_H

#include "command.h"

enum { SHARDS_MOST = 16384 };

struct remote;

/*
 * @url: redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE] or unix:PATH; the password may be in
 *       $REDISCLI_AUTH
 * Return: an exit code, with a message.
 */
int remote_open(struct remote **ret, const char *url, const char *name, unsigned shards);
void remote_close(struct remote *r);

/*
 * Create the shards that are missing, for `capacity` keys together, with a kind and options where
 * these are not NULL. Return: an exit code, with a message.
 */
int remote_create(struct remote *r, const struct blm_params *params);

/*
 * Claim keys. A bit is set for each that is this caller's, also where the return is not DONE: then
 * the message says how many keys have no answer.
 */
int remote_claim(struct remote *r, const struct blm_key *keys, size_t count, uint64_t *ret_bits);

#endif
