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

/*
 * ELF notes that name these libraries for tools that pack the program or the library, in the form
 * of systemd's "dlopen metadata": owner FDO, type 0x407c0c0a, a text of JSON. A package lists them
 * by `readelf -p .note.dlopen`.
 */
#define OWNER "FDO"
#define LOADED(name, feature, used_for, soname) \
	NOTE(name, "[{\"feature\":\"" feature "\",\"description\":\"" used_for \
	     "\",\"priority\":\"recommended\",\"soname\":[\"" soname "\"]}]")
#define NOTE(name, json) \
	static const struct { \
		uint32_t owner_bytes, text_bytes, type; \
		char owner[sizeof(OWNER)]; \
		_Alignas(4) char text[sizeof(json)]; \
	} name __attribute__((used, section(".note.dlopen"), aligned(4))) = { \
		sizeof(OWNER), sizeof(json), 0x407c0c0a, OWNER, json \
	}
LOADED(zlib_note, "zlib", "gzip input and other programs' packed files", BLM_ZLIB_SONAME);
LOADED(zstd_note, "zstd", "zstd input and base64 exports", BLM_ZSTD_SONAME);
LOADED(md_note, "digests", "the hashes of MD5, SHA-1 and SHA-2", BLM_MD_SONAME);

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
