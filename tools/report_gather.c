/* report_gather.c - what a page about a store says, from the catalog, the files and the history */
#include "describe.h"
#include "numbers.h"
#include "progress.h"
#include "report.h"
#include "../lib/base/escape.h"

#include <errno.h>

/* ---- What can be said of an entry ---- */

bool fills_up(const struct entry *e)
{
	return has_limit(e->can, (double)e->capacity);
}

double full_share(const struct entry *e)
{
	return e->capacity ? (double)e->keys / (double)e->capacity : 0;
}

double full_in(const struct entry *e)
{
	if (!fills_up(e) || e->sealed || e->pace <= 0)
		return -1;
	return e->keys >= e->capacity ? 0 : (double)(e->capacity - e->keys) / e->pace;
}

static double urgency(const struct entry *e)
{
	double in = full_in(e);

	if (e->found || e->unread || e->suspect)
		return 4;
	if (fills_up(e) && e->keys > e->capacity)
		return 3;
	if (in >= 0 && in < 90 * DAY)
		return 2 - in / (90 * DAY);
	return fills_up(e) && !e->sealed ? full_share(e) / 2 : 0;
}

static int by_urgency(const void *a, const void *b)
{
	const struct entry *const *x = a, *const *y = b;
	double u = urgency(*x), v = urgency(*y);

	if (u != v)
		return u > v ? -1 : 1;
	if ((*x)->bytes != (*y)->bytes)
		return (*x)->bytes > (*y)->bytes ? -1 : 1;
	return strcmp((*x)->name, (*y)->name);
}

void sort_by_urgency(const struct report *report, const struct entry **ret)
{
	for (size_t i = 0; i < report->count; i++)
		ret[i] = &report->all[i];
	qsort(ret, report->count, sizeof(*ret), by_urgency);
}

/* ---- The catalog and the headers ---- */

static char *escaped(const char *text)
{
	size_t capacity = BLM_ESCAPED_MOST * strlen(text) + 1;
	char *ret = malloc(capacity);

	if (ret)
		blm_escape(ret, capacity, text, strlen(text), "");
	return ret;
}

static bool take(struct entry *e, const struct blm_info *i)
{
	*e = (struct entry){
		.name = strdup(i->name), .labels = strdup(i->labels), .shown = escaped(i->name),
		.kind = i->kind, .hash = i->hash, .keys = i->keys, .capacity = i->capacity,
		.bytes = i->bytes, .data_bytes = i->data_bytes, .cells = i->cells,
		.created = i->created, .synced = i->synced, .parts = i->parts,
		.cell_bits = i->cell_bits, .rate = i->rate, .predicted = i->rate_at_keys,
		.can = i->can, .estimated = i->keys_estimated, .dirty = i->dirty,
		.sealed = i->sealed,
	};
	snprintf(e->uuid, sizeof(e->uuid), "%s", show_uuid(i->uuid));
	memcpy(e->template_id, i->template_id, sizeof(e->template_id));
	return e->name && e->labels && e->shown;
}

static int look_at(void *context, const struct blm_info *info, int err)
{
	struct report *report = context;
	struct blm_info now = *info;
	struct entry *e;
	bool unread;

	if (err < 0) {
		report->damaged++;
		return 0;
	}
	if (report->count == report->capacity) {
		size_t capacity = report->capacity ? 2 * report->capacity : 64;
		struct entry *all = realloc(report->all, capacity * sizeof(*all));

		if (!all)
			return -ENOMEM;
		report->all = all;
		report->capacity = capacity;
	}
	unread = blm_store_refresh(report->store, &now) < 0;
	e = &report->all[report->count++];
	if (!take(e, &now))
		return -ENOMEM;
	e->unread = unread;
	report->keys += e->keys;
	report->bytes += e->bytes;
	report->data_bytes += e->data_bytes;
	return 0;
}

/* ---- The bits ---- */

/* As `bloomery info` has it. A filter that cannot be opened keeps what its header says. */
static void sample(const struct report *report, struct entry *e)
{
	struct blm_info info = BLM_INFO;
	struct blm_estimate estimate;
	struct blm_filter *f;

	if (blm_open(&f, report->store, e->name, 0) < 0)
		return;
	if (blm_info(f, &info) == 0) {
		e->keys = info.keys;
		e->parts = info.parts;
		e->cells = info.cells;
		e->data_bytes = info.data_bytes;
		e->predicted = info.rate_at_keys;
		e->older = info.older;
		e->suspect = info.suspect;
	}
	if (blm_estimate(f, report->full, &estimate) == 0) {
		e->has_fill = true;
		e->fill = estimate.fill;
		e->saturated = estimate.saturated;
		e->predicted = estimate.rate.value;
	}
	blm_close(f);
}

static void sample_all(struct report *report)
{
	const uint64_t most = 16 << 20;		/* of one, by blm_estimate() */
	uint64_t read = 0;

	for (size_t i = 0; i < report->count; i++) {
		struct entry *e = &report->all[i];

		progress_of("reading", i, report->count);
		read += e->data_bytes < most ? e->data_bytes : most;
		if (e->unread)
			continue;
		if (report->full || read <= REPORT_BUDGET)
			sample(report, e);
		else
			report->not_sampled++;
	}
}

/* ---- The history ---- */

/*
 * The pace is that of the last seven days, or of as long as is known. Moments of an earlier file of
 * the same name are of other keys. Less than an hour says nothing.
 */
static void find_pace(struct entry *e, time_t now)
{
	time_t created = (time_t)(e->created / 1000000000);
	const struct moment *from = NULL;

	for (size_t i = 0; i < e->past_count; i++)
		if (!strcmp(e->past[i].uuid, e->uuid) && e->past[i].when <= now
		    && (!from || e->past[i].when <= now - (time_t)(7 * DAY)))
			from = &e->past[i];
	if (from && now - from->when >= (time_t)HOUR) {
		e->since = from->when;
		e->pace = (double)e->keys > from->keys ? ((double)e->keys - from->keys)
			/ (double)(now - from->when) : 0;
	} else if (!e->sealed && !e->estimated && created && now - created >= (time_t)HOUR) {
		e->since = created;
		e->from_start = true;
		e->pace = (double)e->keys / (double)(now - created);
	}
}

int report_gather(struct report *report)
{
	int r = blm_store_list(report->store, report->pattern, look_at, report), code = DONE;

	report->now = time(NULL);
	if (r == -ENOMEM)
		return broken("out of memory for the list of filters");
	if (r < 0)
		return fail(r);
	sample_all(report);
	if (report->history_file)
		code = history_read(&report->history, report->history_file);
	for (size_t i = 0; code == DONE && i < report->count; i++) {
		struct entry *e = &report->all[i];

		e->past = history_of(&report->history, e->shown, &e->past_count);
		find_pace(e, report->now);
	}
	return code;
}

/* By the first cell of the row that cmd_report.c prints for a finding. */
static bool mark_found(struct entry *e, const char *findings)
{
	char *cell = NULL;
	size_t bytes;
	FILE *out = open_memstream(&cell, &bytes);

	if (!out)
		return false;
	fputs("<tr><td><bdi>", out);
	html_text(out, e->name);
	fputs("</bdi>", out);
	if (fclose(out))
		return false;
	e->found = strstr(findings, cell);
	free(cell);
	return true;
}

bool report_mark_found(struct report *report)
{
	bool done = true;

	for (size_t i = 0; i < report->count && report->findings && *report->findings; i++)
		done &= mark_found(&report->all[i], report->findings);
	return done;
}

void report_free(struct report *report)
{
	for (size_t i = 0; i < report->count; i++) {
		free(report->all[i].name);
		free(report->all[i].labels);
		free(report->all[i].shown);
	}
	free(report->all);
	free(report->findings);
	history_free(&report->history);
}
