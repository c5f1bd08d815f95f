/* complete.h - what the word under the cursor of a shell can become */
#ifndef BLOOMERY_COMPLETE_H
#define BLOOMERY_COMPLETE_H

/*
 * The words that stand behind `bloomery` on the line, without their quotes; the last one is to be
 * completed. Prints records that end in NUL: what else the shell adds (none, files, folders), then
 * a candidate and its meaning, alternately. Opens nothing for writing and makes nothing. Return: an
 * exit code.
 */
int complete(int count, char **words);

#endif
