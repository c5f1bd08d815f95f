/* values.h - how the text of an option becomes its value; each is the `set` of a struct opt */
#ifndef BLOOMERY_VALUES_H
#define BLOOMERY_VALUES_H

#include "command.h"

struct range {
	uint64_t first, last;
};

/* "10000" keys, or "5s", seconds. */
struct every {
	uint64_t keys;
	double seconds;
};

/* Texts that were given one by one, with commas. */
struct list {
	char text[1024];
};

struct seeds {
	uint64_t seed[BLM_SEEDS_MAX];
	uint32_t count;
};

int set_flag(const struct opt *opt, const char *text);		/* bool */
int set_text(const struct opt *opt, const char *text);		/* const char * */
int set_list(const struct opt *opt, const char *text);		/* struct list, one more */
/* uint64_t, within least and most */
int set_number(const struct opt *opt, const char *text);
/* uint64_t, any 64 bits; 0x... as well */
int set_word(const struct opt *opt, const char *text);
int set_rate(const struct opt *opt, const char *text);		/* double, between 0 and 1 */
int set_mode(const struct opt *opt, const char *text);		/* unsigned, octal */
/* struct range: "22..32", or one number */
int set_range(const struct opt *opt, const char *text);
int set_seed(const struct opt *opt, const char *text);		/* struct seeds, one more */
/* struct seeds, the two of siphash64: of a block, by its hash */
int set_block_hash(const struct opt *opt, const char *text);
int set_hash_key(const struct opt *opt, const char *text);	/* ... as the bytes of the key */
int set_every(const struct opt *opt, const char *text);		/* struct every */
int set_span(const struct opt *opt, const char *text);		/* uint64_t, nanoseconds: "7d" */
/* uint64_t, nanoseconds since 1970: "2026-11-26T08:00:00Z", "2026-11-26", or seconds */
int set_time(const struct opt *opt, const char *text);
int set_byte(const struct opt *opt, const char *text);		/* char; "\t" as well */

#endif
