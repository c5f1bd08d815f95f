/* quiesce.c - all data of a filter are read while no change is under way, or it is noticed */
#include "handle/handle.h"

/*
 * An add to a kind that serializes removals does not wait, but is seen: its thread is present, or
 * holds BLM_LOCK_REPLACE, until the keys are counted. The count does not fall in that time, because
 * removals wait.
 */
int blm_quiesce_begin(struct blm_quiesced *ret, const struct blm_filter *f, struct blm_view *view)
{
	const struct blm_kind *kind = view->root.kind;
	int r = 0;

	*ret = (struct blm_quiesced){ .view = view,
				      .locked = kind_has_single_writer(kind)
						|| kind_serializes_removals(kind) };
	if (ret->locked)
		r = blm_view_fd((struct blm_filter *)f, view);
	if (ret->locked && r >= 0)
		r = blm_lock_writing(view, false);
	if (r < 0 || !kind_may_be_torn(kind))
		return r;
	ret->counted = blm_counted_keys(view);
	full_fence();
	ret->changes = blm_is_changing(view);
	return 0;
}

bool blm_quiesce_stands(const struct blm_quiesced *quiesced)
{
	struct blm_view *view = quiesced->view;
	bool changes = quiesced->changes;

	full_fence();
	if (kind_may_be_torn(view->root.kind))
		changes |= blm_is_changing(view)
			|| blm_counted_keys(view) != quiesced->counted;
	return !changes;
}

bool blm_quiesce_end(const struct blm_quiesced *quiesced)
{
	bool stands = blm_quiesce_stands(quiesced);

	if (quiesced->locked)
		blm_unlock_writing(quiesced->view);
	return stands;
}
