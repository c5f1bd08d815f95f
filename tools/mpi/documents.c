/* documents.c - the documents of a rank's files: read, asked in rounds, written */
#include "documents.h"
#include "../corpus/record.h"
#include "jobs.h"

#include <unistd.h>

enum { LOCK_SECONDS = 30, BLOCK_BYTES = 4 << 20 };

/* ---- Journals ---- */

/* Where it is. Return: NULL: the path is too long, after a message */
static char *journal_path(const struct file *file)
{
	char *whole = absolute_place(file->place), *ret = whole ? beside(whole, "claims") : NULL;

	free(whole);
	return ret;
}

static bool has_journal(const struct file *file)
{
	char *path = journal_path(file);
	bool ret;

	if (!path)
		give_up(FAILED);
	ret = access(path, F_OK) == 0;
	free(path);
	return ret;
}

/* A rank of a job that was killed may take a moment to end. */
static void lock_journal(struct journal *ret, const char *path, const uint8_t mark[MARK])
{
	bool busy = true;

	for (int tries = 10 * LOCK_SECONDS; busy; tries--) {
		must(journal_open(ret, NULL, path, mark, false, &busy));
		if (busy && tries == 10 * LOCK_SECONDS)
			say("%s: is locked by a rank of another job; waiting up to %d seconds",
			    path, LOCK_SECONDS);
		if (busy && !tries)
			give_up(broken("%s: is locked by a rank of another job; wait until it "
				       "ends, or end it", path));
		if (busy)
			usleep(100 * 1000);
	}
}

/*
 * Another machine may have lost answers, so what counts is what the journal has, as after another
 * boot.
 */
static void take_journal(struct documents *d, const struct file *file)
{
	struct journal *j = &d->run->journal;
	uint8_t mark[MARK];
	char *path;

	must(journal_place(d->run, file->name, file->place, &path, mark));
	lock_journal(j, path, mark);
	free(path);
	j->other_boot = true;
	must(read_units(j, NULL));
}

/* Answers, so that the disk has them when this returns. */
static void append_answers(struct journal *j, const uint32_t *seen, size_t count)
{
	uint64_t units = j->units + count;

	if (!count)
		return;
	must(map_bytes(&j->file, HEAD + units * sizeof(struct record)));
	for (size_t i = 0; i < count; i++)
		records_of(j)[j->units + i] = record_of(head_of(j)->mark, j->units + i, seen[i]);
	set_commit(j, 2 * units);
	must(put_on_disk(j));
	set_synced(j, units);
	j->units = units;
}

static void leave_finished(struct documents *d)
{
	struct journal *j = &d->run->journal;

	if (!j->units) {
		journal_close(j, true);
		return;
	}
	if (!more_space(&d->left, &d->left_capacity, d->left_count + 1, sizeof(*d->left)))
		give_up(broken("out of memory"));
	d->left[d->left_count++] = strdup(j->file.path);
	d->left_units += j->units;
	journal_close(j, false);
}

void documents_delete_left(struct documents *d)
{
	for (size_t i = 0; i < d->left_count; i++) {
		journal_delete(d->left[i]);
		free(d->left[i]);
	}
	d->left_count = d->left_units = 0;
}

/* ---- Files ---- */

static bool wants(const struct documents *d, size_t i)
{
	if (d->ranks[i] != rank)
		return false;
	return d->restoring ? has_journal(&d->files[i]) : !is_finished(&d->files[i]);
}

static void open_file(struct documents *d, const struct file *file)
{
	struct journal *j = &d->run->journal;
	bool before = has_journal(file);

	take_journal(d, file);
	must(source_open(&d->source, file->name, NULL));
	d->open = true;
	d->unit = 0;
	d->tally = (struct tally){ 0 };
	block_free(&d->block);
	d->block.most = BLOCK_BYTES;
	if (d->restoring) {
		d->restored++;
		return;
	}
	if (before)
		must(journal_restored(j));
	must(result_begin(&d->result, file->place,
			  d->source.packing ? d->source.packing->name : NULL));
}

/* Return: is there one? */
static bool next_file(struct documents *d)
{
	for (; d->next < d->count; d->next++) {
		if (wants(d, d->next)) {
			open_file(d, &d->files[d->next]);
			return true;
		}
		if (!d->restoring && d->ranks[d->next] == rank)
			d->done[d->next].finished_before = 1;
	}
	return false;
}

static void end_file(struct documents *d)
{
	struct file *file = &d->files[d->next++];

	if (d->restoring && d->unit < d->run->journal.units)
		give_up(broken("%s: has fewer units than its journal %s", file->name,
			       d->run->journal.file.path));
	if (!d->restoring) {
		must(result_finish(&d->result));
		d->tally.bytes_out = d->result.written;
		result_drop(&d->result);
		d->tally.bad += d->block.too_long;
		d->done[file - d->files].tally = d->tally;
		add_tally(&d->run->total, &d->tally);
		d->run->files++;
	}
	source_close(&d->source);
	d->open = false;
	if (is_finished(file))
		leave_finished(d);
	else
		journal_close(&d->run->journal, false);
}

/* ---- Batches ---- */

/* Return: false: the file has no more */
static bool read_batch(struct documents *d)
{
	struct batch_of_documents *b = &d->batch;
	int more = block_read(&d->block, &d->source);

	if (more < 0)
		give_up(FAILED);
	if (!more)
		return false;
	must(cut_block(&d->run->cutter, &d->block, d->source.name, b));
	must(hash_keys(b, d->in->any));
	if (!more_space(&d->owners, &d->owner_capacity, b->key_count + 1, sizeof(*d->owners)))
		give_up(broken("out of memory"));
	find_owners(d->in->any, b->hashes, b->key_count, d->in->count, d->owners);
	d->at = 0;
	return d->in_hand = true;
}

static bool next_batch(struct documents *d)
{
	while (d->open || next_file(d)) {
		if (!(d->restoring && d->unit >= d->run->journal.units) && read_batch(d))
			return true;
		end_file(d);
	}
	return false;
}

/* A unit has one key or none. Return: was its answer known, or was there room for its question? */
static bool ask_unit(struct documents *d, const struct exchange *x, struct side *s,
		     struct unit *unit)
{
	const struct journal *j = &d->run->journal;
	bool known = d->unit < j->units;
	int to;

	if (known)
		unit->seen = journal_seen(j, d->unit);
	if (d->restoring ? known && !unit->seen : !known) {
		to = (int)(d->owners[unit->first] % (uint32_t)ranks);
		if (d->asked_count == d->batch_keys
		    || !exchange_put(x, s, to, &d->batch.hashes[unit->first],
				     (uint32_t)d->asked_count))
			return false;
		d->asked[d->asked_count++] = (uint32_t)(unit - d->batch.units);
	}
	d->unit++;
	return true;
}

static bool ask_all(struct documents *d, const struct exchange *x, struct side *s)
{
	struct batch_of_documents *b = &d->batch;

	for (; d->at < b->unit_count; d->at++)
		if (b->units[d->at].asked && !ask_unit(d, x, s, &b->units[d->at]))
			return false;
	return true;
}

/* All its units have answers. */
static void end_batch(struct documents *d)
{
	d->in_hand = false;
	if (d->restoring)
		return;
	must(judge(&d->batch));
	count_batch(&d->tally, &d->batch, true);
	must(write_documents(&d->batch, &d->result));
}

bool documents_fill(struct documents *d, const struct exchange *x, struct side *s)
{
	exchange_clear(s);
	d->asked_count = 0;
	while (d->in_hand || next_batch(d)) {
		if (!ask_all(d, x, s) || d->asked_count)
			return true;
		end_batch(d);
	}
	return false;
}

void documents_answer(struct documents *d, const uint64_t *seen, double rate)
{
	for (size_t i = 0; seen && i < d->asked_count; i++) {
		d->seen[i] = seen[i / 64] >> i % 64 & 1;
		d->batch.units[d->asked[i]].seen = d->seen[i];
	}
	d->batch.rate = rate;
	if (seen)
		append_answers(&d->run->journal, d->seen, d->asked_count);
	if (d->at == d->batch.unit_count)
		end_batch(d);
}

/* ---- All of them ---- */

static void share(struct documents *d, char **names)
{
	bool *done = must_alloc(d->count, sizeof(*done));

	for (size_t i = 0; i < d->count && !rank; i++)
		done[i] = is_finished(&d->files[i]) && !has_journal(&d->files[i]);
	share_whole(d->ranks, names, done, d->count);
	free(done);
}

void documents_begin(struct documents *ret, struct run *run, const struct folder *in, char **names,
		     size_t count, size_t batch_keys)
{
	*ret = (struct documents){ .run = run, .in = in, .count = count,
				   .batch.cuts = writes_texts(),
				   .batch_keys = batch_keys };
	ret->files = must_alloc(count, sizeof(*ret->files));
	ret->done = must_alloc(count, sizeof(*ret->done));
	ret->ranks = must_alloc(count, sizeof(*ret->ranks));
	ret->asked = must_alloc(batch_keys, sizeof(*ret->asked));
	ret->seen = must_alloc(batch_keys, sizeof(*ret->seen));
	/* rank 0 says what is wrong with the names */
	if (!rank)
		must(find_places(run, ret->files, names, count));
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank)
		must(find_places(run, ret->files, names, count));
	share(ret, names);
}

void documents_restored(struct documents *d)
{
	d->restoring = false;
	d->next = 0;
}

void documents_end(struct documents *d)
{
	for (size_t i = 0; i < d->count; i++)
		free(d->files[i].place);
	free(d->files);
	free(d->done);
	free(d->ranks);
	free(d->asked);
	free(d->seen);
	free(d->owners);
	free(d->left);
	block_free(&d->block);
	batch_of_documents_free(&d->batch);
}
