/* cmd_formats.c - bloomery formats: the file formats that are read and written */
#include "command.h"
#include "fit.h"
#include "json.h"
#include "terms.h"

static void show(const struct blm_format_info *f)
{
	if (!json) {
		printf("%-18s %s%s%s\n%-18s   text: %s\n", f->name, own_terms(f->summary),
		       f->in_place ? "; also opened as it is" : "",
		       f->read_only ? "; only read" : "", "", f->text);
		if (f->limits)
			printf("%-18s   limits: %s\n", "", own_terms(f->limits));
		if (f->hashes)
			printf("%-18s   hashes: %s\n", "", f->hashes);
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
	struct blm_format_info format;

	fit_output(21);
	for (size_t i = 0; blm_format_list(i, &format) == 0; i++)
		show(&format);
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
