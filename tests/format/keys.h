/* keys.h - the keys that another program was given, and the questions that it was asked */
#ifndef BLM_TEST_FORMAT_KEYS_H
#define BLM_TEST_FORMAT_KEYS_H

#include "vectors.h"

enum { KEYS_MOST = 2048, KEY_MOST = 1200 };

struct keys {
	uint8_t bytes[KEYS_MOST][KEY_MOST];
	struct blm_key key[KEYS_MOST];
	size_t count;
};

/* The first lines of DATA/name, or all; of a list in hex, what they mean. */
static inline void load_lines(struct keys *keys, const char *name, size_t most)
{
	char path[300], *text, *line;

	snprintf(path, sizeof(path), DATA "/%s", name);
	line = text = file_of(path, NULL);
	ck_assert_msg(text != NULL, "%s", path);
	for (keys->count = 0; *line && keys->count < most;
	     keys->count++, line += strcspn(line, "\n") + 1) {
		size_t len = strcspn(line, "\n");

		ck_assert_uint_lt(len, KEY_MOST);
		if (strstr(name, ".hex"))
			len = from_hex(line, keys->bytes[keys->count], KEY_MOST);
		else
			memcpy(keys->bytes[keys->count], line, len);
		keys->key[keys->count] = (struct blm_key){ keys->bytes[keys->count], len };
	}
	free(text);
}

/* As the other program answered: from the lowest bit of the first byte on. */
static inline void answers_are(const struct blm_filter *f, const struct keys *keys, const char *hex,
			       const char *display)
{
	static uint64_t bits[KEYS_MOST / 64];
	uint8_t answers[KEYS_MOST / 8];

	ck_assert_uint_ge(8 * from_hex(hex, answers, sizeof(answers)), keys->count);
	blm_contains_many(f, keys->key, keys->count, bits);
	for (size_t i = 0; i < keys->count; i++) {
		ck_assert_msg(blm_contains(f, keys->key[i].bytes, keys->key[i].len)
				      == (answers[i / 8] >> i % 8 & 1),
			      "%s: question %zu", display, i);
		ck_assert_uint_eq(bits[i / 64] >> i % 64 & 1, answers[i / 8] >> i % 8 & 1);
	}
}

#endif
