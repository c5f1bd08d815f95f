/* run.h - a run of `bloomery corpus` over its files */
#ifndef BLOOMERY_CORPUS_RUN_H
#define BLOOMERY_CORPUS_RUN_H

#include "corpus.h"
#include "ledger.h"

struct tally {
	uint64_t documents, kept, shortened, bad;
	uint64_t units, removed, keys;	/* units that have keys */
	uint64_t bytes, bytes_out;
	double by_mistake;	/* units of one key: how many a false positive removed, expected */
};

enum { FILTERS_MOST = 64, PARTS_MOST = 1024 };

struct run {
	/* the verb's work on a batch whose keys are found, before it is written */
	int (*work)(struct run *run, struct batch_of_documents *batch);
	/* around the blocks of a file; may be NULL. @code: of the blocks */
	int (*begin_file)(struct run *run, const char *name);
	int (*end_file)(struct run *run, int code);
	void *context;
	bool writes;		/* documents, to a file or standard output */
	struct blm_filter *filters[FILTERS_MOST];
	const char *names[FILTERS_MOST];
	uint64_t found[FILTERS_MOST];	/* units that have a key in the filter */
	size_t count;

	struct ledger ledger;	/* of the first filter, where keys are claimed */
	bool claims;
	struct journal journal;
	bool journaled;
	char **left;		/* journals of finished outputs, whose keys are not synced yet */
	size_t left_count, left_capacity;
	uint64_t left_units;	/* in these */
	uint64_t next;		/* unit of the file */
	struct cutter cutter;
	struct tally total;
	uint64_t files, finished;	/* finished: by runs before */
};

/* An input of a run. */
struct file {
	const char *name;
	char *place;		/* of its output; NULL: standard output */
	bool busy;		/* another process has it */
};

/* Return: an exit code, with a message where it is not DONE. */
int run_files(struct run *run, char **names, size_t count);
/* Where their outputs go: no two to one place. The places are to be freed. */
int find_places(struct run *run, struct file *files, char **names, size_t count);
bool is_finished(const struct file *file);
/* A batch that is judged. @claims: its keys were asked at the rate of the batch */
void count_batch(struct tally *t, const struct batch_of_documents *b, bool claims);
void add_tally(struct tally *to, const struct tally *t);
void print_tally(const char *name, const struct tally *tally);	/* name NULL: all files */

/* resume.c: journals, before, after and around a file; each gives an exit code */
int journal_place(const struct run *run, const char *name, const char *place, char **ret,
		  uint8_t ret_mark[MARK]);
/* The keys that a power cut may have taken from the filter, by the journal of an input. */
int restore_keys(struct run *run, const char *name, const char *place);
/* Closes the run's journal. @code: of its file */
int leave_journal(struct run *run, int code, bool finished);
/* Syncs the filter, and deletes the journals that are left. @code: so far */
int delete_journals(struct run *run, int code);

/* merge.c: the folders of --part, and a run that reads them */
extern const char *part_folders[PARTS_MOST];
extern size_t part_count;
int run_merge(struct run *run, char **names, size_t count);

/* places.c: where the output of an input goes, with its folder made. Return: an exit code. */
int output_place(const char *name, char **ret);
/* A path that leads there from every folder. NULL after a message. */
char *absolute_place(const char *name);

#endif
