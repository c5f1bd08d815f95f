/*
 * cmd_ls.c - bloomery ls: the filters of a store, from its catalog and the headers of their files
 */
#include "describe.h"
#include "numbers.h"
#include "output.h"
#include "place.h"
#include "values.h"

static bool detailed;
static const struct opt own_options[] = {
	{ 'l', "long", NULL, "kind, keys, capacity, rate, size and time as well", set_flag,
	  &detailed },
	{ 0 }
};

struct seen {
	struct blm_store *store;
	uint64_t filters, damaged, unread, estimated;
};

/* A message at the end says what the marks behind the number of keys mean. */
static void show_long(const struct blm_info *i)
{
	const char *mark = i->from_catalog ? "*" : "";

	if (i->keys_estimated)
		mark = i->from_catalog ? "~*" : "~";
	printf("%-12s %11llu%-2s %12llu %9s %10s  %s  ", i->kind, (unsigned long long)i->keys, mark,
	       (unsigned long long)i->capacity, show_rate(i->rate), show_bytes(i->bytes),
	       show_time(i->created));
	print_text(i->name);
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
		say("%s: its record in the catalog is damaged; 'bloomery verify --repair' mends it",
		    info->name);
	} else if (json) {
		describe_json(&(struct description){ .info = &now });
	} else if (detailed) {
		seen->estimated += now.keys_estimated;
		show_long(&now);
	} else {
		print_data(info->name, strlen(info->name));
		putchar('\n');
	}
	return ferror(stdout);
}

static int run(int count, char **operands)
{
	struct seen seen = { 0 };
	struct blm_store *store;
	int code = find_store(&store, BLM_STORE_READ), r;

	if (code != DONE)
		return code;
	if (detailed && !json)
		printf("%-12s %11s   %12s %9s %10s  %-20s  %s\n", "kind", "keys", "capacity",
		       "rate", "size", "created", "name");
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
	"Where that cannot be read, they are the\ncatalog's, as of the last sync: marked with *, "
	"in JSON \"from_catalog\": true. Numbers of keys that\nare estimated, as in a union, are "
	"marked with ~, in JSON \"keys_estimated\": true. Exit 1 if none matches.",
	.example = "bloomery ls 'crawl-*' -l",
	.options = options,
	.run = run,
};
