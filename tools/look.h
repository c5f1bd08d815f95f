/* look.h - what all filters of a store are like at one moment */
#ifndef BLOOMERY_LOOK_H
#define BLOOMERY_LOOK_H

#include "command.h"

struct look {
	char name[BLM_NAME_MAX + 1];
	char file[48];			/* the name of its file: UUID.blm */
	uint8_t uuid[16];
	const char *kind, *hash;
	double keys, capacity, rate, predicted, bytes, data_bytes, synced;
	double pace;			/* keys a second since the look before; see looks_pace() */
	double resident;		/* bytes of it in memory; negative: not known */
	bool dirty, unread;
	bool has_limit;			/* can it become full? */
	int processes;			/* that have it open, as far as we may see */
	/* for looks that come again: its file, and a hash of the header that was read from it */
	int fd;
	uint64_t header;
};

struct opener {			/* a process that has one of the filters open */
	int process;
	char name[16], user[33];
};

struct looks {
	struct look *all;		/* in the order of the names' bytes */
	size_t count, capacity, damaged;
	double when;			/* by look_clock() */
	struct opener *openers;
	struct opening { uint32_t look, opener; } *openings;	/* which has which; by process */
	size_t opener_count, opener_capacity, opening_count, opening_capacity;
	size_t hidden;			/* processes that do not show us what they have open */
	/* of looks that come again */
	bool again;
	unsigned number;		/* of this look, from 0 */
	struct catalog_stamp { int64_t size, seconds, nanoseconds; uint64_t file; } catalog;
};

double look_clock(void);		/* seconds, of a clock that never goes back */

/*
 * Reads the catalog and the header of each file; opens no filter, and no writer waits. Return: an
 * exit code, with a message.
 */
int looks_take(struct looks *ret, struct blm_store *store, const char *pattern);
/*
 * The same again and again: what did not change since `before`, which is all zeros at first, is not
 * read or computed again. `before` stays to be freed.
 */
int looks_take_again(struct looks *ret, struct looks *before, struct blm_store *store,
		     const char *pattern);
/* Works out the pace of each filter that was there before. */
void looks_pace(struct looks *now, const struct looks *before);
void looks_free(struct looks *looks);

/* ---- What others have of the files (openers.c) ---- */

/* Finds the processes that map the files, by /proc. Those of other users may be hidden. */
void looks_find_processes(struct looks *looks);
/* Counts the pages that are in memory. The kernel says that only of files that we may write to. */
void looks_find_pages(struct looks *looks);

#endif
