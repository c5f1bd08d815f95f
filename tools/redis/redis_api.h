/*
 * redis_api.h - the functions of Redis and Valkey that the module calls, declared here because no
 * package has their header
 *
 * The server loads the module, calls RedisModule_OnLoad() and gives a context. The first pointer in
 * that context is a function that finds the others by name. api_load() calls it for each name in
 * the list below. Valkey knows the same names.
 */
#ifndef BLOOMERY_REDIS_API_H
#define BLOOMERY_REDIS_API_H

#include <stddef.h>
#include <stdint.h>

/* of the server; their members are not known here */
struct redis_ctx;
struct redis_key;
struct redis_string;
struct redis_io;
struct redis_digest;
struct redis_type;
struct redis_command;
struct redis_blocked;
struct redis_info;
struct redis_reply;
struct redis_filter;
struct redis_filter_ctx;
struct redis_user;

enum { REDIS_OK = 0, REDIS_ERR = 1 };
enum { REDIS_API_VERSION = 1, REDIS_TYPE_NAME = 9 };
enum { REDIS_READ = 1 << 0, REDIS_WRITE = 1 << 1 };			/* OpenKey() */
enum { REDIS_KEY_EMPTY = 0 };						/* KeyType() */
enum { REDIS_ARRAY_LATER = -1 };					/* ReplyWithArray() */
enum { REDIS_HANDLES_IO_ERRORS = 1 << 0 };				/* SetModuleOptions() */
enum {									/* GetContextFlags() */
	REDIS_LUA = 1 << 0, REDIS_MULTI = 1 << 1, REDIS_MASTER = 1 << 2, REDIS_REPLICATED = 1 << 12,
	REDIS_LOADING = 1 << 13, REDIS_ACTIVE_CHILD = 1 << 18,
	REDIS_DENY_BLOCKING = 1 << 21, REDIS_RESP3 = 1 << 22, REDIS_ASYNC_LOADING = 1 << 23,
};

typedef int redis_function(struct redis_ctx *ctx, struct redis_string **argv, int argc);

/* Events: keys are renamed, moved or copied, data are saved or loaded, databases change
 * places. */
enum { REDIS_NOTIFY_GENERIC = 1 << 2 };
enum { REDIS_EVENT_PERSISTENCE = 1, REDIS_EVENT_LOADING = 3, REDIS_EVENT_SWAPDB = 11 };
/* of REDIS_EVENT_PERSISTENCE; the first one is a save in the main thread */
enum { REDIS_SAVE_SYNC = 2, REDIS_SAVE_ENDED = 3, REDIS_SAVE_FAILED = 4 };
/* RegisterCommandFilter(): not for the calls of this module */
enum { REDIS_FILTER_NOT_OWN_CALLS = 1 << 0 };

struct redis_event {
	uint64_t id, version;
};

struct redis_swapped {
	uint64_t version;
	int32_t first, second;
};

typedef int redis_key_event(struct redis_ctx *ctx, int type, const char *event,
			    struct redis_string *key);
typedef void redis_server_event(struct redis_ctx *ctx, struct redis_event event, uint64_t sub,
				void *data);

/* get: the module frees the string; set: a string at ret_error is freed by the server. */
typedef struct redis_string *redis_config_get(const char *name, void *context);
typedef int redis_config_set(const char *name, struct redis_string *value, void *context,
			     struct redis_string **ret_error);

/* The callbacks of a type of values, up to version 3 of this struct. */
struct redis_type_methods {
	uint64_t version;
	void *(*rdb_load)(struct redis_io *io, int encver);
	void (*rdb_save)(struct redis_io *io, void *value);
	void (*aof_rewrite)(struct redis_io *io, struct redis_string *key, void *value);
	size_t (*mem_usage)(const void *value);
	void (*digest)(struct redis_digest *digest, void *value);
	void (*free)(void *value);
	int (*aux_load)(struct redis_io *io, int encver, int when);
	void (*aux_save)(struct redis_io *io, int when);
	int aux_save_triggers;
	size_t (*free_effort)(struct redis_string *key, const void *value);
	void (*unlink)(struct redis_string *key, const void *value);
	void *(*copy)(struct redis_string *from, struct redis_string *to, const void *value);
	int (*defrag)(void *context, struct redis_string *key, void **value);
};

/* SetCommandInfo() copies all of it. */
struct redis_arg {
	const char *name;
	int type;			/* REDIS_ARG_STRING... */
	int key_spec;			/* of a key: which of key_specs */
	const char *token, *summary, *since;
	int flags;			/* REDIS_ARG_OPTIONAL... */
	const char *deprecated_since;
	struct redis_arg *subargs;	/* end with one that has no name, as all arguments do */
	const char *display;
};
enum {
	REDIS_ARG_STRING = 0, REDIS_ARG_INTEGER = 1, REDIS_ARG_DOUBLE = 2, REDIS_ARG_KEY = 3,
	REDIS_ARG_TOKEN = 6, REDIS_ARG_ONE_OF = 7,
};
enum { REDIS_ARG_OPTIONAL = 1 << 0, REDIS_ARG_MULTIPLE = 1 << 1 };

/* Which arguments are keys, and what the command does to them. */
struct redis_key_spec {
	const char *notes;
	uint64_t flags;			/* REDIS_KEY_READS... */
	int begin;			/* REDIS_KEY_AT: at argument pos; 0: no spec, but the end */
	union {
		int pos;
		struct {
			const char *keyword;
			int from;
		} after;
	} at;
	int find;			/* REDIS_KEY_RANGE */
	int last, step, limit;		/* last: after pos; -1: all arguments are keys */
};
enum { REDIS_KEY_AT = 2, REDIS_KEY_RANGE = 2 };
/* An access list asks for the right to read a key, to write to it, or both. */
enum {
	REDIS_KEY_READS = 1 << 0 | 1 << 4, REDIS_KEY_CHANGES = 1 << 1 | 1 << 4 | 1 << 6,
	REDIS_KEY_REPLACES = 1 << 2 | 1 << 5,
};

enum { REDIS_HISTORY_BYTES = 16 };	/* the size of a struct that the module does not use */
struct redis_info_version {
	int version;
	size_t history_bytes, key_spec_bytes, arg_bytes;
};

struct redis_command_info {
	const struct redis_info_version *version;
	const char *summary, *complexity, *since;
	void *history;
	const char *tips;
	int arity;			/* with the command's name; -N: at least N */
	struct redis_key_spec *key_specs;
	struct redis_arg *args;
};

/* X(type returned, name, parameters) */
#define REDIS_API_NEEDED(X) \
	X(void, SetModuleAttribs, (struct redis_ctx *, const char *name, int version, int api)) \
	X(int, IsModuleNameBusy, (const char *name)) \
	X(void, SetModuleOptions, (struct redis_ctx *, int options)) \
	X(int, CreateCommand, (struct redis_ctx *, const char *name, redis_function *, \
			       const char *flags, int first, int last, int step)) \
	X(struct redis_command *, GetCommand, (struct redis_ctx *, const char *name)) \
	X(int, SetCommandInfo, (struct redis_command *, const struct redis_command_info *)) \
	X(struct redis_type *, CreateDataType, (struct redis_ctx *, const char *name, int encver, \
						struct redis_type_methods *)) \
	X(struct redis_key *, OpenKey, (struct redis_ctx *, struct redis_string *, int mode)) \
	X(void, CloseKey, (struct redis_key *)) \
	X(int, KeyType, (struct redis_key *)) \
	X(int, DeleteKey, (struct redis_key *)) \
	X(struct redis_type *, ModuleTypeGetType, (struct redis_key *)) \
	X(void *, ModuleTypeGetValue, (struct redis_key *)) \
	X(int, ModuleTypeSetValue, (struct redis_key *, struct redis_type *, void *value)) \
	X(const char *, StringPtrLen, (const struct redis_string *, size_t *ret_len)) \
	X(int, StringToLongLong, (const struct redis_string *, long long *ret)) \
	X(int, StringToDouble, (const struct redis_string *, double *ret)) \
	X(int, WrongArity, (struct redis_ctx *)) \
	X(int, ReplyWithError, (struct redis_ctx *, const char *)) \
	X(int, ReplyWithSimpleString, (struct redis_ctx *, const char *)) \
	X(int, ReplyWithStringBuffer, (struct redis_ctx *, const char *, size_t)) \
	X(int, ReplyWithLongLong, (struct redis_ctx *, long long)) \
	X(int, ReplyWithBool, (struct redis_ctx *, int)) \
	X(int, ReplyWithDouble, (struct redis_ctx *, double)) \
	X(int, ReplyWithNull, (struct redis_ctx *)) \
	X(int, ReplyWithArray, (struct redis_ctx *, long count)) \
	X(void, ReplySetArrayLength, (struct redis_ctx *, long count)) \
	X(int, ReplyWithMap, (struct redis_ctx *, long count)) \
	X(int, ReplicateVerbatim, (struct redis_ctx *)) \
	X(int, Replicate, (struct redis_ctx *, const char *command, const char *format, ...)) \
	X(int, GetContextFlags, (struct redis_ctx *)) \
	X(int, AvoidReplicaTraffic, (void)) \
	X(int, GetSelectedDb, (struct redis_ctx *)) \
	X(int, SelectDb, (struct redis_ctx *, int db)) \
	X(long long, GetAbsExpire, (struct redis_key *)) \
	X(int, SetAbsExpire, (struct redis_key *, long long ms)) \
	X(void, SaveUnsigned, (struct redis_io *, uint64_t)) \
	X(uint64_t, LoadUnsigned, (struct redis_io *)) \
	X(void, SaveDouble, (struct redis_io *, double)) \
	X(double, LoadDouble, (struct redis_io *)) \
	X(void, SaveStringBuffer, (struct redis_io *, const char *, size_t)) \
	X(char *, LoadStringBuffer, (struct redis_io *, size_t *ret_len)) \
	X(int, IsIOError, (struct redis_io *)) \
	X(void, LogIOError, (struct redis_io *, const char *level, const char *format, ...)) \
	X(const struct redis_string *, GetKeyNameFromIO, (struct redis_io *)) \
	X(struct redis_ctx *, GetContextFromIO, (struct redis_io *)) \
	X(int, GetDbIdFromIO, (struct redis_io *)) \
	X(void, EmitAOF, (struct redis_io *, const char *command, const char *format, ...)) \
	X(void, DigestAddStringBuffer, (struct redis_digest *, const char *, size_t)) \
	X(void, DigestEndSequence, (struct redis_digest *)) \
	X(struct redis_blocked *, BlockClient, (struct redis_ctx *, redis_function *reply, \
						redis_function *timeout, \
						void (*free)(struct redis_ctx *, void *), \
						long long timeout_ms)) \
	X(int, UnblockClient, (struct redis_blocked *, void *)) \
	X(int, AbortBlock, (struct redis_blocked *)) \
	X(void *, GetBlockedClientPrivateData, (struct redis_ctx *)) \
	X(struct redis_ctx *, GetThreadSafeContext, (struct redis_blocked *)) \
	X(void, FreeThreadSafeContext, (struct redis_ctx *)) \
	X(struct redis_string *, SaveDataTypeToString, (struct redis_ctx *, void *value, \
							struct redis_type *)) \
	X(struct redis_string *, CreateString, (struct redis_ctx *, const char *, size_t)) \
	X(void, FreeString, (struct redis_ctx *, struct redis_string *)) \
	X(struct redis_string *, HoldString, (struct redis_ctx *, struct redis_string *)) \
	X(struct redis_reply *, Call, (struct redis_ctx *, const char *command, \
				       const char *format, ...)) \
	X(int, ReplyWithCallReply, (struct redis_ctx *, struct redis_reply *)) \
	X(void, FreeCallReply, (struct redis_reply *)) \
	X(struct redis_string *, GetCurrentUserName, (struct redis_ctx *)) \
	X(struct redis_user *, GetModuleUserFromUserName, (struct redis_string *)) \
	X(void, FreeModuleUser, (struct redis_user *)) \
	X(int, ACLCheckCommandPermissions, (struct redis_user *, struct redis_string **argv, \
					    int argc)) \
	X(struct redis_filter *, RegisterCommandFilter, (struct redis_ctx *, \
							 void (*)(struct redis_filter_ctx *), \
							 int flags)) \
	X(int, CommandFilterArgsCount, (struct redis_filter_ctx *)) \
	X(const struct redis_string *, CommandFilterArgGet, (struct redis_filter_ctx *, int)) \
	X(int, CommandFilterArgReplace, (struct redis_filter_ctx *, int, struct redis_string *)) \
	X(const char *, CallReplyStringPtr, (struct redis_reply *, size_t *ret_len)) \
	X(int, NotifyKeyspaceEvent, (struct redis_ctx *, int type, const char *event, \
				     struct redis_string *key)) \
	X(int, SubscribeToKeyspaceEvents, (struct redis_ctx *, int types, redis_key_event *)) \
	X(int, SubscribeToServerEvent, (struct redis_ctx *, struct redis_event, \
					redis_server_event *)) \
	X(struct redis_info *, GetServerInfo, (struct redis_ctx *, const char *section)) \
	X(void, FreeServerInfo, (struct redis_ctx *, struct redis_info *)) \
	X(long long, ServerInfoGetFieldSigned, (struct redis_info *, const char *field, \
						int *ret_err)) \
	X(const char *, ServerInfoGetFieldC, (struct redis_info *, const char *field)) \
	X(int, GetServerVersion, (void)) \
	X(int, RegisterStringConfig, (struct redis_ctx *, const char *name, const char *value, \
				      unsigned flags, redis_config_get *, redis_config_set *, \
				      void *apply, void *context)) \
	X(int, LoadConfigs, (struct redis_ctx *)) \
	X(void, Free, (void *)) \
	X(void, Log, (struct redis_ctx *, const char *level, const char *format, ...)) \
	X(uint64_t, CreateTimer, (struct redis_ctx *, long long ms, \
				  void (*)(struct redis_ctx *, void *), void *))

/* Where the server has them: Redis 7.4, Valkey 8. They are NULL in an older server. */
#define REDIS_API_OPTIONAL(X) \
	X(int, AddACLCategory, (struct redis_ctx *, const char *name)) \
	X(int, SetCommandACLCategories, (struct redis_command *, const char *categories))

#define REDIS_DECLARE(type, name, parameters) extern type (*redis_##name) parameters;
REDIS_API_NEEDED(REDIS_DECLARE)
REDIS_API_OPTIONAL(REDIS_DECLARE)

/* Return: NULL, or the name of the first needed function that the server does not have. */
const char *api_load(struct redis_ctx *ctx);

#endif
