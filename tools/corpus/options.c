/* options.c - what the options of `bloomery corpus` are before they are given, and together */
#include "corpus.h"
#include "../values.h"

struct corpus_options corpus = {
	.key = NULL, .text = "/text", .id = "/id", .separator = "\n", .ngram = 13, .stride = 1,
	.threshold = 0.8, .min_tokens = UINT64_MAX,
};

static int set_separator(const struct opt *opt, const char *text)
{
	if (!*text)
		return misuse("--separator: must not be empty");
	corpus.separator = !strcmp(text, "\\n") ? "\n" : !strcmp(text, "\\n\\n") ? "\n\n" : text;
	return DONE;
}

const struct opt corpus_document_options[] = {
	{ 0, "json-key", "POINTER", "the JSON Pointer of a document's key (default: that of its "
	  "text)", set_text, &corpus.key },
	{ 0, "key", "POINTER", NULL, set_text, &corpus.key },	/* an earlier name */
	{ 0, "text", "POINTER", "... of its text (default: /text)", set_text, &corpus.text },
	{ 0, "document-id", "POINTER", "... of its id, for --attributes (default: /id)", set_text,
	  &corpus.id },
	{ 0, "separator", "TEXT", "the text between paragraphs (default: \\n"
	  ")",
	  set_separator, NULL },
	{ 0, "min-tokens", "N", "keep texts of fewer tokens (default: 1)", set_number,
	  &corpus.min_tokens, 0, 1000000000 },
	{ 0, "annotate", NULL, "write all documents, with the spans that would be removed",
	  set_flag, &corpus.annotate },
	{ 0, "attributes", "NAME", "write dolma's attribute files, to /attributes/NAME/ for "
	  "/documents/ or to DIR", set_text, &corpus.attributes },
	{ 0, "attribute", "NAME", "the member that has the spans (default: NAME of --attributes, "
	  "or duplicate_spans)", set_text, &corpus.attribute },
	{ 0, "report", "FILE", "write a report to FILE: counts for each input, as JSON; as a page "
	  "if FILE ends in .html", set_text, &corpus.report },
	{ 0, "skip-bad", NULL, "skip lines that cannot be read, and count them", set_flag,
	  &corpus.skip_bad },
	{ 0 }
};

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
