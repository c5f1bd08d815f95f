/* slow.h - BLM.SYNC, BLM.UNION, BLM.PUBLISH: the client waits for them, the server does not */
#ifndef BLOOMERY_REDIS_SLOW_H
#define BLOOMERY_REDIS_SLOW_H

#include "redis_api.h"

redis_function blm_sync_command, blm_union_command, blm_publish_command;

#endif
