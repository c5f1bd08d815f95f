/* signals.c - the batch in hand is finished before a signal is obeyed */
#include "signals.h"

#include "bloomery.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static atomic_int stop;		/* the signal; looked at by all threads */
static atomic_bool enough;
static int wake[2] = { -1, -1 };
static void (*last_words)(void);	/* NULL: none */

static void wake_all(void)
{
	int before = errno;	/* of who was interrupted */
	ssize_t ignored;

	ignored = write(wake[1], "", 1);
	(void)ignored;	/* full means that it is readable */
	errno = before;
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

/*
 * A signal that kills. Its default action is restored, so that the sender sees that death. All
 * three signals are blocked until this handler returns. So no other signal comes between the last
 * words, and the signal that is raised here kills once they are written.
 */
static void killed(int number)
{
	if (last_words)
		last_words();
	signal(number, SIG_DFL);
	raise(number);
}

void stop_for(int signal)
{
	stop = signal;
	wake_all();
}

/*
 * SA_NOCLDWAIT tells the library that this handler ends the program: see blm_stop_waiting_if().
 * SA_RESETHAND would do so, too, but the system would kill at once by a second signal that comes
 * before the handler's first line.
 */
static void let_kill(int number)
{
	struct sigaction action = { .sa_handler = killed, .sa_flags = SA_NOCLDWAIT };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&action.sa_mask, signals[i]);
	sigaction(number, &action, NULL);
}

static void asked(int number)
{
	stop_for(number);
	let_kill(number);
}

/* A lock that another process keeps is not worth waiting for any more. */
static int asked_to_stop(void)
{
	return stop != 0;
}

void catch_signals(void)
{
	struct sigaction action = { .sa_handler = asked }, before;

	if (wake[0] >= 0 || pipe2(wake, O_CLOEXEC | O_NONBLOCK) < 0)
		return;
	blm_stop_waiting_if(asked_to_stop);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		/* nohup stays nohup */
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

void let_signals_kill(void)
{
	struct sigaction now;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == asked)
			let_kill(signals[i]);
}

void say_when_killed(void (*words)(void))
{
	struct sigaction now;

	last_words = words;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			let_kill(signals[i]);
}

void block_signals(sigset_t *ret_before)
{
	static const int faults[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP };
	sigset_t all;

	sigfillset(&all);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_BLOCK, &all, ret_before);
}

bool stopping(void)
{
	return stop || enough;
}

void stop_reading(void)
{
	enough = true;
	wake_all();
}

int stop_descriptor(void)
{
	return wake[0];
}

void die_if_stopped(void)
{
	sigset_t before;

	if (!stop)
		return;
	block_signals(&before);		/* as in the handler */
	killed(stop);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
