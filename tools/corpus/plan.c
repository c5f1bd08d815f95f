/*
 * plan.c - documents, keys, different keys, the size of a filter and the time, by a sample
 *
 * The sample is the beginning of each of some files, evenly spaced in the list, since a packed file
 * can only be read from its beginning. What it has is multiplied by how much larger the files are.
 */
#include "plan.h"
#include "distinct.h"
#include "../json.h"
#include "../numbers.h"
#include "../params.h"
#include "../place.h"
#include "../progress.h"
#include "../signals.h"
#include "../source.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

struct sample {
	uint64_t files, read_files;
	double bytes, read_bytes;	/* as they are packed: of all files, of the sample */
	double lines, documents, units, keys, bad;
	double seconds;
	struct distinct distinct;
	struct text_by_keys text;
	struct blm_filter *hasher;	/* in memory; it also shows what a claim takes at least */
};

/* ---- The sample ---- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int count_documents(struct sample *s, struct batch_of_documents *b)
{
	int code = hash_keys(b, s->hasher);
	uint64_t *bits = calloc(b->key_count / 64 + 1, sizeof(*bits));
	int64_t r = code == DONE && bits ? blm_claim_hashes(s->hasher, blm_hash_id(s->hasher),
							     b->hashes, b->key_count, bits) : 0;

	free(bits);
	if (code == DONE && !bits)
		code = broken("out of memory");
	if (code == DONE && r < 0)
		code = fail(r);
	if (code != DONE)
		return code;
	for (size_t i = 0; i < b->key_count; i++)
		distinct_add(&s->distinct, b->hashes[i].lo);
	for (size_t i = 0; i < b->unit_count; i++) {
		const struct unit *unit = &b->units[i];

		s->text.bytes[unit->asked < UNIT_KEYS ? unit->asked : UNIT_KEYS]
			+= (double)(unit->end - unit->begin);
		s->units += unit->asked > 0;
	}
	s->documents += (double)b->document_count;
	s->keys += (double)b->key_count;
	s->bad += (double)b->bad;
	s->lines += (double)b->bytes;
	return DONE;
}

/* As it is packed: without the bytes that are read, but not unpacked, or are a part of a line. */
static uint64_t used_of(const struct source *source, const struct block *block)
{
	uint64_t rest = source->in.count + (source->packing ? 0 : block->end - block->used);

	return source->taken - (rest < source->taken ? rest : source->taken);
}

static int read_some(struct sample *s, struct cutter *cutter, const char *name, double most)
{
	struct batch_of_documents batch = { 0 };
	struct block block = { 0 };
	struct source source;
	int code = source_open(&source, name, NULL), more;

	if (code != DONE)
		return code;
	while (code == DONE && !stopping() && (double)used_of(&source, &block) < most
	       && (more = block_read(&block, &source)) != 0) {
		code = more < 0 ? FAILED : cut_block(cutter, &block, source.name, &batch);
		if (code == DONE)
			code = count_documents(s, &batch);
		progress_now((uint64_t)s->documents, (uint64_t)s->read_bytes + source.taken);
	}
	s->read_bytes += (double)used_of(&source, &block);
	s->bad += (double)block.too_long;
	s->read_files++;
	source_close(&source);
	batch_of_documents_free(&batch);
	block_free(&block);
	return code;
}

/* A stream has no size: it is read whole, and is as large as it was. */
static double size_of(const char *name)
{
	struct stat st;

	return strcmp(name, "-") && stat(name, &st) == 0 && S_ISREG(st.st_mode)
		? (double)st.st_size : INFINITY;
}

/* The distance in the list of two files that are read, which leaves about a MiB for each. */
static size_t step_of(size_t count, uint64_t bytes)
{
	uint64_t most = bytes >> 20;

	return most && count <= most ? 1 : (size_t)((count + most) / (most + 1));
}

static int take_sample(struct sample *s, struct cutter *cutter, char **names, size_t count,
		       uint64_t bytes)
{
	size_t step = step_of(count, bytes);
	double of_read = 0, streams = 0, share, begun = now();
	int code = DONE;

	for (size_t i = 0; i < count; i++) {
		double size = size_of(names[i]);

		s->files++;
		s->bytes += isfinite(size) ? size : 0;
		of_read += isfinite(size) && i % step == 0 ? size : 0;
	}
	share = of_read > 0 ? (double)bytes / of_read : 1;
	for (size_t i = 0; i < count && code == DONE && !stopping(); i++) {
		double size = size_of(names[i]), before = s->read_bytes;

		if (i % step && isfinite(size))
			continue;
		code = read_some(s, cutter, names[i], share < 1 ? size * share : INFINITY);
		streams += isfinite(size) ? 0 : s->read_bytes - before;
	}
	s->bytes += streams;
	s->seconds = now() - begun;
	return code;
}

/* ---- What the machine has ---- */

static double number_in(const char *path, const char *key)
{
	FILE *file = fopen(path, "re");
	char line[200];
	double ret = INFINITY;

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key))
		    && sscanf(line + strlen(key), "%lf", &ret) == 1)
			break;
	if (file)
		fclose(file);
	return ret;
}

/* That of the cgroup at its place in a container; "max" is no number. */
static double memory_there_is(void)
{
	double machine = 1024 * number_in("/proc/meminfo", "MemAvailable:");
	double group = number_in("/sys/fs/cgroup/memory.max", "");

	return machine < group ? machine : group;
}

/* On the file system of a folder, or of the nearest that exists above it. */
static double disk_there_is(const char *place)
{
	char *path = strdup(place), *slash;
	struct statvfs fs;
	double ret = INFINITY;

	while (path && *path) {
		if (statvfs(path, &fs) == 0) {
			ret = (double)fs.f_bavail * (double)fs.f_frsize;
			break;
		}
		slash = strrchr(path, '/');
		if (!slash || slash == path)
			strcpy(path, slash ? "/" : ".");
		else
			*slash = '\0';
		if (statvfs(path, &fs) < 0 && (!strcmp(path, "/") || !strcmp(path, ".")))
			break;
	}
	free(path);
	return ret;
}

/* ---- The plan ---- */

struct forecast {
	double times;		/* as much as the sample */
	double documents, units, keys, distinct, distinct_most, rate, removed, seconds;
	struct blm_plan filter;
	double memory, filter_disk, output_disk;	/* infinite: not known */
};

static int forecast(struct forecast *ret, const struct sample *s, const struct wishes *wishes)
{
	double threshold = corpus.by == BY_NGRAM ? corpus.threshold : 1;
	int r;

	*ret = (struct forecast){ .times = s->read_bytes > 0 ? s->bytes / s->read_bytes : 1 };
	if (ret->times < 1)
		ret->times = 1;
	ret->documents = s->documents * ret->times;
	ret->units = s->units * ret->times;
	ret->keys = s->keys * ret->times;
	ret->seconds = s->seconds * ret->times;
	ret->distinct = distinct_among(&s->distinct, ret->times);
	ret->distinct_most = distinct_estimate(&s->distinct) * ret->times;
	ret->rate = params.rate > 0 ? params.rate
		: rate_for(&s->text, wishes->by_mistake, threshold);
	ret->removed = removed_at(&s->text, ret->rate, threshold);
	params.rate = ret->rate;
	/* 2 %: more than twice the standard error of the estimate */
	params.capacity = (uint64_t)ceil(1.02 * ret->distinct_most) + 1;
	r = blm_plan(&ret->filter, &params);
	ret->memory = memory_there_is();
	ret->output_disk = corpus.dir ? disk_there_is(corpus.dir) : INFINITY;
	ret->filter_disk = wishes->filter ? disk_there_is(is_path(wishes->filter) ? wishes->filter
							   : store_dir()) : INFINITY;
	return r < 0 ? fail(r) : DONE;
}

static void warn(const struct forecast *f, const struct sample *s)
{
	double bytes = (double)f->filter.file_bytes;

	if (bytes > f->memory)
		say("warning: the filter takes %s and there are %s of memory; then claims read "
		    "the disk at random%s", show_bytes(f->filter.file_bytes),
		    show_bytes((uint64_t)f->memory),
		    corpus.by == BY_NGRAM ? "" : "; --partition I/N needs 1/N of the memory");
	if (bytes > f->filter_disk)
		say("warning: the filter takes %s and its file system has %s; it will not be made",
		    show_bytes(f->filter.file_bytes), show_bytes((uint64_t)f->filter_disk));
	if (s->bytes > f->output_disk)
		say("warning: -o %s: the files have %s and its file system has %s; the output fits "
		    "only if enough is removed", corpus.dir, show_bytes((uint64_t)s->bytes),
		    show_bytes((uint64_t)f->output_disk));
}

static void print_json(const struct forecast *f, const struct sample *s)
{
	json_begin();
	json_count("files", s->files);
	json_count("bytes", (uint64_t)s->bytes);
	json_count("sample_files", s->read_files);
	json_count("sample_bytes", (uint64_t)s->read_bytes);
	json_count("sample_keys", (uint64_t)s->keys);
	json_count("sample_distinct", (uint64_t)llround(distinct_estimate(&s->distinct)));
	json_count("bad", (uint64_t)s->bad);
	json_count("documents", (uint64_t)llround(f->documents));
	json_count("units", (uint64_t)llround(f->units));
	json_count("keys", (uint64_t)llround(f->keys));
	json_count("distinct", (uint64_t)llround(f->distinct));
	json_count("distinct_most", (uint64_t)llround(f->distinct_most));
	json_real("rate", f->rate);
	json_real("by_mistake", f->removed);
	json_text("kind", f->filter.kind);
	json_count("capacity", f->filter.capacity);
	json_count("filter_bytes", f->filter.file_bytes);
	json_real("memory", f->memory);
	json_real("filter_disk", f->filter_disk);
	json_real("output_disk", f->output_disk);
	json_real("seconds", f->seconds);
	json_end();
}

static void print_number(const char *title, double number, bool exact, const char *behind)
{
	printf("%-11s %s%s%s\n", title, exact ? "" : "about ",
	       show_count((uint64_t)llround(number)), behind);
}

static void print_time(double seconds)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "days", 86400 }, { "hours", 3600 }, { "minutes", 60 }, { "seconds", 1 } };
	size_t i = 0;

	while (i < ARRAY_LEN(units) - 1 && seconds < 2 * units[i].seconds)
		i++;
	printf("%-11s at least %.2g %s of one process, as fast as the sample was read\n", "time",
	       seconds / units[i].seconds, units[i].name);
}

static void print_text_plan(const struct forecast *f, const struct sample *s)
{
	bool all = f->times <= 1;
	const char *units = corpus.by == BY_DOCUMENT
		|| (corpus.by == BY_NGRAM && corpus.judged == JUDGE_DOCUMENTS) ? "documents"
		: "paragraphs";

	printf("%-11s %s of %s, in %s of %s files\n", "sample",
	       show_bytes((uint64_t)s->read_bytes), show_bytes((uint64_t)s->bytes),
	       show_count(s->read_files), show_count(s->files));
	print_number("documents", f->documents, all, "");
	if (corpus.by != BY_DOCUMENT)
		print_number(units, f->units, all, " that have keys");
	print_number("keys", f->keys, all, "");
	print_number("distinct", f->distinct, false, "");
	printf("%-11s %s\n", "... at most", show_count((uint64_t)llround(f->distinct_most)));
	printf("%-11s %s, which removes %s of the new text by mistake\n", "rate",
	       show_rate(f->rate), show_rate(f->removed));
	printf("%-11s %s of kind %s: --create -n %llu -p %s\n", "filter",
	       show_bytes(f->filter.file_bytes), f->filter.kind,
	       (unsigned long long)params.capacity, show_rate(f->rate));
	if (isfinite(f->memory))
		printf("%-11s %s are free\n", "memory", show_bytes((uint64_t)f->memory));
	print_time(f->seconds);
}

int plan_corpus(struct cutter *cutter, char **names, size_t count, const struct wishes *wishes)
{
	static char dash[] = "-", *standard[] = { dash };
	static struct sample s;
	static const uint64_t seed = 1;	/* the same plan for the same files */
	struct forecast f;
	int r = blm_create(&s.hasher, NULL, NULL, &BLM_PARAMS(.capacity = 1 << 20, .rate = 0.01,
							      .seed_count = 1, .seeds = &seed));
	int code = r < 0 ? fail(r) : DONE;

	if (code != DONE)
		return code;
	progress_begin(wishes->sample);
	code = take_sample(&s, cutter, count ? names : standard, count ? count : 1,
			   wishes->sample);
	progress_end();
	if (code == DONE && !stopping() && !s.keys)
		code = broken("corpus plan: the sample has no keys; see --text, --json-key "
			      "and --min-tokens");
	if (code == DONE && !stopping())
		code = forecast(&f, &s, wishes);
	if (code == DONE && !stopping()) {
		if (json)
			print_json(&f, &s);
		else
			print_text_plan(&f, &s);
		if (!quiet)
			warn(&f, &s);
	}
	blm_close(s.hasher);
	return code;
}
