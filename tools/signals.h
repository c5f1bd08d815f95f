/* signals.h - being asked to stop in the middle of a stream of keys */
#ifndef BLOOMERY_SIGNALS_H
#define BLOOMERY_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

void catch_signals(void);	/* from now on the first SIGINT, SIGTERM or SIGHUP only asks, the second kills */
bool stopping(void);
void stop_for(int signal);	/* as if it had come */
int stop_descriptor(void);	/* readable once somebody asked; for poll(2), so that none is missed; -1: nobody listens */
void die_if_stopped(void);	/* of the very signal, as its sender expects */

#endif
