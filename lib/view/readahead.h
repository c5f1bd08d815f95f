/* readahead.h - questions to a filter that is not in memory */
#ifndef BLM_READAHEAD_H
#define BLM_READAHEAD_H

#include "view/view.h"

enum { BLM_AHEAD = 1024 };	/* keys whose pages are asked for at once */
static_assert(BLM_AHEAD % BLM_BATCH == 0 && BLM_AHEAD % BLM_BATCH_LARGE == 0, "whole batches");

/*
 * blm_waits_for_disk() - did this thread recently wait for pages of the disk that it could have
 * requested in advance?
 * @keys: how many it is about to ask or to change
 *
 * Costs next to nothing where all is in memory: the system's count of page faults is looked at once
 * in thousands of keys.
 */
bool blm_waits_for_disk(struct blm_view *view, size_t keys);

/*
 * Reads the pages of these keys from the disk, all at once: at most BLM_AHEAD keys, or hashes.
 * changing: all pages of a key; else those that a question comes to, which ends at the first bit
 * that is not set.
 */
void blm_ask_ahead(const struct blm_view *view, const struct blm_batch *batch, bool changing);

#endif
