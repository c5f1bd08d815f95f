/* ranks.h - the ranks of the job, and what all of them do together */
#ifndef BLOOMERY_MPI_RANKS_H
#define BLOOMERY_MPI_RANKS_H

#include "command.h"

#include <mpi.h>

extern int rank, ranks;		/* this one, and how many there are */
extern int on_node;		/* how many of them are on this machine */

void ranks_begin(int *argc, char ***argv);

/*
 * End the job with this exit code: no rank waits for one that failed. The message is out already.
 */
void give_up(int code) __attribute__((noreturn));
/*
 * The same where all ranks find one thing wrong: rank 0 says it, in the call that is given, and the
 * others wait until it ends the job.
 */
#define all_give_up(call) \
	do { \
		if (rank) \
			wait_for_end(); \
		give_up(call); \
	} while (0)
void wait_for_end(void) __attribute__((noreturn));

static inline void must(int code)
{
	if (code != DONE)
		give_up(code);
}

/* The same of a call of the library, whose words are printed. */
static inline void must_have(int64_t r)
{
	if (r < 0)
		give_up(fail(r));
}

/*
 * All ranks check the same arguments, so only rank 0 says what is wrong with them. After this call
 * each rank speaks for itself.
 */
void speak(void);

/*
 * Until all ranks called it. Libraries of MPI wait by asking again and again, and would take the
 * processors from a rank that works for long.
 */
void rest_until_all(void);

void *must_alloc(size_t count, size_t bytes);

/* From rank 0 to all: any number of bytes. */
void from_first(void *data, size_t bytes);
/*
 * From all ranks of this machine to all of them.
 * @bytes: the same on all of them, less than 2^31
 * @ret: on_node times as many bytes, in the order of the ranks
 */
void from_node(const void *data, size_t bytes, void *ret);
uint64_t sum_of_all(uint64_t n);	/* the sum is known to rank 0 */
uint64_t most_of_all(uint64_t n);	/* known to all */

double seconds(void);

/* `text` with each %r replaced by the number of the rank; static until the next call. */
const char *of_rank(const char *text);
bool has_rank(const char *text);

#endif
