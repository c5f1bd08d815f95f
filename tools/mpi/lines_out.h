/* lines_out.h - the file that the lines of a rank go to */
#ifndef BLOOMERY_MPI_LINES_OUT_H
#define BLOOMERY_MPI_LINES_OUT_H

#include "ranks.h"

/*
 * Makes the file the standard output of this rank. A file that any rank of this machine reads, and
 * one of the filter's, is refused. All ranks call this. An error ends the job.
 * @name: %r is the number of the rank
 * @append: what the file has stays
 */
void output_open(const char *name, bool append, const char *filter, char **inputs, size_t count);

/* To be called when all ranks have their locks, so that no rank of an earlier job writes. */
void output_drop_torn_line(const char *path);

#endif
