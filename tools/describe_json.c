/* describe_json.c - what a filter is, as JSON */
#include "describe.h"
#include "json.h"
#include "numbers.h"
#include "terms.h"

#include <inttypes.h>
#include <math.h>

void json_abilities(unsigned can)
{
	json_open("can");
	for (size_t i = 0; ability(can, i); i++)
		json_text(NULL, ability(can, i));
	json_close();
	json_bool("forgets", can & BLM_FORGETS);
}

void json_value(const char *name, const struct blm_value *value)
{
	char error[64];

	json_real(name, value->value);
	snprintf(error, sizeof(error), "%s_error", name);
	json_real(error, value->error);
}

/* Where the data do not tell, the rate goes by the count of keys; the catalog's may be old. */
static void json_estimate(const struct description *d)
{
	const struct blm_estimate *e = d->estimate;

	if (!e) {
		json_text("fill", NULL);
		json_real("predicted_rate", d->filter ? d->info->rate_at_keys : (double)NAN);
		json_text("estimate", NULL);
		return;
	}
	json_value("fill", &e->fill);
	json_value("predicted_rate", &e->rate);
	json_bool("saturated", e->saturated);
	if (e->saturated)
		json_text("estimate", "saturated");
	else
		json_value("estimate", &e->keys);
	json_count("sampled_bytes", e->sampled_bytes);
}

void json_labels(const char *labels)
{
	char line[BLM_LABELS_MAX + 1];

	json_open("labels");
	for (size_t len; *labels; labels += len + (labels[len] != 0)) {
		len = strcspn(labels, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)len, labels);
		json_text(NULL, line);
	}
	json_close();
}

/*
 * A whole number of 64 bits that is a name, not a count: as text, since many readers round numbers
 * beyond 2^53.
 */
static void json_identifier(const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	json_text(name, text);
}

static void json_hashing(const struct blm_info *i)
{
	json_open("seeds");
	for (uint32_t s = 0; s < i->seed_count && s < BLM_SEEDS_MAX; s++)
		json_identifier(NULL, i->seeds[s]);
	json_close();
	json_identifier("tweak", i->tweak);
	json_text("key_id", i->keyed ? show_hex(i->key_id, sizeof(i->key_id)) : NULL);
}

/* What the kind was told, as numbers; and what it has to say of this filter. */
static void json_facts(const struct blm_filter *f)
{
	struct blm_fact fact;

	json_open_object("facts");
	for (size_t i = 0; f && blm_fact(f, i, &fact) == 0; i++)
		json_real(fact.name, fact.value);
	json_close_object();
}

static void json_part(const struct blm_info *i)
{
	if (!i->split_parts)
		return;
	json_count("part", i->split_part + 1);
	json_count("parts", i->split_parts);
}

void describe_json(const struct description *d)
{
	const struct blm_info *i = d->info;

	json_begin();
	json_text("name", *i->name ? i->name : NULL);
	json_text("path", *i->path ? i->path : NULL);
	json_text("kind", i->kind);
	json_part(i);
	json_text("options", *i->options ? i->options : NULL);
	json_text("hash", i->hash);
	json_text("scheme", i->scheme);
	json_text("bit_order", i->bit_order);
	json_count("m", i->cells);
	json_count("k", i->probes);
	json_hashing(i);
	json_count("capacity", i->capacity);
	json_real("rate", i->rate);
	json_bool("capacity_computed", i->capacity_computed);
	json_bool("rate_computed", i->rate_computed);
	json_real("rate_at_capacity", i->rate_at_capacity);
	if (i->foreign)
		json_text("keys", NULL);
	else
		json_count("keys", i->keys);
	json_bool("keys_estimated", i->keys_estimated);
	json_estimate(d);
	json_text("template", show_hex(i->template_id, 16));
	json_count("bytes", i->bytes);
	json_count("data_bytes", i->data_bytes);
	if (i->sealed && i->keys && !i->keys_estimated)
		json_real("bits_per_key", 8 * (double)i->data_bytes / (double)i->keys);
	json_count("checkpoint_bytes", i->checkpoint_bytes);
	json_text("format", i->format);
	json_text("origin", i->origin);
	json_text("uuid", i->foreign ? NULL : show_uuid(i->uuid));
	json_text("created", i->foreign ? NULL : show_time(i->created));
	json_text("synced", i->synced ? show_time(i->synced) : NULL);
	json_count("version", i->version);
	json_bool("dirty", i->dirty);
	json_bool("older", i->older);
	if (i->older) {
		json_count("catalog_keys", i->catalog_keys);
		json_text("catalog_synced", i->catalog_synced ? show_time(i->catalog_synced)
			  : NULL);
	}
	json_bool("durable", !i->dirty && !i->suspect && !i->foreign && !i->from_catalog);
	json_bool("from_catalog", i->from_catalog);
	json_bool("suspect", i->suspect);
	json_count("epoch", i->epoch);
	json_count("synced_epoch", i->synced_epoch);
	json_count("suspect_epoch", i->suspect_epoch);
	json_bool("sealed", i->sealed);
	json_text("caution", own_terms(i->caution));
	json_bool("sparse", i->sparse);
	json_facts(d->filter);
	json_text("caveat", own_terms(i->caveat));
	json_labels(i->labels);
	json_abilities(i->can);
	json_end();
}
