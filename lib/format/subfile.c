/*
 * subfile.c - files with all of their bytes at hand, and a range of one, read as if it were a file
 */
#include "file/os.h"
#include "format/format.h"

static int64_t read_memory(const struct blm_bytes_at *file, void *buffer, size_t bytes, uint64_t at)
{
	uint64_t left = at < file->count ? file->count - at : 0;
	size_t count = bytes < left ? bytes : (size_t)left;

	if (count)
		memcpy(buffer, file->memory + at, count);
	return (int64_t)count;
}

static int64_t read_fd(const struct blm_bytes_at *file, void *buffer, size_t bytes, uint64_t at)
{
	return blm_read_at(file->fd, buffer, bytes, at);
}

struct blm_bytes_at blm_bytes_of_memory(const void *bytes, size_t count)
{
	return (struct blm_bytes_at){ .read = read_memory, .count = count, .memory = bytes };
}

struct blm_bytes_at blm_bytes_of_fd(int fd, uint64_t count)
{
	return (struct blm_bytes_at){ .read = read_fd, .count = count, .fd = fd };
}

static int64_t read_piece(void *context, void *buffer, size_t bytes)
{
	struct blm_piece *p = context;
	size_t count = bytes < p->bytes ? bytes : (size_t)p->bytes;
	int64_t n = (int64_t)count;

	if (p->unpacked && count)
		memcpy(buffer, p->unpacked + p->at, count);
	else if (count)
		n = p->file->read(p->file, buffer, count, p->at);
	if (n > 0) {
		p->at += (uint64_t)n;
		p->bytes -= (uint64_t)n;
	}
	return n;
}

int blm_reader_piece(struct blm_reader **ret, struct blm_piece *piece,
		     const struct blm_bytes_at *file, const char *display)
{
	piece->file = file;
	return blm_reader_calls(ret, read_piece, piece, display);
}
