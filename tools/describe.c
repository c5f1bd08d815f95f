/* describe.c - what a filter is, for people */
#include "describe.h"
#include "numbers.h"
#include "output.h"
#include "terms.h"
#include "wrap.h"

#include <inttypes.h>
#include <math.h>

const char *ability(unsigned can, size_t i)
{
	static const struct { unsigned can; const char *verb; } abilities[] = {
		{ 0, "test" }, { BLM_CAN_ADD, "add" }, { BLM_CAN_CLAIM, "claim" },
			{ BLM_CAN_UNION, "union" },
		{ BLM_CAN_INTERSECT, "intersect" }, { BLM_CAN_ESTIMATE, "compare" },
		{ BLM_CAN_REMOVE, "remove" },
		{ BLM_CAN_BUILD, "build" }, { BLM_CAN_MERGE, "merge" }, { BLM_CAN_GROW, "grow" },
		{ BLM_CAN_PUT, "put" }, { BLM_CAN_GET, "get" },
		{ BLM_CAN_FOLD, "fold" }, { BLM_CAN_SPLIT, "split" }, { BLM_CAN_LIST, "diff" },
		{ BLM_CAN_ROTATE, "rotate" }, { BLM_CAN_ADVANCE, "advance" },
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

/* Only where it is not our own, with what it does not keep. */
static void print_scheme(const struct blm_info *i)
{
	struct blm_scheme_info scheme;

	for (size_t s = 0; blm_scheme_list(s, &scheme) == 0; s++) {
		if (strcmp(scheme.name, i->scheme))
			continue;
		label("scheme");
		printf("%s: %s\n", scheme.name, own_terms(scheme.summary));
		if (scheme.caveat) {
			label("");
			puts(own_terms(scheme.caveat));
		}
	}
	if (strcmp(i->bit_order, "low bit first")) {
		label("bit order");
		puts(i->bit_order);
	}
}

static void print_hashing(const struct blm_info *i)
{
	label("hash");
	fputs(i->hash, stdout);
	for (uint32_t s = 0; s < i->seed_count && s < 4; s++)
		printf("%s %llu", s ? "," : i->seed_count > 1 ? ", seeds" : ", seed",
		       (unsigned long long)i->seeds[s]);
	if (i->seed_count > 4)
		printf(", ... (%u seeds)", i->seed_count);
	if (i->tweak)
		printf(", tweak %llu", (unsigned long long)i->tweak);
	if (i->keyed)
		printf(", key id %s", show_hex(i->key_id, sizeof(i->key_id)));
	putchar('\n');
	print_scheme(i);
}

/* A number of keys that was worked out. */
static const char *show_real(double n)
{
	return show_number(n < 0x1p63 ? (uint64_t)llround(n) : UINT64_MAX);
}

static void print_estimate(const struct blm_info *i, const struct blm_estimate *e)
{
	char note[80] = " % (all of the data read)";

	if (e->sampled_bytes < i->data_bytes)
		snprintf(note, sizeof(note), " %% (from a sample of %s)",
			 show_bytes(e->sampled_bytes));
	label("fill");
	print_value("", &(struct blm_value){ 100 * e->fill.value, 100 * e->fill.error }, note);
	label("estimate");
	if (e->saturated)
		puts("saturated: all bits are set, it says yes to everything");
	else if (!e->ones && e->sampled_bytes < i->data_bytes)
		printf("at most %.0f distinct keys: no bit of the sample is set (--full reads "
		       "all)\n", e->keys.error);
	else if (i->can & BLM_EXACT)
		printf("%s distinct keys, exactly\n", show_real(e->keys.value));
	else
		printf("%s ± %s distinct keys\n", show_real(e->keys.value),
		       show_real(e->keys.error));
	label("rate now");
	print_value("", &e->rate, "");
}

static void print_facts(const struct blm_filter *f)
{
	struct blm_fact fact;

	for (size_t i = 0; blm_fact(f, i, &fact) == 0; i++) {
		label(fact.name);
		print_text(fact.text);
		putchar('\n');
	}
}

/* Not what grows, or counts keys that it has forgotten. */
static bool is_beyond(const struct blm_info *i)
{
	return i->keys > i->capacity && !(i->can & (BLM_GROWS | BLM_CAN_ROTATE | BLM_CAN_LIST
							    | BLM_CAN_AGE))
		&& !(i->can & BLM_FORGETS && i->rate_at_keys <= i->rate);
}

bool has_limit(unsigned can, double capacity)
{
	bool forgets = can & BLM_FORGETS && !(can & BLM_CAN_REMOVE);

	return capacity > 0 && !forgets
		&& !(can & (BLM_GROWS | BLM_CAN_ROTATE | BLM_CAN_LIST | BLM_CAN_AGE));
}

/* In a window only. */
static void print_full(const struct blm_info *i)
{
	enum { BESIDE = 24 };	/* the label, the ends of the bar, and the number */
	double share = (double)i->keys / (double)i->capacity;

	if (!window_width() || !has_limit(i->can, (double)i->capacity))
		return;
	label("full");
	printf("%s %.0f %%\n", show_bar(share, fitting_columns(BESIDE, 8, 40)), 100 * share);
}

static void print_capacity(const struct blm_info *i, const struct blm_estimate *e)
{
	const char *came = i->foreign ? i->format : i->origin;

	label("capacity");
	if (i->capacity_computed && i->rate_computed)
		printf("not stated; half of its bits are set with %s keys, at a rate of %s\n",
		       show_number(i->capacity), show_rate(i->rate));
	else if (i->capacity_computed)
		printf("not stated, but for a rate of %s; half of its bits are set with %s keys, "
		       "%s predicted\n", show_rate(i->rate),
		       show_number(i->capacity), show_rate(i->rate_at_capacity));
	else if (i->rate_computed)
		printf("%s keys stated, at no rate that can be; %s predicted\n",
		       show_number(i->capacity), show_rate(i->rate_at_capacity));
	else if (i->can & BLM_CAN_LIST)
		printf("%s keys that two of them differ by; questions are then answered wrongly "
		       "at a rate of %s\n",
		       show_number(i->capacity), show_rate(i->rate_at_capacity));
	else
		printf("%s keys at a rate of %s %s, %s predicted\n",
		       show_number(i->capacity), show_rate(i->rate),
		       came ? "stated" : "promised", show_rate(i->rate_at_capacity));
	label("keys");
	if (i->foreign) {
		puts("not counted in such a file");
		return;
	}
	if (i->keys_estimated && e && e->saturated) {
		printf("at least %s: saturated, so the number is a lower bound%s\n",
		       show_number(i->keys),
		       is_beyond(i) ? "; beyond its capacity" : "");
		return;
	}
	printf("%s%s%s\n", show_number(i->keys),
	       i->keys_estimated ? " (estimated: they were not all counted one by one)" : "",
	       is_beyond(i) ? "; beyond its capacity" : "");
	print_full(i);
}

static void print_labels(const char *labels)
{
	for (size_t len; *labels; labels += len + (labels[len] != 0)) {
		char line[BLM_LABELS_MAX + 1];

		len = strcspn(labels, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)len, labels);
		label("label");
		print_text(line);
		putchar('\n');
	}
}

/* What only our own files have, or that it is none. */
static void print_file(const struct blm_info *i)
{
	label("format");
	if (i->foreign) {
		printf("%s, opened as it is, for reading\n", i->format);
		return;
	}
	printf("%s, version %u%s%s\n", i->format, i->version, i->origin ? ", imported from " : "",
	       i->origin ? i->origin : "");
	label("uuid");
	puts(show_uuid(i->uuid));
	if (i->older) {
		label("older");
		printf("than the catalog, which has %" PRIu64 " keys, %s%s: an older copy of the "
		       "file was put back; sync it, or `bloomery verify --repair` it, to take it "
		       "as it is\n", i->catalog_keys, i->catalog_synced ? "synced "
		       : "never synced",
		       i->catalog_synced ? show_time(i->catalog_synced) : "");
	}
	label("created");
	if (i->suspect && !i->suspect_epoch) {
		printf("%s; its sync records are damaged, so which keys are on the disk is not "
		       "known, and a power cut may take any: sync it again\n",
		       show_time(i->created));
		return;
	}
	printf("%s, %s%s", show_time(i->created),
	       i->synced ? "synced " : i->dirty ? "never synced" : "written durably then",
	       i->synced ? show_time(i->synced) : "");
	if (i->suspect)
		printf(", and writing back the changes of the epochs %" PRIu64 " to "
		       "%" PRIu64 " failed since: sync it again\n", i->synced_epoch + 1,
		       i->suspect_epoch);
	else
		puts(i->dirty ? ", changed since" : "");
}

/*
 * For a filter that has all its keys. No filter takes less than log2(1/rate) bits a key. A range
 * filter is near log2(width/rate): its keys are numbers below keys * width / rate.
 */
static void print_space(const struct blm_info *i)
{
	label("space");
	printf("%.4g bits a key", 8 * (double)i->data_bytes / (double)i->keys);
	if (i->can & BLM_CAN_RANGE)
		printf("; log2(width/rate) is %.4g", log2((double)i->cells / (double)i->keys));
	else if (i->rate_at_keys > 0 && i->rate_at_keys < 1)
		printf("; for that rate no filter has less than %.4g", -log2(i->rate_at_keys));
	putchar('\n');
}

void describe(const struct description *d)
{
	const struct blm_info *i = d->info;

	print_text(*i->name ? i->name : i->path);
	putchar('\n');
	label("kind");
	printf("%s, m %s, k %u%s%s\n", i->kind, show_number(i->cells), i->probes,
	       *i->options ? "; " : "", i->options);
	if (i->split_parts) {
		label("part");
		printf("%llu of %llu of a split filter\n", (unsigned long long)i->split_part + 1,
		       (unsigned long long)i->split_parts);
	}
	print_hashing(i);
	print_capacity(i, d->estimate);
	if (d->estimate)
		print_estimate(i, d->estimate);
	if (d->filter)
		print_facts(d->filter);
	label("size");
	printf("%s, %s of it data", show_bytes(i->bytes), show_bytes(i->data_bytes));
	if (i->checkpoint_bytes)
		printf(", %s a checkpoint image for power cuts", show_bytes(i->checkpoint_bytes));
	printf("%s%s\n", i->sparse ? ", sparse" : "", i->sealed ? ", sealed" : "");
	if (i->sealed && i->keys && !i->keys_estimated)
		print_space(i);
	label("template");
	puts(show_hex(i->template_id, 16));
	print_file(i);
	if (i->caveat) {
		label("caveat");
		puts(own_terms(i->caveat));
	}
	if (i->caution) {
		label("caution");
		print_text(own_terms(i->caution));
		putchar('\n');
	}
	print_labels(i->labels);
	label("can");
	print_abilities(i->can);
}
