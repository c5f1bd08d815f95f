/*
 * tokens.h - the words of a text: the segments between the word boundaries of Unicode (UAX #29)
 * that are not only white space
 *
 * Punctuation is a token, too. libunistring, which is loaded on first use, finds the boundaries.
 */
#ifndef BLOOMERY_TOKENS_H
#define BLOOMERY_TOKENS_H

#include <stddef.h>

/* All zero before first use. The arrays are good until the next call of tokens_of(). */
struct tokens {
	size_t *begin, *end;	/* bytes in the text */
	size_t count;
	size_t capacity;		/* tokens that there is room for */
	char *breaks;		/* one for each byte of the text */
	size_t break_capacity;
};

/* Any number of threads may ask. Return: NULL, or why there are no boundaries. */
const char *tokens_need(void);

/*
 * Ask tokens_need() first. The memory is at most 17 times the bytes of the longest text, and one
 * third of that for usual text.
 * Return: 0; -EILSEQ: the text is not UTF-8; -ENOMEM.
 */
int tokens_of(struct tokens *t, const char *text, size_t length);
void tokens_free(struct tokens *t);

#endif
