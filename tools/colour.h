/*
 * colour.h - colours on a terminal; no fact is told by colour alone
 *
 * A colour is "" where the descriptor is no terminal, where NO_COLOR is set and not empty
 * (no-color.org), and where TERM is not set or "dumb".
 */
#ifndef BLOOMERY_COLOUR_H
#define BLOOMERY_COLOUR_H

#include <stdbool.h>

enum colour { STRONG, CAUTION, ALARM };		/* bold; bold and yellow; bold and red */

bool understands_codes(void);	/* may escape codes go to this terminal? */
const char *colour_begin(int fd, enum colour colour);
const char *colour_end(int fd);

#endif
