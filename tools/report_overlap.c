/* report_overlap.c - how many keys the filters of one template share */
#include "numbers.h"
#include "progress.h"
#include "report.h"

#include <math.h>

struct relatives {
	const struct entry **all;	/* those with most keys first */
	size_t count;
	double keys;
};

static int by_template(const void *a, const void *b)
{
	const struct entry *const *x = a, *const *y = b;
	int r = memcmp((*x)->template_id, (*y)->template_id, sizeof((*x)->template_id));

	if (r)
		return r;
	if ((*x)->keys != (*y)->keys)
		return (*x)->keys > (*y)->keys ? -1 : 1;
	return strcmp((*x)->name, (*y)->name);
}

static int by_keys(const void *a, const void *b)
{
	const struct relatives *x = a, *y = b;

	return x->keys > y->keys ? -1 : x->keys < y->keys ? 1 : strcmp(x->all[0]->name,
								       y->all[0]->name);
}

/* ---- One matrix ---- */

static void print_cell(FILE *out, const struct blm_comparison *c, size_t row, size_t column)
{
	static const char *const classes[] = { "", "o1", "o2", "o3", "o4" };
	double share = fmin(fmax(c->jaccard.value, 0), 1);
	size_t level = share < 0.01 ? 0 : 1 + (size_t)fmin(4 * share, 3);
	const char *least = c->saturated ? "at least " : "";

	if (row < column)
		fprintf(out, "<td>%s%s</td>", least, show_short(c->both.value));
	else if (!c->saturated && c->common.value < 2 * c->common.error)
		fputs("<td>about 0</td>", out);
	else
		fprintf(out, "<td class=\"%s\">%s%s<small>%.0f %%</small></td>", classes[level],
			least, show_short(fmax(c->common.value, 0)), 100 * share);
}

static void print_cells(FILE *out, struct blm_filter **filters, const struct relatives *group)
{
	struct blm_comparison c[REPORT_SIDE][REPORT_SIDE];
	bool have[REPORT_SIDE][REPORT_SIDE] = { 0 };

	for (size_t i = 0; i < group->count; i++) {
		progress_of("comparing", i, group->count);
		for (size_t j = i + 1; j < group->count; j++)
			if (filters[i] && filters[j] && blm_compare(filters[i], filters[j],
								   &c[i][j]) == 0)
				have[i][j] = true;
	}
	for (size_t i = 0; i < group->count; i++) {
		fprintf(out, "<tr><th scope=\"row\">%zu: <bdi>", i + 1);
		html_short(out, group->all[i]->shown, 40);
		fputs("</bdi></th>", out);
		for (size_t j = 0; j < group->count; j++) {
			size_t low = i < j ? i : j, high = i < j ? j : i;

			if (i == j)
				fprintf(out, "<td class=\"e\">%s</td>",
					show_short((double)group->all[i]->keys));
			else if (have[low][high])
				print_cell(out, &c[low][high], i, j);
			else
				fputs("<td>?</td>", out);
		}
		fputs("</tr>\n", out);
	}
}

static void print_matrix(FILE *out, const struct report *r, struct relatives *group)
{
	struct blm_filter *filters[REPORT_SIDE] = { 0 };
	uint64_t bytes = group->all[0]->data_bytes;
	size_t all = group->count, side = all < REPORT_SIDE ? all : REPORT_SIDE;

	while (!r->full && side > 1
	       && (double)bytes * (double)(side * (side - 1)) > (double)REPORT_BUDGET)
		side--;
	fprintf(out, "<h3>%zu filters of the kind %s, %s of data each</h3>\n", all,
		group->all[0]->kind, show_bytes(bytes));
	if (side < 2) {
		fputs("<p>Not compared, because two of them have more than 1 GiB. <code>--full"
		      "</code> compares them.</p>\n", out);
		return;
	}
	if (side < all)
		fprintf(out, "<p>The %zu with the most keys.</p>\n", side);
	for (size_t i = 0; i < side; i++)
		if (blm_open(&filters[i], r->store, group->all[i]->name, 0) < 0)
			filters[i] = NULL;
	fputs("<div class=\"wide\"><table class=\"m\">\n<thead><tr><th>keys</th>", out);
	for (size_t i = 0; i < side; i++)
		fprintf(out, "<th>%zu</th>", i + 1);
	fputs("</tr></thead>\n<tbody>\n", out);
	group->count = side;
	print_cells(out, filters, group);
	group->count = all;
	fputs("</tbody>\n</table></div>\n", out);
	for (size_t i = 0; i < side; i++)
		blm_close(filters[i]);
}

/* ---- All of them ---- */

static bool is_comparable(const struct entry *e)
{
	return e->can & BLM_CAN_ESTIMATE && e->keys && !e->unread;
}

static size_t find_groups(struct relatives *groups, const struct entry **all, size_t count)
{
	size_t found = 0;

	qsort(all, count, sizeof(*all), by_template);
	for (size_t i = 0, n; i < count; i += n) {
		struct relatives group = { .all = &all[i] };

		for (n = 0; i + n < count && !memcmp(all[i]->template_id, all[i + n]->template_id,
						     sizeof(all[i]->template_id)); n++)
			group.keys += (double)all[i + n]->keys;
		group.count = n;
		if (n > 1)
			groups[found++] = group;
	}
	qsort(groups, found, sizeof(*groups), by_keys);
	return found;
}

void print_overlaps(FILE *out, const struct report *r)
{
	const struct entry **all = calloc(r->count + 1, sizeof(struct entry *));
	struct relatives *groups = calloc(r->count + 1, sizeof(*groups));
	size_t count = 0, found;

	for (size_t i = 0; all && i < r->count; i++)
		if (is_comparable(&r->all[i]))
			all[count++] = &r->all[i];
	found = all && groups ? find_groups(groups, all, count) : 0;
	fputs("<section id=\"shared\">\n<h2>What filters of one template share</h2>\n", out);
	if (!found)
		fputs("<p>No two filters with keys have one template. <code>bloomery template A B"
		      "</code> makes B like A.</p>\n", out);
	else
		fputs("<p>On the diagonal: the keys of each filter. Above it: the keys that are in "
		      "one or the other. Below it: the keys that are in both, and their share of "
		      "those above. All but the diagonal are estimates; <code>bloomery compare"
		      "</code> has their errors.</p>\n", out);
	for (size_t i = 0; i < found && i < REPORT_TEMPLATES; i++)
		print_matrix(out, r, &groups[i]);
	if (found > REPORT_TEMPLATES)
		fprintf(out, "<p>%zu more templates have fewer keys.</p>\n",
			found - REPORT_TEMPLATES);
	fputs("</section>\n", out);
	free(all);
	free(groups);
}
