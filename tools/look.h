/* look.h - what all filters of a store are like at one moment */
#ifndef BLOOMERY_LOOK_H
#define BLOOMERY_LOOK_H

#include "command.h"

struct look {
	char name[BLM_NAME_MAX + 1];
	char file[48];			/* the name of its file: UUID.blm */
	const char *kind, *hash;
	double keys, capacity, rate, predicted, bytes, data_bytes, synced;
	double pace;			/* keys a second since the look before; see looks_pace() */
	bool dirty, unread;
	int processes, last_process;	/* that have it open, as far as we may see */
};

struct looks {
	struct look *all;		/* in the order of the names' bytes */
	size_t count, room, damaged;
	double when;			/* by look_clock() */
};

double look_clock(void);		/* seconds, of a clock that never goes back */

/*
 * Reads the catalog and the header of each file; opens no filter, and no writer waits. Return: an
 * exit code, with a message.
 */
int looks_take(struct looks *ret, struct blm_store *store, const char *pattern);
/* Counts the processes that map the files, by /proc. Those of other users may be hidden. */
void looks_find_processes(struct looks *looks);
/* Works out the pace of each filter that was there before. */
void looks_pace(struct looks *now, const struct looks *before);
void looks_free(struct looks *looks);

#endif
