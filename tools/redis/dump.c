/*
 * dump.c - BLM.DUMP: the payload of DUMP, made in a thread
 *
 * A payload is the type, the value as in an RDB file, and a footer: the version of RDB files and a
 * checksum of all bytes before it.
 *
 * With the argument `dump-in-thread yes` the server runs BLM.DUMP in the place of DUMP. What no
 * thread can do goes to DUMP itself: keys of other types, transactions, scripts, filters whose
 * cells change both ways, because they would change under the thread, and values that are small.
 * An access list that denies DUMP denies BLM.DUMP.
 */
#include "command.h"
#include "job.h"
#include "slow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TYPE_MODULE = 7, RDB_VERSION = 9, VALUE_END = 0, FOOTER = 10, HEAD_BYTES = 1 + 9 };
enum { LENGTH_64 = 0x81 };		/* a length of 8 bytes follows, the highest byte first */
enum { SMALL = 1 << 20, ARGS_MOST = 4 };

/* ---- The payload ---- */

#define CRC64 UINT64_C(0x95ac9329ac4bc9b5)	/* Jones, the lowest bit first */

static uint64_t crc64(const uint8_t *bytes, size_t count)
{
	uint64_t table[256], crc = 0;

	for (unsigned i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] & 1 ? table[i] >> 1 ^ CRC64 : table[i] >> 1;
	}
	for (size_t i = 0; i < count; i++)
		crc = table[(uint8_t)crc ^ bytes[i]] ^ crc >> 8;
	return crc;
}

/* The name of the type, six bits a character, and its encoding in ten bits. */
static uint64_t type_id(const char *name, unsigned encoding)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789-_";
	uint64_t id = 0;

	for (; *name; name++)
		id = id << 6 | (uint64_t)(strchr(letters, *name) - letters);
	return id << 10 | encoding;
}

static uint8_t *payload(struct value *v, size_t *ret_count)
{
	struct redis_string *saved = redis_SaveDataTypeToString(NULL, v, value_types[v->sort]);
	uint64_t id = type_id(type_names[v->sort], type_encodings[v->sort]), crc;
	uint8_t *bytes = NULL, *at;
	const char *body;
	size_t count;

	if (!saved)
		return NULL;
	body = redis_StringPtrLen(saved, &count);
	at = bytes = malloc(HEAD_BYTES + count + 1 + FOOTER);
	if (at) {
		*at++ = TYPE_MODULE;
		*at++ = LENGTH_64;
		for (int i = 56; i >= 0; i -= 8)
			*at++ = (uint8_t)(id >> i);
		memcpy(at, body, count);
		at += count;
		*at++ = VALUE_END;
		*at++ = RDB_VERSION;
		*at++ = 0;
		crc = crc64(bytes, (size_t)(at - bytes));
		for (int i = 0; i < 64; i += 8)
			*at++ = (uint8_t)(crc >> i);
		*ret_count = (size_t)(at - bytes);
	}
	redis_FreeString(NULL, saved);
	return bytes;
}

/* ---- The command ---- */

/* The reply of the thread's context comes after that of the main thread, without a copy. */
static int run(struct job *job)
{
	struct redis_ctx *ctx = redis_GetThreadSafeContext(job->client);
	size_t count;
	uint8_t *bytes = payload(job->v, &count);

	if (bytes)
		redis_ReplyWithStringBuffer(ctx, (const char *)bytes, count);
	else
		redis_ReplyWithError(ctx, "ERR BLM.DUMP: out of memory");
	redis_FreeThreadSafeContext(ctx);
	free(bytes);
	return 0;
}

static int no_reply(struct redis_ctx *ctx, struct redis_string **argv, int argc,
		    const struct job *job)
{
	return REDIS_OK;
}

/* By DUMP itself, if the access list of the client allows that. */
static int dump_plainly(struct redis_ctx *ctx, struct redis_string *key)
{
	struct redis_reply *reply = redis_Call(ctx, "DUMP", "CEs", key);

	if (!reply)
		return reply_error(ctx, "ERR BLM.DUMP: the server cannot run DUMP here");
	redis_ReplyWithCallReply(ctx, reply);
	redis_FreeCallReply(reply);
	return REDIS_OK;
}

bool may_run(struct redis_ctx *ctx, const char *command, struct redis_string **given, int argc)
{
	struct redis_string *name = redis_GetCurrentUserName(ctx), *argv[ARGS_MOST];
	struct redis_user *user = name ? redis_GetModuleUserFromUserName(name) : NULL;
	bool may;

	memcpy(argv, given, (size_t)argc * sizeof(*argv));
	argv[0] = redis_CreateString(NULL, command, strlen(command));
	may = user && redis_ACLCheckCommandPermissions(user, argv, argc) == REDIS_OK;
	if (user)
		redis_FreeModuleUser(user);
	if (name)
		redis_FreeString(ctx, name);
	redis_FreeString(NULL, argv[0]);
	return may;
}

static bool in_thread(struct redis_ctx *ctx, const struct opened *o)
{
	struct blm_info info = BLM_INFO;

	return o->found == FOUND && o->v->owned && o->v->f && !o->v->both_ways && job_can_block(ctx)
		&& blm_info(o->v->f, &info) == 0 && info.data_bytes >= SMALL;
}

int blm_dump_command(struct redis_ctx *ctx, struct redis_string **argv, int argc)
{
	struct opened o;
	struct job *job;

	if (argc != 2)
		return redis_WrongArity(ctx);
	o = key_open(ctx, argv[1], REDIS_READ, 1 << SORT_FILTER | 1 << SORT_BLOOM);
	key_close(&o);
	job = in_thread(ctx, &o) && may_run(ctx, "DUMP", argv, argc) ? job_new(run, 0) : NULL;
	if (!job)
		return dump_plainly(ctx, argv[1]);
	job->v = value_hold(o.v);
	job->reply = no_reply;
	if (job_start(ctx, job))
		return REDIS_OK;
	job_free(job);
	return dump_plainly(ctx, argv[1]);
}

/* ---- In the place of DUMP ---- */

static void redirect(struct redis_filter_ctx *filtered)
{
	static const char name[] = "BLM.DUMP";

	if (redis_CommandFilterArgsCount(filtered) == 2
	    && option_is(redis_CommandFilterArgGet(filtered, 0), "DUMP"))
		redis_CommandFilterArgReplace(filtered, 0,
					      redis_CreateString(NULL, name, sizeof(name) - 1));
}

bool dump_in_thread(struct redis_ctx *ctx)
{
	return redis_RegisterCommandFilter(ctx, redirect, REDIS_FILTER_NOT_OWN_CALLS);
}
