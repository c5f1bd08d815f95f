/*
 * golomb_merge.c - numbers from where they come: keys in order, and several golomb filters together
 * with keys that come and go
 *
 * Two sets of one range are merged number by number, without their keys. A set has a number as
 * often as the larger of them: then no key is denied. A counted one has it as often as all
 * together, less the keys that go.
 */
#include "kind/golomb.h"
#include "base/phase.h"

#include <math.h>

/* Progress: numbers between two reports; passes over all numbers, to count and to code them. */
enum { REPORT_EVERY = 1 << 16, PASSES = 2 };

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
	uint64_t next, given;
	bool there;
};

struct merge {
	struct golomb_numbers numbers;
	struct source *source;		/* those whose numbers come, then those whose go */
	size_t come, all;
	bool counted;
	uint64_t number, times;		/* it is still to be given so often */
	struct golomb_cursor *cursor;
	const struct golomb_source *by;
	struct golomb_numbers *keys[2];	/* that come, that go; NULL: none */
	/* how far it is: of the bytes of what is merged, and of the numbers of all sources */
	uint64_t bytes, numbers_of_all, steps;
	unsigned pass;			/* over all numbers, from 1 */
};

static int advance(struct source *s)
{
	int r = s->numbers->next(s->numbers, &s->next);

	s->there = r == 1;
	s->given += s->there;
	return r < 0 ? r : 0;
}

/* As if each pass were over its share of the bytes. */
static void report(const struct merge *m)
{
	uint64_t given = 0;
	double share;

	for (size_t i = 0; i < m->all; i++)
		given += m->source[i].given;
	share = m->numbers_of_all ? fmin((double)given / (double)m->numbers_of_all, 1) : 1;
	blm_phase_at((uint64_t)((double)m->bytes * (m->pass - 1 + share) / PASSES));
}

static int merge_begin(struct golomb_numbers *n)
{
	struct merge *m = (struct merge *)n;
	int r = 0;

	m->times = 0;
	m->pass++;
	for (size_t i = 0; r == 0 && i < m->all; i++) {
		m->source[i].given = 0;
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

	if (++m->steps % REPORT_EVERY == 0)
		report(m);
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
	if (r == 0)
		report(m);
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
	for (size_t i = 0; i < ARRAY_LEN(m->keys); i++)
		if (m->keys[i])
			m->by->close(m->keys[i]);
}

static uint64_t bytes_of(const struct blm_merging *of)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < of->count; i++)
		bytes += of->from[i]->shape.bytes;
	return bytes;
}

static int begin(struct merge *m, const struct golomb_source *by, const struct blm_merging *of,
		 bool counted)
{
	const struct blm_shape *shape = &of->from[0]->shape;
	int r = 0;

	*m = (struct merge){ .numbers = { merge_begin, merge_next }, .counted = counted, .by = by,
			     .bytes = bytes_of(of) };
	m->source = calloc(of->count + 2, sizeof(*m->source));
	m->cursor = calloc(of->count, sizeof(*m->cursor));
	if (!m->source || !m->cursor)
		r = blm_fail(-ENOMEM, "no memory to merge %s filters", of->from[0]->kind->name);
	if (r == 0 && of->add)
		r = by->open(&m->keys[0], of->add, shape);
	if (r == 0 && of->remove)
		r = by->open(&m->keys[1], of->remove, shape);
	if (r < 0) {
		end(m);
		return r;
	}
	for (size_t i = 0; i < of->count; i++) {
		blm_golomb_cursor(&m->cursor[i], of->from[i]);
		m->source[m->all++].numbers = &m->cursor[i].numbers;
		m->numbers_of_all += blm_golomb_count(of->from[i]);
	}
	if (of->add)
		m->source[m->all++].numbers = m->keys[0];
	m->come = m->all;
	if (of->remove)
		m->source[m->all++].numbers = m->keys[1];
	m->numbers_of_all += (of->add ? of->add->count : 0) + (of->remove ? of->remove->count : 0);
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

int blm_golomb_merged(const struct golomb_source *by, struct blm_shape *shape,
		      const struct blm_merging *of, bool counted, uint64_t *ret_keys)
{
	struct merge m;
	int r;

	if (of->remove && of->remove->count && !counted)
		return blm_fail(-EOPNOTSUPP, "a %s filter does not know how often it has a key%s: "
				"removing a key could remove others",
				of->from[0]->kind->name, of->from[0]->kind->counts_keys
				? ", unless it was built with the option counted=1" : "");
	r = begin(&m, by, of, counted);
	if (r < 0)
		return r;
	BLM_PHASE("counting", m.bytes);
	r = count(&m, ret_keys);
	if (r == 0)
		r = blm_golomb_fit(shape, &m.numbers, *ret_keys);
	end(&m);
	return r;
}

int blm_golomb_merge(const struct golomb_source *by, struct blm_part *part,
		     const struct blm_merging *of, bool counted)
{
	struct merge m;
	uint64_t keys;
	int r = begin(&m, by, of, counted);

	if (r < 0)
		return r;
	BLM_PHASE("merging", m.bytes);
	r = count(&m, &keys);
	if (r == 0)
		r = blm_golomb_write(part, &m.numbers, keys);
	end(&m);
	return r;
}
