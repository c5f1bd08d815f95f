/* lines_out.h - the file that the lines of a rank go to */
#ifndef BLOOMERY_MPI_LINES_OUT_H
#define BLOOMERY_MPI_LINES_OUT_H

#include "ranks.h"

/*
 * The first three refuse a file of that name which the lines must not go to, as the same file may
 * have other names. An error ends the job. `name` is that of the output; %r is the number of the
 * rank.
 */
/* ... one that any rank of this machine reads. All ranks call this. */
void output_refuse_inputs(const char *name, char **inputs, size_t count);
/* ... this one; it need not exist. NULL: none */
void output_refuse(const char *name, const char *path);
/* ... those of the folder whose names begin so */
void output_refuse_in(const char *name, const char *folder, const char *begin);

/*
 * Makes the file the standard output of this rank, when all ranks have called this: so no file is
 * changed by a job that another rank refuses.
 * @append: what the file has stays
 */
void output_open(const char *name, bool append);

/* To be called when all ranks have their locks, so that no rank of an earlier job writes. */
void output_drop_torn_line(const char *path);

#endif
