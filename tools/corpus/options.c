/* options.c - what the options of `bloomery corpus` are before they are given, and together */
#include "corpus.h"

struct corpus_options corpus = {
	.key = NULL, .text = "/text", .id = "/id", .separator = "\n", .ngram = 13, .stride = 1,
	.threshold = 0.8, .min_tokens = UINT64_MAX,
};

int corpus_set_separator(const struct opt *opt, const char *text)
{
	if (!*text)
		return misuse("--separator: must not be empty");
	corpus.separator = !strcmp(text, "\\n") ? "\n" : !strcmp(text, "\\n\\n") ? "\n\n" : text;
	return DONE;
}

int corpus_complete(void)
{
	if (corpus.annotate && corpus.attributes)
		return misuse("corpus: --annotate and --attributes exclude each other");
	if (corpus.key && corpus.by != BY_DOCUMENT)
		return misuse("corpus: --json-key (or --key) is for --by document; --text names "
			      "the text");
	if (!corpus.key)
		corpus.key = corpus.text;
	if (corpus.min_tokens == UINT64_MAX)
		corpus.min_tokens = !corpus.dolma;
	if (!corpus.attribute)
		corpus.attribute = corpus.attributes ? corpus.attributes : "duplicate_spans";
	return DONE;
}
