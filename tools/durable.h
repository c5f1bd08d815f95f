/*
 * durable.h - --sync-every: keys become durable while they are added, not only at a sync command
 */
#ifndef BLOOMERY_DURABLE_H
#define BLOOMERY_DURABLE_H

#include "command.h"

extern const struct opt sync_option[];
bool is_syncing(void);		/* was --sync-every given? */

/*
 * Before the first key; after a batch with its number of changes, whose answers are
 * written; after the last one, with the code so far. Return: an exit code, with a message.
 */
int begin_syncing(struct blm_filter *f);
int sync_if_due(struct blm_filter *f, uint64_t changed);
int end_syncing(struct blm_filter *f, int code);
/* Blocks that lost bits are reported by end_syncing(). */
int sync_now(struct blm_filter *f);

#endif
