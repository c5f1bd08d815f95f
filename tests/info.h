/* info.h - memory for a struct blm_info, which is large, with its size set */
#ifndef INFO_H
#define INFO_H

#include "bloomery.h"

#include <stdlib.h>

/* The caller's to free. */
static inline struct blm_info *info_buffer(void)
{
	struct blm_info *info = malloc(sizeof(*info));

	if (!info)
		abort();
	*info = BLM_INFO;
	return info;
}

#endif
