/* json.c - everything that was measured, as one JSON object */
#include "bench.h"

static void string(FILE *to, const char *s)
{
	fputc('"', to);
	for (; *s; s++)
		if ((unsigned char)*s < 0x20)
			fprintf(to, "\\u%04x", *s);
		else
			fprintf(to, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
	fputc('"', to);
}

static void name(FILE *to, const char *before, const char *key)
{
	fprintf(to, "%s", before);
	string(to, key);
	fprintf(to, ": ");
}

static void spread(FILE *to, const struct spread *x)
{
	if (!x->count)
		fprintf(to, "null");
	else
		fprintf(to, "{\"median\": %.6g, \"q1\": %.6g, \"q3\": %.6g}", x->median, x->q1,
			x->q3);
}

static void machine(FILE *to)
{
	struct fact facts[FACTS];

	machine_facts(facts);
	fprintf(to, "{\n\"machine\": {");
	for (size_t i = 0; i < FACTS; i++) {
		name(to, i ? ", " : "", facts[i].name);
		string(to, facts[i].value.s);
	}
	fprintf(to, "},\n");
}

static void sites(const struct plan *plan, FILE *to)
{
	const char *before = "";

	fprintf(to, "\"filters\": [");
	for (size_t i = 0; i < plan->site_count; i++) {
		const struct site *s = &plan->sites[i];

		if (!s->engine->fill || !s->data_bytes)
			continue;
		fprintf(to, "%s\n{\"name\": ", before);
		string(to, s->name);
		name(to, ", ", "size");
		string(to, s->label);
		fprintf(to,
			", \"keys\": %llu, \"data_bytes\": %llu, \"bits_per_key\": %.4f, "
			"\"probes\": %u, \"mapped_bytes\": %llu, \"mapped_huge_bytes\": %llu, ",
			(unsigned long long)s->keys, (unsigned long long)s->data_bytes,
			s->bits_per_key, s->probes, (unsigned long long)s->resident,
			(unsigned long long)s->huge);
		if (s->curve)
			fprintf(to, "\"half_set\": true}");
		else
			fprintf(to, "\"predicted_rate\": %.6g, \"measured_rate\": %.6g}",
				s->predicted_rate, s->measured_rate);
		before = ",";
	}
	fprintf(to, "],\n");
}

static void rows(const struct plan *plan, FILE *to)
{
	const char *before = "";

	fprintf(to, "\"rows\": [");
	for (size_t i = 0; i < plan->row_count; i++) {
		const struct row *row = &plan->rows[i];
		struct spread t = row_spread(plan, row),
			      ratio = ratio_spread(plan, row, &row->limit);

		if (!t.count)
			continue;
		fprintf(to, "%s\n{\"name\": ", before);
		string(to, row->name);
		fprintf(to, ", \"unit\": \"%s\", \"value\": ", row_unit(row));
		spread(to, &t);
		fprintf(to, ", \"clean_rounds\": %u, \"limit\": ", t.clean);
		if (ratio.count)
			string(to, row->limit.a->name);
		else
			fprintf(to, "null");
		fprintf(to, ", \"ratio\": ");
		spread(to, &ratio);
		fprintf(to, ", \"rounds\": [");
		for (unsigned j = 0; j < plan->rounds; j++)
			fprintf(to, "%s%.6g", j ? ", " : "", row->value[j]);
		fprintf(to, "]}");
		before = ",";
	}
	fprintf(to, "],\n");
}

static void goals(const struct plan *plan, FILE *to)
{
	struct goal all[GOALS_MAX];
	size_t count = goals_list(plan, all);

	fprintf(to, "\"goals\": [");
	for (size_t i = 0; i < count; i++) {
		struct spread ratio = all[i].row ? ratio_spread(plan, all[i].row, &all[i].limit)
						 : (struct spread){ 0 };

		fprintf(to, "%s\n{\"what\": ", i ? "," : "");
		string(to, all[i].what);
		name(to, ", ", "against");
		string(to, all[i].against);
		name(to, ", ", "row");
		if (all[i].row)
			string(to, all[i].row->name);
		else
			fprintf(to, "null");
		fprintf(to, ", \"wanted\": %.6g, \"ratio\": ", all[i].wanted);
		spread(to, &ratio);
		fprintf(to, ", \"met\": %s",
			!ratio.count || !all[i].wanted	? "null"
			: ratio.median >= all[i].wanted ? "true"
							: "false");
		if (all[i].reason) {
			name(to, ", ", "why");
			string(to, all[i].reason);
		}
		fputc('}', to);
	}
	fprintf(to, "],\n");
}

void report_json(const struct plan *plan, FILE *to)
{
	machine(to);
	fprintf(to,
		"\"keys\": %llu, \"rate\": %g, \"rounds\": %u, \"questions\": %zu,\n\"sets\": [",
		(unsigned long long)plan->options.keys, plan->options.rate, plan->rounds,
		plan->options.questions);
	for (int i = 0; i < SETS_MAX && plan->sets[i]; i++) {
		fprintf(to, "%s", i ? ", " : "");
		string(to, plan->sets[i]);
	}
	fprintf(to, "],\n");
	sites(plan, to);
	rows(plan, to);
	goals(plan, to);
	fprintf(to, "\"left_out\": ");
	string(to, plan->missing);
	fprintf(to, "\n}\n");
}
