/* chunks.h - SCANDUMP and LOADCHUNK of both types */
#ifndef BLOOMERY_REDIS_CHUNKS_H
#define BLOOMERY_REDIS_CHUNKS_H

#include "redis_api.h"

redis_function bf_scandump, bf_loadchunk, cf_scandump, cf_loadchunk;

#endif
