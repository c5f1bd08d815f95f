/*
 * inject.h - the cases of inject.c, what they work on, and what they share
 *
 * A case is one call of the API. inject_world.c makes what it finds; the other inject_*.c have the
 * cases, by theme; inject.c runs them.
 */
#ifndef BLM_INJECT_H
#define BLM_INJECT_H

#include "base/base.h"
#include "bloomery.h"

#include <stdio.h>
#include <stdlib.h>

#pragma GCC visibility push(hidden)	/* no library comes here for a function of that name */

enum { KEYS = 200, COMMON = 100, RUN_SECONDS = 600 };

/* What a filter can be, by the keys that it holds: a set of bits */
enum {
	GONE = 1,
	EMPTY = 2,
	FIRST = 4,		/* keys 0 to 199, as "a" has them */
	SECOND = 8,		/* keys 100 to 299, as "b" */
	BOTH = 16,
	SHARED = 32,
	OTHER = 64,		/* something else: never right */
};

enum where { PATH, STORE, MEMORY };

struct world {
	enum where where;
	const struct one_case *c;
	struct blm_store *store;	/* of the names; NULL for paths */
	struct blm_filter *f, *g;	/* "a" and "b", where the case wants them */
	struct blm_filter *made;	/* what the call gives */
	void *bytes;			/* ... or this */
	size_t count;
};

enum {
	/* "a" is open to write, "b" to read; "a" to read only */
	/*
	 * the first half of its work may be done when it fails; a repair, or the same call, ends it
	 */
	/* so it is with files, but what a name stands for is as before or as after */
	/* the call is a child's, which leaves what LMDB has of its parent's */
	/* ... or a file, which can be there though the call failed */
	/* it may succeed without having done all: made again, it does */
	IN_PATH = 1 << PATH, IN_STORE = 1 << STORE, IN_MEMORY = 1 << MEMORY, EVERYWHERE = 7,
	OPEN_F = 1 << 3, OPEN_G = 1 << 4, READ_F = 1 << 5,
	NO_STORE = 1 << 6,		/* no handle of the store is open during the call */
	TWO_STEPS = 1 << 7,
	TWO_NAMES = 1 << 8,
	FORKED = 1 << 9,
	GIVES_STORE = 1 << 10,		/* what the call gives is the store's handle */
	GIVES_FILE = 1 << 11,
	REPAIRS = 1 << 12,
	SEALS = 1 << 13,		/* "a" can be sealed though the call failed */
	LAST_SECRET = 1 << 14,		/* with "a" goes a secret that no other filter has */

	KEEPS_DAMAGE = 1 << 15,		/* "a" is damaged, and stays where it cannot be deleted */
	NO_CALLS = 1 << 16,		/* it makes no call that can fail */
};

struct one_case {
	const char *name;	/* NULL after the last */
	unsigned how;
	int (*call)(struct world *w);
	void (*before)(struct world *w);
	/* what becomes of "a", and of the new filter, if it is done; 0: as before, none */
	int a, new;
	struct blm_kind_info kind;	/* of "a", where that comes from the registry */
};

extern const struct one_case filters_cases[], stores_cases[], lists_cases[], forms_cases[],
	exchange_cases[], kinds_cases[], built_cases[], banks_cases[];
/* Kinds that kinds_cases does not name; kinds that are built from all their keys. */
const struct one_case *other_kinds_cases(void), *built_kinds_cases(void);

#define FIXTURE(x) do { \
	int fixture_ = (int)(x); \
	if (fixture_ < 0) { \
		printf("Bail out! %s: %s\n", #x, blm_error_message()); \
		exit(2); \
	} \
} while (0)

/* ---- inject_world.c ---- */

extern const struct blm_params small, keyed;

const char *new_name(const struct world *w);
void key_of(int i, char ret[16]);
int add_keys(struct blm_filter *f, int from, int to);
int holds(const struct blm_filter *f, int from, int to);
int what_it_holds(const struct blm_filter *f);
const char *words_for(int what);
void make_filter(struct blm_store *store, const char *name, const struct blm_params *params,
		 int from, int to);
void pack_in_gzip(const char *from, const char *to);
void make_fixture(void);
int ignore_bytes(void *context, const void *bytes, size_t count);
int count_one(void *context, const struct blm_info *info, int err);
void fork_it(struct world *w);

/* ---- Calls of more than one theme ---- */

int open_to_read(struct world *w);
int open_to_write(struct world *w);
int add(struct world *w);
int ask(struct world *w);
int sync_it(struct world *w);
int unite_raw(struct world *w);
int copy(struct world *w);
int unite_into(struct world *w);
int clear(struct world *w);
int seal(struct world *w);
int rebuild(struct world *w);
int drop(struct world *w);
int verify(struct world *w);
int verify_store(struct world *w);
int repair_store(struct world *w);
int export_file(struct world *w);
int export_bytes(struct world *w);
int add_second(struct world *w);
void make_replacement(struct world *w);
void become(struct world *w, struct blm_params params);
void as_counting(struct world *w);

#pragma GCC visibility pop

#endif
