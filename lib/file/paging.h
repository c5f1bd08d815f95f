/*
 * paging.h - how a mapped file is kept in memory: its page size, reading it in advance, pinning its
 * pages, and requesting pages before they are needed
 *
 * Pages of 2 MiB halve the time of a random line, but a miss reads a complete page and a changed
 * bit writes one back. Pages of 4 KiB have the opposite properties (bench-memory measures both).
 * The page size is decided for each 2 MiB of a file when they first enter memory, by the map that
 * brings them in, and holds for every process until they leave memory.
 */
#ifndef BLM_FILE_PAGES_H
#define BLM_FILE_PAGES_H

#include "file/mapping.h"

/*
 * Pages of 2 MiB for data that enter memory through this part of the map, if the file system has
 * them; otherwise of 4 KiB. A hint. With either size a miss reads one page and not its neighbours,
 * because questions go to random places.
 */
void blm_pages_choose(const uint8_t *at, uint64_t bytes, bool huge);

/* Is the file larger than the memory of this machine? */
bool blm_pages_too_many(const struct blm_image *image);

/*
 * Read and map this range now. `small`: it has pages of 4 KiB, which the system reads one by one
 * unless a call requests more. The next function: hold the complete file in memory until it is
 * released. Both fail with a message.
 */
int blm_pages_bring(const uint8_t *at, uint64_t bytes, bool small, const char *path);
int blm_pages_lock(const struct blm_image *image, const char *path);
void blm_pages_unlock(const struct blm_image *image);

/*
 * This range is needed soon: begin to read the pages of 4 KiB from the disk that are not in memory.
 */
void blm_pages_want(const void *at, uint64_t bytes);

#endif
