/* answers.h - what a command says of single keys: their lines, or with --json an object for each */
#ifndef BLOOMERY_ANSWERS_H
#define BLOOMERY_ANSWERS_H

#include "output.h"

/*
 * Gather the lines whose bit is `wanted` for print_gathered(). With --json each is an object: its
 * key, and `wanted` under this name. By any thread. Return: an exit code, with a message.
 */
int gather_answers(struct batch *batch, bool wanted, const char *name);

/* An object with a key, for more fields and answer_end(). `line`: NULL, or where the key is in. */
void answer_begin(FILE *out, const struct blm_key *key, const struct blm_key *line);
/* a field; bytes that are no UTF-8 are NAME_hex instead, in hexadecimal digits */
void answer_bytes(FILE *out, const char *name, const struct blm_key *bytes);
void answer_end(FILE *out);

/* The only answer of a command, to stdout: how many there are. */
void print_count(uint64_t count);

#endif
