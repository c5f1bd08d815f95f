/* cmd_kinds.c - bloomery kinds: the kinds of filter there are */
#include "describe.h"
#include "json.h"

static int run(int count, char **operands)
{
	struct blm_kind_info kind;

	for (size_t i = 0; blm_kind_list(i, &kind) == 0; i++) {
		if (!json) {
			printf("%-10s %s\n%-10s can: ", kind.name, kind.summary, "");
			print_abilities(kind.can);
			continue;
		}
		json_begin();
		json_text("name", kind.name);
		json_text("summary", kind.summary);
		json_count("id", kind.id);
		json_abilities(kind.can);
		json_end();
	}
	return DONE;
}

static const struct opt *const options[] = { json_option, NULL };

const struct command cmd_kinds = {
	.name = "kinds",
	.group = ON_PAPER,
	.summary = "list the kinds of filter and what they can do",
	.operands = "",
	.example = "bloomery kinds",
	.options = options,
	.run = run,
};
