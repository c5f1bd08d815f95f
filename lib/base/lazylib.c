/*
 * lazylib.c - the tables of lazylib.h: filled by the linker, or by loading the library on first use
 */
#include "base/lazylib.h"

#ifndef BLM_LAZYLIB_LOADED

#define LINKED(f) .f = f,
struct blm_zlib blm_zlib = { BLM_ZLIB_CALLS(LINKED) };
struct blm_zstd blm_zstd = { BLM_ZSTD_CALLS(LINKED) };
struct blm_md blm_md = { BLM_MD_CALLS(LINKED) };

const char *blm_need(enum blm_rare library)
{
	return NULL;
}

#else

#include "base/base.h"

#include <dlfcn.h>

struct blm_zlib blm_zlib;
struct blm_zstd blm_zstd;
struct blm_md blm_md;

#define NAME(f) #f,
static const char *const zlib_names[] = { BLM_ZLIB_CALLS(NAME) },
*const zstd_names[] = { BLM_ZSTD_CALLS(NAME) },
	*const md_names[] = { BLM_MD_CALLS(NAME) };

typedef void *address __attribute__((may_alias));	/* of a function: POSIX has them fit */

static struct library {
	const char *soname;
	const char *const *names;
	size_t count;
	address *calls;
	bool ready;
} libraries[] = {
	[BLM_ZLIB] = { BLM_ZLIB_SONAME, zlib_names, ARRAY_LEN(zlib_names), (address *)&blm_zlib,
		       false },
	[BLM_ZSTD] = { BLM_ZSTD_SONAME, zstd_names, ARRAY_LEN(zstd_names), (address *)&blm_zstd,
		       false },
	[BLM_MD] = { BLM_MD_SONAME, md_names, ARRAY_LEN(md_names), (address *)&blm_md, false },
};

/*
 * No lock, which a fork could leave held: of several threads that come here at once, all do the
 * same.
 */
const char *blm_need(enum blm_rare library)
{
	struct library *l = &libraries[library];
	void *handle;

	if (__atomic_load_n(&l->ready, __ATOMIC_ACQUIRE))
		return NULL;
	handle = dlopen(l->soname, RTLD_NOW | RTLD_LOCAL);	/* it stays open */
	if (!handle)
		return dlerror();
	for (size_t i = 0; i < l->count; i++) {
		address call = dlsym(handle, l->names[i]);

		if (!call)
			return dlerror();
		__atomic_store_n(&l->calls[i], call, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&l->ready, true, __ATOMIC_RELEASE);
	return NULL;
}

#endif
