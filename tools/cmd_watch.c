/* cmd_watch.c - bloomery watch: the numbers of all filters of a store, for a monitoring system */
#include "history.h"
#include "output.h"
#include "overwrite.h"
#include "place.h"
#include "signals.h"
#include "values.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *file, *history;
static struct every every;
static const struct opt own_options[] = {
	{ 0, "prometheus", "FILE", "replace FILE by the metrics, for the textfile collector of "
	  "Prometheus; - is standard output", set_text, &file },
	{ 0, "history", "FILE", "add a line to FILE for each filter whose keys changed, for "
	  "'bloomery report'", set_text, &history },
	{ 0, "every", "TIME", "repeat after this time (15s, 5min), until a signal ends it",
	  set_every, &every },
	{ 0 }
};

/* ---- Prometheus' text format: a metric's values of all filters stand together ---- */

/* Bytes that are no UTF-8, as the path of a store may have, are escaped: a reader refuses them. */
static void print_label(FILE *out, const char *label)
{
	char escaped[BLM_ESCAPED_MOST * BLM_PATH_MAX + 1];
	const char *text = escaped;

	blm_escape(escaped, sizeof(escaped), label, strlen(label), "");
	for (; *text; text++)
		if (*text == '\n')
			fputs("\\n", out);
		else
			fprintf(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
}

static void begin_metric(FILE *out, const char *name, const char *help)
{
	fprintf(out, "# HELP bloomery_%s %s\n# TYPE bloomery_%s gauge\n", name, help, name);
}

/* The labels of a value; `name` NULL: it is of the whole store. */
static void print_labels(FILE *out, const char *metric, const char *store, const char *name)
{
	fprintf(out, "bloomery_%s{store=\"", metric);
	print_label(out, store);
	if (name) {
		fputs("\",name=\"", out);
		print_label(out, name);
	}
	fputc('"', out);
}

static const struct metric {
	const char *name, *help;
	size_t at;
} metrics[] = {
	{ "filter_keys", "Adds and claims that changed the filter, less removals.",
	  offsetof(struct look, keys) },
	{ "filter_capacity_keys", "Keys that the filter was made for.",
	  offsetof(struct look, capacity) },
	{ "filter_rate_promised", "False-positive rate promised at capacity.",
	  offsetof(struct look, rate) },
	{ "filter_rate_predicted", "False-positive rate predicted for the keys that are in it.",
	  offsetof(struct look, predicted) },
	{ "filter_bytes", "Size of the file.", offsetof(struct look, bytes) },
	{ "filter_data_bytes", "Size of the data in the file.",
	  offsetof(struct look, data_bytes) },
	{ "filter_synced_timestamp_seconds", "Time of the last sync; 0: never.",
	  offsetof(struct look, synced) },
};

static void print_metric(FILE *out, const struct metric *metric, const struct looks *looks,
			 const char *store)
{
	begin_metric(out, metric->name, metric->help);
	for (size_t i = 0; i < looks->count; i++) {
		double value;

		memcpy(&value, (const char *)&looks->all[i] + metric->at, sizeof(value));
		print_labels(out, metric->name, store, looks->all[i].name);
		fprintf(out, "} %.17g\n", value);
	}
}

static void print_flag(FILE *out, const char *name, const char *help, const struct looks *looks,
		       const char *store, size_t at)
{
	begin_metric(out, name, help);
	for (size_t i = 0; i < looks->count; i++) {
		print_labels(out, name, store, looks->all[i].name);
		fprintf(out, "} %d\n", *((const char *)&looks->all[i] + at));
	}
}

static void print_of_store(FILE *out, const char *name, const char *help, const char *store,
			   double value)
{
	begin_metric(out, name, help);
	print_labels(out, name, store, NULL);
	fprintf(out, "} %.17g\n", value);
}

static void print_all(FILE *out, const struct looks *looks, const char *store)
{
	begin_metric(out, "filter_info", "Kind and hash of the filter; always 1.");
	for (size_t i = 0; i < looks->count; i++) {
		print_labels(out, "filter_info", store, looks->all[i].name);
		fprintf(out, ",kind=\"%s\",hash=\"%s\"} 1\n", looks->all[i].kind,
			looks->all[i].hash);
	}
	for (size_t i = 0; i < ARRAY_LEN(metrics); i++)
		print_metric(out, &metrics[i], looks, store);
	print_flag(out, "filter_changed", "1 if it changed since the last sync.", looks, store,
		   offsetof(struct look, dirty));
	print_flag(out, "filter_unreadable", "1 if its file cannot be read: then the numbers are "
		   "of the last sync.", looks, store, offsetof(struct look, unread));
	print_of_store(out, "filters", "Filters that these numbers are of.", store,
		       (double)(looks->count + looks->damaged));
	print_of_store(out, "store_damaged_records", "Records of the catalog that are damaged.",
		       store, (double)looks->damaged);
	print_of_store(out, "store_seen_timestamp_seconds", "When these numbers were taken.",
		       store, (double)time(NULL));
}

/* ---- The files ---- */

struct printed {
	const struct looks *looks;
	const char *store;
};

static void print(FILE *out, const void *context)
{
	const struct printed *printed = context;

	print_all(out, printed->looks, printed->store);
}

/* The store that was opened; another one may have come to its path since. */
static bool is_same_store(const char *dir, const struct stat *opened)
{
	struct stat st;

	return stat(dir, &st) == 0 && st.st_dev == opened->st_dev && st.st_ino == opened->st_ino;
}

static int watch_once(struct blm_store *store, const char *pattern, const char *dir)
{
	struct looks looks;
	int code = looks_take(&looks, store, pattern);

	if (code == DONE && file)
		code = overwrite_file(file, 0644, print, &(struct printed){ &looks, dir });
	if (code == DONE && history)
		code = history_add(history, &looks);
	looks_free(&looks);
	return code;
}

static int watch(const char *pattern)
{
	const char *dir = store_dir();
	struct blm_store *store;
	char whole[PATH_MAX];
	struct stat opened;
	int code = dir ? find_store(&store, BLM_STORE_READ) : FAILED;

	if (code != DONE)
		return code;
	if (!realpath(dir, whole) || stat(whole, &opened) < 0)
		return broken("%s: %s", dir, strerror(errno));
	catch_signals();
	while ((code = watch_once(store, pattern, whole)) == DONE && every.seconds > 0) {
		struct pollfd stop = { .fd = stop_descriptor(), .events = POLLIN };

		poll(&stop, 1, every.seconds < 2e6 ? (int)(every.seconds * 1000) : 2000000000);
		if (stopping())
			break;
		if (!is_same_store(whole, &opened))
			return broken("%s: the store is gone, or another one is there now; start "
				      "'bloomery watch' again", whole);
	}
	return code;
}

static int run(int count, char **operands)
{
	if (!file && !history)
		return misuse("watch: give --prometheus FILE, or - for standard output, or "
			      "--history FILE");
	if (file && history && overwrites(file, history))
		return misuse("watch: --prometheus %s would replace the history", file);
	if (every.keys)
		return misuse("watch: --every takes a time, like 15s");
	return watch(count ? operands[0] : NULL);
}

static const struct opt *const options[] = { own_options, store_option, NULL };

const struct command cmd_watch = {
	.name = "watch",
	.group = ON_STORES,
	.summary = "write the numbers of all filters of the store for Prometheus, or into a "
	"history",
	.operands = "[PATTERN] [--prometheus FILE] [--history FILE]",
	.least = 0, .most = 1,
	.notes = "The file of --prometheus is replaced in one step, so a reader finds either the "
	"old or the new numbers. The keys and the size are those in the header of each file; no "
	"filter is opened, and no writer waits.",
	.example = "bloomery watch --prometheus /var/lib/node-exporter/bloomery.prom --every 15s",
	.options = options,
	.run = run,
};
