/* keys.h - the key in a line */
#ifndef BLOOMERY_KEYS_H
#define BLOOMERY_KEYS_H

#include "command.h"

extern const struct opt key_options[];

char line_end(void);
bool keys_need_room(void);	/* are there keys that do not stand in their line as they are? */
int keys_check(void);		/* do the options agree? Return: DONE or USAGE */

/*
 * The key in a line. `room` has space for as many bytes as the line.
 * Return: NULL, or what is wrong with the line.
 */
const char *key_of(struct blm_key *ret, const struct blm_key *line, uint8_t *room);

#endif
