/*
 * walks.c - writes down which functions three calls enter: blm_open(), blm_add_many(), blm_sync()
 *
 * The library is compiled with -finstrument-functions, so each function calls
 * __cyg_profile_func_enter(). tests/house/walks turns the addresses into files.
 */
#include "bloomery.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define UNSEEN __attribute__((no_instrument_function))

enum { KEYS = 1000, CALLS_MAX = 1 << 20 };

/* A call of a function; NULL: a return. */
static void *calls[CALLS_MAX];
static size_t count;
static bool recording;

void __cyg_profile_func_enter(void *function, void *from);
void __cyg_profile_func_exit(void *function, void *from);

UNSEEN void __cyg_profile_func_enter(void *function, void *from)
{
	(void)from;
	if (recording && count < CALLS_MAX)
		calls[count++] = function;
}

UNSEEN void __cyg_profile_func_exit(void *function, void *from)
{
	(void)function;
	(void)from;
	if (recording && count < CALLS_MAX)
		calls[count++] = NULL;
}

static UNSEEN void begin(void)
{
	count = 0;
	recording = true;
}

/* Prints addresses as addr2line takes them: those of the file. 0 is a return. */
static UNSEEN void end(const char *call, const char *where)
{
	Dl_info at;

	recording = false;
	if (!dladdr((void *)end, &at))
		return;
	printf("%s %s\n", call, where);
	for (size_t i = 0; i < count; i++)
		printf("%#tx\n", calls[i] ? (char *)calls[i] - (char *)at.dli_fbase : 0);
}

static void add(struct blm_filter *f, int from)
{
	static uint64_t numbers[KEYS];
	static struct blm_key keys[KEYS];

	for (int i = 0; i < KEYS; i++) {
		numbers[i] = (uint64_t)(from + i);
		keys[i].bytes = &numbers[i];
		keys[i].len = sizeof(numbers[i]);
	}
	blm_add_many(f, keys, KEYS, NULL);
}

/*
 * The first calls of a process, and the first change after a sync, have more to do: so one is made
 * before that which is written down.
 */
static int walk(struct blm_store *store, const char *name, const char *where)
{
	struct blm_params params = BLM_PARAMS();
	struct blm_filter *f;
	int r;

	params.capacity = 1000000;
	params.rate = 0.01;
	r = blm_create(&f, store, name, &params);
	if (r < 0)
		return r;
	add(f, 0);
	r = blm_sync(f);
	blm_close(f);
	if (r < 0)
		return r;
	begin();
	r = blm_open(&f, store, name, BLM_OPEN_WRITE);
	end("blm_open", where);
	if (r < 0)
		return r;
	add(f, KEYS);
	begin();
	add(f, 2 * KEYS);
	end("blm_add_many", where);
	begin();
	r = blm_sync(f);
	end("blm_sync", where);
	blm_close(f);
	return r;
}

int main(int argc, char **argv)
{
	struct blm_store *store;
	char path[PATH_MAX];
	int r;

	if (argc != 2)
		return 64;
	snprintf(path, sizeof(path), "%s/store", argv[1]);
	r = blm_store_open(&store, path, BLM_STORE_CREATE);
	if (r == 0) {
		r = walk(store, "walk", "store");
		blm_store_close(store);
	}
	snprintf(path, sizeof(path), "%s/walk.blm", argv[1]);
	if (r == 0)
		r = walk(NULL, path, "path");
	if (r < 0)
		fprintf(stderr, "walks: %s\n", blm_error_message());
	return r < 0;
}
