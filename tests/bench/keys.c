/* keys.c - the keys of a measurement, ready in memory before the clock starts */
#include "bench.h"

#include <errno.h>
#include <string.h>

int keys_make(struct keys *ret, size_t count)
{
	struct keys keys = {
		.bytes = calloc(count, sizeof(*keys.bytes)),
		.key = calloc(count, sizeof(*keys.key)),
		.hash = calloc(count, sizeof(*keys.hash)),
	};

	if (!keys.bytes || !keys.key || !keys.hash) {
		keys_free(&keys);
		return -ENOMEM;
	}
	/* its pages are there before the clock starts */
	memset(keys.hash, 0xff, count * sizeof(*keys.hash));
	for (size_t i = 0; i < count; i++)
		keys.key[i] = (struct blm_key){ keys.bytes[i], KEY_BYTES };
	*ret = keys;
	return 0;
}

void keys_free(struct keys *keys)
{
	free(keys->bytes);
	free(keys->key);
	free(keys->hash);
	*keys = (struct keys){ 0 };
}

static void write_key(uint8_t *ret, uint64_t id)
{
	uint64_t halves[2] = { id, mix(id) };

	memcpy(ret, halves, KEY_BYTES);
}

void keys_from(struct keys *keys, size_t count, uint64_t first)
{
	for (size_t i = 0; i < count; i++)
		write_key(keys->bytes[i], first + i);
	keys->count = count;
}

void keys_drawn(struct keys *keys, size_t count, uint64_t n, uint64_t *seed)
{
	for (size_t i = 0; i < count; i++)
		write_key(keys->bytes[i], below(mix((*seed)++), n));
	keys->count = count;
}
