/* terms.h - the library's words in the program's own terms */
#ifndef BLOOMERY_TERMS_H
#define BLOOMERY_TERMS_H

/*
 * A message or a summary of the library, with the commands and options in the place of the calls
 * and fields that it names. The file or value that a message begins with stays as it is. It lasts
 * until the thread's next call. NULL gives NULL.
 */
const char *own_terms(const char *text);

#endif
