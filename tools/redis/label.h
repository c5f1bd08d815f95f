/*
 * label.h - whose file it is: the label `redis` of the files that the server makes
 *
 * A key that is renamed keeps its file, so the name of the file does not tell. The label is the
 * database, length, hash and first bytes of the key.
 */
#ifndef BLOOMERY_REDIS_LABEL_H
#define BLOOMERY_REDIS_LABEL_H

#include "value.h"

enum { LABEL_MOST = 1024 };

void label_of(char ret[LABEL_MOST], const struct spot *spot);
/* Return: false if the file has no label of the server. */
bool label_read(char ret[LABEL_MOST], const struct blm_info *info);
/* A file without a label is made anew when the server loads its data the next time. */
void label_set(const char *name, const char *label);
/* That of a file whose database changes places with another. Return: false: it is in neither. */
bool label_swap(char ret[LABEL_MOST], const char *label, int one, int other);

/* Bytes that a name cannot have, or that an escape begins with, are written as %XX. */
void name_escape(char *to, size_t capacity, const char *key, size_t len);

#endif
