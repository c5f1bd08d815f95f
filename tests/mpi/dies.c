/*
 * dies.c - a rank that is killed at a step of its work, whatever the pace of the machine
 *
 * It is loaded before bloomery-mpi (LD_PRELOAD). Rank DIES_RANK kills itself at step DIES_STEP.
 * There is a step before and one after each call of the functions below.
 *
 * The calls of MPI get and give their arguments as words, because the types of their handles differ
 * between libraries. All arguments are numbers or pointers.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long steps = -1;

static void begin(void)
{
	const char *number = getenv("OMPI_COMM_WORLD_RANK"), *mine = getenv("DIES_RANK");

	if (!number)
		number = getenv("PMI_RANK");
	steps = number && mine && !strcmp(number, mine) ? atol(getenv("DIES_STEP")) : 0;
}

static void step(void)
{
	if (steps < 0)
		begin();
	if (steps && !--steps)
		kill(getpid(), SIGKILL);
}

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

#define IN_STEPS(type, name, parameters, arguments) \
	type name parameters; \
	type name parameters \
	{ \
		type (*call) parameters = (type (*) parameters)real(#name); \
		type r; \
 \
		step(); \
		r = call arguments; \
		step(); \
		return r; \
	}

IN_STEPS(int, fdatasync, (int fd), (fd))
IN_STEPS(int, fsync, (int fd), (fd))
IN_STEPS(int, rename, (const char *from, const char *to), (from, to))
IN_STEPS(int, unlink, (const char *path), (path))
IN_STEPS(int, MPI_Alltoall, (long a, long b, long c, long d, long e, long f, long g),
	 (a, b, c, d, e, f, g))
IN_STEPS(int, MPI_Alltoallv,
	 (long a, long b, long c, long d, long e, long f, long g, long h, long i),
	 (a, b, c, d, e, f, g, h, i))
IN_STEPS(int, MPI_Wait, (long a, long b), (a, b))
