/* putting.c - keys with values: each line's value is read, then all of a batch are put at once */
#include "putting.h"
#include "keys.h"
#include "terms.h"

#include <errno.h>

static int make_space(struct putting *p, size_t count)
{
	uint64_t *values;

	if (count <= p->capacity)
		return DONE;
	values = realloc(p->values, count * sizeof(*values));
	if (!values)
		return broken("out of memory");
	p->values = values;
	p->capacity = count;
	return DONE;
}

/*
 * A value that the filter cannot hold: which line has it? To put those before it once more changes
 * nothing.
 */
static int bad_value(const struct putting *p, const struct batch *batch, size_t count)
{
	char where[WHERE];

	for (size_t i = 0; i < count; i++)
		if (blm_put(p->f, batch->keys[i].bytes, batch->keys[i].len, p->values[i]) < 0)
			return broken("%s: %s", batch_where(where, batch, i),
				      own_terms(blm_error_message()));
	return fail(-ERANGE);
}

int put_batch(struct putting *p, struct batch *batch, uint64_t *ret_changed)
{
	int code = make_space(p, batch->count);
	const char *reason = NULL;
	char buffer[WHY], where[WHERE];
	size_t good = 0;
	int64_t r;

	*ret_changed = 0;
	if (code != DONE)
		return code;
	while (good < batch->count
	       && !(reason = batch_value(&p->values[good], batch, good, buffer)))
		good++;
	r = blm_put_many(p->f, batch->keys, p->values, good, NULL);
	if (r == -ERANGE)
		return bad_value(p, batch, good);
	if (r < 0)
		return fail(r);
	*ret_changed = (uint64_t)r;
	return reason ? broken("%s %s", batch_where(where, batch, good), reason) : DONE;
}

void putting_end(struct putting *p)
{
	free(p->values);
}
