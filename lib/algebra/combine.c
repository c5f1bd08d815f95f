/* combine.c - the algebra of filters of one template: OR and AND */
#include "algebra/operands.h"
#include "handle/allowlist_carry.h"
#include "stats/tally.h"
#include "durable/blocksum.h"
#include "make/replace.h"
#include "keys/extend.h"
#include "base/phase.h"

enum { STEP = 4 << 10 };	/* bytes that are changed at once: they stay in the first cache */

/* The rate of the result; -ERANGE if it is above the caller's limit. */
static int judge(const struct combining *c, const struct blm_view *parts_of,
		 const struct blm_tally *tally)
{
	double rate = blm_rate_of_parts(parts_of, tally);

	if (c->ret_rate)
		*c->ret_rate = rate;
	if (c->max_rate && rate > c->max_rate)
		return blm_fail(-ERANGE, "%s: the result would have a false-positive rate of %.3g, "
				"above %.3g", c->display, rate, c->max_rate);
	return 0;
}

/*
 * A union with a damaged filter would deny that filter's keys, and look intact. from: the first
 * filter to check.
 */
static int check_pieces(const struct combining *c, size_t from, unsigned i, uint64_t at,
			size_t bytes)
{
	int r = 0;

	for (size_t v = from; r == 0 && v < operands_having(c, i); v++)
		r = blm_blocksum_intact(c->view[v], i, at, bytes, c->from[v]->place.display);
	return r;
}

/* A file that was truncated under its map reads as ones, which are not keys. */
static int check_struck(const struct combining *c, size_t from)
{
	int r = 0;

	for (size_t v = from; r == 0 && v < c->count; v++)
		r = blm_check_sigbus(c->view[v], c->from[v]->place.display);
	return r;
}

static int check_holes(const struct combining *c, size_t from, unsigned i)
{
	int r = 0;

	for (size_t v = from; r == 0 && v < operands_having(c, i); v++)
		r = blm_blocksum_intact_holes(c->view[v], i, c->from[v]->place.display);
	return r;
}

/* A new filter that is made from others. */
struct result {
	const struct combining *of;
	struct blm_view *new;
};

/* Counted while it is in the cache. */
static int combine_piece(const struct blm_scan *scan, struct blm_worker *worker, uint64_t at,
			 size_t bytes)
{
	const struct result *result = scan->context;
	const struct combining *c = result->of;
	const struct blm_part *part = &result->new->part[scan->part];

	int r = 0;

	for (size_t done = 0; r == 0 && done < bytes; done += BLM_PIECE) {
		size_t some = bytes - done < BLM_PIECE ? bytes - done : BLM_PIECE;

		r = check_pieces(c, 0, scan->part, at + done, some);
		blm_combine_bytes(c->op, c->view, operands_having(c, scan->part), scan->part,
				  at + done, some, worker->buffer + done);
		part->kind->tally(part, worker->buffer + done, some, &worker->tally[0]);
	}
	return r < 0 ? r : blm_blocksum_put(result->new, scan->part, at, worker->buffer, bytes);
}

/*
 * Fills a new file, whose rate is checked before another process sees it. An AND only has data
 * where the first filter has data. The caller did blm_operands_hold().
 */
static int fill_with_held(struct blm_view *new, const struct combining *c)
{
	struct result result = { .of = c, .new = new };
	struct blm_tally *tally = calloc(new->parts, sizeof(*tally));
	int r = 0;

	if (!tally)
		return blm_fail(-ENOMEM, "%s: out of memory", c->display);
	BLM_PHASE("combining", blm_scan_bytes(new));
	for (unsigned i = 0; r == 0 && i < new->parts; i++) {
		r = check_holes(c, 0, i);
		if (r == 0)
			r = blm_scan(&(struct blm_scan){ .views = c->view,
							 .count = c->op == BLM_UNION
							 ? operands_having(c, i) : 1,
							 .part = i, .tallies = 1,
							 .most = BLM_WRITTEN_PIECE,
							 .piece = combine_piece,
							 .context = &result }, &tally[i]);
	}
	if (!blm_operands_let_go(c))
		blm_tear(new);
	if (r == 0)
		r = check_struck(c, 0);
	if (r == 0)
		blm_tally_narrow(new, tally, 1);
	if (r == 0)
		r = judge(c, new, tally);
	if (r == 0) {
		new->image.header->stripe[0].keys = htole64(blm_keys_of_parts(new, tally));
		live_of(new)->inexact.word = htole64(!new->root.kind->exact);
	}
	free(tally);
	return r;
}

/*
 * -EAGAIN with c->moved: a source was replaced, so the new file, which is like the views, begins
 * again.
 */
static int fill_with_result(struct blm_view *new, void *context)
{
	struct combining *c = context;
	int r = blm_operands_hold(c, false, 0);

	c->moved = r == -EAGAIN;
	return r < 0 ? r : fill_with_held(new, c);
}

BLM_API int blm_combine(struct blm_filter **ret, struct blm_store *store, const char *name,
			enum blm_op op,
			const struct blm_filter *const *from, size_t count, double max_rate,
			double *ret_rate)
{
	BLM_CRITICAL_SECTION;
	struct combining c = { .op = op, .given = from, .count = count,
			       .display = name ? name : "(memory)",
			       .max_rate = max_rate, .ret_rate = ret_rate };
	struct blm_spec *spec = malloc(sizeof(*spec));
	int r = spec ? blm_operands_begin(&c) : blm_fail(-ENOMEM, "%s: out of memory", c.display);

	for (int tries = 0; r == 0 && tries < BLM_TRIES; tries++) {
		c.moved = false;
		r = blm_operands_look_up(&c, 0);
		if (r < 0)
			break;
		blm_spec_like(spec, c.view[0]);
		r = blm_make(ret, store, name, spec, fill_with_result, &c);
		if (!c.moved)
			break;
		r = tries + 1 < BLM_TRIES ? 0 : blm_keep_moving(c.from[0]);
	}
	free(c.held);
	free(c.view);
	free(c.from);
	free(spec);
	return r;
}

/*
 * Checks the rate of the OR first, if it can be computed. Bits that others set in the meantime are
 * not included.
 */
static int judge_union(const struct combining *c, struct blm_tally *tally)
{
	const struct blm_view *first = c->view[0];
	int r = 0;

	if (!c->max_rate)
		return 0;
	BLM_PHASE("counting", blm_scan_bytes(first));
	for (unsigned i = 0; r == 0 && i < first->parts; i++)
		r = blm_union_tally(c->view, operands_having(c, i), i, &tally[i]);
	if (r == 0)
		r = check_struck(c, 0);
	if (r == 0)
		r = judge(c, first, tally);
	memset(tally, 0, first->parts * sizeof(*tally));
	return r;
}

/*
 * ORs into a filter that others may add to. The bits to set are combined first: setting needs an
 * atomic OR for each word, so it is done once for all sources and not once for each. (In
 * tests/bench: "loop: atomic OR of two into a third", compared with the plain one.) The bits that
 * were read are also checked before they are set, because set bits cannot be removed.
 */
static int unite_piece(const struct blm_scan *scan, struct blm_worker *worker, uint64_t at,
		       size_t bytes)
{
	const struct combining *c = scan->context;
	const struct blm_part *dst = &c->view[0]->part[scan->part];
	int r = check_pieces(c, 1, scan->part, at, bytes);

	if (r < 0)
		return r;
	for (size_t done = 0; r == 0 && scan->count > 1 && done < bytes; done += STEP) {
		size_t some = bytes - done < STEP ? bytes - done : STEP;

		blm_combine_bytes(BLM_UNION, scan->views + 1, scan->count - 1, scan->part,
				  at + done, some, worker->buffer);
		r = check_struck(c, 1);
		if (r == 0)
			dst->kind->unite(dst, dst->bytes + at + done, worker->buffer, some);
	}
	dst->kind->tally(dst, dst->bytes + at, bytes, &worker->tally[0]);
	return r;
}

static int unite_all(struct blm_view *view, const struct combining *c)
{
	struct blm_tally *tally = calloc(view->parts, sizeof(*tally));
	uint64_t keys, counted;
	bool held = false, begun, was_torn = false, whole;
	int r = tally ? judge_union(c, tally) : blm_fail(-ENOMEM, "%s: out of memory", c->display);

	if (r == 0) {
		store_release(&live_of(view)->inexact.word, 1);
		r = blm_operands_hold(c, true, 1);
		held = r == 0;
	}
	for (unsigned i = 0; r == 0 && i < view->parts; i++)
		r = check_holes(c, 1, i);
	begun = r == 0;
	if (begun)
		was_torn = blm_tear(view);
	BLM_PHASE("combining", blm_scan_bytes(view));
	for (unsigned i = 0; r == 0 && i < view->parts; i++)
		r = blm_scan(&(struct blm_scan){ .views = c->view, .count = operands_having(c, i),
						 .part = i, .tallies = 1,
						 .most = BLM_PIECE, .piece = unite_piece,
						 .context = (void *)c }, &tally[i]);
	whole = held && blm_operands_let_go(c) && r == 0;
	if (whole && !was_torn)
		blm_mend(view);
	if (held)
		blm_operands_let_go_of_into(c);
	if (r == 0) {
		blm_tally_narrow(view, tally, 1);
		keys = blm_keys_of_parts(view, tally);
		counted = blm_counted_keys(view);
		blm_count_keys(view, keys > counted ? keys - counted : 0);
		if (c->ret_rate)
			*c->ret_rate = blm_rate_of_parts(view, tally);
	}
	free(tally);
	return r;
}

/* Extends `into` to as many parts as the others have. A negative errno, or 0 or more. */
static int grow_like(struct blm_filter *into, const struct combining *c)
{
	struct blm_view *view;
	int r = 0;

	while (r >= 0 && c->count > 1 && (view = current_view(into))->parts < c->view[1]->parts) {
		/* it may have been dropped meanwhile: then it does not grow */
		r = blm_may_change(into);
		if (r == 0)
			r = blm_filter_extend(into, view, BLM_EXTEND_ALWAYS);
	}
	return r;
}

/* how often a union begins again in another file before it delays replacements */
enum { PATIENCE = 3 };

/*
 * ORs into the current file of `into`. -EAGAIN: `into` or one of the others was replaced, or one of
 * them has another part. insist: delay replacements of `into`.
 */
static int unite_now(struct blm_filter *into, struct combining *c, bool insist)
{
	struct blm_view *view;
	bool held = insist;
	int r, end;

	r = grow_like(into, c);
	if (r >= 0)
		r = insist ? blm_change_begin_held(into, &view)
			: blm_change_begin_as_kind(into, &view, &held);
	if (r < 0)
		return r;
	c->view[0] = view;
	r = blm_operands_look_up(c, 1);
	if (r == 0 && c->count > 1 && c->view[1]->parts > view->parts)
		r = -EAGAIN;
	if (r == 0)
		r = unite_all(view, c);
	end = blm_change_end_unnamed(into, view, held);
	return r == 0 ? end : r;
}

/*
 * The OR takes effect at one moment, at which all views are current and `into` is not replaced
 * until the OR has ended. So the other filters are resolved after the change to `into` has begun,
 * and again each time the change begins again in another file. Otherwise a file that replaced
 * `into` could get the old contents of the other filters and lack the new ones.
 */
static int union_into(struct blm_filter *into, struct combining *c)
{
	int r = -EAGAIN;

	for (int tries = 0; r == -EAGAIN && tries < BLM_TRIES; tries++)
		r = unite_now(into, c, tries >= PATIENCE);
	return r == -EAGAIN ? blm_keep_moving(into) : r;
}

/*
 * The AND takes effect at one moment M, after the state of `into` became REPLACING and before its
 * data is read:
 *   1. A key whose add to `into` returned before M was in the old file before it became REPLACING.
 *      An add that had not returned sees that state and is repeated in the new file (replace.c), so
 *      its key is in `into` after the AND.
 *   2. All other views are current at M (blm_operands_look_up()). Their files hold each key whose
 *      add to them returned before M, and data that is read after M still has those bits: the kinds
 *      with an AND only set bits.
 *   3. So a key that was added to all of them before M is kept, and so is a key that is added to
 *      `into` last, at any moment.
 *
 * A view that was resolved before the wait for the lock would break 2. The AND holds no lock of the
 * other filters, so A &= B and B &= A at the same time do not wait for each other. Keys that are
 * added to the others after M, and filters that replace them, count as later than the AND.
 */
static int fill_with_intersection(struct blm_view *new, const struct blm_view *old, void *context)
{
	struct combining *c = context;
	int r = -EAGAIN;

	c->view[0] = old;
	for (int tries = 0; r == -EAGAIN && tries < BLM_TRIES; tries++) {
		r = blm_operands_look_up(c, 1);
		if (r == 0)
			r = blm_operands_hold(c, false, 1);
	}
	if (r == -EAGAIN)
		return blm_keep_moving(c->from[0]);
	return r < 0 ? r : fill_with_held(new, c);
}

BLM_API int blm_combine_into(struct blm_filter *into, enum blm_op op,
			     const struct blm_filter *const *from, size_t count,
			     double max_rate, double *ret_rate)
{
	BLM_CRITICAL_SECTION;
	const struct blm_filter **all = calloc(count + 1, sizeof(*all));
	struct combining c = { .op = op, .given = all, .count = count + 1,
			       .display = into->place.display,
			       .max_rate = max_rate, .ret_rate = ret_rate, .first_stays = true };
	struct blm_view *view;
	int r;

	if (!all)
		return blm_fail(-ENOMEM, "%s: out of memory", into->place.display);
	all[0] = into;
	memcpy(all + 1, from, count * sizeof(*all));
	r = blm_change_begin(into, &view);	/* may it be changed at all? */
	if (r == 0)
		r = blm_change_end(into, view);
	if (r == -EAGAIN)
		r = 0;
	if (r == 0 && op != BLM_UNION)
		r = blm_may_replace(into);
	if (r == 0)
		r = blm_operands_begin(&c);
	if (r == 0)
		/* filters that do not combine are refused before any wait */
		r = blm_operands_look_up(&c, 0);
	if (r == 0)
		r = op == BLM_UNION ? union_into(into, &c) : blm_replace(&into->place, into->secret,
			NULL, &blm_allowlist_carry_all, fill_with_intersection, &c);
	free(c.held);
	free(c.view);
	free(c.from);
	free(all);
	return r;
}
