/* sync.h - BLM.SYNC: the client waits until the keys are durable, the server does not */
#ifndef BLOOMERY_REDIS_SYNC_H
#define BLOOMERY_REDIS_SYNC_H

#include "redis_api.h"

redis_function blm_sync_command;

#endif
