/*
 * terms.c - the library's words in the program's own terms
 *
 * The library tells its callers which of its functions or fields mends what is wrong. Who typed a
 * command needs the name of a command or an option instead. Each name that a message of the library
 * has stands here; tests/terms.py looks.
 */
#include "terms.h"
#include "command.h"

#include <strings.h>

static const struct { const char *library, *program; } terms[] = {
	{ "BLM_STORE_ANYONE", "--anyone" },
	{ "BLM_VERIFY_ANYONE", "--anyone" },
	{ "blm_add_many()", "`bloomery add`" },
	{ "blm_allowlist_add()", "`bloomery allow`" },
	{ "blm_bank_begin()", "`bloomery bank`" },
	{ "blm_bank_open()", "`bloomery which`, `similar`, `verify` or `bank --list`" },
	{ "blm_build_begin()", "`bloomery build`" },
	{ "blm_combine_into()", "`bloomery union`" },
	{ "blm_copy()", "`bloomery copy`" },
	{ "blm_create()", "`bloomery create`" },
	{ "blm_exchange.base64", "--base64" },
	{ "blm_exchange.cells", "-m" },
	{ "blm_exchange.column", "--column" },
	{ "blm_exchange.everything", "--force" },
	{ "blm_exchange.format", "--format" },
	{ "blm_exchange.hash", "--hash" },
	{ "blm_exchange.known", "--probe" },
	{ "blm_exchange.max_bytes", "--max-size" },
	{ "blm_exchange.power_of_two", "--power-of-two" },
	{ "blm_exchange.probes", "-k" },
	{ "blm_exchange.record", "--record" },
	{ "blm_exchange.redis_key", "--redis-key" },
	{ "blm_exchange.replace", "--force" },
	{ "blm_exchange.row_group", "--row-group" },
	{ "blm_exchange.seeds", "--block-hash, --hash-key" },
	{ "blm_export()", "`bloomery export`" },
	{ "blm_fold()", "`bloomery fold`" },
	{ "blm_format_list()", "`bloomery formats`" },
	{ "blm_grow()", "`bloomery grow`" },
	{ "blm_hash_list()", "`bloomery hashes`" },
	{ "blm_join_begin()", "`bloomery join`" },
	{ "blm_merge()", "`bloomery merge`" },
	{ "blm_open_keyed()", "--key-file" },
	{ "blm_params.capacity", "-n" },
	{ "blm_params.cells", "-m" },
	{ "blm_params.format", "`bloomery create --format`" },
	{ "blm_params.hash", "--hash" },
	{ "blm_params.kind", "--kind" },
	{ "blm_params.mode", "--mode" },
	{ "blm_params.no_checkpoint", "--no-checkpoint" },
	{ "blm_params.options", "--with" },
	{ "blm_params.probes", "-k" },
	{ "blm_params.rate", "-p" },
	{ "blm_params.replace", "--force" },
	{ "blm_params.scheme", "--scheme" },
	{ "blm_params.secret", "--key-file" },
	{ "blm_params.seeds", "--seed" },
	{ "blm_params.sparse", "--sparse" },
	{ "blm_params.split_part", "--partition" },
	{ "blm_params.tweak", "--tweak" },
	{ "blm_rebuild()", "`bloomery rebuild`" },
	{ "blm_scheme_list()", "`bloomery schemes`" },
	{ "blm_split()", "`bloomery split`" },
	{ "blm_store_list()", "`bloomery ls`" },
	{ "blm_store_open() with BLM_STORE_CREATE", "`bloomery create`" },
	{ "blm_store_verify()", "`bloomery verify --repair`" },
	{ "blm_template()", "`bloomery template`" },
	{ "blm_verify()", "`bloomery verify --repair`" },
};

/* The row whose name stands at the beginning of the text; none is the beginning of another. */
static size_t term_at(const char *text)
{
	size_t i = 0;

	while (i < ARRAY_LEN(terms) && strncmp(text, terms[i].library, strlen(terms[i].library)))
		i++;
	return i;
}

/*
 * Where the library's own words begin. A message begins with the file, key or value that it is
 * about, and that stays as it was given, also where it looks like a call.
 */
static size_t end_of_value(const char *text)
{
	const char *colon = strstr(text, ": ");

	return colon ? (size_t)(colon - text) : 0;
}

const char *own_terms(const char *text)
{
	static _Thread_local char own[2 * MESSAGE];
	size_t used = 0, value;

	if (!text)
		return NULL;
	value = end_of_value(text);
	for (; used < value && used < sizeof(own) - 1; used++)
		own[used] = *text++;
	while (*text && used < sizeof(own) - 1) {
		size_t i = strncasecmp(text, "blm_", 4) ? ARRAY_LEN(terms) : term_at(text);
		const char *from = i < ARRAY_LEN(terms) ? terms[i].program : text;
		size_t bytes = i < ARRAY_LEN(terms) ? strlen(from) : 1;

		text += i < ARRAY_LEN(terms) ? strlen(terms[i].library) : 1;
		for (; bytes && used < sizeof(own) - 1; bytes--)
			own[used++] = *from++;
	}
	own[used] = 0;
	return own;
}
