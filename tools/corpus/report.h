/* report.h - the file of --report: counts for each input, as one object of JSON, or as a page */
#ifndef BLOOMERY_CORPUS_REPORT_H
#define BLOOMERY_CORPUS_REPORT_H

#include "run.h"

struct reported {
	const char *name;
	struct tally tally;
	bool before;		/* it was finished before this run */
};

/* Return: an exit code, with a message where it is not DONE; for both. */
/* One more input; tally NULL: it was finished before this run. */
int corpus_report_file(const char *name, const struct tally *tally);
/* The file, in one step; a page if it ends in .html. @verb: of the command */
int corpus_report_write(const char *path, const char *verb, const struct run *run);
void corpus_report_free(void);

/* page.c */
void corpus_print_page(FILE *out, const char *verb, const struct run *run,
		       const struct reported *files, size_t count);

#endif
