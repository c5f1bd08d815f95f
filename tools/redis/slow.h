/*
 * slow.h - BLM.SYNC, BLM.UNION, BLM.PUBLISH, BLM.DUMP, BLM.COPY: the client waits for them, the
 * server does not
 */
#ifndef BLOOMERY_REDIS_SLOW_H
#define BLOOMERY_REDIS_SLOW_H

#include "redis_api.h"

#include <stdbool.h>

redis_function blm_sync_command, blm_union_command, blm_publish_command,
	blm_dump_command, blm_copy_command;

/* From now on DUMP is BLM.DUMP. Return: false if the server refuses that. */
bool dump_in_thread(struct redis_ctx *ctx);
/* The same of COPY and BLM.COPY. */
bool copy_in_thread(struct redis_ctx *ctx);

/*
 * May the client run the command of the server that one of at most 3 arguments stands for? If not,
 * the server has the words for it.
 */
bool may_run(struct redis_ctx *ctx, const char *command, struct redis_string **given, int argc);

struct job;
/* Notes the filters of the keys, to know them again. Return: 0, or a negative errno */
int note_keys(struct redis_ctx *ctx, struct job *job, struct redis_string **key);
/* Has the key number `i` the filter that it had? */
bool is_same(struct redis_ctx *ctx, const struct job *job, size_t i, long long *ret_expires);
/* RESTORE of the first key. */
void replicate_data(struct redis_ctx *ctx, const struct job *job, long long expires);

#endif
