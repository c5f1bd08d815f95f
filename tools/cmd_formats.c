/* cmd_formats.c - bloomery formats: the file formats that are read and written */
#include "command.h"
#include "fit.h"
#include "json.h"
#include "terms.h"

/* The longest name, for the column of all. */
static int name_columns(void)
{
	struct blm_format_info format;
	int most = 0;

	for (size_t i = 0; blm_format_list(i, &format) == 0; i++)
		if ((int)strlen(format.name) > most)
			most = (int)strlen(format.name);
	return most;
}

static void show(const struct blm_format_info *f, int columns)
{
	if (!json) {
		printf("%-*s %s%s%s\n%-*s   text: %s\n", columns, f->name,
		       own_terms(f->summary), f->in_place ? "; also opened as it is" : "",
		       f->read_only ? "; only read" : "", columns, "", f->text);
		if (f->limits)
			printf("%-*s   limits: %s\n", columns, "", own_terms(f->limits));
		if (f->hashes)
			printf("%-*s   hashes: %s\n", columns, "", f->hashes);
		return;
	}
	json_begin();
	json_text("name", f->name);
	json_text("summary", own_terms(f->summary));
	json_bool("read", true);
	json_bool("write", !f->read_only);
	json_bool("create", f->planned && !f->built);
	json_bool("build", f->planned);
	json_bool("in_place", f->in_place);
	json_text("text", f->text);
	json_text("hashes", f->hashes);
	json_text("limits", own_terms(f->limits));
	json_end();
}

static int run(int count, char **operands)
{
	const int columns = name_columns();
	struct blm_format_info format;

	fit_output((unsigned)columns + 3);
	for (size_t i = 0; blm_format_list(i, &format) == 0; i++)
		show(&format, columns);
	return DONE;
}

static const struct opt *const options[] = { json_option, NULL };

const struct command cmd_formats = {
	.name = "formats",
	.group = ON_PAPER,
	.summary = "list the file formats",
	.operands = "",
	.notes = "'bloomery import' reads and 'bloomery export' writes each of them, as a file and "
	"as text; 'bloomery create --format' makes a\nfilter that the other program will take, "
	"'bloomery build --format' one of given keys (and only that makes one for bip158).\nWhere "
	"the beginning of a file does not tell, --format names it.",
	.example = "bloomery formats",
	.options = options,
	.run = run,
};
