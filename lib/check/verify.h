/* verify.h - checking one filter's view, for verify.c and store_check.c */
#ifndef BLM_VERIFY_H
#define BLM_VERIFY_H

#include "handle/handle.h"

/* The function that gets the findings, and how many there were. */
struct blm_findings {
	void (*tell)(void *context, const struct blm_finding *found);
	void *context;
	const char *name;	/* of the filter whose file is looked at; NULL: not known */
	bool lost;		/* of the next finding: its keys are lost */
	int found, repaired;
};

void blm_found(struct blm_findings *to, const char *file, bool repaired, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* What a message says, without the file that it may begin with */
const char *blm_reason_of(const char *message, const char *file);
/* blm_error_message(), as above */
void blm_found_broken(struct blm_findings *to, const char *file);

/*
 * All that can be checked of an open filter by itself; reads all of it. repair: where bits of a
 * filter that only sets them are lost, set all of their block; the view must be writable.
 */
int blm_verify_view(struct blm_view *view, const char *file, bool repair, struct blm_findings *to);

/*
 * Is its file older than the catalog says? accepted: the catalog already has the values of the
 * file, or will have them.
 */
void blm_verify_age(const struct blm_view *view, const char *file, bool accepted,
		    struct blm_findings *to);

/* Is this what opening a damaged filter fails with, rather than a missing file or right? */
bool blm_is_damage(int err);

#endif
