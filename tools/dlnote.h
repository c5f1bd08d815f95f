/*
 * dlnote.h - an ELF note that names a library which is loaded on use, as lazylib.c writes them:
 * systemd's "dlopen metadata". A package lists the libraries by these notes.
 */
#ifndef BLOOMERY_DLNOTE_H
#define BLOOMERY_DLNOTE_H

#include <stdint.h>

#define DLNOTE(name, feature, used_for, soname) \
	DLNOTE_OF(name, "[{\"feature\":\"" feature "\",\"description\":\"" used_for \
			"\",\"priority\":\"recommended\",\"soname\":[\"" soname "\"]}]")
#define DLNOTE_OF(name, json) \
	static const struct { \
		uint32_t owner_bytes, text_bytes, type; \
		char owner[sizeof("FDO")]; \
		_Alignas(4) char text[sizeof(json)]; \
	} name __attribute__((used, section(".note.dlopen"), aligned(4))) = { \
		sizeof("FDO"), sizeof(json), 0x407c0c0a, "FDO", json \
	}

#endif
