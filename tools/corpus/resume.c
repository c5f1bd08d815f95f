/*
 * resume.c - the journals of a run's files: found, restored after a power cut, and deleted
 *
 * A journal stays until its output is finished and the filter is synced, because a power cut takes
 * keys from a filter that is not. The next run adds them again.
 */
#include "../durable.h"
#include "../signals.h"
#include "../source.h"
#include "result.h"
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <sys/stat.h>

enum { LEFT_UNITS = 32 << 20 };		/* 256 MiB of journals */

static void mark_of(const struct run *r, const struct stat *st, uint8_t ret[MARK])
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *all = open_memstream(&text, &bytes);

	memset(ret, 0, MARK);
	if (!all)
		return;
	/* a line that ends a run without --skip-bad has no unit, so that option changes nothing */
	fprintf(all, "%d %d %d %llu %llu %llu %a %lld %lld.%09ld", corpus.by, corpus.judged,
		corpus.dolma, (unsigned long long)corpus.ngram,
		(unsigned long long)corpus.stride, (unsigned long long)corpus.min_tokens,
		corpus.threshold, (long long)st->st_size, (long long)st->st_mtim.tv_sec,
		st->st_mtim.tv_nsec);
	fprintf(all, " %llu/%llu", (unsigned long long)corpus.partition.part,
		(unsigned long long)corpus.partition.count);
	fprintf(all, "%c%s%c%s%c%s%c", 0, corpus.key, 0, corpus.text, 0, corpus.separator, 0);
	for (size_t i = 0; i < r->count; i++) {
		struct blm_info info = BLM_INFO;

		if (blm_info(r->filters[i], &info) == 0)
			fwrite(info.uuid, sizeof(info.uuid), 1, all);
	}
	if (fclose(all) == 0)
		crypto_generichash(ret, MARK, (const uint8_t *)text, bytes, NULL, 0);
	free(text);
}

int journal_place(const struct run *r, const char *name, const char *place, char **ret,
		  uint8_t ret_mark[MARK])
{
	char *whole = absolute_place(place);
	struct stat st;
	int code = whole ? DONE : FAILED;

	*ret = NULL;
	if (code == DONE && stat(name, &st) < 0)
		code = broken("%s: %s", name, strerror(errno));
	if (code == DONE && !S_ISREG(st.st_mode))
		code = broken("%s: is no file, so it cannot be read again after a kill; make it a "
			      "file, or leave out %s", name, corpus.dir ? "-o" : "--attributes");
	if (code == DONE) {
		*ret = beside(whole, "claims");
		mark_of(r, &st, ret_mark);
		code = *ret ? DONE : broken("out of memory");
	}
	free(whole);
	return code;
}

/* ---- After a power cut ---- */

/* The journal has answers of another boot, so that the verb's work adds keys and asks nothing. */
static int add_units(struct run *r, struct source *source)
{
	struct batch_of_documents batch = { 0 };
	struct block block = { 0 };
	int code = DONE, more = 1;

	r->next = 0;
	while (code == DONE && !stopping() && r->next < r->journal.units) {
		more = block_read(&block, source);
		if (more <= 0)
			break;
		code = cut_block(&r->cutter, &block, source->name, &batch);
		if (code == DONE)
			code = r->work(r, &batch);
	}
	batch_of_documents_free(&batch);
	block_free(&block);
	if (code == DONE && !stopping() && (more < 0 || r->next < r->journal.units))
		code = more < 0 ? FAILED : broken("%s: has fewer units than its journal %s",
						  source->name, r->journal.file.path);
	return code;
}

static int restore_file(struct run *r, const char *name)
{
	struct source source;
	int code = source_open(&source, name, NULL);

	if (code != DONE)
		return code;
	if (!quiet)
		say("%s: the machine was started anew; the keys of its journal are added again",
		    name);
	r->journaled = true;	/* so the work takes the answers of the journal */
	code = add_units(r, &source);
	r->journaled = false;
	source_close(&source);
	return code == DONE && !stopping() ? journal_restored(&r->journal) : code;
}

/* The process that has the journal may be restoring it. */
static int restore_old(struct run *r, const char *name, const char *path,
		       const uint8_t mark[MARK])
{
	struct pollfd stop = { .fd = stop_descriptor(), .events = POLLIN };
	bool busy;
	int code;

	while (!stopping() && journal_is_old(path)) {
		code = journal_open(&r->journal, &r->ledger, path, mark, false, &busy);
		if (code == DONE && busy) {
			poll(&stop, 1, 50);
			continue;
		}
		if (code == DONE && r->journal.other_boot)
			code = restore_file(r, name);
		journal_close(&r->journal, false);
		return code;
	}
	return DONE;
}

int restore_keys(struct run *r, const char *name, const char *place)
{
	char *path;
	uint8_t mark[MARK];
	int code = journal_place(r, name, place, &path, mark);

	if (code == DONE)
		code = restore_old(r, name, path, mark);
	free(path);
	return code;
}

/* ---- After a file ---- */

int delete_journals(struct run *r, int code)
{
	/* those that stay are deleted by the next run */
	if (code == DONE && r->left_count && !stopping())
		code = sync_now(r->filters[0]);
	for (size_t i = 0; i < r->left_count; i++) {
		if (code == DONE && !stopping())
			journal_delete(r->left[i]);
		free(r->left[i]);
	}
	free(r->left);
	r->left = NULL;
	r->left_count = r->left_capacity = 0;
	r->left_units = 0;
	return code;
}

int leave_journal(struct run *r, int code, bool finished)
{
	struct journal *j = &r->journal;
	char *path = NULL;

	r->journaled = false;
	finished = finished && code == DONE;
	if (finished && r->claims && j->units) {
		path = strdup(j->file.path);
		if (!path || !more_space(&r->left, &r->left_capacity, r->left_count + 1,
					 sizeof(*r->left))) {
			free(path);
			code = broken("out of memory");
		} else {
			r->left[r->left_count++] = path;
			r->left_units += j->units;
		}
	}
	journal_close(j, finished && !path && code == DONE);
	return code == DONE && r->left_units > LEFT_UNITS ? delete_journals(r, code) : code;
}
