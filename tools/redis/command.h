/* command.h - what all commands have in common: keys, replies, options, defaults */
#ifndef BLOOMERY_REDIS_COMMAND_H
#define BLOOMERY_REDIS_COMMAND_H

#include "value.h"

/* Registers the commands of its group. Return: false if the server refuses one. */
bool bf_commands(struct redis_ctx *ctx);
bool cf_commands(struct redis_ctx *ctx);
bool blm_commands(struct redis_ctx *ctx);

struct command {
	const char *name;
	redis_function *run;
	const char *flags;
	const char *syntax;		/* of its arguments, see syntax.c; NULL: not for users */
	const char *summary;		/* what it does, in a sentence */
	int last;			/* its last key; 0: it has one key */
};
enum { LAST_SOURCE = -1, LAST_DESTINATION = 2 };

/* What COMMAND, access lists and clusters know of a command. @checked: also its arguments */
void command_describe(struct redis_command *command, const struct command *c, bool checked);

/* @commands: ends with a name that is NULL. @category: of ACL, where the server takes it */
bool commands_create(struct redis_ctx *ctx, const struct command *commands, const char *category);

/* The arguments of the module, and their defaults, which are RedisBloom's. */
struct settings {
	double rate;
	long long capacity, expansion;
	long long blm_bytes;
	long long cf_capacity, cf_slots, cf_iterations, cf_expansion, cf_tables;
	bool valkey;			/* BF.* as valkey-bloom */
	bool threaded_dump;		/* BLM.DUMP in the place of DUMP */
	bool threaded_copy;		/* BLM.COPY in the place of COPY */
	bool auto_attach;		/* a key that is missing to a filter of its name */
};
extern struct settings settings;

#define RATE_MOST 0.25
enum { CAPACITY_MOST = 1 << 30, EXPANSION_MOST = 32768, SLOTS_MOST = 255, ITERATIONS_MOST = 65535 };

/* ---- Keys ---- */

enum found { FOUND, FOUND_NONE, FOUND_OTHER };

/* @sorts: a set of bits 1 << enum sort */
struct opened {
	struct redis_key *key;
	struct value *v;		/* FOUND only */
	enum found found;
};
/* A key that is missing is attached to the filter of its name, if the arguments say so. */
struct opened key_open(struct redis_ctx *ctx, struct redis_string *name, int mode, unsigned sorts);
void key_close(struct opened *o);
/* A whole value. Return: false if there is none, and a reply that says so. */
bool key_get(struct redis_ctx *ctx, struct redis_string *name, int mode, unsigned sorts,
	     struct value **ret);
/* A key to be made. Return: false if the key is there, and a reply that says so. */
bool key_open_new(struct redis_ctx *ctx, struct redis_string *name, unsigned sorts,
		  struct opened *ret);
/* Gives the key a value and closes it. */
void key_set(struct opened *o, struct value *v);

/* ---- Replies; each returns REDIS_OK ---- */

int reply_error(struct redis_ctx *ctx, const char *text);
int reply_wrong_type(struct redis_ctx *ctx);
/* The library's last error. */
int reply_failure(struct redis_ctx *ctx, int err);
/* A value that lacks chunks, or whose file is missing. */
int reply_incomplete(struct redis_ctx *ctx, const struct value *v);

/* NULL, or what to reply where the server has too few file descriptors for another filter. */
const char *no_space(struct redis_ctx *ctx);
/* Return: true, and a reply, if there is no room for another filter. */
bool refuse_no_space(struct redis_ctx *ctx);

/*
 * Replicates the command as it came. That of an attached filter is left out of the append-only
 * file: its own file has the change, and other processes may have taken it back since.
 */
int replicate_change(struct redis_ctx *ctx, const struct value *v, struct redis_string **argv,
		     int argc);

/* A string of at most BLM_NAME_MAX bytes without a NUL. Return: false if it is none. */
bool arg_name(const struct redis_string *arg, char ret[BLM_NAME_MAX + 1]);
/* A name that keys can be attached to. Return: false, and a reply, if it is none. */
bool store_name(struct redis_ctx *ctx, const struct redis_string *arg, char ret[BLM_NAME_MAX + 1]);

/* Keys of the arguments. NULL: out of memory; free() it. */
struct blm_key *keys_of(struct redis_string **argv, size_t count);
static inline bool bit_at(const uint64_t *bits, size_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

/* The argument with that name, from `from` on; 0: none. */
int option_find(struct redis_string **argv, int argc, int from, const char *name);
bool option_is(const struct redis_string *arg, const char *name);

#endif
