/* kind_registry.c - the kinds, from the list in meson.build */
#include "kind/kind_registry.h"

#define KIND(name) extern const struct blm_kind blm_kind_##name;
BLM_KINDS
#undef KIND

#define KIND(name) &blm_kind_##name,
static const struct blm_kind *const kinds[] = { BLM_KINDS };

const struct blm_kind *blm_kind_at(size_t i)
{
	return i < ARRAY_LEN(kinds) ? kinds[i] : NULL;
}

const struct blm_kind *blm_kind_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strcmp(kinds[i]->name, name))
			return kinds[i];
	return NULL;
}

const struct blm_kind *blm_kind_by_id(uint32_t id)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (kinds[i]->id == id)
			return kinds[i];
	return NULL;
}

unsigned blm_kind_can(const struct blm_kind *kind)
{
	return (kind->add         ? BLM_CAN_ADD       : 0)
	     | (kind->claim       ? BLM_CAN_CLAIM     : 0)
	     | (kind->remove      ? BLM_CAN_REMOVE    : 0)
	     | (kind->put         ? BLM_CAN_PUT       : 0)
	     | (kind->get         ? BLM_CAN_GET       : 0)
	     | (kind->build       ? BLM_CAN_BUILD     : 0)
	     | (kind->count_others ? BLM_CAN_EXCLUDE  : 0)
	     | (kind->merge       ? BLM_CAN_MERGE     : 0)
	     | (kind->unite       ? BLM_CAN_UNION     : 0)
	     | (kind->intersect   ? BLM_CAN_INTERSECT : 0)
	     | (kind->tally || kind->counts ? BLM_CAN_ESTIMATE : 0)
	     | (kind->fold_bits   ? BLM_CAN_FOLD      : 0)
	     | (kind->grow        ? BLM_CAN_GROW      : 0)
	     | (kind->turn        ? BLM_CAN_ROTATE    : 0)
	     | (kind->advance     ? BLM_CAN_ADVANCE   : 0)
	     | (kind->splits      ? BLM_CAN_SPLIT     : 0)
	     | (kind->contains_ranges ? BLM_CAN_RANGE : 0)
	     | (kind->ages        ? BLM_CAN_AGE       : 0)
	     | (kind->differences ? BLM_CAN_LIST      : 0)
	     | (kind->exact       ? BLM_EXACT         : 0)
	     | (kind->forgets     ? BLM_FORGETS       : 0)
	     | (kind->space && !kind->turn ? BLM_GROWS : 0)
	     | (kind->protocol == BLM_SETS_BITS ? BLM_ONLY_SETS : 0)
	     | (kind->place       ? BLM_KEY_IN_PART   : 0);
}

/* Those that can all of `can`, and take the family, if one is named. */
static const char *names(unsigned can, const struct blm_family *family, char *buffer, size_t bytes)
{
	size_t at = 0;

	buffer[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const char *name = kinds[i]->name;

		if ((blm_kind_can(kinds[i]) & can) != can
		    || (family && !kind_takes(kinds[i], family)) || at + strlen(name) + 3 > bytes)
			continue;
		if (at)
			at = (size_t)(stpcpy(buffer + at, ", ") - buffer);
		at = (size_t)(stpcpy(buffer + at, name) - buffer);
	}
	return at ? buffer : "none";
}

const char *blm_kinds_that_can(unsigned can, char *buffer, size_t bytes)
{
	return names(can, NULL, buffer, bytes);
}

const char *blm_kinds_that_take(const struct blm_family *family, char *buffer, size_t bytes)
{
	return names(0, family, buffer, bytes);
}

BLM_API int blm_kind_list(size_t i, struct blm_kind_info *ret)
{
	const struct blm_kind *k = blm_kind_at(i);

	if (!k)
		return blm_fail(-ENOENT, "there are %zu kinds", ARRAY_LEN(kinds));
	*ret = (struct blm_kind_info){ .name = k->name, .summary = k->summary, .caveat = k->caveat,
				      .hash = k->short_family ? k->short_family
				      : k->family ? k->family : BLM_DEFAULT_HASH,
				      .becomes = k->becomes, .id = k->id, .can = blm_kind_can(k) };
	return 0;
}

const struct blm_kind *blm_kind_known(uint32_t id, const char *display, int *ret_err)
{
	const struct blm_kind *kind = blm_kind_by_id(id);

	if (!kind)
		*ret_err = blm_fail(-EPROTONOSUPPORT,
				    "%s: a filter of kind %u, which this program does not "
				    "know; a later version may", display, id);
	return kind;
}
