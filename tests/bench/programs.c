/*
 * programs.c - whole programs: ours and others over a text, and with one question to a large filter
 */
#include "bench.h"
#include "child.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* What the programs of a site work on; `program` is ours. */
struct it {
	const char *program;
	char *split, *nothing, *linked, *text, *known, *filter, *claimed, *dcso, *inserted,
		*numbers, *rate;
};

/* ---- Running ---- */

static int timed(const char *const *argv, const char *input, int most_code, struct result *ret)
{
	struct run run;
	int r = run_program(argv, input, &run);

	if (r < 0 || run.code < 0 || run.code > most_code) {
		snprintf(ret->reason, sizeof(ret->reason), "%s %s: %s", argv[0],
			 argv[1] ? argv[1] : "", r < 0 ? strerror(-r) : "failed");
		return r < 0 ? r : -EIO;
	}
	ret->value += run.ms;
	ret->peak = run.mib > ret->peak ? run.mib : ret->peak;
	return 0;
}

#define ARGV(...) (const char *const[]){ __VA_ARGS__, NULL }

static int split_alone(struct site *s, struct result *ret)
{
	struct it *it = s->it;

	return timed(ARGV(it->split), it->text, 0, ret);
}

static int claim(struct site *s, struct result *ret)
{
	struct it *it = s->it;

	unlink(it->claimed);
	return timed(ARGV(it->program, "claim", it->claimed, "--create", "-n", it->numbers, "-p",
			  it->rate),
		     it->text, 0, ret);
}

static int claim_by_one(struct site *s, struct result *ret)
{
	struct it *it = s->it;

	unlink(it->claimed);
	return timed(ARGV(it->program, "claim", it->claimed, "--create", "-n", it->numbers, "-p",
			  it->rate, "-j", "1"),
		     it->text, 0, ret);
}

static int test(struct site *s, struct result *ret)
{
	struct it *it = s->it;

	/* half of the text was added */
	return timed(ARGV(it->program, "test", it->filter), it->text, 0, ret);
}

static int sort_unique(struct site *s, struct result *ret)
{
	return timed(ARGV("sort", "-u"), ((struct it *)s->it)->text, 0, ret);
}

static int awk_unique(struct site *s, struct result *ret)
{
	return timed(ARGV("awk", "!s[$0]++"), ((struct it *)s->it)->text, 0, ret);
}

/* A new filter and the text into it, as `claim --create` does. */
static int dcso_insert(struct site *s, struct result *ret)
{
	struct it *it = s->it;
	int r;

	unlink(it->inserted);
	r = timed(ARGV("bloom", "create", "-p", it->rate, "-n", it->numbers, it->inserted), NULL, 0,
		  ret);
	return r < 0 ? r : timed(ARGV("bloom", "insert", it->inserted), it->text, 0, ret);
}

static int dcso_check(struct site *s, struct result *ret)
{
	struct it *it = s->it;

	return timed(ARGV("bloom", "check", it->dcso), it->text, 1, ret);
}

/* One is too short for a clock. */
static int many_times(const char *const *argv, const char *input, int most_code, struct result *ret)
{
	enum { TIMES = 20 };
	int r = 0;

	for (int i = 0; i < TIMES && r == 0; i++)
		r = timed(argv, input, most_code, ret);
	ret->value /= TIMES;
	return r;
}

static int ask_once(struct site *s, struct result *ret)
{
	struct it *it = s->it;

	/* its key is there */
	return many_times(ARGV(it->program, "test", it->filter), it->known, 0, ret);
}

static int do_nothing(struct site *s, struct result *ret)
{
	return many_times(ARGV(((struct it *)s->it)->nothing), NULL, 0, ret);
}

static int do_nothing_linked(struct site *s, struct result *ret)
{
	return many_times(ARGV(((struct it *)s->it)->linked), NULL, 0, ret);
}

static int memory_of_asking(struct site *s, struct result *ret)
{
	struct it *it = s->it;

	return private_memory(ARGV(it->program, "test", it->filter), "key 1\n", &ret->value);
}

static int dcso_once(struct site *s, struct result *ret)
{
	struct it *it = s->it;

	return timed(ARGV("bloom", "check", it->dcso), it->known, 1, ret);
}

static const struct work text_works[] = {
	{ .name = "read, split, hash alone", .measure = split_alone, .unit = "ms" },
	{ .name = "bloomery claim",
	  .limit = "read, split, hash alone",
	  .measure = claim,
	  .unit = "ms" },
	{ .name = "bloomery claim -j 1",
	  .limit = "read, split, hash alone",
	  .measure = claim_by_one,
	  .unit = "ms" },
	{ .name = "bloomery test",
	  .limit = "read, split, hash alone",
	  .measure = test,
	  .unit = "ms" },
	{ .name = "sort -u",
	  .limit = "read, split, hash alone",
	  .measure = sort_unique,
	  .unit = "ms" },
	{ .name = "awk '!s[$0]++'",
	  .limit = "read, split, hash alone",
	  .measure = awk_unique,
	  .unit = "ms",
	  .needs = "awk" },
	{ .name = "DCSO bloom create, insert",
	  .limit = "read, split, hash alone",
	  .measure = dcso_insert,
	  .unit = "ms",
	  .needs = "bloom" },
	{ .name = "DCSO bloom check",
	  .limit = "read, split, hash alone",
	  .measure = dcso_check,
	  .unit = "ms",
	  .needs = "bloom" },
};

static const struct work question_works[] = {
	{ .name = "bloomery test, one question", .measure = ask_once, .unit = "ms" },
	{ .name = "nothing", .measure = do_nothing, .unit = "ms" },
	{ .name = "nothing, with zlib, zstd, libmd", .measure = do_nothing_linked, .unit = "ms" },
	{ .name = "DCSO bloom check, one question",
	  .measure = dcso_once,
	  .unit = "ms",
	  .needs = "bloom" },
	{ .name = "bloomery test, private memory", .measure = memory_of_asking, .unit = "MiB" },
};

/* ---- Making ---- */

/* Lines as of a crawler's log, about 60 bytes; below three quarters as many different ones. */
static int write_text(const char *path, uint64_t lines, uint64_t ids)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return -errno;
	for (uint64_t i = 0; i < lines; i++) {
		uint64_t id = below(mix(i * 40503), ids), x = mix(id);

		fprintf(f, "https://www.site-%05llu.example.org/%llx/%llx/page-%llu.html\n",
			(unsigned long long)(x % 20011), (unsigned long long)(x >> 20 & 0xffff),
			(unsigned long long)(x >> 36), (unsigned long long)id);
	}
	return fclose(f) == 0 ? 0 : -errno;
}

static int quietly(const char *const *argv, const char *input)
{
	struct result ignored = { 0 };

	return timed(argv, input, 0, &ignored);
}

static int make_filters(struct it *it, const char *kind)
{
	int r = quietly(ARGV(it->program, "create", it->filter, "-n", it->numbers, "-p", it->rate,
			     "--kind", kind),
			NULL);

	if (r == 0)
		r = quietly(ARGV(it->program, "add", it->filter), it->known);
	if (r == 0 && have_program("bloom"))
		r = quietly(ARGV("bloom", "create", "-p", it->rate, "-n", it->numbers, it->dcso),
			    NULL);
	if (r == 0 && have_program("bloom"))
		r = quietly(ARGV("bloom", "insert", it->dcso), it->known);
	return r;
}

static void close_it(struct site *s)
{
	struct it *it = s->it;
	char *const all[] = { it->split,    it->nothing, it->linked,  it->text,
			      it->known,    it->filter,	 it->claimed, it->dcso,
			      it->inserted, it->numbers, it->rate };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		free(all[i]);
	free(it);
	s->it = NULL;
}

/* A program of the same folder. */
static char *beside_ours(const char *name)
{
	char *self = realpath("/proc/self/exe", NULL), *slash = self ? strrchr(self, '/') : NULL,
	     *ret = NULL;

	if (slash && asprintf(&ret, "%.*s/%s", (int)(slash - self), self, name) < 0)
		ret = NULL;
	free(self);
	return ret;
}

static struct it *names(struct site *s)
{
	struct it *it = calloc(1, sizeof(*it));
	const char *const ends[] = { "text", "known", "filter", "claimed", "dcso", "inserted" };
	char **const ret[] = { &it->text,    &it->known, &it->filter,
			       &it->claimed, &it->dcso,	 &it->inserted };

	if (!it)
		return NULL;
	s->it = it;
	it->program = s->name;
	it->split = beside_ours("bench-split");
	it->nothing = beside_ours("bench-nothing");
	it->linked = beside_ours("bench-nothing-linked");
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (asprintf(ret[i], "%s.%s", s->path, ends[i]) < 0)
			*ret[i] = NULL;
	if (asprintf(&it->numbers, "%llu", (unsigned long long)s->keys) < 0
	    || asprintf(&it->rate, "%g", s->rate) < 0 || !it->split || !it->nothing || !it->linked
	    || !it->inserted) {
		close_it(s);
		return NULL;
	}
	return it;
}

static int make_text(struct site *s)
{
	struct it *it = names(s);
	int r = it ? write_text(it->text, s->keys, s->keys * 3 / 4) : -ENOMEM;

	if (r == 0)
		r = write_text(it->known, s->keys / 2, s->keys * 3 / 8);
	if (r == 0)
		r = make_filters(it, "blocked");
	s->data_bytes = r == 0;
	return r;
}

static int make_large(struct site *s)
{
	struct it *it = names(s);
	int r = it ? write_text(it->known, 1, 1) : -ENOMEM;

	if (r == 0)
		r = make_filters(it, "classic");	/* as DCSO's is */
	s->data_bytes = r == 0;
	return r;
}

const struct engine lines_of_text = {
	.name = "text",
	.make = make_text, .close = close_it,
	.works = text_works, .work_count = ARRAY_LEN(text_works),
};

const struct engine one_question = {
	.name = "one question",
	.make = make_large, .close = close_it,
	.works = question_works, .work_count = ARRAY_LEN(question_works),
};
