/*
 * colour.h - colours on a terminal; no fact is told by colour alone
 *
 * Both functions give "" where the descriptor is no terminal, where NO_COLOR is set and not empty
 * (no-color.org), and where TERM is not set or "dumb".
 */
#ifndef BLOOMERY_COLOUR_H
#define BLOOMERY_COLOUR_H

enum colour { STRONG, CAUTION, ALARM };		/* bold; bold and yellow; bold and red */

const char *colour_begin(int fd, enum colour colour);
const char *colour_end(int fd);

#endif
