/* report.h - a page about a store: the data for it, and the parts that print it */
#ifndef BLOOMERY_REPORT_H
#define BLOOMERY_REPORT_H

#include "history.h"

/* Spans in seconds */
#define HOUR 3600.0
#define DAY (24 * HOUR)
#define YEAR (365.25 * DAY)

enum {
	REPORT_CARDS = 12,		/* filters that are drawn */
	REPORT_PLANNED = 25,		/* rows of the section about capacity */
	REPORT_TEMPLATES = 6,		/* matrices */
	REPORT_SIDE = 10,		/* filters in one matrix */
	REPORT_FINDINGS = 100,
};

/* Without --full each section reads at most this number of bytes of data. */
#define REPORT_BUDGET (UINT64_C(1) << 30)

/* One filter, as of now */
struct entry {
	char *name, *labels;		/* as they are, not escaped */
	char *shown;			/* the name, escaped */
	const char *kind, *hash;
	char uuid[40];
	uint8_t template_id[16];
	uint64_t keys, capacity, bytes, data_bytes, cells, created, synced;
	uint32_t parts, cell_bits;
	double rate, predicted;
	unsigned can;
	bool estimated, dirty, sealed, unread, older, suspect;
	bool found;			/* verify found something in it */
	bool has_fill;			/* what the bits say is known */
	struct blm_value fill;
	bool saturated;
	/* its moments, those of earlier files included; NULL: none is known */
	const struct moment *past;
	size_t past_count;
	/*
	 * Keys a second, from `since` on; 0: no keys came, or it is not known. since 0: nothing is
	 * known of earlier. from_start: as if all keys came one by one since the filter was made.
	 */
	double pace;
	time_t since;
	bool from_start;
};

struct report {
	struct blm_store *store;
	const char *dir;		/* absolute */
	const char *pattern;		/* NULL: all filters */
	bool full;			/* --full */
	time_t now;
	struct entry *all;		/* in the order of the names' bytes */
	size_t count, capacity, damaged;
	uint64_t keys, bytes, data_bytes;
	size_t not_sampled;		/* filters whose bits were not read, for the budget */
	struct history history;
	const char *history_file;	/* NULL: none was given */
	/* what verify printed, as rows of a table; NULL: it did not run */
	char *findings;
	int verify_code, verify_signal;
};

/* ---- Gathering (report_gather.c) ---- */

/* Return: an exit code, with a message. */
int report_gather(struct report *report);
/* Once the findings are there. Return: false if there is no memory for it. */
bool report_mark_found(struct report *report);
void report_free(struct report *report);

/* Does its capacity limit it, or does it grow, or forget? */
bool fills_up(const struct entry *e);
double full_share(const struct entry *e);	/* keys / capacity; 0: it has none */
/* Seconds until it has as many keys as its capacity, at its pace; negative: not known, or never */
double full_in(const struct entry *e);
/* The most urgent first: beyond capacity, then full soon, then the fullest. Room for count. */
void sort_by_urgency(const struct report *report, const struct entry **ret);

/* ---- The page ---- */

void print_report(FILE *out, const struct report *r);	/* report_page.c */
void print_cards(FILE *out, const struct report *report);	/* report_cards.c */
void print_overlaps(FILE *out, const struct report *report);	/* report_overlap.c */
extern const char report_style[], report_script[];	/* report_style.c */

/* ---- What all pages have (report_html.c) ---- */

/* Up to the title, "about name". @about: HTML; @name: text of others */
void html_begin(FILE *out, const char *about, const char *name);
/* With the script, which needs a table "all", and "tools" with "find" and "shown". */
void html_end(FILE *out);
/* Inside of <dl class="tiles">. @class: "", or an attribute */
void html_tile(FILE *out, const char *value, const char *what, const char *class);
/* Shown as something to look after where it is not 0. */
void html_worry(FILE *out, size_t count, const char *what);
/* A bar of at most the width; its number follows. */
void html_bar(FILE *out, double share);

/* ---- Pieces of text (report_text.c) ---- */

/* Text of others: what acts is escaped as in messages, and what HTML would take for its own. */
void html_text(FILE *out, const char *text);
/* The first `most` characters of an escaped text, then "..." if there are more. */
void html_short(FILE *out, const char *escaped, size_t most);
/* These give a text that is good until the next call. */
const char *show_span(double seconds);		/* "12 days" */
const char *show_share(double share);		/* 0.4812 is "48.12 %" */
const char *show_date(time_t when);		/* "2026-11-26" */
const char *show_short(double number);		/* "1.2 m" */

#endif
