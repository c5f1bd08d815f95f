/* thread.c - threads that the library starts to work for its caller */
#include "base/base.h"
#include "base/thread.h"

#include <signal.h>

int blm_thread_start(pthread_t *ret, void *(*work)(void *context), void *context)
{
	static const int faults[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL };
	sigset_t all, before;
	int err;

	sigfillset(&all);
	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	err = pthread_create(ret, NULL, work, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}
