/*
 * remote_nodes.h - connections to the nodes of a server or a cluster of Redis
 *
 * A node of a cluster says which other node has a key; the command goes there then. hiredis is
 * loaded on first use. All functions print a message where they fail.
 */
#ifndef BLOOMERY_REMOTE_NODES_H
#define BLOOMERY_REMOTE_NODES_H

#include "command.h"

struct nodes;

/* @url: as in remote.h. Return: an exit code. */
int nodes_open(struct nodes **ret, const char *url);
void nodes_close(struct nodes *all);
/* As messages show it: without the password. */
const char *nodes_url(const struct nodes *all);
/* Was a connection lost in the last nodes_run()? Then its orders may have been run. */
bool nodes_lost(const struct nodes *all);

/* A command with a key as its second word. The words are the caller's. */
struct order {
	size_t *home;			/* the node that was the last to have the key */
	int count;
	const char **words;
	size_t *lengths;		/* NULL: the words are strings */
	const char *fine;		/* an error that is none; NULL: each is one */
	size_t first;			/* of the caller */
	bool asking;			/* the node has the key for this once */
	size_t node;			/* that it was sent to */
};

/* @bytes: NULL where the reply is no string. Return: false if it is not as it should be. */
typedef bool order_taker(const struct order *o, const char *bytes, size_t count, void *context);

/*
 * All orders, sent before the first answer is read, and those again that another node has or that a
 * cluster cannot take yet. Return: how many were not answered.
 */
size_t nodes_run(struct nodes *all, struct order *orders, size_t count, order_taker *take,
		 void *context);

#endif
