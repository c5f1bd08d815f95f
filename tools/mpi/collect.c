/*
 * collect.c - the data of all ranks to the builder of rank 0, a chunk at a time
 *
 * Rank 0 unites a chunk with its own data while the next chunk is on its way.
 */
#include "collect.h"
#include "ranks_model.h"

#include <errno.h>

enum { CHUNK = RANKS_COLLECT / 4, LINE = 64 };	/* the library unites whole lines without a copy */

static char *chunk_buffer(void)
{
	char *buffer = aligned_alloc(LINE, CHUNK);

	if (!buffer)
		give_up(broken("out of memory for %d bytes", CHUNK));
	return buffer;
}

uint64_t count_of(const struct blm_filter *f)
{
	bool estimated;
	uint64_t keys;

	must_have(blm_count(f, &keys, &estimated));
	return keys;
}

/* ---- One rank after the other ---- */

static size_t next_chunk(uint64_t done, uint64_t bytes)
{
	return bytes - done < CHUNK ? (size_t)(bytes - done) : CHUNK;
}

/* The count of the keys comes first. */
static void send_range(struct collecting *c, uint64_t at, uint64_t bytes)
{
	uint64_t keys = count_of(c->from);
	char *buffer = chunk_buffer();

	MPI_Send(&keys, 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD);
	for (uint64_t done = 0; done < bytes; done += CHUNK) {
		size_t here = next_chunk(done, bytes);

		must_have(blm_data_read(c->from, at + done, buffer, here));
		MPI_Send(buffer, (int)here, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
		c->moved += here;
	}
	free(buffer);
}

static void take_range(struct collecting *c, int from, uint64_t at, uint64_t bytes)
{
	char *buffer[2] = { chunk_buffer(), chunk_buffer() };
	MPI_Request next = MPI_REQUEST_NULL;
	uint64_t keys;

	MPI_Recv(&keys, 1, MPI_UINT64_T, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	must_have(blm_build_unite(c->b, 0, buffer[0], 0, keys));
	if (bytes)
		MPI_Irecv(buffer[0], (int)next_chunk(0, bytes), MPI_BYTE, from, 0, MPI_COMM_WORLD,
			  &next);
	for (uint64_t done = 0; done < bytes; done += CHUNK) {
		unsigned i = done / CHUNK % 2;

		MPI_Wait(&next, MPI_STATUS_IGNORE);
		if (bytes - done > CHUNK)
			MPI_Irecv(buffer[!i], (int)next_chunk(done + CHUNK, bytes), MPI_BYTE, from,
				  0, MPI_COMM_WORLD, &next);
		must_have(blm_build_unite(c->b, at + done, buffer[i], next_chunk(done, bytes), 0));
	}
	free(buffer[0]);
	free(buffer[1]);
}

static void range_of(const struct collecting *c, const struct blm_filter *ranges, int of,
		     uint64_t *ret_at, uint64_t *ret_bytes)
{
	*ret_at = 0;
	*ret_bytes = c->bytes;
	if (ranges)
		must_have(blm_part_range(ranges, (uint32_t)of, (uint32_t)ranks, ret_at,
					 ret_bytes));
}

void collect_ranges(struct collecting *c, const struct blm_filter *ranges)
{
	uint64_t at, bytes;

	range_of(c, ranges, rank, &at, &bytes);
	if (rank)
		send_range(c, at, bytes);
	for (int r = 1; !rank && r < ranks; r++) {
		range_of(c, ranges, r, &at, &bytes);
		take_range(c, r, at, bytes);
	}
}

/* ---- The OR ---- */

/*
 * Rank 0 takes no part in the reduction, because its keys are in its builder already. The other
 * ranks reduce to rank 1, which sends the result on.
 */
struct chunk {
	uint64_t at;
	size_t bytes;
	char *mine, *all;
	MPI_Request request;
};

static void begin_chunk(struct collecting *c, uint64_t at, struct chunk *ret, MPI_Comm others)
{
	ret->at = at;
	ret->bytes = next_chunk(at, c->bytes);
	if (!rank) {
		MPI_Irecv(ret->all, (int)ret->bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &ret->request);
		return;
	}
	must_have(blm_data_read(c->from, at, ret->mine, ret->bytes));
	c->moved += ret->bytes;
	if (ranks == 2)
		MPI_Isend(ret->mine, (int)ret->bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
			  &ret->request);
	else	/* data are whole words: a multiple of 64 bytes */
		MPI_Ireduce(ret->mine, ret->all, (int)(ret->bytes / 8), MPI_UINT64_T, MPI_BOR, 0,
			    others, &ret->request);
}

static void end_chunk(struct collecting *c, struct chunk *of)
{
	MPI_Wait(&of->request, MPI_STATUS_IGNORE);
	if (!rank && of->bytes)
		must_have(blm_build_unite(c->b, of->at, of->all, of->bytes, BLM_KEYS_UNKNOWN));
	if (rank == 1 && ranks > 2 && of->bytes)
		MPI_Send(of->all, (int)of->bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
	of->bytes = 0;
}

void collect_or(struct collecting *c)
{
	struct chunk chunk[2];
	MPI_Comm others;

	if (ranks == 1)
		return;
	MPI_Comm_split(MPI_COMM_WORLD, rank ? 1 : MPI_UNDEFINED, rank, &others);
	for (int i = 0; i < 2; i++)
		chunk[i] = (struct chunk){ .mine = chunk_buffer(), .all = chunk_buffer(),
					   .request = MPI_REQUEST_NULL };
	for (uint64_t at = 0; at < c->bytes; at += CHUNK) {
		begin_chunk(c, at, &chunk[at / CHUNK % 2], others);
		end_chunk(c, &chunk[(at / CHUNK + 1) % 2]);
	}
	for (uint64_t i = 0; i < 2; i++) {
		struct chunk *last = &chunk[((c->bytes + CHUNK - 1) / CHUNK + i) % 2];

		end_chunk(c, last);
		free(last->mine);
		free(last->all);
	}
	if (rank)
		MPI_Comm_free(&others);
}
