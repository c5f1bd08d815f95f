/* signals.h - being asked to stop in the middle of a stream of keys */
#ifndef BLOOMERY_SIGNALS_H
#define BLOOMERY_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* from now on the first SIGINT, SIGTERM or SIGHUP only asks, the second kills */
void catch_signals(void);
/*
 * ... and now the first one kills again: for long work that names no file until it is done
 */
void let_signals_kill(void);
/* What is called before a signal kills. It must be async-signal-safe; see signal-safety(7). */
void say_when_killed(void (*words)(void));
/*
 * For the threads that are started next: a signal must come to the first one, where it ends a
 * write() that waits. But those that a thread's own fault raises are its own.
 */
void block_signals(sigset_t *ret_before);
bool stopping(void);	/* did a signal ask, or is it enough? */
void stop_for(int signal);	/* as if it had come */
void stop_reading(void);	/* it is enough: no more input is wanted, but the program goes on */
/* readable once stopping(); for poll(2), so that none is missed; -1: no signal is waited for */
int stop_descriptor(void);
void die_if_stopped(void);	/* of the very signal, as its sender expects */

#endif
