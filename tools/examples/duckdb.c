/*
 * duckdb.c - an extension of DuckDB: bloomery_test(name, key) and bloomery_claim(name, key)
 *
 *	duckdb.sh node_modules/@duckdb/node-bindings-linux-x64 bloomery.duckdb_extension
 *	LOAD './bloomery.duckdb_extension';	-- with allow_unsigned_extensions
 *	SELECT url FROM links WHERE bloomery_test('seen', url);
 *
 * DuckDB gives a function columns of up to 2048 values, which go to blm_contains_many() together.
 * Keys are VARCHAR (their UTF-8) or BIGINT (8 bytes, little-endian). Filters are those of the store
 * $BLOOMERY_STORE. npm's package has no header, so what is used of the C API is declared here.
 */
#include <bloomery.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- DuckDB's C API, version 1.2.0 ---- */

enum { DUCKDB_TYPE_BOOLEAN = 1, DUCKDB_TYPE_BIGINT = 5, DUCKDB_TYPE_VARCHAR = 17 };

/* Up to 12 bytes are in the value itself. */
union string {
	struct {
		uint32_t length;
		char bytes[12];
	} inside;
	struct {
		uint32_t length;
		char prefix[4];
		const char *bytes;
	} outside;
};

struct extension_access {
	void (*set_error)(void *info, const char *message);
	void **(*get_database)(void *info);
	const void *(*get_api)(void *info, const char *version);
};

int duckdb_connect(void *database, void **ret);
void duckdb_disconnect(void **connection);
void *duckdb_create_logical_type(int type);
void duckdb_destroy_logical_type(void **type);
void *duckdb_create_scalar_function_set(const char *name);
void duckdb_destroy_scalar_function_set(void **set);
int duckdb_add_scalar_function_to_set(void *set, void *function);
int duckdb_register_scalar_function_set(void *connection, void *set);
void *duckdb_create_scalar_function(void);
void duckdb_destroy_scalar_function(void **function);
void duckdb_scalar_function_set_name(void *function, const char *name);
void duckdb_scalar_function_add_parameter(void *function, void *type);
void duckdb_scalar_function_set_return_type(void *function, void *type);
void duckdb_scalar_function_set_volatile(void *function);
void duckdb_scalar_function_set_special_handling(void *function);
void duckdb_scalar_function_set_extra_info(void *function, void *extra, void (*destroy)(void *));
void duckdb_scalar_function_set_function(void *function, void (*call)(void *, void *, void *));
void *duckdb_scalar_function_get_extra_info(void *info);
void duckdb_scalar_function_set_error(void *info, const char *message);
uint64_t duckdb_data_chunk_get_size(void *chunk);
void *duckdb_data_chunk_get_vector(void *chunk, uint64_t column);
void *duckdb_vector_get_data(void *vector);
uint64_t *duckdb_vector_get_validity(void *vector);	/* NULL: no value is NULL */
void duckdb_vector_ensure_validity_writable(void *vector);

/* ---- Filters ---- */

/* Open until the process ends, because another thread may be in a call with one that is stale. */
struct open_filter {
	struct open_filter *next;
	struct blm_filter *f;
	bool stale;
	size_t len;
	char name[];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;	/* of what follows */
static struct open_filter *filters;
static struct blm_store *store;

static int open_filter(struct open_filter **ret, const char *name, size_t len)
{
	struct open_filter *o = calloc(1, sizeof(*o) + len + 1);
	const char *dir = secure_getenv("BLOOMERY_STORE");
	int r = o ? 0 : -ENOMEM;

	if (r == 0 && !store)
		r = blm_store_open(&store, dir ? dir : "", 0);
	if (r == 0) {
		memcpy(o->name, name, len);
		o->len = len;
		r = blm_open(&o->f, store, o->name, BLM_OPEN_WRITE);
	}
	if (r < 0) {
		free(o);
		return r;
	}
	o->next = filters;
	*ret = filters = o;
	return 0;
}

static int find_filter(struct blm_filter **ret, const char *name, size_t len)
{
	struct open_filter *o;
	int r = 0;

	pthread_mutex_lock(&mutex);
	for (o = filters; o; o = o->next)
		if (!o->stale && o->len == len && !memcmp(o->name, name, len))
			break;
	if (o && blm_status(o->f) == -ESTALE)
		o->stale = true;
	if (!o || o->stale)
		r = open_filter(&o, name, len);
	pthread_mutex_unlock(&mutex);
	if (r == 0)
		*ret = o->f;
	return r;
}

/* ---- Functions ---- */

enum { BATCH = 2048 };

struct function {
	int64_t (*ask)(const struct blm_filter *f, const struct blm_key *keys, size_t count,
		       uint64_t *ret_bits);
	int type;
};

static int64_t claim(const struct blm_filter *f, const struct blm_key *keys, size_t count,
		     uint64_t *ret_bits)
{
	return blm_claim_many((struct blm_filter *)f, keys, count, ret_bits);
}

static struct blm_key key_of(const union string *s)
{
	bool inside = s->inside.length <= sizeof(s->inside.bytes);

	return (struct blm_key){ inside ? s->inside.bytes : s->outside.bytes, s->inside.length };
}

static bool is_valid(const uint64_t *validity, uint64_t i)
{
	return !validity || validity[i / 64] >> i % 64 & 1;
}

/* Rows of one name that follow one another are one batch. */
struct batch {
	const struct function *function;
	const union string *names;
	const uint64_t *valid_names, *valid_keys;
	const void *keys;	/* union string or int64_t */
	bool *answers;
	uint64_t *valid_answers;
};

static bool belongs(const struct batch *b, const struct blm_key *name, uint64_t i)
{
	struct blm_key other;

	if (!is_valid(b->valid_names, i))
		return true;	/* a row that is not asked for */
	other = key_of(&b->names[i]);
	return other.len == name->len && !memcmp(other.bytes, name->bytes, name->len);
}

/* Return: the row after those that were answered, or a negative errno. */
static int64_t answer(struct batch *b, uint64_t first, uint64_t count)
{
	struct blm_key keys[BATCH], name = { "", 0 };
	uint64_t bits[BATCH / 64], rows[BATCH], used = 0, i;
	struct blm_filter *f;
	int64_t r;

	for (i = first; i < count && used < BATCH; i++) {
		if (!is_valid(b->valid_names, i) || !is_valid(b->valid_keys, i)) {
			b->valid_answers[i / 64] &= ~(UINT64_C(1) << i % 64);
			continue;
		}
		if (!used)
			name = key_of(&b->names[i]);
		else if (!belongs(b, &name, i))
			break;
		keys[used] = b->function->type == DUCKDB_TYPE_VARCHAR
			? key_of((const union string *)b->keys + i)
			: (struct blm_key){ (const int64_t *)b->keys + i, sizeof(int64_t) };
		rows[used++] = i;
	}
	r = used ? find_filter(&f, name.bytes, name.len) : 0;
	if (r == 0 && used)
		r = b->function->ask(f, keys, used, bits);
	for (uint64_t j = 0; r >= 0 && j < used; j++)
		b->answers[rows[j]] = bits[j / 64] >> j % 64 & 1;
	return r < 0 ? r : (int64_t)i;
}

static void call(void *info, void *input, void *output)
{
	void *names = duckdb_data_chunk_get_vector(input, 0);
	void *keys = duckdb_data_chunk_get_vector(input, 1);
	uint64_t count = duckdb_data_chunk_get_size(input);
	struct batch b = {
		.function = duckdb_scalar_function_get_extra_info(info),
		.names = duckdb_vector_get_data(names), .keys = duckdb_vector_get_data(keys),
		.valid_names = duckdb_vector_get_validity(names),
		.valid_keys = duckdb_vector_get_validity(keys),
		.answers = duckdb_vector_get_data(output),
	};

	duckdb_vector_ensure_validity_writable(output);
	b.valid_answers = duckdb_vector_get_validity(output);
	for (int64_t at = 0; (uint64_t)at < count;) {
		at = answer(&b, (uint64_t)at, count);
		if (at < 0) {
			duckdb_scalar_function_set_error(info, blm_error_message());
			return;
		}
	}
}

/* ---- The entry ---- */

static const struct function functions[2][2] = {
	{ { blm_contains_many, DUCKDB_TYPE_VARCHAR }, { blm_contains_many, DUCKDB_TYPE_BIGINT } },
	{ { claim, DUCKDB_TYPE_VARCHAR }, { claim, DUCKDB_TYPE_BIGINT } },
};
static const char *const names[2] = { "bloomery_test", "bloomery_claim" };

static void add_function(void *set, const char *name, const struct function *function)
{
	void *made = duckdb_create_scalar_function();
	void *text = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
	void *key = duckdb_create_logical_type(function->type);
	void *yes = duckdb_create_logical_type(DUCKDB_TYPE_BOOLEAN);

	duckdb_scalar_function_set_name(made, name);
	duckdb_scalar_function_add_parameter(made, text);
	duckdb_scalar_function_add_parameter(made, key);
	duckdb_scalar_function_set_return_type(made, yes);
	duckdb_scalar_function_set_extra_info(made, (void *)function, NULL);
	duckdb_scalar_function_set_function(made, call);
	duckdb_scalar_function_set_special_handling(made);	/* of NULL */
	duckdb_scalar_function_set_volatile(made);		/* filters change */
	duckdb_add_scalar_function_to_set(set, made);
	duckdb_destroy_scalar_function(&made);
	duckdb_destroy_logical_type(&text);
	duckdb_destroy_logical_type(&key);
	duckdb_destroy_logical_type(&yes);
}

__attribute__((visibility("default")))
bool bloomery_init_c_api(void *info, struct extension_access *access);

bool bloomery_init_c_api(void *info, struct extension_access *access)
{
	void *connection = NULL;
	bool registered = true;

	if (!access->get_api(info, "v1.2.0"))
		return false;	/* DuckDB has said why */
	if (duckdb_connect(*access->get_database(info), &connection)) {
		access->set_error(info, "bloomery: no connection");
		return false;
	}
	for (int i = 0; i < 2; i++) {
		void *set = duckdb_create_scalar_function_set(names[i]);

		for (int j = 0; j < 2; j++)
			add_function(set, names[i], &functions[i][j]);
		registered &= duckdb_register_scalar_function_set(connection, set) == 0;
		duckdb_destroy_scalar_function_set(&set);
	}
	duckdb_disconnect(&connection);
	if (!registered)
		access->set_error(info, "bloomery: the functions cannot be registered");
	return registered;
}
