/* plan_ranks.c - what N ranks cost that build a filter, on paper */
#include "json.h"
#include "numbers.h"
#include "plan.h"
#include "ranks_model.h"
#include "terms.h"

static const char *show_duration(double s)
{
	static char buffer[32];

	if (s < 100)
		snprintf(buffer, sizeof(buffer), "%.1f s", s);
	else if (s < 6000)
		snprintf(buffer, sizeof(buffer), "%.0f min", s / 60);
	else
		snprintf(buffer, sizeof(buffer), "%.1f h", s / 3600);
	return buffer;
}

static void print_json(enum ranks_way way, bool best, const struct blm_plan *plan, uint32_t ranks,
		       const struct ranks_cost *cost)
{
	json_begin();
	json_text("way", ranks_way_names[way]);
	json_bool("best", best);
	json_text("kind", plan->kind);
	json_count("ranks", ranks);
	json_count("data_bytes", plan->data_bytes);
	json_real("bytes_sent", cost->moved);
	json_real("bytes_sent_per_key", cost->moved / (double)plan->capacity);
	json_count("rank_memory_bytes", cost->memory);
	json_real("model_seconds", cost->seconds);
	json_end();
}

static void print_row(enum ranks_way way, bool best, const struct blm_plan *plan,
		      const struct ranks_cost *cost)
{
	printf("%c %-8s %10s", best ? '*' : ' ', ranks_way_names[way],
	       show_bytes((uint64_t)cost->moved));
	printf(" %12.2f %14s", cost->moved / (double)plan->capacity, show_bytes(cost->memory));
	printf(" %10s\n", show_duration(cost->seconds));
}

int plan_ranks(const struct blm_params *params, uint32_t ranks)
{
	enum ranks_way best;
	struct blm_plan plan;

	if (!ranks_build(params->kind))
		return misuse("plan: --ranks: no ranks build a %s filter; they build %s",
			      params->kind, ranks_kinds(WAYS));
	if (blm_plan(&plan, params) < 0)
		return misuse("%s", own_terms(blm_error_message()));
	best = ranks_best_way(plan.kind, plan.data_bytes, (double)plan.capacity, ranks);
	if (!json) {
		printf("%s, %s keys, ", plan.kind, show_count(plan.capacity));
		printf("%s of data, %u ranks\n\n", show_bytes(plan.data_bytes), ranks);
		printf("  %-8s %10s %12s %14s %10s\n", "way", "sent", "bytes a key",
		       "memory a rank", "time");
	}
	for (enum ranks_way way = 0; way < WAYS; way++) {
		struct ranks_cost cost;

		if (!ranks_way_fits(way, plan.kind))
			continue;
		cost = ranks_cost_of(way, plan.data_bytes, (double)plan.capacity, ranks);
		if (json)
			print_json(way, way == best, &plan, ranks, &cost);
		else
			print_row(way, way == best, &plan, &cost);
	}
	if (!json)
		printf("\n* sends the fewest bytes. The time is the model of bloomery-cluster(7): "
		       "machines of %d\nranks, a network of 1.25 and disks of 1 gigabyte a second. "
		       "Rank 0 also maps the new file.\n", RANKS_OF_A_MACHINE);
	if (!json && best == WAY_GATHER)
		printf("Rank 0 also takes up to %s for the hashes; more of them are sorted on the "
		       "disk.\n", show_bytes(RANKS_SORT));
	return DONE;
}
