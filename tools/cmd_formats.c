/* cmd_formats.c - bloomery formats: the file formats that are read and written */
#include "command.h"
#include "json.h"

static int run(int count, char **operands)
{
	static const char summary[] = "the native format, mapped as it is";

	if (!json) {
		printf("%-10s read, write  version 1  %s\n", "bloomery", summary);
		return DONE;
	}
	json_begin();
	json_text("name", "bloomery");
	json_text("summary", summary);
	json_bool("read", true);
	json_bool("write", true);
	json_count("version", 1);
	json_end();
	return DONE;
}

static const struct opt *const options[] = { json_option, NULL };

const struct command cmd_formats = {
	.name = "formats",
	.group = ON_PAPER,
	.summary = "list the file formats",
	.operands = "",
	.example = "bloomery formats",
	.options = options,
	.run = run,
};
