/*
 * libbloom.h - what all versions of libbloom share: how a filter is sized, and the names of its
 * hash and its schemes
 */
#ifndef BLM_FORMAT_LIBBLOOM_H
#define BLM_FORMAT_LIBBLOOM_H

#include "format/format.h"

#include <math.h>

/* bloom_init(), with its constants; `scheme` is that of the version. */
static inline int libbloom_plan(struct blm_params *p, const char *scheme)
{
	double each = -log(p->rate) / 0.480453013918201;

	p->hash = "murmur2";
	p->scheme = scheme;
	if (!p->cells)
		p->cells = (uint64_t)fmax(1, (double)p->capacity * each);
	if (!p->probes)
		p->probes = (uint32_t)fmin(ceil(0.693147180559945 * each), 255);
	return 0;
}

#endif
