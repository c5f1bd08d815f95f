/* live.h - the filters of a store at one moment, as a screen of top and of ls --live */
#ifndef BLOOMERY_LIVE_H
#define BLOOMERY_LIVE_H

#include "look.h"

/* The order from now on, by its name or the beginning of that. Return: is there such an order? */
bool live_order(const char *name);

/* The least width of a screen for each column. How full a filter is, and its name, always show. */
enum {
	LIVE_PACE = 27, LIVE_KEYS = 42, LIVE_OPEN = 48, LIVE_RATE = 57, LIVE_SYNCED = 65,
	LIVE_PROMISED = 74, LIVE_PAGES = 100, LIVE_WHO = 130,
};

/* width 0: lines of any length; rows 0: all filters, and no keys of the keyboard in the head */
void print_live(FILE *out, const struct looks *looks, unsigned width, size_t rows);

/* The processes that have filters open, and which; as print_live(). */
void print_openers(FILE *out, const struct looks *looks, unsigned width, size_t rows);

/* An object of JSON for each filter, to standard output */
void print_live_json(const struct looks *looks);

#endif
