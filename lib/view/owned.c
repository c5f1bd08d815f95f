/* owned.c - a file that is a part of a split filter: its range, and whose keys it knows */
#include "bloomery.h"
#include "view/view.h"

int blm_view_set_split(struct blm_view *view, const char *display)
{
	const struct blm_constant *c = &view->constant;
	uint32_t part = le32toh(c->split_part), parts = le32toh(c->split_parts);

	if (!parts || parts > BLM_SPLIT_MAX || part >= parts)
		return blm_fail(-EBADMSG, "%s: part %u of %u of a filter: the part must be less "
				"than the number of parts, which is at most %d",
				display, part, parts,
				BLM_SPLIT_MAX);
	if (!view->root.kind->splits)
		return blm_fail(-EBADMSG, "%s: part %u of %u of a %s filter, and that kind is not "
				"split", display, part + 1, parts, view->root.kind->name);
	view->split = blm_split_of(&view->root, part, parts);
	return 0;
}

static bool has_column(const struct blm_view *view, const struct blm_hash *hash)
{
	return !view->hasher.family->column || !view->hasher.family->refuse(hash);
}

bool blm_view_owns(const struct blm_view *view, const struct blm_hash *hash)
{
	uint64_t place;

	if (!view->split.parts)
		return has_column(view, hash);
	if (!view->root.kind->place)
		return false;
	view->root.kind->place(&view->root, hash, 1, &place);
	return split_owns(&view->split, place);
}

static int check_columns(const struct blm_view *view, const struct blm_hash *hashes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!has_column(view, &hashes[i]))
			return blm_fail(-EINVAL, "a key has no column: keys of this filter are a "
					"column, a tab and the rest");
	return 0;
}

int blm_check_owned(const struct blm_view *view, const struct blm_hash *hashes, size_t count)
{
	const struct blm_split *split = &view->split;

	if (!split->parts)
		return check_columns(view, hashes, count);
	if (!view->root.kind->place)
		return blm_fail(-EREMOTE, "part %u of %u of a %s filter, whose keys have cells in "
				"several parts: join the parts (blm_join_begin()), then ask or add",
				split->part + 1, split->parts, view->root.kind->name);
	for (size_t i = 0; i < count; i++)
		if (!blm_view_owns(view, &hashes[i]))
			return blm_fail(-EREMOTE, "part %u of %u of a filter, and a key belongs to "
					"part %u: ask or add it there, or join the parts "
					"(blm_join_begin())", split->part + 1,
					split->parts, blm_split_owner(&view->root, split->parts,
								      &hashes[i]) + 1);
	return 0;
}

/*
 * Cells are in words one after the other, or in units; those after the last cell belong to the last
 * part's range only.
 */
struct blm_part blm_owned_part(const struct blm_view *view, unsigned i)
{
	struct blm_part part = view->part[i];
	const struct blm_split *split = &view->split;
	uint64_t first = split->from * 8, bits = (split->to - split->from) * 8;

	if (!split->parts)
		return part;
	part.bytes += split->from;
	part.marks = NULL;
	part.shape.bytes = split->to - split->from;
	/* otherwise each range is a sample of all keys */
	if (part.kind->place)
		part.shape.cells = first >= part.shape.cells ? 0 : part.shape.cells - first < bits
			? part.shape.cells - first : bits;
	return part;
}

int blm_check_whole(const struct blm_view *view, const char *display)
{
	return view->split.parts
		? blm_fail(-EREMOTE, "%s: part %u of %u of a filter, which knows the keys of no "
			   "other part: join the parts first (blm_join_begin())", display,
			   view->split.part + 1, view->split.parts) : 0;
}
