/* report.c - medians, ratios of the same round, a table or JSON */
#include "bench.h"

#include <stdio.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
	qsort(values, count, sizeof(*values), compare);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* ---- Statistics ---- */

struct summary {
	double ns, least, most;
	unsigned clean;		/* rounds in which nobody else had the processor */
	double of[LIMITS];	/* the limit's time over ours: 1 is as fast as the limit */
};

/* A round counts if it is clean, or if most are not. `other` NULL: times; else ratios of two times of one round. */
static double middle(const struct series *a, const struct series *other, unsigned rounds)
{
	double clean[ROUNDS_MAX], all[ROUNDS_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i < rounds; i++) {
		all[i] = other ? other->sample[i].ns / a->sample[i].ns : a->sample[i].ns;
		if (!a->sample[i].disturbed && !(other && other->sample[i].disturbed))
			clean[n++] = all[i];
	}
	return 2 * n > rounds ? median(clean, n) : median(all, rounds);
}

static struct summary summarize(const struct series *a, unsigned rounds)
{
	struct summary ret = { .ns = middle(a, NULL, rounds), .least = a->sample[0].ns, .most = a->sample[0].ns };

	for (unsigned i = 0; i < rounds; i++) {
		double ns = a->sample[i].ns;

		ret.least = ns < ret.least ? ns : ret.least;
		ret.most = ns > ret.most ? ns : ret.most;
		ret.clean += !a->sample[i].disturbed;
	}
	for (int i = 0; i < LIMITS; i++)
		ret.of[i] = middle(a, &a->limit[i], rounds);
	return ret;
}

/* ---- Words ---- */

static const char *keys_of(const struct work *work)
{
	static const char *const names[] = { [NO_KEYS] = "", [ABSENT] = "absent", [PRESENT] = "present", [FRESH] = "new" };

	return work == &limits[LIMIT_HASH] ? "" : names[work->which];
}

void print_json_string(const char *s)
{
	putchar('"');
	for (; *s; s++)
		if ((unsigned char)*s < 0x20)
			printf("\\u%04x", *s);
		else
			printf(*s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
	putchar('"');
}

void print_subject(const struct subject *s, bool json)
{
	const struct blm_info *info = &s->info;
	double mib = 1 << 20;

	if (json) {
		printf("{\"row\": \"filter\", \"kind\": \"%s\", \"keys\": %llu, \"cells\": %llu, \"probes\": %u, "
		       "\"data_bytes\": %llu, \"predicted_rate\": %.6g, \"measured_rate\": %.6g, \"mapped_bytes\": %llu, \"mapped_huge_bytes\": %llu}\n",
		       s->kind, (unsigned long long)s->added, (unsigned long long)info->cells, info->probes,
		       (unsigned long long)info->data_bytes, info->rate_at_capacity, s->measured_rate,
		       (unsigned long long)s->resident.bytes, (unsigned long long)s->resident.huge_bytes);
		return;
	}
	printf("%-14s%llu keys in %.1f MiB, %.2f bits a key, %u probes; false positives %.4f %%, predicted %.4f %%; "
	       "%.0f of %.0f MiB mapped by huge pages\n",
	       s->kind, (unsigned long long)s->added, (double)info->data_bytes / mib, (double)info->cells / (double)s->added,
	       info->probes, 100 * s->measured_rate, 100 * info->rate_at_capacity, (double)s->resident.huge_bytes / mib,
	       (double)s->resident.bytes / mib);
}

static void print_json(const struct series *a, const struct summary *sum, const struct options *options)
{
	bool limit = a < a->limit + LIMITS;

	printf("{\"row\": \"time\", \"kind\": \"%s\", \"work\": \"%s\", \"keys\": \"%s\", \"limit\": %s, ",
	       a->subject->kind, a->work->name, keys_of(a->work), limit ? "true" : "false");
	printf("\"ns\": %.3f, \"least_ns\": %.3f, \"most_ns\": %.3f, ", sum->ns, sum->least, sum->most);
	printf("\"of_read\": %.4f, \"of_chain\": %.4f, \"of_or\": %.4f, \"of_hash\": %.4f, ",
	       sum->of[LIMIT_READ], sum->of[LIMIT_CHAIN], sum->of[LIMIT_OR], sum->of[LIMIT_HASH]);
	printf("\"rounds\": %u, \"clean_rounds\": %u}\n", options->rounds, sum->clean);
}

static void print_line(const struct series *a, const struct summary *sum, const struct options *options)
{
	printf("%-8s  %-23s %-7s %8.2f %8.2f %8.2f %8.1f  %7.2f %8.2f %7.2f %7.2f  %3u/%u\n", a->subject->kind, a->work->name,
	       keys_of(a->work), sum->ns, sum->least, sum->most, 1e3 / sum->ns, sum->of[LIMIT_READ], sum->of[LIMIT_CHAIN],
	       sum->of[LIMIT_OR], sum->of[LIMIT_HASH], sum->clean, options->rounds);
}

void print_series(const struct series *series, size_t count, const struct options *options)
{
	if (!options->json)
		printf("\n%-8s  %-23s %-7s %8s %8s %8s %8s  %7s %8s %7s %7s  %s\n", "kind", "work", "keys", "ns", "least", "most",
		       "10^6/s", "of read", "of chain", "of OR", "of hash", "clean");
	for (size_t i = 0; i < count; i++) {
		struct summary sum = summarize(&series[i], options->rounds);

		if (!options->json && i && series[i].limit == &series[i])
			printf("\n");
		(options->json ? print_json : print_line)(&series[i], &sum, options);
	}
	if (!options->json)
		printf("\nns: of processor time for a key or line, median of %u rounds of %zu\n"
		       "of: the limit's time over the work's, median of the ratios within each round; 1 is as fast as the limit\n"
		       "clean: rounds in which nothing else had the processor\n",
		       options->rounds, options->batch);
}
