/* ranks.c - the ranks of the job, and what all of them do together */
#include "ranks.h"

#include <limits.h>
#include <unistd.h>

int rank, ranks, on_node;
static MPI_Comm node;	/* the ranks of this machine */
static char held[MESSAGE];	/* of the other ranks, until they speak() */

void ranks_begin(int *argc, char ***argv)
{
	char name[64];

	/* one thread of each rank calls MPI */
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
	MPI_Comm_size(node, &on_node);
	if (ranks > 1)
		snprintf(name, sizeof(name), "bloomery-mpi: rank %d", rank);
	else
		snprintf(name, sizeof(name), "bloomery-mpi");
	say_as(name);
	if (rank)
		hold_messages(held);
}

void speak(void)
{
	hold_messages(NULL);
	if (*held)
		say("%s", held);
	*held = 0;
}

void give_up(int code)
{
	if (code != USAGE) {
		speak();
		code = tell_if_cut(code);
	}
	fflush(stdout);
	/* the launcher passes the message on before it hears of the end, or may not do it at all */
	usleep(200 * 1000);
	MPI_Abort(MPI_COMM_WORLD, code);
	_exit(code);
}

/* In MPI, where every implementation can end it. */
void wait_for_end(void)
{
	for (;;)
		MPI_Barrier(MPI_COMM_WORLD);
}

void rest_until_all(void)
{
	MPI_Request all;
	int here = 0;

	MPI_Ibarrier(MPI_COMM_WORLD, &all);
	while (MPI_Test(&all, &here, MPI_STATUS_IGNORE) == MPI_SUCCESS && !here)
		usleep(5000);
}

void *must_alloc(size_t count, size_t bytes)
{
	void *buffer = calloc(count ? count : 1, bytes);

	if (!buffer)
		give_up(broken("out of memory for %zu times %zu bytes", count, bytes));
	return buffer;
}

void from_first(void *data, size_t bytes)
{
	enum { PIECE = 1 << 30 };

	for (size_t at = 0; at < bytes; at += PIECE)
		MPI_Bcast((char *)data + at, bytes - at < PIECE ? (int)(bytes - at) : PIECE,
			  MPI_BYTE, 0, MPI_COMM_WORLD);
}

uint64_t sum_of_all(uint64_t n)
{
	uint64_t sum = 0;

	MPI_Reduce(&n, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	return sum;
}

uint64_t most_of_all(uint64_t n)
{
	uint64_t most = 0;

	MPI_Allreduce(&n, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
	return most;
}

void from_node(const void *data, size_t bytes, void *ret)
{
	MPI_Datatype some;

	MPI_Type_contiguous((int)bytes, MPI_BYTE, &some);
	MPI_Type_commit(&some);
	MPI_Allgather(data, 1, some, ret, 1, some, node);
	MPI_Type_free(&some);
}

double seconds(void)
{
	return MPI_Wtime();
}

bool has_rank(const char *text)
{
	return strstr(text, "%r") != NULL;
}

const char *of_rank(const char *text)
{
	static char buffer[PATH_MAX];
	size_t at = 0;

	for (; *text && at + 16 < sizeof(buffer); text++) {
		if (text[0] == '%' && text[1] == 'r') {
			at += (size_t)snprintf(buffer + at, sizeof(buffer) - at, "%d", rank);
			text++;
		} else {
			buffer[at++] = *text;
		}
	}
	buffer[at] = 0;
	return buffer;
}
