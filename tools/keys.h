/* keys.h - the key in a line */
#ifndef BLOOMERY_KEYS_H
#define BLOOMERY_KEYS_H

#include "command.h"

struct json_reader;

extern const struct opt key_options[];
/* the same without --key: of update, whose keys come in or go */
extern const struct opt line_options[];
/* of commands whose lines are rows of a table, instead: --on for --field */
extern const struct opt row_options[];
/* of commands on filters that can be divided by a column */
extern const struct opt partition_option[];
/* of commands whose lines have a key and a value */
extern const struct opt value_options[];

/*
 * Keys that stand on the command line, before those of the input. They are no lines: a newline is a
 * byte of the key.
 */
struct given {
	const char *option;	/* what gives one; NULL: none can be given */
	struct given_key {
		const char *text;
		const char *value;	/* of --value; NULL: none */
	} *keys;
	size_t count;
};

extern struct given given_keys;		/* those of --key */
extern const struct given no_keys;	/* of commands that read rows */

/* the `set` of an option whose target is a struct given: one more */
int set_given(const struct opt *opt, const char *text);

/* Has each key of --key a value, or none of them one? Return: DONE, or USAGE with a message. */
int given_with_values(const char *command);
int given_without_values(const char *command);

bool values_given(void);	/* by --value-field or --value */
void keys_in_first_column(void);	/* ... unless an option says where */
/* --partition-field: a key is a column, a tab, and the key; then this is the hash of such keys */
bool keys_have_columns(void);
#define HASH_OF_COLUMNS "xxh3-column"
/* Are keys what the filter's are, in this? Return: DONE or USAGE. */
int check_columns(const struct blm_info *info, const char *name);
void keys_are_ranges(void);	/* of lines: in one column or in two (ranges.h) */
char columns_end(void);
char line_end(void);
bool keys_are_lines(void);	/* is every key its whole line? */
bool bad_lines_are_skipped(void);	/* --skip-bad: lines without a key are left out */
bool keys_are_hex(void);	/* are keys written in hexadecimal digits? */
bool keys_need_buffer(void);	/* are there keys that do not stand in their line as they are? */
int keys_check(void);		/* do the options agree? Return: DONE or USAGE */

/*
 * The key in a line. `buffer` has space for as many bytes as the line. The reader of JSON is made
 * on first use, if --json-key is given; it is for one thread.
 * Return: NULL, or what is wrong with the line, in words that last until the reader reads again.
 */
const char *key_of(struct blm_key *ret, const struct blm_key *line, uint8_t *buffer,
		   struct json_reader **reader);
void key_reader_free(struct json_reader *reader);

/* The same of a key of the command line, which is no column of a line. */
const char *given_key_of(struct blm_key *ret, const struct blm_key *line, uint8_t *buffer);

/*
 * What a row is made of, as it stands there, quotes included; the CR that --crlf leaves out is in
 * none of them.
 */
struct row_parts {
	/*
	 * the columns before the key's, without the delimiter between; meaningless if the key is in
	 * the first
	 */
	struct blm_key before;
	struct blm_key column;
	struct blm_key after;	/* those behind it, and the delimiter before each */
	bool first;		/* is the key in the first column? */
	bool whole;		/* the row is one column, a text of JSON that has the key in it */
};

/* The parts of a line that key_of() took by its column. */
void row_parts_of(struct row_parts *ret, const struct blm_key *line);

bool rows_end_in_cr(void);

enum { WHY = 160 };

/*
 * The value in a line, and that of --value. Return: NULL, or what is wrong with the line, which may
 * be in `buffer`.
 */
const char *value_of(uint64_t *ret, const struct blm_key *line, char buffer[WHY]);
const char *given_value_of(uint64_t *ret, const struct given_key *key, char buffer[WHY]);

#endif
