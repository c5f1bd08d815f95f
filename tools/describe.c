/* describe.c - what a filter is, for people */
#include "describe.h"
#include "numbers.h"

const char *ability(unsigned can, size_t i)
{
	static const struct { unsigned can; const char *verb; } abilities[] = {
		{ 0, "test" }, { BLM_CAN_ADD, "add" }, { BLM_CAN_CLAIM, "claim" }, { BLM_CAN_UNION, "union" },
		{ BLM_CAN_INTERSECT, "intersect" }, { BLM_CAN_ESTIMATE, "compare" }, { BLM_CAN_REMOVE, "remove" },
		{ BLM_CAN_BUILD, "build" }, { BLM_CAN_PUT, "put" }, { BLM_CAN_GET, "get" },
	};

	for (size_t j = 0; j < ARRAY_LEN(abilities); j++)
		if ((can & abilities[j].can) == abilities[j].can && i-- == 0)
			return abilities[j].verb;
	return NULL;
}

void print_abilities(unsigned can)
{
	for (size_t i = 0; ability(can, i); i++)
		printf("%s%s", i ? " " : "", ability(can, i));
	puts(can & BLM_FORGETS ? "; forgets by design" : "");
}

static void label(const char *text)
{
	printf("  %-11s ", text);
}

void print_value(const char *text, const struct blm_value *value, const char *note)
{
	printf(value->value >= 1000 ? "%s%.0f" : "%s%.4g", text, value->value);
	if (value->error > 0)
		printf(value->error >= 10 ? " ± %.0f" : " ± %.2g", value->error);
	puts(note);
}

static void print_hashing(const struct blm_info *i)
{
	label("hash");
	fputs(i->hash, stdout);
	for (uint32_t s = 0; s < i->seed_count && s < 4; s++)
		printf("%s %llu", s ? "," : i->seed_count > 1 ? ", seeds" : ", seed", (unsigned long long)i->seeds[s]);
	if (i->seed_count > 4)
		printf(", ... (%u seeds)", i->seed_count);
	if (i->tweak)
		printf(", tweak %llu", (unsigned long long)i->tweak);
	if (i->keyed)
		printf(", key id %s", show_hex(i->key_id, sizeof(i->key_id)));
	putchar('\n');
}

static void print_estimate(const struct blm_info *i, const struct blm_estimate *e)
{
	char note[80] = " (all of the data read)";

	if (e->sampled_bytes < i->data_bytes)
		snprintf(note, sizeof(note), " (from a sample of %s)", show_bytes(e->sampled_bytes));
	label("fill");
	print_value("", &e->fill, note);
	label("estimate");
	if (e->saturated)
		puts("saturated: all bits are set, it says yes to everything");
	else
		printf("%.0f ± %.0f distinct keys\n", e->keys.value, e->keys.error);
	label("rate now");
	print_value("", &e->rate, "");
}

static void print_capacity(const struct blm_info *i)
{
	label("capacity");
	printf("%llu keys at a rate of %s promised, %s predicted\n", (unsigned long long)i->capacity, show_rate(i->rate),
	       show_rate(i->rate_at_capacity));
	label("keys");
	printf("%llu%s%s\n", (unsigned long long)i->keys, i->keys_estimated ? " (estimated: it is a union or an intersection)" : "",
	       i->keys > i->capacity ? "; beyond its capacity" : "");
}

static void print_labels(const char *labels)
{
	for (size_t len; *labels; labels += len + (labels[len] != 0)) {
		char line[BLM_LABELS_MAX + 1];

		len = strcspn(labels, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)len, labels);
		clean(line);
		label("label");
		puts(line);
	}
}

void describe(const struct description *d)
{
	const struct blm_info *i = d->info;
	char name[4096];

	snprintf(name, sizeof(name), "%s", *i->name ? i->name : i->path);
	clean(name);
	puts(name);
	label("kind");
	printf("%s, m %llu, k %u\n", i->kind, (unsigned long long)i->cells, i->probes);
	print_hashing(i);
	print_capacity(i);
	if (d->estimate)
		print_estimate(i, d->estimate);
	label("size");
	printf("%s, %s of it data%s%s\n", show_bytes(i->bytes), show_bytes(i->data_bytes), i->sparse ? ", sparse" : "",
	       i->sealed ? ", sealed" : "");
	label("created");
	printf("%s, %s%s%s\n", show_time(i->created), i->synced ? "synced " : "never synced", i->synced ? show_time(i->synced) : "",
	       i->dirty ? ", changed since" : "");
	label("template");
	puts(show_hex(i->template_id, 16));
	label("uuid");
	printf("%s, format version %u\n", show_uuid(i->uuid), i->version);
	print_labels(i->labels);
	label("can");
	print_abilities(i->can);
}
