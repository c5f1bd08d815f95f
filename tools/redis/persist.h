/*
 * persist.h - the argument `persist files`: RDB files refer to the files of the store
 *
 * A save writes the uuid of a file in the place of its data, so a restart maps the file and reads
 * nothing. A replica has no such file, so while one is connected a save has the data. A file that
 * the last RDB file may refer to is dropped only after a later save. The append-only file may
 * begin with such references, so it must be rewritten, too.
 */
#ifndef BLOOMERY_REDIS_PERSIST_H
#define BLOOMERY_REDIS_PERSIST_H

#include "value.h"

enum { UUID = 16 };

extern bool persist_files;

/* Looks for saves that ended, from now on. */
void persist_watch(struct redis_ctx *ctx);
/* A save begins or ends: @sub of REDIS_EVENT_PERSISTENCE. */
void persist_follow_save(struct redis_ctx *ctx, uint64_t sub);

/* Is this save to refer to the file of the value? Then the keys of the file are durable. */
bool persist_refers(struct redis_io *io, const struct value *v, uint8_t ret_uuid[UUID]);

/*
 * Opens the file that an RDB file refers to. Without it v->f stays NULL, and the log says so: then
 * the key answers with errors.
 */
void persist_open(struct redis_io *io, struct value *v, const uint8_t uuid[UUID],
		  const struct spot *spot);

/* Drops the file after the next save. Any thread. */
void persist_drop(const char *name);
bool persist_drops(const char *name);
/* Is a thread dropping it now? Then no value can have it again. */
bool persist_goes(const char *name);
/* A value has it again. */
void persist_keep(const char *name);

#endif
