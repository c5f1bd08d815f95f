/*
 * slow.h - BLM.SYNC, BLM.UNION, BLM.PUBLISH, BLM.DUMP: the client waits for them, the server does
 * not
 */
#ifndef BLOOMERY_REDIS_SLOW_H
#define BLOOMERY_REDIS_SLOW_H

#include "redis_api.h"

#include <stdbool.h>

redis_function blm_sync_command, blm_union_command, blm_publish_command,
	blm_dump_command;

/* From now on DUMP is BLM.DUMP. Return: false if the server refuses that. */
bool dump_in_thread(struct redis_ctx *ctx);

#endif
