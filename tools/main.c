/* main.c - finds the command and runs it */
#include "command.h"
#include "fit.h"
#include "output.h"
#include "place.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/*
 * A program may be started with its first descriptors closed, and the next file it opens would take
 * their numbers: a filter could become the standard output. So fill the gaps with what fails the
 * right way, with -EBADF.
 */
static bool hold_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null",
						   fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return false;
	return true;
}

static const struct opt *const common_options[] = { store_option, NULL };

static int dispatch(int argc, char **argv)
{
	const struct command *command;
	int code;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		help_first(stdout);
		return DONE;
	}
	if (argc > 1 && !strcmp(argv[1], "--version")) {
		fit_output(2);
		printf("bloomery %s (library %s, %s)\n", BLM_VERSION, blm_version(), blm_simd());
		return DONE;
	}
	if (argc == 2 && !strcmp(argv[1], "--all")) {
		help_overview(stdout);
		return DONE;
	}
	code = skip_options(common_options, &argc, &argv);
	if (code != DONE)
		return code;
	if (!argc) {
		help_first(stderr);
		return USAGE;
	}
	command = command_find(argv[0]);
	return command ? run_command(command, argc, argv) : command_unknown(argv[0]);
}

int main(int argc, char **argv)
{
	int code;

	/*
	 * the loops that hash leave pieces of a keyed filter's secret in registers and on the stack
	 */
	prctl(PR_SET_DUMPABLE, 0);
	if (!hold_descriptors() || blm_survive_truncation() < 0)
		return FAILED;
	/* what stdout goes to may be at its limit, too: an error then, as of a full disk */
	signal(SIGXFSZ, SIG_IGN);
	code = begin_output();
	if (code == DONE)
		code = dispatch(argc, argv);
	code = tell_if_cut(code);
	end_fitting();
	end_output();
	if (fflush(stdout) || ferror(stdout)) {
		if (errno == EPIPE)
			stop_for(SIGPIPE);
		else
			code = broken("standard output: %s", strerror(errno));
	}
	die_if_stopped();
	return code;
}
