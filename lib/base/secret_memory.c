/* secret_memory.c - memory for secrets, and stacks without them */
#include "bloomery.h"
#include "base/secret_memory.h"

#include <sys/mman.h>
#include <unistd.h>

/* libsodium's BLAKE2b, a dynamic linker and a signal's frame: below 8 KiB */
enum { HEAD = 64, LIBRARY_STACK = 16 << 10 };

/* The pages between the guards; the length stands at their beginning. */
static size_t length_of(size_t bytes, size_t page)
{
	return round_up(HEAD + bytes, page);
}

void *blm_hidden_new(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), length = length_of(bytes, page);
	uint8_t *at = mmap(NULL, length + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (mprotect(at + page, length, PROT_READ | PROT_WRITE) < 0) {
		munmap(at, length + 2 * page);
		return NULL;
	}
	madvise(at + page, length, MADV_DONTDUMP);
	mlock(at + page, length);		/* as far as the limit allows */
	memcpy(at + page, &length, sizeof(length));
	return at + page + HEAD;
}

void blm_hidden_free(void *hidden)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), length;
	uint8_t *at;

	if (!hidden)
		return;
	at = (uint8_t *)hidden - HEAD;
	memcpy(&length, at, sizeof(length));
	explicit_bzero(at, length);
	munlock(at, length);
	munmap(at - page, length + 2 * page);
}

BLM_CLEARS_ALL_REGISTERS void blm_secret_copy(uint8_t *to, const uint8_t *from)
{
	for (size_t i = 0; i < BLM_SECRET_BYTES; i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, from + i, sizeof(word));
		memcpy(to + i, &word, sizeof(word));
	}
}

BLM_CLEARS_ALL_REGISTERS void blm_wipe_stack(void)
{
	BLM_WIPE(LIBRARY_STACK);
}
