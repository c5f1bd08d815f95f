/* cmd_schemes.c - bloomery schemes: the ways to choose bits by a hash, other than our own */
#include "command.h"
#include "fit.h"
#include "json.h"
#include "terms.h"

static int run(int count, char **operands)
{
	struct blm_scheme_info s;

	fit_output(18);
	for (size_t i = 0; blm_scheme_list(i, &s) == 0; i++) {
		if (!json) {
			printf("%-16s  %s\n", s.name, own_terms(s.summary));
			if (s.caveat)
				printf("%-16s    %s\n", "", own_terms(s.caveat));
			continue;
		}
		json_begin();
		json_text("name", s.name);
		json_text("summary", own_terms(s.summary));
		json_text("caveat", own_terms(s.caveat));
		json_count("id", s.id);
		json_count("bits", s.bits);
		json_count("slice_bits", s.slice_bits);
		json_bool("by_key", s.by_key);
		json_bool("ranges", s.ranges);
		json_end();
	}
	return DONE;
}

static const struct opt *const options[] = { json_option, NULL };

const struct command cmd_schemes = {
	.name = "schemes",
	.group = ON_PAPER,
	.summary = "list the schemes by which classic and scalable filters can choose bits",
	.operands = "",
	.notes = "Without --scheme, the scheme of Bloomery or of the hash family chooses the "
	"bits, and keeps the rate that m and k promise.\n"
	"Some schemes do not always keep this rate: this list and 'info' say so, and 'measure' "
	"shows it.",
	.example = "bloomery schemes --json",
	.options = options,
	.run = run,
};
