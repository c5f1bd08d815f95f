/*
 * paging.h - how a mapped file is kept in memory: its page size, reading it in advance, pinning its
 * pages, and requesting pages before they are needed
 *
 * Pages of 2 MiB halve the time of a random line, and multiply what a miss reads and what a changed
 * bit writes back: the system reads and writes the whole page. Pages of 4 KiB are the other way
 * round (bench-memory measures both). Which ones a file has is decided for each 2 MiB of it when
 * they first come into memory, by the map through which they come, and holds for everyone until
 * they leave it.
 */
#ifndef BLM_FILE_PAGES_H
#define BLM_FILE_PAGES_H

#include "file/mapping.h"

/*
 * Pages of 2 MiB for data that come into memory through this part of the map, where the file system
 * has them; else of 4 KiB. A hint. Either way a miss reads one page and not its neighbours, because
 * questions go to random places.
 */
void blm_pages_choose(const uint8_t *at, uint64_t bytes, bool huge);

/* Is the file larger than what this machine has of memory? */
bool blm_pages_too_many(const struct blm_image *image);

/*
 * Read and map this range now. `small`: it has pages of 4 KiB, which are read one by one where
 * no call asks for more. Then: hold the whole file in memory until it is let go. Fail with words.
 */
int blm_pages_bring(const uint8_t *at, uint64_t bytes, bool small, const char *path);
int blm_pages_lock(const struct blm_image *image, const char *path);
void blm_pages_unlock(const struct blm_image *image);

/*
 * This range is needed soon: begin to read the pages of 4 KiB from the disk that are not in memory.
 */
void blm_pages_want(const void *at, uint64_t bytes);

#endif
