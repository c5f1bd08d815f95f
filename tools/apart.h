/*
 * apart.h - work in a process of its own, started anew, so that a crash there is news and not the
 * end
 */
#ifndef BLOOMERY_APART_H
#define BLOOMERY_APART_H

#include <stdio.h>

/*
 * run_apart() - run this program with these arguments (argv[0] among them, NULL at the end)
 * @to: where its output goes
 * @ret_signal: the signal that it died of; 0: none
 *
 * What it printed goes there if it did not die, and else forgotten; its messages come as they are.
 * Return: its exit code, or -1 if it cannot be started (then do the work here).
 */
int run_apart(const char *const *arguments, FILE *to, int *ret_signal);

#endif
