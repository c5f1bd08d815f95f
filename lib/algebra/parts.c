/*
 * parts.c - a filter split into parts, files that each hold one range of its data; and one filter
 * joined from all its parts
 *
 * Both directions only copy ranges, so the data stay the same byte for byte. A file never appears
 * half-made: each is filled before it gets its name. split.h defines the range of a part.
 */
#include "durable/blocksum.h"
#include "handle/torn.h"
#include "make/new_filter.h"
#include "stats/tally.h"
#include "view/scan.h"
#include "base/phase.h"

/* ---- Ranges of data ---- */

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* In complete blocks except for the last one, through the file; otherwise through the map. */
static int put(struct blm_view *new, uint64_t at, const uint8_t *bytes, size_t count, bool blocks)
{
	const struct blm_part *part = &new->part[0];

	if (blocks)
		return blm_blocksum_put(new, 0, at, bytes, count);
	memcpy(part->bytes + at, bytes, count);
	mark_range(part, part->bytes + at, count);
	return 0;
}

/* buffer: BLM_WRITTEN_PIECE bytes, because others may change the data during the copy. */
static int copy_range(struct blm_view *new, const struct blm_view *from,
		      const struct blm_split *range, uint8_t *buffer, const char *display)
{
	uint64_t unit = blm_split_unit(from->part[0].shape.bytes, range->parts), begin, end,
		before = blm_phase_done();
	int r = 0;

	for (uint64_t at = range->from; r == 0 && at < range->to
	     && blm_next_data(from, 0, at, &begin, &end) && begin < range->to; at = end) {
		begin = begin / unit * unit;
		end = least_of(round_up(end, unit), range->to);
		for (uint64_t some; r == 0 && begin < end; begin += some) {
			some = least_of(end - begin, BLM_WRITTEN_PIECE);
			r = blm_blocksum_intact(from, 0, begin, some, display);
			if (r < 0)
				break;
			memcpy(buffer, from->part[0].bytes + begin, some);
			r = put(new, begin, buffer, some, unit == BLM_BLOCK);
			blm_phase_at(before + begin + some - range->from);
		}
	}
	if (r == 0)
		blm_phase_at(before + range->to - range->from);
	return r;
}

static int copy_data(struct blm_view *new, const struct blm_view *from,
		     const struct blm_split *range, const char *display)
{
	uint8_t *buffer = aligned_alloc(64, BLM_WRITTEN_PIECE);
	int r = buffer ? 0 : blm_fail(-ENOMEM, "%s: out of memory", display);

	if (r == 0)
		r = copy_range(new, from, range, buffer, display);
	free(buffer);
	return r < 0 ? r : blm_check_sigbus(from, display);
}

/* ---- Splitting ---- */

struct splitting {
	const struct blm_filter *f;
	const struct blm_view *view;
	struct blm_quiesced *quiesced;	/* until all parts are made: they are of one moment */
	uint32_t part, parts;
};

static int fill_part(struct blm_view *new, void *context)
{
	const struct splitting *s = context;
	const struct blm_view *from = s->view;
	uint64_t own[BLM_OWN], inexact = load_acquire(&live_of(from)->inexact.word);
	int r;

	blm_own_words(from, own);
	for (int i = 0; i < BLM_OWN; i++)
		store_release(&live_of(new)->own[i].word, own[i]);
	r = copy_data(new, from, &new->split, s->f->place.display);
	new->image.header->stripe[0].keys = htole64(blm_split_share(blm_counted_keys(from),
								    s->part, s->parts));
	live_of(new)->inexact.word = htole64(inexact ? inexact : BLM_SHARE);
	if (!blm_quiesce_stands(s->quiesced))
		blm_tear(new);
	return r;
}

static int make_parts(struct splitting *s, struct blm_spec *spec, struct blm_store *store,
		      const char *const *names)
{
	int r = 0;

	BLM_PHASE("splitting", s->view->part[0].shape.bytes);
	for (s->part = 0; r == 0 && s->part < s->parts; s->part++) {
		spec->split_part = s->part;
		r = blm_make(NULL, store, names[s->part], spec, fill_part, s);
	}
	return r;
}

/* Before any part is made; the naming itself looks again. */
static int check_names(struct blm_store *store, const char *const *names, uint32_t parts)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < parts; i++) {
		struct blm_place place;

		r = blm_must_have(names[i], "name");
		if (r == 0)
			r = blm_place_set(&place, store, names[i]);
		if (r < 0)
			break;
		r = blm_place_is_taken(&place);
		blm_place_clear(&place);
	}
	return r;
}

static int check_whole(const struct blm_filter *from, const struct blm_view *view, uint32_t parts)
{
	int r = blm_check_whole(view, from->place.display);

	if (!parts || parts > BLM_SPLIT_MAX)
		return blm_fail(-EINVAL, "%s: the number of parts is %u; use 1 to %d",
				from->place.display, parts,
				BLM_SPLIT_MAX);
	if (r == 0 && !view->root.kind->splits)
		r = blm_cannot(view, from, "be split into parts", BLM_CAN_SPLIT);
	return r < 0 ? r : blm_blocksum_intact_holes(view, 0, from->place.display);
}

BLM_API int blm_split(const struct blm_filter *from, uint32_t parts, struct blm_store *store,
		      const char *const *names, unsigned mode)
{
	BLM_CRITICAL_SECTION;
	struct blm_view *view = current_view(from);
	struct blm_quiesced quiesced;
	struct splitting s = { .f = from, .view = view, .quiesced = &quiesced, .parts = parts };
	struct blm_spec *spec = malloc(sizeof(*spec));
	int r = spec ? check_whole(from, view, parts)
		: blm_fail(-ENOMEM, "%s: out of memory", from->place.display);

	if (r == 0)
		r = check_names(store, names, parts);
	if (r == 0)
		r = blm_quiesce_begin(&quiesced, from, view);
	if (r == 0) {
		blm_spec_like(spec, view);
		spec->split_parts = parts;
		spec->mode = mode;
		spec->sparse = spec->no_checkpoint = true;
		r = make_parts(&s, spec, store, names);
		blm_quiesce_end(&quiesced);
	}
	free(spec);
	return r;
}

/* ---- Joining ---- */

struct blm_join {
	struct blm_place place;
	unsigned mode;
	bool sparse;
	struct blm_staged staged;	/* from the first part on; its view is NULL before */
	char *first;			/* the first part's name, for messages */
	uint32_t parts, joined;
	uint8_t *seen;			/* a byte for each part */
	uint64_t bytes;			/* of the data, joined so far */
	uint64_t keys;
	uint64_t of_keys;		/* BLM_OWN_KEYS of the parts with counters; otherwise 0 */
	bool inexact;
};

BLM_API int blm_join_begin(struct blm_join **ret, struct blm_store *store, const char *name,
			   unsigned mode, bool sparse)
{
	struct blm_join *j = calloc(1, sizeof(*j));
	int r = j ? blm_place_set(&j->place, store, name) : blm_fail(-ENOMEM, "out of memory");

	if (r < 0) {
		free(j);
		return r;
	}
	j->mode = mode;
	j->sparse = sparse;
	/* before any space is taken; the naming itself looks again */
	r = blm_place_is_taken(&j->place);
	if (r < 0)
		blm_join_cancel(j);
	else
		*ret = j;
	return r;
}

BLM_API struct blm_join *blm_join_cancel(struct blm_join *j)
{
	if (!j)
		return NULL;
	if (j->staged.view)
		blm_staged_end(&j->staged);
	blm_place_clear(&j->place);
	free(j->first);
	free(j->seen);
	free(j);
	return NULL;
}

/* The file of the whole, like the first part that comes. */
static int make_whole(struct blm_join *j, const struct blm_view *part, const char *display)
{
	struct blm_spec *spec = malloc(sizeof(*spec));
	int r;

	j->parts = part->split.parts;
	j->first = strdup(display);
	j->seen = calloc(j->parts, 1);
	if (!spec || !j->first || !j->seen) {
		free(spec);
		return blm_fail(-ENOMEM, "%s: out of memory", j->place.display);
	}
	blm_spec_like(spec, part);
	spec->split_part = spec->split_parts = 0;
	spec->mode = j->mode;
	spec->sparse = j->sparse;
	spec->no_checkpoint = false;
	r = blm_staged_make(&j->staged, &j->place, spec);
	free(spec);
	return r;
}

static int check_part(const struct blm_join *j, const struct blm_view *part, const char *display)
{
	const struct blm_constant *a = &j->staged.view->constant, *b = &part->constant;
	int r = blm_check_parameters(j->staged.view, j->first, part, display);

	if (r < 0)
		return r;
	if (part->split.parts != j->parts)
		return blm_fail(-EMEDIUMTYPE, "%s: part %u of %u, but %s is of %u parts", display,
				part->split.part + 1, part->split.parts, j->first, j->parts);
	if (a->capacity != b->capacity || a->rate != b->rate)
		return blm_fail(-EMEDIUMTYPE, "%s and %s are parts of different filters, they "
				"differ in capacity or rate: %llu keys at %g and %llu at %g",
				j->first, display, (unsigned long long)le64toh(a->capacity),
				blm_double_of(le64toh(a->rate)),
				(unsigned long long)le64toh(b->capacity),
				blm_double_of(le64toh(b->rate)));
	return j->seen[part->split.part]
		? blm_fail(-EEXIST, "%s: part %u of %u, which came before", display,
			   part->split.part + 1, j->parts) : 0;
}

/* Shards and blocks of other keys do not match those joined before. */
static int check_keys(struct blm_join *j, const struct blm_view *part, const char *display)
{
	uint64_t own[BLM_OWN];

	if (!part->root.kind->build_within)
		return 0;
	blm_own_words(part, own);
	if (own[BLM_OWN_KEYS] && j->of_keys && own[BLM_OWN_KEYS] != j->of_keys)
		return blm_fail(-EMEDIUMTYPE, "%s: part %u of %u was built from other keys or "
				"values than a part before it: build all parts from the same ones",
				display, part->split.part + 1, part->split.parts);
	if (own[BLM_OWN_KEYS])
		j->of_keys = own[BLM_OWN_KEYS];
	return 0;
}

static bool is_empty(const uint8_t *bytes, uint64_t count)
{
	uint64_t any = 0;

	for (uint64_t i = 0; i < count / 8 && !any; i++)
		any = load_relaxed((const uint64_t *)bytes + i);
	return !any;
}

/* Another program may have written there, or the file is not ours. */
static int check_outside(const struct blm_view *part, uint64_t at, uint64_t to, const char *display)
{
	uint64_t begin, end;

	for (; at < to && blm_next_data(part, 0, at, &begin, &end) && begin < to; at = end)
		if (!is_empty(part->part[0].bytes + begin, least_of(end, to) - begin))
			return blm_fail(-EUCLEAN, "%s: part %u of %u has data outside its range, "
					"between bytes %llu and %llu of the data: make the part "
					"anew from the keys", display, part->split.part + 1,
					part->split.parts, (unsigned long long)begin,
					(unsigned long long)least_of(end, to));
	return 0;
}

static int take_data(struct blm_join *j, const struct blm_view *part, const char *display)
{
	uint64_t own[BLM_OWN], bytes = part->part[0].shape.bytes;
	int r = check_outside(part, 0, part->split.from, display);

	if (r == 0)
		r = check_outside(part, part->split.to, bytes, display);
	if (r == 0)
		r = blm_blocksum_intact_holes(part, 0, display);
	blm_own_words(part, own);
	for (int i = 0; i < BLM_OWN; i++)
		if (own[i] > live_of(j->staged.view)->own[i].word)
			live_of(j->staged.view)->own[i].word = own[i];
	return r < 0 ? r : copy_data(j->staged.view, part, &part->split, display);
}

BLM_API int blm_join_part(struct blm_join *j, const struct blm_filter *f)
{
	BLM_CRITICAL_SECTION;
	const struct blm_view *part = current_view(f);
	const char *display = f->place.display;
	uint64_t inexact = load_acquire(&live_of(part)->inexact.word);
	int r = part->split.parts ? 0
		: blm_fail(-EINVAL, "%s: is a whole filter, not a part; only parts can be joined",
			   display);

	if (r == 0 && !j->staged.view)
		r = make_whole(j, part, display);
	if (r == 0)
		r = check_part(j, part, display);
	if (r == 0)
		r = check_keys(j, part, display);
	if (r == 0) {
		BLM_PHASE_FROM("joining", j->bytes, part->part[0].shape.bytes);
		r = take_data(j, part, display);
	}
	if (r < 0)
		return r;
	j->bytes += part->split.to - part->split.from;
	j->seen[part->split.part] = 1;
	j->joined++;
	j->keys += blm_counted_keys(part);
	j->inexact |= inexact && inexact != BLM_SHARE;
	return 0;
}

static int check_all(const struct blm_join *j)
{
	uint32_t missing = 0;

	if (!j->staged.view)
		return blm_fail(-ENODATA, "%s: no part was joined; join all parts",
				j->place.display);
	while (missing < j->parts && j->seen[missing])
		missing++;
	return missing == j->parts ? 0
		: blm_fail(-ENODATA, "%s: %u of %u parts are missing, the first of them is part "
			   "%u: join all parts", j->place.display, j->parts - j->joined, j->parts,
			   missing + 1);
}

static int finish(struct blm_join *j)
{
	struct blm_view *new = j->staged.view;
	int r = 0;

	if (new->root.kind->recover)
		new->root.kind->recover(&new->root);
	if (j->inexact)
		r = blm_keys_of_bits(new, &j->keys);
	if (r == -EOPNOTSUPP)
		r = 0;
	if (new->root.kind->build_within)
		live_of(new)->own[BLM_OWN_KEYS].word = 0;
	new->image.header->stripe[0].keys = htole64(j->keys);
	live_of(new)->inexact.word = htole64(j->inexact && !new->root.kind->exact);
	return r < 0 ? r : blm_staged_publish(&j->staged, &j->place, NULL);
}

BLM_API int blm_join_finish(struct blm_join *j, struct blm_filter **ret)
{
	int r = check_all(j);

	if (r == 0)
		r = finish(j);
	if (r == 0)
		r = blm_staged_handle(ret, &j->staged, &j->place, NULL);
	blm_join_cancel(j);
	return r;
}
