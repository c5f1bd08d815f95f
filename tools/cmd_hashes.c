/* cmd_hashes.c - bloomery hashes: the hash families there are */
#include "command.h"
#include "fit.h"
#include "json.h"
#include "terms.h"

static int run(int count, char **operands)
{
	struct blm_hash_info hash;

	fit_output(27);
	for (size_t i = 0; blm_hash_list(i, &hash) == 0; i++) {
		if (!json) {
			printf("%-16s %3u bits%s  %s\n", hash.name, hash.bits,
			       hash.keyed ? ", keyed" : "       ", own_terms(hash.summary));
			continue;
		}
		json_begin();
		json_text("name", hash.name);
		json_text("summary", own_terms(hash.summary));
		json_count("id", hash.id);
		json_count("bits", hash.bits);
		json_bool("keyed", hash.keyed);
		json_bool("seeds_by_probe", hash.seeds_by_probe);
		json_count("digest_bytes", hash.digest_bytes);
		json_end();
	}
	return DONE;
}

static const struct opt *const options[] = { json_option, NULL };

const struct command cmd_hashes = {
	.name = "hashes",
	.group = ON_PAPER,
	.summary = "list the hash families",
	.operands = "",
	.notes = "Families of 128 bits serve every kind but bitmap and range, unless their line "
	"says otherwise; 'create' names the kinds that\n"
	"another family serves. Only "
	"keyed families protect from keys that an adversary chooses; the seeds of the others are "
	"in the file and protect from nothing.",
	.example = "bloomery hashes --json",
	.options = options,
	.run = run,
};
