/*
 * sticky_error.h - a failure that stays, with its words: for the readers and writers of this folder
 */
#ifndef BLM_STREAM_TROUBLE_H
#define BLM_STREAM_TROUBLE_H

#include "base/base.h"

struct blm_trouble {
	int err;	/* 0: none so far */
	char *words;	/* NULL where there was no memory for them */
};

/* keeps it with the words of now; returns it */
int blm_trouble(struct blm_trouble *trouble, int err);
int blm_trouble_again(const struct blm_trouble *trouble);	/* fails with it once more */

#endif
