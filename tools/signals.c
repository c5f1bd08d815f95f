/* signals.c - the batch in hand is finished before a signal is obeyed */
#include "signals.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static int wake[2] = { -1, -1 };

static void asked(int signal)
{
	ssize_t ignored;

	stop = signal;
	ignored = write(wake[1], "", 1);
	(void)ignored;	/* full means that it is readable */
}

void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = asked, .sa_flags = (int)SA_RESETHAND }, before;

	if (wake[0] >= 0 || pipe2(wake, O_CLOEXEC | O_NONBLOCK) < 0)
		return;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)	/* nohup stays nohup */
			sigaction(signals[i], &action, NULL);
}

bool stopping(void)
{
	return stop != 0;
}

void stop_for(int signal)
{
	stop = signal;
}

int stop_descriptor(void)
{
	return wake[0];
}

void die_if_stopped(void)
{
	if (!stop)
		return;
	signal(stop, SIG_DFL);
	raise(stop);
}
