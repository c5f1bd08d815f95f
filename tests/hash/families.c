/*
 * families.c - the table "Hash families" of format-spec.md against the hash families and kinds of
 * the code
 */
#include "hash/scheme.h"
#include "kind/kind_registry.h"
#include "vectors.h"

enum { IDS = 256 };
enum { ID, NAME, RESULT, SEEDS, TWEAK, SECRET, KINDS, COLUMNS };

/* What the table says of one family. */
struct documented {
	bool takes[IDS];	/* by the ID of a kind */
	bool needs_rule, small;	/* "with a rule", "up to 2^32 cells" */
};

/* Divide a row at its bars. The cells lose the blanks around them. */
static void split_row(char *row, char *cells[COLUMNS])
{
	for (int i = 0; i < COLUMNS; i++) {
		char *end;

		row += strspn(row, "| ");
		end = row + strcspn(row, "|");
		ck_assert_msg(*end == '|', "a row of the families has %d cells", i);
		cells[i] = row;
		row = end + 1;
		while (end > cells[i] && end[-1] == ' ')
			end--;
		*end = '\0';
	}
}

/* Remove `end` from the end of a text. False: the text ends otherwise. */
static bool cut_end(char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	if (len < n || strcmp(text + len - n, end) != 0)
		return false;
	text[len - n] = '\0';
	return true;
}

static unsigned long number_at(const char **at)
{
	char *end;
	unsigned long n = strtoul(*at, &end, 10);

	ck_assert_msg(end > *at && n < IDS, "no ID: %s", *at);
	*at = end;
	return n;
}

/* The numbers of a list like "23 to 28, 30" or "4 and 23". */
static void mark_numbers(const char *list, bool marked[IDS], bool value)
{
	for (;;) {
		unsigned long from = number_at(&list), to = from;

		if (!strncmp(list, " to ", 4)) {
			list += 4;
			to = number_at(&list);
		}
		for (; from <= to; from++)
			marked[from] = value;
		if (!*list)
			return;
		ck_assert_msg(!strncmp(list, ", ", 2) || !strncmp(list, " and ", 5), "%s", list);
		list += strcspn(list, "0123456789");
	}
}

/* The cell "kinds": "all but 4 and 23", or a list like "1 classic, 6 counting". */
static struct documented documented_kinds(char *cell)
{
	struct documented d = { .small = cut_end(cell, ", up to 2^32 cells") };
	const char *at = cell;

	d.needs_rule = cut_end(cell, " with a rule");
	if (!strncmp(cell, "all but ", 8)) {
		for (size_t i = 0; blm_kind_at(i); i++)
			d.takes[blm_kind_at(i)->id] = true;
		mark_numbers(cell + 8, d.takes, false);
		return d;
	}
	for (;;) {
		const struct blm_kind *kind = blm_kind_by_id((uint32_t)number_at(&at));
		size_t len = strcspn(at += *at == ' ', ",");

		ck_assert_msg(kind && strlen(kind->name) == len && !strncmp(kind->name, at, len),
			      "%.*s: not a name of the kind with this ID", (int)len, at);
		d.takes[kind->id] = true;
		at += len;
		if (!*at)
			return d;
		ck_assert_msg(!strncmp(at, ", ", 2), "%s", at);
		at += 2;
	}
}

static void check_kinds(const struct blm_family *family, const struct documented *d)
{
	for (size_t i = 0; blm_kind_at(i); i++) {
		const struct blm_kind *kind = blm_kind_at(i);

		ck_assert_msg(d->takes[kind->id] == kind_takes(kind, family),
			      "format-spec.md says that %s filters can%s use the hash %s; "
			      "the code says otherwise", kind->name,
			      d->takes[kind->id] ? "" : "not", family->name);
	}
	ck_assert_msg(d->needs_rule == !!blm_scheme_misfit(&blm_scheme_own, family, 1, 1),
		      "%s: with a rule only?", family->name);
	ck_assert_msg(d->small == (family->bits < 64), "%s: up to 2^32 cells?", family->name);
}

static void check_columns(const struct blm_family *family, char *cells[COLUMNS])
{
	char seeds[16];

	snprintf(seeds, sizeof(seeds), family->seeds_by_probe ? "`probes`" : "%u", family->seeds);
	ck_assert_str_eq(cells[SEEDS], seeds);
	ck_assert_str_eq(cells[TWEAK], family->tweaked ? "yes" : "no");
	ck_assert_str_eq(cells[SECRET], family->keyed ? "yes" : "no");
}

/* One row. It can be about several families: their IDs are marked in `of`. */
static void check_row(char *row, bool documented[IDS])
{
	char *cells[COLUMNS];
	bool of[IDS] = { false };
	struct documented d;

	split_row(row, cells);
	mark_numbers(cells[ID], of, true);
	d = documented_kinds(cells[KINDS]);
	for (uint32_t id = 0; id < IDS; id++) {
		const struct blm_family *family = blm_family_by_id(id);

		if (!of[id])
			continue;
		ck_assert_msg(family && !documented[id], "family %u: unknown, or in two rows", id);
		documented[id] = true;
		if (strcmp(cells[NAME], "see below") != 0)
			ck_assert_str_eq(cells[NAME], family->name);
		check_columns(family, cells);
		check_kinds(family, &d);
	}
}

START_TEST(format_spec_lists_the_kinds_that_each_hash_family_serves)
{
	static const char head[] = "\n| id | name ";
	bool documented[IDS] = { false };
	char *text = file_of(SPEC, NULL), *row;

	ck_assert_msg(text != NULL, "%s", SPEC);
	row = strstr(text, "\n## Hash families\n");
	ck_assert_ptr_nonnull(row);
	row = strstr(row, head);
	ck_assert_ptr_nonnull(row);
	row = strchr(row + 1, '\n');		/* the end of the head, */
	row = strchr(row + 1, '\n') + 1;	/* and of the line below it */
	while (*row == '|') {
		size_t len = strcspn(row, "\n");

		row[len] = '\0';
		check_row(row, documented);
		row += len + 1;
	}
	for (size_t i = 0; blm_family_at(i); i++)
		ck_assert_msg(documented[blm_family_at(i)->id], "format-spec.md lacks the hash %s",
			      blm_family_at(i)->name);
	free(text);
}
END_TEST

int main(void)
{
	Suite *s = begin_suite("families");
	TCase *tc = tcase_create("families");

	tcase_add_test(tc, format_spec_lists_the_kinds_that_each_hash_family_serves);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
