/* main.c - begins MPI, finds the command and runs it on every rank */
#include "jobs.h"
#include "output.h"

#include <errno.h>
#include <sys/resource.h>

static void overview(FILE *out)
{
	const struct command *command;

	fputs("bloomery-mpi: filters that the ranks of an MPI job make and ask together\n\n"
	      "usage: mpirun -n RANKS bloomery-mpi COMMAND [OPTION...] ARGUMENT...\n\n", out);
	for (size_t i = 0; (command = command_at(i)); i++)
		fprintf(out, "  %-6s %s\n", command->name, command->summary);
	fputs("\n'bloomery-mpi help COMMAND' shows the options of a command.\n", out);
}

static int help(int argc, char **argv)
{
	const struct command *command = argc > 2 ? command_find(argv[2]) : NULL;

	if (argc > 2 && !command)
		return command_unknown(argv[2]);
	if (!rank && command)
		help_command(command);
	else if (!rank)
		overview(stdout);
	return DONE;
}

static void tell_version(void)
{
	char mpi[MPI_MAX_LIBRARY_VERSION_STRING];
	int length;

	MPI_Get_library_version(mpi, &length);
	mpi[strcspn(mpi, "\n,")] = 0;
	for (char *tab = mpi; (tab = strchr(tab, '\t'));)
		*tab = ' ';
	printf("bloomery-mpi %s (library %s, %s, %s)\n", BLM_VERSION, blm_version(), blm_simd(),
	       mpi);
}

static int dispatch(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		if (!rank)
			overview(stderr);
		return USAGE;
	}
	if (!strcmp(argv[1], "--version")) {
		if (!rank)
			tell_version();
		return DONE;
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help(argc, argv);
	command = command_find(argv[1]);
	return command ? run_command(command, argc - 1, argv + 1) : command_unknown(argv[1]);
}

int main(int argc, char **argv)
{
	int code;

	ranks_begin(&argc, &argv);
	/* secrets of keyed filters are in registers and on the stack, so no core is dumped */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	if (blm_survive_truncation() < 0)
		give_up(FAILED);
	program = "bloomery-mpi";
	quiet = rank > 0;	/* what every rank would say, rank 0 says */
	code = begin_output();
	if (code == DONE)
		code = dispatch(argc, argv);
	if (code != USAGE)
		speak();
	code = (int)most_of_all((uint64_t)tell_if_cut(code));
	end_output();
	if (fflush(stdout) || ferror(stdout))
		give_up(broken("standard output: %s", strerror(errno)));
	MPI_Finalize();
	return code;
}
