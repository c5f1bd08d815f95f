/* reader.c - the lines of a rank's share, a batch at a time */
#include "reader.h"

void reader_begin(struct reader *ret, const struct share *share, char **names)
{
	*ret = (struct reader){ .share = share, .names = names };
}

/* Return: is there one? */
static bool next_source(struct reader *r)
{
	static char name[4096];

	for (; r->next < r->share->count; r->next++) {
		const struct piece *p = &r->share->pieces[r->next];

		if (p->rank != rank)
			continue;
		snprintf(name, sizeof(name), "%s", of_rank(r->names[p->file]));
		must(p->to ? source_open_part(&r->source, name, p->from, p->to, p->whole,
						 line_end())
		     : source_open(&r->source, name, NULL));
		r->next++;
		r->lines = 0;
		return r->open = true;
	}
	return false;
}

static void refuse_line(const struct reader *r, const struct batch *b, const char *wrong)
{
	/* of a part that does not begin at the first byte the number of the line is not known */
	give_up(broken("%s: line %llu%s %s", r->source.name,
		       (unsigned long long)(r->lines + b->count + 1),
		       r->source.to ? " of this rank's part" : "", wrong));
}

struct batch *reader_next(struct reader *r)
{
	double begun = seconds();

	/* an empty file's batch is read into again, so that the one before it stays as it is */
	for (bool again = false;; again = true) {
		struct batch *before = r->open ? &r->batch[r->last] : NULL, *b;
		const char *wrong;
		int more;

		if (!r->open && !next_source(r))
			return NULL;
		if (before)
			r->lines += before->read + before->skipped;
		r->last ^= !again;
		b = &r->batch[r->last];
		more = batch_read(b, before, &r->source);
		if (more < 0)
			give_up(FAILED);
		b->source = r->source.name;
		wrong = batch_split(b);
		if (wrong)
			refuse_line(r, b, wrong);
		r->skipped += b->skipped;
		if (!more) {
			source_close(&r->source);
			r->open = false;
		}
		if (b->count) {
			r->keys += b->count;
			r->busy += seconds() - begun;
			return b;
		}
	}
}

void reader_end(struct reader *r)
{
	if (r->open)
		source_close(&r->source);
	batch_free(&r->batch[0]);
	batch_free(&r->batch[1]);
}

void tell_skipped(const struct reader *r)
{
	uint64_t skipped = sum_of_all(r->skipped);

	if (!rank && !quiet && skipped)
		say("%llu lines without a key were skipped", (unsigned long long)skipped);
}
