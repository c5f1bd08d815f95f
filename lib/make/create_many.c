/* create_many.c - many empty filters of one template, which appear in a store together */
#include "base/phase.h"
#include "base/secret_memory.h"
#include "file/os.h"
#include "make/new_filter.h"
#include "place/store_dir.h"

#include <unistd.h>

struct many {
	struct blm_store *store;
	const char *const *names;
	size_t count;
	const struct blm_spec *spec;
};

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_distinct(const struct many *m)
{
	const char **sorted = malloc(m->count * sizeof(*sorted));
	int r = 0;

	if (!sorted)
		return blm_fail(-ENOMEM, "out of memory for %zu names", m->count);
	memcpy(sorted, m->names, m->count * sizeof(*sorted));
	qsort(sorted, m->count, sizeof(*sorted), compare);
	for (size_t i = 1; r == 0 && i < m->count; i++)
		if (!strcmp(sorted[i - 1], sorted[i]))
			r = blm_fail(-EINVAL, "%s: given twice; give each name once", sorted[i]);
	free(sorted);
	return r;
}

/* Before any space is taken. The catalog looks again. */
static int check_names(const struct many *m)
{
	struct blm_place place;
	int r = 0;

	for (size_t i = 0; r == 0 && i < m->count; i++) {
		r = blm_must_have(m->names[i], "a name");
		if (r == 0)
			r = blm_place_set(&place, m->store, m->names[i]);
		if (r < 0)
			return r;
		r = blm_place_is_taken(&place);
		blm_place_clear(&place);
	}
	return r < 0 ? r : check_distinct(m);
}

static int make_one(const struct many *m, const char *name, struct blm_store_batch *batch,
		    uint64_t *ret_bytes)
{
	struct blm_staged staged;
	struct blm_place place;
	int r = blm_place_set(&place, m->store, name);

	if (r < 0)
		return r;
	r = blm_staged_make(&staged, &place, m->spec);
	if (r == 0) {
		*ret_bytes = staged.view->image.bytes;
		r = blm_staged_finish(&staged, &place);
		if (r == 0)
			r = blm_store_batch_add(batch, name, &staged.file,
						staged.view->image.header);
		blm_staged_end(&staged);
	}
	blm_place_clear(&place);
	return r;
}

/* They have one template, so each is as large as the first. */
static int make_each(const struct many *m, struct blm_store_batch *batch)
{
	uint64_t bytes = 0;
	int r = 0;

	BLM_PHASE_WHOLE("creating", 0);
	for (size_t i = 0; r == 0 && i < m->count; i++) {
		r = make_one(m, m->names[i], batch, &bytes);
		phase_.total = m->count * bytes;
		if (r == 0)
			blm_phase_at((i + 1) * bytes);
	}
	return r;
}

/* Signals that end the process are held (blm_hold_end()). */
static int make_all(const struct many *m)
{
	struct blm_store_batch *batch = blm_store_batch_new(m->store, m->count);
	int r = 0;

	if (!batch)
		return -ENOMEM;
	r = make_each(m, batch);
	if (r == 0)
		r = blm_store_batch_publish(batch);
	blm_store_batch_end(batch);
	return r;
}

static int make_without_secret(const struct many *m)
{
	sigset_t before;
	int r;

	blm_hold_end(&before);
	r = make_all(m);
	blm_let_end(&before);
	return r;
}

/*
 * The secret of a keyed template is stored before any filter can be found. If no filter is made,
 * the secret is deleted. Signals that would end the process are blocked until then.
 */
static int make_with_secret(const struct many *m)
{
	const uint8_t *key_id = m->spec->template.key_id;
	struct blm_place place;
	sigset_t before;
	int held = -1, kept, r = blm_place_set(&place, m->store, m->names[0]);

	if (r < 0)
		return r;
	kept = blm_place_hold_secrets(&place, &held);
	blm_hold_end(&before);
	if (kept == 0)
		kept = blm_place_keep_secret(&place, key_id, m->spec->secret);
	r = kept < 0 ? kept : make_all(m);
	if (held >= 0)
		close(held);
	if (r < 0 && kept > 0)
		blm_place_lose_secret(&place, key_id);
	blm_let_end(&before);
	blm_place_clear(&place);
	return r;
}

static int create(struct many *m, const struct blm_params *params, uint8_t *secret)
{
	struct blm_spec spec;
	int r = blm_spec_from(&spec, params, secret);

	if (r == 0)
		r = blm_check_empty(spec.of, m->names[0]);
	if (r < 0)
		return r;
	m->spec = &spec;
	return spec.secret ? make_with_secret(m) : make_without_secret(m);
}

BLM_API int blm_create_many(struct blm_store *store, const char *const *names, size_t count,
			    const struct blm_params *params)
{
	struct many m = { .store = store, .names = names, .count = count };
	struct blm_params p;
	uint8_t *secret;
	int r = blm_params_take(&p, params);

	if (r == 0)
		r = blm_must_have(store, "store");
	if (r == 0 && p.replace)
		r = blm_fail(-EINVAL, "filters that are made together cannot replace others; make "
			     "each one alone");
	if (r == 0 && count > BLM_CREATE_MANY_MAX)
		r = blm_fail(-E2BIG, "%zu new filters at once; make at most %d", count,
			     BLM_CREATE_MANY_MAX);
	if (r < 0 || !count)
		return r;
	r = blm_must_have(names, "names");
	if (r == 0)
		r = check_names(&m);
	if (r < 0)
		return r;
	secret = blm_hidden_new(BLM_SECRET_BYTES);
	r = secret ? create(&m, &p, secret) : blm_fail(-ENOMEM, "no memory for a secret key");
	blm_hidden_free(secret);
	return r;
}
