/*
 * cmd_ls.c - bloomery ls: the filters of a store, from its catalog and the headers of their files
 */
#include "describe.h"
#include "live.h"
#include "numbers.h"
#include "output.h"
#include "place.h"
#include "values.h"
#include "wrap.h"

#include <limits.h>

static bool detailed, live;
static const struct opt own_options[] = {
	{ 'l', "long", NULL, "kind, keys, capacity, how full, rate, size and time as well",
	  set_flag, &detailed },
	{ 0, "live", NULL, "one screen of 'bloomery top': rates, processes and syncs as well",
	  set_flag, &live },
	{ 0 }
};

/*
 * Columns that a window has no room for are left out: the time first, then the bar, the capacity,
 * the rate, the kind, the size and the keys. Outside a window all but the bar are there, and
 * numbers have no commas, for programs that read them.
 */
enum {
	WITH_KEYS = 34, WITH_SIZE = 46, WITH_KIND = 59, WITH_RATE = 68, WITH_CAPACITY = 100,
	WITH_BAR = 120, WITH_TIME = 140, BAR = 12, LEAST_NAME = 12,
};

struct seen {
	unsigned width;			/* 0: no window */
	struct blm_store *store;
	uint64_t filters, damaged, unread, estimated;
};

static bool has_bar(const struct seen *seen)
{
	return seen->width >= WITH_BAR;
}

static const char *show_keys(uint64_t keys, const char *mark)
{
	static char text[32];

	snprintf(text, sizeof(text), "%s%s", show_number(keys), mark);
	return text;
}

static void show_name(const struct seen *seen, const char *name, int column)
{
	int columns = seen->width ? (int)seen->width - column : INT_MAX;
	char cut[256];
	size_t bytes;

	if (columns < LEAST_NAME)
		columns = LEAST_NAME;
	bytes = fitting_bytes(name, (size_t)columns);
	if (!name[bytes]) {
		print_text(name);
		return;
	}
	bytes = fitting_bytes(name, (size_t)columns - 3);
	snprintf(cut, sizeof(cut), "%.*s", (int)bytes, name);
	print_text(cut);
	fputs("...", stdout);
}

/* Behind the number of keys: what the messages at the end say. */
static const char *mark_of(const struct blm_info *i)
{
	if (i->keys_estimated)
		return i->from_catalog ? "~*" : "~ ";
	return i->from_catalog ? "* " : "  ";
}

static void show_head(const struct seen *seen)
{
	if (has_space(seen->width, WITH_KIND))
		printf("%-12s ", "kind");
	if (has_space(seen->width, WITH_KEYS))
		printf("%15s ", "keys  ");
	if (has_space(seen->width, WITH_CAPACITY))
		printf("%14s ", "capacity");
	printf("%5s ", "full");
	if (has_bar(seen))
		printf("%-*s ", BAR + 2, "");
	if (has_space(seen->width, WITH_RATE))
		printf("%8s ", "rate");
	if (has_space(seen->width, WITH_SIZE))
		printf("%10s ", "size");
	putchar(' ');
	if (has_space(seen->width, WITH_TIME))
		printf("%-20s  ", "created");
	puts("name");
}

/* Return: the columns that it took. */
static int show_full(const struct seen *seen, const struct blm_info *i)
{
	bool limited = has_limit(i->can, (double)i->capacity);
	bool warns = limited && (double)i->keys >= 0.8 * (double)i->capacity;
	char full[16] = "-";
	int column;

	if (limited)
		snprintf(full, sizeof(full), "%.0f%%", 100.0 * (double)i->keys
			 / (double)i->capacity);
	if (warns)
		begin_colour(stdout, i->keys > i->capacity ? ALARM : CAUTION);
	column = printf("%5s", full);
	if (warns)
		end_colour(stdout);
	column += printf(" ");
	if (has_bar(seen))
		column += printf("%-*s ", BAR + 2, full[1] ? show_bar((double)i->keys
				 / (double)i->capacity, BAR) : "");
	return column;
}

static void show_long(const struct seen *seen, const struct blm_info *i)
{
	int column = 0;

	if (has_space(seen->width, WITH_KIND))
		column += printf("%-12s ", i->kind);
	if (has_space(seen->width, WITH_KEYS))
		column += printf("%15s ", show_keys(i->keys, mark_of(i)));
	if (has_space(seen->width, WITH_CAPACITY))
		column += printf("%14s ", show_number(i->capacity));
	column += show_full(seen, i);
	if (has_space(seen->width, WITH_RATE))
		column += printf("%8s ", show_rate(i->rate));
	if (has_space(seen->width, WITH_SIZE))
		column += printf("%10s ", show_bytes(i->bytes));
	column += printf(" ");
	if (has_space(seen->width, WITH_TIME))
		column += printf("%-20s  ", show_time(i->created));
	show_name(seen, i->name, column);
	putchar('\n');
}

static int show(void *context, const struct blm_info *info, int err)
{
	struct seen *seen = context;
	struct blm_info now = *info;

	seen->filters++;
	if (err == 0 && (json || detailed) && blm_store_refresh(seen->store, &now) < 0)
		seen->unread++;
	if (err < 0) {
		seen->damaged++;
		say("%s: its record in the catalog is damaged; repair it with 'bloomery verify "
		    "--repair'",
		    info->name);
	} else if (json) {
		describe_json(&(struct description){ .info = &now });
	} else if (detailed) {
		seen->estimated += now.keys_estimated;
		show_long(seen, &now);
	} else {
		print_data(info->name, strlen(info->name));
		putchar('\n');
	}
	return ferror(stdout);
}

static int list_live(struct blm_store *store, const char *pattern)
{
	struct looks looks;
	int code = looks_take(&looks, store, pattern);

	if (code != DONE)
		return code;
	looks_find_processes(&looks);
	looks_find_pages(&looks);
	if (json)
		print_live_json(&looks);
	else
		print_live(stdout, &looks, window_width(), 0);
	code = looks.damaged ? broken("%zu records of the catalog are damaged; 'bloomery verify "
				      "--repair' mends them", looks.damaged)
		: pattern && !looks.count ? NO : DONE;
	looks_free(&looks);
	return code;
}

static int run(int count, char **operands)
{
	struct seen seen = { 0 };
	struct blm_store *store;
	int code, r;

	if (live && detailed)
		return misuse("ls: --live is a view of its own; leave out -l");
	code = find_store(&store, BLM_STORE_READ);
	if (code != DONE)
		return code;
	if (live)
		return list_live(store, count ? operands[0] : NULL);
	seen.width = window_width();
	if (detailed && !json)
		show_head(&seen);
	seen.store = store;
	r = blm_store_list(store, count ? operands[0] : NULL, show, &seen);
	if (r < 0)
		return fail(r);
	if (seen.estimated)
		say("~ keys are estimated: they were not all counted one by one");
	if (seen.unread && detailed && !json)
		say("* keys and size as of the last sync: the file cannot be read");
	if (seen.damaged)
		return FAILED;
	return count && !seen.filters ? NO : DONE;
}

static const struct opt *const options[] = { own_options, json_option, store_option, NULL };

const struct command cmd_ls = {
	.name = "ls",
	.group = ON_STORES,
	.summary = "list the filters of the store, or those whose names match a pattern",
	.operands = "[PATTERN]",
	.least = 0, .most = 1,
	.notes = "With -l or --json the keys and the size are those in the header of each file. "
	"If a header cannot be read, they are those of the catalog, as of the last sync: marked "
	"with *, in JSON \"from_catalog\": true. Numbers of keys that are estimated, as in a "
	"union, are marked with ~, in JSON \"keys_estimated\": true. Exit 1 if none matches.",
	.example = "bloomery ls 'crawl-*' -l",
	.options = options,
	.run = run,
};
