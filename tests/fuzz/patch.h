/* patch.h - inputs that change a real file in a few places */
#ifndef BLM_FUZZ_PATCH_H
#define BLM_FUZZ_PATCH_H

#include "must.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The bytes of a file, up to this many, to keep; the file is deleted. */
static inline uint8_t *take_file(const char *path, size_t most, size_t *ret_count)
{
	FILE *in = fopen(path, "re");
	uint8_t *bytes = malloc(most);

	must(in && bytes);
	*ret_count = fread(bytes, 1, most, in);
	fclose(in);
	unlink(path);
	return bytes;
}

/* As the data say: {offset, 2 bytes; how many bytes, 1; the bytes} again and again. */
static inline void patch(uint8_t *to, size_t bytes, const uint8_t *data, size_t size)
{
	while (size > 3) {
		size_t at = ((size_t)data[0] | (size_t)data[1] << 8) % bytes, n = data[2];

		data += 3;
		size -= 3;
		if (n > size)
			n = size;
		memcpy(to + at, data, n < bytes - at ? n : bytes - at);
		data += n;
		size -= n;
	}
}

#endif
