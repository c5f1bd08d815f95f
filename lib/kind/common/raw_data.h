/* raw_data.h - raw data of another filter of the same template, checked and united */
#ifndef BLM_RAW_DATA_H
#define BLM_RAW_DATA_H

#include "kind/kind.h"

/*
 * May these bytes be united with the part's from `at` on? They are inside it. Return: 0, or -EINVAL
 * with a message: a bit outside of the cells is set, or cells are in words and the words are
 * incomplete.
 */
int blm_raw_check(const struct blm_part *part, uint64_t at, const void *data, size_t bytes,
		  const char *display);
/* Any range of bytes that blm_raw_check() takes; as the kind's unite() otherwise. */
void blm_raw_unite(struct blm_part *part, uint64_t at, const void *data, size_t bytes);

#endif
