/*
 * rest.c - a rank that waits for others sleeps, so the time of its processor is that of its work
 *
 * It is loaded before bloomery-mpi (LD_PRELOAD). Libraries of MPI wait by asking again and again,
 * which takes as much of the processor as work does. Here each call that can wait is begun without
 * waiting, and asked for every millisecond. MPI_Finalize() prints the seconds of the processor that
 * the rank took, which rate.py reads.
 */
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static int rest(MPI_Request *request, MPI_Status *status)
{
	int over = 0, r;

	while ((r = PMPI_Test(request, &over, status)) == MPI_SUCCESS && !over)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return r;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	return rest(request, status);
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
	MPI_Request request;
	int r = PMPI_Isend(data, count, type, to, tag, comm, &request);

	return r == MPI_SUCCESS ? rest(&request, MPI_STATUS_IGNORE) : r;
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
	     MPI_Status *status)
{
	MPI_Request request;
	int r = PMPI_Irecv(data, count, type, from, tag, comm, &request);

	return r == MPI_SUCCESS ? rest(&request, status) : r;
}

int MPI_Alltoall(const void *from, int sent, MPI_Datatype sent_type, void *to, int got,
		 MPI_Datatype got_type, MPI_Comm comm)
{
	MPI_Request request;
	int r = PMPI_Ialltoall(from, sent, sent_type, to, got, got_type, comm, &request);

	return r == MPI_SUCCESS ? rest(&request, MPI_STATUS_IGNORE) : r;
}

int MPI_Alltoallv(const void *from, const int sent[], const int sent_at[], MPI_Datatype sent_type,
		  void *to, const int got[], const int got_at[], MPI_Datatype got_type,
		  MPI_Comm comm)
{
	MPI_Request request;
	int r = PMPI_Ialltoallv(from, sent, sent_at, sent_type, to, got, got_at, got_type, comm,
				&request);

	return r == MPI_SUCCESS ? rest(&request, MPI_STATUS_IGNORE) : r;
}

int MPI_Barrier(MPI_Comm comm)
{
	MPI_Request request;
	int r = PMPI_Ibarrier(comm, &request);

	return r == MPI_SUCCESS ? rest(&request, MPI_STATUS_IGNORE) : r;
}

int MPI_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root,
	       MPI_Comm comm)
{
	MPI_Request request;
	int r = PMPI_Ireduce(from, to, count, type, op, root, comm, &request);

	return r == MPI_SUCCESS ? rest(&request, MPI_STATUS_IGNORE) : r;
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
		  MPI_Comm comm)
{
	MPI_Request request;
	int r = PMPI_Iallreduce(from, to, count, type, op, comm, &request);

	return r == MPI_SUCCESS ? rest(&request, MPI_STATUS_IGNORE) : r;
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
	MPI_Request request;
	int r = PMPI_Ibcast(data, count, type, root, comm, &request);

	return r == MPI_SUCCESS ? rest(&request, MPI_STATUS_IGNORE) : r;
}

int MPI_Finalize(void)
{
	struct rusage usage;
	int rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	getrusage(RUSAGE_SELF, &usage);
	fprintf(stderr, "processor of rank %d: %.3f s\n", rank,
		(double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
		+ (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
	return PMPI_Finalize();
}
