/*
 * golomb_merge.c - numbers from where they come: keys in order, and several golomb filters together
 * with keys that come and go
 *
 * Two sets of one range are merged number by number, without their keys. A set has a number as
 * often as the larger of them: then no key is denied. A counted one has it as often as all
 * together, less the keys that go.
 */
#include "kind/golomb.h"

/* ---- Of keys ---- */

static int keys_begin(struct golomb_numbers *n)
{
	struct golomb_keys *k = (struct golomb_keys *)n;

	k->next = k->at = k->count = 0;
	return 0;
}

static int keys_next(struct golomb_numbers *n, uint64_t *ret)
{
	struct golomb_keys *k = (struct golomb_keys *)n;
	uint64_t left = k->keys->count - k->next;
	int r;

	if (k->at == k->count) {
		if (!left)
			return 0;
		k->count = left < ARRAY_LEN(k->hashes) ? (size_t)left : ARRAY_LEN(k->hashes);
		r = sorted_read(k->keys, k->next, k->hashes, NULL, k->count);
		if (r < 0)
			return r;
		if (k->tell && k->keys->done)
			k->keys->done(k->keys, k->count);
		k->next += k->count;
		k->at = 0;
	}
	*ret = scale(k->hashes[k->at++].hi, k->range);
	return 1;
}

void blm_golomb_keys(struct golomb_keys *ret, const struct blm_sorted *keys, uint64_t range,
		     bool tell)
{
	ret->numbers = (struct golomb_numbers){ keys_begin, keys_next };
	ret->keys = keys;
	ret->range = range;
	ret->tell = tell;
	keys_begin(&ret->numbers);
}

/* ---- Of many ---- */

/* One that numbers come from, and its next. */
struct source {
	struct golomb_numbers *numbers;
	uint64_t next;
	bool there;
};

struct merge {
	struct golomb_numbers numbers;
	struct source *source;		/* those whose numbers come, then those whose go */
	size_t come, all;
	bool counted;
	uint64_t number, times;		/* it is still to be given so often */
	struct golomb_cursor *cursor;
	struct golomb_keys *keys;	/* two: that come, that go */
};

static int advance(struct source *s)
{
	int r = s->numbers->next(s->numbers, &s->next);

	s->there = r == 1;
	return r < 0 ? r : 0;
}

static int merge_begin(struct golomb_numbers *n)
{
	struct merge *m = (struct merge *)n;
	int r = 0;

	m->times = 0;
	for (size_t i = 0; r == 0 && i < m->all; i++) {
		r = m->source[i].numbers->begin(m->source[i].numbers);
		if (r == 0)
			r = advance(&m->source[i]);
	}
	return r;
}

/* Take this number out of a source: how often it is there. */
static int take(struct source *s, uint64_t number, uint64_t *ret_times)
{
	int r = 0;

	for (*ret_times = 0; r == 0 && s->there && s->next == number; ++*ret_times)
		r = advance(s);
	return r;
}

/*
 * The least number of all, and how often it is to be there: maybe not at all. 1; 0: there is none.
 */
static int next_number(struct merge *m)
{
	uint64_t times, gone = 0;
	bool any = false;
	int r = 0;

	for (size_t i = 0; i < m->come; i++)
		if (m->source[i].there && (!any || m->source[i].next < m->number)) {
			m->number = m->source[i].next;
			any = true;
		}
	m->times = 0;
	for (size_t i = 0; r == 0 && any && i < m->come; i++) {
		r = take(&m->source[i], m->number, &times);
		m->times = m->counted ? m->times + times : times > m->times ? times : m->times;
	}
	for (size_t i = m->come; r == 0 && any && i < m->all; i++) {
		/* it is not there to go */
		while (r == 0 && m->source[i].there && m->source[i].next < m->number)
			r = advance(&m->source[i]);
		if (r == 0)
			r = take(&m->source[i], m->number, &gone);
		m->times -= gone < m->times ? gone : m->times;
	}
	return r < 0 ? r : any;
}

static int merge_next(struct golomb_numbers *n, uint64_t *ret)
{
	struct merge *m = (struct merge *)n;
	int r = 1;

	while (r == 1 && !m->times)
		r = next_number(m);
	if (r <= 0)
		return r;
	m->times--;
	*ret = m->number;
	return 1;
}

static void end(struct merge *m)
{
	free(m->source);
	free(m->cursor);
	free(m->keys);
}

static int begin(struct merge *m, const struct blm_merging *of)
{
	uint64_t range = of->from[0]->shape.cells;

	*m = (struct merge){ .numbers = { merge_begin, merge_next },
			     .counted = of->from[0]->shape.args[GOLOMB_COUNTED] };
	m->source = calloc(of->count + 2, sizeof(*m->source));
	m->cursor = calloc(of->count, sizeof(*m->cursor));
	m->keys = calloc(2, sizeof(*m->keys));
	if (!m->source || !m->cursor || !m->keys) {
		end(m);
		return blm_fail(-ENOMEM, "no memory to merge golomb filters");
	}
	for (size_t i = 0; i < of->count; i++) {
		blm_golomb_cursor(&m->cursor[i], of->from[i]);
		m->source[m->all++].numbers = &m->cursor[i].numbers;
	}
	if (of->add) {
		blm_golomb_keys(&m->keys[0], of->add, range, false);
		m->source[m->all++].numbers = &m->keys[0].numbers;
	}
	m->come = m->all;
	if (of->remove) {
		blm_golomb_keys(&m->keys[1], of->remove, range, false);
		m->source[m->all++].numbers = &m->keys[1].numbers;
	}
	return 0;
}

static int count(struct merge *m, uint64_t *ret)
{
	int r = merge_begin(&m->numbers);
	uint64_t number;

	*ret = 0;
	while (r == 0 && (r = merge_next(&m->numbers, &number)) == 1) {
		++*ret;
		r = 0;
	}
	return r;
}

int blm_golomb_merged(struct blm_shape *shape, const struct blm_merging *of, uint64_t *ret_keys)
{
	struct merge m;
	int r;

	if (of->remove && of->remove->count && !shape->args[GOLOMB_COUNTED])
		return blm_fail(-EOPNOTSUPP, "a golomb filter does not know how often it has a "
				"key, unless it was built with the option counted=1: taking one "
				"out could take another with it");
	r = begin(&m, of);
	if (r < 0)
		return r;
	r = count(&m, ret_keys);
	if (r == 0)
		r = blm_golomb_fit(shape, &m.numbers, *ret_keys);
	end(&m);
	return r;
}

int blm_golomb_merge(struct blm_part *part, const struct blm_merging *of)
{
	struct merge m;
	uint64_t keys;
	int r = begin(&m, of);

	if (r < 0)
		return r;
	r = count(&m, &keys);
	if (r == 0)
		r = blm_golomb_write(part, &m.numbers, keys);
	end(&m);
	return r;
}
