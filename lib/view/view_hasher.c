/*
 * view_hasher.c - what hashes the keys of a filter: found from its template, and for callers who
 * hash beforehand
 */
#include "hash/scheme.h"
#include "view/view.h"

/* ---- From a template ---- */

static int set_scheme(struct blm_hasher *by, const struct blm_template_fields *t,
		      const char *display)
{
	const struct blm_scheme *scheme = blm_scheme_by_id(le32toh(t->index_rule));
	const char *reason;
	uint64_t order_xor;

	if (!scheme)
		return blm_fail(-EPROTONOSUPPORT,
				"%s: index rule %u, which this program does not know; "
				"a later version may", display, le32toh(t->index_rule));
	if (!blm_order_name(le32toh(t->bit_order)))
		return blm_fail(-EPROTONOSUPPORT,
				"%s: bit order %u, which this program does not know; "
				"a later version may", display, le32toh(t->bit_order));
	if (!blm_order_xor(le32toh(t->bit_order), le64toh(t->cells), &order_xor))
		return blm_fail(-EBADMSG, "%s: m is %llu, which cannot be %s", display,
				(unsigned long long)le64toh(t->cells),
				blm_order_name(le32toh(t->bit_order)));
	if (scheme->need && (reason = scheme->need()))
		return blm_fail(-ELIBACC, "%s: the scheme %s: %s", display, scheme->name, reason);
	blm_hasher_use_scheme(by, scheme, order_xor);
	return 0;
}

int blm_hasher_set(struct blm_hasher *ret, uint64_t *seeds, const struct blm_template_fields *t,
		   const uint8_t *secret, const char *display)
{
	const struct blm_family *family = blm_family_by_id(le32toh(t->family));
	const char *reason;

	if (!family)
		return blm_fail(-EPROTONOSUPPORT,
				"%s: hash family %u, which this program does not know; "
				"a later version may", display, le32toh(t->family));
	if (family->need && (reason = family->need()))
		return blm_fail(-ELIBACC, "%s: the hash %s: %s", display, family->name, reason);
	*ret = (struct blm_hasher){
		.family = family, .seeds = seeds, .seed_count = le32toh(t->seed_count),
		.tweak = le64toh(t->tweak), .secret = secret,
	};
	for (uint32_t i = 0; i < ret->seed_count; i++)
		seeds[i] = le64toh(t->seeds[i]);
	return set_scheme(ret, t, display);
}

/* What hashes depend on, as a number: the template with what only cells depend on taken out. */
uint64_t blm_hash_id_of(const struct blm_template_fields *template)
{
	struct blm_template_fields t = { .family = template->family, .tweak = template->tweak,
					 .seed_count = template->seed_count };
	uint8_t id[16];
	uint64_t word;

	memcpy(t.key_id, template->key_id, sizeof(t.key_id));
	memcpy(t.seeds, template->seeds, sizeof(t.seeds));
	blm_template_id(&t, id);
	memcpy(&word, id, 8);
	return le64toh(word);
}

int blm_cannot_hash(const struct blm_hasher *by, const char *display)
{
	return blm_fail(-EOPNOTSUPP, "%s: its hash %s is computed for each probe, so a key cannot "
			"be hashed beforehand", display, by->family->name);
}
