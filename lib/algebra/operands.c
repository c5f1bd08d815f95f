/* operands.c - the filters that are combined are resolved, put in order, and held still */
#include "algebra/operands.h"
#include "handle/handle.h"

static bool can(const struct blm_view *view, enum blm_op op)
{
	return op == BLM_UNION ? view->root.kind->unite != NULL
		: view->root.kind->intersect != NULL;
}

int blm_operands_begin(struct combining *c)
{
	if (!c->count)
		return blm_fail(-EINVAL, "no filters to combine");
	if (c->max_rate && !(c->max_rate > 0 && c->max_rate < 1))
		return blm_fail(-EINVAL, "the highest rate %g is not between 0 and 1", c->max_rate);
	c->view = calloc(c->count, sizeof(*c->view));
	c->from = calloc(c->count, sizeof(*c->from));
	c->held = calloc(c->count, sizeof(*c->held));
	if (!c->view || !c->from || !c->held)
		return blm_fail(-ENOMEM, "out of memory");
	memcpy(c->from, c->given, c->count * sizeof(*c->from));
	return 0;
}

/*
 * Sorts the filters by the number of their parts, the largest first, except for the first operand.
 * Then the filters that have a part i come first.
 */
static void sort(const struct combining *c)
{
	size_t fixed = c->first_stays ? 1 : 0;

	for (size_t i = fixed; i < c->count; i++)
		for (size_t j = i; j > fixed && c->view[j]->parts > c->view[j - 1]->parts; j--) {
			const struct blm_filter *from = c->from[j];
			const struct blm_view *view = c->view[j];

			c->view[j] = c->view[j - 1], c->from[j] = c->from[j - 1];
			c->view[j - 1] = view, c->from[j - 1] = from;
		}
}

int blm_operands_look_up(struct combining *c, size_t fixed)
{
	int r = blm_views_at_once(c->view + fixed, c->from + fixed, c->count - fixed);

	if (r == 0 && !can(c->view[0], c->op))
		r = blm_cannot(c->view[0], c->from[0],
			       c->op == BLM_UNION ? "make a union" : "make an intersection",
			       c->op == BLM_UNION ? BLM_CAN_UNION : BLM_CAN_INTERSECT);
	for (size_t i = 1; r == 0 && i < c->count; i++)
		r = blm_check_template(c->view[0], c->from[0]->place.display, c->view[i],
				       c->from[i]->place.display);
	if (r == 0)
		sort(c);
	return r;
}

/* ---- Held still ---- */

/* Within one file, the handle that is changed comes first. */
static int compare_files(const void *a, const void *b)
{
	const struct operand *p = a, *q = b;
	const struct blm_image *x = &p->view->image, *y = &q->view->image;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return x->inode != y->inode ? (x->inode < y->inode ? -1 : 1) : q->into - p->into;
}

static bool is_same_file(const struct blm_view *a, const struct blm_view *b)
{
	return a->image.device == b->image.device && a->image.inode == b->image.inode;
}

/*
 * The data taken from them are of one moment, or are known not to be. A writer of a kind that minds
 * cuts holds its file alone, and two processes that take from each other must not wait for each
 * other. So all processes hold the files in one order. A file that is given twice, by one handle or
 * by two, is held once. into_first: the first is changed, the others are read.
 */
static int hold_all(const struct combining *c, bool into_first)
{
	int r = 0;

	for (size_t i = 0; i < c->count; i++)
		c->held[i] = (struct operand){ .f = c->from[i],
					       .view = (struct blm_view *)c->view[i],
					       .into = into_first && i == 0 };
	qsort(c->held, c->count, sizeof(*c->held), compare_files);
	for (size_t i = 0; r == 0 && i < c->count; i++) {
		struct operand *h = &c->held[i];

		if (i && is_same_file(h[-1].view, h->view))
			continue;
		r = h->into ? blm_lock_torn(h->f, h->view)
			: blm_quiesce_begin(&h->quiesced, h->f, h->view);
		h->held = r == 0;
	}
	return r;
}

bool blm_operands_let_go(const struct combining *c)
{
	bool whole = true;

	for (size_t i = 0; i < c->count; i++) {
		struct operand *h = &c->held[i];

		if (!h->into)
			whole &= !part_is_torn(&h->view->root);
		if (!h->into && h->held)
			whole &= blm_quiesce_end(&h->quiesced);
	}
	return whole;
}

void blm_operands_let_go_of_into(const struct combining *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->held[i].into && c->held[i].held)
			blm_unlock_torn(c->held[i].view);
}

int blm_operands_hold(const struct combining *c, bool into_first, size_t fixed)
{
	int r = hold_all(c, into_first);

	for (size_t i = fixed; r == 0 && i < c->count; i++)
		r = blm_view_stays(c->from[i], c->view[i]);
	if (r < 0) {
		blm_operands_let_go(c);
		blm_operands_let_go_of_into(c);
	}
	return r;
}
