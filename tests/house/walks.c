/*
 * walks.c - writes down which functions three calls enter: blm_open(), blm_add_many(), blm_sync()
 *
 * The library is compiled with -finstrument-functions, so each function calls
 * __cyg_profile_func_enter(). tests/house/walks turns the addresses into files.
 */
#include "bloomery.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { KEYS = 1000, CALLS_MAX = 1 << 20 };

static bool recording;
static struct { void *function, *from; } calls[CALLS_MAX];
static size_t count;

void __cyg_profile_func_enter(void *function, void *from);
void __cyg_profile_func_exit(void *function, void *from);

__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void *function, void *from)
{
	if (recording && count < CALLS_MAX) {
		calls[count].function = function;
		calls[count++].from = from;
	}
}

__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void *function, void *from)
{
	(void)function;
	(void)from;
}

/* The addresses in the file, as addr2line takes them. */
static void print(const char *name)
{
	Dl_info at;

	recording = false;
	if (!dladdr((void *)print, &at))
		return;
	for (size_t i = 0; i < count; i++)
		printf("%s %#zx %#zx\n", name, (size_t)((char *)calls[i].function - (char *)at.dli_fbase),
		       (size_t)((char *)calls[i].from - (char *)at.dli_fbase));
	count = 0;
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
	recording = from > 0;
	blm_add_many(f, keys, KEYS, NULL);
}

/* The first calls of a process set things up. The second calls are the ones that are counted. */
int main(int argc, char **argv)
{
	struct blm_params params = BLM_PARAMS();
	struct blm_filter *f;

	if (argc != 2)
		return 64;
	params.capacity = 1000000;
	params.rate = 0.01;
	if (blm_create(&f, NULL, argv[1], &params) < 0) {
		fprintf(stderr, "%s\n", blm_error_message());
		return 1;
	}
	add(f, 0);
	blm_sync(f);
	blm_close(f);
	recording = true;
	if (blm_open(&f, NULL, argv[1], BLM_OPEN_WRITE) < 0)
		return 1;
	print("blm_open");
	add(f, KEYS);
	print("blm_add_many");
	recording = true;
	if (blm_sync(f) < 0)
		return 1;
	print("blm_sync");
	blm_close(f);
	return 0;
}
