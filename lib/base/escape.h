/* escape.h - text of other people, made fit for a terminal and for a message of one line */
#ifndef BLM_ESCAPE_H
#define BLM_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The character of UTF-8 at `s`. Return: its bytes; 0: none is there (too long a form, a surrogate,
 * past U+10FFFF, cut short).
 */
unsigned blm_character(const char *s, size_t bytes, uint32_t *ret_point);

/*
 * Does it do something instead of being seen? Controls (C0, DEL, C1) act on the terminal; marks of
 * direction (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+206F) put text into another
 * order than its bytes; U+2028 and U+2029 end a line. The invisible ones (U+00AD, U+180E, U+200B,
 * U+2060 to U+2065, U+FEFF, U+FFF9 to U+FFFB) make two texts look alike. U+200C and U+200D, which
 * some scripts need, are no such characters.
 */
bool blm_acts(uint32_t point);

/*
 * Each character that a terminal acts on becomes \n, \t, \xNN or \uNNNN, and each byte of invalid
 * UTF-8 \xNN. All others stay, a backslash too, so that escaped text is not escaped again. `kept`:
 * the ASCII characters that stay although terminals act on them. Characters that do not fit are
 * left out as a whole. Return: the bytes written, without the final NUL.
 */
enum { BLM_ESCAPED_MOST = 4 };	/* bytes for one */
size_t blm_escape(char *to, size_t capacity, const char *from, size_t bytes, const char *kept);

#endif
