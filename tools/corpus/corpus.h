/* corpus.h - what `bloomery corpus` is asked to do, and the documents that it has in hand */
#ifndef BLOOMERY_CORPUS_H
#define BLOOMERY_CORPUS_H

#include "../command.h"
#include "../json_pointer.h"
#include "../tokens.h"

enum by { BY_DOCUMENT, BY_PARAGRAPH, BY_NGRAM };
enum judged { JUDGE_PARAGRAPHS, JUDGE_DOCUMENTS, JUDGE_BOTH };	/* by n-grams */

/* What makes two runs decide alike, but for the filter. */
struct corpus_options {
	enum by by;
	enum judged judged;
	const char *key, *text, *id;	/* JSON Pointers */
	const char *separator;
	uint64_t ngram, stride, min_tokens;
	double threshold;
	bool skip_bad, dolma;
	struct partition {
		uint64_t part, count;	/* from 0; count 0: all keys */
	} partition;
	/* of the output alone */
	bool annotate;
	const char *attributes, *attribute, *dir, *report;
};

extern struct corpus_options corpus;

/* ---- options.c ---- */

/* What both programs take: where a document's values are, and what is written. */
extern const struct opt corpus_document_options[];
/* Checks the options together, and sets those that were not given. Return: DONE or USAGE. */
int corpus_complete(void);

/*
 * Is it a part of the n-grams? It cannot know which units are kept, so it adds the keys of all, and
 * its spans have numbers of seen keys, which merge adds up.
 */
static inline bool is_part_of_ngrams(void)
{
	return corpus.by == BY_NGRAM && corpus.partition.count;
}

/* Do documents that are written lose what is removed? Else it is described. */
static inline bool writes_texts(void)
{
	return !corpus.attributes && !corpus.annotate;
}

/*
 * A piece of a text that is judged by its keys: a document, a paragraph, or one of them with its
 * n-grams. A unit without keys is kept and has no place in the journal.
 */
struct unit {
	uint32_t begin, end;	/* bytes of the text, the separator behind it included */
	uint32_t body_end;	/* ... without the separator */
	uint32_t first;		/* of its keys */
	uint32_t asked, added;	/* keys: that are asked, of those that are added */
	uint32_t seen;		/* of those that are asked */
	bool blank;		/* has no token */
	bool removed;
};

/* A batch has many, and each step reads all of them. */
_Static_assert(sizeof(struct unit) == 32, "two units are one cache line");

struct document {
	const char *line;	/* without its end */
	size_t length;
	size_t text_begin, text_end;	/* bytes of the line: the string, with its quotes */
	size_t id_begin, id_end;	/* ... the id; equal: it has none */
	size_t text, text_length;	/* in the arena, decoded */
	size_t first, count;	/* units */
	uint64_t keyed, keys;	/* units that have keys; their keys that are asked */
	size_t gone;		/* units that are removed */
	size_t edge, edges;	/* of the batch: the first one, and how many */
	bool removed;
};

struct decision;

/* The documents of one block of lines, with their units, keys and hashes. */
struct batch_of_documents {
	struct document *documents;
	struct unit *units;
	struct blm_key *keys;	/* in the arena */
	struct blm_hash *hashes;	/* of the keys, for one filter */
	/*
	 * If it `cuts`, for each document that is shortened: where each piece that is kept begins
	 * and where it ends, in bytes of the text
	 */
	uint32_t *edges;
	struct decision *decision;	/* of decide.c, for the next batch too */
	char *arena;		/* the decoded texts, and joined tokens */
	size_t document_count, unit_count, key_count, edge_count, used;
	size_t document_capacity, unit_capacity, key_capacity, hash_capacity, edge_capacity;
	size_t arena_capacity;
	uint64_t bad;		/* lines that were left out */
	uint64_t bytes;		/* of all lines */
	bool cuts;		/* texts are written without what is removed */
	bool judged;		/* by judge_and_claim() already */
	double rate;		/* of the filter while it was asked, if keys are claimed */
};

/* ---- block.c: lines ---- */

enum { LINE_MOST = 64 << 20 };

struct block {
	char *text;
	size_t used, end, capacity;	/* whole lines; bytes; bytes that there is room for */
	size_t want;		/* bytes of a block, unless a line is longer */
	size_t most;		/* the final value of `want`; 0: 512 KiB */
	uint64_t line;		/* number of the first line, from 0 */
	uint64_t too_long;	/* lines that were left out */
	bool ended;
};

struct source;

/*
 * block_read() - the next whole lines of a source, each with its end
 *
 * With --skip-bad longer lines than LINE_MOST are left out, else they are an error.
 * Return: 1; 0: there are no more, or the program is to stop; -1 after a message.
 */
int block_read(struct block *block, struct source *source);
void block_free(struct block *block);

/* ---- units.c: documents to units and their keys ---- */

struct cutter {
	struct json_pointer *pointers[3];	/* text or key, id */
	size_t count;
	struct json_reader *reader;
	struct tokens tokens;
};

/* Return: an exit code, with a message where it is not DONE; for all of these. */
int cutter_open(struct cutter *ret);
void cutter_close(struct cutter *cutter);
/* The documents of a block. @name: of the source, for messages */
int cut_block(struct cutter *cutter, const struct block *block, const char *name,
	      struct batch_of_documents *ret);
void batch_of_documents_free(struct batch_of_documents *batch);
/* room for one more element, at least doubling it. Return: false: out of memory */
bool more_space(void *array, size_t *capacity, size_t want, size_t bytes);

/* The hashes of all keys, as a filter takes them. Return: an exit code, with a message */
int hash_keys(struct batch_of_documents *batch, const struct blm_filter *f);

/* ---- decide.c: which units are kept; judge.c: what is removed by that ---- */

struct ledger;
struct journal;

/*
 * judge_and_claim() - ask the filter for the units, and add those that are kept, in the ledger
 * @next: how many units of the input were judged before; the journal knows the first of them
 *
 * With a journal from before the machine started the filter is asked nothing, and gets the keys of
 * the units that the journal knows as kept.
 */
int judge_and_claim(struct batch_of_documents *batch, struct ledger *ledger,
		    struct journal *journal, uint64_t *next);
/* ... of a filter that does not change. Answers are added to those of filters before. */
int judge_only(struct batch_of_documents *batch, const struct blm_filter *f, uint64_t hash_id,
	       uint64_t *ret_found);
void decision_free(struct decision *decision);
/*
 * Sets `removed` of units and documents by their answers, the counts of documents, and the edges of
 * what is kept, once. Return: an exit code, with a message
 */
int judge(struct batch_of_documents *batch);

/* ---- write.c: what becomes of the documents ---- */

struct result;

size_t code_points(const char *text, size_t bytes);
int write_documents(const struct batch_of_documents *batch, struct result *result);

#endif
